"""The recording of the current thread: the innermost call of a user's function and its effects so far."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from autograph.backends.base import Data, Staging


def _nowhere(_: Any) -> None:
    return None


class _Recording(threading.local):
    """What goes on in this thread.

    Attributes:
      frame: the innermost recording, a `variables.Frame`, or None.
      context: what operators know of the program that is traced, a `staging.context.Context`; None before any has asked.
      raising: what surrounds what runs, as far as exceptions go, a `raising.Current`; likewise.
      effects: how many effects were recorded: writes to Variables, prints, calls of Python.
      tapes: the `GradientTape`s that record here, outermost first.
      in_callback: whether a compiled program is calling Python here.
      outside: what an object from outside the function traced now is called there; None for any other.
      roots: what leads to the objects from outside that function, by name.
      written: by id, the containers outside the function traced now that its program writes when it runs.
      facts: what the branches being traced know: for each ``present`` of an `Optional`, by identity, whether it is true there.
      counts: by id, the lengths and masks of arrays of traced length; see `PaddedArray`.
      summary_default: the writer and the step of summaries, as an array.
      summary_step: the Variable that this thread made the default step last.
      summary_writers: the numbers and steps of the writers entered where no default can be kept, innermost last.
    """

    frame: Any = None
    context: Any = None
    raising: Any = None
    effects = 0
    in_callback = False
    tapes: tuple[Any, ...] = ()

    def __init__(self) -> None:
        self.written: dict[int, Any] = {}
        self.facts: list[tuple[Any, bool]] = []
        self.counts: dict[int, Any] = {}
        self.summary_default: Any = None
        self.summary_step: Any = None
        self.summary_writers: list[tuple[int, Any]] = []
        self.outside: Callable[[Any], str | None] = _nowhere
        self.roots: Callable[[], Iterable[tuple[str, Any]]] = tuple


class _Joint:
    """What the joint of backend and runtime puts in.

    Attributes:
      staging: how programs are recorded.
      data: how datasets are read.
      operators: what converted code calls; an `Optional` and a `OneOf`, which any code may use, ask them.
      compiled: a function of ours, which may call the user's, as a `Function`.
      loop_of: what stages a loop over a dataset, None for what is none.
    """

    staging: Staging
    data: Data
    operators: Any
    compiled: Callable[[Callable[..., Any]], Any]
    loop_of: Callable[[Any], Any]


LOCAL = _Recording()
JOINT = _Joint()


def use_staging(staging: Staging) -> None:
    """Say how programs are recorded. Called once, where backend and runtime are put together."""
    JOINT.staging = staging


def use_data(
    data: Data,
    operators: Any,
    compiled: Callable[[Callable[..., Any]], Any],
    loop_of: Callable[[Any], Any],
) -> None:
    """Say how datasets are read, and their functions run. Called once, as `use_staging`."""
    JOINT.data, JOINT.operators, JOINT.compiled, JOINT.loop_of = data, operators, compiled, loop_of


def is_recording() -> bool:
    """Whether what runs now is recorded, to run later."""
    return JOINT.staging.is_recording(JOINT.staging.place())


def count_effect() -> None:
    """Note that an effect was recorded."""
    LOCAL.effects += 1


def effects_recorded() -> int:
    """How many effects this thread has recorded: a loop's test that adds to them must run once for each iteration."""
    return LOCAL.effects
