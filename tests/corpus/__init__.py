"""Plain Python programs, by feature, that every way of running a converted function must agree on.

A program is an ordinary function under `@program(examples=[...])`. Plain Python, run on concrete arrays,
is the oracle: no expected value is written by hand. The examples of a program together execute every line of
it (`tests/test_corpus_programs.py` checks that), so that each path is compared at least once.
"""

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

Group = Literal["core", "language"]


@dataclasses.dataclass(frozen=True, eq=False)  # equal and hashed by identity: examples hold arrays
class Program:
    """One plain Python function, its example inputs, and the ways in which it may be run."""

    function: Callable[..., Any]
    examples: tuple[tuple[Any, ...], ...]
    static: tuple[str, ...]
    """Parameters that stay Python values; every other number becomes an array."""
    vmap: bool
    """May be run under `jax.vmap` over the examples of equal shape."""
    grad: Literal["reverse", "forward"] | None
    """Differentiable in the first argument: by `jax.grad`, or (an unbounded loop) by `jax.jvp` only."""
    arrays: Literal["jax", "numpy"]
    """What the oracle is given. A program that assigns to items needs NumPy's mutable arrays."""
    widens: bool
    """A result may be of a wider kind than Python's: types join where paths join (1 or 2.5 gives 1.0)."""
    refused: tuple[str, ...]
    """Ways of running it ("function", "jit", "vmap") that raise `StagingError`: XLA has no way to say what Python says."""
    group: Group

    @property
    def name(self) -> str:
        return f"{self.function.__module__.removeprefix(__name__ + '.')}.{self.function.__name__}"

    @property
    def static_positions(self) -> tuple[int, ...]:
        names = list(inspect.signature(self.function).parameters)
        return tuple(names.index(name) for name in self.static)


_programs: list[Program] = []


def program(
    *,
    examples: Sequence[tuple[Any, ...]],
    static: tuple[str, ...] = (),
    vmap: bool = True,
    grad: Literal["reverse", "forward"] | None = None,
    arrays: Literal["jax", "numpy"] = "jax",
    widens: bool = False,
    refused: tuple[str, ...] = (),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds a function to the corpus and returns it as it is."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        group: Group = "language" if ".language." in function.__module__ else "core"
        _programs.append(Program(function, tuple(examples), static, vmap, grad, arrays, widens, refused, group))
        return function

    return add


def all_programs() -> tuple[Program, ...]:
    """Every program of the corpus; imports its modules on the first call."""
    for module in pkgutil.walk_packages(__path__, __name__ + "."):
        importlib.import_module(module.name)
    return tuple(_programs)


def floats(*values: Any) -> np.ndarray:
    """A float32 array: `floats(1, 2)` has shape (2,), `floats()` (0,), `floats([1, 2], [3, 4])` (2, 2)."""
    return np.array(values, np.float32)


def ints(*values: Any) -> np.ndarray:
    """An int32 array."""
    return np.array(values, np.int32)


def bools(*values: Any) -> np.ndarray:
    """A bool array."""
    return np.array(values, np.bool_)
