"""``python -m autograph.tools.bench.platform_choices``: each decision of `backends/xla/platforms.py`, beside its alternatives.

The platform is the one that JAX has. A row has a program, and its time under each alternative, relative to the choice that is
made on this platform: above 1 the alternative is slower. All forms are compiled in one process, and run in turns.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import autograph as ag
from autograph.backends.xla import platforms
from autograph.backends.xla.cost_model import Limits
from autograph.backends.xla.platforms import Choices
from autograph.tools.bench.turns import timed_in_turns
from autograph.tools.bench.workloads import WORKLOADS

Program = tuple[str, Callable[..., Any], tuple[Any, ...]]  # what it is called, the function, its arguments
STEPS = 2_000


def switched(operations: int, elements: int) -> Program:
    """A loop in which half of the iterations take a branch of so many operations on an array."""

    def run(tests: Any, y: Any) -> Any:
        for test in tests:
            if test > 0:
                for _ in range(operations // 2):
                    y = y * 0.5 + 1
            else:
                y = y * 0.25
        return y

    tests = np.random.default_rng(0).normal(size=STEPS).astype(np.float32)
    return f"{operations} operations, {elements:,} elements", run, (tests, np.ones(elements, np.float32))


def of_workload(name: str, *leading: int | None) -> Program:
    """A workload of the benchmark on the first so many of its numbers; None for all."""
    workload = WORKLOADS[name]
    values = workload.arguments(False)
    cut = [value if size is None else value[:size] for value, size in zip(values, leading, strict=False)]
    return name, workload.program(jnp), (*cut, *values[len(cut) :])


def grid(rows: int, columns: int) -> Program:
    _, program, (_, _, steps) = of_workload("grid")
    y, x = np.mgrid[-1.2 : 1.2 : rows * 1j, -2 : 0.6 : columns * 1j]
    return f"grid of {rows} × {columns}", program, (x.astype(np.float32), y.astype(np.float32), steps)


# By decision: the programs that it matters to, and the alternatives.
DECISIONS: Mapping[str, tuple[Callable[[], Sequence[Program]], Mapping[str, Mapping[str, Any]]]] = {
    "selects": (
        lambda: [switched(*sizes) for sizes in ((2, 1), (24, 1), (96, 1), (24, 8192), (24, 2**20), (96, 2**20))],
        {"conditional": {"selects": Limits(0, 0)}, "select": {"selects": Limits(10_000, 2**30)}},
    ),
    "selects after writes": (
        lambda: [of_workload("bubble", size) for size in (60, 200)],
        {"conditional": {"keeps_conditionals_of_writes": True}, "select": {"keeps_conditionals_of_writes": False}},
    ),
    "conditional writes": (
        lambda: [of_workload("bubble", size) for size in (60, 200)],
        {"after the conditional": {"writes_in_branches": False}, "in the branch": {"writes_in_branches": True}},
    ),
    "element reads": (
        lambda: [of_workload(name) for name in ("distance", "subsequence", "knapsack")],
        {"with their uses": {"holds_reads": False}, "apart": {"holds_reads": True}},
    ),
    "unrolling": (
        lambda: [of_workload(name, STEPS) for name in ("iir", "average", "biquad", "gate")],
        {"no": {"unrolls": False}, "yes": {"unrolls": True}},
    ),
    "iterations between tests": (
        lambda: [grid(300, 400), grid(2000, 2000)],
        {str(length): {"chunk": length} for length in (1, 4, 8, 16, 32)},
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments."""
    parser = argparse.ArgumentParser(prog="platform_choices", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "names", nargs="*", metavar="DECISION", help=f"of {', '.join(map(repr, DECISIONS))} (default: all)"
    )
    parser.add_argument("--rounds", type=int, default=7, help="the number of measurements per form (%(default)s)")
    options = parser.parse_args(arguments)
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}")
    for decision in options.names or DECISIONS:
        programs, alternatives = DECISIONS[decision]
        for program in programs():
            print(row(decision, program, alternatives, options.rounds), flush=True)
    return 0


def row(decision: str, program: Program, alternatives: Mapping[str, Mapping[str, Any]], rounds: int) -> str:
    """The line of a table: the decision, the program, and each alternative's time beside that of the choice made here."""
    made = platforms.choices_on("cuda" if jax.default_backend() == "gpu" else jax.default_backend())
    chosen = form(program, made)
    forms = [chosen, *(form(program, dataclasses.replace(made, **each)) for each in alternatives.values())]
    times = list(map(statistics.median, timed_in_turns(forms, rounds)))
    cells = [f"{text}: {found / times[0]:.2f}" for text, found in zip(alternatives, times[1:], strict=True)]
    return f"| {decision} | {program[0]} | {times[0] * 1e6:,.0f} µs | {' | '.join(cells)} |"


def form(program: Program, choices: Choices) -> Callable[[], Any]:
    """A program, compiled as it is where the platform at hand has these choices."""
    _, function, arguments = program
    values, compiled = jax.tree.map(jnp.asarray, arguments), ag.function(function)
    jax.clear_caches()
    with in_force(choices):
        jax.block_until_ready(compiled(*values))
    return lambda: compiled(*values)


@contextlib.contextmanager
def in_force(choices: Choices) -> Iterator[None]:
    """What is lowered within is lowered with these choices, for any platform."""
    before = platforms.PLATFORMS
    platforms.PLATFORMS = dict.fromkeys(before, choices)
    try:
        yield
    finally:
        platforms.PLATFORMS = before


if __name__ == "__main__":
    raise SystemExit(main())
