"""Programs on which staging is easily wrong without a word: each is compared with plain Python.

A trap is a function that makes the program anew, so that what it closes over is as at the start.
"""

import jax.numpy as jnp

SIGNS = (jnp.float32(3.0), jnp.float32(-2.0))
ROWS = (jnp.array([1.0, -2.0, 3.0, 4.0], jnp.float32), jnp.array([-1.0, -2.0], jnp.float32))
TRAPS = {}


def trap(inputs, refused=None):
    """Register a program with its inputs; ``refused`` is what the error names where it is not staged."""

    def add(make):
        TRAPS[make.__name__] = (make, inputs, refused)
        return make

    return add
