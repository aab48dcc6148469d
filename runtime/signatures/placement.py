"""Where a function's arrays are placed: the shardings of its arguments and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from autograph.runtime.signatures.inputs import spec_of
from autograph.runtime.signatures.signature import CallSignature, as_tree
from autograph.runtime.signatures.tensor_spec import TensorSpec


class _Mark:
    """Stands where an array would."""


def spread_shardings(shardings: Any, call: CallSignature) -> tuple[Any, ...]:
    """For each array among the arguments of a call its sharding: ``shardings`` is one for all, or a sequence with one, or a tree,
    for each argument.
    """
    count = call.statics.count(None)
    if not isinstance(shardings, list | tuple | dict):
        return (shardings,) * (count - len(call.names))
    values = call.values([_Mark()] * count)
    if len(shardings) > len(values):
        raise ValueError(f"in_shardings has {len(shardings)} entries, and the call has {len(values)} arguments")
    given = [*shardings, *(None for _ in values[len(shardings) :])]
    found: list[Any] = []
    for prefix, value in zip(given, values, strict=True):
        tree = as_tree(value)
        spread = jax.tree.broadcast(prefix, tree, is_leaf=lambda part: part is None)
        leaves = jax.tree.leaves(spread, is_leaf=lambda part: part is None)
        marks = jax.tree.leaves(tree)
        found += [s for s, leaf in zip(leaves, marks, strict=True) if isinstance(leaf, _Mark)]
    return tuple(found)


def placed_types(
    name: str, call: CallSignature, arrays: Sequence[Any], shardings: Any
) -> Sequence[jax.ShapeDtypeStruct]:
    """The types of a call's arrays (or of what represents them), with their shardings: those given, else each its own.

    Raises:
      ValueError: a size is open.
    """
    for label, array in zip(call.array_labels(), arrays, strict=True):
        if not spec_of(array).is_fixed:
            raise ValueError(
                f"{name}: a program is lowered for sizes that are known, and those of the argument `{label}` are open: "
                f"{spec_of(array)}. Pass an array, or a type with concrete sizes: jax.ShapeDtypeStruct(shape, dtype)"
            )
    own = map(_sharding_of, arrays)
    places = own if shardings is None else spread_shardings(shardings, call)
    return [_type_at(array, place) for array, place in zip(arrays, places, strict=True)]


def _sharding_of(array: Any) -> Any:
    """Where an array, or a type of arrays, is said to be; None if that is left open."""
    is_open = isinstance(array, jax.core.Tracer) or (isinstance(array, jax.Array) and not array.committed)
    return None if is_open else getattr(array, "sharding", None)


def _type_at(array: Any, sharding: Any) -> jax.ShapeDtypeStruct:
    aval = array if isinstance(array, jax.ShapeDtypeStruct | TensorSpec) else jax.typeof(array)
    weak = bool(getattr(aval, "weak_type", False))
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=weak, sharding=sharding)


def placed(arrays: Sequence[Any], shardings: Sequence[Any]) -> list[Any]:
    """The arrays, each moved to where it is to be."""
    return [
        array if sharding is None else jax.device_put(array, sharding)
        for array, sharding in zip(arrays, shardings, strict=True)
    ]


def constrained(result: Any, shardings: Any) -> Any:
    """The results of a trace, told where to be; ``shardings`` is a tree whose leaves represent whole parts of
    the result.
    """
    leaves, treedef = jax.tree.flatten(result)
    spread = jax.tree.broadcast(shardings, result, is_leaf=lambda part: part is None)
    places = jax.tree.leaves(spread, is_leaf=lambda part: part is None)
    moved = [
        leaf if place is None or not isinstance(leaf, jax.Array) else jax.device_put(leaf, place)
        for leaf, place in zip(leaves, places, strict=True)
    ]
    return jax.tree.unflatten(treedef, moved)
