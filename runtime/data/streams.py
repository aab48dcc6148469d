"""Datasets from generators, whose rows are only available in order: Python provides a row or a batch at a time.

A loop on the device opens an iterator, asks for one element after the other by ordered calls of Python, and closes
it. No more than one element is held at a time. What a step computes, rather than chooses, is left to the device.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.data.mapping import apply
from autograph.runtime.data.pipeline import (
    Batch,
    Enumerate,
    Key,
    Map,
    Node,
    PaddedBatch,
    Repeat,
    Shard,
    Shuffle,
    Skip,
    Step,
    Stream,
    Take,
    conformed,
    depth_of,
    steps,
)
from autograph.runtime.effects.callbacks import clean_up, numpy_function
from autograph.runtime.errors import StagingError
from autograph.runtime.signatures.tensor_spec import TensorSpec
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location

_OPEN_AT_MOST = 256
_SIZES_TRIED = 16


# In Python.


def elements(node: Node, words: dict[Key, Any], epoch: int = 0) -> Iterator[Any]:
    """The elements of a stream before what `Map`s compute, as NumPy arrays."""
    if isinstance(node, Stream):
        yield from _conforming(node)
        return
    assert isinstance(node, Step)
    if isinstance(node, Repeat):
        yield from _repeated(node, words, epoch)
        return
    inner = elements(node.parent, words, epoch)
    if isinstance(node, Take):
        yield from itertools.islice(inner, node.count)
    elif isinstance(node, Skip):
        yield from itertools.islice(inner, node.count, None)
    elif isinstance(node, Shard):
        yield from itertools.islice(inner, node.index, None, node.number)
    elif isinstance(node, Shuffle):
        yield from _shuffled(node, inner, int(words[depth_of(node)]), 0 if node.count is None else epoch)
    elif isinstance(node, Enumerate):
        for k, element in enumerate(inner, node.start):
            yield np.int32(k), element
    elif isinstance(node, Batch):
        yield from _batched(node, inner)
    else:
        yield from inner


def _conforming(node: Stream) -> Iterator[Any]:
    treedef: Any
    wanted, treedef = jax.tree_util.tree_flatten(node.spec)
    iterator = iter(node.make())
    try:
        for element in iterator:
            try:
                found = treedef.flatten_up_to(element)
            except (TypeError, ValueError) as error:
                raise TypeError(f"a dataset of elements {node.spec} received {element!r}") from error
            leaves = [conformed(value, type) for value, type in zip(found, wanted, strict=True)]
            yield jax.tree_util.tree_unflatten(treedef, leaves)
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            close()


def _repeated(node: Repeat, words: dict[Key, Any], epoch: int) -> Iterator[Any]:
    for k in itertools.count() if node.count is None else range(node.count):
        is_empty = True
        for element in elements(node.parent, words, epoch * (node.count or 1) + k):
            is_empty = False
            yield element
        if is_empty:
            return


def _shuffled(node: Shuffle, inner: Iterator[Any], iteration: int, epoch: int) -> Iterator[Any]:
    chooser = np.random.default_rng([node.seed & 0xFFFFFFFFFFFFFFFF, iteration, epoch])
    assert node.buffer is not None
    held = list(itertools.islice(inner, node.buffer))
    for element in inner:
        k = int(chooser.integers(len(held)))
        chosen, held[k] = held[k], element
        yield chosen
    while held:
        k = int(chooser.integers(len(held)))
        held[k], held[-1] = held[-1], held[k]
        yield held.pop()


def _batched(node: Batch, inner: Iterator[Any]) -> Iterator[Any]:
    while rows := list(itertools.islice(inner, node.width)):
        if len(rows) < node.width and node.drop:
            return
        if isinstance(node, PaddedBatch):
            yield node.padding.stacked(rows)
            continue
        leaves, treedef = zip(*map(jax.tree_util.tree_flatten, rows), strict=True)
        columns_of = list(zip(*leaves, strict=True))
        try:
            columns = [np.stack(column) for column in columns_of]
        except ValueError:
            shapes = next(shapes for shapes in ([leaf.shape for leaf in c] for c in columns_of) if len(set(shapes)) > 1)
            raise ValueError(
                f"elements of different shapes cannot be batched; got {shapes[:4]}. Use padded_batch, or where they are batches, "
                "pass drop_remainder=True to the first batch."
            ) from None
        yield jax.tree_util.tree_unflatten(treedef[0], columns)


# What the device makes of it.


def spec_of(node: Node) -> Any:
    """The type of what `elements` returns, of full batches. Where a size differs from element to element, a `TensorSpec` with None."""
    if isinstance(node, Stream):
        return node.spec
    assert isinstance(node, Step)
    inner = spec_of(node.parent)
    if isinstance(node, Enumerate):
        return jax.ShapeDtypeStruct((), np.dtype(np.int32)), inner
    if isinstance(node, Batch):
        treedef: Any
        types, treedef = jax.tree_util.tree_flatten(inner)
        shapes = node.padding.shapes if isinstance(node, PaddedBatch) else [type.shape for type in types]
        return treedef.unflatten(
            [array_type((node.width, *shape), type.dtype) for shape, type in zip(shapes, types, strict=True)]
        )
    return inner


def array_type(shape: tuple[int | None, ...], dtype: Any) -> Any:
    """The type of arrays of a shape, in which None represents a size that differs."""
    return jax.ShapeDtypeStruct(shape, dtype) if None not in shape else TensorSpec(shape, dtype)


def is_open(node: Node) -> bool:
    """Whether elements differ in shape, so that only Python can have them."""
    return node.is_stream and any(None in type.shape for type in jax.tree_util.tree_leaves(spec_of(node)))


def open_types(node: Node) -> Any:
    """The types of elements that differ in shape, as `TensorSpec`s."""
    raw = jax.tree_util.tree_map(lambda s: TensorSpec(s.shape, s.dtype), spec_of(node))
    if not any(isinstance(step, Map) for step in steps(node)):
        return raw
    return (
        LANGUAGE.compiled(lambda raw: computed(node, LANGUAGE.operators, raw))
        .get_concrete_function(raw)
        .structured_outputs
    )


def fixed_spec_of(node: Node) -> Any:
    """`spec_of`, for a program.

    Raises:
      StagingError: elements differ in shape.
    """
    spec = spec_of(node)
    if is_open(node):
        raise StagingError(
            f"{user_location()}\n  The elements of this dataset differ in shape, {spec}, and a program needs one shape.\n"
            "  Call padded_batch(..., padded_shapes=...) with a number for each size, before steps that compute."
        )
    return spec


def computed(node: Node, operators: Any, raw: Any, depth: int = 0) -> Any:
    """The element that a raw one represents; it has ``depth`` axes before its own."""
    if isinstance(node, Stream):
        return jax.tree_util.tree_map(jnp.asarray, raw)
    assert isinstance(node, Step)
    if isinstance(node, Map):
        return apply(operators, node.function, computed(node.parent, operators, raw, depth), depth)
    if isinstance(node, Enumerate):
        return jnp.asarray(raw[0]), computed(node.parent, operators, raw[1], depth)
    return computed(node.parent, operators, raw, depth + isinstance(node, Batch))


def _has_rows(node: Node) -> Any:
    """Which of the arrays that `elements` returns have the rows of the last batch as their first axis."""
    if isinstance(node, Stream | Batch):
        return jax.tree_util.tree_map(lambda _: isinstance(node, Batch), spec_of(node))
    assert isinstance(node, Step)
    inner = _has_rows(node.parent)
    return (False, inner) if isinstance(node, Enumerate) else inner


def width_of(node: Node) -> int:
    """How many rows an element has: 1 where there are no batches."""
    batch = outer_batch(node)
    return 1 if batch is None else batch.width


def odd_widths(node: Node) -> tuple[int, ...] | None:
    """The sizes that a last batch may have; None where they are too many for a program for each."""
    batch = outer_batch(node)
    if batch is None or not node.has_odd:
        return ()
    if batch.parent.size is not None:
        return (batch.odd_width,)
    return tuple(range(1, batch.width)) if batch.width <= _SIZES_TRIED else None


def outer_batch(node: Node) -> Batch | None:
    """The last step that makes batches."""
    return next((step for step in reversed(steps(node)) if isinstance(step, Batch)), None)


# Iterators of programs that run.


class _Open:
    """The iterators that programs have opened. Few are open at a time; those of failed calls make room in the end."""

    def __init__(self) -> None:
        self._iterators: OrderedDict[int, Iterator[Any]] = OrderedDict()
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def add(self, iterator: Iterator[Any]) -> int:
        with self._lock:
            number = next(self._numbers) & 0x7FFFFFFF
            self._iterators[number] = iterator
            dropped = self._iterators.popitem(last=False)[1] if len(self._iterators) > _OPEN_AT_MOST else None
        del dropped
        return number

    def next(self, number: int) -> Any:
        iterator = self._iterators.get(number)
        if iterator is None:
            raise RuntimeError(f"more than {_OPEN_AT_MOST} loops over generators are active at the same time")
        try:
            return next(iterator)
        except BaseException:
            self.close(number)
            raise

    def close(self, number: int) -> None:
        with self._lock:
            iterator = self._iterators.pop(number, None)
        if iterator is not None:
            iterator.close()  # type: ignore[attr-defined]


_OPEN = _Open()


@dataclass(frozen=True)
class StagedStream:
    """One iteration of a stream by a program.

    Attributes:
      number: of the iterator, a traced integer.
      take: returns the next element of the iterator of a number, or raises `StopIteration`.
    """

    node: Node
    number: Any
    take: Callable[[int], Any] = _OPEN.next

    @classmethod
    def open(cls, node: Node, words: dict[Key, Any], epoch: Any = 0) -> StagedStream:
        """Record the making of the iterator of this repetition."""
        depths = list(words)

        def make(epoch: Any, *values: Any) -> Any:
            return np.int32(_OPEN.add(elements(node, dict(zip(depths, values, strict=True)), int(epoch))))

        return cls(node, numpy_function(make, [epoch, *(words[depth] for depth in depths)], np.int32))

    @property
    def slots(self) -> Sequence[Any]:
        """What a loop has to carry: nothing, since the iterator is Python's."""
        return ()

    @property
    def width(self) -> int:
        return width_of(self.node)

    @property
    def sizes(self) -> tuple[int, ...] | None:
        return odd_widths(self.node)

    def next(self, goes_on: Any) -> tuple[Any, Any]:
        """Record a call for the next element: how many rows it has, 0 at the end, and the element, filled up.

        Without ``goes_on`` nothing is asked for, and it is the end.
        """
        spec, width, sizes = fixed_spec_of(self.node), width_of(self.node), odd_widths(self.node)
        treedef: Any
        types, treedef = jax.tree_util.tree_flatten(spec)
        has_rows = jax.tree_util.tree_leaves(_has_rows(self.node))

        def fetch(number: Any, wanted: Any) -> Any:
            nothing = [np.zeros(type.shape, type.dtype) for type in types]
            if not wanted:
                return np.int32(0), treedef.unflatten(nothing)
            try:
                leaves = treedef.flatten_up_to(self.take(int(number)))
            except StopIteration:
                return np.int32(0), treedef.unflatten(nothing)
            rows = next((leaf.shape[0] for leaf, has in zip(leaves, has_rows, strict=True) if has), 1)
            if rows != width:
                _check_odd(rows, width, sizes)
                for blank, leaf, has in zip(nothing, leaves, has_rows, strict=True):
                    blank[slice(rows) if has else ...] = leaf
                leaves = nothing
            return np.int32(rows), treedef.unflatten(leaves)

        count, raw = numpy_function(fetch, [self.number, goes_on], (jax.ShapeDtypeStruct((), np.int32), spec))
        return count, raw

    def element(self, operators: Any, raw: Any, rows: int) -> Any:
        """The element of so many rows."""
        if rows != width_of(self.node):
            raw = jax.tree_util.tree_map(lambda leaf, has: leaf[:rows] if has else leaf, raw, _has_rows(self.node))
        return computed(self.node, operators, raw)

    def close(self) -> None:
        """Record the end of the iteration."""
        close(self.number)


def close(number: Any) -> None:
    """End an iteration by its number: now, or when the program that is recorded runs."""
    clean_up(lambda number: _OPEN.close(int(number)), [number])


def _check_odd(rows: int, width: int, sizes: tuple[int, ...] | None) -> None:
    if sizes is None:
        raise ValueError(
            f"a generator's last batch has {rows} rows of {width}: a compiled program must know this at trace time. "
            "Use batch(..., drop_remainder=True), or pass the number of rows: from_generator(..., length=n)."
        )
    if rows not in sizes:
        raise ValueError(f"a generator's last batch has {rows} rows, and by its length it should have {sizes}")
