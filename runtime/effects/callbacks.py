"""Calls of Python at run time, in program order: `print`, `py_function` and `numpy_function`."""

from __future__ import annotations

import builtins
import functools
import io
import sys
from collections.abc import Callable, Sequence
from typing import Any, TextIO

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.selected import STAGING
from autograph.runtime.effects.as_python import as_now
from autograph.runtime.effects.called_later import note_called_later
from autograph.runtime.effects.failed_calls import FailedCall, in_callback, with_number
from autograph.runtime.effects.raising import check_finally, leave
from autograph.runtime.effects.remaking import made_again
from autograph.runtime.effects.written_state import refuse_written_state
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.pytrees import in_order, tree_flatten, tree_map
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import LOCAL, count_effect, is_recording
from autograph.runtime.typing import PyTree


def print(  # noqa: A001  the name is the contract's
    *args: object,
    sep: str = " ",
    end: str = "\n",
    output_stream: TextIO | str | None = None,
    summarize: int | None = None,
) -> None:
    """Print at run time, on every execution, in program order.

    Outside of functions it prints immediately. Arrays print as NumPy arrays, in containers as well.

    Args:
      *args: arrays, containers of arrays, or other values.
      sep: the separator, as for Python's ``print``.
      end: the end, as for Python's ``print``.
      output_stream: a file object, or ``"file://PATH"`` to append to a file; standard output by default.
      summarize: the number of elements shown at each end of a long axis; -1 for all.

    >>> import autograph as ag, jax.numpy as jnp
    >>> @ag.function
    ... def halve(x):
    ...     while x > 2:
    ...         ag.print("x is", x)
    ...         x = x / 2
    ...     return x
    >>> _ = halve(jnp.array(8.0))
    x is 8.0
    x is 4.0
    """

    stream = _when_run(output_stream)

    def write(content: Any) -> None:
        _write(content, sep, end, stream(), summarize)

    perform(write, args, "prints")


def print_later(
    *args: object, sep: str | None = None, end: str | None = None, file: Any = None, flush: bool = False
) -> None:
    """Python's ``print`` with these arguments, when the program that is being traced runs.

    Raises:
      StagingError: ``file`` may be an object that the traced function makes and reads, which holds nothing yet.
    """
    stream = _when_run(file)
    if not any(file is each for each in (None, sys.stdout, sys.stderr)) and not _is_open_file(file):
        raise StagingError(
            f"{user_location()}\n  print writes traced values to a {type(file).__name__}, which holds them when the program runs: "
            "what this function reads from it would not contain them.\n  Write autograph.print(..., output_stream=...) if it is "
            "read after the call only, or make the text by an f-string or `join`."
        )

    def write(content: Any) -> None:
        text = (" " if sep is None else sep).join(map(str, content)) + ("\n" if end is None else end)
        builtins.print(text, end="", file=stream(), flush=flush)

    perform(write, args, "prints", always=True)


def _when_run(stream: Any) -> Callable[[], Any]:
    """What returns the stream to write to when the program runs: standard output and error may be other objects then."""
    for name in ("stdout", "stderr"):
        if stream is getattr(sys, name):
            return functools.partial(getattr, sys, name)
    return lambda: stream


def _is_open_file(stream: Any) -> bool:
    try:
        return isinstance(stream, io.IOBase) and stream.fileno() >= 0
    except OSError:
        return False


def perform(act: Callable[[Any], None], content: Any, does: str, always: bool = False) -> None:
    """Call ``act`` with what ``content`` is: when the program runs, if one is being traced, and else at once.

    Args:
      act: is given the content with NumPy arrays in the places of arrays.
      content: a container of arrays and other things.
      does: the verb that messages name it by.
      always: whether a program is being traced, also where no array is traced.
    """
    arrays, show = _deferred(act, content)
    if is_recording():
        do_at_run_time(act, content, does)
    elif always or any(isinstance(array, jax.core.Tracer) for array in arrays):
        STAGING.show(in_callback(show), arrays)
    else:
        show(*arrays)


def do_at_run_time(act: Callable[[Any], None], content: Any, does: str) -> None:
    """Call ``act`` with what ``content``, a container of arrays and other things, is when the program runs."""
    arrays, show = _deferred(act, content)
    check_finally(user_location, does)
    count_effect()
    STAGING.show(in_callback(show), arrays)


def _deferred(act: Callable[[Any], None], content: Any) -> tuple[Sequence[Any], Callable[..., None]]:
    """The arrays in ``content``, and what calls ``act`` with NumPy's in their places."""
    # What is shown of an exception is made of its values, which are leaves.
    leaves, treedef = tree_flatten(tree_map(_read, in_order(content)))
    is_array = [isinstance(leaf, jax.Array) for leaf in leaves]
    statics = [None if array else leaf for leaf, array in zip(leaves, is_array, strict=True)]

    def show(*arrays: Any) -> None:
        pending = iter(arrays)
        values = [
            np.asarray(next(pending)) if array else static for static, array in zip(statics, is_array, strict=True)
        ]
        act(jax.tree_util.tree_unflatten(treedef, values))

    return [leaf for leaf, array in zip(leaves, is_array, strict=True) if array], show


def _read(leaf: Any) -> Any:
    if isinstance(leaf, BaseException):
        return made_again(leaf) or leaf
    read = getattr(leaf, "__autograph_value__", None)
    return as_now(leaf) if read is None else read()


def _write(args: Sequence[Any], sep: str, end: str, stream: Any, summarize: int | None) -> None:
    shown: dict[str, Any] = {}
    if summarize is not None:
        shown = {"threshold": sys.maxsize if summarize < 0 else 0, "edgeitems": max(summarize, 0)}
    with np.printoptions(**shown):
        text = sep.join(map(str, args))
    if isinstance(stream, str) and stream.startswith("file://"):
        with open(stream.removeprefix("file://"), "a", encoding="utf-8") as file:
            file.write(text + end)
    else:
        builtins.print(text + end, end="", file=stream)  # in one piece: several devices may print at once


def py_function(
    func: Callable[..., PyTree] | None = None, inp: Sequence[PyTree] | None = None, Tout: PyTree = None
) -> PyTree:
    """Call a Python function at run time, on every execution, in program order.

    Without ``func`` it returns a decorator, as in ``@ag.py_function(Tout=jnp.float32)``: each call of the decorated
    function then calls Python at run time.

    ``func`` receives `jax.Array`s with values. An exception that it raises ends the call of the `Function` and
    reaches the caller unchanged; Variables then have their values from before the call. There is no derivative
    through the call. ``func`` may write to objects from outside the traced function, not to its variables and containers.

    Args:
      func: the Python function, or None to get a decorator.
      inp: its positional arguments: a sequence of arrays, or of containers of arrays.
      Tout: the type of its result, or a container of types: a dtype for a scalar; a `TensorSpec` or
        `jax.ShapeDtypeStruct` for an array; None or ``[]`` for no result.

    Returns:
      The result of ``func`` as arrays of the types ``Tout``; or a decorator.

    Raises:
      TypeError: at run time, if the result of ``func`` does not have the types ``Tout``.

    >>> import autograph as ag, jax.numpy as jnp
    >>> numbers = iter([10, 20])
    >>> @ag.function
    ... def next_plus(x):
    ...     return x + ag.py_function(lambda: next(numbers), [], jnp.int32)
    >>> int(next_plus(1)), int(next_plus(1))
    (11, 21)
    """
    return _called_or_decorator(func, inp, Tout, jnp.asarray, "py_function")


def numpy_function(
    func: Callable[..., PyTree] | None = None, inp: Sequence[PyTree] | None = None, Tout: PyTree = None
) -> PyTree:
    """Call a Python function of NumPy arrays at run time, on every execution, in program order.

    Args:
      func: the Python function, whose arguments are NumPy arrays; or None to get a decorator, as in `py_function`.
      inp: as in `py_function`.
      Tout: as in `py_function`.

    Returns:
      The result of ``func`` as arrays of the types ``Tout``.

    >>> import autograph as ag, numpy as np, jax.numpy as jnp
    >>> f = ag.function(lambda x: ag.numpy_function(np.sinc, [x], jnp.float32))
    >>> float(f(0.0))
    1.0
    """
    return _called_or_decorator(func, inp, Tout, np.asarray, "numpy_function")


def _called_or_decorator(
    func: Callable[..., Any] | None, inp: Sequence[Any] | None, result: Any, convert: Callable[[Any], Any], name: str
) -> Any:
    if func is not None and inp is not None:
        return _called(func, inp, result, convert, name)
    if func is not None or inp is not None:
        raise TypeError(
            f"{name} takes a function and a list of its arguments; or, as a decorator, neither: @{name}(Tout=…)"
        )

    def decorated(func: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(func):
            raise TypeError(f"the decorator {name}(Tout=…) takes a function; got {type(func).__name__}")

        @functools.wraps(func)
        def call(*args: Any) -> Any:
            return _called(func, args, result, convert, name)

        return call

    return decorated


def _called(func: Callable[..., Any], inp: Sequence[Any], result: Any, convert: Callable[[Any], Any], name: str) -> Any:
    if not isinstance(inp, list | tuple):
        raise TypeError(f"inp of {name} must be a list of arguments; got {type(inp).__name__}")
    types = None if result is None else _as_types(result)
    inp = tree_map(_read, list(inp))
    leaves, treedef = tree_flatten(inp)
    is_value = [isinstance(leaf, jax.Array | np.ndarray | np.generic | bool | int | float | complex) for leaf in leaves]
    # What is known now stays with Python: XLA may fail on a constant that is handed to a function which it calls.
    is_operand = [isinstance(leaf, jax.core.Tracer) for leaf in leaves]
    kept = [
        None if operand else np.array(leaf) if value and not _is_key(leaf) else leaf
        for leaf, value, operand in zip(leaves, is_value, is_operand, strict=True)
    ]

    def call(*operands: Any) -> Any:
        pending = iter(operands)
        found = [next(pending) if operand else leaf for leaf, operand in zip(kept, is_operand, strict=True)]
        values = [convert(leaf) if value else leaf for leaf, value in zip(found, is_value, strict=True)]
        return _fitted(func(*jax.tree_util.tree_unflatten(treedef, values)), types, name)

    operands = [leaf for leaf, operand in zip(leaves, is_operand, strict=True) if operand]
    if not is_recording():
        return tree_map(jnp.asarray, call(*operands))
    check_finally(user_location, "calls Python")
    refuse_written_state(func, name)
    note_called_later(func)
    count_effect()
    if not _may_span_devices():
        return STAGING.call_python(in_callback(call), types, operands)
    number, result = STAGING.call_python(with_number(call, types), (*FailedCall.types, types), operands)
    leave((number != 0).astype(np.int32), [[number]], [FailedCall(name)], tries=0)
    return result


def _may_span_devices() -> bool:
    """Whether several devices may run what is recorded together, for a `Function`, which looks for exceptions."""
    return LOCAL.frame is not None and jax.device_count() > 1 and not STAGING.is_divided()


def _is_key(leaf: Any) -> bool:
    """Whether this is an array of random keys, which NumPy has not."""
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def clean_up(function: Callable[..., None], arrays: Sequence[Any]) -> None:
    """Call Python at run time, even where the program has raised an exception before."""
    if not is_recording():
        function(*arrays)
        return
    call = in_callback(function)
    call.runs_always = True  # type: ignore[attr-defined]
    count_effect()
    STAGING.call_python(call, None, arrays)


def _as_types(part: Any) -> Any:
    """A container of types, with Python's lists in the places of those that converted code makes."""
    if isinstance(part, dict):
        return {key: _as_types(inner) for key, inner in part.items()}
    if not isinstance(part, list | tuple):
        return _as_type(part)
    inside = [_as_types(inner) for inner in part]
    return type(part)(*inside) if hasattr(part, "_fields") else tuple(inside) if isinstance(part, tuple) else inside


def _as_type(type: Any) -> Any:
    if isinstance(type, builtins.type):  # NumPy's scalar types have a `shape` of their instances
        type = np.dtype(type)
    if hasattr(type, "shape") and hasattr(type, "dtype") and not isinstance(type, np.dtype):
        if type.shape is None or not all(isinstance(size, int) for size in type.shape):
            raise ValueError(f"the result of a Python function must have a known shape; got {type}")
        return jax.ShapeDtypeStruct(tuple(type.shape), jax.dtypes.canonicalize_dtype(type.dtype))
    return jax.ShapeDtypeStruct((), jax.dtypes.canonicalize_dtype(type))


def _fitted(result: Any, types: Any, name: str) -> Any:
    """What the function returned as NumPy arrays of the types that were announced."""
    if types is None:
        return None
    treedef: Any
    wanted, treedef = tree_flatten(types)
    if not wanted and result is None:
        return types
    found = treedef.flatten_up_to(result)
    arrays = []
    for value, type in zip(found, wanted, strict=True):
        array = np.asarray(_read(value))
        if array.shape != type.shape:
            raise ValueError(f"{name} declared a result of shape {type.shape}; its function returned {array.shape}")
        if array.dtype != type.dtype and not np.can_cast(array.dtype, type.dtype, "same_kind"):
            raise TypeError(f"{name} declared a result of dtype {type.dtype}; its function returned {array.dtype}")
        arrays.append(array.astype(type.dtype))
    return jax.tree_util.tree_unflatten(treedef, arrays)
