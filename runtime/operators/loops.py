"""``while`` and ``for``: in Python while tests and items are concrete, as one staged loop where they are traced."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from autograph.backends.base import Backend
from autograph.runtime.operators.iterables import StagedIterable, StagedRange, as_staged, to_be_staged
from autograph.runtime.operators.journal import Journal
from autograph.runtime.operators.locations import user_location
from autograph.runtime.operators.loop_carry import LoopTrace
from autograph.runtime.operators.loop_state import CarryChanges
from autograph.runtime.operators.state import (
    Marks,
    Slot,
    Snapshot,
    find_variables,
    flatten,
    value_of,
)
from autograph.runtime.raising import Raising
from autograph.runtime.recording import effects_recorded

Thunk = Callable[[], Any]
_ENDLESS = StagedIterable(None, (), lambda index, slices: None)


class Loops(Raising):
    """The operators for loops. Needs ``backend``, ``marks`` and ``staged_if`` from the object it is mixed into."""

    backend: Backend
    marks: Marks
    journal: Journal
    staged_if: Callable[..., Any]

    def while_stmt(self, test: Thunk, body: Thunk, names: Sequence[str], result: str | None = None) -> None:
        """Run ``body`` while ``test()`` is true; ``names`` and ``result`` as for `if_stmt`."""
        tried = not self._may_become_traced((test, body))
        if not tried and self._staged_by_its_test(test, body, names, result):
            return
        while True:
            before = (_cell_values(test), effects_recorded())
            truth = value_of(test())
            test_writes = (_cell_values(test), effects_recorded()) != before
            if self.backend.is_traced(truth):
                loop = self._while_loop(test, body, names, result, test_writes, self._truth(truth))
                loop.settle()
                loop.emit()
                return
            if not truth:
                return
            if not tried:
                tried = True
                loop = self._while_loop(test, body, names, result, test_writes, True, surely_runs=True)
                if self._on_trial(loop):
                    return
            body()

    def _staged_by_its_test(self, test: Thunk, body: Thunk, names: Sequence[str], result: str | None) -> bool:
        """Stage a ``while`` whose test, asked once with the state traced, turns out to be traced.

        Else nothing has happened.
        """
        loop = self._while_loop(test, body, names, result, False, None)
        effects = effects_recorded()
        if not loop.test_is_traced() or effects_recorded() != effects:
            return False  # a test with effects runs once per iteration, in the body
        loop.settle()
        loop.emit()
        return True

    def for_stmt(
        self,
        iterable: Any,
        body: Callable[[Any], Any],
        names: Sequence[str],
        test: Thunk | None = None,
        result: str | None = None,
    ) -> None:
        """Run ``body(item)`` for each item; ``test``, where given, says whether to go on before each."""
        staged = as_staged(iterable, self.backend)
        if staged is not None:
            self._staged_for(staged, body, names, test, result)
        elif (
            test is not None
            and isinstance(iterable, range | StagedRange)
            and len(iterable) > 1
            and self._may_become_traced((test, body))
            and self._tried_for(iterable, body, names, test, result)
        ):
            return
        else:
            self._python_for(iter(iterable), body, names, test, result)

    # In Python.

    def _python_for(
        self,
        items: Iterator[Any],
        body: Callable[[Any], Any],
        names: Sequence[str],
        test: Thunk | None,
        result: str | None,
    ) -> None:
        if test is None:
            for item in items:
                body(item)
            return
        for item in items:
            body(item)
            go_on = value_of(test())
            if self.backend.is_traced(go_on):
                self._guarded_for(items, body, names, test, result)
                return
            if not go_on:
                return

    def _guarded_for(
        self,
        items: Iterator[Any],
        body: Callable[[Any], Any],
        names: Sequence[str],
        test: Thunk,
        result: str | None,
    ) -> None:
        """The rest of a loop over Python objects once its end is traced: each further body under the test."""
        functions = (body, test)
        for item in items:
            variables = find_variables(names, functions)
            self.staged_if(
                test(),
                lambda item=item: _nothing(body(item)),
                None,
                variables,
                Snapshot(functions, variables),
            )

    def _may_become_traced(self, functions: Sequence[Callable[..., Any]]) -> bool:
        """Whether anything the loop's functions reach directly is traced now, so that trying to stage is worth
        while.
        """
        for function in functions:
            for cell in function.__closure__ or ():
                try:
                    content = cell.cell_contents
                except ValueError:
                    continue
                if self._holds_traced(content):
                    return True
        return False

    def _holds_traced(self, value: Any) -> bool:
        try:
            leaves = flatten(value)[0] if isinstance(value, list | tuple | dict) else [value]
        except (TypeError, ValueError):
            return False
        held = itertools.chain(
            leaves,
            *(vars(leaf).values() for leaf in leaves if hasattr(leaf, "__dict__") and not callable(leaf)),
        )
        return any(self.backend.is_traced(leaf) for leaf in held)

    # Staged.

    def _while_loop(
        self,
        test: Thunk,
        body: Thunk,
        names: Sequence[str],
        result: str | None,
        test_writes: bool,
        truth: Any,
        surely_runs: bool = False,
    ) -> LoopTrace:
        """A ``while`` from the present state on.

        A test that writes has run once and runs at the end of each iteration.
        """
        functions = (test, body)
        variables = find_variables(names, functions)
        snapshot = Snapshot(functions, variables)
        goes_on = Slot("the loop's test", truth)
        if test_writes:
            variables.append(goes_on)

        def iteration(_: Any) -> None:
            body()
            if test_writes:
                goes_on.set(self._truth(test()))

        return LoopTrace(
            self.backend,
            self.marks,
            self.journal,
            self,
            variables,
            snapshot,
            user_location(),
            goes_on.get if test_writes else lambda: self._truth(test()),
            iteration,
            _ENDLESS,
            surely_runs=surely_runs,
            result_name=result,
        )

    def _staged_for(
        self,
        staged: StagedIterable,
        body: Callable[[Any], Any],
        names: Sequence[str],
        test: Thunk | None,
        result: str | None,
        peeled: bool = False,
    ) -> None:
        if isinstance(staged.length, int) and staged.length <= 0:
            return
        loop = self._for_loop(staged, body, names, test, result)
        try:
            loop.settle(may_peel=not peeled)
        except (CarryChanges, UnboundLocalError) as error:
            if peeled or (isinstance(error, UnboundLocalError) and error.name not in names):
                raise
            self._peeled_for(staged, body, names, test, result)
        else:
            loop.emit()

    def _peeled_for(
        self,
        staged: StagedIterable,
        body: Callable[[Any], Any],
        names: Sequence[str],
        test: Thunk | None,
        result: str | None,
    ) -> None:
        """Run the first iteration by itself, where the state has types that only it sees (None, say), and stage
        the rest.
        """
        if not isinstance(staged.length, int) and not staged.surely:
            bodies = (body, test)
            variables = find_variables(names, bodies)

            def run_all() -> None:
                self._peeled_for(dataclasses.replace(staged, surely=True), body, names, test, result)

            self.staged_if(staged.length > 0, run_all, None, variables, Snapshot(bodies, variables), result)
            return
        body(staged.first())
        rest = staged.rest()
        go_on = True if test is None else test()
        if not self.backend.is_traced(go_on):
            if go_on:
                self._staged_for(rest, body, names, test, result, peeled=True)
            return

        def run_rest() -> None:
            self._staged_for(rest, body, names, test, result, peeled=True)

        variables = find_variables(names, (body, test))
        functions = (body, test)
        self.staged_if(go_on, run_rest, None, variables, Snapshot(functions, variables), result)

    def _tried_for(
        self,
        iterable: range | StagedRange,
        body: Callable[[Any], Any],
        names: Sequence[str],
        test: Thunk,
        result: str | None,
    ) -> bool:
        """Stage a loop over a Python range if it turns out to end by a traced test."""
        staged = as_staged(to_be_staged(iterable), self.backend, force=True)
        assert staged is not None
        loop = self._for_loop(staged, body, names, test, result)
        return self._on_trial(loop)

    def _for_loop(
        self,
        staged: StagedIterable,
        body: Callable[[Any], Any],
        names: Sequence[str],
        test: Thunk | None,
        result: str | None,
    ) -> LoopTrace:
        functions = (body,) if test is None else (body, test)
        variables = find_variables(names, functions)
        return LoopTrace(
            self.backend,
            self.marks,
            self.journal,
            self,
            variables,
            Snapshot(functions, variables),
            user_location(),
            None if test is None else (lambda: self._truth(test())),
            lambda item: _nothing(body(item)),
            staged,
            surely_runs=isinstance(staged.length, int) and (test is None or not self.backend.is_traced(test())),
            result_name=result,
        )

    def _on_trial(self, loop: LoopTrace) -> bool:
        try:
            loop.settle()
            if loop.test_is_static():
                return False
        except Exception:
            return False  # what Python can run and staging cannot; if it is an error, Python will raise it
        loop.emit()
        return True

    def _truth(self, value: Any) -> Any:
        value = value_of(value)
        return self.backend.predicate(value) if self.backend.is_traced(value) else bool(value)


def _nothing(_: Any) -> None:
    return None


def _cell_values(function: Callable[..., Any]) -> list[int]:
    """The identities of what a function's cells hold, to see whether running it rebinds any."""
    values = []
    for cell in function.__closure__ or ():
        try:
            values.append(id(cell.cell_contents))
        except ValueError:
            values.append(0)
    return values
