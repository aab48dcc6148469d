"""The cursors at the start of a pipeline: random-access sources, Python iterators, and several datasets together."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.data import streams
from autograph.runtime.data.cursor import END, NOT_YET, Cursor, Found, Make, uneven
from autograph.runtime.data.pipeline import Concatenate, Node, Reading, Zip, odd_at
from autograph.runtime.data.sequences import Limit


class PositionalCursor(Cursor):
    """Elements that can be had at any position. State: the position, and the repetition."""

    def __init__(self, node: Node, reading: Reading, make: Make) -> None:
        super().__init__(node, reading, make)
        self.limit = None
        if isinstance(node, Limit):
            (self.limit,) = reading.arrays(node.arrays)
            node = self.node = node.parent
        self.size = node.size
        if node.has_odd:
            self.width = streams.width_of(node)
            batch = streams.outer_batch(node)
            assert batch is not None
            self.sizes = (batch.odd_width,)
        self._describe(lambda rows: node.rows(reading, jnp.int32(0), jnp.int32(0), rows != self.width))

    def start(self, epoch: Any) -> Any:
        return jnp.int32(0), jnp.asarray(epoch, jnp.int32)

    def step(self, state: Any) -> Found:
        position, epoch = state
        has = position < (2**31 - 1 if self.size is None else self.size)
        if self.limit is not None:
            has = has & (position < self.limit)
        odd = odd_at(self.node, self.reading, position, epoch) if self.node.has_odd else False

        def full(is_odd: bool) -> tuple[Any, ...]:
            return self.fitted(self.node.rows(self.reading, position, epoch, is_odd))

        def there() -> Found:
            if odd is False:
                return jnp.int32(self.width), full(False), (position + 1, epoch)
            rows = jnp.where(odd, jnp.int32(self.known_sizes("")[0]), jnp.int32(self.width))
            return rows, self.when(odd, lambda: full(True), lambda: full(False)), (position + 1, epoch)

        return self.when(has, there, lambda: (jnp.int32(END), self.nothing(), state))


class StreamCursor(Cursor):
    """Elements that Python yields. State: the number of the iterator, and whether it has ended."""

    def __init__(self, node: Node, reading: Reading, make: Make) -> None:
        super().__init__(node, reading, make)
        self.width, self.sizes = streams.width_of(node), streams.odd_widths(node)
        stream = streams.StagedStream(node, jnp.int32(0))

        def element(rows: int) -> Any:
            raw = jax.tree_util.tree_map(lambda s: jnp.zeros(s.shape, s.dtype), streams.spec_of(node))
            return stream.element(self.operators, raw, rows)

        self._describe(element)

    def start(self, epoch: Any) -> Any:
        return streams.StagedStream.open(self.node, self.reading.words, epoch).number, jnp.asarray(False)

    def step(self, state: Any) -> Found:
        number, ended = state
        stream = streams.StagedStream(self.node, number)
        rows, raw = stream.next(~ended)

        def computed() -> tuple[Any, ...]:
            def of(sizes: list[int]) -> tuple[Any, ...]:
                if not sizes:
                    return self.fitted(stream.element(self.operators, raw, self.width))
                size, *rest = sizes
                return self.when(
                    rows == size, lambda: self.fitted(stream.element(self.operators, raw, size)), lambda: of(rest)
                )

            return of(list(self.known_sizes("this step")))

        return rows, self.when(rows > 0, computed, self.nothing), (number, rows == END)

    def opened(self, state: Any) -> list[Any]:
        return [state[0]]


class ZipCursor(Cursor):
    """State: the states of the parts, and where parts may yield nothing yet, what they have and whether they have it."""

    def __init__(self, node: Zip, reading: Reading, make: Make) -> None:
        super().__init__(node, reading, make)
        self.parts = [make(part, reading.part(k)) for k, part in enumerate(node.parts)]
        self.skips = any(part.skips for part in self.parts)
        self._describe(
            lambda rows: jax.tree_util.tree_unflatten(
                node.treedef, [part.element(part.nothing(), part.width) for part in self.parts]
            )
        )

    def start(self, epoch: Any) -> Any:
        return (
            tuple(part.start(epoch) for part in self.parts),
            tuple(part.nothing() for part in self.parts),
            tuple(jnp.int32(NOT_YET) for _ in self.parts),
        )

    def step(self, state: Any) -> Found:
        states, kept, rows = map(list, state)
        goes_on: Any = jnp.asarray(True)  # a part is asked once those before it have an element
        for k, part in enumerate(self.parts):
            rows[k], kept[k], states[k] = self._asked(
                part, goes_on & (rows[k] == NOT_YET), (rows[k], kept[k], states[k])
            )
            goes_on = goes_on & (rows[k] > 0)
        ended = jnp.any(jnp.stack(rows) == END)
        status = jnp.where(ended, END, jnp.where(goes_on, np.int32(1), NOT_YET))
        after = [jnp.where(goes_on, NOT_YET, row) for row in rows]
        arrays = tuple(array for part in kept for array in part)
        return status, arrays, (tuple(states), tuple(kept), tuple(after))

    def _asked(self, part: Cursor, is_asked: Any, present: Found) -> Any:
        return self.when(is_asked, lambda: part.step(present[2]), lambda: present)

    def opened(self, state: Any) -> list[Any]:
        return [number for part, inner in zip(self.parts, state[0], strict=True) for number in part.opened(inner)]


class ConcatenateCursor(Cursor):
    """State: the states of both parts, and whether the first has ended."""

    skips = True

    def __init__(self, node: Concatenate, reading: Reading, make: Make) -> None:
        super().__init__(node, reading, make)
        self.parts = [make(part, reading.part(k)) for k, part in enumerate(node.parts)]
        first, second = self.parts
        if first.width != second.width and not (first.sizes == second.sizes == ()):
            raise uneven("concatenate")
        self.width = first.width
        known = [part.sizes for part in self.parts]
        self.sizes = None if None in known else tuple(sorted({size for sizes in known for size in sizes or ()}))
        self.treedef, self.types = first.treedef, first.types
        self.has_rows = [a or b for a, b in zip(first.has_rows, second.has_rows, strict=True)]

    def start(self, epoch: Any) -> Any:
        first, second = self.parts
        return first.start(epoch), second.start(epoch), jnp.asarray(False)

    def step(self, state: Any) -> Found:
        one, other, ended = state

        def first() -> Found:
            rows, arrays, after = self.parts[0].step(one)
            return jnp.where(rows == END, NOT_YET, rows), arrays, (after, other, rows == END)

        def second() -> Found:
            rows, arrays, after = self.parts[1].step(other)
            return rows, arrays, (one, after, ended)

        return self.when(ended, second, first)

    def opened(self, state: Any) -> list[Any]:
        return [number for part, inner in zip(self.parts, state, strict=False) for number in part.opened(inner)]
