"""Calls of programs that change their arguments in place: which program is called, and what it may not be given."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from autograph.backends.followed import calling_for
from autograph.runtime.function.cache import Entry
from autograph.runtime.function.results import first_line
from autograph.runtime.signatures.callers_arrays import check_written, is_left
from autograph.runtime.signatures.changed_arguments import ArgumentParts, Changes
from autograph.runtime.signatures.outside_places import Taken
from autograph.runtime.signatures.signature import CallSignature
from autograph.runtime.tracing.caller_arrays import ArraysWritten, will_write
from autograph.runtime.tracing.recording import LOCAL


def call_writing(
    function: Any,
    signature: CallSignature,
    values: Entry,
    arrays: Sequence[Any],
    callers: Sequence[int],
    call: Callable[[Entry], Any],
) -> Any:
    """Call the program of this signature, or the one that writes into those of the caller's arrays that it is seen to write in place.

    Args:
      function: the `Function` that is called.
      values: the program of this signature, to which all arrays are values.
      arrays: of the call.
      callers: the numbers of the arrays that the caller sees the writes to.
    """
    entry = values
    while True:
        written = frozenset(callers) & values.program.writes
        numpys = frozenset(callers) if values.program.tells_numpys else frozenset()
        if numpys:
            numpys |= {number for number, array in enumerate(arrays) if is_left(array)}
        if written or numpys:
            if written and LOCAL.frame is not None:
                labels = signature.array_labels()
                named = {number: labels[number] for number in sorted(written)}
                changes = Changes.of_arrays(named, function.__name__, first_line(function._function))
                raise function._changed_in_trace(values.program, changes)
            entry = function._entry(signature.writing(written, numpys), function._is_open)  # a place has a fixed shape
        try:
            with calling_for(callers):
                result = call(entry)
        except ArraysWritten as found:
            if found.program is not entry.program:
                raise
            if found.number is None:
                values.program.tells_numpys = True
            else:
                values.program.writes.add(found.number)
            function.forget_blocks()
        else:
            for number in values.program.writes if LOCAL.followed is not None else ():
                will_write(arrays[number])  # in the trace that this is a part of, where it is a value
            return result


def checked(
    function: Any, entry: Entry, changes: Changes, arrays: Sequence[Any], parts: ArgumentParts, taken: Taken | None
) -> ArgumentParts:
    """The parts of a call's arguments, which a program may change.

    Args:
      function: the `Function` that is called.
      arrays: the caller's.
      taken: what the call has taken of places outside.

    Raises:
      ValueError: one of the arrays that it writes is read-only.
      StagingError: what it changes is reached in two ways.
    """
    signature, outside = entry.key[0], function._looked_at_captures().outside
    if changes.labels:
        parts.refuse_shared(function.__name__, signature, changes, functools.partial(outside, has_defaults=False))
    outside = functools.partial(outside, signature)
    if taken is not None:
        taken.refuse_shared(function.__name__, changes, parts, arrays, outside)
    written = {number: label for number, label in changes.arrays.items() if number >= len(signature.names)}
    if written:
        check_written(function.__name__, arrays, written, signature.array_labels, outside)
    return parts
