"""`Optional`: a result that is a value or None, as only run time knows."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from autograph.runtime.errors import StagingError


@jax.tree_util.register_pytree_node_class
class Optional:
    """What a converted function returns where one path of a traced condition returns a value and another None.

    `autograph.function` turns it into the value or None before its caller sees it. Out of
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
        """The value, or None.

        Raises:
          StagingError: inside a trace, where it is not known which.
        """
        if isinstance(self.present, jax.core.Tracer):
            raise StagingError(
                "a function that returns a value or None, by a traced condition, was called inside a trace, where that is "
                "not known. Return a value on every path: a flag, or a number that stands for none."
            )
        return self.value if bool(self.present) else None

    def _value(self) -> Any:
        resolved = self.resolve()
        if resolved is None:
            raise TypeError("the converted function returned None here; ask .present first")
        return resolved

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._value(), dtype=dtype)

    def __jax_array__(self) -> Any:
        return jax.numpy.asarray(self._value())

    def __float__(self) -> float:
        return float(self._value())

    def __int__(self) -> int:
        return int(self._value())

    def __index__(self) -> int:
        return self._value().__index__()

    def __bool__(self) -> bool:
        resolved = self.resolve()
        return False if resolved is None else bool(resolved)

    def __repr__(self) -> str:
        return f"Optional(present={self.present}, value={self.value})"
