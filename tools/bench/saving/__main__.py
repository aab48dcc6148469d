"""Compare saving and loading with TensorFlow's SavedModel: ``python -m autograph.tools.bench.saving``.

One process saves a trained classifier of digits and an adaptive solver of a differential equation with its
derivatives; another, which cannot import the models' source, loads them, predicts, raises an exception, trains
the classifier again and takes the solver's gradient. The same with TensorFlow, in an environment of its own. Each
repeat is of fresh processes; times are medians, and without imports.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autograph.tools.bench import peers

HERE = Path(__file__).parent
TIMES = ("save", "load", "first call", "next call", "first gradient", "next gradient")
LIMIT = 600  # seconds for one process


def ours(folder: Path) -> dict[str, dict[str, Any]]:
    """What the two processes say, by model."""
    saved = _answer([sys.executable, "-m", "autograph.tools.bench.saving.models", str(folder)], folder)
    return _joined(saved, _answer([sys.executable, str(HERE / "loading.py"), str(folder)], folder), folder, "")


def tensorflows(folder: Path) -> dict[str, dict[str, Any]]:
    """The same for TensorFlow, after `ours` has left its data in the folder."""
    python, script = str(peers.ENVIRONMENTS / "tensorflow" / "bin" / "python"), str(HERE / "for_tensorflow.py")
    saved, found = (_answer([python, script, what, str(folder)], folder) for what in ("save", "load"))
    return _joined(saved, found, folder, "-tensorflow")


def _answer(command: Sequence[str], folder: Path) -> Any:
    settings = {**os.environ, "JAX_PLATFORMS": os.environ.get("JAX_PLATFORMS", "cpu"), "TF_CPP_MIN_LOG_LEVEL": "3"}
    settings.pop("JAX_COMPILATION_CACHE_DIR", None)  # what is compiled is to be compiled here
    ended = subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, timeout=LIMIT)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{ended.stderr[-3000:]}")
    return json.loads(ended.stdout.splitlines()[-1])


def _joined(saved: Any, found: Any, folder: Path, ending: str) -> dict[str, dict[str, Any]]:
    sizes = {name: _bytes(folder / f"{name}{ending}") for name in found}
    return {name: {"save": saved[name], "bytes": sizes[name], **found[name]} for name in found}


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _table(runs: dict[str, list[dict[str, dict[str, Any]]]]) -> list[str]:
    lines = [f"| | {' | '.join(runs)} |", f"| --- |{' ---: |' * len(runs)}"]
    for model in ("digits", "ode"):
        for what in (*TIMES, "bytes"):
            columns = [[run[model][what] for run in repeats if what in run[model]] for repeats in runs.values()]
            if all(columns):
                cells = [_shown(what, statistics.median(column)) for column in columns]
                lines.append(f"| {model}: {what} | {' | '.join(cells)} |")
    return lines


def _shown(what: str, value: float) -> str:
    if what == "bytes":
        return f"{value / 1000:.0f} kB"
    return f"{value * 1e6:.0f} µs" if value < 1e-3 else f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.2f} s"


def _findings(name: str, run: dict[str, dict[str, Any]]) -> list[str]:
    digits, ode = run["digits"], run["ode"]
    return [
        f"{name}: the second process reads {digits['accuracy']:.1%} of the held-out digits, {digits['others']} otherwise than the first;",
        f"  it gets {digits['raised']!r};",
        f"  from random weights it trains the loaded model to {digits['retrained']:.1%};",
        f"  the solver's end differs by {ode['apart']:.1e}, its gradient by {ode['slopes apart']:.1e}.",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what the second processes found, and the table."""
    parser = argparse.ArgumentParser(prog="bench.saving", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="how often (default: 5)")
    parser.add_argument("--no-peer", action="store_true", help="without TensorFlow")
    options = parser.parse_args(arguments)
    reason = "not asked for" if options.no_peer else peers.installed("tensorflow")
    runs: dict[str, list[dict[str, dict[str, Any]]]] = {name: [] for name in ("autograph", "SavedModel")}
    if reason is not None:
        del runs["SavedModel"]
    for _ in range(options.repeats):
        with tempfile.TemporaryDirectory() as name:
            runs["autograph"].append(ours(Path(name)))
            if reason is None:
                runs["SavedModel"].append(tensorflows(Path(name)))
    for name, repeats in runs.items():
        print(*_findings(name, repeats[-1]), sep="\n")
    if reason:
        print(f"SavedModel: {reason}")
    print("", *_table(runs), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
