"""The `Function`s of a decorated method: one per instance, dropped with the instance."""

from __future__ import annotations

import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

identity = object.__hash__  # as unlike for two objects as `id`, of which each use is reported to audit hooks
_NOBODY: Any = (lambda: None), None


class Bound:
    """What was made for each instance, distinguished by which object it is, whatever equality its class has.

    An instance that allows no weak reference (``__slots__`` without ``__weakref__``) is kept alive, and so
    are the last ``limit`` of such.

    Attributes:
      made: by the instance's id what was made, no longer than there is the instance.
      latest: its one item is a reference to the instance that something was made for last, and that, which is found without
        an id: most methods are called of one instance.
    """

    def __init__(self, make: Callable[[Callable[[], Any]], Any], limit: int) -> None:
        self._make = make
        self._limit = limit
        self.made: dict[int, Any] = {}
        self.latest: list[tuple[Callable[[], Any], Any]] = [_NOBODY]
        self._references: dict[int, Callable[[], Any]] = {}
        self._strong: dict[int, None] = {}
        self._lock = threading.RLock()

    def get(self, instance: Any) -> Any:
        """What was made for this instance, made now if it was not."""
        with self._lock:
            made = self.made.get(identity(instance))
            if made is None:
                reference = self._references[identity(instance)] = self._reference(instance)
                made = self.made[identity(instance)] = self._make(reference)
                if isinstance(reference, weakref.ref):
                    self.latest[0] = reference, made
            return made

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._references.clear()
            self.made.clear()
            self._strong.clear()
            self.latest[0] = _NOBODY

    def _reference(self, instance: Any) -> Callable[[], Any]:
        key, references, made, latest = identity(instance), self._references, self.made, self.latest

        def gone(reference: Any) -> None:  # before another object can have this id
            if references.get(key) is reference:
                del references[key]
                made.pop(key, None)
            if latest[0][0] is reference:
                latest[0] = _NOBODY

        try:
            return weakref.ref(instance, gone)
        except TypeError:
            self._strong[key] = None
            if len(self._strong) > self._limit:
                oldest = next(iter(self._strong))
                del self._strong[oldest]
                self._references.pop(oldest, None)
                self.made.pop(oldest, None)
            return lambda: instance


def is_method(function: Any) -> bool:
    """Whether this is written in a class body, as far as its name tells."""
    return isinstance(function, types.FunctionType) and "." in function.__qualname__.rpartition("<locals>.")[2]
