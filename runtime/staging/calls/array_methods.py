"""Methods of arrays that write to them in place: where an array is a value, its trace is made again, in which it is a place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from autograph.runtime.code.array_facts import METHODS, NOTHING
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.state.given_arrays import LocalArray
from autograph.runtime.tracing.caller_arrays import will_write
from autograph.runtime.tracing.locations import user_line, user_location
from autograph.runtime.tracing.recording import hold_arrays


class ArrayMethods(InTrace):
    """Sees to such methods.

    Args:
      is_sort: whether a line is a statement ``x.sort()``.
      will_write_known: reports that known numbers are about to be written to an array.
    """

    def __init__(
        self,
        trace: Callable[[], Trace],
        is_sort: Callable[[str, int], bool],
        will_write_known: Callable[[Any], None],
    ) -> None:
        super().__init__(trace)
        self._is_sort = is_sort
        self._will_write_known = will_write_known

    def writing(self, called: Any, owner: Any) -> Callable[..., Any] | None:
        """What to call in place of a method of an array, one that writes to it in place; None if it is another.

        Raises:
          ArraysHeld: it is, and this array is a value.
          StagingError: likewise, and it cannot be a place.
        """
        if isinstance(owner, LocalArray):
            is_copy = called.__name__ == "sort" and owner.kind is not np.ndarray and not self._is_sort(*user_line())
            return owner.sorted_copy if is_copy else None
        if isinstance(owner, np.ndarray):
            return self._of_known(called) if METHODS.get(called.__name__, NOTHING).first else None
        if called == owner.sort:  # of a value, JAX makes a sorted copy
            will_write(owner)
            if self._is_sort(*user_line()):
                self._refuse("sort")
        elif called == owner.__setitem__:
            will_write(owner)
            self._refuse("__setitem__")
        return None

    def _of_known(self, called: Any) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            given = jax.tree_util.tree_leaves((args, kwargs))
            if self.journal.is_open or any(isinstance(each, jax.Array) for each in given):
                self._refuse(called.__name__)
            self._will_write_known(called.__self__)
            return called(*args, **kwargs)

        return call

    def _refuse(self, name: str) -> None:
        refusal = StagingError(
            f"{user_location()}\n  The method {name!r} writes into an array in place: JAX arrays are immutable, and what an expression "
            "computes of traced values is such.\n  Make it an array of NumPy's, np.array(...), or bind a new array to the variable."
        )
        hold_arrays(refusal)
        raise refusal
