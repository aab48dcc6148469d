"""`DictKind`: the classes of dicts that a program can make again, with the order of their keys."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

from autograph.runtime.layouts.functions import is_same_function


class DictKind:
    """A class of dicts other than `dict`: what makes one of its items."""

    def __init__(self, kind: type, factory: Callable[[], Any] | None = None) -> None:
        self.kind = kind
        self.factory = factory

    def __call__(self, items: Any) -> Any:
        return defaultdict(self.factory, items) if self.kind is defaultdict else self.kind(items)

    @property
    def __name__(self) -> str:
        return self.kind.__name__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DictKind) or self.kind is not other.kind:
            return False
        return self.factory is other.factory or is_same_function(self.factory, other.factory)

    def __hash__(self) -> int:
        return hash(self.kind)


def dict_kind(value: Any) -> Any:
    """What makes a dict like this of its items: `dict`, or a `DictKind`; None for what is no dict of such a class."""
    kind = type(value)
    if kind is dict:
        return dict
    if kind is OrderedDict:
        return DictKind(kind)
    return DictKind(kind, value.default_factory) if kind is defaultdict else None


def is_dict_kind(kind: Any) -> bool:
    """Whether this is what `dict_kind` returns for a dict."""
    return kind is dict or isinstance(kind, DictKind)


def is_sorted_by_jax(value: dict[Any, Any]) -> bool:
    """Whether JAX sorts the keys of a dict of this class, so that nobody sees their order in a result."""
    return type(value) in (dict, defaultdict)


def own_class(value: dict[Any, Any]) -> Any:
    """The class of Python's whose methods write to a dict past those of a class derived from it."""
    return OrderedDict if isinstance(value, OrderedDict) else dict
