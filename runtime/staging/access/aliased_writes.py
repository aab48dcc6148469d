"""`AliasedWrites`: a write to a container or object that may be others is a masked write to each of those."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Backend
from autograph.runtime.containers.iterables import UNROLLED_AT_MOST
from autograph.runtime.containers.padded import Padded
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.elements import refused_element
from autograph.runtime.heap.holders import reached
from autograph.runtime.heap.identities import Alias, described, refused, refused_question, refused_read
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.heap.places import AttributePlace, ContentsPlace
from autograph.runtime.heap.reach import CONTAINERS, contents
from autograph.runtime.heap.unknown import can_be_of_unknown_length, is_unknown
from autograph.runtime.layouts.describe import is_leaf
from autograph.runtime.layouts.objects import attributes_of, is_plain_object
from autograph.runtime.layouts.references import is_reference
from autograph.runtime.layouts.statement_variables import Snapshot, has_contents, holds_traced
from autograph.runtime.tracing.locations import user_location, warn
from autograph.runtime.tracing.recording import births

_NUMBERS = (jax.Array, np.ndarray, np.generic, bool, int, float, complex)


class AliasedWrites(InTrace):
    """Writes that other names may have to see.

    Args:
      if_exp, staged_if: of `Conditionals`.
    """

    def __init__(
        self,
        backend: Backend,
        trace: Callable[[], Trace],
        if_exp: Callable[..., Any],
        staged_if: Callable[..., Any],
    ) -> None:
        self._backend = backend
        super().__init__(trace)
        self._if_exp = if_exp
        self._staged_if = staged_if

    def writing(self, part: Any, attribute: str | None = None) -> AbstractContextManager[None]:
        """Surrounds a write to a container, or to an attribute of an object."""
        return _Writing(self, part, attribute) if self.has_aliases else nullcontext()

    def are_one(self, one: Any, other: Any) -> Any:
        """``one is other`` of containers and objects: a traced bool where a traced condition chose one of them.

        Raises:
          StagingError: nothing says whether they are one.
        """
        if one is not other and type(one) is type(other) and (known := births()) is not None:
            if type(one) in known.leading and not is_reference(one):  # what one leads to may be the other
                known.link([type(one)], refused_question(user_location(), self.identities.chosen_at(one)))
        self.identities.elements.check_identity(one, other)
        found = self.identities.are_one(one, other)
        if found is None:
            where = self.identities.chosen_at(one) or self.identities.chosen_at(other)
            raise refused_question(user_location(), where)
        if found is False and self._may_be_one(one, other):
            what = "tuples" if isinstance(one, tuple) else "numbers or arrays"
            raise StagingError(
                f"{user_location()}\n  This tests whether two {what} are identical. Traced conditions and staged loops preserve values, "
                "but not identities.\n  Compare the values, with == or jnp.array_equal."
            )
        return found

    def _may_be_one(self, one: Any, other: Any) -> bool:
        """Whether two values, neither of them an object, may be one in Python, one having been handed on by a staged statement."""
        if isinstance(one, tuple):
            return (
                type(one) is type(other) and 0 < len(one) == len(other) and (holds_traced(one) or holds_traced(other))
            )
        is_traced = self._backend.is_traced(one) or self._backend.is_traced(other)
        return (
            is_traced and all(isinstance(each, _NUMBERS) for each in (one, other)) and np.shape(one) == np.shape(other)
        )

    def begin(self, part: Any) -> list[Alias]:
        """What may be one with a container that is about to be written."""
        self.identities.note_write(part)
        aliases = self.identities.aliases(part)
        selects = sum(alias.condition is not None for alias in aliases)
        if selects > UNROLLED_AT_MOST:
            warn_of_many(selects)
        return aliases

    def end(self, part: Any, attribute: str | None, before: Any, aliases: Sequence[Alias]) -> None:
        """Write to the aliases of a container that has been written, and held this before."""
        self.identities.note_contents(part)
        place = self.identities.elements.place_of(part)
        if place is not None:
            self._write_element(*place)
        if aliases:
            write = _Write(part, attribute, before, _state(part), user_location())
            self._check_apart(aliases, write)
            for alias in aliases:
                self._write(alias, write)

    def _check_apart(self, aliases: Sequence[Alias], write: _Write) -> None:
        """End the trace if what is written, or what it replaces, leads to an object that may be the one that is written.

        What takes the place of both would be made of what that object holds before the write.

        Raises:
          NodesChosen: the trace is to be made again, in which objects of these classes are references.
        """
        masked = [alias for alias in aliases if alias.condition is not True and alias.condition is not False]
        owners = {id(each): each for each in (write.part, *(alias.part for alias in aliases)) if is_plain_object(each)}
        if not masked or not owners:
            return
        values = [value for alias in masked for value in write.values(_state(alias.part))]
        led_to = reached(owners.keys(), [value for value in values if not is_leaf(value)])
        if led_to:
            subject, where = described(write.part, write.attribute), masked[0].where
            refusal = refused(subject, write.line, where, "another of those that may be written leads to")
            if (known := births()) is None:
                raise refusal
            known.link(set(map(type, led_to.values())), refusal)

    def _write_element(self, owner: Any, index: Any, element: Any) -> None:
        """Write to a list an element that it returned, which has been written."""
        if self.journal.is_interested:
            self.journal.touch(ContentsPlace(owner))
        for region in self.journal.regions:
            if not region.made_by(owner):  # what the blocks being traced lead to it, if anything
                region.kept_elsewhere.append(owner)
        with self.writing(owner):
            owner.put_back(index, element)

    def around(self, part: Any, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method of a container that writes to it, such that what may be one with it is written too."""
        if not self.has_aliases:
            return method

        def call(*args: Any, **kwargs: Any) -> Any:
            with self.writing(part):
                return method(*args, **kwargs)

        return call

    def _write(self, alias: Alias, write: _Write) -> None:
        """Let what may be one with the container that has been written hold the same, where it is that."""
        other, keys = alias.part, write.keys(_state(alias.part))
        if keys is not None and not keys:
            return
        if alias.condition is None:
            if not alias.is_checked:  # of those the loop knows whether iterations read them
                self._make_unknown(alias, write, keys)
            return
        if alias.condition is False:
            return
        if keys is None:
            if _is_container(write.part) and _is_container(other):
                self._replace(alias, write)
            else:
                self._make_unknown(alias, write, None)
            return
        held = _state(other)
        for key in keys:
            new, old = write.after[key], held[key]
            if not is_unknown(old):
                value = new if alias.condition is True or is_unknown(new) else self._either(alias, write, key, new, old)
                self._store(alias, write, key, value)

    def _either(self, alias: Alias, write: _Write, key: Any, new: Any, old: Any) -> Any:
        one, other = map(self._backend.type_of, (new, old))
        if one is not None and other is not None and one.shape == other.shape:
            return jnp.where(alias.condition, new, old)
        try:
            return self._if_exp(alias.condition, lambda: new, lambda: old)
        except StagingError as error:
            _, _, *facts = str(error).splitlines()
            subject = described(write.part, key if isinstance(key, str) and not _is_container(write.part) else None)
            choice = f", in the statement at {alias.where}" if alias.where else ""
            first = (
                f"{write.line}\n  This writes {subject} that a traced condition selected{choice}: which of them receives the "
                "new value (if true) and which keep their values (if false) is known only at run time."
            )
            raise StagingError("\n".join([first, *facts])) from None

    def _touch(self, place: AttributePlace | ContentsPlace, alias: Alias, write: _Write) -> None:
        """Report a write that nothing in the blocks being traced leads to."""
        if not self.journal.regions and self.journal.watch is None and alias.condition is not True:
            reason = refused_read(described(write.part, write.attribute), write.line, alias.where)
            self.journal.selected.append((place, place.get(), reason))
        if self.journal.is_interested:
            self.journal.touch(place)
        for region in self.journal.regions:
            if self.identities.knew(region.known.get(self.identities), place.owner):
                region.kept_elsewhere.append(place.owner)

    def _store(self, alias: Alias, write: _Write, key: Any, value: Any) -> None:
        owner = alias.part
        place = ContentsPlace(owner) if _is_container(owner) else AttributePlace(owner, key)
        self._touch(place, alias, write)
        if isinstance(place, AttributePlace):
            place.set(value)
        else:
            owner[key] = value
        self.identities.note_contents(owner)

    def _replace(self, alias: Alias, write: _Write) -> None:
        """Write what does not keep the keys, or the number of items."""
        other, held = alias.part, write.held
        for each in (write.part, other):
            self.journal.note_read(each)  # what earlier iterations of a loop appended belongs to what is written
        fits = has_contents(other) or not isinstance(held, Padded)

        def replace() -> None:
            place = ContentsPlace(other)
            if has_contents(other):
                other.moves += 1
            self._touch(place, alias, write)
            place.set(held)
            self.identities.note_contents(other)

        if fits and alias.condition is True:
            replace()
        elif fits:
            try:
                self._staged_if(alias.condition, replace, None, (), Snapshot((), ()))
            except StagingError:
                self._make_unknown(alias, write, None)
        else:
            self._make_unknown(alias, write, None)

    def _make_unknown(self, alias: Alias, write: _Write, keys: Collection[Any] | None) -> None:
        subject = described(write.part, write.attribute)
        reason = refused_read(subject, write.line, alias.where)
        if self.identities.elements.may_be_one(alias.part, write.part):
            reason = refused_element(write.line)
        is_same = write.attribute is not None and all(
            write.attribute in _state(each) for each in (write.part, alias.part)
        )
        if keys is None and is_same:
            keys = [write.attribute]
        if keys is None and not can_be_of_unknown_length(alias.part):  # nor which attributes there are
            raise reason("another variable refers to")
        if not self.journal.make_unknown(alias.part, reason, keys):
            raise reason("another variable refers to")


class _Writing(AbstractContextManager[None]):
    """A write that is being made to a container or object."""

    def __init__(self, writes: AliasedWrites, part: Any, attribute: str | None) -> None:
        self._writes, self._part, self._attribute = writes, part, attribute

    def __enter__(self) -> None:
        self._aliases = self._writes.begin(self._part)
        self._before = _state(self._part) if self._aliases else None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._writes.end(self._part, self._attribute, self._before, self._aliases)


class _Write:
    """A write that has been made: what it was to, what that held before and after, and the line."""

    def __init__(self, part: Any, attribute: str | None, before: Any, after: Any, line: str) -> None:
        self.part, self.attribute, self.before, self.after, self.line = part, attribute, before, after, line

    @property
    def held(self) -> Any:
        """The contents of the container."""
        return contents(self.part)

    def keys(self, other: Any) -> list[Any] | None:
        """The keys written, which another container, that holds this, has too; None if there are none to tell."""
        states = (self.before, self.after, other)
        if not all(isinstance(state, dict) for state in states):
            return None
        if not (self.before.keys() == self.after.keys() == other.keys()):
            return None
        return [key for key, value in self.after.items() if value is not self.before[key]]

    def values(self, other: Any) -> list[Any]:
        """What is written, and what that takes the place of in another container or object, that holds this."""
        return [state[key] for key in self.keys(other) or () for state in (self.after, other)]


def _is_container(part: Any) -> bool:
    return isinstance(part, CONTAINERS)


def _state(part: Any) -> Any:
    """What a container or an object holds, by key, index or name; its contents where these have none."""
    if not _is_container(part):
        return attributes_of(part)
    if is_unknown(part):
        return None
    held = contents(part)
    if isinstance(held, tuple) and isinstance(part, list):
        return dict(enumerate(held))
    return held if isinstance(held, dict) else None


def warn_of_many(count: int) -> None:
    """Warn of a write that may be to any of so many items."""
    warn(
        f"Each of the {count} items of this list may be the one that is written, so the program contains a select for "
        "each.\n"
        "  An array (np.zeros, jnp.stack) is written in place."
    )
