"""`gather` and `scatter` of XLA in NumPy: windows of an array that are read, or written, where indices say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

_Mode = jax.lax.GatherScatterMode


def gather(params: Any, operand: Any, indices: Any) -> Any:
    """The windows that begin at these indices, stacked."""
    numbers = params["dimension_numbers"]
    sizes = params["slice_sizes"]
    whole = np.array(operand, copy=None, ndmin=1)  # a scalar is an array of one element
    dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    shape = [size for axis, size in enumerate(sizes) if axis not in dropped]
    sizes = sizes or (1,)
    batch = np.shape(indices)[:-1]
    starts = _starts(
        indices,
        whole.ndim,
        numbers.start_index_map,
        numbers.operand_batching_dims,
        numbers.start_indices_batching_dims,
    )
    if all(map(np.less_equal, sizes, whole.shape)) and whole.size:
        found = whole[_windows(starts, sizes, whole.shape)].reshape((*batch, *shape))
    else:
        found = np.zeros((*batch, *shape), whole.dtype)
    if params["mode"] == _Mode.FILL_OR_DROP:
        found[~_are_inside(starts, sizes, whole.shape)] = _filling(params["fill_value"], found.dtype)
    order: list[int] = []
    ofbatch, ofwindow = iter(range(len(batch))), iter(range(len(batch), found.ndim))
    for axis in range(found.ndim):
        order.append(next(ofwindow if axis in numbers.offset_dims else ofbatch))
    return np.transpose(found, order)


def scatter(operation: np.ufunc | None) -> Callable[..., Any]:
    """The rule of an operation that writes windows: what is there and what is written are combined; None keeps the latter."""

    def rule(params: Any, operand: Any, indices: Any, updates: Any) -> Any:
        numbers = params["dimension_numbers"]
        whole = np.array(operand, ndmin=1)
        window_axes = numbers.update_window_dims
        batch_axes = [axis for axis in range(np.ndim(updates)) if axis not in window_axes]
        parts = np.transpose(updates, [*batch_axes, *window_axes])
        dropped = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
        kept = iter(np.shape(updates)[axis] for axis in window_axes)
        sizes = [1 if axis in dropped else next(kept) for axis in range(np.ndim(operand))] or [1]
        starts = _starts(
            indices,
            whole.ndim,
            numbers.scatter_dims_to_operand_dims,
            numbers.operand_batching_dims,
            numbers.scatter_indices_batching_dims,
        )
        parts = parts.reshape((*starts.shape[:-1], *sizes))
        if params["mode"] != _Mode.CLIP:
            inside = _are_inside(starts, sizes, whole.shape)
            starts, parts = starts[inside], parts[inside]
        if parts.size:
            places = _windows(starts, sizes, whole.shape)
            if operation is None:
                whole[places] = parts  # the last of several for one place
            else:
                operation.at(whole, places, parts)
        return whole.reshape(np.shape(operand))

    return rule


def _starts(indices: Any, rank: int, axes: Sequence[int], batching: Sequence[int], of_indices: Sequence[int]) -> Any:
    """Where in the array the window of each place among the indices begins: one array, by place and axis."""
    *batch, _ = np.shape(indices)
    starts = np.zeros((*batch, rank), np.int64)
    for k, axis in enumerate(axes):
        starts[..., axis] = np.asarray(indices)[..., k]
    for axis, of in zip(batching, of_indices, strict=True):
        starts[..., axis] = np.arange(batch[of]).reshape([-1 if k == of else 1 for k in range(len(batch))])
    return starts


def _are_inside(starts: Any, sizes: Sequence[int], shape: Sequence[int]) -> Any:
    """Which of the windows are in the array."""
    return np.all((starts >= 0) & (starts <= np.subtract(shape, sizes)), axis=-1)


def _windows(starts: Any, sizes: Sequence[int], shape: Sequence[int]) -> tuple[Any, ...]:
    """The indices of the elements of windows, those that reach over the edges moved inside: by place, then as in a window."""
    rank = len(sizes)
    found = []
    for axis, (size, whole) in enumerate(zip(sizes, shape, strict=True)):
        first = np.clip(starts[..., axis], 0, whole - size)
        inside = np.arange(size).reshape([-1 if each == axis else 1 for each in range(rank)])
        found.append(first.reshape((*first.shape, *[1] * rank)) + inside)
    return tuple(found)


def _filling(value: Any, dtype: Any) -> Any:
    """What represents an element that is not there, as `jax.lax.gather` has it."""
    if value is not None:
        return value
    if dtype.kind == "f":
        return np.nan
    return True if dtype.kind == "b" else np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max
