"""`DatasetIterator`: what `iter` of a dataset gives; it keeps its place between elements, in Python and in programs."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np

from autograph.runtime import streams
from autograph.runtime.errors import StagingError
from autograph.runtime.held import Held
from autograph.runtime.operators.locations import user_location
from autograph.runtime.optional import Optional
from autograph.runtime.pipeline import Node, Reading, is_stream, odd_at
from autograph.runtime.recording import JOINT, is_recording
from autograph.runtime.variables import current_frame, outside_recordings


class DatasetIterator:
    """The elements of one iteration over a dataset, one after the other.

    ``next(iterator)`` and ``for x in iterator`` go on from where it is, and leave it behind what they have taken. In a
    `Function` that happens each time the program runs.

    Attributes:
      node: the last step of the dataset.
      words: see `Reading`.

    >>> import autograph as ag
    >>> numbers = iter(ag.Dataset.range(3))
    >>> following = ag.function(lambda: next(numbers))
    >>> int(following()), int(following()), int(next(numbers)), int(next(numbers, -1))
    (0, 1, 2, -1)
    """

    def __init__(self, node: Node, words: dict[int, Any], element: Any) -> None:
        self.node, self.words = node, words
        self._element = element
        self._lock = threading.Lock()
        self._source: Iterator[Any] | None = streams.elements(node, words) if is_stream(node) else None
        self._position: int | Held = 0
        self._reading: Reading | None = None

    def __iter__(self) -> DatasetIterator:
        return self

    def __next__(self) -> Any:
        if is_recording():
            raise StagingError(
                f"{user_location()}\n  This iterator of a dataset is asked for an element while tracing, by code that is not converted: "
                "the element would be part of the program, the same on each execution.\n  Write next(iterator), or "
                "`for element in iterator:`, in a converted function."
            )
        with self._lock:
            if self._source is not None:
                return self._element(next(self._source))
            return self._at_next_position()

    def _at_next_position(self) -> Any:
        node, held = self.node, isinstance(self._position, Held)
        position = int(self._position.value) if isinstance(self._position, Held) else self._position
        if node.size is not None and position >= node.size:
            raise StopIteration
        if self._reading is None:
            self._reading = Reading(node, self.words)
        odd = node.has_odd and bool(odd_at(node, self._reading, np.int32(position)))
        element = self._element(np.int32(position), tuple(self.words), tuple(self.words.values()), odd)
        if held:
            self._position.assign_add(1)  # type: ignore[union-attr]
        else:
            self._position = position + 1
        return element

    # In programs.

    def position(self) -> Held:
        """How many elements have been taken, as state of the program."""
        if current_frame() is None:
            raise StagingError(
                f"{user_location()}\n  An iterator of a dataset keeps its place, and a bare jax.jit has no place for that.\n"
                "  Wrap the function in autograph.function, or loop over the dataset itself."
            )
        with self._lock:
            if not isinstance(self._position, Held):
                with outside_recordings():
                    self._position = Held(jnp.int32(self._position), "dataset iterator")
            return self._position

    def stream(self) -> streams.StagedStream:
        """The elements that only come in order, for a program to ask for."""
        source = self._source
        assert source is not None
        return streams.StagedStream(self.node, np.int32(0), lambda _: next(source))

    def staged_next(self, *default: Any) -> Any:
        """``next(self, *default)`` as an operation of the program that is recorded."""
        if self._source is not None:
            sizes = streams.odd_widths(self.node)
            if sizes is None or sizes:
                raise _uneven()
            rows, raw = self.stream().next(True)
            present, element = rows > 0, self._computed(raw)
        else:
            present, element = self._staged_element()
        return JOINT.operators.best_of(builtins.next, Optional(present, element), *default)

    def _computed(self, raw: Any) -> Any:
        return streams.computed(self.node, JOINT.operators, raw)

    def _staged_element(self) -> tuple[Any, Any]:
        node, position = self.node, self.position()
        if node.has_odd:
            raise _uneven()
        present, here = True, position.value
        if node.size is not None:
            present = here < node.size
            here = jnp.minimum(here, max(node.size - 1, 0))
        position.assign_add(jnp.asarray(present, jnp.int32))
        return present, node.rows(Reading(node, self.words), here, 0, False)


def _uneven() -> StagingError:
    return StagingError(
        f"{user_location()}\n  `next` of this dataset's iterator may give a smaller batch than the others, and a program has to know "
        "its shape beforehand.\n  Give batch(..., drop_remainder=True), or write `for element in iterator:`."
    )
