"""Programs of 20 to 80 lines, by field, as people write them who have never seen JAX.

Each is a function under `@program(example, ...)`, with the helpers, classes and constants above it that it uses. It runs
as it stands, on Python's numbers and NumPy's arrays: that is the oracle (`tests/test_programs.py` compares).
"""

from __future__ import annotations

import copy
import dataclasses
import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

import jax
import numpy as np


@dataclasses.dataclass(frozen=True, eq=False)  # equal and hashed by identity: examples hold arrays
class Program:
    """One program, its example arguments, and how it may be run."""

    function: Callable[..., Any]
    examples: tuple[tuple[Any, ...], ...]
    static: tuple[str, ...]
    """Parameters that stay Python values, besides those that hold no number."""
    grad: bool
    """Has a derivative that central differences find too, at the examples."""
    bare: str | None
    """Why a bare `jax.jit` refuses it and asks for `ag.function`, in which its batches run then: what grows without a bound
    that is known beforehand, or what may raise."""
    batch: str | None
    """Why it is refused in a batch, or means nothing there."""
    refused: str | None
    """Why it is refused everywhere."""

    @property
    def name(self) -> str:
        return f"{self.function.__module__.removeprefix(__name__ + '.')}.{self.function.__name__}"

    def given(self, example: int) -> tuple[Any, ...]:
        """The arguments of an example, made anew, as a program may write to them."""
        return copy.deepcopy(self.examples[example])

    def traced(self, example: int) -> tuple[int, ...]:
        """The positions of the arguments that are traced: those of numbers only."""
        names = self.function.__code__.co_varnames
        return tuple(
            position
            for position, value in enumerate(self.examples[example])
            if names[position] not in self.static
            and all(isinstance(leaf, bool | int | float | complex | np.ndarray) for leaf in jax.tree.leaves(value))
        )


_programs: list[Program] = []


def program(
    *examples: tuple[Any, ...],
    static: tuple[str, ...] = (),
    grad: bool = False,
    bare: str | None = None,
    batch: str | None = None,
    refused: str | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds a function to the programs, and returns it as it is."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        _programs.append(Program(function, examples, static, grad, bare, batch, refused))
        return function

    return add


def all_programs() -> tuple[Program, ...]:
    """Every program; imports the modules on the first call."""
    for module in pkgutil.walk_packages(__path__, __name__ + "."):
        importlib.import_module(module.name)
    return tuple(_programs)
