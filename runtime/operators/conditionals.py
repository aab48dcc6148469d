"""``if``, conditional expressions, ``and``, ``or``, ``not``: Python's meaning on concrete tests, one staged
branch on traced ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from autograph.backends.base import MISSING, Backend, LeafType, Output, Traced
from autograph.runtime.errors import StagingError
from autograph.runtime.operators.journal import ContentsPlace, Journal, Place, key_of
from autograph.runtime.operators.locations import user_location
from autograph.runtime.operators.state import (
    UNBOUND,
    CellVariable,
    GlobalVariable,
    Marks,
    Slot,
    Snapshot,
    Structure,
    Variable,
    adopted,
    containers_in,
    find_variables,
    flatten,
    is_mutable_container,
    value_of,
    values_in,
    write_into,
)
from autograph.runtime.optional import Optional

Thunk = Callable[[], Any]
_RESULT = "the value"


class Conditionals:
    """The operators for two-way choices.

    Needs ``backend``, ``marks`` and ``journal`` from the object it is mixed into.
    """

    backend: Backend
    marks: Marks
    journal: Journal
    record_raise: Callable[..., None]
    can_raise_later: Callable[[], bool]
    raise_unless: Callable[[Any, BaseException], None]

    def if_stmt(
        self, test: Any, body: Thunk, orelse: Thunk | None, names: Sequence[str], result: str | None = None
    ) -> Any:
        """Run one of two blocks; give what it returns.

        ``names`` are the variables that it may leave changed; ``result``, one that the program reads only where it
        was set.
        """
        test = value_of(test)
        if not self.backend.is_traced(test):
            if test:
                return body()
            return orelse() if orelse is not None else None
        functions = (body, orelse)
        variables = find_variables(names, functions)
        return self.staged_if(test, body, orelse, variables, Snapshot(functions, variables), result, True)

    def if_exp(self, test: Any, body: Thunk, orelse: Thunk, names: Sequence[str] = ()) -> Any:
        """``body() if test else orelse()``; ``names`` are what the operands bind."""
        test = value_of(test)
        if not self.backend.is_traced(test):
            return body() if test else orelse()
        variables = find_variables(names, (body, orelse), missing_is_global=False)
        return self.staged_if(test, body, orelse, variables, Snapshot((body, orelse), variables))

    def and_(self, first: Any, *rest: Thunk, names: Sequence[str] = ()) -> Any:
        """``first and rest[0]() and …`` with Python's values and short circuit.

        ``names`` are what the operands bind.
        """
        value = first
        for operand in rest:
            value = value_of(value)
            if self.backend.is_traced(value):
                value = self._staged_and(value, operand, names)
            elif not value:
                return value
            else:
                value = operand()
        return value

    def or_(self, first: Any, *rest: Thunk, names: Sequence[str] = ()) -> Any:
        """``first or rest[0]() or …`` with Python's values and short circuit; ``names`` are what the operands bind."""
        value = first
        for operand in rest:
            value = value_of(value)
            if self.backend.is_traced(value):
                value = self._staged_or(value, operand, names)
            elif value:
                return value
            else:
                value = operand()
        return value

    def _staged_and(self, kept: Any, operand: Thunk, names: Sequence[str]) -> Any:
        variables = find_variables(names, (operand,), missing_is_global=False)
        return self.staged_if(kept, operand, lambda: kept, variables, Snapshot((operand,), variables))

    def _staged_or(self, kept: Any, operand: Thunk, names: Sequence[str]) -> Any:
        variables = find_variables(names, (operand,), missing_is_global=False)
        return self.staged_if(kept, lambda: kept, operand, variables, Snapshot((operand,), variables))

    def not_(self, value: Any) -> Any:
        """``not value``."""
        value = value_of(value)
        if self.backend.is_traced(value):
            return ~self.backend.predicate(value)
        return not value

    def truth(self, value: Any) -> Any:
        """``bool(value)``, traced if the value is."""
        value = value_of(value)
        return self.backend.predicate(value) if self.backend.is_traced(value) else bool(value)

    def bound(self, read: Thunk) -> Any:
        """The value of a variable, after making sure that it has one on every path that leads here."""
        name = read.__code__.co_freevars[0] if read.__code__.co_freevars else read.__code__.co_names[0]
        try:
            value = read()
        except NameError:
            raise self._unbound(name, (read.__closure__ or (None,))[0]) from None
        mark = self.marks.find(value)
        if mark is not None:
            if not self.can_raise_later():
                raise StagingError(
                    f"{user_location()}\n  {name!r} may be undefined here: {mark[1]}\n"
                    f"  Give {name!r} a value before that statement."
                )
            self.raise_unless(mark[0], _unbound_error(name))
        return value

    def _unbound(self, name: str, cell: Any) -> Exception:
        reason = self.marks.reason_lost(cell)
        if reason is not None:
            return StagingError(
                f"{user_location()}\n  {name!r} may be undefined here: {reason}\n"
                f"  Give {name!r} a value before that statement."
            )
        return _unbound_error(name)

    def staged_if(
        self,
        test: Any,
        body: Thunk | None,
        orelse: Thunk | None,
        variables: Sequence[Variable],
        snapshot: Snapshot,
        result_name: str | None = None,
        may_be_none: bool = False,
    ) -> Any:
        """Trace both blocks, settle what they leave behind, emit one conditional, and bind its results."""
        where = user_location()
        predicate = self.backend.predicate(test)
        try:
            ends = [
                self._trace_branch(body, variables, snapshot, predicate),
                self._trace_branch(orelse, variables, snapshot, ~predicate),
            ]
        except RecursionError:
            raise StagingError(
                f"{where}\n  A branch of this statement leads back to it without end: a function calls itself under a traced "
                "condition, and while tracing both branches are followed.\n  Write the recursion as a loop."
            ) from None
        if all(end.raises for end in ends):
            raise StagingError(
                f"{where}\n  Both branches of this statement raise, and its test is traced. Raise one exception after it."
            )
        joined = _Join(self.backend, where)
        result = Slot(_RESULT, None)
        places: list[Any] = [result, *variables]
        for k, place in enumerate(places):
            is_result = place.name == result_name and k > 0
            sides = [(end.values[k], end.leaves(k)) for end in ends]
            raises = any(end.raises for end in ends)
            if raises:  # nothing that follows will see what the block that raises leaves behind
                sides = [(None, []) if end.raises else side for end, side in zip(ends, sides, strict=True)]
            elif k == 0 and may_be_none:
                sides = _as_optional(sides)
            joined.add(place.name, sides[0], sides[1], always_bound=is_result or raises)
        for key in dict.fromkeys([*ends[0].written, *ends[1].written]):
            places.append(next(end.written[key][0] for end in ends if key in end.written))
            joined.add_written(places[-1], *(self._value_of_place(places[-1], end) for end in ends))
        leaves = joined.emit(predicate, ends)
        for k, place in enumerate(places):
            if k > len(variables):
                self.journal.touch(place)  # found by its being written: the region around must know
            if k in joined.lost:
                self.marks.lose(place, f"only one branch binds it at {where}")
            else:
                self._bind(place, joined.variables[k], leaves, where)
        return result.value

    def _value_of_place(self, place: Place, end: _BranchEnd) -> tuple[_EndValue | None, list[Any]]:
        """What a branch leaves in a place: what it wrote, or, if it did not, what is there."""
        if key_of(place) in end.written:
            _, value, span = end.written[key_of(place)]
            return value, list(end.traced.leaves[span])
        value = place.get()
        if value is UNBOUND:
            return None, []
        leaves, structure = flatten(value, keep_containers=isinstance(place, ContentsPlace))
        return _EndValue(structure, None), [*leaves, True]

    def _trace_branch(
        self, block: Thunk | None, variables: Sequence[Variable], snapshot: Snapshot, condition: Any
    ) -> _BranchEnd:
        entry = [variable.get() for variable in variables]
        unchanged = [leaf for value in entry if value is not UNBOUND for leaf in flatten(value)[0]]
        end = _BranchEnd()

        region = self.journal.open(variables)

        def run() -> list[Any]:
            copies = []
            for variable, value in zip(variables, entry, strict=True):
                copy = value
                if value is not UNBOUND and is_mutable_container(value):
                    leaves, structure = flatten(value)
                    copy = structure.build(leaves)
                    variable.set(copy)
                    for container in containers_in(copy):
                        region.add_made(container)
                copies.append(copy)
            region.trace_state = self.backend.trace_state()
            try:
                returned = values_in(block()) if block is not None else None
            except Exception as error:
                if error is not region.raising:
                    raise
                self.record_raise(error, region)
                returned, end.raises = None, True
            flat: list[Any] = []
            ends = [returned, *(variable.get() for variable in variables)]
            for k, value in enumerate(ends):
                if value is UNBOUND:
                    end.values.append(None)
                    end.spans.append(slice(0, 0))
                    continue
                leaves, structure = flatten(value)
                original = entry[k - 1] if k and value is copies[k - 1] and is_mutable_container(value) else None
                end.values.append(_EndValue(structure, original))
                leaves.append(self.marks.defined(value))
                end.spans.append(slice(len(flat), len(flat) + len(leaves)))
                flat += leaves
            for place in region.written():
                old = region.before[key_of(place)][1]
                if old is not UNBOUND:
                    unchanged.extend(flatten(old, isinstance(place, ContentsPlace))[0])
                value = place.get()
                leaves, ended = [], None
                if value is not UNBOUND:
                    leaves, structure = flatten(value, isinstance(place, ContentsPlace))
                    leaves.append(self.marks.defined(value))
                    ended = _EndValue(structure, None)
                span = slice(len(flat), len(flat) + len(leaves))
                end.written[key_of(place)] = (place, ended, span)
                flat += leaves
            return flat

        living: list[Any] = []
        self.journal.paths.append(condition)
        try:
            end.traced = self.backend.trace(run, (), unchanged)
        finally:
            self.journal.paths.pop()
            snapshot.restore()
            living = [key_of(place) for place in self.journal.close(region)]
        end.written = {key: entry for key, entry in end.written.items() if key in living}
        return end

    def _bind(self, place: Variable, joined: _JoinedVariable | None, leaves: Sequence[Any], where: str) -> None:
        if joined is None:
            if place.get() is not UNBOUND:
                place.set(UNBOUND)
            return
        values = [leaves[k] for k in joined.leaves]
        value = joined.structure.build(values[:-1])
        if joined.original is not None:
            for container in containers_in(joined.original):
                self.journal.touch(ContentsPlace(container))
            value = write_into(joined.original, value)
        if values[-1] is not True:
            self.marks.add(value, values[-1], f"only one branch binds it at {where}")
        place.set(value)


@dataclass
class _EndValue:
    """A variable's value at the end of a branch: its structure, and the container it was at the start, if it
    still is.
    """

    structure: Structure
    original: Any


class _BranchEnd:
    """What a traced branch leaves behind: values (None where unbound) and their spans among the program's leaves."""

    def __init__(self) -> None:
        self.traced = Traced(None, ())
        self.values: list[_EndValue | None] = []
        self.spans: list[slice] = []
        self.written: dict[Any, tuple[Place, _EndValue | None, slice]] = {}
        self.raises = False

    def leaves(self, k: int) -> list[Any]:
        return list(self.traced.leaves[self.spans[k]])


def _unbound_error(name: str) -> UnboundLocalError:
    """Python's error for a local variable; a cell, where the variable lives now, would have other words for it."""
    text = f"cannot access local variable {name!r} where it is not associated with a value"
    return UnboundLocalError(text, name=name)


def _as_optional(sides: list[Any]) -> list[Any]:
    """Both sides as `Optional`, where one returns a value and the other None (or already such)."""
    kinds = [_kind(value) for value, _ in sides]
    if kinds[0] == kinds[1] or not any(kind in ("none", "optional") for kind in kinds):
        return sides
    inner = next(
        (value.structure.template.value if kind == "optional" else value.structure.template)
        for (value, _), kind in zip(sides, kinds, strict=True)
        if kind != "none"
    )
    indices, structure = flatten(Optional(0, inner))
    converted = []
    for (_, leaves), kind in zip(sides, kinds, strict=True):
        if kind == "none":
            leaves = [False, *[MISSING] * (len(indices) - 1), True]
        elif kind == "value":
            leaves = [True, *leaves]
        converted.append((_EndValue(structure, None), leaves))
    return converted


def _kind(value: _EndValue | None) -> str:
    template = None if value is None else value.structure.template
    return "none" if template is None else "optional" if isinstance(template, Optional) else "value"


@dataclass
class _JoinedVariable:
    structure: Structure
    leaves: list[int]
    original: Any


class _Join:
    """Matches two branches leaf by leaf. Attributes: pairs (both branches' leaves), kept (leaves that agree),
    variables.
    """

    def __init__(self, backend: Backend, where: str) -> None:
        self.backend = backend
        self.where = where
        self.pairs: list[tuple[Any, Any]] = []
        self.types: list[LeafType | None] = []
        self.variables: list[_JoinedVariable | None] = []
        self.lost: set[int] = set()

    def add_written(
        self,
        place: Place,
        on_true: tuple[_EndValue | None, list[Any]],
        on_false: tuple[_EndValue | None, list[Any]],
    ) -> None:
        """Match what the branches leave in a place that at least one of them writes."""
        if (on_true[0] is None) != (on_false[0] is None) and not isinstance(place, CellVariable | GlobalVariable):
            raise StagingError(
                f"{self.where}\n  Only one branch of this statement sets {place.name!r}, which has no value before it, and "
                "its test is traced.\n  Set it before the statement, or in both branches."
            )
        self.add(place.name, on_true, on_false)

    def add(
        self,
        name: str,
        on_true: tuple[_EndValue | None, list[Any]],
        on_false: tuple[_EndValue | None, list[Any]],
        always_bound: bool = False,
    ) -> None:
        (left, left_leaves), (right, right_leaves) = on_true, on_false
        present = left or right
        if present is None:
            self.variables.append(None)
            return
        if left is not None and right is not None:
            if left.structure.treedef != right.structure.treedef:
                filled_left = adopted(left.structure, right.structure, left_leaves[:-1], MISSING)
                filled_right = adopted(right.structure, left.structure, right_leaves[:-1], MISSING)
                if filled_left is not None:
                    left_leaves, present = [*filled_left, left_leaves[-1]], right
                elif filled_right is not None:
                    right_leaves = [*filled_right, right_leaves[-1]]
                else:
                    raise self._mismatch(name, self._describe(left, left_leaves), self._describe(right, right_leaves))
        else:
            here = left_leaves if left is not None else right_leaves
            typed = [self.backend.type_of(leaf) is not None for leaf in here[:-1]]
            absent = [MISSING if t else leaf for t, leaf in zip(typed, here, strict=False)] + [always_bound]
            here = [*here[:-1], True] if always_bound else here
            left_leaves, right_leaves = (here, absent) if left is not None else (absent, here)
            if not any(typed) and not always_bound:
                self.lost.add(len(self.variables))
                self.variables.append(None)  # nothing in it can bear the mark of a placeholder
                return
        start = len(self.pairs)
        labels = [*present.structure.leaf_names(name), name]
        for label, a, b in zip(labels, left_leaves, right_leaves, strict=True):
            self.pairs.append((a, b))
            self.types.append(self._settle(label, a, b))
        same = left is not None and right is not None and left.original is right.original
        original = left.original if same and left is not None else None
        self.variables.append(_JoinedVariable(present.structure, list(range(start, len(self.pairs))), original))

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
        subject = "return different things" if name.startswith(_RESULT) else f"leave {name!r} with different types"
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
