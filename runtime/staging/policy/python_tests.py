"""Refuse traced conditions in statements and expressions that are not staged, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from autograph.backends.base import Backend
from autograph.runtime.errors import StagingError
from autograph.runtime.tracing.locations import user_location

_REASONS = MappingProxyType(
    {
        "yield": (
            "This statement holds a `yield`, its test is traced, and Python advances this generator. Only a loop over a generator that "
            "nothing has advanced can be staged: its body takes the place of the `yield`.",
            "Loop over the generator where it is made (`for v in f(x)`, `sum(f(x))`, `list(f(x))`, `next(f(x))`); or yield on every path a "
            "value that a conditional expression chooses (`yield a if test else b`), or append the values to a list and return it.",
        ),
        "await": (
            "This statement holds an `await`, where its function is left and entered again: it stays Python's, and its test is "
            "traced.",
            "Await first, and decide on what came.",
        ),
        "finally": (
            "A jump out of `finally` discards the exception in flight, so statements around a `return`, `break` or `continue` stay "
            "Python's in this function, and the test of this one is traced.",
            "Set a variable in `finally`, and move the jump behind the `try` statement.",
        ),
        "filter": (
            "What `filter` is given decides by traced values about elements that are not traced.",
            "Use a list comprehension (`[v for v in values if …]`), whose length the run may decide.",
        ),
        "walrus": (
            "This expression binds a name (`:=`) in a part that is evaluated only if the test before it says so, which is traced, and it "
            "stands where no statement can go before it: in a lambda, a comprehension or a header.",
            "Bind the name in a statement of its own.",
        ),
        "comprehension": (
            "This condition decides whether a comprehension has an element, and it is traced. Only a list comprehension in a "
            "statement, and what `sum`, `max`, `min`, `any`, `all` or `next` uses up at once, may have such a condition, without `:=`, "
            "`lambda` or `await` in it.",
            "Make it such a list, or keep every element and choose its value (`v if test else 0`).",
        ),
    }
)


class PythonTests:
    """The operator for tests that only Python can ask.

    Args:
      asked: of `Operations`.
    """

    def __init__(self, backend: Backend, asked: Callable[[Any], Any]) -> None:
        self.backend = backend
        self.asked = asked

    def python_test(self, test: Any, why: str) -> Any:
        """What ``test`` is the truth of.

        Raises:
          StagingError: it is traced, and ``why`` it would have to be known (a key of the reasons above).
        """
        truth = self.asked(test)
        if self.backend.is_traced(truth):
            what, remedy = _REASONS[why]
            raise StagingError(f"{user_location()}\n  {what}\n  {remedy}")
        return truth
