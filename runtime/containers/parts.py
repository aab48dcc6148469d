"""Find the lists, dicts and objects inside a value, with their paths, and rebuild the value from replaced parts."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax

from autograph.runtime.code.library_table import is_library
from autograph.runtime.containers.iterables import UNROLLED_AT_MOST
from autograph.runtime.containers.traced_lists import TracedList, is_array_list, is_traced_list
from autograph.runtime.layouts.describe import is_leaf
from autograph.runtime.layouts.dict_kinds import dict_kind
from autograph.runtime.layouts.objects import attributes_of, is_plain_object, is_state
from autograph.runtime.layouts.one_of import OneOf, candidates_of, code_of
from autograph.runtime.layouts.optional import Optional, held_in, with_held
from autograph.runtime.layouts.perhaps import Perhaps, each_leaf
from autograph.runtime.layouts.references import is_reference
from autograph.runtime.layouts.statement_variables import has_contents, write_into

Path = tuple[Any, ...]
WHOLE = (set, collections.deque, bytearray)  # which are one leaf to JAX


def parts_of(value: Any, closed: frozenset[int] = frozenset()) -> dict[Path, Any]:
    """What is mutable in a value: containers and objects, outer ones first. An `Optional` is what it may hold.

    An object has its class in its path: it is found there, too, where it is one of several of different classes. Left out are
    the objects whose identities are ``closed``, and references, and what they hold.
    """
    return dict(_parts(value, (), closed))


def lists_in_arrays(values: Iterable[Any]) -> set[int]:
    """The identities of the lists in these values whose elements one array holds."""
    return {id(part) for value in values for part in parts_of(value).values() if is_array_list(part)}


def unstack_lists(value: Any, in_arrays: set[int], writes: Callable[[Any], bool]) -> None:
    """Let lists inside a value hold their elements one by one, as on paths where no traced index has been written.

    Those that the block ``writes``, and that were not ``in_arrays`` when it began.
    """
    for part in parts_of(value).values():
        if part is value or not is_array_list(part) or is_traced_list(part) or len(part) > UNROLLED_AT_MOST:
            continue
        if id(part) not in in_arrays and writes(part):
            part.unstack()


def has_new_elements(place: Any, before: Any) -> bool:
    """Whether a block has put lists, dicts or objects into a list that were not in it before."""
    owner, now = getattr(place, "owner", None), place.get()
    if type(now) is not tuple or not isinstance(owner, TracedList) or not isinstance(before, tuple):
        return False
    known = set(map(id, before))
    new = [part for part in now if id(part) not in known]
    return any(isinstance(part, list | dict) for element in new for part in parts_of(element).values())


def _parts(value: Any, path: Path, around: frozenset[int]) -> Iterator[tuple[Path, Any]]:
    if is_leaf(value) or id(value) in around or is_reference(value):
        return
    if isinstance(value, Optional | Perhaps):
        yield from _parts(held_in(value) if isinstance(value, Optional) else value.held, path, around)
        return
    if isinstance(value, WHOLE):
        yield path, value
        return
    if type(value) is OneOf:
        for place, candidate in _candidates(value, path):
            yield from _parts(candidate, place, around)
        return
    path = _with_class(path, value)
    children = _children(value)
    if children is None:
        return
    if not isinstance(value, tuple) and (
        isinstance(value, list | dict) or is_plain_object(value) or not is_library(type(value))
    ):
        yield path, value
    around |= {id(value)}
    for key, child in children:
        if not is_leaf(child):
            yield from _parts(child, (*path, key), around)


class _Of:
    """A step of a path: to an object of this class, the first, second … of those that a value may be."""

    def __init__(self, kind: type, number: int) -> None:
        self._key = kind, number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Of) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _with_class(path: Path, value: Any) -> Path:
    is_there = bool(path) and isinstance(path[-1], _Of)
    return path if is_there or not is_plain_object(value) else (*path, _Of(type(value), 0))


def _candidates(value: OneOf, path: Path) -> Iterator[tuple[Path, Any]]:
    """What a value may be, each with its path: an object by its class; what is none where the value is, as one at most holds containers."""
    count: collections.Counter[type] = collections.Counter()
    for candidate in candidates_of(value):
        kind = type(candidate)
        if not is_plain_object(candidate):
            yield path, candidate
            continue
        yield (*path, _Of(kind, count[kind])), candidate
        count[kind] += 1


def _children(value: Any) -> list[tuple[Any, Any]] | None:
    """The parts that JAX would take the value apart into, objects into attributes; None if it has none of its own."""
    if has_contents(value):
        contents = value.contents()
        return list(enumerate(contents)) if isinstance(contents, tuple) else []
    if type(value) in (list, tuple):
        return list(enumerate(value))
    if dict_kind(value) is not None:
        return list(value.items())
    if is_plain_object(value):
        return list(attributes_of(value).items())
    if is_state(value):
        return None
    leaves = jax.tree_util.tree_leaves(value, is_leaf=lambda part: part is not value)
    return None if len(leaves) == 1 and leaves[0] is value else list(enumerate(leaves))


def placed(value: Any, container_for: Callable[[Path, Any], tuple[Any, bool]], path: Path = ()) -> Any:
    """A newly built value, with what ``container_for`` returns for each list, dict or object instead of that.

    What takes the place of a list or dict gets its contents. With each comes whether what it holds is to be placed.
    """
    if is_leaf(value) or is_reference(value):
        return value
    if isinstance(value, Optional):
        return with_held(value, placed(held_in(value), container_for, path))
    if isinstance(value, Perhaps):
        return each_leaf(value, lambda held: placed(held, container_for, path))
    if isinstance(value, WHOLE):
        return container_for(path, value)[0]
    if type(value) is OneOf:
        candidates = [placed(each, container_for, place) for place, each in _candidates(value, path)]
        same = all(a is b for a, b in zip(candidates, candidates_of(value), strict=True))
        return value if same else OneOf(candidates, code_of(value))
    path = _with_class(path, value)
    children = _children(value)
    if children is None:
        return value
    target, goes_on = (value, True) if isinstance(value, tuple) else container_for(path, value)
    if not goes_on:
        return target
    built = [(key, placed(child, container_for, (*path, key))) for key, child in children]
    same = all(new is old for (_, new), (_, old) in zip(built, children, strict=True))
    if isinstance(value, list | dict):
        if not same or target is not value:
            _fill(target, value, built)
        return target
    if same or target is not value:
        return target
    if is_plain_object(value):
        for (key, part), (_, old) in zip(built, children, strict=True):
            if part is not old:
                object.__setattr__(value, key, part)
        return value
    if isinstance(value, tuple):
        return type(value)(*(p for _, p in built)) if hasattr(value, "_fields") else type(value)(p for _, p in built)
    treedef = jax.tree_util.tree_structure(value, is_leaf=lambda part: part is not value)
    return jax.tree_util.tree_unflatten(treedef, [part for _, part in built])


def _fill(target: Any, value: Any, built: list[tuple[Any, Any]]) -> None:
    """Replace the contents of a list or dict by those of ``value``, with new parts."""
    if has_contents(value):
        contents = value.contents()
        new: Any = tuple(part for _, part in built) if isinstance(contents, tuple) else contents
        if has_contents(target):
            target.set_contents(new)
        else:
            target[:] = new
        return
    if isinstance(value, list):
        write_into(target, [part for _, part in built])
        return
    new = dict(built) if dict_kind(value) is not None else dict(zip(value, _values_in_order(value, built), strict=True))
    write_into(target, new)


def _values_in_order(value: Any, built: list[tuple[Any, Any]]) -> list[Any]:
    """The new values of a dict of another class, which JAX may order by its keys, in its own order."""
    leaves = jax.tree_util.tree_leaves(value, is_leaf=lambda part: part is not value)
    new = {id(leaf): part for leaf, (_, part) in zip(leaves, built, strict=True)}
    return [new[id(part)] for part in value.values()]
