"""One list or dict under two names: what is written through one is seen through the other, or the statement is refused."""

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


def read_through_another_name_in_a_loop(n):
    items = [0, 5]
    other = items
    total = 0
    for _ in range(n):
        items[0] += 1
        total += other[0]
    return total


def written_through_both_names_in_a_branch(n):
    items = [0, 5]
    other = items
    if n > 1:
        items[0] += 1
        other[1] += items[0]
    return other


def part_of_another_list(n):
    items = [0, 5]
    other = [items, 1]
    total = 0
    for _ in range(n):
        items[0] += 1
        total += other[0][0]
    return total


def twice_in_one_list(n):
    row = [0, 5]
    rows = [row, row]
    if n > 1:
        rows[1][0] += 1
    return rows[0][0]


REFUSED = [
    read_through_another_name_in_a_loop,
    written_through_both_names_in_a_branch,
    part_of_another_list,
    twice_in_one_list,
]


@pytest.mark.parametrize("program", REFUSED)
def test_two_names_in_one_staged_statement_are_refused(program):
    with pytest.raises(ag.StagingError, match=r"are one list(?s:.*)copy the list"):
        jax.jit(ag.convert(program))(3)
    assert ag.convert(program)(3) == program(3)


def written_through_one_name(n):
    items = [0, 5]
    other, rest = items, {"items": items}
    for _ in range(n):
        items[0] += 1
    if n > 1:
        other[1] += 1
    return items, other, rest


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_second_name_outside_the_statement_sees_the_writes(n):
    found = jax.jit(ag.convert(written_through_one_name))(jnp.array(n))
    assert jax.tree.map(int, found) == written_through_one_name(n)


def nested_in_a_branch(n):
    items, extra = [0, -3], {"k": 1}
    other = [items, 0, (extra, 2)]
    if n > 0:
        other[0][1] -= 2
        other[2][0]["k"] += n
        other[1] = 5
    return items[1], other[0][1], extra["k"], other[1]


def nested_in_a_loop(n):
    items = [0, -3]
    other = {"a": items, "b": 0}
    for _ in range(n):
        other["a"][1] -= 2
        other["b"] += 1
        if n > 2:
            other["a"][0] += 1
    items[0] += 100
    return items[0], items[1], other["a"][0], other["b"]


@pytest.mark.parametrize("program", [nested_in_a_branch, nested_in_a_loop])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_container_inside_another_stays_the_same_object(program, n):
    wanted = program(n)
    for found in (ag.function(program)(jnp.asarray(n)), jax.jit(ag.convert(program))(n)):
        assert [int(part) for part in found] == list(wanted)
