"""`Joiner`: the least common layout of two layouts, and the conversion of leaves to it."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from autograph.backends.base import LeafType
from autograph.runtime.layouts.buffers import in_larger_room, joined_buffers, known_length, length_and_arrays
from autograph.runtime.layouts.class_defaults import default_side
from autograph.runtime.layouts.constants import is_of_other, place_of, sort_of_constant
from autograph.runtime.layouts.dict_kinds import is_dict_kind
from autograph.runtime.layouts.functions import is_filled_cell
from autograph.runtime.layouts.kinds import (
    ABSENT,
    BUFFERS,
    FILLED,
    LEAF,
    NOTHING,
    Alternatives,
    Array,
    Constants,
    Either,
    Layout,
    Maybe,
    Nothing,
    Object,
    Seq,
    Static,
    Tree,
    cause_of,
    chooses_values,
    has_known_length,
    has_traced_cause,
    is_array,
    is_attribute_wise,
    is_cyclic,
    is_error,
    is_object,
    is_one_object,
    is_one_value,
    is_rows,
    is_view,
    sort_of_list,
    whole_of,
)
from autograph.runtime.layouts.large_ints import holding
from autograph.runtime.layouts.mismatches import Mismatch
from autograph.runtime.layouts.one_of import MOST_CANDIDATES
from autograph.runtime.layouts.paths import Path, is_filled, is_item, worded
from autograph.runtime.layouts.perhaps import Absence, Sentinel, common_start, merged_order
from autograph.runtime.layouts.retraces import let_differ, let_refer
from autograph.runtime.layouts.sides import (
    CODE_TYPE,
    FALSE,
    PLACEHOLDER,
    Given,
    Joined,
    Renumbered,
    Side,
    Source,
    Types,
    absence_of,
    as_alternatives,
    as_maybe,
    beside,
    candidates_in,
    code_of,
    is_choice,
    unless_absent,
)
from autograph.runtime.layouts.text_kinds import is_text_layout
from autograph.runtime.layouts.value_kinds import are_of_one_kind, holds_containers, kind_of


class Joiner:
    """Joins layouts, and collects all the places where that cannot be done.

    Attributes: mismatches (what differs, and must not).
    """

    def __init__(
        self,
        types: Types,
        is_known: Callable[[Any], bool] = lambda _: False,
        chooses: bool = False,
        refers: bool = False,
        grows: bool = False,
    ) -> None:
        """Begin.

        Args:
          is_known: tells objects that were there before the statement.
          chooses: whether lists join to `Either`, and may be beside values of other kinds.
          grows: whether what is joined may be carried by a loop: a list of Python's in something else keeps its length then.
          refers: whether two such objects are never chosen attribute by attribute.
        """
        self.types = types
        self.mismatches: list[Mismatch] = []
        self._is_known = is_known
        self._chooses = chooses
        self._refers = refers
        self._grows = grows
        self._sources: tuple[list[Source], list[Source]] = ([], [])
        self._whole: tuple[str, Layout, Layout] = ("", NOTHING, NOTHING)
        self._differs = False
        self._keeps_length = False

    def join(self, name: str, left: Layout, right: Layout, keeps_length: bool = False) -> Joined:
        """The join of two typed layouts, of the variable of this name.

        Where there is none, `mismatches` says why, and the result means nothing. ``keeps_length``: the value is a list of
        Python's on both sides, and stays it.
        """
        self._sources = [], []
        self._keeps_length = keeps_length
        self._whole, self._differs = (name, left, right), False
        before = len(self.mismatches)
        layout = self._join(Side(left, 0), Side(right, 0), name)
        if self._differs:  # and is shown as a whole
            self.mismatches[before:] = [each for each in self.mismatches[before:] if each.is_structure]
        return Joined(layout, tuple(self._sources[0]), tuple(self._sources[1]))

    def _add(self, left: Source, right: Source) -> None:
        self._sources[0].append(left)
        self._sources[1].append(right)

    def _join(self, left: Side, right: Side, path: Path) -> Layout:
        a, b = left.layout, right.layout
        if isinstance(a, Nothing) and isinstance(b, Nothing):
            return a if a.widens else b
        if isinstance(a, Nothing):
            return self._only(right, 1, a.widens)
        if isinstance(b, Nothing):
            return self._only(left, 0, b.widens)
        if a is ABSENT and b is ABSENT:
            return ABSENT
        if is_choice(a, b):
            return self._join_maybe(left, right, path)
        if (constants := self._constants(a, b)) is not None:
            return self._join_constants(constants, left, right)
        if is_rows(a) or is_rows(b):
            return self._join_rows(left, right, path)
        if isinstance(a, Object) and isinstance(b, Object) and is_attribute_wise(a, b):
            return self._join_alike(left, right, path)
        if (is_view(a) or is_view(b)) and not are_of_one_kind(self._kind(a), self._kind(b)):
            return self._join_views(left, right, path)
        if chooses_values(a) is not chooses_values(b) and self._is_value(b if chooses_values(a) else a):
            return self._join_alternatives(left, right, path)
        if is_object(a) and is_object(b) and not (isinstance(a, Static) and a == b):
            return self._differ() if is_cyclic(a, b, path) else self._join_alternatives(left, right, path)
        if self._are_of_two_kinds(a, b):
            return self._join_alternatives(left, right, path)
        if isinstance(a, Array | Static) and isinstance(b, Array | Static):
            return self._join_leaves(a, left.start, b, right.start, path)
        if isinstance(a, Tree) and isinstance(b, Tree):
            return self._join_trees(a, left, b, right, path)
        let_differ(a, b)
        return self._differ()

    def _join_leaves(self, a: Layout, left: Source, b: Layout, right: Source, path: Path) -> Layout:
        self._add(left, right)
        if isinstance(a, Static) and isinstance(b, Static) and is_one_value(a.value, b.value):
            return a
        types = self._type_of(beside(a, b)), self._type_of(beside(b, a))
        joined = None if types[0] is None or types[1] is None else self.types.join(types[0], types[1])
        if joined is not None and (numbers := [leaf.value for leaf in (a, b) if isinstance(leaf, Static)]):
            joined = holding(numbers, joined, types, self.types.join)
        if joined is None:
            let_differ(a, b)
            places = (left if isinstance(left, int) else None, right if isinstance(right, int) else None)
            self.mismatches.append(Mismatch(worded(path), a, b, is_room=is_filled(path), places=places))
            return a
        return Array(joined)

    def _join_rows(self, left: Side, right: Side, path: Path) -> Layout:
        """Two arrays of which at least one has a traced length, in the room of the larger."""
        mine, theirs = self._as_rows(left), self._as_rows(right)
        whole = next((side.layout for side in (left, right) if is_rows(side.layout)), None)
        if mine is None or theirs is None or whole is None:
            return self._differ()
        (one, length), (other, other_length) = mine, theirs
        types = self._type_of(one[0]), self._type_of(other[0])
        rows = [type and replace(type, shape=type.shape[1:], weak_type=False, sharding=None) for type in types]
        joined = None if rows[0] is None or rows[1] is None else self.types.join(rows[0], rows[1])
        if joined is None or types[0] is None or types[1] is None:
            return self._differ()
        capacity = max(types[0].shape[0], types[1].shape[0])
        sharding = types[0].sharding if types[0].sharding is not None else types[1].sharding
        values = LeafType((capacity, *joined.shape), joined.dtype, False, sharding, joined.varying)
        self._add(one[1], other[1])
        return whole.with_parts(
            [Array(values), self._join_leaves(length[0], length[1], other_length[0], other_length[1], path)]
        )

    def _as_rows(self, side: Side) -> tuple[tuple[Layout, Source], tuple[Layout, Source]] | None:
        """The elements and the length of an array, each with where it stands; None for what is no array of some length."""
        layout = side.layout
        if is_rows(layout):
            values, length = side.parts()
            return (values.layout, values.start), (length.layout, length.start)
        type = self._type_of(layout)
        if type is None or not type.shape or not isinstance(type.shape[0], int):
            return None
        return (layout, side.start), (Static(type.shape[0]), Given(type.shape[0]))

    def _type_of(self, leaf: Layout) -> LeafType | None:
        if isinstance(leaf, Array):
            return leaf.type
        return self.types.type_of(leaf.value) if isinstance(leaf, Static) and not chooses_values(leaf) else None

    def _is_value(self, layout: Layout) -> bool:
        """Whether this is an array or a number."""
        return isinstance(layout, Array | Static) and self._type_of(layout) is not None

    def _are_of_two_kinds(self, a: Layout, b: Layout) -> bool:
        """Whether values differ in what they are: a number on one side, a text on the other, or a tuple."""
        return are_of_one_kind(self._kind(a), self._kind(b)) is False and not (is_text_layout(a) and is_text_layout(b))

    def _kind(self, layout: Layout) -> Any:
        return "number" if self._is_value(layout) else kind_of(layout)

    def _constant_of_one(self, one: Side, other: Side) -> Any:
        """The constant, or object from before, that one side has where the other has nothing; None if that is not so."""
        layouts = (one.layout, other.layout)
        if NOTHING not in layouts:
            return None
        found = layouts[layouts[0] is NOTHING]
        if isinstance(found, Object):
            return found.whole if found.whole is not None and self._is_known(found.whole) else None
        is_constant = isinstance(found, Static) and (sort_of_constant(found.value) is not None or is_object(found))
        return found.value if isinstance(found, Static) and is_constant else None

    def _constants(self, a: Layout, b: Layout) -> tuple[Any, ...] | None:
        """All that a value may be that is a constant on both sides, and not the same one; None if it is not such a value."""
        if not (isinstance(a, Constants | Static) and isinstance(b, Constants | Static)):
            return None
        first, second = (b, a) if isinstance(a, Static) and isinstance(b, Constants) else (a, b)
        found = candidates_in(first)
        found += [each for each in candidates_in(second) if place_of(each, found) is None]
        if len(found) == 1 and isinstance(a, Static) and isinstance(b, Static):
            return None
        sorts = set(map(sort_of_constant, found))
        if None in sorts or (len(sorts) > 1 and any(map(is_of_other, sorts))) or any(map(self._is_unusable, found)):
            return None
        return tuple(found)

    def _is_unusable(self, constant: Any) -> bool:
        """Whether this is a function that closes over what only one path has computed."""
        cells = getattr(constant, "__closure__", None) or ()
        return any(self.types.has_ended(cell.cell_contents) for cell in cells if is_filled_cell(cell))

    def _join_constants(self, candidates: tuple[Any, ...], left: Side, right: Side) -> Layout:
        if len(candidates) > MOST_CANDIDATES:
            return self._differ(is_too_many=True)
        (one, source), (other, other_source) = (code_of(side, candidates) for side in (left, right))
        self._add(source, other_source)
        if isinstance(one, Static) and one == other and isinstance(source, int) and isinstance(other_source, int):
            return Constants(candidates, one)
        return Constants(candidates, Array(self._type_of_code(one, other)))

    def _join_maybe(
        self, left: Side, right: Side, path: Path, absence: str | Absence | Sentinel | None = None
    ) -> Layout:
        absence = absence or absence_of(left, right)
        (one, tag, source), (other, other_tag, other_source) = (as_maybe(side, absence) for side in (left, right))
        constant = self._constant_of_one(one, other) if absence == "unbound" else None
        if constant is not None:  # its number bears the mark of what may be unbound
            inner: Layout = Constants((constant,), Array(CODE_TYPE))
            if is_object(Static(constant)):
                inner = Alternatives([Static(constant)], Array(CODE_TYPE))
                self._add(Given(constant), Given(constant))
            self._add(Given(0), Given(0))
        else:
            inner = self._join(one, other, path)
        return Maybe(inner, self._join_leaves(tag, source, other_tag, other_source, path), absence)

    def _join_alike(self, left: Side, right: Side, path: Path) -> Layout:
        """Two objects of one class, attribute by attribute; where that cannot be, and both are from before or exceptions, one of both."""
        wholes = [side.layout.whole for side in (left, right)]  # type: ignore[attr-defined]
        may_refer = all(whole is not None and self._is_known(whole) for whole in wholes)
        if wholes[0] is not wholes[1] and may_refer and self._refers:
            return self._join_alternatives(left, right, path)
        count, noted, differed = len(self._sources[0]), len(self.mismatches), self._differs
        found = self._join_objects(left, right, path)
        if len(self.mismatches) == noted or not (may_refer or is_error(left.layout)):
            return found
        self._differs = differed
        del self.mismatches[noted:], self._sources[0][count:], self._sources[1][count:]
        return self._join_alternatives(left, right, path, by_identity=may_refer)

    def _join_objects(self, left: Side, right: Side, path: Path) -> Layout:
        a, b = left.layout, right.layout
        assert isinstance(a, Object) and isinstance(b, Object)
        if a.whole is not None and a.whole is b.whole:
            return self._itself(a)
        if cause_of(a) != cause_of(b) or has_traced_cause(a):  # a cause is an exception, not what is one of several
            return self._differ()
        names, parts = self._join_entries(
            *(a.names, left, b.names, right, path), lambda names: Object(a.kind, names, [LEAF] * len(names)), a.kind
        )
        return Object(a.kind, tuple(names), parts)

    def _join_entries(
        self,
        keys: Sequence[Any],
        left: Side,
        other_keys: Sequence[Any],
        right: Side,
        path: Path,
        named: Callable[[Any], Layout],
        of: type | None = None,
    ) -> tuple[Sequence[Any], list[Layout]]:
        """What two dicts, or objects of a class, hold by key: all that either has, of which the other may lack some."""
        merged = merged_order(keys, other_keys)
        order = list(dict.fromkeys([*keys, *other_keys])) if merged is None else merged
        moved = set() if merged is not None or of is not None else set(order[common_start(keys, other_keys) :])
        mine = dict(zip(keys, left.parts(), strict=True))
        theirs = dict(zip(other_keys, right.parts(), strict=True))
        node = named(tuple(order))
        parts = []
        for k, key in enumerate(order):
            one, other, place = mine.get(key), theirs.get(key), (path, node, k)
            if one is None or other is None:
                absence = Absence(key, None if of is None else of.__name__, key in moved)
                parts.append(self._join_one(one, other, absence, place, of))
            elif key in moved:
                parts.append(self._join_maybe(one, other, place, Absence(key, is_moved=True)))
            else:
                parts.append(self._join(one, other, place))
        return order, parts

    def _join_one(self, one: Side | None, other: Side | None, absence: Absence, path: Path, of: type | None) -> Layout:
        """What only one of the two sides holds, and whether it does; the other may hold something by its class, ``of``."""
        there = one or other
        assert there is not None
        if of is not None:
            try:
                default = default_side(of, absence.key)
            except TypeError:
                return self._differ()
            if default is not None:
                return self._join(one or default, other or default, path)
        value, tag, source = as_maybe(there, absence)
        if isinstance(there.layout, Maybe) and getattr(there.layout.absence, "is_moved", False):
            absence = absence.moved()
        inner = self._only(value, 0 if other is None else 1, True)
        nothing = Static(False), FALSE
        ends = [(tag, source), nothing] if other is None else [nothing, (tag, source)]
        return Maybe(inner, self._join_leaves(*ends[0], *ends[1], path), absence)

    def _join_alternatives(self, left: Side, right: Side, path: Path, by_identity: bool = False) -> Layout:
        """Objects of which at least one side may be several, or that have no attributes in common.

        ``by_identity``: two from before are never chosen attribute by attribute.
        """
        (ones, code, source), (others, other_code, other_source) = map(as_alternatives, (left, right))
        partners: dict[int, int] = {}  # of the objects on the right, on the left
        by_identity, widens = by_identity or self._refers, not all(is_object(each.layout) for each in (*ones, *others))
        for is_one in (is_one_object, functools.partial(self._is_alike, by_identity), self._have_one_text):
            for k, other in enumerate(others):
                left_over = (j for j in range(len(ones)) if k not in partners and j not in partners.values())
                found = next((j for j in left_over if is_one(ones[j].layout, other.layout)), None)
                if found is not None:
                    partners[k] = found
        objects: list[Layout] = []
        for j, one in enumerate(ones):
            partner = next((others[k] for k, found in partners.items() if found == j), None)
            if partner is None:
                objects.append(self._only(one, 0, widens))
            elif (whole := whole_of(one.layout)) is not None and whole is whole_of(partner.layout):
                self._add(Given(whole), Given(whole))
                objects.append(Static(whole))
            else:
                objects.append(self._join(one, partner, path))
        table = []
        for k, other in enumerate(others):
            table.append(partners.get(k, len(objects)))
            if k not in partners:
                objects.append(self._only(other, 1, widens))
        if sum(not chooses_values(each) for each in objects) > MOST_CANDIDATES:
            return self._differ(is_too_many=True)
        if len(objects) == 1:
            return objects[0]
        if sum(map(holds_containers, objects)) > self._chooses:
            return self._differ()
        if isinstance(other_source, Given):
            other_code, other_source = Static(table[0]), Given(table[0])
        elif table != list(range(len(table))):
            other_source = Renumbered(other_source, tuple(table))
        self._add(source, other_source)
        if code == other_code and isinstance(code, Static):
            return Alternatives(objects, code)
        return Alternatives(objects, Array(self._type_of_code(code, other_code)))

    def _join_views(self, left: Side, right: Side, path: Path) -> Layout:
        """A part of an array, and another part or an array."""
        a, b = left.layout, right.layout
        if not all(is_array(each) or self._is_value(each) for each in (a, b)):
            return self._differ()
        let_refer(a, b)
        return self._join_alternatives(left, right, path)

    def _is_alike(self, by_identity: bool, a: Layout, b: Layout) -> bool:
        """Whether two of several objects, which are not one, join attribute by attribute; so do two values of one kind."""
        if not (is_object(a) or is_object(b)):
            return bool(are_of_one_kind(self._kind(a), self._kind(b)))
        if not isinstance(a, Object) or not isinstance(b, Object) or not is_attribute_wise(a, b):
            return False
        if by_identity and all(each.whole is not None and self._is_known(each.whole) for each in (a, b)):
            return False
        return not is_error(a) or self._have_join(a, b)

    def _have_join(self, a: Object, b: Object) -> bool:
        """Whether two objects of one class join attribute by attribute."""
        joiner = copy.copy(self)
        joiner._sources, joiner.mismatches, joiner._differs = ([], []), [], False
        joiner._join_objects(Side(a, 0), Side(b, 0), "")
        return not joiner.mismatches

    def _have_one_text(self, a: Layout, b: Layout) -> bool:
        """Whether values of two layouts are texts of different kinds that have a join."""
        del a, b
        return False

    def _type_of_code(self, *codes: Layout) -> LeafType:
        """The type of a number that says which constant, or object, a value is."""
        joined: LeafType | None = CODE_TYPE
        for each in codes:
            if isinstance(each, Array):
                joined = joined and self.types.join(joined, each.type)
        assert joined is not None
        return joined

    def _itself(self, layout: Object) -> Layout:
        """An object that is one on both sides: it stays, and its attributes are state of their own."""
        self._add(Given(layout.whole), Given(layout.whole))
        return Static(layout.whole)

    def _join_trees(self, a: Tree, left: Side, b: Tree, right: Side, path: Path) -> Layout:
        if isinstance(a, Seq) and isinstance(b, Seq) and a.role == b.role == FILLED:
            return self._join_filled(a, left, b, right, path)
        if (
            a.is_list
            and b.is_list
            and sort_of_list(a) == sort_of_list(b)
            and (isinstance(a, Seq) or isinstance(b, Seq) or self._is_choice(a, b, path))
        ):
            return self._join_lists(a, left, b, right, path)
        if is_dict_kind(a.kind) and a.kind == b.kind:
            keys, parts = self._join_entries(
                a.keys, left, b.keys, right, path, lambda keys: Tree(a.kind, keys, [LEAF] * len(keys))
            )
            return Tree(a.kind, keys, parts)
        if not a.kind == b.kind or set(a.keys) != set(b.keys):  # noqa: SIM201 (JAX's structures are never `!=` a class)
            let_differ(a, b)
            return self._differ()
        by_key = dict(zip(b.keys, right.parts(), strict=True))
        parts = self._join_parts(a, left.parts(), [by_key[key] for key in a.keys], path)
        return a.with_parts(parts)

    def _is_choice(self, a: Tree, b: Tree, path: Path) -> bool:
        """Whether one of two lists of Python's, which differ in length, is chosen: as an item of a list, with that list."""
        if not self._chooses or len(a.keys) == len(b.keys) or is_item(path):
            return False
        return not (self._keeps_length if isinstance(path, str) else self._grows)

    def _join_lists(self, a: Tree, left: Side, b: Tree, right: Side, path: Path) -> Layout:
        """Two lists that may differ in length: item by item where they are alike, else `Either`."""
        count, noted, differed = len(self._sources[0]), len(self.mismatches), self._differs
        joined = self._join_items(a, left, b, right, path)
        if joined is not None and (self._differs == differed or not self._chooses):
            return joined
        self._differs = differed
        del self.mismatches[noted:], self._sources[0][count:], self._sources[1][count:]
        return self._choose(left, right) if self._chooses else self._differ()

    def _join_items(self, a: Tree, left: Side, b: Tree, right: Side, path: Path) -> Layout | None:
        """Two lists item by item; None if they are not alike."""
        if isinstance(a, Seq) and isinstance(b, Seq) and a.role == b.role == BUFFERS:
            return self._join_buffers(a, left, b, right, path)
        seq = b if a.kind is list else a
        if len(a.keys) != len(b.keys):
            return None
        if not (a.kind == b.kind or (list in (a.kind, b.kind) and has_known_length(seq))):
            return None
        return seq.with_parts(self._join_parts(seq, left.parts(), right.parts(), path))

    def _join_buffers(self, a: Seq, left: Side, b: Seq, right: Side, path: Path) -> Layout | None:
        """The contents of two lists that arrays hold. Where their lengths differ, or one is traced, the length is a leaf."""
        whole = joined_buffers(a, b)
        if whole is None:
            return None
        (length, arrays), (other, others) = map(length_and_arrays, (left, right))
        lengths = [] if known_length(whole.kind) is not None else [self._join_leaves(*length, *other, path)]
        return whole.with_parts([*lengths, *self._join_parts(whole, arrays, others, path, len(lengths))])

    def _join_parts(
        self, node: Layout, left: Sequence[Side], right: Sequence[Side], path: Path, first: int = 0
    ) -> list[Layout]:
        pairs = enumerate(zip(left, right, strict=True), first)
        return [self._join(one, other, (path, node, k)) for k, (one, other) in pairs]

    def _join_filled(self, a: Seq, left: Side, b: Seq, right: Side, path: Path) -> Layout:
        """Arrays that are filled: one in which nothing has been written has no buffer yet, its first part, or None for it."""
        lacking = len(b.keys) - len(a.keys)
        wide, nothing = (b if lacking >= 0 else a), Side(NOTHING, 0)
        ones = [*[nothing] * lacking, *map(unless_absent, left.parts())]
        others = [*[nothing] * -lacking, *map(unless_absent, right.parts())]
        if self._chooses and len(wide.keys) > 1:  # it has a number of elements, which a path may have made larger
            wide = (wide, a, b)[in_larger_room(ones, others, self._type_of)]
        parts = self._join_parts(wide, ones, others, path)
        return wide.with_parts([ABSENT if part is NOTHING else part for part in parts])

    def _choose(self, left: Side, right: Side) -> Layout:
        """Two lists that differ in length, or in their items."""
        return Either(self._only(left, 0, False), self._only(right, 1, False))

    def _only(self, side: Side, own: int, widens: bool) -> Layout:
        """What one side has where the other has nothing. Number ``own`` of the two has it."""
        layout = side.layout
        if isinstance(layout, Object) and layout.whole is not None and self._is_known(layout.whole):
            return self._itself(layout)
        if has_traced_cause(layout):
            return self._differ()
        if isinstance(layout, Static) and widens:
            type = self._type_of(layout)
            layout = layout if type is None else Array(type)
        if isinstance(layout, Array | Static):
            other = Given(layout.value) if isinstance(layout, Static) else PLACEHOLDER
            self._add(*((side.start, other) if own == 0 else (other, side.start)))
            return layout
        parts = [self._only(part, own, widens) for part in side.parts()]
        if isinstance(layout, Object):  # another object takes its place
            return Object(layout.kind, layout.names, parts)
        return layout.with_parts(parts)

    def _differ(self, is_too_many: bool = False) -> Layout:
        """Note that the structure differs: of the whole variable, once."""
        if not self._differs:
            self._differs = True
            self.mismatches.append(Mismatch(*self._whole, is_structure=True, is_too_many=is_too_many))
        return NOTHING
