"""Stage ``for`` over a dataset as one loop that computes its elements on the device or requests them from Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from autograph.runtime.containers.iterables import StagedIterable
from autograph.runtime.data.iterators import DatasetIterator, InOrder, opened
from autograph.runtime.data.pipeline import Node, Reading, Take, is_endless, odd_at
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.statement_variables import Slot, Snapshot, Variable
from autograph.runtime.staging.statements.loop_carry import LoopTrace
from autograph.runtime.staging.statements.loop_state import ENDLESS, CarryChanges, ForLoop, Thunk
from autograph.runtime.tracing.locations import user_location

_AS_GOOD_AS_ENDLESS = 2**31 - 1
Body = Callable[[Any], Any]


def loop_over(operators: Any, node: Node, loop: ForLoop) -> None:
    """Run the body of ``loop`` for each element of the dataset whose last step is ``node``."""
    if loop.options.has_traced_bound:
        raise StagingError(
            f"{user_location()}\n  maximum_iterations is traced, and this loop is over a dataset.\n"
            "  Pass an int, or leave the loop with a `break`."
        )
    if loop.options.bound is not None:
        node = Take(node, loop.options.bound)
    if loop.test is None and is_endless(node):
        raise StagingError(
            f"{user_location()}\n  This dataset is infinite, and the loop over it has no `break`.\n"
            "  Pass a number to repeat(n), take(n) elements, or add a `break`."
        )
    kind = (
        _OrderedLoop if not node.is_positional else _UnevenLoop if node.has_odd and not node.odd_is_last else _EvenLoop
    )
    kind(operators, node, loop).run()


def loop_over_iterator(operators: Any, iterator: DatasetIterator, loop: ForLoop) -> None:
    """Run the body of ``loop`` for each element that an iterator over a dataset has left."""
    node = iterator.node
    if loop.options.bound is not None or loop.options.has_traced_bound:
        raise StagingError(
            f"{user_location()}\n  maximum_iterations bounds loops over a dataset, and this one is over an iterator.\n"
            "  Loop over the dataset, or leave the loop by a `break`."
        )
    if not node.is_positional:
        _OrderedLoop(operators, node, loop, iterator).run()
        return
    if node.has_odd and not node.odd_is_last:
        raise StagingError(
            f"{user_location()}\n  Any batch of this iterator may be smaller than the others, and a program "
            "needs the shape of each while tracing.\n  Use batch(..., drop_remainder=True), or loop over the dataset."
        )
    _RestLoop(operators, iterator, loop).run()


class _DataLoop:
    """What the three kinds of loops have in common."""

    def __init__(self, operators: Any, node: Node, loop: ForLoop) -> None:
        self.operators, self.node, self.loop = operators, node, loop

    def variables(self) -> list[Variable]:
        return self.loop.variables()

    def trace(self, test: Thunk | None, iteration: Body, staged: StagedIterable, surely_runs: bool) -> LoopTrace:
        return LoopTrace(
            self.operators.raising,
            self.operators,
            self.variables(),
            self.loop.functions,
            test,
            iteration,
            staged,
            surely_runs=surely_runs,
            result_name=self.loop.result,
            options=self.loop.options,
        )

    def if_(self, test: Any, block: Thunk, orelse: Thunk | None = None) -> None:
        variables = self.variables()
        snapshot = Snapshot(self.loop.functions, variables)
        self.operators.staged_if(test, block, orelse, variables, snapshot, self.loop.result)

    def goes_on(self) -> Any:
        """Whether the loop's own test, if it has one, lets it go on."""
        return True if self.loop.test is None else self.operators.truth(self.loop.test())


class _EvenLoop(_DataLoop):
    """All elements are of one shape, save perhaps the last, which has the body for itself."""

    def run(self) -> None:
        node, reading = self.node, Reading(self.node)
        length = _AS_GOOD_AS_ENDLESS if node.size is None else node.size - node.has_odd
        staged = StagedIterable(length, (), lambda index, slices: node.rows(reading, index, 0, False))
        self.operators.staged_for(staged, self.loop)
        if not node.has_odd:
            return

        def last() -> None:
            self.loop.body(node.rows(reading, length, 0, True))

        goes_on = self.goes_on() if length else True
        if self.operators.backend.is_traced(goes_on):
            self.if_(goes_on, last)
        elif goes_on:
            last()


class _OpenLoop(_DataLoop):
    """A loop for as long as `has_element` finds another element, `_iteration` being one step."""

    def has_element(self) -> Any:
        raise NotImplementedError

    def _iteration(self) -> None:
        raise NotImplementedError

    def _loop(self, may_peel: bool) -> None:
        loop = self.trace(self.has_element, lambda _: self._iteration(), ENDLESS, surely_runs=False)
        try:
            loop.settle(may_peel)
        except (CarryChanges, UnboundLocalError) as error:
            if not may_peel or (isinstance(error, UnboundLocalError) and error.name not in self.loop.names):
                raise
            self.if_(self.has_element(), self._first_and_rest)
        else:
            loop.emit()

    def _first_and_rest(self) -> None:
        """The first element by itself, where the state has types that only it sees (None, say)."""
        self._iteration()
        self._loop(may_peel=False)


class _RestLoop(_OpenLoop):
    """The elements behind an iterator's place, which each iteration moves on.

    Attributes:
      has_next: whether there is another iteration.
    """

    def __init__(self, operators: Any, iterator: DatasetIterator, loop: ForLoop) -> None:
        super().__init__(operators, iterator.node, loop)
        self.reading = iterator.reading()
        self.place = iterator.position()
        self.has_next = Slot("whether there is another element", self._is_there())

    def variables(self) -> list[Variable]:
        return [*super().variables(), self.has_next]

    def has_element(self) -> Any:
        return self.has_next.get()

    def run(self) -> None:
        self._loop(may_peel=True)
        node = self.node
        if node.has_odd:
            assert node.size is not None
            self.if_((self.place.value == node.size - 1) & self.goes_on(), lambda: self._body(odd=True))

    def _iteration(self) -> None:
        self._body(odd=False)
        self.has_next.set(self._is_there() & self.goes_on())

    def _body(self, odd: bool) -> None:
        here = self.place.value
        self.place.assign_add(1)
        self.loop.body(self.node.rows(self.reading, here, 0, odd))

    def _is_there(self) -> Any:
        size = self.node.size
        return jnp.asarray(True) if size is None else self.place.value < size - self.node.has_odd


class _UnevenLoop(_DataLoop):
    """Elements of another shape may come anywhere: each iteration has two bodies."""

    def run(self) -> None:
        self.reading = Reading(self.node)
        try:
            self._loop(0, may_peel=True)
        except (CarryChanges, UnboundLocalError) as error:
            if isinstance(error, UnboundLocalError) and error.name not in self.loop.names:
                raise
            self._iteration(np.int32(0))
            goes_on = self.goes_on()
            if self.operators.backend.is_traced(goes_on):
                self.if_(goes_on, lambda: self._loop(1, may_peel=False))
            elif goes_on:
                self._loop(1, may_peel=False)

    def _loop(self, start: int, may_peel: bool) -> None:
        length = (_AS_GOOD_AS_ENDLESS if self.node.size is None else self.node.size) - start
        staged = StagedIterable(length, (), lambda index, slices: index)
        loop = self.trace(
            None if self.loop.test is None else self.goes_on,
            lambda index: self._iteration(start + index),
            staged,
            surely_runs=True,
        )
        loop.settle(may_peel)
        loop.emit()

    def _iteration(self, position: Any) -> None:
        node, reading = self.node, self.reading
        is_odd = odd_at(node, reading, position)
        if not self.operators.backend.is_traced(is_odd):
            self.loop.body(node.rows(reading, position, 0, bool(is_odd)))
            return
        self.if_(
            is_odd,
            lambda: self.loop.body(node.rows(reading, position, 0, True)),
            lambda: self.loop.body(node.rows(reading, position, 0, False)),
        )


class _OrderedLoop(_OpenLoop):
    """The next element is asked for at the end of each iteration that goes on.

    Attributes:
      rows: how many rows the present element has; 0 at the end.
      raw: the present element as it came.
      ends: whether the iterator is the loop's own, and ends with it.
    """

    def __init__(self, operators: Any, node: Node, loop: ForLoop, iterator: DatasetIterator | None = None) -> None:
        super().__init__(operators, node, loop)
        self.ends = iterator is None
        self.stream: InOrder = opened(node) if iterator is None else iterator.stream()
        self.width, self.sizes = self.stream.width, self.stream.sizes or ()
        self.is_uneven = bool(self.sizes) and not node.odd_is_last
        rows, raw = self.stream.next(True)
        self.rows, self.raw = Slot("the number of rows", rows), Slot("the element", raw)

    def variables(self) -> list[Variable]:
        return [*super().variables(), self.rows, self.raw, *self.stream.slots]

    def run(self) -> None:
        self._loop(may_peel=True)
        if not self.is_uneven:
            for size in self.sizes:
                self.if_(self.rows.get() == size, lambda size=size: self._body(size))  # type: ignore[misc]
        if self.ends:
            self.stream.close()

    def has_element(self) -> Any:
        rows = self.rows.get()
        return rows > 0 if self.is_uneven else rows == self.width

    def _iteration(self) -> None:
        if self.is_uneven:
            rows = self.rows.get()
            for size in [self.width, *self.sizes]:
                self.if_(rows == size, lambda size=size: self._body(size))  # type: ignore[misc]
        else:
            self._body(self.width)
        rows, raw = self.stream.next(self.goes_on())
        self.rows.set(rows)
        self.raw.set(raw)

    def _body(self, rows: int) -> None:
        self.loop.body(self.stream.element(self.operators, self.raw.get(), rows))
