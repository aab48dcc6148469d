"""Stage loops over converted generators: the body of the loop runs instead of each ``yield``.

A generator is Python's own object, and Python may advance it. As long as nothing has, a loop over it can run the
function's other form instead, which calls the loop's body with each value: then the branches and loops around a
``yield`` are statements as any others.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import weakref
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

from autograph.backends.base import Backend, NotRollable
from autograph.runtime.code.code_names import codes_in, names_in
from autograph.runtime.code.library_table import is_library
from autograph.runtime.containers.iterators import EndlessIterator, Iterated, SequenceIterator, used_elsewhere
from autograph.runtime.effects.traced_texts import is_traced_text
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.layouts.loop_bodies import LoopBody
from autograph.runtime.layouts.objects import attributes_of
from autograph.runtime.layouts.optional import Optional, held_in, used
from autograph.runtime.layouts.statement_variables import CellVariable, holds_traced
from autograph.runtime.staging.access.user_methods import is_indexed, user_method
from autograph.runtime.staging.policy.loop_options import NO_OPTIONS
from autograph.runtime.staging.statements.loop_state import ForLoop
from autograph.runtime.staging.statements.rolling import tells
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location

_FRESH, _ADVANCED, _ENDED, _LEFT = "fresh", "advanced", "ended", "left"


@dataclass(eq=False)
class Source:
    """What a generator that nothing has advanced was made of.

    Attributes:
      each, each_until: the function's forms that call a `LoopBody`, to the end and until it is left.
      arguments: of the call that made the generator.
      region: the block of a staged statement that it was made in; None outside of these.
      block: the same, as `Journal.here` returns it.
      name: the function's.
      state: what has become of it.
      sees_exceptions: whether it sees those of what runs where it yields: a loop's body is none of its business.
      is_temporary: whether nothing but the call that it is an argument of can advance it.
      is_recursive: whether the function names itself, and may go over what it makes by calling itself.
    """

    each: Callable[..., Any]
    each_until: Callable[..., Any]
    arguments: tuple[Any, ...]
    region: Any
    block: Any
    name: str
    sees_exceptions: bool = False
    state: str = _FRESH
    is_temporary: bool = False
    is_recursive: bool = False


class Generators(InTrace):
    """The operators for generator functions.

    Args:
      call: what to call in place of a function.
      not_: of `Conditionals`.
      for_stmt: of `Loops`.
      remaining: as `Loops` takes it.
    """

    def __init__(
        self,
        backend: Backend,
        trace: Callable[[], Trace],
        call: Callable[[Any], Any],
        not_: Callable[[Any], Any],
        for_stmt: Callable[..., Any],
        remaining: Callable[[Any], Any],
    ) -> None:
        self.backend = backend
        super().__init__(trace)
        self.call = call
        self.not_ = not_
        self.for_stmt = for_stmt
        self.remaining = remaining
        self._sources: weakref.WeakKeyDictionary[Any, Source] = weakref.WeakKeyDictionary()

    def generator_of(
        self,
        generator: Callable[..., Generator[Any, Any, Any]],
        each: Callable[..., Any],
        each_until: Callable[..., Any],
        arguments: tuple[Any, ...],
        name: str | None = None,
        sees_exceptions: bool = False,
    ) -> Any:
        """The generator that a call of a generator function returns; ``name``, if it is not to have the function's."""
        qualname = generator.__qualname__.rpartition(".<locals>.")[0]
        if name is not None:
            qualname = ".".join([*qualname.split(".")[:-1], name])
        made: Any = generator(*arguments)
        if not self.backend.is_eager():
            block = self.journal.here()
            source = Source(each, each_until, arguments, self.journal.block, block, qualname, sees_exceptions)
            source.is_recursive = _names(generator.__code__, qualname.rpartition(".")[2])
            made = _advancing(made, source, self.check_advanced)
            self._sources[made] = source
        made.__name__, made.__qualname__ = qualname.rpartition(".")[2], qualname
        return made

    def temporary(self, iterable: Any) -> Any:
        """``iterable``, which an expression has made for one call."""
        if isinstance(iterable, EndlessIterator):
            iterable.is_temporary = True
        source = self._sources.get(iterable) if type(iterable) is types.GeneratorType else None
        if source is not None:
            source.is_temporary = True
        return iterable

    def iterated(self, iterable: Any) -> Any:
        """What a loop over an object of the user's goes over: the iterator that its `__iter__` returns, or the sequence that this
        has made it of; over what may be None, the value. Anything else as it is."""
        iterable = used(iterable)
        LANGUAGE.operators.refuse_hidden(iterable)
        if is_traced_text(iterable) and not self.backend.is_eager():
            return LANGUAGE.operators.texts.read(iterable).items()
        method = user_method(type(iterable), "__iter__")
        if method is None or self.backend.is_eager() or inspect.isgeneratorfunction(method):
            return iterable
        if hasattr(type(iterable), "__next__"):
            return iterable
        before = next(self.journal.serials)
        found = self.call(method)(iterable)
        if isinstance(found, SequenceIterator) and found.kind == "iter" and found.serial > before and found.is_fresh:
            return found.parts[0]
        return found if isinstance(found, Iterator) else iterable  # which Python refuses, or goes over by itself

    def source_of(self, iterable: Any, manages: bool = False) -> Source | None:
        """What to run in place of a loop over this, or of a context manager that it ``manages``; None where Python is to run it."""
        if self.backend.is_eager():
            return None
        method = user_method(type(iterable), "__iter__")
        if method is not None and inspect.isgeneratorfunction(method):
            iterable = self.call(method)(iterable)  # runs nothing of it
            self.temporary(iterable)
        elif self.may_end_at_run_time(iterable):
            iterable = self.temporary(self.remaining(iterable))
        source = self._sources.get(iterable) if type(iterable) is types.GeneratorType else None
        if source is None or source.state is not _FRESH or source.region is not self.journal.block:
            return None
        if source.sees_exceptions and not manages:
            return None
        return source

    def may_end_at_run_time(self, iterable: Any) -> bool:
        """Whether this is an iterator of a class of the user's, or a sequence of one that has only ``__getitem__``, that holds
        what only run time knows."""
        kind = type(iterable)
        is_iterator = user_method(kind, "__next__") is not None and user_method(kind, "__iter__") is not None
        if self.backend.is_eager() or not (is_iterator or is_indexed(kind)):
            return False
        return any(map(holds_traced, attributes_of(iterable).values()))

    def check_advanced(self, iterable: Any, is_kept: bool = True) -> None:
        """See that Python uses an iterator up where the program does, if that has more use for it (``is_kept``).

        Raises:
          StagingError: it was made before a staged loop or branch. Iterators of the user's classes are state, as any object.
        """
        source = iterable if isinstance(iterable, Source) else None
        if type(iterable) is types.GeneratorType:
            source = self._sources.get(iterable)
        if source is not None:
            is_of_here = self.journal.is_around(source.block)
            source.block = self.journal.here()
        else:
            is_unknown = isinstance(iterable, Iterator) and not isinstance(iterable, Iterated)
            is_of_here = not (is_kept and is_unknown and self.journal.is_open and is_library(type(iterable)))
        if not is_of_here:
            raise used_elsewhere(type(iterable).__name__ if source is None else f"the generator {source.name!r}")

    def is_done_with(self, iterable: Any) -> bool:
        """Whether a function that may leave this generator before its end is the last that advances it."""
        source = self.source_of(iterable)
        return source is not None and source.is_temporary

    def endless(self, iterable: Any, test: Any) -> Any:
        """A generator in place of an iterator without an end, for a loop that a jump ends; None of any other."""
        if test is None or not (isinstance(iterable, Iterated) and iterable.is_endless and iterable.is_fresh):
            return None
        assert iterable.form is not None
        made = iterable.form()
        if made is not None:
            iterable.use_up(may_be_left=True)
        return self.temporary(made)

    def take_loop(self, iterable: Any, loop: ForLoop, python_only: str | None) -> bool:
        """Run a loop over a generator instead of its ``yield`` statements; False where Python is to iterate."""
        source = self.source_of(iterable) if loop.options is NO_OPTIONS else None
        if source is None:
            return False
        variables = [
            dataclasses.replace(each, is_result=each.name == loop.result) if isinstance(each, CellVariable) else each
            for each in loop.variables()
        ]
        self.run(source, LoopBody(loop.body, loop.test, variables, python_only))
        return True

    def run(self, source: Source, body: LoopBody) -> Any:
        """Run a loop over a generator. Returns what its function returns; nothing reads it where the loop is left."""
        source.state = _LEFT
        form = source.each if body.test is None else source.each_until
        if source.is_recursive:
            form = LANGUAGE.operators.recursion.of_generator(form, body)
        try:
            returned = form(body, *source.arguments)
        except StopIteration as error:
            if error is body.stopped:
                raise
            raise RuntimeError("generator raised StopIteration") from error
        source.state = _ENDED if body.test is None else _LEFT
        if body.test is None or returned is None:
            return returned
        return (held_in(returned) if isinstance(returned, Optional) else returned)[0]

    def yielded(self, body: LoopBody, value: Any) -> None:
        """What runs instead of ``yield value``."""
        if self.journal.is_rolling and body.python_only is not None:
            raise NotRollable(tells(body.python_only))
        try:
            body.take(value)
        except StopIteration as error:
            body.stopped = error
            raise

    def yielded_from(self, body: LoopBody, iterable: Any) -> Any:
        """What runs instead of ``yield from iterable``."""
        iterable = used(iterable)
        source = self.source_of(iterable)
        if source is not None:
            return self.run(source, body)
        delegate = _Delegate(iterable) if type(iterable) is types.GeneratorType else iterable

        def loop_body(value: Any) -> None:
            self.yielded(body, value)

        self.for_stmt(delegate, loop_body, (), body.test, python_only=body.python_only)
        return delegate.returned if isinstance(delegate, _Delegate) else None

    def is_left(self, body: LoopBody) -> Any:
        """Whether the loop has ended by a jump, so that the generator is to end too."""
        assert body.test is not None
        return self.not_(body.test())


def _names(code: types.CodeType, name: str) -> bool:
    """Whether code, or code in it, names a function of this name."""
    return name in names_in(code) or any(name in part.co_freevars for part in codes_in(code))


class _Delegate:
    """Iterates over a generator, and keeps what its function returns."""

    def __init__(self, generator: Generator[Any, Any, Any]) -> None:
        self.generator = generator
        self.returned: Any = None

    def __iter__(self) -> Iterator[Any]:
        self.returned = yield from self.generator


def _advancing(
    generator: Generator[Any, Any, Any], source: Source, check: Callable[[Source], None]
) -> Generator[Any, Any, Any]:
    """The generator for Python to advance."""
    check(source)
    if source.state is _ENDED:
        return None
    if source.state is _LEFT:
        raise StagingError(
            f"{user_location()}\n  The generator {source.name!r} has been iterated over by a loop that may be left, as part of the "
            "program, and cannot be resumed.\n  Make another generator, or append the values to a list and loop over that."
        )
    source.state = _ADVANCED
    return (yield from generator)
