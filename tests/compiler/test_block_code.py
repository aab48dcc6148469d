"""Code of statements' bodies has the name and the first line of the user's function, and every instruction keeps its place."""

import ast
import inspect
import linecache
import sys
import textwrap
import types
from pathlib import Path

import pytest

from autograph._block_code import _beginning_at, with_blocks_as_users


def every_code(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from every_code(constant)


@pytest.mark.parametrize("module", ["argparse", "ast", "dataclasses", "inspect", "typing", "doctest", "subprocess"])
@pytest.mark.parametrize("first", [1, 2, 40])
def test_no_instruction_changes_its_place(module, first):
    path = Path(ast.__file__).parent / f"{module}.py"
    for code in every_code(compile(path.read_text(encoding="utf-8"), str(path), "exec")):
        moved = _beginning_at(first, code)
        assert moved.co_firstlineno == first
        assert list(moved.co_positions()) == list(code.co_positions())
        assert list(moved.co_lines()) == list(code.co_lines())


def made(source):
    return compile(textwrap.dedent(source), "made", "exec").co_consts[0]


def test_what_is_in_functions_of_the_user_has_their_names_and_begins_where_they_are_written():
    original = made("""\
        def f(x):
            if x:
                def g(y):
                    while y:
                        y = h(lambda: y)
                    return y
            return g
        """)
    converted = made("""\
        def f(x):
            def if_body():
                def g(y):
                    def loop_body():
                        y = h(lambda: y)
                    return y
            return g
        """)
    codes = every_code(with_blocks_as_users(converted, original))
    found = {code.co_qualname.rpartition(".")[2]: (code.co_name, code.co_firstlineno) for code in codes}
    assert found == {
        "f": ("f", 1),
        "if_body": ("f", 1),
        "g": ("g", 3),
        "loop_body": ("g", 3),
        "<lambda>": ("<lambda>", 5),
    }


def test_inspect_finds_the_function_around_a_block(user_folder):
    import autograph as ag

    text = "def f(x):\n    while x < 10:\n        x = x + 1\n        if x == 9:\n            raise KeyError(x)\n    return x\n"
    (user_folder / "looked_at.py").write_text(text)
    linecache.checkcache()
    sys.path.insert(0, str(user_folder))
    try:
        from looked_at import f
    finally:
        sys.path.remove(str(user_folder))
    with pytest.raises(KeyError) as caught:
        ag.convert(f)(0)
    for entry in caught.traceback[1:]:
        lines, first = inspect.getsourcelines(entry.frame.raw.f_code)
        assert (lines, first) == (text.splitlines(keepends=True), 1)
        assert lines[entry.lineno] in ("    while x < 10:\n", "        if x == 9:\n", "            raise KeyError(x)\n")
