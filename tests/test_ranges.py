"""What the counters of a loop decide is left out of its body, and nothing else."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.backends.xla import jax_compat
from autograph.backends.xla.optimize.bounds import bounds_of_result
from autograph.tools.bench import first_call


def operations(jaxpr):
    """The names of a program's operations, those of its loops and branches included."""
    return [jax_compat.name_of(equation) for equation in jax_compat.all_equations(jaxpr)]


def in_loops(function, *operands):
    program = jax.make_jaxpr(ag.convert(function))(*operands)
    return [
        name
        for equation in program.jaxpr.eqns
        for inner in jax_compat.inner_programs(equation)
        for name in operations(inner)
    ]


def test_indices_that_count_are_not_compared():
    def table(x):
        rows = [[0.0] * 30 for _ in range(30)]
        for i in range(1, 30):
            for j in range(29, 0, -1):
                rows[i][j] = rows[i - 1][j - 1] + x[i] * rows[i][-j]
        return rows

    x = jnp.arange(30.0)
    found = in_loops(table, x)
    assert "dynamic_update_slice" in found and not {"lt", "ge", "select_n", "scatter"} & set(found)
    for one, other in zip(ag.function(table)(x), table(np.asarray(x)), strict=True):
        np.testing.assert_allclose(one, other)


def test_what_depends_on_values_is_compared():
    def shifted(x, k):
        items = [0] * 30
        for i in range(30):
            items[i - k] = x[i] + items[i - 2 * k]
        return items

    x = jnp.arange(30)
    assert {"lt", "scatter"} <= set(in_loops(shifted, x, jnp.int32(3)))
    assert ag.function(shifted)(x, jnp.int32(3)) == shifted(range(30), 3)
    with pytest.raises(IndexError, match="list index out of range"):
        ag.function(shifted)(x, jnp.int32(31))


def test_an_index_that_leaves_the_range_raises():
    def beyond(x):
        items = [0.0] * 30
        for i in range(40):
            if x[0] > i:
                items[i] = x[0]
        return items

    assert ag.function(beyond)(jnp.array([20.0]))[19:21] == [20.0, 0.0]
    with pytest.raises(IndexError):
        ag.function(beyond)(jnp.array([35.0]))


def sieve(flags, n):
    p = 2
    while p * p <= n:
        if flags[p]:
            for m in range(p * p, n, p):
                flags[m] = False
        p += 1
    return flags


def test_a_counter_of_a_while_loop_is_where_it_began_or_beyond():
    """The step of the inner range is not zero, so that nothing raises and no error is carried."""
    flags, n = jnp.ones(50, bool), jnp.int32(50)
    program = jax.make_jaxpr(ag.convert(sieve))(flags, n)
    (loop,) = [each for each in program.jaxpr.eqns if jax_compat.kind(each) is jax_compat.Kind.WHILE]
    assert len(loop.outvars) == 2
    assert np.asarray(ag.function(sieve)(flags, n)).tolist() == sieve(np.ones(50, bool), 50).tolist()


@pytest.mark.parametrize("n", [0, 1])
def test_what_is_counted_in_one_iteration(n):
    def counted(x, n):
        items, count = [], 0
        for v in x[:1]:
            if n > 0:
                items.append(v)
        for v in items:
            count += 1
        for _ in ag.range(1):
            count += 2
        return count

    assert int(ag.function(counted)(jnp.arange(3.0), jnp.int32(n))) == 2 + n


def test_a_counter_that_may_reach_zero_is_compared():
    def down(x, n):
        p, total = 5, 0
        while total < n:
            for m in range(0, x, p):
                total += m + 1
            p -= 1
        return total, p

    assert jax.tree.map(int, ag.function(down)(jnp.int32(20), jnp.int32(100))) == down(20, 100)
    with pytest.raises(ValueError, match="must not be zero"):
        ag.function(down)(jnp.int32(20), jnp.int32(10**6))


def test_numbers_that_are_carried_keep_their_values():
    def carried(x):
        low, flag, total = 5, 0, jnp.int32(0)
        for i in ag.range(20):
            flag = flag if i < 30 else 1  # always 0
            low = min(low, 10 - i)
            total += jnp.where(low < 0, 1, 0) + flag + x
        return low, flag, total

    assert jax.tree.map(int, ag.function(carried)(jnp.int32(2))) == (-9, 0, 49)


def test_sums_that_wrap_are_not_decided():
    def wrapped(x):
        found = jnp.int32(0)
        step = jnp.int32(2**30)
        number = jnp.int32(2**30)
        for _ in ag.range(3):
            found += jnp.where(number > 0, 1, 0) + jnp.where(number + step > 0, 1, 0) + x
            number += step
        return found

    assert int(ag.function(wrapped)(jnp.int32(0))) == 1


def test_nan_is_not_itself():
    def unequal(x):
        count = 0
        for _ in ag.range(12):
            y = jnp.reshape(x, (1,))[0]
            if x != y:
                count += 1
        return count

    assert int(ag.function(unequal)(jnp.float32(np.nan))) == 12 and int(ag.function(unequal)(jnp.float32(1))) == 0


def total(x):
    items = [0.0] * 12
    for i in range(1, 12):
        items[i] = items[i - 1] * 0.5 + x * i
        if items[i] > 4.0:
            items[i] = items[i] - items[i - 1]
    return items[-1]


def test_batches_and_derivatives():
    converted = ag.convert(total)
    xs = jnp.array([0.3, 1.5, 3.0])
    np.testing.assert_allclose(jax.jit(jax.vmap(converted))(xs), [total(float(x)) for x in xs], rtol=1e-6)
    slopes = [(total(float(x) + 1e-4) - total(float(x) - 1e-4)) / 2e-4 for x in xs]
    np.testing.assert_allclose(jax.vmap(jax.grad(converted))(xs), slopes, rtol=1e-4)
    np.testing.assert_allclose(jax.vmap(lambda x: jax.jvp(converted, (x,), (1.0,))[1])(xs), slopes, rtol=1e-4)


NUMBERS = [-7, -3, -1, 0, 1, 2, 5, 127]
TYPES = {"int8": jnp.int8, "int32": jnp.int32}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "function",
    [
        *(jax.lax.add, jax.lax.sub, jax.lax.mul, jax.lax.max, jax.lax.min, jax.lax.rem, jax.lax.bitwise_and),
        *(jax.lax.lt, jax.lax.le, jax.lax.gt, jax.lax.ge, jax.lax.eq, jax.lax.ne),
        lambda a, b: jax.lax.abs(a),
        lambda a, b: jax.lax.neg(a),
        lambda a, b: jax.lax.bitwise_not(a),
        lambda a, b: jax.lax.clamp(a, b, jnp.asarray(5, a.dtype)),
        lambda a, b: jax.lax.select_n(jnp.bool_(True), a, b),
        lambda a, b: jax.lax.convert_element_type(a, jnp.bool_),
        lambda a, b: jax.lax.convert_element_type(a, jnp.uint8),
        lambda a, b: jax.lax.concatenate([a[None], b[None]], 0),
    ],
)
def test_results_are_within_their_bounds(function, dtype):
    """For all pairs of ranges between some numbers, and all numbers in them."""
    dtype = TYPES[dtype]
    zero = jnp.zeros((), dtype)
    (equation,) = [
        e for e in jax.make_jaxpr(function)(zero, zero).jaxpr.eqns if e.primitive.name != "broadcast_in_dim"
    ][-1:]
    values = np.array(NUMBERS, dtype)
    results = np.asarray(jax.vmap(lambda a: jax.vmap(lambda b: function(a, b))(values))(values)).astype(np.int64)
    ranges = [(i, j) for i in range(len(NUMBERS)) for j in range(i, len(NUMBERS))]
    for i, j in ranges:
        for k, n in ranges:
            given = {0: (NUMBERS[i], NUMBERS[j]), 1: (NUMBERS[k], NUMBERS[n])}
            operands = _operands(equation, given)
            low, high = bounds_of_result(equation, operands)
            part = results[i : j + 1, k : n + 1]
            assert low <= part.min() and part.max() <= high


def _operands(equation, given):
    """The bounds of an operation's operands, which are a function's or constants."""
    found, pending = [], [given[0], given[1]]
    for atom in equation.invars:
        if jax_compat.is_literal(atom):
            found.append((int(atom.val), int(atom.val)))
        else:
            found.append(pending.pop(0))
    return found


def test_what_no_iteration_sets_after_all_has_no_value():
    def program(n):
        found = None
        for _ in ag.range(4):
            for k in ag.range(1, 4):
                if k > 3 and found is None:
                    found = k
        return n if found is None else found

    assert jax.jit(ag.convert(program))(5) == ag.function(program)(5) == program(5)


def test_the_work_for_numbers_of_a_carry_grows_as_their_number(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(jax_compat, "name_of", lambda each, _name=jax_compat.name_of: asked.append(0) or _name(each))
    counts = []
    for count in (10, 40):
        names = [f"v{k}" for k in range(count)]
        lines = [f"{name} = {name} + {after}" for name, after in zip(names, [*names[1:], "v0"], strict=True)]
        text = f"def f(n):\n    {' = '.join(names)} = 1\n    for i in range(n):\n        " + "\n        ".join(lines)
        asked.clear()
        f = first_call.loaded(f"{text}\n    return v0\n", tmp_path).f
        ag.function(f).trace(jnp.int32(3))
        counts.append(len(asked))
        assert int(ag.function(f)(jnp.int32(3))) == f(3)
    assert counts[1] < 6 * counts[0]
