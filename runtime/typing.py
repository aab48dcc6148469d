"""Types of the public interface that `jax.typing` does not name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import jax
import jax.typing


class SupportsJaxArray(Protocol):
    """What JAX reads an array from: a Variable, or a class of the user's with this method."""

    def __jax_array__(self) -> jax.Array: ...


class RandomAccess(Protocol):
    """A source of examples: a length, and an item for each int below it."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> PyTree: ...


class GradientTransformation(Protocol):
    """What updates parameters, as optax's transformations do."""

    @property
    def init(self) -> Callable[..., PyTree]: ...

    @property
    def update(self) -> Callable[..., tuple[PyTree, PyTree]]: ...


ArrayLike: TypeAlias = jax.typing.ArrayLike | SupportsJaxArray
# A nested list of numbers beside that.
TensorLike: TypeAlias = "ArrayLike | Sequence[TensorLike]"
# A text, or nested lists of them.
TextLike: TypeAlias = "str | Sequence[TextLike]"
DTypeLike: TypeAlias = jax.typing.DTypeLike
# A tree of arrays and static values, as those of `jax.tree`: Python's types cannot say which.
PyTree: TypeAlias = Any
