"""Why the branches of a staged conditional are refused."""

from __future__ import annotations

import sys
from typing import Any

from autograph.runtime.errors import StagingError
from autograph.runtime.tracing.locations import most_called, user_location


def why_too_deep() -> str:
    """What the error says where statements are nested deeper than Python's stack."""
    called = most_called()
    if called is not None:
        return (
            f"  A branch of this statement leads back to it without end: {called!r} calls itself under a traced condition, and "
            "while tracing both branches are followed.\n  A recursion is staged if its arguments keep their "
            "types, and their Python values other than numbers, at every depth. Write any other as a "
            "loop."
        )
    return (
        f"  Staged statements, in each other and in what they call, are nested here as deep as Python's stack of "
        f"{sys.getrecursionlimit()} frames lets them be traced.\n  Let one return before the next begins, or raise the limit "
        "(sys.setrecursionlimit) before the call."
    )


def unseen_birth(made: Any) -> StagingError:
    """The error for a branch that makes a node by code that is not converted."""
    kind = type(made).__name__
    return StagingError(
        f"{user_location()}\n  A branch of this statement makes a {kind}, one of objects that lead to each other, by code that is not "
        f"converted: a copy, say, or a library. What it holds is not seen.\n  Call the class itself: {kind}(…)."
    )


def unbound_error(name: str, is_free: bool) -> NameError:
    """Python's error for a variable without a value; a cell, where it lives now, has other words for a local one."""
    if is_free:
        text = f"cannot access free variable {name!r} where it is not associated with a value in enclosing scope"
        return NameError(text, name=name)
    text = f"cannot access local variable {name!r} where it is not associated with a value"
    return UnboundLocalError(text, name=name)
