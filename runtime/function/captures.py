"""`Captures`: what a traced function reads from outside. A change causes a retrace.

Looked at are the globals and closure variables that the function reads, and that the user's functions it calls read
in turn; of a method, its instance; of a call, the objects among its arguments that are distinguished by identity. See
`runtime.reads` for what they lead to. What a trace itself has assigned is as good as what was there when it began.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from autograph.runtime.code.code_names import PlaceOfCode, Readers
from autograph.runtime.code.generated import Check
from autograph.runtime.function.assignments import Left, Place, Places
from autograph.runtime.function.read_kinds import Root
from autograph.runtime.function.reads import Reads, places_of
from autograph.runtime.layouts.statement_variables import CellVariable, GlobalVariable
from autograph.runtime.layouts.static_values import StaticLeaf
from autograph.runtime.signatures.outside_places import SCALARS, OutsidePlaces
from autograph.runtime.signatures.signature import CallSignature
from autograph.runtime.tracing.recording import LOCAL

Instance = Callable[[], Any]


class Captures:
    """What one function reads from outside, as it was when last looked at.

    Attributes:
      check: what tells whether something is not as it was.
      changed: its function.
      key: what it is distinguished by; equal for what needs no new trace.
      leaves: by label, the values.
      linked: the objects of other libraries that hold variables.
      is_empty: whether there is nothing that could change.
      places: what the function's programs take and leave outside; None if nothing.
    """

    check: Check
    changed: Callable[[], bool]
    key: tuple[Any, ...]
    leaves: dict[str, StaticLeaf]
    linked: list[Any]
    is_empty: bool

    def __init__(self, function: Callable[..., Any], instance: Instance | None) -> None:
        self._instance = instance
        self._readers = Readers()
        self._readers.add(function)
        self._function = function
        self._tracing = threading.Condition()
        self._alone = threading.RLock()
        self._tracers: list[int] = []  # the threads that trace the function now
        self._written: dict[int, Any] = {}
        self._asked: set[int] = set()
        self._called_later: set[PlaceOfCode] = set()
        self._called_now: set[PlaceOfCode] = set()
        self._counts = itertools.count()
        self._lefts: dict[Any, Left] = {}
        self.places: OutsidePlaces | None = None
        self.refresh()

    @contextlib.contextmanager
    def during_trace(self) -> Iterator[None]:
        """While this thread traces the function, and takes down what the trace has changed."""
        with self._tracing:
            self._tracers.append(threading.get_ident())
        try:
            yield
        finally:
            with self._tracing:
                self._tracers.remove(threading.get_ident())
                self._tracing.notify_all()

    @contextlib.contextmanager
    def between_traces(self) -> Iterator[None]:
        """While no other thread traces the function, and none can begin to; if this one does, without waiting for others."""
        with self._tracing:
            self._tracing.wait_for(lambda: not self._tracers or threading.get_ident() in self._tracers)
            yield

    def while_called(self, is_asked: bool) -> contextlib.AbstractContextManager[Any]:
        """While a program of the function is called: if asked, and no trace is around it, with no other thread in this for the function."""
        if LOCAL.called_now is not None:  # a trace is around it, whose program calls what this one does
            LOCAL.called_later |= self._called_later
            LOCAL.called_now |= self._called_now
        is_outermost = LOCAL.frame is None and not LOCAL.in_callback
        return self._alone if is_asked and is_outermost else contextlib.nullcontext()

    @contextlib.contextmanager
    def being_traced(self, signature: CallSignature) -> Iterator[None]:
        """While the function is traced for this signature, by this thread."""
        outer, LOCAL.written = LOCAL.written, {}
        outer_asked, LOCAL.asked = LOCAL.asked, set()
        outer_later, LOCAL.called_later = LOCAL.called_later, set()
        outer_now, LOCAL.called_now = LOCAL.called_now, set()
        around = LOCAL.outside, LOCAL.roots
        LOCAL.outside = lambda value: self._name_of(value, signature)
        LOCAL.roots = lambda: self.outside(signature)
        before = self._places(signature)
        try:
            yield
            self._leave(before, self._places(signature))
        finally:
            outer |= LOCAL.written
            outer_asked |= LOCAL.asked
            LOCAL.asked = outer_asked
            outer_later |= LOCAL.called_later
            if outer_now is not None:
                outer_now |= LOCAL.called_now
            LOCAL.called_later, LOCAL.called_now = outer_later, outer_now
            LOCAL.written, (LOCAL.outside, LOCAL.roots) = outer, around

    def _name_of(self, value: Any, signature: CallSignature) -> str | None:
        """What an object that a trace for this signature meets is called outside; None for one of its own."""
        for label, leaf in self.leaves.items():
            if leaf.holds(value):
                return label
        for label, static in zip(signature.labels(), signature.statics, strict=True):
            if static is not None and static.holds(value):
                return label
        return None

    def outside(self, signature: CallSignature, has_defaults: bool = True) -> Iterator[tuple[str, Any]]:
        """What a call of this signature reads from outside, and the objects among its arguments, by name.

        Args:
          has_defaults: whether the defaults of the function's own parameters count, which it reads as arguments.
        """
        for root in (*self._roots(self._readers), *_objects(signature)):
            is_own = root.value is self._function and not has_defaults
            yield root.label, (getattr(root.value, "__closure__", None) if is_own else root.value)

    def leave_out_run_time(self) -> None:
        """Look no longer at what only matters when the programs run.

        That is the containers that the program traced now writes and no trace has read, and what is read by functions that
        programs call from callbacks, and no trace has called.
        """
        self._asked |= LOCAL.asked
        self._called_later |= LOCAL.called_later
        self._called_now |= LOCAL.called_now or set()
        written = {key: owner for key, owner in (self._written | LOCAL.written).items() if key not in self._asked}
        functions = frozenset(self._called_later - self._called_now)
        if written.keys() == self._written.keys() and functions == self._readers.left_out:
            return
        self._written = written
        if functions != self._readers.left_out:
            self._readers = Readers(left_out=functions)
            self._readers.add(self._function)
        self.refresh()

    def refresh(self) -> Any:
        """Look again at everything, and return the key."""
        reads = Reads(self._readers, self._roots, dict(self._lefts), self._unread(), self._taken())
        self.check, self.changed = reads.check, reads.check.changed
        self.key, self.leaves, self.is_empty = reads.key, reads.leaves, reads.is_empty
        self.linked = reads.linked
        return self.key

    def of_arguments(self, signature: CallSignature) -> Reads | None:
        """What is read of the objects among a call's arguments; None if there are none."""
        roots = _objects(signature)
        if not roots:
            return None
        reads = Reads(
            Readers(self._readers),
            lambda readers: _with_names(roots, readers),
            dict(self._lefts),
            self._unread(),
            self._taken(),
        )
        return None if reads.is_empty else reads

    def _unread(self) -> frozenset[int]:
        return frozenset(self._written) | (frozenset() if self.places is None else self.places.unread)

    def _taken(self) -> frozenset[Any]:
        return frozenset() if self.places is None else self.places.names | self.places.containers

    def take(self, found: Iterable[tuple[Any, Any]], signature: CallSignature) -> bool:
        """Let programs take and leave these places, which a trace for this signature has assigned. Whether that is news."""
        roots = [(root.label, root.value) for root in self._roots(self._readers)]
        places = OutsidePlaces() if self.places is None else self.places
        if not places.add(found, signature, roots, list(self.variables())):
            return False
        self.places = places
        self.refresh()
        return True

    def _roots(self, readers: Readers) -> Iterator[Root]:
        if self._instance is not None:
            yield Root("self", "instance()", {"instance": self._instance}, self._instance(), is_known=True)
        yield Root(
            getattr(self._function, "__name__", "the function"),
            "function",
            {"function": self._function},
            self._function,
            is_known=True,
        )
        yield from _named(readers)

    def variables(self) -> Iterator[GlobalVariable | CellVariable]:
        """The globals and closure variables that the function reads, and those that it calls."""
        for namespace, names in list(self._readers.globals.values()):
            yield from (GlobalVariable(name, namespace) for name in names)
        yield from (CellVariable(name, cell) for cell, name in list(self._readers.cells.values()))

    def _places(self, signature: CallSignature) -> Places:
        """What the trace could assign, as it is now."""
        found = dict(places_of(self._readers, self._roots, {}))
        if roots := _objects(signature):
            found |= places_of(Readers(self._readers), lambda readers: _with_names(roots, readers), {})
        return found

    def _leave(self, before: Places, after: Places) -> None:
        """Take what the code of a trace has assigned between the two for what it leaves there."""
        for name, held in after.items():
            began = before.get(name)
            if (began is None or began.value is not held.value) and self._is_assigned(held.place):
                last = self._lefts.get(name)
                went_on = last is not None and began is not None and began.key == last.key
                count = last.count if last is not None and went_on else next(self._counts)
                self._lefts[name] = Left(held.key, held.owner, count)

    def _is_assigned(self, place: Place) -> bool:
        kind, name = place
        if kind == "cell":
            return name in self._readers.stored_cells
        return (
            name in self._readers.stored_attributes if isinstance(kind, type) else place in self._readers.stored_globals
        )


_HOLD_NOTHING = SCALARS | {set, frozenset, slice, range}


def _named(readers: Readers) -> Iterator[Root]:
    """The globals and closure variables that functions read."""
    for number, (namespace, names) in enumerate(list(readers.globals.values())):
        variable = f"namespace{number}"
        for name in sorted(names):
            if name in namespace and not name.startswith("__"):
                source = f"{variable}[{name!r}]"
                yield Root(name, source, {variable: namespace}, namespace[name], (id(namespace), name))
    for number, (cell, name) in enumerate(list(readers.cells.values())):
        with contextlib.suppress(ValueError):  # not yet bound
            source = f"cell{number}.cell_contents"
            yield Root(name, source, {f"cell{number}": cell}, cell.cell_contents, ("cell", id(cell)))


def _with_names(roots: Sequence[Root], readers: Readers) -> Iterator[Root]:
    yield from roots
    yield from _named(readers)


def _objects(signature: CallSignature) -> list[Root]:
    """The arguments of a signature that hold something."""
    found = []
    labels: list[str] | None = None
    for number, static in enumerate(signature.statics):
        if static is None or type(static.value) in _HOLD_NOTHING:
            continue
        value = static.get()
        if isinstance(value, type | types.BuiltinFunctionType):
            continue
        labels = labels or signature.labels()
        name = f"argument{number}"
        source = f"{name}()" if isinstance(static.value, weakref.ref) else name
        found.append(Root(labels[number], source, {name: static.value}, value, is_known=True))
    return found
