"""`Keys`: sets whose elements only run time knows, in converted code."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax

from autograph.backends.base import Backend, NotRollable
from autograph.runtime.containers.keyed_lists import KeyedList, holds_tracer
from autograph.runtime.containers.padded_arrays import PaddedArray
from autograph.runtime.containers.traced_lists import TracedList, is_array_list
from autograph.runtime.containers.traced_sets import TracedSet
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.tracing.births import can_be_element, site_now
from autograph.runtime.tracing.recording import JOINT, LOCAL

_WRITING = frozenset(
    [
        *("add", "discard", "remove", "update", "clear"),
        *("intersection_update", "difference_update", "symmetric_difference_update"),
    ]
)
_READING = frozenset(
    ["copy", "union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset", "isdisjoint"]
)


class Keys(InTrace):
    """What makes sets, and writes to them.

    Args:
      checks: the operators.
    """

    def __init__(self, backend: Backend, trace: Callable[[], Trace], checks: Any) -> None:
        super().__init__(trace)
        self.backend = backend
        self.checks = checks

    def overloads(self) -> Mapping[Any, Callable[..., Any]]:
        return {builtins.set: self.new_set}

    def new_set(self, *args: Any) -> Any:
        """``set(values)``."""
        if not args or len(args) > 1 or self._is_plain():
            return self._made_set(set(*args))
        (values,) = args
        if isinstance(values, TracedSet):
            return values.copy()
        if not isinstance(values, TracedList):
            values = self.checks.overloads[builtins.list](values)
        return self._traced_set(values) if _is_of_traced(values) else self._made_set(set(values))

    def set_of(self, *values: Any) -> Any:
        """``{a, b}``."""
        return self._traced_set(values) if _is_of_traced(values) else self._made_set(set(values))

    def set_of_list(self, values: Any) -> Any:
        """``{v for …}``, of the list of what the comprehension gives."""
        return self._traced_set(values) if _is_of_traced(values) else self._made_set(set(values))

    def _is_plain(self) -> bool:
        return JOINT.staging.is_plain(JOINT.staging.place())

    def noted(self, made: Any) -> Any:
        """What an operator or method of sets has given."""
        return self._made_set(made) if type(made) is set else made

    def _made_set(self, made: set[Any]) -> Any:
        """A set of known elements: Python's own, if the program adds no traced ones to it."""
        births = LOCAL.births
        if births is None or self._is_plain():
            return made
        site = site_now()
        if births.is_keyed(site):
            return self._traced_set(made)
        births.note(made, site)
        self.journal.born(made)
        return made

    def _traced_set(self, values: Any) -> TracedSet:
        made = TracedSet(values, self.checks)
        self.journal.born(made)
        return made

    def set_method(self, called: Any) -> Any:
        """A method of a set that Python has, which may be given traced elements."""
        owner, name = called.__self__, called.__name__
        if self._is_plain() or (name not in _WRITING and name not in _READING):
            return called

        def call(*args: Any) -> Any:
            is_traced = any(map(self._holds_traced, args))
            if name in _READING:
                found = getattr(TracedSet(owner, self.checks), name)(*args) if is_traced else called(*args)
                return self.noted(found)
            self.check_writes(owner, args, is_traced)
            return called(*args)

        return call

    def check_writes(self, owner: set[Any], values: Iterable[Any], is_traced: bool | None = None) -> None:
        """Let a set that Python has be a traced one, if it is to hold traced elements, or is written where only run time knows whether.

        Raises:
          StagingError: it was not made in this program.
        """
        if self._is_plain() or LOCAL.births is None:
            return
        if any(map(self._holds_traced, values)) if is_traced is None else is_traced:
            self._end_trace(owner, "A set is given a traced element")
        is_by_path = self.journal.is_open and not self.journal.has_made(owner)
        if is_by_path and LOCAL.births.knows(owner) and all(map(can_be_element, [*owner, *_elements(values)])):
            self._end_trace(owner, "A set is written under a traced condition")

    def _end_trace(self, owner: Any, what: str) -> None:
        if self.journal.is_on_trial:  # what is traced there may be known in Python
            raise NotRollable("it writes to a set")
        LOCAL.births.end_trace(owner, what)

    def _holds_traced(self, value: Any) -> bool:
        if isinstance(value, TracedList | PaddedArray) or self.backend.is_traced(value):
            return True
        if isinstance(value, tuple | list | set | frozenset):
            return any(map(self._holds_traced, value))
        return isinstance(value, jax.Array) and self.backend.is_tracing()


def _is_of_traced(values: Any) -> bool:
    """Whether the elements of a list, or its length, are known only at run time."""
    return is_array_list(values) or any(map(holds_tracer, values))


def _elements(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, list | set | frozenset | dict | range):
            yield from value
        else:
            yield value


def in_any_order(iterable: Any, key: Any = None) -> Any:
    """A list of what a set or dict is iterated over, for what does not depend on the order; any other iterable as it is."""
    if not isinstance(iterable, KeyedList):
        return iterable
    return iterable.members() if key is None else iterable.in_order()
