"""`Iterated`: an iterator of a program that is being traced. It knows in which block it was advanced last.

An iterator is consumed as it is advanced, while the program is traced. That is what the program does only if it advances it
once, and certainly, each time it makes it: an iterator from before a staged loop is refused in its body, and one that a branch
has advanced is refused after that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from autograph.runtime.errors import StagingError
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location


class Iterated:
    """What `zip`, `enumerate`, `reversed`, `map`, `filter` and `iter` return in a trace.

    Attributes:
      kind: the name of the builtin.
      form: makes a generator of converted code with the same items, for what decides by them; None of what cannot be one.
      is_endless: whether only a jump ends a loop over it.
    """

    def __init__(
        self,
        kind: str,
        make: Callable[[], Iterator[Any]],
        form: Callable[[], Any] | None = None,
        is_endless: bool = False,
    ) -> None:
        self.kind = kind
        self.form = form
        self.is_endless = is_endless
        self._make = make
        self._block = LANGUAGE.operators.journal.here()
        self._iterator: Iterator[Any] | None = None

    @property
    def is_fresh(self) -> bool:
        """Whether nothing has advanced it."""
        return self._iterator is None

    def is_of_here(self) -> bool:
        """Whether advancing it here is what the program does, once."""
        return bool(LANGUAGE.operators.journal.is_around(self._block))

    def check_here(self) -> None:
        """Take what is being traced for the last that has advanced it.

        Raises:
          StagingError: it may be advanced more than once, or was perhaps not advanced before.
        """
        if not self.is_of_here():
            raise used_elsewhere(self.kind)
        self._block = LANGUAGE.operators.journal.here()

    def use_up(self, may_be_left: bool) -> None:
        """Take the items for used: a staged loop runs over them, and ``may_be_left`` before their end."""
        self.check_here()
        self._iterator = _Left(self.kind) if may_be_left else iter(())

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.check_here()
        if self._iterator is None:
            self._iterator = self._make()
        return next(self._iterator)


class SequenceIterator(Iterated):
    """What `iter` returns in a trace for a sequence. Its position is state of the program, so that a staged statement may advance it.

    Attributes:
      items: the sequence.
      position: the index of the next item, which may be traced.
      is_ended: whether it has raised `StopIteration`, which it does for ever then.
    """

    def __init__(self, items: Any, advance: Callable[[SequenceIterator], Any]) -> None:
        super().__init__("iter", lambda: iter(()))
        self.items = items
        self.position: Any = 0
        self.is_ended: Any = False
        self._advance = advance

    def is_known(self) -> bool:
        """Whether it is known, while tracing, how many items are left."""
        size = LANGUAGE.operators.call(len)(self.items)
        return type(self.position) is int and type(self.is_ended) is bool and type(size) is int

    def __next__(self) -> Any:
        if not self.is_known():
            raise used_elsewhere(self.kind)
        return self._advance(self)


def used_elsewhere(kind: str) -> StagingError:
    """The error for an iterator that the program may advance more often than its trace, or not at all."""
    return StagingError(
        f"{user_location()}\n  This uses an iterator ({kind}) that was created before this staged loop, or that another branch of a traced "
        "condition has advanced: its position is known only at run time.\n  Create the iterator where it is used, or loop over a list "
        "of the items."
    )


class _Left:
    """The rest of the items when a staged loop may have left them."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        raise StagingError(
            f"{user_location()}\n  This uses an iterator ({self._kind}) that a staged loop may have left before its end: its position is "
            "known only at run time.\n  Create another iterator, or loop over a list of the items."
        )
