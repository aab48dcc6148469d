"""Find the pure-Python versions of standard-library functions that are implemented in C."""

from __future__ import annotations

import bisect
import builtins
import functools
import heapq
import importlib.util
import operator
import types
from collections.abc import Callable, Mapping
from typing import Any

_ACCELERATORS = types.MappingProxyType({"heapq": "_heapq", "bisect": "_bisect", "operator": "_operator"})
_FUNCTIONS: Mapping[Any, tuple[str, str]] = types.MappingProxyType(
    {
        getattr(module, name): (module.__name__, name)
        for module, names in (
            (heapq, ("heappush", "heappop", "heapify", "heapreplace", "heappushpop")),
            (bisect, ("insort_left", "insort_right", "bisect_left", "bisect_right")),
            (operator, ("getitem", "contains")),
        )
        for name in names
        if isinstance(getattr(module, name), types.BuiltinFunctionType)
    }
)


def written_in_c() -> Mapping[Any, Callable[[], types.FunctionType]]:
    """For each such function, what returns its twin in Python."""
    return {function: functools.partial(_twin, *place) for function, place in _FUNCTIONS.items()}


def is_written_in_c(function: Any) -> bool:
    """Whether this is such a function."""
    return type(function) is types.BuiltinFunctionType and function in _FUNCTIONS


def _twin(module: str, name: str) -> types.FunctionType:
    found: types.FunctionType = _namespace(module)[name]
    return found


@functools.cache
def _namespace(module: str) -> dict[str, Any]:
    """The globals of a module that has found its accelerator missing."""

    def import_others(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == _ACCELERATORS[module]:
            raise ImportError(name)
        return builtins.__import__(name, *args, **kwargs)

    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    with open(spec.origin, encoding="utf-8") as file:
        code = compile(file.read(), spec.origin, "exec", dont_inherit=True)
    namespace = {
        "__name__": module,
        "__file__": spec.origin,
        "__builtins__": {**vars(builtins), "__import__": import_others},
    }
    exec(code, namespace)
    return namespace
