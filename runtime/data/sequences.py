"""The sequential steps of a dataset, whose elements depend on those before. `cursors` runs them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from autograph.runtime.data.pipeline import Node, Reading, Several, Slices, Step, Take, is_endless
from autograph.runtime.state.held import HeldArrays


@dataclass(frozen=True)
class Sequence(Step):
    """A step whose elements are had in order only, on the device."""

    @property
    def is_positional(self) -> bool:
        return False

    @property
    def is_stream(self) -> bool:
        return False


@dataclass(frozen=True)
class Filter(Sequence):
    """The elements of which a function is true."""

    predicate: Callable[..., Any]

    @property
    def size(self) -> int | None:
        return 0 if self.parent.size == 0 else None


@dataclass(frozen=True)
class TakeWhile(Filter):
    """The elements before the first of which a function is false."""

    @property
    def repeats(self) -> bool:
        return False


@dataclass(frozen=True)
class Scan(Sequence):
    """What a function of a state and an element makes of each element, beside the next state.

    Attributes:
      state: the first state.
    """

    function: Callable[[Any, Any], Any]
    state: Any = field(compare=False)


@dataclass(frozen=True)
class Limit(Sequence):
    """The first so many elements, a number that is known at run time."""

    arrays: HeldArrays = field(compare=False)

    @property
    def repeats(self) -> bool:
        return False

    @property
    def size(self) -> int | None:
        return None


@dataclass(frozen=True)
class Unbatch(Sequence):
    """The rows of each element."""

    @property
    def size(self) -> int | None:
        return 0 if self.parent.size == 0 else None

    @property
    def has_odd(self) -> bool:
        return False


@dataclass(frozen=True)
class Interleave(Sequence):
    """The elements of the datasets that a function makes, of several of them in turn.

    Attributes:
      function: makes a dataset of an element.
      cycle: of how many datasets elements are had in turn.
      block: how many elements of each.
    """

    function: Callable[..., Any]
    cycle: int
    block: int
    has_odd_elements: bool = False

    @property
    def size(self) -> int | None:
        return 0 if self.parent.size == 0 else None

    @property
    def has_odd(self) -> bool:
        return self.has_odd_elements

    @property
    def odd_is_last(self) -> bool:
        return False


@dataclass(frozen=True)
class Choose(Several):
    """Elements of several datasets in the order in which another one, the first part, yields their numbers.

    Attributes:
      stops: whether it ends where the dataset that is chosen has no element left, which is else left out.
      is_checked: whether some number may be none of a dataset's.
    """

    stops: bool
    is_checked: bool

    @property
    def is_positional(self) -> bool:
        return False

    @property
    def repeats(self) -> bool:
        return all(map(is_endless, self.parts))

    @property
    def has_odd(self) -> bool:
        return any(part.has_odd for part in self.parts[1:])

    @property
    def odd_is_last(self) -> bool:
        return False


@dataclass(frozen=True)
class Window(Step):
    """Datasets of so many elements each.

    Attributes:
      width: how many elements a window has.
      shift: how far each window is from the one before.
      stride: how far the elements of a window are from each other.
      drop: whether those in the end that have fewer elements are left out.
      make: makes a dataset of its last step.
    """

    width: int
    shift: int
    stride: int
    drop: bool
    make: Callable[[Node], Any]

    @property
    def is_positional(self) -> bool:
        return self.drop and self.parent.is_positional

    @property
    def is_stream(self) -> bool:
        return False

    @property
    def size(self) -> int | None:
        inner = self.parent.size
        if inner is None:
            return None
        return max((inner - self.reach) // self.shift + 1, 0) if self.drop else -(-inner // self.shift)

    @property
    def reach(self) -> int:
        """How many elements there are from a window's first to its last."""
        return (self.width - 1) * self.stride + 1

    def rows(self, reading: Reading, positions: Any, epochs: Any, odd: bool) -> Any:
        within = jnp.arange(self.width, dtype=jnp.int32) * self.stride
        epochs = epochs if jnp.ndim(epochs) == 0 else epochs[..., None]
        elements = self.parent.rows(reading, jnp.asarray(positions * self.shift)[..., None] + within, epochs, False)
        return self.of(elements, None)

    def of(self, elements: Any, count: Any) -> Any:
        """The window over these elements, stacked, of which ``count`` are there: a dataset for each array of one."""

        def dataset(array: Any) -> Any:
            node: Node = Slices(self.width, jax.tree_util.tree_structure(0), HeldArrays([array]))
            return self.make(node if count is None else Limit(node, HeldArrays([count])))

        return jax.tree_util.tree_map(dataset, elements)


def with_known_limits(node: Node) -> Node:
    """The same steps, in which a `Limit` whose number is no traced one is a `Take`; itself where there is none."""
    if not isinstance(node, Step):
        return node
    parent = with_known_limits(node.parent)
    if isinstance(node, Limit) and not any(
        isinstance(array, jax.core.Tracer | jax.ShapeDtypeStruct) for array in node.arrays.arrays
    ):
        (count,) = node.arrays.arrays
        return Take(parent, int(count))
    return node if parent is node.parent else dataclasses.replace(node, parent=parent)
