"""Dicts and objects of which some keys, or attributes, are there on some paths only: see `Perhaps`."""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import Any, TypeGuard

from autograph.backends.base import Backend
from autograph.runtime.code.library_table import is_given_flat, is_library
from autograph.runtime.containers.iterables import UNROLLED_AT_MOST
from autograph.runtime.containers.keyed_lists import KeyedList
from autograph.runtime.effects.staged_raises import Raising
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.heap.places import ContentsPlace, contents
from autograph.runtime.layouts.dict_by_path import sorted_as_by_jax
from autograph.runtime.layouts.dict_kinds import dict_kind, own_class
from autograph.runtime.layouts.key_order import sort_of_key
from autograph.runtime.layouts.objects import attributes_of, is_plain_object
from autograph.runtime.layouts.one_of import OneOf, each
from autograph.runtime.layouts.optional import is_known
from autograph.runtime.layouts.perhaps import (
    Perhaps,
    has_perhaps,
    is_own_dict,
    is_own_dict_of_lists,
    is_perhaps,
    perhaps,
    read,
    read_key,
)
from autograph.runtime.layouts.statement_variables import items_of_sequence
from autograph.runtime.staging.access.dict_views import VIEWS, VIEWS_OF
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import LOCAL

_NOTHING: Any = object()
_MOST_CALLS = 4  # keys of ``f(**d)`` that may be absent: each doubles how often the call is traced
_WALKED_AT_MOST = 10_000


class Absences(InTrace):
    """What is asked of such dicts and objects, each question answered by operators for ``if``.

    Args:
      if_exp, if_stmt: of `Conditionals`.
      equals: of `Operations`.
    """

    def __init__(
        self,
        backend: Backend,
        trace: Callable[[], Trace],
        *,
        raising: Raising,
        if_exp: Callable[..., Any],
        if_stmt: Callable[..., Any],
        set_item: Callable[[Any, Any, Any], Any],
        new_list: Callable[[list[Any]], list[Any]],
        call: Callable[[Any], Any],
        equals: Callable[[Any, Any], Any],
        merge_keyed: Callable[..., Any],
        made_dict: Callable[[dict[Any, Any]], dict[Any, Any]],
        end_trace: Callable[[Any, str], None],
    ) -> None:
        self.backend = backend
        super().__init__(trace)
        self.raising = raising
        self.if_exp = if_exp
        self.if_stmt = if_stmt
        self.set_item = set_item
        self.new_list = new_list
        self.call = call
        self.equals = equals
        self.merge_keyed = merge_keyed
        self.made_dict = made_dict
        self.end_trace = end_trace

    def check_set(self, value: Perhaps) -> None:
        """Raise, when the program runs, Python's error where a place that is read holds nothing.

        Raises:
          StagingError: the program cannot raise.
        """
        if is_known(value.present):
            return
        absence = value.absence
        if is_known(value.present, False):
            raise absence.error()
        if not self.raising.can_raise_later(absence.kind):
            what = f"The key {absence.key!r}" if absence.of is None else f"'{absence.of}.{absence.key}'"
            raise StagingError(
                f"{user_location()}\n  {what} may be absent here: one path of a traced condition sets it, another does not.\n"
                "  Ask first whether it is there, by `in` or hasattr, or set it on every path."
            )
        self.raising.raise_unless(value.present, absence.error())

    def presence(self, value: Any) -> Any:
        """Whether a place that holds ``value`` holds something: True, False, or a traced bool."""
        if not is_perhaps(value) or is_known(value.present):
            return True
        if is_known(value.present, False):
            return False
        self.facts.note(value.present, *self.facts.saying(value.present))
        return value.present

    # Of dicts.

    def contains(self, container: Any, item: Any) -> Any:
        """``item in container`` of such a dict, or its keys; None for any other, and for a key that is traced."""
        owner = _owner(container) if isinstance(container, dict | KeysView) else None
        if owner is None or not _is_hashable(item):
            return None
        return self.presence(owner[item]) if item in owner else False

    def length(self, container: Any) -> Any:
        """How many keys such a dict has, or a view of one has items; None for any other."""
        owner = _owner(container)
        return None if owner is None else sum(self._number(value) for value in owner.values())

    def _number(self, value: Any) -> Any:
        present = self.presence(value)
        return int(present) if isinstance(present, bool) else present.astype(int)

    def truth(self, container: Any) -> Any:
        """Whether such a dict has a key; None for any other container."""
        owner = _owner(container)
        if owner is None:
            return None
        found = [self.presence(value) for value in owner.values()]
        if True in [present for present in found if isinstance(present, bool)]:
            return True
        traced = [present for present in found if not isinstance(present, bool)]
        return functools.reduce(lambda a, b: a | b, traced) if traced else False

    def entries(self, container: Any, is_sorted: bool = False) -> list[tuple[Any, Any]] | None:
        """What a loop over such a dict, or a view of one, runs over: each item with whether it is there; else None.

        Args:
          is_sorted: whether they are asked for in the order of the keys, which no two share.

        Raises:
          StagingError: paths differ in the order of the keys.
        """
        owner = _owner(container)
        if owner is None:
            return None
        if is_sorted and not isinstance(container, ValuesView) and len({sort_of_key(key) for key in owner}) == 1:
            owner = {key: owner[key] for key in sorted(owner)}
        else:
            self.check_order(owner)
        found = []
        for key, value in owner.items():
            present = self.presence(value)
            held = value.held if is_perhaps(value) else value
            of_value = held if isinstance(container, ValuesView) else key
            item = (key, held) if isinstance(container, ItemsView) else of_value
            if present is not False:
                found.append((present, item))
        return found

    def check_order(self, owner: Mapping[Any, Any]) -> None:
        """Refuse to read the order of a dict's keys where only run time knows it. A dict of lists becomes one with traced keys.

        Raises:
          StagingError: it names the keys.
        """
        moved = [key for key, value in owner.items() if is_perhaps(value) and value.absence.is_moved]
        if moved and len(owner) > 1:
            if is_own_dict(owner):
                self.end_trace(owner, "The order of a dict's keys is read, in which paths of a traced condition differ")
            raise StagingError(
                f"{user_location()}\n  The order of a dict's keys is read here, and paths of a traced condition differ in where "
                f"{', '.join(map(repr, moved))} comes among {list(owner)}.\n  Set the keys in one order on all paths, or read them by name."
            )

    def store(self, owner: dict[Any, Any], key: Any, value: Any) -> Any:
        """What such a dict is to hold for ``owner[key] = value``; it may lose the key first, which then comes last."""
        old = owner[key]
        present = self.presence(old)
        if present is False:
            own_class(owner).__delitem__(owner, key)
            return value
        absence = old.absence
        if present is not True:
            later = list(owner)[list(owner).index(key) + 1 :]
            if any(self.presence(owner[each]) is not False for each in later):
                absence = absence.moved()
        return perhaps(True, value, absence)

    def listed(self, container: Any, is_sorted: bool = False) -> Any:
        """The list of the items of such a dict, or view; the container itself if it is any other (see `entries`)."""
        entries = self.entries(container, is_sorted)
        if entries is None:
            return container
        made = self.new_list([])

        def add(item: Any) -> None:
            self.call(made.append)(item)

        for present, item in entries:
            if present is True:
                add(item)
            else:
                self.if_stmt(present, lambda item=item: add(item), None, ())
        return made

    def items_in(self, container: Any) -> Any:
        """What Python iterates by itself, in ``[*d]`` or a comprehension; the container, if it lacks no keys.

        Raises:
          StagingError: it may lack some.
        """
        if isinstance(container, KeyedList):
            return container.in_order()
        entries = self.entries(container)
        if entries is None:
            return container
        if any(present is not True for present, _ in entries):
            raise StagingError(
                f"{user_location()}\n  A dict is iterated here, by a display, a comprehension or an unpacking, and only some paths of "
                "a traced condition have set all its keys.\n  Iterate it by a `for` statement, or make a list of its keys first: list(d)."
            )
        return (
            {item: None for _, item in entries}.keys()
            if isinstance(container, KeysView)
            else [item for _, item in entries]
        )

    def get(self, owner: dict[Any, Any], key: Any, default: Any = None) -> Any:
        """``owner.get(key, default)``."""
        found = owner.get(key, _NOTHING)
        return default if found is _NOTHING else self.either(found, default)

    def merged(self, *parts: Any) -> dict[Any, Any]:
        """``{**parts[0], **parts[1]}`` and so on."""
        made: dict[Any, Any] = {}
        if any(isinstance(part, KeyedList) for part in parts):
            return self.merge_keyed(*parts)
        for part in parts:
            if isinstance(part, dict) and has_perhaps((*made.values(), *dict.values(part))):
                self.update(made, part) if made else made.update(dict.items(part))
            else:
                made = {**made, **part}
        self.journal.born(made)
        return self.made_dict(made)

    def without_absences(self, value: Any) -> Any:
        """What Python unpacks by itself, which may lack nothing.

        Raises:
          StagingError: it may lack a key, or an attribute; it is a dict of which only run time knows the keys, or has one.
        """
        if holds_keyed(value):
            raise StagingError(
                f"{user_location()}\n  `match` reads the keys of a dict here, which are traced.\n  Ask for them: "
                "`if d.keys() == {1}:`, `if 1 in d:`, d.get(1)."
            )
        if LOCAL.has_perhaps:
            self.refuse_in("`match`", [value])
        return value

    def either(self, found: Any, default: Any) -> Any:
        """What a place holds, ``default`` where it holds nothing."""
        if not is_perhaps(found):
            return found
        present = self.presence(found)
        if isinstance(present, bool):
            return found.held if present else default
        return self.if_exp(present, lambda: found.held, lambda: default)

    def lookup(self, owner: Any, key: Any, found: Perhaps) -> Any:
        """``owner[key]``, where that is ``found``; a dict whose class has a value for a missing key is asked for it."""
        present = self.presence(found)
        if present is True or not hasattr(type(owner), "__missing__"):
            return read_key(found, key)
        if present is False:
            return self.missing(owner, key)
        if makes_missing(owner):
            self._set_where_absent(owner, key, present, lambda: self._made_by_factory(owner))
            return read_key(owner[key], key)
        return self.if_exp(present, lambda: found.held, lambda: self.missing(owner, key))

    def missing(self, owner: dict[Any, Any], key: Any) -> Any:
        """What the class of a dict without this key, which has a ``__missing__``, has for it."""
        if makes_missing(owner):
            self.set_item(owner, key, self._made_by_factory(owner)[0])
            return owner[key]
        kind: Any = type(owner)
        missing = kind.__missing__
        return (missing if is_library(missing) else self.call(missing))(owner, key)

    def _made_by_factory(self, owner: defaultdict[Any, Any]) -> tuple[Any, bool]:
        """What the factory of a dict makes, and whether nothing else can hold that."""
        region = self.journal.block
        written = 0 if region is None else len(region.before)
        value = self.call(owner.default_factory)()
        if owner.default_factory is list:
            return self.new_list(value), True
        return value, region is not None and region.made_by(value) and len(region.before) == written

    def pop(self, owner: dict[Any, Any], key: Any, *default: Any) -> Any:
        """``owner.pop(key, default)``."""
        found = owner[key]
        value = self.get(owner, key, *default) if default else read_key(found, key)
        self.remove(owner, key)
        return value

    def remove(self, owner: dict[Any, Any], key: Any) -> None:
        """Let a dict have no such key, whether it had or not."""
        present = self.presence(owner[key])
        if present is False:
            return
        own_class(owner).__delitem__(owner, key)

    def setdefault(self, owner: dict[Any, Any], key: Any, default: Any = None) -> Any:
        """``owner.setdefault(key, default)``."""
        return self._setdefault(owner, key, lambda: (default, False))

    def setdefault_new(self, owner: Any, key: Any, make: Callable[[], Any]) -> Any:
        """``owner.setdefault(key, make())``, of a list or dict that is written out there: nothing else holds it."""
        if type(key) is OneOf and isinstance(owner, dict):
            return each(key, lambda one: self.setdefault_new(owner, one, make))
        if LOCAL.has_perhaps and dict_kind(owner) is not None and _is_hashable(key) and is_perhaps(owner.get(key)):
            return self._setdefault(owner, key, lambda: (make(), True))
        return self.call(owner.setdefault)(key, make())

    def _setdefault(self, owner: dict[Any, Any], key: Any, make: Callable[[], tuple[Any, bool]]) -> Any:
        present = self.presence(owner[key])
        if present is True:
            return owner[key].held
        self._set_where_absent(owner, key, present, make)
        return read_key(owner[key], key)

    def _set_where_absent(
        self, owner: dict[Any, Any], key: Any, present: Any, make: Callable[[], tuple[Any, bool]]
    ) -> None:
        """Set a key on the paths on which a dict has it not to what ``make`` returns, with whether nothing else holds that.

        What the dict would hold there is nothing on these paths, so it becomes that, where it can. Else two lists of which neither
        could be the other are values of one key only in a dict with traced keys, so the dict becomes one.
        """
        if self.journal.copies.count > UNROLLED_AT_MOST and is_own_dict_of_lists(owner):
            self.end_trace(owner, "A key that only some paths have set is set in each of many iterations")
        held = owner[key].held
        became: list[Any] = []

        def set_key() -> None:
            value, is_new = make()
            if is_new and isinstance(held, list | dict) and type(held) is type(value):
                self.journal.touch(ContentsPlace(held))
                ContentsPlace(held).set(contents(value))
                self.identities.note_contents(held)
                became.append(held)
            else:
                self.set_item(owner, key, value)

        try:
            self.if_stmt(present, _nowhere, set_key, ())
        except StagingError:
            self.end_trace(owner, "A key that only some paths have set gets a value where it is absent")
            raise
        if became:
            self.journal.touch_contents(owner)
            own_class(owner).__setitem__(owner, key, self.store(owner, key, held))

    def update(self, owner: dict[Any, Any], other: Mapping[Any, Any]) -> None:
        """Set the keys of a dict that may lack some of them."""
        for key, value in list(other.items()):
            if not is_perhaps(value):
                self.set_item(owner, key, value)
                continue
            present = self.presence(value)
            if present is not False:
                self.if_stmt(
                    present, lambda key=key, value=value: _nothing(self.set_item(owner, key, value.held)), None, ()
                )

    def may_lack_keys(self, one: dict[Any, Any], other: dict[Any, Any]) -> bool:
        """Whether two dicts may be equal though one lacks keys of the other, or be unequal though neither seems to."""
        return _are_counters(one, other) or has_perhaps((*one.values(), *other.values()))

    def equal(self, one: dict[Any, Any], other: dict[Any, Any]) -> Any:
        """Whether two dicts, of which one may lack keys, are equal. To `Counter`s, which may lack any, it is as none of that."""
        result: Any = True
        are_counters = _are_counters(one, other)
        for key in dict.fromkeys([*one, *other]):
            if are_counters:
                same = self.equals(self.get(one, key, 0), self.get(other, key, 0))
            else:
                same = self._same(one.get(key, _NOTHING), other.get(key, _NOTHING))
            if same is False:
                return False
            result = same if result is True else result & same
        return result

    def _same(self, one: Any, other: Any) -> Any:
        mine, theirs = (False if value is _NOTHING else self.presence(value) for value in (one, other))
        if mine is False and theirs is False:
            return True
        if mine is False or theirs is False:
            there = theirs if mine is False else mine
            return False if there is True else ~there
        values = [value.held if is_perhaps(value) else value for value in (one, other)]
        if mine is True and theirs is True:
            return self.equals(*values)
        both = mine & theirs if mine is not True and theirs is not True else theirs if mine is True else mine
        neither = ~mine & ~theirs if mine is not True and theirs is not True else False
        return (both & self.equals(*values)) | neither

    def method(self, called: Any) -> Callable[..., Any] | None:
        """What to call in place of a method of a dict which has, or is given, keys that may be absent; else None."""
        owner, name = called.__self__, called.__name__
        if name in VIEWS_OF and has_perhaps(owner.values()):
            return lambda: VIEWS_OF[name](owner, called, self.items_in)
        if not LOCAL.has_perhaps or name not in ("pop", "setdefault", "update", "popitem", "__contains__"):
            return None

        def call(*args: Any, **kwargs: Any) -> Any:
            if name == "update":
                given = dict(*args, **kwargs)
                return self.update(owner, given) if has_perhaps((*owner.values(), *given.values())) else called(given)
            if name == "popitem" and has_perhaps(owner.values()):
                self.check_order(owner)
                if self.presence(owner[list(owner)[-1]]) is not True:
                    if is_own_dict(owner):
                        self.end_trace(owner, "The last key of a dict is taken, and only some paths have set it")
                    raise self._last_unknown()
            if name == "popitem" or not is_perhaps(owner.get(args[0] if args else None)):
                return called(*args, **kwargs)
            method: Any = getattr(self, name.strip("_"))
            return method(owner, *args, **kwargs)

        return call

    def _last_unknown(self) -> StagingError:
        return StagingError(
            f"{user_location()}\n  `popitem` takes the last key of a dict, and only some paths of a traced condition have set it.\n"
            "  Take it by name: pop(key)."
        )

    # Of calls.

    def taking(self, called: Any, made: Callable[..., Any], is_told: bool) -> Callable[..., Any]:
        """``made``, which is called in place of ``called``, so that it may be given keywords that may be absent.

        Args:
          is_told: whether it knows of dicts and objects that may lack something.
        """

        def call(*args: Any, **kwargs: Any) -> Any:
            if not LOCAL.has_perhaps:
                return made(*args, **kwargs)
            if has_perhaps(kwargs.values()):
                return self.keywords(functools.partial(self.taking(called, made, is_told), *args), kwargs)
            args = tuple(map(read, args))
            if not is_told and is_given_flat(called) and "is_leaf" not in kwargs:
                args, kwargs = sorted_as_by_jax((args, kwargs))
            if not is_told:
                name = getattr(called, "__name__", None) or type(called).__name__
                self.refuse_in(name, [getattr(called, "__self__", None), *args, *kwargs.values()])
            return made(*args, **kwargs)

        return call

    def keywords(self, called: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
        """``called(**kwargs)`` where some of the keywords may be absent."""
        absent = [name for name, value in kwargs.items() if is_perhaps(value) and self.presence(value) is not True]
        if len(absent) > _MOST_CALLS:
            raise StagingError(
                f"{user_location()}\n  {len(absent)} keywords of this call may be absent, {', '.join(map(repr, absent))}: each doubles "
                f"how often it is traced, and at most {_MOST_CALLS} may be.\n  Set the keys on every path, or pass the dict itself."
            )
        given = {name: value.held if is_perhaps(value) else value for name, value in kwargs.items()}
        return self._with_and_without([(name, kwargs[name]) for name in absent], called, given)

    def _with_and_without(self, absent: Sequence[tuple[str, Perhaps]], called: Callable[..., Any], given: Any) -> Any:
        """``called(**given)``, by branches with and without each of the keywords that may be absent."""
        if not absent:
            return called(**given)
        (name, value), *rest = absent
        without = {each: held for each, held in given.items() if each != name}
        present = self.presence(value)
        if present is False:
            return self._with_and_without(rest, called, without)
        return self.if_exp(
            present,
            lambda: self._with_and_without(rest, called, given),
            lambda: self._with_and_without(rest, called, without),
        )

    def refuse_in(self, name: str, values: Iterable[Any]) -> None:
        """Refuse to hand a dict or an object that may lack something to code that does not know of that.

        Raises:
          StagingError: one of the values holds such.
        """
        for value in _found(values):
            if value.absence.is_moved and is_known(value.present):
                raise StagingError(
                    f"{user_location()}\n  The order of a dict's keys is read here, by {name}, and paths of a traced condition differ in "
                    f"where {value.absence.key!r} comes.\n  Set the keys in one order on all paths, or read them by name."
                )
            raise StagingError(
                f"{user_location()}\n  {value.absence.key!r} may be absent in a value that {name} reads: one path of a traced condition "
                f"sets it, another does not, and {name} is not converted.\n  Set it on every path before this call."
            )


def holds_keyed(value: Any) -> bool:
    """Whether this is a dict of which only run time knows the keys, or a tuple, list or dict with one in it."""
    if isinstance(value, KeyedList):
        return value.stands_for is dict
    if type(value) in (tuple, list):
        return any(map(holds_keyed, value))
    return type(value) is dict and any(map(holds_keyed, value.values()))


def _are_counters(one: Any, other: Any) -> bool:
    return isinstance(one, Counter) and isinstance(other, Counter)


def makes_missing(owner: Any) -> TypeGuard[defaultdict[Any, Any]]:
    """Whether reading a key that a dict has not gives it that key."""
    return isinstance(owner, defaultdict) and owner.default_factory is not None


def _nowhere() -> None:
    """Do nothing."""


def _nothing(_: Any) -> None:
    return None


def _is_hashable(item: Any) -> bool:
    try:
        hash(item)
    except TypeError:
        return False
    return True


def _owner(container: Any) -> Mapping[Any, Any] | None:
    """The dict, some of whose keys may be absent, that this is, or is a view of."""
    if isinstance(container, dict):
        owner: Any = container
    elif isinstance(container, VIEWS) and hasattr(container, "mapping"):
        owner = container.mapping
    else:
        return None
    return owner if has_perhaps(owner.values()) else None


def _found(values: Iterable[Any]) -> Iterator[Perhaps]:
    """What may be absent in values, and in the containers and objects that they lead to."""
    pending, seen = list(values), set[int]()
    while pending and len(seen) < _WALKED_AT_MOST:
        value = pending.pop()
        if is_perhaps(value):
            yield value
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, VIEWS) and hasattr(value, "mapping"):
            pending += value.mapping.values()
        elif (items := items_of_sequence(value)) is not None:
            pending += items
        elif is_plain_object(value):
            pending += attributes_of(value).values()
