"""Where in the text nodes stand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gast

Position = tuple[float, float]
"""A line, and a column of it."""
NEVER: Position = (math.inf, math.inf)


def extent(node: Any) -> tuple[Position, Position]:
    """Where in the text a node begins and ends."""
    begins = node.lineno, node.col_offset
    return begins, (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)


def lines_of(node: Any) -> range:
    """The lines of a node."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def outermost_loops(parts: Sequence[gast.AST]) -> list[tuple[Position, Position]]:
    """Where the loops among these nodes that are in no other begin and end, in the order of the text."""
    outermost: list[tuple[Position, Position]] = []
    for loop in sorted(extent(part) for part in parts if isinstance(part, gast.For | gast.While)):
        if not outermost or loop[0] >= outermost[-1][1]:
            outermost.append(loop)
    return outermost
