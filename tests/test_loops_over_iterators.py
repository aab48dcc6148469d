"""Loops over an iterator that the program has more use for: it goes on where they, or `next`, have left it."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import differences


def around_a_mark(xs):
    items, before, after = iter(xs), 0, 0
    for x in items:
        if x < 0:
            break
        before += x
    for x in items:
        after += x
    return before, after


def of_a_list_of_traced_length(xs):
    items, total = iter([x for x in xs if x != 4]), 0
    for x in items:
        if x < 0:
            break
        total += x
    return total, [2 * x for x in items]


def header_and_body(xs):
    lines = iter(xs)
    count = next(lines)
    total = 0
    for line in lines:
        if line < 0:
            break
        total += line
    return count, total, list(lines), list(lines)


def not_found(xs):
    items = iter(xs)
    for x in items:
        if x > 100:
            break
    else:
        return -1, list(items)
    return x, list(items)


def numbered_pairs(xs):
    numbered, pairs, total, seen, rest = enumerate(xs), zip(xs, xs[1:], strict=False), 0, [], 0
    for x, y in pairs:
        if y < 0:
            break
        total += x * y
        seen.append(x)
    for k, x in numbered:
        if x < 0:
            break
        total += k * x
    for x, y in pairs:
        rest += x - y
    for k, x in numbered:
        rest += k * x
    return total, seen, rest


def by_two(xs):
    items, total = iter([x for x in xs if x != 2]), 0
    for x in items:
        total += x * next(items, 1)
        if total > 11:
            break
    return total, next(items, None) is None


def skipping(xs):
    items, total = iter(xs), 0
    for x in items:
        if x > 3:
            total += next(items, 100)
    return total


def section_by_section(xs):
    items, sums, k = iter(xs), [], 0
    while k < xs[0]:
        total = 0
        for x in items:
            if x < 0:
                break
            total += x
        sums.append(total)
        k += 1
    return sums


def a_section_inside(xs):
    items, found = iter(xs), []
    for x in items:
        if x == 4:
            for y in items:
                if y < 0:
                    break
                found.append(y)
        else:
            found.append(100 * x)
    return found


def indices(xs):
    places, total = iter(range(len(xs))), 0
    for k in places:
        if xs[k] < 0:
            break
    for k in places:
        total += k
    return total


def without_end(xs):
    numbers, turns, total = itertools.count(1), itertools.cycle([1, 2, 3]), 0
    for k in numbers:
        if k * k > 9 * xs[0]:
            break
    for k in turns:
        total += k
        if total > xs[1]:
            break
    for k in numbers:
        if k > 12:
            break
        total += k
    return next(numbers), next(turns), total


class Reader:
    def __init__(self, xs):
        self.items = iter(xs)

    def section(self):
        total = 0
        for x in self.items:
            if x < 0:
                break
            total += x
        return total


def of_an_object(xs):
    reader = Reader(xs)
    return reader.section(), reader.section(), reader.section()


def consumed_by_expressions(xs):
    items = iter([x for x in xs if x > 0])
    for x in items:
        if x > 3:
            break
    return any(x == 5 for x in items), sum(2 * x for x in items), list(items)


def turned_round(xs):
    kept = [x for x in xs if x > 0]
    backwards, rest = reversed(kept), reversed(xs)
    last = next(backwards)
    for x in backwards:
        if x < 4:
            break
    kept.append(9)
    for x in rest:
        if x < 0:
            break
    return last, next(reversed(kept)), x, list(backwards), [x for x in rest], next(reversed((1, 2)))


def keys_turned_round(xs):
    counts = {}
    for x in xs:
        if x > 0:
            counts[x] = counts.get(x, 0) + 1
    return next(reversed(counts)), list(reversed(counts))


PROGRAMS = [
    *(around_a_mark, of_a_list_of_traced_length, header_and_body, not_found, numbered_pairs, by_two, skipping),
    *(section_by_section, a_section_inside, indices, without_end, of_an_object, consumed_by_expressions, turned_round),
    keys_turned_round,
]
EXAMPLES = ([3, 4, -1, 5, 2, -1, 7], [2, 4, 8, 1, 1, 1, 1], [1, -1, 6, -5, 4, -1, 2])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_iterator_goes_on(program):
    compiled = ag.function(program)
    for example in EXAMPLES:
        found = compiled(jnp.array(example))
        assert list(differences(program(np.array(example)), found, widens=True)) == []


@pytest.mark.parametrize("program", [around_a_mark, skipping, of_an_object, indices], ids=lambda each: each.__name__)
def test_in_batches(program):
    found = jax.vmap(jax.jit(ag.convert(program)))(jnp.array(EXAMPLES))
    for lane, example in enumerate(EXAMPLES):
        assert jax.tree.map(lambda part: part[lane].tolist(), found) == jax.tree.map(int, program(example))  # noqa: B023


def test_the_derivative_goes_through_both_loops():
    def f(xs):
        before, after = around_a_mark(xs)
        return before**2 + 3 * after

    assert jax.grad(ag.convert(f))(jnp.array([1.0, 2.0, -1.0, 5.0])).tolist() == [6.0, 6.0, 0.0, 3.0]


def test_a_generator_that_its_own_loop_advances_is_refused():
    def f(xs):
        def positive():
            for x in xs:
                if x > 0:
                    yield x

        values, total = positive(), 0
        for x in values:
            total += x * next(values, 1)
        return total

    with pytest.raises(ag.StagingError, match="Python advances this generator step by step"):
        ag.function(f)(jnp.array(EXAMPLES[0]))
