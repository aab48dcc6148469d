"""`PaddedArray`: an array whose first dimension has a traced length, such as a stacked list.

XLA has arrays of known shapes only, so the elements lie in a larger array and a length says how many of them count.
The rest, padding, takes part in no result: what is offered here leaves it out, and everything else is refused.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.errors import StagingError
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import JOINT

_OPERATORS = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"),
    *("and", "or", "xor", "lshift", "rshift"),
    *("eq", "ne", "lt", "le", "gt", "ge"),
)
_ELEMENTWISE = ("__neg__", "__pos__", "__abs__", "__invert__", "astype", "conj", "conjugate", "round", "clip")


@jax.tree_util.register_pytree_node_class
class PaddedArray:
    """An array of ``length`` elements in the room of more.

    Attributes:
      values: the elements one after another along the first dimension; what is beyond the length is arbitrary.
      length: how many there are, an integer scalar.

    In a trace it takes indices, slices, arithmetic with scalars and with arrays that broadcast against one element,
    reductions (``sum``, ``mean``, ``min`` …), ``len`` and loops. Outside of traces it is what `resolve` returns: an array of the
    exact shape.
    """

    def __init__(self, values: Any, length: Any) -> None:
        self.values = values
        self.length = length

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        return (self.values, self.length), None

    @classmethod
    def tree_unflatten(cls, _: None, children: Any) -> PaddedArray:
        return cls(*children)

    def resolve(self) -> Any:
        """The array of the exact shape, once the length is known; until then, this."""
        length = self.length
        is_known = isinstance(length, int | jax.Array | np.ndarray | np.generic) and not isinstance(
            length, jax.core.Tracer
        )
        return self.values[: operator.index(length)] if is_known and not np.ndim(length) else self

    # What is known of it.

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    @property
    def ndim(self) -> int:
        return int(self.values.ndim)

    @property
    def shape(self) -> tuple[Any, ...]:
        return (self._count(), *self.values.shape[1:])

    @property
    def size(self) -> Any:
        return self._count() * int(np.prod(self.values.shape[1:]))

    def _count(self) -> Any:
        resolved = self.resolve()
        return self.length if resolved is self else resolved.shape[0]

    def __repr__(self) -> str:
        resolved = self.resolve()
        if resolved is not self:
            return repr(resolved)
        if not hasattr(self.values, "shape"):  # what stands for arrays where a signature is printed
            return f"<the first {self.length!r} of {self.values!r}>"
        inner = "".join(f",{size}" for size in self.values.shape[1:])
        return f"<array {self.dtype}[{self.length}{inner}] in room for {self.values.shape[0]}>"

    def __len__(self) -> int:
        return len(self._exact("its len() as an int"))

    def __bool__(self) -> bool:
        return bool(self._exact("its truth"))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._exact("its elements one by one"))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.asarray(self._exact("its values"), dtype)

    def __jax_array__(self) -> Any:
        return self._exact("an array of known shape")

    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._exact(f"its `{name}`"), name)

    def _exact(self, what: str) -> Any:
        resolved = self.resolve()
        if resolved is self:
            raise StagingError(
                f"{user_location()}\n  The length of this array is traced, as it was stacked from a list whose "
                f"length is traced, and {what} is needed here.\n  Use its own methods, as in `a.mean()` for `jnp.mean(a)`; they leave "
                "out the padding. Or return it from an autograph.function, which makes it exact."
            )
        return resolved

    def _mask(self, values: Any) -> Any:
        rows = jnp.arange(values.shape[0]) < self.length
        return jnp.reshape(rows, (-1, *[1] * (values.ndim - 1)))

    # Elements.

    def __getitem__(self, key: Any) -> Any:
        resolved = self.resolve()
        if resolved is not self:
            return resolved[key]
        if np.ndim(self.length):  # a batch of them, as `jax.vmap` returns it
            return PaddedArray(self.values[key], self.length[key]).resolve()
        first, rest = (key[0], key[1:]) if isinstance(key, tuple) and key else (key, ())
        if isinstance(first, slice):
            taken = self._slice(first)
            return PaddedArray(taken.values[(slice(None), *rest)], taken.length) if rest else taken
        if first is None or first is ... or isinstance(first, bool) or np.ndim(first):
            self._exact(f"an index of this kind, {type(first).__name__},")
        place = jnp.asarray(first)
        if not jnp.issubdtype(place.dtype, jnp.integer):
            raise TypeError(f"an array is indexed by integers and slices, not by {place.dtype}")
        place = place + jnp.where(place < 0, self.length, 0)
        place = jnp.clip(place, 0, jnp.maximum(self.length - 1, 0))
        return self.values[place][rest] if rest else self.values[place]

    def _slice(self, key: slice) -> PaddedArray:
        capacity = self.values.shape[0]
        step = 1 if key.step is None else operator.index(key.step)

        def bound(value: Any, default: Any) -> Any:
            if value is None:
                return default
            value = value + jnp.where(jnp.asarray(value) < 0, self.length, 0)
            return jnp.clip(value, 0, self.length) if step > 0 else jnp.clip(value, -1, self.length - 1)

        start = bound(key.start, 0 if step > 0 else self.length - 1)
        stop = bound(key.stop, self.length if step > 0 else -1)
        count = jnp.maximum(0, -((start - stop) // step) if step > 0 else (start - stop - step - 1) // -step)
        places = jnp.clip(start + step * jnp.arange(capacity), 0, max(capacity - 1, 0))
        return PaddedArray(self.values[places], count)

    # Arithmetic.

    def _with(self, other: Any, function: Callable[[Any, Any], Any]) -> Any:
        resolved = self.resolve()
        if resolved is not self:
            return function(resolved, other)
        if isinstance(other, PaddedArray):
            capacity = max(self.values.shape[0], other.values.shape[0])
            mine, theirs = (_in_room(each, capacity) for each in (self, other))
            # As far as both go; NumPy would refuse different lengths, which are known when the program runs.
            return PaddedArray(function(mine, theirs), jnp.minimum(self.length, other.length))
        other = jnp.asarray(other) if isinstance(other, np.ndarray | list | tuple) else other
        ndim = np.ndim(other)
        if ndim > self.ndim or (ndim == self.ndim and np.shape(other)[0] != 1):
            self._exact(f"an array that goes with one of shape {np.shape(other)}")
        return PaddedArray(function(self.values, other), self.length)

    def __matmul__(self, other: Any) -> Any:
        if self.ndim < 2:
            return self.dot(other)
        return PaddedArray(self.values @ other, self.length) if self.resolve() is self else self.resolve() @ other

    def dot(self, other: Any) -> Any:
        """The sum of the products with the elements of another."""
        return (self * other).sum()

    # Reductions.

    def sum(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        """As `jax.numpy.sum`."""
        return self._reduced(jnp.sum, 0, axis, dtype=dtype, keepdims=keepdims)

    def prod(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        """As `jax.numpy.prod`."""
        return self._reduced(jnp.prod, 1, axis, dtype=dtype, keepdims=keepdims)

    def any(self, axis: Any = None, keepdims: bool = False) -> Any:
        """As `jax.numpy.any`."""
        return self.astype(bool)._reduced(jnp.any, False, axis, keepdims=keepdims)

    def all(self, axis: Any = None, keepdims: bool = False) -> Any:
        """As `jax.numpy.all`."""
        return self.astype(bool)._reduced(jnp.all, True, axis, keepdims=keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Any:
        """As `jax.numpy.max`; of nothing, the least value of the dtype."""
        return self._reduced(jnp.max, _extreme(self.dtype, least=True), axis, keepdims=keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Any:
        """As `jax.numpy.min`; of nothing, the greatest value of the dtype."""
        return self._reduced(jnp.min, _extreme(self.dtype, least=False), axis, keepdims=keepdims)

    def argmax(self, axis: Any = None) -> Any:
        """As `jax.numpy.argmax`."""
        return self._reduced(jnp.argmax, _extreme(self.dtype, least=True), axis)

    def argmin(self, axis: Any = None) -> Any:
        """As `jax.numpy.argmin`."""
        return self._reduced(jnp.argmin, _extreme(self.dtype, least=False), axis)

    def mean(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        """As `jax.numpy.mean`."""
        whole = self.values if jnp.issubdtype(self.dtype, jnp.inexact) else self.values.astype(float)
        total = PaddedArray(whole, self.length).sum(axis, dtype, keepdims)
        if isinstance(total, PaddedArray):
            return total / whole.shape[axis]
        return total / (self.length * (1 if _is_first(axis) else int(np.prod(whole.shape[1:]))))

    def var(self, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
        """As `jax.numpy.var`."""
        if not (axis is None or _is_first(axis)):
            return PaddedArray(jnp.var(self.values, axis, ddof=ddof, keepdims=keepdims), self.length)
        squares = abs(self - self.mean(axis, keepdims=True)) ** 2
        count = self.length * (1 if _is_first(axis) else int(np.prod(self.values.shape[1:])))
        return squares.sum(axis, keepdims=keepdims) / (count - ddof)

    def std(self, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
        """As `jax.numpy.std`."""
        found = self.var(axis, ddof, keepdims)
        return PaddedArray(jnp.sqrt(found.values), found.length) if isinstance(found, PaddedArray) else jnp.sqrt(found)

    def cumsum(self, axis: Any = 0) -> Any:
        """As `jax.numpy.cumsum` along an axis."""
        return PaddedArray(jnp.cumsum(self.values, axis), self.length)

    def sort(self, axis: int = -1) -> Any:
        """As `jax.numpy.sort`, a new array."""
        if axis % self.ndim:
            return PaddedArray(jnp.sort(self.values, axis), self.length)
        last = _extreme(self.dtype, least=False)
        filled = jnp.where(self._mask(self.values), self.values, last)
        order = jnp.argsort(~(jnp.arange(filled.shape[0]) < self.length), stable=True)
        return PaddedArray(jnp.sort(filled[order], 0), self.length)

    def _reduced(self, reduce: Callable[..., Any], neutral: Any, axis: Any, **options: Any) -> Any:
        resolved = self.resolve()
        if resolved is not self:
            return reduce(resolved, axis, **options)
        if axis is not None and not isinstance(axis, int):
            self._exact(f"a reduction over the axes {axis}")
        if axis is not None and axis % self.ndim:
            return PaddedArray(reduce(self.values, axis % self.ndim, **options), self.length)
        return reduce(jnp.where(self._mask(self.values), self.values, neutral), axis, **options)


def _is_first(axis: Any) -> bool:
    return axis is not None and axis == 0


def _extreme(dtype: Any, least: bool) -> Any:
    if jnp.issubdtype(dtype, jnp.bool_):
        return not least
    if jnp.issubdtype(dtype, jnp.inexact):
        return -jnp.inf if least else jnp.inf
    info = np.iinfo(dtype)
    return info.min if least else info.max


def _in_room(array: PaddedArray, capacity: int) -> Any:
    more = capacity - array.values.shape[0]
    return jnp.concatenate([array.values, JOINT.staging.more_room(more, array.values)]) if more else array.values


def _binary(name: str) -> None:
    function = getattr(operator, name + "_" if name in ("and", "or") else name)
    setattr(PaddedArray, f"__{name}__", lambda self, other: self._with(other, function))
    if name not in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(
            PaddedArray,
            f"__r{name}__",
            lambda self, other: self._with(other, lambda mine, theirs: function(theirs, mine)),
        )


def _unary(name: str) -> None:
    def method(self: PaddedArray, *args: Any, **kwargs: Any) -> Any:
        found = getattr(self.values, name)(*args, **kwargs)
        made = PaddedArray(found, self.length)
        return made.resolve()

    setattr(PaddedArray, name, method)


for _name in _OPERATORS:
    _binary(_name)
for _name in _ELEMENTWISE:
    _unary(_name)
