"""`ObjectChoices`: how the variables of a loop hold objects from before it, of which conditions choose one.

At first each is chosen attribute by attribute; by which it is, where a write to one must be seen in others.
"""

from __future__ import annotations

from typing import Any

from autograph.runtime.errors import StagingError
from autograph.runtime.staging.statements.loop_state import CarryChanges


class ObjectChoices:
    """Those of the loop that ``trace``, a `LoopTrace`, traces."""

    def __init__(self, trace: Any) -> None:
        self._trace = trace
        self._carry, self._settling = trace.carry, trace.settling

    def settle(self, refusal: StagingError | None) -> None:
        """See to it that the loop, which is settled or refused so far, is settled.

        Raises:
          StagingError: it cannot be.
        """
        if refusal is not None and self._carry.refers:  # as loops in it have references, or as its trace before had
            self._settling.memory.forget(self._settling.place)
            self._carry.opens = set()
            refusal = self._refused_by(set())
        elif self._settling.is_by_reference:
            return
        opens = self._carry.opens
        if (
            self._carry.growing
            or not opens
            or not (self._trace.parts.unknown if refusal is None else self._may_refer(refusal))
        ):
            if refusal is not None:
                raise refusal
            return
        if self._refused_by(set(opens)) is None:
            return
        if refusal is not None:
            self._note(set())
            raise refusal
        refusal = self._refused_by(set())
        if refusal is not None:
            raise refusal

    def _refused_by(self, refers: set[int]) -> StagingError | None:
        """Settle again, with these variables saying which objects they hold."""
        self._carry.refers = refers
        self._note(refers)
        self._trace.begin_again()
        refusal: StagingError | None = self._trace.refused()
        return refusal

    def _note(self, refers: set[int]) -> None:
        """Note that these variables do so, for the next trace of this loop: none, if that does not help."""
        names = (each.name for each in self._carry.variables if id(each) in refers)
        self._settling.memory.refer(self._settling.place, names)
        self._settling.is_by_reference = self._settling.is_by_reference and bool(refers)

    def _may_refer(self, refusal: StagingError) -> bool:
        return isinstance(refusal, CarryChanges) or refusal is self._settling.conflict
