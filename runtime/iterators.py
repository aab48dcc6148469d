"""`DatasetIterator`: what `iter` of a dataset gives; it keeps its place between elements, in Python and in programs."""

from __future__ import annotations

import builtins
import itertools
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
      words: see `Reading`; Variables where programs or checkpoints ask for them.
      taken: of a stream, how many elements it has given.

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
        self.is_stream = is_stream(node)
        self.taken = 0
        self._source: Iterator[Any] | None = streams.elements(node, dict(words)) if self.is_stream else None
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
            if self.is_stream:
                return self._element(self._next_of_source())
            return self._at_next_position()

    def get_next(self) -> Any:
        """``next(self)``.

        Raises:
          StopIteration: there is no element left; out of a function, when its program runs.
        """
        return self.staged_next() if is_recording() else next(self)

    def _next_of_source(self) -> Any:
        assert self._source is not None
        element = next(self._source)
        self.taken += 1
        return element

    def _at_next_position(self) -> Any:
        node, held = self.node, isinstance(self._position, Held)
        position = int(self._position.value) if isinstance(self._position, Held) else self._position
        if node.size is not None and position >= node.size:
            raise StopIteration
        words = {depth: word.value if isinstance(word, Held) else word for depth, word in self.words.items()}
        if self._reading is None:
            self._reading = Reading(node, words)
        self._reading.words = words
        odd = node.has_odd and bool(odd_at(node, self._reading, np.int32(position)))
        element = self._element(np.int32(position), tuple(words), tuple(words.values()), odd)
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
        return self.held_position()

    def reading(self) -> Reading:
        """This iteration, as the program sees it."""
        return Reading(self.node, {depth: word.value for depth, word in self.held_words().items()})

    def stream(self) -> streams.StagedStream:
        """The elements that only come in order, for a program to ask for."""
        return streams.StagedStream(self.node, np.int32(0), lambda _: self._next_of_source())

    def staged_next(self, *default: Any) -> Any:
        """``next(self, *default)`` as an operation of the program that is recorded."""
        if self.is_stream:
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
        return present, node.rows(self.reading(), here, 0, False)

    # For checkpoints.

    def held_position(self) -> Held:
        """How many elements have been taken, as a Variable."""
        with self._lock:
            if not isinstance(self._position, Held):
                with outside_recordings():
                    self._position = Held(jnp.int32(self._position), "dataset iterator")
            return self._position

    def held_words(self) -> dict[int, Held]:
        """The words, as Variables."""
        with self._lock, outside_recordings():
            for depth, word in self.words.items():
                if not isinstance(word, Held):
                    self.words[depth] = Held(jnp.asarray(word, jnp.int32), "dataset order")
            return self.words

    def rest_after(self, taken: int, words: dict[int, Any]) -> tuple[int, Iterator[Any]]:
        """What is left of a stream, shuffled by these words, after so many elements; `ValueError` if there are not so many."""
        rest = streams.elements(self.node, words)
        found = sum(1 for _ in itertools.islice(rest, taken))
        if found < taken:
            raise ValueError(f"{taken} elements of a dataset had been taken, and now it has {found}")
        return taken, rest

    def go_on_with(self, rest: tuple[int, Iterator[Any]]) -> None:
        """Give from now on what `rest_after` found."""
        with self._lock:
            self.taken, self._source = rest


def _uneven() -> StagingError:
    return StagingError(
        f"{user_location()}\n  `next` of this dataset's iterator may give a smaller batch than the others, and a program has to know "
        "its shape beforehand.\n  Give batch(..., drop_remainder=True), or write `for element in iterator:`."
    )
