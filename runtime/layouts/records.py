"""`Record`: an object of the user's taken apart into its attributes, as JAX takes a dict apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax


@jax.tree_util.register_pytree_with_keys_class
class Record:
    """The class of an object, and its attributes: the children of a pytree node."""

    def __init__(self, kind: type, names: tuple[str, ...], values: Sequence[Any]) -> None:
        self.kind = kind
        self.names = names
        self.values = tuple(values)

    def tree_flatten_with_keys(self) -> tuple[list[tuple[Any, Any]], Any]:
        keys = map(jax.tree_util.GetAttrKey, self.names)
        return list(zip(keys, self.values, strict=True)), (self.kind, self.names)

    @classmethod
    def tree_unflatten(cls, aux: Any, children: Sequence[Any]) -> Record:
        kind, names = aux
        return cls(kind, names, children)

    def object(self) -> Any:
        """A new object of the class with these attributes."""
        made: Any = object.__new__(self.kind)
        for name, value in zip(self.names, self.values, strict=True):
            object.__setattr__(made, name, closed(value))
        return made

    def __repr__(self) -> str:
        return f"{self.kind.__name__}({', '.join(f'{n}={v!r}' for n, v in zip(self.names, self.values, strict=True))})"


def closed(value: Any) -> Any:
    """A pytree with each `Record` in it made an object again."""

    def is_record(part: Any) -> bool:
        return isinstance(part, Record)

    return jax.tree_util.tree_map(lambda part: part.object() if is_record(part) else part, value, is_leaf=is_record)
