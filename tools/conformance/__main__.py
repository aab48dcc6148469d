"""Run CPython's own tests unconverted and converted: `python -m autograph.tools.conformance [MODULE ...]`.

Nothing is traced in them, so a test that passes as it is must pass converted. Prints a table of modules, then each
test that differs; exit code 1 if one does that `--known` does not list.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

from autograph.tools.conformance.comparison import MODULES, compare
from autograph.tools.conformance.table import as_markdown


def main(arguments: list[str] | None = None) -> int:
    """The command; 0 if conversion changed no test's outcome, or there are no tests to run; 1 if it did."""
    parser = argparse.ArgumentParser("python -m autograph.tools.conformance", description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="such as test_scope; all that are known, if none")
    parser.add_argument("--seconds", type=float, default=600.0, help="time limit of one run of one module")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--output", type=Path, help="file to write the table to")
    parser.add_argument("--known", type=Path, help="file that explains differences: a test's name in it is expected")
    options = parser.parse_args(arguments)
    if importlib.util.find_spec("test.support") is None:
        print(f"SKIPPED: {sys.executable} ships without CPython's tests (the package `test`).")
        return 0
    explained = options.known.read_text(encoding="utf-8") if options.known else ""
    comparisons = []
    for comparison in compare(options.modules or MODULES, options.seconds, options.jobs):
        comparisons.append(comparison)
        print(comparison.summary(), flush=True)
    text = as_markdown(comparisons)
    print(f"\n{text}")
    if options.output is not None:
        options.output.write_text(text, encoding="utf-8")
    different = [test for comparison in comparisons for test in comparison.differences]
    unexplained = [test for test in different if test.rpartition("test.")[2] not in explained]
    print(f"{len(different)} tests differ, {len(unexplained)} of them unexplained")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
