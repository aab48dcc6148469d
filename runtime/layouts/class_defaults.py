"""What an object has by its class for an attribute that it has not itself: ``class Ball: bounces = 0``."""

from __future__ import annotations

import types
from typing import Any

from autograph.runtime.layouts.constants import sort_of_constant
from autograph.runtime.layouts.describe import describe, is_leaf, typed
from autograph.runtime.layouts.sides import Given, Side

NO_DEFAULT: Any = object()


def inherited(classes: tuple[type, ...], attribute: str) -> Any:
    """What reading the attribute returns once the object itself has none; `NO_DEFAULT` for what a descriptor computes.

    >>> class Ball:
    ...     bounces = 0
    ...     height = property(lambda self: 1.0)
    >>> inherited(Ball.__mro__, "bounces"), inherited(Ball.__mro__, "height") is NO_DEFAULT
    (0, True)
    """
    value = _in_classes(classes, attribute)
    return NO_DEFAULT if hasattr(type(value), "__get__") else value


def default_side(kind: type, attribute: str) -> Side | None:
    """What objects of a class have that lack an attribute which others have, as a side of a join; None for nothing.

    Raises:
      TypeError: what they have depends on the object, or can be written.
    """
    value = _in_classes(kind.__mro__, attribute)
    if value is NO_DEFAULT or isinstance(value, types.MemberDescriptorType) or _is_computed(value):
        return None
    if not _is_value(value):
        raise TypeError(kind, attribute)
    layout, leaves = describe(value)
    layout, given = typed(layout, leaves), tuple(map(Given, leaves))
    return Side(layout, given[0] if not layout.parts and given else given)


def _in_classes(classes: tuple[type, ...], attribute: str) -> Any:
    return next((vars(each)[attribute] for each in classes if attribute in vars(each)), NO_DEFAULT)


def _is_computed(value: Any) -> bool:
    """Whether reading this in a class runs code: of a property, or one that keeps its value in the object."""
    return hasattr(type(value), "__get__") and not isinstance(value, types.FunctionType | staticmethod | classmethod)


def _is_value(value: Any) -> bool:
    """Whether this is the same for all objects, and cannot be written."""
    if hasattr(type(value), "__get__"):
        return False
    if type(value) is tuple:
        return all(map(_is_value, value))
    return is_leaf(value) or sort_of_constant(value) is not None
