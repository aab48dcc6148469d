"""Calls of programs that assign places outside of the function: what they take of them, and what follows a trace that would leave
tracers there.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import jax

from autograph.runtime.errors import StagingError, TracersLeaked
from autograph.runtime.function.results import first_line
from autograph.runtime.heap.object_graph import Reached
from autograph.runtime.heap.places import Place
from autograph.runtime.signatures.changed_arguments import Changes
from autograph.runtime.signatures.outside_places import Taken
from autograph.runtime.signatures.signature import CallSignature
from autograph.runtime.tracing.recording import LOCAL, is_in_trace


def with_taken(
    function: Any, signature: CallSignature, arrays: Sequence[Any]
) -> tuple[CallSignature, Sequence[Any], Taken | None]:
    """The signature and the arrays of a call, with what its program takes of places outside. Nothing is being traced elsewhere.

    Raises:
      ArgumentsChanged: the call is a part of a trace, which is to call the Python function.
    """
    outside = function._looked_at_captures().places
    places = outside.of(signature)
    if not places:
        return signature, arrays, None
    if is_part(arrays):
        raise function._changed_in_trace(None, _changes(function, places))
    taken = Taken(places, outside.has_rooms)
    return signature.taking(taken.structure, taken.names), [*taken.leaves, *arrays], taken


def _changes(function: Any, places: Sequence[tuple[Any, str, Any]]) -> Changes:
    named = {number: name for number, (_, name, _) in enumerate(places)}
    changes = Changes.of_places(named, function.__name__, first_line(function._function), None)
    assert changes is not None
    return changes


def refuse_taken(function: Any, signature: CallSignature) -> None:
    """`StagingError` if the program of a signature takes what places outside hold, and no call is there to write to them."""
    if places := function._looked_at_captures().places.of(signature):
        raise StagingError(_changes(function, places).refusal)


def is_part(arrays: Sequence[Any]) -> bool:
    """Whether a call with these arrays is a part of a trace, which can write nothing outside."""
    return is_in_trace() or any(isinstance(array, jax.core.Tracer) for array in arrays)


def take_up(function: Any, refusal: StagingError) -> bool:
    """Let the programs of a function take and leave the places that a trace has left tracers in; or, after another refusal, element by
    element what they take with room for more.

    Returns:
      Whether the call is to be made again; after another refusal they may do so already.

    Raises:
      StagingError: they take the leaked places already, or can not.
    """
    if not isinstance(refusal, TracersLeaked):
        places = function._looked_at_captures().places
        return places is not None and places.give_up_rooms()
    leak = refusal
    if not leak.places or function._options.out_shardings is not None:
        raise StagingError(str(leak)) from None
    with function._lock:
        captures = function._looked_at_captures()
        is_news = captures.take(leak.places, leak.signature)
        if is_news:
            function._captured = captures.key
            function.forget_blocks()
        places = captures.places  # to which another thread may have added these
        if not is_news and (places is None or places.taken(leak.signature).structure == leak.signature.taken):
            raise StagingError(str(leak)) from None
    return True


def traced_with(taken: Taken, variables: Iterable[Place], call: functools.partial[Any]) -> tuple[Any, dict[int, Any]]:
    """What ``call`` returns with places outside holding what stands for their values, and what it leaves in them, by number.

    Args:
      variables: those that the function reads.

    Raises:
      TracersLeaked: it leaves tracers, or other numbers, in places that are not taken.
    """
    frame = LOCAL.frame
    frame.reached = Reached(LOCAL.roots())
    try:
        taken.fill(frame.taken, frame.reached, variables)
        frame.places = taken.keys
        frame.arguments = frozenset([*frame.arguments, *taken.held])
        known = taken.in_place_of
        result = call.func(*map(known, call.args), **{name: known(value) for name, value in call.keywords.items()})
    except BaseException:
        taken.restore()
        raise
    return result, taken.empty(frame.signature)
