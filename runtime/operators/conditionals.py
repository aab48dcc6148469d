"""``if``, conditional expressions, ``and``, ``or``, ``not``: Python's meaning on concrete tests, one staged branch on traced ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from autograph.backends.base import MISSING, Backend, LeafType, Output, Traced
from autograph.runtime.errors import StagingError
from autograph.runtime.operators.locations import user_location
from autograph.runtime.operators.state import (
    UNBOUND,
    Marks,
    Slot,
    Snapshot,
    Structure,
    Variable,
    find_variables,
    flatten,
    is_mutable_container,
    write_into,
)

Thunk = Callable[[], Any]
_RESULT = "the value"


class Conditionals:
    """The operators for two-way choices. Needs ``backend`` and ``marks`` from the object it is mixed into."""

    backend: Backend
    marks: Marks

    def if_stmt(self, test: Any, body: Thunk, orelse: Thunk | None, names: Sequence[str]) -> Any:
        """Run one of two blocks; give what it returns."""
        if not self.backend.is_traced(test):
            if test:
                return body()
            return orelse() if orelse is not None else None
        functions = (body, orelse)
        variables = find_variables(names, functions)
        return self.staged_if(test, body, orelse, variables, Snapshot(functions, variables))

    def if_exp(self, test: Any, body: Thunk, orelse: Thunk) -> Any:
        """``body() if test else orelse()``."""
        if not self.backend.is_traced(test):
            return body() if test else orelse()
        return self.staged_if(test, body, orelse, [], Snapshot((body, orelse), []))

    def and_(self, first: Any, *rest: Thunk) -> Any:
        """``first and rest[0]() and …`` with Python's values and short circuit."""
        value = first
        for operand in rest:
            if self.backend.is_traced(value):
                value = self._staged_and(value, operand)
            elif not value:
                return value
            else:
                value = operand()
        return value

    def or_(self, first: Any, *rest: Thunk) -> Any:
        """``first or rest[0]() or …`` with Python's values and short circuit."""
        value = first
        for operand in rest:
            if self.backend.is_traced(value):
                kept = value
                value = self.staged_if(kept, lambda kept=kept: kept, operand, [], Snapshot((operand,), []))
            elif value:
                return value
            else:
                value = operand()
        return value

    def _staged_and(self, kept: Any, operand: Thunk) -> Any:
        return self.staged_if(kept, operand, lambda: kept, [], Snapshot((operand,), []))

    def not_(self, value: Any) -> Any:
        """``not value``."""
        if self.backend.is_traced(value):
            return ~self.backend.predicate(value)
        return not value

    def truth(self, value: Any) -> Any:
        """``bool(value)``, traced if the value is."""
        return self.backend.predicate(value) if self.backend.is_traced(value) else bool(value)

    def bound(self, read: Thunk) -> Any:
        """The value of a variable, after making sure that it has one on every path that leads here."""
        name = read.__code__.co_freevars[0] if read.__code__.co_freevars else read.__code__.co_names[0]
        value = read()
        mark = self.marks.find(value)
        if mark is not None:
            raise StagingError(
                f"{user_location()}\n  {name!r} may be undefined here: {mark[1]}\n"
                f"  Give {name!r} a value before that statement."
            )
        return value

    def staged_if(
        self,
        test: Any,
        body: Thunk | None,
        orelse: Thunk | None,
        variables: Sequence[Variable],
        snapshot: Snapshot,
    ) -> Any:
        """Trace both blocks, settle what they leave behind, emit one conditional, and bind its results."""
        where = user_location()
        predicate = self.backend.predicate(test)
        ends = [self._trace_branch(block, variables, snapshot) for block in (body, orelse)]
        joined = _Join(self.backend, where)
        result = Slot(_RESULT, None)
        places: list[Variable] = [result, *variables]
        for k, place in enumerate(places):
            joined.add(
                place.name, ends[0].values[k], ends[1].values[k], ends[0].spans[k], ends[1].spans[k], ends
            )
        leaves = joined.emit(predicate, ends)
        for k, place in enumerate(places):
            self._bind(place, joined.variables[k], leaves, where)
        return result.value

    def _trace_branch(
        self, block: Thunk | None, variables: Sequence[Variable], snapshot: Snapshot
    ) -> _BranchEnd:
        entry = [variable.get() for variable in variables]
        unchanged = [leaf for value in entry if value is not UNBOUND for leaf in flatten(value)[0]]
        end = _BranchEnd()

        def run() -> list[Any]:
            copies = []
            for variable, value in zip(variables, entry, strict=True):
                copy = value
                if value is not UNBOUND and is_mutable_container(value):
                    leaves, structure = flatten(value)
                    copy = structure.build(leaves)
                    variable.set(copy)
                copies.append(copy)
            returned = block() if block is not None else None
            flat: list[Any] = []
            ends = [returned, *(variable.get() for variable in variables)]
            for k, value in enumerate(ends):
                if value is UNBOUND:
                    end.values.append(None)
                    end.spans.append(slice(0, 0))
                    continue
                leaves, structure = flatten(value)
                original = (
                    entry[k - 1] if k and value is copies[k - 1] and is_mutable_container(value) else None
                )
                end.values.append(_EndValue(structure, original))
                leaves.append(self.marks.defined(value))
                end.spans.append(slice(len(flat), len(flat) + len(leaves)))
                flat += leaves
            return flat

        try:
            end.traced = self.backend.trace(run, (), unchanged)
        finally:
            snapshot.restore()
        return end

    def _bind(
        self, place: Variable, joined: _JoinedVariable | None, leaves: Sequence[Any], where: str
    ) -> None:
        if joined is None:
            if place.get() is not UNBOUND:
                place.set(UNBOUND)
            return
        values = [leaves[k] for k in joined.leaves]
        value = joined.structure.build(values[:-1])
        if joined.original is not None:
            value = write_into(joined.original, value)
        if values[-1] is not True:
            self.marks.add(value, values[-1], f"only one branch binds it at {where}")
        place.set(value)


@dataclass
class _EndValue:
    """A variable's value at the end of a branch: its structure, and the container it was at the start, if it still is."""

    structure: Structure
    original: Any


class _BranchEnd:
    """What a traced branch leaves behind: values (None where unbound) and their spans among the program's leaves."""

    def __init__(self) -> None:
        self.traced = Traced(None, ())
        self.values: list[_EndValue | None] = []
        self.spans: list[slice] = []


@dataclass
class _JoinedVariable:
    structure: Structure
    leaves: list[int]
    original: Any


class _Join:
    """Matches two branches leaf by leaf. Attributes: pairs (both branches' leaves), kept (leaves that agree), variables."""

    def __init__(self, backend: Backend, where: str) -> None:
        self.backend = backend
        self.where = where
        self.pairs: list[tuple[Any, Any]] = []
        self.types: list[LeafType | None] = []
        self.variables: list[_JoinedVariable | None] = []

    def add(
        self,
        name: str,
        left: _EndValue | None,
        right: _EndValue | None,
        left_span: slice,
        right_span: slice,
        ends: Sequence[_BranchEnd],
    ) -> None:
        present = left or right
        if present is None:
            self.variables.append(None)
            return
        left_leaves = list(ends[0].traced.leaves[left_span])
        right_leaves = list(ends[1].traced.leaves[right_span])
        if left is not None and right is not None:
            if left.structure.treedef != right.structure.treedef:
                raise self._mismatch(
                    name, self._describe(left, left_leaves), self._describe(right, right_leaves)
                )
        else:
            here = left_leaves if left is not None else right_leaves
            absent = [MISSING] * (len(here) - 1) + [False]
            left_leaves, right_leaves = (here, absent) if left is not None else (absent, here)
            if any(self.backend.type_of(leaf) is None for leaf in here[:-1]):
                self.variables.append(None)  # no placeholder exists; a later read meets Python's own error
                return
        start = len(self.pairs)
        labels = [*present.structure.leaf_names(name), name]
        for label, a, b in zip(labels, left_leaves, right_leaves, strict=True):
            self.pairs.append((a, b))
            self.types.append(self._settle(label, a, b))
        same = left is not None and right is not None and left.original is right.original
        original = left.original if same and left is not None else None
        self.variables.append(
            _JoinedVariable(present.structure, list(range(start, len(self.pairs))), original)
        )

    def _settle(self, label: str, a: Any, b: Any) -> LeafType | None:
        """The type both leaves take; None where they agree and nothing is computed."""
        if agree(a, b):
            return None
        if a is MISSING or b is MISSING:
            return self.backend.type_of(b if a is MISSING else a)
        a_type, b_type = self.backend.type_of(a), self.backend.type_of(b)
        joined = self.backend.join(a_type, b_type) if a_type is not None and b_type is not None else None
        if joined is None:
            raise self._mismatch(label, describe(a, a_type), describe(b, b_type))
        return joined

    def emit(self, predicate: Any, ends: Sequence[_BranchEnd]) -> list[Any]:
        leaves: list[Any] = [a for a, _ in self.pairs]
        staged = [k for k, type in enumerate(self.types) if type is not None]
        has_effects = any(getattr(end.traced.program, "effects", None) for end in ends)
        if staged or has_effects:
            branches = [(end.traced, [self.pairs[k][side] for k in staged]) for side, end in enumerate(ends)]
            types = [type for type in self.types if type is not None]
            for k, value in zip(staged, self.backend.cond(predicate, branches, types), strict=True):
                leaves[k] = value
        return leaves

    def _describe(self, value: _EndValue, leaves: Sequence[Any]) -> str:
        parts = [describe(leaf, self.backend.type_of(leaf)) for leaf in leaves[:-1]]
        return str(value.structure.build([Shown(part) for part in parts]))

    def _mismatch(self, name: str, on_true: str, on_false: str) -> StagingError:
        subject = (
            "return different things" if name.startswith(_RESULT) else f"leave {name!r} with different types"
        )
        return StagingError(
            f"{self.where}\n  The branches of this statement {subject}, and its test is traced.\n"
            f"    if true:  {on_true}\n    if false: {on_false}\n"
            "  XLA needs one type for both: give them the same shape and structure (jnp.broadcast_to, jnp.zeros_like …)."
        )


class Shown(str):
    """Prints without quotes inside a structure."""

    __repr__ = str.__str__


def agree(a: Any, b: Any) -> bool:
    """Whether two leaves are one Python value, so that nothing need be staged for it."""
    if a is b:
        return not isinstance(a, Output)
    if isinstance(a, Output) or isinstance(b, Output) or type(a) is not type(b) or hasattr(a, "__array__"):
        return False
    try:
        return bool(a == b) and repr(a) == repr(b)  # 0.0 and -0.0 are equal, and are not one value
    except Exception:
        return False


def describe(leaf: Any, type: LeafType | None) -> str:
    """A leaf as messages show it: its type if it is an array, itself if it is not."""
    if leaf is MISSING:
        return "unbound"
    if type is None or isinstance(leaf, bool | int | float | complex):
        return repr(leaf)
    return str(type)
