"""`ConcreteFunction` and `Graph`: one signature's program, callable and open to inspection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax


class Graph:
    """What was traced for one signature.

    >>> import autograph as ag, jax.numpy as jnp
    >>> graph = ag.function(lambda x: x + 1).get_concrete_function(jnp.array(1)).graph
    >>> [str(equation.primitive) for equation in graph.jaxpr.eqns]
    ['add']
    """

    def __init__(self, traced: Any, texts: Mapping[str, Callable[[], str]]) -> None:
        self._traced = traced
        self._texts = texts

    @property
    def jaxpr(self) -> Any:
        """The closed jaxpr."""
        return self._traced.jaxpr

    def as_text(self, stage: str = "jaxpr") -> str:
        """The program at a stage: ``jaxpr``, ``stablehlo``, ``hlo`` or ``optimized_hlo``.

        Raises:
          ValueError: no such stage.
        """
        if stage not in self._texts:
            raise ValueError(f"stage must be one of {', '.join(self._texts)}; got {stage!r}")
        return self._texts[stage]()


class ConcreteFunction:
    """One signature's program. Called with arrays of that signature; Python values it was made for are part of it.

    Attributes:
      graph: the program.
      name: the function's name.
    """

    def __init__(self, name: str, graph: Graph, call: Callable[..., Any]) -> None:
        self.name = name
        self.graph = graph
        self._call = call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self.name}>"


@jax.tree_util.register_pytree_node_class
class StaticOutput:
    """A result that is no array (a string, say): it travels in the structure of the results."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def tree_flatten(self) -> tuple[tuple[()], Any]:
        return (), self.value

    @classmethod
    def tree_unflatten(cls, value: Any, _: Any) -> Any:
        return cls(value)
