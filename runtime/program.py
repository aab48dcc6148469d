"""`Program`: the compiled form of one `CallSignature`, from arrays to results."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Protocol

import jax
import numpy as np

from autograph.runtime.concrete import StaticOutput
from autograph.runtime.optional import Optional
from autograph.runtime.raising import Guarded
from autograph.runtime.signature import CallSignature


class Compiler(Protocol):
    """What a `Function` needs of a backend."""

    def compile(self, function: Callable[..., Any], options: dict[str, Any]) -> Any: ...

    def interpret(self, function: Callable[..., Any]) -> Any: ...

    def texts(self, traced: Any) -> dict[str, Callable[[], str]]: ...


class Program:
    """The compiled programs of one `CallSignature`: one for each set of array types, told apart by the jitted callable."""

    def __init__(
        self,
        function: Callable[..., Any],
        signature: CallSignature,
        compiler: Compiler,
        on_trace: Callable[[], None],
        instance: weakref.ref[Any] | None,
        options: dict[str, Any] | None,
    ) -> None:
        def trace(*arrays: Any) -> Any:
            on_trace()
            args, kwargs = signature.arguments(arrays)
            if instance is not None:
                args = (instance(), *args)
            return jax.tree_util.tree_map(_as_output, function(*args, **kwargs))

        trace.__name__ = trace.__qualname__ = getattr(function, "__name__", "function")
        self.jitted = compiler.interpret(trace) if options is None else compiler.compile(trace, options)

    def __call__(self, *arrays: Any) -> Any:
        result = self.jitted(*arrays)
        if type(result) in _PLAIN_RESULTS:
            return result
        return jax.tree_util.tree_map(_from_output, result, is_leaf=_is_static_output)


_PLAIN_RESULTS = frozenset({type(jax.numpy.zeros(()))})


def _as_output(leaf: Any) -> Any:
    is_value = isinstance(leaf, jax.Array | np.ndarray | np.generic | bool | int | float | complex)
    return leaf if is_value else StaticOutput(leaf)


def _from_output(leaf: Any) -> Any:
    if isinstance(leaf, Optional | Guarded):
        return jax.tree_util.tree_map(_from_output, leaf.resolve(), is_leaf=_is_static_output)
    return leaf.value if isinstance(leaf, StaticOutput) else leaf


def _is_static_output(leaf: Any) -> bool:
    return isinstance(leaf, StaticOutput | Optional | Guarded)
