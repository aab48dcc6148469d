"""`SplicedList`: what puts other elements instead of several, or makes a list longer by a factor."""

from __future__ import annotations

import operator
import types
from typing import Any

import jax

from autograph.runtime.containers.extents import is_traced_key
from autograph.runtime.containers.lengths import check, taken_by
from autograph.runtime.containers.padded import Padded, as_padded
from autograph.runtime.containers.searched_lists import SearchedList
from autograph.runtime.tracing.language import LANGUAGE


class SplicedList(SearchedList):
    """The part of a `TracedList` that writes to slices, deletes, and repeats."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        """Let the errors that Python words name what the class and its methods stand for."""
        super().__init_subclass__()
        kind = cls.stands_for
        for name, method in vars(cls).items():
            if isinstance(method, types.FunctionType) and hasattr(kind, name):
                method.__qualname__ = f"{kind.__name__}.{name}"
        if "stands_for" in vars(cls):
            cls.__name__ = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"

    def _make_room_for(self, value: Any, key: Any = None) -> None:
        raise NotImplementedError

    def _traces(self, key: Any) -> bool:
        raise NotImplementedError

    def _check_room(self, count: Any, held: Any) -> None:
        raise NotImplementedError

    def _note_places(self, elements: Any, first: Any) -> None:
        raise NotImplementedError

    def stack(self) -> None:
        raise NotImplementedError

    def share(self) -> None:
        raise NotImplementedError

    def note_size(self) -> None:
        raise NotImplementedError

    def holding(self, contents: Any) -> Any:
        raise NotImplementedError

    def set_slice(self, key: slice, value: Any) -> None:
        if not (isinstance(value, SearchedList) and value.is_open()):
            value = list(value)
            self._make_room_for(value, key)
            if not self._is_padded() and not is_traced_key(key):
                list.__setitem__(self, key, value)
                self.note_size()
                return
            if self._is_padded() and isinstance(self._held.length, int) and not is_traced_key(key):
                items = list(self)
                if len(items[key]) == len(value):
                    items[key] = value
                    self._hold(items)
                    return
        if type(key.step) is int and key.step == 1:
            key = slice(key.start, key.stop)
        if key.step is not None:
            self._assign_every(key, value)
            return
        if self.as_padded() is None:
            self.extend(value)
            return
        self._splice(key, value)

    def _assign_every(self, key: slice, value: Any) -> None:
        """Put other elements, as many, instead of those of a slice with a step."""
        if isinstance(value, SplicedList):
            value.share()
        new = as_padded(value.contents() if isinstance(value, SplicedList) else tuple(value))
        start, step, count = taken_by(key, self._held.length if self._is_padded() else list.__len__(self))
        size = 0 if new is None else new.length

        def other_size(size: Any, count: Any, step: Any) -> str:
            if step == 1:  # Python's list would become longer or shorter
                return f"a slice with a step of 1, known at run time only, takes {count} elements, not {size}"
            return f"attempt to assign sequence of size {size} to extended slice of size {count}"

        operators = LANGUAGE.operators
        check(size == count, lambda: operators.exception(ValueError, operators.text(other_size, size, count, step)))
        if new is None or self.as_padded() is None:
            return
        if not self._is_padded():
            self.stack()
        if new.kind.is_watched or self._held.kind.is_watched:
            raise self._refused("Assigning lists, dicts or objects to a slice with a step")
        self.moves += 1
        self.padded = self._held.with_every(start, step, count, new)
        self.note_size()

    def __delitem__(self, key: Any) -> None:
        self.note_read()
        if isinstance(key, slice):
            self._make_room_for(None, key)
            if self._traces(key):
                if key.step is not None:
                    self._delete_every(key)
                else:
                    self._splice(key, ())
            elif list.__len__(self):
                list.__delitem__(self, key)
        elif self._traces(key):
            self.pop(key)
        else:
            list.__delitem__(self, key)

    def _delete_every(self, key: slice) -> None:
        """Delete the elements of a slice with a step, in the arrays that hold all."""
        if self.as_padded() is None:
            return
        if not self._is_padded():
            self.stack()
        self.moves += 1
        self.padded = self._held.without_every(*taken_by(key, self._held.length))

    def _splice(self, key: slice, value: Any) -> None:
        """Put other elements instead of those of a slice without a step, in the arrays that hold all."""
        if isinstance(value, SplicedList):
            value.share()
            new = value.as_padded()
        else:
            new = as_padded(tuple(value))
        if not self._is_padded():
            self.stack()
        held = self._held
        start, stop = held.places_of(key)
        if new is not None:
            self._check_room(held.length - (stop - start) + new.length, held)
        self.moves += 1
        self.padded = held.spliced(start, stop, new)
        if not isinstance(value, SplicedList):
            self._note_places(value, start)
        self.note_size()

    def __mul__(self, count: Any) -> Any:
        self.note_read()
        if self.checks is not None and isinstance(count, jax.core.Tracer):
            return self.checks.repeated(self, count)
        if not self._is_padded():
            return self.holding(tuple(list.__mul__(self, count)))
        made = self.holding(())
        for _ in range(operator.index(count)):
            made.extend(self)
        return made

    __rmul__ = __mul__

    def __imul__(self, count: Any) -> Any:
        made = self * count
        self[:] = made
        return self

    def _hold(self, items: list[Any]) -> None:
        """Hold other elements, as many as now, in arrays like those of now."""
        held = self._held
        self.padded = Padded.holding(items).with_room(held.capacity, held.reserved).with_(extent=held.extent)
