"""`lazy`: an attribute that is made when it is first asked for, so that a program passes through nothing that it does not use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):
    """Like `functools.cached_property`; others can ask whether it has been made, and all threads get the same object.

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

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, owner: None, kind: type) -> lazy[T]: ...

    @overload
    def __get__(self, owner: object, kind: type | None = None) -> T: ...

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self
        held = vars(owner)
        if self._name not in held:
            held.setdefault(self._name, self._make(owner))
        return held[self._name]

    def made(self, owner: object) -> T | None:
        """The attribute of ``owner``, if it has been made."""
        found: T | None = vars(owner).get(self._name)
        return found

    def drop(self, owner: object) -> None:
        """Let ``owner`` make it again, if it is asked for again."""
        vars(owner).pop(self._name, None)
