"""`TracedDict`: a dict inside a trace of which only run time knows the keys, a list of traced length of pairs."""

from __future__ import annotations

import collections
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from autograph.runtime.containers.element_kinds import ARRAY, flatten_element, is_array_leaf
from autograph.runtime.containers.element_order import equal_pairs
from autograph.runtime.containers.key_parts import scalar_of
from autograph.runtime.containers.keyed_lists import MIRRORED, KeyedList, negated, part_of_tuples
from autograph.runtime.containers.padded import Padded, as_padded, as_seen
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.containers.traced_sets import TracedSet
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.dict_kinds import DictKind
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location

_PURE = frozenset(
    [int, float, bool, str, list, tuple, dict, set]
)  # what makes the same each time, and does nothing else


def _of_counter(name: str, is_reflected: bool = False) -> Callable[..., Any]:
    """A method that dicts have only as `collections.Counter`: that one's, converted."""

    def method(self: TracedDict, *args: Any, **named: Any) -> Any:
        if self.kind is collections.Counter:
            operands = (*args, self) if is_reflected else (self, *args)
            return self.checks.call(getattr(collections.Counter, name))(*operands, **named)
        if name.startswith("__"):
            raise self._not_supported("arithmetic")
        raise AttributeError(f"{self.kind.__name__!r} object has no attribute {name!r}")

    return method


@jax.tree_util.register_pytree_node_class
class TracedDict(KeyedList):
    """A dict made inside a trace, in the order in which its keys came.

    Attributes:
      kind: the class that it has in Python: `dict`, or `defaultdict`, `Counter` or `OrderedDict` of `collections`.
      factory: what makes the value of a key that a `defaultdict` is asked for and has not.
    """

    __slots__ = ("kind", "factory")
    stands_for = dict

    def __init__(self, values: Any = (), checks: Any = None, kind: type = dict, factory: Any = None) -> None:
        self.kind = kind
        self.factory = factory
        super().__init__((), checks)
        self.update(values)

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        children, (is_padded, checks) = super().tree_flatten()
        return children, (is_padded, checks, self.kind, self.factory)

    @classmethod
    def tree_unflatten(cls, facts: Any, children: Any) -> TracedDict:
        made = cls((), *facts[1:])
        made.set_contents(children[0] if facts[0] else tuple(children))
        return made

    @classmethod
    def sort_of(cls, facts: Any) -> Any:
        return DictKind(*facts[2:])

    @staticmethod
    def shown(facts: Any, items: Sequence[object]) -> str:
        pairs = (f"{item[0]!r}: {item[1]!r}" if isinstance(item, tuple) else repr(item) for item in items)
        text = f"{{{', '.join(pairs)}}}"
        _, _, kind, factory = facts
        if kind is dict:
            return text
        return f"{kind.__name__}({'' if factory is None else factory.__name__ + ', '}{text})"

    @property
    def kind_name(self) -> str:
        return self.kind.__name__

    def key_of(self, element: Any) -> Any:
        return element[0]

    def keys_held(self) -> Padded | None:
        held = as_seen(self.contents())
        return None if held is None else part_of_tuples(held, 0)

    def in_order(self) -> TracedList:
        return self._part(0) if (known := self._known()) is None else TracedList(known, self.checks)

    members = in_order

    def plain(self) -> Any:
        return self._of_kind({})

    def plain_of(self, elements: list[Any]) -> Any:
        return self._of_kind({scalar_of(key): value for key, value in elements})

    def _of_kind(self, items: dict[Any, Any]) -> Any:
        if self.kind is collections.defaultdict:
            return collections.defaultdict(self.factory, items)
        return items if self.kind is dict else self.kind(items)

    def fresh(self) -> TracedDict:
        return TracedDict((), self.checks, self.kind, self.factory)

    @classmethod
    def _empty(cls, facts: DictKind | None, checks: Any) -> TracedDict:
        return cls((), checks) if facts is None else cls((), checks, facts.kind, facts.factory)

    def _facts(self) -> DictKind | None:
        return None if self.kind is dict else DictKind(self.kind, self.factory)

    def disorder(self, other: TracedDict) -> None:
        """Let another dict, which takes over keys of this one, have no order either."""

    def members_of(self, number: int | None) -> TracedList:
        """A list of the pairs, the keys or the values, for what does not depend on their order."""
        return self._pairs() if number is None else self._part(number)

    # What reads.

    def _part(self, number: int) -> TracedList:
        """A list of the keys, or of the values."""
        self.note_read()
        made = TracedList((), self.checks)
        if self._is_padded():
            return made.holding(part_of_tuples(self._held, number))
        return made.holding(tuple(pair[number] for pair in list.__iter__(self)))

    def _view(self, contents: Any, number: int | None) -> DictView:
        view = DictView((), self.checks)
        view.set_contents(contents)
        view.owner, view.then, view.number = self, self.contents(), number
        self.checks.journal.born(view)
        return view

    def _known(self) -> Any:
        """Python's dict, outside of a trace; else None."""
        if LANGUAGE.operators.backend.is_tracing():
            return None
        found = self.resolve()
        return None if found is self else found

    def keys(self) -> Any:
        """As dict's; in a trace, a list of the keys there are now."""
        return self._view(self._part(0).contents(), 0) if (known := self._known()) is None else known.keys()

    def values(self) -> Any:
        """As dict's; in a trace, a list of the values there are now."""
        return self._view(self._part(1).contents(), 1) if (known := self._known()) is None else known.values()

    def items(self) -> Any:
        """As dict's; in a trace, a list of the pairs there are now."""
        if (known := self._known()) is not None:
            return known.items()
        self.note_read()
        return self._view(self._copied(), None)

    def _pairs(self) -> TracedList:
        self.note_read()
        self.share()
        return TracedList((), self.checks).holding(self._copied())

    def copy(self) -> TracedDict:
        """As dict's."""
        self.note_read()
        self.share()
        return self.holding(self._copied())

    def _value_at(self, index: Any) -> Any:
        if not self._is_padded() and isinstance(index, int):
            return list.__getitem__(self, index)[1]
        held = as_padded(self.contents())
        if held is not None and not held.kind.is_watched:
            return held.element(index)[1]
        self.in_arrays()
        return self.element(index)[1]

    def __getitem__(self, key: Any) -> Any:
        self.note_read()
        present, index = self.find(key)
        if self.kind is collections.Counter:
            return self._either(present, index, 0)
        if self.kind is collections.defaultdict and self.factory is not None:
            return self._made_where_missing(key)
        self.check_present(present, key)
        return self._value_at(index)

    def get(self, key: Any, default: Any = None) -> Any:
        """As dict's."""
        self.note_read()
        return self._either(*self.find(key), default)

    def _either(self, present: Any, index: Any, default: Any) -> Any:
        """The value at an index where one is ``present`` there, else the default."""
        if isinstance(present, bool):
            return self._value_at(index) if present else default
        value = self._value_at(index)
        return self.checks.if_exp(present, lambda: value, lambda: default)

    # What writes.

    def __setitem__(self, key: Any, value: Any) -> None:
        self.note_read()
        present, index = self.find(key)
        if present is True and not self._is_padded():
            list.__setitem__(self, index, (list.__getitem__(self, index)[0], value))
            return
        if present is False:
            self.append((key, value))
            return
        held = self.in_arrays()
        place = jnp.where(present, index, held.length)
        self.add_unless(present, (key, value))
        self.padded = _with_value(self._held, place, (key, value))
        self._note_places([(key, value)], place)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """As dict's."""
        self.note_read()
        present, index = self.find(key)
        if present is True:
            return self._value_at(index)
        place = self.size() if present is False else jnp.where(present, index, self.size())
        self.add_unless(present, (key, default))
        return self._value_at(place)

    def _made_where_missing(self, key: Any) -> Any:
        """What a `collections.defaultdict` does with a key that it is asked for."""
        made = (lambda: self.checks.new_list([])) if self.factory is list else self.checks.call(self.factory)
        if self.factory in _PURE:
            return self.checks.call(self.setdefault)(key, made())  # reports the write
        present = self.find(key)[0]

        def make() -> None:
            self.checks.set_item(self, key, made())

        if present is False:
            make()
        elif present is not True:
            self.checks.if_stmt(present, None, make, ())
        _, index = self.find(key)
        return self._value_at(index)

    def __delitem__(self, key: Any) -> None:
        self.pop(key)

    def pop(self, key: Any, *default: Any) -> Any:  # type: ignore[override]
        self.note_read()
        present, index = self.find(key)
        if not default:
            self.check_present(present, key)
            value = self._value_at(index)
        else:
            value = self._either(present, index, default[0])
        self.take_out(present, index)
        return value

    def popitem(self, *last: Any, **named: Any) -> Any:
        """As dict's, and that of `collections.OrderedDict`."""
        if self.kind is collections.OrderedDict:
            is_last = _given_last(*last, **named)
        else:
            if last or named:
                {}.popitem(*last, **named)  # raises
            is_last = True
        self.note_read()
        size = self.size()
        error = KeyError("popitem(): dictionary is empty")
        if isinstance(size, int):
            if not size:
                raise error
        else:
            self.checks.raise_unless(size > 0, error)
        return TracedList.pop(self, -1 if is_last else 0)

    def move_to_end(self, key: Any, *last: Any, **named: Any) -> None:
        """As that of `collections.OrderedDict`."""
        if self.kind is not collections.OrderedDict:
            raise AttributeError(f"{self.kind.__name__!r} object has no attribute 'move_to_end'")
        pair = key, self.pop(key)
        if _given_last(*last, **named):
            self.append(pair)
        else:
            self.insert(0, pair)

    def update(self, values: Any = (), **named: Any) -> None:
        """As dict's; as that of `collections.Counter`, which counts."""
        if self.kind is collections.Counter and not isinstance(values, Mapping | TracedDict):
            self.checks.keys.count(self, values)
            values = ()
        is_dict = isinstance(values, Mapping | TracedDict)
        pairs = values.items() if is_dict else self.checks.items_of(values)
        if isinstance(values, TracedDict) and not values.has_order:
            values.disorder(self)
            pairs = values.members_of(None)
        if isinstance(pairs, TracedList):
            if is_dict and not self.contents():  # of pairs, several may have one key
                pairs.share()
                self.extend(pairs)
                return
            self.checks.keys.set_all(self, pairs)
            pairs = ()
        for key, value in (*pairs, *named.items()):
            self[key] = self[key] + value if self.kind is collections.Counter else value

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, Mapping | TracedDict):
            return NotImplemented
        if self.kind is collections.Counter:
            return _of_counter("__or__")(self, other)
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        if self.kind is collections.Counter:
            return _of_counter("__or__", is_reflected=True)(self, other)
        made = TracedDict(other, self.checks, self.kind, self.factory)
        made.update(self)
        return made

    def __ior__(self, other: Any) -> Any:
        if self.kind is collections.Counter:
            return _of_counter("__ior__")(self, other)
        self.update(other)
        return self

    def _not_of_dicts(self, other: Any) -> Any:
        raise self._not_supported("arithmetic")

    __mul__ = __rmul__ = __imul__ = _not_of_dicts
    __radd__, __rsub__, __rand__ = (_of_counter(f"__{name}__", is_reflected=True) for name in ("add", "sub", "and"))
    __add__, __sub__, __and__ = _of_counter("__add__"), _of_counter("__sub__"), _of_counter("__and__")
    __pos__, __neg__, __iadd__ = _of_counter("__pos__"), _of_counter("__neg__"), _of_counter("__iadd__")
    __isub__, __iand__, subtract = _of_counter("__isub__"), _of_counter("__iand__"), _of_counter("subtract")
    _keep_positive = _of_counter("_keep_positive")

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") and hasattr(self.kind, name):
            raise self._not_supported(f"`{name}`")
        raise AttributeError(f"{self.kind.__name__!r} object has no attribute {name!r}")

    def _not_supported(self, what: str) -> StagingError:
        return StagingError(
            f"{user_location()}\n  {what} is not supported for a {self.kind.__name__} whose keys are traced.\n  Loop over its items()."
        )

    def most_common(self, n: Any = None) -> Any:
        """As that of `collections.Counter`."""
        pairs = self._pairs()
        pairs.sort(key=_count_of, reverse=True)
        if n is None:
            return pairs
        return pairs[: max(n, 0) if isinstance(n, int) else jnp.maximum(n, 0)]

    def elements(self) -> Any:
        """As that of `collections.Counter`."""
        return self.checks.library.elements(self)

    def total(self) -> Any:
        """As that of `collections.Counter`."""
        return self.checks.overloads[sum](self.values())

    def compared(self, symbol: str, other: Any) -> Any:
        if self.kind is getattr(other, "kind", type(other)) is collections.Counter:
            return self._counts_compared(symbol, other)
        if symbol not in ("==", "!="):
            return NotImplemented
        if not isinstance(other, Mapping | TracedDict):
            return symbol == "!="
        if self.kind is getattr(other, "kind", type(other)) is collections.OrderedDict:
            raise self._not_supported("A comparison of the order")
        if not isinstance(other, TracedDict):
            other = TracedDict(other, self.checks)
        self.note_read()
        other.note_read()
        same: Any = self.size() == other.size()
        mine, theirs = as_seen(self.contents()), as_seen(other.contents())
        if mine is not None and theirs is not None:
            same = same & jnp.all(jnp.any(equal_pairs(theirs, mine), 1) | ~mine.filled())
        return same if symbol == "==" else negated(same)

    def _counts_compared(self, symbol: str, other: Any) -> Any:
        """A comparison with another `collections.Counter`, in which a key that is missing has the count zero."""
        if symbol in (">", ">="):
            one, another, symbol = other, self, MIRRORED[symbol]
        else:
            one, another = self, other
        method = collections.Counter.__le__ if symbol in ("<", "<=") else collections.Counter.__eq__
        found = self.checks.call(method)(one, another)
        if symbol == "!=":
            return negated(found)
        return found if symbol != "<" else found & negated(self._counts_compared("==", other))


def _given_last(last: bool = True) -> bool:
    """The argument of the methods of `collections.OrderedDict`."""
    return last


@jax.tree_util.register_pytree_node_class
class DictView(TracedList):
    """What ``keys``, ``values`` and ``items`` give in a trace: what was there then, as long as the dict holds that.

    A value that it returns is an element of the dict. What leaves a block is no view any more, but a list.

    Attributes: owner (the dict), then (what it held), number (0 of keys, 1 of values, None of items).
    """

    __slots__ = ("owner", "then", "number")
    owner: TracedDict
    then: Any
    number: int | None

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        self.share()
        return super().tree_flatten()

    @classmethod
    def tree_unflatten(cls, facts: Any, children: Any) -> Any:
        return TracedList.tree_unflatten(facts, children)

    def note_read(self) -> None:
        owner: TracedDict | None = getattr(self, "owner", None)
        if owner is not None:
            check_unwritten(owner, self.then)
        super().note_read()

    def element(self, index: Any, key: Any = None) -> Any:
        self.note_read()
        pair = self.owner.element(index, key)
        return pair if self.number is None else pair[self.number]

    def share(self) -> None:
        self.owner.share()
        super().share()  # of values, which are elements of another kind

    def compared(self, symbol: str, other: Any) -> Any:
        """As a `KeyedList` is."""
        if self.number == 1:
            return (self is other) == (symbol == "==") if symbol in ("==", "!=") else NotImplemented
        return self._as_set().compared(symbol, other._as_set() if isinstance(other, DictView) else other)

    def _as_set(self) -> Any:
        made = TracedSet((), self.checks)
        made.set_contents(self.contents())
        return made

    def __and__(self, other: Any) -> Any:
        return self._as_set() & TracedSet(other, self.checks)

    def __or__(self, other: Any) -> Any:
        return self._as_set() | TracedSet(other, self.checks)

    def __sub__(self, other: Any) -> Any:
        return self._as_set() - TracedSet(other, self.checks)

    def __xor__(self, other: Any) -> Any:
        return self._as_set() ^ TracedSet(other, self.checks)

    def __getitem__(self, key: Any) -> Any:
        return {}.keys()[key]  # type: ignore[index]  # raises

    def at(self, position: Any) -> Any:
        """The item at a position, for an iterator."""
        return super().__getitem__(position)


def check_unwritten(owner: TracedDict, then: Any) -> None:
    """Refuse the reading of a view of a dict that held something else when the view was made."""
    if not _is_same(owner.contents(), then):
        raise StagingError(
            f"{user_location()}\n  A view of a dict is read here, and the dict, whose keys are traced, has been written since the view "
            "was made.\n  Make it where it is read: d.keys(), d.values(), d.items()."
        )


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
    return one is other


def _with_value(held: Padded, place: Any, pair: Any) -> Padded:
    """The same with the value of a pair at an index, and the key that is there."""
    kind, leaves = flatten_element(pair, is_array_leaf)
    first = sum(static is ARRAY for static in held.kind.statics[: held.kind.layout.parts[0].count])
    new = held.as_held(kind, leaves)
    buffers = [
        buffer if k < first else buffer.at[place].set(jnp.asarray(leaf, buffer.dtype))
        for k, (buffer, leaf) in enumerate(zip(held.buffers, new, strict=True))
    ]
    return held.with_(buffers=tuple(buffers))


def _count_of(pair: Any) -> Any:
    return pair[1]
