"""The table of what differs between platforms, consulted when a program is lowered.

A program is traced, differentiated and mapped once, whatever it is to run on; what it is to run on is known when it
is lowered. So a choice can depend on the platform only if both of its forms are one equation until then: a
conditional is the primitive ``cond`` of `branches`, which becomes a conditional or a select. A program that is
lowered for several platforms holds both, where they differ, and the platform that it is loaded on picks one before
XLA compiles it.

All other passes (`optimize.passes`) run while tracing. Each either helps on every platform or does no harm on any:
docs/targets.md says what was found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from autograph.backends.xla.cost_model import CHUNK, CPU_SELECTS, Limits


@dataclass(frozen=True)
class Choices:
    """What is decided for a platform.

    Attributes:
      selects: the conditionals that run both branches and select the results.
      why_selects: the reason for these limits.
      keeps_conditionals_of_writes: whether a conditional that writes have been taken out of (`optimize.writes`) stays one,
        however short it is.
      why_keeps: the reason for that.
      writes_in_branches: whether such writes are made in the branches after all, where a loop is lowered (`optimize.writes_in_branches`).
      why_writes: the reason for that.
      holds_reads: whether what is read of an array that a loop writes is kept apart from what uses it (`optimize.held_reads`).
      why_holds: the reason for that.
      unrolls: whether small bodies of long loops are taken several times in an iteration (`optimize.unrolling`).
      why_unrolls: the reason for that.
      chunk: how many iterations run between tests of a loop that may do so (see `while_ad.chunks`); 1 for none but one.
      why_chunk: the reason for that.
    """

    selects: Limits
    why_selects: str
    keeps_conditionals_of_writes: bool
    why_keeps: str
    writes_in_branches: bool
    why_writes: str
    holds_reads: bool
    why_holds: str
    unrolls: bool
    why_unrolls: str
    chunk: int
    why_chunk: str


_CPU = Choices(
    selects=CPU_SELECTS,
    why_selects="A conditional costs about as much as 24 additions of single numbers; measured.",
    keeps_conditionals_of_writes=True,
    why_keeps="After a select XLA reads an array again behind the write, and copies it to be able to: 20 to 30 times the time "
    "of a bubble sort; measured.",
    writes_in_branches=True,
    why_writes="The branch that is not taken writes nothing and checks no index: 0.7 times the time of a bubble sort; measured.",
    holds_reads=True,
    why_holds="XLA reads again in each operation that uses the element, behind the write, too, and copies the array to be able to: "
    "a breadth-first search takes 0.02 times the time; measured with jax 0.12.",
    unrolls=True,
    why_unrolls="XLA keeps what a loop carries in memory between iterations: 0.5 to 0.65 times the time of a filter; measured.",
    chunk=CHUNK,
    why_chunk="Iterations in a chunk are one pass over memory. Of a Mandelbrot picture, 4, 8 and 16 take 0.43, 0.34 and 0.40 of the time; "
    "measured.",
)
_GPU = Choices(
    selects=Limits(operations=96, elements=2**20),
    why_selects="The host reads the test and starts the branch, and both branches are one kernel. 96 operations on a million elements "
    "take 0.54 to 0.7 of the time as a select; 24 on 8,192 or fewer the same; measured on an H100.",
    keeps_conditionals_of_writes=True,
    why_keeps="A bubble sort takes the same time either way (0.93 to 1.09); measured on an H100.",
    writes_in_branches=False,
    why_writes="A bubble sort takes 1.4 to 1.6 of the time with the writes in the branch; measured on an H100.",
    holds_reads=False,
    why_holds="An operation more is a kernel more that the host starts in each iteration; not measured.",
    unrolls=True,
    why_unrolls="The host starts the kernels of each iteration, and eight iterations are one kernel: 0.13 to 0.19 of the time of a "
    "filter; measured on an H100.",
    chunk=CHUNK,
    why_chunk="A Mandelbrot picture takes the same time with chunks of 1 to 16 (0.95 to 1.04); measured on an H100.",
)
PLATFORMS: Mapping[str, Choices] = MappingProxyType(
    {
        "cpu": _CPU,
        "cuda": _GPU,
        "rocm": _GPU,
        "tpu": Choices(
            selects=Limits(operations=24, elements=8192),
            why_selects="Each branch is a kernel, at 1,824 cycles before it computes anything, and what it returns is copied. Both "
            "branches are one kernel, which takes at most 2 % longer than one of them; by the estimates of XLA's compiler for v5e.",
            keeps_conditionals_of_writes=False,
            why_keeps="XLA puts in no copies after a select, and moves what the branches touch between the chip's memories around "
            "conditionals; seen in what it compiles.",
            writes_in_branches=False,
            why_writes="What branches touch is moved between the chip's memories around them; by what XLA's compiler says of v5e.",
            holds_reads=False,
            why_holds="Not measured.",
            unrolls=False,
            why_unrolls="Not measured.",
            chunk=1,
            why_chunk="The chip tests by itself, without the host; not measured.",
        ),
    }
)

# What is short on every platform: for what is decided while tracing.
EVERYWHERE = Limits(
    min(each.selects.operations for each in PLATFORMS.values()),
    min(each.selects.elements for each in PLATFORMS.values()),
)


def choices_on(platform: str) -> Choices:
    """What is decided for this platform; one that is not known is taken for a CPU."""
    return PLATFORMS.get(platform, _CPU)
