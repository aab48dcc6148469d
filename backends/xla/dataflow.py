"""Convert a jaxpr to a dataflow graph: a node for each equation, nested by loops, branches, calls and name scopes."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator, Sequence
from typing import Any

from autograph.backends.described import Node, Position
from autograph.backends.xla import jax_compat
from autograph.backends.xla.description import inner_blocks, literal_text, parameters_of, position
from autograph.backends.xla.jax_compat import Kind

_STATEMENT = re.compile(r"(?:async\s+)?(for|while|if|elif|match)\b")
_NOT_IN_NAMES = re.compile(r"[^\w.\-]+", re.ASCII)
_TRANSFORM = re.compile(r"(\w+)\((.*)\)")


def nodes_of(program: Any, inputs: Sequence[tuple[str, str]], outputs: Sequence[str]) -> list[Node]:
    """The nodes of a closed jaxpr, each after those whose results it takes.

    Args:
      program: it.
      inputs: name and operation of the node of each of its operands.
      outputs: the names of its results.
    """
    flow = _Flow()
    jaxpr = program.jaxpr
    for variable, (name, operation) in zip(jaxpr.invars, inputs, strict=True):
        flow.source(_in_names(name), operation, variable)
    for variable in jaxpr.constvars:
        flow.source("constant", "Constant", variable)
    flow.block("", jaxpr)
    for atom, name in zip(jaxpr.outvars, outputs, strict=True):
        flow.result(_in_names(name), atom)
    return flow.nodes


class _Flow:
    """Attributes: nodes."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._value: dict[Any, str] = {}  # by variable; an operand of an inner program represents a value outside
        self._constant: dict[Any, Any] = {}  # the literals that operands of inner programs represent
        self._taken: dict[str, int] = {}
        self._branches: dict[str, list[tuple[int, str, int, int]]] = {}  # by file

    def block(self, scope: str, jaxpr: Any) -> None:
        """The equations of a program, in a scope. Its operands represent something already."""
        selects = {found for equation in jaxpr.eqns if jax_compat.is_select(equation) and (found := position(equation))}
        headers = {(found.file, found.line) for found in selects}
        for equation in jaxpr.eqns:
            where = position(equation)
            around = _joined(
                scope, *_user_scopes(jax_compat.name_scopes(equation)), *self._branches_around(where, headers)
            )
            self._equation(around, equation, where)

    def _equation(self, scope: str, equation: Any, where: Position | None) -> None:
        kind = jax_compat.kind(equation)
        blocks = inner_blocks(kind, equation)
        if not blocks:
            name = jax_compat.name_of(equation)
            if jax_compat.is_select(equation):
                scope = _joined(scope, _keyword(where))
            parameters = (*self._literals(equation.invars), *parameters_of(equation))
            self.node(_joined(scope, name), name, self._values(equation.invars), equation.outvars, where, parameters)
        elif kind in (Kind.CALL, Kind.RULED, Kind.CHECKPOINT) and len(blocks) == 1 and _fits(blocks[0][1], equation):
            self._call(scope, equation, *blocks[0])
        else:
            self._statement(scope, equation, kind, blocks, where)

    def _call(self, scope: str, equation: Any, label: str, program: Any) -> None:
        """A call: the operations of what is called, in a scope of its name."""
        scope = self._free(_joined(scope, _in_names(label)), is_scope=True)
        for outer, value in zip(equation.outvars, self._inside(scope, program, equation.invars), strict=True):
            self._stand_for(outer, value)

    def _statement(
        self, scope: str, equation: Any, kind: Kind, blocks: Sequence[tuple[str, Any]], where: Position | None
    ) -> None:
        """A loop, a branch or another operation that holds programs: theirs, then a node that takes their results."""
        name = jax_compat.name_of(equation)
        scope = self._free(_joined(scope, _keyword(where) or name), is_scope=True)
        given = self._given(scope, equation, kind, blocks)
        chosen = equation.invars[:1] if kind is Kind.COND else []
        results = self._values(chosen)
        for (label, program), operands in zip(blocks, given, strict=True):
            results += [value for value in self._inside(_joined(scope, _in_names(label)), program, operands) if value]
        parameters = (*self._literals(chosen), *parameters_of(equation))
        self.node(_joined(scope, name), name, results, equation.outvars, where, parameters)

    def _given(self, scope: str, equation: Any, kind: Kind, blocks: Sequence[tuple[str, Any]]) -> list[list[Any]]:
        """For each block what its operands represent: atoms outside, or names of values."""
        atoms = list(equation.invars)
        if (consts := _own_loop_constants(equation)) is not None:
            carry = [self._source(_joined(scope, "carry"), "Carry", atom) for atom in atoms[consts:]]
            return [[*atoms[:consts], *carry]] * 2
        if kind is Kind.WHILE:
            loop = jax_compat.while_of(equation)
            start = loop.test_consts + loop.body_consts
            carry = [self._source(_joined(scope, "carry"), "Carry", atom) for atom in atoms[start:]]
            return [[*atoms[: loop.test_consts], *carry], [*atoms[loop.test_consts : start], *carry]]
        if kind is Kind.SCAN:
            scan = jax_compat.scan_of(equation)
            rows = scan.consts + scan.carried
            carry = [self._source(_joined(scope, "carry"), "Carry", atom) for atom in atoms[scan.consts : rows]]
            taken = [self._source(_joined(scope, "row"), "Row", atom) for atom in atoms[rows:]]
            return [[*atoms[: scan.consts], *carry, *taken]]
        if kind is Kind.COND:
            return [atoms[1:]] * len(blocks)
        given = []
        for _, program in blocks:  # which operand is which is the operation's affair
            variables = _open(program).invars
            operands = self.node(_joined(scope, "operands"), "Operands", self._values(atoms), variables, None)
            given.append([f"{operands}:{k}" if k else operands for k in range(len(variables))])
        return given

    def _inside(self, scope: str, program: Any, operands: Sequence[Any]) -> list[str | None]:
        """The nodes of a program within an operation. Returns the node of its results, None for what is a literal."""
        jaxpr = _open(program)
        for variable, operand in zip(jaxpr.invars, operands, strict=True):
            self._stand_for(variable, operand)
        for variable in jaxpr.constvars:
            self.source(_joined(scope, "constant"), "Constant", variable)
        self.block(scope, jaxpr)
        return [None if jax_compat.is_literal(atom) else self._value.get(atom) for atom in jaxpr.outvars]

    # Variables and what they represent.

    def _stand_for(self, variable: Any, operand: Any) -> None:
        """A variable represents an atom outside, or the value of this name (None: no node computes it)."""
        constant = None
        if operand is None or isinstance(operand, str):
            value = operand
        elif jax_compat.is_literal(operand):
            value, constant = None, operand.val
        else:
            value, constant = self._value.get(operand), self._constant.get(operand)
        # JAX may hold one program in several places: what a variable represented in another is no matter here.
        for known, found in ((self._value, value), (self._constant, constant)):
            known.pop(variable, None)
            if found is not None:
                known[variable] = found

    def _values(self, atoms: Sequence[Any]) -> list[str]:
        """The nodes that compute these; literals are left out."""
        return [self._value[atom] for atom in atoms if not jax_compat.is_literal(atom) and atom in self._value]

    def _literals(self, atoms: Sequence[Any]) -> list[tuple[str, str]]:
        """The operands that are constants in the program's text, by their positions."""
        values = [atom.val if jax_compat.is_literal(atom) else self._constant.get(atom) for atom in atoms]
        return [(f"operand_{k}", literal_text(value)) for k, value in enumerate(values) if value is not None]

    # Nodes.

    def source(self, name: str, operation: str, variable: Any) -> None:
        """A node that nothing leads to."""
        self.node(name, operation, [], [variable], None)

    def _source(self, name: str, operation: str, atom: Any) -> str:
        """A node of what a loop begins with, or goes through."""
        types, literals = [_type(atom.aval)], self._literals([atom])
        return self._add(name, operation, self._values([atom]), types, None, literals)

    def result(self, name: str, atom: Any) -> None:
        """A node of a result of the whole."""
        self._add(name, "Result", self._values([atom]), [_type(atom.aval)], None, self._literals([atom]))

    def node(
        self,
        name: str,
        operation: str,
        inputs: Sequence[str],
        variables: Sequence[Any],
        where: Position | None,
        parameters: Sequence[tuple[str, str]] = (),
    ) -> str:
        """A node that computes these variables. Returns its name."""
        name = self._add(name, operation, inputs, [_type(variable.aval) for variable in variables], where, parameters)
        for k, variable in enumerate(variables):
            self._stand_for(variable, f"{name}:{k}" if k else name)
        return name

    def _add(
        self,
        name: str,
        operation: str,
        inputs: Sequence[str],
        types: Sequence[tuple[str, tuple[int | None, ...]]],
        where: Position | None,
        parameters: Sequence[tuple[str, str]],
    ) -> str:
        name = self._free(name)
        taken = tuple(dict.fromkeys(inputs))
        self.nodes.append(Node(name, operation, taken, tuple(types), where, tuple(parameters)))
        return name

    def _free(self, name: str, is_scope: bool = False) -> str:
        """The name, or with a number if it is taken. A scope and a node may have one name."""
        key = name + "/" * is_scope
        count = self._taken.get(key, 0)
        self._taken[key] = count + 1
        return name if not count else self._free(f"{name}_{count}", is_scope)

    def _branches_around(self, where: Position | None, headers: set[tuple[str, int]]) -> Iterator[str]:
        """The branches that a line is in, outermost first, of those conditionals that have become selects."""
        if where is None or not headers:
            return
        if where.file not in self._branches:
            self._branches[where.file] = list(_branches_in(where.file))
        for header, label, first, last in self._branches[where.file]:
            if (where.file, header) in headers and first <= where.line <= last:
                yield f"{_keyword(Position(where.file, header, 0, ''))}/{label}"


def _own_loop_constants(equation: Any) -> int | None:
    """How many operands of a loop of ours both its programs take as they are; None of another equation."""
    program = equation.params.get("program")
    if hasattr(program, "body") and len(equation.invars) == len(program.body.jaxpr.invars):
        return int(program.consts)
    return None


def _open(program: Any) -> Any:
    return getattr(program, "jaxpr", program)


def _fits(program: Any, equation: Any) -> bool:
    inside = _open(program)
    return len(inside.invars) == len(equation.invars) and len(inside.outvars) == len(equation.outvars)


def _joined(*scopes: str) -> str:
    return "/".join(filter(None, scopes))


def _in_names(text: str) -> str:
    """The text as a name, of which ``/`` makes scopes."""
    parts = (_NOT_IN_NAMES.sub("_", part).strip("_") for part in text.split("/"))
    return _joined(*parts) or "unnamed"


def _type(aval: Any) -> tuple[str, tuple[int | None, ...]]:
    shape = tuple(size if isinstance(size, int) else None for size in getattr(aval, "shape", ()))
    return str(getattr(aval, "dtype", aval)), shape


def _user_scopes(stack: str) -> Iterator[str]:
    """The scopes of a name stack: those that the user named, within one of all that a reverse pass computes."""
    names, is_reverse = [], False
    for part in stack.split("/"):
        while match := _TRANSFORM.fullmatch(part):
            is_reverse = is_reverse or match[1] == "transpose"
            part = match[2]
        names.append(part)
    return map(_in_names, filter(None, ["gradients" if is_reverse else "", *names]))


def _keyword(where: Position | None) -> str:
    """How a statement at this place is written, with its line, as a scope; empty where there is no statement."""
    if where is None:
        return ""
    match = _STATEMENT.match(linecache.getline(where.file, where.line).strip())
    return f"{match[1]}_line_{where.line}" if match else ""


def _branches_in(file: str) -> Iterator[tuple[int, str, int, int]]:
    """The branches of the conditionals in a file: the line of their ``if``, what they are to it, their first and last lines."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return
    for node in ast.walk(tree):  # what is outside comes first
        if isinstance(node, ast.If):
            for label, block in (("if_true", node.body), ("if_false", node.orelse)):
                if block and (block[0].lineno, block[-1].end_lineno) != (node.lineno, node.lineno):
                    yield node.lineno, label, block[0].lineno, block[-1].end_lineno or block[-1].lineno
