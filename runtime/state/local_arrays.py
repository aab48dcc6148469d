"""Calls of NumPy in a trace in which the arrays that it makes are places (`given_arrays.LocalArray`)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from autograph.runtime.code.array_facts import FUNCTIONS, Returns
from autograph.runtime.layouts.one_of import chooses_values, is_one_of
from autograph.runtime.layouts.pytrees import tree_map
from autograph.runtime.layouts.statement_variables import value_of
from autograph.runtime.state.given_arrays import LocalArray, as_place, base_of, given_as_place, is_given
from autograph.runtime.tracing.recording import LOCAL

_OF_ANY_RANK = (np.array, np.zeros, np.ones, np.empty, np.full)

_REARRANGING = tuple(
    getattr(np, name)
    for name in (name.partition(".")[2] for name, facts in FUNCTIONS.items() if facts.returns is Returns.MOVED)
    if hasattr(np, name)  # in this version of NumPy
)


def makes_arrays(called: Any) -> bool:
    """Whether this is a function of NumPy's, or a method of an array or of another object of NumPy's."""
    owner = getattr(called, "__self__", None)
    if isinstance(owner, jax.core.Tracer | jax.Array | np.ndarray):
        return True
    if is_given(owner):
        return False
    return is_numpys(called) or is_numpys(owner)


def is_numpys(called: Any) -> bool:
    """Whether this is a function of NumPy's, or another object of its."""
    names = (getattr(each, "__module__", None) for each in (called, type(called)))
    return any(isinstance(name, str) and (name + ".").startswith("numpy.") for name in names)


def making_places(called: Any, call: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's that is called as ``call``, whose results are places."""
    is_of_any_rank = any(called is each for each in _OF_ANY_RANK)
    is_rearranging = any(called is each for each in _REARRANGING)
    kind = jax.Array if isinstance(getattr(called, "__self__", None), jax.Array) else np.ndarray

    @functools.wraps(call, updated=())
    def make(*args: Any, **kwargs: Any) -> Any:
        if is_rearranging and args and is_given(args[0]):
            return args[0].rearranged(
                *(functools.partial(_with_first, each, args[1:], kwargs) for each in (called, call))
            )
        result = call(*args, **kwargs)
        if type(result) in (tuple, list):
            return type(result)(as_place(each, kind=kind) for each in result)
        return as_place(result, is_of_any_rank, kind=kind)

    return make


def _with_first(function: Callable[..., Any], others: tuple[Any, ...], named: dict[str, Any], first: Any) -> Any:
    return function(first, *others, **named)


def in_library(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a library's, which takes a place as the array that it holds."""

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        LOCAL.in_library += 1
        try:
            return function(*args, **kwargs)
        finally:
            LOCAL.in_library -= 1

    return call


def with_places(values: Any) -> Any:
    """The arguments of a function that JAX traces, with places where arrays are."""
    return tree_map(lambda value: given_as_place(value, jax.Array), values)


def without_places(values: Any) -> Any:
    """A result, with arrays where such places are."""
    return tree_map(lambda leaf: value_of(leaf) if _is_place(leaf) else leaf, values, is_leaf=_is_place)


def _is_place(value: Any) -> bool:
    """Whether a value is such a place, or one of several."""
    return is_given(value) or (is_one_of(value) and chooses_values(value))


def array_held_by(value: Any) -> Any:
    """What the array that the program makes, and that this is or is a view of, holds now; None for anything else."""
    base = base_of(value)
    return base.held if isinstance(base, LocalArray) else None
