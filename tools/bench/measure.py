"""Run workloads in several processes, in turns, and compare their results and times."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograph.tools.bench.peers import Process
from autograph.tools.bench.workloads import Workload

OURS = "autograph"
TOLERANCE = 5e-3  # of the largest value: float32, and sums in other orders
ENOUGH = 0.02  # seconds that one measurement should last
SLOW = 2.0  # seconds above which one measurement is enough


@dataclass
class Timing:
    """One version of one workload: seconds a call, in each round; or why there are none."""

    version: str
    first: float = 0.0
    seconds: list[float] = field(default_factory=list)
    error: str | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def ratio(self, other: Timing) -> tuple[float, float, float]:
        """How many times as long as the other, round by round: median and quartiles."""
        pairs = list(zip(self.seconds, other.seconds, strict=False))
        ratios = sorted(a / b for a, b in pairs)
        if len(ratios) < 4:
            middle = self.median / other.median
            return middle, middle, middle
        low, middle, high = statistics.quantiles(ratios, n=4)
        return middle, low, high


def measured(workload: Workload, processes: Sequence[Process], folder: str, rounds: int, quick: bool) -> list[Timing]:
    """Load a workload everywhere, compare the results, and time all versions in turns."""
    timings: dict[str, Timing] = {}
    owners: dict[str, Process] = {}
    reference: Any = None
    for process in processes:
        answer = process.ask("load", workload=workload.name, quick=quick, folder=folder)
        if isinstance(answer.get("error"), str):
            answer = {process.kind: answer}
        for version, found in answer.items():
            timing = timings[version] = Timing(version, found.get("first", 0.0), error=found.get("error"))
            if timing.error is None:
                result = np.load(found["result"])
                reference = result if reference is None else reference
                timing.error = _difference(result, reference)
            if timing.error is None:
                owners[version] = process
    counts: dict[str, int] = {}
    for number in range(rounds):
        for version, process in owners.items() if number % 2 else reversed(list(owners.items())):
            timing = timings[version]
            if timing.error is not None or (number and timing.median > SLOW):
                continue
            try:
                if version not in counts:
                    counts[version] = _calls(workload.name, version, process)
                timing.seconds.append(_seconds(process, workload.name, version, counts[version]))
            except RuntimeError as error:
                timing.error = str(error)
    print(f"  {workload.name}", file=sys.stderr)
    return list(timings.values())


def is_failed(timings: Sequence[Timing]) -> bool:
    """Whether ours, or a version written by hand beside it, was not measured. A library's may be missing."""
    own = {timing.version: timing for timing in timings if timing.version.startswith((OURS, "jax", "lax, "))}
    return OURS not in own or any(timing.error is not None or not timing.seconds for timing in own.values())


def _difference(result: Any, reference: Any) -> str | None:
    if result.shape != reference.shape:
        return f"another result: {result.size} numbers instead of {reference.size}"
    scale = float(np.max(np.abs(reference), initial=1e-9))
    apart = float(np.max(np.abs(result - reference), initial=0.0)) / scale
    return None if apart <= TOLERANCE else f"another result: differs by {apart:.1e}"


def _calls(workload: str, version: str, process: Process) -> int:
    """How many calls last long enough to be measured."""
    seconds = min(_seconds(process, workload, version, 1) for _ in range(2))
    return max(1, min(10_000, round(ENOUGH / max(seconds, 1e-7))))


def _seconds(process: Process, workload: str, version: str, calls: int) -> float:
    """Seconds a call. Of clock and processor the lesser: others make the first longer, waiting threads the second."""
    answer = process.ask("time", workload=workload, version=version, calls=calls)
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return min(answer["wall"], answer["cpu"]) / calls
