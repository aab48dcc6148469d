"""Encode the attributes of saved objects as nodes of `structures`.

In the manifest it is ``{"form": node, "slots": [part …]}``. A part is one of

    ["variable", 0]  ["function", 0]  ["program", 0]  ["object", 0]    one of the manifest's tables
    ["array", 0, "jax"]                                                an array, by the number of what holds it
    ["array", 0, "numpy"]  ["array", 0, "scalar"]                      one of NumPy's, and one of its scalars
"""

from __future__ import annotations

import collections
import dataclasses
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np

from autograph.runtime.function.concrete import ConcreteFunction
from autograph.runtime.function.function import Function
from autograph.runtime.saving.dtypes import dtype_of, name_of
from autograph.runtime.saving.structures import Encoder, Node, NoForm, Slot, is_name
from autograph.runtime.state.module import Module
from autograph.runtime.state.random import Generator
from autograph.runtime.state.variables import Variable

ARRAYS = ("jax", "numpy", "scalar")
Part = list[Any]


def saved_attributes(module: Module) -> dict[str, Any]:
    """The attributes of a module that are saved, by name: its own, and of its class the Functions and plain values."""
    if isinstance(module, Generator):
        return {"state": module.state}
    kind = type(module)
    names = {name for each in kind.__mro__ for name in getattr(each, "__slots__", ())} | set(vars(module))
    found = {name: getattr(module, name) for name in sorted(names) if name.isidentifier() and hasattr(module, name)}
    for name in sorted({name for each in kind.__mro__ for name in vars(each)} - names):
        written = inspect.getattr_static(kind, name)
        written = written.__func__ if isinstance(written, staticmethod | classmethod) else written
        if isinstance(written, Function):
            found[name] = getattr(module, name)
        elif _has_form(written):
            found[name] = written
    return {name: value for name, value in found.items() if name == "__call__" or not name.startswith("__")}


def _has_form(value: Any) -> bool:
    """Whether this is kept as an attribute of a class: most of them are methods and similar, which are not."""
    try:
        Attribute("", lambda each, _: ["part"] if is_part(each) else None, strict=True).encode(value)
    except NoForm:
        return False
    return True


def is_part(value: Any) -> bool:
    """Whether this is more than data, or an array."""
    return isinstance(value, Variable | Function | ConcreteFunction | Module) or array_kind(value) is not None


class Attribute(Encoder):
    """Encodes one attribute. Containers that derive from dict, list or tuple become such; dicts keep their order.

    Args:
      name: its path, as in ``layers.0.w``.
      part: returns the part that a Variable, Function, Module or array is, of it and its path; None of what is none.
      strict: whether to raise `NoForm` for what has no form, and not leave a mark in its place.
    """

    def __init__(self, name: str, part: Callable[[Any, str], Part | None], strict: bool) -> None:
        super().__init__(not strict, self._slot_of)
        self._path, self._part = [name], part
        self._parts: list[Part] = []

    def encode(self, value: Any) -> dict[str, Any]:
        """What stands in the manifest for ``value``.

        Raises:
          NoForm: it has none; the text says what, and where it is.
        """
        try:
            form = self.node(value)
        except NoForm as error:
            if not self.opaque:
                raise
            form, self._parts = ["opaque", str(error)], []
        return {"form": form, "slots": self._parts}

    def _slot_of(self, value: Any) -> Slot | None:
        part = self._part(value, ".".join(self._path))
        if part is None:
            return None
        self._parts.append(part)
        return Slot(len(self._parts) - 1)

    def item(self, value: Any, name: Any) -> Node:
        self._path.append(str(name))
        try:
            return self.node(value)
        finally:
            self._path.pop()

    def unknown(self, value: Any) -> str:
        name = getattr(value, "__name__", None)
        if callable(value) and isinstance(name, str):
            return f"{type(value).__name__} {name}"
        return super().unknown(value)

    def _container(self, value: Any, kind: type) -> Node | None:
        if dataclasses.is_dataclass(kind) and hasattr(value, "__dict__"):  # with what is no field of it
            names = list(dict.fromkeys([*(field.name for field in dataclasses.fields(kind)), *vars(value)]))
            names = [name for name in names if hasattr(value, name) and is_name(name)]
            return self._record("dataclass", kind, names, [getattr(value, name) for name in names])
        if kind is collections.OrderedDict or not isinstance(value, dict):
            is_plain = isinstance(value, list | tuple) and not hasattr(kind, "_fields")
            return super()._container(value, (list if isinstance(value, list) else tuple) if is_plain else kind)
        return ["dict", [[self.key(key), self.item(part, key)] for key, part in value.items()]]


def array_kind(value: Any) -> str | None:
    """Which of `ARRAYS` this is; None if it is no array, or one that files do not hold: of texts, of objects, with a mask."""
    if isinstance(value, np.generic):
        kind = "scalar"
    elif type(value) in (np.ndarray, np.memmap):
        kind = "numpy"
    elif isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer):
        kind = "jax"
    else:
        return None
    try:
        dtype_of(name_of(value.dtype))
    except (TypeError, ValueError):
        return None
    return kind


def array_of(stored: np.ndarray[Any, Any], kind: str) -> Any:
    """NumPy's array, or scalar, of what was in the file."""
    return stored[()] if kind == "scalar" else np.array(stored)


def check_names(names: Iterable[str], taken: frozenset[str], what: str) -> None:
    """Check that what has these names can be read of a loaded module.

    Raises:
      ValueError: a loaded module has something of its own of such a name.
    """
    for name in names:
        if name in taken:
            raise ValueError(
                f"`{name}` of {what} cannot be saved: a loaded module has a `{name}` of its own. Give it another name."
            )
