"""`gather` and `scatter` of XLA in NumPy: windows of an array that are read, or written, where indices say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

_Mode = jax.lax.GatherScatterMode


def gather(params: Any, operand: Any, indices: Any) -> Any:
    """The windows that begin at these indices, stacked."""
    numbers = params["dimension_numbers"]
    sizes = params["slice_sizes"]
    dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    shape = [size for axis, size in enumerate(sizes) if axis not in dropped]
    batch = np.shape(indices)[:-1]
    found = np.empty((*batch, *shape), np.asarray(operand).dtype)
    fills = params["mode"] == _Mode.FILL_OR_DROP
    starts = _starts(
        indices,
        np.ndim(operand),
        numbers.start_index_map,
        numbers.operand_batching_dims,
        numbers.start_indices_batching_dims,
    )
    for place, start in starts:
        if fills and not _is_inside(start, sizes, np.shape(operand)):
            found[place] = _filling(params["fill_value"], found.dtype)
        else:
            found[place] = np.asarray(operand)[_window(start, sizes, np.shape(operand))].reshape(shape)
    order: list[int] = []
    ofbatch, ofwindow = iter(range(len(batch))), iter(range(len(batch), found.ndim))
    for axis in range(found.ndim):
        order.append(next(ofwindow if axis in numbers.offset_dims else ofbatch))
    return np.transpose(found, order)


def scatter(combined: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The rule of an operation that writes windows: ``combined`` is applied to what is there and to what is written."""

    def rule(params: Any, operand: Any, indices: Any, updates: Any) -> Any:
        numbers = params["dimension_numbers"]
        whole = np.array(operand)
        window_axes = numbers.update_window_dims
        batch_axes = [axis for axis in range(np.ndim(updates)) if axis not in window_axes]
        parts = np.transpose(updates, [*batch_axes, *window_axes])
        dropped = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
        kept = iter(np.shape(updates)[axis] for axis in window_axes)
        sizes = [1 if axis in dropped else next(kept) for axis in range(whole.ndim)]
        clamps = params["mode"] == _Mode.CLIP
        starts = _starts(
            indices,
            whole.ndim,
            numbers.scatter_dims_to_operand_dims,
            numbers.operand_batching_dims,
            numbers.scatter_indices_batching_dims,
        )
        for place, start in starts:
            if clamps or _is_inside(start, sizes, whole.shape):
                window = _window(start, sizes, whole.shape)
                whole[window] = combined(whole[window], np.reshape(parts[place], sizes))
        return whole

    return rule


def _starts(
    indices: Any, rank: int, axes: Sequence[int], batching: Sequence[int], of_indices: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], list[int]]]:
    """Each place among the indices, and where the window that it represents begins in the array."""
    for place in np.ndindex(np.shape(indices)[:-1]):
        start = [0] * rank
        for axis, index in zip(axes, np.asarray(indices)[place], strict=True):
            start[axis] = int(index)
        for axis, of in zip(batching, of_indices, strict=True):
            start[axis] = place[of]
        yield place, start


def _is_inside(start: Sequence[int], sizes: Sequence[int], shape: Sequence[int]) -> bool:
    return all(0 <= first <= whole - size for first, size, whole in zip(start, sizes, shape, strict=True))


def _window(start: Sequence[int], sizes: Sequence[int], shape: Sequence[int]) -> tuple[slice, ...]:
    clamped = [min(max(first, 0), whole - size) for first, size, whole in zip(start, sizes, shape, strict=True)]
    return tuple(slice(first, first + size) for first, size in zip(clamped, sizes, strict=True))


def _filling(value: Any, dtype: Any) -> Any:
    """What represents an element that is not there, as `jax.lax.gather` has it."""
    if value is not None:
        return value
    if dtype.kind == "f":
        return np.nan
    return True if dtype.kind == "b" else np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max
