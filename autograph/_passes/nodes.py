"""Helpers that all passes share: the pass context, a visitor, and short constructors of syntax nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import gast

from autograph._analysis.children import FIELDS, children
from autograph._analysis.partial_writes import PartialWrites
from autograph._analysis.truths import Truths

# The nodes of expressions that only combine names and constants: none is a call, or reads an item or attribute.
OF_NAMES_AND_CONSTANTS = (
    gast.Name,
    gast.Constant,
    gast.Tuple,
    gast.BinOp,
    gast.UnaryOp,
    gast.expr_context,
    gast.operator,
    gast.unaryop,
)
_NOT_EVALUATED = frozenset({"annotation", "returns", "pattern"})


class Namer:
    """Hands out names that the function does not use.

    >>> names = Namer({"x", "loop_body"})
    >>> names.new("loop_body"), names.new("item")
    ('loop_body_1', 'item')
    """

    def __init__(self, used: Iterable[str]) -> None:
        self._used = set(used)
        self._counts: dict[str, int] = {}
        self.made: list[str] = []

    def new(self, base: str) -> str:
        count = self._counts.get(base, 0)
        name = base if count == 0 else f"{base}_{count}"
        while name in self._used:
            count += 1
            name = f"{base}_{count}"
        self._counts[base] = count + 1
        self._used.add(name)
        self.made.append(name)
        return name


class Rewriter:
    """Visits nodes and puts what its methods ``visit_KIND`` return in their places, as `gast.NodeTransformer` does.

    Operators, contexts and texts are no nodes here, so there are no methods for them: they are half of all.

    Attributes: fields (for each kind of node the fields that are visited).
    """

    fields = FIELDS
    _visitors: Mapping[type, Callable[[Any, gast.AST], Any]]

    def __init_subclass__(cls) -> None:
        kinds = {kind: getattr(cls, f"visit_{kind.__name__}", None) for kind in FIELDS}
        cls._visitors = MappingProxyType({kind: visitor for kind, visitor in kinds.items() if visitor is not None})

    def visit(self, node: gast.AST) -> Any:
        """What is to stand for a node: a node, for a statement also a list of them."""
        kind = node.__class__
        visitor = self._visitors.get(kind)
        if visitor is not None:
            return visitor(self, node)
        if kind is gast.Constant or (kind is gast.Name and node.annotation is None):  # most nodes
            return node
        return self.generic_visit(node)

    def generic_visit(self, node: gast.AST) -> gast.AST:
        """The node itself, in which all is replaced."""
        values, visit = node.__dict__, self.visit
        for field_name in self.fields[node.__class__]:
            value = values.get(field_name)
            if value.__class__ is list:
                replaced: list[Any] = []
                for part in value:
                    new = part if part is None else visit(part)
                    if new.__class__ is list:
                        replaced += new
                    else:
                        replaced.append(new)
                value[:] = replaced
            elif value is not None:
                values[field_name] = visit(value)
        return node


class EvaluatedParts(Rewriter):
    """Visits what running a function evaluates: all but annotations, which are read by whoever evaluates them, and patterns,
    in which only constants and attributes may stand.
    """

    fields = MappingProxyType(
        {kind: tuple(name for name in names if name not in _NOT_EVALUATED) for kind, names in FIELDS.items()}
    )


@dataclass
class Context:
    """What one function's conversion carries from pass to pass.

    Attributes:
      operators: the name under which the rewritten code finds its operators (``ag__``).
      names: makes fresh names.
      is_plain_call: tells whether a called expression can be seen, now, to need no conversion.
      is_own_name: tells whether a name is a variable of the function or of one inside it.
      is_loop_directive: tells whether a called expression is the directive for a loop's options.
      is_logging: tells whether a called attribute is a function that logs or warns.
      special_methods: names of operators' methods and properties, of classes around, that Python would run unconverted.
      partial_writes: what some paths of the file's functions may leave unset.
      has_tuple_items: whether the file's functions make tuples that containers hold.
      truths: what may be a truth value where the function runs.
      gives_truth: tells whether a called expression can be seen, now, to be a function, of any file, that may return one.
      shared_names: names of what something else may lead to as well.
      exit_flags: for a ``for`` loop, the variables that end it once true.
      loop_options: for a loop with a directive, the expression for its options.
      result_names: variables that hold what a ``return`` inside a loop returns.
      before_return: conditionals whose body runs only where nothing has been returned, with the variable of that.
      keeps_jumps: functions whose jumps stay jumps, and the statements around them Python's.
      managed: ``with`` statements that are staged as the ``try`` that each is.
      has_calls: whether operators make calls of it, which may be of the user's functions.
      tests: expressions of which only the truth is asked for.
      is_coroutine: whether the function is a generator function that `types.coroutine` has marked.
      stops: whether the function is called where a handler may catch what the program raises.
      comprehension_bodies: lambdas made of what a list comprehension collects.
      generated: names of the functions, and of their lists, that passes made, as against those the user wrote.
    """

    operators: str
    names: Namer
    is_plain_call: Callable[[gast.AST], bool]
    is_own_name: Callable[[str], bool]
    is_loop_directive: Callable[[gast.AST], bool] = lambda node: False
    is_logging: Callable[[gast.AST], bool] = lambda node: False
    special_methods: frozenset[str] = frozenset()
    stops: bool = False
    is_coroutine: bool = False
    partial_writes: PartialWrites = PartialWrites()
    has_tuple_items: bool = False
    truths: Truths = field(default_factory=Truths)
    gives_truth: Callable[[gast.AST], bool] = lambda node: False
    shared_names: frozenset[str] = frozenset()
    exit_flags: dict[gast.AST, tuple[str, ...]] = field(default_factory=dict)
    loop_options: dict[gast.AST, gast.AST] = field(default_factory=dict)
    tests: set[gast.AST] = field(default_factory=set)
    generated: set[str] = field(default_factory=set)
    result_names: set[str] = field(default_factory=set)
    before_return: dict[gast.AST, str] = field(default_factory=dict)
    keeps_jumps: set[gast.AST] = field(default_factory=set)
    comprehension_bodies: set[gast.AST] = field(default_factory=set)
    managed: set[gast.AST] = field(default_factory=set)
    has_calls: bool = False

    def operator(self, name: str) -> gast.AST:
        """The expression ``ag__.name``."""
        return gast.Attribute(load(self.operators), name, gast.Load())

    def call(self, operator: str, *arguments: gast.AST, **keywords: gast.AST) -> gast.AST:
        """The expression ``ag__.operator(*arguments, **keywords)``."""
        named = [gast.keyword(name, value) for name, value in keywords.items()]
        return gast.Call(self.operator(operator), list(arguments), named)

    def truth(self, test: gast.AST) -> gast.AST:
        """An expression for ``bool(test)``; comparisons and negations are left as they read."""
        plain = isinstance(test, gast.Compare) and len(test.ops) == 1
        plain = plain or (isinstance(test, gast.UnaryOp) and isinstance(test.op, gast.Not))
        self.tests.add(test)
        return test if plain else self.call("truth", test)

    def is_operator(self, node: gast.AST) -> bool:
        """Whether ``node`` is ``ag__.something``."""
        return (
            isinstance(node, gast.Attribute) and isinstance(node.value, gast.Name) and node.value.id == self.operators
        )

    def is_operator_call(self, node: gast.AST) -> bool:
        """Whether ``node`` is ``ag__.something(...)``."""
        return isinstance(node, gast.Call) and self.is_operator(node.func)


def load(name: str) -> gast.AST:
    return gast.Name(name, gast.Load(), None, None)


def store(name: str) -> gast.AST:
    return gast.Name(name, gast.Store(), None, None)


def parameter(name: str) -> gast.AST:
    return gast.Name(name, gast.Param(), None, None)


def constant(value: Any) -> gast.AST:
    return gast.Constant(value, None)


def is_none(node: gast.AST) -> bool:
    """Whether this is ``None``."""
    return isinstance(node, gast.Constant) and node.value is None


def assign(name: str, value: gast.AST) -> gast.AST:
    return gast.Assign([store(name)], value, None)


def names_tuple(names: Sequence[str]) -> gast.AST:
    return gast.Tuple([constant(name) for name in names], gast.Load())


def negation(node: gast.AST) -> gast.AST:
    return gast.UnaryOp(gast.Not(), node)


def any_of(names: Sequence[str]) -> gast.AST:
    return load(names[0]) if len(names) == 1 else gast.BoolOp(gast.Or(), [load(name) for name in names])


def arguments(names: Sequence[str] = ()) -> gast.AST:
    return gast.arguments([parameter(name) for name in names], [], None, [], [], None, [])


def thunk(body: gast.AST) -> gast.AST:
    """``lambda: body``."""
    return gast.Lambda(arguments(), body)


def function(name: str, parameters: Sequence[str], body: list[gast.AST]) -> gast.AST:
    node = gast.FunctionDef(name, arguments(parameters), body or [gast.Pass()], [], None, None)
    if "type_params" in gast.FunctionDef._fields:
        node.type_params = []
    return node


def placed(node: gast.AST, like: gast.AST, end: gast.AST | None = None) -> gast.AST:
    """Set the position of every part of ``node`` that has none to the first line of ``like``, up to ``end``.

    Only the header's position may be used: a call that spans a whole block is reported by CPython at its last line.
    """
    end = end if end is not None else like
    line, column = like.lineno, like.col_offset
    if end is like and isinstance(like, gast.stmt) and (like.end_lineno or line) > line:
        end_line, end_column = line, column + 1
    else:
        end_line, end_column = end.end_lineno or line, end.end_col_offset or column
    pending = [node]
    while pending:
        part = pending.pop()
        if getattr(part, "lineno", None) is not None:
            continue
        if "lineno" in part._attributes:
            part.lineno, part.col_offset = line, column
            part.end_lineno, part.end_col_offset = end_line, end_column
        pending += children(part)
    return node


def copied(node: gast.AST) -> gast.AST:
    """A structural copy, so that no node stands twice in the tree."""
    if isinstance(node, list):
        return [copied(part) for part in node]
    if not isinstance(node, gast.AST):
        return node
    copy = type(node)(*(copied(getattr(node, field)) for field in node._fields))
    for attribute in node._attributes:
        if hasattr(node, attribute):
            setattr(copy, attribute, getattr(node, attribute))
    return copy


def blocks_in(node: gast.AST) -> list[tuple[gast.AST, str, list[gast.AST]]]:
    """The blocks of a statement, with those of its handlers and cases: the node that has each, its field, and the block."""
    parts = [node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())]
    names = [(part, name) for part in parts for name in ("body", "orelse", "finalbody")]
    found = [(part, name, getattr(part, name, None)) for part, name in names]
    return [(part, name, block) for part, name, block in found if isinstance(block, list)]


def rewrite_blocks(node: gast.AST, rewrite: Callable[[list[gast.AST]], list[gast.AST]]) -> None:
    """Put in the place of each block of a statement what ``rewrite`` makes of it, in their order."""
    for part, name, block in blocks_in(node):
        setattr(part, name, rewrite(block))


def bindings_of(node: gast.AST) -> list[tuple[gast.AST, gast.AST]]:
    """The targets of an assignment, each with its value; their parts, where both are written out."""
    return [pair for target in node.targets for pair in _pairs(target, node.value)]


def _pairs(target: gast.AST, value: gast.AST) -> list[tuple[gast.AST, gast.AST]]:
    displays = gast.Tuple | gast.List
    if isinstance(target, displays) and isinstance(value, displays) and len(target.elts) == len(value.elts):
        if not any(isinstance(part, gast.Starred) for part in (*target.elts, *value.elts)):
            return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def dict_display(context: Context, node: gast.AST) -> gast.AST:
    """A display of a dict: one some keys of which are no texts may come to have others that only run time knows."""
    if None in node.keys or (node.keys and all(map(_is_text, node.keys))):
        return node
    pairs = [gast.Tuple([k, v], gast.Load()) for k, v in zip(node.keys, node.values, strict=True)]
    return placed(context.call("dict_of", *pairs), node)


def _is_text(node: gast.AST) -> bool:
    return isinstance(node, gast.Constant) and isinstance(node.value, str)


def after_declarations(function: gast.AST) -> int:
    """Where in the body what must run first may stand: after the docstring and the declarations at the top."""
    position = 0
    for statement in function.body:
        is_docstring = isinstance(statement, gast.Expr) and isinstance(statement.value, gast.Constant)
        if not is_docstring and not isinstance(statement, gast.Global | gast.Nonlocal):
            break
        position += 1
    return position
