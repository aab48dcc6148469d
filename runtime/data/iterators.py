"""`DatasetIterator`: the iterator of a dataset, which keeps its position in Python and in programs."""

from __future__ import annotations

import builtins
import functools
import itertools
import threading
from collections.abc import Iterator
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.data import streams
from autograph.runtime.data.cursors import Elements, before_last_maps, mapped
from autograph.runtime.data.pipeline import Key, Node, Reading, begin, odd_at
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.optional import Optional
from autograph.runtime.layouts.statement_variables import Slot
from autograph.runtime.state.held import Held
from autograph.runtime.state.variables import current_frame, outside_recordings
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import is_recording
from autograph.runtime.typing import PyTree


class InOrder(Protocol):
    """Elements that a program asks for one after the other.

    Attributes:
      width, sizes: how many rows a full element has, and the others may have; see `Cursor`.
      slots: what a loop carries from one element to the next.
    """

    @property
    def width(self) -> int: ...

    @property
    def sizes(self) -> Any: ...

    @property
    def slots(self) -> Any: ...

    def next(self, goes_on: Any) -> tuple[Any, Any]:
        """How many rows the next element has, 0 at the end or without ``goes_on``, and the element as it comes."""

    def element(self, operators: Any, raw: Any, rows: int) -> Any:
        """The element of so many rows."""

    def close(self) -> None:
        """End the iteration."""


class StagedElements:
    """The elements of a dataset that have an order and are made on the device. See `InOrder`.

    Attributes:
      slots: where the arrays of the state are: each has `get` and `set`.
    """

    def __init__(self, elements: Elements, slots: list[Any], structure: Any) -> None:
        self._elements, self.slots, self._structure = elements, slots, structure
        self.width, self.sizes = elements.width, elements.sizes

    def next(self, goes_on: Any) -> tuple[Any, Any]:
        state = jax.tree_util.tree_unflatten(self._structure, [slot.get() for slot in self.slots])
        rows, raw, state = self._elements.next(state, goes_on)
        for slot, leaf in zip(self.slots, jax.tree_util.tree_leaves(state), strict=True):
            slot.set(leaf)
        return self._elements.checked(rows), raw

    def element(self, operators: Any, raw: Any, rows: int) -> Any:
        return self._elements.element(raw, rows)

    def close(self) -> None:
        state = jax.tree_util.tree_unflatten(self._structure, [slot.get() for slot in self.slots])
        for number in self._elements.cursor.opened(state):
            streams.close(number)


def opened(node: Node) -> InOrder:
    """A new iteration over a dataset whose elements are had in order only."""
    if node.is_stream:
        return streams.StagedStream.open(node, begin(node))
    elements = Elements(node, begin(node))
    leaves, structure = jax.tree_util.tree_flatten(elements.start())
    return StagedElements(elements, [Slot("the place in the dataset", leaf) for leaf in leaves], structure)


class DatasetIterator:
    """An iterator over a dataset that keeps its position between calls of compiled functions.

    ``next(iterator)`` and ``for x in iterator`` continue from its position and advance it. In a `Function` this
    happens on each execution.

    Attributes:
      node: the last step of the dataset's pipeline.
      words: see `Reading`; Variables once programs or checkpoints need them.
      taken: for a stream, the number of elements it has yielded.

    >>> import autograph as ag
    >>> numbers = iter(ag.Dataset.range(3))
    >>> following = ag.function(lambda: next(numbers))
    >>> int(following()), int(following()), int(next(numbers)), int(next(numbers, -1))
    (0, 1, 2, -1)
    """

    def __init__(self, node: Node, words: dict[Key, Any], element: Any) -> None:
        self.node, self.words = node, words
        self._element = element
        self._lock = threading.Lock()
        self.is_stream = node.is_stream
        self.taken = 0
        self._source: Iterator[Any] | None = streams.elements(node, dict(words)) if self.is_stream else None
        self._position: int | Held = 0
        self._reading: Reading | None = None

    def __iter__(self) -> DatasetIterator:
        return self

    def __next__(self) -> Any:
        if is_recording():
            raise StagingError(
                f"{user_location()}\n  Code that is not converted takes an element of this dataset's iterator "
                "while tracing: the element would be baked into the program.\n  Write next(iterator), or "
                "`for element in iterator:`, in a converted function."
            )
        with self._lock:
            return self._taken()

    def _taken(self) -> Any:
        """The next element, outside of programs."""
        if self.is_stream:
            return self._element(self._next_of_source())
        return self._at_next_position()

    def get_next(self) -> PyTree:
        """Return the next element, as ``next(self)`` does.

        Returns:
          An array, or a container of arrays.

        Raises:
          StopIteration: there is no element left; in a function, at run time.
        """
        return self.staged_next() if is_recording() else next(self)

    def get_next_as_optional(self) -> Optional:
        """Return the next element as an `Optional`, which has no value if there is no element left.

        Returns:
          An `Optional`.

        >>> import autograph as ag
        >>> it = iter(ag.Dataset.range(1))
        >>> [it.get_next_as_optional().has_value() for _ in range(2)]
        [True, False]
        """
        if is_recording():
            return Optional(*self._staged_element())
        nothing = object()
        element = next(self, nothing)
        return Optional(False, None) if element is nothing else Optional(True, element)

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
        _require_frame()
        return self.held_position()

    def begin(self) -> None:
        """Begin the iteration when the program that is recorded runs: each time."""
        self.position().assign(0)
        self._begin_words()

    def _begin_words(self) -> None:
        begun = self.words
        self.words = {key: np.int32(0) for key in begun}
        for key, word in self.held_words().items():
            word.assign(begun[key])

    def reading(self) -> Reading:
        """This iteration, as the program sees it."""
        return Reading(self.node, {depth: word.value for depth, word in self.held_words().items()})

    def stream(self) -> InOrder:
        """The elements that only come in order, for a program to ask for."""
        return streams.StagedStream(self.node, np.int32(0), lambda _: self._next_of_source())

    def staged_next(self, *default: Any) -> Any:
        """``next(self, *default)`` as an operation of the program that is recorded."""
        present, element = self._staged_element()
        return LANGUAGE.operators.best_of(builtins.next, Optional(present, element), *default)

    def _staged_element(self) -> tuple[Any, Any]:
        if not self.node.is_positional:
            stream = self.stream()
            if stream.sizes is None or len(stream.sizes):
                raise _uneven()
            rows, raw = stream.next(True)
            return rows > 0, stream.element(LANGUAGE.operators, raw, stream.width)
        node, position = self.node, self.position()
        if node.has_odd:
            raise _uneven()
        present: Any = True
        here = position.value
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

    def held_words(self) -> dict[Key, Held]:
        """The words, as Variables."""
        with self._lock, outside_recordings():
            for depth, word in self.words.items():
                if not isinstance(word, Held):
                    self.words[depth] = Held(jnp.asarray(word, jnp.int32), "dataset order")
            return self.words

    def rest_after(self, taken: int, words: dict[Key, Any]) -> tuple[int, Iterator[Any]]:
        """What is left of a stream, shuffled by these words, after so many elements; `ValueError` if there are not so many."""
        rest = streams.elements(self.node, words)
        found = sum(1 for _ in itertools.islice(rest, taken))
        if found < taken:
            raise ValueError(f"{taken} elements of a dataset had been taken, and now it has {found}")
        return taken, rest

    def go_on_with(self, rest: tuple[int, Iterator[Any]]) -> None:
        """Continue with the elements that `rest_after` returned."""
        with self._lock:
            self.taken, self._source = rest


class SequenceIterator(DatasetIterator):
    """An iterator over elements that have an order, and are made on the device.

    Its place is the state of a cursor: arrays, which are Variables once programs or checkpoints ask for them.

    Attributes:
      compiled: the functions that Python's loops call.
    """

    def __init__(self, node: Node, words: dict[Key, Any], compiled: CompiledElements | None) -> None:
        super().__init__(node, words, None)
        self._compiled = compiled
        self._state: list[Any] | None = None
        self._structure: Any = None

    def _start(self) -> list[Any]:
        if self._state is None:
            assert self._compiled is not None
            self._state, self._structure = jax.tree_util.tree_flatten(self._compiled.start(*_apart(self.words)))
        return self._state

    def _taken(self) -> Any:
        assert self._compiled is not None
        kept = self._start()
        leaves = [leaf.value if isinstance(leaf, Held) else leaf for leaf in kept]
        words = {key: word.value if isinstance(word, Held) else word for key, word in self.words.items()}
        state = jax.tree_util.tree_unflatten(self._structure, leaves)
        is_there, element, state = self._compiled.next(*_apart(words), state)
        for k, leaf in enumerate(jax.tree_util.tree_leaves(state)):
            if isinstance(kept[k], Held):
                kept[k].assign(leaf)
            else:
                kept[k] = leaf
        if not is_there:
            raise StopIteration
        return element

    def stream(self) -> InOrder:
        _require_frame()
        held = self.held_state()
        words = {key: word.value for key, word in self.held_words().items()}
        return StagedElements(Elements(self.node, words), [_Place(leaf) for leaf in held], self._structure)

    def begin(self) -> None:
        _require_frame()
        leaves, self._structure = jax.tree_util.tree_flatten(Elements(self.node, self.words).start())
        with outside_recordings():
            self._state = [Held(np.zeros(leaf.shape, leaf.dtype), "dataset iterator") for leaf in leaves]
        for held, leaf in zip(self._state, leaves, strict=True):
            held.assign(leaf)
        self._begin_words()

    def held_state(self) -> list[Held]:
        """The arrays of the state, as Variables."""
        with self._lock, outside_recordings():
            kept = self._start()
            for k, leaf in enumerate(kept):
                if not isinstance(leaf, Held):
                    kept[k] = Held(leaf, "dataset iterator")
            return kept


class CompiledElements:
    """What Python asks for the elements of a dataset that have an order, compiled once for all its iterations.

    Attributes:
      start: a function of the keys and values of the words, for the first state.
    """

    def __init__(self, node: Node) -> None:
        base, functions = before_last_maps(node)
        self._width, self._has_rows = 1, None  # known once `advance` is traced

        # The steps are arguments, in which a compiled function looks for what their functions read.
        def elements(base: Node, keys: Any, words: Any) -> Elements:
            return Elements(base, dict(zip(keys, words, strict=True)))

        def start(base: Node, keys: Any, words: Any) -> Any:
            return elements(base, keys, words).start()

        def advance(base: Node, keys: Any, words: Any, state: Any) -> Any:
            found = elements(base, keys, words)
            self._width, self._has_rows = found.width, found.cursor.has_rows
            rows, arrays, state = found.next(state, True)
            return rows, found.cursor.element(arrays, found.width), state

        self.start = LANGUAGE.compiled(functools.partial(start, base))
        self._advance = LANGUAGE.compiled(functools.partial(advance, base))
        self._computed = LANGUAGE.compiled(functools.partial(mapped, functions)) if functions else None

    def next(self, keys: Any, words: Any, state: Any) -> tuple[bool, Any, Any]:
        """Whether there is another element, the element, and the next state."""
        rows, element, state = self._advance(keys, words, state)
        count = int(rows)
        if 0 < count < self._width:
            leaves, treedef = jax.tree_util.tree_flatten(element)
            leaves = [leaf[:count] if has else leaf for leaf, has in zip(leaves, self._has_rows or (), strict=True)]
            element = jax.tree_util.tree_unflatten(treedef, leaves)
        if count and self._computed is not None:
            element = self._computed(element)
        return count > 0, element, state


def _apart(words: dict[Key, Any]) -> tuple[tuple[Key, ...], tuple[Any, ...]]:
    return tuple(words), tuple(words.values())


class _Place:
    """A Variable as a slot."""

    def __init__(self, held: Held) -> None:
        self._held = held

    def get(self) -> Any:
        return self._held.value

    def set(self, value: Any) -> None:
        self._held.assign(value)


def _require_frame() -> None:
    if current_frame() is None:
        raise StagingError(
            f"{user_location()}\n  An iterator of a dataset has a position, and a bare jax.jit has no state to "
            "keep it in.\n"
            "  Wrap the function in autograph.function, or loop over the dataset itself."
        )


def _uneven() -> StagingError:
    return StagingError(
        f"{user_location()}\n  `next` of this dataset's iterator may return a smaller batch than the others, and a "
        "program needs its shape while tracing.\n  Use batch(..., drop_remainder=True), or write `for element in iterator:`."
    )
