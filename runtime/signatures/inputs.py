"""The types of a program's inputs, as traced types and as specs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from autograph.runtime.signatures.tensor_spec import TensorSpec


class WeakSpec(TensorSpec):
    """The spec of an array of weak type."""

    __slots__ = ()


@dataclass(frozen=True)
class InputType:
    """Shape, dtype and weakness of one traced input; sizes may be symbolic."""

    shape: tuple[Any, ...]
    dtype: Any
    weak_type: bool


def type_of(array: Any) -> InputType:
    """The type of an array, traced or not."""
    aval = jax.typeof(array)
    return InputType(tuple(aval.shape), aval.dtype, bool(getattr(aval, "weak_type", False)))


def spec_of(array: Any) -> TensorSpec:
    """The spec of an array or a stand-in for one; a spec is its own."""
    if isinstance(array, TensorSpec):
        return array
    aval = array if isinstance(array, jax.ShapeDtypeStruct) else jax.typeof(array)
    kind = WeakSpec if getattr(aval, "weak_type", False) else TensorSpec
    spec = TensorSpec.from_array(aval)
    return kind(spec.shape, spec.dtype)


def specs_of(inputs: Iterable[TensorSpec | InputType]) -> tuple[TensorSpec, ...]:
    """The specs of traced inputs; symbolic sizes, which have no names of the user's here, are open."""
    return tuple(
        each if isinstance(each, TensorSpec) else (WeakSpec if each.weak_type else TensorSpec)(_sizes(each), each.dtype)
        for each in inputs
    )


def keys_of(inputs: Iterable[TensorSpec | InputType]) -> tuple[Any, ...]:
    """What the specs of the inputs of a program, or their types, have in common."""
    return tuple(
        (each.shape, each.dtype, isinstance(each, WeakSpec))
        if isinstance(each, TensorSpec)
        else (_sizes(each), each.dtype, each.weak_type)
        for each in inputs
    )


def _sizes(type: InputType) -> tuple[int | None, ...]:
    return tuple(size if isinstance(size, int) else None for size in type.shape)


def stand_in(leaf: Any) -> Any:
    """A type that fits a spec, for it to be checked like an argument; anything else as it is."""
    if not isinstance(leaf, TensorSpec):
        return leaf
    return jax.ShapeDtypeStruct(
        tuple(1 if not isinstance(size, int) else size for size in leaf.shape or ()), leaf.dtype
    )


def stand_ins(
    specs: Sequence[TensorSpec], symbolic_types: Callable[[Sequence[TensorSpec]], Sequence[Any]]
) -> Sequence[Any]:
    """Types to trace with."""
    # Of any rank: a scalar is one.
    known = [spec if spec.shape is not None else TensorSpec((), spec.dtype) for spec in specs]
    if any(not spec.is_fixed for spec in known):
        return symbolic_types(known)
    return [jax.ShapeDtypeStruct(spec.shape, spec.dtype, weak_type=isinstance(spec, WeakSpec)) for spec in known]


def type_key(array: Any) -> Any:
    """What tells the type of an array, or one that represents a type, from others."""
    aval = array if isinstance(array, jax.ShapeDtypeStruct) else jax.typeof(array)
    return tuple(aval.shape), aval.dtype, bool(getattr(aval, "weak_type", False))


def has_numpy(arrays: Sequence[Any]) -> bool:
    """Whether one of these is an array that may be written in place."""
    return any(isinstance(array, np.ndarray) for array in arrays)
