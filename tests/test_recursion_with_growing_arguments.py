"""Functions that call themselves under a traced condition, and pass on, or return, lists, tuples and texts that grow."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


def path_up(parents, node, so_far):
    if parents[node] == node:
        return so_far + [node]
    return path_up(parents, parents[node], so_far + [node])


def path_to_root(n):
    return path_up([0, 0, 1, 1, 3], n % 5, [])


def factors(n, d, found):
    if n == 1:
        return found
    if n % d == 0:
        return factors(n // d, d, found + [d])
    return factors(n, d + 1, found)


def factors_of(n):
    return factors(n + 2, 2, [])


def digits(n, found=None):
    if found is None:
        found = []
    if n == 0:
        return found
    return digits(n // 10, [n % 10] + found)


def orbit(n, seen=()):
    if n <= 1:
        return (*seen, 1)
    if n % 2 == 0:
        return orbit(n // 2, seen + (n,))
    return orbit(3 * n + 1, seen + (n,))


def split(n, odd, even):
    if n == 0:
        return odd, even
    if n % 2:
        return split(n // 2, odd + [n], even)
    return split(n // 2, odd, even + [(n, n / 2)])


def odd_and_even(n):
    odd, even = split(n, [], [])
    return odd, [a for a, _ in even], sum(b for _, b in even)


def rows(n, made):
    return made if n == 0 else rows(n // 2, made + [[n, n % 2]])


def triangle(n):
    return rows(n, [])


def queue(todo, done):
    if not todo:
        return done
    head, rest = todo[0], todo[1:]
    if head > 3:
        return queue(rest + [head // 2], done)
    return queue(rest, done + [head])


def queued(n):
    return queue([n, n % 7], [])


class Tree:
    def __init__(self, parents):
        self.parents = parents

    def up(self, node, so_far=""):
        if self.parents[node] == node:
            return so_far + "."
        return self.up(self.parents[node], so_far + str(node) + ">")


def by_method(n):
    return Tree([0, 0, 1, 1, 3]).up(n % 5)


def binary(n):
    if n < 2:
        return str(n)
    return binary(n // 2) + str(n % 2)


def reversed_digits(n, text=""):
    if n == 0:
        return text
    return reversed_digits(n // 10, text + str(n % 10))


def roman(n, text=""):
    if n >= 10:
        return roman(n - 10, text + "X")
    if n >= 9:
        return roman(n - 9, text + "IX")
    if n >= 5:
        return roman(n - 5, text + "V")
    if n >= 4:
        return roman(n - 4, text + "IV")
    if n >= 1:
        return roman(n - 1, text + "I")
    return text


def roman_of_digit(n):
    return roman(n % 30)


def parentheses(n):
    found = []

    def go(text, left, right):
        if right == 0:
            found.append(text)
            return
        if left > 0:
            go(text + "(", left - 1, right)
        if right > left:
            go(text + ")", left, right - 1)

    go("", n % 4, n % 4)
    return found


def ping(n, text):
    return text if n == 0 else pong(n - 1, text + "i")


def pong(n, text):
    return text if n == 0 else ping(n - 1, text + "o")


def rally(n):
    return ping(n % 9, "")


def in_a_loop(n):
    total = 0
    for k in range(n % 5):
        for d in digits(k * n):
            total += d
    return total


PROGRAMS = (
    path_to_root, factors_of, digits, orbit, odd_and_even, triangle, queued, by_method, binary, reversed_digits,
    roman_of_digit, parentheses, rally, in_a_loop,
)  # fmt: skip


def plain(value):
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value))
    return value if isinstance(value, str) else np.asarray(value).tolist()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_arguments_and_texts_grow(program):
    made = ag.function(program)
    for n in (0, 1, 6, 39):
        assert plain(made(jnp.int32(n))) == program(n), n


def count_down(n, found):
    if n <= 0:
        return found
    return count_down(n - 1, found + [n])


def counted_down(n):
    return count_down(n, [])


def test_an_argument_longer_than_the_first_room():
    made = ag.function(counted_down)
    for n in (3, 150, 5):
        assert plain(made(jnp.int32(n))) == counted_down(n)
    assert len(ag.function(lambda n: binary(n) + reversed_digits(n))(jnp.int32(2**30))) == 41


def test_under_vmap_and_grad():
    def sums(ns):
        return jax.vmap(lambda n: sum(counted_down(n)))(ns)

    assert ag.function(sums)(jnp.array([3, 0, 9])).tolist() == [6, 0, 45]

    def squares(n, x, found):
        if n == 0:
            return sum(found)
        return squares(n - 1, x / 2, found + [x * x])

    def slope(n, x):
        return jax.grad(lambda x: squares(n, x, []))(x)

    assert ag.function(slope)(jnp.int32(3), jnp.float32(2.0)) == 4 * (1 + 1 / 4 + 1 / 16)


def test_calls_that_python_ends_are_still_followed():
    def chosen(i, xs, taken, goal):
        if i == len(xs):
            return 1 if sum(taken) == goal else 0
        return chosen(i + 1, xs, taken, goal) + chosen(i + 1, xs, taken + [xs[i]], goal)

    def f(goal):
        return chosen(0, [1, 2, 3, 4], [], goal)

    assert [int(ag.function(f)(jnp.int32(goal))) for goal in (0, 5, 11)] == [f(0), f(5), f(11)]
    assert jax.jit(ag.convert(f))(jnp.int32(5)) == f(5)


def test_a_write_to_the_argument_of_one_call_is_refused():
    def walk(n, found):
        found.append(n)
        if n > 1:
            walk(n // 2, found + [0])
        return found

    with pytest.raises(ag.StagingError, match="'walk' calls itself under a traced condition, and writes to a list"):
        ag.function(lambda n: walk(n, []))(jnp.int32(9))


def test_a_bare_jit_refuses_what_grows():
    with pytest.raises(ag.StagingError, match="'count_down' calls itself .* changes the length of 'found'"):
        jax.jit(ag.convert(counted_down))(jnp.int32(5))
