"""The views of a dict of which some keys are there on some paths only."""

from __future__ import annotations

import types
from collections.abc import Callable, ItemsView, KeysView, Mapping, ValuesView
from typing import Any

from autograph.runtime.tracing.language import LANGUAGE

VIEWS = (KeysView, ValuesView, ItemsView)


class _View:
    """A view of a dict that may lack keys, which the operators unpack; any other use of it is refused."""

    def __init__(self, owner: dict[Any, Any], plain: Callable[[], Any], known: Callable[[Any], Any]) -> None:
        self.mapping = self._mapping = owner
        self._plain = plain
        self._known = known

    def known(self) -> Any:
        """Python's own view, once nothing is missing."""
        return self._known(self._plain())

    def __bool__(self) -> bool:
        return bool(LANGUAGE.operators.truth(self.mapping))


class _Keys(_View, KeysView[Any]):
    """``d.keys()``, which compares and combines as a set does."""


class _Values(_View, ValuesView[Any]):
    """``d.values()``."""


class _Items(_View, ItemsView[Any, Any]):
    """``d.items()``."""


def _known(name: str) -> Callable[..., Any]:
    return lambda self, *args: getattr(self.known(), name)(*args)


def _as_set(symbol: str, is_reflected: bool = False) -> Callable[..., Any]:
    def operate(self: _Keys, other: Any) -> Any:
        operators = LANGUAGE.operators
        mine, others = operators.call(set)(self), operators.call(set)(other)
        return operators.operate(symbol, *((others, mine) if is_reflected else (mine, others)))

    return operate


_READING = "iter len contains eq ne lt le gt ge and or sub xor rand ror rsub rxor"
_OF_SETS: Mapping[str, str] = types.MappingProxyType(
    {
        "eq": "==",
        "ne": "!=",
        "lt": "<",
        "le": "<=",
        "gt": ">",
        "ge": ">=",
        "and": "&",
        "or": "|",
        "sub": "-",
        "xor": "^",
    }
)
for _kind in (_Keys, _Values, _Items):
    for _name in _READING.split():
        setattr(_kind, f"__{_name}__", _known(f"__{_name}__"))
for _name, _symbol in _OF_SETS.items():
    setattr(_Keys, f"__{_name}__", _as_set(_symbol))
for _name in ("and", "or", "sub", "xor"):
    setattr(_Keys, f"__r{_name}__", _as_set(_OF_SETS[_name], is_reflected=True))
VIEWS_OF: Mapping[str, Any] = types.MappingProxyType({"keys": _Keys, "values": _Values, "items": _Items})
