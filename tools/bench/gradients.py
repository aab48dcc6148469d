"""The cost of gradients of loops: ``python -m autograph.tools.bench.gradients``.

Each program runs a step a thousand times, a number that is known only when it runs. Compared, in turns within one
run:

- forward: the converted loop against a bare `jax.lax.while_loop`;
- gradient: the same loop against two reverse passes written by hand (all carries kept; a scan of rematerialised
  blocks), against equinox's checkpointed loop (if equinox is there) and against `jax.lax.scan` to a bound;
- compile time of each, and the memory of the gradient over trip counts.

The shortest of the rounds, since others use the machine; ratios are to the best one written by hand.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

import autograph as ag

Step = Callable[[Any, Any], Any]
BOUND = 1024
STEPS = 1000


def programs() -> dict[str, tuple[Step, Any, Any]]:
    """By name: the step (parameters, state) -> state, the parameters, the first state."""

    def network(parameters: Any, state: Any) -> Any:
        weights, bias = parameters
        return jnp.tanh(weights @ state + bias)

    def lorenz(parameters: Any, state: Any) -> Any:
        x, y, z = state
        s, r, b = parameters
        return x + 0.002 * s * (y - x), y + 0.002 * (x * (r - z) - y), z + 0.002 * (x * y - b * z)

    def heat(parameters: Any, state: Any) -> Any:
        left, right = jnp.roll(state, 1), jnp.roll(state, -1)
        return state + 0.2 * parameters * (left - 2 * state + right) - 0.01 * jnp.sin(state)

    def weights(size: int) -> Any:
        return jax.random.normal(jax.random.key(0), (size, size)) * 0.9 / size**0.5, jnp.full(size, 0.01)

    return {
        "network of 16": (network, weights(16), jnp.full(16, 0.1)),
        "network of 128": (network, weights(128), jnp.full(128, 0.1)),
        "Lorenz": (lorenz, (10.0, 28.0, 8 / 3), (1.0, 1.0, 1.0)),
        "heat on 4,096 points": (heat, jnp.full(4096, 0.5), jnp.sin(jnp.arange(4096.0))),
    }


# The same loop, in as many ways.


def converted(step: Step, checkpoints: int | None = None) -> Callable[..., Any]:
    def loop(parameters: Any, state: Any, steps: Any) -> Any:
        k = 0
        while k < steps:
            ag.set_loop_options(checkpoints=checkpoints)
            state = step(parameters, state)
            k += 1
        return state

    return ag.convert(loop)


def bare(step: Step) -> Callable[..., Any]:
    def loop(parameters: Any, state: Any, steps: Any) -> Any:
        return lax.while_loop(
            lambda carry: carry[0] < steps,
            lambda carry: (carry[0] + 1, step(parameters, carry[1])),
            (jnp.int32(0), state),
        )[1]

    return loop


def carries_kept(step: Step) -> Callable[..., Any]:
    """By hand: forward keeps each carry, backward pulls back one step at a time."""
    run = jax.custom_vjp(bare(step))

    def forward(parameters: Any, state: Any, steps: Any) -> Any:
        def body(carry: Any) -> Any:
            k, state, rows = carry
            put = lambda row, leaf: lax.dynamic_update_index_in_dim(row, leaf, k, 0)  # noqa: E731
            return k + 1, step(parameters, state), jax.tree.map(put, rows, state)

        rows = jax.tree.map(lambda leaf: jnp.zeros((BOUND, *jnp.shape(leaf)), jnp.result_type(leaf)), state)
        _, state, rows = lax.while_loop(lambda c: c[0] < steps, body, (jnp.int32(0), state, rows))
        return state, (parameters, rows, steps)

    def backward(kept: Any, cotangent: Any) -> Any:
        parameters, rows, steps = kept

        def body(carry: Any) -> Any:
            k, sums, cotangent = carry
            state = jax.tree.map(lambda row: lax.dynamic_index_in_dim(row, k, 0, False), rows)
            _, pull = jax.vjp(step, parameters, state)
            more, cotangent = pull(cotangent)
            return k - 1, jax.tree.map(jnp.add, sums, more), cotangent

        sums = jax.tree.map(jnp.zeros_like, parameters)
        _, sums, cotangent = lax.while_loop(lambda c: c[0] >= 0, body, (steps - 1, sums, cotangent))
        return sums, cotangent, None

    run.defvjp(forward, backward)
    return run


def blocks_run_again(step: Step) -> Callable[..., Any]:
    """By hand: a scan over blocks of 32 steps, each rematerialised."""

    def loop(parameters: Any, state: Any, steps: Any) -> Any:
        def one(state: Any, k: Any) -> Any:
            new = step(parameters, state)
            return jax.tree.map(lambda a, b: jnp.where(k < steps, a, b), new, state), None

        @jax.checkpoint
        def block(state: Any, ks: Any) -> Any:
            return lax.scan(one, state, ks)[0], None

        return lax.scan(block, state, jnp.arange(BOUND).reshape(-1, 32))[0]

    return loop


def scan_to_a_bound(step: Step) -> Callable[..., Any]:
    def loop(parameters: Any, state: Any, steps: Any) -> Any:
        def one(state: Any, k: Any) -> Any:
            new = step(parameters, state)
            return jax.tree.map(lambda a, b: jnp.where(k < steps, a, b), new, state), None

        return lax.scan(one, state, jnp.arange(BOUND))[0]

    return loop


def of_equinox(step: Step) -> Callable[..., Any] | None:
    try:
        import equinox.internal as eqxi
    except ImportError:
        return None

    def loop(parameters: Any, state: Any, steps: Any) -> Any:
        return eqxi.while_loop(
            lambda carry: carry[0] < steps,
            lambda carry: (carry[0] + 1, step(parameters, carry[1])),
            (jnp.int32(0), state),
            kind="checkpointed",
            checkpoints=64,
        )[1]

    return loop


def gradient(loop: Callable[..., Any]) -> Callable[..., Any]:
    def loss(parameters: Any, state: Any, steps: Any) -> Any:
        return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(loop(parameters, state, steps)))

    return jax.grad(loss, (0, 1))


# Measuring.


class _Stopwatch:
    """Of clock and processor the lesser: others make the first longer, waiting threads the second."""

    seconds = 0.0

    def __enter__(self) -> _Stopwatch:
        self._clock, self._processor = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: Any) -> None:
        self.seconds = min(time.perf_counter() - self._clock, time.process_time() - self._processor)


class Timed:
    """A function compiled for some arguments, with its times in seconds."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        jax.block_until_ready(arguments)
        with _Stopwatch() as stopwatch:
            self.run = jax.jit(function).lower(*arguments).compile()
        self.compile_time = stopwatch.seconds
        self.result = jax.block_until_ready(self.run(*arguments))
        self.times: list[float] = []

    def once(self, *arguments: Any) -> None:
        start = time.perf_counter()  # processor time comes in ticks, which are longer than some of these
        jax.block_until_ready(self.run(*arguments))
        self.times.append(time.perf_counter() - start)

    @property
    def time(self) -> float:
        return min(self.times)

    @property
    def memory(self) -> int:
        analysis = self.run.memory_analysis()
        return 0 if analysis is None else analysis.temp_size_in_bytes


def compare(functions: dict[str, Callable[..., Any]], arguments: Any, rounds: int) -> dict[str, Timed]:
    timed = {name: Timed(function, *arguments) for name, function in functions.items()}
    for _ in range(rounds):
        for each in timed.values():
            each.once(*arguments)
    return timed


def show(timed: dict[str, Timed], reference: list[str]) -> None:
    best = min(timed[name].time for name in reference)
    first = next(iter(timed.values())).result
    for name, each in timed.items():
        scale = [jnp.max(jnp.abs(leaf)) + 1e-30 for leaf in jax.tree.leaves(first)]
        pairs = zip(jax.tree.leaves(first), jax.tree.leaves(each.result), scale, strict=True)
        error = max(float(jnp.max(jnp.abs(a - b)) / s) for a, b, s in pairs)
        print(
            f"  {name:24s}{each.time * 1e3:10.3f} ms {each.time / best:7.2f}x"
            f"   compiled in {each.compile_time:5.2f} s   {each.memory / 1024:9.0f} KiB   differs {error:.0e}"
        )


COUNTS = (100, 316, 1_000, 3_162, 10_000, 31_623, 100_000)


def main() -> None:
    """Print one table for each program, then memory and time over trip counts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", help='a part of a program\'s name; "counts" for the trip counts alone')
    parser.add_argument("--picture", type=Path, help="also draw memory and time over trip counts into this file")
    options = parser.parse_args()
    for name in programs():
        if options.only is None or options.only in name:
            compare_all(name, options.rounds)
    if options.only in (None, "counts"):
        measured = over_trip_counts()
        if options.picture is not None:
            draw(measured, options.picture)


def compare_all(name: str, rounds: int) -> None:
    step, parameters, state = programs()[name]
    parameters, state = jax.tree.map(jnp.asarray, (parameters, state))
    arguments = parameters, state, jnp.int32(STEPS)
    print(f"{name}, forward")
    show(compare({"bare": bare(step), "autograph": converted(step)}, arguments, 2 * rounds), ["bare"])
    print(f"{name}, gradient")
    by_hand = {"all carries, by hand": carries_kept(step), "blocks, by hand": blocks_run_again(step)}
    others = {"scan to a bound": scan_to_a_bound(step)}
    if (equinox := of_equinox(step)) is not None:
        others["equinox, checkpointed"] = equinox
    loops = {**by_hand, "autograph": converted(step), **others}
    timed = compare({key: gradient(loop) for key, loop in loops.items()}, arguments, rounds)
    show(timed, list(by_hand))


Measured = dict[str, list[tuple[int, float, int]]]


def over_trip_counts() -> Measured:
    """By way of writing the loop: numbers of steps, seconds (the fastest round) and bytes of its gradient."""
    step, parameters, state = programs()["network of 16"]
    print("network of 16, gradient over trip counts")
    measured: Measured = {}
    for steps in COUNTS:

        def scan(parameters: Any, state: Any, _: Any, steps: int = steps) -> Any:
            return lax.scan(lambda s, _: (step(parameters, s), None), state, None, length=steps)[0]

        loops = {
            "autograph": converted(step),
            "autograph, 64 checkpoints": converted(step, 64),
            "equinox, 64 checkpoints": of_equinox(step),
            "scan of that length": scan,
        }
        functions = {name: gradient(loop) for name, loop in loops.items() if loop is not None}
        timed = compare(functions, (parameters, state, jnp.int32(steps)), 3 if steps > 10_000 else 9)
        print(f"  {steps:>7} steps")
        for name, each in timed.items():
            fastest = min(each.times)
            print(f"    {name:28s}{fastest * 1e3:9.2f} ms {each.memory / 1024:8.0f} KiB")
            measured.setdefault(name, []).append((steps, fastest, each.memory))
    return measured


def draw(measured: Measured, path: Path) -> None:
    """Memory beside time, each over the number of steps."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(8, 3), layout="constrained")
    for axes, title in zip(panels, ("memory of the gradient, KiB", "time, ms"), strict=True):
        for marker, (name, points) in zip("osD^", measured.items(), strict=False):
            values = [bytes_ / 1024 if axes is panels[0] else seconds * 1e3 for _, seconds, bytes_ in points]
            axes.loglog([steps for steps, _, _ in points], values, marker + "-", markersize=3, linewidth=1, label=name)
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("steps of the loop", fontsize=8)
        axes.tick_params(labelsize=7)
        axes.grid(linewidth=0.3)
    panels[0].legend(fontsize=7)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
