"""``raise`` and ``assert`` under traced conditions, at run time.

A ``raise`` in a block of a staged statement ends that block, at trace time, and leaves an operation in its program
that raises the exception when the program raises it. See `effects.raising`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import jax
import jax.numpy as jnp

from autograph.backends.base import Backend, NotRollable
from autograph.backends.selected import STAGING
from autograph.runtime.containers.parts import parts_of
from autograph.runtime.containers.searched_lists import EmptyListError
from autograph.runtime.containers.sizes import is_symbolic_size
from autograph.runtime.effects.absences import ABSENCES, is_unbound
from autograph.runtime.effects.as_python import as_now
from autograph.runtime.effects.growing_texts import is_one_text
from autograph.runtime.effects.outcomes import (
    ABSENT_WHILE_TRACING,
    absent_in_bare_jit,
    caught_while_tracing,
    is_outcome,
    is_pythons,
    python_class,
    refuse_large_int,
)
from autograph.runtime.effects.raise_sites import (
    Recipe,
    Remade,
    Site,
    as_arguments,
    drafted,
    has_text,
    holding,
    resolved,
    shows_tracer,
)
from autograph.runtime.effects.raising import Scope, Tried, catching, current, drop, leave, leaving_refused
from autograph.runtime.effects.remaking import (
    carries_values,
    cause_of,
    held_itself,
    is_new,
    is_object_of,
    made_again,
    note_handled,
    remade,
    site_of,
)
from autograph.runtime.effects.snapshots import with_snapshots, write_as_shown
from autograph.runtime.effects.traced_texts import DeferredText, TracedText
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.holders import within_reach
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.heap.journal import Journal
from autograph.runtime.heap.list_outputs import CountedList, with_plain_lists
from autograph.runtime.heap.unknown import is_unknown
from autograph.runtime.layouts.describe import is_leaf
from autograph.runtime.layouts.dict_by_path import with_dicts_by_path
from autograph.runtime.layouts.list_room import OutOfRoom
from autograph.runtime.layouts.objects import attributes_of, with_attributes
from autograph.runtime.layouts.one_of import each, each_purely, is_one_of
from autograph.runtime.layouts.optional import Optional, held_in, is_known, present_in
from autograph.runtime.layouts.pytrees import for_jax, in_order, is_pytree, tree_leaves, tree_map
from autograph.runtime.layouts.statement_variables import NO_SNAPSHOT
from autograph.runtime.state.array_operators import plain
from autograph.runtime.state.local_arrays import array_held_by
from autograph.runtime.tracing.concretization import asks_for_value, of_arrays
from autograph.runtime.tracing.locations import (
    user_location,
)
from autograph.runtime.tracing.recording import LOCAL, effects_once, repeated


class BothRaise(Exception):
    """Ends a block after a staged statement whose branches both raise: nothing after it runs."""


class Raising(InTrace):
    """The operators for ``raise``, and what other operators raise by.

    Args:
      staged_if: of `Conditionals`.
      call: what to call in place of a function.
    """

    def __init__(
        self,
        backend: Backend,
        trace: Callable[[], Trace],
        staged_if: Callable[..., Any],
        call: Callable[[Any], Any],
    ) -> None:
        super().__init__(trace)
        self.backend = backend
        self._staged_if = staged_if
        self._call = call

    def raised(self, error: Any, *cause: Any) -> Any:
        """What ``raise error``, or ``raise error from cause``, raises: ``error``, noted as a staged raise if a block of a staged
        statement is being traced.
        """
        if self._is_remembered():
            if type(error) is Optional:
                error = self._present(error)
            if is_one_of(error):
                return self._one_of(error, *cause)
        if isinstance(error, type) and issubclass(error, BaseException):
            error = self.exception(error)
        if cause and isinstance(error, BaseException):
            if type(cause[0]) is Optional and not is_known(present_in(cause[0])):
                return self._from_one_or_none(error, cause[0])
            found = held_in(cause[0]) if type(cause[0]) is Optional else cause[0]
            if is_one_of(found):
                return self._from_one_of(error, found)
            error.__cause__ = cause_of(found)
        return self._noted(error)

    def _noted(self, error: Any) -> Any:
        if not self._is_remembered():
            return error
        scope = current().scope
        if isinstance(error, BaseException) and not isinstance(error, BothRaise) and not is_new(error):
            current().named = error
        if self.journal.is_open:
            self.journal.regions[-1].raising = error
        elif scope is not None:
            scope.last = error
        return error

    def _from_one_or_none(self, error: BaseException, cause: Optional) -> Exception:
        """Raise an exception whose cause may be None."""
        fail = self._failing(error)
        self._staged_if(present_in(cause), lambda: fail(held_in(cause)), lambda: fail(None), [], NO_SNAPSHOT)
        return self.stopped()

    def _from_one_of(self, error: BaseException, causes: Any) -> Exception:
        """Raise an exception whose cause the run chooses."""
        each(causes, self._failing(error))
        return self.stopped()

    def _failing(self, error: BaseException) -> Callable[[Any], None]:
        """What raises an exception from a cause, as it was made here.

        Raises:
          StagingError: others may refer to it, which has one cause on each path.
        """
        made = current().recipe
        if made is None or made[0] is not error:
            if current().initialized is not error:
                raise StagingError(
                    f"{user_location()}\n  The cause of this {type(error).__name__}, which was made before the `raise`, is selected at run "
                    "time.\n  Make it in the `raise` statement: raise Error(…) from cause."
                )
            return self._failing_with_copies(error)

        def fail(cause: Any) -> None:
            current().recipe = error, copy.copy(made[1])
            raise self.raised(error, cause)

        return fail

    def _failing_with_copies(self, error: BaseException) -> Callable[[Any], None]:
        """The same, of one that nothing else refers to: on each path it is another."""
        attributes = attributes_of(error)

        def fail(cause: Any) -> None:
            current().initialized = one = with_attributes(type(error), attributes.items())
            self.journal.born(one)
            raise self.raised(one, cause)

        return fail

    def _present(self, error: Optional) -> Any:
        """An exception that may be None."""
        if not is_known(present_in(error)):
            self.raise_unless(present_in(error), TypeError("exceptions must derive from BaseException"))
        return held_in(error)

    def _one_of(self, error: Any, *cause: Any) -> Exception:
        """Raise the one of several exceptions that the run chooses."""

        def fail(one: Any) -> None:
            raise self.raised(one, *cause)

        each(error, fail)
        return self.stopped()

    def _is_remembered(self) -> bool:
        """Whether an exception made here may be one of a program.

        Others are not held, so that what they refer to is freed when their handlers end, as in plain Python.
        """
        if self.journal.is_open:
            return True
        return current().scope is not None and not STAGING.is_plain(STAGING.place())

    def exception(self, kind: Any, *args: Any, **kwargs: Any) -> Any:
        """``kind(*args, **kwargs)``, remembering how it was made: at run time it is made again, of the values."""
        if is_one_of(kind):
            return each(kind, lambda one: self.exception(one, *args, **kwargs))
        is_kind = isinstance(kind, type) and issubclass(kind, BaseException)
        content = (args, kwargs)
        if not is_kind or not self._is_remembered():
            given, named = resolved(content)
            return self._call(kind)(*given, **named)
        if is_object_of(kind, (*args, *kwargs.values())):
            given, named = as_arguments(content)
            current().initialized = error = self._call(kind)(*given, **named)
            return error
        given, named = drafted(content)
        read = _as_read(content)
        content = read if Site.values(read) else content
        try:
            error = holding(kind(*given, **named), given, args)
        except Exception:
            if not Site.values(content):
                raise
            error = kind.__new__(kind, *given)  # its __init__ asks for values, and will have them at run time
        current().recipe = (error, Recipe(kind, content, True))
        return error

    def can_raise_later(self, kind: type[BaseException] = Exception) -> bool:
        """Whether an error of this class that depends on a traced condition has a way to the caller, or to a handler, from here."""
        if LOCAL.frame is not None or current().has_receiver or catching(kind) is not None:
            return True
        regions = self.journal.regions
        outermost = regions[0].place if regions else STAGING.place()
        return not STAGING.is_recording(outermost)

    def raise_unless(
        self, condition: Any, error: BaseException | Callable[[], BaseException], is_check: bool = False
    ) -> None:
        """Raise ``error``, or what it returns (see `exception`), at run time where ``condition`` is false.

        A check is left out of programs that cannot raise: indices that are out of range are clamped there, as JAX does.
        """

        def fail() -> None:
            raised = error if isinstance(error, BaseException) else error()
            if self._is_remembered():
                known = current().recipe
                if known is None or not is_new(raised):
                    known = current().recipe = raised, Recipe.of(raised)
                known[1].is_check = is_check
            raise self.raised(raised)

        self._staged_if(condition, None, fail, [], NO_SNAPSHOT)

    def raise_if_any(self, error: Any) -> None:
        """Raise an exception where there is one: it may be None."""
        if type(error) is not Optional:
            if error is not None:
                raise self.raised(error)
            return

        def fail() -> None:
            raise self.raised(held_in(error))

        self._staged_if(present_in(error), fail, None, [], NO_SNAPSHOT)

    def text(self, make: Callable[..., str], *values: Any) -> Any:
        """``make(*values)``: a text in an exception or a print; to be made at run time if values are traced."""
        if not is_pytree(values):
            return self._known_text(make, values)
        read = _as_read(values)
        if any(map(self.backend.is_traced, tree_leaves(read))):
            write_as_shown(make, values, lambda: _as_read(values))
            return DeferredText(make, tree_map(as_now, read))
        return self.text_now(make, *tree_map(_known_value, values))

    def text_now(self, make: Callable[..., str], *values: Any) -> Any:
        """``make(*values)``: one of several texts if a value is one of several constants, a `TracedText` of traced values."""
        chosen = next(filter(is_one_of, values), None)
        if chosen is not None and not is_one_text(make, values, _as_read, self.backend.is_traced):
            return each_purely(
                chosen, lambda one: self.text_now(make, *(one if each is chosen else each for each in values))
            )
        if not is_pytree(values):
            return self._known_text(make, values)
        read = values if self.backend.is_eager() else _as_read(values)
        if any(map(self.backend.is_traced, tree_leaves(read))):
            if self.journal.is_rolling:
                raise NotRollable("it makes a text of what may be a Python number")
            write_as_shown(make, values, lambda: _as_read(values))
            return TracedText(make, tree_map(as_now, read))
        return self._known_text(make, values)

    def _known_text(self, make: Callable[..., str], values: tuple[Any, ...]) -> str:
        """The text of values of which none is traced, as far as JAX can flatten them."""
        text = make(*values)
        if self.backend.is_eager() or not shows_tracer(text):
            return text
        tree_leaves(values)  # JAX says why, where it cannot
        raise StagingError(
            f"{user_location()}\n  A string of traced values is created here by code that is not converted: an object's `__str__`, "
            '`__repr__` or `__format__`.\n  Format the values themselves: f"{point.x}".'
        )

    @contextmanager
    def handlers(self, *kinds: type[BaseException]) -> Iterator[None]:
        """Surrounds the body of a ``try`` that has handlers: no staged ``raise`` may pass through it unseen.

        Where nothing is recorded, it raises at once.
        """
        if STAGING.is_recording(STAGING.place()):
            with leaving_refused(*(kinds or (BaseException,))):
                try:
                    yield
                except Exception as error:
                    scope = current().scope
                    is_refusal = isinstance(error, StagingError) or asks_for_value(error)
                    if scope is not None and (error is scope.staged or is_refusal):
                        scope.caught = error
                    raise
        else:
            yield

    @contextmanager
    def tried(self) -> Iterator[None]:
        """Surrounds a ``try`` that has a ``finally``."""
        tried = Tried()
        current().tried.append(tried)
        try:
            yield
        finally:
            drop(current().tried, tried)

    def finally_block(self) -> Any:
        """Surrounds what is in the ``finally``: where the ``try`` may have raised, nothing may be raised or printed there."""
        tried = current().tried
        return tried[-1].after() if tried else nullcontext()  # of a generator that is closed after the call

    def tries(self) -> int:
        """How many ``try`` statements that catch staged raises surround what runs."""
        scope = current().scope
        return 0 if scope is None else scope.tries

    def suppress(self, *kinds: type[BaseException]) -> Any:
        """`contextlib.suppress`, which catches as a ``try`` does."""
        return _Suppress(self, *kinds)

    def is_raised_by(self, region: Any, error: BaseException) -> bool:
        """Whether the program of a block is to raise this when it runs: a ``raise`` in the block, or an error of what it
        evaluates.

        Something that is absent in a loop's first iteration (a variable without a value, a missing attribute or key) may be
        there later. Such a loop runs its first iteration by itself, if it can; where the error still comes up, the loop is to
        carry what might provide it: see `Region.absences`.
        """
        if error is region.raising or self._is_of_a_raise(error) or remade(error) is not None:
            return True
        if not is_outcome(error):
            return False
        if is_unbound(error) and not self.can_raise_later():
            return False
        if isinstance(error, ABSENCES):
            loops = [each for each in self.journal.regions if each.repeats]
            # A variable is carried as one that may be unbound.
            can_peel = not isinstance(error, NameError) and any(loop.peeled_for is not None for loop in loops)
            if can_peel:
                return False
            if loops and isinstance(error, EmptyListError) and not self.can_raise_later():
                return False
            for loop in loops:
                loop.absences.append((type(error), getattr(error, "name", None)))  # not the error: it holds objects
        return True

    def _is_of_a_raise(self, error: BaseException) -> bool:
        """Whether a ``raise`` or ``assert`` around the block has raised this, which a handler raises again."""
        scope = current().scope
        return any(error is each.raising for each in self.journal.regions) or (
            scope is not None and error is scope.last
        )

    def ended_by(self, error: BaseException) -> None:
        """Note that the tracing of a staged block has ended with an exception that is no ``raise`` of its own."""
        scope = current().scope
        if scope is not None:
            scope.staged = error

    def record_raise(self, error: BaseException, region: Any) -> None:
        """Leave in the program of a block that it raises ``error``."""
        if isinstance(error, StopIteration) and self.journal.is_stepping:
            raise StagingError(
                f"{user_location()}\n  This iterator ends under a traced condition, and the loop over it runs in "
                "Python, while tracing: the number of iterations is not known.\n  Loop over a range, or with "
                "`while`, and call a method for each item."
            ) from None
        if not isinstance(error, BothRaise):
            self.raise_later(error, region.tries)

    def raise_later(self, error: BaseException, tries: int | None = None) -> None:
        """Leave in the program that it raises ``error``, which so many ``try`` statements may catch: those around it, by default."""
        tries = self.tries() if tries is None else tries
        if (again := remade(error)) is not None:
            return leave(1, [again.values], [again.site], tries, held_itself(error))
        made, current().recipe = current().recipe, None
        is_of_program = made is not None and made[0] is error
        recipe = made[1] if made is not None and is_of_program else Recipe.of(error)
        if isinstance(error, ABSENT_WHILE_TRACING):
            recipe.kind = python_class(error)
        if (said := None if is_of_program else of_arrays(error)) is not None:
            recipe = Recipe.of((AttributeError if isinstance(error, AttributeError) else TypeError)(said))
        site, values = site_of(recipe, error)
        error.__traceback__ = None  # its frames hold what the block has made
        text = "" if values or has_text(error.args) or not str(error) else f"\n    {said or error}"
        if site.is_text_of_tracers:
            raise StagingError(
                f"{site.where}\n  The text of this {site.name} was formatted before the `raise`, from a traced "
                "value that is not known while tracing.\n  Format it in the `raise` statement."
            ) from None
        if catching(site.kind) is None and not self.can_raise_later():
            raise StagingError(
                f"{site.where}\n  {site.name} depends on a traced condition here, and a bare jax.jit around converted "
                f"code cannot raise exceptions.{text}\n  Call the function through autograph.function."
            ) from None
        held = held_itself(error) if error is current().named else None
        leave(1, [values], [site], 0 if isinstance(error, OutOfRoom) else tries, held)

    def handled(self, error: BaseException) -> BaseException:
        """An exception that Python gives to a handler: the texts in it wait for the values that they are made of."""
        if not (made := current().recipe) or made[0] is not error or not carries_values(error):
            return error
        current().recipe = None
        recipe = made[1]
        if recipe.has_own_init:
            recipe.initialize(error, recipe.content)
        site, values = site_of(recipe, error)
        site.defer_texts(error, values)
        note_handled([(error, Remade(site, values))])
        return error

    def end_block(self) -> None:
        """End the block that runs, or the call: all paths that are left raise."""
        raise self.stopped()

    def stopped(self) -> Exception:
        """What ends a block, or the call, none of whose paths goes on."""
        error: Exception = self.raised(BothRaise())
        return error


class _Suppress(suppress):
    __doc__ = suppress.__doc__

    def __init__(self, raising: Raising, *kinds: type[BaseException]) -> None:
        super().__init__(*kinds)
        self._raising = raising
        self._kinds = kinds
        self._entered: list[Any] = []  # one may be entered again inside itself

    def __enter__(self) -> None:
        self._entered.append(self._raising.handlers(*self._kinds))
        self._entered[-1].__enter__()

    def __exit__(self, *error: Any) -> bool:
        try:
            self._entered.pop().__exit__(*error)
        except BaseException as other:
            if super().__exit__(type(other), other, other.__traceback__):
                return True
            raise
        return bool(super().__exit__(*error))


def _as_read(values: Any) -> Any:
    """What a text is made of, as it is now: a snapshot of an object whose class defines its text."""
    return tree_map(_traced_value, with_snapshots(in_order(with_dicts_by_path(values, shows_order=True))))


def _traced_value(leaf: Any) -> Any:
    """The present value of a Variable in a program, or a size that is known only at run time, or how an exception is made; anything
    else as it is."""
    if isinstance(leaf, BaseException):
        return made_again(leaf) or leaf
    value = jnp.asarray(leaf) if is_symbolic_size(leaf) else plain(leaf)
    return value if isinstance(value, jax.core.Tracer) else leaf


def _known_value(leaf: Any) -> Any:
    """The value of an array that is being differentiated; anything else as it is."""
    return STAGING.concrete(leaf) if isinstance(leaf, jax.core.Tracer) else leaf


def _refuse_unknown(journal: Journal, result: Any, function: Any) -> None:
    """Raise if what only a run would know is returned, or left in what others may read when the function has returned."""
    for leaf in tree_leaves(result, is_leaf=lambda part: id(part) in journal.hidden or is_unknown(part)):
        if is_unknown(leaf) or id(leaf) in journal.hidden:
            raise leaf.returned() if is_unknown(leaf) else journal.hidden[id(leaf)][1]()
        if is_unknown(held := array_held_by(leaf)):
            raise held.returned()
    for part in parts_of(result).values():
        if is_unknown(part):
            raise part.returned()
    owners = {id(owner): reason for owner, reason in journal.unknowns.made}
    owners |= {id(place.owner): reason for place, _, reason in journal.selected}
    outside = [function, *(value for _, value in LOCAL.roots())]
    for key in within_reach(owners.keys(), outside):
        for place, held, _ in reversed(journal.selected):
            place.set(held)
        raise owners[key]("others may read when the function has returned")


def in_scope(call: Callable[[], Any], raising: Raising, function: Any) -> Any:
    """Run a call of converted code, of this function; None where all its paths raise at run time."""
    place = STAGING.place()
    outer = current().scope
    if outer is not None and outer.place is place:
        return call()
    if STAGING.is_plain(place):
        return _in_new_scope(call, raising, function, place, outer)
    effects = effects_once()
    return repeated(lambda: _in_new_scope(call, raising, function, place, outer), lambda: effects == effects_once())


def _in_new_scope(call: Callable[[], Any], raising: Raising, function: Any, place: Any, outer: Any) -> Any:
    current().scope = scope = Scope(place, outer)
    surroundings = current().surroundings()
    try:
        result = call()
        raising.journal.check_unreported()
        if raising.journal.leaves_unknown:
            _refuse_unknown(raising.journal, result, function)
        if scope.caught is not None:
            raise caught_while_tracing(scope.caught)
        # Outside of traces there are no such lists, and results that are no pytrees: lists that hold themselves, say.
        if STAGING.is_plain(place) or is_leaf(result):
            return result
        is_program = scope.frame is not None and (outer is None or outer.frame is not scope.frame)
        kept = scope.frame.arguments if is_program else ()
        if LOCAL.has_perhaps:
            result = with_dicts_by_path(result, kept)
        result = with_plain_lists(result, CountedList.of if is_program else None, kept)
        return result if is_program else for_jax(result)
    except Exception as error:
        if isinstance(error, OverflowError) and not STAGING.is_plain(place):
            refuse_large_int(error)
        if scope.caught is not None and not isinstance(error, StagingError):
            raise caught_while_tracing(scope.caught) from None  # the handler that raised this may not have had to run
        is_absence = is_unbound(error) or isinstance(error, ABSENT_WHILE_TRACING)
        if error is scope.staged and is_absence and not raising.can_raise_later():
            raise absent_in_bare_jit(error) from error
        if error is not scope.last and not (scope.has_raised and is_pythons(error)):
            raise
        if isinstance(error, BothRaise):
            return None
        if not (scope.has_raised or carries_values(error)) or not raising.can_raise_later():
            raise
        raising.raise_later(error, scope.tries)  # it is raised if none of those before it was
        return None
    finally:
        current().scope, current().recipe, current().named, current().initialized = outer, None, None, None
        current().restore(surroundings)
        scope.forget()
        if outer is None:
            current().handled.clear()
            LOCAL.has_perhaps = False
            raising.trace().end()
