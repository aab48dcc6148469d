"""Order: of lists and tuples that differ in length, and of what is sorted in an order known only at run time."""

from __future__ import annotations

import dataclasses
import enum
import fractions

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.order_programs import PROGRAMS
from tests.test_lengths_by_path import plain


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_function_returns_what_python_returns(program):
    staged = ag.function(program)
    for n in (5, 3, 8):
        assert plain(staged(jnp.int32(n))) == plain(program(n))


def compared(values):
    high = [v for v in values if v > 1]
    low = [v for v in values if v <= 1]
    few = sorted(high, reverse=values[0] > 2)[:2]
    return high < low, high >= few, (values[0], high) < (2.0, low), few > [1.5], [*few, values[1]] <= few


INPUTS = np.array([[3.0, -1.0, 2.5], [0.5, 2.5, -1.0], [-2.0, 0.0, 1.0], [2.0, 2.0, np.nan]], "f")


def test_under_jit_and_vmap():
    converted = ag.convert(compared)
    wanted = [compared(values.tolist()) for values in INPUTS]
    assert [tuple(map(bool, jax.jit(converted)(values))) for values in INPUTS] == wanted
    found = jax.jit(jax.vmap(converted))(INPUTS)
    assert [tuple(map(bool, each)) for each in zip(*found, strict=True)] == wanted


@dataclasses.dataclass(order=True)
class Span:
    start: int
    end: int = 0


@dataclasses.dataclass(order=True, frozen=True)
class Job:
    cost: int
    span: Span = dataclasses.field(default_factory=lambda: Span(1))
    name: str = "x"
    place: int = dataclasses.field(default=0, compare=False)


def made(values):
    return [Job(v % 2, Span(v * 2, k), place=k) for k, v in enumerate(values) if v > 0]


def sorted_objects(values):
    jobs = made(values)
    first = min(jobs).place if jobs else -1
    return [job.place for job in sorted(jobs)], [job.place for job in sorted(jobs, reverse=True)], first


def objects_found(values):
    jobs = made(values)
    wanted = Job(1, Span(values[1] * 2, 1), place=9)
    place = jobs.index(wanted) if wanted in jobs else -1
    more = [job for job in jobs if job.cost == 1]
    return place, jobs.count(Job(0)), jobs == more, jobs < more, more <= jobs, values[0] in jobs, Span(0) in jobs


def tuples_with_constants(values):
    named = [("a", v % 2, k) for k, v in enumerate(values) if v > 0]
    pairs = [(v % 2, None, k) for k, v in enumerate(values) if v > 0]
    return [pair[2] for pair in sorted(named)], [pair[2] for pair in sorted(pairs, reverse=True)]


@pytest.mark.parametrize("program", [sorted_objects, objects_found, tuples_with_constants], ids=lambda f: f.__name__)
def test_elements_with_fields_and_constants(program):
    staged = ag.function(program)
    for values in ([3, 1, 2, 5, 0], [1, 1, 1, 1, 1], [-2, 4, -1, 7, 2], [-1, 0, -1, 0, 0]):
        assert plain(staged(jnp.array(values))) == plain(program(np.array(values)))


class Residue:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value % 3 == (other.value if isinstance(other, Residue) else other) % 3


class Color(enum.IntEnum):
    RED = 1


class Word(str, enum.Enum):
    A = "a"


def positive(values):
    return [v for v in values if v > 0]


@pytest.mark.parametrize(
    "program",
    [
        lambda values: Residue(1) in positive(values),
        lambda values: positive(values).count(Residue(1)),
        lambda values: positive(values) == [Residue(1)],
        lambda values: 4 in [Residue(v) for v in positive(values)],
        lambda values: (Residue(1), 2) in [(v, 2) for v in positive(values)],
        lambda values: Color.RED in positive(values),
        lambda values: fractions.Fraction(2, 2) in positive(values),
        lambda values: Word.A in ["a" if v > 1 else "b" for v in values if v > 0],
    ],
)
def test_what_a_class_says_is_equal_is_not_taken_for_different(program):
    """These were said to be equal to nothing."""
    assert program(np.array([1, 0, 1])) or program(np.array([4, 0]))
    with pytest.raises(ag.StagingError, match="Objects in lists are compared here"):
        ag.function(program)(jnp.array([4, 0, 1]))
