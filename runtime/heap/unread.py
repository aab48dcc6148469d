"""`Unread`: in place of the elements of a list that a trace is not to read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Unread:
    """In place of an element that a trace is not to read. Whatever asks it for something ends the trace."""

    __slots__ = ("_refusal",)

    def __init__(self, refusal: Callable[[], Exception]) -> None:
        self._refusal = refusal

    def _asked(self, *_: Any) -> Any:
        raise self._refusal()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name) if name.startswith("__") else self._refusal()


_BINARY = (
    "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "pow", "lshift", "rshift", "and", "or", "xor",
)  # fmt: skip
_ASKING = (
    "getitem", "setitem", "len", "iter", "contains", "call", "bool", "index", "int", "float", "complex", "hash", "eq", "ne", "lt",
    "le", "gt", "ge", "neg", "pos", "abs", "invert", "round", "str", "repr", "format", "array", "jax_array",
    *_BINARY, *(f"r{name}" for name in _BINARY),
)  # fmt: skip
for _name in _ASKING:
    setattr(Unread, f"__{_name}__", Unread._asked)
