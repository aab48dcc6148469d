"""Programs made once, for all inputs that tests give them: tests that are about results need no trace for each."""

from __future__ import annotations

import functools

import jax

import autograph as ag

function = functools.cache(ag.function)
checked = functools.cache(functools.partial(ag.function, check_bounds=True))


@functools.cache
def jitted(program):
    return jax.jit(ag.convert(program))


@functools.cache
def mapped(program):
    """Of all lanes at once, of each argument."""
    return jax.jit(jax.vmap(ag.convert(program)))
