"""The cursors of `flat_map` and `interleave`, whose elements come from nested datasets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from autograph.backends.selected import DATA
from autograph.runtime.data.cursor import END, NOT_YET, Cursor, Found, Make
from autograph.runtime.data.cursor_steps import StepCursor
from autograph.runtime.data.pipeline import Node, Reading, all_arrays, asks_python, begin, shuffles, with_arrays
from autograph.runtime.data.sequences import Interleave
from autograph.runtime.errors import StagingError
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import effects_recorded


class InterleaveCursor(StepCursor):
    """State: for each of the datasets that are open its element, arrays, words and state; whose turn it is."""

    def __init__(self, node: Interleave, reading: Reading, make: Make) -> None:
        super().__init__(node, reading, make)
        self.require_even("interleave")
        self.skips = True
        parent, inner = self.parent, None
        before = effects_recorded()

        def first(element: Sequence[Any]) -> Any:
            nonlocal inner
            inner = _Inner(self, element)
            return inner.arrays, inner.words, inner.cursor.start(0)

        slots = DATA.shapes(first, parent.nothing())
        assert inner is not None
        if effects_recorded() != before:
            raise StagingError(
                f"{user_location()}\n  The function of flat_map or interleave runs again for each element of the dataset that it "
                "returns: it may not print, draw random numbers, write Variables or call Python.\n  Do that in map, before or after."
            )
        cursor: Cursor = inner.cursor
        self.width, self.sizes = cursor.width, cursor.sizes
        self.treedef, self.types, self.has_rows = cursor.treedef, cursor.types, cursor.has_rows
        leaves, self._slots = jax.tree_util.tree_flatten((tuple(parent.types), slots))
        self._slot_types = leaves

    def begin(self, epoch: Any) -> tuple[Any, ...]:
        cycle = self.node.cycle
        slots = tuple(jnp.zeros((cycle, *type.shape), type.dtype) for type in self._slot_types)
        return slots, jnp.zeros(cycle, bool), jnp.int32(0), jnp.int32(0), jnp.asarray(False)

    def step(self, state: Any) -> Found:
        inner, slots, is_open, turn, done, ended = state
        cycle = self.node.cycle
        following = (turn + 1) % cycle

        def go_on() -> Found:
            element, (arrays, words, place) = jax.tree_util.tree_unflatten(self._slots, [slot[turn] for slot in slots])
            opened = _Inner(self, element, arrays, words)
            rows, found, place = opened.cursor.step(place)
            after = self._put(slots, turn, (element, (arrays, words, place)))
            is_end = rows == END
            is_last = (rows > 0) & (done + 1 == self.node.block)
            moves = is_end | is_last
            own = (
                after,
                is_open.at[turn].set(~is_end),
                jnp.where(moves, following, turn),
                jnp.where(moves, 0, done + (rows > 0)),
                ended,
            )
            return jnp.where(is_end, NOT_YET, rows), found, (inner, *own)

        def open_next() -> Found:
            rows, element, after = self.parent.step(inner)

            def opened() -> Any:
                made = _Inner(self, element)
                return self._put(slots, turn, (element, (made.arrays, made.words, made.cursor.start(0))))

            taken = self.when(rows > 0, opened, lambda: slots)
            own = (taken, is_open.at[turn].set(rows > 0), turn, done, rows == END)
            return jnp.int32(NOT_YET), self.nothing(), (after, *own)

        def move_on() -> Found:
            status = jnp.where(jnp.any(is_open), NOT_YET, END)
            return status, self.nothing(), (inner, slots, is_open, following, jnp.int32(0), ended)

        return self.when(is_open[turn], go_on, lambda: self.when(ended, move_on, open_next))

    def _put(self, slots: Any, turn: Any, content: Any) -> tuple[Any, ...]:
        leaves = jax.tree_util.tree_leaves(content)
        return tuple(slot.at[turn].set(leaf) for slot, leaf in zip(slots, leaves, strict=True))


class _Inner:
    """A dataset that the function of an `Interleave` makes.

    It is made again whenever an element of it is wanted, since functions that it holds may close over what it was made of. Its
    arrays and the words of its steps that shuffle are those of the first time.
    """

    def __init__(self, outer: InterleaveCursor, element: Sequence[Any], arrays: Any = None, words: Any = None) -> None:
        row = outer.parent.element(element, outer.parent.width)
        called = outer.operators.call(outer.node.function)
        made = called(*row) if type(row) is tuple else called(row)
        node = node_made(made)
        if asks_python(node):
            raise StagingError(
                f"{user_location()}\n  The function of flat_map or interleave returns a dataset of a generator, which Python would have to "
                "start for each element.\n  Write one generator that yields the elements of all."
            )
        held = all_arrays(node)
        if arrays is None:
            arrays = tuple(tuple(jnp.asarray(array) for array in part.now()) for part in held)
            self.arrays = arrays
        node = with_arrays(node, iter([type(part)(list(kept)) for part, kept in zip(held, arrays, strict=True)]))
        self.words = tuple(jnp.asarray(word) for word in begin(node).values()) if words is None else words
        keys = [key for key, _ in shuffles(node)]
        self.cursor = outer.make(node, Reading(node, dict(zip(keys, self.words, strict=True))))


def node_made(made: Any) -> Node:
    """The last step of the dataset that a user's function has made.

    Raises:
      TypeError: it is something else.
    """
    node = getattr(made, "node", None)
    if not isinstance(node, Node):
        raise TypeError(f"the function that flat_map or interleave takes returns a Dataset; got {type(made).__name__}")
    return node
