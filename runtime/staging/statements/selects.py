"""`select`: one of several values that are there already, by the number of the one, without a conditional."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograph.backends.base import MISSING, Backend, LeafType
from autograph.runtime.containers.parts import parts_of
from autograph.runtime.layouts.describe import describe, typed, unflatten
from autograph.runtime.layouts.join import Joiner
from autograph.runtime.layouts.kinds import Array, leaves_of
from autograph.runtime.layouts.sides import injected


def select(backend: Backend, which: Any, values: Sequence[Any]) -> Any:
    """``values[which]``, a traced number or truth; `NotImplemented` for what has containers in it, or no common layout."""
    if any(parts_of(value) for value in values):
        return NotImplemented
    joiner = Joiner(backend)
    found, cases = None, []
    for value in values:
        layout, leaves = describe(value)
        own = typed(layout, leaves, [backend.type_of(leaf) if backend.is_traced(leaf) else None for leaf in leaves])
        if found is None:
            found, cases = own, [leaves]
            continue
        joined = joiner.join("", found, own)
        if joiner.mismatches:
            return NotImplemented
        found, cases = joined.layout, [injected(joined.left, case) for case in cases]
        cases.append(injected(joined.right, leaves))
    assert found is not None
    selected = []
    for leaf, *held in zip(leaves_of(found), *cases, strict=True):
        if not isinstance(leaf, Array):
            selected.append(next((each for each in held if each is not MISSING), MISSING))
            continue
        if leaf.type.varying or leaf.type.sharding or not all(_has_shape(backend, each, leaf.type) for each in held):
            return NotImplemented
        selected.append(backend.select(which, held, leaf.type))
    return unflatten(found, selected)


def _has_shape(backend: Backend, value: Any, type: LeafType) -> bool:
    own = type if value is MISSING else backend.type_of(value)
    return own is not None and own.shape == type.shape
