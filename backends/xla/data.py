"""`XlaData`: what datasets need on the device, such as rows by position, random permutations and mapped functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.xla.jax_compat import calls_python, replay

_ROUNDS = 8


class XlaData:
    """See `backends.base.Data`."""

    __slots__ = ()

    def rows(self, array: Any, positions: Any) -> Any:
        if not array.shape[0]:  # recorded for its type, and never asked for
            return jnp.zeros((*jnp.shape(positions), *array.shape[1:]), array.dtype)
        if jnp.ndim(positions) == 0:
            return jax.lax.dynamic_index_in_dim(array, positions, keepdims=False)
        return array.at[positions].get(mode="promise_in_bounds")

    def block(self, array: Any, start: Any, size: int) -> Any:
        return jax.lax.dynamic_slice_in_dim(array, start, size)

    def shuffled(self, positions: Any, size: int, words: tuple[Any, ...]) -> Any:
        """A Feistel cipher on the numbers below the next power of two, applied again wherever it leads out of range.

        So any position of any epoch's order can be had at once, without sorting or keeping the order.
        """
        bits = max((size - 1).bit_length(), 1)
        low = np.uint32((1 << (bits - bits // 2)) - 1)
        high = np.uint32((1 << (bits // 2)) - 1)
        shift = np.uint32(bits - bits // 2)
        key = jnp.uint32(0x9E3779B9)
        for word in words:
            key = _mixed(key * np.uint32(0x85EBCA6B) + jnp.asarray(word).astype(jnp.uint32))
        keys = [_mixed(key + np.uint32((0x9E3779B9 * (k + 1)) & 0xFFFFFFFF)) for k in range(_ROUNDS)]

        def encrypt(x: Any) -> Any:
            left, right = x >> shift, x & low
            for k, round_key in enumerate(keys):
                if k % 2:
                    left = left ^ (_mixed(right ^ round_key) & high)
                else:
                    right = right ^ (_mixed(left ^ round_key) & low)
            return (left << shift) | right

        limit = np.uint32(size)
        start = encrypt(jnp.asarray(positions).astype(jnp.uint32))
        if size == 1 << bits:
            return start.astype(jnp.int32)
        result = jax.lax.while_loop(
            lambda x: jnp.any(x >= limit), lambda x: jnp.where(x >= limit, encrypt(x), x), start
        )
        return result.astype(jnp.int32)

    def over_rows(self, function: Callable[[Any], Any], rows: Any) -> Any:
        closed, shape = jax.make_jaxpr(jax.vmap(function), return_shape=True)(rows)
        if calls_python(closed):
            return None
        leaves = replay(closed, *jax.tree_util.tree_leaves(rows))
        return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(shape), leaves)

    def shapes(self, function: Callable[..., Any], *operands: Any) -> Any:
        return jax.eval_shape(function, *operands)


def _mixed(x: Any) -> Any:
    """A 32-bit number whose every bit depends on every bit of ``x``."""
    x = x ^ (x >> np.uint32(16))
    x = x * np.uint32(0x7FEB352D)
    x = x ^ (x >> np.uint32(15))
    x = x * np.uint32(0x846CA68B)
    return x ^ (x >> np.uint32(16))
