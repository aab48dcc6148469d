"""Functions of NumPy that write into an array in place: `np.copyto`, ``out=``, `np.add.at` and so on."""

from __future__ import annotations

import functools
import inspect
import random
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import jax.numpy as jnp
import numpy as np

from autograph.runtime.errors import StagingError
from autograph.runtime.state.array_operators import plain
from autograph.runtime.state.chosen_arrays import place_of
from autograph.runtime.state.given_arrays import is_given
from autograph.runtime.state.writes_in_place import in_place
from autograph.runtime.tracing.locations import user_location


def into(
    function: Any, call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], position: int | None
) -> Any:
    """The results of a function of NumPy's, ``call``, written into the array that is its ``out``, which is returned.

    Args:
      position: that of ``out``.
    """
    named = dict(kwargs)
    out = named.pop("out", None)
    if out is None:
        args, (out, *more) = args[:position], args[position:]
        if isinstance(function, np.ufunc):
            out = (out, *more) if more else out
        else:
            named |= zip([*inspect.signature(function).parameters][len(args) + 1 :], more, strict=False)
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    where = named.pop("where", True) if isinstance(function, np.ufunc) else True
    casting = named.pop("casting", "same_kind")
    what = f"{function.__name__} with `out`"
    results = call(*args, **named)
    targets, found = (out, results) if isinstance(out, tuple) else ((out,), (results,))
    made = [_written(target, result, where, casting, what) for target, result in zip(targets, found, strict=True)]
    return tuple(made) if isinstance(out, tuple) else out


def _written(target: Any, result: Any, where: Any, casting: Any, what: str) -> Any:
    if target is None:
        return result
    dtypes = jnp.result_type(result), place_of(target).dtype
    if not np.can_cast(*dtypes, casting):
        raise TypeError(
            f"{user_location()}\n  {what} writes {dtypes[0]} to an array of {dtypes[1]}, which NumPy does not cast to it ({casting!r}).\n"
            "  Make the array with that dtype, or pass casting='unsafe'."
        )
    in_place(target, functools.partial(_where, where, result), what)
    return target


def _where(where: Any, new: Any, old: Any) -> Any:
    new = jnp.broadcast_to(plain(new), old.shape)
    return new if where is True else jnp.where(plain(where), new, old)


def at(twin: Any, name: str) -> Callable[..., None]:
    """``np.add.at`` and its like."""

    def write(a: Any, indices: Any, b: Any = None, /) -> None:
        more = () if b is None else (plain(b),)
        in_place(a, lambda old: twin.at(old, plain(indices), *more, inplace=False), f"{name}.at")

    return write


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """`np.nan_to_num`, which may write into the array that it is given."""
    found = jnp.nan_to_num(plain(x), nan=nan, posinf=posinf, neginf=neginf)
    if copy:
        return found
    in_place(x, lambda _: found, "np.nan_to_num")
    return x


def itself_or(twin: Callable[..., Any]) -> Callable[..., Any]:
    """`np.asarray`, which returns an array of the same dtype itself."""

    def asarray(a: Any, dtype: Any = None, **kwargs: Any) -> Any:
        place = place_of(a)
        if is_given(place) and (dtype is None or jnp.dtype(dtype) == place.dtype):
            return a
        return twin(plain(a), dtype, **kwargs)

    return asarray


def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    in_place(dst, lambda old: _where(where, jnp.asarray(plain(src)), old), "np.copyto")


def _put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    mode = "clip" if mode == "raise" else mode
    in_place(a, lambda old: jnp.put(old, jnp.asarray(plain(ind)), jnp.asarray(plain(v)), mode, inplace=False), "np.put")


def _place(arr: Any, mask: Any, vals: Any) -> None:
    in_place(arr, lambda old: jnp.place(old, plain(mask), plain(vals), inplace=False), "np.place")


def _putmask(a: Any, mask: Any, values: Any) -> None:
    in_place(a, lambda old: jnp.where(plain(mask), jnp.resize(plain(values), old.shape), old), "np.putmask")


def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    in_place(a, lambda old: jnp.fill_diagonal(old, plain(val), wrap, inplace=False), "np.fill_diagonal")


def _put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    def new(old: Any) -> Any:
        return jnp.put_along_axis(old, jnp.asarray(plain(indices)), jnp.asarray(plain(values)), axis, inplace=False)

    in_place(arr, new, "np.put_along_axis")


def refuse_drawn(name: str) -> NoReturn:
    """Refuse a call of a random number generator with traced arguments."""
    raise StagingError(
        f"{user_location()}\n  {name} is given traced values, but NumPy's and Python's random numbers are drawn once, while tracing.\n"
        "  Use autograph.random: x = autograph.random.permutation(x), autograph.random.set_seed(s) with a Python number."
    )


def _refusing_draw(name: str) -> Callable[..., NoReturn]:
    return lambda *args, **kwargs: refuse_drawn(name)


DRAWING: Mapping[Any, Callable[..., Any]] = types.MappingProxyType(
    {
        np.random.shuffle: _refusing_draw("np.random.shuffle"),
        np.random.permutation: _refusing_draw("np.random.permutation"),
        np.random.seed: _refusing_draw("np.random.seed"),
        random.Random.seed: _refusing_draw("random.seed"),
    }
)
WRITING: Mapping[Any, Callable[..., Any]] = types.MappingProxyType(
    {
        np.copyto: _copyto,
        np.put: _put,
        np.put_along_axis: _put_along_axis,
        np.place: _place,
        np.putmask: _putmask,
        np.fill_diagonal: _fill_diagonal,
    }
)
