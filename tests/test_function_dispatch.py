"""The quick way to a program takes no wrong turn, and the benchmark of it runs."""

from __future__ import annotations

import decimal
import fractions
import functools
import gc
import inspect
import random
import sys
import weakref
from collections import OrderedDict
from pathlib import Path
from queue import SimpleQueue

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.runtime.state.commits import COMMITS
from autograph.tools.bench import dispatch
from tests.dispatched import Pair, Plain, Scaled, Slotted, number_of_halves, root

pytestmark = pytest.mark.filterwarnings("ignore:(?s).*was traced 6 times")


def described(value):
    """What a function can tell of an argument while it is traced: each leaf's type, or its value."""
    leaves, structure = jax.tree_util.tree_flatten(value, is_leaf=lambda leaf: leaf is None)
    texts = [f"{v.dtype}{v.shape}" if isinstance(v, jax.Array) else f"{type(v).__name__} {v!r}" for v in leaves]
    return f"{structure} {texts}"


VALUES = [
    jnp.ones(2), jnp.ones(3), jnp.arange(2), np.ones(2, np.float32), np.float32(1), 1, 2, 1.0, True, False, 0.0, -0.0,
    "a", None,
    [jnp.ones(2)], [jnp.ones(2), 1], [jnp.ones(2), 1.0], (jnp.ones(2),), {"a": jnp.ones(2)}, {"a": 1}, {"b": 1}, {1: 1},
    {True: 1}, [], (), {}, [[]], [None],
    {"a": {"b": [jnp.ones(2), (1, jnp.ones(3))]}}, {"a": {"b": [jnp.ones(2), (2, jnp.ones(3))]}},
    jnp.negative, Ellipsis, frozenset({1}), range(2),
    Pair(jnp.ones(2)), Pair(jnp.ones(2), 1), Pair(1, jnp.ones(2)), Scaled(jnp.ones(2)), Scaled(jnp.ones(2), 2), Scaled(1),
    {1: jnp.ones(2)}, {True: jnp.ones(2)}, {1.0: jnp.ones(2)}, [{1: jnp.ones(2)}, Scaled(1)], [{True: jnp.ones(2)}, Scaled(1)],
    slice(0, 2), slice(0, 2.0), slice(False, 2), slice(None), {1}, {True}, {1.0}, frozenset({True}), {"a", None}, set(), {(1, 2)},
    range(3), np.dtype("int32"), jnp.int32, fractions.Fraction(1, 2), decimal.Decimal(1),
    OrderedDict(a=jnp.ones(2)), [Pair([jnp.ones(2)]), Scaled({"a": 1})], [Scaled(jnp.ones(k)) for k in range(30)],
]  # fmt: skip


def test_any_order_of_any_calls_gives_each_its_own_result():
    """Each call sees in the trace what an untraced look at its arguments sees."""

    def f(a, b=1, *, c=None):
        return described((a, b, c))

    def expected(a, b=1, *, c=None):
        as_arrays = [
            jax.tree_util.tree_map(lambda v: jnp.asarray(v) if isinstance(v, np.ndarray | np.generic) else v, v)
            for v in (a, b, c)
        ]
        return described(tuple(as_arrays))

    compiled = ag.function(f, cache_limit=10_000)
    choose = random.Random(0)
    for _ in range(600):
        a, b, c = (choose.choice(VALUES) for _ in range(3))
        args, kwargs = choose.choice(
            [((a,), {}), ((a, b), {}), ((a,), {"c": c}), ((), {"b": b, "a": a}), ((a, b), {"c": c})]
        )
        assert compiled(*args, **kwargs) == expected(*args, **kwargs)


@pytest.mark.parametrize("seed", range(3))
def test_trees_of_arrays_come_out_as_they_went_in(seed):
    choose = random.Random(seed)

    def tree(depth):
        kind = choose.randrange(5 if depth else 1)
        if kind == 0:
            return jnp.asarray(float(choose.randrange(100)))
        if kind == 1:
            return [tree(depth - 1) for _ in range(choose.randrange(4))]
        if kind == 2:
            return tuple(tree(depth - 1) for _ in range(choose.randrange(3)))
        if kind == 3:
            return None
        return {choose.choice("abcdef"): tree(depth - 1) for _ in range(choose.randrange(5))}

    f = ag.function(lambda t: jax.tree_util.tree_map(lambda v: v + 1, t), cache_limit=1000)
    trees = [tree(3) for _ in range(30)]
    for _ in range(2):
        for value in trees:
            got, wanted = f(value), jax.tree_util.tree_map(lambda v: v + 1, value)
            assert jax.tree_util.tree_structure(got) == jax.tree_util.tree_structure(wanted)
            assert all(a == b for a, b in zip(jax.tree_util.tree_leaves(got), jax.tree_util.tree_leaves(wanted)))


def test_results_of_another_kind_for_another_shape():
    """The first shape returns an array, so its calls come to the compiled function alone; others must be finished."""

    def f(x):
        if x.shape[0] == 1:
            return x
        if x.shape[0] == 2:
            return "two", x
        return None

    g = ag.function(f)
    for _ in range(3):
        assert g(jnp.ones(1)).tolist() == [1]
    for _ in range(3):
        text, array = g(jnp.ones(2))
        assert text == "two" and array.tolist() == [1, 1]
        assert g(jnp.ones(3)) is None and g(jnp.ones(1)).tolist() == [1]
    assert g.experimental_get_tracing_count() == 3


def test_state_that_another_shape_brings_in():
    v = ag.Variable(0)

    def f(x):
        if x.shape[0] == 2:
            v.assign_add(1)
        return x + 1

    g = ag.function(f)
    for size in (1, 1, 2, 1, 2, 2):
        assert g(jnp.ones(size)).tolist() == [2] * size
    assert int(v.value) == 3 and g.experimental_get_tracing_count() <= 3


def test_an_error_leaves_the_way_as_it_was():
    f = ag.function(lambda x, n: x + n)
    f(jnp.ones(2), 1)
    for _ in range(2):
        with pytest.raises(TypeError):
            f(jnp.ones(2), "a")
        assert f(jnp.ones(2), 1).tolist() == [2, 2]


_FACTOR = 2


def test_calls_unlike_the_first_leave_the_quick_way():
    """What stands in the slot of a function compares arguments with those of one call; all others go another way."""

    @ag.function
    def f(x, n=1, **rest):
        return described((x, n, rest))

    ways = [
        ((jnp.ones(2), 2), {}), ((jnp.ones(3), 2), {}), ((jnp.ones(2), 3), {}), ((jnp.ones(2), True), {}),
        ((jnp.ones(2), 2.0), {}), ((jnp.ones(2), None), {}), ((1, 2), {}), (([jnp.ones(2)], 2), {}),
        ((jnp.ones(2),), {}), ((jnp.ones(2),), {"n": 2}), ((jnp.ones(2), 2), {"z": jnp.ones(2)}), ((), {"x": 1}),
    ]  # fmt: skip
    for _ in range(3):
        for args, kwargs in ways:
            bound = dict(zip(("x", "n"), args, strict=False)) | kwargs
            x, n = bound.pop("x"), bound.pop("n", 1)
            assert f(*args, **kwargs) == described((x, n, bound))
    with pytest.raises(TypeError, match="missing"):
        f()
    with pytest.raises(TypeError, match="takes from 1 to 2 positional arguments but 3 were given"):
        f(jnp.ones(2), 2, 3)


def test_the_quick_way_sees_captured_values_change(monkeypatch):
    f = ag.function(lambda x: x * _FACTOR)
    assert [float(f(jnp.float32(1))) for _ in range(3)] == [2] * 3
    monkeypatch.setitem(globals(), "_FACTOR", 3)
    assert [float(f(jnp.float32(1))) for _ in range(3)] == [3] * 3


def test_the_quick_way_ends_where_functions_run_eagerly():
    kinds = SimpleQueue()  # a list would be looked into: what is run eagerly changes it, so that there is a new trace
    f = ag.function(lambda x: kinds.put(isinstance(x, jax.core.Tracer)) or x + 1)
    for eager in (False, True, False):
        ag.run_functions_eagerly(eager)
        try:
            assert [float(f(jnp.float32(1))) for _ in range(3)] == [2] * 3
        finally:
            ag.run_functions_eagerly(False)
    assert [kinds.get_nowait() for _ in range(kinds.qsize())] == [True, False, False, False]


def test_calls_on_the_quick_way_count_between_traces(recwarn):
    """More than five traces within ten calls are warned of; these are within sixty."""
    f = ag.function(lambda x: x + 1)
    for size in range(1, 7):
        for _ in range(10):
            f(jnp.ones(size))
    assert not [w for w in recwarn if "was traced" in str(w.message)]


@pytest.mark.parametrize(("between", "is_told"), [(0, True), (1, False), (30, False)])
def test_calls_of_one_program_count_until_enough_of_them_have_come(recwarn, between, is_told):
    f = ag.function(lambda x: x + 1)
    for _ in range(between + 1):
        f(jnp.ones(50))
    for size in range(1, 7):
        for _ in range(between + 1):
            f(jnp.ones(size))
    assert bool([w for w in recwarn if "was traced" in str(w.message)]) == is_told


@pytest.mark.filterwarnings("ignore::autograph.StagingWarning")
@pytest.mark.parametrize("times", [1, 30])
def test_the_program_that_is_dropped_was_used_before_the_others(times):
    f, x = ag.function(lambda x, n: x * n, cache_limit=3), jnp.ones(2)
    for n in (1, 2, 3, *[2] * times, *[3] * times, *[2] * times, 1):
        f(x, n)
    f(x, 4)  # 3 goes
    known = f.experimental_get_tracing_count()
    f(x, 1), f(x, 2), f(x, 4)
    assert f.experimental_get_tracing_count() == known == 4
    f(x, 3)
    assert f.experimental_get_tracing_count() == known + 1


@pytest.mark.parametrize(
    ("name", "frames"),
    [
        ("one array", ["call"]),
        ("a list of 50 arrays", ["call"]),
        ("captured function and scalar", ["call"]),
        ("one array, symbolic dimension", ["call"]),
        ("a method", ["__get__", "call"]),
        ("ten Variables written", ["call", "call"]),
        ("a function that may raise", ["call", "call", "tree_unflatten", "__init__", "check"]),
    ],
)
def test_frames_of_ours_in_a_call(name, frames, monkeypatch):
    monkeypatch.setattr(COMMITS, "busy", 0)  # a program that gives arrays away, of another test, makes calls hold locks
    call, _ = dispatch.cases()[name]
    for _ in range(20):
        call()
    seen = []

    def note(frame, event, _):
        if event == "call" and not frame.f_code.co_filename.startswith(
            (dispatch.__file__, str(Path(jax.__file__).parent))
        ):
            seen.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    assert seen == frames


def test_an_error_on_the_quick_way_shows_no_frame_of_ours():
    def f(x):
        return x if x.shape == (2,) else x @ jnp.ones((5, 5))

    g = ag.function(f)
    g(jnp.ones(2)), g(jnp.ones(2))
    with pytest.raises(TypeError) as caught:
        g(jnp.ones((3, 3)))
    assert {Path(entry.path).name for entry in caught.traceback} == {Path(__file__).name}


def test_the_benchmark_runs(capsys):
    assert dispatch.main(["--rounds", "1", "--calls", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(dispatch.cases()) and all(float(line.split()[-1]) >= 0 for line in lines[1:])


SIGNATURES = [
    lambda x, n=1, *, c=None: (x, n, c),
    lambda x, /, n=1: (x, n),
    lambda *args: args,
    lambda x, *args, c=2, **rest: (x, args, c, rest),
    lambda **rest: rest,
    lambda type, entry=1, result=2: (type, entry, result),
    lambda known0_0, *, more=1: (known0_0, more),
    lambda self, x=1: (self, x),
    lambda: "nothing",
    lambda x, table={"a": 1, "b": [2.0]}: (x, table),
]
CALLS = [
    ((), {}), ((1,), {}), ((jnp.ones(2),), {}), ((jnp.ones(2), 2), {}), ((jnp.ones(2), 3), {}), ((jnp.ones(2), 2, 3), {}),
    ((jnp.ones(2),), {"n": 2}), ((), {"x": jnp.ones(2), "n": 2}), ((), {"n": 2, "x": jnp.ones(2)}), ((1,), {"c": jnp.ones(2)}),
    ((1, 2), {"c": 3, "d": 4}), ((), {"d": 4, "e": jnp.ones(2)}), ((), {"e": jnp.ones(2), "d": 4}), ((), {"type": 1, "entry": 3}),
    ((1,), {"result": 5}), ((1,), {"more": 3}), ((), {"known0_0": 2}), ((1,), {"x": 2}), ((), {"self": 3}), ((), {"n": 3}),
    (([jnp.ones(2)] * 30,), {}), (([jnp.ones(2)] * 29 + [1],), {}), (([jnp.ones(2)] * 29 + [2],), {}), ((1, {"b": [2.0], "a": 1}), {}),
    ((1, {"b": [2.0], "a": 2}), {}),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(SIGNATURES)))
def test_positions_keywords_and_defaults_come_to_what_python_makes_of_them(number):
    plain = SIGNATURES[number]
    compiled = ag.function(_with_signature_of(plain))
    for _ in range(3):
        for args, kwargs in CALLS:
            try:
                expected = described(plain(*args, **kwargs))
            except TypeError:
                with pytest.raises(TypeError):
                    compiled(*args, **kwargs)
            else:
                assert compiled(*args, **kwargs) == expected


def _with_signature_of(plain):
    def f(*args, **kwargs):
        return described(plain(*args, **kwargs))

    f.__signature__ = inspect.signature(plain)
    return f


def test_more_kinds_of_calls_than_are_written_for():
    f = ag.function(lambda *args: described(args))
    calls = [tuple([jnp.ones(2)] * k + [1] * m) for k in range(6) for m in range(5)]
    for _ in range(2):
        for args in calls:
            assert f(*args) == described(args)
    assert f.experimental_get_tracing_count() == len(calls)


def test_calls_can_be_wrapped():
    f = ag.function(lambda x, n=1: x + n)
    seen = []
    original = type(f).__call__

    def wrapped(self, *args, **kwargs):
        seen.append(args)
        return original(self, *args, **kwargs)

    assert callable(original) and float(original(f, 1.0, n=2)) == 3
    type(f).__call__ = wrapped
    try:
        assert float(f(1.0)) == 2 and float(f(1.0, n=3)) == 4
    finally:
        type(f).__call__ = original
    assert seen == [(1.0,), (1.0,)] and float(f(2.0)) == 3 and len(seen) == 2
    assert callable(f) and float(f.__call__(2.0)) == 3


def test_calls_through_other_callables():
    """A `Function` forwards calls from C, as a `functools.partial` of nothing would: others do not look through it."""
    f = ag.function(lambda x, n=1: x + n)
    g = functools.partial(functools.partial(f, n=3))
    assert g.func is f and float(g(1.0)) == 4 and float(jax.tree_util.Partial(f, n=4)(1.0)) == 5
    assert float(ag.function(g)(1.0)) == 4 and float(ag.convert(g)(1.0)) == 4 and ag.convert(f) is f
    assert float(ag.function(lambda x: functools.partial(f, n=2)(x) + f(x))(1.0)) == 5
    assert inspect.unwrap(f) is f.python_function and not inspect.iscoroutinefunction(f)
    with pytest.raises(AttributeError):
        f.func = len
    calls = f.func  # held by who looks through it, while others change what calls go to
    f(1.0), f(jnp.ones(2), n=2)
    count = f.experimental_get_tracing_count()
    assert calls(jnp.ones(2), n=2).tolist() == [3, 3] and f.experimental_get_tracing_count() == count


def _method_of_a_model():
    class Model:
        def __init__(self):
            self.v = ag.Variable(1.0)

        @ag.function
        def __call__(self, x):
            return self.v * x

    model = Model()
    return model, model.v, lambda: model(1.0)


def _closure():
    v = ag.Variable(1.0)
    f = ag.function(lambda x: v * x)
    return f, v, lambda: (f(1.0), f(jnp.ones(2)), f.get_concrete_function(1.0))


def _argument():
    class Holder:
        pass

    holder, f = Holder(), ag.function(lambda h, x: h.v * x)
    holder.v = ag.Variable(1.0)
    return (holder, f), holder.v, lambda: f(holder, 1.0)


@pytest.mark.parametrize("make", [_method_of_a_model, _closure, _argument])
def test_what_a_function_holds_goes_with_it_at_once(make):
    """Without the garbage collector: nothing of ours is in a reference cycle."""
    gc.collect()
    gc.disable()
    try:
        owner, v, call = make()
        call(), call()
        gone = weakref.ref(v)
        del owner, v, call
        assert gone() is None
    finally:
        gc.enable()


def test_a_concrete_function_outlives_its_function():
    concrete = ag.function(lambda x: x + 1).get_concrete_function(ag.TensorSpec([None]))
    gc.collect()
    assert concrete(jnp.ones(3)).tolist() == [2] * 3 and concrete(jnp.ones(2)).tolist() == [2] * 2


def test_calls_like_one_before_go_to_the_compiled_function_directly(monkeypatch):
    """What a call costs beyond `jax.jit`'s is what it passes on its way, of which a `Program` is the slow part."""
    from autograph.runtime.function.program import Program

    count = ag.Variable(0.0)

    class Model:
        @ag.function
        def scaled(self, x):
            return x * 2 if x.sum() > 0 else x

    def counting(x):
        return count.assign_add(x.sum()).value

    def counting_roots(x):
        count.assign_add(1.0)
        return root(x)

    model, x = Model(), jnp.ones(3)
    calls = [
        lambda f=ag.function(lambda x: x * 2): f(x),
        lambda f=ag.function(lambda x, n: {"a": x * n, "b": [x]}): f(x, n=3),
        lambda f=ag.function(counting): f(x),
        lambda f=ag.function(lambda x: (x, 1, 2.5)): f(x),
        lambda: model.scaled(x),
        lambda f=ag.function(root): f(x),
        lambda f=ag.function(counting_roots): f(x),
        lambda f=ag.function(number_of_halves): f(x),
        lambda f=ag.function(lambda p: p.one + p.other): f(Pair(x, x)),
        lambda f=ag.function(lambda d: d["s"].values * d["s"].by): f({"s": Scaled(x, 3)}),
        lambda f=ag.function(lambda p: p.values * p.by): f(Plain(x, Slotted(x, 2)).by),
        lambda f=ag.function(lambda p: p.values * p.by.by): f(Plain(x, Slotted(x, 2))),
        lambda f=ag.function(lambda d: d["a"]): f(OrderedDict(a=x)),
        lambda f=ag.function(lambda x, part, n: x[part] + len(n)): f(x, slice(0, 2), {1, 2}),
        lambda f=ag.function(lambda d, kind: d[1].astype(kind)): f({1: x}, np.dtype("int32")),
        lambda f=ag.function(lambda x: (x, "a", Plain(x, None))): f(x),
        lambda f=ag.function(lambda x: x[x > 0]): f(x),
        lambda f=ag.function(lambda x: f"{x.sum():.1f}"): f(x),
    ]
    for call in calls:
        call(), call()
    passed = []
    monkeypatch.setattr(Program, "__call__", lambda *_: passed.append(1))
    for number, call in enumerate(calls):
        assert call() is not None, f"call {number}"
    assert not passed
