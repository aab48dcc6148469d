"""`LoopNodes`: the nodes that a staged loop makes in iterations after which it ends.

Most staged loops that make nodes (see `layouts.references`) make any number of them. One that makes a node in its last iteration
only, as an insertion into a search tree does, makes at most one at each place of its body that makes one. So that node is there before
the loop, as all references are; what it holds is state of the loop's, and an iteration that makes it writes that.

That an iteration which makes a node is the last is shown while tracing: on each path on which it has been made (`Ending`), a variable is
True, set by a `break` or `return` say, for which the loop's test is False.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from autograph.backends.base import Backend, LeafType
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.facts import TracedFacts
from autograph.runtime.heap.journal import AttributePlace, Journal
from autograph.runtime.layouts.describe import describe, unflatten
from autograph.runtime.layouts.kinds import Layout
from autograph.runtime.layouts.objects import attributes_of
from autograph.runtime.layouts.optional import is_known
from autograph.runtime.layouts.statement_variables import Variable
from autograph.runtime.staging.statements.loop_state import BodyEnd, NodesMade


class Ending:
    """Whether the iteration that is being traced has made a node: a bool, or a traced one."""

    __slots__ = ("is_made",)

    def __init__(self) -> None:
        self.is_made: Any = False


@dataclass(frozen=True)
class _Held:
    """What an attribute of a node held when that was made. Attributes: leaves, types (of each leaf that is traced)."""

    layout: Layout
    leaves: Sequence[Any]
    types: Sequence[LeafType | None]


@dataclass(frozen=True)
class _Birth:
    """A node that an iteration has made. Attributes: place (its class, and how many of that were made before it)."""

    made: Any
    place: tuple[type, int]
    held: dict[str, _Held]


class LoopNodes:
    """Those of one loop, which ``settling`` settles."""

    def __init__(self, settling: Any) -> None:
        self._loop = settling
        self._backend: Backend = settling.backend
        self._journal: Journal = settling.journal
        self._known: dict[tuple[type, int], tuple[Any, Ending]] = {}
        self._count: Counter[type] = Counter()
        self._births: dict[int, _Birth] = {}

    @property
    def endings(self) -> list[Ending]:
        return [ending for _, ending in self._known.values()]

    def begin(self) -> None:
        """Begin to trace an iteration."""
        self._count.clear()
        self._births.clear()
        for ending in self.endings:
            ending.is_made = False

    def standing_for(self, made: Any) -> Any:
        """The node that is there before the loop for this one, which the iteration has just made; itself if there is none."""
        kind = type(made)
        place = kind, self._count[kind]
        self._count[kind] += 1
        if place not in self._known:
            held = {name: self._held(value) for name, value in attributes_of(made).items()}
            self._births[id(made)] = _Birth(made, place, held)
            return made
        node, ending = self._known[place]
        for name, value in attributes_of(made).items():
            self._write(node, name, value)
        self._write(ending, "is_made", True)
        return node

    def _held(self, value: Any) -> _Held:
        layout, leaves = describe(value)
        traced = [self._backend.type_of(leaf) if self._backend.is_traced(leaf) else None for leaf in leaves]
        return _Held(
            layout, [leaf if type is None else None for leaf, type in zip(leaves, traced, strict=True)], traced
        )

    def _write(self, owner: Any, name: str, value: Any) -> None:
        self._journal.keeps(owner)
        place = AttributePlace(owner, name)
        self._journal.touch(place)
        place.set(value)

    def take_left(self, end: BodyEnd) -> None:
        """Let the nodes that an iteration has made and left be there before the loop.

        Raises:
          NodesMade: they cannot be, or a loop around this one makes them in each of its iterations.
        """
        is_taken = self.take(end.nodes)
        if not is_taken or self._journal.loops:
            loop = self._journal.loops[-1] if is_taken else self._loop
            raise NodesMade(loop, end.nodes[0], end.node_names[0])

    def check_iteration(self, facts: TracedFacts) -> None:
        """Refuse an iteration that has been traced, if it may make a node though the loop goes on after it.

        Raises:
          NodesMade: it may.
          StagingError: the loop is on trial, and Python can run it: where its first iteration leads is known, to the end of a chain say.
        """
        carry = self._loop.carry
        is_on_trial = self._journal.is_on_trial and not self._journal.is_rolling and self._loop.rounds == 1
        if is_on_trial and carry.test is not None and not self._backend.is_traced(carry.test()):
            raise StagingError(f"{carry.where}\n  What this loop's iterations lead to is known while tracing.")
        if (made := self.made_if_not_last(carry.test, carry.variables, facts)) is not None:
            raise NodesMade(self._loop, made, carry.name_leading_to(made))

    def take(self, left: Sequence[Any]) -> bool:
        """Let these nodes, which an iteration has made and left, be there before the loop; False for one that is not known."""
        if any(id(made) not in self._births for made in left):
            return False
        for birth in [self._births[id(made)] for made in left]:
            for name in attributes_of(birth.made):
                place = AttributePlace(birth.made, name)
                place.set(self._placeholder(birth.held[name]) if name in birth.held else place.inherited)
            self._known[birth.place] = birth.made, Ending()
            self._journal.born(birth.made)
        return True

    def _placeholder(self, held: _Held) -> Any:
        leaves = zip(held.leaves, held.types, strict=True)
        return unflatten(held.layout, [leaf if type is None else self._backend.zeros(type) for leaf, type in leaves])

    def made_if_not_last(
        self, test: Callable[[], Any] | None, variables: Sequence[Variable], facts: TracedFacts
    ) -> Any:
        """A node that the iteration may make though the loop goes on after it; None if there is none."""
        for node, ending in self._known.values():
            if ending.is_made is False:
                continue
            true = [each for each in variables if _follows(each.get(), ending.is_made, facts)]
            values = [each.get() for each in true]
            for each in true:
                each.set(True)
            goes_on = True if test is None else test()
            for each, value in zip(true, values, strict=True):
                each.set(value)
            if goes_on is not False:
                return node
            ending.is_made = False
        return None


class PathsOfNodes:
    """Which variables are true where nodes have been made, on the paths of a conditional in an iteration."""

    def __init__(self, nodes: LoopNodes, variables: Sequence[Variable], facts: TracedFacts) -> None:
        self._endings, self._variables, self._facts = nodes.endings, variables, facts
        self._true: dict[int, Collection[int]] = {}

    def end(self) -> None:
        """Note what holds at the end of a path, that is being traced."""
        for k, ending in enumerate(self._endings):
            if ending.is_made is not False:
                found = {
                    n for n, each in enumerate(self._variables) if _follows(each.get(), ending.is_made, self._facts)
                }
                self._true[k] = found.intersection(self._true.get(k, found))

    def note(self) -> None:
        """Note what follows after the conditional."""
        for k, true in self._true.items():
            made = self._endings[k].is_made
            known, _ = self._facts.of(made)
            self._facts.note(made, (*known, *((self._variables[n].get(), True) for n in true)), ())


def _follows(value: Any, made: Any, facts: TracedFacts) -> bool:
    """Whether a variable with this value is True where a node has been made."""
    return is_known(value) or any(fact is value and truth is True for fact, truth in facts.of(made)[0])
