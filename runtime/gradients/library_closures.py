"""Copy library functions that close over user functions, so that the copies call the converted ones.

A library's function that was made outside converted code, an optimizer of optax with a schedule say, holds the user's
functions in its closure and calls them as they are.
"""

from __future__ import annotations

import copy
import functools
import types
from typing import Any

from autograph.runtime.code.library_table import TABLE, is_library
from autograph.runtime.heap.list_outputs import as_argument
from autograph.runtime.tracing.language import LANGUAGE


def calling_converted(function: Any) -> Any:
    """``function``, or a copy of it in which the user's functions that it holds are converted when they are called.

    Args:
      function: a function or a method, of a library or of the user's.
    """
    return _Copies().of(function)


class _Copies:
    """The copies that were made, by the identities of what they are copies of."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}

    def of(self, value: Any) -> Any:
        """A copy of a value that holds functions of the user's; any other value itself."""
        if id(value) not in self._made:
            self._made[id(value)] = value  # what refers to itself
            self._made[id(value)] = self._copied(value)
        return self._made[id(value)]

    def _copied(self, value: Any) -> Any:
        match value:
            case types.FunctionType():
                return self._function(value) if not TABLE.of(value).convert else _converted(value)
            case types.MethodType():
                if not is_library(value.__func__):
                    return _converted(value)
                return types.MethodType(self.of(value.__func__), self._object(value.__self__))
            case functools.partial():
                args, keywords = self._items(value.args), self._items(value.keywords)
                return functools.partial(self.of(value.func), *args, **keywords)
            case tuple() | list() | dict():
                return self._items(value)
        return self._object(value) if callable(value) else value

    def _items(self, values: Any) -> Any:
        """The container itself where it holds nothing of the user's, which others may hold too."""
        parts = list(values.values() if isinstance(values, dict) else values)
        found = [self.of(part) for part in parts]
        if all(new is old for new, old in zip(found, parts, strict=True)):
            return values
        if isinstance(values, dict):
            made = copy.copy(values)
            made.update(zip(values, found, strict=True))
            return made
        return type(values)(*found) if hasattr(values, "_fields") else type(values)(found)

    def _function(self, function: types.FunctionType) -> types.FunctionType:
        cells = function.__closure__ or ()
        held = [_contents(cell) for cell in cells]
        inside, defaults = self._items(held), self._items(function.__defaults__ or ())
        named = self._items(function.__kwdefaults__ or {})
        if inside is held and defaults is (function.__defaults__ or ()) and not _differ(named, function.__kwdefaults__):
            return function
        closure = tuple(
            cell if new is old else types.CellType(new) for cell, new, old in zip(cells, inside, held, strict=True)
        )
        made = types.FunctionType(function.__code__, function.__globals__, function.__name__, defaults, closure)
        made.__kwdefaults__ = named or None
        made.__dict__.update(function.__dict__)
        made.__qualname__, made.__module__, made.__doc__ = function.__qualname__, function.__module__, function.__doc__
        return made

    def _object(self, owner: Any) -> Any:
        """An object of a library's that is called, or whose method is; its functions are in its attributes."""
        if isinstance(owner, type) or not is_library(type(owner)):
            return owner
        attributes = getattr(owner, "__dict__", None)
        if not attributes:
            return owner
        found = self._items(dict(attributes))
        if not _differ(found, attributes):
            return owner
        made = copy.copy(owner)
        for name, value in found.items():
            object.__setattr__(made, name, value)
        return made


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return cell


def _differ(found: dict[str, Any], given: dict[str, Any] | None) -> bool:
    return any(value is not (given or {})[name] for name, value in found.items())


def _converted(function: Any) -> Any:
    """A function of the user's, converted when it is called; its results have Python's lists, for what compares structures."""

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return as_argument(LANGUAGE.operators.call(function)(*args, **kwargs))

    return call
