"""`power_modulo`: Python's ``pow(base, exp, mod)`` of traced integers, exact in the integers that the program has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

_SMALL = 1 << 16  # below this, a product fits 32 bits without a sign
Times = Callable[[Any, Any], Any]


def power_modulo(base: Any, exp: Any, mod: Any) -> tuple[Any, Any]:
    """``pow(base, exp, mod)``, and whether the base has an inverse where the exponent is negative: True if it cannot be.

    ``mod`` is not zero. Python integers must fit the program's, except for the exponent.

    >>> int(power_modulo(3, jnp.array(200), 1_000_003)[0]), pow(3, 200, 1_000_003)
    (333986, 333986)
    """
    size = _magnitude(mod)
    times = _times_small if isinstance(mod, int) and abs(mod) < _SMALL else _times
    power = _remainder(base, size)
    result = jnp.ones_like(size) % size
    if isinstance(exp, int) and exp >= 0:
        while exp:
            result = times(result, power, size) if exp & 1 else result
            power, exp = times(power, power, size), exp >> 1
        return _with_sign(result, mod), True
    inverse, is_prime = _inverse(power, size, times)
    power = jnp.where(exp < 0, inverse, power)
    rest = np.asarray(-exp) if isinstance(exp, int) else _magnitude(exp)

    def step(state: Any) -> Any:
        result, power, rest = state
        result = jnp.where(rest & 1 == 1, times(result, power, size), result)
        return result, times(power, power, size), rest >> 1

    shape = jnp.broadcast_shapes(power.shape, size.shape, rest.shape)
    start = tuple(jnp.broadcast_to(each, shape) for each in (result, power, rest))
    result, _, _ = lax.while_loop(lambda state: jnp.any(state[2] > 0), step, start)
    return _with_sign(result, mod), (exp >= 0) | is_prime


def _unsigned() -> Any:
    return jnp.uint64 if jnp.result_type(int) == np.int64 else jnp.uint32


def _magnitude(number: Any) -> Any:
    """The absolute value, without a sign."""
    if isinstance(number, int):
        return jnp.asarray(abs(number), _unsigned())
    bits = number.astype(_unsigned())
    return jnp.where(number < 0, -bits, bits)


def _remainder(base: Any, size: Any) -> Any:
    """``base % size``, without a sign."""
    rest = _magnitude(base) % size
    return jnp.where((base < 0) & (rest != 0), size - rest, rest)


def _with_sign(rest: Any, mod: Any) -> Any:
    """The remainder with the sign of ``mod``, as Python has it."""
    found = rest.astype(jnp.result_type(int))
    return jnp.where((mod < 0) & (rest != 0), found + mod, found)


def _times_small(one: Any, other: Any, size: Any) -> Any:
    return one * other % size


def _times(one: Any, other: Any, size: Any) -> Any:
    """``one * other % size`` of numbers below ``size``, bit by bit: the product may not fit."""

    def step(state: Any) -> Any:
        found, one, other = state
        found = jnp.where(other & 1 == 1, _plus(found, one, size), found)
        return found, _plus(one, one, size), other >> 1

    shape = jnp.broadcast_shapes(one.shape, other.shape, size.shape)
    start = tuple(jnp.broadcast_to(each, shape) for each in (jnp.zeros_like(one), one, other))
    return lax.while_loop(lambda state: jnp.any(state[2] > 0), step, start)[0]


def _plus(one: Any, other: Any, size: Any) -> Any:
    """``(one + other) % size`` of numbers below ``size``, which leaves one bit free: half of the numbers have a sign."""
    found = one + other
    return jnp.where(found >= size, found - size, found)


def _inverse(number: Any, size: Any, times: Any) -> tuple[Any, Any]:
    """The inverse of a number below ``size``, by Euclid's algorithm, and whether there is one."""

    def step(state: Any) -> Any:
        last, rest, factor, next_factor = state
        quotient = last // jnp.maximum(rest, 1)
        product = times(quotient % size, next_factor, size)
        new = jnp.where(factor >= product, factor - product, factor + (size - product))
        is_left = rest > 0
        return (
            jnp.where(is_left, rest, last),
            jnp.where(is_left, last - quotient * rest, rest),
            jnp.where(is_left, next_factor, factor),
            jnp.where(is_left, new, next_factor),
        )

    shape = jnp.broadcast_shapes(number.shape, size.shape)
    start = (number, size, jnp.ones_like(size) % size, jnp.zeros_like(size))
    last, _, factor, _ = lax.while_loop(
        lambda state: jnp.any(state[1] > 0), step, tuple(jnp.broadcast_to(each, shape) for each in start)
    )
    return factor, last == 1
