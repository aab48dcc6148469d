"""``python -m autograph.tools.bench.calibrate``: the measurements behind `backends/xla/cost_model.py`, taken again.

For each constant it prints what stands there and what it finds here, on the machine and for the platform that JAX has. Nothing is
changed: a constant is what several machines agree on, and which of two forms is faster near a limit matters little.
"""

from __future__ import annotations

import argparse
import functools
import random
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from autograph.backends.xla import cost_model
from autograph.tools.bench.turns import timed_in_turns

STEPS = 20_000  # iterations of the loops that are timed
UNARY: dict[str, Callable[[Any], Any]] = {
    "sqrt": jnp.sqrt,
    "rsqrt": lax.rsqrt,
    "exp": lambda x: jnp.exp(-x),
    "log": lambda x: jnp.log(x + 1),
    "sin": jnp.sin,
    "tanh": jnp.tanh,
    "logistic": jax.nn.sigmoid,
    "div": lambda x: 1.001 / x,
    "pow": lambda x: (x + 1) ** 0.3,
    "atan": jnp.arctan,
    "erf": jax.scipy.special.erf,
}


def seconds(function: Callable[..., Any], *operands: Any, rounds: int = 7) -> float:
    """The least time of a call of the compiled function."""
    compiled = jax.jit(function).lower(*operands).compile()
    return least([compiled], *operands, rounds=rounds)[0]


def least(forms: Sequence[Any], *operands: Any, rounds: int) -> list[float]:
    """The least time of each form, which take turns."""
    for form in forms:
        jax.block_until_ready(form(*operands))
    return [min(times) for times in timed_in_turns([functools.partial(form, *operands) for form in forms], rounds)]


def chained(operation: Callable[[Any], Any], count: int) -> Callable[[Any, Any], Any]:
    """A loop of so many operations one behind another, each after a product that keeps it from being put together with the next."""

    def run(x: Any, y: Any) -> Any:
        for _ in range(count):
            x = operation(x * y)
        return x

    return lambda x, y: lax.fori_loop(0, STEPS, lambda _, x: run(x, y), x)


def operations() -> None:
    """What each operation on a number costs, in additions."""
    operands = jnp.float32(0.75), jnp.float32(0.9)

    def each(operation: Callable[[Any], Any]) -> float:
        long, short = (seconds(chained(operation, count), *operands, rounds=15) for count in (24, 8))
        return long - short

    product = each(lambda x: x)
    for name, operation in UNARY.items():
        found = (each(operation) - product) / product  # a product takes as long as an addition
        shown("OPERATIONS", name, cost_model.OPERATIONS.get(name, 1), found)


def conditional() -> None:
    """From how many additions on choosing a branch takes less time than computing both."""
    values = jnp.asarray(np.random.default_rng(0).normal(size=STEPS).astype(np.float32))

    def loop(count: int, choose: Callable[..., Any]) -> Callable[[Any], Any]:
        def branch(y: Any) -> Any:
            for k in range(count // 2):
                y = y * 0.5 + k
            return y

        return lambda xs: lax.scan(lambda y, x: (choose(x > 0, branch, lambda y: y * 0.5, y), None), 0.0, xs)[0]

    def both(predicate: Any, taken: Any, other: Any, y: Any) -> Any:
        return jnp.where(predicate, taken(y), other(y))

    for count in (4, 8, 16, 24, 32, 48, 64, 96):
        forms = [jax.jit(loop(count, choose)).lower(values).compile() for choose in (lax.cond, both)]
        chosen, selected = least(forms, values, rounds=9)
        shown("CPU_SELECTS", f"{count} additions: select / cond", cost_model.CPU_SELECTS.operations, selected / chosen)


def mapped() -> None:
    """What mapping a branch over all iterations costs where one iteration in a thousand takes it."""
    values = jnp.asarray(np.random.default_rng(0).normal(size=100_000).astype(np.float32))
    for count in (0, 1, 2, 3, 4, 5, 6, 8):

        def branch(x: Any, count: int = count) -> Any:
            for _ in range(count):
                x = jnp.exp(-x)
            return x

        def loop(xs: Any, branch: Callable[[Any], Any] = branch) -> Any:
            return lax.scan(lambda _, x: (None, lax.cond(x > 3.1, branch, lambda x: x * 2, x)), None, xs)[1]

        def at_once(xs: Any, branch: Callable[[Any], Any] = branch) -> Any:
            return jnp.where(xs > 3.1, branch(xs), xs * 2)

        forms = [jax.jit(form).lower(values).compile() for form in (loop, at_once)]
        one_by_one, all_at_once = least(forms, values, rounds=9)
        cost = count * cost_model.OPERATIONS["exp"]
        shown("MAPPED", f"{cost} additions: mapped / loop", cost_model.MAPPED.operations, all_at_once / one_by_one)


def unrolling(bodies: int) -> None:
    """Of bodies made at random: their work, whether they remain one kernel, and what several iterations at once take."""
    print(
        "UNROLLED: of each body its work and operations, how many iterations at once are one kernel, and the time to one"
    )
    print("\n".join(f"  {count} at once: stands at {most}" for count, most in cost_model.UNROLLED.items()))
    for seed in range(bodies):
        chance = random.Random(seed)
        carried, rows, length = chance.randint(1, 5), chance.randint(0, 2), chance.randint(2, 20)
        body = random_body(chance, carried, rows, length)
        signal = jnp.asarray(np.random.default_rng(0).normal(size=STEPS).astype(np.float32))
        first = (jnp.float32(0.5),) * carried
        counts = (1, 4, 8)
        forms = [
            jax.jit(lambda xs, n=n: lax.scan(body, first, xs, unroll=n)).lower(signal).compile()  # noqa: B023
            for n in counts
        ]
        times = least(forms, signal, rounds=5)
        one_kernel = [n for n, form in zip(counts, forms, strict=True) if "xla_cpu_small_call" in str(form.as_text())]
        ratios = ", ".join(f"{n}: {t / times[0]:.2f}" for n, t in zip(counts, times, strict=True))
        operations = counted(body, first, signal)
        size = f"work {operations * (carried + rows):4d} operations {operations:3d}"
        print(f"  {size}   one kernel {one_kernel!s:12} {ratios}", flush=True)


def random_body(chance: random.Random, carried: int, rows: int, length: int) -> Callable[[Any, Any], Any]:
    """A body of so many operations, of which the last are its results."""
    kinds: list[Callable[[Any, Any], Any]] = [
        lambda a, b: a * b * 0.5,
        lambda a, b: a + b,
        lambda a, b: a - b,
        jnp.maximum,
        lambda a, b: jnp.where(a > b, a, b * 0.5),
    ]
    plan = [(chance.choice(kinds), chance.random()) for _ in range(length)]

    def body(carry: Any, x: Any) -> Any:
        values = [*carry, x]
        for operation, place in plan:
            values.append(operation(values[-1], values[int(place * len(values))]))
        results = (values[-carried - rows :] * (carried + rows))[: carried + rows]
        return tuple(results[:carried]), tuple(results[carried:])

    return body


def counted(body: Callable[[Any, Any], Any], first: Any, signal: Any) -> int:
    """How many operations of a body its results are computed from, as `optimize.unrolling` counts them."""
    jaxpr = jax.make_jaxpr(body)(first, signal[0]).jaxpr
    needed = {id(atom) for atom in jaxpr.outvars}
    found = 0
    for equation in reversed(jaxpr.eqns):
        if any(id(var) in needed for var in equation.outvars):
            needed.update(id(atom) for atom in equation.invars)
            inner = equation.params.get("jaxpr")
            found += 1 if inner is None else len(inner.eqns)
    return found


def shown(constant: str, what: str, stands: float, found: float) -> None:
    """One line of what is printed."""
    print(f"{constant:14} {what:36} stands at {stands:6.4g}   found {found:6.2f}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all, or what is named."""
    parser = argparse.ArgumentParser(prog="calibrate", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="operations, conditional, mapped, unrolling (default: all)")
    parser.add_argument("--bodies", type=int, default=20, help="how many bodies made at random (%(default)s)")
    options = parser.parse_args(arguments)
    parts: dict[str, Callable[[], None]] = {
        "operations": operations,
        "conditional": conditional,
        "mapped": mapped,
        "unrolling": lambda: unrolling(options.bodies),
    }
    if unknown := [name for name in options.names if name not in parts]:
        parser.error(f"no measurement {unknown[0]!r}; there are {', '.join(parts)}")
    print(f"On {jax.devices()[0].device_kind}, platform {jax.default_backend()}, jax {jax.__version__}")
    for name in options.names or parts:
        parts[name]()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
