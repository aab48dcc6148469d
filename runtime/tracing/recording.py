"""What is recorded in this thread (`LOCAL`)."""

from __future__ import annotations

from autograph.backends.selected import STAGING
from autograph.backends.thread import LOCAL as LOCAL


def is_recording() -> bool:
    """Whether what runs now is recorded, to run later."""
    return STAGING.is_recording(STAGING.place())


def count_effect() -> None:
    """Note that an effect was recorded."""
    LOCAL.effects += 1


def effects_recorded() -> int:
    """How many effects this thread has recorded: a loop's test that adds to them must run once for each iteration."""
    return LOCAL.effects
