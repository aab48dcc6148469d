"""The Mandelbrot set, from a `while` that thinks of one point; `jax.vmap` makes a picture of it."""

from __future__ import annotations

import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib import image

import autograph as ag


def escape_time(c, limit):
    """How many steps of z -> z*z + c keep |z| within 2, at most `limit`."""
    z = 0j
    n = 0
    while n < limit and abs(z) <= 2:
        z = z * z + c
        n += 1
    return n


def grid(width: int, height: int) -> jax.Array:
    """Points of the complex plane around the set, one for each pixel."""
    real = np.linspace(-2.2, 0.8, width, dtype=np.float32)
    imaginary = np.linspace(1.2, -1.2, height, dtype=np.float32)
    return jnp.asarray(real + 1j * imaginary[:, None], jnp.complex64)


def render(points: jax.Array, limit: int) -> jax.Array:
    """The escape time of every point of an array of two dimensions, in one XLA program."""
    each = ag.convert(escape_time)
    picture = jax.jit(jax.vmap(jax.vmap(lambda c: each(c, limit))))
    counts: jax.Array = picture(points)
    return counts


def write_png(counts: jax.Array, limit: int, path: Path) -> None:
    """Colour by the logarithm of the count, so that the edge keeps its detail; the set is black."""
    shade = np.log1p(np.asarray(counts)) / np.log1p(limit)
    image.imsave(path, np.where(counts >= limit, 0, shade), vmin=0, vmax=1, cmap="magma")


def main(output: Path, width: int = 750, height: int = 600, limit: int = 200) -> bool:
    """Render, write the file, print its path; do three known points have the counts they must have?"""
    start = time.perf_counter()
    counts = jax.block_until_ready(render(grid(width, height), limit))
    seconds = time.perf_counter() - start
    print(f"  {width} x {height} points, up to {limit} steps each: {seconds:.2f} s, compilation included")
    path = (output / "mandelbrot.png").resolve()
    write_png(counts, limit, path)
    print(f"  wrote {path}")
    # 0 and -1 never leave; 1 goes 0, 1, 2, 5.
    known = render(jnp.asarray([[0, -1, 1]], jnp.complex64), limit)
    return known.tolist() == [[limit, limit, 3]]
