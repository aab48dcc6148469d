"""`enumerate`, `zip` and similar builtins over converted generators, as generator functions that are converted in
turn.
"""

from __future__ import annotations

import builtins
import functools
import heapq
import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from autograph.runtime.containers.iterables import StagedItems, StagedRange, can_stage
from autograph.runtime.containers.iterators import EndlessIterator, Iterated
from autograph.runtime.containers.sizes import is_of_symbolic_size
from autograph.runtime.containers.traced_lists import is_array_list, is_traced_list
from autograph.runtime.effects.traced_texts import is_traced_text
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.statement_variables import holds_traced
from autograph.runtime.staging.builtins import generator_forms as forms
from autograph.runtime.staging.statements.conditionals import Conditionals
from autograph.runtime.staging.statements.generators import Generators
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location

# Those that nothing is derived from.
_OTHERS = tuple(made for made in vars(itertools).values() if isinstance(made, type) and hasattr(made, "__next__"))
_ROWS = (list, tuple, range, np.ndarray, jax.Array, StagedRange)
_NOTHING = object()
_BATCHED: Any = getattr(itertools, "batched", None)  # of Python 3.12 on
_OF_LISTS = (
    builtins.enumerate,
    builtins.filter,
    builtins.map,
    builtins.zip,
)  # which make lists of lists of traced length
# What makes a generator of converted code of an iterable, if the function it is given takes that; else it returns None.
Definition = Callable[..., Any]
_BOUNDS = "Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize."

_OF_SIZE = (itertools.combinations, itertools.combinations_with_replacement, itertools.permutations)


class DerivedGenerators:
    """The overloads of functions that take an iterable and return an iterator.

    Args:
      converted: what to call in place of a function that is to be converted.
      call: what to call in place of a function of the user's.
      others: the overloads for other iterables.
      advance: ``next`` of an iterator whose position is state of the program.
    """

    def __init__(
        self,
        generators: Generators,
        converted: Callable[[Any], Callable[..., Any]],
        call: Callable[[Any], Any],
        conditionals: Conditionals,
        others: Mapping[Any, Callable[..., Any]],
        advance: Callable[[Any], Any],
    ) -> None:
        self.generators = generators
        self.converted = converted
        self.call = call
        self.conditionals = conditionals
        self.others = others
        self.advance = advance

    def overloads(self) -> Mapping[Any, Callable[..., Any]]:
        """For each such function, one that takes a generator apart."""
        others = {**self.others, itertools.accumulate: self._accumulated_in_python}
        derived: dict[Any, Callable[..., Any]] = {
            **{
                plain: self._over_generators(definition, others.get(plain, plain))
                for plain, definition in self._definitions().items()
            },
            builtins.zip: self._zip,
            builtins.filter: self._filter,
            itertools.islice: self._islice,
            itertools.takewhile: self._tested(itertools.takewhile, forms.taken_while, leaves=True),
            itertools.dropwhile: self._tested(itertools.dropwhile, forms.dropped_while),
            itertools.filterfalse: self._tested(itertools.filterfalse, forms.filtered_false),
            itertools.compress: self._compress,
            itertools.groupby: self._groupby,
            itertools.chain: self._chain,
            itertools.count: self._count,
            itertools.cycle: self._cycle,
            itertools.repeat: self._repeat,
            functools.reduce: self._reduce,
            heapq.merge: self._merge,
        }
        python: dict[Any, Callable[..., Any]] = {made: made for made in _OTHERS}
        return {plain: self._known(plain, overload) for plain, overload in (python | derived).items()}

    def _definitions(self) -> Mapping[Any, Definition]:
        """The functions that are one of the `forms` over what may be taken, and Python's own over anything else."""
        return {
            builtins.enumerate: lambda take, iterable, start=0: self._made(take, forms.enumerated, iterable, start),
            builtins.filter: self._filtered,
            builtins.map: lambda take, function, *rest: (
                self._made(take, forms.mapped, *rest, function=function) if len(rest) == 1 else None
            ),
            itertools.accumulate: self._accumulated,
            itertools.chain.from_iterable: lambda take, iterable: self._made(take, forms.chained, iterable),
            itertools.pairwise: lambda take, iterable: self._made(take, forms.paired, iterable),
            itertools.starmap: lambda take, function, iterable: self._made(
                take, forms.mapped_apart, iterable, function=function
            ),
            **({} if _BATCHED is None else {_BATCHED: self._batched}),
        }

    def _over_generators(self, definition: Definition, other: Callable[..., Any]) -> Callable[..., Any]:
        """The overload that takes only generators of converted code, and is ``other`` over anything else."""

        def overload(*args: Any, **kwargs: Any) -> Any:
            made = definition(self._generator, *args, **kwargs)
            return other(*args, **kwargs) if made is None else made

        return overload

    def _known(self, plain: Any, overload: Callable[..., Any]) -> Callable[..., Any]:
        """The overload, such that an iterator of Python's that it returns knows where it is advanced, and its form."""
        form = self._forms().get(plain)

        def call(*args: Any, **kwargs: Any) -> Any:
            if self.generators.backend.is_eager():
                return overload(*args, **kwargs)
            if plain in _OF_SIZE and any(map(self.generators.backend.is_traced, (*args[1:], *kwargs.values()))):
                raise _unknown_size(plain)
            if plain is functools.reduce or plain.__module__ == "itertools":
                args = tuple(map(self._listed, args))
            if plain is not itertools.repeat:
                args = _with_characters(args, 2 if plain is functools.reduce else len(args))
            found = None
            if form is not None and plain not in _OF_LISTS and any(map(_has_open_length, _iterables_of(plain, args))):
                found = form(*args, **kwargs)
            if found is None:
                found = overload(*args, **kwargs)
            if type(found).__module__ == "itertools":
                made = found
                found = Iterated(plain.__name__, lambda: made)
            if form is not None and isinstance(found, Iterated):
                found.form = lambda: form(*args, **kwargs)
                found.is_endless = plain is itertools.repeat and len(args) + len(kwargs) < 2
            return found

        call.__wrapped__ = plain  # type: ignore[attr-defined]
        return call

    def _listed(self, value: Any) -> Any:
        """A list in place of an array of a symbolic size, which Python cannot go over; anything else as it is."""
        return self.call(list)(value) if is_of_symbolic_size(value, self.generators.backend) else value

    def _forms(self) -> Mapping[Any, Callable[..., Any]]:
        """What makes a generator of converted code in place of an iterator of Python's; it may return None."""
        return {
            **{plain: functools.partial(each, self.taken) for plain, each in self._definitions().items()},
            builtins.zip: self._zipped_rows,
            itertools.chain: self._chained,
            itertools.combinations: functools.partial(self._placed, forms.combined),
            itertools.permutations: functools.partial(self._placed, forms.permuted),
            itertools.zip_longest: self._zipped_to_the_longest,
            itertools.islice: self._islice_form,
            itertools.product: self._crossed,
            itertools.repeat: self._repeated,
        }

    def _opened(self, iterable: Any) -> Any:
        """A generator in place of an iterator without an end that nothing else advances; anything else as it is."""
        is_open = isinstance(iterable, EndlessIterator) and iterable.is_temporary
        return self.generators.temporary(iterable.form()) if is_open else iterable

    def _generator(self, iterable: Any) -> Any:
        """``iterable``, if it is a generator of converted code that nothing has advanced, or one in place of an endless iterator."""
        if isinstance(iterable, EndlessIterator):
            return self.taken(iterable)
        return None if self.generators.source_of(iterable) is None else iterable

    def taken(self, iterable: Any, leaves: bool = True) -> Any:
        """What a generator of converted code goes over in place of ``iterable``; None where Python is to advance that.

        ``leaves``: it may do so before the end.
        """
        if isinstance(iterable, StagedItems) and (items := iterable.as_list()) is not None:
            return items
        if isinstance(iterable, Iterated) and iterable.form is not None:
            if not (iterable.is_fresh and iterable.is_of_here()):
                return None
            made = iterable.form()
            if made is not None:
                iterable.use_up(may_be_left=True)
                self.generators.temporary(made)
            return made
        found = self.generators.is_done_with if leaves else self.generators.source_of
        return iterable if self._is_rows(iterable) or found(iterable) else None

    def _made(
        self, take: Callable[[Any], Any], form: Callable[..., Any], iterable: Any, *args: Any, function: Any = _NOTHING
    ) -> Any:
        """The generator of a form that goes over one iterable, by a function of the user's; None where Python is to advance it."""
        iterable = take(iterable)
        if iterable is None:
            return None
        if function is not _NOTHING:
            return self.converted(form)(
                self.conditionals.truth if function is None else self.call(function), iterable, *args
            )
        return self.converted(form)(iterable, *args)

    def _filtered(self, take: Callable[[Any], Any], function: Any, iterable: Any) -> Any:
        return self._made(take, forms.filtered, iterable, function=function)

    def _accumulated(
        self, take: Callable[[Any], Any], iterable: Any, func: Any = operator.add, *, initial: Any = None
    ) -> Any:
        if initial is None and _has_first(iterable):
            initial, iterable = iterable[0], iterable[1:]
        form: Callable[..., Any] = forms.accumulated if initial is None else forms.accumulated_from
        return self._made(take, form, iterable, self.call(operator.add if func is None else func), initial)

    def _accumulated_in_python(self, iterable: Any, func: Any = operator.add, *, initial: Any = None) -> Any:
        """As Python's, by `operator.add` as converted code has it: of traced truth values, say."""
        return self.others[itertools.accumulate](iterable, func, initial=initial)

    def _batched(self, take: Callable[[Any], Any], iterable: Any, n: Any, *, strict: bool = False) -> Any:
        if self.generators.backend.is_traced(n) or operator.index(n) < 1:
            return None  # which Python's own refuses
        return self._made(take, forms.batched, iterable, n, strict)

    def _chained(self, *iterables: Any) -> Any:
        found = tuple(map(self.taken, iterables))
        return None if any(each is None for each in found) else self.converted(forms.chained)(found)

    def _zipped_rows(self, *iterables: Any, strict: bool = False) -> Any:
        is_given = iterables and not strict and all(map(self._is_rows, iterables))
        return self.converted(forms.side_by_side)(iterables) if is_given else None

    def _zipped_to_the_longest(self, *iterables: Any, fillvalue: Any = None) -> Any:
        is_given = all(map(self._is_rows, iterables))
        return self.converted(forms.side_by_side_to_the_longest)(iterables, fillvalue) if is_given else None

    def _crossed(self, *iterables: Any, repeat: int = 1) -> Any:
        if not (all(map(self._is_rows, iterables)) and any(map(_has_open_length, iterables)) and repeat > 0):
            return None
        first, *rest = iterables * repeat
        return self._extended(forms.crossed, self.converted(forms.one_each)(first), rest)

    def _placed(self, form: Callable[..., Any], rows: Any, r: int | None = None) -> Any:
        """Tuples of ``r`` rows, by a form that takes those of one less, which come with their places."""
        if not (self._is_rows(rows) and _has_open_length(rows) and type(r) is int and r > 0):
            return None
        placed = self._extended(form, self.converted(forms.one_each_placed)(rows), [rows] * (r - 1))
        return self.converted(forms.without_places)(self.generators.temporary(placed))

    def _extended(self, form: Callable[..., Any], tuples: Any, by: Sequence[Any]) -> Any:
        """Tuples with an item of each of these at the end, each time by a form."""
        for rows in by:
            tuples = self.converted(form)(self.generators.temporary(tuples), rows)
        return tuples

    def _islice_form(self, iterable: Any, *bounds: Any) -> Any:
        given = self.taken(iterable)
        return None if given is None else self.converted(forms.sliced)(lambda: given, *_slice_of(*bounds))

    def _is_known_at_run_time(self, given: Any) -> bool:
        """Whether what `taken` has returned has traced items, or traced many."""
        if isinstance(given, StagedRange):
            return given.is_traced()
        if isinstance(given, jax.Array):
            return self.generators.backend.is_traced(given)
        return not isinstance(given, _ROWS) or holds_traced(given)

    def _zip(self, *iterables: Any, strict: bool = False) -> Any:
        iterables = tuple(map(self._opened, iterables))
        places = [k for k, iterable in enumerate(iterables) if self.generators.is_done_with(iterable)]
        rest = [iterable for k, iterable in enumerate(iterables) if k not in places]
        if not (places or strict) and any(map(_is_open_range, rest)):
            is_staged = all(can_stage(each, self.generators.backend) for each in iterables)
            if not is_staged and all(map(self._is_rows, iterables)):
                return self._zipped_rows(*iterables)
        # A generator whose loop the length of a traced range skips is none of that loop's block.
        may_skip = places and any(map(_is_open_range, iterables[: places[0]]))
        if len(places) != 1 or strict or may_skip or not all(isinstance(iterable, _ROWS) for iterable in rest):
            return self.others[builtins.zip](*iterables, strict=strict)
        (k,) = places
        return self.converted(forms.zipped)(iterables[:k], iterables[k], iterables[k + 1 :])

    def _filter(self, function: Any, iterable: Any) -> Any:
        take = self.taken if isinstance(iterable, Iterated) else self._generator
        made = self._filtered(take, function, iterable)
        return self.others[builtins.filter](function, iterable) if made is None else made

    def _islice(self, iterable: Any, *bounds: Any) -> Any:
        is_traced = self.generators.backend.is_traced
        if not any(map(is_traced, bounds)):
            iterable = self._opened(iterable)
        # A generator whose loop a traced bound skips is none of that loop's block.
        is_given = self._is_rows(iterable) if any(map(is_traced, bounds)) else self.generators.is_done_with(iterable)
        make = None
        if any(map(is_traced, bounds)) and isinstance(iterable, Iterated) and iterable.form is not None:
            if iterable.is_fresh and iterable.is_of_here():
                make, is_given = iterable.form, True
                iterable.use_up(may_be_left=True)
        if not bounds or len(bounds) > 3 or not is_given:
            return itertools.islice(
                iterable, *(operator.index(bound) if is_traced(bound) else bound for bound in bounds)
            )
        itertools.islice((), *(1 if is_traced(bound) else bound for bound in bounds))  # says what it takes
        start, stop, step = _slice_of(*bounds)
        for bound, least in ((start, 0), (stop, 0), (step, 1)):
            if is_traced(bound):
                self.conditionals.raising.raise_unless(bound >= least, ValueError(_BOUNDS))
        return self.converted(forms.sliced)(make or (lambda: iterable), start, stop, step)

    def _is_rows(self, iterable: Any) -> bool:
        """Whether this is no iterator, so that a generator may go over it instead of what Python has."""
        return isinstance(iterable, _ROWS) and not self.generators.backend.is_eager()

    def _tested(self, plain: Any, form: Callable[..., Any], leaves: bool = False) -> Callable[[Any, Any], Any]:
        """A function of a predicate and an iterable, which ``leaves`` that before its end."""

        def derived(predicate: Any, iterable: Any) -> Any:
            given = self.taken(iterable, leaves)
            if given is None:
                return self.others[plain](predicate, iterable)
            iterable = given
            return self.converted(form)(
                self.conditionals.truth if predicate is None else self.call(predicate), iterable
            )

        return derived

    def _compress(self, data: Any, selectors: Any) -> Any:
        given = [self.taken(data), self.taken(selectors)]
        if all(each is not None for each in given) and any(map(self._is_known_at_run_time, given)):
            return self.converted(forms.compressed)(*given)
        plain = [each if made is None else made for each, made in zip((data, selectors), given, strict=True)]
        return itertools.compress(*plain)

    def _groupby(self, iterable: Any, key: Any = None) -> Any:
        given = self.taken(iterable, leaves=False)
        if given is None or not (key is not None or self._is_known_at_run_time(given)):
            return self.others[itertools.groupby](iterable if given is None else given, key)
        return self.converted(forms.grouped_rows if _has_first(given) else forms.grouped)(
            self.call(forms.same if key is None else key), given, _group
        )

    def _merge(self, *iterables: Any, key: Any = None, reverse: bool = False) -> Any:
        rows = tuple(each if (taken := self.taken(each)) is None else taken for each in iterables)
        if not all(map(self._is_rows, rows)) or not any(map(self._is_known_at_run_time, rows)):
            return heapq.merge(*rows, key=key, reverse=reverse)
        is_before = operator.gt if reverse else operator.lt
        return self.converted(forms.merged)(self.call(forms.same if key is None else key), self.call(is_before), rows)

    def _reduce(self, function: Any, iterable: Any, *initial: Any) -> Any:
        given = self.taken(iterable, leaves=False)
        if given is None or (isinstance(given, _ROWS) and not _has_open_length(given)):
            return self.others[functools.reduce](function, iterable if given is None else given, *initial)
        form = forms.reduced_from if initial else forms.reduced
        return self.converted(form)(self.call(function), given, *initial)

    def _repeat(self, *args: Any, **kwargs: Any) -> Any:
        is_traced = any(map(self.generators.backend.is_traced, (*args[1:], kwargs.get("times"))))
        return (self._repeated if is_traced else itertools.repeat)(*args, **kwargs)

    def _repeated(self, object: Any, times: Any = None) -> Any:  # noqa: A002 as Python's
        return self.converted(forms.repeated)(object, times)

    def _chain(self, *iterables: Any) -> Any:
        is_plain = all(self._generator(iterable) is None for iterable in iterables)
        return itertools.chain(*iterables) if is_plain else self.converted(forms.chained)(iterables)

    def _count(self, start: Any = 0, step: Any = 1) -> Any:
        if self.generators.backend.is_eager():
            return itertools.count(start, step)
        return self._endless(
            "count", lambda: self.converted(forms.counted)(start, step), self.advance, first=start, step=step
        )

    def _cycle(self, iterable: Any) -> Any:
        if not self._is_rows(iterable):
            return itertools.cycle(iterable)
        advance = self.advance if _has_first(iterable) else None
        return self._endless("cycle", lambda: self.converted(forms.cycled)(iterable), advance, parts=(iterable,))

    def _endless(self, kind: str, form: Callable[[], Any], advance: Any, **options: Any) -> Any:
        made = EndlessIterator(kind, form, advance, **options)
        self.generators.journal.born(made)
        return made


def _has_first(given: Any) -> bool:
    """Whether this has a first item, so that none need stand for what there is before it."""
    is_known = isinstance(given, _ROWS) and not isinstance(given, StagedRange) and not is_traced_list(given)
    return is_known and len(given) > 0


def _slice_of(*bounds: Any) -> tuple[Any, Any, Any]:
    """The first index, the one to stop at, if any, and the step, of what `itertools.islice` is given."""
    start, stop, step = (*bounds, None)[:3] if len(bounds) > 1 else (None, bounds[0], None)
    return (0 if start is None else start), stop, (1 if step is None else step)


def _is_open_range(value: Any) -> bool:
    return isinstance(value, StagedRange) and value.is_traced()


def _with_characters(args: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """The arguments, with lists of their characters for texts of traced values among the first, and for strings beside these."""
    if not any(map(is_traced_text, args[:count])):
        return args
    read = LANGUAGE.operators.texts.read
    given = [read(each).items() if is_traced_text(each) else each for each in args[:count]]
    return (*(tuple(each) if type(each) is str else each for each in given), *args[count:])


def _has_open_length(value: Any) -> bool:
    """Whether only run time knows how many rows, or items that nothing has taken, there are."""
    if isinstance(value, StagedItems):
        return value.is_fresh and any(map(_has_open_length, value.parts))
    return _is_open_range(value) or is_traced_list(value)


def _iterables_of(plain: Any, args: Sequence[Any]) -> Sequence[Any]:
    """What a function goes over: its arguments, or the items of them."""
    is_nested = plain == itertools.chain.from_iterable and args and isinstance(args[0], list | tuple)
    return [*args, *args[0]] if is_nested and not is_array_list(args[0]) else args


def _group(items: list[Any]) -> Any:
    """The items of a group, which are there once."""
    return StagedItems((items,), "filter") if is_traced_list(items) else Iterated("groupby", lambda: iter(items))


def _unknown_size(plain: Any) -> StagingError:
    return StagingError(
        f"{user_location()}\n  `{plain.__name__}` is given a traced number: how many items each tuple has must be known while tracing.\n  "
        "Pass a Python number (each value is then traced separately), or write the loops, or the recursion, over a list of indices."
    )
