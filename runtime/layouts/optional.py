"""`Optional`: a value or None, or another object that is no more than itself, chosen at run time."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from autograph.backends.large_ints import is_far_beyond
from autograph.runtime.layouts.large_ints import must_fit
from autograph.runtime.layouts.objects import is_plain_object
from autograph.runtime.layouts.one_of import OneOf, candidates_of, known_candidate
from autograph.runtime.layouts.perhaps import Perhaps, is_sentinel, read
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.recording import LOCAL
from autograph.runtime.typing import ArrayLike, PyTree

_SHARED = frozenset(["present", "value", "has_value", "get_value", "resolve", "use"])


@jax.tree_util.register_pytree_node_class
class Optional:
    """A value that is None on one path of a traced condition and an array, or a container of arrays, on another.

    In converted code, ``x is None`` is a traced bool, and ``x`` is the value, or None, in the branches of such a
    test. Any other use accesses the value, and raises at run time the exception that None would raise.

    `autograph.function` returns the value or None. ``jax.jit(autograph.convert(f))`` returns an `Optional`, since XLA
    has no None: NumPy, `jax.numpy` and ``float`` accept it as the value, and raise if it is None. It is a pytree;
    under ``jax.vmap``, ``present`` has the shape of the batch.

    Attributes:
      present: a bool array: whether there is a value.
      value: the value; zeros where ``present`` is false.

    Where a path has an ``object()``, as ``missing = object()``, the value is that object there, and not None.

    >>> import autograph as ag, jax, jax.numpy as jnp
    >>> def first_above(x, limit):
    ...     for i in range(len(x)):
    ...         if x[i] > limit:
    ...             return i
    >>> x = jnp.array([1.0, 5.0, 9.0])
    >>> int(ag.function(first_above)(x, 4.0)), ag.function(first_above)(x, 10.0)
    (1, None)
    >>> found = jax.jit(ag.convert(first_above))(x, 4.0)
    >>> bool(found.has_value()), int(found.get_value())
    (True, 1)
    >>> jax.jit(ag.convert(first_above))(x, 10.0).resolve() is None
    True
    """

    def __init__(self, present: ArrayLike, value: PyTree, absent: object = None) -> None:
        object.__setattr__(self, "_present", present)
        object.__setattr__(self, "_held", value)
        object.__setattr__(self, "_absent", absent)

    def __getattribute__(self, name: str) -> Any:
        if name in _SHARED:  # as the names of attributes of the user's objects may be
            held = object.__getattribute__(self, "_held")
            candidates = candidates_of(held) if type(held) is OneOf else (held,)
            if any(is_plain_object(each) and hasattr(each, name) for each in candidates):
                return getattr(used(self), name)
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(used(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(used(self), name)

    @property
    def present(self) -> jax.Array:
        return self._present

    @property
    def value(self) -> PyTree:
        return self._held

    def tree_flatten(self) -> tuple[tuple[PyTree, PyTree], object]:
        return (self._present, self._held), self._absent

    @classmethod
    def tree_unflatten(cls, absent: object, children: tuple[PyTree, PyTree]) -> Optional:
        return cls(*children, absent)

    def has_value(self) -> jax.Array:
        """Return whether there is a value.

        Returns:
          A bool array of shape ``()``; for an `Optional` from ``jax.vmap``, of the shape of the batch.

        >>> import autograph as ag, jax, jax.numpy as jnp
        >>> positive = jax.jit(ag.convert(lambda x: x if x > 0 else None))
        >>> bool(positive(jnp.array(2.0)).has_value()), bool(positive(jnp.array(-2.0)).has_value())
        (True, False)
        """
        return self._present

    def get_value(self) -> PyTree:
        """Return the value.

        Returns:
          An array, or a container of arrays.

        Raises:
          TypeError: it is None, or for a batch, one of its rows is. Inside a trace this is raised at run time.
          StagingError: it may be None, and the program cannot raise at run time.

        >>> import autograph as ag, jax, jax.numpy as jnp
        >>> positive = jax.jit(ag.convert(lambda x: x if x > 0 else None))
        >>> float(positive(jnp.array(2.0)).get_value())
        2.0
        """
        return self._value()

    def resolve(self) -> PyTree:
        """Return the value or None. Inside a trace, where that is not known, return the `Optional` itself.

        Returns:
          The value, None, or ``self``.
        """
        return resolved(self)

    def use(self) -> PyTree:
        """Return the value for an operation that None does not support.

        Raises:
          StagingError: it may be None, and the program cannot raise at run time.
        """
        return used(self)

    def __autograph_truth__(self) -> Any:
        found = resolved(self)
        if found is not self:
            return found
        return LANGUAGE.operators.truth_of_optional(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._value(), dtype=dtype)

    def __jax_array__(self) -> Any:
        if is_number_choice(self):
            must_fit(self._absent)
        return jax.numpy.asarray(self._value())

    def _value(self) -> Any:
        found = used(self)
        if type(found) is not int and (found is None or found is self._absent):
            raise TypeError("this value is None here; test `is None`, or `.has_value()`, first")
        return found

    def __float__(self) -> float:
        return float(self._value())

    def __int__(self) -> int:
        return int(self._value())

    def __index__(self) -> int:
        return operator.index(self._value())

    def __bool__(self) -> bool:
        return bool(used(self))

    def __iter__(self) -> Iterator[Any]:
        return iter(used(self))

    def __len__(self) -> int:
        return len(used(self))

    def __getitem__(self, key: Any) -> Any:
        return used(self)[key]

    def __call__(self, *args: PyTree, **kwargs: PyTree) -> PyTree:
        return used(self)(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(used(self), name)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        found = resolved(self)
        return f"Optional(present={self._present}, value={self._held})" if found is self else repr(found)

    def __str__(self) -> str:
        found = resolved(self)
        return repr(self) if found is self else str(found)


def present_in(optional: Optional) -> Any:
    """Return whether there is a value: `Optional.present`, even if the value has an attribute of that name."""
    return optional._present


def held_in(optional: Optional) -> Any:
    """Return the value, or the zeros in its place: `Optional.value`, even if the value has an attribute of that name."""
    return optional._held


def absent_in(optional: Optional) -> Any:
    """Return what stands where there is no value: None, or an object that is no more than itself."""
    return optional._absent


def with_held(optional: Optional, held: Any) -> Optional:
    """Return the same with another value."""
    return optional if held is optional._held else Optional(optional._present, held, optional._absent)


def resolved(optional: Optional) -> Any:
    """Return the value, or what stands for none; the `Optional` itself if that is not known."""
    present = optional._present
    if isinstance(present, jax.core.Tracer) or np.ndim(present):
        return optional
    return optional._held if bool(present) else optional._absent


def possible_values(value: Any) -> tuple[Any, ...]:
    """Return the values that Python's name may have, of which a traced condition selects one, or whether there is one.

    >>> possible_values(OneOf([len, abs], 0)), possible_values(2.0)
    ((<built-in function len>, <built-in function abs>), (2.0,))
    """
    if isinstance(value, Optional):
        return possible_values(value._held)
    if isinstance(value, Perhaps):
        return possible_values(value.held)
    return candidates_of(value) if type(value) is OneOf else (value,)


def possible_functions(value: Any) -> list[types.FunctionType]:
    """Return those of `possible_values` that are functions."""
    return [each for each in possible_values(value) if isinstance(each, types.FunctionType)]


def used(value: Any) -> Any:
    """Return ``value`` for an operation that None does not support; of an `Optional`, or a `Perhaps`, the value, with a
    check at run time (of a batch, outside of the transform that made it, of all rows); of a `OneOf`, the candidate that it
    is, if it can be no other here.
    """
    value = read(value)
    if type(value) is OneOf:
        return known_candidate(value)
    if type(value) is not Optional:
        return value.held() if hasattr(type(value), "__autograph_number__") else value
    found = resolved(value)
    if found is not value:
        return found
    if np.ndim(value._present) and not isinstance(value._present, jax.core.Tracer):
        if not np.all(value._present):
            raise TypeError("some rows of this batch are None; `.has_value()` says which")
        return value._held
    if not is_known(value._present):
        LANGUAGE.operators.check_present(value._present, value._absent)
    return value._held


def is_number_choice(value: Any) -> bool:
    """Return whether this is a number that may be an int which no array holds, or a sum with one: see `number_choices`."""
    if type(value) is not Optional:
        return hasattr(type(value), "__autograph_number__")
    return type(value._absent) is int and resolved(value) is value


def may_be_beyond(values: Iterable[Any]) -> bool:
    """Return whether one of these may be an int which no array holds, and one is no number of Python's."""
    values = tuple(values)
    if not any(is_far_beyond(value) or is_number_choice(value) for value in values):
        return False
    return not all(type(value) in (int, bool, float) for value in values)


def _operated(function: Callable[..., Any], *operands: Any) -> Any:
    found = (
        LANGUAGE.operators.of_numbers(function, *operands) if any(map(is_number_choice, operands)) else NotImplemented
    )
    return function(*map(used, operands)) if found is NotImplemented else found


def _binary(function: Callable[[Any, Any], Any]) -> Any:
    return lambda self, other: _operated(function, self, other)


def _reflected(function: Callable[[Any, Any], Any]) -> Any:
    return lambda self, other: _operated(function, other, self)


def _unary(function: Callable[[Any], Any]) -> Any:
    return lambda self: _operated(function, self)


def _method(name: str) -> Any:
    return lambda self, *args: getattr(used(self), name)(*args)


def _equal(self: Optional, other: Any) -> Any:
    return _compared(self, other, operator.eq, False)


def _unequal(self: Optional, other: Any) -> Any:
    return _compared(self, other, operator.ne, True)


def _compared(one: Optional, other: Any, function: Callable[[Any, Any], Any], if_none: bool) -> Any:
    """``==`` and ``!=``, which None and an ``object()`` have too: each equals itself, and nothing else."""
    if is_number_choice(one) and (same := LANGUAGE.operators.of_numbers(function, one, other)) is not NotImplemented:
        return same
    found = resolved(one)
    if found is not one or is_known(one._present):
        return function(used(one), other)
    if other is one._absent:
        return one._present if if_none else ~one._present
    if is_sentinel(other) and not isinstance(one._held, Optional):
        return if_none
    if isinstance(other, Optional) and resolved(other) is other:
        if other._absent is not one._absent:
            return jax.numpy.where(one._present, function(one._held, other), function(other, one._absent))
        both = one._present & other._present
        if_either = function(one._present, other._present)  # None equals None, and nothing else
        return jax.numpy.where(both, function(one._held, other._held), if_either)
    same = function(one._held, used(other))
    return jax.numpy.where(one._present, same, if_none)


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
    for _kind in (Optional, Perhaps):
        setattr(_kind, f"__{_plain}__", _binary(getattr(operator, _name)))
        setattr(_kind, f"__r{_plain}__", _reflected(getattr(operator, _name)))
for _name in ("lt", "le", "gt", "ge"):
    for _kind in (Optional, Perhaps):
        setattr(_kind, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in ("neg", "pos", "abs", "invert"):
    for _kind in (Optional, Perhaps):
        setattr(_kind, f"__{_name}__", _unary(getattr(operator, _name)))
for _name, _function in {"eq": _equal, "ne": _unequal}.items():
    setattr(Optional, f"__{_name}__", _function)
    setattr(Perhaps, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in ("float", "int", "index", "bool", "len", "iter", "contains", "getitem", "setitem", "delitem", "array"):
    setattr(Perhaps, f"__{_name}__", _method(f"__{_name}__"))


def is_known(present: Any, wanted: bool = True) -> bool:
    """Return whether the code being traced runs only where ``present`` equals ``wanted``."""
    return present is wanted or any(fact is present and truth is wanted for fact, truth in LOCAL.facts)


@contextmanager
def knowing(facts: Iterable[tuple[Any, bool]]) -> Iterator[None]:
    """Trace code that runs only where these facts hold."""
    count = len(LOCAL.facts)
    LOCAL.facts += facts
    try:
        yield
    finally:
        del LOCAL.facts[count:]
