"""The time and memory of a first call, by phase: ``python -m autograph.tools.bench.first_call``.

- Programs of 10, 100 and 1,000 statements: conversion, tracing, lowering and compilation, beside those of the same
program written by hand with `jax.lax`; tracing again for a new shape; the peak memory of a process that runs the
first call.
- The same for functions that call each other, and for loops in each other.
- Import of `autograph` beyond that of `jax`.
- Plain Python that is converted and called outside a trace, against the original.

Times are processor seconds (import: of a process of its own), medians of the repeats, both sides in turns.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import autograph as ag
from autograph.tools.bench import plain_python

SIZES = (10, 100, 1000)
CHAINS = (25, 50, 100)  # functions that call each other
NESTS = (2, 4, 6)  # loops in each other
STAGES = ("convert", "trace", "lower", "compile")

# Ten statements, written twice: for each k a conditional and a loop with a compound test.
_HEADER = "import jax.numpy as jnp\nfrom jax import lax\n"
_PLAIN = """\
    a = x * {k}.5 + y
    b = a - x * 0.5
    if (a > {k}.0).any():
        y = y + jnp.sin(b)
    else:
        y = y - b
    i = 0
    while i < {count} and (y < 100.0).all():
        y = y * 1.01 + a
        i = i + 1
"""
_BY_HAND = """\
    a = x * {k}.5 + y
    b = a - x * 0.5
    y = lax.cond((a > {k}.0).any(), lambda y, b: y + jnp.sin(b), lambda y, b: y - b, y, b)
    y, i = lax.while_loop(
        lambda c: (c[1] < {count}) & (c[0] < 100.0).all(), lambda c, a=a: (c[0] * 1.01 + a, c[1] + 1), (y, 0)
    )
"""


def chain(count: int) -> str:
    """A module with `plain` and `by_hand`: so many functions, each of which calls the one before and has a conditional."""
    lines = []
    for k in range(count):
        before = f"{{0}}{k - 1}(x + {k})" if k else "x * 2.0"
        lines += [
            f"def f{k}(x):",
            f"    y = {before.format('f')}",
            f"    if jnp.sum(y) > {k}.5:",
            f"        y = y * 1.5 + {k}.0",
            "    else:",
            f"        y = y - {k}.25",
            "    return y",
            f"def g{k}(x):",
            f"    y = {before.format('g')}",
            f"    return lax.cond(jnp.sum(y) > {k}.5, lambda y: y * 1.5 + {k}.0, lambda y: y - {k}.25, y)",
        ]
    return "\n".join([_HEADER, *lines, f"plain, by_hand = f{count - 1}, g{count - 1}", ""])


def nest(depth: int) -> str:
    """A module with `plain` and `by_hand`: loops, so many in each other, with compound tests."""
    lines = [_HEADER, "def plain(x, y):", "    s = x * 0.0"]
    for k in range(depth):
        lines += [f"{_indent(k)}i{k} = 0", f"{_indent(k)}while i{k} < 3 and s < 1e6:"]
    lines.append(f"{_indent(depth)}s = s + y * 0.5")
    lines += [f"{_indent(k + 1)}i{k} += 1" for k in reversed(range(depth))]
    lines += ["    return s", "def by_hand(x, y):", "    def body0(s):", "        return s + y * 0.5"]
    for k in range(depth):
        body = f"lambda c: (c[0] + 1, body{k}(c[1]))"
        lines += [
            f"    def body{k + 1}(s):",
            f"        return lax.while_loop(lambda c: (c[0] < 3) & (c[1] < 1e6), {body}, (0, s))[1]",
        ]
    return "\n".join([*lines, f"    return body{depth}(x * 0.0)", ""])


def _indent(level: int) -> str:
    return "    " * (level + 1)


def source(statements: int) -> str:
    """A module with `plain` and `by_hand`, of so many statements."""
    numbers = [{"k": k + 1, "count": k % 5 + 2} for k in range(statements // 10)]
    parts = {"plain": _PLAIN, "by_hand": _BY_HAND}
    functions = (
        f"def {name}(x, y):\n{''.join(text.format(**each) for each in numbers)}    return x, y\n"
        for name, text in parts.items()
    )
    return _HEADER + "\n\n".join(functions)


def module(statements: int, folder: Path) -> Any:
    """That module, newly loaded, so that nothing is known of it yet."""
    return loaded(source(statements), folder)


def loaded(text: str, folder: Path) -> Any:
    """A module of this source."""
    path = folder / f"program_{len(list(folder.iterdir()))}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


def stages(
    function: Callable[..., Any], convert: Callable[[Any], Any], arguments: Sequence[Any] | None = None
) -> tuple[list[float], Any]:
    """Seconds for each of `STAGES`, and the function to be traced."""
    times = [time.process_time()]

    def took() -> None:
        times.append(time.process_time())

    x = (jnp.ones(1), jnp.full(1, 2.0)) if arguments is None else arguments
    converted = convert(function)
    took()
    traced = jax.jit(converted).trace(*x)
    took()
    lowered = traced.lower()
    took()
    lowered.compile()
    took()
    return [after - before for before, after in zip(times, times[1:], strict=False)], converted


def new_shape(converted: Any) -> float:
    """Seconds to trace for another shape what was traced before."""
    x = jnp.ones(7)
    start = time.process_time()
    jax.jit(converted).trace(x, x)
    return time.process_time() - start


def programs(sizes: Sequence[int], repeats: int) -> list[str]:
    """Lines of a table."""
    lines = [
        "| statements | convert | trace | lower | compile | by hand | trace + lower + compile | conversion | new shape |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for function in (module(10, Path(folder)).plain, module(10, Path(folder)).by_hand):
            stages(function, ag.convert)  # what JAX and we do once in a process
        for size in sizes:
            ours, hand, shapes = [], [], []
            for _ in range(repeats):
                made = module(size, Path(folder))
                times, converted = stages(made.plain, ag.convert)
                ours.append(times)
                times, as_it_is = stages(made.by_hand, lambda f: f)
                hand.append(times)
                shapes.append(new_shape(converted) / new_shape(as_it_is))
            medians = [statistics.median(column) for column in zip(*ours, strict=True)]
            by_hand = statistics.median(sum(times) for times in hand)
            ratio = statistics.median(sum(a[1:]) / sum(b) for a, b in zip(ours, hand, strict=True))
            share = statistics.median(times[0] / sum(times) for times in ours)
            cells = [f"{1e3 * seconds:.0f} ms" for seconds in (*medians, by_hand)]
            shape = statistics.median(shapes)
            lines.append(f"| {size:,} | {' | '.join(cells)} | **{ratio:.2f}** | {share:.0%} | {shape:.1f} |")
    return lines


def structures(repeats: int) -> list[str]:
    """Lines of a table: functions that call each other, and loops in each other."""
    lines = [
        "| program | convert | trace | lower | compile | by hand | all, ratio |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    programs: dict[str, tuple[str, Sequence[Any]]] = {}
    programs |= {f"{count} functions that call each other": (chain(count), (jnp.ones(3),)) for count in CHAINS}
    programs |= {f"loops, {depth} in each other": (nest(depth), (jnp.ones(()), jnp.ones(()))) for depth in NESTS}
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, arguments) in programs.items():
            ours, hand = [], []
            for _ in range(repeats):
                made = loaded(text, Path(folder))
                ours.append(stages(made.plain, ag.convert, arguments)[0])
                hand.append(stages(made.by_hand, lambda f: f, arguments)[0])
            medians = [statistics.median(column) for column in zip(*ours, strict=True)]
            by_hand = statistics.median(map(sum, hand))
            ratio = statistics.median(sum(a) / sum(b) for a, b in zip(ours, hand, strict=True))
            cells = [f"{1e3 * seconds:.0f} ms" for seconds in (*medians, by_hand)]
            lines.append(f"| {name} | {' | '.join(cells)} | **{ratio:.2f}** |")
    return lines


_MEMORY = """
import resource, sys, tempfile
from pathlib import Path
import jax.numpy as jnp
import jax, autograph as ag
from autograph.tools.bench import first_call
with tempfile.TemporaryDirectory() as folder:
    made = first_call.module(int(sys.argv[1]), Path(folder))
    function = ag.function(made.plain) if sys.argv[2] == "autograph" else jax.jit(made.by_hand)
    jax.block_until_ready(function(jnp.ones(1), jnp.ones(1)))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def memory(statements: int) -> str:
    """A sentence: the peak of a process that makes the first call."""
    megabytes = {name: _run(_MEMORY, str(statements), name)[0] / 1024 for name in ("autograph", "by hand")}
    return (
        f"Peak memory of a process with the first call of {statements:,} statements: {megabytes['autograph']:.0f} MiB, "
        f"by hand {megabytes['by hand']:.0f} MiB."
    )


_IMPORT = """
import time
start = time.process_time()
import jax, jax.numpy
middle = time.process_time()
import autograph
print(time.process_time() - middle, middle - start)
"""


def imports(repeats: int) -> str:
    """A sentence: what the import adds, where Python has compiled all modules before."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    found = [_run(_IMPORT, environment=environment) for _ in range(repeats + 1)][1:]
    added, before = (statistics.median(column) for column in zip(*found, strict=True))
    return f"`import autograph` adds {added * 1e3:.0f} ms to the {before * 1e3:.0f} ms of `import jax`."


def _run(code: str, *arguments: str, environment: dict[str, str] | None = None) -> list[float]:
    """The numbers that a process prints."""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return [float(number) for number in done.stdout.split()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES), help="numbers of statements")
    parser.add_argument("--repeats", type=int, default=5, help="how often each is measured (%(default)s)")
    options = parser.parse_args(arguments)
    for lines in (
        programs(options.sizes, options.repeats),
        structures(options.repeats),
        [memory(max(options.sizes)), imports(options.repeats)],
        plain_python.table(options.repeats),
    ):
        print("\n".join(lines), end="\n\n", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
