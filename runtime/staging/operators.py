"""The operators that converted code calls, as one object under the name ``ag__``.

Each statement asks its values how to run: on concrete ones it keeps Python's meaning, on traced ones it is staged
through the backend.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

from autograph.backends.base import Backend
from autograph.runtime.code.features import Feature, are_writes_at_run_time
from autograph.runtime.containers.array_functions import array_overloads
from autograph.runtime.containers.orderings import Orderings
from autograph.runtime.effects.raising import current
from autograph.runtime.staging.access.absences import Absences
from autograph.runtime.staging.access.aliased_writes import AliasedWrites
from autograph.runtime.staging.access.bounds import Bounds
from autograph.runtime.staging.access.items import Items
from autograph.runtime.staging.access.list_writes import ListWrites
from autograph.runtime.staging.access.masks import Masks
from autograph.runtime.staging.access.operations import Operations, has_order
from autograph.runtime.staging.access.outside_lists import OutsideLists
from autograph.runtime.staging.access.reported_writes import ReportedWrites
from autograph.runtime.staging.access.slices import Slices
from autograph.runtime.staging.access.value_errors import ValueErrors
from autograph.runtime.staging.builtins.class_tests import ClassTests
from autograph.runtime.staging.builtins.derived_generators import DerivedGenerators
from autograph.runtime.staging.builtins.keys import Keys
from autograph.runtime.staging.builtins.library_functions import LibraryFunctions
from autograph.runtime.staging.builtins.lists import Lists
from autograph.runtime.staging.builtins.logs import Logs
from autograph.runtime.staging.builtins.python_builtins import Builtins
from autograph.runtime.staging.builtins.reductions import Reductions
from autograph.runtime.staging.builtins.tqdm_bars import TqdmBars
from autograph.runtime.staging.builtins.traced_lengths import TracedLengths
from autograph.runtime.staging.calls.argument_lists import ArgumentLists
from autograph.runtime.staging.calls.calls import Calls
from autograph.runtime.staging.calls.recursion import Recursion
from autograph.runtime.staging.calls.transformed import Transformed
from autograph.runtime.staging.context import Context
from autograph.runtime.staging.policy.opaque import OpaqueCalls
from autograph.runtime.staging.policy.python_tests import PythonTests
from autograph.runtime.staging.policy.wrappers import Wrappers
from autograph.runtime.staging.statements.attempts import Attempts
from autograph.runtime.staging.statements.conditionals import Conditionals
from autograph.runtime.staging.statements.constants import ConstantChoices
from autograph.runtime.staging.statements.generators import Generators
from autograph.runtime.staging.statements.iteration import Iteration
from autograph.runtime.staging.statements.loops import Loops
from autograph.runtime.staging.statements.managers import ContextManagers
from autograph.runtime.staging.statements.nones import Nones
from autograph.runtime.staging.statements.rolling import Rolling


class Operators(Loops, Items, Calls, Builtins):
    """What ``ag__`` names in converted code, for one backend and one set of options.

    Attributes:
      backend: runs staged statements.
      converter: converts the functions that converted code calls; set by whoever makes both.
      found_again: how another process, to which converted code is sent, finds these operators: a function and its arguments; set likewise.
      recursive: whether called functions are converted.

    Args:
      trace: finds the context of the thread that asks.
      loop_of: how a dataset is looped over, as `Loops` takes it.
      writes_at_run_time: whether writes to containers outside the function are operations of the program.
      check_bounds: whether an index that is out of range raises.
    """

    def __init__(
        self,
        backend: Backend,
        trace: Callable[[], Context],
        loop_of: Callable[[Any], Callable[..., None] | None],
        recursive: bool = True,
        writes_at_run_time: bool = False,
        check_bounds: bool = False,
    ) -> None:
        super().__init__(trace)
        self.backend = backend
        self.loop_of = loop_of
        self.recursive = recursive
        self.converter: Any = None
        self.found_again: tuple[Callable[..., Operators], tuple[Any, ...]] | None = None
        self.opaque = OpaqueCalls(trace, self._is_converted, lambda function: self.converter.writes_unseen(function))
        conditionals = Conditionals(backend, trace, self, self.opaque, self.call, asked=lambda value: self.asked(value))
        self.if_stmt, self.if_exp, self.staged_if = conditionals.if_stmt, conditionals.if_exp, conditionals.staged_if
        self.and_, self.or_, self.not_ = conditionals.and_, conditionals.or_, conditionals.not_
        self.truth, self.bound = conditionals.truth, conditionals.bound
        self.assert_stmt, self.assert_all = conditionals.assert_stmt, conditionals.assert_all
        self.raising = raising = conditionals.raising
        self.raised, self.exception, self.stopped = raising.raised, raising.exception, raising.stopped
        self.can_raise_later, self.raise_unless = raising.can_raise_later, raising.raise_unless
        self.text, self.text_now = raising.text, raising.text_now
        self.handlers, self.tried, self.finally_block = raising.handlers, raising.tried, raising.finally_block
        self.constants = ConstantChoices(self.staged_if, self.call)
        self.recursion = Recursion(
            backend,
            trace,
            is_converted=self._is_converted,
            convert=self._convert,
            raising=raising,
        )
        self.checked_bounds = Bounds(backend, raising)
        self.bounds = self.checked_bounds if check_bounds else None
        self.iteration = Iteration(backend, trace, self.call)
        self.aliased = AliasedWrites(backend, trace, self.if_exp, self.staged_if)
        errors = ValueErrors(backend, raising)
        operations = Operations(backend, self.aliased, trace, self.call, errors, self)
        self.operate, self.in_place, self.asked = operations.operate, operations.in_place, operations.asked
        self.get_attr, self.equals = operations.get_attr, operations.equals
        outside = OutsideLists(trace, self.call, writes_at_run_time)
        self.call_outside, self.refuse_pending = outside.call_outside, outside.refuse_pending
        self.lengths = TracedLengths(backend, raising, trace)
        lists = Lists(
            backend,
            trace,
            self,
            call=self.call,
            with_converted_functions=self.with_converted_functions,
            raising=raising,
            refuse_pending=self.refuse_pending,
            lengths=self.lengths,
        )
        self.new_list, self.new_row, self.listed_rows = lists.new_list, lists.new_row, lists.listed_rows
        self.extended, self.repeated = lists.extended, lists.repeated
        self.unpacked, self.unzipped, self.items_of = lists.unpacked, lists.unzipped, lists.items_of
        self.keys = Keys(backend, trace, self)
        self.new_set, self.set_of, self.set_of_list = self.keys.new_set, self.keys.set_of, self.keys.set_of_list
        self.dict_of, self.dict_of_list = self.keys.dict_of, self.keys.dict_of_list
        self.absences = Absences(
            backend,
            trace,
            raising=raising,
            if_exp=self.if_exp,
            if_stmt=self.if_stmt,
            set_item=self.set_item,
            new_list=self.new_list,
            call=self.call,
            equals=self.equals,
            merge_keyed=self.keys.merged,
            made_dict=self.keys.made_dict,
            end_trace=self.keys.end_trace,
        )
        self.merged, self.without_absences = self.absences.merged, self.absences.without_absences
        self.check_set, self.items_in = self.absences.check_set, self.absences.items_in
        nones = Nones(backend, trace, raising, self.aliased.are_one, self.if_exp, self.truth)
        self.is_, self.is_none, self.is_bool, self.id_of = nones.is_, nones.is_none, nones.is_bool, nones.id_of
        self.check_present, self.truth_of_optional = nones.check_present, nones.truth_of_optional
        classes = ClassTests(backend, trace, self.absences.presence)
        self.matches_class, self.positional, self.known_class = (
            classes.matches_class,
            classes.positional,
            classes.known_class,
        )
        self.python_test = PythonTests(backend, self.asked).python_test
        self.slices, self.masks = Slices(backend), Masks(backend, raising)
        self.span = self.slices.span
        self.list_writes = ListWrites(backend, trace, self.if_exp, raising)
        self.rolling = Rolling(
            backend,
            trace,
            self.opaque,
            lambda function: self.converter.python_only(function),
            self.truth,
            self.for_loop,
            self.may_become_traced,
        )
        self.generators = Generators(backend, trace, self.call, self.not_, self.for_stmt)
        self.generator_of, self.temporary = self.generators.generator_of, self.generators.temporary
        self.yielded, self.yielded_from = self.generators.yielded, self.generators.yielded_from
        managers = ContextManagers(self.call, self.generators, lambda: len(self.journal.loops))
        attempts = Attempts(
            backend,
            trace,
            self.opaque,
            managers,
            conditionals,
        )
        self.try_stmt, self.with_stmt, self.goes_on = attempts.try_stmt, attempts.with_stmt, attempts.goes_on
        self.manager = managers.manager
        self.is_left = self.generators.is_left
        self.reductions = Reductions(
            backend,
            generators=self.generators,
            call=self.call,
            conditionals=conditionals,
            python_test=self.python_test,
            is_none=self.is_none,
            for_stmt=self.for_stmt,
            new_list=self.new_list,
            in_list=self.absences.listed,
        )
        self.generator, self.list_of = self.reductions.generator, self.reductions.list_of
        self.best_of = self.reductions.best_of
        self.orderings = Orderings(backend, self.call, self.get_item, self, has_order)
        self.writes = ReportedWrites(
            backend,
            trace,
            convert=self._convert,
            call=self.call,
            checks=self,
            get_attr=self.get_attr,
            set_attr=self.set_attr,
            del_attr=self.del_attr,
            store_attr=self.store_attr,
            remove_attr=self.remove_attr,
        )
        self.transformed = Transformed(backend, trace, self._converted, self._is_converted)
        unpacking = ArgumentLists(self, self._converted, self._is_converted)
        self.arguments, self.gathered = unpacking.arguments, unpacking.gathered
        self.call_unpacking = unpacking.call_unpacking
        self.wrappers = Wrappers(backend, trace, self.call, self._is_converted)
        self.logs = Logs(trace, backend.is_traced)
        builtin = self.make_overloads()
        self.bars = TqdmBars(backend, builtin[range])
        derived = DerivedGenerators(
            self.generators,
            self._convert,
            self.call,
            conditionals,
            builtin,
            self._advanced,
        )
        self.library = LibraryFunctions(
            backend,
            lambda function: self.converter.convert(function, bool(current().catches)),
            self.generators.source_of,
            raising,
        )
        self.stepped, self.advanced_at_run_time = self.library.stepped, self.library.advanced
        self.numbered = self.library.numbered
        self.items_from = self.library.items_from
        overloads = [
            array_overloads(),
            self.library.overloads(array_overloads()),
            self.lengths.overloads(),
            builtin,
            lists.overloads(),
            self.keys.overloads(),
            derived.overloads(),
            self.writes.overloads(),
            self.logs.overloads(),
            classes.overloads(),
            {id: self.id_of},
        ]
        if self.bounds is not None:
            overloads.append(self.bounds.overloads())
        self.overloads = {called: overload for each in overloads for called, overload in each.items()}
        self.overloads |= errors.around(self.overloads)

    def with_options(self, *, recursive: bool = True, optional_features: Iterable[Feature] = ()) -> Operators:
        """Return the operators for these options of `autograph.convert`; `autograph.to_code` writes this call."""
        assert self.found_again is not None
        make, (_, _, check_bounds) = self.found_again
        return make(recursive, are_writes_at_run_time(optional_features), check_bounds)

    def __reduce__(self) -> Any:
        assert self.found_again is not None, "operators of no function that leaves the process"
        return self.found_again

    def _convert(self, function: types.FunctionType) -> types.FunctionType:
        """The converted form of a function."""
        converted: types.FunctionType = self.converter.convert(function)
        return converted

    def _is_converted(self, function: types.FunctionType) -> bool:
        """Whether a function is what a conversion has made."""
        return bool(self.converter.is_converted(function))
