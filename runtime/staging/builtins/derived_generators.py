"""`enumerate`, `zip` and similar builtins over converted generators, as generator functions that are converted in
turn.
"""

from __future__ import annotations

import builtins
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jax
import numpy as np

from autograph.runtime.containers.iterables import StagedRange
from autograph.runtime.containers.iterators import Iterated
from autograph.runtime.staging.statements.generators import Generators

# Those that nothing is derived from.
_OTHERS = tuple(made for made in vars(itertools).values() if isinstance(made, type) and hasattr(made, "__next__"))
_ROWS = (list, tuple, range, np.ndarray, jax.Array, StagedRange)
_BOUNDS = "Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize."


class DerivedGenerators:
    """The overloads of functions that take an iterable and return an iterator.

    Args:
      converted: what to call in place of a function that is to be converted.
      call: what to call in place of a function of the user's.
      truth: of `Conditionals`.
      others: the overloads for other iterables.
      raise_unless: of `Raising`.
    """

    def __init__(
        self,
        generators: Generators,
        converted: Callable[[Any], Callable[..., Any]],
        call: Callable[[Any], Any],
        truth: Callable[[Any], Any],
        others: Mapping[Any, Callable[..., Any]],
        raise_unless: Callable[[Any, Exception], None],
    ) -> None:
        self.generators = generators
        self.converted = converted
        self.call = call
        self.truth = truth
        self.others = others
        self.raise_unless = raise_unless

    def overloads(self) -> Mapping[Any, Callable[..., Any]]:
        """For each such function, one that takes a generator apart."""
        derived: dict[Any, Callable[..., Any]] = {
            builtins.enumerate: self._enumerate,
            builtins.zip: self._zip,
            builtins.map: self._map,
            builtins.filter: self._filter,
            itertools.islice: self._islice,
            itertools.takewhile: self._tested(itertools.takewhile, _taken_while, leaves=True),
            itertools.dropwhile: self._tested(itertools.dropwhile, _dropped_while),
            itertools.filterfalse: self._tested(itertools.filterfalse, _filtered_false),
            itertools.starmap: self._starmap,
            itertools.accumulate: self._accumulate,
            itertools.pairwise: self._pairwise,
            itertools.chain: self._chain,
            itertools.count: self._count,
        }
        others: dict[Any, Callable[..., Any]] = {made: made for made in _OTHERS}
        return {plain: self._known(plain.__name__, overload) for plain, overload in (others | derived).items()}

    def _known(self, kind: str, overload: Callable[..., Any]) -> Callable[..., Any]:
        """The overload, such that an iterator of Python's that it returns knows where it is advanced."""

        def call(*args: Any, **kwargs: Any) -> Any:
            found = overload(*args, **kwargs)
            is_plain = type(found).__module__ == "itertools" and not self.generators.backend.is_eager()
            return Iterated(kind, lambda: found) if is_plain else found

        return call

    def _enumerate(self, iterable: Any, start: Any = 0) -> Any:
        if self.generators.source_of(iterable) is None:
            return self.others[builtins.enumerate](iterable, start)
        return self.converted(_enumerated)(iterable, start)

    def _zip(self, *iterables: Any, strict: bool = False) -> Any:
        places = [k for k, iterable in enumerate(iterables) if self.generators.is_done_with(iterable)]
        rest = [iterable for k, iterable in enumerate(iterables) if k not in places]
        if len(places) != 1 or strict or not all(isinstance(iterable, _ROWS) for iterable in rest):
            return self.others[builtins.zip](*iterables, strict=strict)
        (k,) = places
        return self.converted(_zipped)(iterables[:k], iterables[k], iterables[k + 1 :])

    def _map(self, function: Any, *iterables: Any) -> Any:
        if len(iterables) != 1 or self.generators.source_of(iterables[0]) is None:
            return self.others[builtins.map](function, *iterables)
        return self.converted(_mapped)(self.call(function), iterables[0])

    def _filter(self, function: Any, iterable: Any) -> Any:
        if self.generators.source_of(iterable) is None:
            return self.others[builtins.filter](function, iterable)
        return self.converted(_filtered)(self.truth if function is None else self.call(function), iterable)

    def _islice(self, iterable: Any, *bounds: Any) -> Any:
        is_traced = self.generators.backend.is_traced
        # A generator whose loop a traced bound skips is none of that loop's block.
        is_given = self._is_rows(iterable) if any(map(is_traced, bounds)) else self.generators.is_done_with(iterable)
        if not bounds or len(bounds) > 3 or not is_given:
            return itertools.islice(
                iterable, *(operator.index(bound) if is_traced(bound) else bound for bound in bounds)
            )
        itertools.islice((), *(1 if is_traced(bound) else bound for bound in bounds))  # says what it takes
        start, stop, step = (*bounds, None)[:3] if len(bounds) > 1 else (None, bounds[0], None)
        for bound, least in ((start, 0), (stop, 0), (step, 1)):
            if is_traced(bound):
                self.raise_unless(bound >= least, ValueError(_BOUNDS))
        return self.converted(_sliced)(iterable, 0 if start is None else start, stop, 1 if step is None else step)

    def _is_rows(self, iterable: Any) -> bool:
        """Whether this is no iterator, so that a generator may go over it instead of what Python has."""
        return isinstance(iterable, _ROWS) and not self.generators.backend.is_eager()

    def _tested(self, plain: Any, form: Callable[..., Any], leaves: bool = False) -> Callable[[Any, Any], Any]:
        """A function of a predicate and an iterable, which ``leaves`` that before its end."""

        def derived(predicate: Any, iterable: Any) -> Any:
            found = self.generators.is_done_with if leaves else self.generators.source_of
            if not (found(iterable) or self._is_rows(iterable)):
                return self.others[plain](predicate, iterable)
            return self.converted(form)(self.truth if predicate is None else self.call(predicate), iterable)

        return derived

    def _starmap(self, function: Any, iterable: Any) -> Any:
        if self.generators.source_of(iterable) is None:
            return self.others[itertools.starmap](function, iterable)
        return self.converted(_mapped_apart)(self.call(function), iterable)

    def _accumulate(self, iterable: Any, func: Any = operator.add, *, initial: Any = None) -> Any:
        if self.generators.source_of(iterable) is None:
            return self.others[itertools.accumulate](iterable, func, initial=initial)
        form = _accumulated if initial is None else _accumulated_from
        return self.converted(form)(iterable, self.call(operator.add if func is None else func), initial)

    def _pairwise(self, iterable: Any) -> Any:
        if self.generators.source_of(iterable) is None:
            return itertools.pairwise(iterable)
        return self.converted(_paired)(iterable)

    def _chain(self, *iterables: Any) -> Any:
        if all(self.generators.source_of(iterable) is None for iterable in iterables):
            return itertools.chain(*iterables)
        return self.converted(_chained)(iterables)

    def _count(self, start: Any = 0, step: Any = 1) -> Any:
        if self.generators.backend.is_eager():
            return itertools.count(start, step)
        return self.converted(_counted)(start, step)


def _counted(start: Any, step: Any) -> Iterator[Any]:
    number = start
    while True:
        yield number
        number += step


def _enumerated(iterable: Iterable[Any], start: Any) -> Iterator[Any]:
    count = start
    for item in iterable:
        yield count, item
        count += 1


def _zipped(before: tuple[Any, ...], iterable: Iterable[Any], after: tuple[Any, ...]) -> Iterator[Any]:
    count = 0
    if before and count >= min([len(rows) for rows in before]):
        return
    for item in iterable:
        if after and count >= min([len(rows) for rows in after]):
            return
        yield (*[rows[count] for rows in before], item, *[rows[count] for rows in after])
        count += 1
        if before and count >= min([len(rows) for rows in before]):
            return


def _mapped(function: Callable[[Any], Any], iterable: Iterable[Any]) -> Iterator[Any]:
    for item in iterable:
        yield function(item)


def _filtered(function: Callable[[Any], Any], iterable: Iterable[Any]) -> Iterator[Any]:
    for item in iterable:
        if function(item):
            yield item


def _sliced(iterable: Iterable[Any], start: int, stop: int | None, step: int) -> Iterator[Any]:
    count, wanted = 0, start
    last = None if stop is None else max(start, stop)
    if last == 0:
        return
    for item in iterable:
        if count == wanted and (stop is None or count < stop):
            yield item
            wanted += step
        count += 1  # noqa: SIM113 -- `enumerate` would be another generator in between
        if last is not None and count >= last:
            return


def _taken_while(predicate: Callable[[Any], Any], iterable: Iterable[Any]) -> Iterator[Any]:
    for item in iterable:
        if not predicate(item):
            return
        yield item


def _dropped_while(predicate: Callable[[Any], Any], iterable: Iterable[Any]) -> Iterator[Any]:
    dropping = True
    for item in iterable:
        if dropping:
            dropping = predicate(item)
        if not dropping:
            yield item


def _filtered_false(predicate: Callable[[Any], Any], iterable: Iterable[Any]) -> Iterator[Any]:
    for item in iterable:
        if not predicate(item):
            yield item


def _mapped_apart(function: Callable[..., Any], iterable: Iterable[Any]) -> Iterator[Any]:
    for item in iterable:
        yield function(*item)


def _accumulated(iterable: Iterable[Any], function: Callable[[Any, Any], Any], initial: None) -> Iterator[Any]:
    total = None
    is_first = True
    for item in iterable:
        if is_first:
            total = item
            is_first = False
        else:
            total = function(total, item)
        yield total


def _accumulated_from(iterable: Iterable[Any], function: Callable[[Any, Any], Any], initial: Any) -> Iterator[Any]:
    total = initial
    yield total
    for item in iterable:
        total = function(total, item)
        yield total


def _paired(iterable: Iterable[Any]) -> Iterator[Any]:
    last = None
    is_first = True
    for item in iterable:
        if not is_first:
            yield last, item
        last = item
        is_first = False


def _chained(iterables: tuple[Any, ...]) -> Iterator[Any]:
    for each in iterables:
        yield from each
