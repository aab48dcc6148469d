"""Run generated programs: `python -m autograph.tools.fuzz --count N --seed S --jobs J [--seconds T] [--save DIR]`."""

from __future__ import annotations

import argparse
import collections
import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from autograph.tools.fuzz.campaign import Counts, Report, run_campaign
from autograph.tools.fuzz.programs import make_program
from autograph.tools.fuzz.saved import as_test


def main(arguments: list[str] | None = None) -> int:
    """The command; 0 if no program differed, 1 if one did."""
    parser = argparse.ArgumentParser("python -m autograph.tools.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first")
    parser.add_argument("--matching", metavar="REGEX", help="leave out programs whose text this is not found in")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 8), help="worker processes")
    parser.add_argument("--seconds", type=float, help="stop after so many; ^C stops, too, and both say what was run")
    parser.add_argument("--save", type=Path, help="folder for a test file of each program that differs")
    parser.add_argument("--shrink", type=float, default=60.0, help="seconds to make one of them smaller")
    parser.add_argument("--gradients", action="store_true", help="compare gradients with finite differences")
    parser.add_argument("--break", dest="breakage", help="break the compiler so, and stop when that is found")
    options = parser.parse_args(arguments)
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    start = time.monotonic()
    totals: dict[str, Counts[str]] = collections.defaultdict(collections.Counter)
    seeds: Sequence[int] = range(options.seed, options.seed + options.count)
    if options.matching is not None:
        wanted = re.compile(options.matching)
        seeds = [seed for seed in seeds if wanted.search(make_program(seed, options.gradients).source)]
    done: set[int] = set()
    reports = run_campaign(seeds, options.jobs, options.shrink, options.gradients, options.breakage, options.seconds)
    with contextlib.closing(reports), contextlib.suppress(KeyboardInterrupt):
        for report in _counted(reports, totals, done):
            if report.failure is None:
                continue
            _show(report, options.save)
            if options.breakage is not None:
                break
    print(summary(totals, time.monotonic() - start))
    if len(done) < len(seeds):
        following = next(seed for seed in seeds if seed not in done)
        print(f"Ended after {len(done)} of {len(seeds)} seeds; the first that was not run is {following}.")
    return 1 if totals["run"]["differences"] else 0


def _counted(reports: Iterable[Report], totals: dict[str, Counts[str]], done: set[int]) -> Iterable[Report]:
    for report in reports:
        done.add(report.seed)
        for subject, counts in report.counts.items():
            totals[subject].update(counts)
        yield report


def _show(report: Report, folder: Path | None) -> None:
    failure = report.failure
    assert failure is not None
    print(f"\n{'=' * 20} {failure.seed}: {failure.kind} in mode {failure.mode!r}\n{failure.text[:1500]}")
    print(f"{'-' * 20}\n{failure.source}\n{'-' * 20}\ninput: {failure.inputs[0]}", flush=True)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"test_program_{failure.seed}.py").write_text(as_test(failure), encoding="utf-8")


def summary(totals: dict[str, Counts[str]], seconds: float) -> str:
    """What was run, as text, with the counts in its last line."""
    run = totals["run"]
    lines = ["", "Constructs: " + _listed(totals["constructs"])]
    lines += ["Refusals:"] + [f"  {count:6} {why}" for why, count in totals["refused"].most_common()]
    lines.append("Modes: " + _listed(totals["modes"]))
    if totals["gradients"]:
        lines.append("Gradients, inputs: " + _listed(totals["gradients"]))
    lines.append(
        f"Compiled by XLA: {run['compiled by XLA']} programs; what was traced of the others was evaluated in NumPy, "
        "operation by operation (tools/fuzz/interpreter.py)"
    )
    lines.append("Staged in the jaxprs: " + _listed(totals["staged"]))
    lines.append(
        f"{run['programs']} programs run ({run['unsuitable']} unsuitable), {run['differences']} differences, "
        f"{run['refused']} refused, "
        f"{seconds:.0f} s, {run['programs'] / max(seconds, 1):.1f} programs/s"
    )
    return "\n".join(lines)


def _listed(counts: Counts[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common()) or "none"


if __name__ == "__main__":
    sys.exit(main())
