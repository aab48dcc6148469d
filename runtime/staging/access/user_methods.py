"""The special methods that users' classes define, which are called in place of Python's operators."""

from __future__ import annotations

import types
from typing import Any

from autograph.runtime.code.code_names import class_attribute
from autograph.runtime.code.library_table import is_library
from autograph.runtime.containers.searched_lists import sequence_class
from autograph.runtime.containers.traced_lists import is_traced_list
from autograph.runtime.layouts.objects import compared_fields
from autograph.runtime.layouts.one_of import candidates_of, is_one_of


def user_method(kind: type, name: str) -> types.FunctionType | None:
    """The method of this name that a user's class defines in Python."""
    method = class_attribute(kind, name)
    return method if type(method) is types.FunctionType and not is_library(method) else None


def is_indexed(kind: type) -> bool:
    """Whether Python goes over the objects of a user's class by ``__getitem__``, up to an IndexError."""
    return not hasattr(kind, "__iter__") and user_method(kind, "__getitem__") is not None


def has_order(value: Any) -> bool:
    """Whether a user's class says which of two objects goes before the other."""
    return any(user_method(type(value), name) is not None for name in ("__lt__", "__gt__"))


def has_own_operator(value: Any, name: str) -> bool:
    """Whether a user's class says what ``+`` does, if the name is ``add``, to this, or to what it may be one of."""
    if is_one_of(value):
        return any(has_own_operator(each, name) for each in candidates_of(value))
    return any(user_method(type(value), method) is not None for method in (f"__{name}__", f"__r{name}__"))


def has_own_equality(*values: Any) -> bool:
    """Whether a user's class says what one of these, or something in a list, tuple or dict, is equal to."""
    by_kind: dict[type, list[Any]] = {}
    for value in values:
        by_kind.setdefault(type(value), []).append(value)
    for kind, each in by_kind.items():
        if user_method(kind, "__eq__") is not None or compared_fields(kind, "__eq__") is not None:
            return True
        if issubclass(kind, list | tuple) and any(has_own_equality(*value) for value in each):
            return True
        if issubclass(kind, dict) and any(has_own_equality(*value.values()) for value in each):
            return True
    return False


def are_alike_containers(left: Any, right: Any) -> bool:
    """Whether these are two tuples, two lists or two dicts, of lengths that are known."""
    if not (are_lists(left, right) or (isinstance(left, dict) and isinstance(right, dict))):
        return False
    if any(user_method(type(each), "__eq__") for each in (left, right)):
        return False
    return not is_traced_list(left) and not is_traced_list(right)


def are_lists(left: Any, right: Any) -> bool:
    """Whether these are two lists, two tuples or two deques, whose contents are compared."""
    return sequence_class(left) is not None and sequence_class(left) is sequence_class(right)
