"""The body of a loop as it is lowered for a platform: the passes that derivatives and batches of the loop must not see."""

from __future__ import annotations

from autograph.backends.xla.jax_compat import ClosedJaxpr
from autograph.backends.xla.optimize.held_reads import hold_reads
from autograph.backends.xla.optimize.writes_in_branches import write_in_branches
from autograph.backends.xla.platforms import Choices


def with_writes(body: ClosedJaxpr, choices: Choices) -> ClosedJaxpr:
    """The body with its writes where a platform has them, before arrays become rings; the same object if none moves."""
    return write_in_branches(body) if choices.writes_in_branches else body


def lowered_body(body: ClosedJaxpr, choices: Choices) -> ClosedJaxpr:
    """The body after the passes that a platform has; the same object if none changes it."""
    body = with_writes(body, choices)
    return hold_reads(body) if choices.holds_reads else body
