"""The table of modules, as Markdown."""

from __future__ import annotations

import platform
from collections.abc import Sequence

from autograph.tools.conformance.comparison import Comparison


def as_markdown(comparisons: Sequence[Comparison]) -> str:
    """One row for each module, and one for all."""
    rows = [
        f"| Python {platform.python_version()} | tests | pass as they are | pass converted | doctest examples | differ |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    totals = [0, 0, 0, 0, 0]
    for each in comparisons:
        numbers = [
            len(each.plain),
            each.passes(each.plain),
            each.passes(each.converted),
            each.examples.get("converted", 0),
            len(each.differences),
        ]
        totals = [total + number for total, number in zip(totals, numbers, strict=True)]
        rows.append(f"| `{each.module}` | " + " | ".join(map(str, numbers)) + " |")
    rows.append("| all | " + " | ".join(map(str, totals)) + " |")
    return "\n".join(rows) + "\n"
