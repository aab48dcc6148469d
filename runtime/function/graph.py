"""`Graph`: the traced program of one signature, for inspection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from autograph.runtime.explorer.page import Contents, in_frame, program_page
from autograph.runtime.explorer.view import View


@dataclass(frozen=True)
class Operation:
    """One operation of a program.

    Attributes:
      name: the name of the primitive.
      location: the user's ``file:line:column (function)``.
    """

    name: str
    location: str

    def __str__(self) -> str:
        return f"{self.name}  {self.location}"


class Graph:
    """The traced program of one signature.

    In a notebook it is displayed as the page of `to_html`.

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
        """The program as a `jax.extend.core.ClosedJaxpr`."""
        return self._inspection.jaxpr

    @property
    def operations(self) -> list[Operation]:
        """All operations in order; those of branches and loop bodies follow the statement that they belong to."""
        return [Operation(*found) for found in self._inspection.operations()]

    def as_text(self, stage: str = "jaxpr") -> str:
        """Return the program as text.

        Args:
          stage: ``"jaxpr"``, ``"choices"`` (the forms chosen for loops and conditionals, and why), ``"stablehlo"``,
            ``"hlo"``, ``"optimized_hlo"`` or ``"optimized_hlo_dot"``.

        Returns:
          The text of the program at that stage.

        Raises:
          ValueError: the stage does not exist, or the program has symbolic dimensions, which XLA compiles only for
            concrete sizes.

        >>> import autograph as ag, jax.numpy as jnp
        >>> graph = ag.function(lambda x: x + 1).get_concrete_function(jnp.array(1)).graph
        >>> "stablehlo.add" in graph.as_text("stablehlo")
        True
        """
        if stage not in self._inspection.stages:
            raise ValueError(f"stage must be one of {', '.join(self._inspection.stages)}; got {stage!r}")
        text: str = self._inspection.text(stage)
        return text

    def to_dot(self) -> str:
        """Return the jaxpr as a drawing in Graphviz's DOT language.

        Returns:
          DOT text, in which each statement with blocks is a cluster.

        >>> import autograph as ag, jax.numpy as jnp
        >>> graph = ag.function(lambda x: x + 1).get_concrete_function(jnp.array(1)).graph
        >>> graph.to_dot().startswith("digraph")
        True
        """
        text: str = self._inspection.dot()
        return text

    def to_html(self) -> str:
        """Return an HTML page that shows the program, in one file without external resources.

        The page shows the source, the converted source, the jaxpr and the optimized HLO, linked line by line; the
        loop-carried variables and the reasons; costs and retraces. The program is compiled if it has not been.

        Returns:
          HTML. Text from the program and its source is escaped.

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
        """Return XLA's cost estimates for the compiled program.

        Returns:
          A dict from names such as ``flops`` and ``bytes accessed`` to numbers.

        >>> import autograph as ag, jax.numpy as jnp
        >>> graph = ag.function(lambda x: x + 1).get_concrete_function(jnp.ones(100)).graph
        >>> graph.cost_analysis()["flops"]
        100.0
        """
        costs: dict[str, float] = self._inspection.cost()
        return costs

    def memory_analysis(self) -> Any:
        """Return the memory that the compiled program needs, as XLA reports it.

        Returns:
          An object with the sizes of arguments, results and temporaries in bytes.

        >>> import autograph as ag, jax.numpy as jnp
        >>> graph = ag.function(lambda x: x + 1).get_concrete_function(jnp.ones(100)).graph
        >>> graph.memory_analysis().argument_size_in_bytes
        400
        """
        return self._inspection.memory()

    def _repr_html_(self) -> str:
        return in_frame(self.to_html(), repr(self))

    def __repr__(self) -> str:
        return f"<Graph {self.name}: {len(self.jaxpr.eqns)} operations>"
