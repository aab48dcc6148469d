"""Loops over scalars: Newton's method, the Mandelbrot set, Collatz sequences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograph.tools.bench.workloads.workload import Program, Workload

# Newton's method, left by `break`.


def _newton(xp: Any) -> Program:
    def newton(n):
        total = 0.0
        a = 0.0
        for _ in range(n):
            a += 1.0
            x = a
            for _ in range(60):
                new = 0.5 * (x + a / x)
                if abs(new - x) <= 1e-6 * new:
                    break
                x = new
            total += x
        return total

    return newton


def _newton_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    def root(a):
        def goes_on(carry):
            i, x, done = carry
            return (i < 60) & ~done

        def step(carry):
            i, x, _ = carry
            new = 0.5 * (x + a / x)
            done = jnp.abs(new - x) <= 1e-6 * new
            return i + 1, jnp.where(done, x, new), done

        return lax.while_loop(goes_on, step, (0, a, False))[1]

    def newton(n):
        return lax.fori_loop(0, n, lambda _, c: (c[0] + 1.0, c[1] + root(c[0] + 1.0)), (0.0, 0.0))[1]

    return {"straightforward": newton}


# The Mandelbrot set, point by point.


def _mandelbrot(xp: Any) -> Program:
    def mandelbrot(width, height, limit, dx, dy):
        total = 0
        ci = -1.2
        for _ in range(height):
            ci = ci + dy
            cr = -2.2
            for _ in range(width):
                cr = cr + dx
                zr = 0.0
                zi = 0.0
                n = 0
                while n < limit and zr * zr + zi * zi <= 4.0:
                    new = zr * zr - zi * zi + cr
                    zi = 2.0 * zr * zi + ci
                    zr = new
                    n += 1
                total += n
        return total

    return mandelbrot


def _mandelbrot_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    def point(cr, ci, limit):
        def goes_on(carry):
            zr, zi, n = carry
            return (n < limit) & (zr * zr + zi * zi <= 4.0)

        def step(carry):
            zr, zi, n = carry
            return zr * zr - zi * zi + cr, 2.0 * zr * zi + ci, n + 1

        return lax.while_loop(goes_on, step, (0.0, 0.0, 0))[2]

    def mandelbrot(width, height, limit, dx, dy):
        def row(_, carry):
            ci, total = carry
            ci = ci + dy

            def column(_, carry):
                cr, total = carry
                cr = cr + dx
                return cr, total + point(cr, ci, limit)

            return ci, lax.fori_loop(0, width, column, (jnp.float32(-2.2), total))[1]

        return lax.fori_loop(0, height, row, (jnp.float32(-1.2), 0))[1]

    return {"straightforward": mandelbrot}


# Collatz: the longest sequence.


def _collatz(xp: Any) -> Program:
    def collatz(n):
        longest = 0
        for start in range(1, n):
            value = start
            steps = 0
            while value != 1:
                if value % 2 == 0:
                    value = value // 2
                else:
                    value = 3 * value + 1
                steps += 1
            if steps > longest:
                longest = steps
        return longest

    return collatz


def _collatz_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    def length(start, step):
        return lax.while_loop(lambda c: c[0] != 1, lambda c: (step(c[0]), c[1] + 1), (start, 0))[1]

    def with_cond(value):
        return lax.cond(value % 2 == 0, lambda v: v // 2, lambda v: 3 * v + 1, value)

    def with_bits(value):
        return jnp.where(value & 1, 3 * value + 1, value >> 1)

    def over(step):
        return lambda n: lax.fori_loop(1, n, lambda s, longest: jnp.maximum(longest, length(s, step)), 0)

    return {"straightforward": over(with_cond), "best": over(with_bits)}


def _count(full: int, quick: int) -> Any:
    return lambda is_quick: (np.int32(quick if is_quick else full),)


def _plane(quick: bool) -> tuple[Any, ...]:
    width, height, limit = (6, 5, 20) if quick else (100, 80, 100)
    return *map(np.int32, (width, height, limit)), np.float32(3 / width), np.float32(2.4 / height)


SCALARS = [
    Workload(
        "newton",
        "2,000 square roots by Newton's method, each left by break",
        _newton,
        _count(2000, 20),
        _newton_by_hand,
    ),
    Workload(
        "mandelbrot",
        "escape times of 100 × 80 points, at most 100 steps each, point by point",
        _mandelbrot,
        _plane,
        _mandelbrot_by_hand,
    ),
    Workload(
        "collatz",
        "the longest Collatz sequence that starts below 3,000",
        _collatz,
        _count(3000, 30),
        _collatz_by_hand,
    ),
]
