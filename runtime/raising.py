"""Exceptions that depend on traced conditions: an error code that is state like any other, and delivery when the
program has run.

A ``raise`` in a block of a staged statement happens at run time or not at all. The block that reaches it at trace
time ends there, and leaves a number in the `Errors` of the call, with the traced values that the exception carries.
Branches and loops carry the number as they carry a user's attribute; the first error wins, and ends every
``while``. The caller of the compiled program looks at it, and raises the exception.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Backend
from autograph.runtime.errors import StagingError
from autograph.runtime.operators.journal import AttributePlace, Journal
from autograph.runtime.operators.locations import user_location, user_position, user_position_now


@dataclass(frozen=True)
class _Raise:
    """One ``raise`` that may happen: the exception's class, how its arguments are put together, and where it stands."""

    kind: type[BaseException]
    treedef: Any
    statics: tuple[Any, ...]
    shapes: tuple[Any, ...]
    cause: BaseException | None
    filename: str
    line: int
    function: str

    def make(self, payload: Any) -> BaseException:
        arrays = iter(payload)
        leaves = [np.asarray(next(arrays)) if static is _TRACED else static for static in self.statics]
        args = jax.tree_util.tree_unflatten(self.treedef, leaves)
        error = self.kind.__new__(self.kind, *(_as_text(arg) for arg in args))
        error.args = tuple(_as_text(arg) for arg in args)
        error.__cause__ = self.cause
        return error


_TRACED = object()


@jax.tree_util.register_pytree_node_class
class DeferredText:
    """An f-string whose values are traced: its parts, to be put together when they are known."""

    def __init__(self, parts: tuple[Any, ...], formats: tuple[Any, ...]) -> None:
        self.parts = parts
        self.formats = formats

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        return self.parts, self.formats

    @classmethod
    def tree_unflatten(cls, formats: Any, parts: Any) -> DeferredText:
        return cls(tuple(parts), formats)

    def __str__(self) -> str:
        return "".join(_formatted(part, *how) for part, how in zip(self.parts, self.formats, strict=True))


def _formatted(part: Any, conversion: int, spec: str) -> str:
    value = part.item() if isinstance(part, np.ndarray) and part.ndim == 0 else part
    if conversion != -1:
        converters: dict[int, Callable[[Any], str]] = {115: str, 114: repr, 97: ascii}
        value = converters[conversion](value)
    return format(value, spec)


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, DeferredText) else value


class Errors:
    """The error state of one call.

    Attributes:
      code: 0, or the number of the raise that happened.
      raises: what may be raised.
      last: the last exception that code outside all staged blocks was about to raise.
      has_receiver: whether the caller looks at the state once the program has run.
    """

    def __init__(self, trace_state: Any, has_receiver: bool) -> None:
        self.has_receiver = has_receiver
        self.code: Any = 0
        self.last: BaseException | None = None
        self.raises: list[_Raise] = []
        self.trace_state = trace_state

    def number_of(self, entry: _Raise) -> int:
        """The number of this raise; a block that is traced again comes upon the same."""
        for number, known in enumerate(self.raises, 1):
            if known.line == entry.line and known.filename == entry.filename and known == entry:
                return number
        self.raises.append(entry)
        return len(self.raises)

    def payloads(self) -> tuple[Any, ...]:
        return tuple(getattr(self, f"payload_{k + 1}") for k in range(len(self.raises)))


@jax.tree_util.register_pytree_node_class
class Guarded:
    """A result together with the error state it was computed under."""

    def __init__(self, result: Any, code: Any, payloads: Any, raises: list[_Raise]) -> None:
        self.result = result
        self.code = code
        self.payloads = payloads
        self.raises = raises

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        return (self.result, self.code, self.payloads), _ByIdentity(self.raises)

    @classmethod
    def tree_unflatten(cls, raises: Any, children: Any) -> Guarded:
        result, code, payloads = children
        return cls(result, code, payloads, raises.value)

    def resolve(self) -> Any:
        """The result.

        Raises:
          The exception that the program came upon. StagingError inside a trace, where that is not known.
        """
        self.check()
        return self.result

    def check(self) -> None:
        """Raise the exception that the program came upon, if any."""
        if isinstance(self.code, jax.core.Tracer):
            raise _undeliverable()
        code = int(self.code)
        if code:
            where = self.raises[code - 1]
            _raise_at(where, where.make(self.payloads[code - 1]))


class _ByIdentity:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def _undeliverable() -> StagingError:
    return StagingError(
        "an exception that depends on a traced condition may be raised here, and a bare jax.jit, vmap or grad around "
        "converted code has no way to deliver it.\n  Call the function through autograph.function."
    )


def _raise_at(where: _Raise, error: BaseException) -> None:
    """Raise ``error`` so that its traceback ends at the user's own line."""
    source = "\n" * (where.line - 1) + "raise error"
    code = compile(source, where.filename, "exec").replace(co_name=where.function, co_qualname=where.function)
    exec(code, {"error": error})


class Raising:
    """The operators for ``raise`` and ``assert``.

    Needs ``backend``, ``journal``, ``staged_if`` of what it is mixed into.
    """

    backend: Backend
    journal: Journal
    staged_if: Any

    def raised(self, error: Any) -> Any:
        """What ``raise error`` raises: ``error``, noted as a staged raise if a block of a staged statement is
        being traced.
        """
        if CURRENT.errors is None and not self.journal.is_open:
            return error
        if isinstance(error, type) and issubclass(error, BaseException):
            error = error()
        if self.journal.is_open:
            self.journal.regions[-1].raising = error
        elif CURRENT.errors is not None:
            CURRENT.errors.last = error
        return error

    def assert_stmt(self, test: Any, message: Any = None) -> None:
        """``assert test, message()``."""
        if not self.backend.is_traced(test):
            if not test:
                raise self.raised(AssertionError(*(() if message is None else (message(),))))
            return

        def fail() -> None:
            raise self.raised(AssertionError(*(() if message is None else (message(),))))

        self.staged_if(test, None, fail, [], _NO_SNAPSHOT)

    def can_raise_later(self) -> bool:
        """Whether an error that depends on a traced condition has a way to the caller from here."""
        errors = CURRENT.errors
        if errors is None or not errors.has_receiver:
            return False
        regions = self.journal.regions
        here = regions[-1].trace_state if regions else errors.trace_state
        return bool(here == self.backend.trace_state())

    def raise_unless(self, condition: Any, error: BaseException) -> None:
        """Raise ``error`` at run time where ``condition`` is false."""

        def fail() -> None:
            raise self.raised(error)

        self.staged_if(condition, None, fail, [], _NO_SNAPSHOT)

    def text(self, *parts: Any) -> Any:
        """The text of an f-string in an exception: each part is a str, or (value, conversion, format)."""
        values = [part if isinstance(part, tuple) else (part, -1, "") for part in parts]
        if any(isinstance(value, jax.core.Tracer) for value, _, _ in values):
            return DeferredText(tuple(value for value, _, _ in values), tuple(part[1:] for part in values))
        return "".join(_formatted(*part) for part in values)

    def handlers(self) -> Any:
        """Surrounds the body of a ``try`` that has handlers: no staged ``raise`` may pass through it unseen."""
        return self.journal.inside_try()

    def record_raise(self, error: BaseException, region: Any) -> None:
        """Put into the error state that this block raises ``error``."""
        errors = CURRENT.errors
        if region.tries:
            raise StagingError(
                f"{user_location()}\n  {type(error).__name__} is raised under a traced condition inside a `try` with handlers: which "
                "handler runs is not known while tracing.\n  Return a flag instead of raising, or move the `try` out of "
                "the traced function."
            ) from None
        if errors is None or region.trace_state != self.backend.trace_state():
            raise _undeliverable() from None
        self.note(error, errors)

    def note(self, error: BaseException, errors: Errors) -> None:
        """Let ``error`` be what the call raises, unless it has come upon another."""
        leaves, treedef = jax.tree_util.tree_flatten(error.args)
        traced = [isinstance(leaf, jax.core.Tracer) for leaf in leaves]
        filename, line, function = user_position(error.__traceback__) or user_position_now()
        statics = tuple(_TRACED if t else leaf for t, leaf in zip(traced, leaves, strict=True))
        values = [leaf for t, leaf in zip(traced, leaves, strict=True) if t]
        shapes = tuple((value.shape, value.dtype) for value in values)
        entry = _Raise(type(error), treedef, statics, shapes, error.__cause__, filename, line, function)
        number = errors.number_of(entry)
        name = f"payload_{number}"
        if not hasattr(errors, name):
            setattr(errors, name, tuple(np.zeros(value.shape, value.dtype) for value in values))
        self.journal.touch(AttributePlace(errors, "code"))
        self.journal.touch(AttributePlace(errors, name))
        if isinstance(errors.code, int):
            errors.code = errors.code or number
            setattr(errors, name, tuple(values))
        else:
            first = errors.code == 0
            errors.code = jnp.where(first, number, errors.code)
            held = getattr(errors, name)
            setattr(errors, name, tuple(jnp.where(first, v, h) for v, h in zip(values, held, strict=True)))

    def not_failed(self, truth: Any) -> Any:
        """``truth``, and no error so far."""
        errors = CURRENT.errors
        if errors is None or isinstance(errors.code, int):
            return truth
        return truth & (errors.code == 0)


class _Current(threading.local):
    """The error state of the call that this thread is tracing."""

    errors: Errors | None = None


CURRENT = _Current()


class _EmptySnapshot:
    def restore(self) -> None:
        """Nothing to put back: an assertion binds no variables."""


_NO_SNAPSHOT = _EmptySnapshot()


@contextmanager
def error_state(trace_state: Any, has_receiver: bool) -> Iterator[Errors]:
    """A fresh error state for one call of a converted function."""
    outer = CURRENT.errors
    CURRENT.errors = errors = Errors(trace_state, has_receiver)
    try:
        yield errors
    finally:
        CURRENT.errors = outer


def guarded(call: Any, operators: Raising, has_receiver: bool) -> Any:
    """Run ``call``; give its result, `Guarded` if an exception may have to be raised.

    Inside another call's trace its errors are that call's.
    """
    trace_state = operators.backend.trace_state()
    if CURRENT.errors is not None and CURRENT.errors.trace_state == trace_state:
        return call()
    with error_state(trace_state, has_receiver) as errors:
        try:
            result = call()
        except Exception as error:
            if error is not errors.last or isinstance(errors.code, int) or not has_receiver:
                raise
            operators.note(error, errors)  # it is raised if none of those before it was
            result = None
        if isinstance(errors.code, int):
            return result
        return Guarded(result, errors.code, errors.payloads(), errors.raises)
