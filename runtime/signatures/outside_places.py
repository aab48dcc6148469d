"""Places outside of a function that its programs take and leave: those in which a trace would leave tracers.

An attribute, a variable, or what a list or dict holds belongs to the call that finds it there. Once a trace of a `Function` has
assigned a traced value to one, its programs have what such a place holds as inputs (`Taken`), a trace runs with these there, and what
it leaves is an output, which the call writes there when the program has ended. So it is with the numbers and texts that such a
function assigns outside, too: all that it leaves there is of the same call.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.errors import StagingError, TracersLeaked
from autograph.runtime.heap.holding_places import places_holding, places_of
from autograph.runtime.heap.leaked_tracers import EXTENDED, HELD, is_holdable, slots_written
from autograph.runtime.heap.object_graph import Reached
from autograph.runtime.heap.object_graph import parts as steps
from autograph.runtime.heap.places import AttributePlace, ContentsPlace, Place, owner_of
from autograph.runtime.heap.reach import same
from autograph.runtime.heap.unread import Unread
from autograph.runtime.layouts.large_ints import fits_integers
from autograph.runtime.layouts.perhaps import Absence, perhaps
from autograph.runtime.layouts.statement_variables import UNBOUND, CellVariable, GlobalVariable
from autograph.runtime.layouts.static_values import static_leaf, weak_reference
from autograph.runtime.signatures.changed_arguments import ArgumentParts, Changes
from autograph.runtime.signatures.held_containers import Columns, HeldContainers, kind_of, parts_of
from autograph.runtime.signatures.signature import CallSignature, is_array_leaf, is_record
from autograph.runtime.state.given_arrays import LocalArray
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import LOCAL

Slots = Any
"""The keys of a dict, or numbers of a list's items, the numbers at which are inputs, a frozenset; None of all; `EXTENDED` of a list that
is only appended to, whose contents are no inputs, and outputs are what comes at its end; `HELD` of a container in the place of which a
trace has one of its own, or of an attribute or variable that holds such."""

_CONTAINERS = (list, dict, collections.OrderedDict, collections.defaultdict, collections.Counter, collections.deque)
_NUMBERS = (int, float, complex)
SCALARS = frozenset({bool, int, float, complex, str, bytes, type(None), type(...)})


@dataclasses.dataclass(frozen=True)
class _Known:
    """A place of a function's.

    Attributes:
      find: returns the place; None if what it is of is gone.
      name: what a user calls it.
      argument: the key of the argument that leads to it; None where the function itself does.
      slots: of a container.
      held: the container that an attribute or variable held when it was found. Others may lead to it.
    """

    find: Callable[[], Place | None]
    name: str
    argument: Any
    slots: Slots
    held: Any = None


class OutsidePlaces:
    """The places outside that the programs of one function take and leave.

    Attributes:
      names: what walks through what the function reads call the attributes and variables.
      containers: the identities of the containers. unread: of the lists that are only appended to.
      has_rooms: whether what a list holds may be taken with room for more.
    """

    def __init__(self) -> None:
        self.has_rooms = True
        self._known: dict[Any, _Known] = {}
        self.unread: frozenset[int] = frozenset()
        self.names: frozenset[Any] = frozenset()
        self.containers: frozenset[int] = frozenset()

    def add(
        self,
        found: Iterable[tuple[Place, Slots]],
        signature: CallSignature,
        roots: Iterable[tuple[str, Any]],
        variables: Sequence[Place],
    ) -> bool:
        """Take and leave these places from now on. Whether that is news.

        Args:
          signature: of the call that assigned them.
          roots: what leads to the objects from outside, whatever the arguments, by name.
          variables: those that the function reads.
        """
        arguments = [(label, each) for label, each in zip(signature.labels(), signature.statics, strict=True) if each]
        ways = [
            (None, Reached(roots)),
            *((static.key, Reached([(label, static.get())])) for label, static in arguments),
        ]
        is_news = False
        for place, slots in _with_holders(found, ways, variables):
            if slots is None and isinstance(place, ContentsPlace) and type(place.owner) in (list, collections.deque):
                slots = HELD
            owner = owner_of(place)
            way, reached = next((each for each in ways if owner is None or owner in each[1]), (UNBOUND, None))
            name = reached.name(owner) if isinstance(place, ContentsPlace) and reached is not None else place.name
            held = None
            if slots is HELD and isinstance(place, ContentsPlace) and reached is not None:
                held, contents = place.owner, place.key
                place = _holder(place, reached, variables)
                if place.key != contents:
                    self._known.pop(contents, None)
            before = self._known.get(place.key)
            if before is not None and before.find() is not None:
                slots, way = _joined(slots, before.slots), before.argument
            if way is UNBOUND or (before is not None and before.slots == slots and before.held is held):
                continue
            self._known[place.key] = _Known(_finder(place), name, way, slots, held)
            is_news = True
        self._forget_gone()
        return is_news

    def _forget_gone(self) -> None:
        alive = {key: (known, place) for key, known in self._known.items() if (place := known.find()) is not None}
        self._known = {key: known for key, (known, _) in alive.items()}
        self.names = frozenset(name for _, place in alive.values() for name in _names(place))
        owners = {id(p.owner): known.slots for known, p in alive.values() if isinstance(p, ContentsPlace)}
        self.unread = frozenset(owner for owner, slots in owners.items() if slots is EXTENDED)
        held = {id(known.held) for known, _ in alive.values() if known.held is not None}
        self.containers = frozenset(owners) - self.unread | held

    def taken(self, signature: CallSignature) -> Taken:
        """What a call of this signature takes and leaves."""
        return Taken(self.of(signature), self.has_rooms)

    def give_up_rooms(self) -> bool:
        """Take what containers hold element by element from now on. Whether that is news."""
        was, self.has_rooms = self.has_rooms, False
        return was and any(known.slots is HELD for known in self._known.values())

    def of(self, signature: CallSignature) -> list[tuple[Place, str, Slots]]:
        """The places that a call of this signature takes, each with what a user calls it and its slots."""
        given = {static.key for static in signature.statics if static is not None}
        known = [each for each in self._known.values() if each.argument is None or each.argument in given]
        return [(place, each.name, each.slots) for each in known if (place := each.find()) is not None]


def _holder(place: ContentsPlace, reached: Reached, variables: Sequence[Place]) -> Place:
    """The attribute or variable that holds a container, which may hold another in the next call; the place of its contents if none does."""
    (holding,) = places_holding([place.owner], reached, variables)
    places = holding.places.values() if holding.is_complete else ()
    found = (each for each in places if isinstance(each, AttributePlace | CellVariable | GlobalVariable))
    return next(found, place)


def _with_holders(
    found: Iterable[tuple[Place, Slots]], ways: Sequence[tuple[Any, Reached]], variables: Sequence[Place]
) -> list[tuple[Place, Slots]]:
    """Places that are written, with all others that hold the same arrays of NumPy's, in place of which there is one in the trace."""
    found = list(found)
    seen: set[int] = set()
    for place, slots in found:  # which grows
        arrays = [each for each in _arrays_in(place) if id(each) not in seen] if slots is not HELD else []
        seen.update(map(id, arrays))
        for _, reached in ways if arrays else ():
            holders = places_of([each for each in arrays if each in reached], reached, variables)
            found += ((each, frozenset() if isinstance(each, ContentsPlace) else None) for each in holders)
    return [(place, slots) for place, slots in found if not isinstance(owner_of(place), np.ndarray)]


def _arrays_in(place: Place) -> list[Any]:
    """The arrays of NumPy's that a place holds: that which it is of itself, say."""
    if not isinstance(place, ContentsPlace):
        return [held] if isinstance(held := place.get(), np.ndarray) else []
    owner = place.owner
    parts = (
        owner.values() if isinstance(owner, dict) else owner if isinstance(owner, list | collections.deque) else [owner]
    )
    return [part for part in parts if isinstance(part, np.ndarray)]


def _now(place: Place) -> Any:
    """What a place holds, an array that is a place itself as the array that it is now."""
    value = place.get()
    return value.held if type(value) is LocalArray else value


def _left_in(place: Place) -> Any:
    """What a trace has left in a place: a `Perhaps` in a variable that some paths leave unbound."""
    value = _now(place)
    if value is UNBOUND or not isinstance(place, CellVariable | GlobalVariable):
        return value
    return perhaps(LANGUAGE.operators.absences.marks.defined(value), value, Absence(place.name))


def _joined(one: Slots, other: Slots) -> Slots:
    if one is HELD or other is HELD:
        return HELD
    if one is EXTENDED or other is EXTENDED:
        return EXTENDED if one is other else None
    return None if one is None or other is None else one | other


def _finder(place: Place) -> Callable[[], Place | None]:
    """What returns a place, without holding the object whose attribute it is."""
    if not isinstance(place, AttributePlace):
        made = ContentsPlace(place.owner) if isinstance(place, ContentsPlace) else place
        return lambda: made
    attribute, owner = place.attribute, weak_reference(place.owner)
    if owner is None:
        return lambda: place

    def find() -> Place | None:
        alive = owner()
        return None if alive is None else AttributePlace(alive, attribute)

    return find


def _names(place: Place) -> Iterator[Any]:
    if isinstance(place, AttributePlace):
        yield id(place.owner), place.attribute
    elif isinstance(place, GlobalVariable):
        yield id(place.namespace), place.name
    elif isinstance(place, CellVariable):
        yield "cell", id(place.cell)


class Taken:
    """What some places hold, and the containers of Python's in that.

    Attributes:
      structure: all but the arrays: part of the signature of a call.
      leaves: the arrays, and the numbers as arrays.
      originals: the same, as they are held.
      names: what a user calls each.
      places: the places, and those of the containers, in one order for one structure.
      containers: for the identity of each container and dataclass the number of its place.
    """

    def __init__(self, roots: Sequence[tuple[Place, str, Slots]], has_rooms: bool) -> None:
        self._has_rooms = has_rooms
        self.leaves: list[Any] = []
        self.originals: list[Any] = []
        self.names: list[str] = []
        self.places: list[Place] = []
        self.containers: dict[int, int] = {}
        # By the identity of each array of NumPy's what a trace has in its place, then itself, once for each further place.
        self._arrays: dict[int, list[Any]] = {}
        self._slots = {place.key: slots for place, _, slots in roots}
        self._roots = [(place, name) for place, name, _ in roots]
        self._held = HeldContainers()
        self._before: list[tuple[Place, Any]] = []
        self._start: list[Any] = []
        self.structure: Any = tuple(self._root(place, name, self._note) for place, name in self._roots)

    def _note(self, value: Any, name: str) -> Any:
        self.originals.append(value)
        self.leaves.append(jnp.asarray(value) if type(value) in _NUMBERS else value)
        self.names.append(name)
        return value

    # A walk through all that the places hold. Each value comes to its structure, and to what `leaf` returns in place of its leaves.

    def _root(self, place: Place, name: str, leaf: Callable[[Any, str], Any]) -> Any:
        if isinstance(place, ContentsPlace):
            return place.key, name, self._walked(place.owner, name, leaf, True)[0]
        self.places.append(place)
        value = place.get()
        if self._slots.get(place.key) is HELD and is_holdable(value) and id(value) not in self.containers:
            structure, new = self._as_held(value, name, leaf)
        else:
            structure, new = self._walked(value, name, leaf, True)
        self._fill(place, new)
        return place.key, name, structure

    def _walked(
        self, value: Any, name: str, leaf: Callable[[Any, str], Any], is_assigned: bool, is_held: bool = False
    ) -> tuple[Any, Any]:
        """``is_assigned``: whether a number is an input. ``is_held``: whether it is in a container of the trace."""
        kind = type(value)
        if isinstance(value, np.ndarray) and not is_held:
            if id(value) not in self._arrays:
                self._arrays[id(value)] = [leaf(value, name)]
                return "array", self._arrays[id(value)][0]
            self._arrays[id(value)].append(value)
            return ("same", list(self._arrays).index(id(value))), self._arrays[id(value)][0]
        if is_array_leaf(value) and kind not in (*_NUMBERS, bool):
            return "array", leaf(value, name)
        if kind in _NUMBERS and is_assigned and (kind is not int or fits_integers(value)):
            return "array", leaf(value, name)
        if isinstance(value, tuple) and (kind is tuple or hasattr(kind, "_make")):
            parts = [self._walked(part, f"{name}[{k}]", leaf, is_assigned, is_held) for k, part in enumerate(value)]
            new = [part for _, part in parts]
            is_same = all(a is b for a, b in zip(new, value, strict=True))
            make = tuple if kind is tuple else kind._make
            return (kind, *(structure for structure, _ in parts)), value if is_same else make(new)
        if kind in _CONTAINERS or kind is set or is_record(value):
            if id(value) in self.containers:
                return ("again", self.containers[id(value)]), self._held.in_place_of(value)
            if self._slots.get(ContentsPlace(value).key) is HELD or (is_held and kind is list):
                return self._as_held(value, name, leaf)
            self.containers[id(value)] = len(self.places)
            return self._record(value, name, leaf) if is_record(value) else self._container(value, name, leaf), value
        return static_leaf(value), value

    def _as_held(self, value: Any, name: str, leaf: Callable[[Any, str], Any]) -> tuple[Any, Any]:
        number = self.containers[id(value)] = len(self.places)
        self.places.append(ContentsPlace(value))
        made = self._held.begin(value, number) if self._is_filled else value
        parts = list(parts_of(value))
        if self._has_rooms and (columns := self._columns([part for _, part in parts])) is not None:
            arrays = [leaf(array, name) for array in columns.arrays]
            if self._is_filled:
                self._held.fill(made, Columns.held(columns.structure, arrays, self._row_of(parts[0][1])))
                self.places[number] = ContentsPlace(made)
            return (HELD, type(value), kind_of(value), columns.structure, columns.capacity), made
        structures, new = [], []
        for step, part in parts:
            structure, other = self._walked(part, f"{name}{step}", leaf, True, True)
            structures.append(structure)
            new.append(other)
        if self._is_filled:
            self._held.fill(made, new)
            self.places[number] = ContentsPlace(made)
        return (HELD, type(value), kind_of(value), tuple(structures)), made

    def _columns(self, elements: Sequence[Any]) -> Columns | None:
        return Columns.of(elements, lambda element, leaves: self._walked(element, "", _noted_in(leaves), True, True)[0])

    def _row_of(self, element: Any) -> Callable[[Sequence[Any]], Any]:
        def made(arrays: Sequence[Any]) -> Any:
            pending = iter(arrays)
            return self._walked(element, "", lambda *_: next(pending), True, True)[1]

        return made

    def _record(self, value: Any, name: str, leaf: Callable[[Any, str], Any]) -> Any:
        found: list[Any] = [type(value)]
        for each in dataclasses.fields(value):
            place = AttributePlace(value, each.name)
            self.places.append(place)
            structure, new = self._walked(place.get(), f"{name}.{each.name}", leaf, False)
            self._fill(place, new)
            found.append((each.name, structure))
        return tuple(found)

    def _container(self, value: Any, name: str, leaf: Callable[[Any, str], Any]) -> Any:
        place = ContentsPlace(value)
        self.places.append(place)
        if type(value) is set:  # which holds nothing traced
            self._fill(place, place.get())
            return static_leaf(value)
        slots = self._slots.get(place.key, frozenset())
        if slots is EXTENDED:
            if self._is_filled:
                LOCAL.frame.extended[id(value)] = refusal = functools.partial(self._read, place)
                self._fill(place, (Unread(refusal),) * max(len(value), 1))
                LANGUAGE.operators.journal.hidden[id(value)] = value, refusal
            return list, EXTENDED
        items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
        parts = [
            (key, *self._walked(part, f"{name}[{key!r}]", leaf, slots is None or key in slots)) for key, part in items
        ]
        new = {key: part for key, _, part in parts}
        self._fill(place, new if isinstance(value, dict) else tuple(new.values()))
        keys = tuple(map(static_leaf, value)) if isinstance(value, dict) else getattr(value, "maxlen", None)
        return type(value), keys, tuple(structure for _, structure, _ in parts)

    def _fill(self, place: Place, new: Any) -> None:
        if self._is_filled:
            self._before.append((place, place.get()))
            if not same(place.get(), new):
                place.set(new)

    _is_filled = False

    def _read(self, place: Place) -> TracersLeaked:
        """The error where a trace reads a list that it was not to read."""
        return TracersLeaked(f"{user_location()}\n  {place.name} is read.", [(place, None)], LOCAL.frame.signature)

    # Of a call.

    def is_extended(self, number: int) -> bool:
        """Whether the place of this number is what a list holds that is only appended to."""
        return self._slots.get(self.places[number].key) is EXTENDED

    def is_container(self, number: int) -> bool:
        """Whether the place of this number is what a container holds."""
        return isinstance(self.places[number], ContentsPlace)

    def is_set(self, number: int) -> bool:
        """Whether the place of this number is what a set holds."""
        return self.is_container(number) and type(self.places[number].owner) is set  # type: ignore[union-attr]

    def is_held(self, number: int) -> bool:
        """Whether the place of this number is what a container holds that a trace has one of its own in the place of."""
        return self._held.at(number) is not None

    def paths(self) -> dict[int, Any]:
        """For the identity of each container, the trace's own too, what it is called in results."""
        numbers = self.containers | self._held.numbers()
        return {key: ("outside", number) for key, number in numbers.items()}

    def paths_of_leaves(self, leaves: Sequence[Any]) -> dict[int, Any]:
        """For the identity of each input of a trace what the value that it stands for is called in results."""
        return {id(leaf): ("leaf", number) for number, leaf in enumerate(leaves)}

    def parts(self) -> dict[Any, Any]:
        """What these are."""
        owners = {number: key for key, number in self.containers.items()}
        found: dict[Any, Any] = {("outside", number): self.places[number].owner for number in owners}  # type: ignore[union-attr]
        return found | {("leaf", number): value for number, value in enumerate(self.originals)}

    def refuse_shared(
        self,
        name: str,
        changes: Changes,
        parts: ArgumentParts,
        arrays: Sequence[Any],
        outside: Callable[[], Iterable[tuple[str, Any]]],
    ) -> None:
        """`StagingError` if something that is changed is reached in two ways, which a trace takes for two things: a container that is
        among the arguments, too; a NumPy array that is written in place, and that something else outside leads to.

        Args:
          name: of the function.
          changes: what its program changes.
          parts: of the arguments.
          arrays: of the call.
          outside: returns what leads to objects from outside, by name.
        """
        where = changes.refusal.partition("\n")[0]
        for number, label in changes.arrays.items():
            if number < len(self.leaves):
                array = arrays[number]
                ways = _ways_to(array, list(outside()))
                if len(ways) > len(self._arrays.get(id(array), [array])):
                    raise StagingError(
                        f"{where}\n  {label!r} is written in place by {name}, and shares memory with another array from outside "
                        f"({', '.join(ways)}): to the compiled program they are two.\n  Let one of them be a copy: x.copy()."
                    )
        for key, number in self.containers.items():
            if key in parts.containers and number in changes.outside:
                label = changes.outside[number]
                raise StagingError(
                    f"{where}\n  {label!r} is changed by {name}, and is given to it, too: to the compiled program they are two.\n"
                    "  Give a copy, or do not give it: the function has it from outside."
                )

    # In a trace.

    @property
    def keys(self) -> frozenset[Any]:
        """The keys of the places."""
        return frozenset(place.key for place in self.places)

    @property
    def held(self) -> Iterable[int]:
        """The identities of the containers of the trace in the places of others."""
        return self._held.numbers()

    def fill(self, leaves: Sequence[Any], reached: Reached, variables: Iterable[Place]) -> None:
        """Let the places hold what stands for their values in a trace.

        Args:
          leaves: what does.
          reached: all that the function reads from outside leads to.
          variables: those that it reads.
        """
        pending = iter(leaves)
        self._is_filled = True
        self.places, self.containers, self._arrays = [], {}, {}
        for place, name in self._roots:
            self._root(place, name, lambda *_: next(pending))
        self._held.put_in_place(reached, variables)
        self._start = [_now(place) for place in self.places]

    def in_place_of(self, value: Any) -> Any:
        """The container of the trace that is in the place of an argument; the argument itself if there is none."""
        return self._held.in_place_of(value)

    def empty(self, signature: CallSignature) -> dict[int, Any]:
        """Let the places hold what they did; what the trace has left in those that it changed, by number.

        Raises:
          TracersLeaked: it has changed a number that was no input.
        """
        left = {
            number: (place, _left_in(place))
            for number, place in enumerate(self.places)
            if not same(_now(place), self._start[number])
        }
        extended = [number for number in left if self.is_extended(number)]
        more = [
            (place, slots)
            for number, (place, _) in left.items()
            if (slots := self._missed(number, place, self._start[number])) != frozenset()
        ]
        self.restore()
        if more:
            raise TracersLeaked(f"{more[0][0].name} is assigned", more, signature)
        found = {number: self._held.at(number) if self.is_held(number) else new for number, (_, new) in left.items()}
        return found | {number: found[number][len(self._start[number]) :] for number in extended}

    def restore(self) -> None:
        """Let the places hold what they did."""
        self._held.put_back()
        for place, held in reversed(self._before):
            if not same(place.get(), held):
                place.set(held)
        self._before.clear()

    def name(self, number: int) -> str:
        """What a user calls the place of this number."""
        key = self._held.key_at(number) or self.places[number].key
        names = [name for place, name in self._roots if place.key == key]
        return names[0] if names else self.places[number].name

    def _missed(self, number: int, place: Place, start: Any) -> Slots:
        """The slots of a container in which a number was changed that was no input."""
        if not isinstance(place, ContentsPlace) or self.is_held(number):
            return frozenset()
        if (known := self._slots.get(place.key, frozenset())) is None:
            return frozenset()
        slots = slots_written(place, start)
        if known is EXTENDED:
            return frozenset() if slots is EXTENDED else None
        if slots is EXTENDED:
            return frozenset()
        old = start if isinstance(start, dict) else dict(enumerate(start))
        changed = frozenset(old) if slots is None else slots
        return frozenset(key for key in changed - known if type(old.get(key)) in _NUMBERS)


def _noted_in(leaves: list[Any]) -> Callable[[Any, str], Any]:
    def note(value: Any, _: str) -> Any:
        leaves.append(value)
        return value

    return note


def objects_within(value: Any, seen: dict[int, Any]) -> Iterator[Any]:
    """The objects that a value leads to of which a `Taken` takes nothing but which they are.

    Args:
      seen: by identity, the containers and dataclasses that have been gone through.
    """
    if type(value) in SCALARS or is_array_leaf(value) or isinstance(value, jax.core.Tracer) or id(value) in seen:
        return
    is_one = is_record(value)
    if not is_one and not isinstance(value, list | tuple | dict | set | frozenset | collections.deque):
        yield value
        return
    seen[id(value)] = value
    held = vars(value) if is_one else value
    for part in held.values() if isinstance(held, dict) else held:
        yield from objects_within(part, seen)


def _ways_to(array: Any, roots: Sequence[tuple[str, Any]]) -> list[str]:
    """How the places are reached that hold this array, or another that shares its memory."""

    def is_same(part: Any) -> bool:
        return isinstance(part, np.ndarray) and np.shares_memory(part, array)

    reached = Reached(roots)
    ways = reached.holding(is_same)
    cells = reached.holding(
        lambda part: isinstance(part, types.CellType) and any(is_same(held) for _, held in steps(part))
    )
    known = {step for _, step in ways}  # of a global variable, if a function's globals are reached
    return [
        *ways.values(),
        *(label for label, value in roots if is_same(value) and not cells and f"[{label!r}]" not in known),
    ]
