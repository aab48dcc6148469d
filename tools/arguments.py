"""Parse function arguments from the command line.

Four forms, each of which may follow `NAME=` to be passed by keyword:

    3, 2.5, True, "a", None, (1, 2)   that Python value: a constant of the compiled program
    [1., 2.]                          the array `jnp.asarray` makes of it; so too inside tuples and dicts
    f32[3,4]                          an array of that type and shape that counts 0, 1, 2, ...
    f32[]=2.5, i32[3]=7, i8[2]=[1,2]  an array of that type and shape with this value in it

Where only types are asked for, `f32[n,4]` is an array of any size `n`.
"""

from __future__ import annotations

import ast
import math
import os
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import autograph as ag

SHORT_DTYPES = {
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "bf16": "bfloat16",
    "c64": "complex64",
    "c128": "complex128",
}
DTYPES = {**SHORT_DTYPES, **{long: long for long in ("bool", *SHORT_DTYPES.values())}}

_ARRAY = re.compile(r"(?P<dtype>[a-z]+\d*)\[(?P<shape>[\s\d,]*)\](?:=(?P<value>.*))?", re.DOTALL)
_OPEN_ARRAY = re.compile(r"(?P<dtype>[a-z]+\d*)\[(?P<shape>[\s\w,]*)\]")
_KEYWORD = re.compile(r"(?P<name>[^\W\d]\w*)=(?P<text>.*)", re.DOTALL)


def parse(texts: list[str], value_of: Callable[[str], Any] | None = None) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments; `ValueError`, in one line, for a text that is neither.

    Args:
      texts: the arguments, one each.
      value_of: what makes a value of a text: `parse_value` (by default) or `parse_spec`.

    >>> parse(["3", "(1, 'a')", "rate=f32[]=0.5"])
    ([3, (1, 'a')], {'rate': Array(0.5, dtype=float32)})
    """
    value_of = value_of or parse_value
    positional, keywords = [], {}
    for text in texts:
        match = _KEYWORD.fullmatch(text)
        if match is None:
            positional.append(value_of(text))
        elif match["name"] in keywords:
            raise ValueError(f"argument {match['name']!r} is given twice")
        else:
            keywords[match["name"]] = value_of(match["text"])
    return positional, keywords


def parse_value(text: str) -> Any:
    """The value of one argument.

    >>> parse_value("f32[2,3]")
    Array([[0., 1., 2.],
           [3., 4., 5.]], dtype=float32)
    """
    match = _ARRAY.fullmatch(text.strip())
    if match is None:
        return _arrays_for_lists(_literal(text), text)
    dtype = _dtype(match["dtype"])
    shape = tuple(int(size) for size in match["shape"].replace(",", " ").split())
    _check_size(shape, dtype, text)
    if match["value"] is None:
        count = jnp.arange(math.prod(shape)).reshape(shape)
        return (count % 2 if dtype == jnp.bool_ else count).astype(dtype)
    value = _literal(match["value"])
    try:
        return jnp.broadcast_to(_exactly(value, dtype), shape)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{match['value']} does not fit {match['dtype']}[{match['shape']}]") from error


def parse_spec(text: str) -> Any:
    """The same, with an `ag.TensorSpec` for an array without a value, whose sizes may be names.

    >>> parse_spec("f32[n,3]")
    TensorSpec(shape=('n', 3), dtype=float32)
    """
    match = _OPEN_ARRAY.fullmatch(text.strip())
    if match is None:
        return parse_value(text)
    sizes = [int(size) if size.isdecimal() else size for size in match["shape"].replace(",", " ").split()]
    for size in sizes:
        if isinstance(size, str) and not size.isidentifier():
            raise ValueError(f"{text}: {size!r} is not a size; write a number, or a name for any size")
    return ag.TensorSpec(sizes, _dtype(match["dtype"]))


def _check_size(shape: tuple[int, ...], dtype: jnp.dtype, text: str) -> None:
    """Refuse an array that cannot be counted through or held."""
    count = math.prod(shape)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2**40
    if count > np.iinfo(np.int32).max or count * dtype.itemsize > memory:
        raise ValueError(f"{text} has {count} elements, more than an argument may have here")


def _exactly(value: Any, dtype: jnp.dtype) -> jax.Array:
    """The value as an array of this type; `ValueError` where that would round a number to an integer or drop a part."""
    given, found = np.asarray(value), _array(value, dtype)
    narrows = "biufc".index(given.dtype.kind) > "biufc".index("f" if dtype == jnp.bfloat16 else dtype.kind)
    if (narrows or dtype.kind in "iu") and not np.array_equal(given, np.asarray(found)):
        raise ValueError("not the same numbers")
    return found


def _dtype(name: str) -> jnp.dtype:
    if name not in DTYPES:
        raise ValueError(f"unknown array type {name!r}: one of bool, {', '.join(SHORT_DTYPES)}")
    if DTYPES[name] in ("int64", "uint64", "float64", "complex128") and not jax.config.read("jax_enable_x64"):
        raise ValueError(f"{name} is a 64-bit type, which JAX has off: set JAX_ENABLE_X64=1")
    return jnp.dtype(DTYPES[name])


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(
            f"{text!r} is neither a Python literal nor an array type like f32[3,4] (a string needs its own quotes)"
        ) from error


def _array(value: Any, dtype: jnp.dtype | None = None) -> jax.Array:
    if np.asarray(value).dtype.kind not in "biufc":
        raise TypeError("not numbers")
    return jnp.asarray(value, dtype)


def _arrays_for_lists(value: Any, text: str) -> Any:
    match value:
        case list():
            try:
                return _array(value)
            except (TypeError, ValueError, OverflowError) as error:
                raise ValueError(f"{text} does not make one array of numbers") from error
        case tuple():
            return tuple(_arrays_for_lists(item, text) for item in value)
        case dict():
            try:
                sorted(value)
            except TypeError as error:
                raise ValueError(f"{text} has keys that cannot be put in order: give it strings") from error
            return {key: _arrays_for_lists(item, text) for key, item in value.items()}
    return value
