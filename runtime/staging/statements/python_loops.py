"""`PythonLoops`: the ``for`` loops that Python runs while it traces, an iteration at a time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from autograph.backends.base import Backend
from autograph.runtime.heap.copies import Copies, Watch
from autograph.runtime.layouts.statement_variables import Snapshot
from autograph.runtime.staging.statements.iteration import refuse_resuming
from autograph.runtime.staging.statements.loop_state import ForLoop, traced_leaves


class PythonLoops:
    """Runs them, and stages what a traced test makes conditional.

    Args:
      staged_if: of `Conditionals`. asked: of `Operations`.
    """

    def __init__(self, backend: Backend, staged_if: Callable[..., Any], asked: Callable[[Any], Any]) -> None:
        self._backend, self._staged_if, self._asked = backend, staged_if, asked

    def run_entries(self, entries: Sequence[tuple[Any, Any]], loop: ForLoop) -> None:
        """A loop over a dict of which some keys may be absent: the body runs for those that are there."""
        for present, item in entries[: loop.options.bound]:
            go_on = present
            if loop.test is not None:
                test = self._asked(loop.test())
                if present is True:
                    go_on = test
                elif self._backend.is_traced(test):
                    go_on = test & present
                elif not test:
                    go_on = False
            if self._backend.is_traced(go_on):
                self._run_if(go_on, loop, item)
            elif go_on:
                loop.body(item)

    def _run_if(self, go_on: Any, loop: ForLoop, item: Any) -> None:
        """Run the body on this item under a traced condition."""
        variables = loop.variables()
        body = functools.partial(_run, loop.body, item)
        snapshot = Snapshot((*loop.functions, lambda: item), variables)  # the item is from before, too
        self._staged_if(go_on, body, None, variables, snapshot, loop.result, True)

    def run(self, items: Iterator[Any], loop: ForLoop, reason: str | None, copies: Copies) -> None:
        """A loop over these items. ``reason``: why it is not one staged loop. ``copies``: of it."""
        watch = Watch(self._backend, traced_leaves, loop.functions, copies.peeled, copies.are_empty)
        for item in items:
            watch.step()
            if loop.report is not None:
                loop.report(watch.count - 1)
            loop.body(item)
            if loop.test is None:
                continue
            go_on = self._asked(loop.test())
            if self._backend.is_traced(go_on):
                self._guarded_for(items, loop, watch)
                break
            if not go_on:
                break
        if loop.options.unroll is not True:
            watch.warn(reason)

    def _guarded_for(self, items: Iterator[Any], loop: ForLoop, watch: Watch) -> None:
        """The rest of a loop over Python objects once its end is traced: each further body under the test."""
        assert loop.test is not None
        if loop.is_resumed:
            raise refuse_resuming()
        for item in items:
            watch.step()
            self._run_if(loop.test(), loop, item)


def _run(body: Callable[[Any], Any], item: Any) -> None:
    body(item)
