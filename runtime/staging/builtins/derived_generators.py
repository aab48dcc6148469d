"""`enumerate`, `zip` and similar builtins over converted generators, as generator functions that are converted in
turn.
"""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jax
import numpy as np

from autograph.runtime.containers.iterables import StagedRange
from autograph.runtime.staging.statements.generators import Generators

_ROWS = (list, tuple, range, np.ndarray, jax.Array, StagedRange)


class DerivedGenerators:
    """The overloads of functions that take an iterable and give an iterator.

    Args:
      converted: what to call in place of a function that is to be converted.
      call: what to call in place of a function of the user's.
      truth: of `Conditionals`.
      others: the overloads for other iterables.
    """

    def __init__(
        self,
        generators: Generators,
        converted: Callable[[Any], Callable[..., Any]],
        call: Callable[[Any], Any],
        truth: Callable[[Any], Any],
        others: Mapping[Any, Callable[..., Any]],
    ) -> None:
        self.generators = generators
        self.converted = converted
        self.call = call
        self.truth = truth
        self.others = others

    def overloads(self) -> Mapping[Any, Callable[..., Any]]:
        """For each such function, one that takes a generator apart."""
        return {
            builtins.enumerate: self._enumerate,
            builtins.zip: self._zip,
            builtins.map: self._map,
            builtins.filter: self._filter,
            itertools.islice: self._islice,
            itertools.takewhile: self._takewhile,
            itertools.chain: self._chain,
            itertools.count: self._count,
        }

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
        if not bounds or len(bounds) > 3 or not self.generators.is_done_with(iterable):
            return itertools.islice(iterable, *bounds)
        itertools.islice((), *bounds)  # says what it takes
        start, stop, step = (*bounds, None)[:3] if len(bounds) > 1 else (None, bounds[0], None)
        return self.converted(_sliced)(iterable, start or 0, stop, step or 1)

    def _takewhile(self, predicate: Any, iterable: Any) -> Any:
        if not self.generators.is_done_with(iterable):
            return self.others[itertools.takewhile](predicate, iterable)
        return self.converted(_taken_while)(self.call(predicate), iterable)

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


def _chained(iterables: tuple[Any, ...]) -> Iterator[Any]:
    for each in iterables:
        yield from each
