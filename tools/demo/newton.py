"""Newton's method solves a boundary-value problem by shooting, with a `break` when the step is small.

Bratu's problem, the temperature in a slab whose reaction heats itself: u'' = -LAM * exp(u), u(0) = u(1) = 0.
Shooting guesses the slope u'(0), integrates to the far wall, and asks Newton for the slope that ends at zero.
There are two answers, a cool slab and a hot one, and both are known in closed form.
"""

# ruff: noqa: B007 (`i` is read after its loop)

from __future__ import annotations

import math
from pathlib import Path

import jax
import jax.numpy as jnp

import autograph as ag

LAM = 1.0
# Initial slopes, and brackets for the closed form's theta (see `exact_slope`).
BRANCHES = {"cool": (3.0, (0.0, 4.8)), "hot": (14.0, (4.8, 20.0))}
# In single precision; measured: 1e-6 (cool), 1e-5 (hot).
REQUIRED_PRECISION = 1e-4


def far_wall(slope, steps):
    """u(1) when u starts at 0 with this slope: classical Runge-Kutta."""
    h = 1.0 / steps
    u, du = 0.0, slope
    for _ in ag.range(steps):
        a1, b1 = du, -LAM * jnp.exp(u)
        a2, b2 = du + h / 2 * b1, -LAM * jnp.exp(u + h / 2 * a1)
        a3, b3 = du + h / 2 * b2, -LAM * jnp.exp(u + h / 2 * a2)
        a4, b4 = du + h * b3, -LAM * jnp.exp(u + h * a3)
        u = u + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        du = du + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
    return u


@ag.function
def solve(x, steps=200, tol=1e-5):
    """The slope, the iterations and the miss."""
    shoot = jax.value_and_grad(far_wall)
    for i in range(100):
        miss, rate = shoot(x, steps)
        dx = miss / rate
        x = x - dx
        if abs(dx) < tol:
            break
    return x, i + 1, far_wall(x, steps)


def exact_slope(bracket: tuple[float, float]) -> float:
    """The slope of the closed form: theta * tanh(theta / 4), where theta = sqrt(2 LAM) * cosh(theta / 4).

    That equation has one root below 4.8 and one above; bisection finds the one in the bracket.
    """
    low, high = bracket

    def excess(theta: float) -> float:
        return theta - math.sqrt(2 * LAM) * math.cosh(theta / 4)

    below = excess(low)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) * below > 0 else (low, middle)
    return low * math.tanh(low / 4)


def main(output: Path) -> bool:
    """Find both slabs, print them, and compare with the closed form."""
    del output
    passed = True
    for name, (guess, bracket) in BRANCHES.items():
        slope, iterations, miss = solve(jnp.asarray(guess))
        exact = exact_slope(bracket)
        print(f"  {name:4} from {guess:4}: u'(0) = {slope:.5f} (exactly {exact:.5f})")
        print(f"  {'':15} {iterations} iterations, residual |u(1)| = {abs(miss):.1e}")
        passed &= max(abs(float(slope) - exact), abs(float(miss))) < REQUIRED_PRECISION
    return bool(passed)
