"""Elements of differing shapes, filled up so that they can be stacked: what `Dataset.padded_batch` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Shape = tuple[int | None, ...]


@dataclass(frozen=True)
class Padding:
    """How the arrays of an element are filled up behind their ends.

    Attributes:
      shapes: of each array, what shape it gets; None for as long as the longest of its batch.
      values: of each array, what it is filled up with.
    """

    shapes: tuple[Shape, ...]
    values: tuple[Any, ...]

    @classmethod
    def of(cls, spec: Any, shapes: Any, values: Any) -> Padding:
        """The padding of elements of a type, as `Dataset.padded_batch` is given it."""
        types = jax.tree_util.tree_leaves(spec)
        given = [None] * len(types) if shapes is None else _in_structure("padded_shapes", spec, shapes)
        filling = [values] * len(types)
        if values is not None and not np.isscalar(values):
            filling = _in_structure("padding_values", spec, values)
        return cls(tuple(map(_shape, types, given)), tuple(map(_value, types, filling)))

    @property
    def is_open(self) -> bool:
        """Whether a batch's shape depends on its elements."""
        return any(size is None for shape in self.shapes for size in shape)

    def stacked(self, rows: Sequence[Any]) -> Any:
        """A batch of elements of NumPy's arrays."""
        leaves, (treedef, *_) = zip(*map(jax.tree_util.tree_flatten, rows), strict=True)
        columns = [self._column(k, column) for k, column in enumerate(zip(*leaves, strict=True))]
        return jax.tree_util.tree_unflatten(treedef, columns)

    def _column(self, k: int, column: Sequence[Any]) -> Any:
        longest = [max(sizes) for sizes in zip(*(array.shape for array in column), strict=True)]
        shape = tuple(most if size is None else size for size, most in zip(self.shapes[k], longest, strict=True))
        _refuse_longer(longest, shape)
        made = np.full((len(column), *shape), self.values[k], column[0].dtype)
        for row, array in enumerate(column):
            index: Any = (row, *(slice(size) for size in array.shape))
            made[index] = array
        return made


@dataclass(frozen=True)
class Filled:
    """A function of an element whose shapes are known, for `map`: the element as large as a padding says."""

    padding: Padding
    is_tuple: bool

    def __call__(self, *parts: Any) -> Any:
        treedef: Any
        leaves, treedef = jax.tree_util.tree_flatten(parts if self.is_tuple else parts[0])
        shapes, values = self.padding.shapes, self.padding.values
        return treedef.unflatten(list(map(_filled, leaves, shapes, values)))


def _filled(array: Any, shape: Shape, value: Any) -> Any:
    wanted = tuple(own if size is None else size for own, size in zip(array.shape, shape, strict=True))
    _refuse_longer(array.shape, wanted)
    widths = [(0, size - own) for own, size in zip(array.shape, wanted, strict=True)]
    return jnp.pad(array, widths, constant_values=value) if any(after for _, after in widths) else array


def _refuse_longer(sizes: Sequence[int], shape: Sequence[int]) -> None:
    if any(own > size for own, size in zip(sizes, shape, strict=True)):
        raise ValueError(
            f"padded_batch fills elements up to shape {tuple(shape)}, and one has shape {tuple(sizes)}: padded_shapes has to be as large "
            "as the largest element"
        )


def _in_structure(name: str, spec: Any, given: Any) -> list[Any]:
    treedef: Any = jax.tree_util.tree_structure(spec)
    try:
        return list(treedef.flatten_up_to(given))
    except (TypeError, ValueError):
        raise TypeError(f"{name} has the structure of an element, {spec}; got {given!r}") from None


def _shape(type: Any, given: Any) -> Shape:
    own = tuple(size if isinstance(size, int) else None for size in type.shape)
    if given is None:
        return own
    shape = tuple(getattr(given, "shape", given))
    sizes = tuple(None if size is None or size == -1 else int(size) for size in shape)
    if len(sizes) != len(own):
        raise ValueError(f"padded_shapes has shape {shape} for an array of shape {tuple(type.shape)}, of another rank")
    wanted = tuple(known if size is None else size for size, known in zip(sizes, own, strict=True))
    if any(known is not None and size is not None and known > size for size, known in zip(wanted, own, strict=True)):
        raise ValueError(f"padded_shapes has shape {shape} for an array of shape {tuple(type.shape)}, which is larger")
    return wanted


def _value(type: Any, given: Any) -> Any:
    kind = np.dtype(type.dtype)
    value = np.zeros((), kind) if given is None else np.asarray(given)
    fits = value.ndim == 0 and (value.dtype == kind or np.can_cast(value.dtype, kind, "same_kind"))
    if not fits:
        raise TypeError(f"padding_values has {given!r} for an array of dtype {kind}")
    return value.astype(kind)[()].item()
