"""Which names of a file may represent truth values, or what holds or returns such: they are numbers in Python.

Read from the file's text alone, without regard to the order of statements. Attributes and functions are known by their
names, variables by their names in the outermost function around them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from autograph._analysis.bindings import pairs_of
from autograph._analysis.children import children

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor)
_GIVE_TRUTHS = frozenset(["bool", "any", "all", "isinstance", "issubclass", "hasattr", "callable"])
_GIVE_WHAT_THEY_TAKE = frozenset(
    [
        "min",
        "max",
        "list",
        "tuple",
        "set",
        "frozenset",
        "sorted",
        "reversed",
        "zip",
        "enumerate",
        "map",
        "filter",
        "next",
        "iter",
    ]
)
HOLDING = frozenset(["get", "pop", "popleft", "copy", "values", "items", "setdefault"])
"""Methods that give what an object holds."""
_TAKE_IN = frozenset(["append", "appendleft", "add", "insert", "extend", "setdefault", "fill"])


@dataclass(frozen=True)
class Truths:
    """What may be a truth value where a function runs.

    Attributes: names (variables), attributes, functions (those that may return one).
    """

    names: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()


@dataclass
class FileTruths:
    """The truth values of one file.

    Attributes: variables (by the line of the outermost function around them, 0 outside of functions).
    """

    variables: dict[int, set[str]] = field(default_factory=lambda: {0: set()})
    attributes: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    _spans: list[tuple[int, int]] = field(default_factory=list)
    _parameters: dict[str, list[tuple[int, list[str]]]] = field(default_factory=dict)
    _fields: dict[str, list[str]] = field(default_factory=dict)
    _flows: list[tuple[int, ast.expr, ast.expr]] = field(default_factory=list)
    _returns: list[tuple[int, str, ast.expr]] = field(default_factory=list)
    _calls: list[tuple[int, ast.Call]] = field(default_factory=list)

    @classmethod
    def of(cls, tree: ast.Module) -> FileTruths:
        """Those of the file with this tree."""
        found = cls()
        found._collect(tree)
        while found._flow():
            pass
        return found

    def around(self, line: int) -> Truths:
        """Those that a function sees which is defined in this line."""
        key = next((first for first, last in self._spans if first <= line <= last), 0)
        names = self.variables[0] | self.variables.get(key, set())
        return Truths(frozenset(names), frozenset(self.attributes), frozenset(self.functions))

    def _collect(self, tree: ast.Module) -> None:
        """Note what the file says. Without recursion: chains of ``elif`` are as deep as they are long."""
        pending: list[tuple[ast.AST, int, str | None]] = [(tree, 0, None)]
        while pending:
            node, key, function = pending.pop()
            if type(node) in _TELLING:
                pending += reversed(list(self._note(node, key, function)))
            else:
                pending += [(child, key, function) for child in children(node)][::-1]

    def _note(self, node: ast.AST, key: int, function: str | None) -> Iterator[tuple[ast.AST, int, str | None]]:
        """Note what a node says; what is in it."""
        if isinstance(node, _Function):
            self._parameters.setdefault(node.name, []).append((key or node.lineno, _parameters(node.args)))
            for default in (*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)):
                yield default, key, function
            if not key:
                key = node.lineno
                self._spans.append((min([key, *(each.lineno for each in node.decorator_list)]), node.end_lineno or key))
            self.variables.setdefault(key, set())
            self._declare(node, key)
            function = node.name
            for statement in node.body:
                yield statement, key, function
            return
        if isinstance(node, ast.ClassDef):
            self._fields[node.name] = [
                each.target.id
                for each in node.body
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
            ]
            self.attributes |= {
                each.target.id
                for each in node.body
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and _is_bool(each.annotation)
            }
        for target, value in _flows_of(node):
            self._flows.append((key, target, value))
        if isinstance(node, ast.Return | ast.Yield) and node.value is not None and function is not None:
            self._returns.append((key, function, node.value))
        if isinstance(node, ast.Call):
            self._calls.append((key, node))
        if isinstance(node, ast.AnnAssign) and _is_bool(node.annotation):
            self._add(node.target, key)
        for child in children(node):
            yield child, key, function

    def _declare(self, node: _Function, key: int) -> None:
        """What annotations and defaults say of a function's parameters and results."""
        every = [*node.args.posonlyargs, *node.args.args]
        defaults = dict(zip([each.arg for each in every][::-1], node.args.defaults[::-1], strict=False))
        defaults |= {
            each.arg: value for each, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if value
        }
        for each in (*every, *node.args.kwonlyargs):
            default = defaults.get(each.arg)
            if _is_bool(each.annotation) or (isinstance(default, ast.Constant) and isinstance(default.value, bool)):
                self.variables[key].add(each.arg)
        if _is_bool(node.returns):
            self.functions.add(node.name)

    def _flow(self) -> bool:
        """Follow every flow once; whether that has told anything new."""
        before = self._size()
        for key, target, value in self._flows:
            if isinstance(value, ast.Lambda) and self._is_predicate(value, key):
                self.functions |= {getattr(target, "id", getattr(target, "attr", ""))}
            elif self.may_be(value, key):
                self._add(target, key)
        for key, name, value in self._returns:
            if self.may_be(value, key):
                self.functions.add(name)
        for key, call in self._calls:
            self._pass(call, key)
        return self._size() > before

    def _size(self) -> int:
        return len(self.attributes) + len(self.functions) + sum(map(len, self.variables.values()))

    def _pass(self, call: ast.Call, key: int) -> None:
        """What a call hands to the functions of its name, and to what it puts it into."""
        name = _name_of(call.func)
        given: list[tuple[int | None, str | None, ast.expr]] = [(k, None, value) for k, value in enumerate(call.args)]
        given += [(None, each.arg, each.value) for each in call.keywords]
        for k, named, value in given:
            if self._is_predicate(value, key):
                for _, parameter in self._taking(name, k, named):
                    self.functions.add(parameter)
        truths = [(k, named) for k, named, value in given if self.may_be(value, key)]
        if not truths:
            return
        for value in call.args:  # what a function gets that is handed over with them
            if isinstance(value, ast.Lambda):
                self.variables.setdefault(key, set()).update(_parameters(value.args))
            for callee, parameters in self._parameters.get(_name_of(value) or "", []):
                self.variables.setdefault(callee, set()).update(parameters)
        if name in _TAKE_IN and isinstance(call.func, ast.Attribute):
            self._add(call.func.value, key)
        fields = self._fields.get(name or "", [])
        for k, named in truths:
            for callee, parameter in self._taking(name, k, named):
                self.variables.setdefault(callee, set()).add(parameter)
            self.attributes.update(_nth(fields, k, named))

    def _is_predicate(self, node: ast.expr, key: int) -> bool:
        """Whether an expression is a function that may return a truth value."""
        return self.may_be(node.body, key) if isinstance(node, ast.Lambda) else _name_of(node) in self.functions

    def _taking(self, name: str | None, k: int | None, named: str | None) -> Iterator[tuple[int, str]]:
        """The parameters that take an argument, by its place or name, in the functions of this name: each with its function."""
        for callee, parameters in self._parameters.get("__init__" if name in self._fields else name or "", []):
            own = parameters[1:] if parameters[:1] in (["self"], ["cls"]) else parameters
            for parameter in _nth(own, k, named):
                yield callee, parameter

    def _add(self, target: ast.expr, key: int) -> None:
        if isinstance(target, ast.Name):
            self.variables[key].add(target.id)
        elif isinstance(target, ast.Attribute):
            self.attributes.add(target.attr)
        elif isinstance(target, ast.Subscript | ast.Starred):
            self._add(target.value, key)
        elif isinstance(target, ast.Tuple | ast.List):
            for each in target.elts:
                self._add(each, key)

    def may_be(self, node: ast.expr | None, key: int) -> bool:
        """Whether an expression may return a truth value, or what holds one."""
        match node:
            case ast.Constant(value=value):
                return isinstance(value, bool)
            case ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return True
            case ast.Name(id=name):
                return name in self.variables[0] or name in self.variables.get(key, ())
            case ast.Attribute(attr=name):
                return name in self.attributes or name in self.functions  # a property
            case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                return self._any(parts, key)
            case ast.Dict(values=parts):
                return self._any(parts, key)
            case ast.IfExp(body=one, orelse=other):
                return self._any([one, other], key)
            case (
                ast.Subscript(value=part) | ast.Starred(value=part) | ast.NamedExpr(value=part) | ast.Await(value=part)
            ):
                return self.may_be(part, key)
            case ast.ListComp(elt=part) | ast.SetComp(elt=part) | ast.GeneratorExp(elt=part) | ast.DictComp(value=part):
                return self.may_be(part, key)
            case ast.BinOp(left=one, op=operator, right=other):
                if isinstance(operator, _BITS):
                    return self.may_be(one, key) and self.may_be(other, key)
                return any(isinstance(each, ast.List) and self.may_be(each, key) for each in (one, other))
            case ast.Call():
                return self._gives(node, key)
        return False

    def _any(self, parts: Sequence[ast.expr], key: int) -> bool:
        return any(self.may_be(part, key) for part in parts)

    def _gives(self, call: ast.Call, key: int) -> bool:
        name = _name_of(call.func)
        if isinstance(call.func, ast.Attribute) and name in HOLDING and self.may_be(call.func.value, key):
            return True
        if isinstance(call.func, ast.Name):
            if name in _GIVE_TRUTHS:
                return True
            if name in _GIVE_WHAT_THEY_TAKE:
                called = name == "map" and bool(call.args) and _name_of(call.args[0]) in self.functions | _GIVE_TRUTHS
                return called or self._any(call.args, key)
        return name in self.functions


_TELLING = frozenset(
    [
        *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Return, ast.Yield, ast.Call),
        *(ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.AugAssign, ast.For, ast.comprehension),
    ]
)


def _flows_of(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What a node binds, each with what it is bound to, or what holds that."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from pairs_of(target, value)
        case ast.AnnAssign(target=target, value=value) if value is not None:
            yield target, value
        case ast.NamedExpr(target=target, value=value):
            yield target, value
        case ast.AugAssign(target=target, op=operator, value=value) if isinstance(operator, (*_BITS, ast.Add)):
            if not isinstance(operator, ast.Add) or isinstance(value, ast.List):
                yield target, value
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            yield target, value


def _parameters(arguments: ast.arguments) -> list[str]:
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _nth(names: list[str], k: int | None, named: str | None) -> list[str]:
    return [named] if named in names else names[k : k + 1] if k is not None else []


def _is_bool(annotation: ast.expr | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id == "bool"


def _name_of(called: ast.expr) -> str | None:
    return called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else None
