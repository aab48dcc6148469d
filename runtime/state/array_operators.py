"""`ArrayOperators`: NumPy's operators and array methods for objects that hold an array."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from autograph.runtime.layouts.one_of import chooses_values, is_one_of
from autograph.runtime.layouts.statement_variables import value_of
from autograph.runtime.state.processes import on_host


def plain(value: Any) -> Any:
    """The present value of a Variable, of a part of one, or of one of several of these; anything else as it is."""
    if is_one_of(value) and chooses_values(value):
        return value_of(value)
    return value.value if isinstance(value, ArrayOperators) else value


def binary(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: function(self.value, plain(other))


def unary(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda self: function(self.value)


def reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: function(plain(other), self.value)


def in_place(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def update(self: Any, other: Any) -> Any:
        return self._update(function, other)

    return update


class ArrayOperators:
    """Base class with NumPy's operators and the methods of an array, applied to ``value``."""

    __slots__ = ()
    __array_priority__ = 1000  # so that a NumPy array on the left leaves the operation to us

    value: Any

    def __jax_array__(self) -> Any:
        return self.value

    def __autograph_value__(self) -> Any:
        """What converted code tests instead of this object."""
        return self.value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        value = on_host(self.value, self._described())
        return np.array(value, dtype=dtype) if copy else np.asarray(value, dtype=dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(jax.Array, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.value, name)

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return the value as a NumPy array of its own."""
        return np.array(on_host(self.value, self._described()))

    def _described(self) -> str:
        """What messages call it."""
        return f"a {type(self).__name__}"

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __complex__(self) -> complex:
        return complex(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)

    def __round__(self, digits: int = 0) -> Any:
        return round(self.value, digits)

    def __format__(self, text: str) -> str:
        return format(self.value, text)

    __hash__ = None  # type: ignore[assignment]
    __add__, __radd__ = binary(operator.add), reflected(operator.add)
    __sub__, __rsub__ = binary(operator.sub), reflected(operator.sub)
    __mul__, __rmul__ = binary(operator.mul), reflected(operator.mul)
    __truediv__, __rtruediv__ = binary(operator.truediv), reflected(operator.truediv)
    __floordiv__, __rfloordiv__ = binary(operator.floordiv), reflected(operator.floordiv)
    __mod__, __rmod__ = binary(operator.mod), reflected(operator.mod)
    __divmod__, __rdivmod__ = binary(divmod), reflected(divmod)
    __pow__, __rpow__ = binary(operator.pow), reflected(operator.pow)
    __matmul__, __rmatmul__ = binary(operator.matmul), reflected(operator.matmul)
    __and__, __rand__ = binary(operator.and_), reflected(operator.and_)
    __or__, __ror__ = binary(operator.or_), reflected(operator.or_)
    __xor__, __rxor__ = binary(operator.xor), reflected(operator.xor)
    __lshift__, __rlshift__ = binary(operator.lshift), reflected(operator.lshift)
    __rshift__, __rrshift__ = binary(operator.rshift), reflected(operator.rshift)
    __lt__, __le__ = binary(operator.lt), binary(operator.le)
    __gt__, __ge__ = binary(operator.gt), binary(operator.ge)
    __eq__ = binary(operator.eq)
    __ne__ = binary(operator.ne)
    __neg__, __pos__ = unary(operator.neg), unary(operator.pos)
    __invert__, __abs__ = unary(operator.invert), unary(abs)
