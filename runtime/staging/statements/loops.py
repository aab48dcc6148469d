"""``while`` and ``for``: Python while tests and items are concrete, one staged loop once they are traced."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from autograph.backends.base import Backend, NotRollable
from autograph.backends.selected import STAGING
from autograph.runtime.containers.iterables import (
    UNROLLED_AT_MOST,
    StagedItems,
    StagedIterable,
    StagedRange,
    as_range,
    as_staged,
    to_be_staged,
)
from autograph.runtime.containers.iterators import SequenceIterator
from autograph.runtime.effects.absences import ABSENCES, may_be_bound
from autograph.runtime.effects.raising import attempting, current
from autograph.runtime.heap.copies import Copies, Watch
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.heap.journal import Journal
from autograph.runtime.layouts.list_room import GrowthUnknown, OutOfRoom
from autograph.runtime.layouts.statement_variables import Slot, Snapshot, class_name
from autograph.runtime.staging.access.absences import Absences
from autograph.runtime.staging.policy import loop_options as options_of_loops
from autograph.runtime.staging.policy.loop_options import NO_OPTIONS, LoopOptions, make_options, set_loop_options
from autograph.runtime.staging.policy.opaque import OpaqueCalls
from autograph.runtime.staging.statements.conditionals import Conditionals
from autograph.runtime.staging.statements.generators import Generators
from autograph.runtime.staging.statements.iteration import Iteration
from autograph.runtime.staging.statements.lists_gone_over import lists_written, run_over
from autograph.runtime.staging.statements.loop_carry import LoopTrace
from autograph.runtime.staging.statements.loop_state import (
    CarryChanges,
    ForLoop,
    NodesMade,
    Thunk,
    WhileLoop,
    WrittenOver,
    cell_values,
    may_become_traced,
    peeling,
    traced_leaves,
    where_true,
)
from autograph.runtime.staging.statements.progress import Progress, is_in_program, staged_progress
from autograph.runtime.staging.statements.python_loops import PythonLoops
from autograph.runtime.staging.statements.rolling import PythonOnly, Rolling, Trial, is_used_up, tells, why
from autograph.runtime.tracing.births import NodesChosen
from autograph.runtime.tracing.recording import effects_recorded


class Loops(InTrace):
    """The operators for loops.

    Args:
      checks: the operators.
      call, asked, refuse_hidden: of other operators.
      loop_of: what stages a loop over a dataset; None for anything else.
      python_only: as `Rolling` takes it.
      remaining: makes a generator of the items that are left of an iterator which is state of the program.

    Attributes:
      rolling: makes one staged loop of one that Python could run.
      generators: the operators for generator functions, which loops run.
    """

    def __init__(
        self,
        backend: Backend,
        trace: Callable[[], Trace],
        checks: Any,
        conditionals: Conditionals,
        opaque: OpaqueCalls,
        absences: Absences,
        call: Callable[[Any], Any],
        asked: Callable[[Any], Any],
        refuse_hidden: Callable[[Any], None],
        loop_of: Callable[[Any], Callable[..., None] | None],
        python_only: PythonOnly,
        remaining: Callable[[Any], Any],
    ) -> None:
        super().__init__(trace)
        self.backend = backend
        self.raising = conditionals.raising
        self.generators = Generators(backend, trace, call, conditionals.not_, self.for_stmt, remaining)
        self.rolling = Rolling(*(backend, trace, opaque, python_only, conditionals.truth, self.for_loop))
        self._iteration = Iteration(backend, trace, call)
        self._checks, self._opaque, self._absences = checks, opaque, absences
        self._staged_if, self._truth = conditionals.staged_if, conditionals.truth
        self._in_python = PythonLoops(backend, conditionals.staged_if, asked)
        self._asked, self._refuse_hidden, self._loop_of, self._remaining = asked, refuse_hidden, loop_of, remaining

    def loop_options(self, *args: Any, **options: Any) -> LoopOptions:
        """What `set_loop_options`, called so, says."""
        set_loop_options(*args, **options)  # says what it takes, as the user knows it
        return make_options(**options)

    def misplaced_loop_options(self) -> None:
        """Report a directive that is reached as a call.

        Raises:
          StagingError: inside a trace; elsewhere it means nothing.
        """
        if self.backend.is_tracing():
            raise options_of_loops.refuse_misplaced()

    def while_stmt(
        self,
        test: Thunk,
        body: Thunk,
        names: Sequence[str],
        result: str | None = None,
        options: LoopOptions = NO_OPTIONS,
        python_only: str | None = None,
    ) -> None:
        """Run ``body`` while ``test()`` is true; ``names`` and ``result`` as for `if_stmt`, ``python_only`` as for `for_stmt`."""
        loop = WhileLoop(test, body, names, result, options)
        surely = options.has_traced_bound or (options.is_one_loop and self.backend.is_tracing())
        is_endless = loop.is_endless and not surely
        around, writes = Journal.copies.made(self.journal), False
        is_empty = around is not None and around.are_empty and not surely
        tried = options.unroll is True or is_empty or is_endless
        tried = tried or not (surely or may_become_traced(self.backend, (test, body)))
        if not tried and not surely:
            is_staged, writes = self._staged_by_its_test(loop)
            if is_staged:
                return
        reason, copies = None, self.journal.copies
        if tried and not is_endless and self.backend.is_tracing():
            is_empty = is_empty or self.rolling.records_nothing(loop)
        if is_empty:
            copies = copies.within(1)
            copies.are_empty = True
        watch = Watch(self.backend, traced_leaves, (test, body), is_idle=is_empty)
        bound = options.bound
        # No transform is active: the loop is plain Python, and should cost little more.
        is_outside = tried and not surely and STAGING.is_outside()
        for done in itertools.count():
            before = None if is_outside else (cell_values(test), effects_recorded())
            truth = test()
            if is_outside and type(truth) is bool:
                if not truth or bound == done:
                    return
                body()
                continue
            truth = self._asked(truth)
            test_writes = writes or before is None or (cell_values(test), effects_recorded()) != before
            is_traced = self.backend.is_traced(truth)
            if is_traced and options.unroll is True:
                raise options_of_loops.refuse_unrolling()
            if not is_traced and (not truth or bound == done):
                if options.unroll is not True:
                    watch.warn(reason)
                return
            if is_traced or surely:
                truth = self._truth(truth) if is_traced else True
                self._staged_while(loop, done, test_writes, truth)
                return
            if not tried:
                found = self._on_trial_after(done, loop, test_writes, python_only)
                if found.is_staged:
                    return
                tried = done > 0 or not found.may_settle
                reason, copies = found.reason, self.journal.copies.within(found.iterations)
            watch.step()
            raised = current().left
            with self.journal.copying(copies):
                body()
            # Only the run knows whether an exception has ended it.
            if is_endless and (current().left > raised or STAGING.is_clear() is not True):
                tried = is_endless = False

    def _on_trial_after(self, done: int, loop: WhileLoop, test_writes: bool, python_only: str | None) -> Trial:
        """As `_on_trial`, of a ``while`` of which Python has run so many iterations."""
        settled = functools.partial(self._settled_while, loop, done, test_writes, True, surely_runs=True, may_peel=True)
        return self._on_trial(settled, loop, functools.partial(self._counted_while, loop), python_only)

    def _staged_by_its_test(self, loop: WhileLoop) -> tuple[bool, bool]:
        """Stage a ``while`` whose test, evaluated once with the state traced, is traced.

        Else nothing has happened. The second result says whether the test writes, in what it calls say.
        """
        staged = self._while_loop(loop, 0, False, None)
        effects = effects_recorded()
        if not staged.test_is_traced() or effects_recorded() != effects:
            return False, staged.test_writes  # a test with effects runs once per iteration, in the body
        try:
            staged.settle()
        except ABSENCES as error:
            if staged.test_writes or not may_be_bound(error, loop.names):
                raise
            return False, False  # the first iteration is to be run by itself
        if staged.test_writes:
            return False, True
        staged.emit()
        return True, False

    def for_stmt(
        self,
        iterable: Any,
        body: Callable[[Any], Any],
        names: Sequence[str],
        test: Thunk | None = None,
        result: str | None = None,
        options: LoopOptions = NO_OPTIONS,
        python_only: str | None = None,
        is_kept: bool = False,
    ) -> None:
        """Run ``body(item)`` for each item; ``test``, where given, says whether to go on before each.

        ``python_only`` names what in the body needs each index as a Python int. ``is_kept``: the program has the iterable
        after the loop, which may have left it.
        """
        bar = None
        if (iterator := self.generators.iterated(iterable)) is not iterable:
            iterable, is_kept = iterator, False
        if isinstance(iterable, Progress):
            bar = staged_progress(self._checks, iterable)
            iterable = iterable.iterable if is_in_program() else iter(iterable)
        if isinstance(iterable, SequenceIterator) and (iterable.is_open or (is_kept and iterable.has_position)):
            iterable, is_kept = self.generators.temporary(self._remaining(iterable)), False
        # A loop after it makes its own generator of what is left.
        is_kept = is_kept and not self.generators.may_end_at_run_time(iterable)
        iterable = iterable if is_kept else self.generators.endless(iterable, test) or iterable
        if not is_kept and isinstance(iterable, SequenceIterator) and not isinstance(iterable, StagedItems):
            # Python can go on with a short one that a jump has left.
            if test is None or (iterable.is_known() and iterable.size() > UNROLLED_AT_MOST):
                iterable = as_range(iterable, may_be_left=test is not None)
        is_resumed = is_kept and isinstance(iterable, Iterator)
        if is_resumed and self.generators.source_of(iterable) is None:
            self.generators.check_advanced(iterable)
        loop = ForLoop(body, names, test, result, options, None if bar is None else bar.report, is_resumed=is_resumed)
        if is_resumed or bar is not None or not self.generators.take_loop(iterable, loop, python_only):
            self._run_for(iterable, loop, python_only)
        if bar is not None:
            bar.close()

    def _run_for(self, iterable: Any, loop: ForLoop, python_only: str | None) -> None:
        options = loop.options
        self._refuse_hidden(iterable)
        if (entries := self._absences.entries(iterable)) is not None:
            self._in_python.run_entries(entries, loop)
            return
        if self.journal.is_rolling and is_used_up(iterable):
            raise NotRollable("it uses up an iterator")
        if options.unroll is not True and self.backend.is_tracing():
            if (over_data := self._loop_of(iterable)) is not None:
                over_data(self._checks, loop)
                return
        staged = None if options.unroll is True else self._as_staged(iterable, options)
        if staged is not None:
            if isinstance(iterable, StagedItems):
                iterable.use_up(loop.test is not None or options.maximum_iterations is not None)
            self.staged_for(staged.at_most(options.maximum_iterations), loop)
            return
        if type(iterable) is range:
            iterable = iterable[: options.bound]
        is_range = isinstance(iterable, range | StagedRange)
        reason = None
        copies = self.journal.copies.within(len(iterable) if type(iterable) in (range, list, tuple) else 1)
        is_tracing = self.backend.is_tracing()
        copies.are_empty = is_tracing and type(iterable) is range and self.rolling.records_nothing(loop)
        may_be_tried = options.unroll is not True and not copies.are_empty
        if loop.test is not None and may_be_tried and is_range and len(iterable) > 1:
            if may_become_traced(self.backend, loop.functions):
                found = self._tried_for(iterable, loop, python_only)
                if found.is_staged:
                    return
                reason = found.reason
        if is_tracing and not copies.are_empty and self.rolling.may_be_rolled(iterable, loop):
            iterable, refusal = self._as_one_loop(iterable, loop, copies, python_only)
            if iterable is None:
                return
            reason = refusal or reason
            if refusal is not None:
                copies.sizes[loop.code] = refusal
        made = self._iteration.made_of(iterable)
        if self.generators.may_end_at_run_time(made) and loop.report is None:
            if self.generators.take_loop(made, loop, python_only):
                return
        with self.journal.copying(copies):
            self._in_python.run(self._iteration.items(iterable, made, options), loop, reason, copies)

    def _as_one_loop(
        self, iterable: Any, loop: ForLoop, copies: Copies, python_only: str | None
    ) -> tuple[Any, str | None]:
        """Roll a loop that Python could run; what is left to run in Python (None: nothing), and why.

        Raises:
          StagingError: it cannot be done, and its directive wants it.
        """
        wanted = loop.options.is_one_loop
        if type(iterable) is not range:
            raise self.rolling.refusal(f"it runs over a {class_name(iterable)}")
        if loop.test is None:
            left, reason = self.rolling.rolled(iterable, loop, copies, python_only)
            if wanted and reason is not None:
                raise self.rolling.refusal(reason)
            return (left if len(left) else None), reason
        if not wanted:
            return iterable, None
        staged = as_staged(to_be_staged(iterable), self.backend, force=True)
        assert staged is not None
        self.staged_for(staged, loop)
        return None, None

    # In Python.

    def _as_staged(self, iterable: Any, options: LoopOptions) -> StagedIterable | None:
        """How to stage a loop over ``iterable``, or None if it runs in Python."""
        staged = as_staged(iterable, self.backend)
        if staged is None and options.has_traced_bound:
            if not isinstance(iterable, range | StagedRange):
                raise options_of_loops.refuse_bound(class_name(iterable))
            return as_staged(to_be_staged(iterable), self.backend, force=True)
        return staged

    # Staged.

    def _while_loop(
        self,
        loop: WhileLoop,
        done: int,
        test_writes: bool,
        truth: Any,
        surely_runs: bool = False,
        from_python: bool = False,
    ) -> LoopTrace:
        """A ``while`` from the present state on, after ``done`` iterations in Python.

        A test that writes has run once and runs at the end of each iteration.
        """
        variables = loop.variables()
        goes_on = Slot("the loop's test", truth)
        if test_writes:
            variables.append(goes_on)

        def truth_of_test() -> Any:
            return self._truth(self._opaque.block(loop.test)())

        def iteration(_: Any) -> None:
            with where_true(self.journal.block, None if test_writes else lambda: self.facts.of(truth_of_test())[0]):
                self._opaque.block(loop.body)()
            if test_writes:
                goes_on.set(truth_of_test())

        items = loop.items(done)
        return LoopTrace(
            self.raising,
            self._checks,
            variables,
            loop.functions,
            goes_on.get if test_writes else truth_of_test,
            iteration,
            items,
            surely_runs=surely_runs and (items.length is None or isinstance(items.length, int)),
            result_name=loop.result,
            options=loop.options,
            from_python=from_python,
            code=loop.code,
            peeled_for=loop.names if loop.may_peel else None,
            test_writes=test_writes,
        )

    def _counted_while(self, loop: WhileLoop, iterations: int, test_writes: bool) -> LoopTrace:
        """As `_while_loop`, of a loop that Python can run and that runs so many times."""
        options = dataclasses.replace(loop.options, maximum_iterations=iterations)
        counted = dataclasses.replace(loop, options=options)
        trace = self._while_loop(counted, 0, test_writes, True, surely_runs=True, from_python=True)
        trace.carry.test = None
        return trace

    def _settled_while(
        self,
        loop: WhileLoop,
        done: int,
        test_writes: bool,
        truth: Any,
        surely_runs: bool = False,
        may_peel: bool = False,
    ) -> LoopTrace:
        """As `_while_loop`, with its types settled. That the test writes may be found only now, in what it calls."""
        trace = self._while_loop(loop, done, test_writes, truth, surely_runs)
        trace.settle(may_peel)
        if trace.test_writes and not test_writes:
            trace = self._while_loop(loop, done, True, truth, surely_runs)
            trace.settle(may_peel)
        return trace

    def _staged_while(self, loop: WhileLoop, done: int, test_writes: bool, truth: Any) -> None:
        """Stage a ``while`` whose test has come out as ``truth``; its first iteration by itself if others need that."""
        try:
            trace = self._settled_while(loop, done, test_writes, truth, surely_runs=truth is True)
        except ABSENCES as error:
            if not (loop.may_peel and may_be_bound(error, loop.names)):
                raise
        else:
            trace.emit()
            return

        def run_all() -> None:
            loop.body()
            truth = self._truth(loop.test())
            if truth is not False:
                self._staged_while(dataclasses.replace(loop, may_peel=False), done + 1, test_writes, truth)

        if truth is True:
            run_all()
            return
        variables = loop.variables()
        self._staged_if(truth, run_all, None, variables, Snapshot(loop.functions, variables), loop.result, True)

    def staged_for(self, staged: StagedIterable, loop: ForLoop) -> None:
        """Stage a loop over what is known to stage."""
        if isinstance(staged.length, int) and staged.length <= 0:
            return
        may_peel = staged.is_peelable and loop.may_peel
        trace = self.for_loop(staged, loop)
        trace.may_unroll = isinstance(staged.length, int) and staged.length <= UNROLLED_AT_MOST
        try:
            trace.settle(may_peel)
        except WrittenOver as written:
            self.staged_for(written.again(), loop)
            return
        except NodesMade:
            self._in_python.run(staged.one_by_one(staged.length), loop, None, self.journal.copies)
            return
        except (CarryChanges, *ABSENCES) as error:
            if not may_peel or not may_be_bound(error, loop.names):
                raise
            cause = error
        else:
            trace.emit()
            return
        with peeling(cause):
            self._peeled_for(staged, loop)

    def _peeled_for(self, staged: StagedIterable, loop: ForLoop) -> None:
        """Run the first iteration by itself, where only it sees some types (None, say), and stage the rest."""
        variables = loop.variables()
        if not isinstance(staged.length, int) and not staged.surely:

            def run_all() -> None:
                self._peeled_for(dataclasses.replace(staged, surely=True), loop)

            snapshot = Snapshot(loop.functions, variables)
            self._staged_if(staged.length > 0, run_all, None, variables, snapshot, loop.result, True)
            return
        loop.body(staged.first())
        rest, loop = staged.rest(), dataclasses.replace(loop, may_peel=False)
        go_on = True if loop.test is None else loop.test()
        if not self.backend.is_traced(go_on):
            if go_on:
                self.staged_for(rest, loop)
            return

        def run_rest() -> None:
            self.staged_for(rest, loop)

        variables = loop.variables()
        self._staged_if(go_on, run_rest, None, variables, Snapshot(loop.functions, variables), loop.result, True)

    def _tried_for(self, iterable: range | StagedRange, loop: ForLoop, python_only: str | None) -> Trial:
        """Stage a loop over a Python range if a traced test ends it, or if it is large."""
        staged = as_staged(to_be_staged(iterable), self.backend, force=True)
        assert staged is not None
        staged = staged.at_most(loop.options.maximum_iterations)
        trace = self.for_loop(staged, loop)

        def settled() -> LoopTrace:
            trace.settle()
            return trace

        def counted(iterations: int, _: bool) -> LoopTrace:
            return self.for_loop(staged.at_most(iterations), dataclasses.replace(loop, test=None), from_python=True)

        return self._on_trial(settled, loop, counted, python_only)

    def for_loop(self, staged: StagedIterable, loop: ForLoop, from_python: bool = False) -> LoopTrace:
        test = loop.test
        if loop.report is not None:
            staged = staged.reporting(loop.report)
        goes_on = None if test is None else (lambda: self._truth(test()))
        lists = lists_written(staged, loop.variables()) if staged.over else []
        return LoopTrace(
            self.raising,
            self._checks,
            loop.variables(),
            loop.functions,
            goes_on,
            lambda item: run_over(lists, self._opaque.block(loop.body), item, self.raising, goes_on),
            staged,
            surely_runs=isinstance(staged.length, int) and (test is None or not self.backend.is_traced(test())),
            result_name=loop.result,
            options=loop.options,
            from_python=from_python,
            code=loop.code,
            peeled_for=loop.names if loop.may_peel and staged.is_peelable else None,
        )

    def _on_trial(
        self,
        settled: Callable[[], LoopTrace],
        loop: ForLoop | WhileLoop,
        again: Callable[[int, bool], LoopTrace],
        python_only: str | None,
    ) -> Trial:
        """Stage a loop that Python may be able to run, if its test is traced or it is large.

        Args:
          settled: traces it.
          again: begins to trace it as one that Python can run, that runs so many times, and whose test writes, if it does.
        """
        trace = None
        with self.journal.on_trial() as undo:
            try:
                with attempting():
                    trace = settled()
                is_static = trace.test_is_static() and not loop.is_endless
            except GrowthUnknown:  # it may be static: then Python can run the loop
                is_static = True
            except NodesChosen as found:
                undo()
                return Trial(False, why(found.refusal()))
            except NotRollable as refusal:
                undo()
                return Trial(False, str(refusal) if python_only is None else tells(python_only))
            except Exception as error:
                undo()  # what Python can run and staging cannot; if it is an error, Python will raise it
                if isinstance(error, OutOfRoom):
                    raise
                reason = why(error) if python_only is None else tells(python_only)
                return Trial(False, reason, may_settle=isinstance(error, CarryChanges))
            if is_static:
                undo()
        if not is_static:
            assert trace is not None
            trace.emit()
            return Trial(True)
        try:
            return self.rolling.rolled_by_its_test(trace, loop, again, python_only)
        except NotRollable as refusal:
            return Trial(False, str(refusal))
        except Exception as error:
            return Trial(False, why(error), may_settle=isinstance(error, CarryChanges))
