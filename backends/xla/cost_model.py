"""What operations cost on XLA, and the limits that choices between forms of a program go by.

Each number here comes from a measurement, which stands beside it: of XLA's CPU backend, on the machine of docs/performance.md,
unless it says otherwise. `python -m autograph.tools.bench.calibrate` takes them again, and prints what it finds beside what stands
here. What differs from platform to platform is put together in `platforms`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Limits:
    """Up to where running both branches of a conditional is taken to cost less than choosing one.

    Attributes:
      operations: what both branches compute, in additions (see `OPERATIONS`).
      elements: of each value that they compute.
    """

    operations: int
    elements: int


# What an operation on a number costs, in additions; 1 where it is not listed, of the operations that `optimize.selects` knows.
# calibrate: "operations". A chain of 64 of each in a loop: an addition takes 4 cycles, and so does a multiplication.
OPERATIONS: Mapping[str, int] = MappingProxyType(
    {
        "mul": 1,
        "square": 1,
        "one_minus_square": 2,
        "integer_pow": 2,
        "div": 4,
        "rem": 6,
        "sqrt": 4,
        "rsqrt": 4,
        "nextafter": 4,
        "dynamic_slice": 2,
        "gather": 4,
        "iota": 1,
        "concatenate": 2,
        "rev": 1,
        "reduce_sum": 2,
        "reduce_max": 2,
        "reduce_min": 2,
        "reduce_and": 2,
        "reduce_or": 2,
        **dict.fromkeys(["exp", "exp2", "log", "log2", "log1p", "expm1", "sin", "cos", "tan", "tanh", "logistic"], 8),
        **dict.fromkeys(["pow", "atan2", "erf", "cbrt", "sinh", "cosh", "asin", "acos", "atan"], 16),
    }
)

# A conditional costs about as much as this many additions of single numbers: the branches that `optimize.selects` runs both.
# calibrate: "conditional".
CPU_SELECTS = Limits(operations=24, elements=16)

# Bodies that are mapped over all iterations at once (`optimize.mapped`): what their conditionals compute in both branches, and the
# elements of a row. An iteration of a loop takes 1.4 ns with next to nothing in it, which is five exponentials that are mapped: a
# branch of 40 additions, seldom taken, breaks even (1.03). Rows of more elements have little to gain, as operations on them are
# vectorized in a loop too.
# calibrate: "mapped".
MAPPED = Limits(operations=40, elements=256)

# How many iterations of a `jax.lax.scan` are one iteration of XLA's loop (`optimize.unrolling`), by the work of the body: its
# operations times the numbers that it returns, as XLA computes each of them in a kernel of its own, from the start; numbers of 8
# bytes count twice. XLA compiles a loop into one kernel while it takes an iteration to touch less than 1,024 bytes, and beyond that
# it is 40 times slower. Of 110 bodies made at random none of less work than 100 was beyond that with 8 iterations at once, and none
# of less than 400 with 4; half of that and less are the limits. They took 0.26 to 1.0 times the time with 8, 0.33 to 0.92 with 4 (an
# exponential average 0.65, a biquad 0.62), and 10 to 20 ms longer to compile, which a loop of few iterations never makes up for.
# calibrate: "unrolling".
UNROLLED_WORK: Mapping[int, int] = MappingProxyType({8: 50, 4: 100})
UNROLLED_FROM = 1000

# An operation that costs as much takes most of the time of an iteration, however many are taken at once: 1.02 with an exponential.
# calibrate: "unrolling".
LONG_OPERATION = 8
