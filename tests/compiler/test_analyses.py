"""What the analyses say of small functions."""

import textwrap

import gast
import pytest

from autograph._analysis.liveness import liveness
from autograph._analysis.python_only import python_only
from autograph._analysis.scopes import bound_names, free_names, read_names, scope_of, suspends


def function(source):
    return gast.parse(textwrap.dedent(source)).body[0]


def statements(source):
    return gast.parse(textwrap.dedent(source)).body


class TestScopes:
    def test_kinds_of_names(self):
        scope = scope_of(
            function("""
                def f(a, *b, c=1, **d):
                    global g
                    nonlocal n
                    g = n = local = a
                    def inner(): return local
                    return [item for item in b]
            """)
        )
        assert scope.parameters == {"a", "b", "c", "d"}
        assert scope.bound == {"a", "b", "c", "d", "local", "inner"}
        assert (scope.global_names, scope.nonlocal_names) == ({"g"}, {"n"})
        assert scope.captured == {"local"} and not scope.dynamic

    @pytest.mark.parametrize(
        ("source", "bound", "read"),
        [
            ("x = y", {"x"}, {"y"}),
            ("x += y", {"x"}, {"x", "y"}),
            ("x[i] = y", set(), {"x", "i", "y"}),
            ("del x", {"x"}, set()),
            ("import a.b as c, d.e", {"c", "d"}, set()),
            ("for i in x: y = i", {"i", "y"}, {"x", "i"}),
            ("with a as b: c", {"b"}, {"a", "c"}),
            ("try: a\nexcept E as e: b", {"e"}, {"a", "b", "E"}),
            ("[v + w for v in x]", set(), {"x", "w"}),
            ("[y := v for v in x]", {"y"}, {"x", "y"}),
            ("lambda a, b=c: a + d", set(), {"c", "d"}),
            ("class A(B):\n  c = d", {"A"}, {"B", "d"}),
            ("match a:\n  case [b, *c]: d", {"b", "c"}, {"a", "d"}),
        ],
    )
    def test_what_statements_bind_and_read(self, source, bound, read):
        assert bound_names(statements(source)) == bound
        assert read_names(statements(source)) >= read

    def test_free_names_leave_out_what_the_scope_binds(self):
        assert free_names(function("def f(a):\n    b = a + c\n    return lambda d: b + d + e")) == {"c", "e"}
        assert free_names(function("def f():\n    nonlocal a\n    a = 1")) == {"a"}
        assert free_names(function("def f():\n    global a\n    return a")) == set()

    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("yield x", True),
            ("def f(): yield x", False),
            ("[await v for v in x]", True),
            ("async with a: pass", True),
            ("x = (lambda: (yield))", False),
        ],
    )
    def test_what_suspends(self, source, expected):
        assert suspends(statements(source)) is expected


class TestLiveness:
    def live(self, source):
        body = function(source).body
        found = liveness(body, {}, {})
        statement = next(node for node in body if node in found.after)
        return found.before[statement], found.after[statement]

    def test_of_a_branch(self):
        before, after = self.live("""
            def f(x):
                if x:
                    y = a
                else:
                    y = b
                    t = c
                return y
        """)
        assert (before, after) == ({"x", "a", "b", "c"}, {"y"})

    def test_of_a_loop_whose_iterations_read_what_earlier_ones_left(self):
        before, after = self.live("""
            def f(x):
                for v in x:
                    total = total + last
                    last = v
                return total
        """)
        assert before == {"x", "total", "last"} and after == {"total"}

    def test_of_what_a_handler_reads(self):
        before, _ = self.live("""
            def f(x):
                try:
                    y = g(x)
                except E:
                    return z
                return y
        """)
        assert before >= {"g", "x", "E", "z"}

    def test_nothing_is_live_after_a_return(self):
        _, after = self.live("""
            def f(x):
                while x:
                    x = x - 1
                return 1
                return x
        """)
        assert after == set()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("y = x + 1", None),
        ("name = str(x)", "str"),
        ("'%d' % x", "a formatted string"),
        ("'{}'.format(x)", "str.format"),
        ("raise ValueError(f'{x}')", None),
        ("assert x, f'{x}'", None),
        ("isinstance(x, Node)", None),
        ("getattr(o, 'name')", None),
        ("getattr(o, name)", "getattr"),
        ("try:\n  f(x)\nexcept E: pass", None),
        ("def g():\n  try:\n    yield x\n  except E: pass", "try with handlers around a yield"),
        ("def g():\n  try:\n    f(x)\n  finally:\n    return x", "a jump in finally"),
    ],
)
def test_what_only_python_can_do(source, expected):
    assert python_only(statements(source)) == expected
