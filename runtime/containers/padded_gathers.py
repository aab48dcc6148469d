"""What moves the elements of arrays of traced length to other places: sorting, joining, searching, sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from autograph.runtime.containers.lengths import Count, check, counted_in, refused
from autograph.runtime.containers.padded_arrays import PaddedArray, aligned, elementwise
from autograph.runtime.containers.padded_rules import (
    Rule,
    as_padded_array,
    axes_of,
    by_elements,
    extreme_of,
    is_padded,
    rank,
    raveled,
    refuse,
    resolved,
    zeroed,
)
from autograph.runtime.containers.padded_writes import spread
from autograph.runtime.containers.transposed import Transposed, of_transposes


def running(function: Callable[..., Any]) -> Rule:
    """What runs along an axis from its beginning."""

    def rule(a: Any, axis: Any = None, dtype: Any = None, **options: Any) -> Any:
        if axis is None:
            a, axis = raveled(a), 0
        options |= {} if dtype is None else {"dtype": dtype}
        return PaddedArray.of(function(a.values, axis, **options), a.count)

    return rule


def order_of(a: PaddedArray, descending: bool = False) -> Any:
    """The places of the sorted elements along the first axis, those beyond the length last; stable."""
    values = a.values
    beyond = jnp.broadcast_to(~a.filled(), values.shape)
    if not descending:
        return jnp.lexsort((values, beyond), 0)
    places = a.length - 1 - jnp.arange(a.capacity)  # as JAX does: backwards, and the last of equals comes first
    places = jnp.where(places < 0, jnp.arange(a.capacity), places)
    order = jnp.lexsort((values[places], beyond), 0)
    order = jnp.where(a.filled(), a.length - 1 - order, order)
    return order[places]


def _by_first_axis(a: PaddedArray, axis: Any) -> tuple[PaddedArray, bool]:
    if axis is None:
        return raveled(a), True
    return a, axis % a.ndim == 0


def sort_of(
    a: Any, axis: Any = -1, *, kind: None = None, order: None = None, stable: bool = True, descending: bool = False
) -> Any:
    del kind, order, stable
    a, is_first = _by_first_axis(a, axis)
    if not is_first:
        return a.with_values(jnp.sort(a.values, axis, descending=descending))
    return PaddedArray.of(jnp.take_along_axis(a.values, order_of(a, descending), 0), a.count)


def argsort(
    a: Any, axis: Any = -1, *, kind: None = None, order: None = None, stable: bool = True, descending: bool = False
) -> Any:
    del kind, order, stable
    a, is_first = _by_first_axis(a, axis)
    if not is_first:
        return a.with_values(jnp.argsort(a.values, axis, descending=descending))
    return PaddedArray.of(order_of(a, descending), a.count)


def lexsort(keys: Any, axis: int = -1) -> Any:
    values, count = aligned([as_padded_array(key) for key in keys])
    beyond = jnp.arange(values[0].shape[0]) >= count.value
    return PaddedArray.of(jnp.lexsort((*values, beyond)), count)


def flip(m: Any, axis: Any = None) -> Any:
    axes = axes_of(m, axis)
    rest = tuple(range(1, m.ndim)) if axes is None else tuple(each for each in axes if each)
    flipped = m.with_values(jnp.flip(m.values, rest)) if rest else m
    return flipped[::-1] if axes is None or 0 in axes else flipped


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None and a.ndim > 1 or isinstance(axis, tuple | list):
        raise refused("`roll` of several dimensions at once")
    if axis is not None and axis % a.ndim:
        return a.with_values(jnp.roll(a.values, shift, axis))
    return a.taken((jnp.arange(a.capacity) - shift) % jnp.maximum(a.length, 1), a.count)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    if prepend is not None or append is not None:
        joined = [
            each if rank(each) else jnp.reshape(jnp.asarray(each), (1,))
            for each in (prepend, a, append)
            if each is not None
        ]
        return diff(concatenate(joined, axis if a.ndim > 1 else 0), n, axis)
    if axis % a.ndim:
        return a.with_values(jnp.diff(a.values, n, axis))
    for _ in range(n):
        a = a[1:] != a[:-1] if a.dtype == np.bool_ else a[1:] - a[:-1]
    return a


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    return diff(raveled(ary), 1, -1, to_begin, to_end) if to_end is to_begin is None else refuse("`ediff1d` with ends")


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """As `numpy.gradient`, of one dimension: at each element the slopes on both sides, the nearer the weightier; at the ends one slope."""
    if rank(f) != 1 or len(varargs) > 1 or edge_order != 1:
        raise refused("`gradient` with these arguments")
    text = (
        "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are required."
    )
    check(as_padded_array(f).length > 1, ValueError(text))
    f = f if is_padded(f) else jnp.asarray(f)
    (spacing,) = varargs or (1.0,)
    if not rank(spacing):
        slopes = (f[1:] - f[:-1]) / spacing
        between = (slopes[1:] + slopes[:-1]) / 2
    else:
        spacing = spacing if is_padded(spacing) else jnp.asarray(spacing)
        steps = spacing[1:] - spacing[:-1]
        slopes = (f[1:] - f[:-1]) / steps
        before, after = steps[:-1], steps[1:]
        between = (slopes[:-1] * after + slopes[1:] * before) / (before + after)
    return concatenate([slopes[:1], between, slopes[-1:]])


def concatenate(arrays: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """Those of the later arrays come where those of the earlier end."""
    arrays = [each if is_padded(each) else jnp.asarray(each) for each in arrays]
    if axis is None:
        arrays, axis = [each.ravel() for each in arrays], 0
    ndim = arrays[0].ndim
    if any(each.ndim == 0 for each in arrays):
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    if any(each.ndim != ndim for each in arrays):
        raise ValueError("all the input array dimensions must match exactly")
    if axis % ndim:
        values, count = aligned(arrays)
        if any(value.shape[0] != values[0].shape[0] for value in values):
            raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
        return PaddedArray(jnp.concatenate(values, axis, dtype=dtype), count)
    parts = [as_padded_array(each) for each in arrays]
    length: Any = 0
    room = 0
    total = sum(part.capacity for part in parts)
    places: Any = jnp.zeros(total, int)
    for part in parts:
        own = jnp.arange(part.capacity)
        targets = jnp.where(own < part.length, own + length, total)
        places = places.at[targets].set(own + room, mode="drop")
        length, room = length + part.length, room + part.capacity
    whole = jnp.concatenate([part.values for part in parts], 0, dtype=dtype)
    first = places[:1] if total else places
    return PaddedArray(whole, total).taken(jnp.where(jnp.arange(total) < length, places, first), length)


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    if axis is None:
        arr, values = ((each if is_padded(each) else jnp.asarray(each)).ravel() for each in (arr, values))
        axis = 0
    return concatenate([arr, values], axis)


def hstack(tup: Any, dtype: Any = None) -> Any:
    ndim = max(rank(each) for each in tup)
    parts = [each if rank(each) else jnp.reshape(jnp.asarray(each), (1,)) for each in tup]
    return concatenate(parts, 1 if ndim > 1 else 0, dtype)


def vstack(tup: Any, dtype: Any = None) -> Any:
    if all(rank(each) == 1 for each in tup):
        return stack(tup, dtype=dtype)
    if any(each.ndim < 2 for each in tup if is_padded(each)):
        raise refused("an array of which it is no whole row, in `vstack`,")
    return concatenate([each if is_padded(each) else jnp.atleast_2d(each) for each in tup], 0, dtype)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    ndim = max(each.ndim for each in arrays if is_padded(each)) + 1
    if axis % ndim == 0:
        if ndim > 2:
            raise refused("`stack` along the first axis of the result")
        return Transposed(stack(arrays, 1, dtype=dtype))
    return by_elements(lambda *values: jnp.stack(jnp.broadcast_arrays(*values), axis, dtype=dtype))(*arrays)


def column_stack(tup: Any) -> Any:
    return concatenate(
        [
            each[:, None] if (each := each_ if is_padded(each_) else jnp.asarray(each_)).ndim == 1 else each
            for each_ in tup
        ],
        1,
    )


def take(a: Any, indices: Any, axis: Any = None, out: None = None, mode: Any = None, **_: Any) -> Any:
    if axis not in (None, 0) or (axis is None and getattr(a, "ndim", 1) > 1):
        raise refused("`take` along another axis than the first")
    if is_padded(a):
        return a[jnp.asarray(indices) if isinstance(indices, list | tuple) else indices]
    return gathered(jnp.asarray(a), indices)


def gathered(array: Any, key: Any) -> PaddedArray:
    """``array[key]`` of an array of known shape, where the key has arrays of traced length in it: first of all."""
    parts, count = _aligned_key(key)
    found = array[parts]
    return PaddedArray(jnp.broadcast_to(found, (max(found.shape[0], 1), *found.shape[1:])), count)


def written_at(array: Any, key: Any, value: Any) -> Any:
    """``array`` with ``value`` at a key that may have arrays of traced length in it: first of all."""
    value = resolved(value)
    if not any(map(is_padded, key if isinstance(key, tuple) else (key,))):
        return array.at[key].set(_exact(value, jnp.shape(array[key])).astype(array.dtype))
    parts, count = _aligned_key(key)
    first = next(k for k, part in enumerate(parts) if jnp.ndim(part) == 1 and not isinstance(part, slice))
    places, size = parts[first], array.shape[first]
    places = jnp.where(places < 0, places + size, places)
    is_there = jnp.arange(places.shape[0]) < count.value
    given = spread(value, jnp.arange(places.shape[0]), count, array[parts].ndim)
    parts = (*parts[:first], jnp.where(is_there, places, size), *parts[first + 1 :])
    return array.at[parts].set(given.astype(array.dtype), mode="drop")


def _exact(value: Any, shape: tuple[int, ...]) -> Any:
    """A value that is written to a part of this shape."""
    if not is_padded(value):
        return jnp.asarray(value)
    if value.ndim != len(shape):
        raise refused("a value of traced length, in a dimension other than the first,")
    check(
        (value.length == shape[0]) | (value.length == 1),
        ValueError("could not broadcast input array: its length differs"),
    )
    return value.in_room(shape[0])[: shape[0]]


def _aligned_key(key: Any) -> tuple[tuple[Any, ...], Count]:
    """The parts of a key with the arrays of traced length in it in one room, and how many elements these have."""
    parts = key if isinstance(key, tuple) else (key,)
    if any(is_padded(part) and (part.ndim > 1 or part.dtype == np.bool_) for part in parts):
        raise refused("an index that is a mask, or of several dimensions, of traced length")
    first = next(k for k, part in enumerate(parts) if is_padded(part))
    if any(part is None or part is ... or isinstance(part, slice) for part in parts[:first]):
        raise refused("an index of traced length in a dimension other than the first")
    is_array = [not (part is None or part is ... or isinstance(part, slice)) for part in parts]
    values, count = aligned([part for part, wanted in zip(parts, is_array, strict=True) if wanted])
    left = iter(values)
    return tuple(next(left) if wanted else part for part, wanted in zip(parts, is_array, strict=True)), count


def repeat(a: Any, repeats: Any, axis: Any = None, *, total_repeat_length: int | None = None) -> Any:
    if not isinstance(repeats, int) or not is_padded(a):
        raise refused("`repeat` of an array of traced length, other than by an int,")
    if axis is None:
        a = raveled(a)
    elif axis % a.ndim:
        return a.with_values(jnp.repeat(a.values, repeats, axis))
    places = jnp.arange(a.capacity * repeats) // max(repeats, 1)
    return a.taken(places, a.count.derived(("times", repeats), lambda length: length * repeats))


def tile(A: Any, reps: Any) -> Any:  # noqa: N803 (NumPy's name)
    if not isinstance(reps, int) or A.ndim > 1:
        raise refused("`tile` of this kind")
    places = jnp.arange(A.capacity * reps) % jnp.maximum(A.length, 1)
    return A.taken(places, A.count.derived(("times", reps), lambda length: length * reps))


def delete(arr: Any, obj: Any, axis: Any = None, **_: Any) -> Any:
    if is_padded(obj) or jnp.ndim(obj) or arr.ndim > 1 and axis != 0:
        raise refused("`delete` of other than one element")
    place = arr.place(obj)
    places = jnp.arange(arr.capacity)
    return arr.taken(jnp.where(places < place, places, places + 1), arr.count.less(1))


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    if is_padded(obj) or jnp.ndim(obj) or is_padded(values) or jnp.ndim(values) >= max(1, arr.ndim):
        raise refused("`insert` of other than one element")
    place = jnp.clip(obj + jnp.where(jnp.asarray(obj) < 0, arr.length, 0), 0, arr.length)
    places = jnp.arange(arr.capacity + 1)
    moved = (
        arr.values[jnp.clip(jnp.where(places <= place, places, places - 1), 0, max(arr.capacity - 1, 0))]
        if arr.capacity
        else jnp.zeros((1, *arr.values.shape[1:]), arr.dtype)
    )
    new = moved.at[place].set(jnp.asarray(values).astype(arr.dtype))
    return PaddedArray.of(new, arr.count.derived("one more", lambda length: length + 1))


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None, **options: Any) -> Any:
    if sorter is not None:
        raise refused("`searchsorted` with a sorter")
    if not is_padded(a):
        return elementwise(lambda values: jnp.searchsorted(a, values, side, **options), v)
    filled = jnp.where(a.filled(), a.values, extreme_of(a.dtype, least=False))

    def search(values: Any) -> Any:
        return jnp.minimum(jnp.searchsorted(filled, values, side, **options), a.length)

    return elementwise(search, v) if is_padded(v) else search(v)


def digitize(x: Any, bins: Any, right: bool = False, **options: Any) -> Any:
    if is_padded(bins):
        raise refused("`digitize` with bins of a traced number")
    return elementwise(lambda values: jnp.digitize(values, bins, right, **options), x)


def interp(x: Any, xp: Any, fp: Any, **options: Any) -> Any:
    if not is_padded(xp) and not is_padded(fp):
        return elementwise(lambda values: jnp.interp(values, xp, fp, **options), x)
    (points, values), count = aligned([as_padded_array(xp), as_padded_array(fp)])
    last = jnp.maximum(count.value - 1, 0)
    beyond = jnp.arange(points.shape[0]) >= count.value
    points, values = jnp.where(beyond, points[last], points), jnp.where(beyond, values[last], values)
    return elementwise(lambda at: jnp.interp(at, points, values, **options), x)


def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, **_: Any) -> Any:
    del assume_unique
    if not is_padded(test_elements):
        return elementwise(lambda values: jnp.isin(values, test_elements, invert=invert), element)
    tests = raveled(test_elements)

    def inside(values: Any) -> Any:
        found = jnp.isin(values, tests.values) & (tests.length > 0)
        return ~found if invert else found

    return elementwise(inside, element) if is_padded(element) else inside(jnp.asarray(element))


def nonzero(a: Any, *, size: Any = None, fill_value: Any = None) -> Any:
    if size is not None:
        raise refused("`nonzero` with a size, of an array that has a traced length,")
    if a.ndim > 1:
        raise refused("`nonzero` of several dimensions")
    mask = a if a.dtype == np.bool_ else a != 0
    count = counted_in(mask.values & jnp.ravel(mask.filled()))
    return (PaddedArray(count.places, count),)


def flatnonzero(a: Any, **options: Any) -> Any:
    return nonzero(raveled(a), **options)[0]


def argwhere(a: Any, **options: Any) -> Any:
    return nonzero(a, **options)[0][:, None]


@of_transposes
def where(condition: Any, x: Any = None, y: Any = None, **options: Any) -> Any:
    if x is None and y is None:
        if isinstance(condition, Transposed):
            raise refused("`nonzero` of a transpose")
        return nonzero(condition, **options)
    return by_elements(jnp.where)(condition, x, y)


def compress(condition: Any, a: Any, axis: Any = None, **_: Any) -> Any:
    if axis not in (None, 0) or getattr(a, "ndim", 1) > 1 and axis is None:
        raise refused("`compress` along this axis")
    return as_padded_array(a).masked(condition)


def unique_of(
    a: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    **_: Any,
) -> Any:
    """As `jax.numpy.unique`, of arrays of known and of traced lengths."""
    del sorted
    if axis is not None and getattr(a, "ndim", 1) > 1:
        raise refused("`unique` along an axis")
    shape = None if is_padded(a) else jnp.shape(a)
    flat = raveled(a) if is_padded(a) else as_padded_array(jnp.ravel(jnp.asarray(a)))
    order = order_of(flat)
    values = flat.values[order]
    counts_at = jnp.arange(flat.capacity) < flat.length
    differs = values[1:] != values[:-1]
    if equal_nan and jnp.issubdtype(values.dtype, jnp.inexact):
        differs &= ~(jnp.isnan(values[1:]) & jnp.isnan(values[:-1]))
    is_new = jnp.concatenate([jnp.ones(min(1, flat.capacity), bool), differs]) & counts_at
    count = counted_in(is_new)
    found: list[Any] = [PaddedArray(values, flat.count).taken(count.places, count)]
    if return_index:
        found.append(PaddedArray(order, flat.count).taken(count.places, count))
    if return_inverse:
        group = jnp.zeros(flat.capacity, int).at[order].set(jnp.cumsum(is_new) - 1)
        found.append(PaddedArray.of(group, flat.count) if shape is None else group.reshape(shape))
    if return_counts:
        ends = jnp.append(count.places[1:], 0) if flat.capacity else count.places
        ends = jnp.where(jnp.arange(flat.capacity) == count.value - 1, flat.length, ends)
        found.append(PaddedArray.of(ends - count.places, count))
    return tuple(found) if len(found) > 1 else found[0]


def set_function(function: Callable[[Any, Any], Any]) -> Rule:
    def rule(ar1: Any, ar2: Any, assume_unique: bool = False, **rest: Any) -> Any:
        if any(value not in (None, False) for value in rest.values()):
            raise refused("a function of sets with these options")
        ones, others = (each if is_padded(each) else jnp.ravel(jnp.asarray(each)) for each in (ar1, ar2))
        return function(ones, others)

    return rule


def kept_of_unique(invert: bool) -> Callable[[Any, Any], Any]:
    def kept(one: Any, other: Any) -> Any:
        found = unique_of(one)
        return found.masked(isin(found, other, invert=invert))

    return kept


def union(one: Any, other: Any) -> Any:
    return unique_of(concatenate([one, other]))


def convolve(a: Any, v: Any, mode: str = "full", **options: Any) -> Any:
    one, other = as_padded_array(a), as_padded_array(v)
    full = jnp.convolve(zeroed(one), zeroed(other), "full", **options)
    least, most = jnp.minimum(one.length, other.length), jnp.maximum(one.length, other.length)
    whole = PaddedArray(full, full.shape[0])
    if mode == "full":
        return whole.taken(jnp.arange(full.shape[0]), one.length + other.length - 1)
    first, count = ((least - 1) // 2, most) if mode == "same" else (least - 1, most - least + 1)
    return whole.taken(first + jnp.arange(full.shape[0]), count)
