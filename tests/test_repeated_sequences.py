"""Texts and tuples times a traced number: where the operator does not show what it repeats, Python's own is tried first."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

import autograph as ag


def text(n):
    mark = "ab"
    return mark * n, n * mark


def one_of_two(n):
    mark = "ab" if n > 2 else "c"
    return mark * n


def in_place(n):
    line = "-"
    line *= n
    return line + "|", len(line)


def numbers(n):
    row = (0, 1)
    rows = row * n
    return rows, sum(rows), len(n * row), rows[-1] if rows else -1


def beyond_its_end(n):
    try:
        return ((1.5,) * n)[1]
    except IndexError:
        return -1.0


def in_a_loop(n):
    mark, lines = "*", []
    for i in range(n):
        lines.append(" " * (n - i) + mark * i)
    return lines


class Bar:
    mark = "#"

    def __init__(self, width):
        self.width = width

    def draw(self, n):
        return "[" + self.mark * n + "." * (self.width - n) + "]"


def of_an_object(n):
    return Bar(6).draw(n)


def items(n):
    return "".join(s * (n // v % 10) for v, s in ((100, "C"), (10, "X"), (1, "I")))


PROGRAMS = [text, one_of_two, in_place, numbers, beyond_its_end, in_a_loop, of_an_object, items]


@pytest.mark.parametrize("program", PROGRAMS)
def test_they_are_repeated_as_in_python(program):
    compiled = ag.function(program)
    for n in (0, 1, 3):
        assert compiled(jnp.int32(n)) == program(n), n


def test_bytes_are_refused():
    data = b"ab"
    with pytest.raises(ag.StagingError, match="traced array is needed here"):
        ag.function(lambda n: data * n)(jnp.int32(2))
