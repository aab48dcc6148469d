"""Which values JAX can flatten."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax


def is_pytree(value: Any) -> bool:
    """Whether JAX can flatten a value: no dict in it has keys without an order, and no list or dict holds itself.

    >>> loop = []
    >>> loop.append(loop)
    >>> is_pytree([{"a": 1, "b": 2}]), is_pytree({1: 1, "b": 2}), is_pytree((loop,))
    (True, False, False)
    """
    if holds_itself(value):
        return False
    try:
        jax.tree_util.tree_leaves(value)
    except (TypeError, ValueError):
        return False
    return True


def holds_itself(value: Any) -> bool:
    """Whether a list, tuple or dict leads back to itself. To flatten it would take the stack that Python has, and not return it."""
    return _holds_itself(value, set(), set())


def _holds_itself(value: Any, around: set[int], seen: set[int]) -> bool:
    if id(value) in around:
        return True
    containers = [part for part in _parts(value) if isinstance(part, list | tuple | dict)]
    if not containers or id(value) in seen:
        return False
    around.add(id(value))
    found = any(_holds_itself(part, around, seen) for part in containers)
    around.remove(id(value))
    seen.add(id(value))
    return found


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return dict.values(value)
    held = value.contents() if hasattr(type(value), "set_contents") else value
    return held if isinstance(held, list | tuple) else ()
