"""The shortest way from a call to its program: one generated function, for arguments like those of the first call.

A `Function` is called through a slot (`Called`), so that what stands in it runs with nothing before it. At first that is the
general way, by routes; once a call has come to its program, a function takes its place that compares the arguments
with that call's, and leaves others to the general way. Each frame, operation and object that a call touches is part of
what it costs beyond `jax.jit`'s own; most of all between long programs, which leave the caches with none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from autograph.runtime.generated import quick_function
from autograph.runtime.program import StateNeeded
from autograph.runtime.signature import is_array_leaf
from autograph.runtime.static_values import SIMPLE

_MISSING = object()
_LARGEST = 24  # leaves: each is compared by a line of its own


class Called:
    """An object that is called by what is put in its ``__call__``: no method, so no frame and no lookup of its own."""

    __slots__ = ("__call__", "__dict__", "__weakref__")

    __call__: Callable[..., Any]


def quick(values: tuple[Any, ...], entry: Any, **environment: Any) -> Callable[..., Any] | None:
    """The quick way for calls with arguments like these, if there is one: their leaves are arrays, texts, integers or flags.

    ``environment``: see `quick_function`.
    """
    if entry.direct is None or not all(map(_is_simple, jax.tree_util.tree_leaves(values))):
        return None
    environment |= {"run": entry.direct, "StateNeeded": StateNeeded, "missing": _MISSING, "type": type}
    return quick_function(values, _LARGEST, is_array_leaf, {"entry": entry, **environment})


def _is_simple(leaf: Any) -> bool:
    return type(leaf) in SIMPLE or (is_array_leaf(leaf) and not isinstance(leaf, jax.core.Tracer))
