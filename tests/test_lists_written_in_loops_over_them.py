"""Loops over lists that their bodies write to: Python's loop goes over what the list has when each iteration begins."""

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


def becomes_an_array(n):
    items, total = [1, 2, 3], 0
    for v in items:
        total += v
        items[n % 3] = v + 5
    return total


def under_a_condition(n):
    items = [1, 2]
    if n > 0:
        items.append(3)
    total = 0
    for v in items:
        total += v
        if v < n:
            items[-1] = items[-1] + 5
    return total


def of_traced_length(n):
    items, total = [2 * k for k in range(n)], 0
    for v in items:
        total += v
        items[n // 2] = 100
    return total


def enumerated(n):
    items, total = [2 * k for k in range(n)], 0
    for k, v in enumerate(items):
        total += k * v
        items[n - 1] = 50
    return total


def at_the_same_place(n):
    items, total = [2 * k for k in range(n)], 0
    for k, v in enumerate(items):
        items[k] = v * v
        total += items[k]
    return total


def of_a_copy(n):
    items, total = [1, 2, 3], 0
    for v in list(items):
        total += v
        if v < n:
            items.append(v)
    return total + len(items)


def rebound(n):
    items, total = [2 * k for k in range(n)], 0
    for v in items:
        total += v
        items = items + [1]
    return total + len(items)


def by_another_index(n):
    rows, total = [[k, 1] for k in range(n)], 0
    for row in rows:
        total += row[0] * row[1]
        rows[-1][0] += 2
    return total, rows


def by_two_names(n):
    rows, total = [[k, 1] for k in range(n)], 0
    for row in rows:
        total += row[0] + row[1]
        row[1] = 7
        rows[0][0] += 1
    return total, rows


def a_row_is_replaced(n):
    rows, total = [[k, 1] for k in range(n)], 0
    for row in rows:
        total += row[0]
        rows[n - 1] = [total, total]
    return total, rows


def left_by_what_is_written(n):
    rows, total = [[k, 0] for k in range(n)], 0
    for row in rows:
        if row[1] > 0:
            break
        total += 1
        rows[1][1] = 1
    return total, rows


def rows_with_numbers(n):
    rows, total = [[k, 0] for k in range(n)], 0
    for k, row in enumerate(rows):
        total += k * row[0] + row[1]
        rows[-1][1] += k
    return total, rows


def rows_from_the_end(n):
    rows, total = [[k, 0] for k in range(n)], 0
    for row in reversed(rows):
        total = total * 2 + row[0] + row[1]
        rows[0][1] += 1
    return total, rows


def two_at_once(n):
    a, b, total = [k for k in range(n)], [k + 1 for k in range(n)], 0
    for x, y in zip(a, b):
        total += x * y
        a[-1] = total
        b[-1] = 2
    return total, a, b


def with_a_range(n):
    items, total = [k for k in range(n)], 0
    for k, v in zip(range(n), items):
        if k + 1 < n:
            items[k + 1] += v
        total += v
    return total, items


def from_both_ends(n):
    items, total = [k for k in range(n)], 0
    for x, y in zip(items, reversed(items)):
        total += x * y
        items[n // 2] = 9
    return total, items


def numbered_from_the_end(n):
    items, total = [k for k in range(n)], 0
    for k, v in enumerate(reversed(items)):
        total += k * v
        items[0] = 9
    return total, items


def nested(n):
    items, total = [k for k in range(n)], 0
    for x in items:
        for y in items:
            total += x * y
            items[-1] = total % 5
    return total, items


PROGRAMS = [
    becomes_an_array, under_a_condition, of_traced_length, enumerated, at_the_same_place, of_a_copy, rebound, by_another_index,
    by_two_names, a_row_is_replaced, left_by_what_is_written, rows_with_numbers, rows_from_the_end, two_at_once, with_a_range,
    from_both_ends, numbered_from_the_end, nested,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_items_are_those_that_the_list_has_then(f):
    staged = ag.function(f)
    for n in (5, 2, 4):
        assert jax.tree.map(int, staged(jnp.int32(n))) == f(n)


def test_an_array_of_traced_length_from_its_end():
    @ag.function
    def f(x, n):
        total = 0
        for v in reversed(x[:n]):
            total = total * 2 + v
        return total

    assert [int(f(jnp.arange(8), jnp.int32(n))) for n in (5, 1, 0)] == [98, 0, 0]


@pytest.mark.parametrize("f", [becomes_an_array, under_a_condition])
def test_they_are_in_transforms(f):
    assert jax.jit(ag.convert(f))(5) == f(5)
    assert jax.vmap(ag.convert(f))(jnp.array([5, 2])).tolist() == [f(5), f(2)]


def appended(n):
    items, total = [1, 2, 3], 0
    for v in items:
        total += v
        if v < n and len(items) < 6:
            items.append(v + 3)
    return total


def removed(n):
    items, total = [2 * k for k in range(n)], 0
    for v in items:
        total += v
        if v == 2:
            items.remove(4)
    return total


def appended_by_index(n):
    items, total = [2 * k for k in range(n)], 0
    for k, v in enumerate(items):
        total += k * v
        if v == 2:
            items.append(4)
    return total


def appended_in_a_generator(n):
    items = [1, 2, 3]

    def each():
        for v in items:
            yield v
            if v < n and len(items) < 6:
                items.append(v + 3)

    return sum(each())


def appended_by_a_function(n):
    items = [1, 2, 3]

    def push(v):
        if v < n and len(items) < 6:
            items.append(v + 3)
        return v

    return sum([push(v) for v in items])


def appended_while_mapped(n):
    items, total = [1, 2, 3, 4], 0
    for v in map(lambda v: 2 * v, items):
        if v == n:
            items.append(5)
        total += v
    return total


@pytest.mark.parametrize(
    "f",
    [appended, removed, appended_by_index, appended_in_a_generator, appended_by_a_function, appended_while_mapped],
)
def test_a_change_of_its_length_is_refused(f):
    with pytest.raises(ag.StagingError, match="makes longer or shorter at run time"):
        ag.function(f)(jnp.int32(4))
