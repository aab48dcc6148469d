"""Describe what a staged ``for`` iterates over: a length, arrays to slice, and how a slice becomes an item."""

from __future__ import annotations

import builtins
import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Backend, LeafType
from autograph.backends.selected import STAGING
from autograph.runtime.containers.extents import Extent
from autograph.runtime.containers.iterators import Iterated, SequenceIterator
from autograph.runtime.containers.keyed_lists import KeyedList
from autograph.runtime.containers.padded import Padded
from autograph.runtime.containers.padded_arrays import is_open_array
from autograph.runtime.containers.sizes import is_size, is_symbolic_size, may_be_zero, shorter
from autograph.runtime.containers.traced_lists import TracedList, is_array_list, is_traced_list
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.statement_variables import value_of
from autograph.runtime.state.chosen_arrays import place_of
from autograph.runtime.state.given_arrays import is_given
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location

# A loop in Python of more iterations is rolled if that can be done, and warned of if not.
UNROLLED_AT_MOST = 64


@dataclass(frozen=True)
class GoneOver:
    """A list that a loop goes over.

    Attributes:
      items: the list.
      live: makes what the loop goes over of the items as the list has them when their iterations begin, and not as it had them before
        the loop; it takes what returns the list then. None if these are taken already.
      is_own: whether the items are taken so as long as the list itself is what is written.
    """

    items: TracedList
    live: Callable[[Callable[[], TracedList]], StagedIterable] | None = None
    is_own: bool = False

    def within(self, change: Callable[[StagedIterable], StagedIterable]) -> GoneOver:
        """The same list, of what ``change`` makes of what goes over it."""
        live = self.live
        return self if live is None else dataclasses.replace(self, live=lambda now: change(live(now)))


@dataclass(frozen=True)
class StagedIterable:
    """A sequence whose items are made inside the staged loop.

    Attributes:
      length: how many items, an int or a traced integer; None for no end.
      arrays: what each iteration gets one slice of, along the first axis.
      item: makes the item from the iteration's index and slices.
      surely: whether there is at least one item where the length is traced.
      limit: the length as a size of arrays, where it is symbolic; a bound of it, where it is traced.
      stride: the step of a range.
      extent: how long the list is that it goes over, if it is one.
      over: the lists that it goes over.
    """

    length: Any
    arrays: tuple[Any, ...]
    item: Callable[[Any, Sequence[Any]], Any]
    surely: bool = False
    limit: Any = None
    stride: Any = None
    extent: Extent | None = None
    over: tuple[GoneOver, ...] = ()

    @property
    def is_peelable(self) -> bool:
        """Whether the items after the first can be taken. JAX cannot tell of arrays of a symbolic size less one if they have any."""
        return not (self.arrays and is_symbolic_size(self.length))

    def first(self) -> Any:
        """The first item."""
        return self.item(0, [array[0] for array in self.arrays])

    def one_by_one(self, count: int) -> Iterator[Any]:
        """The items, of which there are so many."""
        return (self.item(k, [array[k] for array in self.arrays]) for k in range(count))

    def rest(self) -> StagedIterable:
        """The items after the first."""
        return StagedIterable(
            self.length - 1,
            tuple(array[1:] for array in self.arrays),
            lambda index, slices: self.item(index + 1, slices),
            limit=self.limit - 1 if isinstance(self.limit, int) else None,
            over=self._over(StagedIterable.rest),
        )

    def _over(self, change: Callable[[StagedIterable], StagedIterable]) -> tuple[GoneOver, ...]:
        return tuple(each.within(change) for each in self.over)

    def reporting(self, report: Callable[[Any], None]) -> StagedIterable:
        """The same items; ``report`` is told the index of each when its iteration begins."""

        def item(index: Any, slices: Sequence[Any]) -> Any:
            report(index)
            return self.item(index, slices)

        return dataclasses.replace(self, item=item, over=self._over(lambda inner: inner.reporting(report)))

    def at_most(self, count: Any) -> StagedIterable:
        """The first ``count`` items, an int or a traced integer; None for all."""
        return self if count is None else self._at_most(count, self._over(lambda inner: inner.at_most(count)))

    def _at_most(self, count: Any, over: tuple[GoneOver, ...]) -> StagedIterable:
        if self.length is None:
            return dataclasses.replace(self, length=count, over=over)
        if isinstance(self.length, int) and isinstance(count, int):
            shorter = min(self.length, count)
            arrays = tuple(array[:shorter] for array in self.arrays)
            return dataclasses.replace(self, length=shorter, arrays=arrays, over=over)
        known = next((size for size in (count, self.length) if isinstance(size, int)), self.limit)
        return dataclasses.replace(self, length=jnp.minimum(self.length, count), limit=known, over=over)


class StagedRange:
    """`range` whose index is traced: what ``ag.range`` returns, and ``range`` of traced bounds."""

    def __init__(self, start: Any, stop: Any, step: Any, limit: Any = None) -> None:
        self.start, self.stop, self.step = start, stop, step
        self.limit = limit  # its length as a symbolic size, if it is one

    def __repr__(self) -> str:
        return f"autograph.range({self.start}, {self.stop}, {self.step})"

    def __iter__(self) -> Any:
        """Plain Python's iteration, for code that is not converted. `StagingError` if a bound is traced."""
        return iter(self._as_python())

    def __len__(self) -> int:
        return len(self._as_python())

    def __bytes__(self) -> bytes:
        return bytes(self._as_python())

    def _as_python(self) -> range:
        if self.is_traced():
            raise StagingError(
                f"{user_location()}\n  A range with traced bounds is used here where its length must be known: in code that is not "
                "converted.\n  Make a list of its items, list(range(n)), or loop over it with `for`."
            )
        return builtins.range(*(bound.__index__() for bound in (self.start, self.stop, self.step)))

    def __getitem__(self, index: Any) -> Any:
        """An item, at an index that may be traced. One out of range is clamped then, as by JAX."""
        if isinstance(index, slice) and index == slice(None, None, -1) and self.is_traced():
            return self.backward()
        if isinstance(index, slice) or not (self.is_traced() or isinstance(index, jax.core.Tracer)):
            return self._as_python()[index]
        size = self.size()
        counted = jnp.clip(jnp.where(index < 0, index + size, index), 0, size - 1)
        return _arithmetic(self.start, counted, self.step)

    def __contains__(self, item: Any) -> bool:
        return item in self._as_python()

    def __eq__(self, other: Any) -> Any:
        """Whether the other is a range of the same items: a traced truth value if a bound is traced."""
        if not isinstance(other, StagedRange | builtins.range):
            return NotImplemented
        other = to_be_staged(other)
        if not (self.is_traced() or other.is_traced()):
            return self._as_python() == other._as_python()
        size = self.size()
        is_one = (size == 1) | (self.step == other.step)
        return (size == other.size()) & ((size == 0) | ((self.start == other.start) & is_one))

    def __ne__(self, other: Any) -> Any:
        equal = self.__eq__(other)
        return (
            equal if equal is NotImplemented else jnp.logical_not(equal) if isinstance(equal, jax.Array) else not equal
        )

    __hash__ = object.__hash__

    def is_traced(self) -> bool:
        """Whether a bound is traced."""
        return any(isinstance(bound, jax.core.Tracer) for bound in (self.start, self.stop, self.step))

    def size(self) -> Any:
        """How many items there are, an int or a traced integer."""
        if not self.is_traced():
            return len(self)
        return jnp.maximum(_traced_length(self.start, self.stop, self.step), 0)

    def backward(self) -> StagedRange:
        """The range of the same items, from the last to the first."""
        start, stop, step = map(_signed, (self.start, self.stop, self.step))
        last = start + (StagedRange(start, stop, step).size() - 1) * step
        return StagedRange(last, start - step, -step, self.limit)

    def has(self, item: Any) -> Any:
        """Whether ``item`` is one of these."""
        if jnp.iscomplexobj(item):
            return (jnp.imag(item) == 0) & self.has(jnp.real(item))
        steps = item - self.start
        return (steps % self.step == 0) & (steps // self.step >= 0) & (steps // self.step < self.size())

    def count(self, item: Any) -> Any:
        """As range's."""
        return jnp.where(self.has(item), 1, 0) if self._is_asked(item) else self._as_python().count(item)

    def index(self, item: Any) -> Any:
        """As range's. Without a place the result is some index in programs that cannot raise, as that of a list's."""
        if not self._is_asked(item):
            return self._as_python().index(item)
        operators = LANGUAGE.operators
        if operators.can_raise_later(ValueError):
            error = lambda: operators.exception(  # noqa: E731
                ValueError, operators.text(lambda shown: f"{shown} is not in range", item)
            )
            operators.raise_unless(self.has(item), error)
        return (item - self.start) // self.step

    def _is_asked(self, item: Any) -> bool:
        """Whether only run time knows where an item is."""
        return self.is_traced() or isinstance(item, jax.core.Tracer)

    def total(self) -> Any:
        """The sum of all. No product is taken that wraps around where the sum does not, but for the ends'."""
        size = self.size()
        ends = 2 * self.start + (size - 1) * self.step
        return jnp.where(size % 2 == 0, size // 2 * ends, size * (ends // 2))


def make_range(*arguments: Any) -> StagedRange:
    """A `StagedRange` from the arguments of `range`. A symbolic size, which is never zero, is a traced integer here.

    Where a traced step turns out to be zero, the program raises as Python does, if it can raise.
    """
    arguments = tuple(map(value_of, arguments))
    is_known_step = len(arguments) < 3 or is_symbolic_size(arguments[2])
    limit = arguments[0] if len(arguments) == 1 and is_symbolic_size(arguments[0]) else None
    arguments = tuple(jnp.asarray(part) if is_symbolic_size(part) else part for part in arguments)
    if not 1 <= len(arguments) <= 3:
        raise TypeError(f"range expected 1 to 3 arguments, got {len(arguments)}")
    for argument in arguments:
        if not hasattr(argument, "__index__") and not hasattr(argument, "dtype"):
            raise TypeError(f"'{type(argument).__name__}' object cannot be interpreted as an integer")
        kind = getattr(getattr(argument, "dtype", None), "kind", "i")
        if kind not in "iub" or getattr(argument, "shape", ()) != ():
            raise TypeError(f"range needs integer scalars, got {argument.dtype}{list(argument.shape)}")
    start, stop, step = (0, *arguments, 1) if len(arguments) == 1 else (*arguments, 1)[:3]
    if isinstance(step, jax.core.Tracer):
        operators = LANGUAGE.operators
        may_be_zero = not is_known_step and not operators.facts.is_not_zero(step)
        if may_be_zero and operators.can_raise_later(ValueError):
            operators.raise_unless(step != 0, _no_step(), is_check=True)
    elif step.__index__() == 0:
        raise _no_step()
    bounds = (STAGING.number(bound, int) for bound in (start, stop, step))
    # With uint64, JAX does the arithmetic of signed integers in floats.
    start, stop, step = (bound.astype(int) if getattr(bound, "dtype", None) == np.uint64 else bound for bound in bounds)
    return StagedRange(start, stop, step, limit)


def _signed(bound: Any) -> Any:
    return bound.astype(int) if getattr(getattr(bound, "dtype", None), "kind", "i") == "u" else bound


def _no_step() -> ValueError:
    return ValueError("range() arg 3 must not be zero")


def is_for_loops(iterable: Any) -> bool:
    """Whether this is a dataset that only a loop of the program goes over: its elements decide how many there are, or follow from those
    before them."""
    return hasattr(type(iterable), "is_for_loops") and bool(iterable.is_for_loops)


def to_be_staged(iterable: range | StagedRange) -> StagedRange:
    """A Python `range` to be staged."""
    return StagedRange(iterable.start, iterable.stop, iterable.step)


class StagedItems(SequenceIterator):
    """Such an iterator over what stages."""

    def __init__(
        self,
        parts: tuple[Any, ...],
        kind: str,
        start: Any = 0,
        advance: Callable[[Any], Any] | None = None,
        first: Any = 0,
    ) -> None:
        super().__init__(kind, parts, advance, start, first)

    @property
    def is_open(self) -> bool:
        return super().is_open and not (self.is_fresh and self.is_of_here())

    def use_up(self, may_be_left: bool) -> None:
        super().use_up(may_be_left)
        for part in self.parts:
            if isinstance(part, Iterated):  # of which the others may be shorter
                part.use_up(may_be_left or len(self.parts) > 1)

    def as_list(self) -> Any:
        """The items, if they are those of a list; it has used them then. None else."""
        (first, *rest) = self.parts
        if rest or self.kind == "enumerate" or not self.is_fresh or not isinstance(first, TracedList):
            return None
        self.use_up(False)
        return first.as_list()[::-1] if self.kind == "reversed" else first.as_list()


def listed(iterable: Any) -> Any:
    """``iterable``, or the list or range whose items it has, which are used then."""
    found = iterable.as_list() if isinstance(iterable, StagedItems) else None
    return as_range(iterable, may_be_left=False) if found is None else found


def as_range(iterable: Any, may_be_left: bool) -> Any:
    """``iterable``, or the range of the items that it has left, which are used then: of ``reversed(range(n))``.

    ``may_be_left``: what goes over them may end before they do.
    """
    if not isinstance(iterable, SequenceIterator) or iterable.kind not in ("iter", "reversed"):
        return iterable
    (items,) = iterable.parts
    is_backward, is_range = iterable.kind == "reversed", isinstance(items, range)
    is_advanced_here = is_range and iterable.has_position and iterable.is_known()
    can_be = isinstance(items, range | StagedRange) and (iterable.is_fresh or is_advanced_here)
    if not can_be or not iterable.is_of_here():
        return iterable
    position, is_over = iterable.position, is_range and (iterable.is_ended or iterable.is_over(iterable.position))
    iterable.use_up(may_be_left)
    if not is_range:
        return items.backward() if is_backward else items
    return items[:0] if is_over else items[position :: -1 if is_backward else 1]


def share_an_iterator(iterables: Sequence[Any]) -> bool:
    """Whether an iterator is more than one of these, or advanced by one of them too: they have its items in turn."""
    found: list[Iterated] = []
    pending = [each for each in iterables if isinstance(each, Iterated)]
    while pending:
        each = pending.pop()
        if any(each is other for other in found):
            return True
        found.append(each)
        parts = each.parts if isinstance(each, SequenceIterator) else ()
        pending += [part for part in parts if isinstance(part, Iterated)]
    return False


def length_of(contents: Any) -> Any:
    """How long a list is that holds this: an int, or traced."""
    return contents.length if isinstance(contents, Padded) else len(contents)


def is_same_length(contents: Any, other: Any) -> bool:
    """Whether lists that hold these are as long as each other, as far as that is known."""
    one, two = map(length_of, (contents, other))
    return one is two or (isinstance(one, int) and isinstance(two, int) and one == two)


def _passes(held: Padded) -> Any:
    """How often a loop over a list that holds this runs: a list without room has no item, also where its length is traced."""
    return 0 if isinstance(held.capacity, int) and held.capacity == 0 else held.length


def _read_live(items: TracedList, now: Callable[[], TracedList]) -> StagedIterable:
    held = items.contents()
    return StagedIterable(
        _passes(held),
        (),
        lambda index, _: now().element(index),
        limit=held.capacity,
        extent=held.extent,
        over=(GoneOver(items),),
    )


def as_staged(iterable: Any, backend: Backend, force: bool = False) -> StagedIterable | None:
    """How to stage a loop over ``iterable`` here, or None if it runs in Python.

    ``force`` stages concrete ranges too.
    """
    if isinstance(iterable, StagedRange):
        return _staged_range(iterable, backend, force)
    if isinstance(iterable, StagedItems):
        return _staged_items(iterable, backend) if iterable.is_fresh else None
    if isinstance(iterable, KeyedList):
        iterable = iterable.in_order()
    if is_traced_list(iterable) or (is_array_list(iterable) and len(iterable) > UNROLLED_AT_MOST):
        iterable.note_read()
        held = iterable.contents()
        live = functools.partial(_read_live, iterable)
        if held.kind.is_mutable:  # each is an element of the list as it is then
            return dataclasses.replace(live(lambda: iterable), over=(GoneOver(iterable, live, is_own=True),))

        def item(index: Any, slices: Sequence[Any]) -> Any:
            element, elements = held.kind.build(slices), LANGUAGE.operators.identities.elements
            return elements.seen(element, iterable, index, index) if held.kind.is_watched else element

        over = (GoneOver(iterable, live),)
        return StagedIterable(_passes(held), held.buffers, item, limit=held.capacity, extent=held.extent, over=over)
    if is_open_array(iterable):
        rows = iterable.values
        return StagedIterable(iterable.length, (rows,), lambda index, slices: slices[0], limit=rows.shape[0])
    iterable = place_of(iterable)
    if is_given(iterable):
        if iterable.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return StagedIterable(iterable.shape[0], (), lambda index, _: iterable[index])
    if not backend.is_array(iterable) or not (backend.is_traced(iterable) or backend.is_tracing()):
        return None
    if iterable.ndim == 0:
        raise TypeError("iteration over a 0-d array")
    rows, size = STAGING.with_whole_rows(iterable), iterable.shape[0]
    if may_be_zero(size):  # JAX indexes no array that may have no rows
        rows, size = jnp.pad(rows, [(0, 1)] + [(0, 0)] * (rows.ndim - 1)), jnp.asarray(size)
    return StagedIterable(
        size, (rows,), lambda index, slices: slices[0], limit=None if size is iterable.shape[0] else iterable.shape[0]
    )


def _staged_range(iterable: StagedRange, backend: Backend, force: bool) -> StagedIterable | None:
    bounds = (iterable.start, iterable.stop, iterable.step)
    if not any(backend.is_traced(bound) for bound in bounds):
        if not force and not backend.is_tracing():
            return None
        start, stop, step = (bound.__index__() for bound in bounds)
        length: Any = len(builtins.range(start, stop, step))
    else:
        start, stop, step = bounds
        length = _traced_length(start, stop, step)
    return StagedIterable(
        length, (), lambda index, slices: _item(start, index, step), limit=iterable.limit, stride=step
    )


def _item(start: Any, index: Any, step: Any) -> Any:
    """The item of an iteration."""
    item = _arithmetic(start, index, step)
    if isinstance(start, int) and isinstance(step, int) and start * step > 0:  # each leads further from zero
        LANGUAGE.operators.facts.note_not_zero(item)
    return item


def _arithmetic(start: Any, index: Any, step: Any) -> Any:
    value = index if isinstance(step, int) and step == 1 else index * step
    return value if isinstance(start, int) and start == 0 else start + value


def _traced_length(start: Any, stop: Any, step: Any) -> Any:
    """How many steps lead from start to stop; negative where there is none, which ends a loop as zero does."""
    span = stop if isinstance(start, int) and start == 0 else stop - start
    if isinstance(step, int) and step == 1:
        return span
    return -(-span // step)  # rounded up, for a step of either sign


def _staged_items(iterable: StagedItems, backend: Backend) -> StagedIterable | None:
    parts = [as_staged(part, backend) for part in iterable.parts]
    if any(part is None for part in parts):
        return None
    staged = [part for part in parts if part is not None]
    if iterable.kind == "reversed":
        return _reversed(staged[0])
    if iterable.kind == "enumerate":
        return _enumerated(staged[0], iterable.start)
    return _zipped(staged) if iterable.kind == "zip" else staged[0]


def _reversed(inner: StagedIterable) -> StagedIterable:
    def item(index: Any, slices: Sequence[Any]) -> Any:
        place = inner.length - 1 - index
        return inner.item(place, slices or [array[place] for array in inner.arrays])

    # What is beyond a traced length comes last, and would be first.
    flipped = tuple(array[::-1] for array in inner.arrays) if isinstance(inner.length, int) else ()
    return dataclasses.replace(inner, arrays=flipped, item=item, over=inner._over(_reversed))


def _zipped(staged: Sequence[StagedIterable]) -> StagedIterable:
    length = functools.reduce(shorter, (part.length for part in staged))
    arrays = tuple(array[:length] if is_size(length) else array for part in staged for array in part.arrays)

    def item(index: Any, slices: Sequence[Any]) -> Any:
        values, position = [], 0
        for part in staged:
            values.append(part.item(index, slices[position : position + len(part.arrays)]))
            position += len(part.arrays)
        return tuple(values)

    def with_other(k: int) -> Callable[[StagedIterable], StagedIterable]:
        return lambda other: _zipped([*staged[:k], other, *staged[k + 1 :]])

    limits = [part.limit if is_size(part.limit) else part.length for part in staged]
    bounds = list(filter(is_size, limits))
    limit = functools.reduce(shorter, bounds) if bounds and not is_size(length) else None
    over = tuple(each.within(with_other(k)) for k, part in enumerate(staged) for each in part.over)
    return StagedIterable(length, arrays, item, limit=limit, over=over)


def _enumerated(inner: StagedIterable, start: Any) -> StagedIterable:
    return dataclasses.replace(
        inner,
        item=lambda index, slices: (_item(start, index, 1), inner.item(index, slices)),
        over=inner._over(lambda other: _enumerated(other, start)),
    )


def can_stage(iterable: Any, backend: Backend) -> bool:
    """Whether a loop over ``iterable`` would be staged here."""
    return as_staged(iterable, backend) is not None


def slice_type(array: Any, backend: Backend) -> LeafType:
    """The type of one slice of ``array`` along its first axis."""
    whole = backend.type_of(array)
    assert whole is not None
    return STAGING.row_type(whole)
