"""`TracedFacts`: what is known of traced values besides their types."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import jax

Facts = tuple[tuple[Any, bool], ...]


class TracedFacts:
    """What the truth, and the falsehood, of traced tests say about what is None, absent or unbound; and which integers are never zero.

    A fact is a traced truth value, by identity, and whether it is true: the ``present`` of an `Optional`, whether a variable is bound.
    """

    def __init__(self) -> None:
        self._of_tests = _Noted()
        self._not_zero = _Noted()

    def note(self, test: Any, if_true: Facts, if_false: Facts) -> None:
        """Record what follows from a test. What is no traced array is left alone."""
        if if_true or if_false:
            self._of_tests.note(test, (_held_weakly(if_true), _held_weakly(if_false)))

    def note_alike(self, values: Facts) -> Facts:
        """Record that these truth values are all as here, or all the opposite, which is returned."""
        opposite = tuple((value, not truth) for value, truth in values)
        sides = _held_weakly(values), _held_weakly(opposite)
        for value, truth in values:
            self._of_tests.note(value, sides if truth else sides[::-1])
        return opposite

    def note_results(self, test: Any, if_true: Facts) -> None:
        """Record truth values that the conditional of a test computes, and which they are where the test is true."""
        known, if_false = self.of(test), self.note_alike(if_true)
        self.note(test, (*known[0], *if_true), (*known[1], *if_false))

    def of(self, test: Any) -> tuple[Facts, Facts]:
        """What follows where the test is true, and where it is false."""
        if_true, if_false = self._of_tests.of(test, ((), ()))
        return _living(if_true), _living(if_false)

    def saying(self, value: Any) -> tuple[Facts, Facts]:
        """What follows where a traced truth value is true, itself included, and where it is false."""
        if_true, if_false = self.of(value)
        if any(fact is value for fact, _ in if_true):
            return if_true, if_false
        return ((value, True), *if_true), ((value, False), *if_false)

    def note_not_zero(self, number: Any) -> None:
        """Record that a traced integer is never zero."""
        self._not_zero.note(number, True)

    def is_not_zero(self, number: Any) -> bool:
        """Whether this is recorded of a traced integer."""
        return self._not_zero.of(number, False) is True


_Weak = tuple[tuple[Callable[[], Any], bool], ...]


def _held_weakly(facts: Facts) -> _Weak:
    """The same facts, which keep no tracer alive: nobody can ask about one that is gone."""
    return tuple(
        (weakref.ref(value) if isinstance(value, jax.core.Tracer) else functools.partial(_itself, value), truth)
        for value, truth in facts
    )


def _itself(value: Any) -> Any:
    return value


def _living(facts: _Weak) -> Facts:
    pairs = ((get(), truth) for get, truth in facts)
    return tuple((value, truth) for value, truth in pairs if value is not None)


class _Noted:
    """What was noted of traced arrays, by identity, as long as there are these."""

    def __init__(self) -> None:
        self._noted: dict[int, tuple[weakref.ref[Any], Any]] = {}

    def note(self, array: Any, noted: Any) -> None:
        if isinstance(array, jax.core.Tracer):
            self._noted[id(array)] = weakref.ref(array, functools.partial(self._forget, id(array))), noted

    def _forget(self, key: int, _: Any) -> None:
        self._noted.pop(key, None)

    def of(self, array: Any, otherwise: Any) -> Any:
        entry = self._noted.get(id(array))
        return otherwise if entry is None or entry[0]() is not array else entry[1]
