"""The time of a call of an `ag.function` relative to `jax.jit`: ``python -m autograph.tools.bench.dispatch``.

The bodies do next to nothing, so that what is measured is the way to the compiled program. Both sides of a
line are timed in turns, and the ratio is the median of the ratios of the rounds, whose two sides follow each
other within milliseconds: what else the machine does meets both.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import importlib.util
import itertools
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import autograph as ag

Call = Callable[[], Any]


class _Model:
    """A method of each kind."""

    def __init__(self) -> None:
        self.weights = jnp.ones(3)

    @ag.function
    def compiled(self, x: Any) -> Any:
        return x + self.weights

    @functools.partial(jax.jit, static_argnums=0)
    def jitted(self, x: Any) -> Any:
        return x + self.weights


class _Pair(NamedTuple):
    one: Any
    other: Any


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class _Layer:
    weights: Any
    bias: Any


def _first(tree: Any) -> Any:
    return jax.tree_util.tree_leaves(tree)[0] + 1


def _helper(x: Any) -> Any:
    return x + 1


_SCALE = 2


def _capturing(x: Any) -> Any:
    return _helper(x) * _SCALE


def cases() -> dict[str, tuple[Call, Call]]:
    """By name, a call of ours and the same call of `jax.jit`."""
    x = jnp.ones(3)
    found: dict[str, tuple[Call, Call]] = {}

    def add(name: str, f: Callable[..., Any], *args: Any, **options: Any) -> None:
        ours, theirs = ag.function(f), jax.jit(f, **options)
        found[name] = (lambda: ours(*args)), (lambda: theirs(*args))

    add("one array", _helper, x)
    add("two arrays", lambda a, b: a + b, x, x)
    add("three arrays", lambda a, b, c: a + b + c, x, x, x)
    add("a dict of 50 arrays", _first, {f"k{k}": x for k in range(50)})
    add("25 dicts of 2 arrays", _first, {f"k{k}": {"w": x, "b": x} for k in range(25)})
    add("a list of 50 arrays", _first, [x] * 50)
    add("an array and an int (static)", lambda a, n: a * n, x, 3, static_argnums=1)
    add("an array and a float (static)", lambda a, n: a * n, x, 0.5, static_argnums=1)
    add("an array and a str (static)", lambda a, n: a, x, "mean", static_argnums=1)
    add("a named tuple of two arrays", lambda pair: pair.one + pair.other, _Pair(x, x))
    add("a registered dataclass", lambda layer: x @ layer.weights + layer.bias, _Layer(x, x))
    add("captured function and scalar", _capturing, x)
    ours_by_name, theirs_by_name = ag.function(_helper), jax.jit(_helper)
    found["one array by keyword"] = (lambda: ours_by_name(x=x)), (lambda: theirs_by_name(x=x))
    found["two arrays by keyword"] = _by_keyword(x)
    found["four shapes in turn"] = _shapes_in_turn()
    with_spec = ag.function(_helper, [ag.TensorSpec([None])])
    theirs_alone = jax.jit(_helper)
    found["one array, symbolic dimension"] = (lambda: with_spec(x)), (lambda: theirs_alone(x))
    model = _Model()
    found["a method"] = (lambda: model.compiled(x)), (lambda: model.jitted(x))
    found["ten Variables read, one written"] = _with_variables(x)
    found["ten Variables written"] = _with_variables_written(x)
    found["a function that may raise"] = _raising(x)
    if importlib.util.find_spec("optax") is not None:
        found["a step with optax.adamw"] = _training()
    if importlib.util.find_spec("equinox") is not None:
        found["a model of equinox (filter_jit)"] = _of_equinox()
    if importlib.util.find_spec("flax") is not None:
        found["a module of flax.nnx (nnx.jit)"] = _of_flax()
    return found


def _by_keyword(x: Any) -> tuple[Call, Call]:
    ours, theirs = ag.function(lambda a, b: a + b), jax.jit(lambda a, b: a + b)
    return (lambda: ours(a=x, b=x)), (lambda: theirs(a=x, b=x))


def _shapes_in_turn() -> tuple[Call, Call]:
    arrays = [jnp.ones(n) for n in (3, 4, 5, 6)]
    ours, theirs = ag.function(_helper), jax.jit(_helper)
    one, other = itertools.cycle(arrays).__next__, itertools.cycle(arrays).__next__
    return (lambda: ours(one())), (lambda: theirs(other()))


def _with_variables(x: Any) -> tuple[Call, Call]:
    """A function with ten Variables, and `jax.jit` of the same with their values passed in and out by hand."""
    variables = [ag.Variable(x) for _ in range(10)]

    @ag.function
    def ours(y: Any) -> Any:
        for variable in variables[1:]:
            y = y + variable
        variables[0].assign(y)
        return y

    @jax.jit
    def theirs(values: Any, y: Any) -> Any:
        for value in values[1:]:
            y = y + value
        return y, y

    values = [x] * 10

    def call() -> Any:
        y, values[0] = theirs(values, x)
        return y

    return (lambda: ours(x)), call


def _with_variables_written(x: Any) -> tuple[Call, Call]:
    """As `_with_variables`, with a new value for each."""
    variables, values = [ag.Variable(x) for _ in range(10)], [x] * 10

    @ag.function
    def ours(y: Any) -> Any:
        for variable in variables:
            variable.assign_add(y)
        return y

    @jax.jit
    def theirs(values: Any, y: Any) -> Any:
        return y, [value + y for value in values]

    def call() -> Any:
        y, values[:] = theirs(values, x)
        return y

    return (lambda: ours(x)), call


def _raising(x: Any) -> tuple[Call, Call]:
    """A function that raises where a sum is negative, and `jax.jit` of one that returns whether it should, looked at by hand."""

    @ag.function
    def ours(y: Any) -> Any:
        if y.sum() < 0:
            raise ValueError("negative")
        return y + 1

    @jax.jit
    def theirs(y: Any) -> Any:
        return y + 1, y.sum() < 0

    def call() -> Any:
        result, is_negative = theirs(x)
        if is_negative:
            raise ValueError("negative")
        return result

    return (lambda: ours(x)), call


def _training() -> tuple[Call, Call]:
    """A step whose state is a dict of parameters and optax's named tuples."""
    import optax

    optimizer = optax.adamw(1e-3)
    parameters = {"w": jnp.ones(3), "b": jnp.ones(3)}
    state = optimizer.init(parameters)

    def step(parameters: Any, state: Any) -> Any:
        updates, state = optimizer.update(parameters, state, parameters)
        return optax.apply_updates(parameters, updates), state

    ours, theirs = ag.function(step), jax.jit(step)
    return (lambda: ours(parameters, state)), (lambda: theirs(parameters, state))


def _of_equinox() -> tuple[Call, Call]:
    """A module of equinox, which `jax.jit` takes no functions in: what its own ``filter_jit`` takes."""
    import equinox

    model, x = equinox.nn.Linear(3, 3, key=jax.random.key(0)), jnp.ones(3)

    def predicted(model: Any, x: Any) -> Any:
        return model(x)

    ours, theirs = ag.function(predicted), equinox.filter_jit(predicted)
    return (lambda: ours(model, x)), (lambda: theirs(model, x))


def _of_flax() -> tuple[Call, Call]:
    """A module of flax.nnx, whose variables are state, and flax's own ``jit``."""
    from flax import nnx

    model, x = nnx.Linear(3, 3, rngs=nnx.Rngs(0)), jnp.ones(3)
    ours, theirs = ag.function(lambda model, x: model(x)), nnx.jit(lambda model, x: model(x))
    return (lambda: ours(model, x)), (lambda: theirs(model, x))


def measure(
    pair: tuple[Call, Call], rounds: int, calls: int, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, float, float]:
    """Microseconds a call of each, and their ratio: the medians of rounds taken in turns."""
    times: tuple[list[float], list[float]] = ([], [])
    for call in pair:
        for _ in range(10):
            jax.block_until_ready(call())
    for number in range(rounds):
        for side in (0, 1) if number % 2 else (1, 0):
            call = pair[side]
            begin = clock()
            for _ in range(calls):
                result = call()
            times[side].append((clock() - begin) / calls * 1e6)
            jax.block_until_ready(result)
    ratios = [one / other for one, other in zip(*times, strict=True)]
    return statistics.median(times[0]), statistics.median(times[1]), statistics.median(ratios)


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description="What a call costs against jax.jit.")
    parser.add_argument("--rounds", type=int, default=201, help="how often each side is timed (%(default)s)")
    parser.add_argument("--calls", type=int, default=100, help="calls each time (%(default)s)")
    parser.add_argument(
        "--own",
        action="store_true",
        help="count what the calling thread itself takes: for a machine with other work to do",
    )
    options = parser.parse_args(arguments)
    clock = time.thread_time if options.own else time.perf_counter
    print(f"{'':34}{'autograph':>12}{'jax.jit':>10}{'ratio':>8}")
    for name, pair in cases().items():
        ours, theirs, ratio = measure(pair, options.rounds, options.calls, clock)
        print(f"{name:34}{ours:9.2f} µs{theirs:7.2f} µs{ratio:8.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
