"""``try``: handlers for exceptions that are raised at run time.

The body runs in the trace that it is in, as any code. An exception that a staged statement in it raises under a
traced condition does not leave the program: it is received (`Staging.receiving`), with what its handler will find
(`Moment`). Where the body has ended, the code of the first exception chooses, as the test of a staged conditional,
between the ``else`` and the handlers. A body in which nothing may be raised at run time leaves nothing in the
program, and what it raises while tracing is handled by Python.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from autograph.backends.base import Backend
from autograph.backends.exceptions import RaiseSite
from autograph.backends.selected import STAGING
from autograph.runtime.effects.outcomes import is_outcome
from autograph.runtime.effects.raise_sites import Remade, Site
from autograph.runtime.effects.raising import chosen, current
from autograph.runtime.effects.remaking import note_handled, remade
from autograph.runtime.effects.staged_raises import BothRaise
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.attempts import WritesOfAttempt
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.heap.moments import Moment
from autograph.runtime.heap.places import Place
from autograph.runtime.heap.reach import same
from autograph.runtime.layouts.statement_variables import CellVariable, Snapshot, Variable, find_variables
from autograph.runtime.staging.policy.opaque import OpaqueCalls
from autograph.runtime.staging.statements.conditionals import Conditionals
from autograph.runtime.staging.statements.managers import ContextManagers, ManagerMethods, run_within
from autograph.runtime.tracing.concretization import asks_for_value
from autograph.runtime.tracing.locations import clean_traceback
from autograph.runtime.tracing.recording import LOCAL

Thunk = Callable[[], Any]


@dataclass
class Handler:
    """An ``except`` clause.

    Attributes:
      kinds: the expression for what it catches, None for all.
      block: what it runs, of the exception.
      asks: whether the block may ask for the exception.
      ends: what may end here: nothing does where the exception goes on after the block in any case, as after a ``finally``.
    """

    kinds: Thunk | None
    block: Callable[[BaseException], Any]
    asks: bool
    ends: tuple[type[BaseException], ...] = (BaseException,)
    _found: list[Any] = field(default_factory=list)

    def takes(self, kind: type[BaseException]) -> bool:
        """Whether it catches exceptions of this class."""
        if self.kinds is None:
            return True
        if not self._found:
            self._found.append(_checked(self.kinds()))
        return issubclass(kind, self._found[0])

    def run(self, error: BaseException) -> Any:
        """Run its block, which may ask for the traceback, of an exception that has been raised."""
        clean_traceback(error)
        return self.block(error)


def _checked(kinds: Any) -> Any:
    for kind in kinds if isinstance(kinds, tuple) else (kinds,):
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise TypeError("catching classes that do not inherit from BaseException is not allowed")
    return kinds


class Thrown:
    """An exception that a handler catches. See `backends.base.RaiseSite`.

    Attributes: site (the exception), attempt (which ``try`` catches it), moment (what its handler finds).
    """

    is_caught = True
    room = None
    is_check = False

    def __init__(self, site: Site, attempt: Attempt, moment: Moment) -> None:
        self.site, self.attempt, self.moment = site, attempt, moment
        carried = (jax.ShapeDtypeStruct(value.shape, value.dtype) for value in moment.values)
        self.types = (*site.types, *carried)
        moment.values = []  # they are of traces that end

    @property
    def name(self) -> str:
        return self.site.name

    @property
    def where(self) -> str:
        return self.site.where

    @property
    def refusal(self) -> str:
        """What is said where it is raised in a program that JAX keeps for itself."""
        return (
            f"{self.where}\n  {self.name} is raised under a traced condition here, in what a transform of JAX's (jax.jit, "
            "jax.checkpoint, a rule of derivatives) has recorded, and a `try` around its call catches it: no exception can be "
            "carried there.\n  Put the `try` into the function, or return a flag."
        )

    def raise_with(self, values: Sequence[Any]) -> None:
        raise StagingError(self.refusal)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Thrown) or self.attempt is not other.attempt:
            return False
        return self.site == other.site and self.types == other.types and self.moment == other.moment

    def __hash__(self) -> int:
        return hash(self.site)

    def __repr__(self) -> str:
        return repr(self.site)


class Attempt:
    """A ``try`` whose body is being traced. See `runtime.raising.Catches`."""

    def __init__(
        self,
        handlers: Sequence[Handler],
        variables: Sequence[Variable],
        writes: WritesOfAttempt,
        moment: Callable[[Sequence[Variable], WritesOfAttempt, Any, BaseException | None], Moment],
    ) -> None:
        self.frame = LOCAL.frame
        self._place = STAGING.place()
        self._handlers = handlers
        self._variables = variables
        self._writes = writes
        self._moment = moment

    def takes(self, kind: type[BaseException]) -> bool:
        return any(handler.takes(kind) for handler in self._handlers)

    def handles(self, kind: type[BaseException]) -> bool:
        return any(handler.takes(kind) and issubclass(kind, handler.ends) for handler in self._handlers)

    def caught(self, site: Site, values: Sequence[Any], held: BaseException | None) -> tuple[RaiseSite, list[Any]]:
        moment = self._moment(self._variables, self._writes, self._place, held)
        carried = [*values, *moment.values]
        return Thrown(site, self, moment), carried

    def handler_of(self, thrown: Thrown) -> int:
        """Which handler catches an exception."""
        return next(k for k, handler in enumerate(self._handlers) if handler.takes(thrown.site.kind))


class Attempts(InTrace):
    """The operators for ``try``, and for ``with``, which is one."""

    def __init__(
        self,
        backend: Backend,
        trace: Callable[[], Trace],
        opaque: OpaqueCalls,
        managers: ContextManagers,
        conditionals: Conditionals,
    ) -> None:
        self._backend = backend
        super().__init__(trace)
        self._opaque = opaque
        self._managers = managers
        self._staged_if, self._raising = conditionals.staged_if, conditionals.raising

    def _moment(
        self, variables: Sequence[Variable], writes: WritesOfAttempt, place: Any, raised: BaseException | None
    ) -> Moment:
        return Moment(variables, writes, self.marks, place, self.journal.note_read, raised)

    def goes_on(self) -> Any:
        """Whether no exception that a handler catches has been raised where this runs; traced, if it is known only at run time."""
        if not current().catches:
            return True
        clear = STAGING.is_clear()
        return clear if self._backend.is_traced(clear) else bool(clear)

    def try_stmt(
        self,
        body: Thunk,
        handlers: Sequence[tuple[Thunk | None, Callable[[BaseException], Any], bool]],
        orelse: Thunk | None,
        final: Thunk | None,
        names: Sequence[str],
        found: Sequence[str] = (),
        result: str | None = None,
    ) -> Any:
        """Run ``body``, then ``orelse`` or the handler of what it raises, and ``final`` in any case; what they return.

        Args:
          handlers: for each its classes, its block, and whether that asks for the exception.
          names: the variables that the statement may leave changed.
          found: other variables of the body that the other blocks may read.
          result: one that the program reads only where it was set.
        """
        clauses = [Handler(*each) for each in handlers]
        functions: list[Any] = [
            body,
            *(each.block for each in clauses),
            *(each for each in (orelse, final) if each is not None),
        ]
        if STAGING.is_plain(STAGING.place()):
            return _in_python(body, clauses, orelse, final)
        variables = find_variables(names, functions)
        statement = _Statement(self, functions, variables, [*variables, *find_variables(found, functions)], result)
        if final is None:
            return statement.run(body, clauses, orelse)
        handled = dataclasses.replace(statement, variables=statement.seen)  # all that the `finally` may read
        whole = (lambda: handled.run(body, clauses, orelse)) if clauses else body
        return statement.run_finally(whole, final)

    def with_stmt(
        self,
        manager: Any,
        body: Callable[[Any], Any],
        names: Sequence[str],
        found: Sequence[str] = (),
        result: str | None = None,
    ) -> None:
        """Run ``body``, of what ``manager`` returns, between its ``__enter__`` and its ``__exit__``.

        Args:
          names, found, result: see `try_stmt`.
        """
        if STAGING.is_plain(STAGING.place()):
            run_within(self._managers.manager(manager), body)
            return
        variables = find_variables(names, [body])
        if self._managers.run(manager, body, _marked(variables, result)):
            return
        methods = self._managers.methods(manager)
        if methods is None:
            run_within(self._managers.manager(manager), body)
            return
        leave_manager = methods.leave

        def leave(*error: Any) -> Any:
            return leave_manager(*error)

        # By the functions of a statement it is known what its blocks may write to: by this one, the manager.
        functions = [body, leave]
        statement = _Statement(self, functions, variables, [*variables, *find_variables(found, [body])], result)
        statement.run_managed(methods, body, leave)


@dataclass
class _Statement:
    """One ``try`` or ``with`` inside a trace.

    Attributes: functions (its blocks), variables (its state), seen (and what else its blocks may read), result.
    """

    operators: Attempts
    functions: Sequence[Callable[..., Any]]
    variables: Sequence[Variable]
    seen: Sequence[Variable]
    result: str | None

    def run(self, body: Thunk, handlers: Sequence[Handler], orelse: Thunk | None) -> Any:
        attempted = self._attempted(body, handlers)
        if attempted.received.code is None:
            if attempted.error is None:
                return attempted.value if orelse is None else self._block(orelse)
            return self._handled_by_python(attempted.error, handlers)
        blocks = self._handlers_of(attempted, handlers)
        if attempted.error is None:
            blocks.insert(0, (None, lambda: attempted.value if orelse is None else self._block(orelse)))
        return self._chosen(attempted.received.code, blocks)

    def run_finally(self, body: Thunk, final: Thunk) -> Any:
        """``try: body() finally: final()``: the ``finally`` runs on each of both ways by itself."""
        handler = Handler(None, lambda error: self._finally(error, final), asks=True, ends=())
        before = current().chosen
        attempted = self._attempted(body, [handler])
        if attempted.received.code is None:
            if attempted.error is not None:
                try:
                    raise attempted.error
                finally:
                    self._block(final)
            with nullcontext() if current().chosen == before else chosen():
                self._block(final)
            return attempted.value
        blocks = self._handlers_of(attempted, [handler])
        if attempted.error is None:
            blocks.insert(0, (None, lambda: (attempted.value, self._block(final))[0]))
        return self._chosen(attempted.received.code, blocks)

    def run_managed(self, methods: ManagerMethods, body: Callable[[Any], None], leave: Callable[..., Any]) -> None:
        """``with``: the manager is left on each of both ways by itself, and may keep the exception from going on."""
        entered = methods.enter()
        handler = Handler(None, lambda error: self._left_by(error, leave), asks=True, ends=methods.suppresses)
        try:
            attempted = self._attempted(lambda: body(entered), [handler])
        except BaseException as error:  # which says that something cannot be staged
            leave(type(error), error, error.__traceback__)
            raise
        if attempted.received.code is None:
            if attempted.error is None:
                leave(None, None, None)
            else:
                self._handled_by_python(attempted.error, [handler])
            return
        blocks = self._handlers_of(attempted, [handler])
        if attempted.error is None:
            blocks.insert(0, (None, lambda: self._leave_quietly(leave)))
        self._chosen(attempted.received.code, blocks)

    def _leave_quietly(self, leave: Callable[..., Any]) -> None:
        self._block(leave, None, None, None)

    def _left_by(self, error: BaseException, leave: Callable[..., Any]) -> None:
        """Leave a manager by an exception, which goes on unless it is told otherwise."""

        def go_on() -> None:
            raise error

        swallows = leave(type(error), error, error.__traceback__)
        swallows = getattr(type(swallows), "__autograph_truth__", lambda value: value)(swallows)
        self._if(swallows, lambda: None, go_on, self.variables)

    def _finally(self, error: BaseException, final: Thunk) -> None:
        self._block(final)
        raise error

    def _block(self, block: Callable[..., Any], *args: Any) -> Any:
        return self.operators._opaque.block(block)(*args)

    def _attempted(self, body: Thunk, handlers: Sequence[Handler]) -> _Attempted:
        """Run the body: its value or the exception that it has certainly come to, and what may have been raised before."""
        operators = self.operators
        with operators.journal.attempting() as writes:
            attempt = Attempt(handlers, self.seen, writes, operators._moment)

            def catches(site: RaiseSite) -> bool:
                return isinstance(site, Thrown) and site.attempt is attempt

            with STAGING.receiving(catches) as received:
                attempted = _Attempted(attempt, received)
                around = current().catches
                around.append(attempt)
                try:
                    attempted.value = body()
                except Exception as error:
                    if not self._may_be_handled(error):
                        raise
                    attempted.error = error
                    if received.code is not None:
                        if not isinstance(error, BothRaise):
                            operators._raising.raise_later(error)
                    elif isinstance(error, BothRaise):
                        raise  # to what is around
                finally:
                    around.remove(attempt)  # nothing is called, which could exceed the recursion limit
            return attempted

    def _may_be_handled(self, error: BaseException) -> bool:
        """Whether a handler may take this: not what says that something cannot be staged, or not as one loop."""
        scope = current().scope
        if scope is not None and (error is scope.staged or isinstance(error, StagingError)):
            scope.caught = error
            return False
        if asks_for_value(error):  # which the call of converted code says in its own words
            return False
        is_known = isinstance(error, BothRaise) or remade(error) is not None or is_outcome(error)
        return is_known or not self.operators.journal.is_rolling

    def _handled_by_python(self, error: BaseException, handlers: Sequence[Handler]) -> Any:
        for handler in handlers:
            if handler.takes(type(error)):
                error = self.operators._raising.handled(error)
                try:
                    raise error
                except BaseException:
                    return handler.run(error)
        raise error

    def _handlers_of(self, attempted: _Attempted, handlers: Sequence[Handler]) -> list[tuple[list[int] | None, Thunk]]:
        """The blocks for what may have been raised, each with the numbers of the exceptions that it is for."""
        groups: dict[Any, list[int]] = {}
        sites: list[Any] = attempted.received.sites
        for number, thrown in enumerate(sites, 1):
            handler = attempted.attempt.handler_of(thrown)
            key = (handler, thrown.site, id(thrown.moment.raised)) if handlers[handler].asks else (handler, None, 0)
            groups.setdefault(key, []).append(number)
        restored = [each for site in sites for each in site.moment.objects()]
        # By what these lead to it is known what is from before the handlers.
        self.functions = (*self.functions, lambda: restored)
        return [
            (numbers, lambda k=k, numbers=numbers: self._handle(attempted, handlers[k], numbers))  # type: ignore[misc]
            for (k, *_), numbers in groups.items()
        ]

    def _handle(self, attempted: _Attempted, handler: Handler, numbers: Sequence[int]) -> Any:
        """Run a handler where one of these exceptions has been raised."""
        received = attempted.received
        sites: list[Any] = received.sites
        moments = [sites[each - 1].moment for each in numbers]
        unwritten = [moment.unwritten(moments) for moment in moments]  # before any of them is restored
        for each, places in zip(numbers, unwritten, strict=True):
            restore = functools.partial(self._restore, sites[each - 1], received.payloads[each - 1], places)
            if each == numbers[0]:
                restore()
            else:
                self._if(received.code == each, restore, None, self.seen)
        site = sites[numbers[0] - 1].site
        values = [received.payloads[numbers[0] - 1][k] for k in range(len(site.types))]
        for each in numbers[1:]:
            # A handler that does not ask for the exception takes several kinds, whose values have nothing in common.
            if sites[each - 1].site == site:
                others = received.payloads[each - 1][: len(values)]
                values = [jnp.where(received.code == each, new, old) for new, old in zip(others, values, strict=True)]
        raised = moments[0].raised
        handled = site.stand_ins(values) if raised is None else [(raised, Remade(site, values))]
        note_handled(handled)
        error = handled[0][0]
        try:
            raise error
        except BaseException:
            return self._block(handler.block, error)

    def _restore(self, thrown: Thrown, payload: Sequence[Any], unwritten: Sequence[tuple[Any, Any]]) -> None:
        journal = self.operators.journal

        def write(place: Any, value: Any) -> None:
            if not same(place.get(), value):
                if isinstance(place, Place) and all(place is not each for each in self.seen):
                    # A region tells what lives on by who holds it, its places among them.
                    journal.touch(copy.copy(place), again=True)
                place.set(value)

        journal.check_unreported()
        thrown.moment.restore(payload[len(thrown.site.types) :], write, journal.born, unwritten)
        journal.refresh()

    def _chosen(self, code: Any, blocks: Sequence[tuple[Sequence[int] | None, Thunk]]) -> Any:
        with chosen():
            try:
                return self._one_of(code, blocks)
            except Exception as error:
                if remade(error) is None:
                    raise
                # It has come through a handler that runs on all paths that are left.
                self.operators._raising.raise_later(error)
        self.operators._raising.end_block()

    def _one_of(self, code: Any, blocks: Sequence[tuple[Sequence[int] | None, Thunk]]) -> Any:
        """Run the block of what the code is the number of."""
        (numbers, block), *rest = blocks
        if not rest:
            return block()
        test = code == 0
        if numbers is not None:
            test = code == numbers[0]
            for each in numbers[1:]:
                test = test | (code == each)
        return self._if(test, block, lambda: self._one_of(code, rest), self.variables)

    def _if(self, test: Any, block: Thunk, orelse: Thunk | None, variables: Sequence[Variable]) -> Any:
        if not self.operators._backend.is_traced(test):
            return block() if test else None if orelse is None else orelse()
        return self.operators._staged_if(
            test, block, orelse, variables, Snapshot(self.functions, variables), self.result
        )


@dataclass
class _Attempted:
    """What has become of a body.

    Attributes: value (what it returned), error (the exception that ends it on all paths that come so far), received.
    """

    attempt: Attempt
    received: Any
    value: Any = None
    error: BaseException | None = None


def _marked(variables: Sequence[Variable], result: str | None) -> list[Any]:
    return [
        dataclasses.replace(each, is_result=each.name == result) if isinstance(each, CellVariable) else each
        for each in variables
    ]


def _in_python(body: Thunk, handlers: Sequence[Handler], orelse: Thunk | None, final: Thunk | None) -> Any:
    if final is not None:
        try:
            return _in_python(body, handlers, orelse, None)
        finally:
            final()
    try:
        value = body()
    except BaseException as error:
        for handler in handlers:
            if handler.takes(type(error)):
                return handler.run(error)
        raise
    return value if orelse is None else orelse()
