"""Functions of `math` and `statistics` over iterables and whole numbers, as Python functions that are converted in turn."""

from __future__ import annotations

import enum
import functools
import math
import operator
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping, ValuesView
from typing import Any

import jax.numpy as jnp

from autograph.backends.base import Backend
from autograph.runtime.containers.iterators import SequenceIterator
from autograph.runtime.containers.traced_lists import is_traced_list
from autograph.runtime.effects.raising import meets_handler
from autograph.runtime.effects.staged_raises import Raising
from autograph.runtime.layouts.optional import possible_values
from autograph.runtime.layouts.statement_variables import holds_traced
from autograph.runtime.staging.access.user_methods import has_own_operator, is_indexed
from autograph.runtime.staging.builtins.reductions import Generator

Check = Callable[[Any, type[Exception], str], None]
"""Raises an exception of this class and text where a condition is false."""


class LibraryFunctions:
    """The overloads of such functions, for arguments with traced values in them.

    Args:
      convert: makes the converted form of a function.
      takes_apart: tells whether something is a generator of converted code.
    """

    def __init__(
        self,
        backend: Backend,
        convert: Callable[[Any], Callable[..., Any]],
        takes_apart: Callable[[Any], Any],
        raising: Raising,
    ) -> None:
        self._backend = backend
        self._convert = convert
        self._takes_apart = takes_apart
        self._raising = raising

    def overloads(self, others: Mapping[Any, Callable[..., Any]]) -> Mapping[Any, Callable[..., Any]]:
        """For each function of `math`, one that takes traced values; ``others`` holds those that take arrays only."""
        found = {plain: self._overload(plain, twin) for plain, twin in _OF_MATH.items()}
        return {**found, math.fsum: self._fsum(others[math.fsum])}

    def instead_of(self, called: types.FunctionType) -> Callable[..., Any] | None:
        """What to call in place of a function of `statistics`; None for any other."""
        known = sys.modules.get("statistics")
        twin = _OF_STATISTICS.get(called.__name__)
        if known is None or twin is None or getattr(known, called.__name__, None) is not called:
            return None
        return self._overload(called, twin, error=known.StatisticsError, name=called.__name__)

    def stepped(self, step: Callable[[Any], Any], iterator: Any, default: Any) -> Any:
        """``next(iterator, default)``, of an iterator that ``step`` advances."""
        return self._convert(_stepped)(step, iterator, default)

    def member(self, kind: type[enum.Enum], value: Any) -> Any:
        """``kind(value)``, of the members of an enum."""
        if all(isinstance(each, kind) for each in possible_values(value)):
            return value
        return self._convert(_member)(kind, value)

    def has_attribute(self, value: Any, name: str) -> Any:
        """``hasattr(value, name)`` of a property, which may raise."""
        return self._convert(_has_attribute)(value, name)

    def items_from(self, items: Any, start: Any) -> Any:
        """``items[start:]``."""
        return self._convert(_items_from)(items, start)

    def most_common(self, counts: Any, n: Any = None) -> Any:
        """``counts.most_common(n)``, of a `collections.Counter` whose counts are traced."""
        return self._convert(_most_common)(counts, n)

    def elements(self, counts: Any) -> Any:
        """``counts.elements()``, of a `collections.Counter` whose counts are traced: a list."""
        return self._convert(_elements)(counts)

    def counted(self, counts: Any, given: Any = None, /, **named: Any) -> None:
        """``counts.update(given, **named)``, of a `collections.Counter` where paths differ in which keys there are."""
        for each in (given, named):
            self._convert(_counted)(counts, each)

    def getting(self, getter: Any) -> Callable[[Any], Any]:
        """What to call in place of an `operator.attrgetter`, `itemgetter` or `methodcaller`, so that the user's methods are converted."""
        made, args = getter.__reduce__()
        twin = self._convert(_GETTERS[type(getter)])
        if type(getter) is operator.methodcaller:
            kwargs: Mapping[str, Any] = {}
            if isinstance(made, functools.partial):  # it has keywords
                args, kwargs = (*made.args, *args), made.keywords
            return functools.partial(twin, args, kwargs)
        if len(args) == 1:
            return functools.partial(twin, args[0])
        return lambda value, /: tuple([twin(each, value) for each in args])

    def numbered(self, items: Any, start: Any) -> Any:
        """``list(enumerate(items, start))``."""
        return self._convert(_numbered)(items, start)

    def advanced(self, iterator: SequenceIterator) -> Any:
        """``next(iterator)`` where only run time knows whether there is an item."""
        return self._convert(_advanced)(iterator)

    def remaining(self, iterator: Any) -> Any:
        """A generator of the items that are left, each of which advances the iterator, which is one of the user's if it has no
        position; or of the items of a user's sequence."""
        if isinstance(iterator, SequenceIterator):
            return self._convert(_remaining)(iterator)
        return self._convert(_by_index if is_indexed(type(iterator)) else _of_steps)(iterator)

    def _overload(self, plain: Any, twin: Any, **options: Any) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if self._backend.is_eager():
                return plain(*args, **kwargs)
            args = tuple(map(self._listed, args))
            given = (*args, *kwargs.values())
            is_users = twin is _prod and any(map(_is_multiplied_by_user, given))
            if not is_users and not any(is_traced_list(each) or holds_traced(each) for each in given):
                return plain(*args, **kwargs)
            for each in given if twin in _OF_INTEGERS else ():
                if each is not None and jnp.result_type(each).kind not in "iub":
                    raise TypeError("'float' object cannot be interpreted as an integer")
            return self._convert(twin)(self._check, *args, **options, **kwargs)

        return functools.update_wrapper(call, plain, assigned=("__name__", "__qualname__", "__doc__"), updated=())

    def _listed(self, values: Any) -> Any:
        """The items of an iterator, anything else as it is."""
        is_iterator = isinstance(values, Iterator | Generator) or self._takes_apart(values) is not None
        return self._convert(_listed)(values) if is_iterator else values

    def _fsum(self, of_arrays: Callable[..., Any]) -> Callable[..., Any]:
        def fsum(values: Any) -> Any:
            values = values if self._backend.is_eager() else self._listed(values)
            if not is_traced_list(values) and not holds_traced(values):
                return of_arrays(values)
            total = self._convert(_total)(values) if is_traced_list(values) else of_arrays(values)
            for kind, is_right, text in (
                (ValueError, _are_no_opposites, "-inf + inf in fsum"),
                (OverflowError, _is_in_range, "intermediate overflow in fsum"),
            ):
                if meets_handler(kind):  # elsewhere the number tells, as for every function of `math`
                    self._raising.raise_unless(self._convert(is_right)(values, total), kind(text))
            return total

        return fsum

    def _check(self, condition: Any, kind: type[Exception], text: str) -> None:
        if not self._backend.is_traced(condition):
            if not condition:
                raise kind(text)
        elif self._raising.can_raise_later(kind):
            self._raising.raise_unless(condition, kind(text))


_NO_FACTORIAL = "factorial() not defined for negative values"


def _listed(values: Any) -> list[Any]:
    return list(values)


def _stepped(step: Callable[[Any], Any], iterator: Any, default: Any) -> Any:
    try:
        return step(iterator)
    except StopIteration:
        return default


def _member(kind: type[enum.Enum], value: Any) -> Any:
    for each in kind:
        if value == each.value:
            return each
    raise ValueError(f"{value!r} is not a valid {kind.__qualname__}")


def _has_attribute(value: Any, name: str) -> bool:
    try:
        getattr(value, name)
    except AttributeError:
        return False
    return True


def _attribute(names: str, value: Any, /) -> Any:
    for name in names.split("."):
        value = getattr(value, name)
    return value


def _item(key: Any, value: Any, /) -> Any:
    return value[key]


def _call_of_method(given: tuple[Any, ...], named: Mapping[str, Any], value: Any, /) -> Any:
    name, *args = given
    return getattr(value, name)(*args, **named)


def _advanced(iterator: SequenceIterator) -> Any:
    position = iterator.position
    if iterator.is_ended or iterator.is_over(position):
        iterator.is_ended = True
        raise StopIteration
    iterator.position = iterator.following(position)
    return iterator.item(position)


def _remaining(iterator: SequenceIterator) -> Iterator[Any]:
    while not (iterator.is_ended or iterator.is_over(iterator.position)):
        position = iterator.position
        iterator.position = iterator.following(position)
        yield iterator.item(position)
    iterator.is_ended = True


def _of_steps(iterable: Any) -> Iterator[Any]:
    iterator = iterable.__iter__()
    while True:
        try:
            item = iterator.__next__()
        except StopIteration:
            return
        yield item


def _by_index(items: Any) -> Iterator[Any]:
    index = 0
    while True:
        try:
            item = items.__getitem__(index)
        except IndexError:
            return
        yield item
        index += 1


def _items_from(items: Any, start: Any) -> Any:
    return items[start:]


def _numbered(items: Any, start: Any) -> Any:
    return [(start + k, item) for k, item in enumerate(items)]


def _most_common(counts: Any, n: Any) -> Any:
    items = sorted(counts.items(), key=lambda item: item[1], reverse=True)
    return items if n is None else items[: max(n, 0)]


def _elements(counts: Any) -> Any:
    found = []
    for key, count in counts.items():
        for _ in range(count):
            found.append(key)
    return found


def _counted(counts: Any, given: Any) -> None:
    if isinstance(given, Mapping):
        for key, count in given.items():
            counts[key] = count + counts.get(key, 0)
    elif given is not None:
        for key in given:
            counts[key] = counts.get(key, 0) + 1


def _total(values: Any) -> Any:
    return sum(values, 0.0)


def _are_no_opposites(values: Any, total: Any) -> Any:
    return not (any(value == math.inf for value in values) and any(value == -math.inf for value in values))


def _is_in_range(values: Any, total: Any) -> Any:
    return math.isfinite(total) or not all(math.isfinite(value) for value in values)


def _is_multiplied_by_user(value: Any) -> bool:
    """Whether a user's class says what a product of this is, or of the items of this."""
    if is_traced_list(value):  # which is gone through by the program in any case
        return False
    items = value if isinstance(value, list | tuple | set | frozenset | deque | ValuesView) else (value,)
    return any(has_own_operator(item, "mul") for item in items)


def _prod(check: Check, values: Any, /, *, start: Any = 1) -> Any:
    for value in values:
        start = operator.mul(start, value)  # a call asks users' classes, where `*` does so in files that have some
    return start


def _factorial(check: Check, n: Any, /) -> Any:
    check(n >= 0, ValueError, _NO_FACTORIAL)
    result = 1
    for k in range(2, n + 1):
        result *= k
    return result


def _perm(check: Check, n: Any, k: Any = None, /) -> Any:
    check(n >= 0, ValueError, "n must be a non-negative integer" if k is not None else _NO_FACTORIAL)
    k = n if k is None else k
    check(k >= 0, ValueError, "k must be a non-negative integer")
    result = 1
    for i in range(k):
        result *= n - i
    return result if k <= n else 0


def _comb(check: Check, n: Any, k: Any, /) -> Any:
    check(n >= 0, ValueError, "n must be a non-negative integer")
    check(k >= 0, ValueError, "k must be a non-negative integer")
    result = 1
    for i in range(min(k, n - k)):
        result = result * (n - i) // (i + 1)
    return result if k <= n else 0


def _mean(check: Check, data: Any, weights: Any = None, *, error: Any, name: str) -> Any:
    values = list(data)
    if weights is not None:
        weights = list(weights)
        check(len(values) == len(weights), error, "data and weights must be the same length")
        return sum([value * weight for value, weight in zip(values, weights)]) / sum(weights)  # noqa: B905 (just checked)
    check(len(values) >= 1, error, f"{name} requires at least one data point")
    return sum(values) / len(values)


def _median(check: Check, data: Any, *, error: Any, name: str) -> Any:
    values = sorted(data)
    n = len(values)
    check(n >= 1, error, "no median for empty data")
    if name == "median_low":
        return values[(n - 1) // 2]
    if name == "median_high" or n % 2 == 1:
        return values[n // 2]
    return (values[n // 2 - 1] + values[n // 2]) / 2


def _variance(check: Check, data: Any, xbar: Any = None, mu: Any = None, *, error: Any, name: str) -> Any:
    values = list(data)
    n = len(values)
    if name in ("variance", "stdev"):
        check(n >= 2, error, f"{name} requires at least two data points")
    else:
        check(n >= 1, error, f"{name} requires at least one data point")
    center = mu if xbar is None else xbar
    mean = sum(values) / n if center is None else center
    squares = sum([(value - mean) ** 2 for value in values])
    variance = squares / (n - 1) if name in ("variance", "stdev") else squares / n
    return math.sqrt(variance) if name in ("stdev", "pstdev") else variance


def _mode(check: Check, data: Any, *, error: Any, name: str) -> Any:
    values = list(data)
    check(len(values) >= 1, error, "no mode for empty data")
    counts = [max(values.count(value), 1) for value in values]  # NaN, which equals nothing, is there once
    return values[counts.index(max(counts))]


def _multimode(check: Check, data: Any, *, error: Any, name: str) -> Any:
    values = list(data)
    counts = [max(values.count(value), 1) for value in values]  # NaN, which equals nothing, is there once
    most = max(counts, default=0)
    return [value for k, value in enumerate(values) if counts[k] == most and value not in values[:k]]


_ONE_VALUE_HAS_QUANTILES = sys.version_info >= (3, 13)


def _quantiles(check: Check, data: Any, *, n: Any = 4, method: str = "exclusive", error: Any, name: str) -> Any:
    check(n >= 1, error, "n must be at least 1")
    values = sorted(data)
    size = len(values)
    if _ONE_VALUE_HAS_QUANTILES:
        check(size >= 1, error, "must have at least one data point")
        if size == 1:
            return [values[0]] * (n - 1)
    else:
        check(size >= 2, error, "must have at least two data points")
    if method not in ("exclusive", "inclusive"):
        raise ValueError(f"Unknown method: {method!r}")
    found = []
    for i in range(1, n):
        if method == "inclusive":
            place = i * (size - 1)
            j = place // n
        else:
            place = i * (size + 1) - n
            j = min(max(place // n, 0), size - 2)
        part = place - j * n
        found.append((values[j] * (n - part) + values[j + 1] * part) / n)
    return found


def _harmonic_mean(check: Check, data: Any, weights: Any = None, *, error: Any, name: str) -> Any:
    values = list(data)
    check(len(values) >= 1, error, "harmonic_mean requires at least one data point")
    weights = [1 for _ in values] if weights is None else list(weights)
    check(len(values) == len(weights), error, "Number of weights does not match data size")
    none_below = all(value >= 0 for value in values) and all(weight >= 0 for weight in weights)
    check(none_below, error, "harmonic mean does not support negative values")
    total = 0.0
    for k in range(len(values)):
        if weights[k] != 0:
            if values[k] == 0:
                return 0.0
            total += weights[k] / values[k]
    return sum(weights) / total


_OF_MATH: Mapping[Any, Callable[..., Any]] = types.MappingProxyType(
    {math.prod: _prod, math.factorial: _factorial, math.perm: _perm, math.comb: _comb}
)
_GETTERS: Mapping[Any, Callable[..., Any]] = types.MappingProxyType(
    {operator.attrgetter: _attribute, operator.itemgetter: _item, operator.methodcaller: _call_of_method}
)
_OF_INTEGERS = (_factorial, _perm, _comb)
_OF_STATISTICS: Mapping[str, Callable[..., Any]] = types.MappingProxyType(
    dict.fromkeys(("mean", "fmean"), _mean)
    | dict.fromkeys(("median", "median_low", "median_high"), _median)
    | dict.fromkeys(("variance", "pvariance", "stdev", "pstdev"), _variance)
    | {"mode": _mode, "multimode": _multimode, "quantiles": _quantiles, "harmonic_mean": _harmonic_mean}
)


def is_getter(called: Any) -> bool:
    """Whether this is an `operator.attrgetter`, `itemgetter` or `methodcaller`."""
    kind = type(called)
    return any(kind is each for each in _GETTERS)
