"""What is decided for each platform, when a program is lowered for it: which conditionals run both their branches.

The other passes (`passes.PASSES`) are of use on every platform, or of none; they run once, while tracing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograph.backends.xla.jax_compat import ClosedJaxpr
from autograph.backends.xla.optimize.selects import Limits, runs_both


@dataclass(frozen=True)
class Conditionals:
    """How a platform wants its conditionals.

    Attributes:
      limits: the largest whose branches both run, the results selected.
      keeps: whether one that `writes.write_after` has taken writes out of stays a conditional all the same.
      reason: why.
    """

    limits: Limits
    keeps: bool
    reason: str

    def select(self, branches: Sequence[ClosedJaxpr], keeps: bool) -> bool:
        """Whether these branches both run; ``keeps``: writes have been taken out of them."""
        return not (keeps and self.keeps) and runs_both(branches, self.limits)


_GPU = Conditionals(
    Limits(operations=24, elements=1024),
    keeps=True,
    reason="XLA runs a conditional from the host, or as a graph of its own; an array of up to 1,024 elements is one block of threads. "
    "Writes as on a CPU: copies are put in by the same pass of XLA. Not measured.",
)
PLATFORMS: Mapping[str, Conditionals] = {
    "cpu": Conditionals(
        Limits(operations=24, elements=16),
        keeps=True,
        reason="A conditional costs about as much as 24 additions: measured, 1.1 times the time of a Mandelbrot picture. After a select "
        "XLA reads an array again behind the write, and copies it: measured, 20 to 30 times the time of a bubble sort.",
    ),
    "cuda": _GPU,
    "rocm": _GPU,
    "tpu": Conditionals(
        Limits(operations=24, elements=1024),
        keeps=False,
        reason="Around a conditional the scalar core waits for the vector unit, and XLA moves what the branches touch between the chip's "
        "memories; up to 1,024 elements are one vector register, and cost what one number does. Seen in what is compiled, not measured.",
    ),
}


def conditionals_on(platform: str) -> Conditionals:
    """How this platform wants its conditionals; one that is not known wants them as a CPU does."""
    return PLATFORMS.get(platform, PLATFORMS["cpu"])
