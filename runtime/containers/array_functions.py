"""Map functions of NumPy and `math` to JAX's functions for traced arguments."""

from __future__ import annotations

import contextlib
import functools
import math
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.selected import STAGING
from autograph.runtime.code.array_facts import facts_of
from autograph.runtime.code.library_table import full_name
from autograph.runtime.containers.sizes import is_symbolic_size
from autograph.runtime.containers.traced_lists import TracedList, is_traced_list
from autograph.runtime.containers.writing_functions import DRAWING, WRITING, at, into, itself_or, nan_to_num
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.statement_variables import items_of_sequence, value_of
from autograph.runtime.state.array_operators import plain
from autograph.runtime.state.chosen_arrays import places_in
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location

# They call functions of the user's, or read and write files.
_NOT_ARRAY_FUNCTIONS = frozenset(
    ["apply_along_axis", "apply_over_axes", "frompyfunc", "fromfunction", "fromiter", "piecewise", "vectorize"]
    + ["fromfile", "load", "save", "savez", "printoptions", "set_printoptions", "get_printoptions", "iterable"]
)
_SIZES = frozenset(["axis", "axes", "shape"])  # which NumPy does not make arrays of
# They take arrays in a list or tuple.
_JOINING = frozenset(["concatenate", "concat", "stack", "vstack", "hstack", "dstack", "column_stack"])


def array_overloads() -> Mapping[Any, Callable[..., Any]]:
    """For each function of NumPy's and of `math` that JAX has too, one that is JAX's on traced arguments."""
    return _OVERLOADS


def has_twin(function: Any) -> bool:
    """Whether JAX has this function of NumPy's or of `math`."""
    try:
        return function in _TWINS
    except TypeError:
        return False


def function_of_method(method: types.MethodType) -> Any:
    """The function of NumPy's for a method of a traced array that JAX's method takes other arguments than; None for any other."""
    array = method.__self__
    if not isinstance(array, jax.core.Tracer):
        return None
    return next((function for name, function in _OF_METHODS.items() if method == getattr(array, name)), None)


def joined(target: Any, key: Any) -> Any:
    """``np.r_[key]`` or ``np.c_[key]`` with traced values in the key; None of another target, and where all is known."""
    if target is not np.r_ and target is not np.c_:
        return None
    parts = key if type(key) is tuple else (key,)
    if not any(map(has_tracer, parts)) and not any(hasattr(type(part), "__autograph_rows__") for part in parts):
        return None
    parts = tuple(map(array_of_traced, parts))
    if any(isinstance(part, slice | str) for part in parts) or (
        target is np.r_ and any(np.ndim(part) > 1 for part in parts)
    ):
        return getattr(jnp, "r_" if target is np.r_ else "c_")[parts]
    return LANGUAGE.operators.call(np.hstack if target is np.r_ else np.column_stack)(parts)


def _overload(function: Any, twin: Callable[..., Any]) -> Callable[..., Any]:
    is_itself = function in (np.asarray, np.asanyarray)
    facts = facts_of(full_name(function))
    facts = facts._replace(out=function.nin) if isinstance(function, np.ufunc) else facts

    def call(*args: Any, **kwargs: Any) -> Any:
        traced = any(map(has_tracer, args)) or (kwargs and any(map(has_tracer, kwargs.values())))
        written = [*facts.written(args, kwargs)]
        targets = [each for out in written for each in (out if isinstance(out, tuple) else (out,))]
        if not traced and not any(map(places_in, args[:1] if is_itself else targets)):
            for target in targets:
                LANGUAGE.operators.will_write_known(target)
            return function(*args, **kwargs)
        if written and not facts.first:
            return into(function, call, args, kwargs, facts.out)
        if any(map(_holds_list, (*args, *kwargs.values()))):  # of which NumPy makes arrays
            args, kwargs = arrays_of_lists(function, args, kwargs)
            return LANGUAGE.operators.call(function)(*args, **kwargs)
        try:
            return twin(*args, **kwargs)
        except StagingError:
            raise
        except TypeError as error:  # of a list perhaps, of which NumPy makes an array
            for convert in (array_of_list, array_of_sequence):
                with contextlib.suppress(TypeError):
                    named = {name: value if name in _SIZES else convert(value) for name, value in kwargs.items()}
                    return twin(*map(convert, args), **named)
            raise error

    return functools.update_wrapper(call, function, assigned=("__name__", "__qualname__", "__doc__"), updated=())


def arrays_of_lists(
    function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A function's arguments with arrays in place of lists of traced length."""
    as_array = _as_arrays if getattr(function, "__name__", None) in _JOINING else _as_array
    return tuple(map(as_array, args)), {name: as_array(value) for name, value in kwargs.items()}


def _holds_list(value: Any) -> bool:
    """Whether this is a list of traced length, or a list or tuple with one among its items."""
    return is_traced_list(value) or any(map(is_traced_list, items_of_sequence(value) or ()))


def _as_array(value: Any) -> Any:
    """The array of a list of traced length, or of a list or tuple with such items; anything else as it is."""
    if is_traced_list(value):
        return LANGUAGE.operators.call(np.asarray)(value)
    return LANGUAGE.operators.call(np.stack)(_as_arrays(value)) if _holds_list(value) else value


def _as_arrays(value: Any) -> Any:
    """The same, but of a list or tuple with such items the arrays of its items."""
    if is_traced_list(value) or not _holds_list(value):
        return _as_array(value)
    return [array_of_sequence(_as_array(item)) for item in items_of_sequence(value) or ()]


def array_of_list(value: Any) -> Any:
    """The array of a list of Python's, or of a tuple with traced values in it; anything else as it is.

    A tuple of numbers may be a shape.
    """
    return array_of_sequence(value) if isinstance(value, list) or has_tracer(value) else value


def array_of_sequence(value: Any) -> Any:
    """The array of a list or a tuple of Python's; anything else as it is."""
    if not isinstance(value, list | tuple):
        return value
    if not has_tracer(value) and (known := np.asarray(value)).dtype != object:
        return known  # as that its values can be sizes
    return LANGUAGE.operators.call(jnp.asarray)(value)


def array_of_traced(value: Any) -> Any:
    """The array of a list or tuple of Python's with traced values in it; the value of a Variable; anything else as it is."""
    return array_of_sequence(value) if has_tracer(value) and isinstance(value, list | tuple) else value_of(value)


def has_tracer(value: Any) -> bool:
    """Whether a value, or an item of a list or tuple, is traced, or a symbolic size."""
    if (items := items_of_sequence(value)) is not None:
        return any(map(has_tracer, items))
    return isinstance(value, TracedList) or isinstance(value_of(value), jax.core.Tracer) or is_symbolic_size(value)


def _numpy_twins() -> dict[Any, Callable[..., Any]]:
    twins: dict[Any, Callable[..., Any]] = {}
    for theirs, ours in ((np, jnp), (np.linalg, jnp.linalg), (np.fft, jnp.fft)):
        members = vars(ours)
        for name, function in vars(theirs).items():
            twin = members.get(name)
            is_type = isinstance(function, type)
            if name.startswith("_") or name in _NOT_ARRAY_FUNCTIONS or not callable(function) or not callable(twin):
                continue
            if is_type and not issubclass(function, np.generic):
                continue
            twins[function] = _joining(twin) if name in _JOINING else twin
    for function, twin in list(twins.items()):
        if isinstance(function, np.ufunc) and isinstance(twin, jnp.ufunc):
            twins |= {
                getattr(function, name): getattr(twin, name) for name in ("outer", "reduce", "accumulate", "reduceat")
            }
            twins[function.at] = at(twin, function.__name__)
    for function in (np.asarray, np.asanyarray):
        twins[function] = itself_or(jnp.asarray)
    twins.update({np.ascontiguousarray: jnp.asarray, np.asfortranarray: jnp.asarray, np.polyfit: _polyfit})
    twins.update({np.ndenumerate: _ndenumerate, np.nditer: _nditer, np.clip: clip, np.nan_to_num: nan_to_num})
    twins[np.choose] = _choose
    for function in (np.sort, np.argsort, np.partition, np.argpartition):
        twins[function] = _of_any_kind(twins[function])
    twins.update(WRITING)
    twins.update(DRAWING)
    return twins


def _joining(twin: Callable[..., Any]) -> Callable[..., Any]:
    """What joins arrays, of lists too."""

    def join(arrays: Any, *args: Any, **kwargs: Any) -> Any:
        parts = arrays if not isinstance(arrays, list | tuple) else [jnp.asarray(each) for each in arrays]
        return twin(parts, *args, **kwargs)

    return functools.update_wrapper(join, twin)


def _of_any_kind(twin: Callable[..., Any]) -> Callable[..., Any]:
    """What sorts by an algorithm that the caller may choose: JAX's is stable, and so does for each."""

    def sort(*args: Any, kind: str | None = None, **kwargs: Any) -> Any:
        return twin(*args, **kwargs)

    return functools.update_wrapper(sort, twin)


def clip(
    a: Any = None, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None, arr: Any = None
) -> Any:
    """`np.clip`, whose bounds have two names each, and `jnp.clip`, whose array has another."""
    return jnp.clip(arr if a is None else a, min if a_min is None else a_min, max if a_max is None else a_max)


def _choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """`np.choose`, whose numbers are clipped where it would raise, as indices are."""
    choices = choices if isinstance(choices, list | tuple) else list(choices)
    return jnp.choose(jnp.asarray(a), [jnp.asarray(each) for each in choices], mode="clip" if mode == "raise" else mode)


def _ndenumerate(arr: Any) -> Any:
    """`np.ndenumerate`: pairs of an index and an element."""
    array, pairs = jnp.asarray(plain(arr)), LANGUAGE.operators.call(zip)
    places = jnp.unravel_index(jnp.arange(array.size), array.shape)
    if not places:  # whose one index is empty
        return iter([((), array)])
    return pairs(pairs(*places), jnp.ravel(array))


def _nditer(op: Any, *args: Any, **kwargs: Any) -> Any:
    """`np.nditer` of arrays that are read, element by element, in an order that is known."""
    arrays = [jnp.asarray(plain(each)) for each in (op if isinstance(op, list | tuple) else [op])]
    order = kwargs.pop("order", "K")
    arrays = list(jnp.broadcast_arrays(*arrays))
    if args or kwargs or order not in ("C", "K") or (order == "K" and arrays[0].ndim > 1):
        raise StagingError(
            f"{user_location()}\n  `nditer` of traced arrays goes over elements in the order of the last index first, to read them: "
            "neither in that of the memory, nor to write.\n  Write np.nditer(x, order='C') or x.ravel(), or loop over np.ndindex(*x.shape)."
        )
    parts = [jnp.ravel(each) for each in arrays]
    return parts[0] if len(parts) == 1 else LANGUAGE.operators.call(zip)(*parts)


def _polyfit(x: Any, *args: Any, **kwargs: Any) -> Any:
    return jnp.polyfit(jnp.asarray(x) * 1.0, *args, **kwargs)


def _rounded(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: STAGING.number(function(x).astype(int), int)


def _floating(function: Callable[..., Any]) -> Callable[..., Any]:
    """`math`'s functions take real numbers, and return floats."""

    def call(*args: Any) -> Any:
        found = function(*(jnp.asarray(arg) * 1.0 for arg in args))
        return tuple(map(_as_number, found)) if isinstance(found, tuple) else _as_number(found)

    return call


def _as_number(value: Any) -> Any:
    kind = float if jnp.issubdtype(value.dtype, jnp.floating) else int
    return value if value.dtype == bool else STAGING.number(value, kind)


def _whole(function: Callable[..., Any]) -> Callable[..., Any]:
    """`math`'s functions of integers return integers."""
    return lambda *args: STAGING.number(function(*args), int)


def _folded(function: Callable[..., Any], start: int) -> Callable[..., Any]:
    """A function of two numbers as one of any number of them."""
    return lambda *args: functools.reduce(function, args, start)


def _log(x: Any, base: Any = None) -> Any:
    return jnp.log(x) if base is None else jnp.log(x) / jnp.log(base)


def _isclose(a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> Any:
    close = jnp.abs(a - b) <= jnp.maximum(rel_tol * jnp.maximum(jnp.abs(a), jnp.abs(b)), abs_tol)
    return (a == b) | (close & jnp.isfinite(a) & jnp.isfinite(b))


def _remainder(x: Any, y: Any) -> Any:
    """What is left of ``x`` at the nearest multiple of ``y``, the even one of two: `fmod` is exact, a quotient is not."""
    size = jnp.abs(y)
    rest = jnp.fmod(jnp.abs(x), size)
    beyond = size - rest
    tied = rest - 2.0 * jnp.fmod(0.5 * (jnp.abs(x) - rest), size)
    return jnp.where(x < 0, -1.0, 1.0) * jnp.where(rest < beyond, rest, jnp.where(rest > beyond, -beyond, tied))


def _isqrt(n: Any) -> Any:
    """The whole part of the square root of an int: the floating one may be off by one."""
    n = jnp.asarray(n)
    if not jnp.issubdtype(n.dtype, jnp.integer) and n.dtype != bool:
        raise TypeError("'float' object cannot be interpreted as an integer")
    root = jnp.sqrt(jnp.maximum(n, 0) * 1.0).astype(n.dtype)
    root = jnp.where(root > n // jnp.maximum(root, 1), root - 1, root)
    return jnp.where((root + 1) <= n // (root + 1), root + 1, root)


def _dist(p: Any, q: Any) -> Any:
    if p.ndim != 1 or p.shape != q.shape:
        raise ValueError("both points must have the same number of dimensions")
    return jnp.linalg.norm(p - q)


def _hypot(*coordinates: Any) -> Any:
    return functools.reduce(jnp.hypot, coordinates) if len(coordinates) > 1 else jnp.abs(*coordinates)


def _math_twins() -> dict[Any, Callable[..., Any]]:
    same = (
        *("sqrt", "exp", "expm1", "log1p", "log2", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
        *("degrees", "radians", "copysign", "fmod", "isnan", "isinf", "isfinite"),
    )
    renamed = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh"}
    renamed |= {"acosh": "arccosh", "atanh": "arctanh", "fabs": "abs", "pow": "power", "exp2": "exp2", "cbrt": "cbrt"}
    names = {name: name for name in same} | renamed
    twins: dict[Any, Callable[..., Any]] = {
        getattr(math, name): _floating(getattr(jnp, twin)) for name, twin in names.items() if hasattr(math, name)
    }
    twins |= {math.floor: _rounded(jnp.floor), math.ceil: _rounded(jnp.ceil), math.trunc: _rounded(jnp.trunc)}
    twins |= {math.fsum: _floating(jnp.sum)}
    twins |= {
        math.log: _floating(_log),
        math.isclose: _isclose,
        math.dist: _floating(_dist),
        math.remainder: _floating(_remainder),
        math.hypot: _floating(_hypot),
    }
    twins |= {math.gcd: _whole(_folded(jnp.gcd, 0)), math.lcm: _whole(_folded(jnp.lcm, 1)), math.isqrt: _whole(_isqrt)}
    twins |= {
        math.modf: _floating(jnp.modf),
        math.frexp: _floating(jnp.frexp),
        math.ldexp: lambda x, i: _as_number(jnp.ldexp(x, i)),
    }
    special = {"erf": "erf", "erfc": "erfc", "lgamma": "gammaln", "gamma": "gamma"}
    return twins | {getattr(math, name): _special(twin) for name, twin in special.items()}


def _special(name: str) -> Callable[..., Any]:
    return _floating(lambda x: getattr(jax.scipy.special, name)(x))  # importing it takes a while


def _compress(a: Any, condition: Any, axis: Any = None) -> Any:
    return LANGUAGE.operators.call(np.compress)(condition, a, axis)


_OF_METHODS: Mapping[str, Any] = types.MappingProxyType(
    {name: getattr(np, name) for name in ("argsort", "nonzero", "repeat", "searchsorted", "take")}
    | {"compress": _compress}
)
_TWINS: Mapping[Any, Callable[..., Any]] = types.MappingProxyType(_numpy_twins() | _math_twins())
_OVERLOADS = types.MappingProxyType({function: _overload(function, twin) for function, twin in _TWINS.items()})
