"""`Extent`: bounds on the length of a list, derived from what a block does to it.

While a loop's body is traced, the length of a list that iterations lengthen is traced. How much room the list needs
is found from the body alone: each method that changes a length changes an upper bound of it, and paths that join take
the larger bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import jax


@dataclass(frozen=True, eq=False)
class _Neutral:
    """Equal to every other of its class, so that it tells no two pytrees apart."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return 0


class Origin:
    """A list when a block begins: lengths are relative to its length, and lists lie in its room, whatever variable holds them.

    Attributes:
      key: which list it is; capacity: its room.
      peak: how long the lists have been that lie in its room.
    """

    __slots__ = ("key", "capacity", "peak")

    def __init__(self, key: object, capacity: Any) -> None:
        self.key = key
        self.capacity = capacity
        self.peak = Bound()


@dataclass(frozen=True, eq=False)
class Bound(_Neutral):
    """A length is at most ``most``, or as much more than that of a list when the block began as ``rises`` says.

    Attributes: most (``-inf`` where no path needs it), rises (by the list, which is None for the one that this is about).
    """

    most: float = -math.inf
    rises: Mapping[Origin | None, float] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def rise(self) -> float:
        """How much longer it is at most than each of those lists; ``-inf`` where there are none."""
        return max(self.rises.values(), default=-math.inf)

    def plus(self, count: float) -> Bound:
        """The bound of ``count`` elements more."""
        return Bound(_sum(self.most, count), {origin: rise + count for origin, rise in self.rises.items()})

    def absolute(self, is_known: Callable[[object], bool]) -> Bound:
        """The bound in terms of those lists only whose key ``is_known``: the others are as long as when the block began."""
        most, rises = self.most, {}
        for origin, rise in self.rises.items():
            if origin is None or is_known(origin.key):
                rises[origin] = rise
            else:
                most = max(most, (origin.capacity if isinstance(origin.capacity, int) else math.inf) + rise)
        return Bound(most, rises)

    def since(self, length: int) -> Bound:
        """The bound relative to the list itself, of which this length is known when the block began."""
        rise = max(self.rises.get(None, -math.inf), self.most - length)
        return Bound(rises=self.rises if rise == -math.inf else {**self.rises, None: rise})

    def join(self, other: Bound) -> Bound:
        """The bound of a list that is one of two."""
        rises = {**self.rises, **other.rises}
        joined = {o: max(bound.rises.get(o, -math.inf) for bound in (self, other)) for o in rises}
        return Bound(max(self.most, other.most), joined)


_AS_BEFORE = Bound(rises=MappingProxyType({None: 0}))


@dataclass(frozen=True, eq=False)
class Extent(_Neutral):
    """How long a list may be now, and at most since the block began: by default, as long as then.

    Attributes:
      net: how many more elements there are now, where all paths agree on it.
      rooms: the lists in whose room it lies.
    """

    now: Bound = _AS_BEFORE
    peak: Bound = _AS_BEFORE
    net: int | None = 0
    rooms: frozenset[Origin] = frozenset()

    @classmethod
    def starting(cls, key: object, capacity: Any) -> Extent:
        """Of a list when a block begins."""
        itself = Origin(key, capacity)
        bound = Bound(rises={itself: 0})
        return cls(bound, bound, rooms=frozenset([itself]))

    def plus(self, count: float) -> Extent:
        """After ``count`` elements more; fewer where that is negative."""
        now = self.now.plus(count)
        net = None if self.net is None or math.isinf(count) else self.net + int(count)
        return replace(self, now=now, peak=self.peak.join(now), net=net)._noted(now)

    def _noted(self, bound: Bound) -> Extent:
        """The same, once it is noted of the room that lists in it may be so long."""
        for room in self.rooms:
            room.peak = room.peak.join(bound)
        return self

    def shortened(self) -> Extent:
        """After some elements were left out, no matter how many."""
        return replace(self, net=None)

    def emptied(self) -> Extent:
        """After all elements were removed."""
        return replace(self, now=Bound(most=0), peak=self.peak.join(Bound(most=0)), net=None)

    def copied(self) -> Extent:
        """The same in other room."""
        return replace(self, rooms=frozenset())

    def becoming(self, other: Extent) -> Extent:
        """As long as ``other`` says, in the room of this."""
        return replace(other, rooms=self.rooms)._noted(other.now)

    def join(self, other: Extent) -> Extent:
        """Of a list that is one of two."""
        is_one = self.net == other.net and set(self.now.rises) == set(other.now.rises)
        return Extent(
            self.now.join(other.now),
            self.peak.join(other.peak),
            self.net if is_one else None,
            self.rooms | other.rooms,
        )

    @property
    def origins(self) -> set[Origin]:
        """The lists, other than the one that this is about, that it is relative to."""
        return {origin for origin in (*self.now.rises, *self.peak.rises) if origin is not None}

    def ended(self, own: Origin) -> Extent:
        """The same for what is instead of the list ``own`` when the block ends: its room is for all that has lain in it."""
        return replace(self, peak=self.peak.join(own.peak))

    def absolute(self, is_known: Callable[[object], bool]) -> Extent:
        """The same relative to those lists only whose key ``is_known``."""
        if all(is_known(origin.key) for origin in self.origins):
            return self
        return replace(self, now=self.now.absolute(is_known), peak=self.peak.absolute(is_known), net=None)

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
        return replace(self, now=self.now.since(length), peak=self.peak.since(length), net=None)

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

    def after(self, body: Extent, iterations: Any, exactly: int | None = None, many: Extent | None = None) -> Extent:
        """After a loop in the block, each of whose iterations does what ``body`` says.

        Args:
          iterations: their number, or the most there may be; None where that is not known.
          exactly: their number, where that is known.
          many: how long the list is that they go over, if it is one.
        """
        rise = max(0, body.now.rise)
        count = iterations if isinstance(iterations, int) else math.inf
        most = rise * count if rise else 0
        highest = most - rise + max(0, body.peak.rise) if rise < math.inf else math.inf
        if many is not None and rise == 1 and body.now.most == -math.inf == self.now.rise and many.now.rises:
            now = many.now.plus(self.now.most)  # one element at most for each of that list's
            peak = now.plus(max(0, body.peak.rise) - rise)
        else:
            now = self.now.plus(most).join(Bound(most=_sum(body.now.most, most)))
            peak = self.now.plus(highest)
        peak = peak.join(Bound(most=_sum(body.peak.most, most)))
        more = body.net_of(exactly)
        net = None if self.net is None or more is None else self.net + more
        return replace(self, now=now, peak=self.peak.join(now).join(peak), net=net)._noted(now.join(peak))


def at_most(count: int) -> Extent:
    """Of a list that drops an element where it has more than ``count``."""
    return Extent(Bound(most=count), Bound(most=count + 1), None)


UNBOUNDED = Extent(Bound(rises={None: math.inf}), Bound(rises={None: math.inf}), None)


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


def is_traced_key(key: Any) -> bool:
    """Whether an index is traced, or one of the bounds of a slice."""
    parts = (key.start, key.stop, key.step) if isinstance(key, slice) else (key,)
    return any(isinstance(part, jax.core.Tracer) for part in parts)
