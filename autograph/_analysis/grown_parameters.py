"""Which parameters of a file's functions and classes are lists whose length the file changes, or hold such lists."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from autograph._analysis.bindings import pairs_of
from autograph._analysis.children import walk

GROWING_METHODS = frozenset({"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"})
# Of `heapq` and `bisect`, which write to their first argument.
GROWING_FUNCTIONS = frozenset(
    {"heappush", "heappop", "heapify", "heappushpop", "heapreplace", "insort", "insort_left", "insort_right"}
)


Depths = Mapping[int | str, frozenset[int]]  # by the position and the keyword of an argument


@dataclass(frozen=True)
class GrownParameters:
    """What the functions of a file do to the lists that they are given, or that objects are given when they are made.

    Attributes:
      depths: by the name of a function, a method or a class, how far below such an argument of its call the lists are: 0 for the
        argument itself.

    >>> import ast
    >>> def found(text):
    ...     depths = GrownParameters.of(ast.parse(text)).depths
    ...     return {name: [(place, *sorted(each)) for place, each in places.items()] for name, places in depths.items()}
    >>> found('''
    ... def push(stack, v): stack.append(v)
    ... def twice(v, on): push(on, v); push(on, v)
    ... class Walk:
    ...     def step(self, path): twice(0, on=path)
    ... ''')
    {'push': [(0, 0), ('stack', 0)], 'twice': [(1, 0), ('on', 0)], 'step': [(0, 0), ('path', 0)]}
    >>> found('''
    ... class Graph:
    ...     def __init__(self, edges): self.edges = edges
    ...     def add(self, a, b): self.edges[a].append(b)
    ... ''')
    {'Graph': [('edges', 1), (0, 1)]}

    So are lists of lists of which a function exchanges and writes the rows, to be held in arrays:

    >>> found('''
    ... def pivot(m, i, j):
    ...     m[i], m[j] = m[j], m[i]
    ...     m[j][i] -= m[i][i]
    ... ''')
    {'pivot': [(0, 0, 1), ('m', 0, 1)]}
    """

    depths: Mapping[str, Depths] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, tree: ast.Module) -> GrownParameters:
        """Those of the file with this tree."""
        nodes = walk(tree)
        methods = {part for node in nodes if isinstance(node, ast.ClassDef) for part in node.body}
        functions = [_Function.of(node, node in methods) for node in nodes if isinstance(node, ast.FunctionDef)]
        attributes = _grown_attributes(nodes)
        classes = [node for node in nodes if isinstance(node, ast.ClassDef)] if attributes else []
        found: dict[str, Depths] = {node.name: _held_by(node, attributes) for node in classes}
        callers: dict[str, list[tuple[_Function, ast.Call]]] = {}
        changed: list[str] = []

        def note(function: _Function, grown: Mapping[str, frozenset[int]]) -> None:
            before = found.get(function.name, {})
            after = dict(before)
            for name, depths in grown.items():
                for place in function.places.get(name, ()):
                    after[place] = after.get(place, frozenset()) | depths
            if after != before:
                found[function.name] = after
                changed.append(function.name)

        for function in functions:
            note(function, function.grown)
            for call in function.calls:
                callers.setdefault(_name(call.func) or "", []).append((function, call))
        known = cls(found)
        while changed:
            for function, call in callers.get(changed.pop(), ()):
                arguments = known.arguments(call)
                note(function, {each.id: depths for each, depths in arguments if isinstance(each, ast.Name)})
        return known

    def arguments(self, call: Any, name: str | None = None) -> Iterator[tuple[Any, frozenset[int]]]:
        """The arguments of a call, of Python's tree or of gast's, that are or hold lists whose length it or a method changes.

        With each comes how far below it those are. ``name``: of what is called, in the file.
        """
        depths = self.depths.get(name or _name(call.func) or "", {})
        for place, argument in enumerate(call.args):
            if place in depths:
                yield argument, depths[place]
        for keyword in call.keywords:
            if keyword.arg in depths:
                yield keyword.value, depths[keyword.arg]


@dataclass(frozen=True)
class _Function:
    """A function: its name, the places of its parameters in a call, how far below its names lists grow in it, and its calls."""

    name: str
    places: Mapping[str, frozenset[int | str]]
    grown: Mapping[str, frozenset[int]]
    calls: tuple[ast.Call, ...]

    @classmethod
    def of(cls, node: ast.FunctionDef, is_method: bool) -> _Function:
        by_position = [*node.args.posonlyargs, *node.args.args][is_method:]
        places: dict[str, frozenset[int | str]] = {each.arg: frozenset([each.arg]) for each in node.args.kwonlyargs}
        for place, each in enumerate(by_position):
            places[each.arg] = frozenset([place, each.arg])
        parts = walk(node)
        calls = tuple(part for part in parts if isinstance(part, ast.Call))
        grown = {part.id: frozenset([0]) for part in _lengthened(parts) if isinstance(part, ast.Name)}
        grown |= dict.fromkeys(_exchanged_tables(parts), frozenset([0, 1]))
        return cls(node.name, places, grown, calls)


def _name(node: Any) -> str | None:
    return getattr(node, "id", getattr(node, "attr", None))


def _lengthened(parts: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The expressions for what growing methods are called of, or growing functions are given."""
    for part in parts:
        if isinstance(part, ast.Attribute) and part.attr in GROWING_METHODS:
            yield part.value
        elif isinstance(part, ast.Call) and part.args and _name(part.func) in GROWING_FUNCTIONS:
            yield part.args[0]


def _exchanged_tables(parts: Sequence[ast.AST]) -> set[str]:
    """The names of lists of lists of which items get the places of others, and whose items' items are written."""
    written = [part.value for part in parts if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store)]
    found = {_list_of(part) for part in written} - {None}
    if not found:
        return set()
    assigned = [part for part in parts if isinstance(part, ast.Assign)]
    bindings = [pair for part in assigned for target in part.targets for pair in pairs_of(target, part.value)]
    moved = {_list_of(target) for target, value in bindings if _list_of(target) == _list_of(value)}
    return {name for name in found & moved if name is not None}


def _list_of(node: ast.AST) -> str | None:
    """The name of the list whose item this is."""
    return node.value.id if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) else None


def _grown_attributes(nodes: Sequence[ast.AST]) -> Mapping[str, frozenset[int]]:
    """The attributes that are or hold lists whose length the file changes, with how far below them those are."""
    changed = [*_lengthened(nodes)]
    for part in nodes:
        if isinstance(part, ast.AugAssign) and isinstance(part.op, ast.Add):
            changed.append(part.target)
        elif isinstance(part, ast.Delete):
            changed += [target.value for target in part.targets if isinstance(target, ast.Subscript)]
    found: dict[str, frozenset[int]] = {}
    for each in changed:
        depth = 0
        while isinstance(each, ast.Subscript):
            each, depth = each.value, depth + 1
        if isinstance(each, ast.Attribute):
            found[each.attr] = found.get(each.attr, frozenset()) | {depth}
    return found


def _held_by(node: ast.ClassDef, depths: Mapping[str, frozenset[int]]) -> Mapping[int | str, frozenset[int]]:
    """The places of what an object of this class is given and keeps in such attributes."""
    init = next((part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"), None)
    if init is None:
        names = [
            part.target.id
            for part in node.body
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
        ]
        kept = {name: name for name in names}  # of a dataclass
    else:
        names = [each.arg for each in [*init.args.posonlyargs, *init.args.args][1:]]
        kept = {
            part.value.id: target.attr
            for part in walk(init)
            if isinstance(part, ast.Assign | ast.AnnAssign) and isinstance(part.value, ast.Name)
            for target in (part.targets if isinstance(part, ast.Assign) else [part.target])
            if isinstance(target, ast.Attribute)
        }
    found: dict[int | str, frozenset[int]] = {}
    for name, attribute in kept.items():
        if attribute in depths:
            found[name] = depths[attribute]
            if name in names:
                found[names.index(name)] = depths[attribute]
    return found
