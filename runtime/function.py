"""`Function`: a Python function as compiled programs, one for each signature it is called with."""

from __future__ import annotations

import functools
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import jax

from autograph.runtime.concrete import ConcreteFunction, Graph
from autograph.runtime.operators.locations import clean_traceback
from autograph.runtime.program import Compiler, Program
from autograph.runtime.signature import Arguments, CallSignature


class _Eagerness:
    """Whether functions run as plain Python, for this process."""

    def __init__(self) -> None:
        self.on = False


_EAGERNESS = _Eagerness()


def run_functions_eagerly(flag: bool) -> None:
    """Make every `Function` run as plain Python (True), so that ``pdb``, ``print`` and breakpoints work, or compiled (False).

    >>> import autograph as ag
    >>> ag.run_functions_eagerly(True)
    >>> ag.function(lambda x: type(x).__name__)(1)
    'int'
    >>> ag.run_functions_eagerly(False)
    """
    _EAGERNESS.on = bool(flag)


def functions_run_eagerly() -> bool:
    """Whether `run_functions_eagerly` is on.

    >>> functions_run_eagerly()
    False
    """
    return _EAGERNESS.on


class Function:
    """A function that is traced once for each signature and then runs as a compiled XLA program.

    Made by `autograph.function`. Arrays are told apart by shape, dtype and weak type; Python values, by type and value, are part of
    the signature, each its own program.

    >>> import autograph as ag, jax.numpy as jnp
    >>> @ag.function
    ... def halvings(x):
    ...     n = 0
    ...     while x > 1:
    ...         x = x / 2
    ...         n += 1
    ...     return n
    >>> int(halvings(jnp.array(40.0)))
    6
    """

    def __init__(
        self,
        python_function: Callable[..., Any],
        convert: Callable[[Callable[..., Any]], Callable[..., Any]],
        compiler: Compiler,
        jit_compile: bool = True,
        options: dict[str, Any] | None = None,
        instance: weakref.ref[Any] | None = None,
    ) -> None:
        self._function = python_function
        self._instance = instance
        self._convert = convert
        self._compiler = compiler
        self._jit_compile = jit_compile
        self._options = dict(options or {})
        self._lock = threading.RLock()
        self._arguments = Arguments(python_function, skip_first=instance is not None)
        self._bound: dict[int, tuple[weakref.ref[Any], Function]] = {}
        functools.update_wrapper(self, python_function, updated=())
        self.clear_cache()

    @property
    def python_function(self) -> Callable[..., Any]:
        """The function as it was written; of a method, bound to its instance."""
        return (
            self._function if self._instance is None else types.MethodType(self._function, self._instance())
        )

    def clear_cache(self) -> None:
        """Forget all traces and compiled programs."""
        with self._lock:
            self._programs: dict[CallSignature, Program] = {}
            self._concrete: dict[Any, ConcreteFunction] = {}
            self._trace_count = 0
            self._converted: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _EAGERNESS.on:
            return self.python_function(*args, **kwargs)
        try:
            signature, arrays = self._arguments.split(args, kwargs)
            program = self._programs.get(signature)
            if program is None:
                program = self._program(signature)
            return program(*arrays)
        except BaseException as error:
            clean_traceback(error)
            raise

    def __get__(self, instance: Any, owner: type | None = None) -> Function:
        if instance is None:
            return self
        entry = self._bound.get(id(instance))
        if entry is not None and entry[0]() is instance:
            return entry[1]
        return self._bind(instance)

    def _bind(self, instance: Any) -> Function:
        """This function as a method of ``instance``: its own traces, gone when the instance is."""
        with self._lock:
            key = id(instance)
            reference = weakref.ref(instance, lambda _: self._bound.pop(key, None))
            bound = Function(
                self._function, self._convert, self._compiler, self._jit_compile, self._options, reference
            )
            self._bound[key] = (reference, bound)
            return bound

    def experimental_get_tracing_count(self) -> int:
        """How many times the Python function was traced."""
        return self._trace_count

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The program for the signature of these arguments: the same object for the same signature.

        Args:
          *args, **kwargs: arrays, `jax.ShapeDtypeStruct` in their place, and Python values.
        """
        signature, arrays = self._arguments.split(args, kwargs)
        key = (signature, tuple(_array_key(array) for array in arrays))
        with self._lock:
            concrete = self._concrete.get(key)
            if concrete is None:
                program = self._programs.get(signature) or self._program(signature)
                traced = program.jitted.trace(*arrays)
                graph = Graph(traced, self._compiler.texts(traced))
                concrete = ConcreteFunction(self.__name__, graph, self)
                self._concrete[key] = concrete
        return concrete

    def experimental_get_compiler_ir(self, *args: Any, **kwargs: Any) -> Callable[..., str]:
        """A function of ``stage`` (`Graph.as_text`) for the program of these arguments."""
        graph = self.get_concrete_function(*args, **kwargs).graph
        return lambda stage="hlo": graph.as_text(stage)

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """The program for these arguments, lowered, as `jax.stages.Lowered`."""
        signature, arrays = self._arguments.split(args, kwargs)
        program = self._programs.get(signature) or self._program(signature)
        return program.jitted.trace(*arrays).lower()

    def _program(self, signature: CallSignature) -> Program:
        with self._lock:
            program = self._programs.get(signature)
            if program is None:
                if self._converted is None:
                    self._converted = self._convert(self._function)
                program = Program(
                    self._converted,
                    signature,
                    self._compiler,
                    self._count_trace,
                    self._instance,
                    self._options if self._jit_compile else None,
                )
                self._programs[signature] = program
            return program

    def _count_trace(self) -> None:
        self._trace_count += 1

    def __repr__(self) -> str:
        return f"<autograph.Function {self.__qualname__}>"


def _array_key(array: Any) -> Any:
    aval = jax.typeof(array) if not isinstance(array, jax.ShapeDtypeStruct) else array
    return tuple(aval.shape), aval.dtype, bool(getattr(aval, "weak_type", False))
