"""What functions of `jax.numpy` mean for arrays of traced length: one table, by name.

Each is of a class. *Elementwise* functions work on the elements and the padding alike, as the padding is made of elements.
*Reductions* are JAX's own with a mask. What *gathers* moves elements to other places, and those beyond the new length are
padding again. Functions that are not in the table are refused by name.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.selected import STAGING
from autograph.runtime.containers.array_functions import clip
from autograph.runtime.containers.lengths import check, refused
from autograph.runtime.containers.padded_arrays import PaddedArray, elementwise
from autograph.runtime.containers.padded_gathers import (
    append,
    argsort,
    argwhere,
    column_stack,
    compress,
    concatenate,
    convolve,
    delete,
    diff,
    digitize,
    ediff1d,
    flatnonzero,
    flip,
    gradient,
    hstack,
    insert,
    interp,
    isin,
    kept_of_unique,
    lexsort,
    nonzero,
    repeat,
    roll,
    running,
    searchsorted,
    set_function,
    sort_of,
    stack,
    take,
    tile,
    union,
    unique_of,
    vstack,
    where,
)
from autograph.runtime.containers.padded_reductions import (
    allclose,
    array_equal,
    average,
    bincount,
    corrcoef,
    count_nonzero,
    cov,
    dot,
    first_best,
    histogram,
    inner,
    logsumexp,
    lstsq,
    matmul,
    median,
    norm_of,
    outer,
    percentile,
    polyfit,
    ptp,
    quantile,
    reduction,
    softmax,
    trapezoid,
    vdot,
    without_nan,
)
from autograph.runtime.containers.padded_rules import (
    Rule,
    by_elements,
    in_first,
    is_leaf,
    is_padded,
    raveled,
    refuse,
)
from autograph.runtime.containers.padded_writes import Writes
from autograph.runtime.containers.transposed import Transposed, of_transposes
from autograph.runtime.state.array_elements import as_numbers
from autograph.runtime.tracing.language import LANGUAGE


def _reshape(a: Any, *shape: Any, order: str = "C", **_: Any) -> Any:
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    sizes = tuple(sizes)
    if sizes and all(isinstance(size, int) for size in sizes) and order == "C":
        rest = int(np.prod(sizes[1:]))
        own = int(np.prod(a.values.shape[1:]))
        if sizes[0] == -1 and rest > 0:
            flat = raveled(a)
            if rest == own:
                return a.with_values(a.values.reshape((a.capacity, *sizes[1:])))
            check(
                flat.length % rest == 0,
                ValueError(f"cannot reshape array into shape {sizes}: its size is no multiple of {rest}"),
            )
            rows = flat.values[: flat.capacity // rest * rest].reshape((flat.capacity // rest, *sizes[1:]))
            return PaddedArray.of(rows, flat.count.derived(("by", rest), lambda length: length // rest))
    if sizes and sizes[0] is a.length and all(isinstance(size, int) for size in sizes[1:]):
        return _reshape(a, -1, *sizes[1:])
    raise refused(f"a reshape to {sizes}")


def _keeping_first(function: Callable[..., Any]) -> Rule:
    """A function that changes dimensions, of which the first must be none."""

    def rule(a: Any, axis: Any = None, **options: Any) -> Any:
        axes = axis if isinstance(axis, tuple | list) else (axis,)
        ndim = a.ndim + (len(axes) if function is jnp.expand_dims else 0)
        if any(each is None or each % ndim == 0 for each in axes):
            raise refused(f"`{function.__name__}` of its first dimension")
        return a.with_values(function(a.values, axis, **options))

    return rule


def _identity(a: Any, *args: Any, **kwargs: Any) -> Any:
    return a


def _copy(a: Any, *args: Any, **kwargs: Any) -> Any:
    """An array of its own, which is followed to no other."""
    return a.with_values(jnp.array(a.values))


@of_transposes
def _transpose(a: Any, axes: Any = None) -> Any:
    if axes is not None and tuple(axes) != (1, 0):
        raise refused("`transpose` with axes")
    if isinstance(a, Transposed):
        return a.T
    if a.ndim > 2:
        raise refused("its transpose")
    return a if a.ndim == 1 else Transposed(a)


@of_transposes
def _as_array(a: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    if not is_leaf(a):
        a = stack(a)
    if dtype is None:
        return a
    return Transposed(_astype(a.T, dtype)) if isinstance(a, Transposed) else _astype(a, dtype)


def _astype(x: Any, dtype: Any, *args: Any, **kwargs: Any) -> Any:
    return x.with_values(x.values.astype(dtype))


def _like(function: Callable[..., Any]) -> Rule:
    def rule(a: Any, *args: Any, shape: Any = None, **kwargs: Any) -> Any:
        if shape is not None:
            raise refused(f"`{function.__name__}` with another shape")
        return a.with_values(function(a.values, *args, **kwargs))

    return rule


def _size(a: Any, axis: Any = None) -> Any:
    return a.size if axis is None else a.shape[axis]


def _extremes_of(name: str) -> Rule:
    return lambda x, *args, **kwargs: TABLE[name](x, *args, **kwargs)


def _as_list(array: PaddedArray) -> Any:
    if array.ndim > 1:
        refuse("`.tolist` of more than one dimension")
    return LANGUAGE.operators.call(list)(array.with_values(as_numbers(array.values)))


def _items(a: Any, *index: Any) -> Any:
    return a[index[0] if len(index) == 1 else index] if index else refuse("`item` without an index")


_ELEMENTWISE = (
    "where",
    "round",
    "around",
    "fix",
    "nan_to_num",
    "isclose",
    "real",
    "imag",
    "angle",
    "i0",
    "sinc",
    "iscomplex",
    "isreal",
    "select",
    "float_power",
    "divmod",
    "modf",
    "frexp",
    "rint",
    "trunc",
    "real_if_close",
    "unwrap_",
    "polyval_",
)


_REDUCTIONS = ("sum", "prod", "any", "all", "mean", "var", "std", "nansum", "nanprod", "nanmean", "nanvar", "nanstd")


def _is_elementwise(function: Any) -> bool:
    return isinstance(function, np.ufunc) and function.signature is None


def _table() -> dict[str, Rule]:
    # Not ``dir(np)``, which also names modules that NumPy imports once they are asked for.
    names = [*(name for name, function in vars(np).items() if _is_elementwise(function)), *_ELEMENTWISE]
    found: dict[str, Rule] = {name: by_elements(getattr(jnp, name)) for name in names if hasattr(jnp, name)}
    found |= {name: reduction(getattr(jnp, name)) for name in _REDUCTIONS}
    found |= {
        name: reduction(getattr(jnp, name), extreme=name.endswith("max")) for name in ("max", "min", "nanmax", "nanmin")
    }
    found |= {"amax": _extremes_of("max"), "amin": _extremes_of("min")}
    found |= {name: first_best(getattr(jnp, name)) for name in ("argmax", "argmin")}
    found |= {name: running(getattr(jnp, name)) for name in ("cumsum", "cumprod", "nancumsum", "nancumprod")}
    found |= {name: _like(getattr(jnp, name)) for name in ("zeros_like", "ones_like", "full_like", "empty_like")}
    found |= {name: _keeping_first(getattr(jnp, name)) for name in ("expand_dims", "squeeze")}
    found |= {
        "clip": by_elements(clip),
        "average": average,
        "ptp": ptp,
        "count_nonzero": count_nonzero,
        "median": median,
        "quantile": quantile,
        "percentile": percentile,
        "nanmedian": without_nan(median),
        "nanquantile": without_nan(quantile),
        "nanpercentile": without_nan(percentile),
        "norm": norm_of,
        "matmul": matmul,
        "dot": dot,
        "inner": inner,
        "vdot": vdot,
        "outer": outer,
        "cov": cov,
        "corrcoef": corrcoef,
        "trapezoid": trapezoid,
        "trapz": trapezoid,
        "array_equal": array_equal,
        "allclose": allclose,
        "bincount": bincount,
        "histogram": histogram,
        "sort": sort_of,
        "argsort": argsort,
        "lexsort": lexsort,
        "flip": flip,
        "flipud": lambda m: flip(m, 0),
        "fliplr": lambda m: flip(m, 1),
        "roll": roll,
        "diff": diff,
        "gradient": gradient,
        "polyfit": polyfit,
        "lstsq": lstsq,
        "ediff1d": ediff1d,
        "concatenate": concatenate,
        "concat": concatenate,
        "append": append,
        "hstack": hstack,
        "vstack": vstack,
        "stack": stack,
        "column_stack": column_stack,
        "take": take,
        "repeat": repeat,
        "tile": tile,
        "delete": delete,
        "insert": insert,
        "searchsorted": searchsorted,
        "digitize": digitize,
        "interp": interp,
        "isin": isin,
        "nonzero": nonzero,
        "flatnonzero": flatnonzero,
        "argwhere": argwhere,
        "where": where,
        "compress": compress,
        "extract": lambda condition, arr: compress(condition, arr),
        "unique": unique_of,
        "union1d": set_function(union),
        "intersect1d": set_function(kept_of_unique(invert=False)),
        "setdiff1d": set_function(kept_of_unique(invert=True)),
        "convolve": convolve,
        "ravel": raveled,
        "flatten": raveled,
        "reshape": _reshape,
        "transpose": _transpose,
        "copy": _copy,
        "atleast_1d": _identity,
        "ascontiguousarray": _identity,
        "array": _as_array,
        "asarray": _as_array,
        "astype": _astype,
        "size": _size,
        "shape": lambda a: a.shape,
        "ndim": lambda a: a.ndim,
        "result_type": lambda *given: jnp.result_type(*(each.values if is_padded(each) else each for each in given)),
        "polyval": lambda p, x, **options: (
            elementwise(lambda values: jnp.polyval(p, values, **options), x)
            if not is_padded(p)
            else refuse("`polyval` of a traced number of coefficients")
        ),
        "item": _items,
        "tolist": _as_list,
        "logsumexp": logsumexp,
        "softmax": softmax(jax.nn.softmax),
        "log_softmax": softmax(jax.nn.log_softmax),
        "one_hot": in_first(jax.nn.one_hot),
        "stop_gradient": lambda x: x.with_values(STAGING.without_derivative(x.values)),
        "block_until_ready": _identity,
        "at": Writes,
    }
    return found


TABLE: Mapping[str, Rule] = types.MappingProxyType(_table())


PaddedArray.functions = TABLE


_MODULES = (jnp, np, jnp.linalg, np.linalg, jax.nn)


_OF_NETWORKS = frozenset(
    [
        "relu",
        "relu6",
        "sigmoid",
        "softplus",
        "sparse_plus",
        "sparse_sigmoid",
        "soft_sign",
        "silu",
        "swish",
        "log_sigmoid",
        "leaky_relu",
        "hard_sigmoid",
        "hard_silu",
        "hard_swish",
        "hard_tanh",
        "tanh",
        "elu",
        "celu",
        "selu",
        "gelu",
        "mish",
        "squareplus",
        "identity",
    ]
)


_SPECIAL = frozenset(
    [
        "beta",
        "betainc",
        "betaln",
        "digamma",
        "entr",
        "erf",
        "erfc",
        "erfinv",
        "exp1",
        "expi",
        "expit",
        "expn",
        "factorial",
        "gamma",
        "gammainc",
        "gammaincc",
        "gammaln",
        "gammasgn",
        "hyp1f1",
        "i0",
        "i0e",
        "i1",
        "i1e",
        "kl_div",
        "log_ndtr",
        "logit",
        "ndtr",
        "ndtri",
        "poch",
        "polygamma",
        "rel_entr",
        "spence",
        "xlog1py",
        "xlogy",
        "zeta",
    ]
)


_OF_DISTRIBUTIONS = frozenset(["pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "isf", "ppf", "pmf", "logpmf"])


_OF_VECTORS = frozenset(["multivariate_normal", "dirichlet", "multinomial", "gaussian_kde", "kde"])


@functools.cache
def _by_function() -> Mapping[int, tuple[Any, Rule]]:
    """The rules by the identity of the functions, which some have no hash for."""
    found: dict[int, tuple[Any, Rule]] = {}
    for module in _MODULES:
        for name, rule in TABLE.items():
            function = vars(module).get(name)
            if callable(function):
                found[id(function)] = function, rule
    return types.MappingProxyType(found)


def rule_of(called: Any) -> Rule | None:
    """What a library's function means for arrays of traced length; None if it is refused."""
    entry = _by_function().get(id(called))
    if entry is not None and entry[0] is called:
        return entry[1]
    module, name = getattr(called, "__module__", None) or "", getattr(called, "__name__", "")
    if not isinstance(module, str) or not module.startswith("jax."):
        return None
    if name in ("logsumexp", "softmax", "log_softmax", "one_hot", "stop_gradient"):
        return TABLE[name]
    parts = module.split(".")
    is_by_elements = (
        ("nn" in parts and name in _OF_NETWORKS)
        or ("special" in parts and name in _SPECIAL)
        or ("stats" in parts and name in _OF_DISTRIBUTIONS and parts[-1] not in _OF_VECTORS)
    )
    return by_elements(called) if is_by_elements else None
