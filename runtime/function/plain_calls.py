"""Detect calls with plain Python values only, for which the unconverted function can run.

Converted code asks at every statement whether a value is traced. Where no argument is an array, where the code reads
nothing that could lead to one, and where what it calls is such code too, there is nothing to ask: from numbers, texts
and containers of them Python makes nothing else. What the code reads is looked at once, and compared at every call;
what is not known to be harmless is not.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

from autograph.runtime.function.plain_code import PlainCode

# So often the code is looked at again, as functions that it reads have changed.
_MOST_LOOKS = 8


class PlainCalls:
    """The calls of one function that run as it is written.

    ``is_outside()``: whether there is no trace, in which Python values take part in what is recorded. ``original(function)``: the
    function as it is written, of one that `autograph.convert` has returned; else None.
    """

    def __init__(
        self, function: types.FunctionType, is_outside: Callable[[], bool], original: Callable[[Any], Any]
    ) -> None:
        self._function, self._is_outside, self._original = function, is_outside, original
        self._looks = 0
        self._code: PlainCode | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_looks": 0, "_code": None}  # another process has other variables

    def code_for(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> PlainCode | None:
        """The code that a call with these arguments runs; None if it is no such call."""
        if self._looks > _MOST_LOOKS or not self._is_outside():
            return None
        code = self._code
        values = None if code is None else code.values()
        if code is None or values is None:
            code = self._look()
            values = None if code is None else code.values()
        while code is not None and values is not None:
            more = code.knowing((*args, *kwargs.values(), *values))
            if more is code or more is None:
                return more
            self._code = code = more  # classes that were not met before read more
            values = code.values()
        return None

    def _look(self) -> PlainCode | None:
        self._looks += 1
        found = PlainCode(self._original)
        self._code = found if found.add_function(self._function) and found.is_kept_in else None
        if self._code is None:
            self._looks = _MOST_LOOKS + 1
        return self._code
