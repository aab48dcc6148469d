"""What may be done in any order of the elements of a set, of which only run time knows the order."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from autograph.runtime.containers.keyed_lists import KeyedList
from autograph.runtime.containers.traced_dicts import TracedDict
from autograph.runtime.containers.traced_lists import TracedList, is_array_list
from autograph.runtime.containers.traced_sets import is_set
from autograph.runtime.containers.unordered_dicts import let_go_of_order
from autograph.runtime.containers.unordered_lists import UnorderedList, can_let_go_of_order
from autograph.runtime.layouts.statement_variables import holds_traced, value_of
from autograph.runtime.staging.access.absences import makes_missing
from autograph.runtime.state.given_arrays import PlaceOfArray
from autograph.runtime.tracing.language import LANGUAGE

if TYPE_CHECKING:
    from autograph.runtime.staging.builtins.reductions import Generator

_ASKED = (str, list, tuple, dict, set, frozenset, range)
NUMBERS = (int, float, complex, np.ndarray, np.generic, jax.Array)


def in_any_order(
    iterable: Any,
    *changed: Any,
    asked: tuple[Any, ...] = (),
    written: tuple[Any, ...] = (),
    assigned: tuple[Any, ...] = (),
    keyed: tuple[Any, ...] = (),
    appended: tuple[Any, ...] = (),
) -> Any:
    """What a loop goes over whose iterations may come in any order if what they change are numbers, or sets.

    ``asked``: what they ask for items, which that must not change. ``written``: what they write items of, if these are numbers,
    ``assigned``: those that need not be there; then ``asked`` is all that they read. ``keyed``: what they write items of that only one
    iteration has, or that they add to, and that need not be there: dicts, which have no order then. ``appended``: what they append to,
    and read nothing of: lists, which have no order then.
    """
    if not isinstance(iterable, KeyedList) or iterable.has_order:
        return iterable
    is_kept = all(isinstance(each, NUMBERS) or is_set(each) for each in map(value_of, changed))
    is_kept = is_kept and all(isinstance(each, (*_ASKED, *NUMBERS, PlaceOfArray)) for each in asked)
    if written or assigned or keyed or appended:
        is_kept = is_kept and all(isinstance(each, dict | TracedDict) for each in keyed)
        is_kept = is_kept and all(map(can_let_go_of_order, appended))
        is_kept = is_kept and _are_apart((*written, *assigned, *keyed), (*changed, *asked), appended)
    if not is_kept or any(map(makes_missing, asked)):
        return iterable
    growing = [*assigned, *keyed, *filter(_may_grow, written), *filter(_grows_when_read, asked)]
    if not all([_let_go_of_order(each) for each in growing]):
        return iterable
    for each in appended:
        each.__class__ = UnorderedList
    return iterable.members()


def _let_go_of_order(owner: Any) -> bool:
    """Whether this has no order of its keys from now on, or no keys."""
    if isinstance(owner, dict):
        LANGUAGE.operators.keys.end_trace(owner, "A dict is given the elements of a set as its keys")
        return False
    if isinstance(owner, TracedDict):
        let_go_of_order(owner)
    return True


def _may_grow(owner: Any) -> bool:
    """Whether ``owner[k] += v``, or asking it for an item, may give it a key."""
    kind = owner.kind if isinstance(owner, TracedDict) else type(owner)
    return kind in (collections.Counter, collections.defaultdict)


def _grows_when_read(owner: Any) -> bool:
    """Whether ``owner[k]`` may give it a key."""
    return isinstance(owner, TracedDict) and owner.kind is collections.defaultdict and owner.factory is not None


def noting_keys(generator: Generator, are_own: list[bool]) -> Generator:
    """The same; it notes whether the pairs that it makes tell of an item which one it is by their key, or have one value for all."""
    if generator.is_nested:
        are_own.append(False)
        return generator

    def element(*arguments: Any) -> Any:
        made = generator.element(*arguments)
        if not (isinstance(made, tuple) and len(made) == 2):
            are_own.append(False)
            return made
        (item,) = arguments if generator.unpack is None else (arguments,)
        keyed = set(map(id, jax.tree_util.tree_leaves(made[0])))
        is_own = keyed.issuperset(map(id, jax.tree_util.tree_leaves(item[0] if generator.has_own_keys else item)))
        are_own.append(is_own or not holds_traced(made[1]))
        return made

    return dataclasses.replace(generator, element=element)


def _are_apart(written: Sequence[Any], others: Sequence[Any], appended: Sequence[Any]) -> bool:
    """Whether writes to items of these change numbers that no two of them, and none of the others, have; ``appended`` are none of those."""
    arrays = [each for each in (*written, *others) if isinstance(each, PlaceOfArray | np.ndarray)]
    is_array_written = any(isinstance(each, PlaceOfArray | np.ndarray) for each in written)
    return (
        all(map(_holds_numbers, written))
        and all(is_set(each) or _holds_numbers(each) for each in others if isinstance(each, list | dict | tuple))
        and len({*map(id, (*written, *appended)), *map(id, others)})
        == len(written) + len(appended) + len(set(map(id, others)))
        and (not is_array_written or len(arrays) == 1)
    )


def _holds_numbers(owner: Any) -> bool:
    """Whether this is an array, or a list or dict of numbers, of which a write changes no more than an item that is there."""
    if isinstance(owner, PlaceOfArray | jax.Array | np.ndarray):
        return True
    if is_set(owner) or (makes_missing(owner) and owner.default_factory not in (int, float)):
        return False
    if isinstance(owner, TracedDict):
        is_of_numbers = owner.kind in (dict, collections.Counter) or owner.factory in (int, float)
        return is_of_numbers and _holds_numbers(TracedList((), owner.checks).holding(owner.members_of(1).contents()))
    if isinstance(owner, TracedList) and is_array_list(owner):
        held = owner.contents()
        return held.kind.is_array and not held.types[0].shape
    items = owner.values() if isinstance(owner, dict) else owner if isinstance(owner, list) else (owner,)
    return all(isinstance(each, NUMBERS) and not isinstance(each, np.ndarray) for each in items)
