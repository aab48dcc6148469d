"""`Transposed`: the transpose of a matrix with a traced number of rows, ``np.array(points).T``."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.containers.lengths import refused
from autograph.runtime.containers.padded_arrays import ARITHMETIC, COMPARISONS, PaddedArray, elementwise

Rule = Callable[..., Any]
_MARK = "takes_transposes"
REDUCTIONS = ("sum", "mean", "max", "min", "amax", "amin", "prod", "std", "var", "any", "all")


@jax.tree_util.register_pytree_node_class
class Transposed:
    """The transpose of a matrix with a traced number of rows. Its own rows, of which the number is known, are arrays of traced length.

    Attributes:
      T: that matrix.
    """

    __slots__ = ("T",)
    __array_ufunc__ = None  # NumPy's arrays leave operators to this one
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, of: PaddedArray) -> None:
        self.T = of

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        return (self.T,), None

    @classmethod
    def tree_unflatten(cls, _: None, children: Any) -> Transposed:
        return cls(*children)

    def resolve(self) -> Any:
        """The array of the exact shape, once the length is known; until then, this."""
        found = self.T.resolve()
        return self if found is self.T else found.T

    @property
    def dtype(self) -> Any:
        return self.T.dtype

    @property
    def ndim(self) -> int:
        return 2

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.T.shape[::-1]

    @property
    def size(self) -> Any:
        return self.T.size

    def __len__(self) -> int:
        return int(self.T.values.shape[1])

    def __iter__(self) -> Iterator[Any]:
        return (self.T[:, k] for k in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        resolved = self.resolve()
        if resolved is not self:
            return resolved[key]
        if np.ndim(self.T.length):  # a batch of them, as `jax.vmap` returns it
            return self.T[key].T
        first, *others = key if isinstance(key, tuple) else (key,)
        if first is None or first is ... or len(others) > 1 or any(other is None or other is ... for other in others):
            raise refused("an index of this kind of its transpose")
        found = self.T[(others[0] if others else slice(None), first)]
        return Transposed(found) if isinstance(found, PaddedArray) and found.ndim == 2 else found

    def __repr__(self) -> str:
        is_resolved = (
            hasattr(self.T.values, "shape") and self.resolve() is not self
        )  # not what is printed of a signature
        return repr(self.resolve()) if is_resolved else f"<the transpose of {self.T!r}>"

    def __jax_array__(self) -> Any:
        return self.resolve()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        resolved = self.resolve()
        if resolved is self:
            raise refused("its transpose, as an array of known shape,")
        return np.asarray(resolved, dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not (hasattr(jax.Array, name) or hasattr(np.ndarray, name)):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        resolved = self.resolve()
        if resolved is not self:
            return getattr(resolved, name)
        if name not in (*REDUCTIONS, "transpose"):
            raise refused(f"`.{name}` of its transpose")
        return types.MethodType(PaddedArray.functions[name], self)

    def copy(self) -> Transposed:
        return Transposed(self.T.copy())

    def __setitem__(self, key: Any, value: Any) -> None:
        raise refused("a write to its transpose")

    def __matmul__(self, other: Any) -> Any:
        return PaddedArray.functions["matmul"](self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return PaddedArray.functions["matmul"](other, self)

    def __neg__(self) -> Any:
        return Transposed(-self.T)

    def __abs__(self) -> Any:
        return Transposed(abs(self.T))

    def _with(self, other: Any, function: Callable[[Any, Any], Any], is_reflected: bool = False) -> Any:
        other = as_rows(other)
        return Transposed(elementwise(function, *((other, self.T) if is_reflected else (self.T, other))))


def as_rows(operand: Any) -> Any:
    """What an operand of a `Transposed` is to the matrix that this is the transpose of."""
    if isinstance(operand, Transposed):
        return operand.T
    if isinstance(operand, PaddedArray):
        if operand.ndim > 1:
            raise refused("an operation of its transpose with an array that is none")
        return operand[:, None]
    return jnp.atleast_2d(jnp.asarray(operand)).T if np.ndim(operand) else operand


def of_transposes(rule: Rule) -> Rule:
    """Mark a rule that takes transposes too."""
    setattr(rule, _MARK, True)
    return rule


def takes_transposes(rule: Rule) -> bool:
    """Whether a rule takes transposes."""
    return hasattr(rule, _MARK)


def over_either(rule: Rule) -> Rule:
    """A reduction of arrays of traced length, of the transposes of such too."""

    @of_transposes
    def reduction(a: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(a, Transposed):
            return rule(a, axis, *args, **kwargs)
        if args or isinstance(axis, tuple | list) or kwargs.get("where") is not None:
            raise refused("a reduction of its transpose with this argument")
        found = rule(a.T, None if axis is None else 1 - operator.index(axis) % 2, **kwargs)
        if not kwargs.get("keepdims"):
            return found
        return Transposed(found) if isinstance(found, PaddedArray) else found.T

    return reduction


def _binary(name: str) -> None:
    function = getattr(operator, name + "_" if name in ("and", "or") else name)
    setattr(Transposed, f"__{name}__", lambda self, other: self._with(other, function))
    if name not in COMPARISONS:
        setattr(Transposed, f"__r{name}__", lambda self, other: self._with(other, function, is_reflected=True))


for _name in (*ARITHMETIC, *COMPARISONS):
    _binary(_name)
