"""A variable that a `try` binds keeps its value, and where it is bound, after a `finally`, however the `try` is left."""

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


def returned_before_a_raise(x):
    try:
        if x < 0:
            return -1.0
        if x > 4:
            raise ValueError("large")
        y = x
    finally:
        pass
    return y


def raised_again(x):
    while True:
        try:
            if x > 4:
                raise ValueError
            y = x
            break
        except ValueError:
            if x > 100:
                raise
            x = x / 2
        finally:
            x += 1
    return y


def left_by_a_break_or_a_raise(x):
    for _ in range(5):
        try:
            if x > 4:
                raise KeyError(3)
            if x < 0:
                break
            y = x * 2
        finally:
            x = x - 1
        x = x + y / 4
    return x + y


def nested_with_else(x):
    try:
        try:
            if x < 0:
                return -x
            y = doubled(x)
        except ValueError:
            if x > 100:
                raise
            y = x * 3
        else:
            z = y + 1
            x = z * 2
        finally:
            x = x - 1
        other = y * 2
    finally:
        x = x + 1
    return x + y + other


def doubled(x):
    if x > 4:
        raise ValueError("large")
    return x * 2


def in_a_method(x):
    return Walker(2.0).walked(x)


class Walker:
    def __init__(self, width):
        self.width = width

    def walked(self, x):
        for _ in range(4):
            try:
                if x > 4:
                    raise KeyError("far")
                if x < 0:
                    continue
                self.last = y = x * self.width
            finally:
                x = x - 1
            x = x - y / 8
        return x + self.last


@pytest.mark.parametrize(
    "program", [returned_before_a_raise, raised_again, left_by_a_break_or_a_raise, nested_with_else, in_a_method]
)
def test_variables_bound_in_a_try_that_is_left_by_a_raise_or_a_jump(program):
    """A `finally` leaves them what they are, and where they are bound."""
    staged = ag.function(program)
    lanes = {}
    for x in (1.0, 3.5, 20.0, 200.0, -1.0, -7.0):
        try:
            lanes[x] = program(x)
        except (ValueError, KeyError, UnboundLocalError, AttributeError) as error:
            with pytest.raises(type(error)) as found:
                staged(jnp.float32(x))
            assert str(found.value) == str(error)
        else:
            assert float(staged(jnp.float32(x))) == pytest.approx(lanes[x])
    mapped = ag.function(jax.vmap(ag.convert(program)))
    assert mapped(jnp.array(list(lanes))).tolist() == pytest.approx(list(lanes.values()))
