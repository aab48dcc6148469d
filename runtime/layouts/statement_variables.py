"""The variables of a staged statement: found by name, accessed through their cells, flattened into leaves.

A variable that some path leaves unbound holds a placeholder on that path. `Marks` remembers which values are such
placeholders, and under which condition they are real.
"""

from __future__ import annotations

import functools
import itertools
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp

from autograph.runtime.layouts.loop_bodies import LoopBody
from autograph.runtime.layouts.objects import attributes_of, is_plain_object, is_state
from autograph.runtime.layouts.one_of import CODE, OneOf, candidates_of, code_of, is_one_of
from autograph.runtime.layouts.optional import Optional
from autograph.runtime.layouts.perhaps import perhaps
from autograph.runtime.layouts.pytrees import is_pytree, tree_flatten, tree_leaves, tree_map
from autograph.runtime.layouts.references import is_reference


class _Unbound:
    __slots__ = ()

    def __repr__(self) -> str:
        return "<unbound>"


UNBOUND: Any = _Unbound()
_LOST_KEPT = 64
# How far from the variables, and among how many values, a container is looked for that a message names.
_NAMES_REACH, _NAMES_AMONG = 4, 64


class Variable(Protocol):
    """A place that holds a value: `get` returns `UNBOUND` where there is none, `set` of `UNBOUND` empties it.

    Attributes: key (what two descriptions of one place have in common).
    """

    @property
    def name(self) -> str: ...

    @property
    def key(self) -> Any: ...

    def get(self) -> Any: ...

    def set(self, value: Any) -> None: ...


@dataclass(frozen=True, eq=False)
class CellVariable:
    """A local variable, by the closure cell that the statement's bodies share.

    Attributes: is_result (whether it holds what a ``return`` in a loop returns, so that it is read only where it is set).
    """

    name: str
    cell: types.CellType
    is_result: bool = False

    @property
    def key(self) -> Any:
        return ("cell", id(self.cell))

    def get(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return UNBOUND

    def set(self, value: Any) -> None:
        if value is not UNBOUND:
            self.cell.cell_contents = value
        elif self.get() is not UNBOUND:
            del self.cell.cell_contents


@dataclass(frozen=True, eq=False)
class GlobalVariable:
    """A module's variable, which the function declares ``global``."""

    name: str
    namespace: dict[str, Any]

    @property
    def key(self) -> Any:
        return ("global", id(self.namespace), self.name)

    def get(self) -> Any:
        return self.namespace.get(self.name, UNBOUND)

    def set(self, value: Any) -> None:
        if value is not UNBOUND:
            self.namespace[self.name] = value
        else:
            self.namespace.pop(self.name, None)


class Slot:
    """A variable of the operator's own, carried like the user's."""

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.value = value

    @property
    def key(self) -> Any:
        return id(self)

    def get(self) -> Any:
        return self.value

    def set(self, value: Any) -> None:
        self.value = value


def find_variables(
    names: Sequence[str], functions: Iterable[Callable[..., Any] | None], missing_is_global: bool = True
) -> list[Variable]:
    """The variables of these names as the statement's bodies see them, and those of a loop that runs where these ``yield``.

    Of one expression, those that its operands see.
    """
    bodies = [function for function in functions if function is not None]
    cells = _cells(bodies)
    found: list[Variable] = []
    for name in names:
        if name in cells:
            found.append(CellVariable(name, cells[name]))
        elif missing_is_global or any(name in body.__code__.co_names for body in bodies):
            found.append(GlobalVariable(name, bodies[0].__globals__))
    known = {id(each.cell) for each in found if isinstance(each, CellVariable)}
    for content in contents_of_cells(cells.values()):
        if isinstance(content, LoopBody):  # of a generator: they run where it yields
            found += [each for each in content.variables if id(getattr(each, "cell", None)) not in known]
    return found


def _cells(functions: Iterable[Any]) -> dict[str, types.CellType]:
    return {
        name: cell
        for function in functions
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    }


def contents_of_cells(cells: Iterable[types.CellType] | None) -> Iterator[Any]:
    """What closure cells hold, those that are empty left out."""
    for cell in cells or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue


def _with_loop_bodies(functions: Iterable[Any]) -> list[Any]:
    """The functions, and those of the loops that run where they ``yield``."""
    found = list(functions)
    for function in found:
        for content in contents_of_cells(function.__closure__):
            if isinstance(content, LoopBody):
                inner = (content.take, content.test)
                found += [each for each in inner if each is not None and all(each is not other for other in found)]
    return found


class Snapshot:
    """The contents of every cell that the bodies can reach, and of the state variables, to be put back."""

    def __init__(self, functions: Iterable[Callable[..., Any] | None], variables: Sequence[Variable]) -> None:
        self._functions = _with_loop_bodies(function for function in functions if function is not None)
        pairs = (pair for function in self._functions for pair in _cells([function]).items())
        cells = {id(cell): CellVariable(name, cell) for name, cell in pairs}
        taken = [*cells.values(), *(each for each in variables if id(getattr(each, "cell", None)) not in cells)]
        self._held: list[tuple[Variable, Any]] = [(variable, variable.get()) for variable in taken]

    def add(self, variable: Variable) -> None:
        """Take one more place into the snapshot, with what it holds now."""
        self._held.append((variable, variable.get()))

    def drop(self, owners: Collection[int]) -> None:
        """Take the places in these containers and objects, by identity, out of the snapshot."""
        self._held = [pair for pair in self._held if id(getattr(pair[0], "owner", None)) not in owners]

    def places(self) -> list[Variable]:
        """What the snapshot is of."""
        return [variable for variable, _ in self._held]

    @property
    def functions(self) -> list[Any]:
        """The bodies."""
        return self._functions

    def reachable(self) -> Iterator[Any]:
        """What the bodies' variables and globals hold."""
        for function in self._functions:
            for name in function.__code__.co_names:
                if name in function.__globals__:
                    yield function.__globals__[name]
        yield from (variable.get() for variable, _ in self._held)

    def reachable_before(self, apart_from: Variable | None = None) -> Iterator[Any]:
        """What the bodies' variables, ``apart_from`` one, held when the snapshot was taken."""
        yield from (value for variable, value in self._held if variable is not apart_from)

    def value_of_cell(self, variable: CellVariable) -> Any:
        """What a cell held when the snapshot was taken; what it holds now if it is not of the snapshot."""
        for other, value in self._held:
            if isinstance(other, CellVariable) and other.cell is variable.cell:
                return value
        return variable.get()

    def name_of(self, container: Any) -> str | None:
        """How a variable leads to this container: ``rows``, ``state['rows']``, ``self.rows``; None if none does, nearby."""
        named = [(each.name, value) for each, value in self._held if isinstance(each, CellVariable | GlobalVariable)]
        return name_from(named, container)

    def rebound(self) -> list[types.CellType]:
        """The cells that hold something else now."""
        return [each.cell for each, value in self._held if isinstance(each, CellVariable) and each.get() is not value]

    def changed(self) -> list[Variable]:
        """The places that hold something else now."""
        return [variable for variable, value in self._held if variable.get() is not value]

    def restore(self) -> None:
        for variable, value in self._held:
            if variable.get() is not value:
                variable.set(value)


def name_from(named: Iterable[tuple[str, Any]], container: Any) -> str | None:
    """How one of some named values leads to a container: ``rows``, ``state['rows']``; None if none does, nearby."""
    seen: set[int] = set()
    for _ in range(_NAMES_REACH):
        following: list[tuple[str, Any]] = []
        for name, value in named:
            if value is container:
                return name
            if id(value) not in seen and len(seen) < _NAMES_AMONG:
                seen.add(id(value))
                following += itertools.islice(_named_parts(name, value), _NAMES_AMONG)
        named = following
    return None


def _named_parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if type(value) is dict:
        yield from ((f"{name}[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, list):  # as it is stored: reading a list of traced length is an operation
        yield from ((f"{name}[{k}]", part) for k, part in enumerate(list.__iter__(value)))
    elif type(value) is tuple:
        yield from ((f"{name}[{k}]", part) for k, part in enumerate(value))
    elif not (isinstance(value, type | types.ModuleType | types.FunctionType) or _is_ours(value)):
        attributes = getattr(value, "__dict__", None)
        if type(attributes) is dict:
            yield from ((f"{name}.{attribute}", part) for attribute, part in attributes.items())


def _is_ours(value: Any) -> bool:
    """Whether this is an object of this package, the operators say, whose many parts have no names in the user's code."""
    return type(value).__module__.startswith("autograph.")


class EmptySnapshot:
    """Of blocks that bind no variables: an assertion's, say."""

    __slots__ = ()

    def places(self) -> list[Any]:
        return []

    def restore(self) -> None:
        """Nothing to put back."""

    functions: tuple[Any, ...] = ()

    def reachable(self) -> tuple[Any, ...]:
        return ()


NO_SNAPSHOT = EmptySnapshot()


@dataclass(frozen=True)
class Structure:
    """How a value is put together from its leaves; keeps the order of a dict's keys, which pytrees sort."""

    treedef: Any
    template: Any

    def build(self, leaves: Sequence[Any]) -> Any:
        return in_order(self.template, jax.tree_util.tree_unflatten(self.treedef, leaves))


def flatten(value: Any, keep_containers: bool = False) -> tuple[list[Any], Structure]:
    """The leaves of a pytree, and what builds it again. Objects that are no pytrees are one leaf.

    With ``keep_containers``, lists and dicts inside are leaves too: other names may hold them.
    """

    def is_leaf(part: Any) -> bool:
        return is_state(part) or (keep_containers and part is not value and is_mutable_container(part))

    leaves, treedef = tree_flatten(value, is_leaf)
    template = in_order(value, jax.tree_util.tree_unflatten(treedef, range(len(leaves))))
    return leaves, Structure(treedef, template)


def in_order(template: Any, value: Any) -> Any:
    """``value`` with its dicts in the key order of ``template``."""
    if type(template) is dict and type(value) is dict and template.keys() == value.keys():
        return {key: in_order(part, value[key]) for key, part in template.items()}
    ours, theirs = items_of_sequence(value), items_of_sequence(template)
    if ours is None or theirs is None or type(value) is not type(template) or len(ours) != len(theirs):
        return value
    ordered = [in_order(one, other) for one, other in zip(theirs, ours, strict=True)]
    return write_into(value, value.holding(tuple(ordered))) if has_contents(value) else type(value)(ordered)


def value_of(value: Any) -> Any:
    """What ``value`` represents: the array that an `autograph.Variable` holds, anything else as it is."""
    if isinstance(value, jax.core.Tracer):  # which takes long to say what it lacks
        return value
    read = getattr(value, "__autograph_value__", None)
    return value if read is None else read()


def tested(value: Any) -> Any:
    """What the truth of ``value`` is the truth of: itself, or what an object that has a traced truth returns for it."""
    if type(value) is bool or isinstance(value, jax.core.Tracer):
        return value
    truth = getattr(value, "__autograph_truth__", None)
    return value_of(value) if truth is None else truth()


def _fills_up(value: Any) -> bool:
    """Whether this is an `autograph.TensorArray`, or a `Total`, which have leaves only once something is in them."""
    return hasattr(type(value), "before_loop")


@dataclass(frozen=True)
class ArrayWritten:
    """A `TensorArray` of dynamic size that a loop writes.

    Attributes: place (its position among those in a value), count (the number of the leaf that counts its elements), room (for how many
    there is room), before (how many there were before the loop, at most).
    """

    place: int
    count: int
    room: Any
    before: Any


def prepared(value: Any, bound: Any, loop: int, rooms: Mapping[int, Any]) -> Any:
    """A pytree whose TensorArrays have room for what a loop may write.

    Args:
      bound: how many iterations there are; None if that is not known.
      loop: how many loops there are around it.
      rooms: how many elements some of the TensorArrays have room for, by their position among them.
    """
    numbers = itertools.count()
    return _with_filled(value, lambda part: part.before_loop(bound, loop, rooms.get(next(numbers))))


def after_loop(value: Any, loop: int) -> Any:
    """A pytree whose TensorArrays need not have room for what that loop may write."""
    return _with_filled(value, lambda part: part.after_loop(loop))


def _with_filled(value: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(value, jax.core.Tracer | int | float):
        return value
    leaves, treedef = tree_flatten(value, _fills_up)
    if not any(map(_fills_up, leaves)):
        return value
    return jax.tree_util.tree_unflatten(treedef, [function(leaf) if _fills_up(leaf) else leaf for leaf in leaves])


def arrays_written(template: Any, loop: int) -> list[ArrayWritten]:
    """The TensorArrays that a loop with so many around it writes, in a value whose leaves are numbered."""
    parts = () if isinstance(template, int) else tree_leaves(template, is_leaf=_fills_up)
    found = ((k, part, part.room_in_loop(loop)) for k, part in enumerate(filter(_fills_up, parts)))
    return [ArrayWritten(k, tree_leaves(part)[-1], *rooms) for k, part, rooms in found if rooms is not None]


def counts_in(template: Any) -> set[int]:
    """Which leaves are the numbers of elements of TensorArrays, in a value whose leaves are numbered."""
    parts = () if isinstance(template, int) else tree_leaves(template, is_leaf=_fills_up)
    return {tree_leaves(part)[-1] for part in parts if _fills_up(part) and part.dynamic_size}


def is_mutable_container(value: Any) -> bool:
    """Whether other names may see what is written into ``value``."""
    return isinstance(value, list | dict)


def has_contents(value: Any) -> bool:
    """Whether this is a `TracedList`, whose contents may be something else than a sequence of elements."""
    return hasattr(type(value), "set_contents")


def class_name(value: Any) -> str:
    """The name of the class that a value has in Python."""
    if hasattr(type(value), "__autograph_is_plain__"):  # an array of the program's
        return "NumPy array"
    return str(value.kind_name) if has_contents(value) else type(value).__name__


def items_of_sequence(value: Any) -> Sequence[Any] | None:
    """The items of a list or tuple, where Python has them one by one; None of anything else."""
    if type(value) in (list, tuple):
        return value
    if not has_contents(value) or getattr(type(value), "stands_for", None) is not list:
        return None
    held = value.contents()
    return held if type(held) is tuple else None


def write_into(container: Any, new: Any) -> Any:
    """Replace the contents of ``container`` by those of ``new`` and return it, so that every name for it sees them."""
    if has_contents(container):
        container.set_contents(new.contents())
    elif isinstance(container, list):
        container[:] = new
    else:
        container.clear()
        container.update(new)
    return container


def _leaves_in(value: Any, around: frozenset[int] = frozenset()) -> Iterator[Any]:
    """The leaves of a value, and of the attributes of objects in it; of one of several constants or objects its number."""
    for leaf in tree_leaves(value, is_leaf=is_one_of):
        if is_one_of(leaf):
            yield code_of(leaf)
        elif not is_plain_object(leaf):
            yield leaf
        elif id(leaf) not in around and not is_reference(leaf):
            for part in attributes_of(leaf).values():
                yield from _leaves_in(part, around | {id(leaf)})


def _with_copies(value: Any, is_another: Callable[[Any], bool]) -> Any:
    """A value with copies of some of its leaves; objects that have such, which others may hold, are each one of one."""

    def leaf_of(leaf: Any) -> Any:
        if is_one_of(leaf):
            code = code_of(leaf)
            return OneOf(candidates_of(leaf), jnp.array(code, copy=True)) if is_another(code) else leaf
        if is_plain_object(leaf):
            return _one_of_one(leaf) if any(map(is_another, _leaves_in(leaf))) else leaf
        return jnp.array(leaf, copy=True) if is_another(leaf) else leaf

    return tree_map(leaf_of, value, is_leaf=is_one_of)


def _one_of_one(value: Any) -> OneOf:
    return OneOf((value,), jnp.zeros((), CODE))


class Marks:
    """Which traced leaves are placeholders, and the traced condition under which each is a real value."""

    def __init__(self) -> None:
        self._marks: dict[int, tuple[weakref.ref[Any], Any, str]] = {}
        self._lost: OrderedDict[int, tuple[types.CellType, str]] = OrderedDict()

    def lose(self, variable: Variable, reason: str, keep: bool) -> None:
        """Unbind a variable that one path leaves unbound and whose value on the other has no placeholder.

        With ``keep`` it has that value for the reads that are sure to come from there; the others ask `reason_lost`.
        """
        if not keep:
            variable.set(UNBOUND)
        if isinstance(variable, CellVariable):
            self._lost[id(variable.cell)] = variable.cell, reason
            while len(self._lost) > _LOST_KEPT:  # kept for the message only
                self._lost.popitem(last=False)

    def reason_lost(self, cell: types.CellType | None) -> str | None:
        """Why the variable of this cell is unbound, if `lose` did it."""
        entry = self._lost.get(id(cell))
        return entry[1] if entry is not None and entry[0] is cell else None

    def marked(self, place: Any, value: Any, defined: Any, reason: str) -> Any:
        """What a place is to hold where its value is one only where ``defined``: see `add`."""
        if defined is True:
            return value
        absence = getattr(place, "absence", None)
        return self.add(value, defined, reason) if absence is None else perhaps(defined, value, absence)

    def add(self, value: Any, defined: Any, reason: str) -> Any:
        """Record that a variable with this value is bound only where ``defined``. Returns the value that it is to have.

        That is another array where this one already represents a variable that is bound under another condition: the
        one around a branch that has not touched it.
        """

        def is_another(leaf: Any) -> bool:
            known = self._marks.get(id(leaf))
            return known is not None and known[0]() is leaf and known[1] is not defined

        if is_plain_object(value) and not any(isinstance(leaf, jax.Array) for leaf in _leaves_in(value)):
            value = _one_of_one(value)
        elif any(map(is_another, _leaves_in(value))):
            value = _with_copies(value, is_another)
        for leaf in _leaves_in(value):
            known = self._marks.get(id(leaf))
            if known is not None and known[0]() is leaf and known[1] is defined:
                continue  # the first reason says more than that of a statement which has not touched it
            if isinstance(leaf, jax.Array):
                reference = weakref.ref(leaf, functools.partial(self._forget, id(leaf)))
                self._marks[id(leaf)] = (reference, defined, reason)
        return value

    def _forget(self, key: int, _: Any) -> None:
        self._marks.pop(key, None)

    def find(self, value: Any) -> tuple[Any, str] | None:
        """The condition and the reason recorded for ``value``, or None if it is surely bound."""
        if not self._marks:
            return None
        if not is_pytree(value):  # no branch joined it
            return None
        for leaf in _leaves_in(value):
            entry = self._marks.get(id(leaf))
            if entry is not None and entry[0]() is leaf:
                return entry[1], entry[2]
        return None

    def leaves(self, value: Any) -> list[Any]:
        """All that a block leaves as it is which leaves this value as it is: its leaves, and where it is bound."""
        return [*flatten(value)[0], self.defined(value)]

    def defined(self, value: Any) -> Any:
        """True, or the condition under which ``value`` is bound."""
        mark = self.find(value)
        return True if mark is None else mark[0]


def holds_traced(value: Any) -> bool:
    """Whether something in a container is traced, or may be one of several; the length of a list, too."""
    if has_contents(value) and value.padded is not None:
        return True
    if isinstance(value, tuple | list):
        return any(map(holds_traced, value))
    if isinstance(value, dict):
        return any(map(holds_traced, value.values()))
    return isinstance(value, jax.core.Tracer) or type(value) in (OneOf, Optional) or stands_for_text(value)


def stands_for_text(value: Any) -> bool:
    """Whether this represents a string that is made of traced values."""
    return getattr(type(value), "stands_for", None) is str
