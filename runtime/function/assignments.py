"""What variables and attributes held when a function's reads were looked at, and what its traces have assigned to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Place = tuple[Any, ...]


@dataclass(frozen=True)
class Held:
    """What a variable or an attribute held when it was looked at.

    Attributes:
      value: that.
      place: what assigns it: the namespace or class, and the name.
      key: what the value, and what it leads to, is distinguished by.
      owner: a weak reference to the object whose attribute it is; None for a variable.
    """

    value: Any
    place: Place
    key: tuple[Any, ...]
    owner: Any = None


@dataclass(frozen=True)
class Left:
    """What a trace has assigned to a variable or an attribute, and how often one began with something else there.

    What a trace finds as the last one left it, it has in common with that one: both are programs of calls that begin there.
    """

    key: tuple[Any, ...]
    owner: Any
    count: int

    def is_of(self, owner: Any) -> bool:
        """Whether it is this object's attribute, and not that of one which had the same identity."""
        return self.owner is None or self.owner() is owner


Places = Mapping[Any, Held]
Lefts = Mapping[Any, Left]
