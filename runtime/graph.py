"""`Graph`: what was traced for one signature, open to inspection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from autograph.runtime.explorer.page import Contents, in_frame, program_page
from autograph.runtime.explorer.view import View


@dataclass(frozen=True)
class Operation:
    """One operation of a program.

    Attributes:
      name: the primitive's name.
      location: the user's ``file:line:column (function)``.
    """

    name: str
    location: str

    def __str__(self) -> str:
        return f"{self.name}  {self.location}"


class Graph:
    """What was traced for one signature.

    >>> import autograph as ag, jax.numpy as jnp
    >>> graph = ag.function(lambda x: x + 1).get_concrete_function(jnp.array(1)).graph
    >>> [operation.name for operation in graph.operations]
    ['add']
    """

    def __init__(self, name: str, inspection: Any, view: View, signature: str) -> None:
        self.name = name
        self._view = view
        self._signature = signature
        self._inspection = inspection

    @property
    def jaxpr(self) -> Any:
        """The closed jaxpr."""
        return self._inspection.jaxpr

    @property
    def operations(self) -> list[Operation]:
        """Every operation in order, those in branches and loop bodies after the statement they belong to."""
        return [Operation(*found) for found in self._inspection.operations()]

    def as_text(self, stage: str = "jaxpr") -> str:
        """The program at a stage: ``jaxpr``, ``stablehlo``, ``hlo``, ``optimized_hlo`` or
        ``optimized_hlo_dot``.

        Raises:
          ValueError: no such stage; or one that XLA reaches only when sizes are known, of a program with open
            sizes.
        """
        if stage not in self._inspection.stages:
            raise ValueError(f"stage must be one of {', '.join(self._inspection.stages)}; got {stage!r}")
        text: str = self._inspection.text(stage)
        return text

    def to_dot(self) -> str:
        """The jaxpr as a drawing in Graphviz's language, statements with bodies as clusters."""
        text: str = self._inspection.dot()
        return text

    def to_html(self) -> str:
        """A page to look at the program with, in one file that loads nothing: the source, the converted source, the
        jaxpr and the optimised HLO, linked line by line; what each loop carries and why; costs, retraces, remarks.

        The program is compiled for it, if it has not been.

        Returns:
          HTML. All that comes from the program and its source is escaped.

        >>> import autograph as ag, jax.numpy as jnp
        >>> graph = ag.function(lambda x: x + 1).get_concrete_function(jnp.array(1)).graph
        >>> graph.to_html().startswith("<!doctype html>")
        True
        """
        inspection = self._inspection
        compiled = inspection.optimized_lines()
        contents = Contents(
            self._signature,
            inspection.description(),
            compiled,
            {} if compiled is None else self.cost_analysis(),
            None if compiled is None else self.memory_analysis(),
        )
        return program_page(self.name, contents, self._view)

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimates for the compiled program: ``flops``, ``bytes accessed`` …"""
        costs: dict[str, float] = self._inspection.cost()
        return costs

    def memory_analysis(self) -> Any:
        """XLA's account of the compiled program's memory: arguments, results, temporaries, in bytes."""
        return self._inspection.memory()

    def _repr_html_(self) -> str:
        return in_frame(self.to_html(), repr(self))

    def __repr__(self) -> str:
        return f"<Graph {self.name}: {len(self.jaxpr.eqns)} operations>"
