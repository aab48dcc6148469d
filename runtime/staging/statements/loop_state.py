"""Data structures for the trace of a staged loop: the statement and what it reaches, carried variables, one iteration and its result."""

from __future__ import annotations

import collections
import itertools
import types
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from autograph.backends.base import Backend, LeafType, Traced
from autograph.runtime.code.code_names import OPERATORS
from autograph.runtime.containers.differing_kinds import differing_structure
from autograph.runtime.containers.element_kinds import Kind
from autograph.runtime.containers.iterables import UNROLLED_AT_MOST, StagedIterable
from autograph.runtime.containers.parts import Path
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.facts import Facts
from autograph.runtime.heap.identities import Given
from autograph.runtime.heap.journal import Place, Region
from autograph.runtime.heap.unknown import Reason
from autograph.runtime.layouts.describe import typed, unflatten, untyped, with_leaves, without_known_tags
from autograph.runtime.layouts.join import Joiner
from autograph.runtime.layouts.key_order import order_as
from autograph.runtime.layouts.kinds import LEAF, NOTHING, Array, Constants, Layout, Maybe, Static, leaves_of, tags_in
from autograph.runtime.layouts.large_ints import holding
from autograph.runtime.layouts.mismatches import Mismatch, listed, sides, sizes_that_change, too_many
from autograph.runtime.layouts.objects import is_plain_object
from autograph.runtime.layouts.one_of import OneOf
from autograph.runtime.layouts.optional import Optional, possible_functions
from autograph.runtime.layouts.references import is_reference
from autograph.runtime.layouts.sides import Joined, injected
from autograph.runtime.layouts.statement_variables import (
    UNBOUND,
    Variable,
    contents_of_cells,
    find_variables,
    flatten,
)
from autograph.runtime.staging.policy.loop_options import NO_OPTIONS, LoopOptions
from autograph.runtime.staging.statements.growing_lists import GrowingList
from autograph.runtime.staging.statements.joined_parts import EndParts
from autograph.runtime.staging.statements.list_growth import ListEnd
from autograph.runtime.staging.statements.nones import narrowed
from autograph.runtime.tracing.recording import LOCAL

Thunk = Callable[[], Any]
ENDLESS = StagedIterable(None, (), lambda index, slices: None)


@dataclass(frozen=True)
class ForLoop:
    """One ``for`` statement of converted code.

    Attributes:
      body: runs an iteration on its item.
      names: the variables that it may leave changed.
      test: says after an iteration whether to go on; None for a loop without jumps out.
      result: the variable that holds what a ``return`` in the loop returns.
      options: what its directive says.
      report: told of each iteration's index, when it begins.
      may_peel: whether its first iteration may be run by itself.
      is_resumed: whether the program may go on with the iterator after the loop.
    """

    is_endless: ClassVar[bool] = False
    body: Callable[[Any], Any]
    names: Sequence[str]
    test: Thunk | None = None
    result: str | None = None
    options: LoopOptions = NO_OPTIONS
    report: Callable[[Any], None] | None = None
    may_peel: bool = True
    is_resumed: bool = False

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        return (self.body,) if self.test is None else (self.body, self.test)

    @property
    def code(self) -> Any:
        """What is the same whenever the statement runs."""
        return getattr(self.body, "__code__", self.body)

    def variables(self) -> list[Variable]:
        return find_variables(self.names, self.functions)


@dataclass(frozen=True)
class WhileLoop:
    """One ``while`` statement of converted code; the attributes are as `ForLoop`'s."""

    test: Thunk
    body: Thunk
    names: Sequence[str]
    result: str | None = None
    options: LoopOptions = NO_OPTIONS
    may_peel: bool = True

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        return (self.test, self.body)

    @property
    def code(self) -> Any:
        """What is the same whenever the statement runs."""
        return getattr(self.body, "__code__", self.body)

    @property
    def is_endless(self) -> bool:
        """Whether its test is a constant, so that only an exception ends it."""
        code = getattr(self.test, "__code__", None)
        return code is not None and not code.co_names and not code.co_freevars

    def variables(self) -> list[Variable]:
        return find_variables(self.names, self.functions)

    def items(self, done: int = 0) -> StagedIterable:
        """What its staged form runs over, once so many iterations have run in Python."""
        bound = self.options.maximum_iterations
        return ENDLESS if bound is None else ENDLESS.at_most(bound - done)


class CarryChanges(StagingError):
    """The state has another shape or structure after an iteration than before it."""


class WrittenOver(Exception):
    """An iteration writes to the list that the loop goes over.

    Attributes: again (makes what the loop goes over of the items as iterations have them).
    """

    def __init__(self, again: Callable[[], StagedIterable]) -> None:
        super().__init__()
        self.again = again


class NodesMade(StagingError):
    """Each iteration makes an object, or a function, that later ones reach.

    Attributes: loop (the `Settling` of the loop).

    Args:
      name: of the variable or attribute that it is left in.
    """

    def __init__(self, loop: Any, made: Any, name: str) -> None:
        self.loop = loop
        kind = type(made).__name__
        super().__init__(
            f"{loop.carry.where}\n  {name!r}: an iteration of this staged loop makes a {kind} and leaves it there. Those that lead to "
            f"each other must be known while tracing, and how many iterations make one is known only at run time.\n"
            f"  Loop over a range or an array of at most {UNROLLED_AT_MOST} items, or end the loop (break, return) where it makes the "
            f"{kind}, or hold the values, and the index of each next one, in lists."
        )


def function_made(loop: Any, mismatches: Sequence[Mismatch]) -> NodesMade | None:
    """The refusal of a loop each of whose iterations makes a function around that of the one before; None if these differ otherwise."""
    for each in mismatches:
        right = each.right.inner if isinstance(each.right, Maybe) else each.right
        if each.is_too_many and isinstance(right, Static) and isinstance(right.value, types.FunctionType):
            return NodesMade(loop, right.value, each.name)
    return None


class CarriedFurtherOut(BaseException):
    """Ends the trace of a loop's body: a loop in it writes to what was there before, so all loops in between carry it.

    No `Exception`, as the user's code in between must not handle it. Attributes: loop (the outermost of these).
    """

    def __init__(self, loop: Any) -> None:
        super().__init__()
        self.loop = loop


def carry_changes(where: str, mismatches: Sequence[Mismatch], has_invariants: bool) -> CarryChanges:
    """The error for the loop at ``where``, of whose variables these are one thing before and another after."""
    names = listed(mismatches)
    verb, them = ("change", "them") if len(mismatches) > 1 else ("changes", names)
    same = f"Give {them} the same shape and structure before the loop as its iterations leave {'them' if verb == 'change' else 'it'} with."
    message = (
        f"{where}\n  {names} {verb} type in this staged loop.\n{sides(mismatches, 'before the loop', 'after one iteration')}\n"
        f"  {too_many(mismatches) or same + sizes_that_change(mismatches)}"
    )
    if any(each.is_room for each in mismatches):
        message += "\n  A TensorArray has to have room for all that this loop writes: give it a max_size."
    if has_invariants:
        message += "\n  XLA's shapes are fixed: shape_invariants cannot let one change."
    return CarryChanges(message)


@contextmanager
def peeling(error: Exception) -> Iterator[None]:
    """Run the first iteration by itself after ``error``, which is raised where that does not help with the same variables."""
    try:
        yield
    except StagingError as other:
        if isinstance(error, CarryChanges) and error._differing & other._differing:
            refusal = StagingError(*error.args)
            refusal._containers = error._containers
            raise refusal from None
        raise


def refuse_nesting(where: str, carried: Sequence[Carried]) -> StagingError:
    """The error for variables that each iteration leaves in one more object, or tuple, than the one before, or for a list to which
    each appends a function that is unlike those before: with defaults of its own, say."""
    deeper = [
        Mismatch(each.variable.name, each.deepened[0], each.deepened[1]) for each in carried if len(each.deepened) > 1
    ]
    kinds = [end.kind for each in carried for end in each.lists.values() if isinstance(end.kind, Kind)]
    for layout in [] if deeper else [kind.layout for kind in kinds if isinstance(kind.layout, Constants)]:
        functions = [each for each in layout.candidates if isinstance(each, types.FunctionType)]
        if len(functions) > 1 and functions[0].__code__ is functions[1].__code__:
            return differing_structure(*map(str, functions[:2]))
    found = (
        f": each iteration wraps the value of {listed(deeper)} in another container, so its type changes each time.\n"
        f"{sides(deeper, 'after one iteration', 'after two')}"
        if deeper
        else "."
    )
    return StagingError(
        f"{where}\n  The types of the loop-carried variables reach no fixed point{found}\n"
        "  XLA needs fixed types: append results to a list, or write them into an array."
    )


_NOT_BEGUN = Maybe(NOTHING, LEAF, "unbound")


@dataclass
class Carried:
    """One variable of the loop's state.

    Attributes:
      layout: how its value is built, its leaves not typed.
      start: its leaves before the loop (`MISSING` where unbound), the last one whether it is bound.
      types: their types; None for a leaf that is no array and must stay what it is.
      entry: the value before the loop; longer: the same with texts and tuples of any length where iterations make them longer.
      is_input: whether iterations see it; a variable that each iteration rebinds is only an output.
      is_result: whether it holds what is returned, and is read only where it is set.
      has_arrays: whether there are `TensorArray`s in it.
      lists: what an iteration makes of the lists in it, by the way that leads to each.
      widened: how often the lists in it have got more room.
      before: its layout when the loop began, typed; last: as an iteration leaves it.
      ends: its leaves as the iteration that was traced last leaves them.
      deepened: the layouts, each deeper than the one before, that iterations were seen to leave it in.
    """

    variable: Variable
    layout: Layout
    start: list[Any]
    types: list[LeafType | None]
    entry: Any
    longer: Any = UNBOUND
    is_input: bool = True
    is_result: bool = False
    has_arrays: bool = False
    results: list[Any] = field(default_factory=list)
    ends: Sequence[Any] = ()
    lists: dict[Path, ListEnd] = field(default_factory=dict)
    deepened: list[Layout] = field(default_factory=list)
    widened: collections.Counter[Path] = field(default_factory=collections.Counter)
    before: Maybe = field(default=_NOT_BEGUN)
    last: Layout = NOTHING

    def __post_init__(self) -> None:
        self.before = self.typed() if self.before is _NOT_BEGUN else self.before

    @property
    def references(self) -> frozenset[int]:
        """The identities of objects from before the loop, of which the variable holds one: what they hold is state of its own."""
        return references_in(self.start)

    def typed(self) -> Maybe:
        """The layout of the variable before an iteration."""
        return variable_layout(self.layout, self.start, self.types)

    def take(self, layout: Maybe, start: list[Any]) -> None:
        """Carry it by another layout."""
        self.layout, self.start = untyped(layout.inner), start
        self.types = [leaf.type if isinstance(leaf, Array) else None for leaf in leaves_of(layout)]

    def after_loop(self, leaves: list[Any], surely_runs: bool) -> Any:
        """The value after the loop, which ``surely_runs`` if it has an iteration."""
        value = self.unflatten(leaves)
        if surely_runs and LOCAL.has_perhaps:
            order_as(value, self.last)
        return value

    def at_start(self) -> Any:
        """The value before the loop; it has what only iterations set, too."""
        tags = {k for k in tags_in(self.layout) if self.start[k] is False}
        return self.unflatten([np.False_ if k in tags else leaf for k, leaf in enumerate(self.start)])

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        """The value that has these leaves, the last of which says whether it is bound."""
        return unflatten(*without_known_tags(self.layout, leaves[:-1]))


def references_in(leaves: Iterable[Any]) -> frozenset[int]:
    """The identities of the objects among the leaves of a value."""
    return frozenset(id(leaf) for leaf in leaves if is_plain_object(leaf))


def variable_layout(layout: Layout, leaves: Sequence[Any], types: Sequence[LeafType | None] | None = None) -> Maybe:
    """The typed layout of a variable, from that of its value, and its leaves."""
    found = typed(Maybe(layout, LEAF, "unbound"), leaves, types)
    assert isinstance(found, Maybe)
    return found


def typed_unbound() -> Maybe:
    """The typed layout of a variable that has no value."""
    return Maybe(NOTHING, Static(False), "unbound")


def lasting(seen: tuple[Layout, list[Any]] | None) -> tuple[Layout, list[Any]] | None:
    """What was seen of a place in a trace, for another trace, in which other nodes are made."""
    return None if seen is None else (seen[0], [None if is_reference(leaf) else leaf for leaf in seen[1]])


def take_seen(backend: Backend, carried: Carried, layout: Layout, leaves: Sequence[Any]) -> None:
    """Carry a place so that it holds what an iteration was seen to leave in it, if that is all arrays, by their types, and references."""
    types = [leaf if isinstance(leaf, LeafType) else None for leaf in leaves]
    if layout == carried.layout and not any(map(is_reference, leaves)):
        pairs = zip(carried.types[:-1], types, strict=True)
        joined = [backend.join(a, b) if a is not None and b is not None else a for a, b in pairs]
        carried.types[:-1] = [new or old for new, old in zip(joined, carried.types[:-1], strict=True)]
    elif not any(leaf is None for leaf in leaves):
        joiner = Joiner(backend)
        seen = Maybe(typed(layout, leaves, types), Static(True), "unbound")
        found = joiner.join(carried.variable.name, carried.typed(), seen)
        if not joiner.mismatches:
            assert isinstance(found.layout, Maybe)
            carried.take(found.layout, injected(found.left, carried.start))


def holding_start(joined: Joined, start: Sequence[Any], backend: Backend) -> Joined:
    """A join of what a loop carries, whose types hold the Python numbers that it starts with."""
    found: list[Layout] = []
    for leaf, number in zip(leaves_of(joined.layout), injected(joined.left, start), strict=True):
        own = backend.type_of(number) if isinstance(leaf, Array) and type(number) in (int, float) else None
        wide = holding([number], leaf.type, (own, leaf.type), backend.join) if own and isinstance(leaf, Array) else None
        found.append(leaf if wide is None else Array(wide))
    return replace(joined, layout=with_leaves(joined.layout, iter(found)))


@dataclass
class VariableEnd:
    """A variable after one iteration.

    Attributes:
      layout: how its value is built; span: where its leaves are.
      installed: for each leaf, which of those that the iteration began with it is; None for another.
    """

    layout: Layout
    span: slice
    installed: list[int | None]
    lists: dict[Path, ListEnd] = field(default_factory=dict)

    def results(self, types: Sequence[Any], sources: Sequence[Any], leaves: Sequence[Any]) -> list[Any]:
        """The leaves that the iteration leaves, None for those that it found there.

        Args:
          types: of the leaves that the loop carries; sources: by each of them, which leaf of the end it is, if it is one.
        """
        return [
            None if type is None or (isinstance(source, int) and self.installed[source] == k) else leaf
            for k, (type, source, leaf) in enumerate(zip(types, sources, leaves, strict=True))
        ]


Key = tuple[int, Path]  # a carried variable, by its position, and where in its value


class BodyAliasing:
    """What one trace of a loop's body says of the containers in its state, by their identities then.

    Attributes:
      keys: which places a stand-in was in; of: the stand-in of each place; entries: what it represented.
      ends: what the iteration leaves; apart: places that it leaves different containers in, though each may be a third.
      kept: the places that it leaves as they are; changed: those whose stand-in it writes to, and the first line that does.
      lines: the first line that writes to each container outside of the variables.
      given, elements_written: the places whose stand-in becomes an element of a list, and the marks of the elements that it writes to.
      views: the elements, taken from their lists before the loop, that it writes to, each with its list.
      moved: the lists whose elements it moves.
      mistaken: the places that it leaves another container in, though a write took them to be what they were before the loop.
      asked: what it found not to be one, with the line.
    """

    def __init__(self) -> None:
        self.keys: dict[int, list[Key]] = {}
        self.of: dict[Key, int] = {}
        self.entries: dict[Key, Any] = {}
        self.ends: dict[int, EndParts] = {}
        self.apart: set[frozenset[Key]] = set()
        self.kept: set[Key] = set()
        self.changed: dict[Key, str | None] = {}
        self.lines: dict[int, str | None] = {}
        self.mistaken: set[Key] = set()
        self.asked: list[tuple[int, int, str]] = []
        self.given: set[Key] = set()
        self.views: dict[int, int] = {}
        self.moved: set[int] = set()
        self.elements_written: set[Hashable] = set()


class BodyEnd:
    """A traced body: its program and each variable's end, None where unbound or unknown.

    Attributes:
      variables: what the loop carried, or may come to carry, in this trace.
      unknown: by the identity of its variable, the error for who reads a list that only a run of the program would know.
      rebound: the cells that an iteration rebinds.
      types: by the key of a place that it writes, the layout of what it leaves there, and the type of each leaf; a reference itself.
      absences: the classes, and names, of errors that the program may raise since something is absent, which an iteration may
        provide for the next.
      has_containers: whether there are containers or objects in the loop's state, or anything is known of others.
      made_unknown: the owners of what its writes may have changed, each with the error for who reads it.
      given: what was there before it, and it has made an element of a list.
      nodes: the references that it has made and left; node_names: where.
    """

    def __init__(self) -> None:
        self.traced = Traced(None, ())
        self.variables: list[Variable] = []
        self.ends: list[VariableEnd | None] = []
        self.unknown: dict[int, StagingError] = {}
        self.operand_types: list[LeafType] = []
        self.operand_layouts: list[Layout] = []
        self.state_count = 0
        self.opens: set[int] = set()
        self.written: list[Any] = []
        self.discovered: list[Place] = []
        self.growing: dict[Any, GrowingList | None] = {}
        self.lists: dict[Any, ListEnd] = {}
        self.reads: set[int] = set()
        self.types: dict[Any, tuple[Layout, list[Any]]] = {}
        self.has_containers = False
        self.aliasing = BodyAliasing()
        self.absences: list[tuple[type[BaseException], str | None]] = []
        self.rebound: list[Any] = []
        self.made_unknown: Sequence[tuple[Any, Reason]] = ()
        self.given: list[Given] = []
        self.nodes: list[Any] = []
        self.node_names: list[str] = []

    def among(self, variables: Sequence[Variable]) -> list[tuple[Variable, VariableEnd | None]]:
        """Those that are among these still, and have not become a part of another, each with its end."""
        kept = set(map(id, variables))
        return [pair for pair in zip(self.variables, self.ends, strict=True) if id(pair[0]) in kept]


def cell_values(function: Callable[..., Any]) -> list[int]:
    """The identities of what a function's cells hold, to see whether running it rebinds any."""
    values = []
    for cell in function.__closure__ or ():
        try:
            values.append(id(cell.cell_contents))
        except ValueError:
            values.append(0)
    return values


def traced_leaves(backend: Backend, functions: Sequence[Callable[..., Any]]) -> Iterator[Any]:
    """What a loop's functions reach directly and is traced now."""
    return filter(backend.is_traced, _leaves_reached(functions))


def may_become_traced(backend: Backend, functions: Sequence[Callable[..., Any]]) -> bool:
    """Whether anything that a loop's functions reach directly is traced now: then staging is worth a trial."""
    return not backend.is_eager() and any(True for _ in traced_leaves(backend, functions))


def _leaves_reached(functions: Sequence[Callable[..., Any]]) -> Iterator[Any]:
    """What the functions' variables from outside hold, and those of functions in them; containers and objects unpacked."""
    pending, seen = list(functions), set(map(id, functions))
    while pending:
        function = pending.pop()
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        for content in contents_of_cells(cell for name, cell in cells if name != OPERATORS):
            try:
                leaves = flatten(content)[0] if isinstance(content, list | tuple | dict) else [content]
            except (TypeError, ValueError):  # no pytree
                continue
            for leaf in leaves:
                parts = [leaf, *vars(leaf).values()] if hasattr(leaf, "__dict__") and not callable(leaf) else [leaf]
                yield from parts
                possible = itertools.chain.from_iterable(map(possible_functions, parts))
                inner = [function for function in possible if id(function) not in seen]
                pending += inner
                seen.update(map(id, inner))


def where_true(region: Region | None, implied: Callable[[], Facts] | None) -> AbstractContextManager[None]:
    """Surrounds an iteration of a ``while``, in which it is known what its test has implied: that a node is not None, say.

    ``implied``: says what that is; None if the test writes.
    """
    if implied is None or region is None or region.entry is None:
        return nullcontext()
    if not any(type(variable.get()) in (Optional, OneOf) for variable in region.entry.places()):
        return nullcontext()  # nothing may be None, or be an object whose attribute may be
    return narrowed(implied(), region.entry, lasts=True)
