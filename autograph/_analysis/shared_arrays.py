"""Writes to items that more than one name may show: those to parameters, and to what another path leads to.

A path (`array_paths`) is shared if something else is bound to it, holds it or is a part of it (``b = a``, ``hist.append(a)``,
``row = m[i]``, ``q = p.pos``), and if it is bound to what may be held elsewhere (``q = state.get(k)``). A function of the user's that is
called by its name may keep or return what it is given: then that decides what such functions do (`Event`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import gast

from autograph._analysis.array_callees import Callee, Resolve, callee_of, name_of
from autograph._analysis.array_paths import (
    ELEMENTS,
    PARTS,
    Event,
    Lead,
    Leads,
    argument_values,
    attribute_of,
    path_of,
    prefixes,
    root_of,
)
from autograph._analysis.calls_before_reads import calls_before_reads
from autograph._analysis.children import children, walk
from autograph._analysis.open_slices import open_slices
from autograph._analysis.positions import lines_of
from autograph._analysis.scopes import bound_names, declared_names, parameter_names, walk_scope
from autograph.runtime.code.array_facts import BY_LAST_NAME, METHODS


class SharedWrites(NamedTuple):
    """Lines of a function, and of those in it, and what these functions do.

    Attributes:
      names: the names that are the roots of shared paths, where there are such writes.
      by_names: lines of writes to what another name may lead to, each with the greatest number of dimensions with which none does.
      by_events: those of writes to what another name may lead to where one of these is so.
      by_callers: those of writes to parameters of the function that it does not return, so that its caller may show them.
      by_results: those of writes to parameters that it, or a function in it, returns: whether it is itself.
      by_attributes: those of writes to what attributes hold, each with their names.
      written: those of all writes to paths.
      attributes: the names of the attributes that something else is bound to, with these numbers.
      events: what the functions do, each with its conditions.
      calls: those of calls with arguments that may be read after them, by the names that they have had before.
      sorts: those of statements ``x.sort()``.
      operations: those of operations of what may be a number and an array, in this order.
      open_slices: those of slices by computed bounds which writes would show to be parts: whether items are written.
    """

    names: frozenset[str] = frozenset()
    by_names: Mapping[int, int] = {}
    by_events: Mapping[int, frozenset[Event]] = {}
    by_callers: frozenset[int] = frozenset()
    by_results: Mapping[int, bool] = {}
    by_attributes: Mapping[int, frozenset[str]] = {}
    written: frozenset[int] = frozenset()
    attributes: Mapping[str, int] = {}
    events: Mapping[Event, frozenset[Condition]] = {}
    calls: frozenset[int] = frozenset()
    sorts: frozenset[int] = frozenset()
    operations: frozenset[int] = frozenset()
    open_slices: Mapping[int, bool] = {}


class Condition(NamedTuple):
    """Where a function does something.

    Attributes:
      by: what has to be so; None if nothing has.
      least: the greatest number of dimensions with which it does not do so with an array.
    """

    by: Event | None
    least: int = 0


@dataclass
class _Shared:
    """The paths of some functions that something else leads to.

    Attributes:
      least: each with the greatest number of dimensions with which an array has no such part.
      events: those that something else leads to where one of these is so.
    """

    least: dict[str, int] = field(default_factory=dict)
    events: defaultdict[str, set[Event]] = field(default_factory=lambda: defaultdict(set))

    def share(self, lead: Lead) -> None:
        if lead.by is not None:
            self.events[lead.path].add(lead.by)
        else:
            self.least[lead.path] = min(self.least.get(lead.path, lead.least), lead.least)

    def update(self, other: _Shared) -> None:
        for path, least in other.least.items():
            self.share(Lead(path, least))
        for path, events in other.events.items():
            self.events[path] |= events

    def roots(self) -> set[str]:
        return {root_of(path) for path in (*self.least, *self.events) if not path.endswith(ELEMENTS)}

    def conditions(self, roots: Collection[str]) -> set[Condition]:
        """Where something leads to paths that begin with one of these names."""
        found = {Condition(None, least) for path, least in self.least.items() if root_of(path) in roots}
        return found.union(*(map(Condition, events) for path, events in self.events.items() if root_of(path) in roots))


class _Function:
    """One function: what it binds, keeps and returns.

    Attributes:
      shared: the paths that something else leads to.
      kept: those among them that something leads to which is no local variable of its.
      returned: what the function returns leads to.
    """

    def __init__(self, node: gast.AST, leads: Leads, bound: Collection[str]) -> None:
        self.node = node
        self.bound = bound  # by some function of the whole
        self.own = _own_nodes(node)
        body = [node.body] if isinstance(node, gast.Lambda) else node.body
        self.scope = walk_scope(body)
        self.parameters = frozenset(parameter_names(node.args))
        outside = declared_names(self.scope, gast.Global) | declared_names(self.scope, gast.Nonlocal)
        self.locals = (bound_names(body) | self.parameters) - outside
        self.leads = leads
        self.shared, self.kept = _Shared(), _Shared()
        self.returned: list[Lead] = []
        for part in self.own:
            self._visit(part)
        if isinstance(node, gast.Lambda):
            self._return(node.body)

    def _visit(self, part: gast.AST) -> None:
        if isinstance(part, gast.Assign):
            for target in part.targets:
                for one, value in _pairs(target, part.value):
                    self._bind(one, value)
            for path in (
                [path for target in part.targets for path in _paths_in(target)] if len(part.targets) > 1 else ()
            ):
                self.shared.share(Lead(path))
        elif isinstance(part, gast.AnnAssign | gast.NamedExpr) and part.value is not None:
            self._bind(part.target, part.value)
        elif isinstance(part, gast.For | gast.AsyncFor | gast.comprehension):
            self._go_over(part.target, part.iter)
        elif isinstance(part, gast.AugAssign) and isinstance(part.value, gast.List | gast.Tuple | gast.Set | gast.Dict):
            self._keep(self.leads.of(part.value))
        elif isinstance(part, gast.AugAssign) and isinstance(part.op, gast.Add) and path_of(part.value) is not None:
            self._hold(part.target)
            self._hold(part.value)
        elif isinstance(part, gast.withitem):
            for path in _paths_in(part.optional_vars):
                self.shared.share(Lead(path))
        elif isinstance(part, gast.Match):
            self._match(part)
        elif isinstance(part, gast.Yield | gast.YieldFrom):
            self._keep(self.leads.of(part.value))
        elif isinstance(part, gast.FunctionDef | gast.AsyncFunctionDef | gast.Lambda):
            self._default(part)
        elif isinstance(part, gast.Return):
            self._return(part.value)
        elif isinstance(part, gast.Call):
            self._call(part)

    def _keep(self, found: Iterable[Lead]) -> None:
        for lead in found:
            self.shared.share(lead)
            self.kept.share(lead)

    def _bind(self, target: gast.AST, value: gast.AST) -> None:
        own = path_of(target)
        found = [lead for lead in self.leads.of(value) if not own or not _is_of_itself(lead.path, own)]
        if not found:
            return
        is_unpacked = isinstance(target, gast.Tuple | gast.List)
        is_kept = not is_unpacked and own not in self.locals
        for lead in found:
            lead = lead.part(int(is_unpacked and not self.leads.is_whole(value)))
            self.shared.share(lead)
            if is_kept:
                self.kept.share(lead)
        for path in _paths_in(target):
            for lead in found:
                only_elements = ELEMENTS if lead.path.endswith(ELEMENTS) else ""
                self.shared.share(Lead(path + only_elements, 0, lead.by))
        if isinstance(target, gast.Subscript):
            self._hold(target.value)

    def _hold(self, holder: gast.AST) -> None:
        """Note that something else may lead to the elements of what this expression is."""
        if (path := path_of(holder)) is not None:
            self.shared.share(Lead(path + ELEMENTS))

    def _go_over(self, target: gast.AST, iterated: gast.AST) -> None:
        for path in _paths_in(target):
            self.shared.share(Lead(path))
        least = 1 + (isinstance(target, gast.Tuple | gast.List) and not isinstance(iterated, gast.Call))
        is_whole = self.leads.is_whole(iterated)
        for lead in self.leads.of(iterated):
            self.shared.share(lead if is_whole else lead.part(least))

    def _match(self, part: gast.AST) -> None:
        names = [each.name for each in walk(part) if isinstance(each, gast.MatchAs | gast.MatchStar) and each.name]
        if names:
            for lead in [*self.leads.of(part.subject), *map(Lead, names)]:
                self.shared.share(lead)

    def _default(self, part: gast.AST) -> None:
        for default in (*part.args.defaults, *part.args.kw_defaults):
            self._keep(self.leads.of(default))

    def _return(self, value: gast.AST | None) -> None:
        for lead in self.leads.of(value):
            self.returned.append(lead)
            if root_of(lead.path) in self.bound and root_of(lead.path) not in self.locals:
                self.shared.share(lead)

    def _call(self, call: gast.Call) -> None:
        what = self.leads.callee(call.func)
        if what not in _KEEPING:
            return
        event = None
        if what in (Callee.USERS, Callee.UNKNOWN):
            event = Event("keeps", "*" if what is Callee.UNKNOWN else name_of(call.func))
        found = [lead for value in argument_values(call) for lead in self.leads.of(value)]
        self._keep(lead._replace(by=lead.by or event) for lead in found)
        if found and what is Callee.METHOD and isinstance(call.func, gast.Attribute):
            self._hold(call.func.value)

    def events(self) -> Iterator[tuple[Event, set[Condition]]]:
        """What the function does, as its callers may ask."""
        name = getattr(self.node, "name", "*")
        aliases = self.parameters
        if not self.shared.roots().isdisjoint(self.parameters):  # a variable may be an argument
            aliases |= self.shared.roots() & self.locals
        returns, elsewhere = set(), set()
        for lead in self.returned:
            root, condition = root_of(lead.path), Condition(lead.by, lead.least)
            if lead.path.endswith(ELEMENTS):  # a sum of two arrays, mostly
                continue
            if root in aliases:
                returns.add(condition)
            if root not in self.locals or "." in lead.path:
                elsewhere.add(condition)
            elif root not in self.parameters:
                elsewhere |= self.shared.conditions({root})
        yield Event("keeps", name), self.kept.conditions(aliases)
        yield Event("returns", name), returns
        yield Event("leads", name), elsewhere


def shared_writes(
    function: gast.AST, parts: Sequence[gast.AST], resolve: Resolve, is_library: Callable[[object], bool]
) -> SharedWrites:
    """Find these lines.

    Args:
      parts: all nodes of the function.
    """
    nodes = [each for each in parts if isinstance(each, gast.FunctionDef | gast.AsyncFunctionDef | gast.Lambda)]
    defined = {each.name for each in nodes if not isinstance(each, gast.Lambda)}

    def callee(called: gast.AST) -> Callee:
        return callee_of(called, defined, resolve, is_library)

    leads = Leads(callee)
    bound = {each.id for each in parts if isinstance(each, gast.Name) and not isinstance(each.ctx, gast.Load)}
    functions = [_Function(each, leads, bound) for each in nodes]
    shared = _Shared()
    events: defaultdict[Event, set[Condition]] = defaultdict(set)
    for each in functions:
        shared.update(each.shared)
        for event, conditions in each.events():
            events[event] |= conditions
    lines = _Lines(shared)
    calls: set[int] = set()
    for each in functions:
        if not isinstance(each.node, gast.Lambda):
            lines.add(each, each.node is function, resolve)
            calls |= calls_before_reads(each.node.body, each.scope, leads)
    returned = [(lead.path, lead.least) for each in functions for lead in each.returned]
    attributes: dict[str, int] = {}
    for path, least in [*shared.least.items(), *returned]:
        if (name := attribute_of(path)) is not None:
            attributes[name] = min(attributes.get(name, least), least)
    return SharedWrites(
        frozenset(shared.roots() if lines.by_names or lines.by_events else ()),
        lines.by_names,
        {line: frozenset(found) for line, found in lines.by_events.items()},
        frozenset(lines.by_callers),
        lines.by_results,
        {line: frozenset(names) for line, names in lines.by_attributes.items()},
        frozenset(lines.written),
        attributes,
        {event: frozenset(conditions) for event, conditions in events.items() if conditions},
        frozenset(calls),
        frozenset(part.lineno for part in parts if isinstance(part, gast.Expr) and _is_method(part.value, {"sort"})),
        frozenset(line for part in parts if _may_make_array(part) for line in lines_of(part)),
        {line: by_item for each in functions for line, by_item in open_slices(each.own, leads).items()},
    )


class _Lines:
    """The lines of writes: see `SharedWrites`."""

    def __init__(self, shared: _Shared) -> None:
        self.shared = shared
        self.by_names: dict[int, int] = {}
        self.by_events: defaultdict[int, set[Event]] = defaultdict(set)
        self.by_callers: set[int] = set()
        self.by_results: dict[int, bool] = {}
        self.by_attributes: defaultdict[int, set[str]] = defaultdict(set)
        self.written: set[int] = set()

    def add(self, function: _Function, is_whole: bool, resolve: Resolve) -> None:
        least, parameters = self.shared.least, function.parameters
        returned = {lead.path for lead in function.returned}
        for written, path, lines in _writes(function.own, resolve):
            self.written.update(lines)
            root = root_of(path)
            leading = [*prefixes(path)]
            leading += [start + ELEMENTS for start in leading if path[len(start) :].startswith("[")]
            dimensions = [
                max(least[start] - depth, -1 if not depth else 0)
                for start in leading
                if start in least
                for depth in [path[len(start.removesuffix(ELEMENTS)) :].count("[")]
            ]
            if root in parameters - returned and not is_whole:
                dimensions.append(0)
            if dimensions:
                self.by_names |= {line: min(self.by_names.get(line, dimensions[0]), *dimensions) for line in lines}
            events = set[Event]().union(*(self.shared.events.get(start, ()) for start in leading))
            if events:
                for line in lines:
                    self.by_events[line] |= events
            if path in parameters & returned:
                self.by_results |= dict.fromkeys(lines, is_whole)
            elif root in parameters and is_whole and path.partition("[")[0] == root:
                self.by_callers.update(lines)
            while isinstance(written, gast.Subscript):
                written = written.value
            if isinstance(written, gast.Attribute):
                for line in lines:
                    self.by_attributes[line].add(written.attr)


_KEEPING = frozenset([Callee.KEEPS, Callee.TAKES, Callee.METHOD, Callee.USERS, Callee.UNKNOWN, Callee.ANY])


def _own_nodes(node: gast.AST) -> list[gast.AST]:
    """The nodes of a function but those of functions in it. Those of classes, comprehensions and lambdas are its own."""
    found: list[gast.AST] = []
    pending = [node.body] if isinstance(node, gast.Lambda) else [*node.body]
    while pending:
        part = pending.pop()
        found.append(part)
        if not isinstance(part, gast.FunctionDef | gast.AsyncFunctionDef | gast.Lambda):
            pending += children(part)
    return found


def _paths_in(target: gast.AST | None) -> Iterator[str]:
    """The paths that an assignment to this target binds."""
    if isinstance(target, gast.Tuple | gast.List):
        for each in target.elts:
            yield from _paths_in(each)
    elif isinstance(target, gast.Starred):
        yield from _paths_in(target.value)
    elif target is not None and (path := path_of(target)) is not None:
        yield path


def _is_of_itself(path: str, own: str) -> bool:
    """Whether ``path`` is what ``own`` is bound to a part of, so that no other name remains: ``x = x[1:]``."""
    return path == own or (root_of(path) == own and "." not in path)


def _pairs(target: gast.AST, value: gast.AST) -> Iterator[tuple[gast.AST, gast.AST]]:
    pair = (gast.Tuple, gast.List)
    if not (isinstance(target, pair) and isinstance(value, pair) and len(target.elts) == len(value.elts)):
        yield target, value
    elif sorted(map(gast.unparse, target.elts)) != sorted(map(gast.unparse, value.elts)):  # else they are exchanged
        for one, other in zip(target.elts, value.elts, strict=True):
            yield from _pairs(one, other)


def _is_method(node: gast.AST, names: Collection[str]) -> bool:
    return isinstance(node, gast.Call) and isinstance(node.func, gast.Attribute) and node.func.attr in names


def _may_make_array(part: gast.AST) -> bool:
    constants = gast.Constant | gast.List | gast.Tuple | gast.ListComp | gast.JoinedStr
    return (
        isinstance(part, gast.BinOp) and not isinstance(part.left, constants) and not isinstance(part.right, constants)
    )


def _writes(parts: Sequence[gast.AST], resolve: Resolve) -> Iterator[tuple[gast.AST, str, Iterable[int]]]:
    """What is written to in place, and its paths, each with the lines of the write."""
    for part in parts:
        written: Sequence[gast.AST] = ()
        if isinstance(part, gast.Subscript) and isinstance(part.ctx, gast.Store):
            written = [part.value]
        elif isinstance(part, gast.AugAssign):
            written = [part.target]
        elif isinstance(part, gast.Attribute) and isinstance(part.ctx, gast.Store) and part.attr in PARTS:
            written = [part.value]
        elif isinstance(part, gast.Call):
            written = _written_by(part, resolve)
        for each in written:
            if (path := path_of(each)) is not None:
                yield each, path, lines_of(part)


def _written_by(call: gast.Call, resolve: Resolve) -> list[gast.AST]:
    """What a method of arrays, or a function of NumPy's, writes to in place."""
    named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    written = [named["out"]] if "out" in named else []
    operands = getattr(resolve(call.func), "nin", None)  # of a ufunc, which may be given `out` after them
    written += call.args[operands:] if isinstance(operands, int) else []
    if (function := BY_LAST_NAME.get(name_of(call.func))) is not None:
        written += function.written(call.args, named, _may_be)
    if isinstance(call.func, gast.Attribute) and (method := METHODS.get(call.func.attr)) is not None:
        written += method.written([call.func.value, *call.args], named, _may_be)
    return [part for each in written for part in (each.elts if isinstance(each, gast.Tuple) else [each])]


def _may_be(node: gast.AST, value: bool) -> bool:
    return not isinstance(node, gast.Constant) or node.value == value
