"""Which called functions are converted, and how functions that take functions get converted ones."""

from __future__ import annotations

import builtins
import functools
import linecache
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

from autograph.backends.base import Backend
from autograph.runtime.errors import ConversionError, StagingError
from autograph.runtime.operators.journal import ContentsPlace, Journal, is_mutating_method
from autograph.runtime.operators.locations import is_internal, user_location, warn
from autograph.runtime.optional import Optional

# Packages that are written for JAX as it is. Functions handed to them are converted, they themselves are not.
_LIBRARIES = frozenset(
    [
        "jax",
        "jaxlib",
        "numpy",
        "scipy",
        "autograph",
        "equinox",
        "flax",
        "haiku",
        "optax",
        "chex",
        "jaxtyping",
        "diffrax",
        "optimistix",
        "lineax",
        "orbax",
        "tensorflow",
        "torch",
        "keras",
        "sklearn",
        "pandas",
        "matplotlib",
        "tqdm",
        "pytest",
        "hypothesis",
        "IPython",
        "gast",
        "ml_dtypes",
        "opt_einsum",
    ]
) | frozenset(sys.stdlib_module_names)

# Namespaces whose functions take arrays, never functions: calling one needs no help.
_ARRAY_NAMESPACES = (
    "jax.numpy",
    "jax.nn",
    "jax.random",
    "jax.scipy",
    "jax._src",
    "numpy",
    "math",
    "cmath",
    "operator",
)
_TAKES_FUNCTIONS = frozenset(
    [
        "vectorize",
        "piecewise",
        "apply_along_axis",
        "apply_over_axes",
        "frompyfunc",
        "fromfunction",
        "fromiter",
        "itemgetter",
        "attrgetter",
        "methodcaller",
        "call",
    ]
)
_UNCONVERTED = "__autograph_do_not_convert__"
_CHECKED = "__autograph_checked__"


class Calls:
    """The operator for calls.

    Needs ``backend``, ``converter``, ``recursive`` and ``builtins`` from what it is mixed into.
    """

    backend: Backend
    journal: Journal
    converter: Any
    recursive: bool
    overloads: Mapping[Any, Callable[..., Any]]

    def call(self, called: Any) -> Any:
        """What to call in place of ``called``: its converted form, or itself."""
        kind = type(called)
        if kind is types.FunctionType:
            return self._function(called)
        if kind is types.MethodType:
            return self._method(called)
        if kind is types.BuiltinFunctionType or kind is type:
            if self.journal.is_open and is_mutating_method(called):
                self.journal.touch(ContentsPlace(called.__self__))
            return self._builtin(called)
        if kind is functools.partial:
            return functools.partial(
                self.call(called.func),
                *self._functions_converted(called.args) if is_library(called.func) else called.args,
                **called.keywords,
            )
        if isinstance(called, type):
            return self._class(called)
        return self._object(called)

    def call_outside(self, called: Any) -> Any:
        """`call` for a method of an object that lives outside the function, a list say: it takes effect at trace
        time.
        """
        if self.journal.is_open and is_mutating_method(called):
            owner = type(called.__self__).__name__
            warn(
                f"this writes to a {owner} that lives outside the function, inside a staged statement: it happens once, while "
                "tracing, not on each execution. Use autograph.TensorArray, or return the values."
            )
            return called
        return self.call(called)

    def convert_function(self, function: Any) -> Any:
        """A function handed to library code, converted if it is the user's; anything else as it is."""
        if isinstance(function, types.FunctionType | types.MethodType | functools.partial):
            return self.call(function)
        return function

    def _function(self, function: types.FunctionType) -> Any:
        if self.converter.is_converted(function) or function.__dict__.get(_UNCONVERTED):
            return function
        if is_internal(function.__code__.co_filename):
            is_conversion = "__wrapped__" in function.__dict__  # what `convert` returned
            return function if is_conversion else self._with_converted_functions(function)
        if is_library(function):
            return self._with_converted_functions(function)
        if not self.recursive:
            return function
        try:
            converted = self.converter.convert(function)
            if self.converter.may_return_none(function):
                return self._without_optional(function, converted)
            return converted
        except ConversionError:
            if _has_source(function):
                raise
            return function  # made without source (a dataclass's methods, say): it runs as it is

    def _without_optional(self, function: types.FunctionType, converted: types.FunctionType) -> Any:
        """A converted function that returns a value on some paths and None on others: its caller must get one or
        the other.
        """
        known = converted.__dict__.get(_CHECKED)
        if known is not None:
            return known

        @functools.wraps(converted)
        def call(*args: Any, **kwargs: Any) -> Any:
            result = converted(*args, **kwargs)
            if isinstance(result, Optional):
                raise StagingError(
                    f"{user_location()}\n  {function.__qualname__!r} returns a value or None here, by a traced condition, and XLA has "
                    "no None.\n  Return a value on every path: a number that stands for none, or a flag beside it."
                )
            return result

        converted.__dict__[_CHECKED] = call
        return call

    def _method(self, method: types.MethodType) -> Any:
        function = method.__func__
        if not isinstance(function, types.FunctionType):
            return method
        converted = self._function(function)
        return method if converted is function else types.MethodType(converted, method.__self__)

    def _builtin(self, called: Any) -> Any:
        try:
            overload = self.overloads.get(called)
        except TypeError:
            return called
        if overload is not None:
            return overload
        return self._class(called) if isinstance(called, type) else called

    def _class(self, cls: type) -> Any:
        """A user's class, called so that its ``__init__`` is converted; others as they are."""
        init = cls.__init__  # type: ignore[misc]
        new: Any = cls.__new__
        own_construction: tuple[Any, Any] = (type(cls).__call__, new)
        plain = own_construction == (type.__call__, object.__new__) and isinstance(init, types.FunctionType)
        if not self.recursive or not plain or is_library(cls) or is_library(init) or not _has_source(init):
            return cls
        converted = self._function(init)

        def construct(*args: Any, **kwargs: Any) -> Any:
            instance = new(cls)
            self.journal.born(instance)
            converted(instance, *args, **kwargs)
            return instance

        return cls if converted is init else construct

    def _object(self, called: Any) -> Any:
        if is_library(called) or is_library(type(called)):
            return self._with_converted_functions(called) if callable(called) else called
        method = getattr(type(called), "__call__", None)
        if isinstance(method, types.FunctionType) and not getattr(called, _UNCONVERTED, False):
            converted = self._function(method)
            if converted is not method:
                return types.MethodType(converted, called)
        return called

    def _with_converted_functions(self, called: Any) -> Any:
        """Library code called with the user's functions among its arguments converted."""

        takes_function = _is_transform(called)

        @functools.wraps(called, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            if takes_function and args and not isinstance(args[0], type):
                args = (self._object_converted(args[0]), *args[1:])
            args = self._functions_converted(args)
            kwargs = {key: self.convert_function(value) for key, value in kwargs.items()}
            return called(*args, **kwargs)

        return call

    def _object_converted(self, value: Any) -> Any:
        """A callable object in the place of a function, as its converted ``__call__``."""
        method = getattr(type(value), "__call__", None)
        return self._object(value) if isinstance(method, types.FunctionType) and not is_library(type(value)) else value

    def _functions_converted(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            type(v)(map(self.convert_function, v)) if type(v) in (list, tuple) else self.convert_function(v)
            for v in values
        )


def _is_transform(called: Any) -> bool:
    """Whether this is a function of JAX's own, as against a user's function that JAX has transformed."""
    while hasattr(called, "__wrapped__"):
        called = called.__wrapped__
    return isinstance(called, types.FunctionType) and called.__globals__.get("__name__", "").startswith("jax.")


def mark_unconverted(function: Any) -> None:
    """Make converted code call ``function`` as it is."""
    setattr(function, _UNCONVERTED, True)


def is_library(called: Any) -> bool:
    """Whether this function, class or object belongs to a package that is not converted."""
    # `functools.wraps` gives a wrapper the module of what it wraps; where its code is from, its globals say.
    is_function = isinstance(called, types.FunctionType)
    module = called.__globals__.get("__name__") if is_function else getattr(called, "__module__", None)
    if not isinstance(module, str):
        return isinstance(called, types.BuiltinFunctionType | types.BuiltinMethodType)
    # The demo and the command line live in our package, and are users of it.
    return module.partition(".")[0] in _LIBRARIES and not module.startswith("autograph.tools.")


def is_plain(called: Any) -> bool:
    """Whether a call of this object needs no operator, whatever its arguments."""
    if isinstance(called, type) and called.__module__ == "builtins":
        return called not in OVERLOADED
    if isinstance(called, types.BuiltinFunctionType) and called.__module__ == "builtins":
        return called not in OVERLOADED
    module = getattr(called, "__module__", None) or getattr(type(called), "__module__", "")
    if not isinstance(module, str):
        return False
    in_namespace = any(module == name or module.startswith(name + ".") for name in _ARRAY_NAMESPACES)
    if module.startswith("jax._src") and not any(
        part in module for part in ("jax._src.numpy", "jax._src.nn", "jax._src.random", "jax._src.scipy")
    ):
        return False
    return in_namespace and getattr(called, "__name__", "") not in _TAKES_FUNCTIONS


# Builtins that mean something else, or take functions, when values are traced.
OVERLOADED = frozenset(
    getattr(builtins, name)
    for name in [
        "print",
        "range",
        "enumerate",
        "zip",
        "reversed",
        "map",
        "filter",
        "sorted",
        "max",
        "min",
        "any",
        "all",
        "int",
        "float",
        "complex",
        "bool",
        "len",
        "next",
    ]
)


def _has_source(function: Any) -> bool:
    """Whether the text that ``function`` was compiled from may be had.

    Not what `exec` of a string made, a dataclass's methods say.
    """
    code = getattr(function, "__code__", None)
    if code is None or code.co_filename == "<string>":
        return False
    return bool(linecache.getlines(code.co_filename, function.__globals__))
