"""`try` around what Python raises for certain values: an index that is out of range, a division by zero."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import differences


def an_item(x):
    items = [10.0, 20.0, 30.0]
    try:
        found = items[int(x)]
    except IndexError:
        found = -1.0
    return found


def items_in_a_loop(x):
    items, total, missed = [1.0, 2.0, 4.0], 0.0, 0
    for k in range(5):
        try:
            total += items[int(x) + k]
        except IndexError as error:
            missed += len(error.args)
    return total, missed


def an_item_written(x):
    items, log = [1.0, 2.0], []
    try:
        items[int(x)] = 9.0
        log.append(1)
    except LookupError:
        log.append(2)
    finally:
        log.append(3)
    return items, log


def an_item_in_a_function(x):
    items = (1, 2, 3)

    def second(k):
        return items[k]

    try:
        return second(int(x))
    except IndexError:
        return -1


def an_item_of_a_range(x):
    try:
        return range(10, 25, 5)[int(x)]
    except IndexError as error:
        return -len(error.args)


def a_quotient(x):
    try:
        return 6.0 / x
    except ZeroDivisionError:
        return -1.0


def integers(x):
    n, log = int(x), []
    try:
        log.append(7 // n)
        log.append(7 % n)
    except ArithmeticError as error:
        log.append(str(error) == "never")
        log.append(100)
    return sum(log)


def augmented(x):
    total = 12.0
    for k in range(4):
        try:
            total /= x - k
        except ZeroDivisionError:
            continue
        finally:
            total += 1
    return total


def left_as_it_is(x):
    try:
        return x / 2 + (7 % 4) / 2.0
    except Exception:
        return -1.0


def one_of_two_kinds(x):
    items, after = np.array([10.0, 20.0, 30.0], np.float32), np.float32(0)
    try:
        after = items[int(x)]
        1 // 0  # noqa: B018
    except (LookupError, ArithmeticError):
        after += np.float32(1)
    return after


PROGRAMS = [
    *(an_item, items_in_a_loop, an_item_written, an_item_in_a_function, an_item_of_a_range, a_quotient, integers),
    *(augmented, left_as_it_is, one_of_two_kinds),
]
VALUES = (0.0, 1.0, 2.0, 3.0, 5.0)


@pytest.mark.parametrize("program", PROGRAMS)
def test_as_in_python(program):
    compiled, jitted = ag.function(program), jax.jit(ag.convert(program))
    for x in VALUES:
        for found in (compiled(jnp.float32(x)), jitted(jnp.float32(x))):
            assert list(differences(program(x), found, widens=True)) == []


def test_in_a_batch_and_under_a_derivative():
    mapped = jax.vmap(jax.value_and_grad(ag.convert(a_quotient)))(jnp.array(VALUES))
    assert mapped[0].tolist() == pytest.approx([-1.0, *(6.0 / x for x in VALUES[1:])])
    assert mapped[1].tolist() == pytest.approx([0.0, *(-6.0 / x**2 for x in VALUES[1:])])


def test_what_no_handler_waits_for_is_as_arrays_have_it():
    def f(x):
        try:
            return 6.0 / x
        except KeyError:
            return -1.0

    assert ag.function(f)(jnp.float32(0)) == jnp.inf
