"""Time several forms of one computation in this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import jax


def timed_in_turns(forms: Sequence[Callable[[], Any]], rounds: int) -> list[list[float]]:
    """The seconds that calls of each take, in each round; they take turns, in the other order in every second round."""
    found: list[list[float]] = [[] for _ in forms]
    for number in range(rounds):
        for k in range(len(forms))[:: 1 if number % 2 else -1]:
            start = time.perf_counter()
            jax.block_until_ready(forms[k]())
            found[k].append(time.perf_counter() - start)
    return found
