"""``python -m autograph.tools.bench``: converted programs beside hand-written ones, and beside other compilers.

Every workload is one plain Python program. Each version of it runs in turns with the others, in processes of their
own, after its result was compared with ours. What comes out: a Markdown table and a plot, ratios to our time.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from autograph.tools.bench import measure, report
from autograph.tools.bench.peers import PEERS, Process, installed
from autograph.tools.bench.workloads import WORKLOADS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("names", nargs="*", metavar="WORKLOAD", help=f"one of {', '.join(WORKLOADS)} (default: all)")
    parser.add_argument(
        "--peers",
        nargs="*",
        choices=PEERS,
        default=[],
        help="also measure these libraries, each in its own environment",
    )
    parser.add_argument("--rounds", type=int, default=15, help="the number of measurements per version (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="use small inputs")
    parser.add_argument("--out", type=Path, default=Path("bench-out"), help="the output directory (%(default)s)")


def run(options: argparse.Namespace) -> int:
    """Measure, print the table, and write table, plot and figures; 1 if a workload failed."""
    unknown = [name for name in options.names if name not in WORKLOADS]
    if unknown:
        print(f"autograph bench: no workload {unknown[0]!r}; there are {', '.join(WORKLOADS)}", file=sys.stderr)
        return 2
    missing = {peer: reason for peer in options.peers if (reason := installed(peer))}
    processes = [Process(kind) for kind in ("jax", *(peer for peer in options.peers if peer not in missing))]
    results: report.Results = {}
    versions: dict[str, str] = {}
    try:
        for process in processes:
            versions |= {name: text for name, text in process.ask("versions").items() if name not in versions}
        with tempfile.TemporaryDirectory() as folder:
            for name in options.names or WORKLOADS:
                results[name] = measure.measured(WORKLOADS[name], processes, folder, options.rounds, options.quick)
                results[name] += [measure.Timing(peer, error=reason) for peer, reason in missing.items()]
    finally:
        for process in processes:
            process.close()
    settings = [*_peers(options), *_rounds(options), *(["--quick"] if options.quick else [])]
    command = "python -m autograph.tools.bench " + " ".join([*options.names, *settings])
    about = {name: workload.about for name, workload in WORKLOADS.items()}
    table = report.markdown(results, about, report.heading(versions, command.strip()))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "results.md").write_text(table, encoding="utf-8")
    (options.out / "results.json").write_text(json.dumps(report.as_json(results), indent=1), encoding="utf-8")
    report.plot(results, options.out / "results.png")
    print(table)
    print(f"Wrote results.md, results.json and results.png to {options.out}", file=sys.stderr)
    return 1 if any(map(measure.is_failed, results.values())) else 0


def _peers(options: argparse.Namespace) -> list[str]:
    return ["--peers", *options.peers] if options.peers else []


def _rounds(options: argparse.Namespace) -> list[str]:
    return [] if options.rounds == 15 else ["--rounds", str(options.rounds)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments."""
    parser = argparse.ArgumentParser(prog="autograph bench", description=__doc__.partition("\n")[0])
    add_arguments(parser)
    return run(parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
