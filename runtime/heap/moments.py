"""`Moment`: the state of objects when an exception is raised under a traced condition, as its handler sees it.

A handler sees all that was written before the exception, and nothing that would have been written after it. What the
variables and places of a ``try`` hold where the exception is raised is unpacked there: the traced values are
carried out of the staged statements with the exception, the rest is known.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from autograph.backends.selected import STAGING
from autograph.runtime.code.library_table import is_library
from autograph.runtime.containers.extents import exactly
from autograph.runtime.containers.padded import Padded
from autograph.runtime.heap.attempts import WritesOfAttempt
from autograph.runtime.heap.places import MUTABLE_CONTAINERS, AttributePlace, ContentsPlace, Place
from autograph.runtime.heap.reach import namespace_of, slots_held
from autograph.runtime.layouts.objects import is_plain_object, is_state
from autograph.runtime.layouts.one_of import candidates_of, code_of, is_one_of, one_of
from autograph.runtime.layouts.statement_variables import UNBOUND, CellVariable, Marks, Variable, flatten

_PLAIN = (str, bytes, int, float, bool, complex, type(None))


class _Constant:
    """What is known while tracing, or is of the trace of the ``try`` statement."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Constant):
            return False
        a, b = self.value, other.value
        return a is b or (type(a) is type(b) and isinstance(a, _PLAIN) and a == b and repr(a) == repr(b))

    def __hash__(self) -> int:
        return hash(type(self.value))

    def build(self, _: Sequence[Any]) -> Any:
        return self.value


@dataclass(frozen=True)
class _Carried:
    """A value that comes out with the exception."""

    index: int

    def build(self, values: Sequence[Any]) -> Any:
        return values[self.index]


@dataclass(frozen=True, eq=False)
class _Built:
    """A value that is made of parts, by ``make``; ``key`` says how."""

    key: Any
    parts: tuple[Any, ...]
    make: Callable[[Sequence[Any]], Any]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Built) and (self.key, self.parts) == (other.key, other.parts)

    def __hash__(self) -> int:
        return hash(len(self.parts))

    def build(self, values: Sequence[Any]) -> Any:
        return self.make([part.build(values) for part in self.parts])


@dataclass(frozen=True)
class _Held:
    """What a place holds, and where that is a real value."""

    place: Any
    value: Any
    defined: Any


class Moment:
    """What the variables and places of a ``try`` hold here.

    Attributes: values (those that the exception carries), raised (the exception, if others may refer to it).
    """

    def __init__(
        self,
        variables: Sequence[Variable],
        writes: WritesOfAttempt,
        marks: Marks,
        place: Any,
        note_read: Callable[[Any], None],
        raised: BaseException | None = None,
    ) -> None:
        self._writes, self._marks, self._place, self._note_read = writes, marks, place, note_read
        self.values: list[Any] = []
        self._seen: dict[int, Any] = {}
        self._reached: list[int] = []
        self._pending: list[Any] = []
        self.held: dict[Any, _Held] = {}
        for variable in variables:
            self._take(variable)
        self.raised: BaseException | None = None if raised is None else self._part(raised).value
        self._take_pending()
        self._take_writes()
        del self._note_read

    def _take_writes(self) -> None:
        """Go on with the places that have been written, of what was there before, or can be reached."""
        done: set[int] = set()
        self._reached += self._writes.lasting
        while owners := [owner for owner in self._reached if owner not in done]:
            done.update(owners)
            self._reached = []
            for place in self._writes.places_of(owners):
                if not self._is_of_ended_trace(place):
                    self._take(place)
            self._take_pending()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moment) or self.raised is not other.raised or self.held.keys() != other.held.keys():
            return False
        pairs = ((each, other.held[key]) for key, each in self.held.items())
        return all((one.value, one.defined) == (another.value, another.defined) for one, another in pairs)

    def __hash__(self) -> int:
        return len(self.held)

    def _take_pending(self) -> None:
        while self._pending:
            place = self._pending.pop()
            count = len(self.values)
            held = self._held(place)
            if len(self.values) > count or self._real(place).key in self._writes.before:
                self.held.setdefault(self._real(place).key, held)

    def _take(self, place: Any) -> None:
        real = self._real(place)
        self.held[real.key] = self._held(place)

    def _held(self, place: Any) -> _Held:
        if isinstance(place, ContentsPlace):
            self._note_read(place.owner)
        value = place.get()
        defined = True if value is UNBOUND else self._marks.defined(value)
        is_mapping = isinstance(place, ContentsPlace) and isinstance(value, dict)
        part = self._mapping(value) if is_mapping else self._part(value)
        return _Held(self._real(place), part, self._part(defined))

    def _mapping(self, value: dict[Any, Any]) -> _Built:
        keys = tuple(value)
        return _Built(
            (dict, *keys), tuple(map(self._part, value.values())), lambda parts: dict(zip(keys, parts, strict=True))
        )

    def _real(self, place: Any) -> Any:
        """The place before the loops, of one in what represents a container or an object in them."""
        owner = getattr(place, "owner", None)
        real = owner if owner is None else self._writes.real(owner)
        if real is owner:
            return place
        return ContentsPlace(real) if isinstance(place, ContentsPlace) else AttributePlace(real, place.attribute)

    def _part(self, value: Any) -> Any:
        if isinstance(value, jax.core.Tracer):
            if STAGING.is_of(value, self._place):
                return _Constant(value)
            self.values.append(value)
            return _Carried(len(self.values) - 1)
        if is_one_of(value):  # which says that it is of the class of what it may be
            parts = tuple(map(self._part, (code_of(value), *candidates_of(value))))
            return _Built("one of", parts, lambda parts: one_of(parts[1:], parts[0]))
        if value is UNBOUND or isinstance(value, (*_PLAIN, jax.Array)):
            return _Constant(value)
        kind = type(value)
        if kind is tuple:
            return _Built(kind, tuple(map(self._part, value)), tuple)
        if isinstance(value, MUTABLE_CONTAINERS):
            self._note(value, [ContentsPlace(value)])
            return _Constant(self._writes.real(value))
        if is_state(value) or isinstance(value, type | types.ModuleType):
            return _Constant(value)
        children, treedef = jax.tree_util.tree_flatten(value, is_leaf=lambda part: part is not value)
        if len(children) != 1 or children[0] is not value:
            return _Built(
                treedef, tuple(map(self._part, children)), functools.partial(jax.tree_util.tree_unflatten, treedef)
            )
        if kind is types.FunctionType:
            cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
            self._note(value, [CellVariable(name, cell) for name, cell in cells])
        elif not is_library(kind) or is_plain_object(value):
            self._note(value, [AttributePlace(value, name) for name in (*slots_held(value), *namespace_of(value))])
        return _Constant(self._writes.real(value))

    def _note(self, owner: Any, places: Sequence[Place]) -> None:
        """Go on with what a container or an object holds."""
        if id(owner) not in self._seen:
            real = self._writes.real(owner)
            self._seen[id(owner)] = self._seen[id(real)] = owner
            self._reached += [id(owner), id(real)]
            self._pending += places

    def objects(self) -> list[Any]:
        """The objects and containers that it lets places hold again, of those that are none of an ended trace."""
        return [each for each in self._seen.values() if self._writes.real(each) is each and self._is_usable(each)]

    def unwritten(self, others: Sequence[Moment]) -> list[tuple[Any, Any]]:
        """The places that only others hold, each with what it holds now, which it held at this moment: nothing had written to it."""
        places = {key: each.place for other in others for key, each in other.held.items() if key not in self.held}
        return [(place, place.get()) for place in places.values() if not self._is_of_ended_trace(place)]

    def restore(
        self,
        values: Sequence[Any],
        write: Callable[[Any, Any], None],
        born: Callable[[Any], None],
        unwritten: Sequence[tuple[Any, Any]] = (),
    ) -> None:
        """Let every place hold again what it held, ``values`` being those that the exception has carried.

        What has been written since the moment only held then what it held before that.

        Args:
          write: writes to a place.
          born: is told of the objects and containers that are new here, since they were made in a staged statement of the body.
          unwritten: see `unwritten`.
        """
        for place, value in unwritten:
            write(place, value)
        is_of_ended = {key: self._is_of_ended_trace(each.place) for key, each in self.held.items()}
        # What is in a container before what holds it: that a value may be absent is marked at its leaves.
        for key, each in reversed(self.held.items()):
            value, defined = each.value.build(values), each.defined.build(values)
            if defined is not True:
                value = self._marks.add(value, defined, "an exception may have come before what binds it")
            if isinstance(value, Padded):
                value = _without_promise(value, each.place.get())
            if not is_of_ended[key]:
                write(each.place, value)
                continue
            if not isinstance(each.place, CellVariable):
                born(each.place.owner)
            each.place.set(value)
        for place in self._writes.places_of((*self._writes.lasting, *self._seen)):
            owner = getattr(place, "owner", None)
            if place.key in self.held or self._writes.real(owner) is not owner or self._is_of_ended_trace(place):
                continue
            before = self._writes.before[place.key][1]
            if self._is_usable(before):
                write(place, before)

    def _is_of_ended_trace(self, place: Any) -> bool:
        """Whether this is of an object or a call of a staged statement in the body, and so holds what has no meaning any more."""
        return (isinstance(place, CellVariable) or hasattr(place, "owner")) and not self._is_usable(place.get())

    def _is_usable(self, value: Any) -> bool:
        tracers = (leaf for leaf in flatten(value)[0] if isinstance(leaf, jax.core.Tracer))
        here = STAGING.place()
        return all(STAGING.is_of(leaf, here) for leaf in tracers)


def _without_promise(held: Padded, now: Any) -> Padded:
    """The contents of a list as they came out of a loop, whose room is no promise after it: only what is made around is."""
    extent = exactly(held.capacity)
    if not isinstance(now, Padded):
        return held.with_(reserved=False, extent=extent)
    return held.with_(reserved=now.reserved, extent=now.extent.becoming(extent))
