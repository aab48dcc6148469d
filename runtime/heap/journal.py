"""`Journal`: the writes to objects while a block is traced, to undo, carry or refuse them.

A block of a staged statement runs once, at trace time, whether or not it will be taken and however often. What it
writes to an object that was there before must become state of the statement. Converted code reports each write
before it is made; the innermost region keeps the value that was there. When the block has run, the region gives the
places written, with what they hold, and puts back what they held.

An object that the block itself made is no concern of the statement's. Converted code reports what it makes; of what
else makes objects (displays of fixed length, libraries), one is told by this: nothing that the block can reach, as it
was before, leads to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from autograph.backends.selected import STAGING
from autograph.runtime.errors import StagingError, describe_location
from autograph.runtime.heap.attempts import WritesOfAttempt
from autograph.runtime.heap.cached_reads import CachedRead
from autograph.runtime.heap.copies import Copies
from autograph.runtime.heap.holders import there_before, within_reach
from autograph.runtime.heap.observers import Observer
from autograph.runtime.heap.places import (
    MUTABLE_CONTAINERS,
    AttributePlace,
    ContentsPlace,
    Place,
    is_cache,
    owner_of,
)
from autograph.runtime.heap.reach import Reach, same
from autograph.runtime.heap.unknown import Reason, Unknowns, holds_unknown
from autograph.runtime.layouts.references import is_reference
from autograph.runtime.layouts.statement_variables import CellVariable, Snapshot
from autograph.runtime.lazy import lazy
from autograph.runtime.tracing.locations import calling_line, location_of_assignment, user_location

__all__ = ["MUTABLE_CONTAINERS", "AttributePlace", "ContentsPlace", "Journal", "Place", "Region"]


class Region:
    """The writes of one block.

    Attributes:
      before: place and old value, by key.
      own: keys that are state anyway.
      tries: how many ``try`` statements that catch staged raises are around the block.
      raising: the last exception that the block was about to raise.
      place: where operations go that are not the block's, but the statement's.
      repeats: whether the block runs more than once.
      peeled_for: the variables of a loop, whose body this is, that can still run its first iteration by itself.
      entry: what the block's variables held when it was entered; None if the journal sees all their writes.
      kept_elsewhere: values that the block has from where no variable leads: out of caches.
      known: for each observer of the journal, what it knew when the block was entered.
      asked: the identities of the containers whose contents the block has asked for by operators.
      absences: the classes, and names, of errors left in the block's program since something is absent, which an iteration may
        provide for the next.
    """

    def __init__(self, own: Sequence[Any], tries: int) -> None:
        self.tries = tries
        self.raising: BaseException | None = None
        self.place = STAGING.place()
        self.repeats = False
        self.peeled_for: Sequence[str] | None = None
        self.entry: Snapshot | None = None
        self.absences: list[tuple[type[BaseException], str | None]] = []
        self.before: dict[Any, tuple[Place, Any]] = {}
        self.own = {variable.key for variable in own if isinstance(variable, Place)}
        # What `a += 1` does to an array that a variable holds is not reported.
        values = [value for variable in own if isinstance(value := variable.get(), np.ndarray)]
        self._arrays = Reach(values) if values else None
        self.kept_elsewhere: list[Any] = []
        self.known: dict[Observer, Any] = {}
        self.made: list[Any] = []
        self._made_ids: set[int] = set()
        self._left_alone: list[Any] = []
        self.asked: set[int] = set()
        self._led_out: set[int] = set()
        self._installed: set[Any] = set()

    @lazy
    def unknowns(self) -> Unknowns:
        """What the block's writes may have changed."""
        return Unknowns()

    @property
    def made_unknown(self) -> Sequence[tuple[Any, Reason]]:
        """Each owner of that, and the error for who reads it."""
        unknowns = Region.unknowns.made(self)
        return () if unknowns is None else unknowns.made

    def add_made(self, owner: Any) -> None:
        """Leave out of account writes to an object that was made inside this region."""
        self.made.append(owner)
        self._made_ids.add(id(owner))

    def made_by(self, owner: Any) -> bool:
        """Whether the block has made this object."""
        return id(owner) in self._made_ids

    def writes(self, owner: Any) -> bool:
        """Whether the block has made this container, or reported a write to it."""
        return id(owner) in self._made_ids or ContentsPlace(owner).key in self.before

    def value_at_entry(self, place: Place) -> Any:
        """What a place that is about to be written held when the block was entered."""
        if self.entry is not None and isinstance(place, CellVariable):
            return self.entry.value_of_cell(place)
        return place.get()

    def led_to(self, owner: Any) -> bool:
        """Whether this may have been there when the block was entered."""
        if self.entry is None:
            return True
        roots = (*self.entry.functions, *self.entry.reachable_before(), *self.kept_elsewhere)
        return id(owner) in within_reach({id(owner)}, roots)

    def install(self, owner: Any) -> None:
        """Let a container be its own stand-in: it gets back what it holds, and writes to it are the statement's state."""
        self.keep(owner)
        self.own.add(ContentsPlace(owner).key)
        self._installed.add(ContentsPlace(owner).key)

    def keep(self, owner: Any) -> None:
        """See writes to this container, reported or not."""
        place = ContentsPlace(owner)
        place.entry = self.entry
        self.before.setdefault(place.key, (place, place.get()))

    def leave_alone(self, owner: Any) -> None:
        """Let writes to this container take effect at trace time."""
        self._left_alone.append(owner)

    def note(self, place: Place, held: Any) -> None:
        """See a write to a place that held this before."""
        is_alone = any(owner is getattr(place, "owner", None) for owner in self._left_alone)
        key = place.key
        if (
            key not in self.own
            and key not in self.before
            and not is_alone
            and not self.made_by(getattr(place, "owner", None))
        ):
            self.before[key] = (place, held)

    def written(self) -> list[Place]:
        """The places that hold something else than before, of objects that live on outside the block."""
        if self._arrays is not None:
            self._arrays.check_arrays()
        found = [
            place
            for key, (place, old) in self.before.items()
            if key not in self._installed
            and not holds_unknown(getattr(place, "owner", None), place.get())
            and not same(place.get(), old)
        ]
        if any(isinstance(getattr(place, "owner", None), bytearray) for place in found):
            raise StagingError(
                f"{user_location()}\n  A bytearray is written inside this staged statement, and cannot hold traced values.\n"
                "  Use an array of uint8."
            )
        return found

    def leave(self, values: Iterable[Any]) -> None:
        """See which references, and variables around functions, that the block has made last, as what it leaves leads to them.

        Args:
          values: what it returns, and leaves in variables.
        """
        made = {id(place.cell) for place, _ in self.before.values() if isinstance(place, CellVariable)}
        made.update(id(owner) for owner in self.made if is_reference(owner))
        if made:
            self._led_out.update(within_reach(made, (*values, *(place.get() for place, _ in self.before.values()))))

    def references_left(self) -> list[Any]:
        """The references that the block has made, and that what it leaves leads to."""
        return [owner for owner in self.made if is_reference(owner) and self.leads_out_to(owner)]

    def leads_out_to(self, owner: Any) -> bool:
        """Whether what the block leaves leads to this reference, or variable around functions."""
        return id(owner) in self._led_out

    def roll_back(self) -> None:
        """Put back what every place held."""
        if (unknowns := Region.unknowns.made(self)) is not None:
            unknowns.undo()
            unknowns.made = [(owner, reason) for owner, reason in unknowns.made if not self.made_by(owner)]
        for place, old in reversed(list(self.before.values())):
            if not same(place.get(), old):
                place.set(old)
        self.made.clear()  # which hold values of the block's trace
        self._made_ids.clear()


class Watch:
    """The places that a whole trace writes: each with what it held, and the user's line that first wrote it.

    Attributes:
      is_staged: whether the trace is part of a staged statement.
      noted: by the keys of the places.
    """

    def __init__(self, is_staged: bool) -> None:
        self.is_staged = is_staged
        self.noted: dict[Any, tuple[Place, Any, str]] = {}

    def note(self, place: Place, held: Any) -> None:
        """See a write to a place that held this before."""
        key = place.key
        if key not in self.noted:
            self.noted[key] = (place, held, _where_written(place))

    def entries(self) -> list[tuple[Place, Any, str]]:
        return list(self.noted.values())

    def roll_back(self) -> None:
        for place, old, _ in reversed(self.entries()):
            if not same(place.get(), old):
                place.set(old)


class Journal:
    """What is being traced in one thread.

    Attributes:
      watch: what the trace of a compiled function writes outside of staged blocks, if one runs.
      regions: the open regions, innermost last.
      is_rolling: whether a loop that Python could run is being tried as one staged loop.
      observers: what is to be told of the blocks.
      selected: the places of aliases that writes outside of all regions, and of the trace of a `Function`, have let hold what a
        condition selects; each with what it held, and the error if it is of an object from outside.
      hidden: by id, the containers outside the function whose contents do not show what is recorded, each with the error for a read.
      loops: the `Settling` of each loop whose body is being traced, outermost first.
      functions: what the loops in each recursive function that is being traced write, outermost first: a `WrittenByLoops`.
      reads: the identities of the lists whose length or elements the innermost loop's iteration has asked for.
      is_stepping: whether the ``__next__`` of a user's iterator runs for a loop in Python.
      prints_at_once: whether the last print was of nothing traced, and printed at trace time.
      cached: the cached properties that blocks of the program have computed.
      attempts: what the bodies of ``try`` statements that are being traced write, outermost first.
      serials: numbers the iterators of the program, so that it is known which of two was made first.
    """

    def __init__(self) -> None:
        self.regions: list[Region] = []
        self.watch: Watch | None = None
        self.is_rolling = self.is_stepping = self.prints_at_once = False
        self.observers: list[Observer] = []
        self.hidden: dict[int, tuple[Any, Callable[[], StagingError]]] = {}
        self.reads: set[int] = set()
        self.loops: list[Any] = []
        self.functions: list[Any] = []
        self.cached: list[CachedRead] = []
        self.selected: list[tuple[Any, Any, Reason]] = []
        self.attempts: list[WritesOfAttempt] = []
        self.serials = itertools.count()
        self._at_once: dict[Any, tuple[Place, Any]] | None = None

    @lazy
    def copies(self) -> Copies:
        """What the loops in Python around make of the program."""
        return Copies()

    @lazy
    def unknowns(self) -> Unknowns:
        """What writes outside of all regions may have changed."""
        return Unknowns()

    @property
    def leaves_unknown(self) -> bool:
        """Whether there is such, or what a condition selects, or a container whose contents do not show what is recorded."""
        return bool(self.selected or self.hidden or ((known := Journal.unknowns.made(self)) and known.made))

    def end(self) -> None:
        """Keep nothing of the program: its outermost call has ended."""
        self.prints_at_once = False
        self.hidden.clear()
        self.cached.clear()
        self.observers.clear()
        if (unknowns := Journal.unknowns.made(self)) is not None:
            unknowns.undo()
            Journal.unknowns.drop(self)
        self.selected.clear()
        self.reads.clear()

    @contextmanager
    def on_trial(self) -> Iterator[Callable[[], None]]:
        """Yield what undoes the writes that take effect at trace time inside, if the statement is not staged after all."""
        outer, self._at_once = self._at_once, {}
        found = self._at_once

        def undo() -> None:
            for place, held in found.values():
                place.set(held)
            found.clear()

        try:
            yield undo
        finally:
            self._at_once = outer
            if outer is not None:
                outer.update({key: before for key, before in found.items() if key not in outer})

    @property
    def is_on_trial(self) -> bool:
        """Whether a statement is being staged that Python could run, and will if that fails."""
        return self.is_rolling or self._at_once is not None

    @contextmanager
    def rolling(self) -> Iterator[None]:
        """Mark the trial of a Python loop as one staged loop: its body runs once instead of many times."""
        outer, self.is_rolling = self.is_rolling, True
        try:
            yield
        finally:
            self.is_rolling = outer

    @contextmanager
    def copying(self, copies: Copies) -> Iterator[None]:
        """Record the body of a loop in Python."""
        outer, self.copies = self.copies, copies
        try:
            yield
        finally:
            self.copies = outer

    @property
    def is_open(self) -> bool:
        """Whether a block of a staged statement is being traced."""
        return bool(self.regions)

    @property
    def block(self) -> Region | None:
        """The innermost region."""
        return self.regions[-1] if self.regions else None

    @property
    def repeats(self) -> bool:
        """Whether what is being traced is inside a staged loop."""
        return any(region.repeats for region in self.regions)

    @property
    def is_conditional(self) -> bool:
        """Whether what is being traced is in a branch of a staged statement, which may not be taken."""
        return any(not region.repeats for region in self.regions)

    @property
    def is_interested(self) -> bool:
        """Whether writes to attributes and variables are to be reported."""
        return bool(self.regions) or self.watch is not None or bool(self.attempts)

    @property
    def compares(self) -> bool:
        """Whether writes that are not reported are to be found."""
        return bool(self.regions) or bool(self.attempts)

    @contextmanager
    def watching(self, is_part: bool = False) -> Iterator[Watch]:
        """Note the writes of a whole trace, those of staged blocks when their statement has been staged.

        ``is_part``: it is of a function that what is being traced calls, and staged if that is.
        """
        outer, regions, attempts = self.watch, self.regions, self.attempts
        is_staged = is_part and (self.is_open or (outer is not None and outer.is_staged))
        self.watch, self.regions, self.attempts = Watch(is_staged), [], []
        try:
            yield self.watch
        except BaseException:
            for region in reversed(self.regions):
                region.roll_back()
            raise
        finally:
            self.watch, self.regions, self.attempts = outer, regions, attempts

    def touch(self, place: Place, again: bool = False) -> None:
        """Report that a place is about to be written.

        ``again``: with what a block that has ended, and reported it, wrote there, or with what it held where an exception was
        raised. No property that has been read on such a path would come to anything else by that.
        """
        for read in () if again else self.cached:
            read.check(place)
        for attempt in self.attempts:
            attempt.note(place, place.get())
        if not self.regions:
            if self.watch is not None:
                self.watch.note(place, place.get())
            return
        region = self.regions[-1]
        key = place.key
        if key not in region.own and key not in region.before and not region.made_by(getattr(place, "owner", None)):
            if isinstance(place, ContentsPlace):
                place.entry = region.entry
            if isinstance(place, ContentsPlace | AttributePlace) and place.line is None:
                place.line = calling_line()
            region.before[key] = (place, region.value_at_entry(place))

    def touch_contents(self, owner: Any) -> None:
        """Report that what a container holds is about to change."""
        self.touch(ContentsPlace(owner))

    def outermost_around(self, place: Place) -> Any:
        """The outermost loop whose body is being traced and which a place was there before; None if there is none."""
        owner, is_cell = owner_of(place), isinstance(place, CellVariable)  # of a call: nobody reports that it is made
        made = [k for k, each in enumerate(self.regions) if each.made_by(owner) or (is_cell and not each.led_to(owner))]
        first = made[-1] + 1 if made else 0
        inside = {id(region) for region in self.regions[first:]}
        return next((loop for loop in self.loops if id(loop.carry.region) in inside), None)

    def note_read(self, owner: Any) -> None:
        """Report that the length or the elements of a list are asked for."""
        if self.regions:
            self.reads.add(id(owner))

    @contextmanager
    def reading(self) -> Iterator[set[int]]:
        """Collect the lists that a loop's iteration asks for, which those around it ask for too."""
        outer, self.reads = self.reads, set()
        found = self.reads
        try:
            yield found
        finally:
            outer.update(found)
            self.reads = outer

    def note(self, place: Place, held: Any) -> None:
        """Report that a place has been written which held something else before."""
        for read in self.cached:
            read.check(place)
        for attempt in self.attempts:
            attempt.note(place, held)
        if isinstance(place, AttributePlace) and is_cache(place.owner, place.attribute):
            place.set(held)
        elif (noted := self.block or self.watch) is not None:
            noted.note(place, held)

    def has_made(self, owner: Any) -> bool:
        """Whether the block that is being traced has made this object."""
        return bool(self.regions) and self.regions[-1].made_by(owner)

    def here(self) -> Any:
        """The block that is being traced, for `is_around`."""
        return self.watch, self.block

    def is_around(self, block: Any) -> bool:
        """Whether what is being traced is in this block, and in no staged loop inside of it."""
        watch, region = block
        if watch is not self.watch or not (region is None or any(each is region for each in self.regions)):
            return False
        first = 0 if region is None else next(k for k, each in enumerate(self.regions) if each is region) + 1
        return not any(each.repeats for each in self.regions[first:])

    def repeated_blocks(self) -> Any:
        """The staged loops around what is being traced, for `have_ended`."""
        return self.watch, tuple(each for each in self.regions if each.repeats)

    def have_ended(self, loops: Any) -> bool:
        """Whether what was in these loops runs no more: all of them have ended."""
        watch, regions = loops
        return watch is self.watch and not any(each is region for region in regions for each in self.regions)

    def made_since_loop(self, owner: Any) -> bool:
        """Whether this was made by what runs once each time the innermost staged loop's body runs."""
        for region in reversed(self.regions):
            if region.made_by(owner):
                return True
            if region.repeats:
                return not region.led_to(owner)
        return True

    def born(self, owner: Any) -> None:
        """Report that an object has just been made."""
        for attempt in self.attempts:
            attempt.bear(owner)
        if self.regions:
            self.regions[-1].add_made(owner)

    def keeps(self, value: Any) -> None:
        """Report that a cache, which no variable leads to, holds this value."""
        for region in self.regions:
            region.kept_elsewhere.append(value)

    def write(self, place: Any, value: Any) -> None:
        """Write a place on behalf of a statement that has been staged, for the region around it to see."""
        if isinstance(place, Place):
            self.touch(place)
        place.set(value)

    def replace(self, place: Any) -> None:
        """Report that a place that a loop writes is about to hold what represents it in an iteration."""
        for attempt in self.attempts:
            attempt.note(place, place.get())

    def make_unknown(self, owner: Any, reason: Reason, keys: Collection[Any] | None = None) -> bool:
        """Let what an object holds be unknown until the region ends; whether it could be done.

        Args:
          reason: the error for a read.
          keys: the keys, indices or names of attributes; None for all.
        """
        unknowns = self.regions[-1].unknowns if self.regions else self.unknowns
        return unknowns.add(owner, reason, keys)

    def spread(self, made_unknown: Iterable[tuple[Any, Reason]]) -> None:
        """Let what a statement's block has made unknown be so after the statement."""
        for owner, reason in made_unknown:
            if not self.make_unknown(owner, reason):
                raise reason("another variable refers to")

    def leave_alone(self, owner: Any) -> None:
        """Let writes to this container take effect at trace time."""
        place = ContentsPlace(owner)
        if self._at_once is not None:
            self._at_once.setdefault(place.key, (place, place.get()))
        for region in self.regions:
            region.leave_alone(owner)

    def open(self, own: Sequence[Any], tries: int = 0, repeats: bool = False) -> Region:
        """Begin a region."""
        region = Region(own, tries)
        region.repeats = repeats
        region.known = self._known()
        self.regions.append(region)
        return region

    def forget(self, region: Region) -> None:
        """Let nothing outlive a block that it has made known."""
        for observer in self.observers:
            observer.leave(region.known.get(observer))

    @contextmanager
    def on_a_path(self) -> Iterator[list[Any]]:
        """Yield what is made elements of lists inside, once that has ended: on another path it is none."""
        known = self._known()
        given: list[Any] = []
        try:
            yield given
        finally:
            given += self._taken(known)

    def take_elements(self, region: Region) -> list[Any]:
        """The same, of a block that ends, of which nothing else is known from then on."""
        self.forget(region)
        return self._taken(region.known)

    def _known(self) -> dict[Observer, Any]:
        return {observer: observer.enter() for observer in self.observers}

    def _taken(self, known: Mapping[Observer, Any]) -> list[Any]:
        return [each for observer in self.observers for each in observer.take_elements(known.get(observer))]

    def give_elements(self, given: Iterable[Any]) -> None:
        """Note what the paths of a statement that is staged have made elements of lists."""
        for observer in self.observers if given else ():
            observer.give_elements(given)

    def check_unreported(self) -> None:
        """Refuse writes that were not reported, to containers that another may have to see.

        Raises:
          StagingError: there are some.
        """
        for observer in self.observers:
            observer.check_unreported()

    def refresh(self) -> None:
        """Take what containers hold now for what they are to hold: a staged statement has written to them."""
        for observer in self.observers:
            observer.refresh()

    def close(self, region: Region, roots: Iterable[Any] = ()) -> list[Place]:
        """End a region: undo its writes, and return the places that the statement has to take as state.

        Args:
          roots: functions and values, from which all that was there before the block can be reached, if the block can reach it.
        """
        assert self.regions[-1] is region
        made = set(map(id, region.made))
        region.roll_back()
        self.regions.pop()
        self.refresh()
        owners = [owner_of(place) for place, _ in region.before.values()]
        living = there_before(owners, made, (*roots, *region.kept_elsewhere)) if owners else ()
        return [
            place
            for (place, _), owner in zip(region.before.values(), owners, strict=True)
            if owner is None or id(owner) in living or region.leads_out_to(owner)
        ]

    @contextmanager
    def attempting(self) -> Iterator[WritesOfAttempt]:
        """Yield what is written inside, from now on."""
        writes = WritesOfAttempt()
        self.attempts.append(writes)
        try:
            yield writes
        finally:
            self.attempts.remove(writes)

    @contextmanager
    def observed(self) -> Iterator[list[Place]]:
        """Yield what is written inside, once that has ended. The writes are the surrounding block's."""
        outer = self.regions[-1]
        region = Region((), outer.tries)
        region.own = outer.own
        self.regions.append(region)
        found: list[Place] = []
        try:
            yield found
            found += region.written()
        finally:
            self.regions.pop()
            outer.raising = region.raising or outer.raising
            if (unknowns := Region.unknowns.made(region)) is not None:
                outer.unknowns.take(unknowns)
            for owner in region.made:
                outer.add_made(owner)
            for place, held in region.before.values():
                outer.note(place, held)

    def keep_from_writes(self, read: CachedRead) -> None:
        """Let no write in this program change what a property has come to."""
        for region in self.regions:
            if region.repeats:
                for place, _ in region.before.values():
                    read.check(place)
        self.cached.append(read)


def _where_written(place: Place) -> str:
    """The line that writes this place first, which the statement that runs now may have staged."""
    if not isinstance(place, ContentsPlace | AttributePlace):
        return location_of_assignment(place.name)
    return describe_location(*(place.line or calling_line()))
