"""Objects of dataclasses with traced fields, as keys of dicts and elements of sets."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged
from tests.agreement import differences


@dataclass(frozen=True, order=True)
class Cell:
    x: int
    y: int

    def __add__(self, other):
        return Cell(self.x + other.x, self.y + other.y)


@dataclass(frozen=True)
class Tagged:
    cell: Cell
    name: str = "a"
    note: int = field(default=0, compare=False)


@dataclass(unsafe_hash=True)
class Level:
    height: int


def fewest_steps(n):
    goal = Cell(3, 3)
    walls = {Cell(1, 0), Cell(1, 1), Cell(n, 2)}
    waiting, seen = deque([(Cell(0, 0), 0)]), {Cell(0, 0)}
    while waiting:
        cell, steps = waiting.popleft()
        if cell == goal:
            return steps
        for move in (Cell(1, 0), Cell(0, 1), Cell(-1, 0), Cell(0, -1)):
            there = cell + move
            if 0 <= there.x < 4 and 0 <= there.y < 4 and there not in walls and there not in seen:
                seen.add(there)
                waiting.append((there, steps + 1))
    return -1


def way_back(n):
    came_from, cost, here = {Cell(0, 0): Cell(0, 0)}, {Cell(0, 0): 0}, Cell(0, 0)
    for k in range(n + 2):
        there = here + Cell(1, k % 2)
        if there not in cost or cost[here] + k < cost[there]:
            cost[there] = cost[here] + k
            came_from[there] = here
        here = there
    way = 0
    while here != Cell(0, 0):
        way, here = way * 10 + here.y, came_from[here]
    return way, len(cost), sum(cost.values())


def written_keys(n):
    held = {Cell(0, 0): 1, Cell(3, 1): 2, Cell(2, 2): 3}
    taken = held.pop(Cell(n, 1), 7)
    held.setdefault(Cell(n, 1), 50)
    held[Cell(2, n - 1)] = 60
    marked = {Cell(1, 1), Cell(n, 1)}
    marked.discard(Cell(3, 1))
    total = 0
    for cell, value in held.items():
        total = total * 7 + cell.x * value + cell.y
    return taken, len(held), total, len(marked), held.get(Cell(9, n), -1), Cell(n, 1) in held.keys()


def missing_key(n):
    held = {Cell(0, 0): 1, Cell(3, 1): 2}
    try:
        del held[Cell(n, 1)]
    except KeyError:
        return -1
    return len(held)


def sets_of_sets(n):
    known, other = {Cell(i, i) for i in range(4)}, {Cell(n, n), Cell(9, 9)}
    both = len(known & other), len(known | other), len(known - other), Cell(n, n) in (known ^ other)
    return both, known.isdisjoint(other), other <= known, sorted(other)[0].x, max(other).y, sum(c.x for c in other)


def fields_that_count(n):
    found = {Tagged(Cell(n, 1), "b", 5), Tagged(Cell(3, 1), "b", 6), Tagged(Cell(3, 1))}
    counts = Counter(Cell(i % n, 0) for i in range(7))
    return (
        (len(found), Tagged(Cell(3, 1), "b", 9) in found, (Cell(n, 2), 1) in {(Cell(3, 2), 1)}),
        (Level(n) in {Level(1), Level(3)}, counts[Cell(0, 0)], counts[Cell(n - 1, 0)], len(counts)),
    )


def other_keys(n):
    held = {Cell(1, 1): 1, None: 2, "a": 3, 4: 4, (1, 1): 5}
    return held.get(Cell(n - 2, 1), 0), held.get((n - 2, 1), 0), held.get(n + 1, 0), Cell(n, 1) in held


PROGRAMS = [fewest_steps, way_back, written_keys, missing_key, sets_of_sets, fields_that_count, other_keys]


@pytest.mark.parametrize("program", PROGRAMS)
def test_like_plain_python(program):
    for n in (2, 3, 4):
        assert list(differences(program(n), staged.function(program)(jnp.array(n)))) == []


@pytest.mark.parametrize("program", [sets_of_sets, fields_that_count, other_keys])
def test_under_vmap(program):
    found = jax.vmap(ag.convert(program))(jnp.array([2, 3]))
    for lane, n in enumerate((2, 3)):
        assert list(differences(program(n), jax.tree.map(lambda leaf: leaf[lane], found))) == []  # noqa: B023


def test_a_dict_of_them_is_returned():
    def made(n):
        found = {}
        for i in range(n):
            found[Cell(i % 2, n)] = i
        return found

    assert ag.function(made)(jnp.array(3)) == made(3) == {Cell(0, 3): 2, Cell(1, 3): 1}
