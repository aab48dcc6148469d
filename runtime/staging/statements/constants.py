"""Operations on `OneOf` values: each runs for every candidate constant, and the result is selected."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from autograph.runtime.code.library_table import is_library
from autograph.runtime.code.pure_python import is_written_in_c
from autograph.runtime.effects.traced_texts import DeferredText, TracedText, concatenated, is_text, is_traced_text
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.places import contents
from autograph.runtime.layouts.one_of import (
    IN_PLACE,
    MOST_CANDIDATES,
    OneOf,
    candidates_of,
    chooses_values,
    code_of,
    each,
    is_among,
    is_one_of,
    merged,
    possible_candidates,
    takes_branches,
)
from autograph.runtime.layouts.optional import knowing
from autograph.runtime.layouts.statement_variables import Snapshot, has_contents, value_of
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import LOCAL

_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType)
# What calls the functions it is given, and is not written in Python.
CALLING = (
    functools.reduce,
    itertools.accumulate,
    itertools.dropwhile,
    itertools.filterfalse,
    itertools.groupby,
    itertools.starmap,
    itertools.takewhile,
)
_CALLING = (*CALLING, map, filter, sorted, max, min)
# What says what its argument is, by itself.
_ASKING = (isinstance, issubclass, type, callable, hasattr)
# What goes over the characters of a text, which the run may know.
_ITERATING = (enumerate, filter, iter, map, reversed, zip)
# What puts a value into a container, whichever it is.
_KEEPING = frozenset(["append", "appendleft", "insert", "extend", "extendleft", "iter"])


class ConstantChoices:
    """Does for each candidate what is done with a `OneOf`, as branches of staged conditionals on which it is."""

    def __init__(self, staged_if: Callable[..., Any], call: Callable[[Any], Any]) -> None:
        self._staged_if = staged_if
        self._call = call

    def each(self, value: OneOf, function: Callable[[Any], Any], is_pure: bool = False) -> Any:
        """``function`` of the candidate that ``value`` is.

        Args:
          function: takes a candidate.
          is_pure: ask all candidates at once, if the answers can be put together: it does nothing else.
        """
        candidates, code = candidates_of(value), code_of(value)
        possible = possible_candidates(value)
        if len(possible) == 1:
            return function(candidates[possible[0]])
        if is_pure:
            found = _asked_at_once(value, possible, function)
            if found is not NotImplemented:
                return found
        if takes_branches(value) and IN_PLACE in LOCAL.facts:
            raise TypeError("what is done for each of several objects is staged")

        snapshot = Snapshot(
            (lambda: (function, candidates),), []
        )  # what the results may be of, which may be written later

        def on_this(k: int) -> Any:
            with knowing([is_among(value, [k])]):
                return function(candidates[k])

        def chosen(left: Sequence[int]) -> Any:
            first, *rest = left
            if not rest:
                return on_this(first)
            return self._staged_if(
                code == first, functools.partial(on_this, first), functools.partial(chosen, rest), [], snapshot
            )

        return chosen(possible)

    def items(self, value: OneOf) -> Iterator[Any] | None:
        """The items, one by one, of one of several lists and tuples; None of anything else, and where paths differ in their number.

        Raises:
          StagingError: one of the lists is written before the last is taken.
        """
        if not _is_of_sequences(value):
            return None
        possible = [candidates_of(value)[k] for k in possible_candidates(value)]
        lists = [(candidate, contents(candidate)) for candidate in possible if _is_list(candidate)]
        items = self.each(value, self._call(tuple))
        return _unless_written(items, lists) if type(items) is tuple else None

    def text_of_both(self, one: Any, other: Any) -> Any:
        """``one + other`` of two texts, by its pieces, where it may be more texts than a value can be; else `NotImplemented`."""
        if not (is_text(one) and is_text(other)):
            return NotImplemented
        counts = [len(possible_candidates(text)) if is_one_of(text) else 1 for text in (one, other)]
        is_of_pieces = any(isinstance(text, TracedText) for text in (one, other)) or math.prod(counts) > MOST_CANDIDATES
        return concatenated(one, other) if is_of_pieces else NotImplemented

    def called(self, value: OneOf) -> Callable[..., Any]:
        """What to call in place of a function that is one of several."""
        return lambda *args, **kwargs: each(value, lambda candidate: self._call(candidate)(*args, **kwargs))

    def _callable(self, value: Any) -> Any:
        """A function that is one of several as one that calls that."""
        is_function = is_one_of(value) and all(isinstance(each, _FUNCTIONS) for each in candidates_of(value))
        return self.called(value) if is_function else value

    def taking_constants(self, called: Any, made: Any) -> Any:
        """``made``, which is called in place of ``called``, so that it is given constants: it is called for each candidate."""
        if any(called is asking for asking in _ASKING):
            return made
        if made is not called and _is_of_user(called) or _keeps_its_arguments(called):
            return made

        is_calling = any(called is each for each in _CALLING)

        def call(*args: Any, **kwargs: Any) -> Any:
            if is_calling:
                args = tuple(map(self._callable, args))
                kwargs = {name: self._callable(value) for name, value in kwargs.items()}
            while True:
                value = next(filter(None, map(_chosen_in, itertools.chain(args, kwargs.values()))), None)
                if value is None:
                    return made(*args, **kwargs)
                found: OneOf = value[0]
                if _goes_over(called) and (is_traced_text(found) or _is_of_sequences(found)):
                    return made(*args, **kwargs)
                if not (chooses_values(found) and is_library(called)):
                    break
                if made is not called or _is_ours(called):  # which ask for the Variable, or its value
                    return made(*args, **kwargs)
                held = value_of(found)
                args = tuple(_replaced(argument, found, held) for argument in args)
                kwargs = {name: _replaced(argument, found, held) for name, argument in kwargs.items()}

            def with_constant(constant: Any) -> Any:
                given = [_replaced(argument, found, constant) for argument in args]
                named = {name: _replaced(argument, found, constant) for name, argument in kwargs.items()}
                return self._call(called)(*given, **named)

            return each(found, with_constant)

        return call


def _is_of_sequences(value: OneOf) -> bool:
    """Whether a value is one of several lists and tuples."""
    return all(type(candidate) is tuple or _is_list(candidate) for candidate in candidates_of(value))


def _is_list(value: Any) -> bool:
    return type(value) is list or (has_contents(value) and value.stands_for is list)


def _unless_written(items: tuple[Any, ...], lists: Sequence[tuple[Any, Any]]) -> Iterator[Any]:
    """The items, as long as the lists, each with its contents, hold these."""
    for item in items:
        if not all(_is_one_content(contents(each), held) for each, held in lists):
            raise StagingError(
                f"{user_location()}\n  This goes over one of several lists and tuples, selected at run time, and writes to a list "
                "that it may be.\n  Go over a copy: list(items)."
            )
        yield item


def _is_one_content(now: Any, then: Any) -> bool:
    """Whether a list has not been written since it was asked for its contents."""
    if type(now) is tuple and type(then) is tuple:
        return len(now) == len(then) and all(map(operator.is_, now, then))
    return now is then


def _asked_at_once(value: OneOf, numbers: Sequence[int], function: Callable[[Any], Any]) -> Any:
    candidates = candidates_of(value)
    try:
        return merged(value, {k: function(candidates[k]) for k in numbers})
    except Exception:  # of one candidate perhaps: it is for the run to say
        return NotImplemented


def _chosen_in(argument: Any) -> list[OneOf]:
    """The argument, or the values of a text that is to be made of them, where they are one of several constants."""
    values = argument.values if type(argument) is DeferredText else (argument,)
    return [value for value in values if type(value) is OneOf]


def _replaced(argument: Any, value: OneOf, constant: Any) -> Any:
    if type(argument) is DeferredText:
        return DeferredText(argument.make, tuple(_replaced(each, value, constant) for each in argument.values))
    return constant if argument is value else argument


def _is_of_user(called: Any) -> bool:
    """Whether this is a function or class of the user's, whose converted code takes the value as it is."""
    return isinstance(called, types.FunctionType | types.MethodType | type) and not is_library(called)


def _is_ours(called: Any) -> bool:
    return str(getattr(called, "__module__", "")).partition(".")[0] == "autograph"


def _goes_over(called: Any) -> bool:
    """Whether this makes an iterator of what it is given."""
    return any(called is each for each in _ITERATING) or getattr(called, "__module__", None) == "itertools"


def _keeps_its_arguments(called: Any) -> bool:
    is_users_class = isinstance(called, type) and not is_library(called)
    is_method = isinstance(called, types.BuiltinFunctionType) and called.__name__ in _KEEPING
    return is_users_class or is_method or is_written_in_c(called)
