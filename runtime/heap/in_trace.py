"""`InTrace`: the base of what works in whatever trace its thread is in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from autograph.runtime.heap.facts import TracedFacts
from autograph.runtime.heap.identities import Identities
from autograph.runtime.heap.journal import Journal
from autograph.runtime.heap.selections import Selections
from autograph.runtime.layouts.statement_variables import Marks


class Trace(Protocol):
    """What is known of the program that a thread traces: the `Context` of `runtime.staging.context`."""

    journal: Journal
    marks: Marks

    @property
    def identities(self) -> Identities: ...

    @property
    def selections(self) -> Selections: ...

    @property
    def facts(self) -> TracedFacts: ...

    @property
    def call_graph(self) -> Any: ...

    @property
    def forms(self) -> Any: ...

    def end(self) -> None: ...


class InTrace:
    """What works for all threads, each time for the trace of the thread that it is called in.

    Operators and the parts that they are made of are the same in all threads. They hold nothing of a trace: they are handed
    what finds it, and these attributes are of the trace of the thread that asks.

    Attributes:
      journal: the writes of the blocks that are being traced.
      identities: which containers may alias.
      marks: which values are placeholders.
      facts: what is known of traced values besides their types.
      call_graph: which functions may call themselves.
      forms: those of the pieces of growing texts.
    """

    def __init__(self, trace: Callable[[], Trace]) -> None:
        self.trace = trace

    @property
    def journal(self) -> Journal:
        return self.trace().journal

    @property
    def identities(self) -> Identities:
        return self.trace().identities

    @property
    def has_aliases(self) -> bool:
        """Whether writes to containers and objects may be writes to others, or are noted."""
        trace = self.trace()
        return bool(trace.journal.observers) and trace.identities.any

    @property
    def marks(self) -> Marks:
        return self.trace().marks

    @property
    def facts(self) -> TracedFacts:
        return self.trace().facts

    @property
    def call_graph(self) -> Any:
        return self.trace().call_graph

    @property
    def forms(self) -> Any:
        return self.trace().forms
