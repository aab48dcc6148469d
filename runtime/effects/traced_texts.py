"""`TracedText`: a text that is made of traced values, once the program has run."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from autograph.runtime.containers.lengths import is_count
from autograph.runtime.effects.as_python import in_a_text, resolved_values
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.one_of import is_one_of
from autograph.runtime.layouts.statement_variables import has_contents
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location

PLAIN = (str, bytes, int, float, bool, complex, type(None))


@jax.tree_util.register_pytree_node_class
class DeferredText:
    """A text made from traced values: ``make`` of them, once they are known."""

    def __init__(self, make: Callable[..., str], values: tuple[Any, ...]) -> None:
        self.make = make
        self.values = values

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        return self.values, _Code(self.make)

    @classmethod
    def tree_unflatten(cls, make: Any, values: Any) -> DeferredText:
        return cls(make.function, tuple(values))

    def __str__(self) -> str:
        return self.make(*map(in_a_text, resolved_values(self.values)))


def _of_string(read: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """A special method that, outside of the trace that made the text, reads the string."""

    def decorated(staged: Callable[..., Any]) -> Any:
        @functools.wraps(staged)
        def method(self: Any, *others: Any) -> Any:
            found = self.resolve()
            return read(found, *others) if type(found) is str else staged(self, *others)

        return method

    return decorated


@jax.tree_util.register_pytree_node_class
class TracedText(DeferredText):
    """A text of traced values, such as ``f"{x:.2f}"``: it may be printed, raised, put into another text and returned."""

    stands_for = str
    ranks: tuple[int, ...] | None = None
    """The greatest rank of the arrays in each value, once it has been a result: with a greater one, it is a batch of texts."""
    read_as: Any = None
    """Its characters, once they have been read: see `Texts.characters_of`."""

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        ranks = tuple(map(_rank, self.values)) if self.ranks is None else self.ranks
        known = tuple(value if type(value) is str else None for value in self.values)  # a batch has no rows of these
        return tuple(value for value in self.values if type(value) is not str), (_Code(self.make), ranks, known)

    @classmethod
    def tree_unflatten(cls, facts: Any, values: Any) -> TracedText:
        code, ranks, known = facts
        left = iter(values)
        made = cls(code.function, tuple(next(left) if value is None else value for value in known))
        made.ranks = ranks
        return made

    @classmethod
    def has_codes(cls, facts: Any) -> bool:
        """Whether the one part of such a text, with these facts of its flattening, is its code point, or all of them."""
        code, *_ = facts
        return bool(code.function is character)

    def __str__(self) -> str:
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves(self.values)):
            raise self._needed()
        batch = self._batch()
        return super().__str__() if batch is None else f"<{batch} texts>"

    def _batch(self) -> int | None:
        """How many rows a batch of texts has, outside of the transform that made it."""
        if self.ranks is None:
            return None
        wider = (value for value, rank in zip(self.values, self.ranks, strict=True) if _rank(value) > rank)
        return next((len(leaf) for value in wider for leaf in jax.tree_util.tree_leaves(value) if _rank(leaf)), None)

    def __repr__(self) -> str:
        """The text's own; what it is made of, where that are no values but what represents them in a description."""
        leaves = jax.tree_util.tree_leaves(self.values)
        if all(isinstance(leaf, (jax.Array, np.ndarray, np.generic, *PLAIN)) for leaf in leaves):
            return repr(str(self))
        return f"<text of {', '.join(map(repr, leaves))}>"

    def __format__(self, form: str) -> str:
        return format(str(self), form)

    def resolve(self) -> Any:
        """The text; itself where its values are not known, and in a batch, of which each row is a text."""
        is_known = not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves(self.values))
        return str(self) if is_known and self._batch() is None else self

    def __add__(self, other: Any) -> Any:
        return TracedText(joined_text, (self, other)) if isinstance(other, str | TracedText) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return TracedText(joined_text, (other, self)) if isinstance(other, str) else NotImplemented

    def __mul__(self, count: Any) -> Any:
        if type(count) is int and (found := LANGUAGE.operators.texts.characters_of(self)) is not None:
            if isinstance(found.size(), int):
                return found * count
        return TracedText(repeated_text, (self, count)) if is_count(count) else NotImplemented

    __rmul__ = __mul__

    def characters(self) -> Any:
        """The text as one whose characters can be read when the program runs.

        Raises:
          StagingError: it has floats in it, or numbers in a format, whose characters are not known before the program has run.
        """
        found = LANGUAGE.operators.texts.characters_of(self)
        if found is None:
            raise StagingError(
                f"{user_location()}\n  A string of traced floats, or of numbers in a format, is read at trace time, but its contents are "
                "known only at run time.\n  Print it, raise it in an exception, or return it. To branch on it, compare the values that it "
                "contains."
            )
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(str, name):
            raise AttributeError(f"'str' object has no attribute {name!r}")
        found = self.resolve()
        return getattr(found if type(found) is str else self.characters(), name)

    @_of_string(operator.getitem)
    def __getitem__(self, key: Any) -> Any:
        return self.characters()[key]

    @_of_string(operator.contains)
    def __contains__(self, text: Any) -> Any:
        return self.characters().has(text)

    @_of_string(operator.eq)
    def __eq__(self, other: object) -> Any:
        return self.characters().equals(other)

    @_of_string(operator.ne)
    def __ne__(self, other: object) -> Any:
        return self.characters().differs(other)

    @_of_string(operator.lt)
    def __lt__(self, other: Any) -> Any:
        return self.characters().compared("<", other)

    @_of_string(operator.le)
    def __le__(self, other: Any) -> Any:
        return self.characters().compared("<=", other)

    @_of_string(operator.gt)
    def __gt__(self, other: Any) -> Any:
        return self.characters().compared(">", other)

    @_of_string(operator.ge)
    def __ge__(self, other: Any) -> Any:
        return self.characters().compared(">=", other)

    @property
    def __autograph_truth__(self) -> Callable[[], Any]:
        return lambda: self.size() > 0

    def size(self) -> Any:
        """``len``, which may be traced."""
        return self.characters().size()

    def _needed(self, *_: Any) -> Any:
        raise StagingError(
            f"{user_location()}\n  A string of traced values is read at trace time, but its contents are known only at run time: by code "
            "that is not converted, as a key of a dict or in a format.\n  Print it, raise it in an exception, or return it; or compare it "
            "with `==`."
        )

    __len__ = _of_string(len)(_needed)
    __bool__ = _of_string(bool)(_needed)
    __iter__ = _of_string(iter)(_needed)
    __mod__ = _of_string(operator.mod)(_needed)
    __int__ = _of_string(int)(_needed)
    __float__ = _of_string(float)(_needed)
    __hash__ = _of_string(hash)(_needed)


def _rank(value: Any) -> int:
    """The greatest rank of the arrays in a value.

    Of a text it is that of its values: to flatten it asks for this again, at each depth of a text of texts of texts.
    """
    if isinstance(value, TracedText):
        return max(map(_rank, value.values), default=0)
    return max((getattr(leaf, "ndim", 0) for leaf in jax.tree_util.tree_leaves(value)), default=0)


def character(code: Any) -> str:
    """The character with this code point."""
    return chr(int(code))


def is_traced_text(value: Any) -> bool:
    """Whether this represents a string of which only the run knows the characters."""
    return isinstance(value, TracedText) or (is_one_of(value) and isinstance(value, str))


def is_text(value: Any) -> bool:
    """Whether this is a string, or what represents one."""
    return type(value) is str or is_traced_text(value)


def concatenated(one: Any, other: Any) -> Any:
    """``one + other`` of two texts of which the run knows the contents."""
    if isinstance(one, TracedText):
        return one + other
    return other.__radd__(one) if isinstance(other, TracedText) else TracedText(joined_text, (one, other))


def joined_text(*parts: Any) -> str:
    return "".join(map(str, parts))


def repeated_text(text: Any, count: Any) -> str:
    return str(text) * int(count)


class _Code:
    """A function, identified by its code: a function that each trace defines again is the same, and so is an equal object."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Code) and _code_of(self.function) == _code_of(other.function)

    def __hash__(self) -> int:
        return hash(_code_of(self.function))


def _code_of(function: Any) -> Any:
    return getattr(function, "__code__", function)


class TextOfLists(TracedText):
    """A text that is made of lists, which may be of traced length."""

    @classmethod
    def has_codes(cls, facts: Any) -> bool:
        del facts
        return False

    def lists(self) -> Iterator[Any]:
        """The lists that it is made of."""
        raise NotImplementedError

    def _batch(self) -> int | None:
        sizes = map(_rows_of, self.lists())
        return next((size for size in sizes if size is not None), None)


def _rows_of(numbers: Any) -> int | None:
    """How many rows a batch of a list of numbers has; None for one list."""
    contents = numbers.contents() if has_contents(numbers) else numbers
    heads = contents if isinstance(contents, list | tuple) else (contents.length,)
    return next((len(head) for head in heads if np.ndim(head)), None)


def is_apart(separator: Any) -> bool:
    """Whether this is a known separator, no two places of which in a text overlap."""
    return isinstance(separator, str) and not any(separator.startswith(separator[k:]) for k in range(1, len(separator)))
