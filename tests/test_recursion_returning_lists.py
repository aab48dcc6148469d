"""Functions that call themselves under a traced condition, and return lists made of those that the inner calls return."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged


def quicksort(xs):
    if len(xs) <= 1:
        return xs
    pivot = xs[0]
    less = [x for x in xs[1:] if x < pivot]
    more = [x for x in xs[1:] if x >= pivot]
    return quicksort(less) + [pivot] + quicksort(more)


def mergesort(xs):
    if len(xs) <= 1:
        return xs
    middle = len(xs) // 2
    one, other = mergesort(xs[:middle]), mergesort(xs[middle:])
    found, i, j = [], 0, 0
    while i < len(one) and j < len(other):
        if one[i] <= other[j]:
            found.append(one[i])
            i += 1
        else:
            found.append(other[j])
            j += 1
    return found + one[i:] + other[j:]


def merged(one, other):
    if not one:
        return other
    if not other:
        return one
    if one[0] <= other[0]:
        return [one[0]] + merged(one[1:], other)
    return [other[0]] + merged(one, other[1:])


def bits(n):
    if n < 2:
        return [n]
    return bits(n // 2) + [n % 2]


def path(n):
    if n == 1:
        return [1]
    return [n] + path(n // 2 if n % 2 == 0 else 3 * n + 1)


def moves(n, start, goal, spare):
    if n == 0:
        return []
    return moves(n - 1, start, spare, goal) + [(start, goal)] + moves(n - 1, spare, goal, start)


def sorted_quickly(xs):
    return quicksort(list(xs))


def sorted_positive(xs):
    return quicksort([x for x in xs if x > 0])


def sorted_by_merges(xs):
    return mergesort([x for x in xs if x != 3])


def sorted_halves(xs):
    return merged([x for x in sorted(xs) if x % 2 == 0], [x for x in sorted(xs) if x % 2 == 1])


def of_numbers(xs):
    return bits(xs[0]), path(xs[1]), len(path(xs[2])), moves(xs[0] % 3, xs[0], xs[1], xs[2])


PROGRAMS = (sorted_quickly, sorted_positive, sorted_by_merges, sorted_halves, of_numbers)


def same(found, wanted):
    assert jax.tree.structure(found) == jax.tree.structure(wanted), (found, wanted)
    assert [np.asarray(leaf).tolist() for leaf in jax.tree.leaves(found)] == jax.tree.leaves(wanted), (found, wanted)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_lists_of_inner_calls_are_joined(program):
    made = ag.function(program)
    for xs in ([5, 3, 9, 1, 3, 8], [1, 2, 4, 3, 5, 6], [11, 27, 6, 5, 4, 1]):
        same(made(jnp.array(xs)), program(xs))


def test_a_list_longer_than_the_first_room():
    xs = np.random.default_rng(0).integers(0, 1000, 150)
    same(ag.function(sorted_positive)(jnp.array(xs)), sorted(x for x in xs.tolist() if x > 0))
    same(ag.function(path)(jnp.int32(97)), path(97))


def test_elements_of_floats_and_of_strings():
    def of_floats(xs):
        return quicksort([x / 2 for x in xs if x > 0])

    def of_texts(n):
        if n == 0:
            return ["end"]
        return of_texts(n - 1) + [str(n)]

    same(ag.function(of_floats)(jnp.array([5, 3, 9])), of_floats([5, 3, 9]))
    same(ag.function(of_texts)(jnp.int32(3)), of_texts(3))


def nested(n):
    return "A" if n == 0 else "(" + nested(n - 1) + ")"


def chain(n):
    def show(i, j):
        return "A%d" % i if i == j else "(" + show(i, i) + show(i + 1, j) + ")"  # noqa: UP031

    return show(0, n)


def sides(n):
    return "L" if n == 1 else ("R" if n == 0 else sides(n // 2) + ("l" if n % 2 else "r") + sides(n // 2 - 1))


@pytest.mark.parametrize("program", [nested, chain, sides, lambda n: len(nested(n))])
def test_constant_texts_that_each_call_makes_longer(program):
    compiled = ag.function(program)
    for n in (0, 1, 3):
        assert compiled(jnp.int32(n)) == program(n)


def test_writes_to_what_may_be_the_argument_are_seen_or_refused():
    def f(xs):
        given = [x for x in xs if x > 0]
        found = quicksort(given)
        found.append(7)
        return len(given), found

    for xs in ([5], [5, 3]):
        try:
            found = staged.function(f)(jnp.array(xs))
        except ag.StagingError:
            continue
        same(found, f(xs))


def test_a_bare_jit_refuses_what_grows():
    with pytest.raises(ag.StagingError, match="returns values of different types"):
        jax.jit(ag.convert(bits))(jnp.int32(5))


def parities(n):
    if n == 0:
        return [], []
    even, odd = parities(n // 10)
    d = n % 10
    if d % 2 == 0:
        return even + [d], odd
    return even, odd + [d]


def bits_and_ones(n):
    if n == 0:
        return [], 0
    found, ones = bits_and_ones(n // 2)
    return found + [n % 2], ones + n % 2


def partitioned(xs, pivot):
    if not xs:
        return [], [], 0
    less, more, count = partitioned(xs[1:], pivot)
    if xs[0] < pivot:
        return [xs[0], *less], more, count + 1
    return less, [xs[0], *more], count


@pytest.mark.parametrize("f", [parities, bits_and_ones])
@pytest.mark.parametrize("n", [0, 222, 12345, 2**31 - 1])
def test_lists_in_a_tuple_grow(f, n):
    same(ag.function(f)(jnp.int32(n)), f(n))


def test_lists_in_a_tuple_of_an_argument_of_traced_length():
    def f(xs):
        less, more, count = partitioned([x for x in xs if x > 0], 4)
        less.append(0)
        return less, more, count

    for xs in ([5, 3, 9, -1, 1], [-1, -2, -3, -4, -5], [4, 4, 4, 4, 4]):
        same(staged.function(f)(jnp.array(xs)), f(xs))


def one_list_twice(n):
    found = [0, 1]
    if n <= 0:
        return found, found
    return one_list_twice(n - 1)


def one_list_twice_and_longer(n):
    if n <= 0:
        found = []
        return found, [5, found]
    found = one_list_twice_and_longer(n - 1)[0]
    return found, [6, found]


@pytest.mark.parametrize("f", [one_list_twice, one_list_twice_and_longer])
def test_one_list_that_is_returned_twice(f):
    def written(n):
        one, other = f(n)
        one.append(n)
        return one, other

    def read(n):
        return f(n)

    same(ag.function(read)(jnp.int32(2)), read(2))
    with pytest.raises(ag.StagingError, match="It may be the one that"):
        ag.function(written)(jnp.int32(2))


def bound_to_another_list(n):
    a, b = [1], [2]
    now = a

    def go(k):
        nonlocal now
        if k > 0:
            if k == 2:
                now = b
            go(k - 1)
            go(k - 2)

    go(n)
    now[0] += 7
    return a, b


def halves(n):
    if n > 1:
        yield from halves(n // 2)
        yield n


def bound_in_a_loop_over_a_generator(n):
    one, other = [1], [2]
    found = other
    for v in halves(n):
        if v > 5:
            found = one
            break
    found[0] += 5
    return one, other


@pytest.mark.parametrize("program", [bound_to_another_list, bound_in_a_loop_over_a_generator])
def test_a_variable_that_a_call_binds_to_another_list_is_refused(program):
    with pytest.raises(ag.StagingError, match="binds .* to a list that was there before the call"):
        ag.function(program)(jnp.int32(4))


def bound_to_a_new_list(n):
    found = [0, 0]

    def go(k):
        nonlocal found
        if k > 0:
            found = [found[0] + 1, found[1] + k]
            go(k - 1)
            go(k - 2)

    go(n)
    return found


def test_a_variable_that_a_call_binds_to_a_new_list_is_carried():
    compiled = ag.function(bound_to_a_new_list)
    for n in (0, 1, 4):
        assert [*map(int, compiled(jnp.int32(n)))] == bound_to_a_new_list(n)
