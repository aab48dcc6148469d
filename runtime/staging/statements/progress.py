"""`progress`: a progress bar for a loop, in Python and in staged loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax.numpy as jnp

from autograph.backends.base import Backend
from autograph.backends.selected import STAGING
from autograph.runtime.containers.iterables import as_staged
from autograph.runtime.heap.journal import AttributePlace, Journal
from autograph.runtime.layouts.statement_variables import NO_SNAPSHOT
from autograph.runtime.tracing.recording import count_effect, is_recording
from autograph.runtime.typing import PyTree

_UPDATES = 100


def progress(iterable: Iterable[PyTree], desc: str | None = None, total: int | None = None) -> Progress:
    """Return the items of ``iterable`` with a progress bar of `tqdm` for the loop over them.

    In a staged loop the program updates the bar about a hundred times at most, in program order with
    prints. Under ``vmap`` there is no bar.

    Args:
      iterable: anything that a loop can iterate over.
      desc: text in front of the bar.
      total: the number of items, if ``iterable`` has no length.

    Returns:
      An iterable of the same items.

    Raises:
      ImportError: tqdm is not installed.
      TypeError: ``desc`` is not a str, or ``total`` is not an int.

    >>> import autograph as ag, jax.numpy as jnp
    >>> @ag.function
    ... def total(xs):
    ...     result = 0.0
    ...     for x in ag.progress(xs, desc="summing"):
    ...         result += x
    ...     return result
    >>> float(total(jnp.arange(5.0)))
    10.0
    """
    if desc is not None and not isinstance(desc, str):
        raise TypeError(f"desc of progress must be a str or None; got {desc!r}")
    if total is not None and (isinstance(total, bool) or not isinstance(total, int)):
        raise TypeError(f"total of progress must be an int or None; got {total!r}")
    _tqdm()
    return Progress(iterable, desc, total)


def _tqdm() -> Any:
    try:
        import tqdm
    except ImportError:
        raise ImportError(
            "autograph.progress draws its bars with tqdm, which is not installed.\n  pip install 'autograph-xla[progress]'"
        ) from None
    return tqdm.tqdm


class Progress:
    """What `progress` returns.

    Attributes:
      bar: in a program, the bar if there is one already.
    """

    def __init__(self, iterable: Iterable[Any], desc: str | None, total: int | None) -> None:
        self.iterable, self.desc, self.total = iterable, desc, total
        self.bar: Bar | None = None

    def over(self, iterable: Iterable[Any]) -> Progress:
        """The same bar for a loop over ``iterable``, which has as many items."""
        made = Progress(iterable, self.desc, self.total)
        made.bar = self.bar
        return made

    def __iter__(self) -> Iterator[Any]:
        return iter(_tqdm()(self.iterable, desc=self.desc, total=self.total))

    def __len__(self) -> int:
        return len(self.iterable)  # type: ignore[arg-type]


class Bar:
    """The bar of one loop of a compiled program, which may run many times. Its methods but `begin` are called at run time.

    Args:
      make: returns a bar of tqdm's for a total, or for None where that is not known.
    """

    def __init__(self, make: Callable[[int | None], Any]) -> None:
        self.make = make
        self.bar: Any = None
        self.at = 0

    def begin(self, total: Any) -> None:
        """Start it when the program that is being recorded comes here."""
        show(self.start, -1 if total is None else total)

    def start(self, total: Any) -> None:
        self.at = 0
        self.bar = self.make(int(total) if total >= 0 else None)

    def update(self, done: Any) -> None:
        if self.bar is not None:
            self.bar.update(int(done) - self.at)
            self.at = int(done)

    def close(self, done: Any) -> None:
        self.update(done)
        if self.bar is not None:
            self.bar.close()
        self.bar = None

    def tell(self, name: str, *args: Any, **kwargs: Any) -> None:
        if self.bar is not None:
            getattr(self.bar, name)(*args, **kwargs)


class StagedProgress:
    """The bar of a loop that is being recorded.

    Attributes:
      done: how many items the loop has taken; state of the loop like a user's attribute.
    """

    def __init__(self, operators: Any, given: Progress) -> None:
        self.operators = operators
        self.backend: Backend = operators.backend
        self.journal: Journal = operators.journal
        self.total = total_of(given, self.backend)
        self.every = 1 if self.total is None else self._at_least_one(self.total // _UPDATES)
        self.done: Any = 0
        self.journal.born(self)
        if given.bar is None:
            desc = given.desc
            self.bar = Bar(lambda total: _tqdm()(desc=desc, total=total))
            self.bar.begin(self.total)
        else:
            self.bar = given.bar

    def _at_least_one(self, number: Any) -> Any:
        return jnp.maximum(number, 1) if self.backend.is_traced(number) else max(number, 1)

    def report(self, index: Any) -> None:
        """Note that an iteration begins."""
        self.journal.keeps(self)  # no variable of the user's leads to it
        self.journal.touch(AttributePlace(self, "done"))
        self.done = index + 1
        due = index % self.every == 0
        if self.backend.is_traced(due):
            self.operators.staged_if(due, lambda: show(self.bar.update, index), None, [], NO_SNAPSHOT)
        elif due:
            show(self.bar.update, index)

    def close(self) -> None:
        """Note that the loop has ended."""
        done, self.done = self.done, 0
        show(self.bar.close, done)


def show(function: Callable[[Any], None], number: Any) -> None:
    """Call Python with a number when the program runs."""
    count_effect()
    STAGING.show(function, [jnp.asarray(number)])


def is_in_program() -> bool:
    """Whether loops that run here are recorded, or mapped: Python's bars would move while tracing."""
    staging = STAGING
    return is_recording() or staging.is_mapped(staging.place())


def staged_progress(operators: Any, given: Progress) -> StagedProgress | None:
    """The bar for a loop over what `progress` returned; None where the loop is not recorded, or mapped."""
    staging = STAGING
    if not is_recording() or staging.is_mapped(staging.place()):
        return None
    return StagedProgress(operators, given)


def total_of(given: Progress, backend: Backend) -> Any:
    """How many items there are, which may be traced; None where that is not known."""
    if given.total is not None:
        return given.total
    staged = as_staged(given.iterable, backend)
    if staged is not None:
        return staged.length
    try:
        return len(given.iterable)  # type: ignore[arg-type]
    except TypeError:
        return None
