"""Ints that no array holds, as the first value of what a staged statement may replace by a traced number."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

HUGE = 10**18


def lowest(xs, t):
    best = sys.maxsize
    for v in xs:
        if v > t and v < best:
            best = v
    return best


def lowest_by_min(xs, t):
    low, high = HUGE, -HUGE
    for v in xs:
        if v > t:
            low = min(low, v)
            high = max(v, high)
    return low, high, low < high, high - low if low != HUGE else 0


def in_a_while_loop(xs, t):
    best, i = 10**10, 0
    while i < t:
        best = min(best, (i * 7 + 3) % 11)
        i += 1
    return best


def best_two(xs, t):
    a = b = -(10**12)
    for v in xs:
        if v > a and v > t:
            a, b = v, a
        elif v > b and v > t:
            b = v
    return a, b


class Extent:
    def __init__(self):
        self.low = sys.maxsize
        self.high = -sys.maxsize - 1

    def add(self, v):
        if v < self.low:
            self.low = v
        if v > self.high:
            self.high = v


def in_attributes(xs, t):
    extent = Extent()
    for v in xs:
        if v > t:
            extent.add(v)
    return extent.low, extent.high


def shortest_paths(xs, t):
    far = 10**10
    distances = [far] * 5
    distances[t % 5] = 0
    edges = [(0, 1), (1, 2), (0, 2), (2, 3)]
    for _ in range(4):
        for k, (a, b) in enumerate(edges):
            there = distances[a] + xs[k % 3]
            if there < distances[b]:
                distances[b] = there
    return distances, [d if d < far else -1 for d in distances]


def all_pairs(xs, t):
    far = sys.maxsize
    d = [[far] * 3 for _ in range(3)]
    for i in range(3):
        d[i][i] = 0
    d[0][1] = xs[0]
    d[1][2] = xs[1]
    for k in range(3):
        for i in range(3):
            for j in range(3):
                if d[i][k] + d[k][j] < d[i][j]:
                    d[i][j] = d[i][k] + d[k][j]
    return d


def fewest_coins(xs, t):
    far = 10**10
    counts = [0] + [far] * 12
    for amount in range(1, 13):
        for coin in (xs[0], 5):
            if coin <= amount:
                counts[amount] = min(counts[amount], counts[amount - coin] + 1)
    return counts[t + 3]


def in_a_dict(xs, t):
    least = {}
    for v in xs:
        least[v % 2] = min(least.get(v % 2, HUGE), v * 3)
    return least


def profit(xs, t):
    low, best = sys.maxsize, 0
    for v in xs:
        if v < low:
            low = v
        elif v - low > best:
            best = v - low
    return best


def compared(xs, t):
    b = lowest_by_min(xs, t)[0]
    return b in (1, HUGE), b == HUGE, HUGE == b, b != 3, 3 < b, b <= HUGE, b - 1 < HUGE, -b < 0, abs(-b) >= 3, b + 7 > b


def read(xs, t):
    b = lowest_by_min(xs, t)[0]
    return bool(b), not b, str(b), f"{b}!", {"b": b}, [b, 2], float(b) > 2, b / 2 > 1, int(b)


def one_of_two(xs, t):
    y = 10**10 if t > 3 else 10**12
    if t == 2:
        y = t
    return y, y > t


def replaced_in_branches(xs, t):
    y = HUGE if t > 3 else t
    if y == HUGE:
        return -1
    return y * y % 7


PROGRAMS = (
    lowest, lowest_by_min, in_a_while_loop, best_two, in_attributes, shortest_paths, all_pairs, fewest_coins, in_a_dict, profit,
    compared, read, one_of_two, replaced_in_branches,
)  # fmt: skip
CASES = [([3, 1, 2], 0), ([3, 1, 2], 5), ([4, 4, 9], 2)]


def plain(value):
    if isinstance(value, dict):
        return {plain(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value))
    return value if isinstance(value, str | int) else np.asarray(value).tolist()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_int_or_the_number_as_in_python(program):
    made = ag.function(program)
    for xs, t in CASES:
        assert plain(made(jnp.array(xs), jnp.int32(t))) == program(xs, t), (xs, t)


def test_in_a_bare_jit_and_in_batches():
    def count(xs, t):
        return jnp.where(lowest(xs, t) == sys.maxsize, -1, 1), lowest(xs, t) < 3, in_a_while_loop(xs, t) > t

    for transform in (jax.jit, lambda f: lambda xs, t: one_of_batch(f, xs, t)):
        for xs, t in CASES:
            found = transform(ag.convert(count))(jnp.array(xs), jnp.int32(t))
            wanted = -1 if lowest(xs, t) == sys.maxsize else 1, lowest(xs, t) < 3, in_a_while_loop(xs, t) > t
            assert plain(tuple(found)) == wanted
    found = jax.jit(ag.convert(lowest))(jnp.array([3, 1]), jnp.int32(9))
    assert found.resolve() == int(found) == sys.maxsize
    found = jax.jit(ag.convert(lowest))(jnp.array([3, 1]), jnp.int32(0))
    assert found.resolve() == int(found) == np.asarray(found) == jnp.asarray(found) == 1


def one_of_batch(f, xs, t):
    return jax.tree.map(lambda leaf: leaf[0], jax.vmap(f)(xs[None], t[None]))


def test_beside_floats_it_is_a_float():
    def least(xs):
        low = 10**12
        for x in xs:
            if x < low:
                low = x
        return low

    xs = jnp.array([2.0, 1.5])
    assert jax.jit(ag.convert(least))(xs) == ag.function(least)(xs) == 1.5
    assert jax.grad(ag.convert(least))(xs).tolist() == [0.0, 1.0]


def remainder(xs, t):
    return lowest(xs, t) % 7


def summed(xs, t):
    total = lowest(xs, t)
    for v in xs:
        total += v
    return total


def stored(xs, t):
    total = lowest(xs, t) + 1
    if t > 100:
        total = 0
    return total


def handled(xs, t):
    try:
        return lowest(xs, t) % 7
    except Exception:
        return -1


@pytest.mark.parametrize("program", [remainder, summed, stored], ids=lambda program: program.__name__)
def test_arithmetic_is_exact_or_refused(program):
    made = ag.function(program)
    assert made(jnp.array([3, 1, 2]), jnp.int32(0)) == program([3, 1, 2], 0)
    with pytest.raises(ag.StagingError, match=f"may be the Python int {sys.maxsize}, or a sum with it"):
        made(jnp.array([3, 1, 2]), jnp.int32(5))


def test_a_refusal_is_not_handled():
    with pytest.raises(ag.StagingError, match="may be the Python int"):
        ag.function(handled)(jnp.array([3, 1, 2]), jnp.int32(5))


def test_a_bare_jit_refuses_what_needs_the_number():
    with pytest.raises(ag.StagingError, match="may be the Python int"):
        jax.jit(ag.convert(remainder))(jnp.array([3, 1, 2]), jnp.int32(0))
    with pytest.raises(ag.StagingError, match="does not fit int32"):
        ag.function(lambda xs, t: jnp.sqrt(lowest(xs, t)))(jnp.array([3, 1, 2]), jnp.int32(0))
