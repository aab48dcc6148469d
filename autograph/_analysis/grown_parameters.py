"""Which parameters of a file's functions and classes are lists whose length the file changes, or hold such lists."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from autograph._analysis.children import walk

GROWING_METHODS = frozenset({"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"})
# Of `heapq` and `bisect`, which write to their first argument.
GROWING_FUNCTIONS = frozenset(
    {"heappush", "heappop", "heapify", "heappushpop", "heapreplace", "insort", "insort_left", "insort_right"}
)


_AT_ONCE = frozenset([0])  # depth


@dataclass(frozen=True)
class GrownParameters:
    """What the functions of a file do to the lists that they are given, or that objects are given when they are made.

    Attributes:
      places: by the name of a function, or a method, the positions and the keywords of such arguments in a call.
      made: by the name of a class, how far below such an argument of its call the lists are: 0 for the argument itself.

    >>> import ast
    >>> found = GrownParameters.of(ast.parse('''
    ... def push(stack, v): stack.append(v)
    ... def twice(v, on): push(on, v); push(on, v)
    ... class Walk:
    ...     def step(self, path): twice(0, on=path)
    ... '''))
    >>> {name: sorted(map(str, places)) for name, places in found.places.items()}
    {'push': ['0', 'stack'], 'twice': ['1', 'on'], 'step': ['0', 'path']}
    >>> found = GrownParameters.of(ast.parse('''
    ... class Graph:
    ...     def __init__(self, edges): self.edges = edges
    ...     def add(self, a, b): self.edges[a].append(b)
    ... '''))
    >>> {name: [(place, *depths) for place, depths in places.items()] for name, places in found.made.items()}
    {'Graph': [('edges', 1), (0, 1)]}
    """

    places: Mapping[str, frozenset[int | str]] = field(default_factory=lambda: MappingProxyType({}))
    made: Mapping[str, Mapping[int | str, frozenset[int]]] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, tree: ast.Module) -> GrownParameters:
        """Those of the file with this tree."""
        nodes = walk(tree)
        methods = {part for node in nodes if isinstance(node, ast.ClassDef) for part in node.body}
        functions = [_Function.of(node, node in methods) for node in nodes if isinstance(node, ast.FunctionDef)]
        depths = _grown_attributes(nodes)
        made = {node.name: _held_by(node, depths) for node in nodes if isinstance(node, ast.ClassDef)} if depths else {}
        places: dict[str, frozenset[int | str]] = {}
        callers: dict[str, list[tuple[_Function, ast.Call]]] = {}
        changed: list[str] = []

        def note(function: _Function, names: Iterable[str]) -> None:
            before = places.get(function.name, frozenset())
            found = before.union(*(function.places[name] for name in names if name in function.places))
            if found != before:
                places[function.name] = found
                changed.append(function.name)

        for function in functions:
            note(function, function.grown)
            for call in function.calls:
                callers.setdefault(_name(call.func) or "", []).append((function, call))
        known = cls(places, made)
        while changed:
            for function, call in callers.get(changed.pop(), ()):
                arguments = [each for each, depths in known.arguments(call) if depths is _AT_ONCE]
                note(function, [each.id for each in arguments if isinstance(each, ast.Name)])
        return known

    def arguments(self, call: Any, name: str | None = None) -> Iterator[tuple[Any, frozenset[int]]]:
        """The arguments of a call, of Python's tree or of gast's, that are or hold lists whose length it or a method changes.

        With each comes how far below it those are. ``name``: of what is called, in the file.
        """
        name = name or _name(call.func) or ""
        places = {place: _AT_ONCE for place in self.places.get(name, ())} or self.made.get(name, {})
        for place, argument in enumerate(call.args):
            if place in places:
                yield argument, places[place]
        for keyword in call.keywords:
            if keyword.arg in places:
                yield keyword.value, places[keyword.arg]


@dataclass(frozen=True)
class _Function:
    """A function: its name, the places of its parameters in a call, the names whose lists grow in it, and the calls in it."""

    name: str
    places: Mapping[str, frozenset[int | str]]
    grown: frozenset[str]
    calls: tuple[ast.Call, ...]

    @classmethod
    def of(cls, node: ast.FunctionDef, is_method: bool) -> _Function:
        by_position = [*node.args.posonlyargs, *node.args.args][is_method:]
        places: dict[str, frozenset[int | str]] = {each.arg: frozenset([each.arg]) for each in node.args.kwonlyargs}
        for place, each in enumerate(by_position):
            places[each.arg] = frozenset([place, each.arg])
        parts = walk(node)
        calls = tuple(part for part in parts if isinstance(part, ast.Call))
        grown = frozenset(part.id for part in _lengthened(parts) if isinstance(part, ast.Name))
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
