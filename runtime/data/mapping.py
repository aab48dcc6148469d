"""Apply a user's function to the rows of a batch: with `jax.vmap` if possible, else in a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from autograph.backends.selected import DATA
from autograph.runtime.containers.iterables import StagedRange
from autograph.runtime.effects.raising import leaving_refused
from autograph.runtime.state.array_operators import plain


def apply(operators: Any, function: Callable[..., Any], rows: Any, depth: int) -> Any:
    """``function`` of each row; rows have ``depth`` axes before their own. A tuple's parts are its arguments."""
    called = operators.call(function)

    def one(row: Any) -> Any:
        result = called(*row) if type(row) is tuple else called(row)
        return jax.tree_util.tree_map(lambda leaf: jnp.asarray(plain(leaf)), result)

    if depth == 0:
        return one(rows)
    axes = jnp.shape(jax.tree_util.tree_leaves(rows)[0])[:depth]
    flat = jax.tree_util.tree_map(lambda leaf: jnp.reshape(leaf, (-1, *leaf.shape[depth:])), rows)
    results = _all_at_once(one, flat)
    if results is None:
        results = _in_order(operators, one, flat)
    return jax.tree_util.tree_map(lambda leaf: jnp.reshape(leaf, (*axes, *leaf.shape[1:])), results)


def _all_at_once(function: Callable[[Any], Any], rows: Any) -> Any:
    """``function`` of each row; None where its rows have an order: it prints, writes a Variable, raises."""
    try:
        with leaving_refused():
            return DATA.over_rows(function, rows)
    except Exception:  # one after the other, it is raised again, if it is one of the user's
        return None


def _in_order(operators: Any, function: Callable[[Any], Any], rows: Any) -> Any:
    count = jax.tree_util.tree_leaves(rows)[0].shape[0]

    def row(k: Any) -> Any:
        return function(jax.tree_util.tree_map(lambda leaf: leaf[k], rows))

    results = jax.tree_util.tree_map(lambda leaf: jnp.zeros((count, *leaf.shape), leaf.dtype).at[0].set(leaf), row(0))

    def body(k: Any) -> None:
        nonlocal results
        results = jax.tree_util.tree_map(lambda all, leaf: all.at[k].set(leaf), results, row(k))

    operators.for_stmt(StagedRange(1, count, 1), body, ("results",))
    return results
