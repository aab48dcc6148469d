"""`TracedTuple`: a tuple of traced length, such as ``tuple(xs)`` of a list of traced length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import jax

from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.errors import StagingError
from autograph.runtime.tracing.locations import user_location


@jax.tree_util.register_pytree_node_class
class TracedTuple(TracedList):
    """A tuple made inside a trace: a list of traced length without the methods that write."""

    __slots__ = ()
    stands_for = tuple

    @staticmethod
    def shown(facts: Any, items: Sequence[object]) -> str:
        del facts
        return str(tuple(items))

    def fresh(self) -> TracedTuple:
        return TracedTuple((), self.checks)

    def resolve(self) -> Any:
        found = super().resolve()
        return found if found is self else tuple(found)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, tuple | TracedTuple):
            return NotImplemented
        made = self.as_list()
        made.extend(other)
        return self.holding(made.contents())

    def __radd__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            return NotImplemented
        made = TracedList((), self.checks).holding(other)
        made.extend(self)
        return self.holding(made.contents())

    def __mul__(self, count: Any) -> Any:
        return self.holding((self.as_list() * count).contents())

    __rmul__ = __mul__
    __iadd__ = __add__
    __imul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, tuple | TracedTuple) and tuple(self) == tuple(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:  # type: ignore[override]
        if not self._is_padded():
            return hash(tuple(self))
        raise StagingError(
            f"{user_location()}\n  A tuple of traced length is used as a key of a dict, or in a set: its hash is known only at run time.\n"
            "  Use a tuple of a fixed length as the key."
        )

    def __repr__(self) -> str:
        return f"tuple({super().__repr__()})"

    def __reduce_ex__(self, _: Any) -> Any:
        return tuple, (list(self),)

    def __setitem__(self, *_: Any) -> NoReturn:
        raise TypeError("'tuple' object does not support item assignment")

    def __delitem__(self, *_: Any) -> NoReturn:
        raise TypeError("'tuple' object doesn't support item deletion")


def _no_method(name: str) -> Any:
    def asked(self: TracedTuple) -> NoReturn:
        raise AttributeError(f"'tuple' object has no attribute {name!r}")

    return property(asked)


for _name in ("append", "clear", "copy", "extend", "insert", "pop", "remove", "reverse", "sort"):
    setattr(TracedTuple, _name, _no_method(_name))
