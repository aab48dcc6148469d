"""What the functions that have been converted say of the names that lead to arrays: which writes others may see."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from autograph._analysis.array_paths import Event
from autograph._analysis.shared_arrays import Condition, SharedWrites


class NamesOfArrays:
    """What `shared_writes` has found in functions, by their places."""

    def __init__(self) -> None:
        self._shared: defaultdict[str, dict[int, SharedWrites]] = defaultdict(dict)
        self._attributes: dict[str, int] = {}  # of all functions: see `SharedWrites.attributes`
        self._events: defaultdict[Event, set[Condition]] = defaultdict(set)  # of all functions

    def add(self, filename: str, first_line: int, found: SharedWrites) -> None:
        """Note what a function does."""
        self._shared[filename][first_line] = found
        for name, least in found.attributes.items():
            self._attributes[name] = min(self._attributes.get(name, least), least)
        for event, conditions in found.events.items():
            self._events[event] |= conditions

    def is_shared(
        self,
        at: tuple[str, int],
        around: Callable[[], Sequence[tuple[str, int]]],
        dimensions: int,
        entry: tuple[str, int] | None,
    ) -> bool:
        """Whether a line writes to what other names may lead to, the caller's of the function too, if that is not ``entry``.

        Args:
          at: the file, and the line in it.
          around: returns those of the calls around it.
          dimensions: how many the array has; 0 if it may be a number.
        """
        filename, line = at
        for first, found in self._shared.get(filename, {}).items():
            if found.by_names.get(line, dimensions) < dimensions:
                return True
            if any(self._happens(event, dimensions) for event in found.by_events.get(line, ())):
                return True
            if not dimensions:
                continue
            if any(self._attributes.get(name, dimensions) < dimensions for name in found.by_attributes.get(line, ())):
                return True
            is_entry = (filename, first) == entry
            if line in found.by_callers and not is_entry:
                return True
            if line in found.by_results and not (is_entry and found.by_results[line]):
                if any(map(self._keeps_arguments, around())):
                    return True
        return False

    def sees_write(self, at: tuple[str, int]) -> bool:
        """Whether what a line writes to in place has a path: ``f(x)[0] = 1`` does not, nor does a call of ``f`` after ``f = x.sort``."""
        return any(at[1] in each.written for each in self._shared.get(at[0], {}).values())

    def _happens(self, event: Event, dimensions: int) -> bool:
        """Whether a function of this name may do this with an array of so many dimensions."""
        seen, pending = {event}, [event]
        while pending:
            asked = pending.pop()
            same = [asked] if asked.name != "*" else [each for each in self._events if each.does == asked.does]
            for condition in {each for one in same for each in self._events.get(one, ())}:
                if condition.least >= dimensions:
                    continue
                if condition.by is None:
                    return True
                if condition.by not in seen:
                    seen.add(condition.by)
                    pending.append(condition.by)
        return False

    def _keeps_arguments(self, line: tuple[str, int]) -> bool:
        return any(line[1] in found.calls for found in self._shared.get(line[0], {}).values())

    def has_operation(self, at: tuple[str, int]) -> bool:
        """Whether a line has an operation of what may be a number and an array, in this order."""
        return any(at[1] in each.operations for each in self._shared.get(at[0], {}).values())

    def open_slice(self, at: tuple[str, int]) -> bool | None:
        """Whether a line binds a slice to which, or to whose array, items are written; None if no write would be missed."""
        found = [each.open_slices[at[1]] for each in self._shared.get(at[0], {}).values() if at[1] in each.open_slices]
        return any(found) if found else None

    def is_sort(self, filename: str, line: int) -> bool:
        """Whether a line is a statement ``x.sort()``, of which the result is of no use."""
        return any(line in found.sorts for found in self._shared.get(filename, {}).values())
