"""Whether every `Function` runs as plain Python: for the whole process."""

from __future__ import annotations

import weakref
from typing import Any


class _Eagerness:
    """Attributes: on."""

    def __init__(self) -> None:
        self.on = False
        self._watching: weakref.WeakSet[Any] = weakref.WeakSet()

    def watch(self, function: Any) -> None:
        """Tell this function when it comes to be on: its calls do not look here while blocks lead to their programs."""
        self._watching.add(function)

    def set(self, on: bool) -> None:
        self.on = on
        functions, self._watching = (list(self._watching), weakref.WeakSet()) if on else ([], self._watching)
        for function in functions:
            function.forget_blocks()


EAGERNESS = _Eagerness()


def run_functions_eagerly(flag: bool) -> None:
    """Make every `Function` run as plain Python (True), so that ``pdb``, ``print`` and breakpoints work, or
    compiled (False).

    >>> import autograph as ag
    >>> ag.run_functions_eagerly(True)
    >>> ag.function(lambda x: type(x).__name__)(1)
    'int'
    >>> ag.run_functions_eagerly(False)
    """
    EAGERNESS.set(bool(flag))


def functions_run_eagerly() -> bool:
    """Whether `run_functions_eagerly` is on.

    >>> functions_run_eagerly()
    False
    """
    return EAGERNESS.on
