"""`OuterLoops`: what the trace of a loop's body shows of the loops around it.

They are told as soon as it is found, before this loop is settled: their bodies, this loop in them, are traced again.
"""

from __future__ import annotations

from typing import Any

from autograph.runtime.containers.element_kinds import Kind
from autograph.runtime.layouts.kinds import Maybe
from autograph.runtime.layouts.sides import Joined, injected
from autograph.runtime.layouts.statement_variables import UNBOUND, Variable
from autograph.runtime.staging.statements.loop_state import (
    BodyEnd,
    Carried,
    CarriedFurtherOut,
    lasting,
    typed_unbound,
)


class OuterLoops:
    """The loops around the one that ``settling`` settles."""

    def __init__(self, settling: Any) -> None:
        self._own = settling

    def widen(self, carried: Carried, joined: Joined) -> None:
        """Have a variable carried by a wider layout by the outermost loop whose iterations begin with what this one begins with.

        Raises:
          CarriedFurtherOut: there is such a loop.
        """
        layout = joined.layout
        assert isinstance(layout, Maybe)
        key, start = carried.variable.key, carried.start
        target = None
        for loop in reversed(self._own.journal.loops):
            outer = next((each for each in loop.carry.carried if each.is_input and each.variable.key == key), None)
            if outer is None or outer.layout != carried.layout:
                break
            known = [old is None for old in carried.types] == [old is None for old in outer.types]
            installed = loop.installed.get(id(outer.variable), ())
            if (
                not known
                or len(installed) != len(start)
                or any(a is not b for a, b in zip(installed, start, strict=True))
            ):
                break
            target, start, found = outer, outer.start, loop
        if target is not None and not self._own.from_python:
            self._own.take_deeper(target, layout)
            if id(carried.variable) in self._own.carry.opens:
                found.open(target.variable)
            if id(carried.variable) in self._own.carry.refers:
                found.refer(target.variable)
            target.take(layout, injected(joined.left, target.start))
            raise CarriedFurtherOut(found)

    def bear(self, variable: Variable, joined: Joined) -> None:
        """As `widen`, of a variable that is unbound before all these loops."""
        key, target = variable.key, None
        for loop in reversed(self._own.journal.loops):
            own = next((each for each in loop.carry.variables if each.key == key), None)
            if own is None or any(each.variable is own for each in loop.carry.carried):
                break
            target, found = own, loop
        if target is not None and not self._own.from_python:
            assert isinstance(joined.layout, Maybe)
            carried = Carried(target, joined.layout, [False], [None], UNBOUND, before=typed_unbound())
            carried.take(joined.layout, injected(joined.left, [False]))
            found.carry.carried.append(carried)
            raise CarriedFurtherOut(found)

    def leave(self, end: BodyEnd) -> None:
        """Have the places that loops around this one have to carry carried from the outermost on, and all traced again.

        So the body is traced twice, however deep it is.

        Raises:
          CarriedFurtherOut: there are such places.
        """
        own, journal = self._own, self._own.journal
        targets = {place.key: journal.outermost_around(place) for place in end.discovered}
        around = [loop for loop in journal.loops if any(loop is target for target in targets.values())]
        if not around or any(loop.from_python for loop in journal.loops):
            return
        loops = journal.loops[journal.loops.index(around[0]) :]
        # What is not the place that was found under its name before is made by the body, unseen.
        made_anew = {(type(place), place.name) for place, _ in around[0].learnt.get(own.code, {}).values()}
        found = False
        for place in end.discovered:
            key = place.key
            ended = end.lists.get(key)
            if targets[key] is not around[0] or not (ended is None or isinstance(ended.kind, Kind)):
                continue
            if own.from_python and (ended is None or ended.length == len(place.get())):
                continue  # Python may yet run this loop, and know what it leaves
            if (ended is None and key in end.growing) or (type(place), place.name) in made_anew:
                continue
            inner = [own.lists]
            around[0].learn(own.code, place, ended or lasting(end.types.get(key)))
            for loop in reversed(loops):
                known = lasting(end.types.get(key)) if ended is None else loop.lists.around(ended, inner)
                around[0].learn(loop.code, place, known)
                inner.append(loop.lists)
            found = True
        if found:
            raise CarriedFurtherOut(around[0])
