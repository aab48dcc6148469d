"""Members of enums by values that only the run knows: ``Color(n)``."""

from __future__ import annotations

import enum

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.agreement import agrees_when_compiled


class Side(enum.IntEnum):
    NORTH, EAST, SOUTH, WEST = range(4)


class Color(enum.Enum):
    RED = "r"
    BLUE = "b"

    def other(self):
        return Color.BLUE if self is Color.RED else Color.RED


class Size(enum.Enum):
    SMALL = (1, 2)
    LARGE = (3, 4)
    TINY = (1, 2)

    def __init__(self, width, height):
        self.width, self.height = width, height


class Grade(enum.Enum):
    PASS = 1
    FAIL = 0

    @classmethod
    def _missing_(cls, value):
        return cls.FAIL


def walk(n):
    side, x, y = Side.NORTH, 0, 0
    for k in range(n):
        side = Side((side + k) % 4)
        if side is Side.NORTH:
            y += 1
        elif side == Side.EAST:
            x += 1
        elif side == Side.SOUTH:
            y -= 1
        else:
            x -= 1
    return x, y, side, side > Side.NORTH


def by_texts_and_tuples(n):
    color = Color("r" if n > 6 else "b").other()
    size = Size((n % 2 * 2 + 1, 4 if n % 2 else 2))
    return color is Color.RED, color.value == "r", size.width * size.height, size is Size.SMALL


def matched(n):
    total = n
    for number in (n % 4, 2, n % 3):
        match Side(number):
            case Side.NORTH:
                total += 1
            case Side.EAST | Side.WEST:
                total *= 3
            case _:
                total -= 5
    return total, {Side.NORTH: 5, Side.EAST: 6, Side.SOUTH: 7, Side.WEST: 8}[Side(n % 4)]


def of_a_member(n):
    return Side(Side.EAST if n > 6 else Side.SOUTH), Side(Side.WEST) + n, [Side(k % 4).value for k in range(n)]


def handled(n):
    try:
        return Side(n).name == "EAST", Side(n) + 1
    except ValueError:
        return False, -1


@pytest.mark.parametrize("program", [walk, by_texts_and_tuples, matched, of_a_member, handled])
def test_is_the_member_with_the_value(program):
    agrees_when_compiled(program, (3,), (8,), (1,))


def test_in_a_batch():
    turns = jnp.arange(4)
    assert list(jax.vmap(ag.convert(lambda n: Side(n) * 2 if Side(n) > 1 else -1))(turns)) == [-1, -1, 4, 6]


def test_a_value_of_no_member_raises():
    with pytest.raises(ValueError, match="9 is not a valid Side"):
        jax.block_until_ready(ag.function(lambda n: Side(n) + 1)(jnp.asarray(9)))


def test_a_class_that_makes_members_of_other_values_is_refused():
    with pytest.raises(ag.StagingError, match="needs the value of a traced array"):
        ag.function(lambda n: Grade(n).value)(jnp.asarray(7))


class Shape(enum.IntEnum):
    SQUARE = 1
    CIRCLE = 2


@pytest.mark.parametrize("x", [1.0, -1.0])
def test_members_that_are_ints_are_results(x):
    def f(shape, x):
        chosen = Shape.CIRCLE if x > 0 else Shape.SQUARE
        return shape, chosen, [Shape.CIRCLE], int(shape + 1)

    def around(shape, x):
        return compiled(shape, x)[0], compiled(shape, x)[1] + 1

    compiled = ag.function(f)
    for _ in range(2):
        found = compiled(Shape.SQUARE, jnp.float32(x))
        assert found[:3] == f(Shape.SQUARE, x)[:3] and [type(part) for part in found[:2]] == [Shape, Shape]
        assert type(found[2][0]) is Shape and int(found[3]) == 2
    assert [int(part) for part in ag.function(around)(Shape.SQUARE, jnp.float32(x))] == [1, 3 if x > 0 else 2]
