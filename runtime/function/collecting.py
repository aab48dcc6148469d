"""Collect the programs that run, while `summary.trace_on` is active."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import jax

from autograph.backends.selected import STAGING
from autograph.runtime.function.dispatch import CALLS
from autograph.runtime.signatures.inputs import type_key
from autograph.runtime.tracing.recording import LOCAL


class _Runs(Protocol):
    """What runs: a `Program`."""

    name: str

    def input_names(self) -> Sequence[str]: ...

    def trace_with_state(self, *arrays: Any) -> tuple[Any, Any]: ...


@dataclass(frozen=True)
class Collected:
    """A program that has run for arrays of some types.

    Attributes:
      name: of its function.
      inputs: what the function calls its arrays.
      traced: what was traced for those types, as `jax.stages.Traced`.
      state: see `Program.trace_with_state`.
    """

    name: str
    inputs: tuple[str, ...]
    traced: Any
    state: Any


class Collection:
    """The programs that run, in any thread, from `start` to `stop`. Those that others call are within these."""

    def __init__(self) -> None:
        self._found: dict[Any, tuple[Any, Collected]] = {}
        self._lock = threading.RLock()

    def start(self) -> None:
        CALLS.set_collection(self)

    def stop(self) -> list[Collected]:
        """What has run, in the order of the first runs."""
        CALLS.set_collection(None)
        return [collected for _, collected in list(self._found.values())]

    def add(self, program: _Runs, arrays: Sequence[Any]) -> None:
        """This program has run with these arrays."""
        if LOCAL.frame is not None or LOCAL.in_callback or not STAGING.is_outside():
            return
        key = (id(program), *map(type_key, arrays))
        with self._lock:
            if key not in self._found and CALLS.collection is self:
                traced, state = program.trace_with_state(*map(_stand_in, arrays))
                collected = Collected(program.name, tuple(program.input_names()), traced, state)
                self._found[key] = program, collected  # the program, so that no other gets its id


def _stand_in(array: Any) -> Any:
    """A type to trace with: the array may have been given away."""
    shape, dtype, weak_type = type_key(array)
    return jax.ShapeDtypeStruct(shape, dtype, weak_type=weak_type)
