"""What is compiled for TPUs: the corpus, the demonstration of training, and programs of each kind that loops come in.

Each is compiled for one chip, and for four: a program of the corpus mapped over lanes, of which each chip has a quarter, any
other with its arrays cut by rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

import autograph as ag
from autograph.tools.demo import digits
from tests.corpus import Program, all_programs

ONE, FOUR = "tpu:v5e:1x1", "tpu:v5e:2x2"
LANES = 8192
ROWS = NamedSharding(AbstractMesh((4,), ("rows",), axis_types=(AxisType.Auto,)), PartitionSpec("rows"))
Spec = jax.ShapeDtypeStruct


@dataclass(frozen=True, eq=False)  # arguments are types, in trees that do not hash
class Target:
    """A program for a target: a function of ours, and its arguments, types among them."""

    name: str
    function: ag.Function
    arguments: tuple[Any, ...]
    chips: str

    def lowered(self) -> Any:
        return self.function.lower(*self.arguments, platforms=["tpu"])


def corpus() -> list[Target]:
    """Each program of the corpus for one chip."""
    return [
        Target(program.name, ag.function(program.function), _arguments(program), ONE)
        for program in all_programs()
        if not {"function", "lower"} & set(program.refused)
    ]


def mapped_corpus() -> list[Target]:
    """Each program of the corpus that may be mapped, on four chips."""
    return [
        _mapped(program)
        for program in all_programs()
        if program.vmap and not {"vmap", "function", "lower"} & set(program.refused)
    ]


def _arguments(program: Program) -> tuple[Any, ...]:
    return tuple(
        argument if k in program.static_positions else jax.tree.map(_type, argument)
        for k, argument in enumerate(program.examples[0])
    )


def _type(leaf: Any) -> Any:
    kind = jax.typeof(leaf)  # without an array, which would be computed wherever the tests are collected
    return Spec(kind.shape, kind.dtype, weak_type=kind.weak_type)


def _mapped(program: Program) -> Target:
    converted, static = ag.convert(program.function), program.static_positions
    arguments = _arguments(program)

    @ag.function
    def lanes(*mapped: Any) -> Any:
        def one(*values: Any) -> Any:
            pending = iter(values)
            return converted(*(a if k in static else next(pending) for k, a in enumerate(arguments)))

        return jax.vmap(one)(*mapped)

    def many(type: Any) -> Any:
        return Spec((LANES, *type.shape), type.dtype, sharding=ROWS)

    mapped = tuple(jax.tree.map(many, a) for k, a in enumerate(arguments) if k not in static)
    return Target(program.name, lanes, mapped, FOUR)


# Programs of each kind that loops come in.


def newton(x):
    guess = x
    while (abs(guess * guess - x) > 1e-3).any():
        guess = (guess + x / guess) / 2
    return guess


def relaxed(x, steps):
    for _ in ag.range(steps):
        x = x + 0.1 * (jnp.roll(x, 1, axis=1) - 2 * x + jnp.roll(x, -1, axis=1))
        if abs(x).max() > 1e6:
            break
    return x


def recurrent(x, w):
    state = jnp.zeros(x.shape[1])
    for row in x:
        state = jnp.tanh(row + state @ w)
    return state


def large_ones(x):
    found = []
    for row in x:
        if row.sum() > 1:
            found.append(row * 2)
    return jnp.stack(found).sum(axis=0)


def windows(x):
    best, window = -jnp.inf, []
    for row in x:
        window.append(row.sum())
        if len(window) > 3:
            window.pop(0)
        if len(window) == 3:
            best = max(best, sum(window))
    return best


def numbers_in(text):
    """Reads numbers between other characters: a state machine over codes of characters."""
    state, value, total, count = 0, 0, 0, 0
    for code in text:
        digit = (code >= 48) & (code <= 57)
        if state == 0 and digit:
            state, value = 1, code - 48
        elif state == 1 and digit:
            value = value * 10 + (code - 48)
        elif state == 1 and code == 46:
            state = 2
        elif state != 0 and not digit:
            total, count, state = total + value, count + 1, 0
    return total, count


def gate(x, level):
    is_open, held, out = False, 0, jnp.zeros_like(x)
    for k in range(len(x)):
        loud = abs(x[k]).max()
        if loud > level:
            is_open, held = True, 10
        elif held > 0:
            held -= 1
        else:
            is_open = False
        if is_open:
            out[k] = x[k]
    return out


def descended(x, steps):
    def energy(x):
        i = 0
        while i < steps:
            x = x - 0.1 * jnp.sin(x)
            i += 1
        return (x * x).sum()

    return jax.grad(ag.convert(energy))(x)


def recurrent_gradient(x, w):
    return jax.grad(lambda w: ag.convert(recurrent)(x, w).sum())(w)


def relaxed_gradient(x, steps):
    return jax.grad(lambda x: ag.convert(relaxed)(x, steps).sum())(x)


class Average(ag.Module):
    def __init__(self) -> None:
        self.mean, self.count = ag.Variable(jnp.zeros(128), name="mean"), ag.Variable(0, name="count")

    @ag.function
    def seen(self, x):
        for row in x:
            self.count.assign_add(1)
            self.mean.assign_add((row - self.mean) / self.count)
        if self.count > 10_000:
            self.count.assign(0)
        return self.mean.value


X, N, W = Spec((1024, 128), jnp.float32), Spec((), jnp.int32), Spec((128, 128), jnp.float32)
TEXT = Spec((4096,), jnp.int32)

AVERAGE = Average()
KINDS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a while over an array": (newton, (X,)),
    "a loop with a break": (relaxed, (X, N)),
    "a recurrent network": (recurrent, (X, W)),
    "a list that grows": (large_ones, (X,)),
    "a sliding window": (windows, (X,)),
    "a state machine": (numbers_in, (TEXT,)),
    "a noise gate": (gate, (X, Spec((), jnp.float32))),
    "the gradient of a while": (descended, (X, N)),
    "the gradient of a recurrent network": (recurrent_gradient, (X, W)),
    "the gradient of a loop with a break": (relaxed_gradient, (X, N)),
    "a running mean in Variables": (Average.seen, (X,)),
}


def kinds() -> list[Target]:
    """Each kind for one chip, and for four."""
    found = []
    for name, (function, types) in KINDS.items():
        for chips in (ONE, FOUR):
            mine = AVERAGE.seen if function is Average.seen else ag.function(function)
            arguments = (_by_rows(types[0]), *types[1:]) if chips == FOUR else types
            found.append(Target(name, mine, arguments, chips))
    return [*found, *map(training, (ONE, FOUR))]


def training(chips: str) -> Target:
    """The whole run of the demonstration: epochs, minibatches, early stopping."""
    params = jax.eval_shape(digits.initial_params, jax.random.key(0))
    splits = [digits.Split(Spec((rows, 64), jnp.float32), Spec((rows,), jnp.int32)) for rows in (1200, 300)]
    if chips == FOUR:
        splits = jax.tree.map(_by_rows, splits)
    return Target("training", digits.train, (params, jax.eval_shape(lambda: jax.random.key(1)), *splits), chips)


def _by_rows(type: Any) -> Any:
    return Spec(type.shape, type.dtype, sharding=ROWS)
