"""`Extent`: bounds on the length of a list, derived from what a block does to it.

While a loop's body is traced, the length of a list that iterations lengthen is traced. How much room the list needs
is found from the body alone: each method that changes a length changes an upper bound of it, and paths that join take
the larger bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import jax


@dataclass(frozen=True, eq=False)
class _Neutral:
    """Equal to every other of its class, so that it tells no two pytrees apart."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return 0


@dataclass(frozen=True, eq=False)
class Bound(_Neutral):
    """A length is at most ``most``, or at most ``rise`` more than when the block began; ``-inf`` where no path needs the one."""

    most: float = -math.inf
    rise: float = -math.inf

    def plus(self, count: float) -> Bound:
        """The bound of ``count`` elements more."""
        return Bound(_sum(self.most, count), _sum(self.rise, count))

    def join(self, other: Bound) -> Bound:
        """The bound of a list that is one of two."""
        return Bound(max(self.most, other.most), max(self.rise, other.rise))


@dataclass(frozen=True, eq=False)
class Extent(_Neutral):
    """How long a list may be now, and at most since the block began: by default, as long as then.

    Attributes: net (how many more elements there are now, where all paths agree on it), origin (which list's length it is
    that ``rise`` and ``net`` are relative to).
    """

    now: Bound = Bound(rise=0)
    peak: Bound = Bound(rise=0)
    net: int | None = 0
    origin: object = None

    def plus(self, count: float) -> Extent:
        """After ``count`` elements more; fewer where that is negative."""
        now = self.now.plus(count)
        net = None if self.net is None or math.isinf(count) else self.net + int(count)
        return replace(self, now=now, peak=self.peak.join(now), net=net)

    def shortened(self) -> Extent:
        """After some elements were left out, no matter how many."""
        return replace(self, net=None)

    def emptied(self) -> Extent:
        """After all elements were removed."""
        return replace(self, now=Bound(most=0), peak=self.peak.join(Bound(most=0)), net=None)

    def join(self, other: Extent) -> Extent:
        """Of a list that is one of two, whose lengths are relative to that of one list."""
        net = self.net if self.net == other.net else None
        return replace(self, now=self.now.join(other.now), peak=self.peak.join(other.peak), net=net)

    def relative_to(self, origin: object, capacity: Any) -> Extent:
        """The same relative to the length of ``origin``, for a list that has this capacity."""
        if self.origin == origin or self.now.rise == self.peak.rise == -math.inf:
            return replace(self, origin=origin)
        return replace(exactly(capacity), origin=origin)

    @property
    def grows(self) -> bool:
        """Whether the list may have been longer than when the block began."""
        return self.peak.rise > 0 or self.peak.most > -math.inf

    def limit(self, capacity: Any) -> Any:
        """The most elements there may be now, of a list that has this capacity."""
        if self.now.rise > -math.inf or not isinstance(capacity, int):
            return capacity
        return int(min(capacity, max(0, self.now.most)))

    def since(self, length: int) -> Extent:
        """The same, for a block that began with a list of this known length, relative to that length."""
        return replace(self, now=_relative(self.now, length), peak=_relative(self.peak, length), net=None)

    def room(self, before: Any, iterations: Any) -> Any:
        """The room for a list of ``before`` elements in a loop of so many iterations (None: not known), of which this is one.

        None where there is no bound.
        """
        if math.isinf(max(0, self.now.most, self.peak.most)):
            return None
        absolute = int(max(0, self.now.most, self.peak.most))
        start = max(before, absolute) if isinstance(before, int) else before + absolute
        highest = max(0, self.peak.rise)
        if self.now.rise <= 0:
            return None if math.isinf(highest) else start + int(highest)
        if iterations is None or math.isinf(self.now.rise) or math.isinf(highest):
            return None
        return start + int(self.now.rise) * (iterations - 1) + int(highest)

    def net_of(self, iterations: int | None) -> int | None:
        """How many more elements exactly so many iterations (None: not known) leave, each of which does what this says."""
        return None if self.net is None or iterations is None else self.net * iterations

    def after(self, body: Extent, iterations: Any, exactly: int | None = None) -> Extent:
        """After a loop in the block, each of whose iterations does what ``body`` says.

        Args:
          iterations: their number, or the most there may be; None where that is not known.
          exactly: their number, where that is known.
        """
        rise = max(0, body.now.rise)
        count = iterations if isinstance(iterations, int) else math.inf
        most = rise * count if rise else 0
        highest = most - rise + max(0, body.peak.rise) if rise < math.inf else math.inf
        now = self.now.plus(most).join(Bound(most=_sum(body.now.most, most)))
        peak = self.now.plus(highest).join(Bound(most=_sum(body.peak.most, most)))
        more = body.net_of(exactly)
        net = None if self.net is None or more is None else self.net + more
        return replace(self, now=now, peak=self.peak.join(now).join(peak), net=net)


def at_most(count: int) -> Extent:
    """Of a list that drops an element where it has more than ``count``."""
    return Extent(Bound(most=count), Bound(most=count + 1), None)


UNBOUNDED = Extent(Bound(rise=math.inf), Bound(rise=math.inf), None)


def exactly(count: Any) -> Extent:
    """Of a list of ``count`` elements; no more is said of a count that is no int."""
    bound = Bound(most=count if isinstance(count, int) else math.inf)
    return Extent(bound, bound, None)


def most_of_slice(key: slice, capacity: Any) -> Any:
    """How many elements a slice takes at most, of a list with so much room."""
    start, stop = key.start, key.stop
    is_known = all(part is None or type(part) is int for part in (start, stop))
    if not isinstance(capacity, int) or not is_known or key.step is not None:
        return capacity
    start = 0 if start is None else start
    if stop is None:
        return min(capacity, -start) if start < 0 else capacity
    return min(capacity, max(0, stop - start)) if (start < 0) == (stop < 0) else capacity


def _sum(one: float, other: float) -> float:
    return one if one == -math.inf else one + other


def _relative(bound: Bound, length: int) -> Bound:
    return Bound(rise=max(bound.rise, bound.most - length))


def is_traced_key(key: Any) -> bool:
    """Whether an index is traced, or one of the bounds of a slice."""
    parts = (key.start, key.stop, key.step) if isinstance(key, slice) else (key,)
    return any(isinstance(part, jax.core.Tracer) for part in parts)
