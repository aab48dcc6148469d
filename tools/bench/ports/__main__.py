"""Time three programs ported from TensorFlow by step, beside TensorFlow: ``python -m autograph.tools.bench.ports``.

Each is a program of `examples/`: Q-learning with a replay buffer, a transformer, and a physics-informed network. TensorFlow's
versions of the same tasks run in an environment of their own. Each repeat is of fresh processes; times are medians.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autograph.tools.bench import peers

HERE = Path(__file__).parent
LIMIT = 900  # seconds for one process
TASKS = {
    "dqn": "a step in the environment and one of Q-learning",
    "transformer": "a step of training a transformer",
    "heat": "a step of Adam of a physics-informed network",
}

Figures = dict[str, dict[str, float]]


def ours(quick: bool) -> Figures:
    """The figures of the programs here, by name."""
    return _answer([sys.executable, "-m", "autograph.tools.bench.ports.ours"], quick)


def tensorflows(quick: bool) -> Figures:
    """The same of TensorFlow's."""
    python = str(peers.ENVIRONMENTS / "tensorflow" / "bin" / "python")
    return _answer([python, str(HERE / "for_tensorflow.py")], quick)


def _answer(command: Sequence[str], quick: bool) -> Figures:
    settings = {**os.environ, "JAX_PLATFORMS": os.environ.get("JAX_PLATFORMS", "cpu"), "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [*command, "--quick"] if quick else list(command)
    ended = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=LIMIT)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{ended.stderr[-3000:]}")
    found: Figures = json.loads(ended.stdout.splitlines()[-1])
    return found


def table(runs: dict[str, list[Figures]]) -> list[str]:
    """A Markdown table: for each task the medians of a step's time, and of the first run's, compilation included."""
    lines = [
        f"| task | {' | '.join(f'{name}, a step | first run' for name in runs)} |",
        "| --- |" + " ---: |" * 2 * len(runs),
    ]
    for task, about in TASKS.items():
        cells = []
        for repeats in runs.values():
            step, first = (statistics.median(run[task][what] for run in repeats) for what in ("step", "first"))
            cells += [f"{step * 1e3:.3g} ms", f"{first:.1f} s"]
        lines.append(f"| {about} | {' | '.join(cells)} |")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, and what became of each task."""
    parser = argparse.ArgumentParser(prog="bench.ports", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="how often (default: 3)")
    parser.add_argument("--quick", action="store_true", help="a few steps, to see that it works")
    parser.add_argument("--no-peer", action="store_true", help="without TensorFlow")
    options = parser.parse_args(arguments)
    reason = "not asked for" if options.no_peer else peers.installed("tensorflow")
    runs: dict[str, list[Figures]] = {"autograph": []}
    if reason is None:
        runs["TensorFlow"] = []
    for _ in range(options.repeats):
        runs["autograph"].append(ours(options.quick))
        if reason is None:
            runs["TensorFlow"].append(tensorflows(options.quick))
    if reason:
        print(f"TensorFlow: {reason}")
    for name, repeats in runs.items():
        last: Any = repeats[-1]
        print(
            f"{name}: {last['dqn']['check']:.0f} updates of the Q-network; the transformer's loss is "
            f"{last['transformer']['check']:.3g}, the heat equation's {last['heat']['check']:.3g}"
        )
    print("", *table(runs), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
