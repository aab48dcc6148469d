"""`lazy`: an attribute that is made when it is first asked for, so that a program passes through nothing that it does not use."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

T = TypeVar("T")


class lazy(functools.cached_property[T]):
    """A `functools.cached_property` of which others can ask whether it has been made.

    >>> class Trace:
    ...     @lazy
    ...     def names(self) -> list[str]:
    ...         return []
    >>> trace = Trace()
    >>> Trace.names.made(trace) is None
    True
    >>> trace.names.append("x")
    >>> Trace.names.made(trace)
    ['x']
    """

    def made(self, owner: object) -> T | None:
        """The attribute of ``owner``, if it has been made."""
        found: T | None = vars(owner).get(self._name)
        return found

    def drop(self, owner: object) -> None:
        """Let ``owner`` make it again, if it is asked for again."""
        vars(owner).pop(self._name, None)

    @property
    def _name(self) -> Any:
        return self.attrname
