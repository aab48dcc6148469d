"""`IterationTrace`: what one trace of a loop's body, or of its test, has of its own."""

from __future__ import annotations

from autograph.runtime.effects.staged_raises import Raising
from autograph.runtime.lazy import lazy
from autograph.runtime.staging.statements.body_containers import BodyContainers


class IterationTrace:
    """One trace of the body, or of the test, of a loop."""

    def __init__(self, raising: Raising) -> None:
        self._raising = raising

    @lazy
    def stand_ins(self) -> BodyContainers:
        """Those of the containers and objects of the loop's state."""
        return BodyContainers(self._raising.identities, self._raising.journal)

    @property
    def has_containers(self) -> bool:
        """Whether there are such in the state, or anything is known of others in the program."""
        return IterationTrace.stand_ins.made(self) is not None or bool(self._raising.journal.observers)
