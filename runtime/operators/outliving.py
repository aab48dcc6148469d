"""Traced values that a compiled function leaves on objects which outlive its trace: refused when the trace ends.

The function's Python runs once for each trace; what it writes to an attribute of an object from outside, or to a
global, would stay the value of that trace, which nothing can read. While a trace runs the `Journal` notes the first
write to each place. Objects that the trace itself made, its arguments rebuilt from arrays among them, are no concern.
"""

from __future__ import annotations

import collections
import gc
import sys
import types
from typing import Any

import jax

from autograph.runtime.errors import StagingError
from autograph.runtime.operators.journal import Watch
from autograph.runtime.operators.library_table import is_library
from autograph.runtime.operators.places import AttributePlace, ContentsPlace
from autograph.runtime.operators.state import CellVariable, GlobalVariable, flatten

_MOST_OBJECTS = 20_000
_CONTAINERS = frozenset(
    {dict, list, tuple, set, frozenset, collections.deque, collections.OrderedDict, collections.defaultdict}
    | {types.CellType, types.MethodType, types.MappingProxyType, AttributePlace, CellVariable, GlobalVariable}
)
_NO_CONTAINERS = (type, types.ModuleType, types.FunctionType, types.FrameType, jax.Array)


def refuse_outliving(watch: Watch, received: Any, result: Any) -> None:
    """Raise if a place that was written still holds a traced value, and something besides the trace refers to it.

    All places get back what they held. ``received`` and ``result`` are what the function was given and gives.
    """
    fresh = _rebuilt(received) | _rebuilt(result)
    offending = [
        (place, where)
        for place, _, where in watch.entries()
        if id(getattr(place, "owner", None)) not in fresh and _holds_traced(place.get()) and watch.outlives(place)
    ]
    if offending:  # a frame that a caught exception knows may be all that refers to it, in a cycle
        gc.collect()
        offending = [(place, where) for place, where in offending if watch.outlives(place)]
    if offending:  # objects that refer to each other, as nodes do
        known = _held_elsewhere(watch, fresh)
        if known is not None:
            offending = [
                (place, where)
                for place, where in offending
                if isinstance(place, GlobalVariable) or id(_subject(place)) in known
            ]
    if not offending:
        return
    watch.roll_back()
    place, where = offending[0]
    subject = "attribute" if isinstance(place, AttributePlace) else "variable"
    others = sorted({other.name for other, _ in offending[1:]} - {place.name})
    more = f" So do {', '.join(repr(name) for name in others)}." if others else ""
    raise StagingError(
        f"{where}\n  The {subject} {place.name!r} outlives this call and would keep a traced value, which has a meaning only while "
        f"the function is traced: this line runs once for each trace, not on each call.{more}\n"
        "  Make it an autograph.Variable and assign to it, or return the value and store it outside."
    )


def _holds_traced(value: Any) -> bool:
    return any(isinstance(leaf, jax.core.Tracer) for leaf in flatten(value)[0])


def _subject(place: AttributePlace | ContentsPlace | CellVariable) -> Any:
    return place.cell if isinstance(place, CellVariable) else place.owner


def _held_elsewhere(watch: Watch, fresh: dict[int, Any]) -> set[int] | None:
    """The objects (by identity) that something leads to which is neither written by the trace nor ``fresh``.

    Trial deletion, as of cyclic garbage: of all that the written places lead to, whatever has more references than come
    from within is held from elsewhere, and so is what it leads to. None if that is too much to look through.
    """
    entries = watch.entries()
    own = {id(entries), *map(id, entries), *(id(place) for place, _, _ in entries), *fresh}
    members: dict[int, Any] = {id(entries): entries, **fresh}
    inside: collections.Counter[int] = collections.Counter()
    pending = list(members.values())
    while pending:
        for part in gc.get_referents(pending.pop()):
            if not gc.is_tracked(part) or not _may_lead_on(part):
                continue
            inside[id(part)] += 1
            if id(part) not in members:
                members[id(part)] = part
                pending.append(part)
        if len(members) > _MOST_OBJECTS:
            return None
    found: set[int] = set()
    for key in list(members):
        # Besides the references from within: those of `members` and of the call.
        if key not in own and sys.getrefcount(members[key]) - 2 > inside[key]:
            pending.append(members[key])
    while pending:
        part = pending.pop()
        if id(part) in members and id(part) not in own and id(part) not in found:
            found.add(id(part))
            pending.extend(gc.get_referents(part))
    return found


def _may_lead_on(part: Any) -> bool:
    kind = type(part)
    return kind in _CONTAINERS or not (issubclass(kind, _NO_CONTAINERS) or is_library(kind))


def _rebuilt(value: Any) -> dict[int, Any]:
    """The objects inside a pytree, itself included, that JAX takes apart: a trace gets and gives new ones."""
    found: dict[int, Any] = {}
    pending = [value]
    while pending:
        part = pending.pop()
        children = jax.tree_util.tree_leaves(part, is_leaf=lambda other, part=part: other is not part)  # type: ignore[misc]
        if len(children) == 1 and children[0] is part:
            continue
        found[id(part)] = part
        pending.extend(children)
    return found
