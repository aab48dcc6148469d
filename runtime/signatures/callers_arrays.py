"""The NumPy arrays among a call's arguments that the function writes in place: which they are, and what becomes of them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from autograph.backends.selected import STAGING
from autograph.runtime.errors import StagingError
from autograph.runtime.signatures.signature import as_tree
from autograph.runtime.tracing.caller_arrays import is_awaited
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import LOCAL


def callers_arrays(values: Any, arrays: Sequence[Any]) -> Sequence[int]:
    """The numbers of those of a call's arrays that the caller sees the writes to: NumPy arrays, and what is such in a trace.

    Args:
      values: the arguments. arrays: those of them, some made of what the caller has.
    """
    if LOCAL.frame is not None or not STAGING.is_plain(STAGING.place()):
        return () if LOCAL.followed is None else [k for k, array in enumerate(arrays) if is_awaited(array)]
    found = [k for k, array in enumerate(arrays) if isinstance(array, np.ndarray)]
    if found and not all(isinstance(value, np.ndarray | jax.Array) for value in values):
        own = {id(leaf) for leaf in jax.tree_util.tree_leaves(as_tree(values))}
        found = [k for k in found if id(arrays[k]) in own]
    return found


_LEFT: weakref.WeakValueDictionary[int, jax.Array] = weakref.WeakValueDictionary()
"""By identity, what programs have left outside in the place of an array of NumPy's, which Python would have made."""


def note_left(values: Any, arrays: Sequence[Any]) -> None:
    """Note what a program leaves outside that was given these arrays: if all are NumPy's, so is in Python what it makes of them."""
    if all(isinstance(array, np.ndarray) or not np.ndim(array) or is_left(array) for array in arrays):
        _LEFT.update({id(leaf): leaf for leaf in jax.tree_util.tree_leaves(values) if isinstance(leaf, jax.Array)})


def is_left(array: Any) -> bool:
    """Whether an array of JAX's is what a program has left outside in the place of one of NumPy's."""
    return _LEFT.get(id(array)) is array


def check_written(
    name: str,
    arrays: Sequence[Any],
    written: Mapping[int, str],
    labels: Callable[[], Sequence[str]],
    outside: Callable[[], Iterable[tuple[str, Any]]],
) -> None:
    """Raise what NumPy raises of an array that is not to be written, and refuse one that is reached in two ways.

    Args:
      name: of the function.
      arrays: of the call.
      written: those that the program writes, by number, each with its label.
      labels: returns those of all arrays.
      outside: returns what the function has from outside, each with its name.

    Raises:
      ValueError: an array is read-only.
      StagingError: it shares memory with another.
    """
    if not written:
        return
    others = [(title, other) for title, other in outside() if isinstance(other, np.ndarray)]
    for number, label in written.items():
        array = arrays[number]
        if not array.flags.writeable:
            raise ValueError("assignment destination is read-only")
        given = [(k, other) for k, other in enumerate(arrays) if k != number and isinstance(other, np.ndarray)]
        again = next((title for title, other in [*given, *others] if np.shares_memory(array, other)), None)
        if isinstance(again, int):
            again = labels()[again]
        if again is not None:
            raise StagingError(
                f"{user_location()}\n  {label!r} is written in place by {name}, and shares memory with {again!r}, which {name} is "
                f"given too: to the compiled program they are two.\n  Pass a copy of one of them: {label}.copy()."
            )


def put_into(arrays: Sequence[Any], contents: Mapping[int, Any]) -> None:
    """Write into the caller's arrays what a call has left in them, by number: what differs from what the program was given."""
    news = {number: np.asarray(content) for number, content in contents.items()}
    for number, new in news.items():
        target = arrays[number]
        if target.dtype == new.dtype:
            np.copyto(target, new)
        else:  # of 64 bits, of which the program has 32: an element that it did not write keeps them
            with np.errstate(all="ignore"):
                np.copyto(target, new, casting="unsafe", where=np.asarray(new != target.astype(new.dtype)))
