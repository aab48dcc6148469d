"""Track the active calls of functions that may call themselves."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import numpy as np

from autograph.backends.base import LeafType
from autograph.backends.recursive import FunctionBody
from autograph.runtime.containers.parts import Path, parts_of
from autograph.runtime.effects.raising import current
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.layouts.kinds import Array, Layout, leaves_of
from autograph.runtime.layouts.list_room import Room
from autograph.runtime.layouts.loop_bodies import LoopBody
from autograph.runtime.layouts.statement_variables import Variable, flatten, is_mutable_container
from autograph.runtime.staging.calls.recursive_state import CarriedState
from autograph.runtime.staging.calls.values_in_room import ValueInRoom, arguments_in_room
from autograph.runtime.staging.policy.recursive_code import functions_in
from autograph.runtime.staging.statements.loop_memory import WrittenByLoops
from autograph.runtime.state.given_arrays import LocalArray
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import LOCAL

NUMBERS = (bool, int, float, complex)
_PLAIN = (*NUMBERS, str, bytes)
_METHODS = (types.MethodType, types.BuiltinMethodType)


@dataclass(frozen=True, eq=False)
class Marker:
    """What represents a function in recorded calls of it."""

    name: str
    where: str


class Known:
    """What has been found of one function for arguments of certain types: the layout of its results, and what it writes.

    Attributes:
      layout: None as long as no path is known to return.
      never: whether none returns.
      state: what it writes of what was there before.
      shares: whether a result may be, or hold, a container that was there before the call.
      same: the ways to containers in a result, in pairs, that may lead to one.
      rooms: the lists and texts of a result, alone or in a tuple, of which calls return longer ones than those in them, by their position.
      loops: what the loops in it write.
      hands_back: whether its calls return what they raise beside their value: see `handed_back`.
    """

    hands_back = False

    def __init__(self, state: CarriedState) -> None:
        self.shares = False
        self.same: set[tuple[Path, Path]] = set()
        self.rooms: dict[int | None, ValueInRoom] = {}
        self.layout: Layout | None = None
        self.never = False
        self.loops = WrittenByLoops(state.carries)
        self.state = state

    def types(self) -> list[LeafType]:
        found = [leaf.type for leaf in leaves_of(self.layout) if isinstance(leaf, Array)] if self.layout else []
        return found + self.state.types()


@dataclass(frozen=True)
class Signature:
    """A function, how its arguments are put together, and for each leaf its type, or its value.

    Attributes: statics (the leaves that are no arrays; None for arrays).
    """

    function: Any
    treedef: Any
    types: tuple[LeafType | None, ...]
    statics: tuple[Any, ...]

    def is_called_as(self, other: Signature) -> bool:
        """Whether both are calls of one function, by arguments that are put together alike."""
        return self.function == other.function and self.treedef == other.treedef

    def is_same(self, other: Signature) -> bool:
        return (
            self.is_called_as(other)
            and self.types == other.types
            and all(map(is_same_value, self.statics, other.statics))
        )

    def holds(self, other: Signature) -> bool:
        """Whether arguments like the other's may be given where these are traced: with numbers for arrays of such."""
        return self.is_called_as(other) and all(map(_holds, self.types, self.statics, other.types, other.statics))


class Activation:
    """One call that is under way.

    Attributes:
      signature: of its arguments.
      call: with its arguments.
      frame: the recording that it belongs to.
      known: what is known of its results, if it is traced by itself; None if it is followed.
      marker: what represents it in recorded calls.
      place: where its operations go, if it is traced by itself.
      regions, attempts: how many regions were open, and how many bodies of ``try`` statements traced, when it began.
      is_called: whether it has been called in itself.
      note_writes: notes what it has written so far as state, which a call in it sees, even if it is put back after that.
    """

    note_writes: Callable[[], None]

    def __init__(self, signature: Signature, call: Call, known: Known | None, marker: Marker) -> None:
        self.signature = signature
        self.call = call
        self.known = known
        self.marker = marker
        self.frame = LOCAL.frame
        self.place: Any = None
        self.regions = 0
        self.attempts = len(current().catches)
        self.is_called = False


class CallsUnderWay:
    """The calls under way in one thread of functions that may call themselves.

    Attributes:
      active: outermost first.
      where: the user's line of the outermost.
      found: the functions that are known to call themselves, with what is known of them, as long as the outermost is traced.
      numbers: the functions whose Python numbers are to be traced, with the types of these leaves.
      rooms: the arguments that are in room, as the calls of a function make them longer, by their place, by function.
      without_room: an argument that calls make longer, where there can be no room that may prove too small.
      bodies: functions that are called by others that they call.
      shared: the containers among the outermost call's arguments that calls are given as they are, by identity.
      followed: how many calls in the outermost have been followed.
      follows_all: whether all calls are followed, whatever comes of it.
      left: how many calls Python may still run before what they are part of is staged; None for any number.
      is_entered: whether the first call is followed, and those in it are outermost ones.
      is_settled: whether it has been found of all which call themselves.
      kept: the functions that signatures are of, so that no others get the identities of their variables.
    """

    def __init__(self) -> None:
        self.active: list[Activation] = []
        self.where = ""
        self.found: list[tuple[Signature, Known]] = []
        self.bodies: dict[Marker, FunctionBody] = {}
        self.numbers: list[tuple[Signature, dict[int, LeafType]]] = []
        self.rooms: dict[Any, dict[Any, ValueInRoom]] = {}
        self.without_room: Room | None = None
        self.shared: dict[int, Any] = {}
        self.followed = 0
        self.follows_all = False
        self.left: int | None = None
        self.is_entered = False
        self.is_settled = False
        self.kept: dict[Any, types.FunctionType] = {}

    def start_again(self) -> None:
        """Keep what has been found only."""
        self.active.clear()
        self.bodies.clear()
        self.followed = 0

    def forget(self) -> None:
        """Keep nothing that has been found."""
        self.start_again()
        self.found.clear()
        self.numbers.clear()
        self.rooms.clear()
        self.shared = {}

    def end(self) -> None:
        """Keep nothing: the outermost call has come to an end."""
        self.forget()
        self.kept.clear()
        self.without_room = None
        self.follows_all = self.is_settled = False

    @contextmanager
    def under_way(self, active: Activation) -> Iterator[None]:
        """Surrounds a call."""
        self.active.append(active)
        count = len(self.active)
        try:
            yield
        finally:
            del self.active[count - 1 :]

    def known_of(self, signature: Signature) -> Known | None:
        return next((known for other, known in self.found if other.is_same(signature)), None)


class TraceOfCalls(Trace, Protocol):
    """A trace, with the calls under way in it."""

    @property
    def calls(self) -> CallsUnderWay: ...

    @property
    def known_calls(self) -> CallsUnderWay | None: ...


class InTraceOfCalls(InTrace):
    """What asks for the calls under way, too.

    Attributes:
      calls: the functions that are being traced and may call themselves.
    """

    def __init__(self, trace: Callable[[], TraceOfCalls]) -> None:
        super().__init__(trace)
        self._trace_of_calls = trace

    @property
    def calls(self) -> CallsUnderWay:
        return self._trace_of_calls().calls


class _ByReference:
    """Represents a container that is one leaf while arguments are flattened."""

    def __init__(self, part: Any) -> None:
        self.part = part


class Call:
    """A call that is to be made, perhaps on other arrays.

    ``shared`` are the containers, by identity, that are passed as they are: calls that are given one of them write to the same.
    ``rooms`` are those of arguments, by their positions and names.
    """

    def __init__(
        self,
        function: types.FunctionType,
        run: Any,
        bound: Any,
        args: Any,
        kwargs: Any,
        shared: Mapping[int, Any],
        rooms: Mapping[Any, ValueInRoom],
    ) -> None:
        self.function = function
        self._run, self._bound = run, bound
        self._args, self._kwargs = args, kwargs
        given = (*bound, *args)
        self.given = {**dict(enumerate((*given, *_defaults(function, given, kwargs)))), **kwargs}
        held = dict(zip(self.given, arguments_in_room(self.given, rooms), strict=True))
        passed = {
            place: _ByReference(part) if id(part) in shared or isinstance(part, LocalArray) else part
            for place, part in held.items()
        }
        named = {name: passed.pop(name) for name in kwargs}
        leaves, self._structure = flatten((tuple(passed.values()), named))
        self.leaves = [leaf.part if isinstance(leaf, _ByReference) else leaf for leaf in leaves]
        self.treedef = self._structure.treedef

    def passing(self, shared: Mapping[int, Any], rooms: Mapping[Any, ValueInRoom]) -> Call:
        """The same call with these containers passed as they are, and these arguments in room."""
        return Call(self.function, self._run, self._bound, self._args, self._kwargs, shared, rooms)

    def name_of(self, place: Any) -> str:
        """The name of the parameter that is given at this place of `given`."""
        names = self.function.__code__.co_varnames
        return place if isinstance(place, str) or place >= len(names) else names[place]

    def mutable_arguments(self) -> dict[int, Any]:
        """The lists, dicts and others that are arguments, by identity."""
        return {id(part): part for part in (*self._args, *self._kwargs.values()) if is_mutable_container(part)}

    def follow(self) -> Any:
        """What the function returns for the very arguments."""
        return self._run(*self._args, **self._kwargs)

    def run(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """What the function returns for arguments from `arguments`."""
        if not self._bound:
            return self._run(*args, **kwargs)
        if args[0] is self._bound[0]:
            return self._run(*args[1:], **kwargs)
        return self.function(*args, **kwargs)  # the instance is unpacked as a pytree

    def containers(self) -> list[Any]:
        """The containers and objects that are arguments, or in them."""
        return containers_in((*self._bound, *self._args, *self._kwargs.values()))

    def constants(self) -> list[Any]:
        """What is no array in the arguments: functions, methods and others that may lead to what the function writes."""
        return [leaf for leaf in self.leaves if not isinstance(leaf, (*_PLAIN, jax.Array, types.NoneType))]

    def functions(self) -> list[types.FunctionType]:
        """The functions of the user's among the arguments."""
        found: list[types.FunctionType] = []
        pending = self.constants()
        while pending:
            leaf = pending.pop()
            if isinstance(leaf, functools.partial):
                pending += [leaf.func, *leaf.args, *leaf.keywords.values()]
            if isinstance(leaf, LoopBody):  # of a generator, which runs where it yields
                found += [each for each in (leaf.take, leaf.test) if isinstance(each, types.FunctionType)]
            found += functions_in(leaf)
        return found

    def variables(self) -> list[Variable]:
        """The variables of the loop that a generator runs where it yields."""
        return [each for leaf in self.leaves if isinstance(leaf, LoopBody) for each in leaf.variables]

    def arguments(self, leaves: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments with these leaves: their lists and dicts are others."""
        args, kwargs = self._structure.build(leaves)
        return args, kwargs

    def copied(self) -> dict[int, Any]:
        """The lists, dicts and others among the arguments, by identity, in whose place `arguments` has others."""
        args, kwargs = self.arguments(self.leaves)
        kept = {id(part) for part in containers_in((*args, *kwargs.values()))}
        return {id(part): part for part in self.containers() if id(part) not in kept}


def containers_in(values: Iterable[Any]) -> list[Any]:
    return [part for value in values for part in parts_of(value).values()]


def _defaults(function: types.FunctionType, given: Sequence[Any], kwargs: Any) -> tuple[Any, ...]:
    """The defaults of the positional arguments that a call leaves out."""
    defaults, count = function.__defaults__ or (), function.__code__.co_argcount
    missing = count - len(given)
    names = function.__code__.co_varnames[len(given) : count]
    if not 0 < missing <= len(defaults) or any(name in kwargs for name in names):
        return ()
    return defaults[len(defaults) - missing :]


def _holds(type: LeafType | None, static: Any, other: LeafType | None, number: Any) -> bool:
    if type is None or other is not None:
        return type == other and is_same_value(static, number)
    return type.shape == () and isinstance(number, NUMBERS) and np.can_cast(np.min_scalar_type(number), type.dtype)


def is_same_value(one: Any, other: Any) -> bool:
    if type(one) is type(other) and isinstance(one, _METHODS):  # each read of a method makes another object of it
        return one.__self__ is other.__self__ and one == other
    return one is other or (type(one) is type(other) and isinstance(one, _PLAIN) and one == other)


def marker_of(function: types.FunctionType) -> Marker:
    return Marker(function.__name__, user_location())
