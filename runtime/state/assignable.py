"""`Assignable`: what a Variable is assigned by, and `VariableItem`, a slice of one."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.state.array_operators import ArrayOperators, in_place, plain
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.typing import TensorLike


class Assignable(ArrayOperators):
    """Base class of what has the operators of an array and can be assigned, all by `_change`."""

    __slots__ = ()

    def _change(self, new: Callable[[Any], Any]) -> Self:
        """Assign what ``new`` returns for the Variable."""
        raise NotImplementedError

    def read_value(self) -> jax.Array:
        """Return the current value.

        Returns:
          A `jax.Array`, the same as `value`.

        >>> ag.Variable([1, 2]).read_value().tolist()
        [1, 2]
        """
        return self.value

    def assign(self, value: TensorLike) -> Self:
        """Assign a new value.

        Args:
          value: an array, a number or a nested list of the Variable's shape, in a dtype that converts to the
            Variable's.

        Returns:
          The Variable.

        Raises:
          ValueError: the shape or the dtype differs.
          StagingError: inside a ``vmap``, or in a trace that autograph does not own.

        >>> ag.Variable([1, 2]).assign([3, 4]).numpy().tolist()
        [3, 4]
        """
        return self._change(lambda _: value)

    def assign_add(self, value: TensorLike) -> Self:
        """Add ``value`` to the value.

        Args:
          value: an array or a number that broadcasts to the Variable's shape.

        Returns:
          The Variable.

        Raises:
          ValueError: the shape or the dtype of the sum differs.

        >>> ag.Variable([1, 2]).assign_add(3).numpy().tolist()
        [4, 5]
        """
        return self._update(operator.add, value)

    def assign_sub(self, value: TensorLike) -> Self:
        """Subtract ``value`` from the value.

        Args:
          value: an array or a number that broadcasts to the Variable's shape.

        Returns:
          The Variable.

        Raises:
          ValueError: the shape or the dtype of the difference differs.

        >>> ag.Variable([1, 2]).assign_sub(1).numpy().tolist()
        [0, 1]
        """
        return self._update(operator.sub, value)

    def _update(self, function: Callable[[Any, Any], Any], other: Any) -> Self:
        part = plain(other)
        return self._change(lambda variable: _computed(function, variable.value, part, variable))

    def __getitem__(self, key: Any) -> VariableItem:
        return VariableItem(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self[key].assign(value)

    __iadd__, __isub__ = in_place(operator.add), in_place(operator.sub)
    __imul__, __itruediv__ = in_place(operator.mul), in_place(operator.truediv)
    __ifloordiv__, __imod__ = in_place(operator.floordiv), in_place(operator.mod)
    __ipow__, __imatmul__ = in_place(operator.pow), in_place(operator.matmul)
    __iand__, __ior__, __ixor__ = in_place(operator.and_), in_place(operator.or_), in_place(operator.xor)
    __ilshift__, __irshift__ = in_place(operator.lshift), in_place(operator.rshift)


class VariableItem(ArrayOperators):
    """``v[i]``: a slice of a Variable, which is read as an array and can be assigned.

    >>> v = ag.Variable([1, 2, 3])
    >>> int(v[0] + 1)
    2
    >>> v[1:].assign([5, 6])
    <ag.Variable 'Variable' int32[3] [1, 5, 6]>
    """

    __slots__ = ("_key", "_variable")

    def __init__(self, variable: Assignable, key: Any) -> None:
        self._variable = variable
        self._key = jax.tree_util.tree_map(plain, key, is_leaf=lambda leaf: isinstance(leaf, ArrayOperators | slice))

    @property
    def value(self) -> jax.Array:
        """The current value of the slice."""
        return self._variable.value[self._key]

    def assign(self, value: TensorLike) -> Any:
        """Assign to this slice. Returns the whole Variable."""
        part = plain(value)
        return self._variable._change(
            lambda variable: _replaced(variable.value, self._key, _part(part, variable._array_of), variable)
        )

    def assign_add(self, value: TensorLike) -> Any:
        """Add to this slice. Returns the whole Variable."""
        return self._update(operator.add, value)

    def assign_sub(self, value: TensorLike) -> Any:
        """Subtract from this slice. Returns the whole Variable."""
        return self._update(operator.sub, value)

    def _update(self, function: Callable[[Any, Any], Any], other: Any) -> Any:
        part, key = plain(other), self._key

        def new(variable: Any) -> Any:
            whole = variable.value
            return _replaced(whole, key, _computed(function, whole[key], part, variable), variable)

        return self._variable._change(new)

    def __getitem__(self, key: Any) -> Any:
        return self.value[key]

    def __repr__(self) -> str:
        return f"{self._variable!r}[{self._key}]"


def _part(value: Any, array_of: Callable[[Any], Any] = jnp.asarray) -> Any:
    found = plain(value)
    return array_of(found) if isinstance(found, list | tuple) else found


def _computed(function: Callable[[Any, Any], Any], whole: Any, part: Any, variable: Any) -> Any:
    """What a function of a Variable, or of a slice of it, and what is given for it returns."""
    part = _part(part, getattr(variable, "_array_of", jnp.asarray))
    try:
        return function(whole, part)
    except TypeError as error:
        if hasattr(part, "dtype") or not hasattr(variable, "_no_array"):  # a place of an array
            raise
        raise variable._no_array(part, error) from None


def _replaced(whole: Any, key: Any, part: Any, variable: Any) -> Any:
    dtype = part.dtype if hasattr(part, "dtype") else variable._array_of(part).dtype
    weak = getattr(part, "weak_type", not hasattr(part, "dtype"))
    if isinstance(part, np.ndarray | np.generic):
        dtype = jax.dtypes.canonicalize_dtype(dtype)
    if dtype != variable.dtype and not (weak and variable._admits(dtype)):
        raise ValueError(
            f"{user_location()}\n  {variable._label()} holds {variable._type}, and a part of it is assigned {dtype}. Cast the value."
        )
    return whole.at[key].set(part)


# A part is a value wherever JAX takes containers apart: `jnp.sin(v[0])`, a loop's variable, a result.
jax.tree_util.register_pytree_node(VariableItem, lambda item: ((item.value,), None), lambda _, parts: parts[0])
