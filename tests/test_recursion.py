"""Functions that call themselves under traced conditions: staged as one loop, with a stack where one is needed."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged
from tests.agreement import agrees_when_compiled, differences
from tests.jaxprs import equations
from tests.recursions import (
    PROGRAMS,
    Polynomial,
    collatz,
    factorial,
    fibonacci,
    greatest_common_divisor,
    mean_decay,
    power,
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0].__name__)
def test_like_plain_python(program):
    agrees_when_compiled(*program)


# Transforms.


def test_lanes_recurse_each_by_itself():
    numbers = jnp.array([0, 1, 7, 4])
    wanted = [fibonacci(int(n)) for n in numbers]
    assert jax.vmap(ag.function(fibonacci))(numbers).tolist() == wanted
    assert jax.vmap(ag.convert(fibonacci))(numbers).tolist() == wanted
    assert jax.vmap(ag.function(greatest_common_divisor), (0, None))(numbers, jnp.array(14)).tolist() == [14, 1, 7, 2]


def test_derivatives():
    def slope(x, n):
        return n * x ** (n - 1)

    f = ag.function(power)
    found = jax.vmap(jax.grad(f), (0, None))(jnp.array([1.0, 1.5, 2.0]), jnp.array(5))
    np.testing.assert_allclose(found, [slope(x, 5) for x in (1.0, 1.5, 2.0)], rtol=1e-5)
    _, tangent = jax.jvp(lambda x: f(x, jnp.array(4)), (1.5,), (1.0,))
    assert float(tangent) == pytest.approx(slope(1.5, 4))
    assert float(jax.grad(ag.convert(power))(2.0, jnp.array(3))) == pytest.approx(12.0)


def test_derivatives_of_adaptive_quadrature():
    found = jax.grad(ag.function(mean_decay))(3.0)
    assert float(found) == pytest.approx(float(jax.grad(lambda rate: (1 - jnp.exp(-rate)) / rate)(3.0)), rel=1e-3)


def test_calls_in_tail_position_take_no_stack():
    jaxpr = jax.make_jaxpr(ag.convert(greatest_common_divisor))(jnp.array(48), jnp.array(18))
    (loop,) = [equation for equation, _ in equations(jaxpr.jaxpr) if equation.primitive.name == "while"]
    assert all(variable.aval.shape == () for variable in loop.invars)
    assert int(jax.jit(ag.convert(collatz))(jnp.array(27))) == 111


def test_arguments_that_never_change_are_not_put_on_the_stack():
    def total(values, k):
        if k < 0:
            return 0.0
        return values[k] + total(values, k - 1)

    jaxpr = jax.make_jaxpr(ag.function(total))(jnp.arange(1.0, 51.0), jnp.array(49))
    loops = [equation for equation, _ in equations(jaxpr.jaxpr) if equation.primitive.name == "while"]
    assert loops and not any(v.aval.shape[1:] == (50,) for loop in loops for v in loop.invars)


# Where they are called.


def test_methods_and_callable_objects():
    polynomial = Polynomial([1.0, 2.0, 3.0])
    assert float(ag.function(polynomial)(jnp.array(2.0))) == polynomial(2.0)
    assert float(ag.function(Polynomial.__call__)(polynomial, jnp.array(0.0), jnp.array(1))) == 2.0


def test_a_compiled_function_that_calls_itself():
    @ag.function
    def count(n):
        if n < 2:
            return 1
        return count(n - 1) + count(n - 2)

    class Counter:
        @ag.function
        def count(self, n):
            if n < 2:
                return 1
            return self.count(n - 1) + self.count(n - 2)

    assert int(count(jnp.array(7))) == 21
    assert int(Counter().count(jnp.array(7))) == 21
    assert count.experimental_get_tracing_count() == 1


def test_compiled_functions_that_call_each_other():
    @ag.function
    def even(n):
        return True if n == 0 else odd(n - 1)

    @ag.function
    def odd(n):
        return False if n == 0 else even(n - 1)

    assert [bool(even(jnp.array(n))) for n in range(4)] == [True, False, True, False]


def test_variables():
    calls, best = ag.Variable(0), ag.Variable(-1.0)
    scores = jnp.array([3.0, 9.0, 2.0, 5.0])

    @ag.function
    def search(k):
        calls.assign_add(1)
        if k < 4:
            if scores[k] > best:
                best.assign(scores[k])
            search(k + 1)
            search(k + 2)

    search(jnp.array(0))

    count, record = 0, -1.0

    def plain(k):
        nonlocal count, record
        count += 1
        if k < 4:
            record = max(record, float(scores[k]))
            plain(k + 1)
            plain(k + 2)

    plain(0)
    assert (int(calls.value), float(best.value)) == (count, record)


def test_python_values_are_followed_call_by_call():
    def refined(x, depth):
        if depth == 0:
            return x
        if x > 0:
            return refined(x * 0.5 - 1, depth - 1)
        return refined(x + 1, depth - 1)

    def folded(x):
        if len(x) == 1:
            return x[0]
        first, second = folded(x[: len(x) // 2]), folded(x[len(x) // 2 :])
        return first if first > second else second

    agrees_when_compiled(lambda x: refined(x, 4), (np.float32(3.0),), (np.float32(-3.0),))
    agrees_when_compiled(folded, (np.array([3.0, 1.0, 7.0, 2.0], np.float32),))


def test_python_values_that_decide_how_deep_it_goes():
    def deep(x, depth):
        if depth == 0:
            return x
        return deep(x + 1, depth - 1) if x > 0 else deep(x - 1, depth - 1)

    agrees_when_compiled(lambda x: deep(x, 30), (np.float32(3.0),), (np.float32(-3.0),))


# Errors.


def test_too_deep():
    def endless(x):
        return 1 + endless(x + 1) if x != 0.5 else 0

    def loops(x):
        return loops(x + 1) if x != 0.5 else 0

    def circular(x):
        return circular(x - 1) if x > 0 else circular(x + 1)

    for function in (endless, loops, circular):
        with pytest.raises(RecursionError, match="maximum recursion depth exceeded"):
            ag.function(function)(jnp.array(1.0))


def test_a_limit_by_hand():
    @ag.recursion_limit(20)
    def count(n):
        return 0.0 if n <= 0 else 1.0 + count(n - 1)

    assert float(ag.function(count)(jnp.array(19))) == 19
    with pytest.raises(RecursionError):
        ag.function(count)(jnp.array(20))
    bare = jax.jit(ag.convert(count))
    assert float(bare(jnp.array(19))) == 19
    assert np.isnan(bare(jnp.array(20)))
    for wrong, error in ((0, ValueError), (2.5, TypeError), (True, TypeError)):
        with pytest.raises(error):
            ag.recursion_limit(wrong)


def sum_of_rows(k):
    """A function with much to keep for each call under way."""
    row = jnp.arange(600.0) + k
    return row if k == 0 else row + sum_of_rows(k - 1)


def test_room_for_large_frames_grows_by_running_again():
    f = ag.function(sum_of_rows)
    for depth, traces in ((3, 1), (63, 1), (100, 2), (200, 2), (300, 3), (5, 3)):
        wanted = np.arange(600.0) * (depth + 1) + depth * (depth + 1) / 2
        np.testing.assert_allclose(f(jnp.array(depth)), wanted, rtol=1e-5)
        assert f.experimental_get_tracing_count() == traces
    assert "room of `sum_of_rows`" in f.explain_retraces() and "recursion_limit" in f.explain_retraces()
    with pytest.raises(RecursionError):
        ag.function(sum_of_rows)(jnp.array(-1))


def test_a_program_that_prints_cannot_be_run_again_with_more_room():
    def shown(k):
        ag.print(k)
        return sum_of_rows(k)

    with pytest.raises(
        ag.StagingError,
        match=r"'sum_of_rows' calls itself .* cannot be run again with a larger capacity.\n.*recursion_limit",
    ):
        ag.function(shown)(jnp.array(3))


def test_a_bare_jit_asks_for_a_limit():
    with pytest.raises(ag.StagingError, match=re.escape("autograph.recursion_limit(")):
        jax.jit(ag.convert(factorial))(jnp.array(3))


def test_exceptions_end_the_recursion():
    def down(n):
        if n < 0:
            raise ValueError(f"below zero: {n}")
        if n == 0:
            return 0
        return 1 + down(n - 2)

    def always(n):
        if n > 0:
            return always(n - 1)
        raise KeyError("end")

    assert int(ag.function(down)(jnp.array(6))) == 3
    with pytest.raises(ValueError, match="below zero: -1"):
        ag.function(down)(jnp.array(7))
    with pytest.raises(KeyError, match="end"):
        ag.function(always)(jnp.array(3))


def test_results_without_one_type_are_refused():
    def odd_shapes(n):
        return jnp.zeros(2) if n == 0 else jnp.concatenate([odd_shapes(n - 1), jnp.ones(1)])

    with pytest.raises(
        ag.StagingError,
        match="The branches of this statement return values of different types|returns values of different types",
    ):
        ag.function(odd_shapes)(jnp.array(2))


def test_transforms_of_a_part_are_refused():
    def spread(x):
        return x if x > 8 else jax.vmap(spread)(jnp.stack([x * 2, x * 3])).sum()

    with pytest.raises(ag.StagingError, match="calls itself under a traced condition here, inside a JAX transform"):
        ag.function(spread)(jnp.array(1.0))


def test_arguments_of_ever_new_types_are_refused():
    def grows(x):
        return x[0] if x.sum() > 9 else grows(jnp.concatenate([x, x]))

    with pytest.raises(ag.StagingError, match="calls itself under a traced condition"):
        ag.function(grows)(jnp.ones(1))


def paths(n):
    def paths(right, up):
        if right == n and up == n:
            return 1
        found = 0
        if right < n:
            found += paths(right + 1, up)
        if up < right:
            found += paths(right, up + 1)
        return found

    return paths(0, 0)


def test_a_function_that_defines_another_of_its_name():
    agrees_when_compiled(paths, (3,), (5,))


def rounds(n):
    def steps(k):
        if k >= n:
            return rounds(n - 1) if n > 2 else 1
        return steps(k + 1) + steps(k + 2)

    return steps(0)


def test_a_function_that_calls_the_one_it_is_defined_in_is_refused():
    with pytest.raises(ag.StagingError, match="'steps' and the function that it is defined in both call themselves"):
        ag.function(rounds)(jnp.array(3))


def test_structures_come_back_as_they_are():
    def closest(n):
        if n <= 0:
            return {"at": n, "path": (0.0, jnp.zeros(2))}
        found = closest(n - 2)
        return {"at": found["at"], "path": (found["path"][0] + 1, found["path"][1] + n)}

    compiled = ag.function(closest)
    for n in (5, 0):
        assert list(differences(closest(n), compiled(jnp.array(n)), widens=True)) == []


# Recursion that sees constants only is run as Python runs it.


def queens(n):
    def place(row, columns, falling, rising):
        if row == n:
            return 1
        count = 0
        for c in range(n):
            if c in columns or row + c in falling or row - c in rising:
                continue
            count += place(row + 1, columns | {c}, falling | {row + c}, rising | {row - c})
        return count

    return place(0, frozenset(), frozenset(), frozenset())


def queens_on_a_board(n):
    board = []

    def is_free(row, column):
        return all(column != c and abs(column - c) != row - r for r, c in enumerate(board))

    def solve(row):
        if row == n:
            return 1
        total = 0
        for column in range(n):
            if is_free(row, column):
                board.append(column)
                total += solve(row + 1)
                board.pop()
        return total

    return solve(0) * 10 + len(board)


def hanoi(n, a, b, c):
    return [] if n == 0 else hanoi(n - 1, a, c, b) + [(a, c)] + hanoi(n - 1, b, a, c)


def counted_down(n):
    return 0 if n == 0 else 1 + counted_down(n - 1)


def fib_of(n):
    return n if n < 2 else fib_of(n - 1) + fib_of(n - 2)


def without_end(n):
    return without_end(n + 1)


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


def parsed(tokens):
    token = tokens[0]
    if token == "(":
        value, rest = parsed(tokens[1:])
        return value + 1, rest[1:]
    if not token.isdigit():
        raise ValueError(f"bad {token}")
    return int(token), tokens[1:]


OF_CONSTANTS = {
    "queens": lambda x: queens(6) + x,
    "queens on a board": lambda x: queens_on_a_board(5) + x,
    "hanoi": lambda x: (len(hanoi(3, "A", "B", "C")) * x, hanoi(2, "A", "B", "C")),
    "deep": lambda x: counted_down(600) + x,
    "mutual": lambda x: (is_even(10), x if is_odd(7) else -x),
    "in a branch": lambda x: fib_of(10) if x > 2 else x,
    "in a loop": lambda x: sum(fib_of(k) for k in range(8)) + x,
    "texts": lambda x: parsed("((4))") + (x,),
}


@pytest.mark.parametrize("name", OF_CONSTANTS)
def test_recursion_of_constants(name):
    program = OF_CONSTANTS[name]
    for x in (1, 3):
        found = staged.function(program)(jnp.array(x))
        assert jax.tree.map(lambda leaf: leaf if isinstance(leaf, str) else int(leaf), found) == program(x)


def test_recursion_of_constants_is_no_loop_of_the_program():
    assert "while" not in str(jax.make_jaxpr(ag.convert(OF_CONSTANTS["queens"]))(1))
    many = lambda x: fib_of(20) + x  # more calls than are made while tracing
    assert int(ag.function(many)(jnp.array(1))) == 6766


def test_recursion_of_constants_writes_in_the_branch_only():
    def run(x):
        seen = []

        def note(n):
            seen.append(n)
            return n if n == 0 else note(n - 1) + n

        if x > 1:
            x += note(3)
        return x, len(seen)

    for x in (1, 2):
        assert [int(v) for v in staged.function(run)(jnp.array(x))] == [*run(x)]


def test_exceptions_of_recursion_of_constants():
    def run(x):
        try:
            value, _ = parsed("((a))")
        except ValueError as error:
            return str(error), x
        return "", value

    assert ag.function(run)(jnp.array(1))[0] == "bad a"
    with pytest.raises(ValueError, match="bad b"):
        ag.function(lambda x: parsed("(b)")[0] + x)(jnp.array(1))
    with pytest.raises(RecursionError):
        ag.function(lambda x: without_end(0) + x)(jnp.array(1))
