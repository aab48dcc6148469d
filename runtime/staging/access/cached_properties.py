"""The first read of a `functools.cached_property` in a trace."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax

from autograph.runtime.effects.raising import current
from autograph.runtime.heap.cached_reads import CachedRead, cached_refusal
from autograph.runtime.heap.journal import Journal
from autograph.runtime.heap.places import AttributePlace
from autograph.runtime.heap.reach import same
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import LOCAL, effects_lasting


def first_read(
    journal: Journal, descriptor: functools.cached_property[Any], compute: Callable[[Any], Any], target: Any, name: str
) -> Any:
    """What ``compute`` returns for the object, which keeps it where that is certain.

    Outside of blocks it is computed with the values that are known now, as constants, so that what it keeps has a meaning after the trace.
    A block of a staged statement has nowhere to keep what it computes, and where computing it may have raised an exception
    that a handler takes, nothing is kept: it is computed again where it is read next, which is refused where that could be seen.
    """
    read = CachedRead(target, name, descriptor.func.__code__.co_names, user_location())
    effects, raised = effects_lasting(), LOCAL.raised
    if journal.is_open and not journal.has_made(target):
        journal.keep_from_writes(read)
        with journal.observed() as written:
            value = compute(target)
    else:
        catches = current().catches
        with journal.attempting() if catches else jax.ensure_compile_time_eval() as writes:
            value = compute(target)
        if writes is None or raised == LOCAL.raised:
            if journal.watch is not None:  # no block has a say in it: what the property comes to is as it was
                place = AttributePlace(target, name)
                journal.watch.note(place, place.get())
            target.__dict__[name] = value
            return value
        journal.keep_from_writes(read)
        lasting = (each for each in writes.before.values() if id(getattr(each[0], "owner", None)) in writes.lasting)
        written = [place for place, held in lasting if not same(place.get(), held)]
    if written or effects_lasting() != effects:
        seen = f"it writes {written[0].name!r}" if written else "it does something when the program runs"
        raise cached_refusal(read.where, target, name, seen)
    return value
