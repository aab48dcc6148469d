"""Decide when two function objects are equal: the same code with the same closure variables."""

from __future__ import annotations

import types
from typing import Any


def identity_of(function: types.FunctionType) -> Any:
    """What two functions that do the same have in common. Code is equal, too, where two files have the same text."""
    return (
        function.__code__,
        id(function.__globals__),
        tuple(map(id, function.__closure__ or ())),
        id(function.__defaults__),
    )


def is_same_function(one: Any, other: Any) -> bool:
    """Whether both run the same code on the same variables with the same defaults, so that either may represent the other."""
    if not (type(one) is type(other) is types.FunctionType and one.__code__ is other.__code__):
        return False
    if one.__globals__ is not other.__globals__:
        return False
    parts = [(one.__closure__ or (), other.__closure__ or ()), (one.__defaults__ or (), other.__defaults__ or ())]
    named = one.__kwdefaults__ or {}, other.__kwdefaults__ or {}
    parts.append((tuple(named[0].values()), tuple(named[1].values())))
    return all(len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True)) for a, b in parts)


def is_filled_cell(cell: Any) -> bool:
    """Whether a variable of a closure is bound."""
    try:
        cell.cell_contents  # noqa: B018 (asks whether there are any)
    except ValueError:
        return False
    return True
