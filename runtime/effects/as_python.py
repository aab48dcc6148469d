"""`as_python`: values as the text of a program shows them, once they are known."""

from __future__ import annotations

import collections
import copy
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import jax
import numpy as np

from autograph.runtime.layouts.pytrees import in_order, tree_map
from autograph.runtime.layouts.statement_variables import has_contents


def _has_resolve(value: Any) -> bool:
    return hasattr(value, "resolve")


def as_now(value: Any) -> Any:
    """A value as it is now: a copy of a set, say, which may change before it is shown."""
    return copy.copy(value) if isinstance(value, set | bytearray | collections.deque | np.ndarray) else value


def resolved_values(values: Any) -> Any:
    """Values with what they stand for in place of lists of traced length, constants chosen at run time …"""

    def whole(part: Any) -> Any:
        found = part.resolve() if _has_resolve(part) else part
        return found if found is part else resolved_values(found)

    return tree_map(whole, in_order(values), is_leaf=_has_resolve)


def as_python(value: Any) -> Any:
    """A value as the text of a program shows it: an array without axes as it is, one in a container as Python's number."""
    if has_contents(value):
        held = value.padded
        items = list.__iter__(value) if held is None else held.elements(int(held.length))
        return [as_python((item,))[0] for item in items]
    if isinstance(value, list | tuple | dict):
        return tree_map(_item_as_python, in_order(value, stays=False), is_leaf=has_contents)
    if isinstance(value, collections.deque):
        return collections.deque(map(_item_as_python, value), value.maxlen)
    return tree_map(as_number, value)


def in_a_text(value: Any) -> Any:
    """A value as what makes a text is given it: an array without axes is a number of Python's, with the digits that NumPy shows."""
    if not isinstance(value, jax.Array | np.ndarray) or value.ndim or not isinstance(value.dtype, np.dtype):
        return as_python(value)
    shown = np.asarray(value)[()]
    number = shown.item()
    kind = _OF_FEWER_DIGITS.get(type(number))
    if kind is not None and repr(number) != str(shown):
        number = kind(number)
        number.shown = shown
    return number


class _Shown:
    """A number of Python's whose text is that of the number of NumPy's, with fewer digits, that it was."""

    shown: Any

    def __repr__(self) -> str:
        return str(self.shown)

    def __format__(self, form: str) -> str:
        return super().__format__(form) if form else format(self.shown)


class _Float(_Shown, float):
    pass


class _Complex(_Shown, complex):
    pass


_OF_FEWER_DIGITS: Mapping[type, Any] = MappingProxyType({float: _Float, complex: _Complex})


def _item_as_python(value: Any) -> Any:
    if has_contents(value) or isinstance(value, collections.deque):
        return as_python(value)
    return as_number(np.asarray(value) if isinstance(value, np.generic | jax.Array) else value)


def as_number(value: Any) -> Any:
    """An array of NumPy's without axes as Python's number of the same digits; anything else as it is."""
    if not isinstance(value, np.ndarray) or value.ndim:
        return value
    return float(str(value)) if value.dtype.kind == "f" else value.item()
