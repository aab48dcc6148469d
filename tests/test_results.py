"""What a compiled function returns: values, made anew on each call; what cannot be a value is refused."""

from __future__ import annotations

import collections
import dataclasses
import functools
import types

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


class Point:
    def __init__(self, x, y=None):
        self.x, self.y = x, y


class Table(dict):
    pass


class Row(list):
    def named(self, name):
        self.name = name
        return self


class Pair(tuple):
    pass


class Slotted:
    __slots__ = ("x", "y")

    def __init__(self, x):
        self.x = x


class Grown(Point):
    count = 0

    def __init__(self, x):
        super().__init__(x)
        self.log = [x, {"k": x}]


@dataclasses.dataclass
class Settings:
    rate: object
    name: str = "plain"


def one():
    return jnp.float32(1)


def holds_no_tracer(value, seen=None):
    leaves = jax.tree_util.tree_leaves(value)
    for leaf in leaves:
        assert not isinstance(leaf, jax.core.Tracer)
        if isinstance(leaf, set | collections.deque):
            holds_no_tracer(list(leaf))
        elif hasattr(leaf, "__dict__") and not isinstance(leaf, type | types.FunctionType):
            holds_no_tracer(list(vars(leaf).values()))


MADE = {
    "set": (lambda x: {1, 2}, lambda r: r),
    "empty set": (lambda x: set(), lambda r: r),
    "deque": (lambda x: collections.deque([x, x + 1], maxlen=3), lambda r: (r.maxlen, [float(v) for v in r])),
    "bytearray": (lambda x: bytearray(b"ab"), lambda r: r),
    "object": (lambda x: Point(x * 2, "text"), lambda r: (type(r), float(r.x), r.y)),
    "object in an object": (lambda x: Point(Point(x), [x, None]), lambda r: (float(r.x.x), float(r.y[0]), r.y[1])),
    "slots": (lambda x: Slotted(x * 3), lambda r: (float(r.x), hasattr(r, "y"))),
    "subclass": (lambda x: Grown(x), lambda r: (float(r.log[1]["k"]), r.count, r.y)),
    "dataclass": (lambda x: Settings(x), lambda r: (float(r.rate), r.name)),
    "namespace": (lambda x: types.SimpleNamespace(a=x), lambda r: float(r.a)),
    "a dict's subclass": (lambda x: Table(a=x, b=[x]), lambda r: (list(r), float(r["a"]), float(r["b"][0]))),
    "a list's subclass": (lambda x: Row([x, 2]).named("n"), lambda r: (r.name, float(r[0]), int(r[1]))),
    "a tuple's subclass": (lambda x: Pair((x, x + 1)), lambda r: [float(v) for v in r]),
    "in containers": (lambda x: {"p": [Point(x)], "s": ({3}, x)}, lambda r: (float(r["p"][0].x), r["s"][0])),
    "a deque of objects": (lambda x: collections.deque([Point(x)]), lambda r: float(r[0].x)),
}


@pytest.mark.parametrize("name", MADE)
def test_each_call_makes_its_own(name):
    f, look = MADE[name]
    compiled = ag.function(f)
    first, second, third = compiled(one()), compiled(one()), compiled(jnp.float32(5))
    assert look(first) == look(second) == look(f(one())) and look(third) == look(f(jnp.float32(5)))
    assert type(first) is type(second) is type(f(one())) and first is not second
    for result in (first, second, third):
        holds_no_tracer(result)


def test_what_is_changed_in_one_result_is_not_in_the_next():
    f = ag.function(lambda x: (Point([x]), {1}))
    point, numbers = f(one())
    point.x.append(0), numbers.add(2)
    point, numbers = f(one())
    assert len(point.x) == 1 and numbers == {1}


def test_one_object_in_two_places_is_one_in_the_result():
    @ag.function
    def f(x):
        inner = Point(x)
        ring = Point(x)
        ring.y = ring
        return inner, [inner, Point(inner)], ring

    for _ in range(2):
        inner, (same, outer), ring = f(one())
        assert same is inner and outer.x is inner and ring.y is ring and float(ring.x) == 1


@pytest.mark.filterwarnings("ignore:Python iterable type")  # JAX's, of iterators in pytrees
def test_objects_from_outside_are_themselves():
    class Model:
        def __init__(self):
            self.settings = Point(2.0)
            self.ids = iter(())

        @ag.function
        def own(self, x):
            return self, self.settings, x

        @ag.function
        def iterator(self, x):
            return self.ids

    model, other = Model(), Point(1)
    for _ in range(2):
        first, second, _ = model.own(one())
        assert first is model and second is model.settings
        assert model.iterator(one()) is model.ids
    assert ag.function(lambda p, x: p)(other, one()) is other
    assert ag.function(lambda x: other)(one()) is other


def test_made_under_conditions_and_in_loops():
    def f(x, n):
        p = Point(x)
        for _ in range(n):
            if p.x > 2:
                p.x -= 1
            else:
                p.x *= 2
        return p

    compiled = ag.function(f)
    for n in range(4):
        assert float(compiled(one(), jnp.asarray(n)).x) == float(f(1.0, n).x)


def test_lists_in_objects_have_the_length_that_they_got():
    def f(x):
        p = Point([], {"kept": []})
        for v in x:
            p.x.append(v * 2)
            if v > 1:
                p.y["kept"].append(v)
        return p

    compiled = ag.function(f)
    for values in ([1.0, 2.0, 3.0], [0.0, 0.5, 1.0]):
        wanted, got = f(values), compiled(jnp.array(values))
        assert type(got.x) is list and type(got.y["kept"]) is list
        assert [float(v) for v in got.x] == wanted.x and [float(v) for v in got.y["kept"]] == wanted.y["kept"]


def test_through_other_functions_and_transforms():
    inner = ag.function(lambda x: Point(x * 2, {7}))

    @ag.function
    def outer(x):
        p = inner(x)
        return p.x + 1, p, inner(x + 1)

    value, p, q = outer(one())
    assert (float(value), float(p.x), p.y, float(q.x)) == (3, 2, {7}, 4)
    assert float(jax.grad(lambda x: inner(x).x)(one())) == 2
    assert jax.vmap(lambda x: inner(x).x)(jnp.ones(3)).tolist() == [2] * 3


def test_a_variable_in_an_object_is_the_variable():
    v = ag.Variable(1.0)
    f = ag.function(lambda x: Point(x, v))
    point = f(one())
    assert point.y is v and f(one()).y is v


def test_structured_outputs():
    f = ag.function(lambda x: (Point(x), {1}))
    point, numbers = f.get_concrete_function(one()).structured_outputs
    assert isinstance(point, Point) and point.x == ag.TensorSpec((), jnp.float32) and numbers == {1}


def generator(x):
    yield x
    yield x + 1


async def coroutine(x):
    return x


REFUSED = {
    "generator": generator,
    "coroutine": coroutine,
    "generator expression": lambda x: (v for v in [x, x]),
    "iter": lambda x: iter([x, x + 1]),
    "map": lambda x: map(lambda v: v + 1, [x, x]),
    "filter": lambda x: filter(None, [1, 2]),
    "zip": lambda x: zip([x], [x]),
    "enumerate": lambda x: enumerate([x]),
    "reversed": lambda x: reversed([x, x]),
    "in a tuple": lambda x: (x, iter([1])),
    "in an object": lambda x: Point(iter([x])),
    "closure": lambda x: lambda: x,
    "partial": lambda x: functools.partial(Point, x),
    "method": lambda x: Point(x).__init__,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_a_value_is_refused(name):
    for _ in range(2):
        with pytest.raises(ag.StagingError, match=r"(?s)test_results.py:\d+.*Return"):
            ag.function(REFUSED[name])(one())


class Named:
    def __init__(self, name, value):
        self.name, self.value = name, value


def test_the_texts_of_objects_in_a_list_of_traced_length():
    def above(x):
        found = []
        for each in [Named("a", 1), Named("b", 2), Named("c", 3)]:
            if each.value > x:
                found.append(each)
        return found

    found = ag.function(above)(jnp.int32(1))
    assert [({"b": 7, "c": 8}[each.name], type(each.name), int(each.value)) for each in found] == [
        (7, str, 2),
        (8, str, 3),
    ]


def test_dicts_in_a_list_of_traced_length_that_is_returned():
    def rows(xs):
        found = []
        for x in xs:
            row = {"x": x}
            if x > 2:
                row["large"] = 2 * x
            if x > 0:
                found.append(row)
        return found, [row["x"] for row in found if "large" in row]

    compiled = ag.function(rows)
    for xs in ([1.0, 3.0, -1.0], [-3.0, -4.0, 5.0], [-1.0, -1.0, -1.0]):
        assert jax.tree.map(float, compiled(jnp.array(xs))) == rows(xs)
