"""Loops of numbers that `break` or `return` leaves: no flag is carried, and what they leave behind is what Python leaves."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.backends.xla.while_ad import exits


@pytest.fixture
def carried(monkeypatch):
    """For each loop that ends early, how many numbers it carried, and how many it carries."""
    found = []
    original = exits.by_test

    def noted(program, start):
        made = original(program, start)
        if made is not None:
            found.append((len(program.carry_avals), len(made.program.carry_avals)))
        return made

    monkeypatch.setattr("autograph.backends.xla.while_ad.primitive.by_test", noted)
    return found


def triple(n):
    for a in range(1, n):
        for b in range(a + 1, n):
            c = n - a - b
            if c <= b:
                break
            if (a + b + c) % 2 == 1:
                continue
            if a * a + b * b == c * c:
                return a * b * c
    return 0


def square_root(n):
    """What the loop leaves is read after it: by `break` or without."""
    k = 0
    found = False
    while k < 10:
        if k * k >= n:
            found = k * k == n
            break
        k += 1
    return k, found


def always_left(n):
    """Each iteration leaves, in a branch that may not be taken."""
    k = 0
    if n > 1:
        while n > 4:
            k = k + 1
            break
    return k


def two_exits(n):
    """A `break` in the middle, with what changes before and after it."""
    k = 0
    total = 0
    odd = 0
    while total < 50:
        k += 1
        if (k * n) % 7 == 3:
            break
        total += k
        if total % 5 == n % 5:
            odd = total
            continue
        if total % 11 == 4:
            return -total, k, odd
    return total, k, odd


def of_floats(n):
    x = n + 0.5
    y = 1.0
    for _ in range(60):
        new = 0.5 * (x + (n + 2.0) / x)
        y = y * 0.5 + x
        if abs(new - x) < 1e-3:
            break
        x = new
    return x, y


def search(n):
    """Reads an array."""
    values = jnp.array([3, 1, 4, 1, 5, 9, 2, 6]) if isinstance(n, jax.Array) else np.array([3, 1, 4, 1, 5, 9, 2, 6])
    where = -1
    for k in range(8):
        if values[k] == n:
            where = k
            break
    return where


def left_at_once(n):
    """May end before its first iteration: the flag is set before the loop."""
    done = n > 5
    k = 0
    while not done and k < 20:
        k += 2
        done = k > n
    return k, done


def a_last_value(n):
    """What an iteration binds, and the loop does not read."""
    last = 100
    k = 0
    while True:
        last = 3 * k
        k += 1
        if k * k > n:
            break
    return last, k


def by_division(n):
    """Past the end the test would divide by zero."""
    k = 5
    while k > 0:
        if n % k == 0:
            break
        k -= 1
    return k


def in_a_loop(n):
    steps = 0
    for start in range(1, n + 2):
        value = start
        while True:
            if value == 1:
                break
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            steps += 1
            if steps > 60:
                return -steps
    return steps


PROGRAMS = [
    triple,
    square_root,
    always_left,
    two_exits,
    of_floats,
    search,
    left_at_once,
    a_last_value,
    by_division,
    in_a_loop,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_results(program):
    staged = ag.function(program)
    for n in (0, 1, 2, 3, 4, 5, 9, 12, 30):
        found, wanted = jax.tree.leaves(staged(jnp.int32(n))), jax.tree.leaves(program(n))
        np.testing.assert_allclose(list(map(float, found)), list(map(float, wanted)), rtol=1e-5, err_msg=str(n))


@pytest.mark.parametrize("program", PROGRAMS)
def test_in_a_batch(program):
    numbers = [0, 1, 3, 4, 9, 12]
    found = jax.jit(jax.vmap(ag.convert(program)))(jnp.array(numbers, jnp.int32))
    wanted = [jax.tree.leaves(program(n)) for n in numbers]
    for own, others in zip(jax.tree.leaves(found), zip(*wanted, strict=True), strict=True):
        np.testing.assert_allclose(own, list(map(float, others)), rtol=1e-5)


def test_a_search_carries_its_index_alone(carried):
    ag.function(triple)(jnp.int32(12))
    assert carried == [(4, 1)]


@pytest.mark.parametrize("program", [square_root, search, a_last_value, by_division])
def test_loops_without_their_flags(program, carried):
    ag.function(program)(jnp.int32(5))
    assert carried and all(after < before for before, after in carried)


def test_derivatives():
    def root(a):
        x = a
        scale = 1.0
        for _ in range(50):
            new = 0.5 * (x + a / x)
            if abs(new - x) < 1e-4 * x:
                scale = x * 2.0
                break
            x = new
        return x * scale

    def by_hand(a):
        return 2.0 * a

    staged = ag.convert(root)
    for a in (0.7, 2.0, 9.0):
        np.testing.assert_allclose(staged(jnp.float32(a)), by_hand(a), rtol=1e-3)
        np.testing.assert_allclose(jax.grad(staged)(jnp.float32(a)), 2.0, rtol=2e-2)
        np.testing.assert_allclose(jax.jvp(staged, (jnp.float32(a),), (jnp.float32(1),))[1], 2.0, rtol=2e-2)
    np.testing.assert_allclose(jax.vmap(jax.grad(staged))(jnp.array([0.7, 2.0, 9.0])), [2.0] * 3, rtol=2e-2)


def test_a_body_that_would_be_computed_twice_keeps_its_flag(carried):
    def long(x):
        for _ in range(50):
            x = jnp.sin(x) * 2.0 + jnp.cos(x) / (1.0 + x * x)
            if x < 0.3:
                break
        return x

    ag.function(long)(jnp.float32(1.0))
    assert carried == []


def test_what_is_printed_or_raised_is_once(capfd):
    def shows(n):
        k = 0
        while True:
            k += 1
            ag.print("at", k)
            if k * k > n:
                break
        return k

    def raises(n):
        k = 0
        while True:
            k += 1
            if k > 3:
                raise ValueError("too many")
            if k * k > n:
                break
        return k

    assert int(ag.function(shows)(jnp.int32(5))) == 3
    jax.effects_barrier()
    assert capfd.readouterr().out.split() == list(itertools.chain(*(["at", str(k)] for k in (1, 2, 3))))
    staged = ag.function(raises)
    assert int(staged(jnp.int32(5))) == 3
    with pytest.raises(ValueError, match="too many"):
        staged(jnp.int32(50))
