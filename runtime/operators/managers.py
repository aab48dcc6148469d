"""``with``: a user's context manager entered and left through its converted methods."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from autograph.runtime.library_table import is_library
from autograph.runtime.raising import Tried

_OF_GENERATOR: Any = type(contextlib.contextmanager(lambda: iter(()))())


class ContextManagers:
    """The operator for ``with``.

    Args:
      call: what to call in place of a function.
    """

    def __init__(self, call: Callable[[Any], Any]) -> None:
        self.call = call

    def manager(self, manager: Any) -> Any:
        """What to enter in place of ``manager``: Python calls its methods by itself, unconverted."""
        kind = type(manager)
        if kind is _OF_GENERATOR:  # what runs in it is converted by now
            return _Manager(manager, kind.__enter__, kind.__exit__)
        if is_library(kind) or not (hasattr(kind, "__enter__") and hasattr(kind, "__exit__")):
            return manager
        enter, leave = kind.__enter__, kind.__exit__
        called = self.call(enter), self.call(leave)
        if called == (enter, leave):
            return manager
        return _Manager(manager, *called)


class _Manager:
    """A context manager that does what the converted methods of another do."""

    def __init__(self, manager: Any, enter: Callable[..., Any], leave: Callable[..., Any]) -> None:
        self._manager, self._enter, self._leave = manager, enter, leave

    def __enter__(self) -> Any:
        found = self._enter(self._manager)
        self._tried = Tried()
        return found

    def __exit__(self, *error: Any) -> Any:
        with self._tried.after():
            return self._leave(self._manager, *error)
