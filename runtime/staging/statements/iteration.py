"""`Iteration`: the iterator of a loop that Python runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from autograph.backends.base import Backend
from autograph.runtime.containers.iterables import StagedRange
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.staging.access.user_methods import user_method
from autograph.runtime.staging.policy.loop_options import LoopOptions
from autograph.runtime.tracing.locations import user_location


class Iteration(InTrace):
    """Iterates as Python does, through the converted methods of users' classes.

    Args:
      call: what to call in place of a function (`Calls.call`).
    """

    def __init__(self, backend: Backend, trace: Callable[[], Trace], call: Callable[[Any], Any]) -> None:
        self.backend = backend
        super().__init__(trace)
        self.call = call

    def items(self, iterable: Any, made: Any, options: LoopOptions) -> Iterator[Any]:
        """What a loop in Python runs over, of an iterable of which `made_of` has made this."""
        if options.unroll is True and isinstance(iterable, StagedRange):
            bounds = (iterable.start, iterable.stop, iterable.step)
            if any(self.backend.is_traced(bound) for bound in bounds) or options.has_traced_bound:
                raise StagingError(
                    f"{user_location()}\n  unroll=True asks for a Python loop, and the number of iterations is "
                    "traced.\n  Leave the "
                    "option out, or loop over a range of Python ints."
                )
        found = iter(made) if made is iterable and user_method(type(iterable), "__iter__") is None else made
        return _at_most(options.bound, found if user_method(type(found), "__next__") is None else self._stepped(found))

    def made_of(self, iterable: Any) -> Any:
        """What the converted method of a user's class makes of an iterable; that itself, if it has none."""
        method = user_method(type(iterable), "__iter__")
        if method is None:
            return iterable
        found = self.call(method)(iterable)
        if not hasattr(type(found), "__next__"):
            raise TypeError(f"iter() returned non-iterator of type '{type(found).__name__}'")
        return found

    def _stepped(self, iterator: Any) -> Iterator[Any]:
        while True:
            step = user_method(type(iterator), "__next__")  # a class may change between two items
            outer, self.journal.is_stepping = self.journal.is_stepping, True
            try:
                item = next(iterator) if step is None else self.call(step)(iterator)
            except StopIteration:
                return
            finally:
                self.journal.is_stepping = outer
            yield item


def _at_most(bound: int | None, items: Iterator[Any]) -> Iterator[Any]:
    return items if bound is None else (item for _, item in zip(range(bound), items, strict=False))


def refuse_resuming() -> StagingError:
    """The error for a loop with a traced end over an iterator that the program goes on with."""
    return StagingError(
        f"{user_location()}\n  This loop ends at a traced test, so how far it advances its iterator is not "
        "known, and the iterator is read after the loop.\n  Make a list of the items first, or use another "
        "iterator after the loop."
    )
