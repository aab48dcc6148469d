"""The optimisation passes, in order, each with the reason for its position.

Figures are of XLA's CPU backend; docs/performance.md says how they were measured. They run while tracing, for all
platforms alike: docs/targets.md says what each does on others. What is left of a conditional may become a select when
it is lowered, which is after it has been differentiated, and for a platform: see `platforms`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from autograph.backends.xla import jax_compat
from autograph.backends.xla.branches import cond
from autograph.backends.xla.jax_compat import ClosedJaxpr
from autograph.backends.xla.optimize.by_rows import scan_by_rows
from autograph.backends.xla.optimize.counters import count_by_item
from autograph.backends.xla.optimize.mapped import map_rows
from autograph.backends.xla.optimize.merged_writes import merge_writes
from autograph.backends.xla.optimize.order import flags_last
from autograph.backends.xla.optimize.ranges import decide_by_ranges
from autograph.backends.xla.optimize.rows import skip_rows
from autograph.backends.xla.optimize.selects import select
from autograph.backends.xla.optimize.strength import reduce_strength
from autograph.backends.xla.optimize.writes import release_conditionals, write_after
from autograph.backends.xla.statements import Conditional, Loop


class Stage(Enum):
    """What a pass takes and returns."""

    BLOCK = "a block's program, once it has been traced, and that program"
    CONDITIONAL = "a conditional, and its results; None to leave it to the next pass"
    LOOP = "a loop, and that loop"


@dataclass(frozen=True)
class Pass:
    stage: Stage
    run: Callable[[Any], Any]
    reason: str


PASSES = (
    Pass(
        Stage.BLOCK,
        reduce_strength,
        "n // 2 is ten operations of XLA, and a shift: 1.9 times the time of a Collatz loop. On blocks, as divisions by "
        "powers of two are rarer in what the other passes make.",
    ),
    Pass(
        Stage.BLOCK,
        skip_rows,
        "An element of a row is read and written as one of the array: 0.08 times the time of a table of 200 by 200 as a list of lists. "
        "On blocks, so that conditionals meet writes of single elements.",
    ),
    Pass(
        Stage.BLOCK,
        merge_writes,
        "Two writes to one place are one, and what is read between them is read before: XLA may copy the array otherwise, 500 times the "
        "time of a knapsack in a table of 200 by 200. After `skip_rows`, as rows are no elements.",
    ),
    Pass(
        Stage.CONDITIONAL,
        select,
        "A conditional costs more than a few scalar operations, and on a GPU a synchronisation: 1.1 times the time of a "
        "Mandelbrot picture. First, as nothing is simpler for those that follow.",
    ),
    Pass(
        Stage.CONDITIONAL,
        write_after,
        "An array that goes through a branch is copied in each iteration of a loop: 20 to 30 times the time of a bubble "
        "sort. Before the conditional is emitted: an array that it carries can no longer be taken out.",
    ),
    Pass(
        Stage.LOOP,
        decide_by_ranges,
        "An index that counts, or that the loop's test compares, is neither negative nor too large: 0.6 times the time of a knapsack in a "
        "table. First, as those that follow find less in a body.",
    ),
    Pass(
        Stage.LOOP,
        scan_by_rows,
        "What is read and written at the loop's index is a scan's input and output: a body that touches elements is one kernel, "
        "which XLA copies no array for, and its reverse sweep adds to no whole array. First, as what it leaves of a body has fewer arrays.",
    ),
    Pass(
        Stage.LOOP,
        release_conditionals,
        "What `write_after` keeps a conditional may be a select where a body never reads what it writes.",
    ),
    Pass(
        Stage.LOOP,
        map_rows,
        "Where no iteration reads what another computes, all of them are one operation on whole arrays: 0.13 times the time of a "
        "noise gate without a memory. After `scan_by_rows`, which takes the arrays apart.",
    ),
    Pass(
        Stage.LOOP,
        count_by_item,
        "The item of a range is carried, and not computed from an index: 1.1 times the time of the sieve of Eratosthenes. "
        "After `release_conditionals`, which needs the body as it was traced.",
    ),
    Pass(
        Stage.LOOP,
        flags_last,
        "Floating-point numbers first and flags last: 1.3 times the time of Newton's method, 1.08 of Mandelbrot. Last, as "
        "it looks at the types of the carry only.",
    ),
)


def optimized_block(program: ClosedJaxpr) -> ClosedJaxpr:
    for each in _of(Stage.BLOCK):
        program = each.run(program)
    return program


def emitted(conditional: Conditional) -> list[Any]:
    """The results of a conditional, by the first pass that has a form for it."""
    for each in () if jax_compat.checks_varying() else _of(Stage.CONDITIONAL):  # they place equations around it
        results: list[Any] | None = each.run(conditional)
        if results is not None:
            return results
    return cond(conditional.predicate, conditional.block(0), conditional.block(1))


def optimized_loop(loop: Loop) -> Loop:
    for each in _of(Stage.LOOP):
        loop = each.run(loop)
    return loop


def _of(stage: Stage) -> tuple[Pass, ...]:
    return tuple(each for each in PASSES if each.stage is stage)
