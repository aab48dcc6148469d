"""`Context`: what is known of the program that a thread traces, whatever options its code was converted with."""

from __future__ import annotations

from typing import Any

from autograph.runtime.effects.growing_texts import TextForms
from autograph.runtime.heap.facts import TracedFacts
from autograph.runtime.heap.identities import Identities
from autograph.runtime.heap.journal import Journal
from autograph.runtime.heap.selections import Selections
from autograph.runtime.layouts.statement_variables import Marks
from autograph.runtime.lazy import lazy
from autograph.runtime.staging.calls.calls_under_way import CallsUnderWay
from autograph.runtime.staging.policy.recursive_code import CallGraph
from autograph.runtime.tracing.recording import LOCAL


class Context:
    """One in each thread, for all sets of options: a function that is converted with some may call one that is converted with others,
    and what that writes belongs to the same regions.

    Operators are the same in all threads, and hold nothing of a trace. They and their parts are handed `present_context`, and
    find the context by it each time (`InTrace`). What runs for one statement, a loop's carry say, may hold parts of the context. The
    outermost call of converted code leaves the context as it found it, with nothing of the program in it (`in_scope`).

    The parts that not every program uses are made when they are first asked for.

    Attributes:
      journal: the writes of the blocks that are being traced.
      identities: which containers may alias.
      selections: what was selected among the attributes of references.
      marks: which values are placeholders.
      facts: what is known of traced values besides their types.
      calls: the functions that are being traced and may call themselves.
      call_graph: which may.
      forms: those of the pieces of growing texts.
    """

    def __init__(self) -> None:
        self.journal = Journal()
        self.marks = Marks()

    @lazy
    def identities(self) -> Identities:
        identities = Identities(self.journal)
        self.journal.observers.append(identities)
        return identities

    @lazy
    def selections(self) -> Selections:
        selections = Selections(self.journal)
        self.journal.observers.append(selections)
        return selections

    @lazy
    def facts(self) -> TracedFacts:
        return TracedFacts()

    @lazy
    def calls(self) -> CallsUnderWay:
        return CallsUnderWay()

    @property
    def known_calls(self) -> CallsUnderWay | None:
        """Those functions, if there are any."""
        return Context.calls.made(self)

    @lazy
    def call_graph(self) -> CallGraph:
        return CallGraph()

    @lazy
    def forms(self) -> TextForms:
        return TextForms()

    def end(self) -> None:
        """Keep nothing of the program: its outermost call has ended."""
        self.journal.end()
        for part in _OF_A_PROGRAM:
            part.drop(self)


_OF_A_PROGRAM: tuple[lazy[Any], ...] = (Context.identities, Context.selections, Context.call_graph, Context.forms)


def present_context() -> Context:
    """The context of this thread, made when it is first asked for."""
    found: Context | None = LOCAL.context
    if found is None:
        found = LOCAL.context = Context()
    return found
