"""Lists that a loop of known length has made long: one array holds their elements, and they are Python's lists all the same."""

from __future__ import annotations

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.runtime.containers.padded import Padded
from tests import staged
from tests.agreement import differences
from tests.jaxprs import Counts

N = 70


def numbers(x):
    out = []
    for k in range(N):
        out.append(x * k)
    return out


def pairs(x):
    out = []
    for k in range(N):
        out.append((x * k, x + k))
    return out


def rows(x):
    return [jnp.full(2, x) * k for k in range(N)]


def read(out, x, i):
    return out[3], out[-1], out[i], out[2:5], out[::-9], len(out[i:]), len(out), bool(out), isinstance(out, list)


def reduced(out, x, i):
    return sum(out), max(out), min(out), sorted(out, reverse=True)[0], sum(v * 2 for v in out), any(v > 3 for v in out)


def stacked(out, x, i):
    return (
        jnp.stack(out),
        jnp.array(out),
        jnp.asarray(out),
        np.stack(out),
        jnp.concatenate([jnp.stack(out)] * 2),
        np.sum(out),
    )


def looped_over(out, x, i):
    total = 0.0
    for k, v in enumerate(out):
        total += v * k
    for v, w in zip(out, out):
        total += v * w
    for v, w in zip(out, itertools.cycle("ab")):
        total += v * ord(w)
    for v in reversed(out):
        total = total * 0.5 + v
    return total, [v + 1 for v in out][5], [v for v in out if v > 5][0]


def appended(out, x, i):
    out.append(x)
    out.extend([x, x * 2])
    out.insert(0, x * 3)
    return out, len(out), sum(out)


def appended_in_a_loop(out, x, i):
    for k in range(100):
        out.append(x + k)
        out[k % 3] += 1
    return out[0], out[1], out[-1], len(out)


def of_another_kind(out, x, i):
    out.append(None)
    out[3] = "three"
    out[4] = 4
    return out[-1] is None, out[3], out[4] // 2, out[5], len(out)


def shortened(out, x, i):
    taken = out.pop(), out.pop(0), out.pop(i)
    del out[0]
    del out[2:60]
    return taken, out


def sliced(out, x, i):
    out[1:4] = [x, x]
    return out[1], out[3], len(out), out[::30]


def ordered(out, x, i):
    out.sort(key=lambda v: -v)
    first = out[0]
    out.reverse()
    return first, out[0], out.index(out[4]), out.count(x * 2), (x * 3) in out, (x * 300) in out


def together(out, x, i):
    return len(out + [x]), (out + [x])[-1], ([x] + out)[1], len(out * 2), out == out, out != [], len([*out, x])


def copied(out, x, i):
    one, other, another = out.copy(), list(out), out[:]
    one.append(x)
    other[0] = another[1] = x * 9
    same = out
    same.append(x)
    return len(out), len(one), out[0], other[0], another[1]


def in_branches(out, x, i):
    if x > 1:
        out.append(x)
        out[0] = x * 50
    if x > 3:
        out = [x]
    return out[0], out[-1], len(out)


def shortened_in_a_branch(out, x, i):
    if x > 1:
        del out[2:60]
    else:
        out[1:4] = [x, x]
    return out[1], out[3], len(out)


def held_elsewhere(out, x, i):
    class Box:
        pass

    box, held = Box(), {"a": out}
    box.out = out
    box.out.append(x)
    held["a"].append(x * 2)
    return len(out), out[-1], out[-2], tuple(out)[5], dict(zip("ab", out)), [out, [x] * N][0][3]


def handed_over(out, x, i):
    def positive(values):
        return [v for v in values if v > 5]

    first, second, *others = out
    return positive(out)[0], first, second, len(others), max(*out), functools.reduce(lambda a, b: a + b, out)


def by_pytrees(out, x, i):
    return (
        jax.tree.map(lambda v: v + 1, out),
        len(jax.tree.leaves(out)),
        jax.lax.scan(lambda c, v: (c + v, v), 0.0, jnp.stack(out)),
    )


OPERATIONS = [
    read, reduced, stacked, looped_over, appended, appended_in_a_loop, of_another_kind, shortened, sliced, ordered, together, copied,
    in_branches, shortened_in_a_branch, held_elsewhere, handed_over, by_pytrees,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::autograph.StagingWarning")  # some of them are long, and for Python to run
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda f: f.__name__)
def test_they_do_what_lists_do(operation):
    def program(x, i):
        return operation(numbers(x), x, i)

    wanted = program(np.float32(2.0), 2)
    compiled = ag.function(program)
    assert list(differences(wanted, compiled(jnp.float32(2.0), jnp.int32(2)), widens=True)) == []
    other = compiled(jnp.float32(0.5), jnp.int32(2))
    assert list(differences(program(np.float32(0.5), 2), other, widens=True)) == []
    if operation not in (
        of_another_kind,
        in_branches,
        shortened_in_a_branch,
    ):  # a text, and a length that is traced: not for a bare jit
        lanes = jax.jit(jax.vmap(ag.convert(program), (0, None)))(jnp.array([2.0, 0.5]), 2)
        assert list(differences(wanted, jax.tree.map(lambda lane: lane[0], lanes), widens=True)) == []


def of_pairs(out, x):
    values, counts = zip(*out)
    total = 0.0
    for value, count in out:
        total += value * count
    out.append((x, 1))
    return values[3], counts[4], total, out[-1], max(out), sum(a * b for a, b in out), out[2:4]


def of_rows(out, x):
    out[3] = jnp.zeros(2)
    out[4] += 1
    first = sum(out), jnp.stack(out).shape, jnp.concatenate(out).shape, jnp.stack([v[0] for v in out]), out[3], out[4]
    out.append(jnp.ones(3))
    return first, out[-1], out[5]


@pytest.mark.parametrize("make, operation", [(pairs, of_pairs), (rows, of_rows)])
def test_of_tuples_and_of_rows(make, operation):
    def program(x):
        return operation(make(x), x)

    wanted = program(jnp.float32(2.0))
    assert list(differences(wanted, ag.function(program)(jnp.float32(2.0)), widens=True)) == []


def nones(x):
    out = []
    for k in range(N):
        out.append(None if jnp.sin(x * k) > 0 else k)
    return out


def nones_in_pairs(x):
    out = []
    for k in range(N):
        value = None
        if jnp.sin(x * k) > 0:
            value = x * k
        out.append((x + k, value, -value if value is not None else None))
    return out


def of_nones(out, x):
    absent = [k for k, value in enumerate(out) if value is None]
    return absent, sum(value for value in out if value is not None), out[0], out[1], out[-1]


def of_nones_in_pairs(out, x):
    absent = [k for k, value, _ in out if value is None]
    return absent, sum(value for _, value, _ in out if value is not None), out[3], out[-1]


@pytest.mark.parametrize("make, operation", [(nones, of_nones), (nones_in_pairs, of_nones_in_pairs)])
def test_of_values_that_may_be_none(make, operation):
    def program(x):
        return operation(make(x), x)

    wanted = program(jnp.float32(2.0))
    assert list(differences(wanted, ag.function(program)(jnp.float32(2.0)), widens=True)) == []
    assert list(differences(make(jnp.float32(2.0)), ag.function(make)(jnp.float32(2.0)), widens=True)) == []


def test_no_element_is_an_operation_of_its_own():
    def program(x):
        out = []
        for k in range(5000):
            out.append(jnp.sin(x * k))
        return jnp.stack(out).sum() + out[7] + sum(out) + len(out)

    counts = Counts(ag.convert(program), 1.0)
    assert counts.total < 60
    wanted = np.sin(np.arange(5000)).sum() * 2 + np.sin(7) + 5000
    np.testing.assert_allclose(ag.function(program)(jnp.float32(1.0)), wanted, rtol=1e-4)


def test_inside_other_loops_and_differentiated():
    def program(x, n):
        total = 0.0
        for j in range(n):
            out = []
            for k in range(N):
                out.append(jnp.sin(x * k + j))
            total += jnp.stack(out).sum() + out[j]
        return total

    def by_hand(x, n):
        return sum(jnp.sin(x * jnp.arange(N) + j).sum() + jnp.sin(x * j + j) for j in range(n))

    wanted = jax.value_and_grad(by_hand)(0.3, 3)
    for found in (
        jax.value_and_grad(ag.convert(program))(0.3, 3),
        jax.jit(jax.value_and_grad(ag.convert(program)))(0.3, 3),
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_each_call_returns_a_list():
    f = ag.function(numbers)
    for x in (1.0, 2.0, 3.0):
        found = f(jnp.float32(x))
        assert type(found) is list and len(found) == N and float(found[3]) == 3 * x


def test_room_is_not_reserved_for_more_than_may_be_used():
    def doubled(n):
        """Each iteration may double the list, if nothing is known of the `break`."""
        primes = []
        for k in range(2, 50):
            if k > n:
                break
            for p in primes:
                if p * p > k:
                    primes.append(k)
                    break
                if k % p == 0:
                    break
            else:
                primes.append(k)
        return primes

    def hits(n):
        found = []
        for i in range(100_000):
            for j in range(100_000):
                if i * j > n:
                    break
                if j % 10_000 == n:
                    found.append(i + j)
            if i > n:
                break
        return found

    for n in (1, 30):
        assert staged.function(doubled)(jnp.array(n)) == doubled(n)
    assert ag.function(hits)(jnp.array(5)) == hits(5)
    with pytest.raises(ag.StagingError, match="goes over a list that it makes longer or shorter at run time"):
        jax.jit(ag.convert(doubled))(jnp.array(30))


def test_rows_that_are_alike_are_compared_and_not_joined(monkeypatch):
    joins = []
    joined = Padded.joined
    monkeypatch.setattr(Padded, "joined", lambda *args: [joins.append(args), joined(*args)][1])

    def table(i, mixed):
        rows = [[a * b for b in range(5)] for a in range(N)]
        rows[60] = [0, 1, 2.5, 3, 4] if mixed else rows[60]
        return rows[i]

    for mixed in (False, True):
        np.testing.assert_allclose(staged.function(table)(jnp.int32(60), mixed), table(60, mixed))
        assert len(joins) == 2 * mixed  # with a row of other types, and with the next
        joins.clear()
