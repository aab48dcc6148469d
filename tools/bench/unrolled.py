"""Compare loops over Python numbers staged and unrolled: ``python -m autograph.tools.bench.unrolled``.

Tracing and compilation in seconds, both ways in one run, at each number of iterations, and their ratio. The loop that
runs iteration by iteration has ``unroll=True``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

import autograph as ag

SIZES = (4, 8, 16, 24)


@dataclass(frozen=True)
class Program:
    """A program: ``make(iterations, unroll=…)`` returns a function that is not converted, and its arguments."""

    name: str
    make: Callable[..., tuple[Callable[..., Any], tuple[Any, ...]]]


def hamiltonian(iterations: int, unroll: bool | None = None) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A Hamiltonian Monte Carlo sampler: a chain, and in each step of it ten leapfrog steps."""

    def log_density(q: Any) -> Any:
        return -0.5 * jnp.sum((q - 1.0) ** 2) - 0.1 * jnp.sum(q**4)

    def sample(q: Any, key: Any) -> Any:
        step = 0.1
        total = jnp.zeros_like(q)
        for _ in range(iterations):
            ag.set_loop_options(unroll=unroll)
            key, for_p, for_test = jax.random.split(key, 3)
            p = jax.random.normal(for_p, q.shape)
            before = q, log_density(q) - 0.5 * jnp.sum(p * p)
            p = p + 0.5 * step * jax.grad(log_density)(q)
            for n in range(10):
                ag.set_loop_options(unroll=unroll)
                q = q + step * p
                if n < 9:
                    p = p + step * jax.grad(log_density)(q)
            p = p + 0.5 * step * jax.grad(log_density)(q)
            change = log_density(q) - 0.5 * jnp.sum(p * p) - before[1]
            if jnp.log(jax.random.uniform(for_test)) > change:
                q = before[0]
            total = total + q
        return q, total

    return sample, (jnp.zeros(3), jax.random.PRNGKey(0))


def annealing(iterations: int, unroll: bool | None = None) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Simulated annealing, as long as a temperature of Python's is above a bound."""
    end = 0.93 ** (2 * iterations)

    def anneal(x: Any, key: Any) -> Any:
        temperature, best = 1.0, x
        while temperature > end:
            ag.set_loop_options(unroll=unroll)
            key, for_y, for_test = jax.random.split(key, 3)
            y = x + temperature * jax.random.normal(for_y, x.shape)
            rise = jnp.sum(y**2 - jnp.cos(3 * y)) - jnp.sum(x**2 - jnp.cos(3 * x))
            if rise < 0 or jax.random.uniform(for_test) < jnp.exp(-rise / temperature):
                x = y
            if jnp.sum(x**2) < jnp.sum(best**2):
                best = x
            temperature *= 0.93
        return best

    return anneal, (jnp.ones(3), jax.random.PRNGKey(0))


def gauss_seidel(iterations: int, unroll: bool | None = None) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A sweep over the inner points of a grid, two loops deep."""

    def sweep(u: Any, f: Any) -> Any:
        for i in range(1, iterations + 1):
            ag.set_loop_options(unroll=unroll)
            for j in range(1, iterations + 1):
                ag.set_loop_options(unroll=unroll)
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
        return u

    size = max(SIZES) * 2 + 2
    return sweep, (jnp.ones((size, size)), jnp.ones((size, size)))


PROGRAMS = (
    Program("Hamiltonian Monte Carlo", hamiltonian),
    Program("simulated annealing", annealing),
    Program("Gauss-Seidel sweep", gauss_seidel),
)


def seconds(program: Program, iterations: int, unroll: bool | None) -> float:
    """What tracing and compiling it takes."""
    function, arguments = program.make(iterations, unroll=unroll)
    start = time.perf_counter()
    jax.jit(ag.convert(function)).lower(*arguments).compile()
    return time.perf_counter() - start


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of iterations of each loop")
    sizes = parser.parse_args(arguments).sizes
    jax.jit(lambda x: x + 1).lower(1.0).compile()  # what the first compilation of a process costs is nobody's
    print("Seconds to trace and compile, and how many times as long iteration by iteration.\n")
    print("| program | iterations | as it is | iteration by iteration | ratio |")
    print("| --- | --- | --- | --- | --- |")
    for program in PROGRAMS:
        for size in sizes:
            rolled, unrolled = seconds(program, size, None), seconds(program, size, True)
            row = program.name, str(size), f"{rolled:.2f}", f"{unrolled:.2f}", f"{unrolled / rolled:.1f}"
            print(f"| {' | '.join(row)} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
