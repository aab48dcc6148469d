"""The lists among the arguments of a trace, in the places of which it is given lists of its own, which may come to grow."""

from __future__ import annotations

from typing import Any

import jax

from autograph.backends.selected import STAGING
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.journal import Watch
from autograph.runtime.heap.list_outputs import with_own_lists
from autograph.runtime.heap.places import ContentsPlace, owner_of
from autograph.runtime.heap.reach import same
from autograph.runtime.layouts.dict_kinds import own_class
from autograph.runtime.signatures.changed_arguments import steps_into
from autograph.runtime.state.linked_state import is_nnx_object
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location


class GivenLists:
    """Makes lists of the trace for a call's arguments, one for each list.

    Attributes:
      made: by identity, the lists, dicts and dataclasses that have been seen, each with what is in its place.
    """

    def __init__(self) -> None:
        self.made: dict[int, tuple[Any, Any]] = {}
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

    def put_back(self, watch: Watch) -> None:
        """Let the caller's lists hold what those in their places do, and be where they were. The writes are reported to the journal.

        Args:
          watch: of the writes of the trace.

        Raises:
          StagingError: the length of one is traced.
        """
        known = {id(new): (new, given) for given, new in self.made.values()}
        for given, new in self.made.values():
            if type(new) is TracedList:
                place, contents = ContentsPlace(given), new.resolve()
                if type(contents) is not list:
                    raise _refused_length(new, watch)
                left = tuple(with_own_lists(part, known) for part in contents)
                if not same(place.get(), left):
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


def _refused_length(owner: TracedList, watch: Watch) -> StagingError:
    lines = [where for place, _, where in watch.entries() if owner_of(place) is owner]
    return StagingError(
        f"{lines[0] if lines else user_location()}\n  The length of a list argument depends on a traced value here, and the function runs "
        "under a transform such as jax.jit: its caller has no list of traced length to be changed.\n  Append to a copy, and return it: "
        "items = list(items). Or call the function through autograph.function."
    )
