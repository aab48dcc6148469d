"""`GrowingText`: a text that staged statements make longer, or that is of another form on another path, as a list of its pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from autograph.runtime.effects.characters import Characters
from autograph.runtime.effects.traced_texts import DeferredText, TextOfLists, TracedText, character, is_text
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.describe import unflatten
from autograph.runtime.layouts.kinds import Array, Constants, Layout, Maybe, Static, Tree, leaves_of
from autograph.runtime.layouts.one_of import candidates_of, is_one_of, possible_candidates
from autograph.runtime.layouts.pytrees import is_pytree, tree_leaves
from autograph.runtime.layouts.text_kinds import is_text_layout
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location

MANY_TEXTS = 4  # that one variable may be: more, and they may be pieces of a growing one


@dataclass(frozen=True)
class _Form:
    """How a piece is made of its numbers: a text, in which each array has this shape and dtype instead of a value."""

    structure: Any
    leaves: tuple[Any, ...]


class TextForms:
    """The forms of pieces in one program. A piece is the number of its form, with its integers and its floats."""

    def __init__(self) -> None:
        self._forms: list[_Form] = []

    def taken_apart(self, text: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """The number of a text's form, its integers, and its floats: each a list."""
        leaves, structure = jax.tree_util.tree_flatten(
            text if isinstance(text, TracedText) else TracedText(str, (text,))
        )
        facts = tuple(
            jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if hasattr(leaf, "dtype") else leaf for leaf in leaves
        )
        form = _Form(structure, facts)
        if form not in self._forms:
            self._forms.append(form)
        whole: list[Any] = []
        floats: list[Any] = []
        for leaf, fact in zip(leaves, facts, strict=True):
            if isinstance(fact, jax.ShapeDtypeStruct):
                (floats if _is_float(fact) else whole).extend(
                    jnp.ravel(jnp.asarray(leaf, float if _is_float(fact) else int))
                )
        return [self._forms.index(form)], whole, floats

    def joined(self, before: Any, after: Any) -> str:
        """The text of pieces of which each was put before all others, and of those that were put after all others."""
        return "".join([*reversed([*self._made(*before)]), *self._made(*after)])

    def _made(self, numbers: Sequence[Any], whole: Sequence[Any], floats: Sequence[Any]) -> Iterator[str]:
        left = iter(whole), iter(floats)
        for number in numbers:
            if number < 0:
                yield character(_number_of_character(number))
                continue
            form = self._forms[int(number)]
            leaves = []
            for fact in form.leaves:
                if isinstance(fact, jax.ShapeDtypeStruct):
                    items = [next(left[_is_float(fact)]) for _ in range(fact.size)]
                    fact = jnp.asarray(items).reshape(fact.shape).astype(fact.dtype)
                leaves.append(fact)
            made: DeferredText = jax.tree_util.tree_unflatten(form.structure, leaves)
            yield str(TracedText(made.make, made.values))


def _number_of_character(code: Any) -> Any:
    """The number that a piece has which is one character, by its code point, and the other way round."""
    return -1 - code


def _is_float(fact: Any) -> bool:
    """Whether an array holds floats, and not integers.

    Raises:
      StagingError: it holds neither.
    """
    if jnp.issubdtype(fact.dtype, jnp.floating):
        return True
    if jnp.issubdtype(fact.dtype, jnp.integer) or fact.dtype == bool:
        return False
    raise StagingError(
        f"{user_location()}\n  A text of {fact.dtype.name} values is made longer in a staged statement, or differs by path: its pieces may "
        "hold integers, floats and truth values.\n  Put the texts into a list, or the real and imaginary parts into the text."
    )


@jax.tree_util.register_pytree_node_class
class GrowingText(TextOfLists):
    """The pieces of a text: those of which each was put before all others, and those that were put after all others.

    Both are three lists, of traced length where only the run knows which there are: see `TextForms`.
    """

    def __init__(self, forms: TextForms, values: tuple[Any, ...]) -> None:
        super().__init__(forms.joined, values)
        self.forms = forms

    @classmethod
    def of(cls, text: Any) -> GrowingText:
        """A text as one that may grow."""
        if isinstance(text, GrowingText):
            return text
        before, after = (tuple(LANGUAGE.operators.new_list([]) for _ in range(3)) for _ in range(2))
        return cls(LANGUAGE.operators.forms, (before, after)) + text

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        return self.values, self.forms

    @classmethod
    def tree_unflatten(cls, forms: Any, values: Any) -> GrowingText:
        return cls(forms, tuple(values))

    def __add__(self, other: Any) -> Any:
        before, after = self.values
        return GrowingText(self.forms, (before, self._with(after, other))) if is_text(other) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        before, after = self.values
        return GrowingText(self.forms, (self._with(before, other), after)) if is_text(other) else NotImplemented

    def lists(self) -> Iterator[Any]:
        return (part for pieces in self.values for part in pieces)

    def _with(self, pieces: tuple[Any, ...], text: Any) -> tuple[Any, ...]:
        if type(text) is str and not text:
            return pieces
        if isinstance(text, Characters):
            numbers, *others = pieces
            return numbers + text.codes_as(_number_of_character), *others
        parts = self.forms.taken_apart(text)
        return tuple(have + LANGUAGE.operators.new_list(new) for have, new in zip(pieces, parts, strict=True))


def has_characters(layout: Layout) -> bool:
    """Whether the characters of texts of this layout are known when the program runs; True of what is no text."""
    if not isinstance(layout, Tree) or not is_text_layout(layout):
        return True
    leaves = [
        jax.ShapeDtypeStruct(leaf.type.shape, leaf.type.dtype) if isinstance(leaf, Array) else leaf.value
        for leaf in leaves_of(layout)
        if isinstance(leaf, Array | Static)
    ]
    known: bool = LANGUAGE.operators.texts.has_characters(unflatten(layout, leaves))
    return known


def are_longer(layout: Layout) -> bool:
    """Whether a variable is one of many texts, most of which are another with something before or after it, some twice over."""
    inner = layout.inner if isinstance(layout, Maybe) else layout
    texts = inner.candidates if isinstance(inner, Constants) else ()
    if len(texts) <= MANY_TEXTS or not all(isinstance(text, str) for text in texts):
        return False
    depths: dict[str, int] = {}
    for text in sorted(texts, key=len):
        within = [depths[each] for each in depths if text.startswith(each) or text.endswith(each)]
        depths[text] = max(within, default=0) + 1
    return max(depths.values()) > 2 and 2 * sum(depth > 1 for depth in depths.values()) > len(texts)


def is_one_text(
    make: Callable[..., str],
    values: tuple[Any, ...],
    as_read: Callable[[Any], Any],
    is_traced: Callable[[Any], bool],
) -> bool:
    """Whether a text of constants that differ by path, and of traced numbers, is as well read as one text for each constant."""
    chosen = list(filter(is_one_of, values))
    others = tree_leaves([value for value in values if not is_one_of(value)]) if is_pytree(values) else []
    numbers = list(filter(is_traced, others))
    if not numbers or any(len(possible_candidates(each)) == 1 for each in chosen):
        return False
    if not all(type(text) is str for each in chosen for text in candidates_of(each)):
        return False
    # The branches of one for each would be traced again at each constant, to find room for characters.
    is_never_read = any(jnp.issubdtype(jnp.result_type(leaf), jnp.inexact) for leaf in numbers)
    return is_never_read or bool(LANGUAGE.operators.texts.has_characters(TracedText(make, as_read(values))))
