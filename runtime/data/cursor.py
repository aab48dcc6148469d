"""`Cursor`: sequential access to a dataset on the device, as a state and a step function.

A step may yield an element, yield none yet, or find that there are no more (stream fusion, as Coutts, Leshchinskiy
and Stewart describe it): so no step of a dataset holds a loop, and whoever asks for elements has the only one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.selected import DATA
from autograph.runtime.data.pipeline import Node, Reading
from autograph.runtime.errors import StagingError
from autograph.runtime.staging.policy.loop_options import make_options
from autograph.runtime.tracing.locations import user_location

END, NOT_YET = np.int32(0), np.int32(-1)
Found = tuple[Any, Any, Any]  # how many rows (1 where there are no batches), `END` or `NOT_YET`; arrays; the next state
Make = Callable[[Node, Reading], "Cursor"]


class Cursor:
    """The place in one iteration of a dataset.

    An element is handled as its arrays, each as large as in a full batch. All methods are called where operations are recorded.

    Attributes:
      node: the last step of the dataset.
      make: makes the cursor of another dataset.
      width: how many rows a full element has: 1 where there are no batches.
      sizes: the other numbers of rows that an element may have; None for all that are less.
      skips: whether a step may yield nothing yet.
      treedef: the container of an element's arrays.
      types: the types of the arrays of a full element.
      has_rows: of each array, whether its first axis is that of the rows.
    """

    skips = False
    width = 1
    sizes: tuple[int, ...] | None = ()
    treedef: Any
    types: list[jax.ShapeDtypeStruct]
    has_rows: list[bool]

    def __init__(self, node: Any, reading: Reading, make: Make) -> None:
        self.node, self.reading, self.make = node, reading, make
        self.operators = reading.operators

    def start(self, epoch: Any) -> Any:
        """The state before the first element of this repetition."""
        raise NotImplementedError

    def step(self, state: Any) -> Found:
        """What comes next. After the end, the end again."""
        raise NotImplementedError

    def opened(self, state: Any) -> list[Any]:
        """The numbers of the iterators of Python's that a state goes on with."""
        return []

    # What the subclasses use.

    def _describe(self, function: Callable[[int], Any]) -> None:
        """Set the types of elements: those of what ``function`` returns, which is given a number of rows."""
        self.treedef, self.types, self.has_rows = described(function, self.width, self.sizes)

    def nothing(self) -> tuple[Any, ...]:
        """Arrays in the places of an element's where there is none."""
        return tuple(jnp.zeros(type.shape, type.dtype) for type in self.types)

    def element(self, arrays: Sequence[Any], rows: int) -> Any:
        """The element of so many rows."""
        if rows != self.width:
            arrays = [array[:rows] if has else array for array, has in zip(arrays, self.has_rows, strict=True)]
        return jax.tree_util.tree_unflatten(self.treedef, list(arrays))

    def by_rows(self, rows: Any, arrays: Sequence[Any], function: Callable[[Any], tuple[Any, ...]]) -> tuple[Any, ...]:
        """``function`` of the element, which has one of the numbers of rows that there are."""
        sizes = list(self.known_sizes("this step"))

        def of(sizes: list[int]) -> tuple[Any, ...]:
            if not sizes:
                return function(self.element(arrays, self.width))
            size, *rest = sizes
            return self.operators.if_exp(rows == size, lambda: function(self.element(arrays, size)), lambda: of(rest))

        return of(sizes)

    def known_sizes(self, what: str) -> tuple[int, ...]:
        if self.sizes is None:
            raise StagingError(
                f"{user_location()}\n  {what} receives batches, the last of which may have any number of rows up to {self.width}: "
                "too many for a program for each.\n  Use batch(..., drop_remainder=True), or move this step before batch."
            )
        return self.sizes

    def fitted(self, element: Any) -> tuple[Any, ...]:
        """The arrays of an element, filled up to full rows."""
        leaves = [jnp.asarray(leaf) for leaf in jax.tree_util.tree_leaves(element)]
        return tuple(
            leaf.astype(type.dtype)
            if leaf.shape == type.shape
            else jnp.zeros(type.shape, type.dtype).at[: leaf.shape[0]].set(leaf.astype(type.dtype))
            for leaf, type in zip(leaves, self.types, strict=True)
        )

    def when(self, test: Any, found: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        """What one of two functions returns."""
        return self.operators.if_exp(test, found, otherwise)


def pulled(cursor: Cursor, state: Any, goes_on: Any) -> Found:
    """Step until there is an element, or none any more. Without ``goes_on`` nothing is asked for, and it is the end."""
    if not cursor.skips:
        if goes_on is True:
            return cursor.step(state)
        return cursor.when(goes_on, lambda: cursor.step(state), lambda: (jnp.int32(END), cursor.nothing(), state))
    rows = jnp.where(goes_on, NOT_YET, END)
    arrays = cursor.nothing()

    def test() -> Any:
        return rows == NOT_YET

    def body() -> None:
        nonlocal rows, arrays, state
        rows, arrays, state = cursor.step(state)

    cursor.operators.while_stmt(test, body, ("rows", "arrays", "state"), options=make_options(unroll=False))
    return rows, arrays, state


def described(
    function: Callable[[int], Any], width: int, sizes: tuple[int, ...] | None
) -> tuple[Any, list[jax.ShapeDtypeStruct], list[bool]]:
    full = DATA.shapes(lambda: function(width))
    leaves, treedef = jax.tree_util.tree_flatten(full)
    if sizes == ():
        return treedef, leaves, [False for _ in leaves]
    odd = jax.tree_util.tree_leaves(DATA.shapes(lambda: function(sizes[0] if sizes else 1)))
    return treedef, leaves, [one.shape != other.shape for one, other in zip(leaves, odd, strict=True)]


def same_types(one: Any, other: Any) -> bool:
    """Whether two containers of arrays, or of types, are alike, with arrays of the same shapes and dtypes."""
    treedefs: list[Any]
    (leaves, *treedefs), (others, treedef) = jax.tree_util.tree_flatten(one), jax.tree_util.tree_flatten(other)
    return treedefs == [treedef] and all(
        (a.shape, a.dtype) == (b.shape, b.dtype) for a, b in zip(leaves, others, strict=True)
    )


def uneven(name: str) -> StagingError:
    return StagingError(
        f"{user_location()}\n  {name} receives batches, one of which may be smaller than the others.\n  Use "
        f"batch(..., drop_remainder=True), or call {name} before batch."
    )
