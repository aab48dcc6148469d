"""What functions such as `zip` and `itertools.accumulate` do, as generator functions that are converted in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from autograph.runtime.layouts.optional import used


def counted(start: Any, step: Any) -> Iterator[Any]:
    number = start
    while True:
        yield number
        number += step


def enumerated(iterable: Iterable[Any], start: Any) -> Iterator[Any]:
    count = start
    for item in iterable:
        yield count, item
        count += 1


def zipped(before: tuple[Any, ...], iterable: Iterable[Any], after: tuple[Any, ...]) -> Iterator[Any]:
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


def mapped(function: Callable[[Any], Any], iterable: Iterable[Any]) -> Iterator[Any]:
    for item in iterable:
        yield function(item)


def filtered(function: Callable[[Any], Any], iterable: Iterable[Any]) -> Iterator[Any]:
    for item in iterable:
        if function(item):
            yield item


def sliced(make: Callable[[], Iterable[Any]], start: int, stop: int | None, step: int) -> Iterator[Any]:
    """The iterator is made where the first item is needed, by the block that advances it."""
    count, wanted = 0, start
    last = None if stop is None else max(start, stop)
    if last == 0:
        return
    for item in make():
        if count == wanted and (stop is None or count < stop):
            yield item
            wanted += step
        count += 1  # noqa: SIM113 -- `enumerate` would be another generator in between
        if last is not None and count >= last:
            return


def taken_while(predicate: Callable[[Any], Any], iterable: Iterable[Any]) -> Iterator[Any]:
    for item in iterable:
        if not predicate(item):
            return
        yield item


def dropped_while(predicate: Callable[[Any], Any], iterable: Iterable[Any]) -> Iterator[Any]:
    dropping = True
    for item in iterable:
        if dropping:
            dropping = predicate(item)
        if not dropping:
            yield item


def filtered_false(predicate: Callable[[Any], Any], iterable: Iterable[Any]) -> Iterator[Any]:
    for item in iterable:
        if not predicate(item):
            yield item


def mapped_apart(function: Callable[..., Any], iterable: Iterable[Any]) -> Iterator[Any]:
    for item in iterable:
        yield function(*item)


def accumulated(iterable: Iterable[Any], function: Callable[[Any, Any], Any], initial: None) -> Iterator[Any]:
    total = None
    is_first = True
    for item in iterable:
        if is_first:
            total = item
            is_first = False
        else:
            total = function(used(total), item)
        yield total


def accumulated_from(iterable: Iterable[Any], function: Callable[[Any, Any], Any], initial: Any) -> Iterator[Any]:
    total = initial
    yield total
    for item in iterable:
        total = function(total, item)
        yield total


def paired(iterable: Iterable[Any]) -> Iterator[Any]:
    last = None
    is_first = True
    for item in iterable:
        if not is_first:
            yield last, item
        last = item
        is_first = False


def batched(iterable: Iterable[Any], n: int, strict: bool) -> Iterator[Any]:
    batch: list[Any] = []
    for item in iterable:
        batch.append(item)
        if len(batch) == n:
            yield tuple(batch)
            batch = []
    if batch:
        if strict:
            raise ValueError("batched(): incomplete batch")
        yield tuple(batch)


def crossed(before: Iterable[Any], rows: Any) -> Iterator[Any]:
    """The tuples ``before``, each with each row at its end."""
    for items in before:
        for row in rows:
            yield (*items, row)


def one_each(rows: Any) -> Iterator[Any]:
    for row in rows:
        yield (row,)


def one_each_placed(rows: Any) -> Iterator[Any]:
    for k in range(len(rows)):
        yield (rows[k],), (k,)


def combined(before: Iterable[Any], rows: Any) -> Iterator[Any]:
    """The tuples ``before``, which come with the places of their items, each with each row after its last."""
    for items, places in before:
        for k in range(places[-1] + 1, len(rows)):
            yield (*items, rows[k]), (*places, k)


def permuted(before: Iterable[Any], rows: Any) -> Iterator[Any]:
    """The tuples ``before``, which come with the places of their items, each with each row that it lacks."""
    for items, places in before:
        for k in range(len(rows)):
            if all([k != place for place in places]):
                yield (*items, rows[k]), (*places, k)


def without_places(placed: Iterable[Any]) -> Iterator[Any]:
    for items, _ in placed:
        yield items


def side_by_side_to_the_longest(rows: tuple[Any, ...], fill: Any) -> Iterator[Any]:
    for k in range(max([len(each) for each in rows])):
        yield (*[each[k] if k < len(each) else fill for each in rows],)


def chained(iterables: tuple[Any, ...]) -> Iterator[Any]:
    for each in iterables:
        yield from each


def repeated(value: Any, times: Any) -> Iterator[Any]:
    if times is None:
        while True:
            yield value
    for _ in range(times):
        yield value


def cycled(rows: Any) -> Iterator[Any]:
    count, k = len(rows), 0
    if count == 0:
        return
    while True:
        yield rows[k]
        k = (k + 1) % count


def side_by_side(rows: tuple[Any, ...]) -> Iterator[Any]:
    for k in range(min([len(each) for each in rows])):
        yield (*[each[k] for each in rows],)


def compressed(data: Iterable[Any], selectors: Iterable[Any]) -> Iterator[Any]:
    for item, is_kept in zip(data, selectors):  # noqa: B905 -- the shorter one ends it
        if is_kept:
            yield item


def grouped_rows(key: Callable[[Any], Any], rows: Any, as_group: Callable[[list[Any]], Any]) -> Iterator[Any]:
    group = [rows[0]]
    last = key(rows[0])
    for item in rows[1:]:
        new = key(item)
        if new != last:
            yield last, as_group(group)
            group = []
        group.append(item)
        last = new
    yield last, as_group(group)


def grouped(key: Callable[[Any], Any], iterable: Iterable[Any], as_group: Callable[[list[Any]], Any]) -> Iterator[Any]:
    group: list[Any] = []
    last = None
    is_first = True
    for item in iterable:
        new = key(item)
        if not is_first and new != last:
            yield last, as_group(group)
            group = []
        group.append(item)
        last = new
        is_first = False
    if not is_first:
        yield last, as_group(group)


def merged(key: Callable[[Any], Any], is_before: Callable[[Any, Any], Any], rows: tuple[Any, ...]) -> Iterator[Any]:
    places = [0 for _ in rows]
    for _ in range(sum([len(row) for row in rows])):
        item, first, found = None, None, -1
        for k, row in enumerate(rows):
            if places[k] < len(row):
                other = row[places[k]]
                if found < 0 or is_before(key(other), used(first)):
                    item, first, found = other, key(other), k
        places[found] += 1
        yield used(item)


def reduced_from(function: Callable[[Any, Any], Any], iterable: Iterable[Any], initial: Any) -> Any:
    total = initial
    for item in iterable:
        total = function(total, item)
    return total


def reduced(function: Callable[[Any, Any], Any], iterable: Iterable[Any]) -> Any:
    total = None
    is_first = True
    for item in iterable:
        if is_first:
            total = item
            is_first = False
        else:
            total = function(used(total), item)
    if is_first:
        raise TypeError("reduce() of empty iterable with no initial value")
    return total


def same(item: Any) -> Any:
    return item
