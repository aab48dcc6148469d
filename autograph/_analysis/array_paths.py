"""Paths, expressions without calls as they are spelled (``m``, ``p.pos``, ``d['a']``), and which of them an expression leads to.

An expression leads to what it is, holds or is a part of. Whether the part that an index takes is a view, and no number, depends on how
many dimensions the array has: each lead has the greatest number with which there is no such part. What calls of the user's functions
lead to depends on what these do, which is known when they are converted: an *event*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import gast

from autograph._analysis.array_callees import Callee, name_of
from autograph._analysis.scopes import COMPREHENSIONS

_DISPLAYS = (gast.List, gast.Tuple, gast.Set, gast.Dict, gast.Call, *COMPREHENSIONS)
_TAKING_PARTS = frozenset(["zip", "enumerate", "map", "filter", "sorted", "iter", "dict"])
ELEMENTS = "[*]"
PARTS = frozenset(["T", "flat", "real", "imag", "mT"])


class Event(NamedTuple):
    """What a function of the user's may do with arrays.

    Attributes:
      does: ``"keeps"`` what it is given where others see it, ``"returns"`` it, or ``"leads"`` to what it does not make.
      name: that of the function; ``"*"`` for one that is not known.
    """

    does: str
    name: str


class Lead(NamedTuple):
    """A path that an expression leads to, "" for one that is not known; with ``[*]`` after it if only the elements are those of a list.

    Attributes:
      least: the greatest number of dimensions with which an array has no such part; -1 if it is an array in any case, and no number.
      by: what has to be so; None if nothing has.
    """

    path: str
    least: int = 0
    by: Event | None = None

    def part(self, depth: int) -> Lead:
        """What an element leads to, of an element and so on."""
        return self._replace(least=max(self.least, 0) + depth) if depth else self


def path_of(node: gast.AST) -> str | None:
    """The path that an expression is; None if it is another."""
    after: list[str] = []
    while isinstance(node, gast.Attribute | gast.Subscript):
        is_attribute = isinstance(node, gast.Attribute)
        after.append(f".{node.attr}" if is_attribute else f"[{gast.unparse(node.slice).strip()}]")
        node = node.value
    return "".join([node.id, *after[::-1]]) if isinstance(node, gast.Name) else None


def root_of(path: str) -> str:
    """The name that a path begins with."""
    return path.partition(".")[0].partition("[")[0]


def attribute_of(path: str) -> str | None:
    """The name of the attribute that a path ends with; None if it does not."""
    _, dot, name = path.rpartition(".")
    return name if dot and name.isidentifier() else None


def prefixes(path: str) -> Iterator[str]:
    """The paths that lead to this one, and itself."""
    for end, character in enumerate(path):
        if character in ".[":
            yield path[:end]
    yield path


class Leads:
    """What expressions lead to, each of which is looked at once.

    Args:
      callee: tells what a called expression does.
    """

    def __init__(self, callee: Callable[[gast.AST], Callee]) -> None:
        self.callee = callee
        self._found: dict[int, tuple[Lead, ...]] = {}

    def is_whole(self, value: gast.AST) -> bool:
        """Whether the elements of what this leads to may be the arrays themselves, which a display or a function holds."""
        if isinstance(value, gast.Call):
            return self.callee(value.func) not in (Callee.VIEW, Callee.OWN_VIEW, Callee.COPY)
        return path_of(value) is None

    def of(self, value: gast.AST | None) -> tuple[Lead, ...]:
        """What an expression leads to."""
        if value is None:
            return ()
        found = self._found.get(id(value))
        if found is None:
            found = self._found[id(value)] = tuple(dict.fromkeys(self._of(value)))
        return found

    def _of(self, value: gast.AST) -> Iterator[Lead]:
        if isinstance(value, gast.Call):
            yield from self._through_call(value)
        elif isinstance(
            value, gast.IfExp | gast.BoolOp | gast.List | gast.Tuple | gast.Set | gast.Dict | gast.NamedExpr
        ):
            for part in _held(value):
                yield from self.of(part)
        elif isinstance(value, gast.BinOp):
            yield from self._in_lists(value)
        elif isinstance(value, gast.Starred):
            yield from _parts(self.of(value.value))
        elif isinstance(value, COMPREHENSIONS):
            elements = [value.key, value.value] if isinstance(value, gast.DictComp) else [value.elt]
            for part in elements:
                yield from self.of(part)
        elif isinstance(value, gast.Await | gast.Yield | gast.YieldFrom):
            yield Lead("")
        elif (path := path_of(value)) is not None:
            yield Lead(path)
            numbers, whole = 0, None
            while isinstance(value, gast.Subscript):
                index = value.slice.elts if isinstance(value.slice, gast.Tuple) else [value.slice]
                numbers += len(index)
                if any(map(_is_ellipsis, index)):
                    whole = -1
                elif whole is None and any(isinstance(each, gast.Slice) for each in index):
                    whole = 0
                value = value.value
                yield Lead(path_of(value) or "", numbers if whole is None else whole)
            if isinstance(value, gast.Attribute) and value.attr in PARTS:
                yield Lead(path_of(value.value) or "")
        elif isinstance(value, gast.Attribute | gast.Subscript):  # a part of what a call returns, say
            yield from self.of(value.value)

    def _in_lists(self, value: gast.BinOp) -> Iterator[Lead]:
        """What a list that an operation makes, ``rows + others`` or ``[row] * 3``, leads to."""
        displays = [
            each for each in (value.left, value.right) if isinstance(each, gast.List | gast.Tuple | gast.ListComp)
        ]
        for display in displays:
            yield from self.of(display)
        if isinstance(value.op, gast.Add):
            paths = map(path_of, (value.left, value.right))
            yield from (Lead(path + ELEMENTS) for path in paths if path is not None)
        elif displays and isinstance(value.op, gast.Mult):
            yield Lead(ELEMENTS)

    def _through_call(self, call: gast.Call) -> Iterator[Lead]:
        what = self.callee(call.func)
        given = argument_values(call)
        if what in (Callee.OWN_VIEW, Callee.TAKES) and isinstance(call.func, gast.Attribute):
            found = self.of(call.func.value)
            yield from found if what is Callee.TAKES else map(_whole, found)
        elif what is Callee.COPY:
            path = path_of(call.func.value)
            yield from [] if path is None else [Lead(path + ELEMENTS)]
        elif what is Callee.PART:
            for part in call.args:
                yield from self.of(part) if isinstance(part, _DISPLAYS) else _parts(self.of(part))
            if len(call.args) > 1 and name_of(call.func) not in _TAKING_PARTS:  # min(p, q), next(rows, p)
                for part in call.args:
                    yield from self.of(part)
            for keyword in call.keywords:
                yield from self.of(keyword.value)
        elif what in (Callee.METHOD, Callee.USERS, Callee.UNKNOWN):
            name = "*" if what is Callee.UNKNOWN else name_of(call.func)
            yield Lead("", 0, Event("leads", name))
            if what is Callee.UNKNOWN:  # a partial, perhaps, which has arguments
                yield Lead("", 0, Event("returns", name))
            for part in given:
                for lead in self.of(part):
                    yield lead._replace(by=lead.by or Event("returns", name))
        elif what in (Callee.VIEW, Callee.ANY):
            for part in given:
                yield from self.of(part) if what is Callee.ANY else map(_whole, self.of(part))


def argument_values(call: gast.Call) -> list[gast.AST]:
    """The expressions of what a call is given."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _parts(found: Iterable[Lead]) -> Iterator[Lead]:
    """What the elements of that lead to which these lead to."""
    return (lead.part(1) for lead in found)


def _whole(lead: Lead) -> Lead:
    """What a view of that leads to which this leads to: an array, of one element too."""
    return lead if lead.least else lead._replace(least=-1)


def _is_ellipsis(node: gast.AST) -> bool:
    return isinstance(node, gast.Constant) and node.value is ...


def _held(value: gast.AST) -> list[gast.AST | None]:
    if isinstance(value, gast.IfExp):
        return [value.body, value.orelse]
    if isinstance(value, gast.NamedExpr):
        return [value.target, value.value]
    if isinstance(value, gast.BoolOp):
        return list(value.values)
    return list(value.values if isinstance(value, gast.Dict) else value.elts)
