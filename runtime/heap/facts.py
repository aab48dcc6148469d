"""`TestFacts`: what the results of traced tests imply about which values are None."""

from __future__ import annotations

import functools
import weakref
from typing import Any

import jax

Facts = tuple[tuple[Any, bool], ...]


class TestFacts:
    """What the truth, and the falsehood, of traced tests say about what is None.

    A fact is the ``present`` of an `Optional`, by identity, and whether it is true.
    """

    __test__ = False

    def __init__(self) -> None:
        self._facts: dict[int, tuple[weakref.ref[Any], Facts, Facts]] = {}

    def note(self, test: Any, if_true: Facts, if_false: Facts) -> None:
        """Record what follows from a test. What is no traced array is left alone."""
        if isinstance(test, jax.core.Tracer) and (if_true or if_false):
            reference = weakref.ref(test, functools.partial(self._forget, id(test)))
            self._facts[id(test)] = (reference, if_true, if_false)

    def _forget(self, key: int, _: Any) -> None:
        self._facts.pop(key, None)

    def of(self, test: Any) -> tuple[Facts, Facts]:
        """What follows where the test is true, and where it is false."""
        entry = self._facts.get(id(test))
        return ((), ()) if entry is None or entry[0]() is not test else entry[1:]
