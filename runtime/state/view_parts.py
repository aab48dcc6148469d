"""`ViewParts`: how a view of an array is taken apart, and built again, by the statements that carry or choose it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import jax

from autograph.runtime.state.array_keys import is_number
from autograph.runtime.state.spans import Span


@jax.tree_util.register_pytree_node_class
class ViewParts:
    """A `given_arrays.ArrayView` as JAX takes it apart: its integers, traced or not, are the leaves."""

    __autograph_is_view__ = True

    def __init__(self, view: Any) -> None:
        self.view = view

    def tree_flatten(self) -> tuple[list[Any], Any]:
        base, key = self.view._base, self.view._key
        parts = key if isinstance(key, tuple) else (key,)
        numbers = [number for part in parts for number in _numbers_of(part)]
        pattern = tuple(None if is_number(part) else ("at", _frozen(part)) for part in parts)
        kind = type(self.view)
        if isinstance(base, kind):
            inner, outer = ViewParts(base).tree_flatten()
            return [*inner, *numbers], (kind, outer, len(inner), pattern, self.view._shape)
        return numbers, (kind, _Same(base), 0, pattern, self.view._shape)

    @classmethod
    def tree_unflatten(cls, facts: Any, leaves: Sequence[Any]) -> Any:
        kind, outer, count, pattern, shape = facts
        base = outer.value if isinstance(outer, _Same) else cls.tree_unflatten(outer, list(leaves)[:count])
        pending = iter(list(leaves)[count:])
        key = tuple(next(pending) if part is None else _thawed(part[1], pending) for part in pattern)
        return kind(base, key[0] if len(key) == 1 else key, shape)


class _Same:
    """An object in a structure, equal to itself only."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def _numbers_of(part: Any) -> list[Any]:
    """The numbers in a part of a key that may be traced."""
    return [part.start, part.stop] if isinstance(part, Span) else [part] if is_number(part) else []


def _frozen(part: Any) -> Any:
    if isinstance(part, Span):
        return replace(part, start=None, stop=None)
    return (part.start, part.stop, part.step) if isinstance(part, slice) else part


def _thawed(part: Any, numbers: Iterator[Any]) -> Any:
    if isinstance(part, Span):
        return replace(part, start=next(numbers), stop=next(numbers))
    return slice(*part) if isinstance(part, tuple) else part
