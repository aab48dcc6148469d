"""Methods of arrays that write to them in place: where an array is a value, its trace is made again, in which it is a place."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from autograph.runtime.code.array_facts import METHODS, NOTHING
from autograph.runtime.containers.writing_functions import refuse_drawn
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.staging.policy.advancing_calls import refuse_draw
from autograph.runtime.state.chosen_arrays import place_of, places_in
from autograph.runtime.state.given_arrays import LocalArray, is_given
from autograph.runtime.tracing.caller_arrays import will_write
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_line, user_location
from autograph.runtime.tracing.recording import hold_arrays

# But the one that returns an array of another length, whose function takes the array second.
_WITH_OUT = tuple(name for name, facts in METHODS.items() if facts.out is not None and name != "compress")


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

    def with_out(self, called: Any, owner: Any, found: Callable[..., Any]) -> Callable[..., Any]:
        """``found``, what is called in place of a method of an array: where that is given ``out``, NumPy's function of the same name."""

        @functools.wraps(found, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            if kwargs.get("out") is None and not any(map(_may_be_out, args)):
                return found(*args, **kwargs)
            name = next((name for name in _WITH_OUT if called == getattr(owner, name)), None)
            if name is None or not [*METHODS[name].written((owner, *args), kwargs)]:
                return found(*args, **kwargs)
            return LANGUAGE.operators.call(getattr(np, name))(owner, *args, **kwargs)

        return call

    def shuffle(self, called: Any) -> Callable[..., None]:
        """The method `shuffle` of a generator of NumPy's, which draws while tracing: of arrays whose elements are known then."""

        def call(x: Any, *args: Any, **kwargs: Any) -> None:
            place = place_of(x)
            array = place.value if is_given(place) else x
            if not isinstance(array, jax.Array | np.ndarray):
                called(x, *args, **kwargs)
                return
            if isinstance(array, jax.Array):
                refuse_drawn("np.random.shuffle")
            if self.journal.is_open:
                refuse_draw("shuffle")
            self._will_write_known(x)
            new = array.copy() if is_given(place) else array
            called(new, *args, **kwargs)
            if is_given(place):
                place.become(new)

        return call

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


def _may_be_out(value: Any) -> bool:
    return bool(places_in(value)) or isinstance(value, jax.Array | np.ndarray)
