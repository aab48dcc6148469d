"""Loops over whole arrays that end by a test on all of them: the Mandelbrot set as a grid, an adaptive integrator of Lorenz 96."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograph.tools.bench.workloads.workload import Program, Workload

# The Mandelbrot set, all points at once: a mask says which have not escaped.


def _grid(xp: Any) -> Program:
    def grid(cr, ci, limit):
        zr = xp.zeros_like(cr)
        zi = xp.zeros_like(ci)
        counts = xp.zeros(cr.shape, xp.int32)
        inside = zr * zr + zi * zi <= 4.0
        k = 0
        while k < limit and inside.any():
            new = xp.where(inside, zr * zr - zi * zi + cr, zr)
            zi = xp.where(inside, 2.0 * zr * zi + ci, zi)
            zr = new
            inside = zr * zr + zi * zi <= 4.0
            counts = counts + inside
            k += 1
        return counts.sum()

    return grid


def _grid_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    def step(zr, zi, counts, inside, cr, ci):
        new = jnp.where(inside, zr * zr - zi * zi + cr, zr)
        zi = jnp.where(inside, 2.0 * zr * zi + ci, zi)
        inside = new * new + zi * zi <= 4.0
        return new, zi, counts + inside, inside

    def begun(cr):
        zero = jnp.zeros_like(cr)
        return zero, zero, jnp.zeros(cr.shape, jnp.int32), jnp.ones(cr.shape, bool)

    def one_by_one(cr, ci, limit):
        def body(carry):
            k, *state = carry
            zr, zi, counts, inside = state
            return k + 1, *step(zr, zi, counts, inside, cr, ci)

        return lax.while_loop(lambda c: (c[0] < limit) & c[4].any(), body, (0, *begun(cr)))[3].sum()

    def in_chunks(cr, ci, limit):
        """Eight iterations between tests: a point that has escaped stays as it is."""

        def body(carry):
            k, *state = carry
            for j in range(8):
                zr, zi, counts, inside = state
                inside = inside & (k + j < limit)
                state = step(zr, zi, counts, inside, cr, ci)
                state = (*state[:2], jnp.where(inside, state[2], counts), jnp.where(inside, state[3], inside))
            return k + 8, *state

        return lax.while_loop(lambda c: (c[0] < limit) & c[4].any(), body, (0, *begun(cr)))[3].sum()

    return {"straightforward": one_by_one, "best": in_chunks}


# Lorenz 96, 40 variables, by the method of Bogacki and Shampine: a step is accepted or made smaller.


def _lorenz(xp: Any) -> Program:
    def slope(x):
        return (xp.roll(x, -1) - xp.roll(x, 2)) * xp.roll(x, 1) - x + 8.0

    def integrate(x, end):
        t = 0.0
        h = 0.01
        while t < end:
            k1 = slope(x)
            k2 = slope(x + 0.5 * h * k1)
            k3 = slope(x + 0.75 * h * k2)
            new = x + h * (2.0 * k1 + 3.0 * k2 + 4.0 * k3) / 9.0
            k4 = slope(new)
            error = xp.max(xp.abs(h * (-5.0 * k1 + 6.0 * k2 + 8.0 * k3 - 9.0 * k4) / 72.0)) + 1e-9
            if error < 1e-4:
                t = t + h
                x = new
            h = min(h * min(2.0, max(0.3, 0.9 * (1e-4 / error) ** (1.0 / 3.0))), end - t + 1e-6)
        return x

    return integrate


def _lorenz_by_hand() -> Any:
    import jax.numpy as jnp
    from jax import lax

    def slope(x):
        return (jnp.roll(x, -1) - jnp.roll(x, 2)) * jnp.roll(x, 1) - x + 8.0

    def step(t, h, x, end):
        k1 = slope(x)
        k2 = slope(x + 0.5 * h * k1)
        k3 = slope(x + 0.75 * h * k2)
        new = x + h * (2.0 * k1 + 3.0 * k2 + 4.0 * k3) / 9.0
        k4 = slope(new)
        error = jnp.max(jnp.abs(h * (-5.0 * k1 + 6.0 * k2 + 8.0 * k3 - 9.0 * k4) / 72.0)) + 1e-9
        t, x = lax.cond(error < 1e-4, lambda: (t + h, new), lambda: (t, x))
        factor = jnp.minimum(2.0, jnp.maximum(0.3, 0.9 * (1e-4 / error) ** (1.0 / 3.0)))
        return t, jnp.minimum(h * factor, end - t + 1e-6), x

    return step


def _forward_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    step = _lorenz_by_hand()

    def integrate(x, end):
        return lax.while_loop(lambda c: c[0] < end, lambda c: step(*c, end), (jnp.float32(0), jnp.float32(0.01), x))[2]

    return {"straightforward": integrate}


def _lorenz_gradient(xp: Any) -> Program:
    import jax

    integrate = _lorenz(xp)

    def gradient(x, end):
        return jax.grad(lambda x: integrate(x, end)[0])(x)

    return gradient


_MOST_STEPS = 512


def _gradient_by_hand() -> Mapping[str, Program]:
    import jax
    import jax.numpy as jnp
    from jax import lax

    step = _lorenz_by_hand()

    def to_a_bound(x, end):
        def body(carry, _):
            goes_on = carry[0] < end
            return jax.tree.map(lambda a, b: jnp.where(goes_on, a, b), step(*carry, end), carry), None

        start = (jnp.float32(0), jnp.float32(0.01), x)
        return lax.scan(body, start, None, length=_MOST_STEPS)[0][2][0]

    @jax.custom_vjp
    def kept(x, end):
        return forward(x, end)[0]

    def forward(x, end):
        """All states are kept on the way."""

        def body(carry):
            k, state, rows = carry
            rows = [lax.dynamic_update_index_in_dim(row, part, k, 0) for row, part in zip(rows, state, strict=True)]
            return k + 1, step(*state, end), rows

        start = (jnp.float32(0), jnp.float32(0.01), x)
        rows = [jnp.zeros((_MOST_STEPS, *part.shape)) for part in start]
        count, last, rows = lax.while_loop(lambda c: c[1][0] < end, body, (0, start, rows))
        return last[2][0], (count, rows, end)

    def backward(given, cotangent):
        count, rows, end = given

        def body(carry):
            k, back = carry
            state = tuple(row[k] for row in rows)
            _, pull = jax.vjp(lambda *state: step(*state, end), *state)
            return k - 1, pull(back)

        zero = jnp.float32(0)
        start = (zero, zero, jnp.zeros(rows[2].shape[1:]).at[0].set(cotangent))
        return lax.while_loop(lambda c: c[0] >= 0, body, (count - 1, start))[1][2], None

    kept.defvjp(forward, backward)
    return {"straightforward": jax.grad(to_a_bound), "best": jax.grad(kept)}


def _plane(quick: bool) -> tuple[Any, ...]:
    width, height, limit = (12, 10, 20) if quick else (400, 300, 100)
    real, imaginary = np.meshgrid(np.linspace(-2.2, 0.8, width), np.linspace(-1.2, 1.2, height))
    return real.astype(np.float32), imaginary.astype(np.float32), np.int32(limit)


def _weather(end: float) -> Any:
    def arguments(quick: bool) -> tuple[Any, ...]:
        x = np.full(40, 8.0, np.float32)
        x[0] += 0.01
        return x, np.float32(0.1 if quick else end)

    return arguments


_JAX_ONLY = {name: "the gradient is taken with jax.grad" for name in ("numba", "tensorflow", "catalyst")}

GRIDS = [
    Workload("grid", "escape times of 400 × 300 points, at most 100 steps, all at once", _grid, _plane, _grid_by_hand),
    Workload("lorenz", "Lorenz 96 of 40 variables, adaptive steps", _lorenz, _weather(3.0), _forward_by_hand),
    Workload(
        "lorenz-gradient", "its gradient, in reverse", _lorenz_gradient, _weather(3.0), _gradient_by_hand, _JAX_ONLY
    ),
]
