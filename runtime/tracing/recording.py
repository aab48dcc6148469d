"""What is recorded in this thread (`LOCAL`), and by what (`JOINT`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograph.backends.base import Data, Staging
from autograph.backends.thread import LOCAL as LOCAL


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
