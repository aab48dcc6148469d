"""`Context`: the per-thread state of the current trace, shared by all operators."""

from __future__ import annotations

from autograph.runtime.heap.identities import Identities
from autograph.runtime.heap.journal import Journal
from autograph.runtime.layouts.statement_variables import Marks
from autograph.runtime.staging.calls.calls_under_way import CallsUnderWay
from autograph.runtime.staging.statements.nones import TestFacts


class Context:
    """One for all sets of options: a function that is converted with some may call one that is converted with others,
    and what that writes belongs to the same regions.

    Attributes:
      journal: the writes of the blocks that are being traced.
      identities: which containers may alias.
      marks: which values are placeholders.
      facts: what traced tests say about what is None.
      calls: the functions that are being traced and may call themselves.
    """

    def __init__(self) -> None:
        self.journal = Journal()
        self.identities = Identities()
        self.marks = Marks()
        self.facts = TestFacts()
        self.calls = CallsUnderWay()
