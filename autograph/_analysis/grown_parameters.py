"""Which parameters of a file's functions are lists whose length the functions change."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from autograph._analysis.children import walk

GROWING_METHODS = frozenset({"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"})
# Of `heapq` and `bisect`, which write to their first argument.
GROWING_FUNCTIONS = frozenset(
    {"heappush", "heappop", "heapify", "heappushpop", "heapreplace", "insort", "insort_left", "insort_right"}
)


@dataclass(frozen=True)
class GrownParameters:
    """What the functions of a file do to the lists that they are given.

    Attributes: places (by the name of a function, or a method, the positions and the keywords of such arguments in a call).

    >>> import ast
    >>> found = GrownParameters.of(ast.parse('''
    ... def push(stack, v): stack.append(v)
    ... def twice(v, on): push(on, v); push(on, v)
    ... class Walk:
    ...     def step(self, path): twice(0, on=path)
    ... '''))
    >>> {name: sorted(map(str, places)) for name, places in found.places.items()}
    {'push': ['0', 'stack'], 'twice': ['1', 'on'], 'step': ['0', 'path']}
    """

    places: Mapping[str, frozenset[int | str]] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, tree: ast.Module) -> GrownParameters:
        """Those of the file with this tree."""
        nodes = walk(tree)
        methods = {part for node in nodes if isinstance(node, ast.ClassDef) for part in node.body}
        functions = [_Function.of(node, node in methods) for node in nodes if isinstance(node, ast.FunctionDef)]
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
        known = cls(places)
        while changed:
            for function, call in callers.get(changed.pop(), ()):
                note(function, [each.id for each in known.arguments(call) if isinstance(each, ast.Name)])
        return known

    def arguments(self, call: Any, name: str | None = None) -> Iterator[Any]:
        """The arguments of a call, of Python's tree or of gast's, whose length it changes: a call of what has this name in the file."""
        places = self.places.get(name or _name(call.func) or "", ())
        for place, argument in enumerate(call.args):
            if place in places:
                yield argument
        for keyword in call.keywords:
            if keyword.arg in places:
                yield keyword.value


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
        changed = [part.value for part in parts if isinstance(part, ast.Attribute) and part.attr in GROWING_METHODS]
        changed += [call.args[0] for call in calls if call.args and _name(call.func) in GROWING_FUNCTIONS]
        grown = frozenset(part.id for part in changed if isinstance(part, ast.Name))
        return cls(node.name, places, grown, calls)


def _name(node: Any) -> str | None:
    return getattr(node, "id", getattr(node, "attr", None))
