"""The joint: puts converter, operators and backend together, and defines what a user calls."""

from __future__ import annotations

import enum
import functools
import inspect
import os
import types
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, overload

import jax.extend.source_info_util

import autograph.backends
import autograph.runtime
from autograph._convert import Converter
from autograph._source import SourceFiles
from autograph.backends.python import PythonBackend
from autograph.backends.xla_compile import XlaCompiler
from autograph.backends.xla_control_flow import XlaBackend
from autograph.backends.xla_state import XlaStaging
from autograph.runtime.errors import ConversionError
from autograph.runtime.function import Function
from autograph.runtime.operators import Operators
from autograph.runtime.operators.calls import is_plain, mark_unconverted
from autograph.runtime.operators.iterables import make_range
from autograph.runtime.operators.locations import clean_traceback, is_internal
from autograph.runtime.raising import Guarded, guarded
from autograph.runtime.variables import use_staging

F = TypeVar("F", bound=Callable[..., Any])

use_staging(XlaStaging())
for _package in (autograph.runtime, autograph.backends):
    jax.extend.source_info_util.register_exclusion(
        os.path.dirname(os.path.abspath(str(_package.__file__))) + os.sep
    )


class Feature(enum.Enum):
    """Optional conversions, as in ``tf.autograph.experimental.Feature``.

    >>> Feature.LISTS.name
    'LISTS'
    """

    ALL = "ALL"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"


_SOURCES = SourceFiles()


def _make_operators(recursive: bool, backend: Any) -> Operators:
    made = Operators(backend, recursive)
    made.converter = Converter(made, is_plain, _SOURCES)
    return made


operators = _make_operators(True, XlaBackend())
_SHALLOW = _make_operators(False, XlaBackend())
_PYTHON = _make_operators(True, PythonBackend())


@overload
def convert(f: F, *, recursive: bool = True, optional_features: Iterable[Feature] = ()) -> F: ...


@overload
def convert(
    f: None = None, *, recursive: bool = True, optional_features: Iterable[Feature] = ()
) -> Callable[[F], F]: ...


def convert(f: Any = None, *, recursive: bool = True, optional_features: Any = ()) -> Any:
    """Return ``f`` rewritten so that control flow on traced values is staged.

    The result behaves as ``f`` does in plain Python, and composes with every JAX transform: in ``jax.jit(convert(f))`` an ``if`` on a
    traced value becomes one ``lax.cond``, a loop one ``lax.while_loop`` or ``lax.scan``.

    Args:
      f: a function, lambda, bound method, static or class method, `functools.partial` or callable object. Without it, a
        decorator is returned.
      recursive: whether functions that ``f`` calls are converted as they are called.
      optional_features: a `Feature` or several.

    Raises:
      ConversionError: the source is missing, has changed since import, or holds unsupported syntax.
      TypeError: ``f`` is not callable.

    >>> import jax, jax.numpy as jnp
    >>> @jax.jit
    ... @convert
    ... def relu(x):
    ...     if x > 0:
    ...         return x
    ...     return 0.0
    >>> float(relu(jnp.array(-2.0)))
    0.0
    """
    if f is None:
        return functools.partial(convert, recursive=recursive, optional_features=optional_features)
    return _convert_with(operators if recursive else _SHALLOW, f)


to_graph = convert


def _convert_with(made: Operators, f: Any, deliver: bool = False) -> Any:
    if isinstance(f, staticmethod | classmethod):
        return type(f)(_convert_with(made, f.__func__, deliver))
    if isinstance(f, functools.partial):
        return functools.partial(_convert_with(made, f.func, deliver), *f.args, **f.keywords)
    if isinstance(f, types.MethodType):
        return types.MethodType(_convert_with(made, f.__func__, deliver), f.__self__)
    if isinstance(f, types.FunctionType):
        if is_converted(f):
            inner = f.__dict__.get("__wrapped__")
            return _convert_with(made, inner, deliver) if deliver and inner is not None else f
        return _boundary(made, f, made.converter.convert(f), deliver)
    if isinstance(f, Function):
        return f
    if not callable(f):
        raise TypeError(f"convert takes a callable; got {type(f).__name__}")
    method = getattr(type(f), "__call__", None)
    if isinstance(f, type):
        return made.call(f)
    if not isinstance(method, types.FunctionType):
        return f  # not written in Python: there is nothing to convert
    return types.MethodType(_convert_with(made, method, deliver), f)


def is_converted(f: Any) -> bool:
    """Whether ``f`` is what `convert` returns."""
    code = getattr(f, "__code__", None)
    return code is not None and (operators.converter.is_converted(f) or is_internal(code.co_filename))


def _boundary(
    made: Operators, f: types.FunctionType, converted: types.FunctionType, deliver: bool
) -> types.FunctionType:
    """The converted function as its caller sees it: in place of ``f``, with none of our frames in its errors.

    With ``deliver`` the caller takes a `Guarded` result and raises what it holds when it is known.
    """
    if inspect.isgeneratorfunction(f) or inspect.iscoroutinefunction(f) or inspect.isasyncgenfunction(f):
        converted.__wrapped__ = f  # type: ignore[attr-defined]
        return converted

    @functools.wraps(f)
    def call_converted(*args: Any, **kwargs: Any) -> Any:
        try:
            result = guarded(lambda: converted(*args, **kwargs), made.backend.trace_state(), deliver)
            return result.resolve() if isinstance(result, Guarded) and not deliver else result
        except BaseException as error:
            clean_traceback(error)
            raise

    # Unused by a function of `*args, **kwargs`, and what introspection looks for.
    call_converted.__defaults__, call_converted.__kwdefaults__ = f.__defaults__, f.__kwdefaults__
    return call_converted


def to_code(f: Any, *, recursive: bool = True, optional_features: Any = ()) -> str:
    """Return the converted source of ``f`` as text: valid Python, with the operators imported at its top.

    Raises:
      ConversionError: as `convert`.

    >>> def sign(x):
    ...     if x > 0:
    ...         y = 1
    ...     else:
    ...         y = -1
    ...     return y
    >>> print(to_code(sign))
    from autograph import operators as ag__
    <BLANKLINE>
    def sign(x):
        y: object
    <BLANKLINE>
        def if_body():
            nonlocal y
            y = 1
    <BLANKLINE>
        def else_body():
            nonlocal y
            y = -1
        ag__.if_stmt(x > 0, if_body, else_body, ('y',))
        return y
    """
    del recursive, optional_features  # they choose operators, not text
    function = f
    while not isinstance(function, types.FunctionType):
        if isinstance(function, Function):
            function = function.python_function
        elif isinstance(function, staticmethod | classmethod | types.MethodType):
            function = function.__func__
        elif isinstance(function, functools.partial):
            function = function.func
        elif isinstance(getattr(type(function), "__call__", None), types.FunctionType):
            function = type(function).__call__
        else:
            raise ConversionError(f"{f!r} is not written in Python, so there is no source to show.")
    if is_converted(function) and hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return operators.converter.text(function)


def do_not_convert(f: Any = None) -> Any:
    """Mark ``f`` so that it, and what it calls, runs unconverted when converted code calls it.

    >>> @do_not_convert
    ... def plain(x):
    ...     return x if x > 0 else -x
    >>> plain(-2)
    2
    """
    if f is None:
        return do_not_convert
    if isinstance(f, types.FunctionType):
        mark_unconverted(f)
        return f

    @functools.wraps(f, updated=())
    def unconverted(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    mark_unconverted(unconverted)
    return unconverted


def range(*args: Any) -> Any:
    """Like ``range``, but always staged inside a trace: the index is traced and the loop is rolled.

    Args:
      *args: ``stop``, or ``start, stop[, step]``: Python or traced integer scalars.

    Raises:
      TypeError: not integers, or not scalars. ValueError: a step of zero.

    >>> import autograph as ag, jax.numpy as jnp
    >>> @ag.function
    ... def total(n):
    ...     s = 0
    ...     for i in ag.range(n):
    ...         s += i
    ...     return s
    >>> int(total(jnp.array(5)))
    10
    """
    return make_range(*args)


def function(
    func: Any = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool = True,
    reduce_retracing: bool = False,
    experimental_implements: Any = None,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: Any = None,
    experimental_compile: Any = None,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    donate_variables: bool = False,
    device: Any = None,
    compiler_options: Any = None,
) -> Any:
    """Return ``func`` as a `Function`: traced once for each signature, then run as one compiled XLA program.

    Args:
      func: the function; without it, a decorator is returned.
      autograph: whether control flow on traced values is converted; without, JAX's own error meets it.
      jit_compile: False stages the function and evaluates it operation by operation.
      compiler_options: handed to XLA.

    >>> import jax.numpy as jnp
    >>> @function
    ... def clipped(x):
    ...     if x.sum() > 1:
    ...         x = x / x.sum()
    ...     return x
    >>> clipped(jnp.array([2.0, 2.0])).tolist()
    [0.5, 0.5]
    """
    if func is None:
        return functools.partial(
            function,
            input_signature=input_signature,
            autograph=autograph,
            jit_compile=jit_compile,
            reduce_retracing=reduce_retracing,
            experimental_compile=experimental_compile,
            compiler_options=compiler_options,
        )
    if input_signature is not None or reduce_retracing or experimental_relax_shapes:
        raise NotImplementedError(
            "input_signature and reduce_retracing are not available yet; leave them out"
        )
    if any(v is not None for v in (in_shardings, out_shardings, device)) or donate_variables:
        raise NotImplementedError(
            "shardings, device and donate_variables are not available yet; leave them out"
        )
    if experimental_compile is not None:
        jit_compile = experimental_compile
    made = functools.partial(_convert_with, operators, deliver=True) if autograph else (lambda f: f)
    options = {"compiler_options": compiler_options} if compiler_options else {}
    return Function(func, made, XlaCompiler(), jit_compile, options)
