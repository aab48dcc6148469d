"""Join the results of the branches of a staged conditional, and record the conditional."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograph.backends.base import MISSING, Backend, LeafType, Traced
from autograph.backends.followed import follow
from autograph.runtime.containers.differing_kinds import DifferentKinds
from autograph.runtime.containers.padded import Padded, as_seen, chosen, emptied
from autograph.runtime.containers.parts import has_new_elements, parts_of
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.effects.growing_values import Growth, parts_that_grow, with_any_length
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.facts import Facts
from autograph.runtime.heap.identities import Given
from autograph.runtime.heap.journal import AttributePlace, ContentsPlace, Place
from autograph.runtime.heap.places import holds_list
from autograph.runtime.heap.unknown import Reason
from autograph.runtime.layouts.describe import (
    Known,
    describe,
    describe_variable,
    typed,
    unbound,
    unflatten,
    with_leaves,
)
from autograph.runtime.layouts.join import Joiner
from autograph.runtime.layouts.kinds import (
    ABSENT,
    NEVER,
    Array,
    Either,
    Layout,
    Maybe,
    Nothing,
    Object,
    Static,
    Tree,
    leaves_of,
    tags_in,
)
from autograph.runtime.layouts.mismatches import Mismatch, listed, remedy, sides, variables_of
from autograph.runtime.layouts.optional import is_known, knowing
from autograph.runtime.layouts.perhaps import Absence, Perhaps
from autograph.runtime.layouts.pytrees import tree_leaves
from autograph.runtime.layouts.sides import injected, with_numbers
from autograph.runtime.layouts.statement_variables import UNBOUND, has_contents
from autograph.runtime.staging.access.outside_lists import write_later
from autograph.runtime.staging.statements.joined_parts import EndParts

RESULT = "the value"


@dataclass(frozen=True)
class Side:
    """What one path leaves in a variable or place: its layout and leaves, and what tells the lines that compute these."""

    layout: Layout
    leaves: Sequence[Any]
    lines: Callable[[Any], str | None] | None = None

    def line_of(self, place: int) -> str | None:
        """The user's line that computes a leaf, if a branch does."""
        return None if self.lines is None else self.lines(self.leaves[place])

    @property
    def is_bound(self) -> bool:
        return not (isinstance(self.layout, Maybe) and isinstance(self.layout.inner, Nothing))

    def surely_bound(self) -> Side:
        """The same, its tag true."""
        if not isinstance(self.layout, Maybe):
            return self
        return Side(Maybe(self.layout.inner, Static(True), self.layout.absence), [*self.leaves[:-1], True], self.lines)


RAISES = Side(NEVER, ())


def side_of(
    value: Any, defined: Any, place: Any, known: Known | None = None, before: Any = UNBOUND
) -> tuple[Maybe, list[Any]]:
    """The layout, not yet typed, and leaves of what a place, or a variable, holds where it is ``defined``.

    Args:
      known: see `describe`.
      before: what a list or dict held when the block began that has written it: the containers among that stay leaves, others do not.
    """
    if value is UNBOUND:
        return unbound()
    if type(value) is Perhaps and isinstance(place, AttributePlace):
        value, defined = value.held, is_known(value.present) or value.present
    is_contents = isinstance(place, ContentsPlace)
    keeps = _HeldBefore(before) if is_contents and before is not UNBOUND else is_contents
    return describe_variable(value, defined, keeps, is_contents and holds_list(place, value), known)


class _HeldBefore:
    """Tells whether a container is an item of a list or dict that held this, or in one."""

    def __init__(self, held: Any) -> None:
        self._held = held

    @functools.cached_property
    def _ids(self) -> set[int]:
        items = list(self._held.values()) if isinstance(self._held, dict) else self._held
        return set(map(id, tree_leaves(items, is_leaf=_is_container)))

    def __call__(self, container: Any) -> bool:
        return id(container) in self._ids


def _is_container(value: Any) -> bool:
    return isinstance(value, list | dict)


def _paths(layout: Layout, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where each leaf is in a value of this layout, by keys; a value is where the one is that may be absent."""
    keys = layout.keys if isinstance(layout, Tree) else [None] * len(layout.parts)
    for key, part in zip(keys, layout.parts, strict=True):
        yield from _paths(part, path if key is None else (*path, key))
    if not layout.parts:
        yield from [path] * layout.count


def _containers_in(layout: Layout) -> dict[tuple[Any, ...], Any]:
    """The lists and dicts that are leaves, by their paths."""
    return {
        path: leaf.value
        for path, leaf in zip(_paths(layout), leaves_of(layout), strict=True)
        if isinstance(leaf, Static) and _is_container(leaf.value)
    }


class BranchEnd:
    """What a traced branch leaves behind.

    Attributes:
      layouts, spans: of the result and each variable, and where in the program's leaves theirs are.
      written: by key, the other places that the branch writes, with the same.
      parts: the containers and objects in the values; by position, or key of a place.
      made_unknown: the owners of what its writes may have changed, each with the error for who reads it.
      given: what it has made an element of a list.
      replaced: the keys of the lists in which it has put lists or dicts in the places of others.
      lengths: of the lists, by key, that it writes; None if they are held in arrays.
      born: the references that it has made and leaves, by identity; what they hold is written. On the other path nothing leads to them.

    Args:
      defined: under which condition the variable is bound by which the program comes to a value. See `Marks.defined`.
      facts: what holds where the branch is taken.
      growing: where the results, by position, and places, by key, hold a text, tuple or list of another length than on the other path.
    """

    def __init__(
        self,
        backend: Backend,
        defined: Callable[[Any], Any],
        facts: Sequence[tuple[Any, bool]],
        growing: Mapping[Any, Collection[Growth]],
    ) -> None:
        self.backend = backend
        self._growing = growing
        self._defined = defined
        self._facts = facts
        self.traced = Traced(None, ())
        self.layouts: list[Maybe] = []
        self.spans: list[slice] = []
        self.written: dict[Any, tuple[Place, Maybe, slice]] = {}
        self.parts: dict[Any, EndParts] = {}
        self.raises = False
        self.made_unknown: Sequence[tuple[Any, Reason]] = ()
        self.given: list[Given] = []
        self.replaced: set[Any] = set()
        self.lengths: dict[Any, int | None] = {}
        self.born: dict[int, Any] = {}

    def note_contents(self, place: Any, before: Any) -> None:
        """Note what a list has that held this before. One with new elements that has become longer or shorter, or is of another
        length on the other path, holds them in arrays: each is none of those that there were before."""
        is_replaced = has_new_elements(place, before)
        if is_replaced and (place.key in self._growing or len(place.get()) != len(before)):
            try:
                place.owner.stack()
            except DifferentKinds as error:
                raise error.of(place.name) from None
        elif is_replaced:
            self.replaced.add(place.key)
        now = place.get()
        self.lengths[place.key] = len(now) if type(now) is tuple else None

    def of_any_length(self, k: Any, value: Any) -> Any:
        """What a result or place holds; a text or tuple that differs in length from that of the other path as one of any length."""
        return with_any_length(value, self._growing[k]) if k in self._growing else value

    def side(self, k: int) -> Side:
        return self._side(self.layouts[k], self.spans[k])

    def side_of_place(self, place: Place) -> Side:
        """What the branch leaves in a place: what it wrote, or, if it did not, what is there, with what it wrote inside of that."""
        if (key := place.key) in self.written:
            _, layout, span = self.written[key]
            return self._side(layout, span)
        value = self.of_any_length(key, place.get())
        with knowing(self._facts):
            layout, leaves = side_of(value, self._defined(value), place, self._known if self.written else None)
        return Side(typed(layout, leaves), leaves, functools.partial(self.backend.line_of, self.traced))

    def opened(self, side: Side, other: Side) -> Side:
        """What the branch leaves in a list or dict, with the containers unpacked that the other path does not leave in their places."""
        mine, theirs = _containers_in(side.layout), _containers_in(other.layout)
        shared = {path for path, container in mine.items() if theirs.get(path) is container}
        if len(shared) == len(mine):
            return side
        layouts: list[Layout] = []
        leaves: list[Any] = []
        for path, leaf, layout in zip(_paths(side.layout), side.leaves, leaves_of(side.layout), strict=True):
            found, parts = layout, [leaf]
            if path in mine and path not in shared:
                with knowing(self._facts):
                    described, parts = describe(leaf, known=self._known)
                found = typed(described, parts)
            layouts.append(found)
            leaves += parts
        return Side(with_leaves(side.layout, iter(layouts)), leaves, side.lines)

    def _known(self, owner: Any, name: str | None) -> tuple[Layout, Sequence[Any]] | None:
        """What the branch wrote to an attribute of an object, or to a list or dict."""
        place = ContentsPlace(owner) if name is None else AttributePlace(owner, name)
        found = self.written.get(place.key)
        if found is None:
            return None
        _, layout, span = found
        leaves = self.traced.leaves[span]
        if leaves[-1] is True or name is None:
            return layout.inner, leaves[:-1]
        return Maybe(layout.inner, layout.tag, Absence(name, type(owner).__name__)), leaves

    def _side(self, layout: Layout, span: slice) -> Side:
        leaves = self.traced.leaves[span]
        return Side(typed(layout, leaves), leaves, functools.partial(self.backend.line_of, self.traced))


def _tags_of(joined: JoinedVariable) -> list[int]:
    """Where the leaves are that say whether there is something, among those of the conditional."""
    start, stop, _ = joined.span.indices(joined.span.stop)
    return [] if start == stop else [stop - 1, *(start + k for k in tags_in(joined.layout.inner))]


@dataclass
class JoinedVariable:
    """What is left in a variable: the layout, and where its leaves are among those of the conditional.

    Attributes: is_lost (whether one path leaves it unbound, and nothing in its value can bear the mark of a placeholder).
    """

    layout: Maybe
    span: slice
    is_lost: bool = False


def of_several_lengths(ends: Sequence[BranchEnd], count: int, backend: Backend) -> dict[Any, Collection[Growth]]:
    """Where results, and places, hold texts, or tuples of several lengths, that have no one layout; or lists with new elements."""
    if any(end.raises for end in ends):
        return {}
    sides: dict[Any, list[Side]] = {k: [end.side(k) for end in ends] for k in range(count)}
    places = {key: place for end in ends for key, (place, _, _) in end.written.items()}
    sides.update({key: [end.side_of_place(place) for end in ends] for key, place in places.items()})
    found: dict[Any, Collection[Growth]] = {}
    for k, (one, other) in sides.items():
        grown = parts_that_grow(one.layout, other.layout, backend, chooses=True)
        if isinstance(places.get(k), ContentsPlace):
            grown = [each for each in grown if each.path]
        lengths = {end.lengths[k] for end in ends if k in end.lengths}
        if grown or (len(lengths) > 1 and any(k in end.replaced for end in ends)):
            found[k] = grown
    return found


class Join:
    """Joins two branches, place by place.

    Attributes: pairs (both branches' leaves), types (what they come out as; None where they agree and nothing is
      computed), variables.

    Args:
      checks: what lists of traced length ask, as `TracedList` takes it.
    """

    def __init__(
        self, backend: Backend, where: str, predicate: Any, is_known: Callable[[Any], bool], checks: Any
    ) -> None:
        self.backend = backend
        self.checks = checks
        self.where = where
        self.predicate = predicate
        self._is_known = is_known
        self.pairs: list[tuple[Any, Any]] = []
        self.types: list[LeafType | None] = []
        self.variables: list[JoinedVariable | None] = []
        self._differing: list[Any] = []
        loops = self.checks.journal.loops
        refers = any(loop.carry.refers for loop in loops)
        self._joiner = Joiner(backend, is_known, chooses=True, refers=refers, grows=bool(loops))

    def add_written(self, place: Place, ends: Sequence[BranchEnd]) -> None:
        """Join what the branches leave in a place that at least one of them writes."""
        is_born = [id(getattr(place, "owner", None)) in end.born for end in ends]

        def side(end: BranchEnd, other: BranchEnd, is_own: bool, is_others: bool) -> Side:
            if is_others and not is_own:
                return RAISES
            # Nothing that follows will see what a block that raises leaves in it.
            return RAISES if end.raises and place.key in other.written else end.side_of_place(place)

        on_true = side(ends[0], ends[1], *is_born)
        on_false = side(ends[1], ends[0], *reversed(is_born))
        if isinstance(place, ContentsPlace):
            on_true, on_false = ends[0].opened(on_true, on_false), ends[1].opened(on_false, on_true)
        found = self._joiner.mismatches
        count = len(found)
        owner = place.owner if isinstance(place, ContentsPlace) else None
        self.add(place.name, on_true, on_false, owner, isinstance(place, AttributePlace))
        if isinstance(place, ContentsPlace) and isinstance(place.owner, list):
            kind = list if has_contents(place.owner) else type(place.owner)
            found[count:] = [
                dataclasses.replace(each, list_class=kind if each.name == place.name else None)
                for each in found[count:]
            ]
        if len(found) > count:
            self._differing.append(place.get() if owner is None else owner)

    def add(self, name: str, on_true: Side, on_false: Side, owner: Any = None, is_attribute: bool = False) -> None:
        """Join what the branches leave in a variable or place.

        ``owner``: the container from before that it holds on both paths. ``is_attribute``: one that may hold a `Perhaps`.
        """
        found = self._joiner.mismatches
        count = len(found)
        keeps_length = isinstance(owner, list) and not has_contents(owner)
        joined = self._joiner.join(name, on_true.layout, on_false.layout, keeps_length)
        found[count:] = [each.located(on_true.line_of, on_false.line_of) for each in found[count:]]
        if found:
            return
        layout = joined.layout
        if not isinstance(layout, Maybe) or isinstance(layout.inner, Nothing):
            self.variables.append(None)
            return
        pairs = list(zip(injected(joined.left, on_true.leaves), injected(joined.right, on_false.leaves), strict=True))
        is_lost = (
            isinstance(layout.tag, Array)
            and not is_attribute
            and not isinstance(
                layout.inner, Either | Object
            )  # one list of traced length, made of both; one object of one
            and not any(isinstance(leaf, Array) for leaf in leaves_of(layout.inner))
        )
        if is_lost:
            if layout.inner is not ABSENT:
                self.variables.append(JoinedVariable(layout, slice(0, 0), is_lost))
                return
            # Whoever surely comes from the branch that binds it may read it.
            layout, pairs[-1] = Maybe(layout.inner, Static(True), layout.absence), (True, True)
        start = len(self.pairs)
        self.pairs += pairs
        self.types += [leaf.type if isinstance(leaf, Array) else None for leaf in leaves_of(layout)]
        self.variables.append(JoinedVariable(layout, slice(start, len(self.pairs)), is_lost))

    def emit(self, predicate: Any, ends: Sequence[BranchEnd]) -> list[Any]:
        """Stage the conditional; its leaves.

        Raises:
          StagingError: what the branches leave behind cannot be joined; it names all that differs.
        """
        if self._joiner.mismatches:
            error = self._mismatch(self._joiner.mismatches)
            write_later(self._differing, error)
            raise error
        leaves: list[Any] = [b if a is MISSING else a for a, b in self.pairs]
        staged = [k for k, type in enumerate(self.types) if type is not None]
        has_effects = any(getattr(end.traced.program, "effects", None) for end in ends)
        if staged or has_effects:
            branches = [
                with_numbers(self.backend, end.traced, [self.pairs[k][side] for k in staged])
                for side, end in enumerate(ends)
            ]
            types = [type for type in self.types if type is not None]
            for k, value in zip(staged, self.backend.cond(predicate, branches, types), strict=True):
                leaves[k] = value
                for side in self.pairs[k]:
                    follow([value], [side])
        return leaves

    def truths(self, leaves: Sequence[Any]) -> Facts:
        """The truth values among the leaves of the conditional that both branches know, as they are where its predicate is true.

        None if none of them says whether something is there.
        """
        known = [k for k, (a, b) in enumerate(self.pairs) if a.__class__ is b.__class__ is bool and a is not b]
        if not known or not any(
            k in known for joined in self.variables if joined is not None for k in _tags_of(joined)
        ):
            return ()
        return tuple((leaves[k], self.pairs[k][0]) for k in known)

    def types_of(self, k: int) -> list[LeafType]:
        """The types of what comes out of the conditional for a place."""
        joined = self.variables[k]
        return [] if joined is None else [type for type in self.types[joined.span] if type is not None]

    def build(self, variable: JoinedVariable, leaves: Sequence[Any], owner: Any = None) -> Any:
        """The value of a variable, from the leaves of the conditional; ``owner`` is the list that it is, or holds, on both paths."""
        owner = owner if isinstance(variable.layout.inner, Either) else None
        return unflatten(variable.layout.inner, leaves[variable.span][:-1], functools.partial(self._choose, owner))

    def _choose(self, owner: Any, one: Any, other: Any) -> Any:
        """One list of traced length, or contents of such, by the predicate."""
        if isinstance(one, tuple | Padded):
            return self._chosen(owner, one, other)
        one, other = (side if isinstance(side, TracedList) else TracedList(side, self.checks) for side in (one, other))
        made = self._chosen(owner, one.contents(), other.contents())
        return (other if one.checks is None else one).holding(made)

    def _chosen(self, owner: Any, one: Any, other: Any) -> Padded | tuple[()]:
        for contents in (one, other):
            self._note_made(contents)
        a, b = as_seen(one), as_seen(other)
        if a is None and b is None:
            return ()
        if a is None or b is None:
            a, b = a or emptied(b), b or emptied(a)  # type: ignore[arg-type]
        made = chosen(self.predicate, a, b)
        elements = [part for contents in (one, other) if isinstance(contents, tuple) for part in contents]
        made.note_given({id(part): part for part in elements}.values(), owner)
        return made

    def _note_made(self, contents: Any) -> None:
        """Note that the elements of a list which were not there before the statement have been created again."""
        for element in contents if isinstance(contents, tuple) else ():
            for part in parts_of(element).values():
                if not self._is_known(part):
                    self.checks.journal.born(part)

    def _mismatch(self, mismatches: Sequence[Mismatch]) -> StagingError:
        is_result = all(each.name.startswith(RESULT) for each in mismatches)
        subject = (
            "return values of different types" if is_result else f"leave {listed(mismatches)} with different types"
        )
        error = StagingError(
            f"{self.where}\n  The branches of this statement {subject}, and its test is traced.\n"
            f"{sides(mismatches, 'if true', 'if false')}\n"
            f"  {remedy(mismatches)}"
        )
        error._differing = variables_of(mismatches)
        return error
