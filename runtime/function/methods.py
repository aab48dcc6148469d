"""The `Function`s of a decorated method: one per instance, dropped with the instance."""

from __future__ import annotations

import threading
import types
import weakref
from collections.abc import Callable
from typing import Any


class Bound:
    """What was made for each instance, told apart by which object it is, whatever equality its class has.

    An instance that allows no weak reference (``__slots__`` without ``__weakref__``) is kept alive, and so
    are the last ``limit`` of such.

    Attributes:
      entries: by the instance's id, a reference to it and what was made.
    """

    def __init__(self, make: Callable[[Callable[[], Any]], Any], limit: int) -> None:
        self._make = make
        self._limit = limit
        self.entries: dict[int, tuple[Callable[[], Any], Any]] = {}
        self._strong: dict[int, None] = {}
        self._lock = threading.RLock()

    def get(self, instance: Any) -> Any:
        """What was made for this instance, made now if it was not."""
        entry = self.entries.get(id(instance))
        if entry is not None and entry[0]() is instance:
            return entry[1]
        with self._lock:
            entry = self.entries.get(id(instance))
            if entry is not None and entry[0]() is instance:
                return entry[1]
            reference = self._reference(instance)
            made = self._make(reference)
            self.entries[id(instance)] = reference, made
            return made

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self.entries.clear()
            self._strong.clear()

    def _reference(self, instance: Any) -> Callable[[], Any]:
        key, entries = id(instance), self.entries

        def gone(reference: Any) -> None:
            entry = entries.get(key)
            if entry is not None and entry[0] is reference:
                del entries[key]

        try:
            return weakref.ref(instance, gone)
        except TypeError:
            self._strong[key] = None
            if len(self._strong) > self._limit:
                oldest = next(iter(self._strong))
                del self._strong[oldest]
                self.entries.pop(oldest, None)
            return lambda: instance


def is_method(function: Any) -> bool:
    """Whether this is written in a class body, as far as its name tells."""
    return isinstance(function, types.FunctionType) and "." in function.__qualname__.rpartition("<locals>.")[2]
