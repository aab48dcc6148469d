"""`Elements`: the lists, dicts and objects that are elements of lists of traced length.

Such a list holds its elements by value, one array for each leaf, where Python's holds references. So that no program can tell:

- what a list returns for an index, or is appended to it, is a *view*: a write to it is written to the list as well, while the list has not
  been reordered;
- what a list held before that came to hold its elements by value is *given* to it: a later write, which it would not see, is refused;
- what is popped is *owned*: the list does not hold it any more;
- what else may be an element, of earlier iterations or of one branch, has the list's mark in `Identities`, and no write to it is
  accepted.

A write makes unknown what the others hold. Where two lists, or two places of one list, may hold one element, no write at all is accepted
after that, nor before it in a loop that is around both. Lists whose elements are of one class count as one here, and so do all
iterations: what is noted holds for the whole program.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from autograph.runtime.containers.parts import Path, parts_of
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.optional import Optional, held_in
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import births

GIVEN, VIEW, OWNED = "given", "view", "owned"


@dataclass(frozen=True)
class ElementMark:
    """The mark (see `Identities`) of what is at ``path`` in elements of this kind, of any list of traced length."""

    kind: Hashable
    path: Path


@dataclass(frozen=True)
class _Asked:
    """What a list is asked for an element by: a key, and the length of the list, which a negative key counts from."""

    key: Any
    length: Any

    def is_same(self, other: _Asked) -> bool:
        """Whether both ask for one place of a list that has not been reordered."""
        counts_from_start = type(self.key) is int and self.key >= 0
        return _name(self.key) == _name(other.key) and (counts_from_start or _name(self.length) == _name(other.length))


@dataclass
class _Member:
    """An element, or a part of one.

    Attributes:
      role: `GIVEN`, `VIEW` or `OWNED`. root: the whole element. line: the statement that made it what it is.
      is_given: whether it was appended to the list, and not taken from it.
      owner, index, asked, moves: of a view, the list, the place, what it was asked for by, and how often the list had been reordered.
    """

    role: str
    root: Any
    line: str
    is_given: bool = False
    owner: Any = None
    index: Any = None
    asked: _Asked | None = None
    moves: int = 0


@dataclass(frozen=True)
class _Seen:
    """What a list has given, and the block that asked."""

    element: Any
    owner: Any
    asked: _Asked
    moves: int
    block: Any


@dataclass(frozen=True)
class _Write:
    """A write to an element: its line, and the staged loops around it."""

    line: str
    loops: Any


class _Blocks(Protocol):
    """What is asked of the journal."""

    def repeated_blocks(self) -> Any: ...

    def have_ended(self, loops: Any) -> bool: ...

    def made_since_loop(self, owner: Any) -> bool: ...

    def has_made(self, owner: Any) -> bool: ...

    def born(self, owner: Any) -> None: ...

    def here(self) -> Any: ...

    def is_around(self, block: Any) -> bool: ...


class Elements:
    """What is known of elements in the program that this thread traces.

    Attributes: writes (the marks of the elements written, in the order of the writes), views (those that a staged loop writes to
    which were taken before it, each with the line of a write).
    """

    def __init__(self, mark: Callable[[Any, Hashable], None], marks_of: Callable[[int], Any], blocks: _Blocks) -> None:
        self._mark, self._marks_of, self._blocks = mark, marks_of, blocks
        self._members: dict[int, _Member] = {}
        self._shared: dict[Hashable, str] = {}
        self._written: dict[Hashable, list[_Write]] = {}
        self.writes: list[Hashable] = []
        self.views: list[tuple[Any, str]] = []
        self._seen: dict[Hashable, _Seen] = {}

    def forget(self, key: int) -> None:
        """Forget an element: the block that made it has ended."""
        self._members.pop(key, None)

    def member(self, key: int) -> Any:
        """What is known of the element with this identity; None if it is none."""
        return self._members.get(key)

    def restore(self, key: int, member: Any) -> None:
        """Know of an element again what was known."""
        if member is None:
            self.forget(key)
        else:
            self._members[key] = member

    def given_on_a_path(self, part: Any, member: Any) -> None:
        """Note that a path of a conditional has made this an element of a list: where it is in that, the path only knew."""
        self._members[id(part)] = _Member(GIVEN, member.root, member.line, member.is_given)

    def lasts(self, part: Any) -> bool:
        """Whether a block that ends leaves an element behind that was there before it."""
        return bool(element_marks(self._marks_of(id(part)))) and not self._blocks.has_made(part)

    def is_given(self, part: Any) -> bool:
        """Whether this has been appended to a list."""
        member = self._members.get(id(part))
        return member is not None and member.is_given

    def given(self, element: Any, owner: Any = None) -> None:
        """Note that a list holds what this element holds now.

        Args:
          owner: the list, if it held the element before, one by one.

        Raises:
          StagingError: another place of a list may hold it too, and elements are written.
        """
        held_before = owner is not None and not self._blocks.made_since_loop(owner)
        for mark, part in _marked_parts(element):
            self._take_in(mark, part, held_before)
            self._join(mark, part, element, GIVEN)

    def _take_in(self, mark: Hashable, part: Any, held_before: bool = False) -> None:
        """Note that a list comes to hold this part of an element, which it ``held_before`` the innermost loop if it did."""
        member = self._members.get(id(part))
        known = element_marks(self._marks_of(id(part)))
        is_first = not known or (member is not None and member.role == OWNED)
        if not is_first or not (held_before or self._blocks.made_since_loop(part)):
            for each in known | {mark}:
                self.share(each)

    def given_again(self, part: Any) -> None:
        """Note that iterations append what was there before the loop."""
        for mark, inner in _marked_parts(part):
            for each in element_marks(self._marks_of(id(inner))) | {mark}:
                self.share(each)
            self._join(mark, inner, part, GIVEN)

    def line_of_write(self, marks: Iterable[Hashable]) -> str:
        """The line that first wrote to an element with one of these marks."""
        return next(self._written[mark][0].line for mark in marks)

    def placed(self, element: Any, owner: Any, index: Any) -> None:
        """Note at which index of a list an element is that has been given to it."""
        for _, part in _marked_parts(element):
            member = self._members[id(part)]
            member.role, member.owner, member.index, member.moves = VIEW, owner, index, owner.moves

    def put_back(self, element: Any, owner: Any, index: Any) -> None:
        """Note that an element of a list, which has been written, is in it still, with what has been put into it."""
        asked = [self._members[id(part)].asked for _, part in _marked_parts(element) if id(part) in self._members]
        self._note_seen(element, owner, next(filter(None, asked), None) or _asked(owner, index))
        for mark, part in _marked_parts(element):
            member = self._members.get(id(part))
            if member is None or member.root is not element or mark not in self._marks_of(id(part)):
                self._take_in(mark, part)
                self._join(mark, part, element, GIVEN)
        self.placed(element, owner, index)

    def seen_before(self, owner: Any, key: Any) -> Any:
        """The element that a list has given for this key already, if it returns that again; None else."""
        asked = _asked(owner, key)
        found = self._seen.get((id(owner), _name(key)))
        if found is None or found.owner is not owner or found.moves != owner.moves:
            return None
        return found.element if found.asked.is_same(asked) and self._blocks.is_around(found.block) else None

    def _note_seen(self, element: Any, owner: Any, asked: _Asked) -> None:
        self._seen[id(owner), _name(asked.key)] = _Seen(element, owner, asked, owner.moves, self._blocks.here())

    def seen(self, element: Any, owner: Any, index: Any, key: Any) -> Any:
        """An element that a list returns for an index, asked for by this key."""
        asked = _asked(owner, key)
        self._note_seen(element, owner, asked)
        for mark, part in _marked_parts(element):
            self._blocks.born(part)
            self._join(mark, part, element, VIEW)
            member = self._members[id(part)]
            member.owner, member.index, member.asked, member.moves = owner, index, asked, owner.moves
        return element

    def taken(self, element: Any) -> Any:
        """An element that no list of traced length holds any more."""
        for mark, part in _marked_parts(element):
            self._blocks.born(part)
            self._join(mark, part, element, OWNED)
        return element

    def copied(self, element: Any) -> None:
        """Note that another list has the elements, which are like this."""
        for mark, _ in _marked_parts(element):
            self.share(mark)

    def share(self, mark: Hashable) -> None:
        """Note that elements are in several places of lists.

        Raises:
          StagingError: elements have been written in an iteration after which others may follow.
        """
        line = self._shared.setdefault(mark, user_location())
        for write in self._written.get(mark, ()):
            if not self._blocks.have_ended(write.loops):
                raise _refused(write.line, f"it may be in two places of a list, or in two lists, by {line}")

    def _join(self, mark: Hashable, part: Any, root: Any, role: str) -> None:
        self._mark(part, mark)
        self._members[id(part)] = _Member(role, root, user_location(), role == GIVEN)

    def may_be_one(self, one: Any, other: Any) -> bool:
        """Whether two objects may be one element."""
        return bool(element_marks(self._marks_of(id(one))) & element_marks(self._marks_of(id(other))))

    def check_identity(self, one: Any, other: Any) -> None:
        """See that it is known whether two objects are one.

        Raises:
          StagingError: they may be one element of a list.
        """
        if one is not other and self._members and self.may_be_one(one, other):
            raise StagingError(
                f"{user_location()}\n  This tests whether two lists, dicts or objects are identical, and each may be an element of a list "
                "whose length is traced: the element is known only at run time.\n  Compare their indices, or their contents."
            )

    def check_write(self, part: Any) -> None:
        """See that a write to what may be an element can be made.

        Raises:
          StagingError: it cannot.
        """
        marks = element_marks(self._marks_of(id(part)))
        if not marks:
            return
        line, member = user_location(), self._members.get(id(part))
        if member is None:
            raise _refused(line, "the element is known only at run time")
        if member.role == GIVEN:
            raise _refused(
                line, f"it was appended to that list at {member.line}, and the write would not be visible in the list"
            )
        if member.role == VIEW and not _is_in_place(member):
            raise _refused(line, f"the list has been changed since it was taken from it at {member.line}")
        if not self._blocks.made_since_loop(part):
            if member.role != VIEW:
                raise _refused(line, "it was taken from that list before this loop")
            self.views.append((part, line))
        for mark in marks:
            self.note_write(mark, line)

    def check_views(self, count: int) -> dict[int, int]:
        """See that iterations leave in their places the elements, taken before the loop, that they write to: all noted after ``count``.

        Returns their identities, and those of the lists that they are in.

        Raises:
          StagingError: the list is reordered.
        """
        found = {}
        for part, line in self.views[count:]:
            if not self._blocks.made_since_loop(part):
                member = self._members[id(part)]
                if not _is_in_place(member):
                    raise _refused(
                        line, "it was taken from that list before this loop, whose iterations change the list"
                    )
                found[id(part)] = id(member.owner)
        return found

    def note_write(self, mark: Hashable, line: str) -> None:
        """Note that elements are written.

        Raises:
          StagingError: they are in several places.
        """
        self._seen.clear()  # of those that may have been written, others are created again
        loops, writes = self._blocks.repeated_blocks(), self._written.setdefault(mark, [])
        if not any(write.loops == loops for write in writes):
            writes.append(_Write(line, loops))
        self.writes.append(mark)
        if mark in self._shared:
            raise _refused(line, f"it may be in two places of a list, or in two lists, by {self._shared[mark]}")

    def place_of(self, part: Any) -> tuple[Any, Any, Any] | None:
        """The list, the index, and the whole element, if a write to this is one to a list."""
        member = self._members.get(id(part))
        return None if member is None or member.role != VIEW else (member.owner, member.index, member.root)

    def may_see(self, other: Any, written: Any) -> bool:
        """Whether one element may be the other, which has been written."""
        one, two = self._members.get(id(other)), self._members.get(id(written))
        if one is None or two is None:
            return True
        return one.root is not two.root and not one.role == two.role == OWNED


def _asked(owner: Any, key: Any) -> _Asked:
    return _Asked(key, owner.padded.length)


def _name(number: Any) -> int:
    """The same for numbers that are known to be equal: a tracer equals itself only."""
    return number if type(number) is int else id(number)


def _is_in_place(member: _Member) -> bool:
    """Whether an element is still where it was taken from."""
    return bool(member.moves == member.owner.moves and member.owner.padded is not None)


def element_marks(marks: Any) -> frozenset[Hashable]:
    """Those of these marks that elements have."""
    return frozenset(mark for mark in marks or () if isinstance(mark, ElementMark))


def _marked_parts(element: Any) -> Iterator[tuple[ElementMark, Any]]:
    """What can be written to in an element, each with its mark."""
    root = held_in(element) if isinstance(element, Optional) else element
    kind: Any = type(root)
    if isinstance(root, list):
        kind = list
    elif isinstance(root, dict):
        kind = (dict, *sorted(map(repr, root)))
    elif isinstance(root, tuple):
        kind = (type(root), len(root))
    return ((ElementMark(kind, path), part) for path, part in parts_of(element).items())


def refused_write(line: str) -> StagingError:
    """The error for a write to what may be an element of a list."""
    return _refused(line, "the element is known only at run time")


def refused_element(line: str) -> Callable[[str], StagingError]:
    """The error for a write at ``line`` to an element that may be the one that another name is, by what that is to the user."""
    return lambda other: _refused(line, f"it may be the one that {other}")


def _refused(line: str, why: str) -> StagingError:
    error = StagingError(
        f"{line}\n  This writes to a list, dict or object that may be an element of a list whose length is traced: {why}.\n"
        "  Write to it before it is appended, write through the list (`items[i].x = …`), or append and write to copies (list(…), dict(…), "
        "copy.copy)."
    )
    if (known := births()) is not None:
        known.refuse_tables(error)
    return error
