"""`LoopBody`: the callback that replaces ``yield`` in a converted generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class LoopBody:
    """What takes the place of a ``yield``: the body of a loop over the generator.

    Attributes:
      take: runs an iteration on a value.
      test: says after an iteration whether the loop goes on; None for a loop that nothing leaves.
      variables: the variables that an iteration may change, which statements around the ``yield`` carry.
      python_only: what in the body, if anything, tells Python's numbers from traced ones.
      stopped: the `StopIteration` that an iteration raised, which is not the generator's.
    """

    def __init__(
        self,
        take: Callable[[Any], Any],
        test: Callable[[], Any] | None,
        variables: Sequence[Any],
        python_only: str | None,
    ) -> None:
        self.take = take
        self.test = test
        self.variables = variables
        self.python_only = python_only
        self.stopped: StopIteration | None = None
