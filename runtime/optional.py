"""`Optional`: a value or None, as only run time knows."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np


@jax.tree_util.register_pytree_node_class
class Optional:
    """A variable, or a result, that is a value on one path of a traced condition and None on another.

    In converted code ``x is None`` is a traced bool; where it has been asked, ``x`` is the value, or None. Used as a value
    elsewhere it is one, and raises at run time, as None would, where it is none.

    `autograph.function` turns a result into the value or None before its caller sees it. Out of
    ``jax.jit(autograph.convert(f))`` it comes as it is, since XLA has no None: it reads as the value (NumPy,
    `jax.numpy`, ``float`` …) where there is one, and raises where there is not. It is a pytree, so ``jax.vmap``
    gives one whose ``present`` is an array.

    Attributes:
      present: bool array: whether there is a value.
      value: the value; placeholder zeros where ``present`` is false.

    >>> import autograph as ag, jax, jax.numpy as jnp
    >>> def first_above(x, limit):
    ...     for i in range(len(x)):
    ...         if x[i] > limit:
    ...             return i
    >>> x = jnp.array([1.0, 5.0, 9.0])
    >>> int(ag.function(first_above)(x, 4.0)), ag.function(first_above)(x, 10.0)
    (1, None)
    >>> jax.jit(ag.convert(first_above))(x, 10.0).resolve() is None
    True
    """

    def __init__(self, present: Any, value: Any) -> None:
        self.present = present
        self.value = value

    def tree_flatten(self) -> tuple[tuple[Any, Any], None]:
        return (self.present, self.value), None

    @classmethod
    def tree_unflatten(cls, _: None, children: tuple[Any, Any]) -> Optional:
        return cls(*children)

    def resolve(self) -> Any:
        """The value, or None; itself inside a trace, where it is not known which."""
        if isinstance(self.present, jax.core.Tracer) or np.ndim(self.present):
            return self
        return self.value if bool(self.present) else None

    def use(self) -> Any:
        """The value, for what None cannot do.

        Raises:
          StagingError: it may be None, and that cannot be checked at run time.
        """
        resolved = self.resolve()
        if resolved is not self:
            return resolved
        if not is_known(self.present):
            CHECKS.present(self.present)
        return self.value

    def __autograph_truth__(self) -> Any:
        resolved = self.resolve()
        if resolved is not self:
            return resolved
        return CHECKS.truth(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._value(), dtype=dtype)

    def __jax_array__(self) -> Any:
        return jax.numpy.asarray(self._value())

    def _value(self) -> Any:
        resolved = self.use()
        if resolved is None:
            raise TypeError("this value is None here; ask `is None`, or `.present`, first")
        return resolved

    def __float__(self) -> float:
        return float(self._value())

    def __int__(self) -> int:
        return int(self._value())

    def __index__(self) -> int:
        return operator.index(self._value())

    def __bool__(self) -> bool:
        resolved = self.use()
        return False if resolved is None else bool(resolved)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.use())

    def __len__(self) -> int:
        return len(self.use())

    def __getitem__(self, key: Any) -> Any:
        return self.use()[key]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.use()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.use(), name)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        resolved = self.resolve()
        return f"Optional(present={self.present}, value={self.value})" if resolved is self else repr(resolved)

    def __str__(self) -> str:
        resolved = self.resolve()
        return repr(self) if resolved is self else str(resolved)


def used(value: Any) -> Any:
    """What ``value`` is where None will not do."""
    return value.use() if isinstance(value, Optional) else value


def _binary(function: Callable[[Any, Any], Any]) -> Any:
    return lambda self, other: function(self.use(), used(other))


def _reflected(function: Callable[[Any, Any], Any]) -> Any:
    return lambda self, other: function(used(other), self.use())


def _unary(function: Callable[[Any], Any]) -> Any:
    return lambda self: function(self.use())


def _equal(self: Optional, other: Any) -> Any:
    return _compared(self, other, operator.eq, False)


def _unequal(self: Optional, other: Any) -> Any:
    return _compared(self, other, operator.ne, True)


def _compared(one: Optional, other: Any, function: Callable[[Any, Any], Any], if_none: bool) -> Any:
    """``==`` and ``!=``, which None has too."""
    resolved = one.resolve()
    if resolved is not one or is_known(one.present):
        return function(one.use(), other)
    if other is None:
        return one.present if if_none else ~one.present
    same = function(one.value, used(other))
    return jax.numpy.where(one.present, same, if_none)


for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and_",
    "or_",
    "xor",
    "lshift",
    "rshift",
):
    _plain = _name.rstrip("_")
    setattr(Optional, f"__{_plain}__", _binary(getattr(operator, _name)))
    setattr(Optional, f"__r{_plain}__", _reflected(getattr(operator, _name)))
for _name in ("lt", "le", "gt", "ge"):
    setattr(Optional, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Optional, f"__{_name}__", _unary(getattr(operator, _name)))
for _name, _function in {"eq": _equal, "ne": _unequal}.items():
    setattr(Optional, f"__{_name}__", _function)


class _Checks:
    """What an `Optional` asks of the operators. Set by whoever makes them."""

    present: Callable[[Any], None]
    truth: Callable[[Optional], Any]


CHECKS = _Checks()


class _Known(threading.local):
    """What the branches being traced know: for each ``present``, by identity, whether it is true there."""

    def __init__(self) -> None:
        self.facts: list[tuple[Any, bool]] = []


_KNOWN = _Known()


def is_known(present: Any, wanted: bool = True) -> bool:
    """Whether the code being traced runs only where ``present`` is so."""
    return present is wanted or any(fact is present and truth is wanted for fact, truth in _KNOWN.facts)


@contextmanager
def knowing(facts: Iterable[tuple[Any, bool]]) -> Iterator[None]:
    """Trace code that runs only where these facts hold."""
    count = len(_KNOWN.facts)
    _KNOWN.facts += facts
    try:
        yield
    finally:
        del _KNOWN.facts[count:]
