"""Variables that a staged statement binds to one of several objects of the user's classes."""

from __future__ import annotations

import copy
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged
from tests.agreement import agrees_when_compiled
from tests.outcomes import agrees_when_transformed


class Vector:
    def __init__(self, x, y, label="v"):
        self.x = x
        self.y = y
        self.label = label

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, factor):
        return Vector(self.x * factor, self.y * factor)

    def larger(self, other):
        if self.x > other.x:
            return self
        return other

    def touch(self):
        return self


@dataclasses.dataclass(frozen=True)
class State:
    position: object
    velocity: object
    name: str = "state"

    def step(self, dt):
        if self.position > 0:
            return dataclasses.replace(self, velocity=self.velocity - dt, position=self.position + self.velocity * dt)
        return dataclasses.replace(self, velocity=-self.velocity * 0.5, position=0.01)


@dataclasses.dataclass(slots=True)
class Slotted:
    low: object
    high: object


@dataclasses.dataclass
class Tree:
    value: object
    child: object = None


def accumulate(n):
    v, w = Vector(0.0, 0.0), Vector(1.0, 2.0)
    for i in range(n):
        if i % 2 == 0:
            v = v + w
        else:
            v = v * 2
    return v.x, v.y


def bouncing(n):
    state = State(1.0, 0.0)
    while state.velocity < 3 and n > 0:
        state = state.step(0.1)
        n -= 1
    return state.position, state.velocity


def bisect(n):
    interval = Slotted(0.0, n * 1.0)
    while interval.high - interval.low > 0.01:
        middle = (interval.low + interval.high) / 2
        interval = Slotted(middle, interval.high) if middle * middle < n else Slotted(interval.low, middle)
    return interval.low


def nested(n):
    tree = Tree(0, Tree(1, [2.0, 3]))
    while tree.value < n:
        tree = Tree(tree.value + 1, Tree(tree.child.value * 2, [tree.child.child[0] + 1, tree.value]))
    return tree.value, tree.child.value, tree.child.child


def chosen(n):
    pool = [Vector(3, 1), Vector(5, 2), Vector(4, 7)]
    best = pool[0]
    for candidate in pool:
        if candidate.x * (n - 4) > best.x * (n - 4):
            best = candidate
    return best.x, best.y


def returned(n):
    a, b = Vector(n * 2, 1), Vector(7, 2)
    c = a.larger(b)
    return c.x + c.larger(a).y


def in_a_tuple(n):
    pair = (Vector(0, 1), 0)
    while pair[1] < n:
        v, count = pair
        pair = (v + Vector(count, 1), count + 1)
    return pair[0].x, pair[1]


def on_an_attribute(n):
    holder = Tree(0, Vector(1, 1))
    for i in range(n):
        if i > 1:
            holder.child = holder.child + Vector(i, i)
    return holder.child.x


def mutated_inside(n):
    v = Vector(0.0, 1.0)
    for i in range(n):
        v = v * 1.5
        v.x += i
        if i > 1:
            v.y = v.x
    return v.x, v.y


PROGRAMS = [
    accumulate,
    bouncing,
    bisect,
    nested,
    chosen,
    returned,
    in_a_tuple,
    on_an_attribute,
    mutated_inside,
]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("n", [1, 5])
def test_objects_are_chosen_as_python_chooses(program, n):
    wanted = jax.tree.leaves(program(n))
    for found in (
        staged.function(program)(jnp.asarray(n)),
        staged.jitted(program)(n),
        jax.tree.map(lambda x: x[1], staged.mapped(program)(jnp.array([2, n]))),
    ):
        for one, other in zip(jax.tree.leaves(found), wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)


def test_attributes_differentiate():
    @ag.convert
    def energy(x, n):
        state = State(x, 0.0)
        for _ in range(n):
            state = state.step(0.1)
        return state.position * state.velocity

    wanted = jax.grad(lambda x: energy(x, 6))(1.0)
    np.testing.assert_allclose(jax.jit(jax.grad(energy))(1.0, 6), wanted, rtol=1e-5)


def test_one_object_on_both_paths_stays_itself():
    v = Vector(1, 2)

    @ag.convert
    def same(n):
        w = v
        w = v.touch() if n > 0 else v
        assert w is v
        return w.x

    assert int(jax.jit(same)(3)) == 1


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("n", [0, 1])
def test_a_write_to_a_chosen_object_is_one_to_what_it_is(n, copies):
    def run(n, copies):
        v = w = Vector(1, 2)
        if n > 0:
            v = v + v
        if copies:
            v = copy.copy(v)
        v.x = 10
        return v.x + w.x

    assert int(jax.jit(ag.convert(run), static_argnums=1)(n, copies)) == run(n, copies)


def test_attributes_that_cannot_be_chosen_are_named():
    def run(n):
        v = Vector(1, 2)
        if n > 0:
            v = Vector(1, 2, range(3))
        return v.x

    with pytest.raises(ag.StagingError, match=r"v\.label"):
        jax.jit(ag.convert(run))(1)

    def grow(n):
        v = Vector(jnp.ones(2), 2)
        while n > 0:
            v = Vector(jnp.ones(3), 2)
            n -= 1
        return v.x

    with pytest.raises(ag.StagingError, match=r"(?s)v\.x.*\[2\].*\[3\]"):
        jax.jit(ag.convert(grow))(1)


class Grid:
    def __init__(self):
        self.cells = [0.0, 0.0]
        self.counts = {"sets": 0}

    def __setitem__(self, k, value):
        self.cells[k] = value
        self.counts["sets"] += 1

    def put(self, k, value):
        self[k] = value
        return self

    def __iadd__(self, value):
        self.cells[1] += value
        return self


def an_item_is_assigned(x):
    g = Grid()
    if x > 0:
        g[0] = x
    return g.cells[0], g.counts["sets"]


def a_method_returns_the_object(x):
    g = Grid()
    if x > 0:
        g = g.put(1, x)
    else:
        g = g.put(0, x).put(1, -x)
    return g.cells, g.counts["sets"]


def an_operator_updates_in_place(x):
    g, log = Grid(), []
    g.log = log
    log.append(0.0)
    if x > 0:
        g += x
        g.log.append(x)
    return g.cells[1], log[-1]


def it_is_in_a_tuple_beside_another(x):
    g, h = Grid(), Grid()
    pair = (g, h)
    if x > 0:
        pair = (g, Grid())
        g[1] = x
        h[1] = x
    return pair[0].cells, pair[1].cells, h.cells


def in_a_loop(x):
    g = Grid()
    for i in range(3):
        if x > i:
            g[0] = g.cells[0] + x
    return g.cells, g.counts["sets"]


def deeper(x):
    outer = Tree(0, Tree(1, Grid()))
    if x > 0:
        outer.child.child[1] = x
        outer = outer
    return outer.child.child.cells


BOUND_AGAIN = [
    an_item_is_assigned,
    a_method_returns_the_object,
    an_operator_updates_in_place,
    it_is_in_a_tuple_beside_another,
    in_a_loop,
    deeper,
]


@pytest.mark.parametrize("program", BOUND_AGAIN)
@pytest.mark.parametrize("x", [-1.0, 2.0])
def test_an_object_that_is_bound_again_keeps_what_its_containers_get(program, x):
    agrees_when_transformed(program, x, beside=0.5)


@pytest.mark.parametrize("x", [-1.0, 2.0])
def test_a_set_that_a_branch_updates_in_place(x):
    def run(x):
        seen = set()
        if x > 0:
            seen |= {1}
        return len(seen)

    assert ag.function(run)(jnp.asarray(x)) == run(x)


@dataclasses.dataclass(frozen=True)
class Interval:
    low: float
    width: dataclasses.InitVar[float]
    high: float = dataclasses.field(init=False)
    inside: list = dataclasses.field(default_factory=list)

    def __post_init__(self, width):
        if width < 0:
            raise ValueError("a negative width")
        low = self.low
        while low > 10:
            low = low / 2
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", low + width)


def test_what_runs_after_the_init_of_a_dataclass_is_staged():
    def f(x, width):
        made = Interval(x, width=width)
        for v in range(3):
            if v > made.low:
                made.inside.append(v)
        return made.low, made.high, len(made.inside), sorted(vars(made))

    compiled = ag.function(f)
    for x, width in ((1.0, 2.0), (37.0, 1.0)):
        found = compiled(jnp.float32(x), jnp.float32(width))
        assert jax.tree.map(float, found[:3]) == f(x, width)[:3] and found[3] == f(x, width)[3]
    with pytest.raises(ValueError, match="a negative width"):
        compiled(jnp.float32(1.0), jnp.float32(-1.0))
    assert jax.grad(lambda x: ag.function(lambda x: Interval(x, 1.0).high)(x))(37.0) == 0.25


class Cell:
    def __init__(self, value, inner=None):
        self.value, self.inner = value, inner


def replaced_on_one_path_and_written_inside_on_the_other(n):
    kept = Cell(1, Cell(2))
    top = Cell(0, kept)
    if n < 8:
        if n < 3:
            top.inner = Cell(5, Cell(6))
    elif n > 9:
        kept.inner = Cell(n)
    return top.inner.value, top.inner.inner.value, kept.inner.value


def replaced_on_one_path_and_set_inside_on_the_other(n):
    kept, found = Cell(n), 0
    top = Cell(0, kept)
    if n <= 2:
        kept.inner = Cell(3)
    node = kept if n < 8 else None
    if node is None:
        if n < 10:
            top.inner = Cell(7)
    elif n > 3:
        node.inner = Cell(n + 1)
    if top.inner.inner is not None:
        found = top.inner.inner.value
    return top.inner.value, found


def containers_replaced_on_one_path_and_written_inside_on_the_other(n):
    kept = Cell([[1], [2]], {"a": Cell(3)})
    top = Cell(0, kept)
    if n < 8:
        if n < 3:
            top.inner = Cell([[5], [6]], {"a": Cell(7)})
    elif n > 9:
        kept.value[0] = [n]
        kept.inner["a"] = Cell(n)
    return top.inner.value, kept.value, top.inner.inner["a"].value, kept.inner["a"].value


@pytest.mark.parametrize(
    "program",
    [
        replaced_on_one_path_and_written_inside_on_the_other,
        replaced_on_one_path_and_set_inside_on_the_other,
        containers_replaced_on_one_path_and_written_inside_on_the_other,
    ],
)
def test_an_object_that_one_path_replaces_is_what_the_other_has_made_of_it(program):
    agrees_when_compiled(program, (4,), (1,), (9,), (12,))
