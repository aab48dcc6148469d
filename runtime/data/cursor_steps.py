"""The cursors of the steps of a pipeline. Each wraps the cursor of the step before, and extends its state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.selected import DATA
from autograph.runtime.data import streams
from autograph.runtime.data.cursor import END, NOT_YET, Cursor, Found, Make, same_types, uneven
from autograph.runtime.data.mapping import apply
from autograph.runtime.data.pipeline import Batch, Enumerate, Map, Reading, Repeat, Shard, Shuffle, Skip
from autograph.runtime.data.sequences import Filter, Scan, TakeWhile, Unbatch, Window

_DTYPES_IN_TURN = 8  # bool, int, float, complex: a state's type settles sooner


class StepCursor(Cursor):
    """A step that passes on the elements of the one before, save where it says otherwise."""

    def __init__(self, node: Any, reading: Reading, make: Make) -> None:
        super().__init__(node, reading, make)
        self.parent = parent = make(node.parent, reading)
        self.skips = parent.skips
        self.width, self.sizes = parent.width, parent.sizes
        self.treedef, self.types, self.has_rows = parent.treedef, parent.types, parent.has_rows

    def start(self, epoch: Any) -> Any:
        return self.parent.start(epoch), *self.begin(epoch)

    def begin(self, epoch: Any) -> tuple[Any, ...]:
        """The state of its own."""
        return ()

    def opened(self, state: Any) -> list[Any]:
        return self.parent.opened(state[0])

    def require_even(self, name: str) -> None:
        if self.parent.sizes != ():
            raise uneven(name)


class MapCursor(StepCursor):
    def __init__(self, node: Map, reading: Reading, make: Make) -> None:
        super().__init__(node, reading, make)
        parent = self.parent
        parent.known_sizes("map")
        self._describe(lambda rows: self._called(parent.element(parent.nothing(), rows)))

    def _called(self, element: Any) -> Any:
        return apply(self.operators, self.node.function, element, 0)

    def step(self, state: Any) -> Found:
        rows, arrays, after = self.parent.step(state[0])
        mapped = self.when(
            rows > 0,
            lambda: self.parent.by_rows(rows, arrays, lambda element: self.fitted(self._called(element))),
            self.nothing,
        )
        return rows, mapped, (after,)


class EnumerateCursor(StepCursor):
    def __init__(self, node: Enumerate, reading: Reading, make: Make) -> None:
        super().__init__(node, reading, make)
        parent = self.parent
        element = jax.tree_util.tree_unflatten(parent.treedef, parent.types)
        self.treedef = jax.tree_util.tree_structure((0, element))
        self.types = [jax.ShapeDtypeStruct((), jnp.int32), *parent.types]
        self.has_rows = [False, *parent.has_rows]

    def begin(self, epoch: Any) -> tuple[Any, ...]:
        return (jnp.int32(self.node.start),)

    def step(self, state: Any) -> Found:
        inner, number = state
        rows, arrays, after = self.parent.step(inner)
        return rows, (number, *arrays), (after, number + (rows > 0))


class FilterCursor(StepCursor):
    """With `TakeWhile`, the state says whether it has ended."""

    skips = True

    def __init__(self, node: Filter, reading: Reading, make: Make) -> None:
        super().__init__(node, reading, make)
        self.ends = isinstance(node, TakeWhile)
        self.skips = self.parent.skips or not self.ends
        self.parent.known_sizes("take_while" if self.ends else "filter")

    def begin(self, epoch: Any) -> tuple[Any, ...]:
        return (jnp.asarray(False),) if self.ends else ()

    def step(self, state: Any) -> Found:
        if not self.ends:
            return self._checked(state)
        return self.when(state[1], lambda: (jnp.int32(END), self.nothing(), state), lambda: self._checked(state))

    def _checked(self, state: Any) -> Found:
        rows, arrays, after = self.parent.step(state[0])

        def is_true(element: Any) -> tuple[Any, ...]:
            called = self.operators.call(self.node.predicate)
            found = called(*element) if type(element) is tuple else called(element)
            return (jnp.asarray(self.operators.truth(found)),)

        (keeps,) = self.when(rows > 0, lambda: self.parent.by_rows(rows, arrays, is_true), lambda: (jnp.asarray(True),))
        rows = jnp.where(keeps, rows, END if self.ends else NOT_YET)
        return rows, arrays, (after, rows == END) if self.ends else (after,)


class ScanCursor(StepCursor):
    """State: the function's own."""

    def __init__(self, node: Scan, reading: Reading, make: Make) -> None:
        super().__init__(node, reading, make)
        self.require_even("scan")
        first = jax.tree_util.tree_map(jnp.asarray, node.state)
        self._types, self._structure = _settled(self._called, first, self.parent)
        self._describe(lambda rows: self._called(self._state(self.begin(0)), self._blank())[1])

    def _blank(self) -> Any:
        return self.parent.element(self.parent.nothing(), self.width)

    def _state(self, leaves: Sequence[Any]) -> Any:
        return jax.tree_util.tree_unflatten(self._structure, list(leaves))

    def _called(self, state: Any, element: Any) -> Any:
        result = self.operators.call(self.node.function)(state, element)
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(f"the function that scan takes returns a new state and an element; got {result!r}")
        return result

    def begin(self, epoch: Any) -> tuple[Any, ...]:
        leaves = jax.tree_util.tree_leaves(self.node.state)
        return tuple(jnp.asarray(leaf).astype(type.dtype) for leaf, type in zip(leaves, self._types, strict=True))

    def step(self, state: Any) -> Found:
        inner, *own = state
        rows, arrays, after = self.parent.step(inner)

        def scanned() -> Any:
            state, element = self._called(self._state(own), self.parent.element(arrays, self.width))
            leaves = jax.tree_util.tree_leaves(state)
            kept = tuple(jnp.asarray(leaf).astype(type.dtype) for leaf, type in zip(leaves, self._types, strict=True))
            return self.fitted(element), kept

        found, own = self.when(rows > 0, scanned, lambda: (self.nothing(), tuple(own)))
        return rows, found, (after, *own)


class TakeCursor(StepCursor):
    """State: how many elements have been yielded."""

    def begin(self, epoch: Any) -> tuple[Any, ...]:
        return (jnp.int32(0),)

    def step(self, state: Any) -> Found:
        inner, taken = state

        def taking() -> Found:
            rows, arrays, after = self.parent.step(inner)
            return rows, arrays, (after, taken + (rows > 0))

        return self.when(taken < self.node.count, taking, lambda: (jnp.int32(END), self.nothing(), state))


class SkipCursor(StepCursor):
    """State: how many elements are still to be left out."""

    def __init__(self, node: Skip, reading: Reading, make: Make) -> None:
        super().__init__(node, reading, make)
        self.skips = True

    def begin(self, epoch: Any) -> tuple[Any, ...]:
        return (jnp.int32(self.node.count),)

    def step(self, state: Any) -> Found:
        inner, left = state
        rows, arrays, after = self.parent.step(inner)
        is_left_out = (rows > 0) & (left > 0)
        return jnp.where(is_left_out, NOT_YET, rows), arrays, (after, left - is_left_out)


class ShardCursor(StepCursor):
    """State: how many elements come before the next of ours."""

    def __init__(self, node: Shard, reading: Reading, make: Make) -> None:
        super().__init__(node, reading, make)
        self.skips = True

    def begin(self, epoch: Any) -> tuple[Any, ...]:
        return (jnp.int32(self.node.index),)

    def step(self, state: Any) -> Found:
        inner, left = state
        rows, arrays, after = self.parent.step(inner)
        is_ours = left == 0
        left = jnp.where(rows > 0, jnp.where(is_ours, self.node.number - 1, left - 1), left)
        return jnp.where((rows > 0) & ~is_ours, NOT_YET, rows), arrays, (after, left)


class RepeatCursor(StepCursor):
    """State: the number of the repetition, and whether it has had an element."""

    def __init__(self, node: Repeat, reading: Reading, make: Make) -> None:
        super().__init__(node, reading, make)
        self.skips = True

    def start(self, epoch: Any) -> Any:
        first = jnp.asarray(epoch, jnp.int32) * (self.node.count or 1)
        return self.parent.start(first), first, jnp.int32(0), jnp.asarray(False)

    def step(self, state: Any) -> Found:
        inner, first, number, has_any = state
        count = self.node.count
        rows, arrays, after = self.parent.step(inner)
        again = (rows == END) & has_any
        if count is not None:
            again = again & (number + 1 < count)
        after = self.when(again, lambda: self.parent.start(first + number + 1), lambda: after)
        has_any = (rows != END) & (has_any | (rows > 0))
        return jnp.where(again, NOT_YET, rows), arrays, (after, first, number + again, has_any)


class ShuffleCursor(StepCursor):
    """State: the elements that are held, how many they are, how many were chosen, the repetition."""

    def __init__(self, node: Shuffle, reading: Reading, make: Make) -> None:
        super().__init__(node, reading, make)
        self.require_even("shuffle")
        self.skips = True

    def begin(self, epoch: Any) -> tuple[Any, ...]:
        held = tuple(jnp.zeros((self.node.buffer, *type.shape), type.dtype) for type in self.types)
        repetition = jnp.int32(0) if self.node.count is None else jnp.asarray(epoch, jnp.int32)
        return held, jnp.int32(0), jnp.int32(0), repetition

    def step(self, state: Any) -> Found:
        inner, held, count, chosen, repetition = state
        rows, arrays, after = self.parent.step(inner)
        words = (*self.node.words(self.reading), repetition)
        place = DATA.shuffled(chosen & (2**30 - 1), 2**30, words) % jnp.maximum(count, 1)
        fills = (rows > 0) & (count < self.node.buffer)
        replaces = (rows > 0) & ~fills
        empties = (rows == END) & (count > 0)
        found = tuple(array[place] for array in held)
        # What fills the place: the new element, or of those left the last.
        at = jnp.where(fills, count, place)
        last = jnp.maximum(count - 1, 0)
        held = tuple(
            array.at[at].set(jnp.where(rows > 0, new, jnp.where(empties, array[last], array[at])))
            for array, new in zip(held, arrays, strict=True)
        )
        status = jnp.where(replaces | empties, np.int32(self.width), jnp.where(fills, NOT_YET, rows))
        taken = jnp.asarray(replaces | empties, jnp.int32)
        return status, found, (after, held, count + fills - empties, chosen + taken, repetition)


class BatchCursor(StepCursor):
    """State: the rows that there are of the next batch, and how many."""

    def __init__(self, node: Batch, reading: Reading, make: Make) -> None:
        super().__init__(node, reading, make)
        self.require_even("batch")
        self.skips = self.skips or node.width > 1
        self.width, self.sizes = node.width, () if node.drop else streams.odd_widths(node)
        self.types = [jax.ShapeDtypeStruct((node.width, *type.shape), type.dtype) for type in self.types]
        self.has_rows = [True for _ in self.types]

    def begin(self, epoch: Any) -> tuple[Any, ...]:
        return self.nothing(), jnp.int32(0)

    def step(self, state: Any) -> Found:
        inner, kept, count = state
        rows, arrays, after = self.parent.step(inner)
        kept = tuple(
            array.at[count].set(jnp.where(rows > 0, new, array[count])) for array, new in zip(kept, arrays, strict=True)
        )
        count = count + (rows > 0)
        is_full = count == self.width
        status = jnp.where(is_full, np.int32(self.width), NOT_YET)
        last = END if self.node.drop else count
        status = jnp.where(rows == END, last, status)
        return status, kept, (after, kept, jnp.where(is_full | (rows == END), 0, count))


class WindowCursor(StepCursor):
    """State: the last elements, how many they are, and how many are to be left out before the next."""

    def __init__(self, node: Window, reading: Reading, make: Make) -> None:
        super().__init__(node, reading, make)
        self.require_even("window")
        self.skips = True
        self.width = 1
        self._describe(lambda rows: self._window(jnp.int32(1)))

    def _window(self, count: Any) -> Any:
        node, parent = self.node, self.parent
        arrays = [jnp.zeros((node.width, *type.shape), type.dtype) for type in parent.types]
        return node.of(jax.tree_util.tree_unflatten(parent.treedef, arrays), None if node.drop else count)

    def begin(self, epoch: Any) -> tuple[Any, ...]:
        reach = self.node.reach
        kept = tuple(jnp.zeros((reach, *type.shape), type.dtype) for type in self.parent.types)
        return kept, jnp.int32(0), jnp.int32(0)

    def step(self, state: Any) -> Found:
        inner, kept, count, left_out = state
        node, reach = self.node, self.node.reach
        rows, arrays, after = self.parent.step(inner)
        is_there, is_end = rows > 0, rows == END
        is_kept = is_there & (left_out == 0)
        kept = tuple(
            array.at[count].set(jnp.where(is_kept, new, array[count])) for array, new in zip(kept, arrays, strict=True)
        )
        count = count + is_kept
        left_out = jnp.maximum(left_out - is_there, 0)
        is_full = count == reach
        yields = is_full | (is_end & (count > 0) & (not node.drop))
        status = jnp.where(yields, np.int32(1), jnp.where(is_end, END, NOT_YET))
        number = -(-count // node.stride)
        found = []
        for array in kept:
            found += [array[:: node.stride]] if node.drop else [array[:: node.stride], number]
        moved = min(node.shift, reach)
        kept = tuple(jnp.where(yields, jnp.roll(array, -moved, axis=0), array) for array in kept)
        count = jnp.where(yields, jnp.maximum(count - node.shift, 0), count)
        left_out = jnp.where(yields, max(node.shift - reach, 0), left_out)
        return status, tuple(map(jnp.asarray, found)), (after, kept, count, left_out)


class UnbatchCursor(StepCursor):
    """State: an element, how many rows it has, and the next of them."""

    def __init__(self, node: Unbatch, reading: Reading, make: Make) -> None:
        super().__init__(node, reading, make)
        parent = self.parent
        self.skips = True
        lengths = {type.shape[0] if type.shape else -1 for type in parent.types}
        if len(lengths) != 1 or -1 in lengths:
            raise ValueError(
                "unbatch takes elements whose arrays have first axes of one length; got shapes "
                f"{[type.shape for type in parent.types]}"
            )
        if parent.sizes != () and not all(parent.has_rows):
            raise uneven("unbatch")
        (self.length,) = lengths
        self.width, self.sizes = 1, ()
        self.types = [jax.ShapeDtypeStruct(type.shape[1:], type.dtype) for type in parent.types]
        self.has_rows = [False for _ in self.types]

    def begin(self, epoch: Any) -> tuple[Any, ...]:
        return self.parent.nothing(), jnp.int32(0), jnp.int32(0)

    def step(self, state: Any) -> Found:
        inner, held, rows, place = state

        def next_row() -> Found:
            return jnp.int32(1), tuple(array[place] for array in held), (inner, held, rows, place + 1)

        def next_element() -> Found:
            found, arrays, after = self.parent.step(inner)
            length = found if self.parent.sizes != () else jnp.where(found > 0, np.int32(self.length), 0)
            status = jnp.where(found == END, END, NOT_YET)
            return status, self.nothing(), (after, arrays, jnp.maximum(length, 0), jnp.int32(0))

        return self.when(place < rows, next_row, next_element)


def _settled(called: Callable[[Any, Any], Any], state: Any, parent: Cursor) -> tuple[list[Any], Any]:
    """The types of a scan's state, which those of the state after an element are, and its container."""
    first, structure = jax.tree_util.tree_flatten(state)
    types = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in first]
    for _ in range(_DTYPES_IN_TURN):
        zeros = [jnp.zeros(type.shape, type.dtype) for type in types]
        after = DATA.shapes(
            lambda zeros=zeros: called(
                jax.tree_util.tree_unflatten(structure, zeros), parent.element(parent.nothing(), parent.width)
            )[0]
        )
        joined = [
            jax.ShapeDtypeStruct(a.shape, jnp.promote_types(a.dtype, b.dtype))
            for a, b in zip(types, jax.tree_util.tree_leaves(after), strict=False)
        ]
        if not same_types(_without_dtypes(after), _without_dtypes(jax.tree_util.tree_unflatten(structure, types))):
            raise TypeError(
                f"the state of scan is {jax.tree_util.tree_unflatten(structure, types)} before, and {after} after an element: its "
                "container and shapes must not change"
            )
        if joined == types:
            break
        types = joined
    return types, structure


def _without_dtypes(types: Any) -> Any:
    return jax.tree_util.tree_map(lambda type: jax.ShapeDtypeStruct(type.shape, bool), types)
