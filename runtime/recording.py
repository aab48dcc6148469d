"""What this thread is recording: the innermost call of a user's function, and how many effects it has recorded so far."""

from __future__ import annotations

import threading
from typing import Any


class _Recording(threading.local):
    """Attributes: frame (a `variables.Frame`, or None), effects (writes to Variables, prints, calls of Python)."""

    frame: Any = None
    effects = 0


LOCAL = _Recording()


def count_effect() -> None:
    """Note that an effect was recorded."""
    LOCAL.effects += 1


def effects_recorded() -> int:
    """How many effects this thread has recorded: a loop's test that adds to them must run once for each iteration."""
    return LOCAL.effects
