"""The cursors at the start of a pipeline: random-access sources, Python iterators, and several datasets together."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.data import streams
from autograph.runtime.data.cursor import END, NOT_YET, Cursor, Found, Make, uneven
from autograph.runtime.data.pipeline import Concatenate, Node, Reading, Several, Zip, odd_at
from autograph.runtime.data.sequences import Choose, Limit
from autograph.runtime.effects.callbacks import numpy_function


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
            raw = jax.tree_util.tree_map(lambda s: jnp.zeros(s.shape, s.dtype), streams.fixed_spec_of(node))
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


class _AlikeCursor(Cursor):
    """What yields elements of one or another of several parts, which are alike."""

    skips = True

    def __init__(self, node: Several, reading: Reading, make: Make, name: str, first: int = 0) -> None:
        super().__init__(node, reading, make)
        self.parts = [make(part, reading.part(k)) for k, part in enumerate(node.parts)]
        alike = self.parts[first:]
        self.width = alike[0].width
        known = [part.sizes for part in alike]
        if any(part.width != self.width for part in alike) and any(sizes != () for sizes in known):
            raise uneven(name)
        self.sizes = None if None in known else tuple(sorted({size for sizes in known for size in sizes or ()}))
        self.treedef, self.types = alike[0].treedef, alike[0].types
        self.has_rows = [any(has) for has in zip(*(part.has_rows for part in alike), strict=True)]


class ChooseCursor(_AlikeCursor):
    """State: the states of the parts, which is chosen (-1 for none yet), and which of them have ended."""

    def __init__(self, node: Choose, reading: Reading, make: Make) -> None:
        super().__init__(node, reading, make, "choose_from_datasets", first=1)

    def start(self, epoch: Any) -> Any:
        return (
            tuple(part.start(epoch) for part in self.parts),
            jnp.int32(-1),
            jnp.zeros(len(self.parts) - 1, bool),
        )

    def step(self, state: Any) -> Found:
        states, chosen, ended = state
        is_over = jnp.all(ended)

        def choosing() -> Found:
            rows, arrays, after = self.parts[0].step(states[0])
            number = jnp.asarray(self._checked(jnp.where(rows > 0, arrays[0], -1), rows > 0), jnp.int32)
            return jnp.where(rows == END, END, NOT_YET), self.nothing(), ((after, *states[1:]), number, ended)

        def taking(k: int) -> Found:
            rows, arrays, after = self.parts[k].step(states[k])
            is_end = rows == END
            kept = (*states[:k], after, *states[k + 1 :])
            if self.node.stops:
                return rows, arrays, (kept, jnp.where((rows == NOT_YET) | is_end, chosen, -1), ended)
            status = jnp.where(is_end, NOT_YET, rows)
            return status, arrays, (kept, jnp.where(rows == NOT_YET, chosen, -1), ended.at[k - 1].set(is_end))

        def of(k: int) -> Found:
            if k == len(self.parts) - 1:
                return taking(k)
            return self.when(chosen == k - 1, lambda: taking(k), lambda: of(k + 1))

        def going_on() -> Found:
            return self.when(chosen < 0, choosing, lambda: of(1))

        return self.when(is_over, lambda: (jnp.int32(END), self.nothing(), state), going_on)

    def _checked(self, number: Any, is_there: Any) -> Any:
        if not self.node.is_checked:
            return number
        count = len(self.parts) - 1

        def refuse(number: Any) -> Any:
            raise ValueError(f"choose_from_datasets has {count} datasets, and is given the number {int(number)}")

        is_known = ~is_there | ((number >= 0) & (number < count))
        return self.when(is_known, lambda: number, lambda: numpy_function(refuse, [number], np.dtype(number.dtype)))

    def opened(self, state: Any) -> list[Any]:
        return [number for part, inner in zip(self.parts, state[0], strict=True) for number in part.opened(inner)]


class ConcatenateCursor(_AlikeCursor):
    """State: the states of both parts, and whether the first has ended."""

    def __init__(self, node: Concatenate, reading: Reading, make: Make) -> None:
        super().__init__(node, reading, make, "concatenate")

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
