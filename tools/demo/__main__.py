"""Run the demonstrations: `python -m autograph.tools.demo [--only NAME] [--output DIR]`."""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

# In the order in which they run. Each is a module here with `main(output) -> bool`: did its own checks hold?
DEMOS = {
    "digits": "1. Training run on handwritten digits: epochs, minibatches and early stopping in one program",
    "mandelbrot": "2. Mandelbrot set: a `while` per point, under jax.vmap",
    "newton": "3. Boundary-value problem: Newton's method with a `break`",
    "source": "4. What the converter wrote for the Newton loop",
}


def run(name: str, output: Path) -> bool:
    """Run one demonstration under its title; True if what it computed passed its check."""
    # Imported here, so that `--only newton` needs neither scikit-learn nor matplotlib.
    demo = importlib.import_module(f"autograph.tools.demo.{name}")
    print(f"\n{DEMOS[name]}\n{'-' * len(DEMOS[name])}", flush=True)
    start = time.perf_counter()
    passed: bool = demo.main(output)
    print(f"[{name}: {'ok' if passed else 'CHECK FAILED'}, {time.perf_counter() - start:.1f} s]", flush=True)
    return passed


def main(arguments: list[str] | None = None) -> int:
    """The command; 0 if every check held, 1 if one failed, 2 if the demonstrations cannot run."""
    parser = argparse.ArgumentParser("python -m autograph.tools.demo", description="Run the demonstrations.")
    parser.add_argument("--only", choices=DEMOS, help="run this one alone")
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="folder for what is written")
    options = parser.parse_args(arguments)
    try:
        options.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"demo: cannot write to {options.output}: {error.strerror}", file=sys.stderr)
        return 2
    try:
        # A list, not a generator: one failed check must not hide the demonstrations after it.
        passed = [run(name, options.output) for name in ([options.only] if options.only else DEMOS)]
    except ModuleNotFoundError as error:
        if error.name not in ("sklearn", "matplotlib"):
            raise
        print(f"demo: {error.name} is missing; pip install 'autograph-xla[demo]'", file=sys.stderr)
        return 2
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
