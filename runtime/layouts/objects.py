"""User objects as state: variables that are rebound to another object of the same class in a branch or loop.

XLA cannot choose between two objects; it can choose between their attributes. Where a staged statement leaves one of
two objects in a variable, the variable gets a third, with each attribute chosen. As long as nobody writes to them,
the three cannot be told from Python's results. `Identities` refuses writes that could tell.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import weakref
from collections.abc import Iterable
from typing import Any

from autograph.runtime.code.library_table import is_library

# What each exception has. Which one it was raised in the handler of (`__context__`) is for tracebacks.
ERROR_ATTRIBUTES = ("args", "__cause__")
# What else these hold cannot be any value.
_OF_OTHER_STATE = (UnicodeError, BlockingIOError, BaseExceptionGroup)
_NOT_STATE = ("__next__", "__get__", "__del__", "__array__", "__jax_array__", "__autograph_value__", "__wrapped__")
_KINDS: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()


def is_plain_object(value: Any) -> bool:
    """Whether this is an instance of a class of the user's, or an exception, that is no more than its attributes."""
    return is_plain_kind(type(value))


def is_plain_kind(kind: type) -> bool:
    """Whether the instances of a class are that."""
    known = _KINDS.get(kind)
    if known is None:
        known = _KINDS[kind] = _is_of_attributes(kind)
    return known


def is_state(value: Any) -> bool:
    """Whether this is state by itself, which stays where it is, though JAX could take it apart (see `runtime.linked_state`)."""
    asked = getattr(type(value), "__autograph_is_state__", None)
    return asked is not None and bool(asked(value))


def attributes_of(value: Any) -> dict[str, Any]:
    found = {name: getattr(value, name) for name in _slots(type(value)) if hasattr(value, name)}
    return found | error_attributes(value) | getattr(value, "__dict__", {})


def error_attributes(value: Any) -> dict[str, Any]:
    """What an exception has that its ``__dict__`` has not; empty of anything else."""
    if not issubclass(type(value), BaseException):  # which one of several is not, though it says so
        return {}
    names = (*ERROR_ATTRIBUTES, *error_members(type(value)))
    return {name: held for name in names if (held := getattr(value, name)) is not None}


def error_members(kind: type[BaseException]) -> list[str]:
    """What exceptions of a class of the user's, where they are plain objects, have of its base class of Python's: the ``errno`` of an
    `OSError`."""
    return [] if kind.__module__ == "builtins" or not is_plain_kind(kind) else members_of_bases(kind)


def members_of_bases(kind: type[BaseException]) -> list[str]:
    """What exceptions of a class have of its base classes of Python's, plain objects or not."""
    members = [pair for base in kind.__mro__ if base.__module__ == "builtins" for pair in vars(base).items()]
    return [
        name
        for name, member in members
        if (
            isinstance(member, types.MemberDescriptorType)
            or (name == "characters_written" and issubclass(kind, BlockingIOError))
        )
        and name not in vars(BaseException)
        and name not in vars(BaseExceptionGroup)  # which has them from its arguments, and for good
        and getattr(kind, name) is member  # no property of the user's
    ]


def given_names(error: BaseException) -> dict[str, str]:
    """What an `ImportError`, `NameError` or `AttributeError` has been given by keyword, which its ``args`` have not."""
    if not isinstance(error, ImportError | NameError | AttributeError):
        return {}
    return {name: held for name in ("name", "path") if type(held := getattr(error, name, None)) is str}


def with_attributes(kind: type, attributes: Iterable[tuple[str, Any]]) -> Any:
    """An instance of a class, of which `is_plain_object` holds, with these attributes."""
    made = bare_instance(kind)
    for name, value in attributes:
        object.__setattr__(made, name, value)
    return made


def bare_instance(kind: type) -> Any:
    """An instance of such a class, without attributes."""
    base = types.SimpleNamespace if issubclass(kind, types.SimpleNamespace) else object
    if issubclass(kind, BaseException):
        base = kind
        while base.__module__ != "builtins":
            base = base.__base__  # type: ignore[assignment]
    return base.__new__(kind)


def compared_fields(kind: type, name: str) -> tuple[str, ...] | None:
    """The fields of which a dataclass makes its method of this name, a comparison; None if it makes none."""
    for base in kind.__mro__:
        if name in base.__dict__:
            params = base.__dict__.get("__dataclass_params__")
            is_made = params is not None and (params.eq if name == "__eq__" else params.order)
            method: Any = base.__dict__[name]
            if not is_made or getattr(getattr(method, "__code__", None), "co_filename", None) != "<string>":
                return None
            return tuple(field.name for field in dataclasses.fields(base) if field.compare)
    return None


def _slots(kind: type) -> list[str]:
    slots = [each.__dict__.get("__slots__", ()) for each in kind.__mro__]
    names = [name for part in slots for name in ((part,) if isinstance(part, str) else part)]
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def _is_of_attributes(kind: type) -> bool:
    if "__autograph_is_plain__" in vars(kind):
        return True
    if issubclass(kind, BaseException):
        return issubclass(kind, Exception) and all(_is_plain_error(each, kind) for each in kind.__mro__)
    if is_library(kind) or isinstance(kind, enum.EnumMeta) or issubclass(kind, type):
        return False
    if any(hasattr(kind, name) for name in _NOT_STATE):
        return False
    return all(not is_library(each) or _has_no_state(each) for each in kind.__mro__)


def _is_plain_error(base: type, kind: type) -> bool:
    """Whether this base class gives exceptions of a class no state but arguments and attributes. An `OSError` has others, which those of
    a class of the user's keep (`error_members`)."""
    if base.__module__ != "builtins":
        return not is_library(base)
    if base is object or base.__basicsize__ == BaseException.__basicsize__:
        return True
    return kind.__module__ != "builtins" and not issubclass(base, _OF_OTHER_STATE)


def _has_no_state(kind: type) -> bool:
    """Whether this base class of a library's has nothing but methods."""
    return kind is object or kind.__module__ in ("typing", "abc") or "__autograph_has_no_state__" in vars(kind)


def is_frozen_kind(kind: type) -> bool:
    parameters = getattr(kind, "__dataclass_params__", None)
    return parameters is not None and bool(parameters.frozen)
