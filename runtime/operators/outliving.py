"""Traced values that a compiled function leaves on objects which outlive its trace: refused when the trace ends.

The function's Python runs once for each trace; what it writes to an attribute of an object from outside, or to a
global, would stay the value of that trace, which nothing can read. While a trace runs the `Journal` notes the first
write to each place. Objects that the trace itself made, its arguments rebuilt from arrays among them, are no concern.
"""

from __future__ import annotations

import gc
from typing import Any

import jax

from autograph.runtime.errors import StagingError
from autograph.runtime.operators.journal import AttributePlace, Watch
from autograph.runtime.operators.state import flatten


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


def _rebuilt(value: Any) -> set[int]:
    """The objects inside a pytree, itself included, that JAX takes apart: a trace gets and gives new ones."""
    found: set[int] = set()
    pending = [value]
    while pending:
        part = pending.pop()
        children = jax.tree_util.tree_leaves(part, is_leaf=lambda other, part=part: other is not part)  # type: ignore[misc]
        if len(children) == 1 and children[0] is part:
            continue
        found.add(id(part))
        pending.extend(children)
    return found
