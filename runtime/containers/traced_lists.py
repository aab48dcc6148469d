"""`TracedList`: a list inside a trace. It is a Python list while its length is known, and a buffer with a traced
length after that.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.containers.element_kinds import ARRAY, Kind, KnownLength
from autograph.runtime.containers.extents import is_traced_key
from autograph.runtime.containers.lengths import changes_length, unknown_number
from autograph.runtime.containers.padded import ELSEWHERE, Padded, as_seen, row_at
from autograph.runtime.containers.searched_lists import empty_list
from autograph.runtime.containers.spliced_lists import SplicedList
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.kinds import LEAF, NOTHING, Row
from autograph.runtime.layouts.list_room import Room
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location


@jax.tree_util.register_pytree_node_class
class TracedList(SplicedList):
    """A list made inside a trace.

    Attributes:
      padded: its contents where their number is traced, else None.
      moves: how often its elements have got other places, so that an index is of another one.
      peak: the greatest length, and room, since it was last outside all staged statements.
      most: how many elements it can have; None for any number.
      checks: the operators, for errors that only run time knows of.
      stands_for: what it is in Python.
    """

    __slots__ = ("padded", "peak", "checks", "moves")

    def __init__(self, values: Any = (), checks: Any = None) -> None:
        super().__init__()
        self.padded: Padded | None = None
        self.checks = checks
        self.moves = 0
        self.set_contents(values.contents() if isinstance(values, TracedList) else tuple(values))

    most: int | None = None
    stands_for: type = list

    def note_read(self) -> None:
        """Report that what follows depends on the length, or on the elements: a loop that appends must carry both."""
        if self.checks is not None:
            self.checks.journal.note_read(self)

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        self.note_read()
        # As it is: JAX flattens what `jit` returns again, and compares.
        if self.padded is not None:
            return (self.padded,), (True, self.checks)
        return tuple(list.__iter__(self)), (False, self.checks)

    @classmethod
    def tree_unflatten(cls, facts: Any, children: Any) -> TracedList:
        made = cls((), facts[1])
        made.set_contents(children[0] if facts[0] else tuple(children))
        return made

    @property
    def kind_name(self) -> str:
        """The name of its class in Python."""
        return self.stands_for.__name__

    @classmethod
    def sort_of(cls, facts: Any) -> Any:
        """What Python has for a list of these facts, those of its flattening: its class, and what it does by itself."""
        del facts
        return cls.stands_for

    @staticmethod
    def shown(facts: Any, items: Sequence[object]) -> str:
        """Python's text of a list of these facts, for messages."""
        del facts
        return str(list(items))

    @classmethod
    def of_row(cls, row: Row, length: Any, leaves: Sequence[Any]) -> TracedList:
        """A list that is in an element of another, of this layout."""
        made = cls._empty(row.facts, row.checks)
        arrays = [leaf for leaf, static in zip(leaves, row.statics, strict=True) if static is ARRAY]
        length = int(length) if isinstance(length, KnownLength) else length
        made.set_contents(Padded(length, arrays, Kind(row.item, row.statics), row.capacity, row.reserved, row.extent))
        return made

    @classmethod
    def _empty(cls, facts: Any, checks: Any) -> TracedList:
        del facts
        return cls((), checks)

    def _facts(self) -> Any:
        """What tells it from other lists of its class, beside what it holds: `_empty` makes another of it."""
        return self.most

    def row_of(self, contents: Any) -> tuple[Row, list[Any]]:
        """The layout and the leaves of such a list with these contents, as a part of an element of another list."""
        held = as_seen(contents) or Padded(0, (), Kind(NOTHING, ()), 0)
        row = Row(
            type(self), self._facts(), self.checks, held.capacity, held.reserved, held.extent, (LEAF, held.kind.layout)
        )
        length = KnownLength(held.length) if isinstance(held.length, int) else held.length
        return row, [length, *held.kind.leaves(held.buffers)]

    def contents(self) -> Any:
        """A tuple of the elements, or `Padded`."""
        return self.padded if self._is_padded() else tuple(list.__iter__(self))

    def set_contents(self, contents: Any) -> None:
        self.padded = contents if isinstance(contents, Padded) else None
        # What reads a list's storage past its methods must find nothing to take for the list's own.
        list.__setitem__(self, slice(None), (ELSEWHERE,) if self.padded is not None else contents)
        self.peak = self._size()

    def _size(self) -> Any:
        return list.__len__(self) if self.padded is None else self.padded.capacity

    def note_size(self) -> None:
        """Note that the list may never have been longer."""
        self.peak = max(self.peak, self._size())

    def forget_peak(self) -> None:
        """Count the room that is needed from now on."""
        self.peak = self._size()

    def _is_padded(self) -> bool:
        """Whether the length is traced. One that has become known (outside the trace) makes it Python's own list."""
        padded = self.padded
        if padded is None:
            return False
        length = padded.length
        is_known = isinstance(length, jax.Array | np.ndarray) and not isinstance(length, jax.core.Tracer)
        if not is_known or length.ndim:
            return True
        self.padded = None
        list.__setitem__(self, slice(None), padded.elements(operator.index(length)))
        return False

    @property
    def __autograph_truth__(self) -> Callable[[], Any]:
        def truth() -> Any:
            self.note_read()
            return self._held.length > 0 if self._is_padded() else self

        return truth

    def element(self, index: Any, key: Any = None) -> Any:
        """The element at an index that is not negative, asked for by a key, which may be: a write to it is one to this list."""
        if not self._held.kind.is_watched:
            return self._held.element(index)
        key = index if key is None else key
        found = self._elements.seen_before(self, key)
        return self._elements.seen(self._held.element(index), self, index, key) if found is None else found

    def put_back(self, index: Any, element: Any) -> None:
        """Hold what an element has become."""
        self._elements.put_back(element, self, index)
        self.padded = self._held.rewritten(index, element)
        if type(element) is TracedList and element.padded is not None and isinstance(element.padded.length, int):
            # The next read of an item is one of this list's array: the program need not keep both.
            before = element.padded
            element.padded = before.with_(buffers=tuple(row_at(buffer, index) for buffer in self.padded.buffers))
            LANGUAGE.operators.identities.held_otherwise(element, before)

    @property
    def _elements(self) -> Any:
        return LANGUAGE.operators.identities.elements

    def share(self) -> None:
        """Note that another list is to have these elements, too."""
        if self._is_padded() and self._held.kind.is_watched:
            held = self._held
            self._elements.copied(held.kind.build([None] * len(held.buffers)))

    # Python's methods.

    def resolve(self) -> Any:
        """A plain list, where the length is known; else this one."""
        self.note_read()
        if self._is_padded():
            length = self._held.length
            return self._held.elements(length) if isinstance(length, int) else self
        return list(self)

    def size(self) -> Any:
        """``len``, which may be traced."""
        self.note_read()
        return self._held.length if self._is_padded() else list.__len__(self)

    def __len__(self) -> int:
        self.note_read()
        if self._is_padded():
            length = self._held.length
            if not isinstance(length, int):
                raise unknown_number()
            return length
        return list.__len__(self)

    def __bool__(self) -> bool:
        return len(self) > 0

    def __iter__(self) -> Iterator[Any]:
        self.note_read()
        if not self._is_padded():
            return self._each(None, ())
        if self._held.kind.is_watched:
            return self._each(self.padded, [self.element(k) for k in range(len(self))])
        return self._each(self.padded, self._held.elements(len(self)))

    def _each(self, held: Padded | None, elements: Sequence[Any]) -> Iterator[Any]:
        """The elements, which are these as long as it holds this: what runs between two of them may write to it."""
        index = 0
        while not is_traced_list(self) and index < len(self):
            now = self.padded
            yield (
                list.__getitem__(self, index)
                if now is None
                else elements[index]
                if now is held
                else self.element(index)
            )
            index += 1
        if is_traced_list(self):
            raise changes_length()

    def __reversed__(self) -> Iterator[Any]:
        return iter(self.as_list()[::-1])

    def __repr__(self) -> str:
        return repr(self._held) if self._is_padded() else list.__repr__(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._rows(), dtype)

    def _rows(self) -> Any:
        """The elements one after another; an array of them holds no padding."""
        length = len(self)
        return self._held.stacked()[:length] if self._is_padded() else list(self)

    def __reduce_ex__(self, _: Any) -> Any:
        return list, (list(self),)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """What arrays hold are values: another list of them shares nothing with this one."""
        self.note_read()
        contents = self.contents()
        return self.holding(copy.deepcopy(contents, memo) if isinstance(contents, tuple) else contents)

    def _check(self, condition: Any, message: str) -> None:
        """Raise an `IndexError` where the condition does not hold, if that has a way to the caller."""
        if self.checks is not None and self.checks.can_raise_later(IndexError):
            self.checks.raise_unless(condition, IndexError(message), is_check=True)

    def _index(self, key: Any, message: str) -> Any:
        length = self.size()
        self._check((key < length) & (key >= -length), message)
        return key + jnp.where(key < 0, length, 0)

    def _traces(self, key: Any) -> bool:
        return self._is_padded() or bool(is_traced_key(key) and list.__len__(self))

    def stack_checked(self, key: Any, message: str) -> Any:
        """The index that is not negative; hold the elements in arrays, once it has been checked: a check sees the list as it was."""
        index = self._index(key, message)
        if not self._is_padded():
            self.stack()
        return index

    def __getitem__(self, key: Any) -> Any:
        self.note_read()
        if not self._is_padded() and isinstance(key, slice) and is_traced_key(key):
            padded = self.as_padded()
            return self.holding(()) if padded is None else self.holding(padded)[key]
        if not self._is_padded() and is_traced_key(key):
            if not list.__len__(self):
                raise empty_list("list index out of range")
            return Padded.of(tuple(self)).element(self._index(key, "list index out of range"))
        if not self._is_padded():
            if not isinstance(key, slice) and not list.__len__(self):
                raise empty_list("list index out of range")
            found = list.__getitem__(self, key)
            return self.holding(tuple(found)) if isinstance(key, slice) else found
        length = self._held.length
        if isinstance(length, int) and not is_traced_key(key):
            places = list(range(length))[key]
            if isinstance(places, list):
                self.share()
                return self.holding(tuple(self.element(k) for k in places))
            return self.element(places)
        if isinstance(key, slice):
            self.share()
            return self.holding(self._held.sliced(key).unreserved())
        return self.element(self._index(key, "list index out of range"), key)

    def holding(self, contents: Any) -> Any:
        """Another list, or what it is, of these contents."""
        made = self.fresh()
        made.set_contents(contents)
        if self.checks is not None:
            self.checks.journal.born(made)
        return made

    def fresh(self) -> TracedList:
        """An empty one."""
        return TracedList((), self.checks)

    def _make_room_for(self, value: Any, key: Any = None) -> None:
        """Be Python's own list again, where the length is known, if its arrays cannot hold this value, at ``key``, as it is.

        In a staged block, which may carry the arrays, types are promoted. A ``value`` for a slice is a list, None to delete.
        """
        if not self._is_padded() or not isinstance(self._held.length, int) or is_traced_key(key):
            return
        is_carried = self.checks is not None and self.checks.journal.is_open
        if isinstance(key, slice):
            fits = is_carried and value is not None and len(range(self._held.length)[key]) == len(value)
        else:
            fits = self._held.takes(value, is_carried)
        if not fits:
            self.unstack()

    def stack(self) -> None:
        """Hold the elements in arrays, if they are alike."""
        elements = tuple(self)
        self.set_contents(())  # which leads to what has just been made
        self.set_contents(Padded.holding(elements, self))
        self._note_places(elements, 0)
        LANGUAGE.operators.identities.held_otherwise(self, elements)

    def _note_places(self, elements: Sequence[Any], first: Any) -> None:
        """Note that these elements are in this list, from the ``first`` place on: a write to one is one to the list."""
        if self._held.kind.is_watched:
            for k, element in enumerate(elements):
                self._elements.placed(element, self, first + k)

    def unstack(self) -> None:
        """Hold the elements, whose number is known, one by one."""
        before = self.contents()
        self.moves += 1
        self.set_contents(tuple(self._held.elements(len(self))))
        LANGUAGE.operators.identities.held_otherwise(self, before)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.note_read()
        if isinstance(key, slice):
            self.set_slice(key, as_items(value))
            return
        self._make_room_for(value, key)
        if not self._traces(key):
            list.__setitem__(self, key, value)
        else:
            if self._is_padded() and self._held.kind.is_watched and self._elements.seen_before(self, key) is value:
                return  # it is there, with what has been written to it
            index = self.stack_checked(key, "list assignment index out of range")
            self.moves += 1
            self.padded = self._held.replaced(index, value)
            self._note_places([value], index)

    def exchange(self, one: Any, other: Any) -> None:
        """Let two elements change places. What has been returned for an index before is no longer there."""
        self.note_read()
        places = [self._index(key, "list index out of range") for key in (one, other)]
        if not self._is_padded():
            self.stack()
        self.moves += 1
        self.padded = self._held.exchanged(*places)

    def check_room(self, like: Any) -> None:
        """See that there are no more elements than ``like`` has room for, if that may be too little."""
        room = like.reserved
        if isinstance(room, Room) and self._size() > like.capacity:
            self._check_room(self.size(), like)
        if not self._is_padded():
            return
        mine, longest = self._held.kind.rows(), None
        for where, row in like.kind.rows().items():
            if isinstance(row.reserved, Room) and where in mine and mine[where].capacity > row.capacity:
                longest = self._held.longest() if longest is None else longest
                self._check_room(longest[where], row)

    def _check_room(self, count: Any, held: Padded | Row) -> None:
        """See that there is room for so many elements: when the program runs, if only then that is known."""
        if isinstance(held.reserved, Room):
            room, error = held.reserved, held.reserved.outgrown(held.capacity)
            if isinstance(count, int):
                if count > held.capacity:
                    raise error
            elif self.checks is not None and self.checks.can_raise_later():
                self.checks.raise_unless(count <= held.capacity, error, is_check=room.rooms is None)

    def append(self, value: Any) -> None:
        self._make_room_for(value)
        if self._is_padded():
            self._check_room(self._held.length + 1, self._held)
        self._add(value)

    def _add(self, value: Any) -> None:
        """Append a value for which there is room."""
        self._make_room_for(value)
        if self._is_padded():
            length = self._held.length
            self.padded = self._held.appended(value)
            self._note_places([value], length)
        else:
            list.append(self, value)
        self.note_size()

    def extend(self, values: Any) -> None:
        values = as_items(values) if self.checks is None else self.checks.items_of(values)
        if isinstance(values, TracedList) and values._is_padded():
            values.share()
            is_known = isinstance(values._held.length, int)
            if is_known and values._held.length:
                self._make_room_for(values[0])
            if not is_known or self._is_padded() or not list.__len__(self):
                mine = self.as_padded()
                if mine is not None:
                    self._check_room(mine.length + values._held.length, mine)
                self.padded = values._held.unreserved() if mine is None else mine.followed_by(values._held)
                list.__setitem__(self, slice(None), (ELSEWHERE,))
                self.note_size()
                return
        new = list(values)
        if self._is_padded() and new:  # before anything is written
            self._check_room(self._held.length + len(new), self._held)
        for value in new:
            self._add(value)

    def insert(self, index: Any, value: Any) -> None:
        self.note_read()
        self._make_room_for(value, index)
        if not self._traces(index):
            list.insert(self, index, value)
            self.note_size()
            return
        if not self._is_padded():
            self.stack()
        length = self._held.length
        TracedList.append(self, value)  # and not as a deque, which may drop another at once
        self.moves += 1
        self.padded = self._held.with_last_at(index, length)

    def pop(self, index: Any = -1) -> Any:
        self.note_read()
        if not self._traces(index):
            if not list.__len__(self):
                raise empty_list("pop from empty list")
            return list.pop(self, index)
        is_end = isinstance(index, int) and index in (0, -1)
        self._check(is_end or self.size() > 0, "pop from empty list")
        place = self.stack_checked(index, "pop from empty list" if is_end else "pop index out of range")
        held = self._held
        value = held.unreserved().element(place)
        if held.kind.is_watched:
            self._elements.taken(value)
        self.moves += 1
        length = max(held.length - 1, 0) if isinstance(held.length, int) else jnp.maximum(held.length - 1, 0)
        rest = held.without(place) if not is_end else held if index else held.without_first()
        self.padded = rest.with_(length=length, extent=held.extent.plus(-1))
        return value

    def clear(self) -> None:
        self.note_read()
        self.moves += 1
        if self._is_padded():
            held = self._held
            self.padded = held.with_(length=jnp.zeros_like(held.length), extent=held.extent.emptied())
        else:
            list.clear(self)

    def reverse(self) -> None:
        self.note_read()
        if self._is_padded():
            self.moves += 1
            self.padded = self._held.sliced(slice(None, None, -1)).with_(reserved=self._held.reserved)
        else:
            list.reverse(self)

    def copy(self) -> TracedList:
        self.note_read()
        self.share()
        return self.holding(self._copied())

    def as_list(self) -> TracedList:
        """A list of the elements."""
        self.note_read()
        self.share()
        return TracedList((), self.checks).holding(self._copied())

    def _copied(self) -> Any:
        """The contents for another list."""
        contents = self.contents()
        return contents.unreserved() if isinstance(contents, Padded) else contents

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, list):
            return NotImplemented
        made = self.copy()
        made.extend(other)
        return made

    def __radd__(self, other: Any) -> Any:
        if not isinstance(other, list):
            return NotImplemented
        if self.checks is not None:
            self.checks.refuse_hidden(other)
        made = self.holding(tuple(other))
        made.extend(self)
        return made

    def __iadd__(self, other: Any) -> Any:
        if self.checks is not None:
            self.checks.call(self.extend)  # reports the write
        self.extend(other)
        return self

    def _refused(self, what: str) -> StagingError:
        return StagingError(
            f"{user_location()}\n  {what} is not supported for a list whose length is traced.\n  Stack it (jnp.stack) and work on the "
            "array, whose rows beyond len() are zeros."
        )


def as_items(values: Any) -> Any:
    """What a loop over this runs over: a list of the items, or keys, of what is a list here and none in Python."""
    return values.as_list() if isinstance(values, TracedList) and values.stands_for is not list else values


def is_traced_list(value: Any) -> bool:
    """Whether this is a list whose length is traced."""
    return is_array_list(value) and not isinstance(value.contents().length, int)


def is_array_list(value: Any) -> bool:
    """Whether this is a list whose elements one array holds; its length may be known."""
    return isinstance(value, TracedList) and value._is_padded()
