"""What XLA made of a program, as far as the tests of targets look at it: the text of an optimised module."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any


def computations(text: str) -> dict[str, list[str]]:
    """The lines of each computation of a module, by its name."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        if line.endswith("{") and not line.startswith(("HloModule", " ")):
            current = found[line.removeprefix("ENTRY ").split(" ")[0].lstrip("%")] = []
        elif line.startswith("  "):
            current.append(line.strip())
    return found


def loops(text: str) -> list[list[str]]:
    """The lines of each loop's body, those of what it calls left out."""
    found = computations(text)
    called = [re.search(r"body=%?([\w.\-]+)", line) for lines in found.values() for line in lines if " while(" in line]
    return [found[match[1]] for match in called if match is not None]


def copies_in_loops(text: str, larger_than: int = 0) -> list[str]:
    """The copies that an iteration of some loop makes of arrays of more elements than these.

    A move between the chip's memories (``copy-start``) is none: XLA makes it ahead of the operation that reads there.
    """
    found = []
    for line in itertools.chain.from_iterable(loops(text)):
        match = re.search(r"= \w+\[([\d,]+)\]\S* copy\(", line)
        if match is not None and math.prod(map(int, match[1].split(","))) > larger_than:
            found.append(line)
    return found


def estimated_cycles(text: str) -> list[int]:
    """What XLA's compiler for TPUs thinks that each kernel takes."""
    return [int(found) for found in re.findall(r'"estimated_cycles":"(\d+)"', text)]


def leaves_the_chip(text: str) -> list[str]:
    """The operations that reach beyond the chips: to the host, or to Python."""
    beyond = re.compile(
        r" (infeed|outfeed|send|send-done|recv|recv-done)\(|host_transfer=true|custom_call_target=\"[^\"]*[Cc]allback"
    )
    return [line.strip() for line in text.splitlines() if beyond.search(line)]


def collectives(text: str) -> dict[str, int]:
    """How many operations between chips there are, by kind."""
    kinds = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
    counts = {kind: len(re.findall(rf" {kind}(?:-start)?\(", text)) for kind in kinds}
    return {kind: count for kind, count in counts.items() if count}


def staged_loops(lowered: Any) -> int:
    """How many loops a program had before XLA."""
    return str(lowered.as_text()).count("stablehlo.while")
