"""Gradients of generated programs: `jax.grad` and `jax.jvp` of the converted program against finite differences.

The finite differences are plain Python's, in float64, along one random direction. Near a kink or a jump, where the
differences to both sides disagree, there is nothing to compare with: such inputs are skipped, and counted.
"""

from __future__ import annotations

import contextlib
import copy
import random
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import autograph as ag
from autograph.tools.fuzz.interpreter import Evaluated
from autograph.tools.fuzz.oracle import load
from autograph.tools.fuzz.programs import Program
from autograph.tools.fuzz.runs import Verdict, reason

_STEP = 2.0**-20
_AGREE = 1e-4  # of the differences to both sides: more is a kink
_TOLERANCE = 1e-5
_LARGEST = 1e4
_WEIGHTS = (1.0, 0.7, -0.4, 1.3, 0.2, -0.9, 0.5, 1.1)
_QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def try_gradients(program: Program, by_xla: bool) -> tuple[Verdict, dict[str, int]]:
    """Compare a program's gradients on its inputs. Also how many inputs were compared, and how many skipped."""
    counts = {"compared": 0, "skipped": 0}
    with jax.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function = load(program.source, "<generated program>").__dict__["f"]
        numbers = random.Random(program.seed + 2)
        derivative: Callable[..., Any] | None = None
        for arguments in program.inputs:
            arguments = tuple(_moved(value, numbers) for value in arguments)
            direction = [_direction(value, numbers) for value in arguments if _is_float(value)]
            wanted = _difference(function, arguments, direction)
            if wanted is None:
                counts["skipped"] += 1
                continue
            try:
                if derivative is None:
                    derivative = _derivative(function, by_xla)
                slope, pushed = derivative([jnp.asarray(value) for value in arguments], direction)
            except (ag.StagingError, ag.ConversionError) as error:
                return Verdict("refused", reason(str(error))), counts
            except Exception as error:
                return Verdict("crash", f"{type(error).__name__}: {error}"), counts
            counts["compared"] += 1
            scale = max(1.0, abs(wanted))
            if not abs(float(slope) - wanted) < _TOLERANCE * scale:
                return Verdict(
                    "gradient", f"finite differences give {wanted}, jax.grad {slope}, on {arguments}"
                ), counts
            if not abs(float(pushed) - float(slope)) < 1e-9 * scale:
                return Verdict("jvp", f"jax.jvp gives {pushed}, jax.grad {slope}, on {arguments}"), counts
    return Verdict("same"), counts


def _objective(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """A number of all the floats that the program returns."""
    leaves = jax.tree.leaves(function(*arguments))
    total: Any = 0.0
    for position, leaf in enumerate(leaves):
        if isinstance(leaf, float):  # which is an array where it is traced
            total = total + _WEIGHTS[position % len(_WEIGHTS)] * leaf
        elif _is_float(leaf):
            total = total + _WEIGHTS[position % len(_WEIGHTS)] * leaf.sum()
    return total


def _is_float(value: Any) -> bool:
    return getattr(value, "dtype", np.dtype(bool)).kind == "f"


def _derivative(function: Callable[..., Any], by_xla: bool) -> Callable[..., Any]:
    """(arguments, direction) -> the slope along it, by reverse and by forward mode."""
    converted = ag.convert(function)

    def both(arguments: Sequence[Any], direction: Sequence[Any]) -> Any:
        def objective(*floats: Any) -> Any:
            pending = iter(floats)
            return _objective(converted, [next(pending) if _is_float(value) else value for value in arguments]) + 0.0

        floats = [value for value in arguments if _is_float(value)]
        gradient = jax.grad(objective, tuple(range(len(floats))))(*floats)
        slope = sum((part * way).sum() for part, way in zip(gradient, direction, strict=True))
        return slope, jax.jvp(objective, floats, list(direction))[1]

    return jax.jit(both, compiler_options=_QUICK) if by_xla else Evaluated(both)


def _difference(function: Callable[..., Any], arguments: Sequence[Any], direction: Sequence[Any]) -> float | None:
    """Plain Python's central difference; None where there is no derivative to be seen, or no value."""
    values = []
    for steps in (-2, -1, 0, 1, 2):
        pending = iter(direction)
        moved = [value + steps * _STEP * next(pending) if _is_float(value) else value for value in arguments]
        with np.errstate(all="ignore"), contextlib.suppress(Exception):
            values.append(float(_objective(function, copy.deepcopy(moved))))
    if len(values) < 5 or not max(map(abs, values)) < _LARGEST:
        return None
    slopes = [(b - a) / _STEP for a, b in zip(values, values[1:], strict=False)]
    if max(slopes) - min(slopes) > _AGREE * max(1.0, *map(abs, slopes)):
        return None
    return (values[3] - values[1]) / (2 * _STEP)


def _moved(value: Any, numbers: random.Random) -> Any:
    """A float in float64, off the round numbers that the programs compare with."""
    if not _is_float(value):
        return value
    offsets = np.array([numbers.uniform(-0.2, 0.2) for _ in range(np.size(value))]).reshape(np.shape(value))
    moved = np.asarray(value, np.float64) + offsets
    return moved if np.ndim(moved) else np.float64(moved)


def _direction(value: Any, numbers: random.Random) -> Any:
    found = np.array([numbers.uniform(-1, 1) for _ in range(np.size(value))]).reshape(np.shape(value))
    return found if np.ndim(found) else np.float64(found)
