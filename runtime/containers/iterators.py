"""`Iterated`: an iterator of a program that is being traced. It knows in which block it was advanced last.

An iterator is consumed as it is advanced, while the program is traced. That is what the program does only if it advances it
once, and certainly, each time it makes it: an iterator from before a staged loop is refused in its body, and one that a branch
has advanced is refused after that.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from autograph.runtime.containers.traced_dicts import DictView
from autograph.runtime.errors import StagingError
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location


class Iterated:
    """What `zip`, `enumerate`, `reversed`, `map`, `filter` and `iter` return in a trace.

    Attributes:
      kind: the name of the builtin.
      form: makes a generator of converted code with the same items, for what decides by them; None of what cannot be one.
      is_endless: whether only a jump ends a loop over it.
      serial: its number among those of the trace.
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
        journal = LANGUAGE.operators.journal
        self.serial = next(journal.serials)
        self._block = journal.here()
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
    """What builtins return in a trace for sequences. Its position is state of the program, so that a staged statement may advance it.

    Attributes:
      start: the first number of `enumerate`.
      position: the index of the next item, which may be traced. That of `reversed` is known from when it is made.
      is_ended: whether it has raised `StopIteration`, which it does for ever then.

    Args:
      advance: ``next`` of it; None if Python is to advance it.
      first: the position to begin with.
    """

    def __init__(
        self,
        kind: str,
        parts: tuple[Any, ...],
        advance: Callable[[Any], Any] | None = None,
        start: Any = 0,
        first: Any = 0,
    ) -> None:
        makers: dict[str, Callable[[], Any]] = {
            "zip": lambda: zip(*self.parts, strict=False),
            "enumerate": lambda: enumerate(self.parts[0], start),
            "reversed": lambda: reversed(self.parts[0]),
            "cycle": lambda: itertools.cycle(self.parts[0]),
        }
        super().__init__(kind, makers.get(kind, lambda: iter(self.parts[0])))
        self._parts = parts
        self.start = start
        self.position: Any = first
        self.is_ended: Any = False
        self._first = first
        self._advance = advance

    @property
    def parts(self) -> tuple[Any, ...]:
        """The sequences; one, if it is no `zip`."""
        return self._parts

    @property
    def is_fresh(self) -> bool:
        return super().is_fresh and self.position is self._first and self.is_ended is False

    @property
    def has_position(self) -> bool:
        """Whether `next` goes by the position."""
        return self._advance is not None and super().is_fresh

    @property
    def is_open(self) -> bool:
        """Whether only the run knows which items are left here, so that each is to be taken by `next`."""
        return self.has_position and not (self.is_known() and self.is_of_here())

    def is_known(self) -> bool:
        """Whether it is known, while tracing, how many items are left."""
        return type(self.position) is int and type(self.is_ended) is bool and type(self.size()) is int

    def size(self) -> Any:
        """How many items there are in all."""
        operators = LANGUAGE.operators
        sizes = [operators.call(len)(part) for part in self.parts]
        return sizes[0] if len(sizes) == 1 else operators.call(min)(sizes)

    def item(self, position: Any) -> Any:
        """The item at an index."""
        (first, *_) = items = [
            part.at(position) if isinstance(part, DictView) else LANGUAGE.operators.get_item(part, position)
            for part in self.parts
        ]
        if self.kind == "enumerate":
            return self.start + position, first
        return tuple(items) if self.kind == "zip" else first

    def following(self, position: Any) -> Any:
        """The position after that of an item."""
        return position - 1 if self.kind == "reversed" else position + 1

    def is_over(self, position: Any) -> Any:
        """Whether there is no item at this position, or after it."""
        is_beyond = position >= self.size()
        return (position < 0) | is_beyond if self.kind == "reversed" else is_beyond

    def __next__(self) -> Any:
        if not self.has_position or (self.is_fresh and not self.is_known()):
            return super().__next__()
        if not self.is_known():
            raise used_elsewhere(self.kind)
        assert self._advance is not None
        return self._advance(self)


class EndlessIterator(SequenceIterator):
    """What `itertools.count` and `cycle` return in a trace.

    The position of one that counts is the next number.

    Attributes:
      is_temporary: whether nothing but the call that it is an argument of can advance it.
    """

    def __init__(
        self,
        kind: str,
        form: Callable[[], Any],
        advance: Callable[[Any], Any] | None,
        parts: tuple[Any, ...] = (),
        first: Any = 0,
        step: Any = 1,
    ) -> None:
        super().__init__(kind, parts, advance, first=first)
        self.form: Callable[[], Any] = form
        self.is_endless = True
        self.is_temporary = False
        self._step = step

    def is_known(self) -> bool:
        return True

    def item(self, position: Any) -> Any:
        return super().item(position) if self.parts else position

    def following(self, position: Any) -> Any:
        return (position + 1) % self.size() if self.parts else position + self._step

    def is_over(self, position: Any) -> Any:
        return False


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
