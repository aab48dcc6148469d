"""`Keys`: sets and dicts whose elements, or keys, only run time knows, in converted code."""

from __future__ import annotations

import builtins
import collections
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax

from autograph.backends.base import Backend, NotRollable
from autograph.backends.selected import STAGING
from autograph.runtime.containers.key_parts import fields_of_key, holds_tracer
from autograph.runtime.containers.keyed_lists import KeyedList, without_order
from autograph.runtime.containers.padded_arrays import PaddedArray
from autograph.runtime.containers.traced_dicts import TracedDict
from autograph.runtime.containers.traced_lists import TracedList, is_array_list
from autograph.runtime.containers.traced_sets import TracedFrozenSet, TracedSet
from autograph.runtime.containers.unordered_dicts import let_go_of_order
from autograph.runtime.containers.unordered_lists import UnorderedList
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.heap.leaked_tracers import held_or
from autograph.runtime.layouts.optional import Optional
from autograph.runtime.layouts.perhaps import has_perhaps, is_perhaps
from autograph.runtime.layouts.statement_variables import stands_for_text
from autograph.runtime.staging.builtins.reductions import Generator
from autograph.runtime.tracing.births import Births, can_be_element
from autograph.runtime.tracing.locations import calling_expression
from autograph.runtime.tracing.recording import births

_WRITING = frozenset(
    [
        *("add", "discard", "remove", "update", "clear"),
        *("intersection_update", "difference_update", "symmetric_difference_update"),
    ]
)
_OF_ELEMENTS = frozenset(["add", "discard", "remove"])
_READING = frozenset(
    ["copy", "union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset", "isdisjoint"]
)


class Keys(InTrace):
    """What makes sets and dicts, and writes to them.

    Args:
      checks: the operators.
    """

    def __init__(self, backend: Backend, trace: Callable[[], Trace], checks: Any) -> None:
        super().__init__(trace)
        self.backend = backend
        self.checks = checks

    def overloads(self) -> Mapping[Any, Callable[..., Any]]:
        return {
            builtins.set: self.new_set,
            builtins.frozenset: self.new_frozenset,
            builtins.dict: self.new_dict,
            builtins.dict.fromkeys: self.from_keys,
            collections.defaultdict: self.new_defaultdict,
            collections.Counter: self.new_counter,
            collections.OrderedDict: self.new_ordered_dict,
        }

    def new_set(self, *args: Any) -> Any:
        """``set(values)``."""
        if not args or len(args) > 1 or self._is_plain():
            return self._made_set(set(*args))
        (values,) = args
        if isinstance(values, TracedSet):
            return values.copy() if values.stands_for is set else self._traced_set(values)
        if not isinstance(values, TracedList):
            values = self.checks.overloads[builtins.list](values)
        return self.set_of_list(values)

    def new_frozenset(self, *args: Any) -> Any:
        """``frozenset(values)``."""
        if len(args) != 1 or self._is_plain():
            return self._made_set(frozenset(*args))
        (values,) = args
        if isinstance(values, TracedFrozenSet):
            return values
        if not isinstance(values, TracedList):
            values = self.checks.overloads[builtins.list](values)
        self._check_objects(values)
        return self._traced_set(values, TracedFrozenSet) if _is_of_traced(values) else self._made_set(frozenset(values))

    def set_of_list(self, values: Any) -> Any:
        """The set of the elements of a list or tuple: of those of ``{v, w}``, of what ``{v for …}`` goes through."""
        self._check_objects(values)
        return self._traced_set(values) if _is_of_traced(values) else self._made_set(set(values))

    def _check_objects(self, keys: Any) -> None:
        """Refuse objects of which only run time knows whether they are one key of a dict, or element of a set."""
        if type(keys) in (list, tuple) and self.identities.take_part(keys):
            for k, key in enumerate(keys):
                self.checks.lookups.object_in(keys[:k], key)

    def _is_plain(self) -> bool:
        return STAGING.is_plain(STAGING.place())

    def noted(self, made: Any) -> Any:
        """What an operator or method of sets has given."""
        return self._made_set(made) if type(made) in (set, frozenset) else made

    def _made_set(self, made: set[Any] | frozenset[Any]) -> Any:
        return self._unless_keyed(made, self._of_known)

    def _of_known(self, made: set[Any] | frozenset[Any]) -> TracedSet:
        return self._traced_set(made, TracedFrozenSet if isinstance(made, frozenset) else TracedSet)

    def _unless_keyed(self, made: Any, traced: Callable[[Any], Any]) -> Any:
        """A set or dict of known elements or keys: Python's own, if the program adds no traced ones to it."""
        known = births()
        if known is None or self._is_plain():
            return made
        site = calling_expression()
        if known.is_keyed(site):
            return traced(made)
        known.note(made, site)
        if type(made) is not frozenset:
            self.journal.born(made)
        return made

    def _traced_set(self, values: Any, kind: type[TracedSet] = TracedSet) -> TracedSet:
        made = kind(values, self.checks)
        self.journal.born(made)
        return made

    # Dicts.

    def new_dict(self, /, *args: Any, **named: Any) -> Any:
        """``dict(values)``."""
        if len(args) != 1 or self._is_plain():
            return self.made_dict(dict(*args, **named))
        return self._dict_from(args[0], named, dict, None)

    def new_ordered_dict(self, /, *args: Any, **named: Any) -> Any:
        """``collections.OrderedDict(values)``."""
        if len(args) != 1 or self._is_plain():
            return self.made_dict(collections.OrderedDict(*args, **named))
        return self._dict_from(args[0], named, collections.OrderedDict, None)

    def new_defaultdict(self, /, *args: Any, **named: Any) -> Any:
        """``collections.defaultdict(factory, values)``."""
        if len(args) != 2 or self._is_plain():
            return self.made_dict(collections.defaultdict(*args, **named))
        return self._dict_from(args[1], named, collections.defaultdict, args[0])

    def new_counter(self, *args: Any, **named: Any) -> Any:
        """``collections.Counter(values)``."""
        if len(args) == 1 and isinstance(args[0], Mapping) and has_perhaps(args[0].values()):
            made = collections.Counter[Any]()
            dict.update(made, args[0])
            return self.made_dict(made)
        if len(args) != 1 or self._is_plain() or args[0] is None or isinstance(args[0], Mapping):
            return self.made_dict(collections.Counter(*args, **named))
        (values,) = args
        if not isinstance(values, TracedDict):
            values = self.checks.overloads[builtins.list](values)
        if isinstance(values, UnorderedList):
            counted = self._traced_dict((), collections.Counter)
            let_go_of_order(counted)
            counted.update(values.members(), **named)
            return counted
        if not isinstance(values, TracedDict) and not _is_of_traced(values):
            return self.made_dict(collections.Counter(values, **named))
        counts = self._traced_dict((), collections.Counter)
        counts.update(values, **named)
        return counts

    def dict_of(self, *pairs: tuple[Any, Any]) -> Any:
        """``{key: value, …}``."""
        self._check_objects([key for key, _ in pairs])
        if any(holds_tracer(key) for key, _ in pairs):
            return self._traced_dict(pairs)
        return self.made_dict(dict(pairs))

    def merged(self, first: Any, *rest: Any) -> TracedDict:
        """``{**first, **rest[0], …}``, if one of them has traced keys."""
        made = self._traced_dict(first)
        for part in rest:
            made.update(part)
        return made

    def dict_of_list(self, pairs: Any) -> Any:
        """``{key: value for …}``, of the list of the pairs that the comprehension gives."""
        return self._dict_from(pairs, {}, dict, None, is_passed=True)

    def from_keys(self, keys: Any, value: Any = None, /) -> Any:
        """``dict.fromkeys(keys, value)``."""
        if self._is_plain():
            return dict.fromkeys(keys, value)
        items = self.checks.overloads[builtins.list](keys)
        return self.dict_of_list(self.checks.list_of(lambda key: (key, value), items))

    def _dict_from(self, values: Any, named: dict[str, Any], kind: type, factory: Any, is_passed: bool = False) -> Any:
        """The dict of a mapping, or of pairs. ``is_passed``: nobody else has their list."""
        if isinstance(values, TracedDict):
            made = self._traced_dict(values, kind, factory)
            made.update((), **named)
            return made
        if isinstance(values, Mapping):
            return self.made_dict(self._of_kind(values, named, kind, factory), values)
        if not is_passed and not isinstance(values, UnorderedList):
            values = self.checks.overloads[builtins.list](values)
        is_traced = (
            isinstance(values, UnorderedList)
            or is_array_list(values)
            or any(isinstance(pair, tuple) and len(pair) == 2 and holds_tracer(pair[0]) for pair in values)
        )
        if not is_traced:
            return self.made_dict(self._of_kind(values, named, kind, factory))
        made = self._traced_dict((), kind, factory)
        if isinstance(values, UnorderedList):
            self._let_go_of_order(made, values)
            values = values if is_passed else values.members()
        self.set_all(made, _PassedList((), self.checks).holding(values.contents()) if is_passed else values)
        made.update((), **named)
        return made

    def _let_go_of_order(self, made: TracedDict, pairs: UnorderedList) -> None:
        """Let a dict have no order, in which pairs in any order are to be set."""
        if not pairs.has_own_keys:
            raise without_order("Of several values for one key, the last is kept, by")
        let_go_of_order(made)

    def _of_kind(self, values: Any, named: dict[str, Any], kind: type, factory: Any) -> Any:
        return kind(values, **named) if kind is not collections.defaultdict else kind(factory, values, **named)

    def made_dict(self, made: Any, given: Any = ()) -> Any:
        """A dict of known keys: Python's own, if the program writes no traced ones. ``given``: the one that it is a copy of."""
        factory = getattr(made, "default_factory", None)

        def traced(known: Any) -> TracedDict:
            if isinstance(given, dict):
                self.checks.absences.check_order(given)
            return self._traced_dict(known, type(known), factory)

        return self._unless_keyed(made, traced)

    def _traced_dict(self, values: Any, kind: type = dict, factory: Any = None) -> TracedDict:
        if isinstance(values, dict) and has_perhaps(values.values()):
            self.checks.absences.check_order(values)
            filled = self._traced_dict((), kind, factory)
            self.checks.absences.update(filled, values)
            return filled
        made = TracedDict(() if kind is collections.Counter else values, self.checks, kind, factory)
        self.journal.born(made)
        if kind is collections.Counter:
            made.update(values)
        return made

    def count(self, made: TracedDict, values: Any) -> None:
        """Count what a list or other iterable has."""

        def body(value: Any) -> None:
            self.checks.set_item(made, value, made.get(value, 0) + 1)

        self.checks.for_stmt(values, body, ())

    def set_all(self, made: TracedDict, pairs: Any) -> None:
        """Set the keys of a list of pairs."""

        def body(pair: Any) -> None:
            key, value = pair
            value = made[key] + value if made.kind is collections.Counter else value
            self.checks.set_item(made, key, value)

        self.checks.for_stmt(pairs, body, ())

    def dict_method(self, called: Any) -> Any:
        """A method of a dict that Python has, which may be given traced keys; None for one that is given none."""
        owner, name = called.__self__, called.__name__
        if self._is_plain() or name not in ("setdefault", "pop", "update", "move_to_end"):
            return None
        plain = self.checks.absences.method(called) or called

        def call(*args: Any, **named: Any) -> Any:
            if name == "update":
                if args and not isinstance(args[0], dict):
                    args = (self._dict_from(args[0], {}, dict, None),)
                if args and isinstance(args[0], TracedDict):
                    self.end_trace(owner, "A dict is given a traced key")
            elif args:
                args = (self.checks.lookups.object_in(owner, args[0]), *args[1:])
                if holds_tracer(args[0]):
                    self.end_trace(owner, "A dict is asked for a traced key")
            return plain(*args, **named)

        return call

    def counter_method(self, method: Any) -> Any:
        """A method of a `collections.Counter` that Python has; None for one whose source is converted."""
        owner, name = method.__self__, method.__name__
        library, is_open = (
            self.checks.library,
            any(is_perhaps(each) or self._holds_traced(each) for each in owner.values()),
        )
        if name in ("most_common", "elements"):
            return functools.partial(getattr(library, name), owner) if is_open else method
        if name != "update":
            return None
        if self._is_plain():
            return method

        def update(*args: Any, **named: Any) -> Any:
            args = tuple(arg if isinstance(arg, KeyedList) else self.checks.items_of(arg) for arg in args)
            if args and self._holds_traced(args[0]):
                self.end_trace(owner, "A Counter is given a traced key")
            is_of_paths = any(isinstance(each, Mapping) and has_perhaps(each.values()) for each in (owner, *args))
            return library.counted(owner, *args, **named) if is_of_paths else method(*args, **named)

        return update

    def end_trace(self, owner: Any, what: str) -> None:
        """Let a set or dict that Python has be a traced one."""
        known = births()
        if known is not None and not self._is_plain():
            self._end_trace(owner, what, known)

    # Sets.

    def set_method(self, called: Any) -> Any:
        """A method of a set that Python has, which may be given traced elements."""
        owner, name = called.__self__, called.__name__
        if self._is_plain() or (name not in _WRITING and name not in _READING):
            return called

        def call(*args: Any) -> Any:
            if name not in _OF_ELEMENTS:
                args = tuple(arg if isinstance(arg, KeyedList) else self.checks.items_of(arg) for arg in args)
            if name in _WRITING:
                args = tuple(self.checks.lookups.object_in(owner, arg) for arg in args)
            is_traced = any(map(self._holds_traced, args))
            if name in _READING or isinstance(owner, frozenset):
                found = getattr(self._of_known(owner), name)(*args) if is_traced else called(*args)
                return self.noted(found)
            self.check_writes(owner, args, is_traced)
            return called(*args)

        return call

    def check_writes(self, owner: set[Any], values: Iterable[Any], is_traced: bool | None = None) -> None:
        """Let a set that Python has be a traced one, if it is to hold traced elements, or is written where only run time knows whether.

        Raises:
          StagingError: it was not made in this program.
        """
        known = births()
        if self._is_plain() or known is None:
            return
        if any(map(self._holds_traced, values)) if is_traced is None else is_traced:
            self._end_trace(owner, "A set is given a traced element", known)
        is_by_path = self.journal.is_open and not self.journal.has_made(owner)
        if is_by_path and known.knows(owner) and all(map(can_be_element, [*owner, *_elements(values)])):
            self._end_trace(owner, "A set is written under a traced condition", known)

    def _end_trace(self, owner: Any, what: str, known: Births) -> None:
        if self.journal.is_on_trial:  # what is traced there may be known in Python
            raise NotRollable("it writes to a set, or to a key of a dict")
        try:
            known.end_trace(owner, what)
        except StagingError as refusal:
            raise held_or(owner, refusal) from None

    def _holds_traced(self, value: Any) -> bool:
        if isinstance(value, TracedList | PaddedArray) or self.backend.is_traced(value):
            return True
        if isinstance(value, tuple | list | set | frozenset):
            return any(map(self._holds_traced, value))
        if stands_for_text(value) or type(value) is Optional or fields_of_key(value) is not None:
            return holds_tracer(value)
        return isinstance(value, jax.Array) and self.backend.is_tracing()


class _PassedList(TracedList):
    """A list that nobody else has, which is gone over once: what is taken from it is in no list any more."""

    __slots__ = ()

    def element(self, index: Any, key: Any = None) -> Any:
        found = self._held.element(index)
        return self._elements.taken(found) if self._held.kind.is_watched else found

    def fresh(self) -> _PassedList:
        return _PassedList((), self.checks)


def _is_of_traced(values: Any) -> bool:
    """Whether the elements of a list, or its length, are known only at run time."""
    return isinstance(values, UnorderedList) or is_array_list(values) or any(map(holds_tracer, values))


def _elements(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, list | set | frozenset | dict | range):
            yield from value
        else:
            yield value


def in_any_order(iterable: Any, key: Any) -> Any:
    """A list of what a set or dict is iterated over, or a generator expression over that, for what does not depend on the order; any
    other iterable as it is."""
    if isinstance(iterable, Generator) and key is None:
        return iterable.in_any_order()
    if not isinstance(iterable, KeyedList):
        return iterable
    return iterable.members() if key is None else iterable.in_order()
