"""Keys of dicts and elements of sets: numbers, texts, tuples, and objects of dataclasses, which are equal where their fields are."""

from __future__ import annotations

import copy
from typing import Any

import jax
import numpy as np

from autograph.runtime.layouts.objects import compared_fields
from autograph.runtime.layouts.one_of import OneOf
from autograph.runtime.layouts.optional import Optional
from autograph.runtime.layouts.statement_variables import holds_traced, stands_for_text

_CHOICES = (OneOf, Optional)


def parts_of_key(key: Any) -> tuple[Any, ...] | None:
    """What a key is equal by: the items of a tuple, the fields of a dataclass; None for what is no such."""
    if isinstance(key, tuple):
        return key
    fields = fields_of_key(key)
    return None if fields is None else tuple(getattr(key, name) for name in fields)


def fields_of_key(key: Any) -> tuple[str, ...] | None:
    """The fields by which an object of a dataclass is compared, as a key; None for anything else."""
    kind = type(key)
    return (
        compared_fields(kind, "__eq__") if hasattr(kind, "__dataclass_fields__") and kind.__hash__ is not None else None
    )


def holds_tracer(key: Any) -> bool:
    """Whether a key, or a part of it, is known only at run time."""
    parts = parts_of_key(key)
    if parts is not None:
        return any(map(holds_tracer, parts))
    if _may_be_several(key):
        return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves(key))
    return isinstance(key, jax.core.Tracer)


def may_be_traced(key: Any) -> bool:
    """Whether a key, or a part of it, is traced, or may be one of several."""
    return holds_traced(key) or holds_tracer(key)


def _may_be_several(key: Any) -> bool:
    """Whether this is one of several values, or a text that is made of values."""
    return isinstance(key, _CHOICES) or stands_for_text(key)


def scalar_of(key: Any) -> Any:
    """A key as Python's dicts and sets have it: of arrays without axes, their numbers."""
    if isinstance(key, tuple):
        parts = tuple(map(scalar_of, key))
        return type(key)(*parts) if hasattr(key, "_fields") else parts
    if fields := fields_of_key(key):
        return _with_scalars(key, fields)
    if _may_be_several(key):
        return scalar_of(key.resolve())
    return key.item() if isinstance(key, jax.Array | np.ndarray | np.generic) and not np.ndim(key) else key


def _with_scalars(key: Any, fields: tuple[str, ...]) -> Any:
    """An object of a dataclass with numbers in place of arrays without axes, which have no hash."""
    found = {name: scalar_of(getattr(key, name)) for name in fields}
    if all(value is getattr(key, name) for name, value in found.items()):
        return key
    made = copy.copy(key)
    for name, value in found.items():
        object.__setattr__(made, name, value)
    return made


def check_hashable(key: Any) -> None:
    """Raise Python's error for what can be no key."""
    parts = parts_of_key(key)
    if parts is not None:
        for part in parts:
            check_hashable(part)
    elif np.ndim(key) if isinstance(key, jax.Array) else getattr(type(key), "__hash__", None) is None:
        hash(key)  # raises
