"""Conversion time against program size: a function of 2,000 statements beside one of 200."""

from __future__ import annotations

import gc
import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import autograph as ag

SIZES = (200, 2000)
REPEATS = 5


def generated_source(statements: int) -> str:
    """A function with this many statements: branches, each of two assignments, on two variables."""
    lines = ["def generated(x, y):"]
    for k in range(statements // 4):
        lines += [f"    if x > {k}:", f"        y = y + {k}.0", "    else:", "        x = x - 1.0"]
    return "\n".join([*lines, "    return x, y", ""])


def conversion_seconds(statements: int, folder: Path, repeat: int) -> float:
    """Processor seconds that `autograph.convert` takes for a fresh module of this size, parsing included."""
    path = folder / f"generated_{statements}_{repeat}.py"
    path.write_text(generated_source(statements), encoding="utf-8")
    function = _load(path)
    gc.collect()
    start = time.process_time()  # of this process alone: machines are shared
    ag.convert(function)
    return time.process_time() - start


def _load(path: Path) -> Callable[..., Any]:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    function: Callable[..., Any] = module.generated
    return function


def main() -> None:
    """Print the best time for each size, and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        best = {
            size: min(conversion_seconds(size, Path(folder), repeat) for repeat in range(REPEATS)) for size in SIZES
        }
    for size, seconds in best.items():
        print(f"{size:>6} statements: {seconds * 1e3:8.1f} ms")
    small, large = SIZES
    print(
        f"ratio: {best[large] / best[small]:.1f} for {large / small:.0f} times the statements (linear, and at most 12)"
    )


if __name__ == "__main__":
    main()
