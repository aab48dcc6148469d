"""`GivenArray`: a NumPy array of the caller's that a trace writes in place, `LocalArray`, one that it makes, and `ArrayView`, a part.

Each is used as the array that it holds. It is a place: what one name writes all names see, and the caller's array gets what it holds
at the end of the program (`signatures.callers_arrays`). That holds for writes to items of one of JAX's too, which these do not have in
Python; ``x += v`` of one binds its name to another array, as in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import LeafType
from autograph.runtime.errors import StagingError
from autograph.runtime.state.array_elements import as_lists, item_of
from autograph.runtime.state.array_keys import (
    is_view,
    is_view_of_one,
    part_of,
    plain_key,
    shape_of,
    static_key,
    with_part,
)
from autograph.runtime.state.array_operators import plain
from autograph.runtime.state.assignable import Assignable
from autograph.runtime.state.commits import VariableLock
from autograph.runtime.state.rearrangements import Bits, Component, NewShape, Order, Rearrangement, rearranged
from autograph.runtime.state.variables import Variable
from autograph.runtime.state.view_parts import ViewParts
from autograph.runtime.tracing.births import OperatorsAsked
from autograph.runtime.tracing.caller_arrays import may_be_numpys, will_write
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_line, user_location
from autograph.runtime.tracing.recording import LOCAL, hold_arrays

_UNKNOWN = (
    "An array of NumPy's is written in place with one that may be JAX's, which the program must know when it makes that: but it has "
    "printed, called Python or assigned a Variable before this, so it cannot be traced again here.\n"
    "  Call the function through autograph.function, or write x[...] += v."
)
EITHER = (
    "An array is updated in place that is one of several, selected at run time: one of NumPy's, which is written, and one of JAX's, "
    "which is not.\n  Update it by an index, x[...] += v, or make a new array, x = x + v."
)
_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")


class PlaceOfArray(Assignable):
    """Base class of what is used as a NumPy array, in place too."""

    __slots__ = ()

    shape: Any
    dtype: Any
    kind: Any  # its class in Python, `numpy.ndarray` or `jax.Array`

    @property
    def _type(self) -> LeafType:
        return LeafType(self.shape, jax.dtypes.canonicalize_dtype(self.dtype))

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def _fitted(self, value: Any) -> Any:
        """A value as this array holds it after ``x += v``: of its dtype, as NumPy casts."""
        array = jnp.asarray(plain(value))
        if array.dtype != self.dtype and not np.can_cast(array.dtype, self.dtype, "same_kind"):
            raise TypeError(
                f"{user_location()}\n  An array of {self.dtype} is written in place with {array.dtype}, which NumPy does not cast to it.\n"
                f"  Cast the value, or make a new array: x = x + v."
            )
        if array.shape != self.shape:
            array = jnp.broadcast_to(array, self.shape)
        return array.astype(self._type.dtype)

    def become(self, value: Any) -> None:
        """Hold this array, of the same shape and dtype, from now on."""
        self._change(lambda _: value)

    def _viewed(self, key: Any, shape: tuple[int, ...]) -> Any:
        """The view that takes this key of it, of this shape."""
        return ArrayView(self, key, shape)

    def _itself(self) -> Any:
        """What a method returns that returns the array."""
        return self

    def view_at(self, key: Any) -> Any:
        """What an index returns where that is a view; None where it is an element, or a copy."""
        shape = shape_of(self.shape, key) if is_view(key) else ()
        return self._viewed(key, shape) if shape or is_view_of_one(key) else None

    def __getitem__(self, key: Any) -> Any:
        found = self.view_at(key)
        return as_place(part_of(self.value, plain_key(key)), kind=self.kind) if found is None else found

    def __setitem__(self, key: Any, value: Any) -> None:
        self.become(with_part(self.value, plain_key(key), plain(value)))

    def __len__(self) -> int:
        return len(np.broadcast_to(np.int8(0), self.shape))

    def __iter__(self) -> Any:
        return (self[k] for k in range(self.shape[0]))

    def fill(self, value: Any) -> None:
        """Let each element be this."""
        value = plain(value)
        if isinstance(self.value, np.ndarray) and isinstance(
            value, bool | int | float | complex | np.generic | np.ndarray
        ):
            self.become(np.full(self.shape, value, self._type.dtype))  # known, so that items can be sizes
        else:
            self.become(jnp.broadcast_to(jnp.asarray(value).astype(self._type.dtype), self.shape))

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None) -> None:
        """Sort in place, as NumPy's method does."""
        self.become(jnp.sort(self.value, axis))

    def partition(self, kth: Any, axis: int = -1, kind: Any = None, order: Any = None) -> None:
        """Sort in place: a sorted array is a partitioned one."""
        self.sort(axis)

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Write to places of the flat array, as NumPy's method does."""
        whole, places, new = map(jnp.asarray, (self.value, plain(indices), plain(values)))
        self.become(jnp.put(whole, places, new, "clip" if mode == "raise" else mode, inplace=False))

    def copy(self, order: str = "C") -> Any:
        """An array of its own with these contents."""
        return as_place(jnp.array(self.value), kind=self.kind)

    def flatten(self, order: str = "C") -> Any:
        """A copy with one dimension."""
        return as_place(jnp.array(jnp.ravel(self.value, order=order)), kind=self.kind)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """A copy of another dtype."""
        return as_place(jnp.array(jnp.asarray(self.value).astype(dtype)), kind=self.kind)

    def tolist(self) -> Any:
        """The elements, as nested lists of numbers."""
        return as_lists(self.value)

    def item(self, *index: Any) -> Any:
        """The one element, or that of an index, as a number."""
        return item_of(self.value, *index)

    @property
    def T(self) -> Any:  # noqa: N802
        """The transposed array, a view."""
        return self.transpose()

    def transpose(self, *axes: Any) -> Any:
        """A view with the dimensions in another order."""
        order = axes[0] if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], tuple | list)) else axes
        order = tuple(range(self.ndim))[::-1] if not order else tuple(int(k) % self.ndim for k in order)
        return self._viewed(Order(order), tuple(self.shape[k] for k in order))

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        """A view with two dimensions exchanged."""
        order = list(range(self.ndim))
        order[axis1], order[axis2] = order[axis2], order[axis1]
        return self.transpose(tuple(order))

    def strided(self) -> np.ndarray:
        """An array of the shape that this one has, and of its strides as far as they are known."""
        return np.zeros(self.shape, np.int8)

    def rearranged(self, rearrange: Callable[[Any], Any], compute: Callable[[Any], Any]) -> Any:
        """What a function of NumPy's that only moves elements returns for this array: views of it, or copies.

        Args:
          rearrange: the function. compute: what computes the same of traced values.
        """

        def made(found: Rearrangement | None, number: int | None = None) -> Any:
            if found is not None:
                shape = jax.eval_shape(found.taken, jax.ShapeDtypeStruct(self.shape, self._type.dtype)).shape
                return self._viewed(found, shape)
            result = compute(self.value)
            return as_place(jnp.array(result if number is None else result[number]), kind=self.kind)

        found = rearranged(self.strided(), rearrange)
        if isinstance(found, list | tuple):
            return type(found)(made(each, number) for number, each in enumerate(found))
        return made(found)

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """A view of another shape, or a copy where there is none."""
        new = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        if not all(isinstance(each, int | np.integer) for each in new):
            return as_place(jnp.reshape(self.value, new, order=order), kind=self.kind)
        return self.rearranged(lambda a: a.reshape(new, order=order), lambda a: jnp.reshape(a, new, order=order))

    def view(self, dtype: Any = None) -> Any:
        """A view of all elements, or of their bytes as another dtype."""
        found = NewShape(self.shape) if dtype is None or self.dtype == dtype else Bits(np.dtype(dtype).name)
        return self._viewed(
            found, jax.eval_shape(found.taken, jax.ShapeDtypeStruct(self.shape, self._type.dtype)).shape
        )

    def ravel(self, order: str = "C") -> Any:
        """A view with one dimension, or a copy."""
        return self.reshape(-1, order=order)

    def squeeze(self, axis: Any = None) -> Any:
        """A view without dimensions of one element."""
        return self.reshape(np.squeeze(np.broadcast_to(np.int8(0), self.shape), axis).shape)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        """The elements of which two indices are the same, a view."""
        return self.rearranged(*[lambda a: a.diagonal(offset, axis1, axis2)] * 2)

    @property
    def real(self) -> Any:
        """The real parts, a view."""
        return self._component("real")

    @property
    def imag(self) -> Any:
        """The imaginary parts, a view."""
        return self._component("imag")

    def _component(self, name: str) -> Any:
        if np.issubdtype(self.dtype, np.complexfloating):
            return self._viewed(Component(name), self.shape)
        return self._itself() if name == "real" else as_place(jnp.zeros(self.shape, self._type.dtype), kind=self.kind)

    def conj(self) -> Any:
        """The complex conjugate: of real numbers, the array itself."""
        if not np.issubdtype(self.dtype, np.complexfloating):
            return self._itself()
        return as_place(jnp.conj(self.value), kind=self.kind)

    conjugate = conj

    @property
    def flat(self) -> Any:
        """The array with one dimension, whose items may be written."""
        return FlatView(self)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("real", "imag") and np.issubdtype(self.dtype, np.complexfloating):
            getattr(self, name)[...] = value
            return
        if name in ("shape", "dtype", "strides", "flat", "T", "real", "imag"):
            raise StagingError(
                f"{user_location()}\n  The attribute {name!r} of an array is assigned, which changes it in place: an array of a program "
                "keeps its shape and dtype.\n  Make a new array: x.reshape(...), x.astype(...); or write its items, x[...] = v."
            )
        object.__setattr__(self, name, value)


def _kind(*values: Any) -> Any:
    """The class that what is made of these values has in Python, `numpy.ndarray` or `jax.Array`; a choice where only the run knows it.

    Raises:
      ArraysHeld: only a trace in which arrays are places can tell.
    """
    kinds = [kind_of(value) for value in values]
    if any(kind is jax.Array for kind in kinds):
        return jax.Array
    return next((kind for kind in kinds if kind is not np.ndarray), np.ndarray)


def kind_of(value: Any) -> Any:
    """The class of an array in Python, `numpy.ndarray` or `jax.Array`; a choice where only the run knows it."""
    if is_given(value):
        return value.kind
    if not isinstance(value, jax.Array) or not LOCAL.repeated.has_jaxs:
        return np.ndarray
    if np.ndim(value):
        hold_arrays(StagingError(f"{user_location()}\n  {_UNKNOWN}"))
    return jax.Array


def _made_by(operation: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *others: as_place(operation(self, *others), kind=_kind(self, *others))


def _in_place(update: Callable[..., Any], operation: Callable[..., Any]) -> Callable[..., Any]:
    """``x += v``: of an array of JAX's, or by one, what ``x + v`` is."""

    def updated(self: Any, other: Any) -> Any:
        may_be_numpys()  # the caller's are, perhaps
        kind = _kind(self, other)
        if kind is not np.ndarray and kind is not jax.Array:
            raise StagingError(f"{user_location()}\n  {EITHER}")
        return operation(self, other) if kind is jax.Array else update(self, other)

    return updated


for _name in (
    *(f"__{prefix}{name}__" for prefix in ("", "r") for name in _BINARY),
    *(f"__{name}__" for name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "invert", "abs")),
):
    setattr(PlaceOfArray, _name, _made_by(getattr(PlaceOfArray, _name)))
for _name in _BINARY:
    _updated = _in_place(getattr(PlaceOfArray, f"__i{_name}__"), getattr(PlaceOfArray, f"__{_name}__"))
    setattr(PlaceOfArray, f"__i{_name}__", _updated)


class GivenArray(PlaceOfArray, Variable):
    """A NumPy array of the caller's, as a trace writes it in place.

    Attributes:
      number: that of the input that it holds at first.
      is_written: whether the trace writes to it.
    """

    __slots__ = ("is_written", "number")
    kind = np.ndarray
    _type = Variable._type  # type: ignore[misc]  # the slot, which is its own

    def __init__(self, array: Any, number: int, label: str) -> None:
        self.number, self.is_written = number, False
        self._name = label
        self._position = user_line()
        self._trainable = False
        self._order = -1
        self._lock = VariableLock()
        self._stand_in = None
        self._lent = self._is_awaited = False
        self._value = self._moving = None
        self._type = LeafType(tuple(array.shape), array.dtype)

    @property
    def value(self) -> jax.Array:
        """What it holds now."""
        value = super().value
        if LOCAL.followed is not None:
            LOCAL.followed.note_read(value, self._name)
        return value

    def _change(self, new: Callable[[Any], Any]) -> Self:
        self.is_written = True
        self._write(self._fitted(new(self)))
        return self

    def _described(self) -> str:
        return f"argument {self._name!r}"

    def _label(self, *, article: str = "The") -> str:
        return f"Array argument {self._name!r}"

    def __repr__(self) -> str:
        return f"<argument {self._name!r} {self._type}>"


class LocalArray(PlaceOfArray):
    """An array that the program makes, in a trace in which such are places (`births.ArraysHeld`): an object with two attributes.

    Attributes:
      held: what it holds now. As long as that is known while tracing, it is an array of NumPy's, which nothing writes to.
      kind: its class in Python, `numpy.ndarray` or `jax.Array`; one of the two where only the run knows it.
    """

    __slots__ = ("held", "kind")
    __autograph_is_plain__ = True
    __autograph_shows__ = "held"
    held: Any

    def __init__(self, held: Any, kind: Any = np.ndarray) -> None:
        object.__setattr__(self, "held", held)
        object.__setattr__(self, "kind", kind)

    @property
    def value(self) -> Any:
        """What it holds now."""
        if LOCAL.repeated is not None:
            LOCAL.repeated.note_read(self)
        return LANGUAGE.operators.get_attr(self, "held")

    def __jax_array__(self) -> Any:
        _ask_operator()
        return jnp.asarray(self.value)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return np.shape(self.held)

    @property
    def dtype(self) -> Any:
        """The dtype."""
        return self.held.dtype

    def become(self, value: Any) -> None:
        """Hold this array, of the same shape and dtype, from now on."""
        will_write(self.held)  # it may be the caller's, as it was given
        for region in reversed(LANGUAGE.operators.journal.regions):
            if region.made_by(self):
                break
            region.kept_elsewhere.append(self)  # a view leads to it, perhaps, or what a loop is over
        LANGUAGE.operators.set_attr(self, "held", value)

    def _change(self, new: Callable[[Any], Any]) -> Self:
        self.become(self._fitted(new(self)))
        return self

    def _fitted(self, value: Any) -> Any:
        value = plain(value)
        if not isinstance(self.held, np.ndarray) or isinstance(value, jax.Array):
            return super()._fitted(value)
        new = self.held.copy()
        np.copyto(new, value)
        return new

    def sorted_copy(self, axis: int = -1, **options: Any) -> Any:
        """What the method `sort` of JAX's arrays returns."""
        return as_place(jnp.sort(self.value, axis, **options), kind=self.kind)

    def resize(self, *shape: Any, refcheck: bool = True) -> None:
        """Change the shape in place: with zeros after the elements, or without those that are too many."""
        new = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        flat, size = jnp.ravel(self.value), int(np.prod(new))
        self.become(jnp.pad(flat[:size], (0, max(size - flat.size, 0))).reshape(new))

    def __repr__(self) -> str:
        return repr(self.held)


def cannot_hold() -> StagingError:
    """The error where a trace cannot be made again, in which such arrays would be places."""
    return StagingError(
        f"{user_location()}\n  This writes to an array that other names may lead to, which the program must know when it makes "
        "that: but it has printed, called Python or assigned a Variable before this, so it cannot be traced again here.\n"
        "  Call the function through autograph.function."
    )


def _ask_operator() -> None:
    """Have the trace made again if an operator of Python's may take a place here: ``2 * x[0] * place`` is to be one, which JAX's is not.

    Raises:
      OperatorsAsked: this line has operators, which are to be those of the trace.
    """
    if LOCAL.places and LOCAL.repeated is not None and not LOCAL.in_library:
        line = user_line()
        if LANGUAGE.operators.asks_operation(line):
            raise OperatorsAsked(line, cannot_hold)


def given_as_place(value: Any, kind: Any) -> Any:
    """An array that a trace is given, of JAX's or of NumPy's, as a place; anything else as it is."""
    place = as_place(value, kind=kind)
    if place is not value:
        LOCAL.repeated.note_given(place)
    return place


def as_place(value: Any, of_any_rank: bool = False, *, kind: Any = np.ndarray) -> Any:
    """An array that the program has made, of JAX's or of NumPy's, as a place where arrays are; anything else, and scalars, as they are."""
    if not LOCAL.places or not isinstance(value, jax.core.Tracer | jax.Array | np.ndarray):
        return value
    if not (np.ndim(value) or of_any_rank):
        return value
    if LocalArray in LOCAL.linked:
        return LANGUAGE.operators.classes.of_references(LocalArray)(value, kind)
    place = LocalArray(value, kind)
    LANGUAGE.operators.journal.born(place)
    return place


class ArrayView(PlaceOfArray):
    """``x[1:]``, a row of ``x`` or ``x.T``: reads and writes are those of ``x``.

    Args:
      base: the array. key: of integers, slices and `Span`s, or a `Rearrangement`. shape: that of the view.
    """

    __slots__ = ("_base", "_key", "_shape")

    def __init__(self, base: PlaceOfArray, key: Any, shape: tuple[int, ...]) -> None:
        object.__setattr__(self, "_base", base)
        object.__setattr__(self, "_key", plain_key(key))
        object.__setattr__(self, "_shape", tuple(shape))

    def strided(self) -> np.ndarray:
        """As far as they are known: without the numbers of a traced key, which take what they take at 0 too."""
        whole = self._base.strided()
        if isinstance(self._key, Rearrangement):
            found = self._key.strided(whole)
        else:
            found = whole[static_key(self._key)]
        return found if found.shape == self.shape else super().strided()

    @property
    def kind(self) -> Any:
        """That of the whole array."""
        return self._base.kind

    @property
    def value(self) -> jax.Array:
        """What is there now."""
        found: jax.Array = part_of(self._base.value, self._key)
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        shape: tuple[int, ...] = self._shape
        return shape

    @property
    def dtype(self) -> Any:
        """The dtype."""
        whole = self._base.dtype
        return self._key.dtype_of(whole) if isinstance(self._key, Rearrangement) else whole

    def _change(self, new: Callable[[Any], Any]) -> Self:
        self._base.become(with_part(self._base.value, self._key, self._fitted(new(self))))
        return self

    def __repr__(self) -> str:
        return f"{self._base!r}[{self._key}]"

    def as_node(self) -> ViewParts:
        """What a staged statement takes apart and builds again: the indices of the view are values."""
        return ViewParts(self)


class FlatView:
    """``x.flat``: items by their positions in the flat array."""

    def __init__(self, base: PlaceOfArray) -> None:
        self._base = base

    def __getitem__(self, key: Any) -> Any:
        return jnp.ravel(self._base.value)[plain_key(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        flat = jnp.ravel(self._base.value)
        new = with_part(flat, plain_key(key), plain(value))
        self._base.become(new.reshape(self._base.shape))

    def __len__(self) -> int:
        return int(np.prod(self._base.shape))

    def __iter__(self) -> Any:
        return iter(jnp.ravel(self._base.value))


def base_of(value: Any) -> Any:
    """The array that this is a view of; itself if it is none."""
    while isinstance(value, ArrayView):
        value = value._base
    return value


def is_given(value: Any) -> bool:
    """Whether this is a place that is used as an array. By its class: what is one of several says that it is of theirs."""
    return issubclass(type(value), PlaceOfArray)
