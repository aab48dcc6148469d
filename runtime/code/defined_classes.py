"""Know the classes of a module, wherever in it they are defined, without asking every class there is each time."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import defaultdict
from collections.abc import Iterable


class DefinedClasses:
    """The classes that derive from `object` alone, by the module that defines them.

    Each is looked at once, and not held. ``__subclasses__`` has them in the order of definition, so those that have
    come since are behind the last one that is known.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: list[weakref.ref[type]] = []
        self._by_module: defaultdict[str, list[weakref.ref[type]]] = defaultdict(list)

    def of(self, modules: Iterable[str]) -> list[type]:
        """Those of these modules that are still there."""
        with self._lock:
            self._look()
            found = [each for name in modules for each in self._by_module.get(name, ())]
        return [kind for each in found if (kind := each()) is not None]

    def _look(self) -> None:
        defined = type.__subclasses__(object)
        while self._known and self._known[-1]() is None:
            self._known.pop()
        if len(self._known) > 2 * len(defined):  # most of them are gone
            self._known.clear()
            self._by_module.clear()
        last = self._known[-1]() if self._known else None
        since = [*itertools.takewhile(lambda kind: kind is not last, reversed(defined))]
        for kind in reversed(since):
            reference = weakref.ref(kind)
            self._known.append(reference)
            self._by_module[kind.__module__].append(reference)


CLASSES = DefinedClasses()
