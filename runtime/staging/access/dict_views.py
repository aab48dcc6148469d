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
    """``d.keys()``."""


class _Values(_View, ValuesView[Any]):
    """``d.values()``."""


class _Items(_View, ItemsView[Any, Any]):
    """``d.items()``."""


def _known(name: str) -> Callable[..., Any]:
    return lambda self, *args: getattr(self.known(), name)(*args)


_READING = "iter len contains eq ne lt le gt ge and or sub xor rand ror rsub rxor"
for _kind in (_Keys, _Values, _Items):
    for _name in _READING.split():
        setattr(_kind, f"__{_name}__", _known(f"__{_name}__"))
VIEWS_OF: Mapping[str, Any] = types.MappingProxyType({"keys": _Keys, "values": _Values, "items": _Items})
