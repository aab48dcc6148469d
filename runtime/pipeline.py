"""The steps of a dataset, as functions of positions: each tells which rows of the step before make its elements.

No step keeps an order or a place in memory, so a loop on the device, or Python, may ask for any element at any time. A
dataset whose rows come one after the other, from a generator, has the same steps; `streams` runs them in order.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.effects import numpy_function
from autograph.runtime.held import Epochs, HeldArrays
from autograph.runtime.mapping import apply
from autograph.runtime.recording import JOINT


class Reading:
    """One iteration of a dataset: what its steps need to know beside positions.

    Attributes:
      operators: what converted code calls.
      words: for each step that shuffles, which numbers choose the order, as counted when the iteration began.
    """

    def __init__(self, node: Node, words: dict[int, Any] | None = None) -> None:
        self.operators = JOINT.operators
        self.words = begin(node) if words is None else words
        self._arrays: dict[int, list[Any]] = {}
        for step in steps(node):
            if isinstance(step, Slices):
                self._arrays[id(step.held)] = step.held.now()

    def arrays(self, held: HeldArrays) -> list[Any]:
        return self._arrays[id(held)]


def begin(node: Node) -> dict[int, Any]:
    """Count an iteration: the words of each step that shuffles."""
    return {depth: step.epoch() for depth, step in enumerate(steps(node)) if isinstance(step, Shuffle)}


@dataclass(frozen=True)
class Node:
    """One step.

    Some element may be *odd*, of another shape than the rest: the last batch.

    Attributes:
      size: how many elements there are; None for no end, or of a stream, for an unknown number.
      has_odd: whether there is, or may be, an odd element.
      odd_is_last: whether the odd element is the last one and the only one.
    """

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
    held: HeldArrays = field(compare=False)

    @property
    def size(self) -> int:
        return self.length

    def rows(self, reading: Reading, positions: Any, epochs: Any, odd: bool) -> Any:
        return self._taken(reading, lambda array: JOINT.data.rows(array, positions))

    def span(self, reading: Reading, start: Any, count: int, epochs: Any) -> Any:
        return self._taken(reading, lambda array: JOINT.data.block(array, start, count))

    def _taken(self, reading: Reading, take: Callable[[Any], Any]) -> Any:
        return jax.tree_util.tree_unflatten(self.treedef, list(map(take, reading.arrays(self.held))))


@dataclass(frozen=True)
class Numbers(Node):
    """What `range` gives."""

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
      get: the function that gives an item.
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
    """What an iterator gives, one after the other.

    Attributes:
      make: makes the iterator, for each iteration anew.
      spec: the type of an element.
      length: how many there are, if the user said so.
    """

    make: Callable[[], Any]
    spec: Any = field(compare=False)
    length: int | None = None

    @property
    def size(self) -> int | None:
        return self.length


# Steps.


@dataclass(frozen=True)
class Step(Node):
    """A step that has one before it. What it does not change is as there."""

    parent: Node

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
    def size(self) -> int | None:
        return self.count if self.parent.size is None else min(self.count, self.parent.size)

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
        repetition = 0 if self.count is None else epochs
        words = (self.seed & 0xFFFFFFFF, self.seed >> 32 & 0xFFFFFFFF, reading.words[depth_of(self)], repetition)
        return JOINT.data.shuffled(positions, self.parent.size or 0, tuple(map(_word, words)))


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
            return not self.drop and any(isinstance(step, Stream) for step in steps(self)) and not is_endless(self)
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


def depth_of(node: Node) -> int:
    """The number of a step among `steps`."""
    return len(steps(node)) - 1


def is_stream(node: Node) -> bool:
    """Whether elements can be had in order only."""
    return isinstance(steps(node)[0], Stream)


def is_endless(node: Node) -> bool:
    """Whether it is known that there is no last element."""
    return node.size is None and any(isinstance(s, Repeat) and s.count is None for s in steps(node))


def odd_at(node: Node, reading: Reading, position: Any) -> Any:
    """Whether the element at this position of this iteration is odd."""
    epoch: Any = 0
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


def with_source(node: Node, source: Node) -> Node:
    """The same steps on another source."""
    return dataclasses.replace(node, parent=with_source(node.parent, source)) if isinstance(node, Step) else source


def in_one_order(node: Node) -> Node:
    """The same steps, of which those that shuffle choose one order for all iterations."""
    if not isinstance(node, Step):
        return node
    changed: dict[str, Any] = {"count": None} if isinstance(node, Shuffle) else {}
    return dataclasses.replace(node, parent=in_one_order(node.parent), **changed)


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
    if array.shape != tuple(type.shape):
        raise ValueError(f"a dataset of elements of shape {tuple(type.shape)} was given one of shape {array.shape}")
    if array.dtype != type.dtype and not np.can_cast(array.dtype, type.dtype, "same_kind"):
        raise TypeError(f"a dataset of elements of dtype {type.dtype} was given one of dtype {array.dtype}")
    return array.astype(type.dtype)


def _word(word: Any) -> Any:
    return np.uint32(word) if isinstance(word, int) else word
