"""`BodyContainers`: the stand-ins of containers and objects while a loop's body is traced."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.heap.identities import Identities
from autograph.runtime.heap.journal import Journal
from autograph.runtime.heap.reach import CONTAINERS, contents
from autograph.runtime.heap.unknown import is_unknown
from autograph.runtime.layouts.objects import attributes_of, is_plain_object
from autograph.runtime.layouts.one_of import is_one_of
from autograph.runtime.layouts.optional import Optional, held_in
from autograph.runtime.staging.statements.joined_parts import EndParts
from autograph.runtime.staging.statements.loop_state import BodyAliasing, Key
from autograph.runtime.tracing.recording import births


class BodyContainers:
    """The stand-ins of one trace of a loop's body; must not outlive it.

    Attributes: aliasing (what is known of them for good).
    """

    def __init__(self, identities: Identities, journal: Journal) -> None:
        self.identities = identities
        self.journal = journal
        self.aliasing = BodyAliasing()
        self._held: list[tuple[Key, Any, Any]] = []
        self._watched: list[Any] = []
        self._moves: dict[int, int] = {}
        self._writes_before = self._views_before = self._asked_before = 0
        self._chosen: set[int] = set()  # the variables that an iteration leaves one of several objects in

    def add(self, key: Key, part: Any, entry: Any, is_replaced: bool) -> None:
        """Take in a stand-in, and what it represents; ``is_replaced``: iterations put another container in its place."""
        self.aliasing.keys.setdefault(id(part), []).append(key)
        self.aliasing.of[key] = id(part)
        if entry is not None:
            self.aliasing.entries[key] = entry
            if (known := births()) is not None:
                known.stands_for(part, entry)
            for attempt in self.journal.attempts:
                attempt.stands_for[id(part)] = part, entry
            if self.identities.marks_of(id(entry)) is not None and entry is not part:
                self.identities.stand_in(part, entry, is_replaced)
        self.identities.watch(part)
        self._held.append((key, part, None))

    def watch(self, owner: Any) -> None:
        """Keep the line of the first write to what no variable holds."""
        self.identities.watch(owner)
        self._watched.append(owner)

    def begin(self) -> None:
        """Remember what each holds."""
        self._held = [(key, part, _state(part)) for key, part, _ in self._held]
        self._writes_before = len(self.identities.elements.writes)
        self._views_before = len(self.identities.elements.views)
        self._asked_before = len(self.identities.asked)
        self._moves = {id(owner): owner.moves for owner in self._watched if isinstance(owner, TracedList)}
        self.journal.refresh()

    def end(self, key: int, value: Any) -> None:
        """Take in what an iteration leaves in a variable."""
        self.aliasing.ends[key] = EndParts(value, self.identities)
        if is_one_of(held_in(value) if isinstance(value, Optional) else value):
            self._chosen.add(key)

    def finish(self) -> BodyAliasing:
        """What can be known once the iteration is over."""
        self.aliasing.views = self.identities.elements.check_views(self._views_before)
        for owner in self._watched:
            if isinstance(owner, TracedList) and self._moves.get(id(owner)) != owner.moves:
                self.aliasing.moved.add(id(owner))
        self.aliasing.elements_written = set(self.identities.elements.writes[self._writes_before :])
        for key, part, before in self._held:
            if self.identities.elements.is_given(part):
                self.aliasing.given.add(key)
            through = self.identities.line_of_write_through(part)
            if through is not None or not _same_state(_state(part), before):
                self.aliasing.changed[key] = self.identities.line_of_write(part) or through
            ends = None if key[0] in self._chosen else self.aliasing.ends.get(key[0])
            if ends is not None and ends.ids.get(key[1]) == id(part):
                self.aliasing.kept.add(key)
            elif self.identities.has_decided(part):
                self.aliasing.mistaken.add(key)
        self._take_asked()
        self.aliasing.lines = {id(owner): self.identities.line_of_write(owner) for owner in self._watched}
        self._held, self._watched = [], []
        chosen = [
            ((k, path), key)
            for k, ends in self.aliasing.ends.items()
            for path, key in ends.ids.items()
            if self.identities.marks_of(key) is not None
        ]
        for (one, a), (other, b) in itertools.combinations(chosen, 2):
            if self.identities.are_apart(a, b):
                self.aliasing.apart.add(frozenset([one, other]))
        return self.aliasing

    def _take_asked(self) -> None:
        """Take what the iteration found not to be one; for the loop around, of what the stand-ins represent."""
        asked, entries = self.identities.asked, self.aliasing.entries
        stand_for = {id(part): entries[key] for key, part, _ in self._held if key in entries}
        mine = asked[self._asked_before :]
        self.aliasing.asked = [(id(one), id(other), line) for one, other, line in mine]
        asked[self._asked_before :] = [
            (stand_for.get(id(one), one), stand_for.get(id(other), other), line) for one, other, line in mine
        ]


def _state(part: Any) -> Any:
    if is_unknown(part):
        return part.checks
    if isinstance(part, CONTAINERS):
        return contents(part)
    return dict(attributes_of(part)) if is_plain_object(part) else None


def _same_state(new: Any, old: Any) -> bool:
    if isinstance(new, dict) and isinstance(old, dict):
        return list(new) == list(old) and _same_items(list(new.values()), list(old.values()))
    if isinstance(new, tuple) and isinstance(old, tuple):
        return _same_items(new, old)
    return new is old


def _same_items(new: Sequence[Any], old: Sequence[Any]) -> bool:
    return len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))
