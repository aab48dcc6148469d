"""`TensorSpec`: the shape and dtype that an argument must have, with symbolic dimensions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from autograph.runtime.typing import ArrayLike, DTypeLike


class TensorSpec:
    """The shape and dtype that an array argument must have.

    Args:
      shape: a tuple of sizes, or None for any rank. A size is an int, None (any size), or a str that names a symbolic
        dimension; dimensions with the same name are equal.
      dtype: the dtype, float32 by default.
      name: the name of the argument in messages and signatures.

    >>> import autograph as ag, jax.numpy as jnp
    >>> ag.TensorSpec([None, 3])
    TensorSpec(shape=(None, 3), dtype=float32)
    >>> ag.TensorSpec(["n"], jnp.int32).is_compatible_with(jnp.arange(4))
    True
    """

    __slots__ = ("dtype", "name", "shape")

    shape: tuple[int | str | None, ...] | None
    dtype: jnp.dtype[Any]
    name: str | None

    def __init__(
        self, shape: Iterable[int | str | None] | None, dtype: DTypeLike = jnp.float32, name: str | None = None
    ) -> None:
        object.__setattr__(self, "shape", _checked_shape(shape))
        object.__setattr__(self, "dtype", _checked_dtype(dtype))
        object.__setattr__(self, "name", name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a TensorSpec is immutable; make a new one for another {name}")

    @classmethod
    def from_array(cls, array: ArrayLike | TensorSpec | jax.ShapeDtypeStruct, name: str | None = None) -> TensorSpec:
        """Return the spec with the shape and dtype of an array.

        Args:
          array: an array, a Python number, or another object with a shape and a dtype.
          name: the name of the argument.

        Returns:
          A `TensorSpec` without symbolic dimensions.

        >>> import numpy as np
        >>> ag.TensorSpec.from_array(np.zeros((2, 3), np.float32))
        TensorSpec(shape=(2, 3), dtype=float32)
        """
        if isinstance(array, TensorSpec):
            return cls(array.shape, array.dtype, name or array.name)
        has_type = hasattr(array, "shape") and hasattr(array, "dtype")
        of: Any = array if has_type else jax.typeof(array)
        sizes = (size if isinstance(size, int) else str(size) for size in of.shape)
        return cls(
            tuple(size if isinstance(size, int) or _is_name(size) else None for size in sizes),
            of.dtype,
            name,
        )

    @property
    def is_fixed(self) -> bool:
        """Whether all sizes are known."""
        return self.shape is not None and all(isinstance(size, int) for size in self.shape)

    def is_compatible_with(self, value: ArrayLike | TensorSpec | jax.ShapeDtypeStruct) -> bool:
        """Return whether an array, or another spec, has this dtype and a shape that this shape admits.

        Args:
          value: an array, a Python number, or a `TensorSpec`.

        Returns:
          A bool.

        >>> ag.TensorSpec([None]).is_compatible_with(ag.TensorSpec([3]))
        True
        """
        other = value if isinstance(value, TensorSpec) else TensorSpec.from_array(value)
        if self.dtype != other.dtype:
            return False
        if self.shape is None or other.shape is None:
            return True
        return len(self.shape) == len(other.shape) and _sizes_agree(self.shape, other.shape)

    def most_general_compatible(self, other: TensorSpec) -> TensorSpec:
        """Return the narrowest spec that admits all arrays that this spec or ``other`` admits.

        Args:
          other: a spec of the same dtype.

        Returns:
          A `TensorSpec`; its shape is None if the ranks differ.

        Raises:
          ValueError: the dtypes differ.

        >>> ag.TensorSpec([2, 3]).most_general_compatible(ag.TensorSpec([4, 3]))
        TensorSpec(shape=(None, 3), dtype=float32)
        """
        if self.dtype != other.dtype:
            raise ValueError(f"no spec is compatible with both {self} and {other}: their dtypes differ")
        if self.shape is None or other.shape is None or len(self.shape) != len(other.shape):
            return TensorSpec(None, self.dtype, self.name)
        sizes = (a if a == b else None for a, b in zip(self.shape, other.shape, strict=True))
        return TensorSpec(tuple(sizes), self.dtype, self.name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorSpec):
            return NotImplemented
        return (self.shape, self.dtype, self.name) == (other.shape, other.dtype, other.name)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.name))

    def __repr__(self) -> str:
        named = "" if self.name is None else f", name={self.name!r}"
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype}{named})"

    def __str__(self) -> str:
        if self.shape is None:
            return f"{self.dtype}[...]"
        return f"{self.dtype}[{','.join('None' if size is None else str(size) for size in self.shape)}]"

    def __reduce__(self) -> Any:
        return TensorSpec, (self.shape, self.dtype, self.name)


def _is_name(size: Any) -> bool:
    """Whether a symbolic size has a name of the user's, and is no expression."""
    return isinstance(size, str) and size.isidentifier() and re.fullmatch(r"_d\d+", size) is None


def _checked_shape(shape: Any) -> tuple[int | str | None, ...] | None:
    if shape is None:
        return None
    if isinstance(shape, str) or not isinstance(shape, Sequence):
        raise TypeError(f"the shape of a TensorSpec must be a sequence of sizes, or None for any rank; got {shape!r}")
    return tuple(_checked_size(size) for size in shape)


def _checked_size(size: Any) -> int | str | None:
    if size is None:
        return None
    if isinstance(size, str):
        if not size.isidentifier():
            raise ValueError(f"the name of a size must be a Python name; got {size!r}")
        return size
    if isinstance(size, bool) or not hasattr(size, "__index__"):
        raise TypeError(f"a size must be an int, None or a name; got {size!r}")
    if size.__index__() < 0:
        raise ValueError(f"a size must not be negative; got {size}")
    return int(size.__index__())


def _checked_dtype(dtype: Any) -> Any:
    try:
        if jnp.issubdtype(dtype, jax.dtypes.extended):
            return dtype
        return jax.dtypes.canonicalize_dtype(dtype)
    except TypeError:
        raise TypeError(f"the dtype of a TensorSpec must be a JAX dtype; got {dtype!r}") from None


def _sizes_agree(left: Sequence[Any], right: Sequence[Any]) -> bool:
    named: dict[str, int] = {}
    for a, b in zip(left, right, strict=True):
        if isinstance(a, int) and isinstance(b, int):
            if a != b:
                return False
        elif isinstance(a, str) and isinstance(b, int):
            if named.setdefault(a, b) != b:
                return False
    return True


def type_name(value: Any) -> str:
    """An array's type as messages write it: ``float32[3]``.

    >>> import numpy as np
    >>> type_name(np.zeros(3, np.float32))
    'float32[3]'
    """
    if isinstance(value, TensorSpec):
        return str(value)
    return f"{value.dtype}[{','.join(map(str, value.shape))}]"
