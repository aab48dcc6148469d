"""Recursive calls that hand back what they raise.

The calls of a recursion are one loop, which an exception ends. Where a `try` in the recursion surrounds a call, the function
catches all that it raises instead, and returns it beside its value; after the call it is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.describe import describe
from autograph.runtime.layouts.kinds import NOTHING, Layout
from autograph.runtime.layouts.one_of import candidates_of, is_one_of
from autograph.runtime.layouts.optional import Optional, held_in
from autograph.runtime.layouts.statement_variables import UNBOUND
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location


def attempted(run: Callable[[], Any], roots: Sequence[Any]) -> tuple[Any, Any]:
    """What a call returns, `UNBOUND` if all its paths raise, and the exception that it raises, or None.

    Args:
      roots: functions and values, from which all can be reached that it may write to.
    """
    value: Any  # which has no value where all paths raise
    error = None

    def body() -> None:
        nonlocal value
        assert roots  # the variables of a statement's blocks say what it may write to
        value = run()

    def handle(raised: BaseException) -> None:
        nonlocal error
        error = raised

    LANGUAGE.operators.try_stmt(body, [(None, handle, True)], None, None, ("value", "error"), (), "value")
    try:
        return value, error
    except NameError:
        return UNBOUND, error


def described(value: Any, error: Any, name: str) -> tuple[Layout, list[Any]]:
    """The layout of both, of which the first may have no value, and their leaves.

    Args:
      name: the function's.

    Raises:
      StagingError: the exception has other state than its arguments.
    """
    held = held_in(error) if type(error) is Optional else error
    for each in candidates_of(held) if is_one_of(held) else (held,):
        if isinstance(each, BaseException) and vars(each):
            raise StagingError(
                f"{user_location()}\n  {name!r} calls itself under a traced condition inside a `try`, and raises {type(each).__name__}, "
                "which has other attributes than `args`.\n  Let its handlers read `args`, put the `try` around the outermost call, or "
                "write the recursion as a loop."
            )
    if value is not UNBOUND:
        return describe((value, error))
    layout, leaves = describe((None, error))
    return layout.with_parts([NOTHING, *layout.parts[1:]]), leaves


def value_in(layout: Layout) -> Layout:
    """The layout of the value, of that of both."""
    return layout.parts[0]
