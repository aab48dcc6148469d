"""Memory over many calls and many rows, which must stay constant: ``python -m autograph.tools.bench.memory``.

``calls`` passes one Function fresh Python values, each a signature of its own, of which the cache keeps a bounded
number. ``rows`` streams rows from a generator through one staged loop.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

import autograph as ag

_STATM = Path("/proc/self/statm")


def resident() -> float:
    """This process's memory in MiB: now, or where that is not known, at most so far."""
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * resource.getpagesize() / 2**20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def calls(count: int, limit: int) -> None:
    """Call one Function with ``count`` different ints."""
    warnings.simplefilter("ignore")  # that it is traced too often is what this is about
    f = ag.function(lambda x, n: x * n, cache_limit=limit)
    x = jnp.ones(8)
    start = time.perf_counter()
    for k in range(count):
        f(x, k)
        if (k + 1) % max(count // 10, 1) == 0:
            print(f"{k + 1:>9} calls  {resident():7.0f} MiB  {time.perf_counter() - start:6.0f} s", flush=True)


def rows(count: int, batch: int) -> None:
    """Sum ``count`` rows of a generator, in batches."""

    def make() -> Iterator[np.float32]:
        one = np.float32(1)
        for k in range(count):
            if k % max(count // 10, 1) == 0:
                print(f"{k:>9} rows   {resident():7.0f} MiB  {time.perf_counter() - start:6.0f} s", flush=True)
            yield one

    data = ag.Dataset.from_generator(make, jnp.float32).batch(batch)

    @ag.function
    def total() -> Any:
        s = 0
        for x in data:
            s += x.astype(jnp.int32).sum()
        return s

    start = time.perf_counter()
    found = int(total())
    print(f"{found:>9} rows   {resident():7.0f} MiB  {time.perf_counter() - start:6.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["calls", "rows"])
    parser.add_argument("--count", type=int, help="100,000 calls or 10 million rows, unless given")
    parser.add_argument("--limit", type=int, default=256, help="how many signatures the cache keeps")
    parser.add_argument("--batch", type=int, default=1000, help="rows in a batch")
    given = parser.parse_args()
    if given.what == "calls":
        calls(given.count or 100_000, given.limit)
    else:
        rows(given.count or 10_000_000, given.batch)


if __name__ == "__main__":
    main()
