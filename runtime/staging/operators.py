"""The operators that converted code calls, as one object under the name ``ag__``.

Each statement asks its values how to run: on concrete ones it keeps Python's meaning, on traced ones it is staged
through the backend.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar

from autograph.backends.base import Backend
from autograph.runtime.code.features import Feature, are_writes_at_run_time
from autograph.runtime.containers.array_functions import array_overloads
from autograph.runtime.containers.orderings import Orderings
from autograph.runtime.effects.raising import current
from autograph.runtime.effects.staged_raises import Raising
from autograph.runtime.heap.in_trace import InTrace
from autograph.runtime.lazy import lazy
from autograph.runtime.staging.access.absences import Absences
from autograph.runtime.staging.access.aliased_writes import AliasedWrites
from autograph.runtime.staging.access.bounds import Bounds
from autograph.runtime.staging.access.items import INDEX, Items
from autograph.runtime.staging.access.list_writes import ListWrites
from autograph.runtime.staging.access.lookups import Lookups
from autograph.runtime.staging.access.masks import Masks
from autograph.runtime.staging.access.operations import Operations
from autograph.runtime.staging.access.outside_lists import OutsideLists
from autograph.runtime.staging.access.reported_writes import ReportedWrites
from autograph.runtime.staging.access.slices import Slices
from autograph.runtime.staging.access.user_methods import has_order
from autograph.runtime.staging.access.value_errors import ValueErrors
from autograph.runtime.staging.builtins.any_order import in_any_order
from autograph.runtime.staging.builtins.calling_functions import CallingFunctions
from autograph.runtime.staging.builtins.class_tests import ClassTests
from autograph.runtime.staging.builtins.derived_generators import DerivedGenerators
from autograph.runtime.staging.builtins.keys import Keys
from autograph.runtime.staging.builtins.library_functions import LibraryFunctions
from autograph.runtime.staging.builtins.lists import Lists
from autograph.runtime.staging.builtins.logs import Logs
from autograph.runtime.staging.builtins.python_builtins import Builtins
from autograph.runtime.staging.builtins.reductions import Reductions
from autograph.runtime.staging.builtins.text_parts import PercentForm
from autograph.runtime.staging.builtins.texts import Texts
from autograph.runtime.staging.builtins.tqdm_bars import TqdmBars
from autograph.runtime.staging.builtins.traced_lengths import TracedLengths
from autograph.runtime.staging.calls.argument_lists import ArgumentLists
from autograph.runtime.staging.calls.array_methods import ArrayMethods
from autograph.runtime.staging.calls.calls import Calls
from autograph.runtime.staging.calls.class_calls import ClassCalls
from autograph.runtime.staging.calls.python_errors import with_python_errors
from autograph.runtime.staging.calls.recursion import Recursion
from autograph.runtime.staging.calls.transformed import Transformed
from autograph.runtime.staging.calls.tree_functions import TreeFunctions
from autograph.runtime.staging.context import Context
from autograph.runtime.staging.policy.opaque import OpaqueCalls
from autograph.runtime.staging.policy.python_tests import PythonTests
from autograph.runtime.staging.policy.wrappers import Wrappers
from autograph.runtime.staging.statements.attempts import Attempts
from autograph.runtime.staging.statements.conditionals import Conditionals
from autograph.runtime.staging.statements.constants import ConstantChoices
from autograph.runtime.staging.statements.generators import Generators
from autograph.runtime.staging.statements.loops import Loops
from autograph.runtime.staging.statements.managers import ContextManagers
from autograph.runtime.staging.statements.nones import Nones
from autograph.runtime.staging.statements.reference_choices import ReferenceChoices

Part = TypeVar("Part")
Q = ParamSpec("Q")
R = TypeVar("R")


def _operator(part: lazy[Part], method: Callable[Concatenate[Part, Q], R]) -> lazy[Callable[Q, R]]:
    """An operator, which is a method of a part."""
    return lazy(lambda operators: types.MethodType(method, part.__get__(operators)))


class Operators(InTrace):
    """What ``ag__`` names in converted code, for one backend and one set of options.

    The operators are methods of parts. Each part is made of what it needs of the backend and of other parts. Two that need each
    other are told how to find the other: the operator for calls, which most parts need, finds all when something is called.

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
        recursive: bool,
        writes_at_run_time: bool,
        check_bounds: bool,
    ) -> None:
        super().__init__(trace)
        self.backend = backend
        self.recursive = recursive
        self.converter: Any = None
        self.found_again: tuple[Callable[..., Operators], tuple[Any, ...]] | None = None
        self._context = trace
        self._loop_of = loop_of
        self._writes_at_run_time = writes_at_run_time
        self._check_bounds = check_bounds
        for part in vars(Operators).values():  # now, and not in the first trace
            if isinstance(part, lazy):
                part.__get__(self)

    # Calls.

    @lazy
    def calls(self) -> Calls:
        return Calls(self.backend, self.trace, self)

    call = _operator(calls, Calls.call)
    decorator = _operator(calls, Calls.decorator)
    without_names = _operator(calls, Calls.without_names)
    convert_function = _operator(calls, Calls.convert_function)
    with_converted_functions = _operator(calls, Calls.with_converted_functions)

    @lazy
    def recursion(self) -> Recursion:
        return Recursion(self.backend, self._context, self._is_converted, self._convert, self._written, self.raising)

    @lazy
    def classes(self) -> ClassCalls:
        return ClassCalls(
            self.trace,
            recursive=self.recursive,
            converted=self.calls.converted,
            call=self.call,
            is_converted=self._is_converted,
            new_list=self.new_list,
            bar_of=lambda cls: self.bars.instead_of(cls),
            member=lambda cls, value: self.library.member(cls, value),
        )

    @lazy
    def transformed(self) -> Transformed:
        return Transformed(self.backend, self.trace, self.calls.converted, self._is_converted)

    @lazy
    def trees(self) -> TreeFunctions:
        return TreeFunctions(self.trace, self.if_exp, self.call, self.raised)

    @lazy
    def argument_lists(self) -> ArgumentLists:
        return ArgumentLists(self, self.calls.converted, self._is_converted)

    arguments = _operator(argument_lists, ArgumentLists.arguments)
    gathered = _operator(argument_lists, ArgumentLists.gathered)
    call_unpacking = _operator(argument_lists, ArgumentLists.call_unpacking)

    @lazy
    def opaque(self) -> OpaqueCalls:
        return OpaqueCalls(self.trace, self._is_converted, lambda function: self.converter.writes_unseen(function))

    @lazy
    def wrappers(self) -> Wrappers:
        return Wrappers(self.backend, self.trace, self.call, self._is_converted)

    @lazy
    def outside(self) -> OutsideLists:
        return OutsideLists(self.trace, self.call, self._writes_at_run_time)

    call_outside = _operator(outside, OutsideLists.call_outside)
    at_run_time = _operator(outside, OutsideLists.at_run_time)
    refuse_hidden = _operator(outside, OutsideLists.refuse_hidden)

    # Statements.

    @lazy
    def conditionals(self) -> Conditionals:
        return Conditionals(
            *(self.backend, self.trace, self, self.opaque, self.call), asked=lambda value: self.operations.asked(value)
        )

    if_stmt = _operator(conditionals, Conditionals.if_stmt)
    if_exp = _operator(conditionals, Conditionals.if_exp)
    staged_if = _operator(conditionals, Conditionals.staged_if)
    and_ = _operator(conditionals, Conditionals.and_)
    or_ = _operator(conditionals, Conditionals.or_)
    not_ = _operator(conditionals, Conditionals.not_)
    truth = _operator(conditionals, Conditionals.truth)
    bound = _operator(conditionals, Conditionals.bound)
    assert_stmt = _operator(conditionals, Conditionals.assert_stmt)
    assert_all = _operator(conditionals, Conditionals.assert_all)

    @lazy
    def raising(self) -> Raising:
        return self.conditionals.raising

    raised = _operator(raising, Raising.raised)
    exception = _operator(raising, Raising.exception)
    stopped = _operator(raising, Raising.stopped)
    can_raise_later = _operator(raising, Raising.can_raise_later)
    raise_unless = _operator(raising, Raising.raise_unless)
    text = _operator(raising, Raising.text)
    text_now = _operator(raising, Raising.text_now)
    percent = PercentForm
    handlers = _operator(raising, Raising.handlers)
    tried = _operator(raising, Raising.tried)
    finally_block = _operator(raising, Raising.finally_block)

    @lazy
    def loops(self) -> Loops:
        return Loops(
            self.backend,
            self.trace,
            self,
            conditionals=self.conditionals,
            opaque=self.opaque,
            absences=self.absences,
            call=self.call,
            asked=self.asked,
            refuse_hidden=self.refuse_hidden,
            loop_of=self._loop_of,
            python_only=lambda function: self.converter.python_only(function),
            remaining=lambda iterator: self.library.remaining(iterator),
        )

    while_stmt = _operator(loops, Loops.while_stmt)
    for_stmt = _operator(loops, Loops.for_stmt)
    staged_for = _operator(loops, Loops.staged_for)
    loop_options = _operator(loops, Loops.loop_options)
    misplaced_loop_options = _operator(loops, Loops.misplaced_loop_options)

    @lazy
    def generators(self) -> Generators:
        return self.loops.generators

    generator_of = _operator(generators, Generators.generator_of)
    temporary = _operator(generators, Generators.temporary)
    yielded = _operator(generators, Generators.yielded)
    yielded_from = _operator(generators, Generators.yielded_from)
    is_left = _operator(generators, Generators.is_left)

    @lazy
    def managers(self) -> ContextManagers:
        return ContextManagers(self.call, self.generators, lambda: len(self.journal.loops))

    manager = _operator(managers, ContextManagers.manager)

    @lazy
    def attempts(self) -> Attempts:
        return Attempts(self.backend, self.trace, self.opaque, self.managers, self.conditionals)

    try_stmt = _operator(attempts, Attempts.try_stmt)
    with_stmt = _operator(attempts, Attempts.with_stmt)
    goes_on = _operator(attempts, Attempts.goes_on)

    @lazy
    def nones(self) -> Nones:
        return Nones(self.backend, self.trace, self.raising, self.aliased.are_one, self.if_exp, self.truth)

    is_ = _operator(nones, Nones.is_)
    is_none = _operator(nones, Nones.is_none)
    is_bool = _operator(nones, Nones.is_bool)
    id_of = _operator(nones, Nones.id_of)
    check_present = _operator(nones, Nones.check_present)
    truth_of_optional = _operator(nones, Nones.truth_of_optional)

    @lazy
    def constants(self) -> ConstantChoices:
        return ConstantChoices(self.staged_if, self.call)

    @lazy
    def references(self) -> ReferenceChoices:
        return ReferenceChoices(self.backend, self.trace, self.staged_if, self.set_attr)

    # Items, attributes, and the operators of Python.

    @lazy
    def aliased(self) -> AliasedWrites:
        return AliasedWrites(self.backend, self.trace, self.if_exp, self.staged_if)

    @lazy
    def value_errors(self) -> ValueErrors:
        return ValueErrors(self.backend, self.raising)

    @lazy
    def operations(self) -> Operations:
        return Operations(self.backend, self.aliased, self.trace, self.call, self.value_errors, self)

    operate = _operator(operations, Operations.operate)
    of_numbers = _operator(operations, Operations.of_numbers)
    in_place = _operator(operations, Operations.in_place)
    asked = _operator(operations, Operations.asked)
    get_attr = _operator(operations, Operations.get_attr)
    equals = _operator(operations, Operations.equals)
    has_own_equality = _operator(operations, Operations.has_own_equality)

    @lazy
    def python_tests(self) -> PythonTests:
        return PythonTests(self.backend, self.asked)

    python_test = _operator(python_tests, PythonTests.python_test)

    @lazy
    def checked_bounds(self) -> Bounds:
        return Bounds(self.backend, self.raising)

    @lazy
    def bounds(self) -> Bounds | None:
        """Those that are checked everywhere; None if only those of lists are."""
        return self.checked_bounds if self._check_bounds else None

    @lazy
    def slices(self) -> Slices:
        return Slices(
            self.backend,
            lambda line: None if self.converter is None else self.converter.names_of_arrays.open_slice(line),
        )

    span = _operator(slices, Slices.span)

    @lazy
    def lookups(self) -> Lookups:
        return Lookups(
            self.backend,
            self.trace,
            self,
            call=self.call,
            refuse_hidden=self.refuse_hidden,
            if_exp=self.if_exp,
            equals=self.equals,
            raising=self.raising,
            absences=self.absences,
            bounds=self.checked_bounds,
            checks_arrays=self._check_bounds,
            slices=self.slices,
            masks=Masks(self.backend, self.raising),
            list_writes=ListWrites(self.backend, self.trace, self.if_exp, self.raising),
            keys=self.keys,
        )

    get_item = _operator(lookups, Lookups.get_item)
    item_method = _operator(lookups, Lookups.item_method)

    @lazy
    def items(self) -> Items:
        return Items(
            self.backend,
            self.trace,
            self.lookups,
            self.aliased,
            self.call,
            self.in_place,
            self.get_attr,
            self.at_run_time,
            lambda: self.converter,
        )

    @lazy
    def array_methods(self) -> ArrayMethods:
        return ArrayMethods(
            self.trace,
            lambda filename, line: self.converter.names_of_arrays.is_sort(filename, line),
            self.will_write_known,
        )

    set_item = _operator(items, Items.set_item)
    exchange_items = _operator(items, Items.exchange_items)
    del_item = _operator(items, Items.del_item)
    update_item = _operator(items, Items.update_item)
    take_item = _operator(items, Items.take_item)
    update_taken = _operator(items, Items.update_taken)
    put_back_item = _operator(items, Items.put_back_item)
    set_attr = _operator(items, Items.set_attr)
    store_attr = _operator(items, Items.store_attr)
    del_attr = _operator(items, Items.del_attr)
    remove_attr = _operator(items, Items.remove_attr)
    update_attr = _operator(items, Items.update_attr)
    put_back_attr = _operator(items, Items.put_back_attr)
    will_write = _operator(items, Items.will_write)
    rebind = _operator(items, Items.rebind)
    written_in_place = _operator(items, Items.written_in_place)
    will_augment = _operator(items, Items.will_augment)
    will_write_known = _operator(items, Items.will_write_known)

    def asks_operation(self, line: tuple[str, int]) -> bool:
        """Have the operators of a line asked, if it has such as may make arrays and they are not; whether that is news."""
        converter = self.converter
        return (
            converter is not None and converter.names_of_arrays.has_operation(line) and converter.ask_operators(*line)
        )

    augmented_in_place = _operator(items, Items.augmented_in_place)
    index = INDEX

    @lazy
    def absences(self) -> Absences:
        return Absences(
            self.backend,
            self.trace,
            raising=self.raising,
            if_exp=self.if_exp,
            if_stmt=self.if_stmt,
            set_item=lambda target, key, value: self.items.set_item(target, key, value),
            new_list=self.new_list,
            call=self.call,
            equals=self.equals,
            merge_keyed=self.keys.merged,
            made_dict=self.keys.made_dict,
            end_trace=self.keys.end_trace,
        )

    merged = _operator(absences, Absences.merged)
    without_absences = _operator(absences, Absences.without_absences)
    check_set = _operator(absences, Absences.check_set)
    items_in = _operator(absences, Absences.items_in)
    setdefault = _operator(absences, Absences.setdefault_new)

    @lazy
    def writes(self) -> ReportedWrites:
        return ReportedWrites(
            self.backend,
            self.trace,
            convert=self._convert,
            call=self.call,
            checks=self,
            get_attr=self.get_attr,
            operate=self.operate,
            set_item=self.set_item,
            del_item=self.del_item,
            written_in_place=self.written_in_place,
            set_attr=self.set_attr,
            del_attr=self.del_attr,
            store_attr=self.store_attr,
            remove_attr=self.remove_attr,
        )

    # Containers, and the builtins.

    @lazy
    def lengths(self) -> TracedLengths:
        return TracedLengths(self.backend, self.raising, self.trace)

    @lazy
    def lists(self) -> Lists:
        return Lists(
            self.backend,
            self.trace,
            self,
            call=self.call,
            raising=self.raising,
            refuse_hidden=self.refuse_hidden,
            lengths=self.lengths,
        )

    new_list = _operator(lists, Lists.new_list)
    new_row = _operator(lists, Lists.new_row)
    extended = _operator(lists, Lists.extended)
    repeated = _operator(lists, Lists.repeated)
    repeated_by_traced = _operator(lists, Lists.repeated_by_traced)
    unpacked = _operator(lists, Lists.unpacked)
    unzipped = _operator(lists, Lists.unzipped)
    items_of = _operator(lists, Lists.items_of)

    @lazy
    def keys(self) -> Keys:
        return Keys(self.backend, self.trace, self)

    new_set = _operator(keys, Keys.new_set)
    set_of_list = _operator(keys, Keys.set_of_list)
    dict_of = _operator(keys, Keys.dict_of)
    dict_of_list = _operator(keys, Keys.dict_of_list)

    @lazy
    def orderings(self) -> Orderings:
        return Orderings(self.backend, self.call, self.get_item, self, has_order)

    @lazy
    def reductions(self) -> Reductions:
        return Reductions(
            self.backend,
            generators=self.generators,
            call=self.call,
            conditionals=self.conditionals,
            python_test=self.python_test,
            is_none=self.is_none,
            for_stmt=self.for_stmt,
            new_list=self.new_list,
            unpacked=self.unpacked,
            in_list=self.absences.listed,
        )

    generator = _operator(reductions, Reductions.generator)
    list_of = _operator(reductions, Reductions.list_of)
    one_by_one = _operator(reductions, Reductions.one_by_one)
    in_any_order = staticmethod(in_any_order)
    best_of = _operator(reductions, Reductions.best_of)

    @lazy
    def texts(self) -> Texts:
        return Texts(self.backend, self)

    @lazy
    def class_tests(self) -> ClassTests:
        return ClassTests(self.backend, self.trace, self.absences.presence, self.library.has_attribute)

    matches_class = _operator(class_tests, ClassTests.matches_class)
    matches_sequence = _operator(class_tests, ClassTests.matches_sequence)
    positional = _operator(class_tests, ClassTests.positional)
    from_end = _operator(class_tests, ClassTests.from_end)
    known_class = _operator(class_tests, ClassTests.known_class)

    @lazy
    def calling(self) -> CallingFunctions:
        return CallingFunctions(
            self.backend, lambda function: self.converter.convert(function, bool(current().catches))
        )

    @lazy
    def library(self) -> LibraryFunctions:
        return LibraryFunctions(
            self.backend,
            lambda function: self.converter.convert(function, bool(current().catches)),
            self.generators.source_of,
            self.raising,
        )

    @lazy
    def logs(self) -> Logs:
        return Logs(self.trace, self.backend.is_traced)

    @lazy
    def builtins(self) -> Builtins:
        return Builtins(
            self.backend,
            self.trace,
            self,
            call=self.call,
            with_converted_functions=self.with_converted_functions,
            for_stmt=self.for_stmt,
            set_attr=self.set_attr,
            python_test=self.python_test,
            refuse_hidden=self.refuse_hidden,
            conditionals=self.conditionals,
            generators=self.generators,
            reductions=self.reductions,
            orderings=self.orderings,
            operations=self.operations,
            lengths=self.lengths,
            lists=self.lists,
            library=self.library,
            absences=self.absences,
        )

    contains = _operator(builtins, Builtins.contains)
    tuple_of_list = _operator(builtins, Builtins.tuple_of_list)

    @lazy
    def builtin_overloads(self) -> Mapping[Any, Callable[..., Any]]:
        return self.builtins.overloads()

    @lazy
    def bars(self) -> TqdmBars:
        return TqdmBars(self.backend, self.builtin_overloads[range])

    @lazy
    def overloads(self) -> Mapping[Any, Callable[..., Any]]:
        """What is called in place of functions of Python's and of libraries."""
        arrays, builtin = array_overloads(), self.builtin_overloads
        derived = DerivedGenerators(
            *(self.generators, self._convert, self.call, self.conditionals, builtin, self.builtins.advanced)
        )
        found: dict[Any, Callable[..., Any]] = {
            **arrays,
            **self.library.overloads(arrays),
            **self.calling.overloads(),
            **self.lengths.overloads(),
            **builtin,
            **self.lists.overloads(),
            **self.keys.overloads(),
            **derived.overloads(),
            **self.writes.overloads(),
            **self.logs.overloads(),
            **self.texts.overloads(),
            **self.class_tests.overloads(),
            id: self.id_of,
            **({} if self.bounds is None else self.bounds.overloads()),
        }
        return with_python_errors({**found, **self.value_errors.around(found)})

    # Of the object itself.

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

    def _written(self, code: types.CodeType) -> types.CodeType:
        """The code that the user wrote from that which a conversion has made of it."""
        written: types.CodeType = self.converter.written(code)
        return written

    def _is_converted(self, function: types.FunctionType) -> bool:
        """Whether a function is what a conversion has made."""
        return bool(self.converter.is_converted(function))
