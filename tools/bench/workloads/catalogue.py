"""All workloads, in the order of the tables."""

from __future__ import annotations

import dataclasses

from autograph.tools.bench.workloads.arrays import ARRAYS
from autograph.tools.bench.workloads.for_tensorflow import VARIANTS
from autograph.tools.bench.workloads.grids import GRIDS
from autograph.tools.bench.workloads.jumps import JUMPS
from autograph.tools.bench.workloads.networks import NETWORKS
from autograph.tools.bench.workloads.ode import ODE
from autograph.tools.bench.workloads.scalars import SCALARS
from autograph.tools.bench.workloads.searches import SEARCHES
from autograph.tools.bench.workloads.tables import TABLES
from autograph.tools.bench.workloads.workload import Workload


def _with_variants(workload: Workload) -> Workload:
    if workload.name not in VARIANTS:
        return workload
    return dataclasses.replace(workload, variants={**workload.variants, "tensorflow": VARIANTS[workload.name]})


WORKLOADS = {
    each.name: _with_variants(each) for each in [*SCALARS, *ARRAYS, *JUMPS, *GRIDS, *NETWORKS, *ODE, *SEARCHES, *TABLES]
}
