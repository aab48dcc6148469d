"""How much a typical program becomes: the number of `cond`, `while` and `scan` equations in its jaxpr."""

import jax.numpy as jnp

import autograph as ag
from tests.corpus import (
    algorithms_discrete,
    algorithms_numeric,
    break_continue,
    early_return,
    nested,
    while_loops,
)
from tests.jaxprs import Counts

X = jnp.array(2.0)
N = jnp.array(5)
XS = jnp.array([1.0, -2.0, 3.0])


def count(function, *arguments, static=()):
    return Counts(ag.convert(function), *arguments, static=static)


def test_the_count_sees_nested_equations():
    """The helper itself, on a function written with `jax.lax`."""
    from jax import lax

    def by_hand(x):
        def body(_, value):
            return lax.cond(value > 0, lambda v: lax.fori_loop(0, N, lambda i, w: w + i, v), lambda v: v - 1, value)

        return lax.fori_loop(0, N, body, x)

    counts = Counts(by_hand, X)
    assert (counts.conds, counts.loops, counts.conds_in_loops, counts.deepest) == (1, 2, 1, 2)


def test_if_else_is_one_conditional():
    def f(x):
        if x > 0:
            y = jnp.sin(x)
        else:
            y = jnp.cos(x)
        return y

    counts = count(f, X)
    assert counts.conds <= 1 and counts.loops == 0, counts


def test_if_on_a_python_value_is_none():
    def f(x):
        if x.ndim == 0:
            x = x + 1
        return x

    counts = count(f, X)
    assert counts.total == 1, counts


def test_chain_of_early_returns():
    counts = count(early_return.tariff, X)
    assert counts.conds <= 3 and counts.loops == 0, counts


def test_every_branch_returns():
    counts = count(early_return.every_branch_returns, X, X)
    assert counts.conds <= 2 and counts.loops == 0, counts


def test_while_is_one_while():
    counts = count(while_loops.halve, X)
    assert (counts.whiles, counts.scans, counts.conds) == (1, 0, 0), counts


def test_bounded_loop_with_break_is_one_loop_without_conditionals():
    counts = count(algorithms_numeric.newton_square_root, X, X)
    assert counts.loops == 1 and counts.conds_in_loops == 0, counts
    # 100 copies of the body would be 500 equations and more.
    assert counts.total < 60, counts


def test_bounded_loop_with_break_in_the_middle():
    counts = count(break_continue.break_in_the_middle, X, N)
    assert counts.loops == 1 and counts.conds_in_loops <= 1, counts


def test_while_true_with_break_is_one_while_without_conditionals():
    counts = count(break_continue.while_true_break_last, X)
    assert (counts.loops, counts.whiles, counts.conds) == (1, 1, 0), counts


def test_test_that_starts_as_a_python_value_is_one_loop():
    counts = count(while_loops.test_starts_as_a_python_bool, X)
    assert counts.loops == 1 and counts.conds == 0, counts


def test_array_is_one_scan():
    def f(xs):
        total = 0.0
        for x in xs:
            total = total * 0.5 + x
        return total

    counts = count(f, XS)
    assert (counts.scans, counts.whiles, counts.conds) == (1, 0, 0), counts


def test_traced_range_is_one_loop():
    def f(n):
        total = 0
        for i in range(n):
            total += i
        return total

    counts = count(f, N)
    assert counts.loops == 1 and counts.conds == 0, counts


def test_ag_range_of_python_ints_is_one_scan():
    def f(x):
        for i in ag.range(1000):
            x = x * 0.5 + i
        return x

    counts = count(f, X)
    assert (counts.scans, counts.whiles, counts.conds) == (1, 0, 0), counts


def test_small_python_range_is_unrolled():
    def f(x):
        for i in range(3):
            x = x * 0.5 + i
        return x

    counts = count(f, X)
    assert counts.loops == 0 and counts.total == 6, counts


def test_continue_leaves_at_most_one_conditional():
    counts = count(break_continue.continue_skips, XS)
    assert counts.loops == 1 and counts.conds <= 1, counts


def test_return_in_a_loop_with_a_value_after():
    counts = count(early_return.first_above, XS, X)
    assert counts.loops == 1 and counts.conds_in_loops <= 1 and counts.conds <= 2, counts


def test_return_as_the_only_exit():
    def f(n):
        steps = 0
        while True:
            if n <= 1:
                return steps
            n = n // 2
            steps += 1

    counts = count(f, N)
    assert counts.loops == 1 and counts.conds <= 1, counts


def test_return_from_the_inner_of_two_loops():
    counts = count(early_return.return_from_inner_loop, jnp.arange(4), N)
    assert counts.loops <= 2 * 4 and counts.deepest == 2, counts


def test_three_nested_loops():
    counts = count(nested.three_loops, N)
    assert (counts.loops, counts.deepest, counts.conds) == (3, 3, 0), counts


def test_no_copies_of_nested_python_ranges_with_traced_break():
    """Both ranges are Python's, both loops end with a traced break: two loops, not 10,000 bodies.

    The inner one ends by its test, so the pass that breaks follows it: once, under the condition that there is one.
    """

    def f(x):
        for _ in range(100):
            for _ in range(100):
                x = x * 0.9
                if x < 1:
                    break
            x = x + 1
            if x > 50:
                break
        return x

    counts = count(f, X)
    assert counts.loops == 2 and counts.deepest == 2 and counts.conds_in_loops == 1, counts
    assert counts.total < 35 and str(counts.jaxpr).count(" mul ") <= 3, counts


def test_mandelbrot_point_is_one_while():
    counts = count(algorithms_numeric.mandelbrot_point, X, X)
    assert counts.loops == 1 and counts.whiles == 1, counts


def test_gcd_is_one_while():
    counts = count(algorithms_discrete.gcd, N, N)
    assert (counts.whiles, counts.scans, counts.conds) == (1, 0, 0), counts


def test_only_live_state_is_carried():
    """`scratch` is not read by the next iteration or after the loop: the carry is x and the bound."""

    def f(x):
        while x > 1:
            scratch = jnp.sin(x) * jnp.ones(7)
            x = x / 2 + 0 * scratch[0]
        return x

    counts = count(f, X)
    [loop] = [equation for equation in counts.jaxpr.jaxpr.eqns if equation.primitive.name == "while"]
    assert [variable.aval.shape for variable in loop.outvars] == [()], counts
