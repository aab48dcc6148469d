"""Slices whose bounds are traced: windows of a fixed size, and writes to spans of any size."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged


def window_sum(x, n, k):
    total = 0.0
    for i in range(n):
        total += (x[i : i + k] * x[i]).sum()
    return total


def minibatches(x, n, k):
    total = 0.0
    for i in range(n):
        batch = x[i * k : (i + 1) * k]
        total = total * 0.5 + batch[0] - batch.max()
    return total


def centred(x, n, k):
    best = -100.0
    for i in range(k, n):
        best = max(best, x[i - k : i + k + 1].mean())
    return best


def smooth_in_place(x, n, k):
    for i in range(n):
        x[i : i + 3] = x[i : i + 3][::-1] * 0.5
        x[i + 1 : i + k + 1] += 1
    return x


def suffix(x, n, k):
    for i in range(n):
        x[i:] += i
        x[: i - k] *= 2
    return x


def strided(x, n, k):
    for i in range(n):
        x[i : i + 5 : 2] -= x[i : i + 5 : 2] / 4
        x[i::3] = 0.25 * i
        x[:i:2] += 1
    return x


def conditional(x, n, k):
    for i in range(n):
        if x[i] > 0:
            x[i : i + k] = -1.0
        else:
            x[i : i + k] -= x[i]
    return x


def sieve(x, n, k):
    prime = np.ones(12, dtype=bool)
    for i in range(2, n):
        if prime[i]:
            prime[i * i :: i] = False
    return prime


def steps(x, n, k):
    taken = 0.0
    for i in range(1, n):
        taken += x[::i].sum() + x[:1:-i].sum() + x[i : 2 * n : i].max() + x[n:i:-1].sum()
        x[::-i] *= 0.5
        x[1::i] -= 1
    x[0] += taken + len(x[::n])
    return x


PROGRAMS = [window_sum, minibatches, centred, smooth_in_place, suffix, strided, conditional, sieve, steps]
IN_PLACE = [smooth_in_place, suffix, strided, conditional, steps]
VALUES = np.sin(np.arange(12.0) * 1.7).astype(np.float32)


@pytest.mark.parametrize("program", PROGRAMS)
def test_vectors_give_what_python_gives(program):
    wanted = program(VALUES.copy(), 4, 2)
    n = jnp.asarray(4)
    given = VALUES.copy()
    np.testing.assert_allclose(ag.function(program)(given, n, 2), wanted, rtol=1e-5)
    np.testing.assert_allclose(given, wanted if program in IN_PLACE else VALUES, rtol=1e-5)
    converted = ag.convert(program)
    np.testing.assert_allclose(jax.jit(converted, static_argnums=2)(VALUES, n, 2), wanted, rtol=1e-5)
    batch = jnp.stack([jnp.asarray(VALUES), jnp.asarray(VALUES) * 2])
    mapped = jax.vmap(lambda x, n: converted(x, n, 2))(batch, jnp.array([4, 3]))
    np.testing.assert_allclose(mapped[0], wanted, rtol=1e-5)
    np.testing.assert_allclose(mapped[1], program(VALUES.copy() * 2, 3, 2), rtol=1e-5)
    np.testing.assert_allclose(converted(VALUES.copy(), 4, 2), wanted, rtol=1e-6)


@pytest.mark.parametrize("program", [window_sum, minibatches, smooth_in_place])
def test_windows_differentiate(program):
    def total(x, n):
        return jnp.sum(ag.convert(program)(x, n, 2))

    x = jnp.asarray(VALUES)
    gradient = jax.jit(jax.grad(total))(x, jnp.asarray(4))
    unrolled = jax.grad(lambda x: jnp.sum(ag.convert(program)(x, 4, 2)))(x)
    np.testing.assert_allclose(gradient, unrolled, rtol=1e-4, atol=1e-6)


def axes(m, i):
    a = m[:, i : i + 2] + 0  # NumPy would give a view
    b = m[i : i + 2, 1:][..., 0] + 0
    c = m[..., i : i + 2] + 0
    d = m[None, i : i + 1, i : i + 2] + 0
    e = m[i, i : i + 2] + 0
    m[i : i + 2, i : i + 2] = a[i : i + 2] + e
    m[..., i:] *= 2
    m[i, :i] = 7
    m[i:, None] -= 1
    return m, a, b, c, d, e


def test_slices_on_any_axis_give_what_numpy_gives():
    m = np.arange(20.0, dtype=np.float32).reshape(4, 5)
    wanted = axes(m.copy(), 1)
    for found in (ag.function(axes)(m.copy(), jnp.asarray(1)), jax.jit(ag.convert(axes))(m, jnp.asarray(1))):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other)


def test_slices_of_attributes_and_items():
    class Filter:
        def __init__(self, taps):
            self.state = {"taps": taps}

        def shift(self, i, value):
            self.state["taps"][i : i + 2] = value
            self.state["taps"][i:] += 1

    def run(taps, n):
        holder = Filter(taps)
        for i in range(n):
            holder.shift(i, i * 2.0)
        return holder.state["taps"]

    wanted = run(np.zeros(6, np.float32), 3)
    np.testing.assert_allclose(ag.function(run)(np.zeros(6, np.float32), jnp.asarray(3)), wanted)


def test_slices_beside_a_class_with_items():
    class Largest:
        def __init__(self, value):
            self.value = value

        def __getitem__(self, key):
            return self.value if self.value > key else key

    def program(x, n):
        return Largest(x[0, 0])[2.0], x[:n, 0]

    x = np.arange(12.0, dtype=np.float32).reshape(4, 3)
    largest, part = ag.function(program)(jnp.asarray(x), jnp.asarray(2))
    assert largest == 2 and part.tolist() == x[:2, 0].tolist()


def test_a_tuple_is_sliced_at_traced_bounds():
    def program(n):
        parts = ((1, 2, 3)[:n], (1, 2, 3)[n:])
        return parts, len(parts[0])

    for n in (0, 2, 3, -1):
        assert staged.function(program)(jnp.asarray(n)) == program(n)


def test_bounds_of_python_ints_stay_slices():
    @ag.convert
    def parts(x, i, j, step):
        return x[i:j], x[i:], x[:j:step], x[i:j:step]

    for sequence in (list(range(9)), tuple(range(9)), "abcdefghi"):
        assert parts(sequence, 2, 7, 2) == (sequence[2:7], sequence[2:], sequence[:7:2], sequence[2:7:2])
        assert parts(sequence, -3, None, -1) == (sequence[-3:None], sequence[-3:], sequence[::-1], sequence[-3:None:-1])


def test_bounds_are_evaluated_once_and_in_order():
    seen = []

    def note(value):
        seen.append(value)
        return value

    @ag.convert
    def parts(x):
        return note(x)[note(1) : note(4) : note(2)]

    assert parts([0, 1, 2, 3, 4]) == [1, 3]
    assert seen == [[0, 1, 2, 3, 4], 1, 4, 2]


def every(x, step):
    return x[::step]


def test_a_step_of_zero_raises():
    compiled = ag.function(every)
    assert compiled(VALUES, jnp.array(5)).tolist() == VALUES[::5].tolist()
    for step in (0, jnp.array(0)):
        with pytest.raises(ValueError, match="^slice step cannot be zero"):
            compiled(VALUES, step)


def test_steps_of_lists_and_of_rows():
    def program(x, step):
        rows = jnp.stack([x, 2 * x], 1)
        rows[::step, 1] = -1.0
        items = [v + 1 for v in x]
        return rows, rows[1::step], items[::step], items[-2:1:-step]

    for step in (2, 3, -4):
        found = staged.function(program)(jnp.asarray(VALUES), jnp.array(step))
        items = [v + 1 for v in VALUES]
        rows = np.stack([VALUES, 2 * VALUES], 1)
        rows[::step, 1] = -1.0
        wanted = rows, rows[1::step], items[::step], items[-2:1:-step]
        jax.tree.map(np.testing.assert_allclose, found, wanted)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (lambda x, n: jnp.stack([x, x])[:, :n], ["[:…]", "float32[2,12]", "jnp.where"]),
        (lambda x, n: jnp.stack([x, x])[:, n : n * n], ["known only at run time"]),
        (lambda x, n: jnp.stack([x, x])[:, n : n + 40], ["40 elements", "12"]),
    ],
)
def test_sizes_that_only_the_run_knows_are_refused_in_words(body, words):
    with pytest.raises(ag.StagingError) as refusal:
        ag.function(body)(jnp.asarray(VALUES), jnp.asarray(3))
    for word in [*words, "test_traced_slices.py:"]:
        assert word in str(refusal.value)


def test_a_value_of_another_size_raises_as_numpy_does():
    def write(x, n):
        x[:n] = x * 2
        return x

    np.testing.assert_allclose(ag.function(write)(jnp.asarray(VALUES), jnp.asarray(12)), VALUES * 2)
    with pytest.raises(ValueError, match="could not broadcast"):
        ag.function(write)(jnp.asarray(VALUES), jnp.asarray(3))


def test_a_varying_value_along_another_axis_is_refused():
    def write(x, n):
        x[:, :n] = jnp.arange(4.0)
        return x

    with pytest.raises(ag.StagingError, match="in the first dimension only"):
        ag.function(write)(jnp.ones((2, 6)), jnp.asarray(3))


def test_a_slice_with_room_for_nothing_has_no_elements():
    def f(w):
        total = 0
        for value in w[w[0] : 0]:
            total += value
        return sum([value for value in w[w[0] : 0]], 1), total, len(w[w[0] : 0])

    for w in ([0, 1, 2], [2, 1, 0], [-1, 1, 2]):
        for run in (staged.function(f), staged.jitted(f)):
            assert jax.tree.map(int, run(jnp.array(w))) == f(w)


class Keyed:
    def __getitem__(self, key):
        return key.start, key.stop


OF_SLICE_OBJECTS = [
    lambda x, n: x[slice(n, n + 2)],
    lambda x, n: [x[slice(n)].sum(), x[slice(n, None, 2)]],
    lambda x, n: Keyed()[slice(n, 3)],
    lambda x, n: "hello"[slice(n, None)],
    lambda x, n: [1, 2, 3, 4, 5][slice(1, n + 1)],
]


def with_items_put_in(x, n):
    found, place = [1, 2, 3, 4, 5], slice(n, n + 1)
    found[place] = [7, 8, 9]
    del found[slice(0, n - 1)]
    return found


def with_zeros_put_in(x, n):
    x = x * 1
    x[slice(n, None)] = 0.0
    return x


@pytest.mark.parametrize("f", [*OF_SLICE_OBJECTS, with_items_put_in, with_zeros_put_in])
def test_slice_objects_are_what_a_subscript_writes(f):
    def plain(value):
        return (
            value
            if isinstance(value, str)
            else np.array(value).tolist()
            if not isinstance(value, list)
            else [*map(plain, value)]
        )

    x = np.arange(6.0, dtype=np.float32)
    assert plain(ag.function(f)(x, jnp.int32(2))) == plain(f(x, 2))
