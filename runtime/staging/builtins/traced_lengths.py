"""Functions that make arrays of traced length, and functions of libraries that are given some.

``jnp.nonzero(c)`` has room for all places, as there are no more. Of ``jnp.arange(n)`` nothing tells how many there may be: a
program has room for some, and is run again with more where that is too little, as for lists that grow. See `Rooms`.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Backend
from autograph.backends.selected import STAGING
from autograph.runtime.code.library_table import full_name, is_library
from autograph.runtime.containers.array_functions import array_of_traced, array_overloads, arrays_of_lists
from autograph.runtime.containers.iterables import StagedRange
from autograph.runtime.containers.lengths import Count, count_of, counted_in, refused
from autograph.runtime.containers.padded_arrays import PaddedArray, aligned, elementwise, taken_by_mask
from autograph.runtime.containers.padded_functions import TABLE, rule_of
from autograph.runtime.containers.padded_gathers import unique_of
from autograph.runtime.containers.padded_rules import as_padded_array
from autograph.runtime.containers.sizes import is_symbolic_size
from autograph.runtime.containers.transposed import Transposed, takes_transposes
from autograph.runtime.effects.staged_raises import Raising
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.copies import PerhapsKnown
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.layouts.list_room import OutOfRoom, Room
from autograph.runtime.layouts.statement_variables import items_of_sequence, value_of
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import LOCAL

# Of the standard library: what computes with numbers. The rest keeps, compares or shows what it is given.
_COMPUTING = frozenset(["math", "cmath", "statistics"])
_REMEDY_OF_LISTS = "Slice a list of the maximum length: (100 * [0])[:n], list(range(100))[:n]."
_REMEDY = "Slice an array of the maximum length: jnp.arange(100)[:n], jnp.zeros(100)[:n]."


@dataclass(frozen=True)
class ArrayRoom(Room):
    """Room for an array, or a list, of a traced length that nothing bounds.

    Attributes: name (of the function that makes it), kind (what it makes), remedy.
    """

    kind: str = "an array"
    remedy: str = _REMEDY

    def outgrown(self, capacity: Any) -> Exception:
        return OutOfRoom(
            f"{self.where}\n  `{self.name}` creates {self.kind} of more than the capacity of {capacity} elements, and this "
            f"program cannot be run again with a larger one.\n  {self.remedy}",
            self,
            capacity,
        )

    def refused(self, why: str) -> StagingError:
        return StagingError(
            f"{self.where}\n  `{self.name}` creates {self.kind} of traced length without a known bound, and {why}.\n"
            f"  {self.remedy}"
        )


class TracedLengths(InTrace):
    """The overloads of functions that make such arrays, and the calls of others with such arguments.

    Args:
      trace: of which the journal tells whether Python could run what is being staged.
    """

    def __init__(self, backend: Backend, raising: Raising, trace: Callable[[], Trace]) -> None:
        self.backend = backend
        self.raising = raising
        self._rules: Mapping[Any, Callable[..., Any]] = {
            function: functools.partial(make, getattr(jnp, function.__name__))
            for make, functions in (
                (self._bincount, (np.bincount, jnp.bincount)),
                (self._repeat, (np.repeat, jnp.repeat)),
            )
            for function in functions
        }
        super().__init__(trace)

    def overloads(self) -> Mapping[Any, Callable[..., Any]]:
        """For functions of `jax.numpy` and NumPy, what makes an array of traced length where that is needed."""
        made: dict[str, Callable[..., Any]] = {
            "nonzero": self._of_mask(_nonzero),
            "flatnonzero": self._of_mask(lambda c: _nonzero(jnp.ravel(c))[0]),
            "argwhere": self._of_mask(lambda c: _as_columns(_nonzero(c))),
            "where": self._where,
            "extract": self._extract,
            "compress": self._compress,
            "unique": self._unique,
            "union1d": self._of_sets("union1d"),
            "intersect1d": self._of_sets("intersect1d"),
            "setdiff1d": self._of_sets("setdiff1d"),
            "arange": self._arange,
            "linspace": self._linspace,
            "repeat": self._repeat,
            "bincount": self._bincount,
            **{name: self._filled(name) for name in ("zeros", "ones", "empty", "full")},
        }
        found: dict[Any, Callable[..., Any]] = {}
        for name, make in made.items():
            for module in (jnp, np):
                function = getattr(module, name)
                plain = array_overloads().get(function, function)
                found[function] = functools.wraps(getattr(jnp, name))(functools.partial(make, plain))
        return types.MappingProxyType(found)

    # Calls.

    def taking(self, called: Any, made: Any) -> Any:
        """``made``, which is called in place of ``called``, so that it may be given arrays of traced length."""
        if not _takes_arrays(called):
            return made

        def call(*args: Any, **kwargs: Any) -> Any:
            if not (any(map(_has_padded, args)) or (kwargs and any(map(_has_padded, kwargs.values())))):
                return made(*args, **kwargs)
            args, kwargs = jax.tree_util.tree_map(_resolved, (args, kwargs), is_leaf=_is_padded)
            if not any(map(_has_padded, (*args, *kwargs.values()))):
                return made(*args, **kwargs)
            rule = self._rules.get(called) or rule_of(called) if isinstance(called, Hashable) else rule_of(called)
            name = getattr(called, "__name__", None) or full_name(called)
            if rule is None:
                raise refused(f"`{name}`")
            args, kwargs = _without_variables(arrays_of_lists(called, args, kwargs))
            if not takes_transposes(rule) and any(map(_has_transpose, (*args, *kwargs.values()))):
                raise refused(f"`{name}` of a transpose")
            found = rule(*args, **kwargs)
            return jax.tree_util.tree_map(_resolved, found, is_leaf=_is_padded)

        return call

    # What makes such arrays.

    def _traced(self, *values: Any) -> bool:
        """Whether some are traced arrays. A symbolic dimension of a signature is none: JAX makes arrays of it itself."""
        return any(self.backend.is_traced(value) and not is_symbolic_size(value) for value in map(value_of, values))

    def _of_mask(self, make: Callable[[Any], Any]) -> Callable[..., Any]:
        def call(plain: Callable[..., Any], a: Any, *args: Any, **kwargs: Any) -> Any:
            a = array_of_traced(a)
            if args or kwargs.get("size") is not None or not self._traced(a):
                return plain(a, *args, **kwargs)
            return make(a)

        return call

    def _where(self, plain: Callable[..., Any], condition: Any, *args: Any, **kwargs: Any) -> Any:
        condition = array_of_traced(condition)
        is_search = not args and kwargs.get("x") is None and kwargs.get("y") is None
        if is_search and kwargs.get("size") is None and self._traced(condition):
            return _nonzero(value_of(condition))
        return plain(condition, *args, **kwargs)

    def _extract(self, plain: Callable[..., Any], condition: Any, arr: Any, **kwargs: Any) -> Any:
        condition, arr = array_of_traced(condition), array_of_traced(arr)
        if kwargs.get("size") is None and not self._traced(condition) and self._traced(arr):
            return jnp.ravel(value_of(arr))[np.flatnonzero(condition)]
        if kwargs.get("size") is not None or not self._traced(condition):
            return plain(condition, arr, **kwargs)
        return taken_by_mask(jnp.ravel(jnp.asarray(value_of(arr))), jnp.ravel(_truth(value_of(condition))))

    def _compress(
        self, plain: Callable[..., Any], condition: Any, a: Any, axis: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        a, condition = value_of(a), array_of_traced(condition)
        if not args and kwargs.get("size") is None and not self._traced(condition) and self._traced(a):
            return jnp.take(a, np.flatnonzero(condition), axis)
        if args or kwargs.get("size") is not None or not self._traced(condition) or axis not in (None, 0):
            return plain(condition, a, axis, *args, **kwargs)
        mask, array = _truth(value_of(condition)), jnp.ravel(a) if axis is None else jnp.asarray(a)
        return taken_by_mask(array[: mask.shape[0]], mask)

    def _unique(self, plain: Callable[..., Any], ar: Any, *args: Any, **kwargs: Any) -> Any:
        ar = array_of_traced(ar)
        if not self._traced(ar) or kwargs.get("size") is not None:
            return plain(ar, *args, **kwargs)
        return unique_of(ar, *args, **kwargs)

    def _of_sets(self, name: str) -> Callable[..., Any]:
        def call(plain: Callable[..., Any], ar1: Any, ar2: Any, *args: Any, **kwargs: Any) -> Any:
            ar1, ar2 = array_of_traced(ar1), array_of_traced(ar2)
            if kwargs.get("size") is not None or not self._traced(ar1, ar2):
                return plain(ar1, ar2, *args, **kwargs)
            return TABLE[name](ar1, ar2, *args, **kwargs)

        return call

    def list_of_size(self, number: Any, name: str) -> tuple[Any, int]:
        """The length of a list that a traced number says, and the room for it. ``name`` is what makes the list."""
        count, capacity = self._count(number, name, "a list", _REMEDY_OF_LISTS)
        return count.value, capacity

    def listed_range(self, items: StagedRange) -> PaddedArray:
        """The items of a range with traced bounds."""
        size, capacity = self.list_of_size(items.size(), "list(range(n))")
        return PaddedArray.of(items.start + items.step * STAGING.weak(jnp.arange(capacity)), size)

    def _arange(
        self, plain: Callable[..., Any], start: Any, stop: Any = None, step: Any = None, dtype: Any = None, **rest: Any
    ) -> Any:
        bounds = [value_of(bound) for bound in (start, stop, step)]
        if not self._traced(*bounds):
            return plain(
                *bounds[: 3 if step is not None else 2 if stop is not None else 1],
                **({} if dtype is None else {"dtype": dtype}),
                **rest,
            )
        first, end, by = (0, bounds[0], 1) if stop is None else (bounds[0], bounds[1], 1 if step is None else bounds[2])
        kind = jnp.result_type(*(each for each in (first, end, by))) if dtype is None else dtype
        distance = end - first if not (type(first) is int and first == 0) else end
        steps = (
            distance
            if type(by) is int and by == 1
            else -(-distance // by)
            if jnp.issubdtype(jnp.result_type(distance, by), jnp.integer)
            else jnp.ceil(distance / by)
        )
        count, capacity = self._count(
            jnp.ceil(steps) if jnp.issubdtype(jnp.result_type(steps), jnp.inexact) else steps, "arange"
        )
        return PaddedArray.of((first + by * jnp.arange(capacity)).astype(kind), count)

    def _linspace(
        self,
        plain: Callable[..., Any],
        start: Any,
        stop: Any,
        num: Any = 50,
        endpoint: bool = True,
        retstep: bool = False,
        dtype: Any = None,
        **rest: Any,
    ) -> Any:
        num = value_of(num)
        if not self._traced(num):
            return plain(start, stop, num, endpoint, retstep, dtype, **rest)
        if rest or jnp.ndim(start) or jnp.ndim(stop):
            raise refused("`linspace` with these options")
        count, capacity = self._count(num, "linspace")
        start, stop = (jnp.asarray(value_of(each)) * 1.0 for each in (start, stop))
        parts = jnp.maximum(count.value - 1 if endpoint else count.value, 1)
        place = jnp.arange(capacity)
        values = start + (stop - start) * (place / parts)
        if endpoint:
            values = jnp.where((place == count.value - 1) & (place > 0), stop, values)
        found = PaddedArray.of(values if dtype is None else values.astype(dtype), count)
        return (found, (stop - start) / parts) if retstep else found

    def _filled(self, name: str) -> Callable[..., Any]:
        def call(plain: Callable[..., Any], shape: Any, *args: Any, **kwargs: Any) -> Any:
            sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
            if not sizes or not self._traced(*sizes):
                return plain(shape, *args, **kwargs)
            if self._traced(*sizes[1:]):
                raise refused(f"`{name}` with a traced size in a dimension other than the first")
            count, capacity = self._count(value_of(sizes[0]), name)
            return PaddedArray(getattr(jnp, name)((capacity, *sizes[1:]), *args, **kwargs), count)

        return call

    def _repeat(self, plain: Callable[..., Any], a: Any, repeats: Any, axis: Any = None, **kwargs: Any) -> Any:
        a, repeats = array_of_traced(a), array_of_traced(repeats)
        if kwargs.get("total_repeat_length") is None and (self._traced(repeats) or _is_padded(repeats)):
            return self.repeated(a, repeats, axis)
        return TABLE["repeat"](a, repeats, axis, **kwargs) if _is_padded(a) else plain(a, repeats, axis, **kwargs)

    def _bincount(
        self, plain: Callable[..., Any], x: Any, weights: Any = None, minlength: Any = 0, **kwargs: Any
    ) -> Any:
        x, weights, minlength = array_of_traced(x), array_of_traced(weights), value_of(minlength)
        if kwargs or not (self._traced(x, minlength) or _is_padded(x)):
            if not (self._traced(weights) or _is_padded(weights)):
                return plain(x, weights, minlength, **kwargs)
            if not kwargs:
                kwargs = {"length": max(int(np.max(x, initial=-1)) + 1, minlength)}
        if kwargs:
            return TABLE["bincount"](x, weights, minlength, **kwargs)
        rows = as_padded_array(x)
        largest = jnp.max(jnp.where(rows.filled(), rows.values, -1), initial=-1)
        least = jnp.min(jnp.where(rows.filled(), rows.values, 0), initial=0)
        self.raising.raise_unless(least >= 0, ValueError("'list' argument must have no negative elements"))
        count, capacity = self._count(jnp.maximum(largest + 1, minlength), "bincount")
        return PaddedArray.of(TABLE["bincount"](rows, weights, 0, length=capacity), count.value)

    def repeated(self, a: Any, repeats: Any, axis: Any = None) -> PaddedArray:
        """``jnp.repeat`` by counts that are traced."""
        if axis is None and not isinstance(a, PaddedArray):
            a = jnp.ravel(jnp.asarray(a))
        if axis not in (None, 0) or (axis is None and a.ndim > 1):
            raise refused("`repeat` by traced counts along another axis than the first")
        rows = as_padded_array(a)
        if jnp.ndim(getattr(repeats, "values", repeats)) == 0:
            repeats = rows.with_values(jnp.broadcast_to(repeats, rows.values.shape[:1]))
        (values, counts), own = aligned(
            [rows if rows.ndim == 1 else rows.with_values(jnp.arange(rows.capacity)), repeats]
        )
        ends = jnp.cumsum(jnp.where(jnp.arange(counts.shape[0]) < own.value, counts, 0))
        count, capacity = self._count(ends[-1] if counts.shape[0] else 0, "repeat")
        sources = jnp.searchsorted(ends, jnp.arange(capacity), side="right")
        return PaddedArray(values if rows.ndim == 1 else rows.in_room(counts.shape[0]), counts.shape[0]).taken(
            sources, count
        )

    def _count(self, number: Any, name: str, kind: str = "an array", remedy: str = _REMEDY) -> tuple[Count, int]:
        """A traced size of an array, or of a list, and the room for it.

        Raises:
          StagingError: nothing tells how large it may be, and the program cannot be run again with more room, or Python can run
            the loop, with sizes that it knows.
        """
        known = count_of(number)
        if known is not None:
            return known
        if jnp.ndim(number) or not (jnp.issubdtype(jnp.result_type(number), jnp.integer) or name == "arange"):
            raise TypeError(
                f"{name}: the size of an array is an integer, got {jnp.result_type(number)}{list(jnp.shape(number))}"
            )
        count = jnp.maximum(jnp.asarray(number).astype(int), 0)
        where = user_location()
        rooms = None if LOCAL.frame is None else LOCAL.frame.rooms
        room = ArrayRoom(where, name, rooms, kind=kind, remedy=remedy)
        traced = self.journal.copies.traced
        if self.journal.is_on_trial and where not in traced:  # what Python runs needs no room that may prove too small
            refusal = room.refused("each size is known in a loop that Python can execute")
            raise PerhapsKnown(where, str(refusal))
        traced.add(where)
        if rooms is None:
            raise room.refused("only an autograph.function can be run again with a larger capacity")
        capacity = rooms.of(where, name, 1)
        self.raising.raise_unless(count <= capacity, room.outgrown(capacity))
        return Count(count), capacity


def _nonzero(c: Any) -> tuple[Any, ...]:
    mask = _truth(c)
    if mask.ndim == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed.")
    found = taken_by_mask(jnp.arange(mask.size), jnp.ravel(mask)) if mask.ndim > 1 else _places(mask)
    if mask.ndim == 1:
        return (found,)
    return tuple(found.with_values(part) for part in jnp.unravel_index(found.values, mask.shape))


def _places(mask: Any) -> PaddedArray:
    known = count_of(mask)
    count = known[0] if known is not None and known[0].places is not None else counted_in(mask)
    count.note(mask.size, mask)
    return PaddedArray(count.places, count)


def _truth(c: Any) -> Any:
    c = jnp.asarray(c)
    return c if c.dtype == np.bool_ else c != 0


def _as_columns(parts: Iterable[Any]) -> PaddedArray:
    return elementwise(lambda *columns: jnp.stack(columns, -1), *parts)


def _is_padded(value: Any) -> bool:
    return isinstance(value, PaddedArray | Transposed)


def _has_padded(value: Any) -> bool:
    if (items := items_of_sequence(value)) is not None:
        return any(map(_has_padded, items))
    return isinstance(value, PaddedArray | Transposed) or (
        type(value) is dict and any(map(_has_padded, value.values()))
    )


def _has_transpose(value: Any) -> bool:
    return any(isinstance(leaf, Transposed) for leaf in jax.tree_util.tree_leaves(value, is_leaf=_is_padded))


def _resolved(value: Any) -> Any:
    return value.resolve() if isinstance(value, PaddedArray) else value


def _without_variables(value: Any) -> Any:
    return jax.tree_util.tree_map(lambda leaf: leaf if _is_padded(leaf) else value_of(leaf), value, is_leaf=_is_padded)


def _takes_arrays(called: Any) -> bool:
    """Whether this is a function of a library that computes with what it is given."""
    if isinstance(called, types.MethodType):
        return False
    module = getattr(called, "__module__", None)
    if isinstance(called, types.FunctionType):
        module = called.__globals__.get("__name__")
    elif isinstance(called, np.ufunc):
        module = "numpy"
    elif isinstance(called, type):
        return issubclass(called, np.generic)
    if not isinstance(module, str):
        return False
    root = module.partition(".")[0]
    if root == "autograph" or (root in sys.stdlib_module_names and root not in _COMPUTING):
        return False
    return is_library(called) and not module.startswith("jax._src.lax.control_flow")
