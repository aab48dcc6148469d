"""Where the steps of an iteration, from node to node, lead when they are taken again and again.

An iteration that goes from one node to the next (``node = node.next``) shows one more of those that the variable may be: found by
tracing alone, a chain of n nodes takes n rounds. What an iteration has gone through is told by the attributes that lead from what the
variable held to what it holds, so the loop's variable may be, from the next round on, each node that these lead to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from autograph.runtime.layouts.kinds import Alternatives, Array, Layout, Maybe, Static
from autograph.runtime.layouts.objects import attributes_of, is_plain_object
from autograph.runtime.layouts.one_of import MOST_CANDIDATES
from autograph.runtime.layouts.optional import possible_values
from autograph.runtime.layouts.sides import CODE_TYPE

_LONGEST = 3  # steps of one iteration: `fast.next.next`
_Steps = tuple[str, ...]


def with_further_steps(before: Maybe, after: Maybe) -> Maybe:
    """The layout of a variable after an iteration, as one that may also be what the same steps lead to from there."""
    starts = _objects_of(before)
    if not starts:
        return after
    known = set(map(id, starts))
    new = [each for each in _objects_of(after) if id(each) not in known]
    if not new:
        return after
    found = _led_to([*starts, *new], _steps_between(starts, new))
    return _with_objects(after, found[len(starts) + len(new) :])  # type: ignore[return-value]


def _objects_of(layout: Layout) -> list[Any]:
    """The objects from before the loop that a value of this layout may be."""
    if isinstance(layout, Maybe):
        return _objects_of(layout.inner)
    parts = layout.objects if isinstance(layout, Alternatives) else [layout]
    return [each.value for each in parts if isinstance(each, Static) and is_plain_object(each.value)]


def _with_objects(layout: Layout, objects: Sequence[Any]) -> Layout:
    if not objects:
        return layout
    if isinstance(layout, Maybe):
        return Maybe(_with_objects(layout.inner, objects), layout.tag, layout.absence)
    known = layout.objects if isinstance(layout, Alternatives) else (layout,)
    return Alternatives([*known, *map(Static, objects)], Array(CODE_TYPE))


def _steps_between(starts: Iterable[Any], ends: Iterable[Any]) -> set[_Steps]:
    """The shortest ways from some objects to others, by the names of attributes; none for an end that is too far."""
    missing = set(map(id, ends))
    found: set[_Steps] = set()
    level: dict[int, tuple[Any, set[_Steps]]] = {id(each): (each, {()}) for each in starts}
    seen = set(level)
    for _ in range(_LONGEST):
        further: dict[int, tuple[Any, set[_Steps]]] = {}
        for value, ways in level.values():
            for name in attributes_of(value):
                for part in _held(value, name):
                    if id(part) not in seen:
                        _, known = further.setdefault(id(part), (part, set()))
                        known |= {(*way, name) for way in ways}
        for key in missing & further.keys():
            found |= further[key][1]
        missing -= further.keys()
        if not missing:
            break
        seen |= further.keys()
        level = further
    return found


def _led_to(starts: Sequence[Any], steps: Iterable[_Steps]) -> list[Any]:
    """These objects, and those of their classes that the steps lead to, as many as a variable may be one of."""
    kinds = set(map(type, starts))
    found = list(starts)
    known = set(map(id, found))
    for value in found:
        for each in (part for way in steps for part in _at_end(value, way)):
            if len(found) < MOST_CANDIDATES and type(each) in kinds and id(each) not in known:
                known.add(id(each))
                found.append(each)
    return found


def _at_end(value: Any, way: _Steps) -> Iterator[Any]:
    if not way:
        yield value
        return
    for part in _held(value, way[0]):
        yield from _at_end(part, way[1:])


def _held(owner: Any, name: str) -> list[Any]:
    """The objects that an attribute may hold."""
    return [each for each in possible_values(attributes_of(owner).get(name)) if is_plain_object(each)]
