"""Inspect a traced program: its text at each stage, its operations with source lines, its cost, and a drawing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from autograph.backends.described import Block, TextLine
from autograph.backends.xla import jax_compat
from autograph.backends.xla.ahead import platform_here
from autograph.backends.xla.choices import choices_text
from autograph.backends.xla.description import describe
from autograph.backends.xla.hlo_text import lines_of


class Inspection:
    """One traced program, open to view. Lowering and compiling happen when they are first asked for."""

    def __init__(self, traced: Any) -> None:
        self.jaxpr = traced.jaxpr
        self.out_info = traced.out_info
        self._lowered = _once(traced.lower)
        self._compiled = _once(lambda: self._lowered().compile())
        self._stages: dict[str, Callable[[], str]] = {
            "jaxpr": lambda: str(self.jaxpr),
            "choices": lambda: choices_text(self.jaxpr.jaxpr, platform_here()),
            "stablehlo": lambda: self._lowered().as_text(),
            "hlo": lambda: self._lowered().as_text(dialect="hlo"),
            "optimized_hlo": lambda: self._compiled().as_text(),
            "optimized_hlo_dot": lambda: hlo_to_dot(self._compiled().as_text()),
        }
        exported = getattr(traced, "exported", None)
        self._is_open = exported is not None
        if exported is not None:
            self._stages["stablehlo"] = exported.mlir_module

    @property
    def stages(self) -> list[str]:
        return list(self._stages)

    def text(self, stage: str) -> str:
        return self._stages[stage]()

    def operations(self) -> list[tuple[str, str]]:
        """Each primitive by name, with the user's line, those within statements included."""
        found = jax_compat.all_equations(self.jaxpr.jaxpr)
        return [(jax_compat.name_of(equation), jax_compat.source_line(equation)) for equation in found]

    def description(self) -> Block:
        """The program as data to be shown."""
        return describe(self.jaxpr)

    def optimized_lines(self) -> tuple[TextLine, ...] | None:
        """The compiled program's text with the user's lines; None where XLA has none, of a program with symbolic dimensions."""
        return None if self._is_open else lines_of(self._compiled().as_text())

    def dot(self) -> str:
        return "\n".join(
            [
                "digraph program {",
                '  node [shape=box, fontname="monospace"];',
                *_Drawing().lines(self.jaxpr.jaxpr),
                "}",
            ]
        )

    def cost(self) -> dict[str, float]:
        found = self._compiled().cost_analysis()
        return dict(found[0] if isinstance(found, list) else found or {})

    def memory(self) -> Any:
        return self._compiled().memory_analysis()


class _Drawing:
    """A jaxpr as nodes and edges, the programs within its equations as clusters."""

    def __init__(self) -> None:
        self._count = 0
        self._node_of: dict[int, str] = {}

    def lines(self, jaxpr: Any, indent: str = "  ") -> list[str]:
        found: list[str] = []
        for var in [*jaxpr.constvars, *jaxpr.invars]:
            found.append(indent + self._node(str(var.aval), [var], "shape=ellipse"))
        for equation in jaxpr.eqns:
            sources = [self._node_of[id(a)] for a in equation.invars if id(a) in self._node_of]
            where = jax_compat.source_line(equation)
            found.append(indent + self._node(f"{jax_compat.name_of(equation)}\n{where}", equation.outvars))
            name = f"n{self._count - 1}"
            found += [f"{indent}{source} -> {name};" for source in dict.fromkeys(sources)]
            for inner in jax_compat.inner_programs(equation):
                label = f"in {jax_compat.name_of(equation)}"
                found += [f"{indent}subgraph cluster_{self._count} {{", f"{indent}  label={_quoted(label)};"]
                found += [*self.lines(inner, indent + "  "), f"{indent}}}"]
        for position, atom in enumerate(jaxpr.outvars):
            node = self._node(f"result {position}: {atom.aval}", [], "shape=ellipse")
            found.append(indent + node)
            if id(atom) in self._node_of:
                found.append(f"{indent}{self._node_of[id(atom)]} -> n{self._count - 1};")
        return found

    def _node(self, label: str, variables: Any, style: str = "") -> str:
        name = f"n{self._count}"
        self._count += 1
        self._node_of.update((id(var), name) for var in variables)
        return f"{name} [label={_quoted(label)}{', ' + style if style else ''}];"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


_INSTRUCTION = re.compile(r"^\s*(?:ROOT )?%?([\w.\-]+) = (\([^=]*?\)|\S+) ([\w\-]+)\((.*)$")


def hlo_to_dot(text: str) -> str:
    """The text of an HLO module as a drawing: a cluster for each computation, an edge for each operand."""
    lines = ["digraph module {", '  node [shape=box, fontname="monospace"];']
    known: set[str] = set()
    clusters = 0
    for line in text.splitlines():
        if line.endswith("{") and not line.startswith(("HloModule", " ")):
            lines.append(f"  subgraph cluster_{clusters} {{")
            lines.append(f"    label={_quoted(line.removesuffix('{').strip().partition(' (')[0])};")
            clusters += 1
            known = set()
        elif line.startswith("}"):
            lines.append("  }")
        elif (match := _INSTRUCTION.match(line)) is not None:
            name, kind, operation, rest = match.groups()
            node = f"c{clusters}_{name}"
            lines.append(f"    {_quoted(node)} [label={_quoted(f'{operation} {kind}')}];")
            operands = re.findall(r"%?([\w.\-]+)", rest.partition(")")[0])
            lines += [
                f"    {_quoted(f'c{clusters}_{operand}')} -> {_quoted(node)};"
                for operand in dict.fromkeys(operands)
                if operand in known
            ]
            known.add(name)
    return "\n".join([*lines, "}"])


def _once(make: Callable[[], Any]) -> Callable[[], Any]:
    made: list[Any] = []

    def get() -> Any:
        if not made:
            made.append(make())
        return made[0]

    return get
