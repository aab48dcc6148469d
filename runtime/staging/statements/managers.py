"""``with``: enter and exit user context managers through their converted methods."""

from __future__ import annotations

import contextlib
import dis
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from autograph.runtime.code.library_table import is_library
from autograph.runtime.effects.raising import Managed, Tried, current, drop
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.loop_bodies import LoopBody
from autograph.runtime.layouts.statement_variables import CellVariable
from autograph.runtime.staging.statements.generators import Generators
from autograph.runtime.tracing.locations import clean_traceback, user_location

_CALLING = (contextlib.closing, contextlib.ExitStack)  # which call the user's code when they are left
_OF_GENERATOR: Any = type(contextlib.contextmanager(lambda: iter(()))())


@dataclass
class ManagerMethods:
    """How a manager is entered and left.

    Attributes:
      enter, leave: in place of its ``__enter__`` and ``__exit__``.
      suppresses: the classes of exceptions that it may keep from going on.
    """

    enter: Callable[[], Any]
    leave: Callable[..., Any]
    suppresses: tuple[type[BaseException], ...]


class ContextManagers:
    """What ``with`` enters and leaves.

    Args:
      call: what to call in place of a function.
      generators: runs a generator's function with what is to happen instead of its ``yield``.
      loops: tells how many staged loops surround what runs.
    """

    def __init__(self, call: Callable[[Any], Any], generators: Generators, loops: Callable[[], int]) -> None:
        self.call = call
        self._generators = generators
        self._loops = loops

    def manager(self, manager: Any) -> Any:
        """What to enter in place of ``manager``: Python calls its methods by itself, unconverted."""
        kind = type(manager)
        if kind is _OF_GENERATOR:  # what runs in it is converted by now
            return _Manager(manager, kind.__enter__, kind.__exit__)
        if not (hasattr(kind, "__enter__") and hasattr(kind, "__exit__")):
            return manager
        enter, leave = kind.__enter__, kind.__exit__
        if kind is contextlib.ExitStack or (current().catches and kind in _CALLING):
            return _Manager(manager, enter, leave)
        if is_library(kind):
            return manager
        called = self.call(enter), self.call(leave)
        if called == (enter, leave) and not current().catches:
            return manager
        return _Manager(manager, *called)

    def run(self, manager: Any, body: Callable[[Any], Any], variables: Sequence[CellVariable]) -> bool:
        """Run the function of a `contextlib.contextmanager`, ``body`` instead of its ``yield``; False of any other."""
        source = self._generators.source_of(manager.gen, manages=True) if type(manager) is _OF_GENERATOR else None
        if source is None:
            return False
        around, count = self._loops(), 0

        def once(value: Any) -> None:
            nonlocal count
            count += 1
            if self._loops() > around:
                raise StagingError(
                    f"{user_location()}\n  The context manager {source.name!r} yields in a staged loop: how often is known only at run "
                    "time.\n  Yield once, outside of the loop."
                )
            body(value)

        self._generators.run(source, LoopBody(once, None, variables, None))
        if not count:
            raise RuntimeError("generator didn't yield")
        return True

    def methods(self, manager: Any) -> ManagerMethods | None:
        """What enters and leaves ``manager``, where it may be left more than once while tracing: on each path by itself.

        None where it may not: a generator runs once, and managers of libraries do what Python is to do once.
        """
        kind = type(manager)
        if kind is contextlib.closing:
            thing = manager.thing
            return ManagerMethods(lambda: thing, lambda *_: self.call(thing.close)(), ())
        if not (hasattr(kind, "__enter__") and hasattr(kind, "__exit__")):
            return None
        if issubclass(kind, contextlib.suppress) and is_library(kind):
            leave = functools.partial(contextlib.suppress.__exit__, manager)
            return ManagerMethods(lambda: None, leave, tuple(manager._exceptions))
        if is_library(kind) or isinstance(manager, (*_CALLING, _OF_GENERATOR)):
            return None
        enter, leave = self.call(kind.__enter__), self.call(kind.__exit__)
        suppresses = (BaseException,) if _may_swallow(kind) else ()
        return ManagerMethods(functools.partial(enter, manager), functools.partial(leave, manager), suppresses)


def run_within(manager: Any, body: Callable[[Any], None]) -> None:
    """``with manager as entered: body(entered)``, whose ``__exit__`` is given the traceback of the user's functions."""
    kind = type(manager)
    if not (hasattr(kind, "__enter__") and hasattr(kind, "__exit__")):
        with manager:  # Python says what it lacks
            return
    leave = kind.__exit__
    entered = kind.__enter__(manager)
    try:
        body(entered)
    except BaseException as error:
        clean_traceback(error)
        if not leave(manager, type(error), error, error.__traceback__):
            raise
    else:
        leave(manager, None, None, None)


def _swallows(manager: Any) -> bool:
    """Whether a manager may keep an exception from going on, as what a stack of them holds by now may."""
    if type(manager) is contextlib.ExitStack:
        entered: Any = vars(manager)["_exit_callbacks"]
        callbacks = (getattr(callback, "__self__", None) for _, callback in entered)
        return any(each is not None and hasattr(type(each), "__exit__") and _swallows(each) for each in callbacks)
    return isinstance(manager, contextlib.suppress) or _may_swallow(type(manager))


def _may_swallow(kind: Any) -> bool:
    """Whether the ``__exit__`` of a user's class may return what is true."""
    code = getattr(kind.__exit__, "__code__", None)
    if code is None or is_library(kind):
        return False
    before: Any = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "RETURN_VALUE" and not (before.opname == "LOAD_CONST" and not before.argval):
            return True
        if instruction.opname == "RETURN_CONST" and instruction.argval:
            return True
        before = instruction
    return False


class _Manager:
    """A context manager that does what the converted methods of another do."""

    def __init__(self, manager: Any, enter: Callable[..., Any], leave: Callable[..., Any]) -> None:
        self._manager, self._enter, self._leave = manager, enter, leave

    def __enter__(self) -> Any:
        found = self._enter(self._manager)
        self._tried, self._managed = Tried(), Managed(functools.partial(_swallows, self._manager))
        current().managers.append(self._managed)
        return found

    def __exit__(self, *error: Any) -> Any:
        drop(current().managers, self._managed)
        passed = self._managed.passed
        if passed is not None:
            why = ", which may suppress it" if self._managed.swallows() else ", and caught outside of it"
            raise StagingError(
                f"{passed.where}\n  {passed.name} is raised under a traced condition here, inside a `with` of "
                f"{type(self._manager).__name__}{why}: its `__exit__` would not receive the exception.\n"
                "  Move the `try` into the `with`, or use `try` and `finally` instead of the manager."
            ) from None
        with self._tried.after():
            return self._leave(self._manager, *error)
