"""Objects of several classes, chosen by traced conditions and indices: each does what its class says."""

from __future__ import annotations

import abc
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import agrees_when_compiled, differences


class Open:
    def handle(self, x):
        return x * 2


class Closed:
    def handle(self, x):
        return x - 1


class Door:
    def __init__(self):
        self.state = Closed()
        self.moves = 0

    def push(self, x):
        if x > 0:
            self.state = Open()
        else:
            self.state = Closed()
        self.moves += 1
        return self.state.handle(x)


@dataclass
class Circle:
    radius: float

    def area(self):
        return 3 * self.radius**2

    def grow(self, by):
        self.radius += by


@dataclass
class Square:
    side: float

    def area(self):
        return self.side**2

    def grow(self, by):
        if by > 1:
            self.side *= by


class Shape(abc.ABC):
    def __init__(self, weight):
        self.weight = weight
        self.calls = 0

    @abc.abstractmethod
    def value(self, x): ...

    def run(self, x):
        self.calls += 1
        return self.value(x) * self.weight


class Plain(Shape):
    def value(self, x):
        return x + 1


class Bent(Shape):
    def __init__(self, weight, at):
        super().__init__(weight)
        self.at = at

    def value(self, x):
        if x > self.at:
            return x * self.at
        return -x

    def run(self, x):
        return super().run(x) + 100


class Red:
    name = "red"

    def following(self, x):
        return Green(x)


class Green:
    def __init__(self, x):
        self.x = x

    @property
    def name(self):
        return "green"

    def following(self, x):
        return Amber(self.x, x)


class Amber:
    def __init__(self, first, second):
        self.first, self.second = first, second
        self.name = "amber"

    def following(self, x):
        return Red()


XS, YS = np.array([1.0, -2.0, 3.0]), np.array([-1.0, 2.0, 5.0])


def state_in_a_branch(x):
    door = Door()
    return door.push(x), door.moves


def state_in_a_loop(xs):
    door, total = Door(), 0.0
    for v in xs:
        total += door.push(v)
    return total, door.moves, door.state.handle(5.0)


def lights(xs):
    light = Red()
    for v in xs:
        if v > 0:
            light = light.following(v)
    return light.name, isinstance(light, Amber), light.first if isinstance(light, Amber) else 0.0


def asks_isinstance(x):
    shape = Circle(x) if x > 0 else Square(x)
    if isinstance(shape, Circle):
        return shape.radius
    return shape.side * 10


def asks_type(x):
    if x > 0:
        shape = Circle(x)
    else:
        shape = Square(x)
    kind = 1 if type(shape) is Circle else 2
    return shape.area() * kind, shape.__class__ is Square, type(shape) in (Circle,), type(shape).__name__


def asks_attributes(x):
    shape = Circle(x) if x > 0 else Square(x)
    return hasattr(shape, "radius"), getattr(shape, "radius", 7.0), getattr(shape, "side", 8.0), callable(shape)


def matches_classes(x):
    shape = Circle(x) if x > 0 else Square(x)
    match shape:
        case Circle(radius=r) if r > 2:
            return r
        case Circle(r) | Square(side=r) if r < -2:
            return r * 100
        case Circle(0.5):
            return 0.25
        case Circle() as circle:
            return circle.area()
        case Square(side=s):
            return s * 5


def matches_within(x):
    shape = Circle(x) if x > 0 else Square(x)
    match (shape, x):
        case (Square(side=s), v):
            return s + v
        case (Circle(radius=r), 2.0):
            return r * 7
        case (Circle(), v):
            return v


def writes(x):
    shape = Circle(x) if x > 0 else Square(x)
    shape.grow(x)
    shape.grow(2.0)
    return shape.area()


def writes_to_what_others_hold(x):
    circle, square = Circle(1.0), Square(2.0)
    shape = circle if x > 0 else square
    shape.grow(x)
    return circle.radius, square.side, shape is circle, shape is square, shape.area()


def best_of_a_loop(xs):
    best, largest = None, 0.0
    for v in xs:
        shape = Circle(v) if v > 0 else Square(v)
        if best is None or shape.area() > largest:
            best, largest = shape, shape.area()
    return largest, best.area(), isinstance(best, Circle)


def indexed(xs):
    shapes = [Circle(1.0), Square(2.0), Circle(3.0)]
    total = 0.0
    for v in xs:
        k = jnp.abs(v).astype(int) % 3 if isinstance(v, jax.Array) else int(abs(v)) % 3
        shapes[k].grow(v)
        total += shapes[k].area()
    return total, shapes[0].radius, shapes[1].side, shapes[2].radius


def inherits(xs):
    shape, total = Plain(2.0), 0.0
    for v in xs:
        total += shape.run(v)
        if v < 0:
            shape = Bent(v, 0.5)
    return total, shape.calls


def may_be_none(x):
    shape = None
    if x > 1:
        shape = Circle(x)
    elif x > 0:
        shape = Square(x)
    if isinstance(shape, Circle):
        return shape.radius * 2
    kind = type(shape) is Square
    match shape:
        case None:
            return -1.0
        case Square(side=s):
            return s if kind else 0.0


def uses_bound_methods(x):
    shape = Circle(x) if x > 0 else Square(x)
    area, kind = shape.area, Circle if x > 0 else Square
    scaled = lambda by: by * area()  # noqa: E731
    return (
        [scaled(by) for by in (1.0, 2.0)],
        isinstance(shape, kind),
        sorted([2.0, 1.0], key=lambda v: v * shape.area()),
    )


def returned(x):
    shape = Circle(x) if x > 0 else Square(x)
    return [shape, shape], shape


@pytest.mark.parametrize(
    "function, calls",
    [
        (state_in_a_branch, [(1.0,), (-1.0,)]),
        (state_in_a_loop, [(XS,), (-XS,)]),
        (lights, [(XS,), (-XS,), (np.ones(3),)]),
        (asks_isinstance, [(1.0,), (-1.0,)]),
        (asks_type, [(1.0,), (-1.0,)]),
        (asks_attributes, [(1.0,), (-1.0,)]),
        (matches_classes, [(3.0,), (0.5,), (1.0,), (-1.0,), (-3.0,)]),
        (matches_within, [(2.0,), (1.0,), (-1.0,)]),
        (writes, [(1.5,), (-1.0,)]),
        (writes_to_what_others_hold, [(1.5,), (-1.0,)]),
        (best_of_a_loop, [(XS,), (-XS,), (YS,)]),
        (indexed, [(XS,), (YS,)]),
        (inherits, [(XS,), (YS,), (-XS,)]),
        (uses_bound_methods, [(2.0,), (-1.0,)]),
        (may_be_none, [(2.0,), (0.5,), (-1.0,)]),
    ],
)
def test_objects_of_several_classes(function, calls):
    agrees_when_compiled(function, *calls)


def test_an_object_that_a_condition_chose_is_returned_as_itself():
    run = ag.function(returned)
    for x in (1.0, -1.0):
        (one, other), shape = run(jnp.float32(x))
        assert one is other is shape
        assert shape == returned(x)[1]


def test_an_attribute_that_the_object_has_not_raises():
    def radius(x):
        shape = Circle(x) if x > 0 else Square(x)
        return shape.radius

    run = ag.function(radius)
    assert run(jnp.float32(2.0)) == 2.0
    with pytest.raises(AttributeError, match="'Square' object has no attribute 'radius'"):
        run(jnp.float32(-2.0))


@pytest.mark.parametrize("function", [state_in_a_loop, writes, inherits])
def test_under_vmap(function):
    rows = np.stack([XS, YS, -XS]) if function is not writes else np.array([1.5, -1.0, 3.0])
    found = jax.jit(jax.vmap(ag.convert(function)))(jnp.asarray(rows))
    for k, row in enumerate(rows):
        assert list(differences(function(row), jax.tree.map(lambda leaf: leaf[k], found), widens=True)) == []  # noqa: B023


def test_gradients():
    def area(x):
        shape = Circle(x) if x > 0 else Square(x)
        for _ in ag.range(2):
            shape.grow(2.0)
        return shape.area()

    gradient = jax.grad(ag.convert(area))
    assert gradient(1.0) == pytest.approx(6 * 5.0)
    assert gradient(-1.0) == pytest.approx(2 * -16.0)


class Player:
    def __init__(self, name, score=0.0):
        self.name, self.score = name, score

    def add(self, v):
        self.score += v


def takes_turns(xs):
    one, two = Player("one"), Player("two")
    now = one
    for v in xs:
        now.score += v
        now = two if now is one else one
    return one.score, two.score, now.name, now is one


def takes_turns_where_it_wins(xs):
    one, two = Player("one"), Player("two")
    now, other = one, two
    for v in xs:
        now.add(v)
        other.score -= 1
        if v > 0:
            now, other = other, now
    return one.score, two.score, now.name, other.score


def takes_turns_in_a_list(xs):
    players = [Player("one"), Player("two"), Player("three")]
    now = players[0]
    for v in xs:
        now.add(v)
        if now is players[0]:
            now = players[1]
        elif now is players[1]:
            now = players[2]
        else:
            now = players[0]
    return [player.score for player in players], now.name


class Game:
    def __init__(self):
        self.white, self.black = Player("white"), Player("black")
        self.current = self.white

    def move(self, v):
        self.current.add(v)
        if v > 1:
            self.current = self.black if self.current is self.white else self.white

    def play(self, xs):
        for v in xs:
            self.move(v)
        return self.white.score, self.black.score, self.current.name


def plays(xs):
    return Game().play(xs)


@pytest.mark.parametrize("function", [takes_turns, takes_turns_where_it_wins, takes_turns_in_a_list, plays])
def test_loops_write_to_objects_that_they_choose(function):
    agrees_when_compiled(function, (XS,), (YS,), (-XS,))


def test_gradients_through_turns():
    gradient = jax.grad(lambda xs: ag.convert(takes_turns)(xs)[0])
    assert list(gradient(jnp.asarray(XS))) == [1.0, 0.0, 1.0]


def test_a_write_in_a_loop_that_another_name_sees():
    class Counted:
        def __init__(self):
            self.count = 0

    class Other(Counted):
        def __init__(self):
            super().__init__()
            self.extra = 1.0

    def counts(xs):
        now = Counted()
        first = now
        for v in xs:
            now.count += 1
            if v > 2:
                now = Other()
        return now.count, first.count

    assert jax.tree.map(int, ag.function(counts)(jnp.asarray(XS))) == counts(XS)


def test_a_sequence_in_a_class_pattern():
    class Path:
        def __init__(self, points):
            self.points = points

    def first(x):
        shape = Path([x, 2.0]) if x > 0 else Square(x)
        match shape:
            case Path(points=[one, _]):
                return one
            case _:
                return 0.0

    compiled = ag.function(first)
    for x in (1.0, -1.0):
        assert compiled(jnp.float32(x)) == first(x)


def test_a_pattern_that_python_must_match_is_refused():
    class Path:
        def __init__(self, points):
            self.points = points

    def first(x):
        shape = Path({"first": x}) if x > 0 else Square(x)
        match shape:
            case Path(points={"first": one}):
                return one
            case _:
                return 0.0

    with pytest.raises(ag.StagingError, match="one of the classes Path, Square"):
        ag.function(first)(jnp.float32(1.0))


def test_a_dict_that_gets_its_keys_in_different_orders_is_refused():
    def ordered(x):
        held = {}
        if x > 0:
            held["b"], held["a"] = x, [2 * x]
        else:
            held["a"], held["b"] = [x], 3 * x
        return [value for value in held.values()]

    with pytest.raises(ag.StagingError, match=r"order of a dict's keys is read here.*\n.*in one order on all paths"):
        ag.function(ordered)(jnp.float32(1.0))
