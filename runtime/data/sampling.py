"""Elements chosen at random among several datasets, or by their classes: functions that `Dataset`'s methods pass to `map` and `filter`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from autograph.runtime.tracing.language import LANGUAGE

DRAWS = 2**30  # how many numbers there are to draw; each is drawn once before one is drawn again


def fractions(name: str, given: Any, count: int | None = None) -> tuple[float, ...]:
    """Weights as parts of one.

    Raises:
      ValueError: they are no weights, or not so many.
    """
    array = np.asarray(given, np.float64)
    total = float(array.sum())
    if array.ndim != 1 or (array < 0).any() or not math.isfinite(total) or not total:
        raise ValueError(f"{name} is a list of numbers of 0 or more, one of which is more; got {given!r}")
    if count is not None and len(array) != count:
        raise ValueError(f"{name} has a number for each of {count}; got {len(array)}")
    return tuple((array / total).tolist())


@dataclass(frozen=True)
class Draw:
    """The number of a class, as often as the class's fraction says, of a number below `DRAWS`."""

    ends: tuple[float, ...]

    @classmethod
    def of(cls, parts: Sequence[float]) -> Draw:
        return cls(tuple(np.cumsum(parts)[:-1].tolist()))

    def __call__(self, drawn: Any) -> Any:
        return jnp.searchsorted(jnp.asarray(self.ends, jnp.float32), drawn / DRAWS, side="right").astype(jnp.int32)


@dataclass(frozen=True)
class Classified:
    """For `scan`: counts the classes of elements, and puts beside each element its class and how likely it is to be kept.

    Attributes:
      class_func: returns the class of an element.
      target: how often each class is wanted.
      initial: how often it comes; None to go by what has come so far.
    """

    class_func: Callable[..., Any]
    target: tuple[float, ...]
    initial: tuple[float, ...] | None

    def __call__(self, counts: Any, drawn_element: Any) -> Any:
        element, drawn = drawn_element
        called = LANGUAGE.operators.call(self.class_func)
        kind = called(*element) if type(element) is tuple else called(element)
        counts = counts.at[kind].add(1.0)
        initial = jnp.asarray(counts / counts.sum() if self.initial is None else self.initial, jnp.float32)
        wanted = jnp.asarray(self.target, jnp.float32)
        ratios = jnp.where(initial > 0, wanted / jnp.maximum(initial, 1e-30), 0.0)
        return counts, (kind, element, drawn / DRAWS < ratios[kind] / ratios.max())


def is_kept(kind: Any, element: Any, kept: Any) -> Any:
    return kept


def with_class(kind: Any, element: Any, kept: Any) -> Any:
    return kind, element
