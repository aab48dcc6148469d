"""Refuse tracers that a compiled function leaves in objects from outside, when its trace ends.

The function's Python runs once for each trace; what it writes to an object from outside would stay the value of that
trace, which nothing can read. While a trace runs the `Journal` notes the first write to each place. An object is from
outside if what the function reads, or its arguments, lead to it when the trace ends; what the trace itself made, and
nothing outside leads to, goes with it. An `ag.function` is traced again, and its program takes what these places hold, and leaves
its own there: see `signatures.outside_places`.
"""

from __future__ import annotations

import collections
import inspect
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from autograph.runtime.code.library_table import is_library
from autograph.runtime.errors import StagingError, TracersLeaked
from autograph.runtime.heap.journal import ContentsPlace, Journal, Place, Watch
from autograph.runtime.heap.object_graph import Reached, array_part, is_one_shot, traced_part
from autograph.runtime.heap.places import TracedContentsPlace, owner_of
from autograph.runtime.heap.reach import same
from autograph.runtime.heap.unknown import is_unknown
from autograph.runtime.layouts.optional import possible_functions
from autograph.runtime.layouts.statement_variables import CellVariable, GlobalVariable
from autograph.runtime.tracing.births import can_be_element
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import LOCAL


def refuse_leaks(watch: Watch) -> None:
    """Raise if a place outside of the function that was written holds a traced value. All places get back what they held.

    Raises:
      TracersLeaked: in the trace of a `Function`, unless its program leaves these values there. One that does so leaves numbers and
        texts, too.
    """
    frame = LOCAL.frame
    taken = () if frame is None else frame.places
    leaks = [leak for leak in _leaks(watch) if leak[0].key not in taken]
    changes = _changes(watch) if frame is not None and (leaks or taken) else []
    changes = [change for change in changes if change[0].key not in taken]
    if not leaks and not changes:
        return
    # What the program takes leads to what the trace has made.
    reached = frame.reached if taken else Reached(LOCAL.roots())
    outside = [(place, where, holder) for place, where, holder in leaks if _is_outside(place, reached)]
    changes = [change for change in changes if _is_outside(change[0], reached)]
    if not outside and not (changes and taken):
        return
    outside = outside or [(place, where, place.name) for place, where in changes]
    names = [_described(place, holder, reached) for place, _, holder in outside]
    written = [(place, slots_written(place, old)) for place, old, _ in watch.entries()]
    leads_to_tracer = _holder(outside[0][0]) is not None
    watch.roll_back()
    where = outside[0][1]
    subject, name = names[0]
    others = sorted({repr(other) for _, other in names[1:]} - {repr(name)})
    more = f" So do {', '.join(others)}." if others else ""
    refusal = (
        f"{where}\n  The {subject} {name!r} would leak a tracer: it exists beyond this call, and a traced value "
        f"has no meaning after tracing. This line runs once for each trace, not on each call.{more}\n  {_remedy(outside[0][0])}"
        if leads_to_tracer
        else f"{where}\n  The {subject} {name!r} exists beyond this call, and is assigned here. This line runs once for each trace, "
        f"not on each call.{more}\n  {_remedy(outside[0][0])}"
    )
    wanted = {each[0].key for each in outside} | {each[0].key for each in changes}
    if frame is None or frame.signature is None or any(map(_is_unknown, (place for place, *_ in outside))):
        raise StagingError(refusal)
    before = reached if taken else Reached(LOCAL.roots())  # now without what the trace has made
    found = [each for each in written if each[0].key in wanted and _is_outside(each[0], before)]
    raise TracersLeaked(refusal, found, frame.signature)


EXTENDED: Any = "extended"
"""Of a list that has got more items at its end, and nothing else."""

HELD: Any = "held"
"""Of a container in the place of which a trace has one of its own, as in the places of arguments."""


_HELD_CLASSES = (
    list,
    collections.deque,
    dict,
    collections.OrderedDict,
    collections.defaultdict,
    collections.Counter,
    set,
)


def is_holdable(owner: Any) -> bool:
    """Whether a trace may have a container of its own in the place of this."""
    is_keyed = isinstance(owner, dict | set)
    return type(owner) in _HELD_CLASSES and (not is_keyed or all(map(can_be_element, owner)))


def held_or(owner: Any, refusal: StagingError) -> StagingError:
    """What to raise where Python's container cannot show what the program leaves in it.

    Returns:
      What has the trace made again with one of its own in the place of this container, if that is from outside of a `Function`; else
      ``refusal``.
    """
    frame = LOCAL.frame
    if frame is None or frame.signature is None or not is_holdable(owner) or owner not in Reached(LOCAL.roots()):
        return refusal
    return TracersLeaked(str(refusal), [(ContentsPlace(owner), HELD)], frame.signature)


def hold(owner: Any, refusal: StagingError) -> None:
    """Have the trace made again with a container of its own in the place of this one, where that can be done: see `held_or`.

    Raises:
      TracersLeaked: it can.
    """
    error = held_or(owner, refusal)
    try:
        if error is not refusal:
            raise error
    finally:
        del error  # whose traceback has this frame


def hold_array(array: Any, watch: Watch | None) -> None:
    """Report that a traced value is written to an array, if it is NumPy's, in a trace in which those that it makes are places.

    Raises:
      TracersLeaked: it is from outside of a `Function`, whose program is to have what it holds as an input.
    """
    frame = LOCAL.frame
    if frame is None or frame.signature is None:
        if watch is not None:
            for each in _with_bases(array):
                watch.note(TracedContentsPlace(each), each.copy())
        return
    reached = Reached(LOCAL.roots())
    outside = [each for each in _with_bases(array) if each in reached]
    if outside:
        refusal = (
            f"{user_location()}\n  {reached.name(outside[-1])!r} is written in place, and exists beyond this call: the program writes it "
            "on each call, which nobody is there to see.\n  Call the function, or pass the array as an argument, and return it."
        )
        raise TracersLeaked(refusal, [(ContentsPlace(outside[-1]), None)], frame.signature)


def note_augmented(array: Any, journal: Journal) -> None:
    """Report that ``array += v`` follows. By what, and so whether one of NumPy's is written, only the operation knows."""
    if LOCAL.places:
        hold_array(array, None)
    else:
        note_known_write(array, journal)


def note_known_write(array: Any, journal: Journal) -> None:
    """Report that known numbers are about to be written to what may be an array of NumPy's: a trace that is made again is to find what
    was there."""
    if journal.watch is not None and not journal.is_open:
        for place in map(ContentsPlace, _with_bases(array)):
            if place.key not in journal.watch.noted:
                journal.watch.note(place, place.get())


def _with_bases(array: Any) -> Iterator[np.ndarray[Any, Any]]:
    """An array of NumPy's, and those that it is a view of; none of anything else."""
    each: Any = array
    while isinstance(each, np.ndarray):
        yield each
        each = each.base


def slots_written(place: Place, old: Any) -> Any:
    """The keys of a dict, or the numbers of a list's items, that hold something else than in ``old``; None if all may; or `EXTENDED`."""
    if not isinstance(place, ContentsPlace):
        return None
    new = place.get()
    if type(place.owner) is list and type(new) is tuple and len(old) < len(new) and same(new[: len(old)], old):
        return EXTENDED
    if isinstance(old, dict) and isinstance(new, dict):
        return frozenset(key for key, part in new.items() if key not in old or old[key] is not part)
    if type(old) is tuple and type(new) is tuple and len(old) == len(new):
        return frozenset(number for number, (a, b) in enumerate(zip(old, new, strict=True)) if a is not b)
    return None


def _changes(watch: Watch) -> list[tuple[Place, str]]:
    """The places that are written, each with the line that first did so: not what a first call makes for all, Variables say, nor what a
    trace alone goes through. One that holds what it did before may hold something else in the next call, whose program is to write it."""
    made = {id(variable) for variable, _ in LOCAL.frame.created}
    return [
        (place, where)
        for place, _, where in watch.entries()
        if not _is_unknown(place)
        and not is_one_shot(new := place.get())
        and not (made and made & Reached([("", new)]).keys())
    ]


def refuse_writes(
    watch: Watch,
    function: Any,
    arguments: Iterable[tuple[str, Any]] = (),
    is_staged: bool = False,
    is_of_trace: bool = False,
) -> None:
    """As `refuse_leaks`, for a function that a transform of JAX's calls, which runs once for many of its calls.

    Args:
      function: as it is written, or an object that is called. What its globals lead to is outside of it.
      arguments: what else leads to objects from outside, by name.
      is_staged: whether it was called in a staged statement, where any write counts.
      is_of_trace: whether the function, and what it closes over, belong to the trace that it runs in.
    """
    changed = []
    for place, old, where in watch.entries():
        holder = _holder(place)
        if _is_unknown(place) or (not same(place.get(), old) and (is_staged or holder is not None)):
            changed.append((place, where, holder or place.name))
    if not changed:
        return
    name = getattr(function, "__qualname__", type(function).__qualname__)
    own = [] if is_of_trace else [*_closed_over(function), (name, function)]
    reached = Reached([*LOCAL.roots(), *_globals(function), *own, *arguments])
    for place, where, holder in changed:
        if _is_outside(place, reached):
            _, written = _described(place, holder, reached)
            watch.roll_back()
            raise StagingError(
                f"{where}\n  {written!r} is written in {name}, which runs under a transform such as jax.jit: JAX traces it "
                "once for many calls, and the write would not happen on each call.\n  Return the value, and write it where the "
                "function is called."
            )


def _function_of(called: Any) -> Any:
    return getattr(called, "__func__", called if isinstance(called, types.FunctionType) else type(called).__call__)


def _closed_over(called: Any) -> list[tuple[str, Any]]:
    """The variables of functions around a function, by name."""
    function = _function_of(called)
    is_function = isinstance(function, types.FunctionType)
    return list(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)) if is_function else []


def _globals(called: Any) -> list[tuple[str, Any]]:
    """The globals that a function, those in it, and the functions among these globals may read, by name."""
    found: dict[tuple[int, str], tuple[str, Any]] = {}
    functions = [_function_of(called)]
    while functions:
        function = inspect.unwrap(functions.pop())
        if not isinstance(function, types.FunctionType) or is_library(function):
            continue
        space = function.__globals__
        for name, value in read_globals([function.__code__], space):
            if (id(space), name) not in found:
                found[id(space), name] = name, value
                functions += possible_functions(value)
    return list(found.values())


def read_globals(codes: list[types.CodeType], space: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The globals that code, and functions in it, may read, by name."""
    while codes:
        code = codes.pop()
        codes += [each for each in code.co_consts if isinstance(each, types.CodeType)]
        yield from ((name, space[name]) for name in code.co_names if name in space)


def take_back_leaks(watch: Watch) -> None:
    """Restore what the places held that were written, and hold traced values: the trace has failed."""
    for place, old, _ in reversed(watch.entries()):
        if _holder(place) is not None:
            place.set(old)


def _leaks(watch: Watch) -> list[tuple[Place, str, str]]:
    """The places that lead to a traced value, or have lost arrays, which programs leave: each with the line that first wrote it, and
    what holds the value."""
    is_of_function = LOCAL.frame is not None and LOCAL.frame.signature is not None
    found = []
    for place, old, where in watch.entries():
        holder = _holder(place)
        if holder is None and is_of_function and _has_lost_array(place, old):
            holder = place.name
        if holder is not None:
            found.append((place, where, holder))
    return found


def _is_unknown(place: Place) -> bool:
    return is_unknown(getattr(place, "owner", None))


def _holder(place: Place) -> str | None:
    """What holds a traced value to which a place leads, if one does: a list does that a write may have changed."""
    return (
        place.name
        if _is_unknown(place) or isinstance(place, TracedContentsPlace)
        else traced_part(place.get(), place.name)
    )


def _has_lost_array(place: Place, old: Any) -> bool:
    """Whether a place no longer holds an array that it held: a later call finds another there, whichever the trace has seen."""
    new = place.get()
    if slots_written(place, old) is EXTENDED or same(new, old):
        return False
    if isinstance(old, dict) and isinstance(new, dict):
        old = [part for key, part in old.items() if key not in new or new[key] is not part]
    elif type(old) is tuple and type(new) is tuple and len(old) == len(new):
        old = [before for before, after in zip(old, new, strict=True) if before is not after]
    return array_part(old, place.name) is not None


def _is_outside(place: Place, reached: Reached) -> bool:
    owner = owner_of(place)
    return (
        isinstance(place, GlobalVariable)
        or isinstance(owner, types.ModuleType)
        or _is_globals(owner)
        or owner in reached
    )


def _is_globals(owner: Any) -> bool:
    """Whether this is what ``globals()`` returns in some module."""
    return type(owner) is dict and "__builtins__" in owner and "__name__" in owner


def _described(place: Place, holder: str, reached: Reached) -> tuple[str, str]:
    if isinstance(place, ContentsPlace):
        kind = type(place.owner).__name__
        return ("attribute", holder) if holder != place.name else (kind, reached.name(place.owner))
    return "variable" if isinstance(place, CellVariable | GlobalVariable) else "attribute", place.name


def _remedy(place: Place) -> str:
    if isinstance(place, ContentsPlace):
        return "Return the value and store it outside; or call the function, which writes it on each call."
    return "Make it an autograph.Variable and assign to it, or return the value and store it outside."
