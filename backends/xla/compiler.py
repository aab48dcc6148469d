"""Compile whole functions with XLA, or evaluate them operation by operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from autograph.backends.xla.jax_compat import replay


class XlaCompiler:
    """Compiles functions of a flat list of arrays."""

    def compile(self, function: Callable[..., Any], options: dict[str, Any]) -> Any:
        """Return a jitted ``function(*arrays)`` whose own cache tells shapes and dtypes apart."""
        return jax.jit(function, **options)

    def interpret(self, function: Callable[..., Any]) -> Any:
        """Return ``function`` staged, and evaluated operation by operation without compiling the whole."""
        return OperationByOperation(function)


class OperationByOperation:
    """A staged function that runs one primitive at a time; for looking into numerics."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._programs: dict[Any, tuple[Any, Any]] = {}

    def __call__(self, *operands: Any) -> Any:
        leaves, tree = jax.tree_util.tree_flatten(operands)
        arrays = tuple(map(jax.numpy.asarray, leaves))
        key = (tree, *(jax.typeof(array) for array in arrays))
        if key not in self._programs:
            self._programs[key] = self._trace(jax.tree_util.tree_unflatten(tree, arrays))
        program, results = self._programs[key]
        return jax.tree_util.tree_unflatten(results, replay(program, *arrays))

    def _trace(self, operands: Sequence[Any]) -> tuple[Any, Any]:
        trees: list[Any] = []

        def flat(*operands: Any) -> list[Any]:
            leaves, tree = jax.tree_util.tree_flatten(self._function(*operands))
            trees.append(tree)
            return leaves

        return jax.make_jaxpr(flat)(*operands), trees[-1]

    @property
    def jitted(self) -> Any:
        """The function compiled as a whole, to be looked at."""
        return jax.jit(self._function)

    def trace(self, *operands: Any) -> Any:
        """The staged program, as `jax.stages.Traced`."""
        return self.jitted.trace(*operands)
