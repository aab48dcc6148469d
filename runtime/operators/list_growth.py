"""How much room a staged loop needs for a list that its iterations append to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from autograph.backends.base import Backend, LeafType
from autograph.runtime.operators.growing_lists import refuse_growth
from autograph.runtime.operators.padded import Kind, Padded, as_padded, taken_apart
from autograph.runtime.operators.traced_lists import TracedList


@dataclass(frozen=True)
class ListEnd:
    """A list after one iteration.

    Attributes:
      kind: what its elements are like; None if there are none.
      types: the types of an element's array leaves.
      room: the most elements that it held, or had room for.
      length: its length, None if that is traced.
    """

    kind: Kind | None
    types: tuple[LeafType, ...]
    room: Any
    length: int | None


def list_end(owner: TracedList, backend: Backend) -> ListEnd:
    """What the list is like now, without what may not outlive the trace."""
    contents = owner.contents()
    if isinstance(contents, Padded):
        whole = [backend.type_of(buffer) for buffer in contents.buffers]
        types = tuple(LeafType(t.shape[1:], t.dtype, t.weak_type) for t in whole if t is not None)
        return ListEnd(contents.kind, types, owner.peak, None)
    if not contents:
        return ListEnd(None, (), owner.peak, 0)
    kind, leaves = taken_apart(contents[-1], lambda leaf: backend.type_of(leaf) is not None)
    found = [backend.type_of(leaf) for leaf in leaves]
    return ListEnd(kind, tuple(t for t in found if t is not None), owner.peak, len(contents))


def needs_room(entry: Any, end: ListEnd) -> bool:
    """Whether a loop must carry the list as a buffer: iterations change its length."""
    if isinstance(entry, Padded):
        return not entry.reserved
    return end.length != len(entry)


def with_room(entry: Any, end: ListEnd, bound: Any, where: str) -> Padded:
    """The contents before the loop, with room for what ``bound`` iterations append.

    Raises:
      StagingError: iterations append, and their number has no bound.
    """
    before = entry.capacity if isinstance(entry, Padded) else len(entry)
    grows = max(0, end.room - before)
    if grows and bound is None:
        raise refuse_growth(where)
    capacity = max(1, before + grows * (bound if grows else 0))
    padded = as_padded(entry)
    if padded is None:
        assert end.kind is not None
        padded = Padded(0, _empty(end.types), end.kind, 0)
    return padded.with_room(capacity, reserved=True)


def _empty(types: Sequence[LeafType]) -> list[Any]:
    return [jnp.zeros((0, *type.shape), type.dtype) for type in types]


class ReadsList(Exception):
    """An iteration reads a list that iterations append to."""


def without_reserve(value: Any, entry: Any) -> Any:
    """What a list holds after the loop: the room that the loop reserved is nobody's promise any more."""
    padded = value.contents() if isinstance(value, TracedList) else value
    before = entry.contents() if isinstance(entry, TracedList) else entry
    if not isinstance(padded, Padded) or (isinstance(before, Padded) and before.reserved):
        return value
    padded = padded.with_(reserved=False)
    return value.holding(padded) if isinstance(value, TracedList) else padded
