"""Choose the cursor for a dataset, and `Elements`: the interface for loops and iterators."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from autograph.runtime.data.cursor import Cursor, Found, Make, pulled
from autograph.runtime.data.cursor_nesting import InterleaveCursor
from autograph.runtime.data.cursor_sources import (
    ChooseCursor,
    ConcatenateCursor,
    PositionalCursor,
    StreamCursor,
    ZipCursor,
)
from autograph.runtime.data.cursor_steps import (
    BatchCursor,
    EnumerateCursor,
    FilterCursor,
    MapCursor,
    RepeatCursor,
    ScanCursor,
    ShardCursor,
    ShuffleCursor,
    SkipCursor,
    TakeCursor,
    UnbatchCursor,
    WindowCursor,
)
from autograph.runtime.data.mapping import apply
from autograph.runtime.data.pipeline import (
    Batch,
    Concatenate,
    Enumerate,
    Key,
    Map,
    Node,
    Reading,
    Repeat,
    Shard,
    Shuffle,
    Skip,
    Take,
    Zip,
    asks_python,
)
from autograph.runtime.data.sequences import Choose, Filter, Interleave, Limit, Scan, TakeWhile, Unbatch, Window
from autograph.runtime.effects.callbacks import numpy_function
from autograph.runtime.tracing.language import LANGUAGE

_KINDS: Mapping[type[Node], Callable[[Any, Reading, Make], Cursor]] = MappingProxyType(
    {
        Zip: ZipCursor,
        Concatenate: ConcatenateCursor,
        Choose: ChooseCursor,
        Map: MapCursor,
        Enumerate: EnumerateCursor,
        Filter: FilterCursor,
        TakeWhile: FilterCursor,
        Scan: ScanCursor,
        Take: TakeCursor,
        Skip: SkipCursor,
        Shard: ShardCursor,
        Repeat: RepeatCursor,
        Shuffle: ShuffleCursor,
        Batch: BatchCursor,
        Window: WindowCursor,
        Unbatch: UnbatchCursor,
        Interleave: InterleaveCursor,
    }
)


def cursor_of(node: Node, reading: Reading) -> Cursor:
    """How to go through the elements of a dataset in order."""
    if node.is_positional or isinstance(node, Limit):
        return PositionalCursor(node, reading, cursor_of)
    if node.is_stream:
        return StreamCursor(node, reading, cursor_of)
    return _KINDS[type(node)](node, reading, cursor_of)


class Elements:
    """The elements of a dataset in order, for a loop of a program. What `map` computes last is left until an element is used.

    Attributes:
      width, sizes: as `Cursor`'s.
    """

    def __init__(self, node: Node, words: dict[Key, Any]) -> None:
        node, self._functions = before_last_maps(node)
        self.cursor = cursor_of(node, Reading(node, words))
        self.width, self.sizes = self.cursor.width, self.cursor.sizes
        self._asks_python = asks_python(node)

    def start(self) -> Any:
        """The state before the first element."""
        return self.cursor.start(0)

    def next(self, state: Any, goes_on: Any) -> Found:
        """How many rows the next element has, 0 at the end, its arrays, and the next state."""
        rows, arrays, state = pulled(self.cursor, state, goes_on)
        return rows, arrays, state

    def checked(self, rows: Any) -> Any:
        """``rows``, after making sure that a program knows this number.

        Raises:
          ValueError: at run time, where it does not.
        """
        if self.sizes is not None and not (
            len(self.sizes) and self._asks_python
        ):  # whose iterator may end before its length
            return rows
        known = [0, self.width, *(self.sizes or ())]

        def refuse(rows: Any) -> Any:
            raise ValueError(
                f"the last batch has {int(rows)} rows of {self.width}: a compiled program must know this at trace time. "
                "Use batch(..., drop_remainder=True)."
            )

        is_known = functools.reduce(operator.or_, (rows == number for number in known))
        return self.cursor.when(is_known, lambda: rows, lambda: numpy_function(refuse, [rows], np.int32))

    def element(self, arrays: Sequence[Any], rows: int) -> Any:
        """The element of so many rows."""
        return mapped(self._functions, self.cursor.element(arrays, rows))


def before_last_maps(node: Node) -> tuple[Node, list[Callable[..., Any]]]:
    """The dataset before the last steps, if these are of `map`, and the functions of those."""
    functions: list[Callable[..., Any]] = []
    while isinstance(node, Map):
        functions.append(node.function)
        node = node.parent
    return node, functions[::-1]


def mapped(functions: Sequence[Callable[..., Any]], element: Any) -> Any:
    """What such functions make of an element."""
    for function in functions:
        element = apply(LANGUAGE.operators, function, element, 0)
    return element
