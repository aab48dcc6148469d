"""The random-access steps of a dataset: each maps positions to rows of the step before.

No such step keeps an order or a place in memory, so a loop on the device, or Python, may ask for any element at any
time. A dataset whose rows come one after the other, from a generator, has the same steps; `streams` runs them in
order. Steps whose elements depend on those before, a filter say, are in `sequences`, and `cursors` runs them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.selected import DATA
from autograph.runtime.data.mapping import apply
from autograph.runtime.data.padding import Padding
from autograph.runtime.effects.callbacks import numpy_function
from autograph.runtime.state.held import Epochs, HeldArrays
from autograph.runtime.tracing.language import LANGUAGE

Key = int | tuple[int, Any]  # of a step: its number among `steps`, behind the number of the part that it is in


class Reading:
    """One iteration of a dataset: what its steps need to know beside positions.

    Attributes:
      operators: what converted code calls.
      words: for each step that shuffles, which numbers choose the order, as counted when the iteration began.
    """

    def __init__(self, node: Node, words: dict[Key, Any] | None = None) -> None:
        self.operators = LANGUAGE.operators
        self.words = begin(node) if words is None else words
        self._node = node
        self._arrays: dict[int, list[Any]] = {}
        for step in steps(node):
            for held in arrays_of(step):
                self._arrays[id(held)] = held.now()

    def arrays(self, held: HeldArrays) -> list[Any]:
        return self._arrays[id(held)]

    def part(self, number: int) -> Reading:
        """The iteration of a part of what the first step puts together."""
        inner = {key[1]: word for key, word in self.words.items() if isinstance(key, tuple) and key[0] == number}
        return Reading(parts_of(steps(self._node)[0])[number], inner)


def begin(node: Node) -> dict[Key, Any]:
    """Count an iteration: the words of each step that shuffles."""
    return {key: step.epoch() for key, step in shuffles(node)}


@dataclass(frozen=True)
class Node:
    """One step.

    Some element may be *odd*, of another shape than the rest: the last batch.

    Attributes:
      size: how many elements there are; None for no end, or of a stream, for an unknown number.
      has_odd: whether there is, or may be, an odd element.
      odd_is_last: whether the odd element is the last one and the only one.
      is_positional: whether the element at any position can be had at once.
      is_stream: whether elements are had in order from Python, which runs all steps that do not compute.
      repeats: whether it restarts after its last element, forever.
    """

    @property
    def is_positional(self) -> bool:
        return True

    @property
    def is_stream(self) -> bool:
        return False

    @property
    def repeats(self) -> bool:
        return False

    @property
    def size(self) -> int | None:
        return None

    @property
    def has_odd(self) -> bool:
        return False

    @property
    def odd_is_last(self) -> bool:
        return True

    def rows(self, reading: Reading, positions: Any, epochs: Any, odd: bool) -> Any:
        """The elements at these positions (a scalar, or an array of any shape) of these epochs.

        Where they are ``odd``, all of them are.
        """
        raise NotImplementedError

    def span(self, reading: Reading, start: Any, count: int, epochs: Any) -> Any:
        """``count`` elements from ``start`` on."""
        return self.rows(reading, start + jnp.arange(count, dtype=jnp.int32), epochs, False)


# Sources.


@dataclass(frozen=True)
class Slices(Node):
    """The slices of arrays along their first axis."""

    length: int
    treedef: Any
    arrays: HeldArrays = field(compare=False)

    @property
    def size(self) -> int:
        return self.length

    def rows(self, reading: Reading, positions: Any, epochs: Any, odd: bool) -> Any:
        return self._taken(reading, lambda array: DATA.rows(array, positions))

    def span(self, reading: Reading, start: Any, count: int, epochs: Any) -> Any:
        return self._taken(reading, lambda array: DATA.block(array, start, count))

    def _taken(self, reading: Reading, take: Callable[[Any], Any]) -> Any:
        return jax.tree_util.tree_unflatten(self.treedef, list(map(take, reading.arrays(self.arrays))))


@dataclass(frozen=True)
class Numbers(Node):
    """What `range` returns."""

    numbers: range

    @property
    def size(self) -> int:
        return len(self.numbers)

    def rows(self, reading: Reading, positions: Any, epochs: Any, odd: bool) -> Any:
        return jnp.asarray(self.numbers.start + positions * self.numbers.step, jnp.int32)


@dataclass(frozen=True)
class Rows(Node):
    """A source of the user's, asked for its items by number while the program runs.

    Attributes:
      get: the function that returns an item.
      spec: its type.
    """

    length: int
    get: Callable[[int], Any]
    spec: Any = field(compare=False)

    @property
    def size(self) -> int:
        return self.length

    def rows(self, reading: Reading, positions: Any, epochs: Any, odd: bool) -> Any:
        shape = tuple(jnp.shape(positions))
        types = jax.tree_util.tree_map(lambda s: jax.ShapeDtypeStruct((*shape, *s.shape), s.dtype), self.spec)
        return numpy_function(self._fetch, [positions], types)

    def _fetch(self, positions: Any) -> Any:
        return stacked_as(np.shape(positions), [self.get(int(k)) for k in np.ravel(positions)], self.spec)


@dataclass(frozen=True)
class Stream(Node):
    """What an iterator returns, one after the other.

    Attributes:
      make: creates the iterator for each iteration.
      spec: the type of an element: of an array whose size differs from element to element, a `TensorSpec` with None.
      length: how many there are, if the user said so.
    """

    make: Callable[[], Any]
    spec: Any = field(compare=False)
    length: int | None = None

    @property
    def is_positional(self) -> bool:
        return False

    @property
    def is_stream(self) -> bool:
        return True

    @property
    def size(self) -> int | None:
        return self.length


@dataclass(frozen=True)
class Progression(Node):
    """Numbers at equal distances, whose first and distance are known at run time: two arrays."""

    arrays: HeldArrays = field(compare=False)

    @property
    def size(self) -> int:
        return 2**31 - 1

    def rows(self, reading: Reading, positions: Any, epochs: Any, odd: bool) -> Any:
        start, step = reading.arrays(self.arrays)
        return jnp.asarray(start + positions * step, jnp.int32)


@dataclass(frozen=True)
class Several(Node):
    """Made of several datasets."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Zip(Several):
    """The elements of several datasets side by side, as many as the shortest has.

    Attributes:
      treedef: the container that they are put into.
    """

    treedef: Any

    @property
    def is_positional(self) -> bool:
        return all(part.is_positional for part in self.parts)

    @property
    def repeats(self) -> bool:
        return all(map(is_endless, self.parts))

    @property
    def size(self) -> int | None:
        sizes = [part.size for part in self.parts if not surely_endless(part)]
        return None if None in sizes else min(sizes, default=None)  # type: ignore[type-var]

    @property
    def has_odd(self) -> bool:
        return any(part.has_odd and part.size == self.size for part in self.parts)

    def rows(self, reading: Reading, positions: Any, epochs: Any, odd: bool) -> Any:
        return self._side_by_side(
            part.rows(reading.part(k), positions, epochs, odd and part.has_odd) for k, part in enumerate(self.parts)
        )

    def span(self, reading: Reading, start: Any, count: int, epochs: Any) -> Any:
        return self._side_by_side(part.span(reading.part(k), start, count, epochs) for k, part in enumerate(self.parts))

    def _side_by_side(self, elements: Iterable[Any]) -> Any:
        return jax.tree_util.tree_unflatten(self.treedef, list(elements))


@dataclass(frozen=True)
class Concatenate(Several):
    """The elements of one dataset after those of another."""

    @property
    def is_positional(self) -> bool:
        # The elements of both are read, of which one is taken: where that costs nothing, and nobody notices.
        return all(
            isinstance(step, Slices | Numbers | Shuffle | Take | Skip | Shard) and step.is_positional
            for part in self.parts
            for step in steps(part)
        )

    @property
    def repeats(self) -> bool:
        return any(map(is_endless, self.parts))

    @property
    def size(self) -> int | None:
        first, second = (part.size for part in self.parts)
        return None if first is None or second is None else first + second

    @property
    def has_odd(self) -> bool:
        return any(part.has_odd for part in self.parts)

    @property
    def odd_is_last(self) -> bool:
        return not self.parts[0].has_odd and self.parts[1].odd_is_last

    def rows(self, reading: Reading, positions: Any, epochs: Any, odd: bool) -> Any:
        first, second = (part.size or 0 for part in self.parts)
        if not first or not second:
            k = 0 if first else 1
            return self.parts[k].rows(reading.part(k), positions, epochs, False)
        one = self.parts[0].rows(reading.part(0), jnp.minimum(positions, first - 1), epochs, False)
        other = self.parts[1].rows(reading.part(1), jnp.maximum(positions - first, 0), epochs, False)

        def chosen(a: Any, b: Any) -> Any:
            is_first = jnp.reshape(positions < first, jnp.shape(positions) + (1,) * (a.ndim - jnp.ndim(positions)))
            return jnp.where(is_first, a, b)

        return jax.tree_util.tree_map(chosen, one, other)


# Steps.


@dataclass(frozen=True)
class Step(Node):
    """A step that has one before it. What it does not change is as there."""

    parent: Node

    @property
    def is_positional(self) -> bool:
        return self.parent.is_positional

    @property
    def is_stream(self) -> bool:
        return self.parent.is_stream

    @property
    def repeats(self) -> bool:
        return self.parent.repeats

    @property
    def size(self) -> int | None:
        return self.parent.size

    @property
    def has_odd(self) -> bool:
        return self.parent.has_odd

    @property
    def odd_is_last(self) -> bool:
        return self.parent.odd_is_last


@dataclass(frozen=True)
class Take(Step):
    """The first ``count`` elements."""

    count: int

    @property
    def repeats(self) -> bool:
        return False

    @property
    def size(self) -> int | None:
        if self.parent.size is None:
            return self.count if surely_endless(self.parent) else None
        return min(self.count, self.parent.size)

    @property
    def has_odd(self) -> bool:
        known = self.parent.size
        return self.parent.has_odd and not (self.parent.odd_is_last and known is not None and self.count < known)

    def rows(self, reading: Reading, positions: Any, epochs: Any, odd: bool) -> Any:
        return self.parent.rows(reading, positions, epochs, odd)

    def span(self, reading: Reading, start: Any, count: int, epochs: Any) -> Any:
        return self.parent.span(reading, start, count, epochs)


@dataclass(frozen=True)
class Skip(Step):
    """All but the first ``count`` elements."""

    count: int

    @property
    def size(self) -> int | None:
        return None if self.parent.size is None else max(self.parent.size - self.count, 0)

    def rows(self, reading: Reading, positions: Any, epochs: Any, odd: bool) -> Any:
        return self.parent.rows(reading, positions + self.count, epochs, odd)

    def span(self, reading: Reading, start: Any, count: int, epochs: Any) -> Any:
        return self.parent.span(reading, start + self.count, count, epochs)


@dataclass(frozen=True)
class Shard(Step):
    """Every ``number``-th element, from the one at ``index`` on."""

    number: int
    index: int

    @property
    def size(self) -> int | None:
        return None if self.parent.size is None else max(-(-(self.parent.size - self.index) // self.number), 0)

    @property
    def has_odd(self) -> bool:
        known = self.parent.size
        has_last = known is None or (known - 1) % self.number == self.index
        return self.parent.has_odd and (has_last or not self.parent.odd_is_last)

    def rows(self, reading: Reading, positions: Any, epochs: Any, odd: bool) -> Any:
        return self.parent.rows(reading, positions * self.number + self.index, epochs, odd)


@dataclass(frozen=True)
class Repeat(Step):
    """All elements ``count`` times; None for no end."""

    count: int | None

    @property
    def repeats(self) -> bool:
        return self.parent.repeats if self.count is not None else True

    @property
    def size(self) -> int | None:
        inner = self.parent.size
        return 0 if inner == 0 else None if self.count is None or inner is None else inner * self.count

    @property
    def odd_is_last(self) -> bool:
        return self.count == 1 and self.parent.odd_is_last

    def rows(self, reading: Reading, positions: Any, epochs: Any, odd: bool) -> Any:
        inner = self.parent.size
        epochs = epochs * (self.count or 1) + positions // inner
        return self.parent.rows(reading, positions % inner, epochs, odd)


@dataclass(frozen=True)
class Shuffle(Step):
    """The elements in an order that the seed and the number of the iteration choose.

    Attributes:
      seed: an int.
      buffer: of a stream, among how many elements the next is chosen.
      count: counts iterations; None for the same order in each.
      is_seeded: whether the seed was given, and is not this process's own.
    """

    seed: int
    buffer: int | None
    count: Epochs | None
    is_seeded: bool = True

    @property
    def odd_is_last(self) -> bool:
        return False

    def epoch(self) -> Any:
        return np.int32(0) if self.count is None else self.count.next()

    def rows(self, reading: Reading, positions: Any, epochs: Any, odd: bool) -> Any:
        return self.parent.rows(reading, self.place(reading, positions, epochs), epochs, odd)

    def place(self, reading: Reading, positions: Any, epochs: Any) -> Any:
        words = (*self.words(reading), _word(0 if self.count is None else epochs))
        return DATA.shuffled(positions, self.parent.size or 0, words)

    def words(self, reading: Reading) -> tuple[Any, ...]:
        """What chooses the order of this iteration."""
        words = (self.seed & 0xFFFFFFFF, self.seed >> 32 & 0xFFFFFFFF, reading.words[depth_of(self)])
        return tuple(map(_word, words))


@dataclass(frozen=True)
class Batch(Step):
    """So many elements at a time as one, stacked. What is left in the end is an odd one, or dropped."""

    width: int
    drop: bool

    @property
    def odd_is_last(self) -> bool:
        return True

    @property
    def size(self) -> int | None:
        inner = self.parent.size
        return None if inner is None else inner // self.width if self.drop else -(-inner // self.width)

    @property
    def has_odd(self) -> bool:
        inner = self.parent.size
        if inner is None:
            return not self.drop and not is_endless(self)
        return not self.drop and inner % self.width != 0

    @property
    def odd_width(self) -> int:
        return (self.parent.size or 0) % self.width

    def rows(self, reading: Reading, positions: Any, epochs: Any, odd: bool) -> Any:
        parent, width = self.parent, self.odd_width if odd else self.width
        if isinstance(parent, Repeat) and parent.size is None:  # so that no position grows without end
            inner = parent.parent.size or 1
            cycle = inner // math.gcd(inner, self.width)
            epochs = epochs + positions // cycle * (self.width // math.gcd(inner, self.width))
            positions = positions % cycle
        start = positions * self.width
        if jnp.ndim(positions) == 0 and not parent.has_odd:
            return parent.span(reading, start, width, epochs)
        within = jnp.arange(width, dtype=jnp.int32)
        epochs = epochs if jnp.ndim(epochs) == 0 else epochs[..., None]
        return parent.rows(reading, jnp.asarray(start)[..., None] + within, epochs, odd and parent.has_odd)


@dataclass(frozen=True)
class PaddedBatch(Batch):
    """Elements of differing shapes, which only Python has, stacked behind a padding."""

    padding: Padding


@dataclass(frozen=True)
class Map(Step):
    """A function of each element."""

    function: Callable[..., Any]

    def rows(self, reading: Reading, positions: Any, epochs: Any, odd: bool) -> Any:
        rows = self.parent.rows(reading, positions, epochs, odd)
        return apply(reading.operators, self.function, rows, jnp.ndim(positions))

    def span(self, reading: Reading, start: Any, count: int, epochs: Any) -> Any:
        return apply(reading.operators, self.function, self.parent.span(reading, start, count, epochs), 1)


@dataclass(frozen=True)
class Enumerate(Step):
    """Each element with its number, from ``start`` on."""

    start: int

    def rows(self, reading: Reading, positions: Any, epochs: Any, odd: bool) -> Any:
        return jnp.asarray(self.start + positions, jnp.int32), self.parent.rows(reading, positions, epochs, odd)

    def span(self, reading: Reading, start: Any, count: int, epochs: Any) -> Any:
        numbers = jnp.asarray(self.start + start, jnp.int32) + jnp.arange(count, dtype=jnp.int32)
        return numbers, self.parent.span(reading, start, count, epochs)


# Questions about a whole dataset.


def steps(node: Node) -> list[Node]:
    """All steps, the source first: a step keeps its number when others follow it."""
    found = [node]
    while isinstance(found[-1], Step):
        found.append(found[-1].parent)
    return found[::-1]


def parts_of(node: Node) -> tuple[Node, ...]:
    """The datasets that a first step puts together; none for others."""
    return node.parts if isinstance(node, Several) else ()


def functions_of(node: Node) -> list[Callable[..., Any]]:
    """The functions of the user's that the steps call."""
    found = [getattr(step, name, None) for step in steps(node) for name in ("function", "predicate")]
    return [each for each in found if callable(each)] + [
        each for part in parts_of(steps(node)[0]) for each in functions_of(part)
    ]


def arrays_of(node: Node) -> tuple[HeldArrays, ...]:
    """What a step holds of its own."""
    held = getattr(node, "arrays", None)
    return () if held is None else (held,)


def depth_of(node: Node) -> int:
    """The number of a step among `steps`."""
    return len(steps(node)) - 1


def shuffles(node: Node) -> Iterator[tuple[Key, Shuffle]]:
    """The steps that shuffle, those of parts first."""
    source, *rest = steps(node)
    for number, part in enumerate(parts_of(source)):
        for key, step in shuffles(part):
            yield (number, key), step
    for depth, own in enumerate(rest, 1):
        if isinstance(own, Shuffle):
            yield depth, own


def asks_python(node: Node) -> bool:
    """Whether elements, or some part of them, come from an iterator of Python's."""
    return any(isinstance(step, Stream) or any(map(asks_python, parts_of(step))) for step in steps(node))


def is_endless(node: Node) -> bool:
    """Whether it is known that there is no last element."""
    return node.size is None and node.repeats


def surely_endless(node: Node) -> bool:
    """Whether there is no last element. What repeats without end has none at all if what it repeats is empty."""
    return is_endless(node) and (node.is_positional or node.is_stream)


def all_arrays(node: Node) -> list[HeldArrays]:
    """What all steps hold of their own."""
    source = steps(node)[0]
    inner = [held for part in parts_of(source) for held in all_arrays(part)]
    return inner + [held for step in steps(node) for held in arrays_of(step)]


def with_arrays(node: Node, arrays: Iterator[HeldArrays]) -> Node:
    """The same steps, which hold these in place of `all_arrays`."""
    changed: dict[str, Any] = {}
    if isinstance(node, Several):
        changed["parts"] = tuple(with_arrays(part, arrays) for part in node.parts)
    if isinstance(node, Step):
        changed["parent"] = with_arrays(node.parent, arrays)
    if arrays_of(node):
        changed["arrays"] = next(arrays)
    return dataclasses.replace(node, **changed) if changed else node


def odd_at(node: Node, reading: Reading, position: Any, epoch: Any = 0) -> Any:
    """Whether the element at this position of this iteration is odd."""
    while isinstance(node, Step) and not isinstance(node, Batch):
        if isinstance(node, Skip):
            position = position + node.count
        elif isinstance(node, Shard):
            position = position * node.number + node.index
        elif isinstance(node, Repeat):
            inner = node.parent.size
            epoch, position = epoch * (node.count or 1) + position // inner, position % inner
        elif isinstance(node, Shuffle):
            position = node.place(reading, position, epoch)
        node = node.parent
    assert node.size is not None
    return position == node.size - 1


def in_one_order(node: Node) -> Node:
    """The same steps, of which those that shuffle choose one order for all iterations."""
    changed: dict[str, Any] = {"count": None} if isinstance(node, Shuffle) else {}
    if isinstance(node, Several):
        changed["parts"] = tuple(map(in_one_order, node.parts))
    if isinstance(node, Step):
        changed["parent"] = in_one_order(node.parent)
    return dataclasses.replace(node, **changed) if changed else node


def stacked_as(shape: tuple[int, ...], items: list[Any], spec: Any) -> Any:
    """Items of the user's as arrays of the given type, stacked to a shape."""
    leaves: list[list[Any]] = []
    treedef: Any
    wanted, treedef = jax.tree_util.tree_flatten(spec)
    for item in items:
        found = treedef.flatten_up_to(item)
        leaves.append([conformed(value, type) for value, type in zip(found, wanted, strict=True)])
    columns = [np.stack(column).reshape((*shape, *column[0].shape)) for column in zip(*leaves, strict=True)]
    return jax.tree_util.tree_unflatten(treedef, columns)


def conformed(value: Any, type: Any) -> Any:
    """One value of the user's as an array of the type that was announced."""
    array = np.asarray(value)
    if len(array.shape) != len(type.shape) or any(
        wanted is not None and wanted != size for size, wanted in zip(array.shape, type.shape, strict=True)
    ):
        is_short = len(array.shape) == len(type.shape) > 0 and array.shape[1:] == tuple(type.shape)[1:]
        remedy = (
            ". If it is a loader's last batch, make the loader with drop_last=True, or of single elements, and batch the dataset; "
            "elements that differ in shape have None for that size in a TensorSpec, and padded_batch"
        )
        raise ValueError(
            f"a dataset of elements of shape {tuple(type.shape)} received one of shape {array.shape}{remedy if is_short else ''}"
        )
    if array.dtype != type.dtype and not np.can_cast(array.dtype, type.dtype, "same_kind"):
        raise TypeError(f"a dataset of elements of dtype {type.dtype} received one of dtype {array.dtype}")
    return array.astype(type.dtype)


def _word(word: Any) -> Any:
    return np.uint32(word) if isinstance(word, int) else word
