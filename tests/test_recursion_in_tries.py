"""Functions that call themselves inside a `try`, whose blocks see what the calls raise."""

from __future__ import annotations

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import agrees_when_compiled


def caught_at_once(n):
    if n <= 0:
        raise ValueError("bottom")
    try:
        return caught_at_once(n - 1)
    except ValueError:
        return n


def raised_again(n):
    log = []

    def go(k):
        log.append(k)
        try:
            if k == 0:
                raise ValueError
            go(k - 1)
            log.append(100 + k)
        except ValueError:
            log.append(-k)
            if k < 2:
                raise
        else:
            log.append(200 + k)
        finally:
            log.append(300 + k)

    try:
        go(n)
    except ValueError:
        log.append(-1000)
    return log


def counted_before_it_is_raised(n):
    total = 0

    def go(k):
        nonlocal total
        total += 1
        if k == 0:
            total += 10
            raise ValueError
        try:
            go(k - 1)
        except ValueError:
            total += 100
            if k < 3:
                raise KeyError from None
        except KeyError:
            total += 1000

    try:
        go(n)
    except (KeyError, ValueError):
        return -total
    return total


def one_of_several(n):
    def go(k):
        if k == 0:
            raise ValueError(1)
        if k == 4:
            raise ValueError(2)
        if k == 7:
            raise KeyError(3.5)
        try:
            return go(k - 1)
        except ValueError as error:
            return error.args[0]

    try:
        return go(n) * 1.0
    except KeyError as error:
        return error.args[0]
    except ValueError as error:
        return error.args[0] - 10.0


def by_turns(n):
    def one(k):
        try:
            if k == 0:
                raise KeyError(k)
            return other(k - 1) + 1
        except ValueError:
            return 50

    def other(k):
        if k == 0:
            raise ValueError(k)
        return one(k - 1) + 2

    try:
        return one(n)
    except KeyError:
        return -1


def only_a_finally(n):
    total = 0

    def go(k):
        nonlocal total
        if k == 0:
            raise ValueError
        try:
            go(k - 1)
        finally:
            total += 100

    try:
        go(n)
    except ValueError:
        total += 1
    return total


def a_list_in_each_call(n):
    def go(k):
        if k == 5:
            raise ValueError("five")
        if k <= 0:
            return [0]
        try:
            return [*go(k - 1), k]
        except ValueError:
            return [k]

    try:
        return go(n)
    except ValueError:
        return []


class Counter:
    def __init__(self):
        self.inside = 0

    def __enter__(self):
        self.inside += 1
        return self

    def __exit__(self, *error):
        self.inside += 10
        return False


def within_a_manager(n):
    counter = Counter()

    def go(k):
        if k == 3:
            raise LookupError(k)
        if k == 0:
            return 1
        with counter:
            return go(k - 1) + 1

    try:
        return go(n), counter.inside
    except LookupError:
        return -1, counter.inside


def suppressed(n):
    total = 0

    def go(k):
        nonlocal total
        if k == 0:
            raise ValueError
        with contextlib.suppress(ValueError):
            go(k - 1)
            total += 100
        total += k

    go(n + 1)
    return total


class Walker:
    def __init__(self):
        self.calls = 0

    def go(self, k):
        self.calls += 1
        if k <= 0:
            raise LookupError(self.calls)
        try:
            return self.go(k - 3)
        except LookupError as error:
            return error.args[0] * 10 + k


def a_method(n):
    walker = Walker()
    try:
        return walker.go(n), walker.calls
    except LookupError as error:
        return -error.args[0], walker.calls


def none_or_a_number(n):
    def go(k):
        if k == 3:
            raise ValueError("three")
        if k == 0:
            return None
        try:
            return go(k - 1)
        except ValueError:
            return k

    try:
        return go(n)
    except ValueError:
        return -1


PROGRAMS = [
    *(raised_again, counted_before_it_is_raised, one_of_several, by_turns, only_a_finally),
    *(a_list_in_each_call, within_a_manager, suppressed, a_method, none_or_a_number),
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_as_in_python(program):
    agrees_when_compiled(program, *[(n,) for n in (0, 1, 2, 3, 5, 8)])


def test_what_the_first_call_raises_leaves_the_program():
    compiled = ag.function(caught_at_once)
    assert [int(compiled(jnp.int32(n))) for n in (1, 4)] == [1, 1]
    with pytest.raises(ValueError, match="bottom"):
        compiled(jnp.int32(0))


def halved(x):
    def go(v, depth):
        if depth == 3:
            raise ValueError(v * v)
        if v < 1.0:
            return v
        try:
            return go(v / 2.0, depth + 1) + v
        except ValueError as error:
            return error.args[0] * v

    return go(x, 0)


def test_in_transforms():
    xs = [0.5, 1.5, 5.0, 40.0]
    wanted = [halved(x) for x in xs]
    np.testing.assert_allclose([float(ag.function(halved)(jnp.float32(x))) for x in xs], wanted, rtol=1e-5)
    slopes = [(halved(x + 1e-4) - halved(x - 1e-4)) / 2e-4 for x in xs]
    grad = jax.grad(ag.function(halved))
    np.testing.assert_allclose([float(grad(jnp.float32(x))) for x in xs], slopes, rtol=1e-2)
    np.testing.assert_allclose(jax.vmap(ag.function(halved))(jnp.array(xs)), wanted, rtol=1e-5)


class Failed(Exception):
    def __init__(self, place):
        super().__init__("failed")
        self.place = place


def with_an_attribute(n):
    if n <= 0:
        raise Failed(n)
    try:
        return with_an_attribute(n - 1)
    except Failed as error:
        return error.place


def test_exceptions_with_other_state_are_refused():
    with pytest.raises(ag.StagingError, match="raises Failed, which has other attributes than `args`"):
        ag.function(with_an_attribute)(jnp.int32(3))
