"""The public functions, which connect the converter, the operators and the XLA backend."""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar, overload

import jax

import autograph.backends
import autograph.runtime
from autograph._convert import Classes, Converter
from autograph._listing import Listing
from autograph._source import SourceFiles
from autograph.backends.xla import jax_compat
from autograph.backends.xla.compiler import XlaCompiler
from autograph.backends.xla.control_flow import XlaBackend
from autograph.backends.xla.inspection import Inspection
from autograph.backends.xla.symbolic_sizes import SymbolicSizes, symbolic_types
from autograph.runtime.code.code_names import is_partial
from autograph.runtime.code.features import Feature, are_writes_at_run_time
from autograph.runtime.code.library_table import is_library
from autograph.runtime.containers.iterables import make_range
from autograph.runtime.data.dataset import loop_of
from autograph.runtime.errors import ConversionError
from autograph.runtime.explorer.page import refusal_page as page_of_refusal
from autograph.runtime.explorer.refusals import refusal_of
from autograph.runtime.function.converted import boundary, calling, converted_form, with_rules_to_come
from autograph.runtime.function.function import Function
from autograph.runtime.function.notebooks import add_magic
from autograph.runtime.function.options import Options, Tools, check_options
from autograph.runtime.gradients import derivatives
from autograph.runtime.saving.loaded import load_from
from autograph.runtime.saving.loaded_module import LoadedModule
from autograph.runtime.signatures.chosen_arguments import ArgumentOptions
from autograph.runtime.staging.access.bounds import takes_positions
from autograph.runtime.staging.builtins.logs import is_logging
from autograph.runtime.staging.builtins.tqdm_bars import is_writing
from autograph.runtime.staging.calls.calls import is_plain, mark_unconverted
from autograph.runtime.staging.context import present_context
from autograph.runtime.staging.operators import Operators
from autograph.runtime.staging.policy.loop_options import set_loop_options
from autograph.runtime.staging.policy.user_classes import classes_around, operator_methods, writes_unseen
from autograph.runtime.staging.policy.wrappers import CACHE
from autograph.runtime.state.given_arrays import ArrayView, GivenArray, LocalArray
from autograph.runtime.state.variables import Variable, accept_variables
from autograph.runtime.tracing.language import use_language
from autograph.runtime.tracing.locations import is_internal
from autograph.runtime.typing import ArrayLike, PyTree

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")

accept_variables((Variable, GivenArray, ArrayView, LocalArray))
for _package in (autograph.runtime, autograph.backends):
    jax_compat.leave_out_of_source_lines(os.path.dirname(os.path.abspath(str(_package.__file__))) + os.sep)


_SOURCES = SourceFiles()


def _make_operators(recursive: bool, backend: Any, writes_at_run_time: bool, check_bounds: bool) -> Operators:
    made = Operators(backend, present_context, loop_of, recursive, writes_at_run_time, check_bounds)
    made.converter = Converter(
        made,
        _is_plain_unchecked if check_bounds else is_plain,
        _SOURCES,
        set_loop_options,
        functools.partial(_classes_around, check_bounds),
        _shows_texts,
        is_library,
        _imports(recursive, writes_at_run_time),
    )
    return made


def _imports(recursive: bool, writes_at_run_time: bool) -> str:
    """The lines with which converted source names its operators."""
    if recursive and not writes_at_run_time:
        return "from autograph import operators as ag__"
    options = [] if recursive else ["recursive=False"]
    if not writes_at_run_time:
        return f"from autograph import operators\nag__ = operators.with_options({', '.join(options)})"
    options.append("optional_features=[Feature.LISTS]")
    return f"from autograph import Feature, operators\nag__ = operators.with_options({', '.join(options)})"


def _shows_texts(owner: Any, name: str) -> bool:
    return is_logging(owner, name) or is_writing(owner, name)


def _is_plain_unchecked(called: Any) -> bool:
    return is_plain(called) and not takes_positions(called)


def _classes_around(check_bounds: bool, function: types.FunctionType) -> Classes:
    around = classes_around(function)
    methods = operator_methods(function, around)
    # Where bounds are checked, items are read by the operator at constant indices too.
    return Classes(methods | {"__getitem__"} if check_bounds else methods, writes_unseen(around))


@functools.cache
def _xla_operators(recursive: bool, writes_at_run_time: bool, check_bounds: bool) -> Operators:
    made = _make_operators(recursive, XlaBackend(), writes_at_run_time, check_bounds)
    made.found_again = _xla_operators, (recursive, writes_at_run_time, check_bounds)
    return made


operators = _xla_operators(True, False, False)


@overload
def convert(f: F, *, recursive: bool = True, optional_features: Feature | Iterable[Feature] = ()) -> F: ...


@overload
def convert(
    f: None = None, *, recursive: bool = True, optional_features: Feature | Iterable[Feature] = ()
) -> Callable[[F], F]: ...


def convert(
    f: Callable[..., PyTree] | None = None,
    *,
    recursive: bool = True,
    optional_features: Feature | Iterable[Feature] = (),
) -> Callable[..., PyTree]:
    """Return ``f`` rewritten so that control flow on traced values is staged.

    The result behaves as ``f`` does in plain Python and composes with every JAX transform: in
    ``jax.jit(convert(f))``, an ``if`` on a traced value becomes one ``lax.cond``, and a loop becomes one
    ``lax.while_loop`` or ``lax.scan``.

    Args:
      f: a function, lambda, bound method, static or class method, `functools.partial` or callable object. If None, a
        decorator is returned.
      recursive: whether the functions that ``f`` calls are converted as well, when they are called.
      optional_features: a `Feature`, or an iterable of them.

    Returns:
      The converted callable, with the parameters and the result of ``f``; a decorator if ``f`` is None.

    Raises:
      ConversionError: the source is not available, has changed since import, or contains unsupported syntax.
      TypeError: ``f`` is not callable, or ``optional_features`` contains something other than a `Feature`.

    >>> import jax, jax.numpy as jnp
    >>> @jax.jit
    ... @ag.convert
    ... def relu(x):
    ...     if x > 0:
    ...         return x
    ...     return 0.0
    >>> float(relu(jnp.array(-2.0)))
    0.0
    """
    if f is None:
        return functools.partial(convert, recursive=recursive, optional_features=optional_features)
    return _convert_with(_operators_for(_checked_features(optional_features), recursive), f)


def _operators_for(features: Any, recursive: bool = True, check_bounds: bool = False) -> Operators:
    """The operators that mean what these options say."""
    return _xla_operators(recursive, are_writes_at_run_time(_several(features)), check_bounds)


def _several(features: Any) -> list[Any]:
    return list(features if isinstance(features, Iterable) else [] if features is None else [features])


def _checked_features(features: Any) -> list[Feature]:
    """The features that ``optional_features`` names; those of `function` are checked with its other options."""
    chosen = _several(features)
    if not all(isinstance(each, Feature) for each in chosen):
        raise TypeError(
            f"optional_features must be a Feature or several of them, such as ag.Feature.LISTS; got {features!r}"
        )
    return chosen


to_graph = convert


def _convert_with(made: Operators, f: Any, watched: bool = False) -> Any:
    if isinstance(f, staticmethod | classmethod):
        return type(f)(_convert_with(made, f.__func__, watched))
    if is_partial(f):
        return functools.partial(_convert_with(made, f.func, watched), *f.args, **f.keywords)
    if isinstance(f, types.MethodType):
        return types.MethodType(_convert_with(made, f.__func__, watched), f.__self__)
    if isinstance(f, types.FunctionType):
        if is_converted(f):
            return f
        return boundary(made, f, converted_form(made, f), watched)
    if isinstance(f, Function):
        return f
    if not callable(f):
        raise TypeError(f"convert takes a callable; got {type(f).__name__}")
    method = getattr(type(f), "__call__", None)
    if isinstance(f, type):
        return made.call(f)
    if isinstance(f, CACHE):
        return _with_cache(boundary(made, calling(made, f), calling(made, f), watched), f)
    if not isinstance(method, types.FunctionType):
        return made.transformed.of(f)  # `jax.jit(g)`, say; of what is not written in Python, that itself
    if jax_compat.custom_rules(f) is not None:
        return made.transformed.of(f)  # with its rules, which are functions of the user's as well
    if jax_compat.rules_so_far(f):
        return with_rules_to_come(made, f)
    return types.MethodType(_convert_with(made, method, watched), f)


def _with_cache(converted: Any, f: Any) -> Any:
    """The converted function of what `functools.lru_cache` made, with the methods that ask for the cache or clear it."""
    for name in ("cache_info", "cache_clear", "cache_parameters"):
        setattr(converted, name, getattr(f, name))
    return converted


def is_converted(f: Any) -> bool:
    """Whether ``f`` is what `convert` returns."""
    code = getattr(f, "__code__", None)
    return code is not None and (operators.converter.is_converted(f) or is_internal(code.co_filename))


def to_code(
    f: Callable[..., PyTree], *, recursive: bool = True, optional_features: Feature | Iterable[Feature] = ()
) -> str:
    """Return the converted source of ``f`` as text: valid Python that begins with the import of its operators.

    The text runs where the globals and closure variables of ``f`` exist, and defines the function that `convert` returns.

    Args:
      f: as in `convert`, or a `Function`.
      recursive: as in `convert`. It selects the operators that the text imports.
      optional_features: as in `convert`. They select the operators that the text imports.

    Returns:
      The source.

    Raises:
      ConversionError: as in `convert`.
      TypeError: as in `convert`.

    >>> def sign(x):
    ...     if x > 0:
    ...         y = 1
    ...     else:
    ...         y = -1
    ...     return y
    >>> print(ag.to_code(sign))
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
    return _operators_for(_checked_features(optional_features), recursive).converter.text(_written(f))


def _written(f: Any) -> types.FunctionType:
    """The function of the user's that a callable runs, as it is written.

    Raises:
      ConversionError: there is none.
    """
    function = f
    while not isinstance(function, types.FunctionType):
        if isinstance(function, Function):
            function = function.python_function
        elif isinstance(function, staticmethod | classmethod | types.MethodType):
            function = function.__func__
        elif is_partial(function):
            function = function.func
        elif isinstance(function, CACHE):
            function = function.__wrapped__
        elif isinstance(function, type):
            raise ConversionError(f"{function.__qualname__} is a class: pass one of its methods.")
        elif isinstance(getattr(type(function), "__call__", None), types.FunctionType):
            function = type(function).__call__
        else:
            raise ConversionError(f"{f!r} is not written in Python, so there is no source to show.")
    if is_converted(function) and hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    assert isinstance(function, types.FunctionType)
    return function


@overload
def do_not_convert(f: F) -> F: ...


@overload
def do_not_convert(f: None = None) -> Callable[[F], F]: ...


def do_not_convert(f: Callable[..., PyTree] | None = None) -> Callable[..., PyTree]:
    """Mark ``f`` so that ``f``, and the functions that it calls, run unconverted when converted code calls ``f``.

    In a staged statement, writes of ``f`` to its arguments are part of the program (see `register_library`). Writes
    to closure variables and globals happen once, at trace time.

    Args:
      f: a function or another callable. If None, a decorator is returned.

    Returns:
      ``f`` itself, marked; for a callable that is not a Python function, a marked wrapper.

    >>> @ag.do_not_convert
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


def range(*args: int | ArrayLike) -> Iterable[PyTree]:
    """Return an iterable like ``range``; inside a trace, the loop over it is always staged and its index is traced.

    Outside of a trace it is Python's ``range``.

    Args:
      *args: ``stop``, or ``start, stop``, or ``start, stop, step``: integer scalars, Python's or traced.

    Returns:
      An iterable of int32 scalars inside a trace, a ``range`` outside.

    Raises:
      TypeError: an argument is not an integer scalar.
      ValueError: ``step`` is zero.

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


@overload
def function(
    func: Callable[P, R],
    input_signature: Sequence[PyTree] | None = ...,
    autograph: bool = ...,
    jit_compile: bool | None = ...,
    reduce_retracing: bool = ...,
    experimental_implements: str | None = ...,
    experimental_autograph_options: Feature | Sequence[Feature] | None = ...,
    experimental_relax_shapes: bool | None = ...,
    experimental_compile: bool | None = ...,
    *,
    in_shardings: PyTree = ...,
    out_shardings: PyTree = ...,
    donate_variables: bool = ...,
    device: jax.Device | None = ...,
    compiler_options: Mapping[str, str | bool | int | float] | None = ...,
    cache_limit: int = ...,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Iterable[str] = ...,
    donate_argnums: int | Sequence[int] = ...,
    check_bounds: bool = ...,
) -> Function[P, R]: ...


@overload
def function(
    func: None = None,
    input_signature: Sequence[PyTree] | None = ...,
    autograph: bool = ...,
    jit_compile: bool | None = ...,
    reduce_retracing: bool = ...,
    experimental_implements: str | None = ...,
    experimental_autograph_options: Feature | Sequence[Feature] | None = ...,
    experimental_relax_shapes: bool | None = ...,
    experimental_compile: bool | None = ...,
    *,
    in_shardings: PyTree = ...,
    out_shardings: PyTree = ...,
    donate_variables: bool = ...,
    device: jax.Device | None = ...,
    compiler_options: Mapping[str, str | bool | int | float] | None = ...,
    cache_limit: int = ...,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Iterable[str] = ...,
    donate_argnums: int | Sequence[int] = ...,
    check_bounds: bool = ...,
) -> Callable[[Callable[P, R]], Function[P, R]]: ...


def function(
    func: Callable[..., PyTree] | None = None,
    input_signature: Sequence[PyTree] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = True,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: Feature | Sequence[Feature] | None = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    *,
    in_shardings: PyTree = None,
    out_shardings: PyTree = None,
    donate_variables: bool = False,
    device: jax.Device | None = None,
    compiler_options: Mapping[str, str | bool | int | float] | None = None,
    cache_limit: int = 256,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
    donate_argnums: int | Sequence[int] = (),
    check_bounds: bool = False,
) -> Callable[..., PyTree]:
    """Return ``func`` as a `Function`, which is traced once per signature and runs as a compiled XLA program.

    Args:
      func: the Python function. If None, a decorator is returned.
      input_signature: a sequence of `TensorSpec`, nested like the arguments. There is then one trace for all calls,
        and an argument that does not match its spec is refused.
      autograph: whether control flow on traced values is converted. If False, such control flow raises JAX's own
        error.
      jit_compile: whether XLA compiles the program as a whole. If False, its operations are evaluated one by one.
      reduce_retracing: whether the dimensions that differ between calls become symbolic in the second trace.
      experimental_implements: a name that `save` writes to the manifest. It has no other effect.
      experimental_autograph_options: a `Feature`, or an iterable of them.
      experimental_relax_shapes: alias of ``reduce_retracing``.
      experimental_compile: alias of ``jit_compile``.
      in_shardings: one sharding for all arguments, or one for each, as in `jax.jit`.
      out_shardings: shardings of the results, as in `jax.jit`.
      donate_variables: whether a call may reuse the memory of a Variable's old value for its new value. A value that
        someone else holds, too, is copied first. Programs that call Python (`py_function`, a print) do not.
      device: the device to run on. It excludes ``in_shardings``.
      compiler_options: XLA's options by name, as in `jax.jit`.
      cache_limit: the number of signatures whose programs are kept. Beyond it, the least recently used program is
        dropped, with a warning.
      static_argnums: positions of static arguments, as in `jax.jit`; a method's instance has position 0. A static
        argument is a constant of the program, and is compared by type, hash and equality. Python numbers, strings and
        plain objects are always static.
      static_argnames: names of static arguments.
      donate_argnums: positions of the arguments whose arrays a call may reuse, as in `jax.jit`.
      check_bounds: whether an index that is out of range raises `IndexError` at run time: at ``x[i]``, ``x[i] = v``,
        ``x.at[i]``, ``jnp.take`` and similar functions, in ``func`` and in the converted functions that it calls. If False,
        XLA clamps an index that is read and drops a write.

    Returns:
      A `Function` with the parameters and the result of ``func``; a decorator if ``func`` is None.

    Raises:
      TypeError: an option has the wrong type, ``func`` is not callable, or a static argument is not hashable.
      ValueError: an option has a value that is not allowed.

    >>> import jax.numpy as jnp
    >>> @ag.function
    ... def clipped(x):
    ...     if x.sum() > 1:
    ...         x = x / x.sum()
    ...     return x
    >>> clipped(jnp.array([2.0, 2.0])).tolist()
    [0.5, 0.5]
    """
    given = dict(locals())
    if func is None:
        del given["func"]
        check_options(given)
        return functools.partial(function, **given)
    check_options(given)
    if isinstance(func, staticmethod | classmethod):
        return type(func)(function(**{**given, "func": func.__func__}))
    if not callable(func):
        raise TypeError(f"function takes a callable; got {type(func).__name__}")
    if device is not None:
        if in_shardings is not None:
            raise TypeError("pass device or in_shardings, not both")
        if not isinstance(device, jax.Device):
            raise TypeError(f"device must be a jax.Device, one of jax.devices(); got {device!r}")
        in_shardings = jax.sharding.SingleDeviceSharding(device)
    made = _operators_for(experimental_autograph_options, check_bounds=check_bounds)
    options = Options(
        convert=functools.partial(_convert_with, made, watched=True) if autograph else _unconverted,
        input_signature=input_signature,
        jit_compile=jit_compile is not False if experimental_compile is None else experimental_compile,
        reduce_retracing=bool(reduce_retracing or experimental_relax_shapes),
        cache_limit=cache_limit,
        in_shardings=in_shardings,
        out_shardings=out_shardings,
        donate_variables=donate_variables,
        compile={"compiler_options": dict(compiler_options)} if compiler_options else None,
        implements=experimental_implements,
        arguments=ArgumentOptions.of(static_argnums, static_argnames, donate_argnums),
    )
    return Function(func, _tools(made if autograph else None), options)


def _tools(made: Operators | None) -> Tools:
    return Tools(XlaCompiler(), SymbolicSizes, symbolic_types, Inspection, functools.partial(_listings, made))


def _listings(made: Operators | None, f: Any, lines: Iterable[tuple[str, int]]) -> list[Listing]:
    """What is shown of a callable's source, and of what it calls at these lines; nothing where there is none.

    ``made``: the operators that it is converted with; None where it is not.
    """
    try:
        return (made or operators).converter.listings(_written(f), lines, made is not None)
    except ConversionError:
        return []


def refusal_page(f: Function[..., Any], error: Exception) -> str:
    """The page of a function that was refused with this error, for those who look at programs."""
    refusal = refusal_of(error)
    return page_of_refusal(f.__name__, refusal, _listings(operators, f, () if refusal.line is None else [refusal.line]))


def load_ipython_extension(ipython: Any) -> None:
    """Add the cell magic ``%%autograph`` to IPython, which calls this function for ``%load_ext autograph``.

    ``%%autograph`` runs a cell and shows the converted source of each function that the cell defines beside its
    source; ``%%autograph f g`` shows only ``f`` and ``g``.

    Args:
      ipython: the running shell. IPython passes it.
    """
    add_magic(ipython, lambda f: _listings(operators, f, ()), to_code, sys.modules["IPython"].display.display)


def _unconverted(f: Any) -> Any:
    return f


def load(path: str | os.PathLike[str]) -> LoadedModule:
    """Return the model that `save` wrote to a directory.

    Neither the source nor the classes of the model are needed. Named tuples and dataclasses are recreated with
    the same names and fields, other objects as `types.SimpleNamespace`, enum members as their values. A loaded
    function runs the programs that were saved, and refuses arguments that match none of them.

    Args:
      path: the directory.

    Returns:
      A `Module` with the saved functions, Variables and data as attributes, and the saved ``signatures``.

    Raises:
      LoadError: the directory is not a saved model, is damaged, or was written by an incompatible version. The
        message names the file. No code from the directory is run, and no file outside of it is read.

    >>> import autograph as ag, jax.numpy as jnp, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "double")
    >>> ag.save(ag.function(lambda x: 2 * x, [ag.TensorSpec([None])]), path)
    >>> ag.load(path)(jnp.array([1.0, 2.0])).tolist()
    [2.0, 4.0]
    """
    return load_from(path, functools.partial(function, autograph=False))


def _compiled(f: Callable[..., Any]) -> Function[..., Any]:
    """A function of ours that calls the user's, as a `Function`: its errors are delivered as a user's function's are."""
    options = Options(convert=functools.partial(_convert_with, operators, watched=True))
    return Function(f, _tools(operators), options)


use_language(operators, _compiled)


def value_and_grad(
    f: Callable[P, PyTree], variables: PyTree = None, has_aux: bool = False, argnums: int | Sequence[int] | None = None
) -> Callable[P, tuple[PyTree, PyTree]]:
    """Return a function that computes the value of ``f`` and its gradient.

    The gradient is taken with respect to Variables, arguments, or both.
    Variables that ``f`` assigns are assigned once, as by a call of ``f``, and derivatives flow through the
    assignments. Inside a `Function` the whole computation is part of the program; outside, ``f`` is traced on each
    call.

    Args:
      f: returns a scalar of a floating-point dtype; with ``has_aux``, a pair of the scalar and auxiliary data.
      variables: a Variable, or a list, tuple or dict of Variables; the gradient has the same structure. By default,
        and without ``argnums``: a list of the trainable Variables that ``f`` reads, in the order of their creation.
      has_aux: whether ``f`` returns a pair.
      argnums: positions of the arguments to differentiate with respect to, as in `jax.grad`: an int, or a sequence of
        ints for a tuple of gradients. If ``variables`` is given too, the gradient is a pair: with respect to the
        arguments, and with respect to the Variables.

    Returns:
      A function of the arguments of ``f`` that returns ``(value, gradient)``; with ``has_aux``,
      ``((value, aux), gradient)``. Each gradient has the shape and dtype of its Variable or argument.

    Raises:
      TypeError: ``f`` is not callable.

    >>> import autograph as ag
    >>> w = ag.Variable(3.0)
    >>> value, (slope,) = ag.value_and_grad(lambda x: w * w * x)(2.0)
    >>> float(value), float(slope)
    (18.0, 12.0)
    >>> _, (by_x, by_w) = ag.value_and_grad(lambda x: w * w * x, w, argnums=0)(2.0)
    >>> float(by_x), float(by_w)
    (9.0, 12.0)
    """
    return derivatives.value_and_grad(_differentiable(f), variables, has_aux, argnums)


def grad(
    f: Callable[P, PyTree], variables: PyTree = None, has_aux: bool = False, argnums: int | Sequence[int] | None = None
) -> Callable[P, PyTree]:
    """Return a function that computes the gradient of ``f``: `value_and_grad` without the value.

    Args:
      f: as in `value_and_grad`.
      variables: as in `value_and_grad`.
      has_aux: whether ``f`` returns a pair.
      argnums: as in `value_and_grad`.

    Returns:
      A function of the arguments of ``f``. It returns the gradient; with ``has_aux``, a pair of the gradient and the
      auxiliary data.

    Raises:
      TypeError: ``f`` is not callable.

    >>> import autograph as ag
    >>> w = ag.Variable(3.0)
    >>> float(ag.grad(lambda x: w * w * x, w)(2.0)), float(ag.grad(lambda x: w * w * x, argnums=0)(2.0))
    (12.0, 9.0)
    """
    return derivatives.grad(_differentiable(f), variables, has_aux, argnums)


def Assert(condition: ArrayLike, data: PyTree = ()) -> None:  # noqa: N802  the name is the contract's
    """Raise `AssertionError` unless every element of ``condition`` is true; at run time if ``condition`` is traced.

    Args:
      condition: a bool, or a bool array of any shape.
      data: a value, or a list of values, that the message shows.

    Raises:
      AssertionError: with ``data`` as its text.

    >>> import autograph as ag, jax.numpy as jnp
    >>> @ag.function
    ... def root(x):
    ...     ag.Assert(x >= 0, ["x is", x])
    ...     return jnp.sqrt(x)
    >>> float(root(jnp.array(4.0)))
    2.0
    >>> root(jnp.array(-4.0))
    Traceback (most recent call last):
    ...
    AssertionError: x is -4.0
    """
    operators.assert_all(condition, data if isinstance(data, list | tuple) else [data])


def _differentiable(f: Any) -> Any:
    if not callable(f):
        raise TypeError(f"grad takes a function; got {type(f).__name__}")
    return _convert_with(operators, f)
