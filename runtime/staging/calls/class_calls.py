"""Calls of users' classes, whose `__new__` and `__init__` are converted."""

from __future__ import annotations

import dataclasses
import enum
import functools
import linecache
import types
from collections.abc import Callable, Sequence
from typing import Any

from autograph.runtime.code.library_table import is_library
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.layouts.objects import is_plain_kind
from autograph.runtime.layouts.statement_variables import holds_traced
from autograph.runtime.tracing.locations import user_location


class ClassCalls(InTrace):
    """The part of the operator for calls that makes objects.

    Args:
      recursive: whether what is called is converted.
      converted: returns what to call in place of a function.
      call: as the operator.
      is_converted: whether a function is what a conversion has made.
      new_list: returns a list of the trace that holds what a list does.
      bar_of: returns what is called in place of a class of tqdm's; None of any other.
      member: returns the member of an enum that a value, which only the run knows, belongs to.
    """

    def __init__(
        self,
        trace: Callable[[], Trace],
        *,
        recursive: bool,
        converted: Callable[[Any], Any],
        call: Callable[[Any], Any],
        is_converted: Callable[[Any], bool],
        new_list: Callable[[Any], Any],
        bar_of: Callable[[Any], Any],
        member: Callable[[type[enum.Enum], Any], Any],
    ) -> None:
        super().__init__(trace)
        self.recursive = recursive
        self.converted = converted
        self.call = call
        self.is_converted = is_converted
        self.new_list = new_list
        self.bar_of = bar_of
        self.member = member

    def of(self, cls: type) -> Any:
        """A user's class, called so that its ``__init__`` is converted; others as they are, but for tqdm's."""
        if (bar := self.bar_of(cls)) is not None:
            return bar
        if issubclass(cls, enum.Enum) and not issubclass(cls, enum.Flag) and cls.__members__:
            return functools.partial(self._member, cls)
        if dataclasses.is_dataclass(cls) and not hasattr(cls, "__post_init__"):
            fields = _lists_by_default(cls)
            return functools.partial(self._with_own_lists, cls, fields) if fields else cls
        init = cls.__init__  # type: ignore[misc]
        new: Any = cls.__new__
        if not self.recursive or type(cls).__call__ is not type.__call__ or is_library(cls):
            return cls
        if isinstance(new, types.FunctionType):
            return cls if is_library(new) or not has_source(new) else functools.partial(self._by_own_new, cls)
        if not isinstance(init, types.FunctionType) or is_library(init):
            return cls
        if issubclass(cls, BaseException) and not is_plain_kind(cls):
            return cls
        if not has_source(init):
            is_made_of_fields = dataclasses.is_dataclass(cls) and cls.__dictoffset__ != 0
            return functools.partial(self._of_fields, cls, init) if is_made_of_fields else cls
        converted = self.converted(init)
        takes_all = new is not object.__new__

        def construct(*args: Any, **kwargs: Any) -> Any:
            instance = new(cls, *args, **kwargs) if takes_all else new(cls)
            self.journal.born(instance)
            _check_none(converted(instance, *args, **kwargs))
            return instance

        return construct if converted is not init or self.is_converted(init) else cls

    def _member(self, cls: Any, /, *args: Any, **kwargs: Any) -> Any:
        """The member of an enum that a value belongs to."""
        if len(args) == 1 and not kwargs and holds_traced(args[0]):
            if not _is_closed(cls):
                raise StagingError(
                    f"{user_location()}\n  '{cls.__qualname__}' needs the value of a traced array: its `_missing_` makes members of "
                    "other values.\n  Compare the value with those of the members (if/elif, match)."
                )
            return self.member(cls, args[0])
        return cls(*args, **kwargs)

    def _by_own_new(self, cls: Any, /, *args: Any, **kwargs: Any) -> Any:
        """An object of a class with a ``__new__`` of the user's, which may return one that it has made before."""
        instance = self.converted(cls.__new__)(cls, *args, **kwargs)
        init = type(instance).__init__
        if isinstance(instance, cls) and init is not object.__init__:
            _check_none(self.call(init)(instance, *args, **kwargs))
        return instance

    def of_references(self, cls: type) -> Callable[..., Any]:
        """A class whose objects are references, each of which is to be known of, however it is made."""
        made_by = self.of(cls)

        def construct(*args: Any, **kwargs: Any) -> Any:
            made = made_by(*args, **kwargs)
            if not self.journal.has_made(made):
                self.journal.born(made)
            return self.journal.loops[-1].nodes.standing_for(made) if self.journal.loops else made

        return construct

    def _of_fields(self, cls: type, init: Any, /, *args: Any, **kwargs: Any) -> Any:
        """An object of a dataclass with a ``__post_init__``, which is converted; the ``__init__`` that calls it has no source."""
        made: Any = object.__new__(cls)
        self.journal.born(made)
        calls: list[tuple[Any, ...]] = []
        vars(made)["__post_init__"] = lambda *values: calls.append(values)  # found before that of the class
        init(made, *args, **kwargs)
        del vars(made)["__post_init__"]
        self._own_lists(made, _lists_by_default(cls), args, kwargs)
        for values in calls:
            self.call(made.__post_init__)(*values)
        return made

    def _with_own_lists(self, cls: type, fields: Sequence[str], /, *args: Any, **kwargs: Any) -> Any:
        """An object of a dataclass whose lists by default are those that converted code makes: a loop may lengthen them."""
        made = cls(*args, **kwargs)
        self.journal.born(made)
        return self._own_lists(made, fields, args, kwargs)

    def _own_lists(self, made: Any, fields: Sequence[str], args: Any, kwargs: Any) -> Any:
        given = {id(value) for value in (*args, *kwargs.values())}
        for name in fields:
            value = getattr(made, name, None)  # which `__setattr__` may not have set
            if type(value) is list and id(value) not in given:
                object.__setattr__(made, name, self.new_list(value))
        return made


def _is_closed(cls: type) -> bool:
    """Whether an enum has no members for other values than those of its members."""
    return "_missing_" not in {name for base in cls.__mro__ if not is_library(base) for name in vars(base)}


def _check_none(result: Any) -> None:
    """Raise Python's error for what an ``__init__`` returns."""
    if result is not None:
        raise TypeError(f"__init__() should return None, not {type(result).__name__!r}")


def _lists_by_default(cls: Any) -> list[str]:
    """The fields of a dataclass that are empty lists where nothing is given."""
    return [field.name for field in dataclasses.fields(cls) if field.default_factory is list]


def has_source(function: Any) -> bool:
    """Whether the text that ``function`` was compiled from may be had.

    Not what `exec` of a string made, a dataclass's methods say.
    """
    code = getattr(function, "__code__", None)
    if code is None or code.co_filename == "<string>":
        return False
    return bool(linecache.getlines(code.co_filename, function.__globals__))
