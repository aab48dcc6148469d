"""`Copies`: the size of unrolled loops in the program being recorded, which decides whether a loop is staged.

A loop that Python runs while a program is recorded leaves its body in the program once for each iteration. What
counts is the size that this comes to: iterations times the operations of one, loops in loops multiplied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Any

from autograph.backends.base import Backend
from autograph.runtime.containers.iterables import UNROLLED_AT_MOST
from autograph.runtime.errors import StagingError
from autograph.runtime.tracing.locations import record_remark, warn

# Operations of a loop in Python, all iterations together: XLA takes a second or two to compile so many.
OPERATIONS_AT_MOST = 500
# So few copies of a body are recorded without first finding out how large it is.
_FEW = 8
# Operations from which on a loop over Python objects is warned of, however few they are.
_WARNED_FROM = 10 * OPERATIONS_AT_MOST


class PerhapsKnown(StagingError):
    """What a loop that Python could run asks for may be known to Python: the index of a write to a long list, the size of an array.

    Attributes: line (which asks).
    """

    def __init__(self, line: str, message: str) -> None:
        super().__init__(message)
        self.line = line


class Copies:
    """What a loop in Python, and those around it, make of the program.

    Attributes:
      count: how many copies of what is recorded now the program would hold.
      sizes: by the code of a loop's body, how many operations an iteration of it is; why it must run in Python, if it must.
      staged: the same for loops inside this one that have become one loop, for all the iterations that they represent.
      traced: the lines that have asked for what only the run knows while all loops around that could run in Python did. See
        `PerhapsKnown`.
      peeled: how many iterations have run in Python before what is left was tried as one loop.
      are_empty: whether nothing is recorded of them, as a loop around works on constants only.
    """

    def __init__(self) -> None:
        self.count = 1
        self.sizes: dict[CodeType, int | str] = {}
        self.staged: dict[CodeType, int] = {}
        self.traced: set[str] = set()
        self.peeled = 0
        self.are_empty = False

    def within(self, iterations: int) -> Copies:
        """For the body of a loop that runs so often here."""
        inner = Copies()
        inner.count = self.count * max(iterations, 1)
        inner.sizes, inner.traced, inner.are_empty = self.sizes, self.traced, self.are_empty
        return inner

    def is_few(self) -> bool:
        return self.count <= _FEW

    def is_large(self, operations: int) -> bool:
        """Whether the program is to hold no copies of something of this size."""
        return self.count > 1 and self.count * operations > OPERATIONS_AT_MOST

    def size_of(self, operations: int) -> int:
        """The size of an iteration of which so many operations are recorded, those of loops in it multiplied."""
        return operations + sum(self.staged.values())


class Watch:
    """Counts the iterations of a loop in Python, and what they record; warns where it is much.

    Args:
      traced_leaves: what the loop's functions reach and is traced, now.
      peeled: how many iterations have run before.
      is_idle: whether there is nothing to count, as iterations record nothing.
    """

    def __init__(
        self,
        backend: Backend,
        traced_leaves: Callable[[Backend, Sequence[Callable[..., Any]]], Iterable[Any]],
        functions: Sequence[Callable[..., Any]],
        peeled: int = 0,
        is_idle: bool = False,
    ) -> None:
        self.backend = backend
        self.peeled = peeled
        self.is_idle = is_idle
        self.traced_leaves = traced_leaves
        self.functions = functions
        self.count = 0
        self.held: list[Any] | None = None
        self._start: int | None = None

    def step(self) -> None:
        """Note that an iteration begins."""
        self.count += 1
        if self.is_idle:
            return
        if self.count == 1 and self.backend.is_tracing():
            self._start = self.backend.operations_recorded()
        if self.count == UNROLLED_AT_MOST and self.backend.is_tracing():
            self.held = list(self.traced_leaves(self.backend, self.functions))

    def warn(self, reason: str | None) -> None:
        """Warn, if much was recorded. ``reason``: why the loop is not one staged loop."""
        if self._start is None:
            return
        why = "" if reason is None else f" It was not staged: {reason}."
        count = self.peeled + self.count
        record_remark(f"This loop ran in Python while tracing: the program holds its body {count} times.{why}")
        total = self.backend.operations_recorded()
        recorded = total - self._start
        allowed = _WARNED_FROM if reason is None else OPERATIONS_AT_MOST
        if recorded <= allowed and not (self.count > UNROLLED_AT_MOST and self._leaves_traced_values()):
            return
        warn(
            f"this loop was unrolled while tracing: the program holds its body {count} times, {recorded:,} of the {total:,} "
            f"operations recorded so far.{why}\n  Loop over autograph.range, or make "
            "autograph.set_loop_options(unroll=False) the first statement of the body; unroll=True "
            "accepts the unrolled loop."
        )

    def _leaves_traced_values(self) -> bool:
        """Whether late iterations left something traced behind."""
        if self.held is None:
            return False
        before = set(map(id, self.held))
        return any(id(leaf) not in before for leaf in self.traced_leaves(self.backend, self.functions))
