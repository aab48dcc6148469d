"""`TracedText`: a text that is made of traced values, once the program has run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from autograph.runtime.containers.lengths import is_integer
from autograph.runtime.effects.as_python import as_python, resolved_values
from autograph.runtime.errors import StagingError
from autograph.runtime.tracing.locations import user_location

PLAIN = (str, bytes, int, float, bool, complex, type(None))


@jax.tree_util.register_pytree_node_class
class DeferredText:
    """A text made from traced values: ``make`` of them, once they are known."""

    def __init__(self, make: Callable[..., str], values: tuple[Any, ...]) -> None:
        self.make = make
        self.values = values

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        return self.values, _Code(self.make)

    @classmethod
    def tree_unflatten(cls, make: Any, values: Any) -> DeferredText:
        return cls(make.function, tuple(values))

    def __str__(self) -> str:
        return self.make(*map(as_python, resolved_values(self.values)))


@jax.tree_util.register_pytree_node_class
class TracedText(DeferredText):
    """A text of traced values, such as ``f"{x:.2f}"``: it may be printed, raised, put into another text and returned."""

    def __str__(self) -> str:
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves(self.values)):
            raise self._refused()
        return super().__str__()

    def __repr__(self) -> str:
        """The text's own; what it is made of, where that are no values but what represents them in a description."""
        leaves = jax.tree_util.tree_leaves(self.values)
        if all(isinstance(leaf, (jax.Array, np.ndarray, np.generic, *PLAIN)) for leaf in leaves):
            return repr(str(self))
        return f"<text of {', '.join(map(repr, leaves))}>"

    def __format__(self, form: str) -> str:
        return format(str(self), form)

    def resolve(self) -> Any:
        """The text; itself where its values are not known."""
        is_known = not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves(self.values))
        return str(self) if is_known else self

    def __add__(self, other: Any) -> Any:
        return TracedText(_concatenated, (self, other)) if isinstance(other, str | TracedText) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return TracedText(_concatenated, (other, self)) if isinstance(other, str) else NotImplemented

    def __mul__(self, count: Any) -> Any:
        return TracedText(_repeated, (self, count)) if is_integer(count) else NotImplemented

    __rmul__ = __mul__

    def _refused(self, *_: Any) -> Any:
        raise StagingError(
            f"{user_location()}\n  A string of traced values is read at trace time, but its contents are known only at run time.\n  "
            "Print it, raise it in an exception, or return it. To branch on it, compare the values that it contains."
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(str, name):
            raise AttributeError(name)
        return self._refused()

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __len__ = __bool__ = _refused
    __iter__ = __getitem__ = __contains__ = __mod__ = __int__ = __float__ = _refused
    __hash__ = _refused


def concatenated(one: Any, other: Any) -> Any:
    """``one + other`` of two texts of which the run knows the contents."""
    if isinstance(one, TracedText):
        return one + other
    return other.__radd__(one) if isinstance(other, TracedText) else TracedText(_concatenated, (one, other))


def _concatenated(*parts: Any) -> str:
    return "".join(map(str, parts))


def _repeated(text: Any, count: Any) -> str:
    return str(text) * int(count)


class _Code:
    """A function, identified by its code: a function that each trace defines again is the same."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Code) and _code_of(self.function) is _code_of(other.function)

    def __hash__(self) -> int:
        return hash(_code_of(self.function))


def _code_of(function: Any) -> Any:
    return getattr(function, "__code__", function)
