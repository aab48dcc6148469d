"""Sorting and extremes of traced values: ``sorted``, ``max`` and ``min`` with keys, tuples and defaults."""

from __future__ import annotations

import bisect
import functools
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from autograph.backends.base import Backend
from autograph.runtime.containers.element_order import places_in_order
from autograph.runtime.containers.extents import exactly
from autograph.runtime.containers.padded import Padded
from autograph.runtime.containers.sizes import is_symbolic_size
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.objects import attributes_of, compared_fields, is_plain_object
from autograph.runtime.layouts.one_of import OneOf, candidates_of, code_of
from autograph.runtime.layouts.optional import Optional
from autograph.runtime.layouts.statement_variables import has_contents, stands_for_text, value_of
from autograph.runtime.tracing.locations import user_location


class Orderings:
    """What compares values to choose among them.

    Args:
      call: what to call in place of a function.
      get_item: of `Lookups`.
      checks: the operators.
      has_order: whether this is an object whose class, which is the user's, says which of two goes before the other.
    """

    def __init__(
        self,
        backend: Backend,
        call: Callable[[Any], Any],
        get_item: Callable[[Any, Any], Any],
        checks: Any,
        has_order: Callable[[Any], bool],
    ) -> None:
        self.backend = backend
        self.call = call
        self.get_item = get_item
        self.checks = checks
        self.has_order = has_order

    def by_comparison(self, compare: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
        """``functools.cmp_to_key(compare)``."""
        return functools.partial(_Compared, self.call(compare))

    def keys_of(self, values: Sequence[Any], key: Any) -> list[Any] | None:
        """What the values are compared by, if that is traced; None if Python can compare.

        Numbers, or tuples of numbers and of tuples of them, the places of texts in their order among them; or objects, as
        `_are_ordered_objects` has them.
        """
        keys = list(values) if key is None else [self.call(key)(value) for value in values]
        keys = [value_of(each) for each in keys]
        if self._are_ordered_objects(keys):
            return keys if len(keys) > 1 and any(map(self._holds_traced, keys)) else None
        if (fields := _fields_of_all(keys)) is not None:
            keys = [values_of(each, fields) for each in keys]
        keys = list(map(_with_tuples, keys))
        if len(keys) < 2 or not any(self._is_chosen(leaf) for each in keys for leaf in _columns(each)):
            return None
        if len(set(map(_nesting, keys))) == 1:
            keys = _with_places(keys)
        if any(each is None for each in keys):
            raise TypeError("'<' not supported between instances of 'NoneType' and 'int'")
        if len(set(map(_nesting, keys))) > 1 or any(not _is_number(leaf) for each in keys for leaf in _columns(each)):
            raise StagingError(
                f"{user_location()}\n  The values that are compared here (to sort them, or for max or min) are neither numbers "
                f"nor tuples or lists of numbers of one length: {', '.join(map(_shown, keys[:3]))} …\n"
                "  Pass a key that returns a number (`key=lambda v: …`); "
                "to compare arrays element by element, use jnp.sort, jnp.maximum or jnp.minimum."
            )
        return keys

    def _is_chosen(self, leaf: Any) -> bool:
        """Whether only run time knows what this is."""
        if isinstance(leaf, jax.Array) and self.backend.is_tracing():  # JAX compares its own arrays in the program, too
            return True
        return self.backend.is_traced(leaf) or type(leaf) is OneOf

    def ordered(self, values: Sequence[Any], key: Any, reverse: Any) -> list[Any] | None:
        """The values sorted, equal ones in the order they have; None if Python can compare them."""
        keys, is_either = self.keys_of(values, key), self.backend.is_traced(reverse)
        if keys is None and not is_either:
            return None
        order_of: Callable[[Sequence[Any], bool], Any] = _order_of
        if keys is not None and self._are_ordered_objects(keys):
            order_of = self._order_by_comparisons
        if keys is None:
            keys = list(values) if key is None else [self.call(key)(value) for value in values]
            order_of = _order_by_python
        order = (
            jnp.where(reverse, order_of(keys, True), order_of(keys, False)) if is_either else order_of(keys, reverse)
        )
        found = [self.get_item(list(values), place) for place in order]
        self.checks.identities.reordered(found, values)
        return found

    def best(self, values: Sequence[Any], key: Any, compare: Callable[[Any, Any], Any]) -> tuple[bool, Any]:
        """Whether the comparisons are traced; if so, the first of the values that none is better than."""
        keys = self.keys_of(values, key)
        if keys is None:
            return False, None
        if self._are_ordered_objects(keys):
            return True, self._best_by_comparisons(values, keys, _SYMBOLS[compare])
        best, place = keys[0], jnp.int32(0)
        for k, other in enumerate(keys[1:], 1):
            better = is_better(other, best, compare)
            best = jax.tree.map(lambda a, b, better=better: jnp.where(better, a, b), other, best)
            place = jnp.where(better, k, place)
        is_itself = key is None and _fields_of_all(values) is None and all(map(_is_of_numbers, values))
        return True, best if is_itself else self.get_item(list(values), place)

    # Lists of traced length whose elements calls of the user's compare.

    def key_at(self, items: Any, key: Any) -> Callable[[Any], Any] | None:
        """What the element at a place is compared by, where calls of the user's compare; None if arrays can be compared."""
        compare = key.args[0] if isinstance(key, functools.partial) and key.func is _Compared else None
        keyed = items if key is None or compare is not None else self.checks.reductions.listed(items, self.call(key))
        held = keyed.as_padded()
        if compare is not None:
            return lambda place: _Compared(compare, self.get_item(keyed, place))
        if (
            held is None
            or (isinstance(held.capacity, int) and not held.capacity)
            or not self._are_ordered_objects([held.element(0)])
        ):
            return None
        return functools.partial(self.get_item, keyed)

    def order_by_calls(self, key_at: Callable[[Any], Any], held: Padded, reverse: Any) -> Any:
        """The places of the elements in their order, equal ones in the order they have; last, any others."""
        if self.backend.is_traced(reverse):
            orders = (self.order_by_calls(key_at, held, is_reversed) for is_reversed in (True, False))
            return jnp.where(reverse, *orders)
        order = self.checks.new_list([])
        numbers = Padded.of([jnp.int32(0)]).with_(
            buffers=(jnp.arange(held.capacity),),
            capacity=held.capacity,
            length=held.length,
            extent=exactly(held.capacity),
        )

        def loop_body(k: Any) -> None:
            place = held.length - 1 - k if reverse else k
            where = self.call(bisect.bisect_right)(order, key_at(place), key=key_at)
            self.call(order.insert)(where, place)

        self.checks.for_stmt(order.holding(numbers), loop_body, ())
        if reverse:
            order.reverse()
        found = order.as_padded()
        if found is None:
            return jnp.zeros(held.capacity, int)
        same = found.capacity is held.capacity or found.capacity == held.capacity
        found = found if same else found.with_room(max(found.capacity, held.capacity))
        return found.buffers[0][: held.capacity]

    def best_by_calls(self, key_at: Callable[[Any], Any], held: Padded, name: str) -> Any:
        """The first place whose element none is better than."""
        best = jnp.int32(0)

        def loop_body(k: Any) -> None:
            nonlocal best
            best = jnp.where(self._goes_before(">" if name == "max" else "<", key_at(k + 1), key_at(best)), k + 1, best)

        self.checks.for_stmt(self.call(range)(held.length - 1), loop_body, ("best",))
        return best

    # What is compared two by two: objects whose classes compare them, and tuples with None in them.

    def _are_ordered_objects(self, keys: Sequence[Any]) -> bool:
        """Whether the comparison of these is a call of the user's, or one that may raise."""
        if _fields_of_all(keys) is not None:
            return False
        return any(
            isinstance(each, _Compared) or self.has_order(each) or stands_for_text(each) or _holds_none(each)
            for each in keys
        )

    def _holds_traced(self, value: Any) -> bool:
        if isinstance(value, _Compared):
            return self._holds_traced(value.value)
        if is_plain_object(value):
            return any(map(self._holds_traced, attributes_of(value).values()))
        leaves = jax.tree.leaves(value, is_leaf=is_plain_object)
        return any(
            self._holds_traced(leaf) if is_plain_object(leaf) else self.backend.is_traced(leaf) for leaf in leaves
        )

    def _goes_before(self, symbol: str, one: Any, other: Any) -> Any:
        if isinstance(one, _Compared) and isinstance(other, _Compared):
            one, other = one.compare(one.value, other.value), 0
        return self.checks.truth(self.checks.operate(symbol, one, other))

    def _order_by_comparisons(self, keys: Sequence[Any], reverse: bool) -> Any:
        """As `_order_of`: each goes behind those that it is not less than."""
        keys = keys[::-1] if reverse else keys
        ranks: list[Any] = [0] * len(keys)
        for k, one in enumerate(keys):
            for j, before in enumerate(keys[:k]):
                is_less = jnp.asarray(self._goes_before("<", one, before), int)
                ranks[j], ranks[k] = ranks[j] + is_less, ranks[k] + 1 - is_less
        order = jnp.argsort(jnp.stack(ranks))
        return len(keys) - 1 - order[::-1] if reverse else order

    def _key_at(self, keys: Sequence[Any], place: Any) -> Any:
        if isinstance(keys[0], _Compared):
            return _Compared(keys[0].compare, self.get_item([each.value for each in keys], place))
        return self.get_item(list(keys), place)

    def _best_by_comparisons(self, values: Sequence[Any], keys: Sequence[Any], symbol: str) -> Any:
        place: Any = jnp.int32(0)
        for k, other in enumerate(keys[1:], 1):
            is_better = self._goes_before(symbol, other, self._key_at(keys[:k], place))
            place = jnp.where(is_better, k, place)
        return self.get_item(list(values), place)


def _holds_none(key: Any) -> bool:
    """Whether this is, or a part of a tuple or list is, what may be None: it can be compared where that is not what decides."""
    if isinstance(key, Optional):
        return True
    if not isinstance(key, tuple | list) or has_contents(key):
        return False
    return any(part is None or _holds_none(part) for part in key)


class _Compared:
    """What `functools.cmp_to_key` makes of a value."""

    __slots__ = ("compare", "value")

    def __init__(self, compare: Callable[[Any, Any], Any], value: Any) -> None:
        self.compare = compare
        self.value = value

    def __lt__(self, other: _Compared) -> Any:
        return self.compare(self.value, other.value) < 0

    def __gt__(self, other: _Compared) -> Any:
        return self.compare(self.value, other.value) > 0


def _order_by_python(keys: Sequence[Any], reverse: bool) -> Any:
    """As `_order_of`, of keys that Python compares."""
    return jnp.asarray(sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse), int)


def _order_of(keys: Sequence[Any], reverse: bool) -> Any:
    """The places of values that are compared by these, in their order."""
    keys = keys[::-1] if reverse else keys  # equal ones keep their order all the same
    columns = zip(*map(_columns, keys), strict=True)
    order = jnp.lexsort([jnp.stack([*map(jnp.asarray, column)]) for column in columns][::-1])
    return len(keys) - 1 - order[::-1] if reverse else order


def all_scalars_some_traced(values: Sequence[Any], backend: Backend) -> bool:
    """Whether these are numbers, and one of them is traced."""
    return all(map(_is_number_itself, values)) and any(map(backend.is_traced, values))


def better_of(pairwise: Callable[[Any, Any], Any], compare: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    """The better of two numbers, the first if neither is: Python's comparisons with nan are false, both ways round."""
    if jnp.issubdtype(jnp.result_type(one, other), jnp.inexact):
        return jnp.where(compare(other, one), other, one)
    return pairwise(one, other)


def nan_never_better(values: Any) -> Any:
    """An array whose greatest element, as JAX has it, is the one that Python finds: nan if nan is the first, only then."""
    return jnp.where(jnp.isnan(values), values[0], values) if jnp.issubdtype(values.dtype, jnp.inexact) else values


def is_better(one: Any, other: Any, compare: Callable[[Any, Any], Any]) -> Any:
    """``compare(one, other)`` of two numbers, or of two tuples or lists of numbers."""
    return _decided(_columns(_with_tuples(one)), _columns(_with_tuples(other)), compare)


def error_of_empty(function: Callable[..., Any]) -> Exception:
    """What a builtin that chooses one of what it is given raises if that is nothing."""
    try:
        function(iter(()))
    except (ValueError, StopIteration) as error:
        return type(error)(*error.args)
    raise AssertionError(function)


def values_of(value: Any, fields: Sequence[str]) -> tuple[Any, ...]:
    return tuple(getattr(value, name) for name in fields)


def _fields_of_all(keys: Sequence[Any]) -> tuple[str, ...] | None:
    """The fields by which these are ordered, if they are of one dataclass that has an order."""
    kinds = set(map(type, keys))
    return compared_fields(kinds.pop(), "__lt__") if len(kinds) == 1 else None


def _with_tuples(key: Any) -> Any:
    """A key with tuples in place of lists of known length, which compare alike."""
    if isinstance(key, list):
        held: Any = key
        key = held.contents() if has_contents(key) else tuple(key)
    return tuple(map(_with_tuples, key)) if type(key) is tuple else key


def _is_of_numbers(value: Any) -> bool:
    """Whether a value is what it is compared by: a number, or a tuple of such, which has no names for them."""
    return all(map(_is_of_numbers, value)) if type(value) is tuple else _is_number_itself(value)


def _with_places(keys: Sequence[Any]) -> list[Any]:
    """Keys of one nesting with numbers for texts, also for those that are one of several: the place of each in their order."""
    columns = [_places(column) for column in zip(*map(_columns, keys), strict=True)]
    return [key[0] if len(key) == 1 else key for key in zip(*columns, strict=True)]


def _places(column: tuple[Any, ...]) -> Sequence[Any]:
    """What one part of the keys is compared by."""
    if any(map(stands_for_text, column)) and all(isinstance(leaf, str) or stands_for_text(leaf) for leaf in column):
        return list(places_in_order(Padded.of(column)))
    each_of = [candidates_of(leaf) if type(leaf) is OneOf else (leaf,) for leaf in column]
    texts = [text for candidates in each_of for text in candidates]
    if set(map(type, texts)) not in ({str}, {bytes}):
        return column
    place_of = {text: place for place, text in enumerate(sorted(set(texts)))}
    return [
        jnp.asarray(list(map(place_of.__getitem__, candidates)))[code_of(leaf)]
        if type(leaf) is OneOf
        else place_of[leaf]
        for leaf, candidates in zip(column, each_of, strict=True)
    ]


def _nesting(key: Any) -> Any:
    """How many keys a key is made of, at each depth."""
    return tuple(map(_nesting, key)) if isinstance(key, tuple) else None


def _columns(key: Any) -> tuple[Any, ...]:
    """The numbers that two keys of one nesting are compared by, one after the other."""
    return tuple(column for part in key for column in _columns(part)) if isinstance(key, tuple) else (key,)


def _is_number_itself(value: Any) -> bool:
    """Whether a value is a number, and no Variable that holds one."""
    return _is_number(value) and value_of(value) is value


def _is_number(value: Any) -> bool:
    if isinstance(value, bool | int | float) or is_symbolic_size(value):
        return True
    return hasattr(value, "dtype") and not jnp.ndim(value)


def _shown(key: Any) -> str:
    def shown(leaf: Any) -> Any:
        if stands_for_text(leaf):
            return "a text"
        return str(jax.typeof(leaf)) if isinstance(leaf, jax.Array) else leaf

    return str(jax.tree.map(shown, key, is_leaf=stands_for_text))


_SYMBOLS: Mapping[Any, str] = types.MappingProxyType({operator.lt: "<", operator.gt: ">"})
_STRICT: Mapping[Any, Any] = types.MappingProxyType({operator.le: operator.lt, operator.ge: operator.gt})


def _decided(one: tuple[Any, ...], other: tuple[Any, ...], compare: Callable[[Any, Any], Any]) -> Any:
    """Whether the first that differs is better."""
    if len(one) == 1:
        return compare(one[0], other[0])
    first = _STRICT.get(compare, compare)(one[0], other[0])
    return first | ((one[0] == other[0]) & _decided(one[1:], other[1:], compare))
