"""What class a value is of, and which attributes it has, where it may be one of several objects, or None."""

from __future__ import annotations

import builtins
import collections.abc
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from autograph.backends.base import Backend
from autograph.runtime.code.code_names import class_attribute
from autograph.runtime.containers.keyed_lists import KeyedList
from autograph.runtime.containers.padded_arrays import PaddedArray
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.containers.unordered_lists import UnorderedList
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.heap.places import AttributePlace
from autograph.runtime.heap.unknown import check_known
from autograph.runtime.layouts.objects import attributes_of, is_plain_object
from autograph.runtime.layouts.one_of import CODE, OneOf, candidates_of, code_of, each_purely, takes_branches
from autograph.runtime.layouts.optional import Optional, absent_in, held_in, is_known, present_in
from autograph.runtime.layouts.statement_variables import has_contents, items_of_sequence, stands_for_text
from autograph.runtime.staging.access.numbers import is_traced_number, python_number
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import LOCAL

# What arrays have, and a number, an array without dimensions, has not.
_OF_CONTAINERS = frozenset(getattr(collections.abc, name) for name in ("Collection", "Container", "Iterable", "Sized"))
_METHODS_OF_CONTAINERS = frozenset(["__contains__", "__getitem__", "__iter__", "__len__"])
_MISSING: Any = object()
_SELF_MATCHING = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


class ClassTests(InTrace):
    """``isinstance`` and its like, and class patterns.

    Args:
      presence: of `Absences`.
      has_computed: ``hasattr`` of an attribute that code of the user's computes.
    """

    def __init__(
        self,
        backend: Backend,
        trace: Callable[[], Trace],
        presence: Callable[[Any], Any],
        has_computed: Callable[[Any, str], Any],
    ) -> None:
        super().__init__(trace)
        self.backend = backend
        self.presence = presence
        self.has_computed = has_computed

    def overloads(self) -> Mapping[Any, Callable[..., Any]]:
        return {
            builtins.isinstance: self._isinstance,
            builtins.hasattr: lambda value, name: self._asked(value, lambda one: self._has(one, name)),
            builtins.issubclass: lambda kind, kinds: self._asked(kind, lambda one: issubclass(one, kinds)),
            builtins.callable: lambda value: self._asked(value, callable),
            builtins.type: self._type,
        }

    def _has(self, value: Any, name: str) -> Any:
        if name in _METHODS_OF_CONTAINERS and is_traced_number(value):
            return False
        computed = class_attribute(type(value), name)
        if (
            isinstance(computed, property)
            and isinstance(computed.fget, types.FunctionType)
            and not self.backend.is_eager()
        ):
            return self.has_computed(value, name)
        if not hasattr(value, name) or not LOCAL.has_perhaps:
            return hasattr(value, name)
        return self.presence(AttributePlace(value, name).get())

    def _isinstance(self, value: Any, kinds: Any) -> Any:
        if type(kinds) is OneOf:
            return each_purely(kinds, lambda kind: self._isinstance(value, kind))
        return self._asked(value, lambda one: _is_instance(one, kinds))

    def matches_class(self, value: Any, kind: Any, names: Sequence[int | str]) -> Any:
        """Whether a value is what ``case kind(…)`` matches.

        Args:
          names: of the attributes that its patterns name; the numbers of the positional ones.
        """
        if not isinstance(kind, type):
            raise TypeError("called match pattern must be a class")

        def fits(one: Any) -> Any:
            if not _is_instance(one, kind):
                return False
            found: Any = True
            for name in _attributes(kind, names):
                has = name is None or self._has(one, name)
                if has is False:
                    return False
                found = has if found is True else found if has is True else found & has
            return found

        return self._asked(value, fits)

    def matches_sequence(self, value: Any, count: int, has_star: bool) -> Any:
        """Whether a value is a sequence of so many items, or with a star of no fewer: a traced bool where only run time knows."""

        def fits(one: Any) -> Any:
            match _as_python_has(one):
                case [*_] if has_star and not count:
                    return True
                case [*_]:
                    size = LANGUAGE.operators.call(len)(one)
                    return size >= count if has_star else size == count
            return False

        return self._asked(value, fits)

    def known_class(self, value: Any) -> Any:
        """A subject whose patterns Python matches: it, and what it holds, is of a class that is known."""
        seen: set[int] = set()
        pending = [value]
        while pending:
            part = pending.pop()
            if type(part) is OneOf and takes_branches(part):
                kinds = sorted({type(one).__name__ for one in candidates_of(part)})
                raise StagingError(
                    f"{user_location()}\n  A subject of this match has one of the classes {', '.join(kinds)}, selected at run time, "
                    "and a class pattern contains a mapping pattern.\n  Test isinstance first, and match "
                    "the attributes of the object."
                )
            if id(part) not in seen:
                seen.add(id(part))
                pending += attributes_of(part).values() if is_plain_object(part) else ()
                pending += part if isinstance(part, list | tuple) else ()
                pending += part.values() if isinstance(part, dict) else ()
        return value

    def positional(self, value: Any, kind: type, number: int) -> Any:
        """What the positional pattern of this number, in ``case kind(…)``, is matched against."""
        (name,) = _attributes(kind, [number])
        return value if name is None else LANGUAGE.operators.get_attr(value, name)

    def from_end(self, value: Any, count: int) -> Any:
        """The item that a sequence pattern takes from the end, the ``count``-th: by its index, for sequences of the user's."""
        if items_of_sequence(value) is not None or has_contents(value):
            return LANGUAGE.operators.get_item(value, -count)
        return LANGUAGE.operators.get_item(value, LANGUAGE.operators.call(len)(value) - count)

    def _asked(self, value: Any, ask: Callable[[Any], Any]) -> Any:
        """What ``ask`` says of a value, a traced bool where only run time knows what that is."""
        if type(value) is OneOf:
            return each_purely(value, lambda one: self._asked(one, ask))
        if type(value) is not Optional or is_known(present_in(value)):
            return ask(held_in(value) if type(value) is Optional else value)
        present = present_in(value)
        if is_known(present, False):
            return ask(absent_in(value))
        of_value, of_none = self._asked(held_in(value), ask), ask(absent_in(value))
        if of_value is of_none or not self.backend.is_traced(present):
            return (of_value if present else of_none) if of_value is not of_none else of_none
        facts, (is_there, is_not) = self.facts.of(of_value), self.facts.saying(present)
        if of_none:
            found = ~present if of_value is False else ~present | of_value
            self.facts.note(found, (), (*is_there, *facts[1]))
        else:
            found = present if of_value is True else present & of_value
            self.facts.note(found, (*is_there, *facts[0]), is_not if of_value is True else ())
        return found

    def _type(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs:
            return type(*args, **kwargs)
        (value,) = args
        check_known(value)
        if type(value) is Optional and not is_known(present_in(value)):
            return self._type_of_optional(value)
        if type(value) is Optional:
            value = held_in(value)
        if type(value) is OneOf:
            return each_purely(value, self._type)
        number = python_number(value)
        return type(_as_python_has(value) if number is None else number)

    def _type_of_optional(self, value: Optional) -> Any:
        present, held, none = present_in(value), held_in(value), type(absent_in(value))
        if is_known(present, False):
            return none
        if type(held) is OneOf:
            kinds = [none, *map(self._type, candidates_of(held))]
            return OneOf(kinds, jnp.where(present, code_of(held) + 1, 0).astype(CODE))
        return OneOf((none, self._type(held)), present.astype(CODE))


def _is_instance(value: Any, kinds: Any) -> bool:
    """``isinstance``, in which a deque, or a tuple, is no list, and an array of traced length is an array.

    What stands for a number of Python's is that, and an array: code of either sort asks.
    """
    if isinstance(value, PaddedArray):
        value = value.values
    check_known(value)
    number = python_number(value)
    if is_traced_number(value) and any(kind in _OF_CONTAINERS for kind in _origins(kinds)):
        kinds = tuple(kind for kind in _origins(kinds) if kind not in _OF_CONTAINERS)
    return isinstance(_as_python_has(value), kinds) or (number is not None and isinstance(number, kinds))


def _origins(kinds: Any) -> list[Any]:
    """The classes that `isinstance` is given, alone, in a tuple or in a union."""
    if isinstance(kinds, tuple):
        return [kind for each in kinds for kind in _origins(each)]
    if isinstance(kinds, types.UnionType):
        return _origins(kinds.__args__)
    return [getattr(kinds, "__origin__", kinds)]


def _as_python_has(value: Any) -> Any:
    """A value of the class that Python's would be of."""
    if isinstance(value, KeyedList) and not isinstance(value, UnorderedList):
        return value.plain()
    if stands_for_text(value):
        return ""
    return value.stands_for() if isinstance(value, TracedList) else value


def _attributes(kind: type, names: Sequence[int | str]) -> list[str | None]:
    """The attributes that a class pattern asks for; None for the value itself, as with ``int(x)``."""
    positions = [name for name in names if isinstance(name, int)]
    known = getattr(kind, "__match_args__", _MISSING) if positions else ()
    if known is _MISSING:
        known = (None,) if issubclass(kind, _SELF_MATCHING) else ()
    elif type(known) is not tuple:
        raise TypeError(f"{kind.__name__}.__match_args__ must be a tuple (got {type(known).__name__})")
    elif (other := next((name for name in known if not isinstance(name, str)), _MISSING)) is not _MISSING:
        raise TypeError(f"__match_args__ elements must be strings (got {type(other).__name__})")
    if positions and positions[-1] >= len(known):
        plural = "" if len(known) == 1 else "s"
        raise TypeError(
            f"{kind.__name__}() accepts {len(known)} positional sub-pattern{plural} ({len(positions)} given)"
        )
    found = [known[name] if isinstance(name, int) else name for name in names]
    twice = next((name for k, name in enumerate(found) if name in found[:k]), None)
    if twice is not None:
        raise TypeError(f"{kind.__name__}() got multiple sub-patterns for attribute {twice!r}")
    return found
