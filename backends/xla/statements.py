"""The data structures of staged statements that the passes of `optimize` transform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from autograph.backends.base import LeafType, LoopSpec, Output, Traced
from autograph.backends.xla import jax_compat
from autograph.backends.xla.jax_compat import replay
from autograph.backends.xla.leaf_types import cast


@dataclass(frozen=True)
class Conditional:
    """A conditional of two blocks, and the types of its results.

    Attributes:
      branches: of a true and of a false predicate; each block with those of its leaves that are results.
    """

    predicate: Any
    branches: Sequence[tuple[Traced, Sequence[Any]]]
    types: Sequence[LeafType]

    def block(self, which: int) -> Callable[[], list[Any]]:
        """A branch as a function of nothing."""
        traced, leaves = self.branches[which]
        return lambda: values_of(leaves, replay(traced.program), self.types)


@dataclass(frozen=True)
class Row:
    """An array of a loop's carry that goes by rows: the body takes none of it but slices, and its result is a row.

    ``put`` makes the array after the loop of all rows, in the order of the iterations.
    """

    position: int
    put: Callable[[Any], Any]


@dataclass(frozen=True)
class Loop:
    """A loop, and how it is to be carried out.

    Attributes:
      order: positions of the carry that changes, in the order in which XLA carries it.
      counter: start and step of the item that the body takes in the place of the index; None if it takes the index.
      rows: arrays that change, and are not in ``order``.
      is_mapped: whether no iteration reads what another computes, and all are to be taken at once (see `optimize.mapped`).
    """

    spec: LoopSpec
    order: tuple[int, ...]
    counter: tuple[Any, Any] | None = None
    rows: tuple[Row, ...] = ()
    is_mapped: bool = False

    @property
    def is_scan(self) -> bool:
        """Whether it becomes a `jax.lax.scan`, as it runs a known number of times."""
        spec = self.spec
        is_counted = spec.test is None and isinstance(spec.length, int) and spec.checkpoints is None
        # JAX's own scan would check what our blocks do not say: along which axes of a mesh values vary.
        return is_counted and not jax_compat.checks_varying()


def values_of(leaves: Sequence[Any], outputs: Sequence[Any], types: Sequence[LeafType]) -> list[Any]:
    """The leaves of a block, of which ``outputs`` are what its program has computed, cast to their types."""
    return [
        cast(outputs[leaf.index] if isinstance(leaf, Output) else leaf, type)
        for leaf, type in zip(leaves, types, strict=True)
    ]
