"""Classes with `__new__`, and objects that containers compare, and sums add, by methods of their class."""

from __future__ import annotations

import abc
import math
from collections import deque
from typing import Generic, TypeVar

import equinox
import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged
from tests.agreement import differences


class Reading:
    """What it holds depends on a traced number in both methods."""

    def __new__(cls, value):
        made = super().__new__(cls)
        made.kind = 1 if value > 2 else 0
        return made

    def __init__(self, value):
        self.value = value if value > 0 else -value


class Span(tuple):
    def __new__(cls, a, b):
        if a > b:
            a, b = b, a
        return super().__new__(cls, (a, b))

    @property
    def length(self):
        return self[1] - self[0]


class Shape:
    def __new__(cls, kind, size):
        chosen = {"circle": Circle, "square": Square}[kind] if cls is Shape else cls
        return super().__new__(chosen)

    def __init__(self, kind, size):
        self.size = size if size > 0 else 1


class Circle(Shape):
    def area(self):
        return 3 * self.size**2


class Square(Shape):
    def area(self):
        return self.size**2


class Only:
    one = None

    def __new__(cls):
        if cls.one is None:
            cls.one = super().__new__(cls)
            cls.one.count = 0
        return cls.one


class Table(dict):
    def __init__(self, n, **items):
        super().__init__(**items)
        self["n"] = n if n > 2 else 0


class Doubled:
    def __new__(cls, x):
        return 2 * x

    def __init__(self, x):
        raise AssertionError("it is called for objects of the class only")


def readings(n):
    kept = Reading(1)
    for i in range(n):
        kept = Reading(i - n)
        kept.value += i
    if n > 2:
        kept = Reading(n)
        kept.value *= 10
    return kept.value, kept.kind, Reading(-n).value


def other_objects(n):
    return Span(n, 2).length, Span(5, n)[0], Table(n, a=1)["n"], Doubled(n) + 1


def chosen_classes(n):
    return Shape("circle", n).area() + Shape("square", -n).area() + Circle("circle", n - 9).area()


@pytest.mark.parametrize("program", [readings, other_objects, chosen_classes])
def test_classes_with_their_own_construction(program):
    for n in (1, 2, 4):
        assert list(differences(program(n), staged.function(program)(jnp.array(n)))) == []
        assert list(differences(program(n), staged.jitted(program)(jnp.array(n)))) == []
    found = jax.vmap(ag.convert(program))(jnp.array([1, 4]))
    assert list(differences(program(4), jax.tree.map(lambda leaf: leaf[1], found))) == []


def test_one_object_for_all_calls():
    def counted(n):
        one, same = Only(), Only()
        one.count += n
        if n > 2:
            same.count += 1
        found, Only.one = one.count, None
        return found, one is same

    assert list(differences(counted(3), ag.function(counted)(jnp.array(3)))) == []


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __eq__(self, other):
        return isinstance(other, Point) and self.x == other.x and self.y == other.y

    __hash__ = None


def in_lists(n):
    points = [Point(1, 2), Point(n, 4), Point(3, 4), Point(1, 2)]
    places = points.index(Point(3, 4)), points.index(Point(1, 2))
    counts = points.count(Point(3, 4)), points.count(Point(1, 2))
    marks = [0] * 3
    for k in range(points.index(Point(1, 2)), 2):  # known while tracing
        marks[k] += 1
    points.remove(Point(1, 2))
    return places, counts, marks, len(points), points[0].x, points.index(Point(n, 4))


def in_containers(n):
    return (
        [Point(n, 1)] == [Point(3, 1)],
        (Point(n, 1), 2) != (Point(3, 1), 2),
        [[Point(n, 1)]] == [[Point(4, 1)]],
        {1: Point(n, 1)} == {1: Point(3, 1)},
        deque([Point(n, 1)]) == deque([Point(3, 1)]),
        deque([Point(1, 1), Point(n, 2)]).index(Point(n, 2)),
        [Point(1, 1)] == [Point(1, 1)],
    )


@pytest.mark.parametrize("program", [in_lists, in_containers])
def test_containers_compare_objects_by_their_class(program):
    for n in (3, 4):
        assert list(differences(program(n), staged.function(program)(jnp.array(n)))) == []
    found = jax.vmap(ag.convert(program))(jnp.array([3, 4]))
    assert list(differences(program(4), jax.tree.map(lambda leaf: leaf[1], found))) == []


def test_an_object_that_is_not_in_a_list():
    def place(n):
        try:
            return [Point(1, 2), Point(2, 2)].index(Point(n, 2))
        except ValueError:
            return -1

    for n in (2, 3):
        assert place(n) == staged.function(place)(jnp.array(n)) == staged.function(place)(n)


class Length:
    """Each is made by an `__init__` that branches."""

    def __init__(self, v):
        self.v = v if v > 0 else -v

    def __add__(self, other):
        return Length(self.v + other.v)

    def __mul__(self, other):
        return Length(self.v * other.v)


class Weight:
    """Adds and multiplies numbers, too, on both sides."""

    def __init__(self, v):
        if v > 100:
            raise ValueError("heavy")
        self.v = v

    def __add__(self, other):
        return Weight(self.v + (other.v if isinstance(other, Weight) else other))

    def __mul__(self, other):
        return Weight(self.v * (other.v if isinstance(other, Weight) else other))

    __radd__, __rmul__ = __add__, __mul__


def sums_of_objects(n):
    lengths = [Length(n), Length(2), Length(-n)]
    by_name = {"a": Weight(n), "b": Weight(n + 1)}
    chosen = Weight(n) if n > 0 else Weight(3)
    return (
        sum(lengths, Length(0)).v,
        sum((Length(k * n) for k in range(3)), start=Length(0)).v,
        sum([Weight(n), Weight(2)]).v,
        sum([1, n, Weight(n), 2.5]).v,
        sum(by_name.values()).v,
        sum(iter([chosen, chosen])).v,
        sum(map(Weight, (n, 1))).v,
    )


def products_of_objects(n):
    return (
        math.prod([Length(n), Length(2)], start=Length(1)).v,
        math.prod((Weight(n), Weight(2), n)).v,
        math.prod(Weight(n + k) for k in range(2)).v,
        math.prod({"a": Weight(n), "b": Weight(2)}.values(), start=n).v,
    )


def a_sum_that_raises(n):
    try:
        return sum([Weight(n), Weight(n * 40)]).v
    except ValueError:
        return -5


@pytest.mark.parametrize("program", [sums_of_objects, products_of_objects, a_sum_that_raises])
def test_sums_and_products_of_objects_call_methods_of_their_class(program):
    for n in (3, -2, 1):
        assert list(differences(program(n), staged.function(program)(jnp.array(n)))) == []
    found = ag.function(jax.vmap(ag.convert(program)))(jnp.array([3, -2]))
    assert list(differences(program(-2), jax.tree.map(lambda leaf: leaf[1], found))) == []


def test_a_sum_of_objects_that_cannot_be_added_to_zero():
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: 'int' and 'Length'"):
        ag.function(lambda n: sum([Length(n)]).v)(jnp.array(1))


class Store:
    """Counts what it is asked for, and takes out what it is indexed by."""

    def __init__(self):
        self.values = {}
        self.asked = 0

    def __contains__(self, key):
        self.asked += 1
        return key in self.values

    def __getitem__(self, key):
        return self.values.pop(key)

    def __setitem__(self, key, value):
        self.values[key] = value


def in_turn(n):
    store, taken = Store(), []
    for k in (n, 2, 3, n, 3, 2):
        if k in store:
            taken.append(store[k])
        else:
            store[k] = 10 * k
    return taken, list(store.values.items()), store.asked


def asked_for_one_of_two(n):
    store = Store()
    store["low"] = n
    return ("low" if n < 2 else "high") in store, store.asked


@pytest.mark.parametrize("program", [in_turn, asked_for_one_of_two])
def test_in_calls_the_method_of_the_class_once(program):
    for n in (1, 2, 3, 5):
        assert list(differences(program(n), staged.function(program)(jnp.array(n)))) == []


def of_autograph():
    class Scaled(ag.Module):
        def __init__(self):
            self.by = ag.Variable(3.0)

        @property
        def scale(self):
            if self.by > 2:
                return self.by * 10
            return self.by.value

        def __add__(self, x):
            return self.scale + x

    scaled = Scaled()
    return lambda x: scaled + x


def of_an_abstract_class():
    class Length(abc.ABC):
        def __init__(self, value):
            self.value = value

        def __add__(self, other):
            if self.value > other.value:
                return Length(self.value)
            return Length(self.value + other.value)

    return lambda x: (Length(x) + Length(x - 1) + Length(x + 1)).value


def of_a_generic_class():
    class Signed(Generic[ITEM]):
        def __init__(self, value):
            self.value = value

        @property
        def sign(self):
            return 1 if self.value > 0 else -1

    return lambda x: Signed(x).sign


def of_a_list():
    class Items(list):
        @property
        def first_large(self):
            for value in self:
                if value > 3:
                    return value
            return -1.0

    return lambda x: Items([x, x + 2, x + 3]).first_large


def of_a_class_of_another_library():
    class Layer(equinox.Module):
        weight: jax.Array

        @property
        def clipped(self):
            if self.weight > 2:
                return self.weight * 0 + 2
            return self.weight

    return lambda x: Layer(x).clipped


ITEM = TypeVar("ITEM")


@pytest.mark.parametrize(
    "make", [of_autograph, of_an_abstract_class, of_a_generic_class, of_a_list, of_a_class_of_another_library]
)
def test_properties_and_operators_of_a_class_in_a_function(make):
    program = make()
    for x in (1.0, 2.5, -1.0):
        wanted = program(x)
        assert staged.function(program)(jnp.array(x)) == wanted
        if make is not of_autograph:  # whose Variable a bare jit may not read
            assert staged.jitted(program)(x) == wanted


class Slot:
    """Its properties hold no control flow: one operation each, of what a traced condition has left in an attribute."""

    names = {1: "one", 2: "two"}

    def __init__(self):
        self.car, self.kind, self.label, self.items = None, 1, "a", [4.0, 5.0]

    def park(self, x):
        if x > 0:
            self.car, self.kind, self.label = x, 2, "b"
            self.items.append(x)

    @property
    def free(self):
        return self.car is None

    @property
    def taken(self):
        return self.car is not None

    @property
    def name(self):
        return self.names[self.kind]

    @property
    def item(self):
        return self.items[self.kind]

    @property
    def later(self):
        return self.items[1:]

    @property
    def text(self):
        return f"{self.label}-{self.kind}"


parked = Slot()


def first_free(x):
    slots = [Slot(), Slot()]
    slots[0].park(x)
    for number, slot in enumerate(slots):
        if slot.free and x > -2:
            return number, slots[0].taken
    return -1, slots[0].taken


def names_and_texts(x):
    slot = Slot()
    slot.park(x)
    return slot.name, slot.text


def items(x):
    slot = Slot()
    slot.park(x)
    return slot.item, slot.later


@pytest.mark.parametrize("program", [first_free, names_and_texts, items])
def test_properties_of_one_operation(program):
    for x in (1.0, -1.0, -3.0):
        assert list(differences(program(x), staged.function(program)(jnp.array(x)))) == []


def test_a_property_of_an_object_from_outside():
    @ag.function
    def f(x):
        was = parked.free
        if was and x > 1:
            parked.car = x
        return was, parked.free

    assert [tuple(map(bool, f(jnp.array(x)))) for x in (0.0, 2.0, 3.0)] == [(True, True), (True, False), (False, False)]


class Config:
    defaults = {"alpha": 1.0, "beta": 2.0}

    def __init__(self):
        self._values = {}

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._values[name]
        except KeyError:
            try:
                return self.defaults[name]
            except KeyError:
                raise AttributeError(f"no setting {name!r}") from None

    @property
    def product(self):
        return self.alpha * self.beta

    def scaled(self, x):
        return self.beta * x


def computed_attributes(x):
    config = Config()
    if x > 2:
        config._values["alpha"] = x
    try:
        missing = config.gamma
    except AttributeError as error:
        missing = str(error)
    return config.alpha, config.product, config.scaled(x), missing


def test_attributes_that_a_class_computes_where_there_is_none():
    for x in (1.0, 3.0):
        assert list(differences(computed_attributes(x), staged.function(computed_attributes)(jnp.array(x)))) == []
