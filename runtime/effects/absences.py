"""What a block may find absent, as the exception that tells of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograph.runtime.heap.places import AttributePlace

_FREE = "cannot access free variable"
# What a block may find absent, and a later iteration of a loop around it may find there.
ABSENCES = (NameError, AttributeError, LookupError)


def may_be_bound(error: BaseException, names: Sequence[str]) -> bool:
    """Whether what the error finds absent may come from a statement that binds these variables."""
    return error.name in names if isinstance(error, NameError) else True


def is_absence_of(kind: type[BaseException], name: str | None, place: Any) -> bool:
    """Whether an error of this class, about this name, may say that this place holds nothing."""
    if isinstance(place, AttributePlace):
        return issubclass(kind, AttributeError) and name in (None, place.attribute)
    return issubclass(kind, NameError) and name in (None, place.name)


def is_unbound(error: BaseException) -> bool:
    """Whether a variable of a function has no value."""
    return isinstance(error, UnboundLocalError) or (isinstance(error, NameError) and _FREE in str(error))
