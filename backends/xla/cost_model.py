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
# elements of a row. An iteration of a loop takes 1.4 ns with next to nothing in it, which is three exponentials that are mapped: a
# branch of 24 additions that is hardly ever taken breaks even (0.9), one of 40 takes 1.6 times the time. Rows of more elements have
# little to gain, as operations on them are vectorized in a loop too.
# calibrate: "mapped".
MAPPED = Limits(operations=24, elements=256)


@dataclass(frozen=True)
class Body:
    """Up to which bodies of a loop a number of iterations is taken at once.

    Attributes:
      work: its operations times the numbers that it returns, as XLA computes each of these in a kernel of its own, from the start;
        numbers of 8 bytes count twice.
      operations: its operations.
    """

    work: int
    operations: int


# How many iterations of a `jax.lax.scan` are one iteration of XLA's loop (`optimize.unrolling`). XLA compiles a loop into one kernel
# while it takes an iteration to touch less than 1,024 bytes, and beyond that it is 10 to 40 times slower. Of 150 bodies made at random
# none of less work than 56 was beyond that with 8 iterations at once, and none of less than 400 with 4. Those within the limits took
# 0.26 to 0.97 times the time with 8, 0.33 to 0.95 with 4 (an exponential average 0.65, a biquad 0.65); longer ones gain little, or
# lose (1.2 with 26 operations). They take 10 to 20 ms longer to compile, which a loop of few iterations never makes up for.
# calibrate: "unrolling".
UNROLLED: Mapping[int, Body] = MappingProxyType({8: Body(work=45, operations=16), 4: Body(work=72, operations=24)})
UNROLLED_FROM = 1000

# An operation that costs as much takes most of the time of an iteration, however many are taken at once: 1.02 with an exponential.
# calibrate: "unrolling".
LONG_OPERATION = 8

# How many selects of arrays stand one behind another, each tested by what those before it returned, before a conditional ends the chain
# (`optimize.chains`). XLA takes 0.5, 1.5 and 6.7 s to compile 25, 50 and 100 of selects alone, 0.4, 0.9 and 1.9 s with this, and 0.6,
# 1.3 and 3.1 s of conditionals alone.
LONGEST_CHAIN = 8

# Iterations between tests of a loop over whole arrays (`while_ad.chunks`): of a Mandelbrot picture of 120,000 points, 4 take 0.43 of
# the time that a test each takes, 8 take 0.34, 16 take 0.40.
CHUNK = 8
# Smaller arrays stay near the processor, and passes over them cost little. Of a batch of Collatz sequences, Mandelbrot points and square
# roots a chunk of 8 takes 0.69, 1.09 and 3.8 times the time with 16,384 lanes, 0.69, 0.62 and 0.78 with 32,768, 0.34, 0.28 and 0.70
# with 262,144.
CHUNKS_FROM = 32_768

# What it costs to carry a number from one iteration to the next, in additions (`while_ad.exits`): a search of 84,000 steps that carries
# four takes 421 us, one that carries one 153 us, with as many operations in each.
CARRIED_NUMBER = 3
