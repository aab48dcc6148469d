"""`OneOf`: one of several Python constants, chosen at run time."""

from __future__ import annotations

import enum
import functools
import operator
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.functions import is_same_function

MOST_CANDIDATES = 32  # each operation is done for every candidate

_LISTED = 6
_ARRAY_LIBRARIES = frozenset(["jax", "jaxlib", "numpy"])


def sort_of_constant(value: Any) -> Any:
    """What a constant can be chosen with: its class, or ``callable``; None for what is no constant.

    Constants are strings, bytes, members of an `enum.Enum`, dtypes, classes and functions: what a program may hold and
    nobody can change. Numbers are arrays where they differ.

    >>> sort_of_constant("open"), sort_of_constant(len), sort_of_constant(float), sort_of_constant(1)
    (<class 'str'>, 'callable', 'callable', None)
    """
    kind = type(value)
    if issubclass(kind, enum.Enum) or kind in (str, bytes):
        return kind
    if issubclass(kind, np.dtype):
        return np.dtype
    return "callable" if _is_function(value, kind) else None


def _is_function(value: Any, kind: type) -> bool:
    """Whether this is a class or function, with nothing of its own that may change."""
    if kind is types.FunctionType or issubclass(kind, type):
        return True
    if kind is types.BuiltinFunctionType or kind is types.MethodType:  # methods of objects among them
        owner = value.__self__
        return owner is None or isinstance(owner, types.ModuleType) or sort_of_constant(owner) not in (None, "callable")
    is_of_arrays = kind.__module__.partition(".")[0] in _ARRAY_LIBRARIES
    return is_of_arrays and callable(value) and hasattr(value, "__name__") and not hasattr(value, "dtype")


def is_same_constant(one: Any, other: Any) -> bool:
    """Whether either may stand for the other."""
    if one is other or is_same_function(one, other):
        return True
    if type(one) is not type(other) or type(one) not in (str, bytes):
        methods = (types.BuiltinFunctionType, types.MethodType)  # of one string, say, or of one member of an enum
        return type(one) in methods and bool(one == other)
    return bool(one == other)


@jax.tree_util.register_pytree_node_class
class OneOf:
    """A variable, or a result, that is one constant on one path of a traced condition and another on another.

    In converted code it is used as the constant would be: it is compared, looked up, called and passed on; what is done
    with it is done for each of the candidates, and the one that it is chooses.

    `autograph.function` turns a result into the constant before its caller sees it. Out of
    ``jax.jit(autograph.convert(f))`` it comes as it is, since XLA has no strings: `resolve` returns the constant. It is a
    pytree of one bool for each candidate, of which one is true.

    >>> import autograph as ag, jax, jax.numpy as jnp
    >>> def sign(x):
    ...     return "negative" if x < 0 else "positive"
    >>> ag.function(sign)(jnp.float32(-2.0))
    'negative'
    >>> jax.jit(ag.convert(sign))(3.0).resolve()
    'positive'
    """

    __slots__ = ("_candidates", "_tags", "__weakref__")

    def __init__(self, candidates: Sequence[Any], tags: Sequence[Any]) -> None:
        object.__setattr__(self, "_candidates", tuple(candidates))
        object.__setattr__(self, "_tags", tuple(tags))

    def tree_flatten(self) -> tuple[tuple[Any, ...], _Candidates]:
        return self._tags, _Candidates(self._candidates)

    @classmethod
    def tree_unflatten(cls, candidates: _Candidates, tags: Sequence[Any]) -> OneOf:
        if any(getattr(tag, "dtype", np.bool_) != np.bool_ for tag in tags):
            raise StagingError(
                f"A function of arrays was mapped over a value that is one of {listed(candidates.values)}, chosen "
                "at run time.\n  Leave it out of the tree that is mapped over."
            )
        return one_of(candidates.values, tags)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """That of all candidates, where it is one: what `isinstance` and class patterns ask."""
        kinds = {candidate.__class__ for candidate in self._candidates}
        return kinds.pop() if len(kinds) == 1 else type(self)

    def resolve(self) -> Any:
        """The constant; itself inside a trace, where it is not known which; an array of constants for several runs."""
        tags = self._tags
        if any(isinstance(tag, jax.core.Tracer) for tag in tags):
            return self
        if np.ndim(tags[0]) == 0:
            return next((each for each, tag in zip(self._candidates, tags, strict=True) if tag), self)
        found = np.empty(np.shape(tags[0]), object)
        for candidate, tag in zip(self._candidates, tags, strict=True):
            for place in zip(*np.nonzero(np.asarray(tag)), strict=True):
                found[place] = candidate
        return found

    def __autograph_truth__(self) -> Any:
        return each_purely(self, bool)

    def __bool__(self) -> bool:
        return bool(self.__autograph_truth__())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(self, "_tags"):
            raise AttributeError(name)
        return each_purely(self, operator.attrgetter(name))

    def __setattr__(self, name: str, value: Any) -> None:
        each(self, lambda candidate: setattr(candidate, name, value))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return each(self, lambda candidate: CHOICES.call(candidate)(*args, **kwargs))

    def __len__(self) -> int:
        length: int = each_purely(self, len)
        return length

    def __getitem__(self, key: Any) -> Any:
        return each_purely(self, lambda candidate: candidate[key])

    def __contains__(self, item: Any) -> bool:
        return bool(each_purely(self, lambda candidate: item in candidate))

    def __iter__(self) -> Iterator[Any]:
        raise _needs_the_constant(self, "Iteration over it")

    def __hash__(self) -> int:
        raise _needs_the_constant(self, "A hash of it")

    def __str__(self) -> str:
        return self._text(str)

    def __format__(self, form: str) -> str:
        return self._text(lambda candidate: format(candidate, form))

    def __repr__(self) -> str:
        found = OneOf.resolve(self)
        return f"OneOf({listed(self._candidates)})" if found is self else repr(found)

    def _text(self, written: Callable[[Any], str]) -> str:
        found = OneOf.resolve(self)
        if found is self:
            raise _needs_the_constant(self, "A text of it")
        return written(found)


class _Candidates:
    """The constants in the structure of a pytree: equal where each may stand for the other."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Candidates) or len(self.values) != len(other.values):
            return False
        return all(map(is_same_constant, self.values, other.values))

    def __hash__(self) -> int:
        return hash(tuple(map(type, self.values)))

    def __repr__(self) -> str:
        return listed(self.values)


def is_one_of(value: Any) -> bool:
    """Whether this is a `OneOf`, whose class `isinstance` does not see."""
    return type(value) is OneOf


def candidates_of(value: OneOf) -> tuple[Any, ...]:
    """The constants that it may be."""
    candidates: tuple[Any, ...] = object.__getattribute__(value, "_candidates")
    return candidates


def tags_of(value: OneOf) -> tuple[Any, ...]:
    """For each candidate, whether it is that: a bool array."""
    tags: tuple[Any, ...] = object.__getattribute__(value, "_tags")
    return tags


def one_of(candidates: Sequence[Any], tags: Sequence[Any]) -> Any:
    """The constant whose tag is true; the constant itself where Python knows it."""
    for candidate, tag in zip(candidates, tags, strict=True):
        if tag is True:
            return candidate
    return OneOf(candidates, tags)


def listed(candidates: Sequence[Any]) -> str:
    """The constants in a sentence.

    >>> listed(("a", "b", "c"))
    "'a', 'b' or 'c'"
    """
    names = [getattr(each, "__qualname__", None) or repr(each) for each in candidates]
    if len(names) > _LISTED:
        names[_LISTED - 1 :] = [f"{len(names) - _LISTED + 1} others"]
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def each(value: OneOf, function: Callable[[Any], Any], is_pure: bool = False) -> Any:
    """``function`` of the constant that this is: what it returns for each candidate, chosen by the tags."""
    found = OneOf.resolve(value)
    return CHOICES.each(value, function, is_pure) if is_one_of(found) else function(found)


def each_purely(value: OneOf, function: Callable[[Any], Any]) -> Any:
    """`each`, of a function that does nothing but return something of the constant."""
    return each(value, function, True)


def merged(value: OneOf, results: Sequence[Any]) -> Any:
    """One result from those for each candidate, where all are bools, or all constants; else `NotImplemented`."""
    first = results[0]
    if all(isinstance(result, bool) for result in results):
        return _any(value, [result is True for result in results])
    sort = sort_of_constant(first)
    if any(is_one_of(result) or sort_of_constant(result) != sort for result in results) or sort is None:
        return NotImplemented
    if sort == "callable" and not all(isinstance(result, type) for result in results):
        return NotImplemented
    candidates: list[Any] = []
    for result in results:
        if not any(is_same_constant(result, candidate) for candidate in candidates):
            candidates.append(result)
    tags = [_any(value, [is_same_constant(result, candidate) for result in results]) for candidate in candidates]
    return one_of(candidates, tags)


def _any(value: OneOf, wanted: Sequence[bool]) -> Any:
    """Whether the constant is one of those that are wanted."""
    if all(wanted) or not any(wanted):
        return wanted[0]
    tags = [tag for tag, is_wanted in zip(value._tags, wanted, strict=True) if is_wanted]
    return functools.reduce(jnp.logical_or, tags)


def _needs_the_constant(value: OneOf, what: str) -> StagingError:
    return StagingError(
        f"{CHOICES.where()}\n  A value is one of {listed(value._candidates)} here, chosen at run time. {what} "
        "needs the "
        'constant.\n  Compare it first: if value == "a": …, or match.'
    )


class _Choices:
    """What a `OneOf` asks of the operators. Set by whoever makes them."""

    each: Callable[[OneOf, Callable[[Any], Any], bool], Any]
    call: Callable[[Any], Any]
    where: Callable[[], str]


CHOICES = _Choices()


def _binary(function: Callable[[Any, Any], Any]) -> Any:
    return lambda self, other: each_purely(self, lambda candidate: function(candidate, other))


def _reflected(function: Callable[[Any, Any], Any]) -> Any:
    return lambda self, other: each_purely(self, lambda candidate: function(other, candidate))


for _name in ("add", "sub", "mul", "mod", "and_", "or_", "xor"):
    _plain = _name.rstrip("_")
    setattr(OneOf, f"__{_plain}__", _binary(getattr(operator, _name)))
    setattr(OneOf, f"__r{_plain}__", _reflected(getattr(operator, _name)))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(OneOf, f"__{_name}__", _binary(getattr(operator, _name)))
