"""Arrays and counters of a dataset, kept in Variables so that programs take them as inputs."""

from __future__ import annotations

import threading
from typing import Any

import jax
import numpy as np

from autograph.backends.base import LeafType
from autograph.backends.selected import STAGING
from autograph.runtime.errors import StagingError
from autograph.runtime.state.variables import Variable, current_frame, outside_recordings
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import is_recording


class Held(Variable):
    """A Variable of a dataset's own, which holds an array without copying it. Not among a function's variables."""

    __slots__ = ()

    def __init__(self, array: Any, name: str) -> None:
        with outside_recordings():
            super().__init__(np.zeros(0, np.bool_), False, name)
        self._value, self._lent = array, True
        self._type = LeafType(tuple(array.shape), array.dtype)


class Constant(Held):
    """A large array that a program was recorded with, and takes as an input. It never changes."""

    __slots__ = ()

    def __init__(self, array: Any) -> None:
        super().__init__(array, "constant")

    @property
    def value(self) -> Any:
        """The array; in a `Function` that is being traced, what represents it."""
        frame = current_frame()
        is_recorded = frame is not None and STAGING.is_within(STAGING.place(), frame.place)
        return super().value if is_recorded else self._value


class HeldArrays:
    """The arrays of a dataset. In a `Function` they are inputs of its program, not constants in it."""

    def __init__(self, arrays: list[Any]) -> None:
        self.arrays = arrays
        self._held: list[Held] | None = None
        self._lock = threading.Lock()

    def now(self) -> list[Any]:
        """The arrays as the code that runs now is to see them."""
        if current_frame() is None or any(isinstance(array, jax.core.Tracer) for array in self.arrays):
            return self.arrays
        with self._lock:
            if self._held is None:
                self._held = [Held(array, "dataset") for array in self.arrays]
        return [held.value for held in self._held]


class Epochs:
    """Counts how often a dataset was iterated."""

    def __init__(self) -> None:
        self._count: Held | None = None
        self._lock = threading.Lock()

    def next(self) -> Any:
        """The number of the iteration that begins here."""
        if current_frame() is None and is_recording():
            raise StagingError(
                f"{user_location()}\n  A dataset that is reshuffled for each iteration counts its iterations, "
                "and a bare jax.jit has no state to keep the count in.\n  Wrap the function in autograph.function, or shuffle with "
                "reshuffle_each_iteration=False."
            )
        count = self.variable()
        number = count.value
        count.assign_add(1)
        return number

    def variable(self) -> Held:
        """The number of iterations that have begun."""
        with self._lock:
            if self._count is None:
                with outside_recordings():
                    self._count = Held(jax.numpy.zeros((), np.int32), "dataset epochs")
            return self._count
