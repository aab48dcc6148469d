"""The benchmarked programs, each in plain Python and written by hand with `jax.lax`.

These files import nothing but the standard library and NumPy at the top, as each peer's process loads them where JAX
may not be installed. A program gets its array functions as ``xp``: `jax.numpy`, `numpy`, or what represents it.
"""

from __future__ import annotations

from autograph.tools.bench.workloads.catalogue import WORKLOADS as WORKLOADS
from autograph.tools.bench.workloads.workload import Workload as Workload
