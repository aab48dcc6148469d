"""Reads of lists, tuples and NumPy arrays at a traced index."""

from __future__ import annotations

import functools
import operator
from collections import Counter, deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Backend
from autograph.backends.followed import follow
from autograph.runtime.containers.array_functions import joined
from autograph.runtime.containers.element_kinds import are_alike, is_array_leaf
from autograph.runtime.containers.iterables import to_be_staged
from autograph.runtime.containers.key_parts import may_be_traced, parts_of_key
from autograph.runtime.containers.keyed_lists import KeyedList
from autograph.runtime.containers.lengths import is_integer
from autograph.runtime.containers.padded import Padded, stacked
from autograph.runtime.containers.padded_arrays import PaddedArray
from autograph.runtime.containers.padded_gathers import gathered
from autograph.runtime.containers.padded_rules import as_padded_array
from autograph.runtime.containers.parts import parts_of
from autograph.runtime.containers.tables import is_table
from autograph.runtime.containers.traced_lists import TracedList, is_traced_list
from autograph.runtime.containers.traced_tuples import TracedTuple
from autograph.runtime.effects.raising import catching
from autograph.runtime.effects.staged_raises import Raising
from autograph.runtime.effects.traced_texts import TracedText, is_text
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.heap.places import ContentsPlace
from autograph.runtime.layouts.objects import is_plain_object
from autograph.runtime.layouts.one_of import (
    CODE,
    MOST_CANDIDATES,
    OneOf,
    candidates_of,
    each,
    each_purely,
    is_of_constants,
    takes_branches,
)
from autograph.runtime.layouts.optional import Optional, absent_in, held_in, is_known, present_in, resolved, used
from autograph.runtime.layouts.perhaps import has_perhaps, is_own_dict, is_perhaps, read_key
from autograph.runtime.layouts.references import is_variable
from autograph.runtime.layouts.statement_variables import (
    class_name,
    has_contents,
    holds_traced,
    items_of_sequence,
    value_of,
)
from autograph.runtime.staging.access.absences import Absences, makes_missing
from autograph.runtime.staging.access.bounds import Bounds
from autograph.runtime.staging.access.list_writes import ListWrites, counted_from_start
from autograph.runtime.staging.access.masks import Masks
from autograph.runtime.staging.access.slices import Slices
from autograph.runtime.staging.access.user_methods import user_method
from autograph.runtime.state.array_keys import is_view, is_view_of_one, plain_key
from autograph.runtime.state.array_operators import plain
from autograph.runtime.state.chosen_arrays import place_of
from autograph.runtime.state.given_arrays import as_place, is_given
from autograph.runtime.state.spans import Span, has_span
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import LOCAL, births

_NUMBERS = (bool, int, float)
_CHOSEN_AT_MOST = 64  # numbers in the items of a list, each chosen by itself
_CONTAINERS = frozenset([list, tuple, dict, str, np.ndarray])


@dataclass(frozen=True)
class MethodOfEach:
    """What `Lookups.item_method` returns where the key is one of several: ``call`` does what the method does."""

    call: Callable[..., Any]


class Lookups(InTrace):
    """The operators for reads of items.

    Args:
      checks: the operators.
      call, refuse_hidden, if_exp, equals: of other operators.
      bounds: checks the indices of lists.
      checks_arrays: whether it checks those of arrays, too.
      keys: of dicts and sets with traced keys.
    """

    def __init__(
        self,
        backend: Backend,
        trace: Callable[[], Trace],
        checks: Any,
        *,
        call: Callable[[Any], Any],
        refuse_hidden: Callable[[Any], None],
        if_exp: Callable[..., Any],
        equals: Callable[[Any, Any], Any],
        raising: Raising,
        absences: Absences,
        bounds: Bounds,
        checks_arrays: bool,
        slices: Slices,
        masks: Masks,
        list_writes: ListWrites,
        keys: Any,
    ) -> None:
        super().__init__(trace)
        self.backend = backend
        self.checks = checks
        self.call = call
        self.refuse_hidden = refuse_hidden
        self.if_exp = if_exp
        self.equals = equals
        self.raising = raising
        self.absences = absences
        self.checked_bounds = bounds
        self.bounds = bounds if checks_arrays else None
        self.slices = slices
        self.masks = masks
        self.list_writes = list_writes
        self.keys = keys

    def get_item(self, target: Any, key: Any) -> Any:
        """``target[key]``.

        Raises:
          StagingError: the key is traced, and the target's items cannot be one array.
        """
        self.refuse_hidden(target)
        kind = type(key)
        if (kind is int or kind is str) and type(target) in _CONTAINERS:
            return read_key(target[key], key)
        if type(target) is OneOf and takes_branches(target):
            return each(target, lambda one: self._item_of_kind(one, key))
        key = self.known_key(target, key)
        kind = type(key)
        if kind is OneOf and not _finds_each(target, key):
            self._expect_no_key(target, key)
            is_pure = type(target) in _CONTAINERS
            if isinstance(target, dict):  # which may lack a key
                is_pure = (
                    is_pure and not has_perhaps(target.values()) and not any(map(holds_traced, candidates_of(key)))
                )
            return each(key, lambda one: self.get_item(target, one), is_pure)
        if isinstance(target, KeyedList):
            return target[key]
        if isinstance(target, PaddedArray):
            target = target.resolve()
        if isinstance(target, PaddedArray):
            self.check_open(target, key)
            return target[_plain(as_index(key))]
        target = place_of(target)
        if is_given(target):
            index = key if has_span(key) else _plain(key)
            if not is_view(index) or (has_span(key) and not self.slices.is_window(target, key)):
                return as_place(self.get_item(target.value, plain_key(key)), kind=target.kind)
            self.check_bounds(target, as_index(key))
            found = target.view_at(index)
            return self._item_of_array(target.value, key) if found is None else found
        if (
            LOCAL.followed is not None
            and isinstance(target, jax.core.Tracer)
            and is_view(_plain(key) if not has_span(key) else key)
        ):
            found = self._item_of_array(target, key)
            if np.ndim(found) or is_view_of_one(key):
                follow([found], [target])
            return found
        if has_contents(target):
            target.note_read()
            contents = target.contents() if self.backend.is_traced(key) else None
            if isinstance(contents, tuple) and self._is_to_be_held(target, contents, _CHOSEN_AT_MOST):
                if self.journal.is_interested:
                    self.journal.touch(ContentsPlace(target))
                return target.element(target.stack_checked(key, "list index out of range"), key)
            if isinstance(contents, tuple) and contents and not are_alike(contents):
                return self._looked_up(list(contents), key)
            return target[_plain(key)]
        return self._item_of_array(target, key)

    def _item_of_kind(self, one: Any, key: Any) -> Any:
        """An item of one of several kinds of value."""
        is_number = isinstance(one, bool | int | float | complex) or (self.backend.is_array(one) and one.ndim == 0)
        if is_number:  # in Python, as here by now it may be an array
            kind = {"b": "bool", "f": "float", "c": "complex"}.get(jnp.result_type(one).kind, "int")
            raise TypeError(f"{kind!r} object is not subscriptable")
        return self.get_item(one, key)

    def _item_of_array(self, target: Any, key: Any) -> Any:
        """The rest of `get_item`."""
        kind = type(key)
        if self.bounds is not None:
            target = plain(target)  # of a Variable its value, which has a shape
            if (array := self.backend.indexed_by_at(target)) is not None:
                return self.bounds.at(target[key], array, key)
        if isinstance(target, np.ndarray) and holds_traced(key):
            key = as_index(key)
            kind = type(key)
        elif (found := joined(target, _plain(key))) is not None:
            return found
        if self.backend.is_array(target):
            key = as_index(key)
            self.check_bounds(target, key)
        elif (method := user_method(type(target), "__getitem__")) is not None:
            return self.call(method)(target, _plain(key))
        if is_text(target) and (kind is Span or (type(target) is OneOf and self.backend.is_traced(key))):
            return self.checks.texts.read(target)[_plain(key)]
        if type(target) is OneOf and is_of_constants(target) and self.backend.is_traced(key):
            return each(target, lambda one: self.get_item(one, key))
        if kind is Span and type(target) in (list, tuple):
            return (TracedList if type(target) is list else TracedTuple)(target, self.checks)[_plain(key)]
        if has_span(key):
            array = self.slices.array_of(target, key)
            self.check_bounds(array, key)
            return self.slices.read_spans(array, key)
        if (found := self._taken(target, key)) is not None:
            return found
        if isinstance(target, np.ndarray):
            self.check_bounds(target, key)
            is_traced = any(map(self.backend.is_traced, key if kind is tuple else (key,)))
            return jnp.asarray(target)[key] if is_traced else target[key]
        if isinstance(target, range) and self.backend.is_traced(key):
            self.check_bounds(target, key)
            return to_be_staged(target)[key]
        if isinstance(target, dict) and _is_traced_key(key):
            return self._looked_up(target, key)
        if isinstance(target, list | tuple | deque | dict | str | bytes) and self.backend.is_traced(key):
            return self._looked_up(target, key)
        if isinstance(target, dict) and hasattr(type(target), "__missing__") and key not in target:
            return self.absences.missing(target, key)
        found = target[key]
        return self.absences.lookup(target, key, found) if is_perhaps(found) else found

    def item_method(self, target: Any, key: Any, name: str, may_tell: bool) -> Any:
        """``target[key].name``, which writes to the item, to be called of the item at each key that this may be.

        Args:
          may_tell: whether the arguments could tell, when they are evaluated, that the item has not been read yet.
        """
        is_choice = isinstance(target, dict | KeyedList) or items_of_sequence(target) is not None
        key = self.known_key(target, key) if is_choice else key
        if type(key) is not OneOf or not is_choice or _finds_each(target, key):
            return getattr(self.get_item(target, key), name)
        self._expect_no_key(target, key)
        is_there = type(target) in _CONTAINERS and not isinstance(target, dict)
        if may_tell and not is_there:
            each(key, lambda one: _nothing(self.get_item(target, one)))

        def call(*args: Any, **kwargs: Any) -> Any:
            return each(key, lambda one: self.call(getattr(self.get_item(target, one), name))(*args, **kwargs))

        return MethodOfEach(call)

    def _expect_no_key(self, target: Any, key: OneOf) -> None:
        """Let a dict of the program's be one with traced keys, where a handler waits for a key, one of several, that it may lack.

        Else each of the keys would be there or not by itself, and the handler be one block for all of them.
        """
        if not isinstance(target, dict) or hasattr(type(target), "__missing__") or catching(KeyError) is None:
            return
        keys = candidates_of(key)
        if not self.raising.can_raise_later():  # where only what is there by path can be told to be there
            return
        if is_own_dict(target) and not any(map(holds_traced, keys)):
            if any(one not in target or is_perhaps(target[one]) for one in keys):
                self.keys.end_trace(target, "A handler waits for a key of a dict that a traced condition has selected")

    def _taken(self, target: Any, key: Any) -> Any:
        """What a traced mask takes of an array, or an index of traced length; None if the key has neither."""
        if not (self.backend.is_array(target) or isinstance(target, np.ndarray)):
            return None
        if type(key) is not tuple and not isinstance(key, PaddedArray) and getattr(key, "dtype", None) != np.bool_:
            return None
        parts = key if type(key) is tuple else (key,)
        if any(isinstance(part, PaddedArray) for part in parts):
            key = resolved_key(key)
            open_ones = [part for part in (key if type(key) is tuple else (key,)) if isinstance(part, PaddedArray)]
            if not open_ones:
                return jnp.asarray(target)[key]
            if type(key) is not tuple and key.dtype == np.bool_:
                return as_padded_array(target).masked(key)
            return gathered(jnp.asarray(target), key)
        if any(map(self._is_traced_mask, parts)):
            return self.masks.read(jnp.asarray(target), key)
        return None

    def _is_traced_mask(self, part: Any) -> bool:
        return self.backend.is_traced(part) and getattr(part, "dtype", None) == np.bool_

    def check_open(self, target: PaddedArray, key: Any) -> None:
        """With the option: raise `IndexError` where an array of traced length has no such element."""
        first = key[0] if type(key) is tuple and key else key
        if self.bounds is not None and not isinstance(first, slice | Span | PaddedArray) and first not in (None, ...):
            if not np.ndim(first) and getattr(first, "dtype", None) != np.bool_:
                error = IndexError("index is out of bounds for an array of traced length")
                self.raising.raise_unless((first < target.length) & (first >= -target.length), error)

    def check_bounds(self, target: Any, key: Any, is_write: bool = False) -> None:
        """With that option, or where a handler waits for it: raise `IndexError` where there is no ``target[key]``."""
        if self.bounds is not None or catching(IndexError) is not None:
            self.checked_bounds.check(target, key, is_write)

    def holds_lists_in_arrays(self, target: TracedList, keys: tuple[Any, ...]) -> bool:
        """Whether a list holds its elements, lists, in arrays; from now on where it can, and one of these indices is traced."""
        contents = target.contents()
        if not isinstance(contents, tuple):
            return bool(contents.kind.is_watched)
        is_known = len(contents) < 2 or not any(map(self.backend.is_traced, keys))
        return not is_known and self._is_to_be_held(target, contents, 0)

    def _is_to_be_held(self, target: Any, items: tuple[Any, ...], least: int) -> bool:
        """Whether a list is held in arrays from now on: it is a table, and the trace may hold such so, which it then knows."""
        known = births()
        if known is None or not known.holds_tables or not is_table(items, least):
            return False
        if least and LOCAL.frame is not None and id(target) in LOCAL.frame.arguments:
            return False  # a read is to leave what is given as it is
        known.holds_one = True
        for loop in self.journal.loops:
            loop.begin_with_table(target)
        return True

    def _looked_up(self, target: Any, key: Any) -> Any:
        if isinstance(target, dict):
            if not target or has_perhaps(target.values()) or makes_missing(target):
                self.keys.end_trace(target, f"A {type(target).__name__} is read at a traced key")
            present, place = self._place_in(target, key)
            if isinstance(target, Counter):
                return self.if_exp(present, lambda: self._looked_up(list(target.values()), place), lambda: 0)
            self.raising.raise_unless(present, lambda: self.raising.exception(KeyError, key))
            target, key = list(target.values()), place
        if (
            isinstance(target, deque | str | bytes | list | tuple)
            and not target
            and is_integer(key)
            and not self.journal.is_on_trial
        ):
            return target[0]  # raises, whatever the index
        if isinstance(target, deque | str | bytes):
            target = list(target)
        if not isinstance(target, list | tuple) or not target or np.ndim(key):
            raise self._unsuitable(target)
        self.check_bounds(target, key)
        if len(target) == 1 and parts_of(target[0]):  # it is that one, or there is none
            self.list_writes.check_range(counted_from_start(key, 1), 1, "list index out of range")
            return target[0]
        leaves, structures = zip(*map(jax.tree.flatten, target), strict=True)
        if any(structure != structures[0] for structure in structures):
            return self._chosen(target, key)
        columns = list(zip(*leaves, strict=True))
        if not all(map(self._can_be_array, columns)):
            return self._chosen(target, key)
        parts = [stacked(column)[key] for column in columns]
        found = jax.tree.unflatten(structures[0], parts)
        for part in parts_of(found).values():
            self.journal.born(part)
        self._relate(found, target, key)
        return found

    def _relate(self, found: Any, items: Any, key: Any) -> None:
        """Note that what was found is one of the items, which the index chose."""
        count, known = len(items), births()
        if known is not None:
            of_items = [parts_of(item) for item in items]
            for path, part in parts_of(found).items():
                if type(part) is not TracedList and all(path in parts for parts in of_items):
                    known.stands_for(part, *(parts[path] for parts in of_items))
        self.identities.looked_up(
            found,
            items,
            lambda number: counted_from_start(key, count) == number,
            lambda: self.list_writes.check_range(counted_from_start(key, count), count, "list index out of range"),
        )

    def _place_in(self, target: dict[Any, Any], key: Any) -> tuple[Any, Any]:
        """Whether a dict has a traced key, and at which place among its items that is."""
        is_number = not isinstance(key, TracedText) and parts_of_key(key) is None
        if is_number and np.ndim(key):
            raise self._unsuitable(target)
        if is_number and all(isinstance(each, _NUMBERS) for each in target):
            equal = jnp.asarray(list(target)) == key
        else:
            equal = jnp.stack([jnp.asarray(self._is_key(each, key)) for each in target])
        return jnp.any(equal), jnp.argmax(equal)

    def _is_key(self, known: Any, key: Any) -> Any:
        """Whether a dict's key is the one that is looked up, parts of which are traced."""
        parts = parts_of_key(key)
        if parts is not None:
            others = parts_of_key(known)
            if (
                others is None
                or len(others) != len(parts)
                or not isinstance(known, tuple if parts is key else type(key))
            ):
                return False
            return functools.reduce(operator.and_, map(self._is_key, others, parts), True)
        if not holds_traced(key):
            return bool(known == key)
        if isinstance(key, TracedText):
            return isinstance(known, str) and key.characters().equals(known)
        if type(key) in (OneOf, Optional):
            return self.equals(known, key)
        return isinstance(known, _NUMBERS) and known == key

    def get_of_dict(self, target: dict[Any, Any], key: Any, default: Any = None) -> Any:
        """``target.get(key, default)`` with a key that may be traced."""
        key = self.object_in(target, key)
        if not may_be_traced(key):
            return self.absences.get(target, key, default)
        if type(key) is Optional and type(either := self.known_key(target, key)) is OneOf:
            return each(either, lambda one: self.get_of_dict(target, one, default))
        if has_perhaps(target.values()):
            self.keys.end_trace(target, "A dict is read at a traced key")
        if not target:
            return default
        present, place = self._place_in(target, key)
        return self.if_exp(present, lambda: self._looked_up(list(target.values()), place), lambda: default)

    def _can_be_array(self, column: tuple[Any, ...]) -> bool:
        types = [None if is_variable(leaf) else self.backend.type_of(leaf) for leaf in column]
        return all(kind is not None and types[0] is not None and kind.shape == types[0].shape for kind in types)

    def _chosen(self, items: Any, key: Any) -> Any:
        """The item at a traced index of what differ as the branches of an ``if`` may: strings, say, or None and a number."""
        count = len(items)
        are_many = count > MOST_CANDIDATES
        can_be_chosen = not are_many or all(map(_is_value, items)) or all(map(is_variable, items))
        if self.journal.is_on_trial or not can_be_chosen:  # in Python the index may be known
            raise self._unsuitable(items)
        place = jnp.clip(counted_from_start(key, count), 0, count - 1)
        try:
            if are_many and not is_variable(items[0]):
                return Padded.of(tuple(items)).element(place)
            found = each_purely(OneOf(range(count), place.astype(CODE)), lambda k: items[k])
        except StagingError:
            raise self._unsuitable(items) from None
        paths = parts_of(found).keys()
        if all(parts_of(item).keys() == paths for item in items):
            self._relate(found, items, key)
        return found

    def known_key(self, target: Any, key: Any) -> Any:
        """``key`` where an index is needed: one that may be None raises where it is. To a dict None is a key. To a list a
        truth value is 0 or 1."""
        if isinstance(target, dict):
            key = self.object_in(target, key)
        else:
            key = self.slices.with_spans(value_of(key))
        if type(key) is Optional:
            present = present_in(key)
            is_choice = isinstance(target, dict | KeyedList) and resolved(key) is key and not is_known(present)
            return OneOf((absent_in(key), held_in(key)), present.astype(CODE)) if is_choice else used(key)
        if type(key) is tuple and any(type(part) is Optional for part in key) and not isinstance(target, dict):
            return tuple(map(used, key))
        if self._is_traced_mask(key) and np.ndim(key) == 0 and not self.backend.is_array(target):
            if isinstance(target, list | tuple | str | bytes | deque | range) or has_contents(target):
                return key * 1  # a truth value is a number where there are no masks
        return key

    def object_in(self, target: Collection[Any], key: Any) -> Any:
        """The key of a dict, or the element of a set, that an object is which a traced condition may have selected.

        What represents one of several objects is another object: Python would find none of them.

        Raises:
          StagingError: only run time knows which.
        """
        if not is_plain_object(key) or user_method(type(key), "__hash__") is not None:
            return key
        if not self.identities.take_part((key, *target)):
            return key
        for other in target:
            is_one = is_plain_object(other) and self.identities.are_one(other, key)
            if is_one is True:
                return other
            if is_one is not False:
                raise StagingError(
                    f"{user_location()}\n  A traced condition selected an object that is a key of a dict, or an element of a set, here: "
                    "which of the others it is equal to is known only at run time.\n  Read or write the dict or set in the branches "
                    "that select the object, or let the objects hold the values in an attribute."
                )
        return key

    def _unsuitable(self, target: Any) -> StagingError:
        kind = class_name(target)
        remedy = (
            "Compare the key with each of them (if/elif, or match), or store the values in an array, with the key as index"
            if isinstance(target, dict)
            else "Select the item with if/elif or match, or use items of one shape and dtype"
        )
        return StagingError(
            f"{user_location()}\n  A {kind} is indexed by a traced value, and its items do not stack into one "
            f"array: the item is known only at run time.\n  {remedy}."
        )


def _finds_each(target: Any, key: OneOf) -> bool:
    """Whether a set or dict with traced keys, which makes nothing for those that it lacks, finds one of several constants by itself."""
    makes = getattr(target, "factory", None) is not None
    return isinstance(target, KeyedList) and not makes and not any(map(holds_traced, candidates_of(key)))


def _nothing(_: Any) -> None:
    return None


def _is_value(item: Any) -> bool:
    """Whether this is a number, an array, None or a tuple of such, or may be one of these."""
    if type(item) is tuple:
        return all(map(_is_value, item))
    return item is None or is_array_leaf(item) or (isinstance(item, Optional) and not parts_of(item))


def _plain(key: Any) -> Any:
    """A key as a user's method takes it: slices, which stand in no tuple of another class, as Python has them."""
    if type(key) is tuple:
        return tuple(map(_plain, key))
    return slice(key.start, key.stop, key.step) if isinstance(key, Span) else key


def as_index(key: Any) -> Any:
    """An index as JAX takes it: an array for each list in it."""
    if is_traced_list(key) and not isinstance(key, TracedTuple):  # which has a number for each dimension
        return LANGUAGE.operators.call(np.asarray)(key)
    if isinstance(key, list):
        return jnp.asarray(key)
    return tuple(map(as_index, key)) if type(key) is tuple else key


def resolved_key(key: Any) -> Any:
    """A key with arrays of exact shape instead of those whose length is known."""
    if type(key) is tuple:
        return tuple(map(resolved_key, key))
    return key.resolve() if isinstance(key, PaddedArray) else key


def _is_traced_key(key: Any) -> bool:
    """Whether a key of several parts is to be compared with those that a dict has."""
    return (isinstance(key, TracedText) or parts_of_key(key) is not None) and may_be_traced(key)
