"""`Perhaps`: what a key of a dict, or an attribute of an object, holds where only some paths have set it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from autograph.backends.large_ints import is_far_beyond
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.recording import LOCAL, births


@dataclass(frozen=True)
class Absence:
    """That a place may hold nothing, and what reading it raises then.

    Attributes:
      key: the key, or the name of the attribute.
      of: the name of the class whose attribute it is; None for a key.
      is_moved: whether paths differ in where the key comes among those of the dict.
    """

    key: Any
    of: str | None = None
    is_moved: bool = False

    def moved(self) -> Absence:
        """The same of a key that comes elsewhere on some paths."""
        return dataclasses.replace(self, is_moved=True)

    @property
    def kind(self) -> type[KeyError | AttributeError]:
        """The class of Python's error."""
        return KeyError if self.of is None else AttributeError

    def error(self) -> KeyError | AttributeError:
        """Python's error for a read where there is nothing."""
        if self.of is None:
            return KeyError(self.key)
        return AttributeError(f"{self.of!r} object has no attribute {self.key!r}", name=self.key)


class Sentinel:
    """That a place may hold this object, which is no more than itself, as ``missing = object()`` is, where another path has a value.

    So may it hold an int that no array holds: see `autograph.runtime.layouts.number_choices`.

    Attributes: value (the object).
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sentinel):
            return False
        return other.value is self.value or (type(self.value) is type(other.value) is int and self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)


def is_sentinel(value: Any) -> bool:
    """Whether an object is no more than itself: an ``object()``, or an int that no array holds."""
    return type(value) is object or is_far_beyond(value)


@jax.tree_util.register_pytree_node_class
class Perhaps:
    """What a key, or an attribute, holds that is set on some paths only, as a variable may be that is bound on some.

    It stands in the dict, or the object, instead of the value. Converted code reads it by operators, which raise
    at run time where there is nothing, and ask ``present`` in ``in``, `len` and loops. What other code does with it
    reads it.

    Attributes:
      present: whether the place holds something; a traced bool.
      held: what it holds; anything where it holds nothing.
      absence: says which place it is.
    """

    __slots__ = ("present", "held", "absence", "__weakref__")

    def __init__(self, present: Any, held: Any, absence: Absence) -> None:
        self.present = present
        self.held = held
        self.absence = absence

    def tree_flatten(self) -> tuple[tuple[Any, Any], Absence]:
        return (self.present, self.held), self.absence

    @classmethod
    def tree_unflatten(cls, absence: Absence, children: tuple[Any, Any]) -> Perhaps:
        return cls(*children, absence)

    def read(self) -> Any:
        """What it holds; raises, when the program runs, where it holds nothing."""
        LANGUAGE.operators.check_set(self)
        return self.held

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.read(), name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.read()(*args, **kwargs)

    def __jax_array__(self) -> Any:
        return jax.numpy.asarray(self.read())

    def __repr__(self) -> str:
        return f"Perhaps({self.held!r})"


def read(value: Any) -> Any:
    """``value``; of a `Perhaps`, what it holds, with a check at run time."""
    return value.read() if type(value) is Perhaps else value


def read_key(value: Any, key: Any) -> Any:
    """`read` of what a dict holds for a key, even one that is the ``__dict__`` of an object, or where an equal key is set."""
    if type(value) is Perhaps:
        return Perhaps(value.present, value.held, Absence(key)).read()
    return value


def is_perhaps(value: Any) -> bool:
    """Whether this is what a place holds on some paths only."""
    return type(value) is Perhaps


def has_perhaps(values: Iterable[Any]) -> bool:
    """Whether one of these is what a place holds on some paths only."""
    return any(type(value) is Perhaps for value in values)


def each_leaf(value: Any, replace: Callable[[Any], Any]) -> Any:
    """A `Perhaps` with another value in it."""
    made = replace(value.held)
    return value if made is value.held else Perhaps(value.present, made, value.absence)


class _Gone:
    """What stands, while a dict or an object is built, for what it does not hold."""

    __slots__ = ()


GONE: Any = _Gone()


def perhaps(present: Any, held: Any, absence: Absence) -> Any:
    """What a place holds where ``present``: a `Perhaps` where only run time knows that, `GONE` for nothing."""
    if present is False:
        return GONE
    if present is True and not absence.is_moved:
        return held
    LOCAL.has_perhaps = True
    return Perhaps(present, held, absence)


def merged_order(one: Iterable[Any], other: Iterable[Any]) -> list[Any] | None:
    """The keys of two dicts in one order that is that of both; None if they order what they share differently."""
    mine, theirs = list(one), list(other)
    shared = set(mine) & set(theirs)
    if [key for key in mine if key in shared] != [key for key in theirs if key in shared]:
        return None
    found: list[Any] = []
    rest = iter(theirs)
    for key in mine:
        if key in shared:
            for each in rest:
                if each == key:
                    break
                found.append(each)
        found.append(key)
    return [*found, *rest]


def common_start(one: Sequence[Any], other: Sequence[Any]) -> int:
    """How many keys two dicts begin with alike."""
    return next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def is_own_dict_of_lists(owner: Mapping[Any, Any]) -> bool:
    """Whether the program has made a dict, and it holds lists alone."""
    return is_own_dict(owner) and all(isinstance(value, list) for value in _held_by(owner))


def is_own_dict(owner: Mapping[Any, Any]) -> bool:
    """Whether the program has made a dict, and it holds what a list of traced length holds as it is: nothing of another type."""
    known = births()
    return known is not None and known.knows(owner) and len({_type_of(value) for value in _held_by(owner)}) <= 1


def _held_by(owner: Mapping[Any, Any]) -> list[Any]:
    return [value.held if is_perhaps(value) else value for value in owner.values()]


def _type_of(value: Any) -> Any:
    """The same for values that a list of traced length can hold together, none of which it changes."""
    if isinstance(value, tuple):
        return tuple(map(_type_of, value))
    if isinstance(value, bool | int | float | jax.Array | np.ndarray | np.generic):
        dtype = jax.dtypes.canonicalize_dtype(np.result_type(value))
        return np.shape(value), dtype
    return next((kind for kind in (list, str) if isinstance(value, kind)), object())
