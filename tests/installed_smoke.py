"""Run by `make package` with the wheel alone installed: what a first program uses, and that the repository's tools are not there."""

from __future__ import annotations

import importlib.util

import jax
import jax.numpy as jnp

import autograph as ag


@ag.function
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


total = ag.Variable(0.0)


@ag.function
def add(values):
    for value in values:
        if value > 0:
            total.assign_add(value)
    return total.value


def root(a):
    x = a
    while abs(x * x - a) > 1e-6:
        x = (x + a / x) / 2
    return x


if __name__ == "__main__":
    assert int(collatz(jnp.array(27))) == 111
    assert float(add(jnp.array([1.0, -2.0, 3.0]))) == float(total.value) == 4.0
    assert abs(float(jax.grad(ag.convert(root))(4.0)) - 0.25) < 1e-3
    assert "ag__.while_stmt" in ag.to_code(root)
    assert all(
        importlib.util.find_spec(f"autograph.tools.{name}") is None for name in ("bench", "fuzz", "conformance", "demo")
    )
    print(f"autograph {ag.__version__} works as installed")
