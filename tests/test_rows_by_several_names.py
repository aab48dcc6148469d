"""Rows that several names and the places of a list lead to, of which traced conditions choose: as in Python, or refused."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from autograph.tools.fuzz.campaign import Report, try_program
from autograph.tools.fuzz.programs import make_program

ARGUMENTS = [(1, 2, 3), (5, 0, 1), (4, 4, -2), (0, 7, 9), (3, 1, 5)]


def numbers(found):
    return [int(each) for each in jax.tree.leaves(found)]


@pytest.mark.parametrize("first", range(0, 600, 100))
def test_each_name_sees_the_writes_by_others(first):
    made = (make_program(seed, features=["rows by several names"]) for seed in itertools.count(first))
    programs = itertools.islice((program for program in made if "rows" in program.source), 12)
    reports = [try_program(program, 0) for program in programs]
    assert [report.failure for report in reports] == [None] * len(reports)
    assert sum(is_run(report) for report in reports) >= 3


def is_run(report: Report) -> bool:
    return not report.counts["run"]["refused"] and not report.counts["run"]["unsuitable"]


def one_of_what_was_chosen(a, b, c):
    rows = [[a, 1], [b, 2], [c, 3]]
    p = rows[1]
    if c <= 5:
        p = rows[2]
    q = p if a > b else rows[1]
    q[0] += 10
    return p is q, rows, p


def one_of_what_an_index_chose(a, b, c):
    rows = [[a, 1], [b, 2], [c, 3]]
    p = rows[1] if a > b else rows[2]
    both = [p, rows[1]]
    q = both[a % 2]
    return p is q, q is rows[1]


def sorted_twice(a, b, c):
    rows = [[a, 1], [b, 2], [c, 3]]
    low, middle, high = sorted(rows)
    low[1] += 10
    high[1] += 20
    return rows, middle, low is high, sorted(rows, key=lambda row: -row[1])[0]


@pytest.mark.parametrize("program", [one_of_what_was_chosen, one_of_what_an_index_chose, sorted_twice])
def test_a_choice_of_choices_is_what_it_is_in_python(program):
    compiled = ag.function(program)
    for arguments in ARGUMENTS:
        assert numbers(compiled(*map(jnp.array, arguments))) == numbers(program(*arguments))


def chosen_then_appended(a, b, n):
    x, y, out = [a, 1], [b, 2], []
    p = x if a > b else y
    for _ in range(n):
        out.append(p)
    x[0] = 99
    return out[0][0], x[0]


def appended_then_written_by_a_choice(a, b, n):
    x, y, out = [a, 1], [b, 2], []
    p = x if a > b else y
    for _ in range(n):
        out.append(x)
    p[0] = 99
    return out[0][0], x[0]


def exchanged_then_written_by_another_name(a, b, n):
    x, y, w = [a, 1], [b, 2], [n, 3]
    rows = [x, y, w][:]
    i, j = a % 3, b % 3
    for _ in range(n):
        rows[i], rows[j] = rows[j], rows[i]
    y[0] = 55
    return rows, y


@pytest.mark.parametrize(
    "program", [chosen_then_appended, appended_then_written_by_a_choice, exchanged_then_written_by_another_name]
)
def test_a_write_that_a_list_of_traced_length_would_not_see_is_refused(program):
    with pytest.raises(ag.StagingError, match=r"This writes .* It may be the one|may be an element of a list"):
        ag.function(program)(jnp.array(3), jnp.array(2), jnp.array(3))
