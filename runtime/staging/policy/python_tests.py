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
            "This statement contains a `yield`, its test is traced, and Python advances this generator step by step. Only a loop over a "
            "new generator can be staged: the body of the loop replaces the `yield`.",
            "Loop over the generator where it is created (`for v in f(x)`, `sum(f(x))`, `list(f(x))`, `next(f(x))`); yield a conditional "
            "expression on every path (`yield a if test else b`); or append the values to a list and return it.",
        ),
        "await": (
            "This statement contains an `await`, so it cannot be staged, and its test is traced.",
            "Await before the statement, and branch on the result.",
        ),
        "finally": (
            "A jump out of `finally` discards the active exception, so statements around a `return`, `break` or `continue` cannot be "
            "staged in this function, and the test of this one is traced.",
            "Set a variable in `finally`, and move the jump after the `try` statement.",
        ),
        "filter": (
            "The predicate of this `filter` is traced, and the elements are not.",
            "Use a list comprehension (`[v for v in values if …]`), whose length may be traced.",
        ),
        "walrus": (
            "This expression binds a name (`:=`) in a part that is evaluated under a traced test, inside a lambda, a comprehension or a "
            "statement header.",
            "Bind the name in a separate statement.",
        ),
        "comprehension": (
            "The condition of this comprehension is traced. It contains `await`, or, inside a lambda, `:=` or another lambda, or is of a "
            "generator expression there that no builtin consumes.",
            "Use a list comprehension in a statement, or keep every element and select its value (`v if test else 0`).",
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
