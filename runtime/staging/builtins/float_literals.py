"""The number that a text's characters spell as a float, as ``float(text)`` reads them."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

_WORDS = ("inf", "infinity", "nan")


def float_of(codes: Any, length: Any) -> tuple[Any, Any]:
    """The float that the first ``length`` of these code points spell, and whether they spell one.

    It is Python's up to the rounding of the type of JAX's floats.
    """
    codes = jnp.concatenate([codes, jnp.zeros(1, codes.dtype)])
    place = jnp.arange(codes.shape[0])
    codes = jnp.where(place < length, codes, 0)
    lower = codes | 32
    has_sign = (codes[0] == ord("-")) | (codes[0] == ord("+"))
    value, fits = _decimal(codes, lower, place, has_sign)
    unsigned = jnp.where(has_sign, jnp.roll(lower, -1), lower)
    for word in _WORDS:
        if len(word) < codes.shape[0]:
            spelled = jnp.all(unsigned[: len(word)] == jnp.asarray([*map(ord, word)])) & (
                length - has_sign == len(word)
            )
            value, fits = jnp.where(spelled, float(word), value), fits | spelled
    return jnp.where(codes[0] == ord("-"), -value, value), fits


def _decimal(codes: Any, lower: Any, place: Any, has_sign: Any) -> tuple[Any, Any]:
    is_digit = (codes >= ord("0")) & (codes <= ord("9"))
    is_point, is_e = codes == ord("."), lower == ord("e")
    of_exponent = jnp.cumsum(is_e) > 0
    is_sign = (place == 0) & has_sign
    has_exponent_sign = ((codes == ord("-")) | (codes == ord("+"))) & jnp.roll(is_e, 1).at[0].set(False)
    is_between = (codes == ord("_")) & jnp.roll(is_digit, 1).at[0].set(False) & jnp.roll(is_digit, -1)
    in_mantissa, in_exponent = is_digit & ~of_exponent, is_digit & of_exponent
    fits = jnp.all(is_digit | is_point | is_e | is_sign | has_exponent_sign | is_between | (codes == 0))
    fits &= (jnp.sum(is_point) <= 1) & (jnp.sum(is_e) <= 1) & ~jnp.any(is_point & of_exponent)
    fits &= jnp.any(in_mantissa) & (jnp.any(in_exponent) | ~jnp.any(is_e))

    exponent = jnp.sum(jnp.where(in_exponent, (codes - ord("0")) * 10 ** jnp.minimum(_after(in_exponent), 6), 0))
    exponent = jnp.minimum(exponent, 10_000) * jnp.where(jnp.any(has_exponent_sign & (codes == ord("-"))), -1, 1)
    scale = exponent - jnp.sum(in_mantissa & (jnp.cumsum(is_point) > 0))
    dtype = jnp.zeros((), float).dtype
    powers = jnp.asarray([float(f"1e{k}") for k in range(int(np.log10(np.finfo(dtype).max)) + 1)], dtype)
    most = powers.shape[0] - 1
    digits = jnp.where(in_mantissa, codes - ord("0"), 0).astype(dtype)
    mantissa = jnp.sum(digits * powers[jnp.clip(_after(in_mantissa), 0, most)])
    for _ in range(2):
        step = jnp.clip(scale, -most, most)
        mantissa = jnp.where(step < 0, mantissa / powers[jnp.abs(step)], mantissa * powers[jnp.abs(step)])
        scale -= step
    return mantissa, fits


def _after(digits: Any) -> Any:
    """How many digits come after each place."""
    return jnp.sum(digits) - jnp.cumsum(digits)
