"""Which functions a program calls when it runs, and no trace has called: what only they read is as it is then.

A callback that appends to a list of the user's, say, changes nothing that the trace has read (see `function.captures`).
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from typing import Any

from autograph.runtime.code.code_names import place_of, user_functions
from autograph.runtime.tracing.recording import LOCAL


def note_called_later(function: Any) -> None:
    """Note that the program that is traced calls this function when it runs."""
    LOCAL.called_later.update(place_of(each.__code__) for each in user_functions(function))


def note_called_now(function: types.FunctionType) -> None:
    """Note that the trace calls this function, or lets a library call it."""
    if LOCAL.called_now is not None:
        LOCAL.called_now.add(place_of(function.__code__))


@contextlib.contextmanager
def nothing_called_now() -> Iterator[None]:
    """While what is noted as called by the trace is only handed to what calls it later."""
    called, LOCAL.called_now = LOCAL.called_now, None
    try:
        yield
    finally:
        LOCAL.called_now = called
