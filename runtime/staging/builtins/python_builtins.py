"""Python's builtins for traced values. For other values, the builtins themselves run."""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import functools
import heapq
import itertools
import operator
import types
from collections.abc import Callable, Iterable, KeysView, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Backend, NotRollable
from autograph.backends.selected import STAGING
from autograph.runtime.containers.iterables import (
    StagedItems,
    StagedRange,
    as_range,
    can_stage,
    is_for_loops,
    listed,
    make_range,
    share_an_iterator,
    to_be_staged,
)
from autograph.runtime.containers.iterators import Iterated, SequenceIterator
from autograph.runtime.containers.key_parts import check_hashable, fields_of_key, may_be_traced
from autograph.runtime.containers.keyed_lists import KeyedList
from autograph.runtime.containers.orderings import Orderings, all_scalars_some_traced, better_of, nan_never_better
from autograph.runtime.containers.padded_arrays import PaddedArray, is_open_array
from autograph.runtime.containers.sizes import is_of_symbolic_size, is_symbolic_size
from autograph.runtime.containers.traced_dicts import DictView, TracedDict
from autograph.runtime.containers.traced_lists import TracedList, is_array_list, is_traced_list
from autograph.runtime.containers.traced_tuples import TracedTuple
from autograph.runtime.effects.callbacks import print_later
from autograph.runtime.effects.raise_sites import text_of_error
from autograph.runtime.effects.raising import is_after_raise
from autograph.runtime.effects.remaking import made_again, remade
from autograph.runtime.effects.snapshots import any_shown_by_class, snapshot_of
from autograph.runtime.effects.traced_texts import DeferredText, TracedText, is_traced_text
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.layouts.one_of import OneOf, each, each_purely, takes_branches
from autograph.runtime.layouts.optional import Optional, is_number_choice, may_be_beyond
from autograph.runtime.layouts.statement_variables import holds_traced, value_of
from autograph.runtime.staging.access.absences import Absences
from autograph.runtime.staging.access.operations import OPERATOR_FUNCTIONS, Operations
from autograph.runtime.staging.access.user_methods import has_own_equality, has_own_operator, is_indexed, user_method
from autograph.runtime.staging.builtins.keys import in_any_order
from autograph.runtime.staging.builtins.library_functions import LibraryFunctions
from autograph.runtime.staging.builtins.lists import Lists
from autograph.runtime.staging.builtins.reductions import Generator, Reductions
from autograph.runtime.staging.builtins.traced_lengths import TracedLengths
from autograph.runtime.staging.statements.conditionals import Conditionals
from autograph.runtime.staging.statements.constants import CALLING
from autograph.runtime.staging.statements.generators import Generators
from autograph.runtime.staging.statements.progress import Progress, is_in_program
from autograph.runtime.state.chosen_arrays import place_of
from autograph.runtime.state.given_arrays import is_given
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location, warn
from autograph.runtime.tracing.recording import LOCAL

_ATOMS = frozenset([bool, int, float, complex, str, bytes, type(None)])


class Builtins(InTrace):
    """The overloads, by builtin.

    Args:
      checks: the operators.
      call, with_converted_functions, for_stmt, set_attr, python_test, refuse_hidden: of other operators.
    """

    def __init__(
        self,
        backend: Backend,
        trace: Callable[[], Trace],
        checks: Any,
        *,
        call: Callable[[Any], Any],
        with_converted_functions: Callable[[Any], Any],
        for_stmt: Callable[..., Any],
        set_attr: Callable[[Any, str, Any], None],
        python_test: Callable[[Any, str], Any],
        refuse_hidden: Callable[[Any], None],
        conditionals: Conditionals,
        generators: Generators,
        reductions: Reductions,
        orderings: Orderings,
        operations: Operations,
        lengths: TracedLengths,
        lists: Lists,
        library: LibraryFunctions,
        absences: Absences,
    ) -> None:
        super().__init__(trace)
        self.backend = backend
        self.checks = checks
        self.call = call
        self.with_converted_functions = with_converted_functions
        self.for_stmt, self.if_stmt = for_stmt, conditionals.if_stmt
        self.truth, self.not_ = conditionals.truth, conditionals.not_
        self.set_attr = set_attr
        self.python_test = python_test
        self.refuse_hidden = refuse_hidden
        self.raising = conditionals.raising
        self.generators = generators
        self.reductions = reductions
        self.orderings = orderings
        self.operate, self.asked, self.equals = operations.operate, operations.asked, operations.equals
        self.lengths = lengths
        self.new_list, self.listed_rows = lists.new_list, lists.listed_rows
        self.library = library
        self.absences = absences

    def overloads(self) -> Mapping[Any, Callable[..., Any]]:
        return {
            builtins.range: self._range,
            builtins.enumerate: self._enumerate,
            builtins.zip: self._zip,
            builtins.reversed: self._reversed,
            builtins.map: self._map,
            builtins.filter: self._filter,
            builtins.sorted: self._sorted,
            heapq.nsmallest: self._few(heapq.nsmallest, False),
            heapq.nlargest: self._few(heapq.nlargest, True),
            builtins.max: self._extreme(builtins.max, jnp.maximum, jnp.max, operator.gt),
            builtins.min: self._extreme(builtins.min, jnp.minimum, jnp.min, operator.lt),
            builtins.any: self._any,
            builtins.all: self._all,
            builtins.int: self._number(builtins.int, jnp.trunc),
            builtins.float: self._number(builtins.float, None),
            builtins.complex: self._complex,
            builtins.pow: self._pow,
            builtins.list: self._list,
            builtins.tuple: self._tuple,
            builtins.bytes: functools.partial(_bytes, builtins.bytes),
            builtins.bytearray: functools.partial(_bytes, builtins.bytearray),
            builtins.bool: self._bool,
            builtins.print: self._print,
            builtins.len: self._len,
            builtins.next: self._next,
            builtins.iter: self._iter,
            contextlib.suppress: self.raising.suppress,
            builtins.sum: self._sum,
            functools.cmp_to_key: self._cmp_to_key,
            builtins.str: self._shown_by(str, "__str__"),
            builtins.repr: self._shown_by(repr, "__repr__"),
            builtins.ascii: lambda value: self.raising.text_now(ascii, value),
            builtins.format: self._format,
            builtins.round: self._round,
            operator.truth: self.truth,
            operator.not_: self.not_,
            operator.call: lambda called, /, *args, **kwargs: self.call(called)(*args, **kwargs),
            operator.countOf: lambda items, value: self.call(self._list(items).count)(value),
            operator.indexOf: lambda items, value: self.call(self._list(items).index)(value),
            **{function: functools.partial(self.operate, symbol) for function, symbol in OPERATOR_FUNCTIONS.items()},
            **{called: self.with_converted_functions(called) for called in CALLING},
        }

    def contains(self, item: Any, container: Any) -> Any:
        """``item in container``."""
        if type(container) in (set, frozenset) and type(item) in _ATOMS:
            return item in container
        if (method := user_method(type(container), "__contains__")) is not None:  # before what would go over the items
            self.refuse_hidden(container)
            return self._bool(self.call(method)(container, item))
        if type(item) is OneOf:
            return each_purely(item, lambda one: self.contains(one, container))
        if type(container) is OneOf:
            return each(container, lambda one: self.contains(item, one), is_pure=not takes_branches(container))
        self.refuse_hidden(container)
        if (present := self.absences.contains(container, item)) is not None:
            return present
        if isinstance(container, set | frozenset | dict | KeysView):
            check_hashable(item)
        traced = self.backend.is_traced
        if isinstance(container, TracedText) or (isinstance(item, TracedText) and isinstance(container, str)):
            return self.checks.texts.read(container).has(item)
        if isinstance(container, KeyedList) or is_array_list(container):
            return container.has(item)
        if is_open_array(container):
            return (container == item).any()
        if traced(container):
            return (container == item).any()
        if isinstance(container, dict | KeysView) and may_be_traced(item):
            kinds: tuple[type, ...] = (int, float) if fields_of_key(item) is None else (type(item),)
            if type(item) is Optional:
                kinds = (object,)
            elif isinstance(item, TracedText | tuple):
                kinds = (str,) if isinstance(item, TracedText) else (tuple,)
            container = [key for key in container if isinstance(key, kinds)]  # what others there are equals none
        elif isinstance(container, dict | KeysView) and self.identities.take_part((item, *container)):
            container = list(container)
        if isinstance(container, list | tuple | set | frozenset) and (
            holds_traced(value_of(item))
            or holds_traced((*map(value_of, container),))
            or self.identities.take_part((item, *container))
            or has_own_equality(item, *container)
        ):
            found: Any = False
            for part in container:
                same = self.equals(part, item)
                if same is True:
                    return True
                found = same if found is False else found | same
            return found
        if isinstance(container, SequenceIterator) and (traced(item) or isinstance(container, StagedItems)):
            container = as_range(container, may_be_left=True)
        if isinstance(container, range) and traced(item):
            container = to_be_staged(container)
        if isinstance(container, StagedRange) and (traced(item) or container.is_traced()):
            return container.has(item)
        if (given := self.reductions.each_of(container, may_leave=True)) is not None:
            compared = dataclasses.replace(given, element=lambda value: self.equals(value, item))
            return self.reductions.decided(compared, builtins.any)
        if user_method(type(container), "__iter__") is not None or (
            is_indexed(type(container)) and (holds_traced(item) or self.generators.may_end_at_run_time(container))
        ):
            return self.contains(item, self._list(container))
        return item in container

    def _range(self, *args: Any) -> Any:
        if builtins.any(isinstance(arg, jax.Array) or is_symbolic_size(arg) for arg in map(value_of, args)):
            return make_range(*args)
        return range(*args)

    def _len(self, value: Any) -> Any:
        """``len``, which may be a symbolic size; the builtin insists on an int."""
        if isinstance(value, TracedList):
            return STAGING.number(value.size(), int)
        if isinstance(value, TracedText):
            return value.size()
        if isinstance(value, PaddedArray):
            return value.number_of_rows()
        self.refuse_hidden(value)
        if (size := self.absences.length(value)) is not None:
            return STAGING.number(size, int)
        if isinstance(value, StagedRange):
            return value.size()
        if is_of_symbolic_size(value, self.backend):
            return value.shape[0]
        method = user_method(type(value), "__len__")
        if method is not None:
            size = self.call(method)(value)
            return size if self.backend.is_traced(size) else len(_Sized(size))
        return len(value)

    def _iter(self, *args: Any) -> Any:
        """``iter``; of a dataset, an iterator that the program restarts on each execution."""
        staged = getattr(type(args[0]), "staged_iter", None) if len(args) == 1 and self.backend.is_tracing() else None
        if staged is not None:
            return staged(*args)
        if len(args) == 1 and isinstance(args[0], TracedDict):
            args = (args[0].keys(),)
        elif len(args) == 1 and is_traced_text(args[0]):
            args = (self._items(args[0]),)
        if len(args) == 1 and not self.backend.is_eager() and self._is_sequence(args[0]):
            return self._indexed("iter", (self.new_list(list(args[0])) if isinstance(args[0], str) else args[0],))
        return self._iterated("iter", iter(*args))

    def _indexed(self, kind: str, parts: tuple[Any, ...], start: Any = 0) -> SequenceIterator:
        """An iterator over sequences, which loops over what stages go through at once."""
        advance = self.advanced if builtins.all(map(self._is_sequence, parts)) else None
        first = self._len(parts[0]) - 1 if advance is not None and kind == "reversed" else 0
        if kind != "iter" and builtins.all(can_stage(part, self.backend) for part in parts):
            made: SequenceIterator = StagedItems(parts, kind, start, advance, first)
        else:
            made = SequenceIterator(kind, parts, advance, start, first)
        self.journal.born(made)
        return made

    def _is_sequence(self, iterable: Any) -> bool:
        if isinstance(iterable, TracedList):
            return not isinstance(iterable, KeyedList)
        return (
            type(iterable) in (list, tuple, str, range, StagedRange)
            or is_open_array(iterable)
            or (self.backend.is_traced(iterable) and iterable.ndim > 0)
        )

    def advanced(self, iterator: SequenceIterator) -> Any:
        """``next(iterator)``, in Python where its position is known."""
        if not iterator.is_known():
            return self.library.advanced(iterator)
        position = iterator.position
        if not iterator.is_endless and (iterator.is_ended or iterator.is_over(position)):
            self.set_attr(iterator, "is_ended", True)
            raise StopIteration
        self.set_attr(iterator, "position", iterator.following(position))
        return iterator.item(position)

    def _rest(self, iterator: SequenceIterator) -> Any:
        """The items that are left, which are used then."""
        if iterator.kind == "reversed":
            return self._list(self.library.remaining(iterator))
        size = iterator.size()
        start = jnp.where(iterator.is_ended, size, iterator.position)
        rest = [self._rest_of(part, start) for part in iterator.parts]
        self.set_attr(iterator, "position", size)
        self.set_attr(iterator, "is_ended", True)
        if iterator.kind == "enumerate":
            return self.library.numbered(rest[0], iterator.start + start)
        return self._zip(*rest) if iterator.kind == "zip" else rest[0]

    def _rest_of(self, items: Any, start: Any) -> Any:
        if isinstance(items, range | StagedRange):
            first = items.start + start * items.step
            return StagedRange(first, items.stop, items.step)
        if isinstance(items, DictView):
            items.note_read()
            items = items.as_list()
        return self.library.items_from(
            self.new_list(list(items)) if type(items) in (list, tuple, str) else items, start
        )

    def _next(self, *args: Any) -> Any:
        if args and (each := self.reductions.each_of(args[0], may_leave=True)) is not None:
            return self.reductions.first(each, *args[1:])
        if args and isinstance(args[0], Generator):
            return next(iter(args[0]), *args[1:])
        if args and self.backend.is_tracing():
            staged = getattr(type(args[0]), "staged_next", None)
            if staged is not None:
                return staged(*args)
        if args and (step := self._step_of(args[0])) is not None:
            return step(args[0]) if len(args) == 1 else self.library.stepped(step, *args)
        if self.journal.is_open:
            raise StagingError(
                f"{user_location()}\n  `next` inside a staged statement advances the iterator once, while tracing, and not on each "
                "execution.\n  Call it before the statement, or through autograph.py_function."
            )
        name = LOCAL.outside(args[0]) if args and self.backend.is_tracing() else None
        if name is not None:
            warn(
                f"`next` advances the iterator `{name}` once, while tracing, and the element is baked into the "
                "program. Pass elements as "
                "arguments, call autograph.py_function(lambda: next(...), [], dtype), or make it an iterator of an autograph.Dataset."
            )
        return next(*args)

    def _step_of(self, iterator: Any) -> Callable[[Any], Any] | None:
        """What advances an iterator as the program does when it runs; None of one that Python advances."""
        if self.backend.is_eager():
            return None
        if isinstance(iterator, Iterated):
            has_position = isinstance(iterator, SequenceIterator) and iterator.has_position
            return self.advanced if has_position else next
        step = user_method(type(iterator), "__next__")
        return None if step is None else self.call(step)

    def _enumerate(self, iterable: Any, start: Any = 0) -> Any:
        if isinstance(iterable, Progress) and is_in_program():
            return iterable.over(self._enumerate(iterable.iterable, start))
        if jnp.issubdtype(getattr(value_of(start), "dtype", type(start)), jnp.inexact):
            raise TypeError("'float' object cannot be interpreted as an integer")
        iterable = self._items(iterable)
        if is_for_loops(iterable):
            return iterable.enumerate(start)
        if not self.backend.is_eager() and (can_stage(iterable, self.backend) or self._is_sequence(iterable)):
            return self._indexed("enumerate", (iterable,), start)
        return self._iterated("enumerate", iter(enumerate(iterable, start)))

    def _zip(self, *iterables: Any, strict: bool = False) -> Any:
        if builtins.any(isinstance(iterable, Progress) for iterable in iterables) and is_in_program():
            shown = builtins.next(iterable for iterable in iterables if isinstance(iterable, Progress))
            inside = [each.iterable if isinstance(each, Progress) else each for each in iterables]
            return shown.over(self._zip(*inside, strict=strict))
        iterables = tuple(map(self._items, iterables))
        are_staged = builtins.all(can_stage(iterable, self.backend) for iterable in iterables)
        are_staged = are_staged and not share_an_iterator(iterables)
        can_be = are_staged or (not strict and builtins.all(map(self._is_sequence, iterables)))
        if iterables and can_be and not self.backend.is_eager():
            lengths = [iterable.shape[0] for iterable in iterables if strict and hasattr(iterable, "shape")]
            if not builtins.any(self.backend.is_traced(length) or length != lengths[0] for length in lengths):
                return self._indexed("zip", iterables)
        return self._iterated("zip", zip(*iterables, strict=strict))

    def _reversed(self, iterable: Any) -> Any:
        iterable = self._items(iterable) if is_traced_text(iterable) else self.absences.listed(iterable)
        if isinstance(iterable, KeyedList):
            iterable = iterable.in_order()
        if not self.backend.is_eager() and (can_stage(iterable, self.backend) or self._is_sequence(iterable)):
            return self._indexed("reversed", (iterable,))
        return self._iterated("reversed", reversed(iterable))

    def _iterated(self, kind: str, iterator: Any) -> Any:
        """An iterator that Python advances; in a trace one that knows where."""
        return iterator if self.backend.is_eager() else Iterated(kind, lambda: iterator)

    def _map(self, function: Any, *iterables: Any) -> Any:
        """``map``; over a list of traced length, another one."""
        iterables = tuple(map(self._items, iterables))
        if builtins.any(map(self.reductions.has_traced_length, iterables)):
            function = self.call(function)
            items = iterables[0] if len(iterables) == 1 else self._zip(*iterables)
            each = function if len(iterables) == 1 else lambda parts: function(*parts)
            return self._indexed("map", (self.reductions.listed(items, each),))
        return self._iterated("map", map(self.call(function), *iterables))

    def _filter(self, function: Any, iterable: Any) -> Any:
        """``filter``; of traced elements, a list of traced length."""
        function, iterable = self._bool if function is None else self.call(function), self._items(iterable)
        if can_stage(iterable, self.backend) or (isinstance(iterable, list | tuple) and holds_traced(iterable)):
            return self._filtered(function, iterable)
        return self._iterated("filter", filter(lambda value: self.python_test(function(value), "filter"), iterable))

    def _filtered(self, function: Any, iterable: Any) -> Any:
        kept = self.new_list([])

        def loop_body(value: Any) -> None:
            def if_body() -> None:
                self.call(kept.append)(value)

            self.if_stmt(function(value), if_body, None, ())

        self.for_stmt(iterable, loop_body, ())
        return self._indexed("filter", (kept,)) if is_traced_list(kept) else self._iterated("filter", iter(kept))

    def _items(self, iterable: Any) -> Any:
        """What goes through an iterable: the iterator of an object of the user's, the list of what a dict by path holds."""
        return self.absences.listed(self.generators.iterated(iterable))

    def _given(self, iterable: Any, key: Any = None) -> Any:
        """What a builtin consumes: an iterator that is consumed where the program does it, or the list that it runs over."""
        iterable = self.generators.iterated(iterable)
        if isinstance(iterable, types.GeneratorType) and self.generators.source_of(iterable) is None:
            self.generators.check_advanced(iterable, is_kept=False)
        if isinstance(iterable, SequenceIterator) and iterable.is_open:
            iterable = self._rest(iterable)
        if is_for_loops(iterable):
            iterable = self.reductions.listed(iterable)
        if is_of_symbolic_size(iterable, self.backend):
            iterable = self.reductions.each_element(iterable)
        return in_any_order(listed(self.absences.listed(iterable)), key)

    def _sum(self, iterable: Any, /, start: Any = 0) -> Any:
        self.refuse_hidden(iterable)
        iterable = self._given(iterable)
        if (each := self.reductions.each_of(iterable)) is not None:
            return self.reductions.summed(each, start)
        if is_array_list(iterable):
            return self.reductions.of_list("sum", iterable, start=start)
        if is_open_array(iterable):
            return start + iterable.sum(0)
        if isinstance(iterable, StagedRange) and iterable.is_traced():
            return start + iterable.total()
        if type(iterable) in (list, tuple) and type(start) is int and may_be_beyond(iterable):
            return self.reductions.summed_numbers(iterable, start)
        return self._added_up(iterable, start)

    def _added_up(self, iterable: Any, start: Any) -> Any:
        """What ``sum`` returns. Python adds the items, up to the first whose class says what that does."""
        items = iter(iterable)
        others: Iterable[Any] = items
        if not has_own_operator(start, "add"):
            numbers = []
            for item in items:
                if has_own_operator(item, "add"):
                    others = itertools.chain((item,), items)
                    break
                numbers.append(item)
            start = sum(numbers, start)
        return functools.reduce(functools.partial(self.operate, "+"), others, start)

    def _list(self, *args: Any) -> Any:
        if args:
            self.refuse_hidden(args[0])
            if len(args) == 1 and isinstance(args[0], KeyedList):
                return args[0].listed()
            if isinstance(args[0], Generator) and (unordered := args[0].in_any_order()) is not args[0]:
                return self.reductions.in_no_order(unordered)
            if is_of_symbolic_size(args[0], self.backend):
                return self.reductions.listed(args[0])
            args = (self._given(args[0]), *args[1:])
            if self.generators.source_of(args[0]) is not None:
                return self.reductions.listed(args[0])
        if args and isinstance(args[0], StagedRange) and args[0].is_traced():
            args = (self.lengths.listed_range(args[0]), *args[1:])
        if args and is_open_array(args[0]):
            return self.listed_rows(args[0])
        if args and isinstance(args[0], StagedItems) and self.reductions.has_traced_length(args[0]):
            return self.reductions.listed(args[0])
        if args and isinstance(args[0], TracedList):
            return args[0].as_list()
        return self.new_list(list(*args))

    def _tuple(self, *args: Any) -> Any:
        if not args or type(args[0]) is tuple:
            return tuple(*args)
        items = self._list(args[0].in_order() if isinstance(args[0], KeyedList) else args[0], *args[1:])
        return self.tuple_of_list(items.copy() if is_traced_list(items) else items)

    def tuple_of_list(self, items: list[Any]) -> Any:
        """The tuple of the items of a list that no one else has: of those of ``(*xs, y)``, say."""
        return TracedTuple(items, self.checks) if is_traced_list(items) else tuple(items)

    def joined(self, join: Callable[[Iterable[str]], str], iterable: Any) -> Any:
        """``separator.join(iterable)``."""
        items = self._list(iterable)
        if not is_traced_list(items):
            items = [item.resolve() if isinstance(item, TracedText) else item for item in items]
        return self.raising.text_now(join, items) if holds_traced(items) else join(items)

    def _sorted(self, iterable: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
        self.refuse_hidden(iterable)
        if key is None and is_traced_text(iterable) and not self.backend.is_eager():
            return self.checks.texts.ordered(iterable, functools.partial(self._sorted, reverse=reverse))
        if key is None:  # no two items share a key, so the order that they come in does not count
            iterable = self.absences.listed(iterable, is_sorted=True)
        if is_of_symbolic_size(iterable, self.backend):
            iterable = self.reductions.listed(iterable)
        iterable = self.checks.items_of(self._given(iterable, key))
        if is_traced_list(iterable) or (is_array_list(iterable) and key is None):
            found = iterable.as_list()
            found.sort(key=key, reverse=reverse)
            return found
        if self.backend.is_traced(iterable) and key is None and iterable.ndim == 1:
            found = jnp.sort(iterable)
            return self.new_list(list(jnp.where(reverse, found[::-1], found)))
        values = list(iterable)
        found = self.orderings.ordered(values, key, reverse)
        return self.new_list(sorted(values, key=key and self.call(key), reverse=reverse) if found is None else found)

    def _cmp_to_key(self, mycmp: Any) -> Any:
        return functools.cmp_to_key(mycmp) if self.backend.is_eager() else self.orderings.by_comparison(mycmp)

    def _few(self, plain: Callable[..., Any], reverse: bool) -> Callable[..., Any]:
        """`heapq.nsmallest` or `heapq.nlargest`: the first of the items in their order."""

        def few(n: Any, iterable: Any, key: Any = None) -> Any:
            if self.backend.is_eager() or not isinstance(n, int):
                return plain(n, iterable, key)
            return self._sorted(iterable, key=key, reverse=reverse)[: max(n, 0)]

        return few

    def _extreme(self, plain: Any, pairwise: Any, reduce: Any, is_better: Any) -> Callable[..., Any]:
        def extreme(*args: Any, **kwargs: Any) -> Any:
            self.refuse_hidden(args[0] if args else None)
            if len(args) == 1 and not kwargs and is_traced_text(args[0]) and not self.backend.is_eager():
                return self.checks.texts.best_of(args[0], extreme)
            if len(args) == 1:
                given = self._given(args[0], kwargs.get("key"))
                args = (self.reductions.listed(given) if isinstance(given, StagedItems) else given,)
            if len(args) == 1 and (each := self.reductions.each_of(args[0])) is not None:
                if kwargs.get("key") is None:
                    return self.reductions.extreme(each, plain, *kwargs.values())
                args = (self.reductions.appended(each),)
            if len(args) == 1 and kwargs.get("key") is not None and is_given(rows := place_of(args[0])):
                args = (list(rows),)  # the result is one of them
            values: Any = value_of(args[0]) if len(args) == 1 else args
            if is_open_array(values):
                values = self.listed_rows(values)
            if is_traced_list(values) or (is_array_list(values) and kwargs.get("key") is None):
                return self.reductions.of_list(plain.__name__, values, **kwargs)
            if isinstance(values, StagedRange) and values.is_traced() and kwargs.get("key") is not None:
                return self.reductions.best_by_key(plain.__name__, values, **kwargs)
            if isinstance(values, StagedRange) and values.is_traced():
                kwargs.pop("key", None)
                ends = values[0], values[-1]
                return self.reductions.best_of(plain, Optional(values.size() > 0, pairwise(*ends)), *kwargs.values())
            if self.backend.is_traced(values) and not kwargs.get("key"):
                return (
                    plain(*args, **kwargs) if values.ndim != 1 or not len(values) else reduce(nan_never_better(values))
                )
            if len(args) == 1 and isinstance(values, Iterable) and not isinstance(values, str | bytes):
                values = list(values)
                args = (values,)
            if isinstance(values, list | tuple) and values:
                if kwargs.get("key") is None and may_be_beyond(values):
                    return functools.reduce(functools.partial(self.reductions.better_number, plain), values)
                if kwargs.get("key") is None and all_scalars_some_traced(values, self.backend):
                    return functools.reduce(functools.partial(better_of, pairwise, is_better), values)
                is_traced, found = self.orderings.best(values, kwargs.get("key"), is_better)
                if is_traced:
                    return found
            if kwargs.get("key"):
                kwargs["key"] = self.call(kwargs["key"])
            return plain(*args, **kwargs)

        return extreme

    def _complex(self, *args: Any, **kwargs: Any) -> Any:
        parts = [*args, *kwargs.values()]
        if not builtins.any(self.backend.is_traced(part) or isinstance(part, jax.core.Tracer) for part in parts):
            return complex(*args, **kwargs)
        named = dict(zip(("real", "imag"), args, strict=False)) | kwargs
        real, imag = (jnp.reshape(named.get(name, 0), ()) for name in ("real", "imag"))
        return STAGING.number(real + 1j * imag if "imag" in named else real, complex)

    def _pow(self, base: Any, exp: Any, mod: Any = None) -> Any:
        if mod is None or not builtins.any(map(self.backend.is_traced, (base, exp, mod))):
            return pow(base, exp, mod)
        base, exp, mod = (each + 0 if jnp.result_type(each) == np.bool_ else each for each in (base, exp, mod))
        if not builtins.all(jnp.issubdtype(jnp.result_type(each), jnp.integer) for each in (base, exp, mod)):
            values: list[Any] = [each if isinstance(each, int) else 1.0 for each in (base, exp, mod)]
            return pow(*values)  # raises Python's error
        info = np.iinfo(jnp.result_type(int))
        large = [each for each in (base, mod) if isinstance(each, int) and not info.min < each <= info.max]
        if not isinstance(mod, int) and np.iinfo(mod.dtype).max > info.max:
            large.append(mod.dtype)
        if large:
            raise StagingError(
                f"{user_location()}\n  `pow` with a modulus is staged here, and {large[0]} does not fit the integers of the program, "
                f"which have {info.bits} bits.\n  Pass Python ints, or set jax_enable_x64."
            )
        self._check_value(mod != 0, "pow() 3rd argument cannot be 0")
        found, has_inverse = STAGING.power_modulo(base, exp, mod)
        self._check_value(has_inverse, "base is not invertible for the given modulus")
        return STAGING.number(found, int)

    def _check_value(self, condition: Any, text: str) -> None:
        """Raise `ValueError` where the condition is false; not in a program that cannot raise."""
        if condition is not True and self.checks.can_raise_later(ValueError):
            self.checks.raise_unless(condition, lambda: ValueError(text), is_check=True)
        elif condition is False:
            raise ValueError(text)

    def _any(self, iterable: Any) -> Any:
        return self._reduce(iterable, builtins.any, jnp.any, lambda a, b: a | b)

    def _all(self, iterable: Any) -> Any:
        return self._reduce(iterable, builtins.all, jnp.all, lambda a, b: a & b)

    def _reduce(self, iterable: Any, plain: Any, reduce: Any, combine: Any) -> Any:
        self.refuse_hidden(iterable)
        if not is_of_symbolic_size(iterable, self.backend) or iterable.ndim > 1:
            iterable = self._given(iterable)
        if (each := self.reductions.each_of(iterable, may_leave=True)) is not None:
            return self.reductions.decided(each, plain)
        if isinstance(iterable, StagedRange):
            iterable = self._list(iterable)
        if is_array_list(iterable):
            return self.reductions.of_list(plain.__name__, iterable)
        if is_open_array(iterable) and iterable.ndim == 1:
            return getattr(iterable, plain.__name__)()
        iterable = value_of(iterable)
        if self.backend.is_traced(iterable) and iterable.ndim == 1:
            return reduce(iterable)
        result: Any = plain(())  # the result of no elements; an element with the opposite truth decides
        for value in map(value_of, iterable):
            if self.backend.is_traced(value):
                result = combine(result, self.backend.predicate(value))
            elif bool(value) != plain(()):
                return bool(value)
        return result

    def _number(self, kind: type, rounding: Any) -> Callable[..., Any]:
        def convert(*args: Any, **kwargs: Any) -> Any:
            if kind is int and (len(args) == 2 or "base" in kwargs):
                return self._in_base(*args, **kwargs)
            if len(args) != 1 or kwargs:
                return kind(*args, **kwargs)
            if is_number_choice(args[0]):
                return args[0] if kind is int else STAGING.number(LANGUAGE.operators.of_numbers(float, args[0]), float)
            given = value = value_of(args[0])
            if (method := user_method(type(value), f"__{kind.__name__}__")) is not None:
                value = self.call(method)(value)
            if isinstance(value, TracedText):
                return self.checks.texts.number(value) if kind is int else self.checks.texts.float_number(value)
            if not (self.backend.is_traced(value) or (kind is float and isinstance(value, jax.core.Tracer))):
                return kind(value if isinstance(value, kind) else given)
            value = jnp.reshape(value, ())
            if rounding is not None and jnp.issubdtype(value.dtype, jnp.floating):
                value = rounding(value)
            return STAGING.number(value, kind)

        return convert

    def _in_base(self, text: Any, base: Any) -> Any:
        is_staged = is_traced_text(text) or (type(text) is str and self.backend.is_traced(base))
        return self.checks.texts.number(text, base) if is_staged else int(text, base)

    def _bool(self, value: Any = False) -> Any:
        value = self.asked(value)
        return self.backend.predicate(value) if self.backend.is_traced(value) else bool(value)

    def _print(self, /, *args: Any, **kwargs: Any) -> None:
        args = tuple(self.raising.text(str, arg) if self._is_shown_whole(arg) else arg for arg in args)
        is_now = not builtins.any(map(self._is_traced_or_text, args)) and not is_after_raise()
        if is_now and self.backend.is_tracing():
            if builtins.any(type(arg) is not str or arg.strip() for arg in args):
                self.journal.prints_at_once = True
            elif kwargs.get("file") is None:  # the end of a line, say: with what has been printed before
                is_now = self.journal.prints_at_once
        elif not is_now:
            self.journal.prints_at_once = False
        if kwargs.keys() - {"sep", "end", "file", "flush"} or is_now:
            if self.journal.is_rolling:
                raise NotRollable("it prints what is not traced")
            print(*args, **kwargs)
            return
        if self.journal.is_rolling and builtins.any(isinstance(arg, DeferredText) for arg in args):
            raise NotRollable("it prints a text of what may be a Python number")
        if self.journal.is_rolling and builtins.any(_may_be_python_float(arg) for arg in args):
            raise NotRollable("it prints what may be a Python float")
        print_later(*args, **kwargs)

    def _shown_by(self, show: Any, name: str) -> Callable[..., Any]:
        """`str` or `repr`, of which exceptions of the program and traced values wait for their values."""

        def shown(*args: Any, **kwargs: Any) -> Any:
            if show is str and not args and kwargs.keys() == {"object"}:
                args, kwargs = (kwargs["object"],), {}
            if len(args) != 1 or kwargs or self.backend.is_eager():
                return show(*args, **kwargs)
            (value,) = args
            if (made := remade(value)) is not None:
                return text_of_error(value, made, show)
            if snapshot_of(value) is None and (method := user_method(type(value), name)) is not None:
                return self.call(method)(value)
            if (made := made_again(value)) is not None:
                return text_of_error(value, made, show)
            return self.raising.text_now(show, value)

        return shown

    def _round(self, number: Any, ndigits: Any = None) -> Any:
        if self.backend.is_traced(number) and number.dtype == bool:
            number = number * 1
        is_whole = self.backend.is_traced(number) and jnp.issubdtype(number.dtype, jnp.integer)
        if self.backend.is_traced(ndigits):
            return self._rounded(number, ndigits)
        if not is_whole or type(ndigits) is not int or ndigits >= 0:
            found = round(number) if ndigits is None else round(number, ndigits)
            is_python = self.backend.is_traced(number) and jax.typeof(number).weak_type
            return STAGING.weak(found) if is_python and self.backend.is_traced(found) else found
        return _to_whole(number, 10**-ndigits)

    def _rounded(self, number: Any, digits: Any) -> Any:
        """``round(number, digits)`` to a traced number of digits."""
        if jnp.ndim(digits) or not jnp.issubdtype(digits.dtype, jnp.integer):
            raise TypeError(f"'{self.backend.type_of(digits)}' object cannot be interpreted as an integer")
        if not jnp.issubdtype(jnp.result_type(number), jnp.integer):
            unit = 10.0 ** jnp.abs(digits)
            found = jnp.where(digits < 0, jnp.round(number / unit) * unit, jnp.round(number * unit) / unit)
            return STAGING.weak(found) if jax.typeof(jnp.asarray(number)).weak_type or type(number) is float else found
        return _to_whole(number, 10 ** jnp.maximum(-digits, 0))

    def _format(self, value: Any, form: str = "") -> Any:
        return self.raising.text_now(format, value, form)

    def _is_shown_whole(self, arg: Any) -> bool:
        """Whether this is an object, or a list, tuple or dict, with traced values in it, which print as Python's numbers there."""
        if is_traced_list(arg) or any_shown_by_class(arg):
            return True
        return isinstance(arg, list | tuple | dict) and (LOCAL.has_perhaps or holds_traced(arg))

    def _is_traced_or_text(self, arg: Any) -> bool:
        if isinstance(arg, BaseException):
            made = made_again(arg)
            return made is not None and bool(made.values)
        return isinstance(arg, DeferredText) or is_open_array(arg) or self.backend.is_traced(value_of(arg))


def _to_whole(number: Any, unit: Any) -> Any:
    """An integer rounded to a multiple of ``unit``, halves to the even one."""
    count, rest = number // unit, number % unit
    is_up = (2 * rest > unit) | ((2 * rest == unit) & (count % 2 == 1))
    return (count + is_up) * unit


def _bytes(kind: type, *args: Any, **kwargs: Any) -> Any:
    """``bytes(items)``: a list of traced length says itself that its items are not known; Python only that it is no list."""
    return kind(*(list(each) if is_traced_list(each) else each for each in args), **kwargs)


def _may_be_python_float(value: Any) -> bool:
    """Whether this traced value could represent a float of Python's, which prints with more digits."""
    return isinstance(value, jax.core.Tracer) and bool(jax.typeof(value).weak_type) and value.dtype.kind == "f"


class _Sized:
    """Has the length that a ``__len__`` returned: `len` checks it."""

    def __init__(self, size: Any) -> None:
        self._size = size

    def __len__(self) -> Any:
        return self._size
