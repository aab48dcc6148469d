"""Structures and functions for tests of how calls are dispatched."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class Pair(NamedTuple):
    one: Any
    other: Any = None


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Scaled:
    values: Any
    by: int = dataclasses.field(default=1, metadata={"static": True})


@dataclasses.dataclass
class Plain:
    values: Any
    by: Any = 2


@dataclasses.dataclass(slots=True)
class Slotted:
    values: Any
    by: Any = 2


def root(x):
    if x.sum() < 0:
        raise ValueError(f"no root of {x.sum()}")
    return jnp.sqrt(x)


def number_of_halves(x):
    x, halves = x.sum(), []
    while x > 1:
        x = x / 2
        halves.append(x)
    return len(halves)
