"""What the branches of a staged conditional leave behind, and how the two are matched leaf by leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from autograph.backends.base import MISSING, Backend, LeafType, Output, Traced
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.objects import differ, opened
from autograph.runtime.operators.functions import is_same_function
from autograph.runtime.operators.joined_parts import EndParts
from autograph.runtime.operators.journal import Place
from autograph.runtime.operators.padded import Padded, as_padded, chosen, emptied, with_joined_extents
from autograph.runtime.operators.state import UNBOUND, CellVariable, GlobalVariable, Structure, adopted, flatten
from autograph.runtime.operators.traced_lists import TracedList
from autograph.runtime.optional import Optional

RESULT = "the value"


@dataclass
class EndValue:
    """A variable's value at the end of a branch: its structure, and whether it is a list."""

    structure: Structure
    is_list: bool = False


class BranchEnd:
    """What a traced branch leaves behind: values (None where unbound) and their spans among the program's leaves.

    Attributes:
      opened: values that hold objects of the user's, once more with these taken apart; by position, or key of a place.
      parts: the containers and objects in the values; likewise.
    """

    def __init__(self) -> None:
        self.traced = Traced(None, ())
        self.values: list[EndValue | None] = []
        self.spans: list[slice] = []
        self.written: dict[Any, tuple[Place, EndValue | None, slice]] = {}
        self.opened: dict[Any, tuple[Structure, slice]] = {}
        self.parts: dict[Any, EndParts] = {}
        self.raises = False

    def leaves(self, k: int) -> list[Any]:
        return list(self.traced.leaves[self.spans[k]])

    def open(self, key: Any, value: Any, flat: list[Any]) -> None:
        """Add to the block's leaves those of a value with the objects in it taken apart, if there are any."""
        records = None if value is UNBOUND else opened(value)
        if records is not None:
            leaves, structure = flatten(records, has_records=True)
            self.opened[key] = structure, slice(len(flat), len(flat) + len(leaves))
            flat += leaves


def with_objects_opened(sides: list[Any], ends: Sequence[BranchEnd], key: Any) -> list[Any]:
    """Both sides with the user's objects in them taken apart, where they are not the same objects."""
    if any(value is None for value, _ in sides) or not differ(*(leaves[:-1] for _, leaves in sides)):
        return sides
    found = []
    for (value, leaves), end in zip(sides, ends, strict=True):
        if key in end.opened:
            structure, span = end.opened[key]
            found.append((EndValue(structure), [*end.traced.leaves[span], leaves[-1]]))
            continue
        records = opened(value.structure.build(leaves[:-1]))
        if records is None:
            return sides
        parts, structure = flatten(records, has_records=True)
        found.append((EndValue(structure), [*parts, leaves[-1]]))
    return found


def as_optional(sides: list[Any]) -> list[Any]:
    """Both sides with `Optional` where one holds a value and the other None (or already such), in tuples as well."""
    if any(value is None for value, _ in sides):
        return sides
    templates = [value.structure.template for value, _ in sides]
    both = _with_optionals(*templates)
    if both is templates[0] and _with_optionals(*templates[::-1]) is templates[1]:
        return sides
    structure = flatten(both)[1]
    return [
        (EndValue(structure), [*_leaves_for(both, template, leaves), leaves[-1]])
        for template, (_, leaves) in zip(templates, sides, strict=True)
    ]


def _with_optionals(one: Any, other: Any) -> Any:
    """What both are to be; ``one`` itself where nothing is to change."""
    kinds = kind_of(one), kind_of(other)
    if kinds[0] == kinds[1]:
        if kinds[0] != "value" or not isinstance(one, tuple) or type(one) is not type(other) or len(one) != len(other):
            return one
        parts = list(map(_with_optionals, one, other))
        if all(part is old for part, old in zip(parts, one, strict=True)):
            return one
        return type(one)(*parts) if hasattr(one, "_fields") else tuple(parts)
    if "optional" in kinds:
        return one if kinds[0] == "optional" else other
    return Optional(0, other if one is None else one)


def _leaves_for(both: Any, template: Any, leaves: Sequence[Any]) -> list[Any]:
    """The leaves of a side, whose own structure has this template, in the structure of both."""
    kinds = kind_of(both), kind_of(template)
    if kinds == ("optional", "none"):
        return [False, *[MISSING] * len(flatten(both.value)[0])]
    if kinds == ("optional", "value"):
        return [True, *_leaves_for(both.value, template, leaves)]
    if kinds == ("value", "value") and both is not template and isinstance(both, tuple):
        return [leaf for pair in zip(both, template, strict=True) for leaf in _leaves_for(*pair, leaves)]
    return [leaves[k] for k in flatten(template)[0]]


def kind_of(template: Any) -> str:
    """Whether this is None, an `Optional`, or another value."""
    return "none" if template is None else "optional" if isinstance(template, Optional) else "value"


class ChosenList:
    """A list of traced length, from the leaves of two, in place of a `Structure`."""

    has_records = False

    def __init__(self, left: Structure, right: Structure, count: int, predicate: Any) -> None:
        self.sides = left, right
        self.count = count
        self.predicate = predicate

    def build(self, leaves: Sequence[Any]) -> Any:
        one, other = self.sides[0].build(leaves[: self.count]), self.sides[1].build(leaves[self.count :])
        if isinstance(one, tuple | Padded):
            return self._chosen(one, other)
        one, other = (side if isinstance(side, TracedList) else TracedList(side) for side in (one, other))
        made = self._chosen(one.contents(), other.contents())
        return (other if one.checks is None else one).holding(made)

    def _chosen(self, one: Any, other: Any) -> Padded | tuple[()]:
        a, b = as_padded(one), as_padded(other)
        if a is None and b is None:
            return ()
        if a is None or b is None:
            a, b = a or emptied(b), b or emptied(a)  # type: ignore[arg-type]
        return chosen(self.predicate, a, b)


@dataclass
class JoinedVariable:
    structure: Structure | ChosenList
    leaves: list[int]


class Join:
    """Matches two branches leaf by leaf. Attributes: pairs (both branches' leaves), kept (leaves that agree),
    variables.
    """

    def __init__(self, backend: Backend, where: str, predicate: Any) -> None:
        self.backend = backend
        self.where = where
        self.predicate = predicate
        self.pairs: list[tuple[Any, Any]] = []
        self.types: list[LeafType | None] = []
        self.variables: list[JoinedVariable | None] = []
        self.lost: set[int] = set()

    def add_written(
        self,
        place: Place,
        on_true: tuple[EndValue | None, list[Any]],
        on_false: tuple[EndValue | None, list[Any]],
    ) -> None:
        """Match what the branches leave in a place that at least one of them writes."""
        if (on_true[0] is None) != (on_false[0] is None) and not isinstance(place, CellVariable | GlobalVariable):
            raise StagingError(
                f"{self.where}\n  Only one path through this statement sets {place.name!r}, which has no value before it, and "
                "its test is traced.\n  Set it before the statement, or on every path."
            )
        self.add(place.name, on_true, on_false)

    def add(
        self,
        name: str,
        on_true: tuple[EndValue | None, list[Any]],
        on_false: tuple[EndValue | None, list[Any]],
        always_bound: bool = False,
        one_raises: bool = False,
    ) -> None:
        (left, left_leaves), (right, right_leaves) = on_true, on_false
        present = left or right
        if present is None:
            self.variables.append(None)
            return
        if left is not None and right is not None and self._add_lists(name, left, left_leaves, right, right_leaves):
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
            # A Python value that only the branch that goes on leaves behind is the value for all that follows.
            alike = [one_raises and agree(leaf, leaf) for leaf in here[:-1]]
            absent = [leaf if a or not t else MISSING for t, a, leaf in zip(typed, alike, here, strict=False)]
            absent.append(always_bound or one_raises)
            here = [*here[:-1], True] if always_bound else here
            left_leaves, right_leaves = (here, absent) if left is not None else (absent, here)
            if not any(typed) and not absent[-1]:
                self.lost.add(len(self.variables))  # nothing in it can bear the mark of a placeholder
                if not _is_constant(present, here):
                    self.variables.append(None)
                    return
                absent = here = [*here[:-1], True]  # who surely comes from the branch that binds it may read it
                left_leaves, right_leaves = here, absent
        start = len(self.pairs)
        labels = [*present.structure.leaf_names(name), name]
        for label, a, b in zip(labels, left_leaves, right_leaves, strict=True):
            self.pairs.append((a, b))
            self.types.append(self._settle(label, a, b))
        structure = present.structure
        if left is not None and right is not None and left.structure.treedef == right.structure.treedef:
            structure = with_joined_extents(left.structure, right.structure)
        self.variables.append(JoinedVariable(structure, list(range(start, len(self.pairs)))))

    def _add_lists(
        self, name: str, left: EndValue, left_leaves: list[Any], right: EndValue, right_leaves: list[Any]
    ) -> bool:
        """Match two lists of different length, or contents of such: both come out, and one is chosen after."""
        same_type = left.structure.treedef == right.structure.treedef
        templates = left.structure.template, right.structure.template
        if same_type or not (left.is_list and right.is_list) or all(type(t) is list for t in templates):
            return False
        count = len(left_leaves) - 1
        start = len(self.pairs)
        pairs = [(leaf, MISSING) for leaf in left_leaves[:-1]] + [(MISSING, leaf) for leaf in right_leaves[:-1]]
        for a, b in pairs:
            leaf = b if a is MISSING else a
            self.pairs.append((a, b))
            self.types.append(self._settle(name, a, b) if isinstance(leaf, Output) else None)
        self.pairs.append((left_leaves[-1], right_leaves[-1]))
        self.types.append(self._settle(name, left_leaves[-1], right_leaves[-1]))
        structure = ChosenList(left.structure, right.structure, count, self.predicate)
        self.variables.append(JoinedVariable(structure, list(range(start, len(self.pairs)))))
        return True

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

    def emit(self, predicate: Any, ends: Sequence[BranchEnd]) -> list[Any]:
        leaves: list[Any] = [b if a is MISSING else a for a, b in self.pairs]
        staged = [k for k, type in enumerate(self.types) if type is not None]
        has_effects = any(getattr(end.traced.program, "effects", None) for end in ends)
        if staged or has_effects:
            branches = [(end.traced, [self.pairs[k][side] for k in staged]) for side, end in enumerate(ends)]
            types = [type for type in self.types if type is not None]
            for k, value in zip(staged, self.backend.cond(predicate, branches, types), strict=True):
                leaves[k] = value
        return leaves

    def _describe(self, value: EndValue, leaves: Sequence[Any]) -> str:
        parts = [describe(leaf, self.backend.type_of(leaf)) for leaf in leaves[:-1]]
        return str(value.structure.build([Shown(part) for part in parts]))

    def _mismatch(self, name: str, on_true: str, on_false: str) -> StagingError:
        subject = "return different things" if name.startswith(RESULT) else f"leave {name!r} with different types"
        return StagingError(
            f"{self.where}\n  The branches of this statement {subject}, and its test is traced.\n"
            f"    if true:  {on_true}\n    if false: {on_false}\n"
            "  XLA needs one type for both: give them the same shape and structure (jnp.broadcast_to, jnp.zeros_like …)."
        )


def _is_constant(value: EndValue, leaves: Sequence[Any]) -> bool:
    """Whether this is None or a text: the same wherever it was bound, and no other name's to write to."""
    return value.structure.template is None or (len(leaves) == 2 and isinstance(leaves[0], str | bytes))


class Shown(str):
    """Prints without quotes inside a structure."""

    __repr__ = str.__str__


def agree(a: Any, b: Any) -> bool:
    """Whether two leaves are one Python value, so that nothing need be staged for it."""
    if a is b:
        return not isinstance(a, Output)
    if isinstance(a, Output) or isinstance(b, Output) or type(a) is not type(b) or hasattr(a, "__array__"):
        return False
    if is_same_function(a, b):
        return True
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
