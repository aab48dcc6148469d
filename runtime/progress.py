"""`progress`: a bar for a loop, in Python and in staged loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import jax.numpy as jnp

from autograph.backends.base import Backend
from autograph.runtime.operators.iterables import as_staged
from autograph.runtime.operators.journal import AttributePlace, Journal
from autograph.runtime.operators.state import NO_SNAPSHOT
from autograph.runtime.recording import JOINT, count_effect, is_recording

_UPDATES = 100


def progress(iterable: Any, desc: str | None = None, total: int | None = None) -> Progress:
    """The same items, with a bar that shows how many a loop over them has taken (`tqdm`).

    In a staged loop the program calls Python at most about a hundred times to move the bar, in order with what it
    prints. Under ``vmap`` there is no bar.

    Args:
      iterable: what is looped over: anything that a loop runs over.
      desc: a text in front of the bar.
      total: how many items there are, where ``iterable`` does not say.

    Raises:
      ImportError: tqdm is not installed.

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
        raise TypeError(f"desc of progress is a str or None; got {desc!r}")
    if total is not None and (isinstance(total, bool) or not isinstance(total, int)):
        raise TypeError(f"total of progress is an int or None; got {total!r}")
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
    """What `progress` gives."""

    def __init__(self, iterable: Iterable[Any], desc: str | None, total: int | None) -> None:
        self.iterable, self.desc, self.total = iterable, desc, total

    def __iter__(self) -> Iterator[Any]:
        return iter(_tqdm()(self.iterable, desc=self.desc, total=self.total))

    def __len__(self) -> int:
        return len(self.iterable)  # type: ignore[arg-type]


class _Bar:
    """The bar of one loop of a compiled program, which may run many times. Its methods are called at run time."""

    def __init__(self, desc: str | None) -> None:
        self.desc = desc
        self.bar: Any = None

    def start(self, total: Any) -> None:
        self.bar = _tqdm()(desc=self.desc, total=int(total) if total >= 0 else None)

    def update(self, done: Any) -> None:
        if self.bar is not None:
            self.bar.update(int(done) - self.bar.n)

    def close(self, done: Any) -> None:
        self.update(done)
        if self.bar is not None:
            self.bar.close()
        self.bar = None


class StagedProgress:
    """The bar of a loop that is being recorded.

    Attributes:
      done: how many items the loop has taken; state of the loop like a user's attribute.
    """

    def __init__(self, operators: Any, given: Progress) -> None:
        self.operators = operators
        self.backend: Backend = operators.backend
        self.journal: Journal = operators.journal
        self.bar = _Bar(given.desc)
        self.total = _total(given, self.backend)
        self.every = 1 if self.total is None else self._at_least_one(self.total // _UPDATES)
        self.done: Any = 0
        self._show(self.bar.start, -1 if self.total is None else self.total)

    def _at_least_one(self, number: Any) -> Any:
        return jnp.maximum(number, 1) if self.backend.is_traced(number) else max(number, 1)

    def report(self, index: Any) -> None:
        """Note that an iteration begins."""
        self.journal.touch(AttributePlace(self, "done"))
        self.done = index + 1
        due = index % self.every == 0
        if self.backend.is_traced(due):
            self.operators.staged_if(due, lambda: self._show(self.bar.update, index), None, [], NO_SNAPSHOT)
        elif due:
            self._show(self.bar.update, index)

    def close(self) -> None:
        """Note that the loop has ended."""
        done, self.done = self.done, 0
        self._show(self.bar.close, done)

    def _show(self, function: Any, number: Any) -> None:
        count_effect()
        JOINT.staging.show(function, [jnp.asarray(number)])


def staged_progress(operators: Any, given: Progress) -> StagedProgress | None:
    """The bar for a loop over what `progress` gave; None where the loop is not recorded, or mapped."""
    staging = JOINT.staging
    if not is_recording() or staging.is_mapped(staging.place()):
        return None
    return StagedProgress(operators, given)


def _total(given: Progress, backend: Backend) -> Any:
    if given.total is not None:
        return given.total
    staged = as_staged(given.iterable, backend)
    if staged is not None:
        return staged.length
    try:
        return len(given.iterable)  # type: ignore[arg-type]
    except TypeError:
        return None
