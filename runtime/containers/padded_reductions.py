"""Reductions and products of arrays of traced length: JAX's own, with a mask or with zeros beyond the length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from autograph.runtime.containers.lengths import check, is_same_count, refused
from autograph.runtime.containers.padded_arrays import PaddedArray, aligned, elementwise
from autograph.runtime.containers.padded_gathers import sort_of
from autograph.runtime.containers.padded_rules import (
    Rule,
    as_padded_array,
    axes_of,
    by_elements,
    extreme_of,
    is_leaf,
    is_over_first,
    is_padded,
    rank,
    raveled,
    zeroed,
)
from autograph.runtime.containers.transposed import Transposed, of_transposes, over_either


def _not_empty(a: PaddedArray, text: str) -> None:
    check(a.length > 0, ValueError(text), is_needed=False)


def reduction(function: Callable[..., Any], extreme: bool | None = None) -> Rule:
    """A function of JAX's that takes a mask. ``extreme`` tells those that have no value for nothing: whether it is the greatest."""

    def rule(a: Any, axis: Any = None, *args: Any, where: Any = None, **kwargs: Any) -> Any:
        axis = kwargs.pop("dim", axis)
        if not is_padded(a):
            raise refused(f"`{function.__name__}` with this argument")
        if where is None:
            mask: Any = a.filled()
        else:
            (values, chosen), count = aligned([a, where])
            a = PaddedArray(values, count)
            mask = chosen & a.filled()
        if not is_over_first(a, axis):
            given = {} if where is None else {"where": mask}
            return a.with_values(function(a.values, _plain(axis), *args, **given, **kwargs))
        if extreme is not None and kwargs.get("initial") is None:
            if where is None:
                _not_empty(a, f"zero-size array to reduction operation {function.__name__} which has no identity")
            kwargs["initial"] = extreme_of(a.dtype, least=extreme)
        return function(a.values, _plain(axis), *args, where=mask, **kwargs)

    return over_either(rule)


def _plain(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def first_best(function: Callable[..., Any]) -> Rule:
    """``argmax`` and ``argmin``: the padding is copies of the first element, which come after it."""

    def rule(a: Any, axis: Any = None, **options: Any) -> Any:
        if not is_over_first(a, axis):
            return a.with_values(function(a.values, axis, **options))
        _not_empty(a, f"attempt to get {function.__name__} of an empty sequence")
        return function(a.values, axis, **options)

    return rule


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False) -> Any:
    if weights is None:
        mean = a.mean(axis, keepdims=keepdims)
        weight = _ones_like(a).sum(axis, keepdims=keepdims)
    else:
        if is_padded(a) and a.ndim == 2 and rank(weights) == 1 and axis is not None:
            weights = weights[:, None] if is_over_first(a, axis) else jnp.asarray(weights)[None]
        weight = elementwise(lambda v, w: jnp.broadcast_to(w, v.shape), a, weights).sum(axis, keepdims=keepdims)
        mean = (a * weights).sum(axis, keepdims=keepdims) / weight
    return (mean, weight) if returned else mean


def _ones_like(a: PaddedArray) -> PaddedArray:
    return a.with_values(jnp.ones_like(a.values))


def ptp(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return a.max(axis, keepdims=keepdims) - a.min(axis, keepdims=keepdims)


def count_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return (a != 0).sum(axis, keepdims=keepdims)


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    """As `jax.numpy.quantile`: where the quantile lies among the sorted elements depends on how many there are."""
    del out, overwrite_input
    if is_padded(q) or not is_padded(a):
        raise refused("`quantile` at points of a traced number")
    if not is_over_first(a, axis):
        return a.with_values(jnp.quantile(a.values, q, axis, method=method, keepdims=keepdims))
    axes = axes_of(a, axis)
    if axes is None and a.ndim > 1:
        a, keepdims = raveled(a), keepdims and _no_keepdims()
    elif axes is not None and len(axes) > 1:
        raise refused("`quantile` over several axes")
    a = a.with_values(a.values.astype(jnp.promote_types(a.dtype, jnp.result_type(float))))
    rows = sort_of(a, 0).values
    last = jnp.maximum(a.length - 1, 0)
    place = jnp.asarray(q, rows.dtype) * last
    low, high = jnp.floor(place).astype(int), jnp.ceil(place).astype(int)
    shape = (*jnp.shape(place), *[1] * (rows.ndim - 1))
    below, above = rows[jnp.minimum(low, last)], rows[jnp.minimum(high, last)]
    weight = jnp.reshape(place - low, shape)
    if method == "linear":
        found = below * (1 - weight) + above * weight
    elif method == "nearest":
        found = rows[jnp.minimum(jnp.round(place).astype(int), last)]
    elif method in ("lower", "higher", "midpoint"):
        found = {"lower": below, "higher": above, "midpoint": (below + above) / 2}[method]
    else:
        raise refused(f"`quantile` by the method {method!r}")
    is_nan = elementwise(jnp.isnan, a).any(0) | (a.length == 0)
    found = jnp.where(is_nan, jnp.nan, found)
    return jnp.expand_dims(found, jnp.ndim(place)) if keepdims else found


def _no_keepdims() -> bool:
    raise refused("`keepdims` here")


def percentile(a: Any, q: Any, axis: Any = None, **options: Any) -> Any:
    return quantile(a, jnp.asarray(q) / 100, axis, **options)


def median(a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    return quantile(a, 0.5, axis, keepdims=keepdims)


def without_nan(rule: Rule) -> Rule:
    """The function of the elements that are no NaN, for one dimension."""

    def of_rest(a: Any, *args: Any, **kwargs: Any) -> Any:
        if a.ndim > 1:
            raise refused("a function that leaves out NaN, of several dimensions")
        return rule(a[~elementwise(jnp.isnan, a)], *args, **kwargs)

    return of_rest


@of_transposes
def norm_of(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if isinstance(x, Transposed):
        if keepdims or isinstance(axis, tuple):
            raise refused("`norm` of a transpose with these arguments")
        return norm_of(x.T, ord, None if axis is None else 1 - axis % 2)
    if not is_over_first(x, axis):
        return x.with_values(jnp.linalg.norm(x.values, ord, axis, keepdims))
    if isinstance(ord, int | float) and ord <= 0 or isinstance(ord, str) and ord != "fro":
        raise refused(f"`norm` of the order {ord!r}")
    if ord is not None and x.ndim > 1 and (axis is None or isinstance(axis, tuple)) and ord != "fro":
        raise refused("a norm of a matrix by its singular values")
    return jnp.linalg.norm(zeroed(x), ord, axis, keepdims)


@of_transposes
def matmul(a: Any, b: Any, **options: Any) -> Any:
    if isinstance(a, Transposed):
        rows = a.T
        if not is_padded(b):
            b = as_padded_array(b)
        left, right = _same_rows(rows, b)
        return jnp.matmul(left.T, right, **options)
    if isinstance(b, Transposed):
        if is_padded(a):
            raise refused("a product with a traced number of rows and of columns")
        return (
            Transposed(matmul(b.T, jnp.swapaxes(jnp.asarray(a), -1, -2) if jnp.ndim(a) > 1 else a, **options))
            if jnp.ndim(a) > 1
            else matmul(b.T, a, **options)
        )
    if is_padded(a) and a.ndim > 1 and not is_padded(b):
        return a.with_values(jnp.matmul(a.values, b, **options))
    if rank(a) == 1:
        left, right = _same_rows(as_padded_array(a), as_padded_array(b))
        return jnp.matmul(left, right, **options)
    if is_padded(b) and not is_padded(a):  # which has as many columns
        columns = as_padded_array(jnp.moveaxis(jnp.asarray(a), -1, 0))
        left, right = _same_rows(columns, b)
        return jnp.matmul(jnp.moveaxis(left, 0, -1), right, **options)
    raise refused("a product with a traced number of rows and of columns")


def _same_rows(a: PaddedArray, b: PaddedArray) -> tuple[Any, Any]:
    """The values of both in one room, zeros beyond the length, which must be one."""
    if not is_same_count(a.count, b.count):
        check(a.length == b.length, ValueError("matmul: the sizes of the dimensions that are summed over differ"))
    capacity = min(a.capacity, b.capacity)
    return zeroed(a)[:capacity], zeroed(b)[:capacity]


def dot(a: Any, b: Any, **options: Any) -> Any:
    if not rank(a) or not rank(b):
        return a * b
    return matmul(a, b, **options)


def inner(a: Any, b: Any, **options: Any) -> Any:
    if rank(a) != 1 or rank(b) != 1:
        raise refused("`inner` of several dimensions")
    return matmul(a, b, **options)


def vdot(a: Any, b: Any, **options: Any) -> Any:
    return inner(elementwise(jnp.conj, a), b, **options)


def outer(a: Any, b: Any) -> Any:
    if is_padded(b) or a.ndim != 1:
        raise refused("`outer` with a second array of traced length")
    return a[:, None] * jnp.ravel(jnp.asarray(b))


@of_transposes
def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None) -> Any:
    ddof = ddof if ddof is not None else 0 if bias else 1
    if y is not None:
        if rank(m) != 1 or rank(y) != 1:
            raise refused("`cov` of two matrices")
        m, rowvar = by_elements(lambda one, other: jnp.stack([one, other], -1))(m, y), False
    if isinstance(m, Transposed):
        m, rowvar = m.T, not rowvar
    if m.ndim == 2 and rowvar:
        raise refused("`cov` of rows of a traced number, other than with rowvar=False,")
    centred = m - m.mean(0)
    if m.ndim == 1:
        return matmul(centred, elementwise(jnp.conj, centred)) / (m.length - ddof)
    return matmul(Transposed(centred), elementwise(jnp.conj, centred)) / (m.length - ddof)


@of_transposes
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    covariance = cov(x, y, rowvar)
    if not jnp.ndim(covariance):
        return covariance / covariance
    deviation = jnp.sqrt(jnp.diagonal(covariance).real)
    return covariance / deviation[:, None] / deviation[None]


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, **rest: Any) -> Any:
    if b is not None or any(rest.values()):
        raise refused("`logsumexp` with these options")
    return jax.nn.logsumexp(jnp.where(a.filled(), a.values, -jnp.inf), axis, keepdims=keepdims)


def softmax(function: Callable[..., Any]) -> Rule:
    def rule(x: Any, axis: Any = -1, **options: Any) -> Any:
        if not is_over_first(x, axis):
            return x.with_values(function(x.values, axis, **options))
        return PaddedArray.of(function(jnp.where(x.filled(), x.values, -jnp.inf), axis, **options), x.count)

    return rule


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    if any(rank(each) != 1 for each in (y, y if x is None else x)):
        raise refused("`trapezoid` of several dimensions")
    steps = dx if x is None else x[1:] - x[:-1]
    return ((y[1:] + y[:-1]) * steps).sum() / 2


def polyfit(x: Any, y: Any, deg: int, rcond: float | None = None, **options: Any) -> Any:
    """As `jax.numpy.polyfit`, with no weight for what is beyond the length."""
    if options or any(rank(each) != 1 for each in (x, y)):
        raise refused("`polyfit` with these arguments")
    (x, y), count = aligned([each if is_padded(each) else jnp.asarray(each) for each in (x, y)])
    return jnp.polyfit(x, y, deg, rcond, w=(jnp.arange(x.shape[0]) < count.value).astype(jnp.result_type(x, y, 1.0)))


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """As `jax.numpy.linalg.lstsq`: equations of zeros, beyond the length, change nothing."""
    return jnp.linalg.lstsq(*_same_rows(as_padded_array(a), as_padded_array(b)), rcond)


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    a1, a2 = (each if is_padded(each) else jnp.asarray(each) for each in (a1, a2))
    if (
        a1.ndim != a2.ndim or a1.values.shape[1:] != a2.values.shape[1:]
        if is_padded(a1) and is_padded(a2)
        else a1.ndim != a2.ndim
    ):
        return jnp.asarray(False)
    one, other = as_padded_array(a1), as_padded_array(a2)
    capacity = max(one.capacity, other.capacity)
    left, right = one.in_room(capacity), other.in_room(capacity)
    same = left == right
    if equal_nan:
        same |= jnp.isnan(left) & jnp.isnan(right)
    beyond = jnp.reshape(jnp.arange(capacity) >= one.length, (-1, *[1] * (left.ndim - 1)))
    return (jnp.asarray(one.length) == other.length) & jnp.all(same | beyond)


def allclose(a: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
    return by_elements(jnp.isclose)(a, b, *args, **kwargs).all()


def bincount(x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None) -> Any:
    if length is None:
        raise refused("`bincount` without `length=…`, which says how long the result is,")
    x = as_padded_array(x)
    if weights is None:
        return jnp.bincount(x.values, jnp.ravel(x.filled()).astype(int), minlength, length=length)
    (values, given), count = aligned([x, weights])
    kept = PaddedArray(given, count)
    return jnp.bincount(values, zeroed(kept), minlength, length=length)


def histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None) -> Any:
    a = raveled(a)
    if any(map(is_leaf, (bins, range, weights))):
        weights = weights if is_padded(weights) else refused("`histogram` with bins of a traced number")
        if not is_padded(weights):
            raise weights
    given = _ones_like(a) if weights is None else weights
    if range is None and not jnp.ndim(bins):
        empty = a.length == 0
        low, high = (
            jnp.where(empty, default, found) for default, found in ((0, jnp.min(a.values)), (1, jnp.max(a.values)))
        )
        range = jnp.stack([low, high])
    (values, counted), count = aligned([a, given])
    return jnp.histogram(values, bins, range, jnp.where(jnp.arange(values.shape[0]) < count.value, counted, 0), density)
