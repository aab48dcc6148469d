"""How exceptions that a program raises at run time leave the program.

An operation in the program raises (`Staging.raise_if`). Branches, loops and transforms of JAX carry it; the compiled
program of a `Function` returns the error with its results, and whoever called it raises it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import jax
import numpy as np

from autograph.backends.exceptions import RaiseSite
from autograph.backends.selected import STAGING
from autograph.runtime.effects.raise_sites import Recipe, Remade, Site
from autograph.runtime.errors import StagingError
from autograph.runtime.state.processes import in_each
from autograph.runtime.tracing.recording import LOCAL, count_effect


class Scope:
    """One call of converted code, as far as exceptions go.

    Attributes:
      place: where its operations go.
      tries: how many ``try`` statements with handlers, in code that is being recorded, surround what runs.
      last: the last exception that code outside all staged blocks was about to raise.
      has_raised: whether an exception has been left in a program.
      staged: the last exception that ended the tracing of a staged block, and was no ``raise`` there.
      caught: that exception, once it has met a ``try`` with handlers.
    """

    def __init__(self, place: Any, outer: Scope | None) -> None:
        self.place = place
        self.frame = LOCAL.frame
        self.tries: int = outer.tries if outer is not None and outer.frame is self.frame else 0
        self.last: BaseException | None = None
        self.has_raised = False
        self.staged: BaseException | None = None
        self.caught: BaseException | None = None

    def forget(self) -> None:
        """Hold no exception any more: its traceback holds the frames of the call, and they hold this."""
        self.last = self.staged = self.caught = None


class Current:
    """What goes on in one thread, as far as exceptions go.

    Attributes:
      scope: the call that runs.
      recipe: the last exception that was made, and how.
      has_receiver: whether someone looks for exceptions in what is being recorded.
      left: how many exceptions have been left in programs.
      tried: the ``try`` statements with a ``finally`` that surround what runs.
      after_raise: whether code runs that comes after a ``try`` that has left one.
      catches: the ``try`` statements whose bodies are being traced, outermost first.
      handled: the exceptions that handlers of the program have been given, each with how it is made and what it held then.
      initialized: the last exception of a class of the user's that a ``raise`` has made, by the converted `__init__`.
      named: the last exception that a ``raise`` has not made itself, so that others may refer to it.
      choosing: how many ``try`` statements have come to what runs as their exception chooses.
      chosen: how many ever have.
      managers: the context managers of the user's that surround what runs.
      refusing: the handlers of Python's that surround what runs, by the recording that they are in and what they take.
    """

    choosing: int = 0
    chosen: int = 0

    scope: Scope | None = None
    recipe: tuple[BaseException, Recipe] | None = None
    named: BaseException | None = None
    initialized: BaseException | None = None
    has_receiver: bool = False
    left: int = 0
    after_raise: bool = False

    def __init__(self) -> None:
        self.tried: list[Tried] = []
        self.catches: list[Catches] = []
        self.managers: list[Managed] = []
        self.refusing: list[tuple[Any, tuple[type[BaseException], ...]]] = []
        self.handled: list[tuple[BaseException, Remade, dict[str, Any]]] = []

    def surroundings(self) -> tuple[list[Any], ...]:
        """What surrounds what runs, for `restore`."""
        return [*self.tried], [*self.catches], [*self.managers], [*self.refusing]

    def restore(self, surroundings: tuple[list[Any], ...]) -> None:
        """Let what surrounded a call surround what runs after it, and nothing else.

        A generator that is left where it yields, in a ``try``, does not leave that until it is closed.
        """
        self.tried[:], self.catches[:], self.managers[:], self.refusing[:] = surroundings


def current() -> Current:
    """What goes on in this thread, which begins with nothing."""
    found: Current | None = LOCAL.raising
    if found is None:
        found = LOCAL.raising = Current()
    return found


class Managed:
    """A ``with`` of the user's around what runs.

    Attributes:
      swallows: tells whether it may keep an exception from going on; asked only where one is raised.
      passed: an exception of the program that its `__exit__` would have to be told of.
      frame: the recording that it is in.
    """

    def __init__(self, swallows: Callable[[], bool]) -> None:
        self.depth = len(current().catches)
        self.frame = LOCAL.frame
        self.swallows = swallows
        self.passed: RaiseSite | None = None


@contextmanager
def chosen() -> Iterator[None]:
    """Surrounds what runs as the exception of a ``try`` chooses."""
    current().choosing += 1
    current().chosen += 1
    try:
        yield
    finally:
        current().choosing -= 1


class Catches(Protocol):
    """A ``try`` whose body is being traced.

    Attributes: frame (the recording that it is in).
    """

    frame: Any

    def takes(self, kind: type[BaseException]) -> bool:
        """Whether it catches exceptions of this class."""

    def handles(self, kind: type[BaseException]) -> bool:
        """Whether those that it catches may end there: they do not in a ``finally``."""

    def caught(self, site: Site, values: Sequence[Any], held: BaseException | None) -> tuple[RaiseSite, list[Any]]:
        """An exception that it catches, with what the handler finds; ``held``: see `leave`."""


def catching(kind: type[BaseException]) -> Catches | None:
    """The innermost ``try`` around what runs that catches exceptions of this class, as far as this recording knows."""
    return next((each for each in reversed(current().catches) if each.frame is LOCAL.frame and each.takes(kind)), None)


def meets_handler(kind: type[BaseException]) -> bool:
    """Whether an exception of this class may end at a handler, be it one of Python's, which can take none of the program's."""
    if any(each.frame is LOCAL.frame and each.handles(kind) for each in current().catches):
        return True
    if any(each.frame is LOCAL.frame and each.swallows() for each in current().managers):
        return True
    return any(frame is LOCAL.frame and issubclass(kind, kinds) for frame, kinds in current().refusing)


def has_handlers() -> bool:
    """Whether any handlers surround what runs."""
    return bool(current().catches or current().refusing or current().managers)


def is_after_raise() -> bool:
    """Whether what runs here runs, or does not, since there may have been an exception that a handler catches."""
    return bool(current().choosing) or (bool(current().catches) and STAGING.is_clear() is not True)


@contextmanager
def attempting() -> Iterator[None]:
    """Surrounds an attempt to stage what Python may run instead: a refusal that a handler met ends the attempt, not the call."""
    scope = current().scope
    if scope is None:
        yield
        return
    before, scope.caught = (scope.staged, scope.caught), None
    try:
        yield
        if scope.caught is not None:
            raise scope.caught
    finally:
        scope.staged, scope.caught = before


@contextmanager
def gathered() -> Iterator[None]:
    """Surrounds a block of a staged statement: exceptions in it that handlers catch are of its program where it ends.

    So what runs in it after one can ask for it.
    """
    if not current().catches:
        yield
        return
    with STAGING.receiving(lambda site: site.is_caught) as received:
        yield
    if received.code is not None:
        STAGING.raise_if(received.code, received.payloads, received.sites)


class Tried:
    """Surrounds code after which other code runs in any case: that of a ``finally``, or of a manager's ``__exit__``."""

    def __init__(self) -> None:
        self._left = current().left

    @contextmanager
    def after(self) -> Iterator[None]:
        """Surrounds that other code."""
        outer, current().after_raise = current().after_raise, current().after_raise or current().left > self._left
        try:
            yield
        finally:
            current().after_raise = outer


@jax.tree_util.register_pytree_node_class
class Guarded:
    """A program's result, and the error that it raised.

    Attributes: result, code, payloads, sites: see `Staging.raise_if`.
    """

    def __init__(self, result: Any, code: Any, payloads: Any, sites: Sequence[RaiseSite]) -> None:
        self.result = result
        self.code = code
        self.payloads = payloads
        self.sites = tuple(sites)

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        return (self.result, self.code, self.payloads), self.sites

    @classmethod
    def tree_unflatten(cls, sites: Any, children: Any) -> Guarded:
        result, code, payloads = children
        return cls(result, code, payloads, sites)

    def resolve(self) -> Any:
        """The result, after `check`."""
        self.check()
        return self.result

    def check(self) -> None:
        """Raise the exception that the program raised, if any: now, or, inside a trace, when that runs.

        Raises:
          StagingError: nothing would check for it there.
        """
        if not isinstance(self.code, jax.core.Tracer):
            number = int(np.asarray(self.code))  # a view: JAX's own `int` copies, and keeps the copy
            if number:
                # Every process comes by here: the code is the same in all.
                self.sites[number - 1].raise_with(list(map(in_each, self.payloads[number - 1])))
            return
        leave(self.code, self.payloads, self.sites)


def through_control_flow(call: Callable[[], Any]) -> Any:
    """Call JAX's own control flow on functions that may raise, so that the exception goes on after it.

    Left inside it would be raised for what does not come there: under ``vmap`` all lanes run all branches.
    """
    staging = STAGING
    if staging.is_plain(staging.place()):
        return call()
    trees: list[Any] = []

    def block() -> Sequence[Any]:
        leaves, tree = jax.tree_util.tree_flatten(call())
        trees[:] = [tree]
        return leaves

    outer, current().has_receiver = current().has_receiver, True
    try:
        program = staging.record(block, ())
    finally:
        current().has_receiver = outer
    touched = staging.stand_ins(program)
    refs = [ref for ref, _ in touched]
    outputs, last, error = staging.run(program, (), refs, [staging.read(ref) for ref in refs])
    for (ref, is_written), value in zip(touched, last, strict=True):
        if is_written:
            staging.write(ref, value)
    if error is not None:
        leave(*error)
    return jax.tree_util.tree_unflatten(trees[0], outputs)


class _Refusing:
    """What represents handlers that Python runs, among `Catches`."""

    def __init__(self) -> None:
        self.frame = LOCAL.frame

    def takes(self, kind: type[BaseException]) -> bool:
        return True

    handles = takes

    def caught(self, site: Site, values: Sequence[Any], held: BaseException | None) -> tuple[RaiseSite, list[Any]]:
        raise _met_handlers(site)


def _met_handlers(site: RaiseSite) -> StagingError:
    return StagingError(
        f"{site.where}\n  {site.name} is raised under a traced condition inside handlers that Python runs (`except*`, "
        "contextlib.suppress, or a `try` that yields): whether they catch it is not known while tracing.\n  Use `try` and `except` in "
        "a function that does not yield, or move it out of the traced function."
    )


@contextmanager
def leaving_refused(*kinds: type[BaseException]) -> Iterator[None]:
    """Let no exception be left in what is recorded inside: `leave` refuses.

    Args:
      kinds: what handlers of Python's take there.
    """
    scope = current().scope
    if scope is None:
        yield
        return
    scope.tries += 1
    entry, inside = (LOCAL.frame, kinds), _Refusing()
    current().refusing.append(entry)
    if current().catches:
        current().catches.append(inside)
    try:
        yield
    finally:  # of a generator, perhaps, that is closed when something else runs
        scope.tries -= 1
        drop(current().refusing, entry)
        drop(current().catches, inside)


def drop(held: list[Any], entry: Any) -> None:
    """Take this very object out of a list, if it is still there."""
    held[:] = [each for each in held if each is not entry]


def check_finally(where: Callable[[], str], what: str) -> None:
    """Refuse what would not happen in a ``finally`` or ``__exit__`` after an exception has been left in the program.

    Raises:
      StagingError: a program ends, but for what is given back, with the first exception that it raises.
    """
    if current().after_raise:
        raise StagingError(
            f"{where()}\n  This {what} in a `finally` or `__exit__`, after statements that may raise at run "
            "time, and a program ends with its first exception.\n  Move the statement before those that may raise."
        ) from None


def leave(
    code: Any,
    payloads: Sequence[Sequence[Any]],
    sites: Sequence[RaiseSite],
    tries: int | None = None,
    held: BaseException | None = None,
) -> None:
    """Leave an exception in the program that is being recorded; outside of one, raise it.

    Args:
      tries: how many ``try`` statements may catch it: those around it, by default.
      held: the exception, if something may refer to it.
    """
    scope = current().scope
    caught = [_caught(site, values, held) for site, values in zip(sites, payloads, strict=True)]
    sites, payloads = [site for site, _ in caught], [values for _, values in caught]
    if all(site.is_caught for site in sites):
        count_effect(is_raise=True)
        STAGING.raise_if(code, payloads, sites)
        return
    if scope.tries if scope is not None and tries is None else tries:
        raise _met_handlers(sites[0]) from None
    check_finally(lambda: sites[0].where, f"raises {sites[0].name}")
    for each in current().managers:
        if each.swallows():
            each.passed = next(site for site in sites if not site.is_caught)
    if scope is not None:
        scope.has_raised = True
    current().left += 1
    count_effect(is_raise=True)
    if LOCAL.frame is None and not current().has_receiver:
        LOCAL.raised_at_once += 1
    STAGING.raise_if(code, payloads, sites)


def _caught(site: RaiseSite, values: Sequence[Any], held: BaseException | None) -> tuple[RaiseSite, list[Any]]:
    catches = catching(site.kind) if isinstance(site, Site) and site.room is None else None
    if catches is None or not isinstance(site, Site):
        return site, list(values)
    for each in current().managers:
        if catches in current().catches[: each.depth]:
            each.passed = site
    return catches.caught(site, values, held)


def with_error(result: Any, error: Any) -> Any:
    """A program's result, with the exception that it may have ended with instead."""
    return result if error is None else Guarded(result, *error)
