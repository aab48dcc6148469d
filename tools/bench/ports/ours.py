"""The three ports, timed by step: ``python -m autograph.tools.bench.ports.ours [--quick]`` prints a line of JSON.

The programs are those of `examples/`, which are no package: they are found by their place.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def seconds(run: Callable[[int], Any], few: int, many: int) -> dict[str, float]:
    """A step's seconds: of a run of many steps less those of a run of few, once compiled. The first run's, too."""

    def timed(steps: int) -> float:
        start = time.perf_counter()
        jax.block_until_ready(run(steps))
        return time.perf_counter() - start

    first = timed(few)
    return {"step": (timed(many) - timed(few)) / (many - few), "first": first}


def dqn(quick: bool) -> dict[str, float]:
    dqn: Any = importlib.import_module("dqn")
    agent = dqn.Agent(seed=0)
    few, many = (510, 700) if quick else (1000, 5000)  # it learns from step 500 on
    found = seconds(lambda steps: agent.learn(jnp.array(steps)), few, many)
    return {**found, "check": float(agent.optimizer.iterations)}


def transformer(quick: bool) -> dict[str, float]:
    number_words: Any = importlib.import_module("number_words")
    numbers = np.random.default_rng(0).permutation(1000).tolist()
    shapes = ([number_words.DIGITS], [number_words.LONGEST + 1])
    known = number_words.pairs(numbers[:800]).shuffle(800, seed=0).padded_batch(50, shapes)
    model = number_words.Translator(seed=0, blocks=2)
    losses = []

    def run(epochs: int) -> None:
        losses.append(float(model.train(known, jnp.array(epochs))[1]))

    few, many = (1, 2) if quick else (1, 11)
    found = seconds(run, few, many)
    return {"step": found["step"] / len(known), "first": found["first"], "check": losses[-1]}


def heat(quick: bool) -> dict[str, float]:
    heat_equation: Any = importlib.import_module("heat_equation")
    solver = heat_equation.Solver(points=128)
    losses = []

    def run(steps: int) -> None:
        losses.append(float(solver.solve(jnp.array(steps), jnp.array(0), 1e-4)[0]))

    few, many = (2, 6) if quick else (50, 1050)
    return {**seconds(run, few, many), "check": losses[-1]}


PORTS = {"dqn": dqn, "transformer": transformer, "heat": heat}


if __name__ == "__main__":
    sys.path.insert(0, str(EXAMPLES))
    print(json.dumps({name: port("--quick" in sys.argv) for name, port in PORTS.items()}))
