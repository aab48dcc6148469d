"""What is recorded in this thread (`LOCAL`), and what a trace that is made again knows from before."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from autograph.backends.selected import STAGING
from autograph.backends.thread import LOCAL as LOCAL
from autograph.runtime.errors import PartOfTrace, StagingError, TracersLeaked
from autograph.runtime.lazy import lazy
from autograph.runtime.tracing.births import ArraysHeld, Births, ListsApart, NodesChosen, TraceAgain


def is_recording() -> bool:
    """Whether what runs now is recorded, to run later."""
    return STAGING.is_recording(STAGING.place())


def count_effect(is_raise: bool = False) -> None:
    """Note that an effect was recorded; an exception is one."""
    LOCAL.effects += 1
    LOCAL.raised += is_raise


def is_in_trace() -> bool:
    """Whether what runs in this thread is recorded, by a `Function` or a transform of JAX's."""
    return LOCAL.frame is not None or not STAGING.is_plain(STAGING.place())


def effects_recorded() -> int:
    """How many effects this thread has recorded: a loop's test that adds to them must run once for each iteration."""
    return LOCAL.effects


def effects_lasting() -> int:
    """How many of these are no exceptions: what runs again where it raised raises again."""
    return LOCAL.effects - LOCAL.raised


def effects_once() -> int:
    """How many of these a trace that is made again would have twice."""
    return LOCAL.effects - LOCAL.raised_at_once


class Repeated:
    """A trace that is made again as often as it ends with `TraceAgain`, and what it knows from before.

    Attributes:
      entry: the file and the first line of the function that is traced; None if it has no source.
      has_numpys: whether the caller has given it arrays of NumPy's, or it has made some: ``x += v`` writes to these in place.
      has_jaxs: whether an array that it is given, and is none of NumPy's, has elements: they are JAX's, too.
    """

    entry: tuple[str, int] | None = None
    has_numpys = has_jaxs = False

    def __init__(self) -> None:
        self._given: dict[int, tuple[Any, Exception | None]] = {}

    def note_given(self, place: Any) -> None:
        """Note that a place stands for an array that the trace is given, whose caller does not see what is written to it."""
        self._given[id(place)] = place, None

    def note_write(self, place: Any, refusal: Exception) -> None:
        """Note a write that only the caller sees if nothing reads the place after it."""
        if id(place) in self._given:
            self._given[id(place)] = place, refusal

    def note_read(self, place: Any) -> None:
        """Note that what is written there by now is seen."""
        if id(place) in self._given:
            self._given[id(place)] = place, None

    def refuse_lost(self) -> None:
        """Refuse a write to an array that is given, which nobody sees."""
        for _, refusal in self._given.values():
            if refusal is not None:
                raise refusal
        self._given.clear()

    @lazy
    def births(self) -> Births:
        return Births()


def births() -> Births | None:
    """What the trace that is made knows of the sets and dicts that it makes; None outside of traces."""
    return None if LOCAL.repeated is None else LOCAL.repeated.births


def repeated(trace: Callable[[], Any], may_repeat: Callable[[], bool], function: Any = None) -> Any:
    """What ``trace`` returns, which is called again whenever it ends with `TraceAgain`, or is refused and could do otherwise: choose
    objects, or hold lists.

    Args:
      may_repeat: whether nothing that it has done would then be done twice.
      function: what is traced.

    Raises:
      StagingError: it would; or the trace is refused, which the first refusal explains. That of objects that lead to each other is
        explained by the last.
    """
    if LOCAL.repeated is not None:
        return trace()
    known = LOCAL.repeated = Repeated()
    if (code := getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None) is not None:
        known.entry = code.co_filename, code.co_firstlineno
    first: StagingError | None = None
    try:
        while True:
            STAGING.forget_compared_sizes()
            try:
                result = trace()
                known.refuse_lost()
                return result
            except TraceAgain as found:
                known._given.clear()
                if found.is_for_caller:
                    raise
                if not may_repeat():
                    raise found.refusal() from None
                known.births.learn(found)
            except (TracersLeaked, PartOfTrace):
                raise
            except StagingError as refusal:
                first = refusal if first is None or known.births.leading else first
                kinds, holds_early = known.births.linkable(), known.births.holds_early
                if not (kinds or holds_early) or not may_repeat():
                    if first is refusal:
                        raise
                    raise first from None
                known.births.learn(ListsApart(refusal) if holds_early else NodesChosen(kinds, refusal))
            except Exception:
                if first is None:
                    raise
                raise first from None
    finally:
        LOCAL.repeated = None
        LOCAL.linked = frozenset()
        LOCAL.places = False


def hold_arrays(refusal: Exception) -> None:
    """Make the trace again, in which arrays are places, if they are not already.

    Args:
      refusal: the error where it cannot be made again.
    """
    if LOCAL.repeated is not None and not LOCAL.places:
        raise ArraysHeld(refusal)


@contextmanager
def on_path(predicate: Any, taken: bool) -> Iterator[None]:
    """Trace the block of a branch, which runs where a predicate is ``taken``, in the trace that is its own."""
    LOCAL.paths.append((predicate, taken, LOCAL.blocks[-1] if LOCAL.blocks else None))
    try:
        yield
    finally:
        LOCAL.paths.pop()


def paths_within(blocks: Sequence[Any]) -> list[tuple[Any, bool]]:
    """The predicates of the branches that have these traces, each with whether the branch runs where it holds."""
    known = set(map(id, blocks))
    return [(predicate, taken) for predicate, taken, block in LOCAL.paths if id(block) in known]
