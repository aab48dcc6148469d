"""`PaddedArray`: an array whose first dimension has a traced length: ``x[x > 0]``, ``x[:n]``, ``jnp.stack(kept)``.

XLA has arrays of known shapes only, so the elements lie in a larger array and a length says how many of them count. The
rest, padding, takes part in no result: what is offered here leaves it out, and everything else is refused. What functions of
`jax.numpy` mean for such arrays is the table of `padded_functions`.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.selected import STAGING
from autograph.runtime.containers.lengths import (
    Count,
    check,
    count_of,
    counted_in,
    different_shapes,
    is_same_count,
    most_taken,
    refused,
    taken_by,
)

ARITHMETIC = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"),
    *("and", "or", "xor", "lshift", "rshift"),
)
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_ARRAYS = (bool, int, float, complex, np.generic, np.ndarray, jax.Array)


@jax.tree_util.register_pytree_node_class
class PaddedArray:
    """An array of ``length`` elements in the room of more.

    In a trace it takes indices, slices, masks, arithmetic, loops, and the functions and methods of the table. Outside of
    traces it is what `resolve` returns: an array of the exact shape.

    Attributes:
      values: the elements one after another along the first dimension. What is beyond the length are copies of the first, or
        ones if there is none: what is computed of them element by element is as well defined as for an element.
      count: how many there are.
      functions: what functions of `jax.numpy` mean for such arrays, by name.
    """

    __slots__ = ("values", "count")
    __array_ufunc__ = None  # NumPy's arrays leave operators to this one
    __autograph_rows__ = True
    functions: ClassVar[Mapping[str, Callable[..., Any]]] = types.MappingProxyType({})

    def __init__(self, values: Any, length: Any) -> None:
        self.values = values
        self.count = length if isinstance(length, Count) else Count(length)

    @classmethod
    def of(cls, values: Any, length: Any) -> PaddedArray:
        """These values, of which so many count; what is beyond them may be anything."""
        count = length if isinstance(length, Count) else Count(length)
        if not values.shape[0] or jnp.issubdtype(values.dtype, jax.dtypes.extended):
            return cls(values, count)
        first = STAGING.without_derivative(values[:1])
        beyond = jnp.where(count.value > 0, first, jnp.ones_like(first))
        return cls(jnp.where(_filled(values, count.value), values, beyond), count)

    @property
    def length(self) -> Any:
        """How many elements there are, an integer scalar."""
        return self.count.value

    @property
    def capacity(self) -> Any:
        """For how many there is room: a size, which may be symbolic."""
        return self.values.shape[0]

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        return (self.values, self.length), None

    @classmethod
    def tree_unflatten(cls, _: None, children: Any) -> PaddedArray:
        return cls(*children)

    def resolve(self) -> Any:
        """The array of the exact shape, once the length is known; until then, this."""
        length = self.length
        if not self.values.shape[0]:  # there is room for none
            return self.values
        is_known = isinstance(length, int | jax.Array | np.ndarray | np.generic) and not isinstance(
            length, jax.core.Tracer
        )
        return self.values[: operator.index(length)] if is_known and not np.ndim(length) else self

    def filled(self) -> Any:
        """For each element of ``values``, whether it counts, in a shape that broadcasts."""
        return _filled(self.values, self.length)

    def with_values(self, values: Any) -> PaddedArray:
        """Other elements, as many, in the same room; those beyond the length come of those of this."""
        return PaddedArray(values, self.count)

    def taken(self, places: Any, length: Any) -> PaddedArray:
        """The elements at these places, of which so many count."""
        count = length if isinstance(length, Count) else Count(length)
        if not self.capacity:
            return PaddedArray(self.values[: places.shape[0]], count)
        return PaddedArray.of(self.values[jnp.clip(places, 0, self.capacity - 1)], count)

    def in_room(self, capacity: int) -> Any:
        """The values with room for so many, at least as many as now."""
        return STAGING.in_room(self.values, capacity)

    # What is known of it.

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    @property
    def ndim(self) -> int:
        return int(self.values.ndim)

    @property
    def shape(self) -> tuple[Any, ...]:
        return (self._size(), *self.values.shape[1:])

    @property
    def size(self) -> Any:
        rest = int(np.prod(self.values.shape[1:]))
        return self._size() if rest == 1 else self._size() * rest

    def number_of_rows(self) -> Any:
        """``len``, an int of Python's."""
        size = self._size()
        number = STAGING.number(size, int)
        if number is not size:
            self.count.note(self.capacity, number)
        return number

    def _size(self) -> Any:
        resolved = self.resolve()
        return self.count.note(self.capacity) if resolved is self else resolved.shape[0]

    def __repr__(self) -> str:
        if not hasattr(self.values, "shape"):  # what represents arrays where a signature is printed
            return f"<the first {self.length!r} of {self.values!r}>"
        resolved = self.resolve()
        if resolved is not self:
            return repr(resolved)
        inner = "".join(f",{size}" for size in self.values.shape[1:])
        return f"<array {self.dtype}[{self.length}{inner}] in room for {self.values.shape[0]}>"

    def __len__(self) -> int:
        return len(self._exact("its len() as an int"))

    def __bool__(self) -> bool:
        return bool(self._exact("its truth"))

    @property
    def __autograph_truth__(self) -> Callable[[], Any]:
        return lambda: bool(resolved) if (resolved := self.resolve()) is not self else self._truth()

    def _truth(self) -> Any:
        count = self.length * int(np.prod(self.values.shape[1:]))
        error = ValueError(
            "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
        )
        check(count == 1, error)
        return jnp.ravel(self.values)[0].astype(bool) if self.values.size else jnp.zeros((), bool)

    def __int__(self) -> int:
        return int(self._exact("its int()"))

    def __float__(self) -> float:
        return float(self._exact("its float()"))

    def __complex__(self) -> complex:
        return complex(self._exact("its complex()"))

    def __index__(self) -> int:
        return operator.index(self._exact("its value as an index"))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._exact("its elements one by one"))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.asarray(self._exact("an array of known shape"), dtype)

    def __jax_array__(self) -> Any:
        # JAX's arrays leave an operator to what is no array; its functions then ask for `__array__`, which refuses.
        return self.resolve()

    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not (hasattr(jax.Array, name) or hasattr(np.ndarray, name)):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        resolved = self.resolve()
        if resolved is not self:
            return getattr(resolved, name)
        rule = self.functions.get(name)
        if rule is None:
            raise refused(f"`.{name}`")
        return types.MethodType(rule, self)

    def _exact(self, what: str) -> Any:
        resolved = self.resolve()
        if resolved is self:
            raise refused(what)
        return resolved

    @property
    def real(self) -> Any:
        return self._of_values(jnp.real)

    @property
    def imag(self) -> Any:
        return self._of_values(jnp.imag)

    def _of_values(self, function: Callable[[Any], Any]) -> Any:
        resolved = self.resolve()
        return self.with_values(function(self.values)) if resolved is self else function(resolved)

    @property
    def T(self) -> Any:  # noqa: N802 (NumPy's name)
        """The transpose: of one dimension the array itself, of two a `Transposed`."""
        resolved = self.resolve()
        return self.functions["transpose"](self) if resolved is self else resolved.T

    @property
    def at(self) -> Any:
        """Writes by index that make another array, as of `jax.Array`."""
        resolved = self.resolve()
        return self.functions["at"](self) if resolved is self else resolved.at

    # Elements.

    def __getitem__(self, key: Any) -> Any:
        resolved = self.resolve()
        if resolved is not self:
            return resolved[key]
        if np.ndim(self.length):  # a batch of them, as `jax.vmap` returns it
            return PaddedArray(self.values[key], self.length[key]).resolve()
        first, rest = self._split(key)
        if isinstance(first, slice):
            taken = self.sliced(first)
            return PaddedArray(taken.values[(slice(None), *rest)], taken.count) if rest else taken
        if isinstance(first, PaddedArray) and first.dtype != np.bool_:
            return PaddedArray(self.values[(self.place(first.values), *rest)], first.count)
        if is_mask(first):
            taken = self.masked(first)
            return PaddedArray(taken.values[(slice(None), *rest)], taken.count) if rest else taken
        place = self.place(jnp.asarray(first))
        return self.values[(place, *rest)] if rest else self.values[place]

    def _split(self, key: Any) -> tuple[Any, tuple[Any, ...]]:
        """The index of the first dimension, and those of the others."""
        parts = key if isinstance(key, tuple) else (key,)
        if parts and parts[0] is ...:
            parts = (slice(None), *parts) if sum(part is not None for part in parts) <= self.ndim else parts[1:]
        first, rest = (parts[0], parts[1:]) if parts else (slice(None), ())
        if first is None or isinstance(first, bool | str) or any(isinstance(part, PaddedArray) for part in rest):
            raise refused(f"an index of this kind, [{shown(key)}],")
        if is_mask(first) and getattr(first, "ndim", 1) != 1:
            raise refused("a mask of several dimensions")
        if not isinstance(first, slice | PaddedArray) and not is_mask(first):
            dtype = jnp.asarray(first).dtype
            if not jnp.issubdtype(dtype, jnp.integer):
                raise TypeError(f"an array is indexed by integers, slices and masks, not by {dtype}")
        return first, tuple(rest)

    def place(self, index: Any) -> Any:
        """Where the element at an index is; that of an end, where the index is out of range."""
        index = index + jnp.where(index < 0, self.length, 0)
        return jnp.clip(index, 0, jnp.maximum(self.length - 1, 0))

    def sliced(self, key: slice) -> PaddedArray:
        """``self[key]`` of the first dimension."""
        if key == slice(None):
            return self
        start, step, count = taken_by(key, self.length)
        ends = (key.start, key.stop)
        counted: Any = count
        if isinstance(step, int) and step == -1 and ends == (None, None):
            counted = self.count
        elif (
            isinstance(step, int)
            and step == 1
            and None in ends
            and all(part is None or type(part) is int for part in ends)
        ):
            if (key.stop is None and key.start >= 0) or (key.start is None and key.stop < 0):  # all but so many
                counted = self.count.less(key.start if key.stop is None else -key.stop)
        most = most_taken(key, self.capacity)
        return self.taken(start + step * jnp.arange(most), counted)

    def masked(self, mask: Any) -> PaddedArray:
        """The elements where a mask, as long as this, is true."""
        kept, count = aligned([self, mask])
        known = count_of(mask.values if isinstance(mask, PaddedArray) else mask)
        if known is not None and known[0].places is not None:
            counted = known[0]
        else:
            counted = counted_in(kept[1] & _filled(kept[1], count.value))
            counted.note(kept[1].shape[0], mask.values if isinstance(mask, PaddedArray) else mask)
        return PaddedArray(kept[0], count).taken(counted.places, counted)

    # Arithmetic.

    def _with(self, other: Any, function: Callable[[Any, Any], Any], is_reflected: bool = False) -> Any:
        if not isinstance(other, (PaddedArray, list, tuple, *_ARRAYS)) and not hasattr(other, "__jax_array__"):
            return NotImplemented
        if isinstance(other, list | tuple | np.ndarray) or not isinstance(other, (PaddedArray, *_ARRAYS)):
            other = jnp.asarray(other)
        return elementwise(function, *((other, self) if is_reflected else (self, other)))

    def __matmul__(self, other: Any) -> Any:
        return self.functions["matmul"](self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return self.functions["matmul"](other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __neg__(self) -> Any:
        return self._of_values(operator.neg)

    def __pos__(self) -> Any:
        return self._of_values(operator.pos)

    def __abs__(self) -> Any:
        return self._of_values(abs)

    def __round__(self, digits: int | None = None) -> Any:
        return self._of_values(lambda values: jnp.round(values, digits or 0))

    def __invert__(self) -> Any:
        return self._of_values(operator.invert)


def is_open_array(value: Any) -> bool:
    """Whether this is an array whose length is traced."""
    return isinstance(value, PaddedArray) and value.resolve() is value


def _filled(values: Any, length: Any) -> Any:
    return jnp.reshape(jnp.arange(values.shape[0]) < length, (-1, *[1] * (values.ndim - 1)))


def is_mask(part: Any) -> bool:
    """Whether an index is a boolean array."""
    return (
        getattr(part, "dtype", None) == np.bool_ and np.ndim(part.values if isinstance(part, PaddedArray) else part) > 0
    )


def shown(key: Any) -> str:
    parts = key if isinstance(key, tuple) else (key,)
    return ", ".join(":" if isinstance(part, slice) else repr(part) if part is None else "…" for part in parts)


def taken_by_mask(array: Any, mask: Any) -> PaddedArray:
    """``array[mask]`` for a mask of the array's first dimensions."""
    if mask.shape != array.shape[: mask.ndim]:
        raise IndexError(f"boolean index of shape {mask.shape} did not match the shape of the array, {array.shape}")
    known = count_of(mask)
    count = known[0] if known is not None and known[0].places is not None else counted_in(jnp.ravel(mask))
    count.note(mask.size, mask)
    rows = array.reshape((mask.size, *array.shape[mask.ndim :]))
    return PaddedArray(rows, rows.shape[0]).taken(count.places, count)


def aligned(operands: Sequence[Any]) -> tuple[list[Any], Count]:
    """The values of operands of which some have traced lengths, in one room, and how many elements there are.

    As NumPy broadcasts: the lengths are equal, or one.

    Raises:
      StagingError: a traced dimension is not the first of the result.
    """
    padded = [each for each in operands if isinstance(each, PaddedArray)]
    ndim = max(int(np.ndim(each.values if isinstance(each, PaddedArray) else each)) for each in operands)
    if any(each.ndim < ndim for each in padded):
        raise refused("an operation with an array of more dimensions")
    leading = [
        each for each in operands if isinstance(each, PaddedArray) or (np.ndim(each) == ndim and np.shape(each)[0] != 1)
    ]
    leading = [
        each if isinstance(each, PaddedArray) else PaddedArray(jnp.asarray(each), np.shape(each)[0]) for each in leading
    ]
    count, capacity = leading[0].count, max(each.capacity for each in leading)
    for each in leading[1:]:
        if not is_same_count(count, each.count):
            one, other = count.value, each.length
            shapes = (one, *leading[0].values.shape[1:]), (other, *each.values.shape[1:])
            check((one == other) | (one == 1) | (other == 1), functools.partial(different_shapes, *shapes))
            count = Count(jnp.where(one == 1, other, one))
    left = iter(leading)
    values = []
    for each in operands:
        is_leading = isinstance(each, PaddedArray) or (np.ndim(each) == ndim and np.shape(each)[0] != 1)
        values.append(next(left).in_room(capacity) if is_leading else each)
    return values, count


def elementwise(function: Callable[..., Any], *operands: Any) -> Any:
    """What ``function``, which works element by element, returns for operands of which some may have traced lengths."""
    operands = tuple(each.resolve() if isinstance(each, PaddedArray) else each for each in operands)
    if not any(isinstance(each, PaddedArray) for each in operands):
        return function(*operands)
    values, count = aligned(operands)
    return jax.tree_util.tree_map(lambda found: PaddedArray(found, count), function(*values))


def _binary(name: str) -> None:
    function = getattr(operator, name + "_" if name in ("and", "or") else name)
    setattr(PaddedArray, f"__{name}__", lambda self, other: self._with(other, function))
    if name not in COMPARISONS:
        setattr(PaddedArray, f"__r{name}__", lambda self, other: self._with(other, function, is_reflected=True))


for _name in (*ARITHMETIC, *COMPARISONS):
    _binary(_name)
