"""Which calls share a trace: the key of a call."""

from __future__ import annotations

import dataclasses
import enum
import functools
import gc
import itertools
import math
import weakref
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.runtime.signatures.signature import Arguments

pytestmark = pytest.mark.filterwarnings("ignore:(?s).*was traced 6 times")


def traces(f, *calls):
    """How many traces a function needs for these calls (tuples of arguments, or dicts of keywords)."""
    compiled = ag.function(f)
    for call in calls:
        compiled(**call) if isinstance(call, dict) else compiled(*call)
    return compiled.experimental_get_tracing_count()


def identity(x):
    return x


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass(frozen=True)
class Config:
    scale: float
    name: str = "c"


@dataclasses.dataclass
class State:
    x: Any
    steps: int


class Point(NamedTuple):
    x: Any
    y: Any


DISTINCT = [
    1, 1.0, True, 1 + 0j, 2, "1", b"1", None, 0, 0.0, -0.0, False, math.nan, math.inf, Level.LOW, Colour.RED,
    Colour.BLUE, "a", Config(0.0), Config(-0.0), Config(0.0, "d"), (1, 2), (1, 2.0), [1, 2], (1, (2,)),
    {"a": 1}, {"b": 1},
    {"a": 1.0}, frozenset({1}), frozenset({True}), {1}, range(3), range(4), slice(1), slice(1.0), int, float,
    complex(0.0, -0.0), complex(0.0, 0.0), {1: 2}, {True: 2}, {1.0: 2}, Point(1, 2), Ellipsis, np.dtype("f4"),
    jnp.float32, -1, 1 << 70,
]  # fmt: skip


def test_values_that_differ_have_traces_of_their_own():
    arguments = Arguments(identity)
    keys = [arguments.split((value,))[0] for value in DISTINCT]
    same = [(DISTINCT[a], DISTINCT[b]) for a, b in itertools.combinations(range(len(keys)), 2) if keys[a] == keys[b]]
    assert same == []


@pytest.mark.parametrize("value", DISTINCT, ids=repr)
def test_a_value_and_its_equal_share_one(value):
    again = {float: lambda v: float(repr(v)), str: lambda v: "".join(list(v)), int: lambda v: int(str(v))}
    copy = again.get(type(value), lambda v: v)(value)
    if dataclasses.is_dataclass(value):
        copy = dataclasses.replace(value)
    assert traces(lambda x: 0, (value,), (copy,), (value,)) == 1


def test_numbers_by_type_and_value_give_pythons_results():
    f = ag.function(lambda x: (type(x).__name__, x))
    assert [f(v) for v in (1, 1.0, True, "1")] == [("int", 1), ("float", 1.0), ("bool", True), ("str", "1")]
    signs = ag.function(lambda x: math.copysign(1, x))
    assert [float(signs(v)) for v in (0.0, -0.0, 0.0, -0.0)] == [1, -1, 1, -1]
    assert signs.experimental_get_tracing_count() == 2
    assert traces(lambda x: 0, (math.nan,), (float("nan"),), (-math.nan,), (math.inf - math.inf,)) == 1


def test_numpy_arrays_and_scalars_are_arrays():
    f = ag.function(lambda x: x + 1)
    for value in (np.float32(1), np.float32(2), np.array(3, np.float32)):
        assert float(f(value)) == float(value) + 1
    assert f.experimental_get_tracing_count() == 1
    assert ag.function(lambda x: isinstance(x, jax.Array))(np.ones(2)) == True
    assert ag.function(lambda x: type(x).__name__)(np.str_("a")) == "str_"


def test_shapes_dtypes_and_weak_types_differ():
    assert traces(identity, (jnp.ones(2),), (jnp.ones(3),), (jnp.ones(2, jnp.int32),), (jnp.ones((2, 1)),)) == 4
    assert traces(identity, (jnp.asarray(1.0),), (jnp.ones(()),)) == 2
    assert float(ag.function(lambda x: x * jnp.bfloat16(1))(jnp.asarray(1.0))) == 1


def test_keywords_defaults_and_positions_are_one_signature():
    def f(a, b=2, *, c=3):
        return a + b + c

    x = jnp.ones(2)
    calls = [(x,), (x, 2), dict(a=x), dict(b=2, a=x), dict(a=x, b=2, c=3), dict(c=3, a=x)]
    assert traces(f, *calls) == 1
    assert traces(f, *calls, dict(a=x, c=4)) == 2
    compiled = ag.function(f)
    assert [float(compiled(x, b, c=c)[0]) for b in (1, 2) for c in (5, 6)] == [7, 8, 8, 9]


def test_variable_arguments():
    def f(first, *rest, flag=True, **options):
        return first + sum(rest) + len(options) * 10 if flag else first

    g = ag.function(f)
    for _ in range(2):
        assert int(g(jnp.array(1))) == 1
        assert int(g(jnp.array(1), jnp.array(2), jnp.array(3))) == 6
        assert int(g(jnp.array(1), 2, scale=3)) == 13
        assert int(g(jnp.array(1), 2, b=3, a=4)) == 23
        assert int(g(jnp.array(1), 2, a=4, b=3)) == 23
        assert int(g(jnp.array(1), 5, flag=False)) == 1
    assert g.experimental_get_tracing_count() == 5


def test_positional_only_and_wrong_calls():
    def f(a, /, b):
        return a - b

    g = ag.function(f)
    assert int(g(3, b=1)) == 2
    for args, kwargs in [
        ((), {}),
        ((1,), {}),
        ((1, 2, 3), {}),
        ((1,), {"b": 2, "c": 3}),
        ((), {"a": 1, "b": 2}),
    ]:
        with pytest.raises(TypeError, match=r"f\(\)"):
            g(*args, **kwargs)


def test_containers_by_structure_and_leaves():
    f = ag.function(lambda tree: jax.tree_util.tree_reduce(lambda a, b: a + b, tree, 0))
    x = jnp.ones(())
    trees = [
        [x, 2],
        [x, 3],
        (x, 2),
        {"a": x, "b": 2},
        {"a": x, "c": 2},
        Point(x, 2),
        [x, [2]],
        [x, None],
        [x],
    ]
    for _ in range(2):
        assert [float(f(t)) for t in trees] == [3, 4, 3, 3, 3, 3, 3, 1, 1]
    assert f.experimental_get_tracing_count() == len(trees)
    assert float(f({"b": 2, "a": x})) == 3
    assert f.experimental_get_tracing_count() == len(trees)


def test_large_and_odd_trees():
    f = ag.function(lambda tree: sum(jax.tree_util.tree_leaves(tree)))
    trees = [
        [jnp.ones(())] * 60,
        {f"k{k}": {"w": jnp.ones(()), "b": [jnp.ones(())]} for k in range(30)},
        {"a": (), "b": {}, "c": [jnp.ones(()), None]},
        {"a": (), "b": {}, "c": [jnp.ones(()), jnp.ones(())]},
        [{"x": jnp.ones(())}, {"y": jnp.ones(())}],
        [{"x": jnp.ones(())}, {"x": jnp.ones(())}],
        {2: jnp.ones(()), 1: jnp.ones(())},
        [[[[jnp.ones(())]]]],
    ]
    for _ in range(3):
        for tree in trees:
            assert float(f(tree)) == len(jax.tree_util.tree_leaves(tree))
    assert f.experimental_get_tracing_count() == len(trees)


def test_a_dataclass_is_a_container():
    f = ag.function(lambda s: (s.x * s.steps, isinstance(s, State)))
    for x, steps in [(1.0, 2), (2.0, 2), (3.0, 3)]:
        value, is_state = f(State(jnp.asarray(x), steps))
        assert float(value) == x * steps and is_state == True
    assert f.experimental_get_tracing_count() == 2
    nested = ag.function(lambda c: c["s"].x.x + c["s"].steps)
    assert float(nested({"s": State(State(jnp.ones(()), 0), 5)})) == 6


def test_a_frozen_dataclass_by_type_and_value():
    f = ag.function(lambda c, x: x * c.scale)
    x = jnp.ones(())
    assert [float(f(Config(s), x)) for s in (2.0, 2.0, 3.0)] == [2, 2, 3]
    assert f.experimental_get_tracing_count() == 2
    assert math.copysign(1, float(f(Config(0.0), x))) == 1 and math.copysign(1, float(f(Config(-0.0), x))) == -1


class Plain:
    def __init__(self, k):
        self.k = k


class EqualNoHash(Plain):
    def __eq__(self, other):
        return True

    __hash__ = None


class Slotted:
    __slots__ = ("k",)

    def __init__(self, k):
        self.k = k


class ByValue(Plain):
    def __eq__(self, other):
        return type(other) is ByValue and self.k == other.k

    def __hash__(self):
        return hash(self.k)


@pytest.mark.parametrize("kind", [Plain, EqualNoHash, Slotted])
def test_other_objects_by_identity(kind):
    a, b = kind(1), kind(2)
    f = ag.function(lambda o, x: x * o.k)
    for _ in range(2):
        assert [float(f(o, jnp.ones(()))) for o in (a, b)] == [1, 2]
    assert f.experimental_get_tracing_count() == 2


def test_objects_with_an_equality_of_their_own_by_value():
    assert traces(lambda o: o.k, (ByValue(1),), (ByValue(1),), (ByValue(2),)) == 2


def test_a_function_argument_by_identity_and_a_method_by_its_instance():
    f = ag.function(lambda g, x: g(x))
    a = Plain(3)
    a.scale = lambda x: x * 3

    class Scaler(Plain):
        def by(self, x):
            return x * self.k

    scaler = Scaler(5)
    for _ in range(3):
        assert float(f(jnp.negative, jnp.ones(()))) == -1
        assert float(f(a.scale, jnp.ones(()))) == 3
        assert float(f(scaler.by, jnp.ones(()))) == 5
    assert f.experimental_get_tracing_count() == 3


def test_objects_are_held_weakly_and_their_programs_go_with_them():
    f = ag.function(lambda o, x: x * o.k)
    o = Plain(2)
    f(o, jnp.ones(3))
    watch = weakref.ref(o)
    assert len(f._cache) == 1
    del o
    gc.collect()
    assert watch() is None and len(f._cache) == 0
    for k in range(20):  # ids are used again: none may find another's program
        assert float(f(Plain(k), jnp.ones(()))) == k


def test_an_unhashable_field_is_no_obstacle():
    class Odd:
        def __eq__(self, other):
            return True

        def __hash__(self):
            raise TypeError("no")

    a = Odd()
    assert traces(lambda o: 0, (a,), (a,), (Odd(),)) == 2


def test_sets_by_content_even_when_they_change():
    f = ag.function(lambda s: len(s))
    s = {1, 2}
    assert int(f(s)) == 2
    s.add(3)
    assert int(f(s)) == 3
    assert int(f(frozenset(s))) == 3


def test_a_changed_list_is_another_signature():
    f = ag.function(lambda values, x: x * sum(values))
    values = [1, 2]
    assert float(f(values, jnp.ones(()))) == 3
    values.append(3)
    assert float(f(values, jnp.ones(()))) == 6


def test_functions_do_not_share_traces():
    f, g = ag.function(identity), ag.function(identity)
    f(jnp.ones(2))
    g(jnp.ones(2))
    assert f.experimental_get_tracing_count() == g.experimental_get_tracing_count() == 1


def test_every_signature_is_kept():
    f = ag.function(lambda x, n: x * n)
    for _ in range(3):
        for n in range(20):
            for size in (1, 2):
                assert f(jnp.ones(size), n).tolist() == [n] * size
    assert f.experimental_get_tracing_count() == 40


def test_partial_and_callable_objects():
    def f(a, b, c=1):
        return a * 100 + b * 10 + c

    g = ag.function(functools.partial(f, jnp.array(1), c=3))
    assert int(g(jnp.array(2))) == 123 and int(g(jnp.array(2), c=4)) == 124

    class Adder:
        def __call__(self, x, n=1):
            if x > 0:
                return x + n
            return x

    h = ag.function(Adder())
    assert int(h(jnp.array(1))) == 2 and int(h(jnp.array(1), n=5)) == 6 and h.__name__ == "Adder"


class Column:
    """An array of some other library, which can change."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)


def test_arrays_of_other_libraries_are_arrays():
    f = ag.function(lambda column, k: column.sum() * k)
    column = Column([1, 2])
    for _ in range(2):
        assert float(f(column, 2)) == 6
    column.values = [3, 4]
    assert float(f(column, 2)) == 14 and float(f(Column([0, 1]), 2)) == 2
    assert f.experimental_get_tracing_count() == 1
    names = Column(["a", "b"])
    assert traces(lambda column: 0, (names,), (names,)) == 1


def test_variables_as_arguments_are_told_apart_by_identity():
    v, w = ag.Variable(1.0), ag.Variable(2.0)

    def add(variable, x):
        variable.assign_add(x)
        return variable + 0.0

    f = ag.function(add)
    assert [float(f(a, jnp.array(1.0))) for a in (v, w, v, w)] == [2, 3, 3, 4]
    assert float(v.value) == 3
    assert f.experimental_get_tracing_count() == 2
    g = ag.function(lambda vs, x: vs["a"][0] * x + vs["b"])
    assert float(g({"a": [v], "b": w}, jnp.array(2.0))) == 10
    v.assign(5.0)
    assert float(g({"a": [v], "b": w}, jnp.array(2.0))) == 14
