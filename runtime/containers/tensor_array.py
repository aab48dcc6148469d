"""`TensorArray`: a functional array, filled element by element, that is a pytree.

What has been written lies in one buffer, with room to spare for an array that grows. Inside a staged loop the room
must be there before the loop: `before_loop` makes it, from the loop's bound.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.selected import STAGING
from autograph.runtime.containers.padded_arrays import PaddedArray
from autograph.runtime.containers.written_room import reserved
from autograph.runtime.errors import StagingError
from autograph.runtime.state.array_operators import plain
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.typing import ArrayLike, DTypeLike, PyTree, TensorLike


class TensorArray:
    """A sequence of arrays of one shape and dtype that is written and read by index.

    It is functional: methods that write return a new TensorArray and leave this one unchanged, as in
    ``ta = ta.write(i, value)``. It is a pytree. Elements that were never written read as zeros.

    In a staged loop of bounded length, a dynamic array has capacity for all that the loop writes, or for ``max_size``
    elements. Where the indices do not tell how many these are, an `autograph.function` that runs out of capacity is compiled
    again with more, and other code needs ``max_size``. If the number of elements is traced, `stack` returns an array of
    traced length. A write at a traced index beyond ``size`` or ``max_size`` is dropped.

    Args:
      dtype: the dtype of the elements.
      size: the number of elements; with ``dynamic_size``, the initial number.
      dynamic_size: whether a write past the end makes the array longer.
      clear_after_read: accepted for compatibility with TensorFlow; it has no effect.
      element_shape: the shape of an element; by default that of the first one written.
      max_size: the maximum number of elements of a dynamic array.

    Raises:
      ValueError: neither ``size`` nor ``dynamic_size`` is given, or a size is negative.
      StagingError: ``size`` is traced.

    >>> import autograph as ag, jax.numpy as jnp
    >>> @ag.function
    ... def squares(n):
    ...     ta = ag.TensorArray(jnp.int32, size=0, dynamic_size=True)
    ...     for i in ag.range(4):
    ...         ta = ta.write(i, i * n)
    ...     return ta.stack()
    >>> squares(jnp.array(3)).tolist()
    [0, 3, 6, 9]
    """

    def __init__(
        self,
        dtype: DTypeLike,
        size: int | None = None,
        dynamic_size: bool = False,
        clear_after_read: bool = True,
        element_shape: Sequence[int] | None = None,
        max_size: int | None = None,
    ) -> None:
        del clear_after_read
        if size is None and not dynamic_size:
            raise ValueError("a TensorArray that does not grow needs a size; give size=, or dynamic_size=True")
        count: Any = 0 if size is None else size
        if isinstance(count, jax.core.Tracer):
            raise StagingError(
                f"{user_location()}\n  The size of a TensorArray is a traced value, but XLA needs a constant. Pass an int, or "
                "dynamic_size=True and max_size=."
            )
        self._dtype = jax.dtypes.canonicalize_dtype(dtype)
        self._dynamic = bool(dynamic_size)
        self._max_size = None if max_size is None else _number(max_size, "max_size")
        self._room: Any = None  # in a staged loop; None: as much as is needed
        # The loop that carries it, by the number of those around that one, and how many elements there were before.
        self._loop: tuple[int, Any] | None = None
        self._count: Any = count if _is_symbolic(count) else _number(count, "size")
        self._buffer: Any = None
        self._element_shape = None if element_shape is None else tuple(element_shape)
        if self._element_shape is not None:
            self._buffer = self._zeros(self._least_room(), self._element_shape)

    @property
    def dtype(self) -> jnp.dtype:
        """The dtype of the elements."""
        return self._dtype

    @property
    def element_shape(self) -> tuple[int, ...] | None:
        """The shape of the elements, or None if it is not known yet."""
        return self._element_shape if self._buffer is None else tuple(self._buffer.shape[1:])

    @property
    def dynamic_size(self) -> bool:
        """Whether a write past the end makes the array longer."""
        return self._dynamic

    def size(self) -> int | jax.Array:
        """Return the number of elements.

        Returns:
          An int, or an integer scalar array if the number is traced.

        >>> ag.TensorArray("float32", size=3).size()
        3
        """
        return self._count

    def __len__(self) -> int:
        return operator.index(self._count)

    def write(self, index: ArrayLike, value: TensorLike) -> TensorArray:
        """Return a new array with ``value`` at ``index``.

        Args:
          index: an int, or an integer scalar array.
          value: an array of the element shape and dtype.

        Returns:
          A TensorArray.

        Raises:
          IndexError: a known index is out of range.
          ValueError: the shape or the dtype of ``value`` differs.
          StagingError: the index is traced, and the capacity is not known.

        >>> ag.TensorArray("int32", size=2).write(0, 5).write(1, 6).stack().tolist()
        [5, 6]
        """
        element = self._cast(value)
        place = _index(index)
        if isinstance(place, jax.Array):
            self._check_room()
        elif isinstance(self._count, jax.Array):  # a branch has written, say
            self._check_room("where its size is traced")
        after = self._with_elements(element.shape)
        after = after if place is self._count else after._with_zeros_beyond()
        after = after._grown_to(place) if isinstance(place, int) else after._with_room_at(place)
        buffer = STAGING.in_rows_of(after._buffer, STAGING.type_of(element)).at[place].set(element, mode="drop")
        count = _larger(after._count, place + 1) if after._dynamic else after._count
        return after._replaced(buffer, count)

    def read(self, index: ArrayLike) -> jax.Array:
        """Return the element at ``index``.

        Args:
          index: an int, or an integer scalar array.

        Returns:
          An array of the element shape and dtype.

        Raises:
          IndexError: a known index is out of range.

        >>> int(ag.TensorArray("int32", size=2).unstack([5, 6]).read(1))
        6
        """
        index = _index(index)
        if isinstance(index, int):
            self._check_element(index)
        return self._filled()[index]

    def stack(self) -> jax.Array:
        """Return all elements as one array, stacked along a new first axis.

        Returns:
          An array of shape ``(size, *element_shape)``. If the size is traced, an array of traced length, which
          `autograph.function` returns with its exact length.

        >>> ag.TensorArray("int32", size=2).write(0, [1, 2]).write(1, [3, 4]).stack().shape
        (2, 2)
        """
        buffer = self._filled()
        count: Any = self._count
        if isinstance(count, jax.Array) and not isinstance(count, jax.core.Tracer):
            count = int(count)
        if count is buffer.shape[0]:
            return buffer
        if isinstance(count, jax.core.Tracer):
            padded: Any = PaddedArray.of(buffer, count)
            return padded
        return buffer if _same_size(count, buffer.shape[0]) else buffer[:count]

    def unstack(self, value: TensorLike) -> TensorArray:
        """Return a new array whose elements are the slices of ``value`` along its first axis.

        Args:
          value: an array of shape ``(n, *element_shape)``.

        Returns:
          A TensorArray of size ``n``.

        Raises:
          ValueError: the size is fixed, and is not ``n``; or ``value`` is a scalar.

        >>> ag.TensorArray("int32", size=2).unstack([[1, 2], [3, 4]]).read(1).tolist()
        [3, 4]
        """
        elements = self._cast_elements(value)
        if not self._dynamic and isinstance(self._count, int) and elements.shape[0] != self._count:
            raise ValueError(f"unstack of {elements.shape[0]} elements into a TensorArray of {self._count}")
        after = self._with_elements(tuple(elements.shape[1:]))
        if after._loop is None or not after._dynamic:
            return after._replaced(elements, elements.shape[0])
        room = after._buffer.shape[0]  # more elements make the loop's room larger
        held = after._replaced(elements[:room], elements.shape[0])
        return held._with_room(room)

    def gather(self, indices: TensorLike) -> jax.Array:
        """Return the elements at ``indices``, stacked.

        Args:
          indices: a vector of integers of length ``n``.

        Returns:
          An array of shape ``(n, *element_shape)``.

        Raises:
          IndexError: a known index is out of range.

        >>> ag.TensorArray("int32", size=3).unstack([5, 6, 7]).gather([2, 0]).tolist()
        [7, 5]
        """
        where = plain(indices)
        if not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves(where)):
            for index in np.asarray(where).ravel().tolist():
                self._check_element(index)
        return self._filled()[jnp.asarray(where)]

    def scatter(self, indices: TensorLike, value: TensorLike) -> TensorArray:
        """Return a new array with the slices of ``value`` along its first axis at ``indices``.

        Args:
          indices: a vector of integers of length ``n``.
          value: an array of shape ``(n, *element_shape)``.

        Returns:
          A TensorArray.

        Raises:
          IndexError: a known index is out of range.
          ValueError: the shape or the dtype of the elements differs.
          StagingError: an index is traced, and the capacity is not known.

        >>> ag.TensorArray("int32", size=3).scatter([2, 0], [7, 5]).stack().tolist()
        [5, 0, 7]
        """
        elements = self._cast(value)
        where: Any = plain(indices)
        if isinstance(where, jax.core.Tracer) or isinstance(self._count, jax.Array):
            self._check_room()
        after = self._with_elements(tuple(elements.shape[1:]))._with_zeros_beyond()
        if isinstance(where, jax.core.Tracer):
            last: Any = jnp.max(where, initial=-1) + 1
            after = after._with_room_at(last - 1)
        else:
            places = [operator.index(i) for i in np.asarray(where).tolist()]
            for place in sorted(places):
                after = after._grown_to(place)
            last = max(places, default=-1) + 1
        row = STAGING.row_type(STAGING.type_of(elements))
        buffer = STAGING.in_rows_of(after._buffer, row).at[jnp.asarray(where)].set(elements, mode="drop")
        return after._replaced(buffer, _larger(after._count, last) if after._dynamic else after._count)

    def concat(self) -> jax.Array:
        """Return all elements as one array, concatenated along their first axis.

        Returns:
          An array of shape ``(size * element_shape[0], *element_shape[1:])``.

        Raises:
          ValueError: the elements are scalars.

        >>> ag.TensorArray("int32", size=2).unstack([[1, 2], [3, 4]]).concat().tolist()
        [1, 2, 3, 4]
        """
        stacked: Any = self.stack()
        if stacked.ndim < 2:
            raise ValueError("concat needs elements with a first axis; stack joins scalars")
        if isinstance(stacked, PaddedArray):
            flat = stacked.values.reshape(-1, *stacked.values.shape[2:])
            joined: Any = PaddedArray.of(flat, stacked.length * stacked.values.shape[1])
            return joined
        return stacked.reshape(-1, *stacked.shape[2:])

    def split(self, value: TensorLike, lengths: Sequence[int]) -> TensorArray:
        """Return a new array whose elements are consecutive pieces of ``value``.

        Args:
          value: an array.
          lengths: the lengths of the pieces along the first axis, all the same.

        Returns:
          A TensorArray of size ``len(lengths)``.

        Raises:
          ValueError: the lengths differ, or do not add up to the length of ``value``; or that is a scalar.

        >>> ag.TensorArray("int32", size=2).split([1, 2, 3, 4], [2, 2]).read(1).tolist()
        [3, 4]
        """
        elements = self._cast_elements(value)
        sizes = {operator.index(length) for length in np.asarray(lengths).tolist()}
        if len(sizes) != 1:
            raise ValueError(f"a TensorArray holds elements of one shape; split into lengths {sorted(sizes)}")
        (size,) = sizes
        if size * len(lengths) != elements.shape[0]:
            raise ValueError(f"lengths sum to {size * len(lengths)}, and the value has {elements.shape[0]} rows")
        return self.unstack(elements.reshape(len(lengths), size, *elements.shape[1:]))

    def __repr__(self) -> str:
        return f"<ag.TensorArray {self._dtype}, {self._count} elements of shape {self.element_shape}>"

    # As a pytree.

    def tree_flatten(self) -> tuple[tuple[PyTree, ...], Hashable]:
        # How many elements there are is part of the structure, unless it may change.
        fixed = None if self._dynamic else self._count
        how = self._dtype, self._dynamic, self._max_size, self._room, self._loop, self._element_shape, fixed
        children = () if self._buffer is None else (self._buffer,)
        return (*children, self._count) if self._dynamic else children, how

    @classmethod
    def tree_unflatten(cls, how: PyTree, children: tuple[PyTree, ...]) -> TensorArray:
        made = cls.__new__(cls)
        made._dtype, made._dynamic, made._max_size, made._room, made._loop, made._element_shape, fixed = how
        made._count = children[-1] if made._dynamic else fixed
        made._buffer = children[0] if len(children) > made._dynamic else None
        return made

    def before_loop(self, bound: ArrayLike | None, loop: int, room: ArrayLike | None = None) -> TensorArray:
        """Return the same elements with capacity for what a staged loop writes.

        That is one element in each iteration, as far as is known by now, or ``room`` elements in all.

        Args:
          bound: how many iterations there are at most; None if that is not known.
          loop: how many loops there are around it.
        """
        if not self._grows_by_itself:
            return self
        has_bound = bound is not None and not isinstance(bound, jax.Array)
        present: Any = self._known_room() if isinstance(self._count, jax.Array) else self._count
        if room is None:
            room = self._room if not has_bound or present is None else present + bound
        if room is None:
            return self
        cleared = self._with_zeros_beyond()
        after = cleared._replaced(cleared._buffer, cleared._count)
        after._room, after._loop = room, (loop, present)
        return after if after._buffer is None else after._with_room(room)

    def after_loop(self, loop: int) -> TensorArray:
        """Return the same elements after a loop with so many around it."""
        if self._loop is None or self._loop[0] != loop:
            return self
        after = self._replaced(self._buffer, self._count)
        after._loop = None
        return after

    def room_in_loop(self, loop: int) -> tuple[ArrayLike, ArrayLike | None] | None:
        """For how many elements there is room in a loop with so many around it, and how many there were before, at most.

        None where that loop does not write to it, or no write can miss its room.
        """
        return None if self._loop is None or self._loop[0] != loop else (self._room, self._loop[1])

    # Room.

    def _least_room(self) -> Any:
        if self._max_size is not None and self._dynamic:
            return self._max_size
        return self._count if self._room is None else self._room

    def _check_room(self, where: str = "at a traced index") -> None:
        if self._dynamic and self._known_room() is None:
            raise StagingError(
                f"{user_location()}\n  A TensorArray of dynamic size is written {where}, and its size "
                "has no bound. Pass max_size=, or write in a staged loop of known length."
            )

    @property
    def _grows_by_itself(self) -> bool:
        """Whether each write makes the room that it needs: none was given, and no loop sees to it."""
        return self._dynamic and self._max_size is None and self._loop is None

    def _known_room(self) -> Any:
        """How many elements fit at most, None if it may grow without end."""
        if not self._dynamic:
            return self._count if self._buffer is None else self._buffer.shape[0]
        if self._max_size is not None or self._room is not None:
            return self._room if self._max_size is None else self._max_size
        is_counted = not isinstance(self._count, jax.Array)
        return None if is_counted or self._buffer is None else self._buffer.shape[0]  # what branches have written

    def _check_element(self, index: int) -> None:
        """See that there is an element at a known index, if it is known how many there are."""
        if isinstance(self._count, int) and not 0 <= index < self._count:
            raise IndexError(f"read at index {index} of a TensorArray with {self._count} elements")

    def _zeros(self, count: Any, shape: Any) -> Any:
        return jnp.zeros((count, *shape), self._dtype)

    def _with_elements(self, shape: tuple[int, ...]) -> TensorArray:
        """The same array, with its buffer, now that the shape of its elements is known."""
        if self._buffer is None:
            return self._replaced(self._zeros(self._least_room(), shape), self._count)
        if tuple(shape) != self.element_shape:
            raise ValueError(
                f"{user_location()}\n  A TensorArray of elements of shape {self.element_shape} is written an element of shape "
                f"{tuple(shape)}."
            )
        return self

    def _with_room(self, room: Any) -> TensorArray:
        """The same array with a buffer of at least this size."""
        present = self._buffer.shape[0]
        if (
            room is None
            or _same_size(present, room)
            or (isinstance(present, int) and isinstance(room, int) and present >= room)
        ):
            return self
        more = STAGING.more_room(room - present, self._buffer)
        return self._replaced(jnp.concatenate([self._buffer, more]), self._count)

    def _with_zeros_beyond(self) -> TensorArray:
        """The same array with zeros where nothing is: what a branch with fewer elements has been filled up with is anything."""
        if not self._grows_by_itself or not isinstance(self._count, jax.Array) or self._buffer is None:
            return self
        has_element = jnp.arange(self._buffer.shape[0]) < self._count
        rows = has_element.reshape(-1, *[1] * (self._buffer.ndim - 1))
        return self._replaced(jnp.where(rows, self._buffer, jnp.zeros((), self._buffer.dtype)), self._count)

    def _with_room_at(self, place: Any) -> TensorArray:
        """The same array with room for an element at a traced index, where no loop sees to that."""
        room = self._known_room()
        if not self._grows_by_itself:
            return self._with_room(room)
        after = self._replaced(self._buffer, self._count)
        if place is self._count:
            after._room = room + 1
        elif isinstance(room, int):
            more = reserved(user_location(), "TensorArray", room)
            more.check(place + 1)
            after._room = more.capacity
        return after._with_room(after._room)

    def _grown_to(self, index: int) -> TensorArray:
        """The same array with room for an element at a known index."""
        limit = self._max_size if self._dynamic else self._buffer.shape[0]
        if index < 0 or (isinstance(limit, int) and index >= limit):
            allowed = "" if limit is None else f" of at most {limit} elements"
            raise IndexError(f"{user_location()}\n  write at index {index} of a TensorArray{allowed}")
        if self._loop is not None:
            return self
        present = self._buffer.shape[0]
        if not isinstance(present, int) or index < present:
            return self
        room = max(index + 1, 2 * present) if limit is None else limit
        after = self._with_room(room)
        if after._room is not None:
            after._room = room
        return after

    def _replaced(self, buffer: Any, count: Any) -> TensorArray:
        made = TensorArray.__new__(TensorArray)
        for name, value in vars(self).items():
            setattr(made, name, value)
        made._buffer, made._count = buffer, count
        return made

    def _filled(self) -> Any:
        if self._buffer is None:
            raise ValueError(
                f"{user_location()}\n  Nothing has been written to this TensorArray, so the shape of its elements is not "
                "known.\n  `write` and its like return a new TensorArray: keep that, array = array.write(i, value). To read an array "
                "that is never written, give element_shape."
            )
        return self._buffer

    # Elements.

    def _cast(self, value: Any) -> Any:
        value = plain(value)
        array = jnp.asarray(value)
        if array.dtype != self._dtype:
            is_python = not hasattr(value, "dtype") or getattr(value, "weak_type", False)
            if not is_python or jnp.promote_types(array.dtype, self._dtype) != self._dtype:
                raise ValueError(
                    f"{user_location()}\n  A TensorArray of {self._dtype} is written a value of {array.dtype}. Cast it."
                )
        return array.astype(self._dtype)

    def _cast_elements(self, value: Any) -> Any:
        elements = self._cast(value)
        if elements.ndim == 0:
            raise ValueError("the elements of a TensorArray are along a first axis, which a scalar does not have")
        return elements


jax.tree_util.register_pytree_node_class(TensorArray)


def _index(index: Any) -> Any:
    index = plain(index)
    if isinstance(index, jax.Array):
        if not jnp.issubdtype(index.dtype, jnp.integer) or index.shape != ():
            raise TypeError(f"an index is an integer scalar; got {index.dtype}{list(index.shape)}")
        return index if isinstance(index, jax.core.Tracer) else int(index)
    return operator.index(index)


def _number(given: Any, name: str) -> int:
    """A number of elements, given as this argument."""
    number = operator.index(given)
    if number < 0:
        raise ValueError(f"the {name} of a TensorArray is a number of elements, so not negative; got {name}={number}")
    return number


def _larger(count: Any, other: Any) -> Any:
    if isinstance(count, int) and isinstance(other, int):
        return max(count, other)
    return jnp.maximum(count, other)


def _is_symbolic(size: Any) -> bool:
    return not isinstance(size, int | np.integer) and hasattr(size, "_get_vars")


def _same_size(a: Any, b: Any) -> bool:
    return bool(a == b)
