"""Whether calls of `Function`s may use generated dispatch code, or must go through the general path."""

from __future__ import annotations

import weakref
from typing import Any


class _Shortcuts:
    """Attributes: are_open."""

    def __init__(self) -> None:
        self.are_open = True
        self._closed_for: set[str] = set()
        self._using: weakref.WeakSet[Any] = weakref.WeakSet()

    def use(self, function: Any) -> None:
        """Calls of this function go by blocks from now on: tell it when they may not any more."""
        self._using.add(function)

    def close(self, reason: str) -> None:
        """Let each call of a function pass `Function._call` until this reason is gone."""
        self._closed_for.add(reason)
        self.are_open = False
        functions, self._using = list(self._using), weakref.WeakSet()
        for function in functions:
            function.forget_blocks()

    def open(self, reason: str) -> None:
        """This reason is gone."""
        self._closed_for.discard(reason)
        self.are_open = not self._closed_for


SHORTCUTS = _Shortcuts()
