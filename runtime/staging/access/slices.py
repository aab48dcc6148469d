"""Slices with traced bounds: windows of known size, and writes to ranges of traced size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Backend
from autograph.backends.followed import follow
from autograph.runtime.containers.lengths import taken_by
from autograph.runtime.containers.padded_arrays import PaddedArray
from autograph.runtime.containers.padded_writes import spread
from autograph.runtime.containers.sizes import is_symbolic_size
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.list_room import AT_FIRST, OutOfRoom, Room
from autograph.runtime.layouts.statement_variables import value_of
from autograph.runtime.state.spans import Span
from autograph.runtime.tracing.caller_arrays import may_be_numpys
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_line, user_location
from autograph.runtime.tracing.recording import LOCAL


@dataclass(frozen=True)
class WindowRoom(Room):
    """No list, but a slice of a known size. Where it reaches over the array's end it has grown: it is of traced length."""

    def outgrown(self, capacity: Any) -> Exception:
        return OutOfRoom(
            f"{self.where}\n  The slice [{self.name}] reaches over the end of the array, where it has fewer elements: its length is "
            "known only at run time, and this program cannot be run again with such a slice.\n  Let it end at the "
            "array's end, x[i:min(i + 3, len(x))], which makes an array of traced length.",
            self,
            capacity,
        )


class Slices:
    """The operators for slices with computed bounds.

    Args:
      is_written: whether a line binds a slice to which, or to whose array, items are written; False if only ``y += v`` writes to it.
    """

    def __init__(self, backend: Backend, is_written: Callable[[tuple[str, int]], bool | None]) -> None:
        self.backend = backend
        self._is_written = is_written

    def span(self, start: Any, stop: Any, step: Any = None, size: Callable[[], Any] | None = None) -> Any:
        """``slice(start, stop, step)``, or a `Span` where one of them is traced.

        ``size`` is ``stop - start`` where that may be known although neither is.
        """
        start, stop, step = map(value_of, (start, stop, step))
        if not any(self.backend.is_array(part) and self.backend.is_traced(part) for part in (start, stop, step)):
            return slice(start, stop, step)
        if step is None or isinstance(step, int | np.integer):
            if step == 0:
                raise _no_step()
            distance = None if size is None or (step or 1) < 0 else size()
            if isinstance(distance, int | np.integer) and not isinstance(distance, bool):
                return Span(start, stop, step, max(0, -(-int(distance) // int(step or 1))))
        elif not self.backend.is_array(step) or not jnp.issubdtype(step.dtype, jnp.integer) or step.ndim:
            raise TypeError("slice indices must be integers or None or have an __index__ method")
        elif LANGUAGE.operators.can_raise_later(ValueError):
            LANGUAGE.operators.raise_unless(step != 0, _no_step(), is_check=True)
        return Span(start, stop, step, None)

    def with_spans(self, key: Any) -> Any:
        """An index with a `Span` in place of each ``slice`` object whose bounds are traced."""
        if type(key) is slice:
            return self.span(key.start, key.stop, key.step)
        if type(key) is tuple and slice in map(type, key):
            return tuple(map(self.with_spans, key))
        return key

    def read_spans(self, array: Any, key: Any) -> Any:
        """``array[key]``: an array of traced length where the size of a span is traced.

        One of a known size that has proved to reach over the array's end is of traced length, too, when the program is run
        again. Where nothing can raise, it is moved inside the array, as XLA does.

        Raises:
          StagingError: a dimension other than the first would have a size that is known only at run time.
        """
        if not self.is_window(array, key):
            return self._read_open(array, _opened(key))
        return self.read_window(array, key)

    def is_window(self, array: Any, key: Any) -> bool:
        """Whether ``array[key]`` has a known shape. It is checked to have all elements when the program runs."""
        parts = _axes(key, array)
        if any(part.size is None for _, part in parts):
            return False
        room = WindowRoom(user_location(), str(parts[0][1]))
        if len(parts) == 1 and _may_be_open(key):
            if LOCAL.frame is not None:
                room = replace(room, rooms=LOCAL.frame.rooms)
            has_grown = room.rooms is not None and room.rooms.has_grown(room)
            if has_grown or any(_is_longer(part, array.shape[axis]) for axis, part in parts):
                return False
        self._check_windows(array, parts, room)
        return True

    def read_window(self, array: Any, key: Any) -> Any:
        """``array[key]`` where it has a known shape."""
        window, _, rest = self.window(array, key)
        return window[rest]

    def write_window(self, array: Any, key: Any, part: Any) -> Any:
        """``array`` with ``part``, which `read_window` has returned, but for its elements, at ``key``."""
        parts = _axes(key, array)
        return self._write_windows(
            array, key, lambda window, rest, new: window.at[rest].set(new), part, [True] * len(parts)
        )

    def _check_windows(self, array: Any, parts: list[tuple[int, Span]], room: WindowRoom) -> None:
        """See that spans of a known size have all their elements: when the program runs."""
        error = room.outgrown(AT_FIRST)
        if LOCAL.frame is None or not LANGUAGE.operators.can_raise_later(type(error)):
            return
        for axis, part in parts:
            if part.size and not _is_longer(part, array.shape[axis]):
                LANGUAGE.operators.raise_unless(_fits(part, array.shape[axis]), error, is_check=True)

    def _read_open(self, array: Any, key: Any) -> Any:
        """``array[key]``, of which the first dimension has a size that is known only at run time."""
        parts = key if isinstance(key, tuple) else (key,)
        place = next(k for k, part in enumerate(parts) if isinstance(part, Span))
        before, span, after = parts[:place], parts[place], parts[place + 1 :]
        if not _may_be_open(key):
            raise self._unknown_size(
                next(part for part in parts if isinstance(part, Span) and part.size is None), array
            )
        self._refuse_written()
        rows = array[before] if before else array
        taken = PaddedArray(rows, rows.shape[0]).sliced(slice(span.start, span.stop, span.step))
        follow([taken.values], [rows])
        return taken[(slice(None), *after)] if after else taken

    def _refuse_written(self) -> None:
        """Refuse a slice that is bound here if a write would show that it is a part of the array, which it is not in the program."""
        by_item = self._is_written(user_line()) if LOCAL.repeated is not None else None
        if by_item or (by_item is not None and may_be_numpys()):
            raise StagingError(
                f"{user_location()}\n  The length of this slice is known only when the program runs: it is an array of its own, but it or "
                "its array is written while the other is in use.\n  Take a copy (a[i:j].copy()), or write to the array itself, a[i:j] = v."
            )

    def write_spans(self, array: Any, key: Any, write: Callable[[Any, Any, Any], Any], value: Any) -> Any:
        """``array`` after ``write(part, key, value)``, which returns a part of it with a value written at a static key."""
        parts = _axes(key, array)
        if isinstance(value, PaddedArray):
            key = _opened(key)
        elif all(part.size is not None for _, part in parts):
            same = [_is_same_along(key, axis, array, value) for axis, _ in parts]
            if not all(same) or all(_is_contiguous(part, array.shape[axis]) for axis, part in parts):
                return self._write_windows(array, key, write, value, same)
            key = _opened(key)
        mask = jnp.ones((1,) * array.ndim, bool)
        for axis, part in parts:
            if not _is_same_along(key, axis, array, value):
                value = self._spread(array, key, axis, part, value)
            mask = mask & jnp.expand_dims(
                _covered(part, jnp.arange(array.shape[axis]), array.shape[axis]), tuple(_others(axis, array.ndim))
            )
        return jnp.where(mask, write(array, _widened(key), value), array)

    def _write_windows(
        self, array: Any, key: Any, write: Callable[[Any, Any, Any], Any], value: Any, same: list[bool]
    ) -> Any:
        """As `write_spans`, where all sizes are known: what is outside of the array is left out.

        Args:
          same: for each span, whether the value is the same along it. Others have to be inside.
        """
        parts = _axes(key, array)
        window, starts, rest = self.window(array, key)
        differing = [each for each, is_same in zip(parts, same, strict=True) if not is_same]
        if differing:
            self._check_windows(array, differing, WindowRoom(user_location(), str(differing[0][1])))
        mask = jnp.ones((1,) * array.ndim, bool)
        for (axis, part), is_same in zip(parts, same, strict=True):
            if is_same and part.size:
                size = array.shape[axis]
                first = jnp.clip(jnp.where(part.start < 0, part.start + size, part.start), 0, size - part.width)
                covered = _covered(part, first + jnp.arange(part.width), size)
                mask = mask & jnp.expand_dims(covered, tuple(_others(axis, array.ndim)))
        written = write(window, rest, value)
        return self.backend.put_window(array, jnp.where(mask, written, window) if mask.size > 1 else written, starts)

    def _spread(self, array: Any, key: Any, axis: int, part: Span, value: Any) -> Any:
        """A value that differs along a span of a traced size, for all of the axis.

        Raises:
          StagingError: that is not the first dimension of what is written to.
        """
        ndim = array[_widened(key)].ndim
        if _place_of(axis, key, array.ndim) != ndim:
            raise StagingError(
                f"{user_location()}\n  The slice [{part}] has a size that is known only at run time, and values that differ along it can "
                f"be written in the first dimension only; these have the shape {np.shape(getattr(value, 'values', value))}.\n"
                "  Write them through a mask: x = jnp.where(mask, values, x)."
            )
        positions = jnp.arange(array.shape[axis])
        start, step, count = taken_by(slice(part.start, part.stop, part.step), array.shape[axis])
        return spread(value, (positions - start) // step, count, ndim)

    def window(self, array: Any, key: Any) -> tuple[Any, list[Any], Any]:
        """The smallest window of the array that holds what the spans take, where it starts, and the key within it."""
        starts: list[Any] = [0] * array.ndim
        sizes = list(array.shape)
        for axis, part in _axes(key, array):
            if part.size is None:
                raise self._unknown_size(part, array)
            if _is_longer(part, array.shape[axis]):
                raise StagingError(
                    f"{user_location()}\n  The slice [{part}] takes {part.size} elements, more than axis {axis} of the array has "
                    f"({array.shape[axis]}), and starts at a traced place."
                )
            starts[axis] = part.start
            sizes[axis] = part.width
        return self.backend.window(array, starts, sizes), starts, _widened(key)

    def array_of(self, target: Any, key: Any) -> Any:
        if self.backend.is_array(target):
            return target
        if isinstance(target, np.ndarray) or hasattr(target, "__jax_array__"):
            return jnp.asarray(target)
        remedy = (
            "Compare the bound with each possible value (if/elif, or match)."
            if isinstance(target, str | bytes)
            else "Make it an array (jnp.stack, jnp.asarray)."
        )
        raise StagingError(
            f"{user_location()}\n  A {type(target).__name__} cannot be sliced at a traced bound ([{_first_span(key)}]).\n  {remedy}"
        )

    def _unknown_size(self, part: Span, array: Any) -> StagingError:
        return StagingError(
            f"{user_location()}\n  The slice [{part}] of a {self.backend.type_of(array)} has a size that is "
            "known only at run time, which only the first dimension of an array may have.\n  Use a fixed "
            "size (x[i:i + 3]), move that axis to the front, or keep the whole array "
            "and mask what is outside: jnp.where(jnp.arange(len(x)) < stop, x, 0)."
        )


def _no_step() -> ValueError:
    return ValueError("slice step cannot be zero")


def _axes(key: Any, array: Any) -> list[tuple[int, Span]]:
    """The spans of an index, each with the axis that it represents."""
    parts = key if isinstance(key, tuple) else (key,)
    found = []
    axis = 0
    for position, part in enumerate(parts):
        if part is Ellipsis:
            axis = array.ndim - sum(_taken(other) for other in parts[position + 1 :])
            continue
        if isinstance(part, Span):
            if axis >= array.ndim:
                raise IndexError(f"too many indices for array: array is {array.ndim}-dimensional")
            found.append((axis, part))
        axis += _taken(part)
    return found


def _taken(part: Any) -> int:
    """How many axes of the array an element of an index represents."""
    if part is None or part is Ellipsis:
        return 0
    is_mask = getattr(part, "dtype", None) == np.bool_ or isinstance(part, bool)
    return int(np.ndim(part)) if is_mask else 1


def _widened(key: Any) -> Any:
    """The key with each span replaced by the whole of its window."""
    if isinstance(key, tuple):
        return tuple(_widened(part) for part in key)
    return slice(None, None, key.step if key.size is not None else None) if isinstance(key, Span) else key


def _opened(key: Any) -> Any:
    """The key with spans of a size that is known only at run time."""
    if isinstance(key, tuple):
        return tuple(map(_opened, key))
    return replace(key, size=None) if isinstance(key, Span) else key


def _is_same_along(key: Any, axis: int, array: Any, value: Any) -> bool:
    """Whether a value is the same along an axis of what it is written to."""
    place = _place_of(axis, key, array.ndim)
    shape = np.shape(value.values if isinstance(value, PaddedArray) else value)
    if isinstance(value, PaddedArray) and place is not None:
        return len(shape) < place
    return place is not None and (len(shape) < place or shape[-place] == 1)


def _is_contiguous(part: Span, size: Any) -> bool:
    """Whether what an axis of this size has of a span of a known size is the window that it takes, but for its ends."""
    return part.step in (None, 1) and not _is_longer(part, size)


def _is_longer(part: Span, size: Any) -> bool:
    """Whether a span of a known size is longer than an axis of this size."""
    return not is_symbolic_size(size) and part.width > size


def _fits(part: Span, size: Any) -> Any:
    """Whether an axis of this size has all elements of a span of a known size."""
    from_start = (part.start >= 0) & (part.start + part.width <= size)
    return from_start | ((part.start >= -size) & (part.stop < 0))


def _may_be_open(key: Any) -> bool:
    """Whether the first dimension of what the key takes is the only one that a span may give another size."""
    parts = key if isinstance(key, tuple) else (key,)
    place = next(k for k, part in enumerate(parts) if isinstance(part, Span))
    return all(map(_is_number, parts[:place])) and all(
        part is None or _is_number(part) or _is_slice(part) for part in parts[place + 1 :]
    )


def _is_number(part: Any) -> bool:
    return (
        isinstance(part, int | np.integer)
        and not isinstance(part, bool)
        or (hasattr(part, "dtype") and np.ndim(part) == 0)
    )


def _is_slice(part: Any) -> bool:
    return isinstance(part, slice) or part is ...


def _place_of(axis: int, key: Any, ndim: int) -> int | None:
    """Which axis of ``array[key]``, counted from its last (1), an axis of the array is; None if that is not simple."""
    parts = key if isinstance(key, tuple) else (key,)
    if not all(part is None or part is Ellipsis or isinstance(part, slice | Span | int) for part in parts):
        if any(getattr(part, "ndim", 0) for part in parts):
            return None
    following = ndim - axis
    position = 0
    dots = ndim - sum(_taken(part) for part in parts)
    for part in parts:
        if position > axis:
            if part is None:
                following += 1
            elif not isinstance(part, slice | Span) and part is not Ellipsis:
                following -= 1
        position += dots if part is Ellipsis else _taken(part)
    return following


def _covered(part: Span, positions: Any, size: int) -> Any:
    """Which of these positions along an axis of this size a span takes, as NumPy counts."""
    start, step, count = taken_by(slice(part.start, part.stop, part.step), size)
    offset = positions - start
    steps = offset // step
    return (offset % step == 0) & (steps >= 0) & (steps < count)


def _others(axis: int, ndim: int) -> list[int]:
    return [other for other in range(ndim) if other != axis]


def _first_span(key: Any) -> Span:
    return next(part for part in (key if isinstance(key, tuple) else (key,)) if isinstance(part, Span))
