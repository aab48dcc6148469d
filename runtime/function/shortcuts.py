"""How calls of `Function`s go in this process: whether they may use generated dispatch code, or must go through the general path."""

from __future__ import annotations

import weakref
from typing import Any, Protocol


class Collects(Protocol):
    """What is told of the programs that run. See `collecting.Collection`."""

    def add(self, program: Any, arrays: Any) -> None:
        """This program has run with these arrays."""


class _Calls:
    """What users have set for the calls of all functions.

    Attributes:
      run_eagerly: whether each runs its Python function (`run_functions_eagerly`).
      collection: what is told of the programs that run (`summary.trace_on`); None if nobody asks.
      have_shortcuts: whether calls may use generated dispatch code: neither is set.
    """

    def __init__(self) -> None:
        self.run_eagerly = False
        self.collection: Collects | None = None
        self.have_shortcuts = True
        self._using: weakref.WeakSet[Any] = weakref.WeakSet()

    def use(self, function: Any) -> None:
        """Calls of this function go by blocks from now on: tell it when they may not any more."""
        self._using.add(function)

    def set_eager(self, run_eagerly: bool) -> None:
        """Let each call run the Python function, or the program again."""
        self.run_eagerly = run_eagerly
        self._update()

    def set_collection(self, collection: Collects | None) -> None:
        """Tell this collection of the programs that run, and no other."""
        self.collection = collection
        self._update()

    def _update(self) -> None:
        self.have_shortcuts = not self.run_eagerly and self.collection is None
        if not self.have_shortcuts:  # each call of a function passes `Function._call` then
            functions, self._using = list(self._using), weakref.WeakSet()
            for function in functions:
                function.forget_blocks()


CALLS = _Calls()
