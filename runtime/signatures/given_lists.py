"""The containers among the arguments of a trace, in the places of which it is given its own.

A list may come to grow, so each is in the place of another. A dict or set is Python's own until the trace asks for a traced key, or adds
a traced element: it is made again then, as where it makes such a dict itself (see `tracing.births`).
"""

from __future__ import annotations

import collections
from typing import Any

import jax

from autograph.backends.selected import STAGING
from autograph.runtime.containers.traced_dicts import TracedDict
from autograph.runtime.containers.traced_sets import TracedSet
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.journal import Watch
from autograph.runtime.heap.list_outputs import with_own_lists
from autograph.runtime.heap.places import ContentsPlace, owner_of
from autograph.runtime.heap.reach import same
from autograph.runtime.layouts.dict_kinds import own_class
from autograph.runtime.signatures.changed_arguments import steps_into
from autograph.runtime.signatures.held_containers import empty_of
from autograph.runtime.state.linked_state import is_nnx_object
from autograph.runtime.tracing.births import can_be_element
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import births

_KEYED = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter, set)


class GivenLists:
    """Makes containers of the trace for a call's arguments, one for each list, and for each dict and set with traced keys.

    Attributes:
      made: by identity, the lists, dicts and dataclasses that have been seen, each with what is in its place.
    """

    def __init__(self) -> None:
        self.made: dict[int, tuple[Any, Any]] = {}
        self._count = 0
        self._is_plain = STAGING.is_plain(STAGING.place())

    def of(self, value: Any) -> Any:
        """A value with lists of the trace in the places of lists. Dicts and dataclasses in it are written to."""
        if self._is_plain:
            return value
        if id(value) in self.made:
            return self.made[id(value)][1]
        if type(value) is list:
            new: Any = LANGUAGE.operators.new_list([])
            self.made[id(value)] = value, new
            new.set_contents(tuple(map(self.of, value)))
            return new
        if type(value) in _KEYED and self._is_keyed(value):
            new = empty_of(value)
            self.made[id(value)] = value, new
            pairs = [(key, self.of(part)) for key, part in value.items()] if isinstance(value, dict) else value
            new.set_contents(tuple(pairs))
            return new
        steps = [] if is_nnx_object(value) else steps_into(value)
        if isinstance(value, tuple):
            parts = [self.of(part) for _, part in steps]
            is_same = all(new is part for new, (_, part) in zip(parts, steps, strict=True))
            make = tuple if type(value) is tuple else getattr(type(value), "_make", None)
            return value if is_same or make is None else make(parts)
        if steps:
            self.made[id(value)] = value, value
        for step, part in steps:
            if (new := self.of(part)) is not part:
                _store(value, step, new)
        return value

    def _is_keyed(self, value: Any) -> bool:
        """Whether a dict or set, the next among the arguments, has traced keys or elements. That it is there is noted."""
        self._count += 1
        known = births()
        if known is None or not all(can_be_element(key) and not isinstance(key, str) for key in value):
            return False
        site = "argument", self._count, 0
        if not (is_keyed := known.is_keyed(site)):
            known.note(value, site)
        return is_keyed

    def put_back(self, watch: Watch) -> None:
        """Let the caller's lists hold what those in their places do, and be where they were. The writes are reported to the journal.

        Args:
          watch: of the writes of the trace.

        Raises:
          StagingError: the length of one is traced.
        """
        known = {id(new): (new, given) for given, new in self.made.values()}
        for given, new in self.made.values():
            if new is not given:
                place, contents = ContentsPlace(given), new.resolve()
                if type(contents) is not type(given):
                    raise _refused_length(new, watch)
                left: Any = tuple(with_own_lists(part, known) for part in contents)
                if isinstance(contents, dict):
                    left = {key: with_own_lists(part, known) for key, part in contents.items()}
                if contents != given if isinstance(given, set) else not same(place.get(), left):
                    LANGUAGE.operators.journal.touch(place)
                    place.set(left)
        self.put_lists_back()

    def put_lists_back(self) -> None:
        """Let the caller's lists be where they were in the caller's dicts and dataclasses."""
        known = {id(new): (new, given) for given, new in self.made.values() if given is not new}
        for given, new in self.made.values():
            for step, part in steps_into(given) if given is new else ():
                if (own := with_own_lists(part, known)) is not part:
                    _store(given, step, own)


def _store(owner: Any, step: Any, part: Any) -> None:
    if isinstance(step, jax.tree_util.DictKey):
        own_class(owner).__setitem__(owner, step.key, part)
    else:
        object.__setattr__(owner, step.name, part)


def _refused_length(owner: Any, watch: Watch) -> StagingError:
    lines = [where for place, _, where in watch.entries() if owner_of(place) is owner]
    where = lines[0] if lines else user_location()
    kind = owner.kind.__name__ if isinstance(owner, TracedDict) else "set" if isinstance(owner, TracedSet) else "list"
    under = "and the function runs under a transform such as jax.jit: its caller has no"
    if kind == "list":
        return StagingError(
            f"{where}\n  The length of a list argument depends on a traced value here, {under} list of traced length to be changed.\n"
            "  Append to a copy, and return it: items = list(items). Or call the function through autograph.function."
        )
    part = "elements" if kind == "set" else "keys"
    return StagingError(
        f"{where}\n  The {part} of a {kind} argument depend on a traced value here, {under} {kind} of traced {part} to be changed.\n"
        f"  Change a copy: {kind}(argument). Or call the function through autograph.function."
    )
