"""Extract the source line and the parts of the message from an exception, for display."""

from __future__ import annotations

import re

from autograph.runtime.explorer.page import Refusal
from autograph.runtime.tracing.locations import user_position

_PLACE = re.compile(r"(.+?):(\d+):? ?")


def refusal_of(error: Exception) -> Refusal:
    """What was said, and the line that it was said of: the one that the message begins with, as all of ours do, or else the
    innermost of the user's in the traceback."""
    text, first = str(error), str(error).partition("\n")[0]
    match = _PLACE.match(first)
    position = user_position(error.__traceback__)
    line = (match[1], int(match[2])) if match is not None else None if position is None else position[:2]
    return Refusal(type(error).__name__, text, line)
