"""`Texts`: what is known of the characters of texts of traced values, and the builtins that make such and read them."""

from __future__ import annotations

import builtins
import functools
import json
import pprint
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Backend
from autograph.backends.selected import STAGING
from autograph.runtime.containers.element_kinds import flatten_element, is_array_leaf
from autograph.runtime.containers.lengths import check, is_integer
from autograph.runtime.containers.padded import Padded
from autograph.runtime.containers.traced_lists import TracedList, is_traced_list
from autograph.runtime.effects.as_python import as_python, resolved_values
from autograph.runtime.effects.characters import Characters, code_list, joined, joined_list
from autograph.runtime.effects.traced_texts import TracedText, character, is_text, is_traced_text, repeated_text
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.describe import unflatten
from autograph.runtime.layouts.kinds import Array, Layout, Static, leaves_of, rooms_of
from autograph.runtime.layouts.one_of import OneOf, candidates_of, code_of, is_one_of
from autograph.runtime.layouts.statement_variables import has_contents, holds_traced
from autograph.runtime.staging.builtins.float_literals import float_of
from autograph.runtime.staging.builtins.text_formats import digits, formatted, formatted_text, of_table
from autograph.runtime.staging.builtins.text_parts import CONSTANTS, Joined, Piece, Times, Wide, parts_written
from autograph.runtime.tracing.locations import user_location

_BASES: Mapping[Any, tuple[int, str]] = types.MappingProxyType({bin: (2, "0b"), oct: (8, "0o"), hex: (16, "0x")})
_PREFIXES = types.MappingProxyType({prefix[1]: radix for radix, prefix in _BASES.values()})
_SPACE = "".join(filter(str.isspace, map(chr, range(0x3001))))


class Texts:
    """The overloads of `chr`, `ord`, `bin`, `oct` and `hex`, and the characters of texts."""

    def __init__(self, backend: Backend, checks: Any) -> None:
        self.backend = backend
        self._checks = checks

    def overloads(self) -> Mapping[Any, Callable[..., Any]]:
        return {
            builtins.chr: self._chr,
            builtins.ord: self._ord,
            json.dumps: self._json,
            pprint.pformat: functools.partial(self._pretty, pprint.pformat),
            pprint.pprint: functools.partial(self._print_pretty, pprint.pprint),
            pprint.pp: functools.partial(self._print_pretty, pprint.pp),
            **{function: functools.partial(self._in_base, function) for function in _BASES},
        }

    def characters_of(self, text: Any) -> Characters | None:
        """A text as its characters; None of one that is known only as a whole, when the program has run."""
        if isinstance(text, Characters):
            return text
        is_kept = type(text) is TracedText and _is_of_numbers(text)
        if is_kept and text.read_as is not None and not self._has_ended(text.read_as):
            return text.read_as
        pieces = _pieces(text)
        found = None if pieces is None else joined(list(map(_characters, pieces)))
        if is_kept:
            text.read_as = found
        return found

    def _has_ended(self, text: Characters) -> bool:
        """Whether characters were computed in a trace that is over, as that of another branch is."""
        codes = text.codes.contents()
        leaves = (codes.length, *codes.buffers) if isinstance(codes, Padded) else codes
        return any(map(self.backend.has_ended, leaves))

    def read(self, text: Any) -> Characters:
        """The characters of a text.

        Raises:
          StagingError: they are not known before the program has run.
          TypeError: this is no text.
        """
        if not is_text(text):
            raise TypeError(f"must be str, not {type(text).__name__}")
        found = text.characters() if isinstance(text, TracedText) else self.characters_of(text)
        assert found is not None
        return found

    @staticmethod
    def has_characters(text: Any) -> bool:
        """Whether `characters_of` returns characters. The values in the text may be those of a description."""
        return _pieces(text) is not None

    @functools.cached_property
    def spelling(self) -> Any:
        """JAX's structure of the node that `Characters` are."""
        whole = Characters(code_list(()))
        return jax.tree_util.tree_structure(whole, is_leaf=lambda part: part is not whole)

    def written(self, layout: Layout) -> str | tuple[Sequence[int], int, Callable[..., Any], Callable[..., Any]] | None:
        """The characters of the texts of a layout with typed leaves: a string, or which leaves they are made of, for how many
        there is room, and what makes of these leaves, along any first axes, how many there are and their code points.

        None if they are known only when the program has run, or need room of which that is known only then.
        """
        leaves = list(leaves_of(layout))
        found = [leaf.value if isinstance(leaf, Static) else None for leaf in leaves]
        arrays_in = [(k, leaf.type) for k, leaf in enumerate(leaves) if isinstance(leaf, Array)]
        places, rooms = [k for k, _ in arrays_in], rooms_of(layout)
        types = [jax.ShapeDtypeStruct((*rooms[k], *type.shape), type.dtype) for k, type in arrays_in]

        def text_of(arrays: Sequence[Any]) -> Any:
            for k, array in zip(places, arrays, strict=True):
                found[k] = array
            return unflatten(layout, found, new_list=self._checks.new_list)

        pieces = _pieces(text_of(types))
        if pieces is None or not _is_bounded(pieces):
            return None
        if not places:
            return "".join(str(piece.value) for piece in pieces)

        def arrays_of(*arrays: Any) -> tuple[Any, Any]:
            text = self.characters_of(text_of(arrays))
            assert text is not None
            codes, length = text.arrays()
            return codes, jnp.asarray(length)

        def part(number: int, *arrays: Any) -> Any:
            made = arrays_of
            for _ in range(jnp.ndim(arrays[0]) - len(types[0].shape)):
                made = jax.vmap(made)
            return made(*arrays)[number]

        codes, _ = jax.eval_shape(arrays_of, *types)
        return places, codes.shape[0], functools.partial(part, 1), functools.partial(part, 0)

    # Python's builtins.

    def _chr(self, code: Any) -> Any:
        if not self.backend.is_traced(code):
            return chr(code)
        if not is_integer(code):
            raise TypeError(
                f"'{'float' if jnp.issubdtype(code.dtype, jnp.floating) else code.dtype}' object cannot be interpreted as an integer"
            )
        check((code >= 0) & (code <= 0x10FFFF), ValueError("chr() arg not in range(0x110000)"), is_needed=False)
        return TracedText(character, (code,))

    def _json(self, obj: Any, **options: Any) -> Any:
        """``json.dumps``. What functions of the user's write is known only when they are called, of values that are."""
        if self.backend.is_eager():
            return json.dumps(obj, **options)
        if holds_traced(options):
            raise StagingError(
                f"{user_location()}\n  An option of `json.dumps` is traced here.\n  Choose it before: json.dumps(x, indent=2) if x > 0 "
                "else json.dumps(x)."
            )
        text = self._checks.text_now(_Json(tuple(options.items())), [obj])
        if type(text) is not str and (options.get("cls") or options.get("default")):
            raise StagingError(
                f"{user_location()}\n  `json.dumps` with `cls` or `default` is given traced values here, and would call these "
                "functions when the program has run.\n  Put the values into dicts, lists and numbers first, or return them and "
                "call json.dumps outside."
            )
        return text

    def _pretty(self, plain: Callable[..., Any], object: Any, *args: Any, **options: Any) -> Any:  # noqa: A002 as Python's
        if self.backend.is_eager() or holds_traced((args, options)) or not holds_traced([object]):
            return plain(object, *args, **options)
        return self._checks.text_now(_Pretty(args, tuple(options.items())), [object])

    def _print_pretty(
        self,
        plain: Callable[..., Any],
        object: Any,  # noqa: A002 as Python's
        stream: Any = None,
        *args: Any,
        **options: Any,
    ) -> None:
        text = self._pretty(lambda *_, **__: None, object, *args, **({"sort_dicts": plain is pprint.pprint} | options))
        if text is None:
            plain(object, stream, *args, **options)
        else:
            self._checks.call(print)(text, file=stream)

    def method(self, called: Callable[..., Any]) -> Callable[..., Any]:
        """A method of a string that Python has, which may be given texts and numbers that only the run knows."""
        owner: Any = called.__self__  # type: ignore[attr-defined]

        def call(*args: Any, **kwargs: Any) -> Any:
            given = (*args, *kwargs.values())
            if called.__name__ in _FORMATTING:
                return self._checks.text_now(_Formatted(owner, called.__name__, tuple(kwargs)), *given)
            if not any(is_traced_text(each) or self.backend.is_traced(each) for each in given):
                return called(*args, **kwargs)
            return getattr(self.read(owner), called.__name__)(*args, **kwargs)

        return call

    def unbound(self, method: Any) -> Callable[..., Any]:
        """A method of `str`, to be called with the text: ``map(str.upper, words)``."""

        def call(*given: Any, **kwargs: Any) -> Any:
            if not given or not is_text(given[0]):
                return method(*given, **kwargs)  # raises
            text, *args = given
            if isinstance(text, str):
                return self._checks.call(method.__get__(text))(*args, **kwargs)
            return getattr(self.read(text), method.__name__)(*args, **kwargs)

        return functools.update_wrapper(call, method, assigned=("__name__", "__qualname__", "__doc__"), updated=())

    def _ord(self, text: Any) -> Any:
        if not isinstance(text, TracedText):
            return ord(text)
        codes = text.characters().codes
        size = codes.size()
        if isinstance(size, int) and size != 1:
            raise TypeError(f"ord() expected a character, but string of length {size} found")
        check(size == 1, TypeError("ord() expected a character"), is_needed=False)
        return STAGING.number(codes.as_list()[0], int)

    def _in_base(self, function: Callable[[Any], str], number: Any) -> Any:
        return self._checks.text_now(function, number) if self.backend.is_traced(number) else function(number)

    def best_of(self, text: Any, best: Callable[[Any], Any]) -> Any:
        """The first or last of a text's characters by order: ``best`` of their code points."""
        return self._chr(best(self.read(text).codes.as_list()))

    def ordered(self, text: Any, sort: Callable[[Any], Any]) -> Any:
        """The list of a text's characters in order: ``sort`` of their code points."""
        codes = sort(self.read(text).codes.as_list())
        return Characters(codes if isinstance(codes, TracedList) else code_list(tuple(codes))).items()

    def number(self, text: Any, base: Any = 10) -> Any:
        """``int(text, base)``."""
        codes, length = self.read(text).strip(_SPACE).arrays()
        in_range = (base == 0) | ((base >= 2) & (base <= 36))
        check(in_range, ValueError("int() base must be >= 2 and <= 36, or 0"), is_needed=False)
        place = jnp.arange(codes.shape[0])
        is_sign = (place == 0) & ((codes == ord("-")) | (codes == ord("+")))
        prefix, of_prefix = _prefix(codes, place - jnp.any(is_sign), base)
        radix = jnp.where(base == 0, jnp.where(of_prefix > 0, of_prefix, 10), base)
        digit = _digit_values(codes)
        is_digit = (digit < radix) & (place < length) & ~prefix
        is_before, is_after = (
            jnp.roll(is_digit | prefix, 1).at[0].set(False),
            jnp.roll(is_digit, -1).at[-1].set(False),
        )
        is_between = (codes == ord("_")) & is_before & is_after
        fits = jnp.all(is_digit | is_sign | prefix | is_between | (place >= length)) & jnp.any(is_digit)
        first = jnp.argmax(is_digit)
        fits &= (base != 0) | (of_prefix > 0) | (digit[first] > 0) | ~jnp.any(is_digit & (digit > 0))  # no 010

        def message(shown: Any, base: Any) -> str:
            return f"invalid literal for int() with base {base}: {shown!r}"

        error = lambda: self._checks.exception(ValueError, self._checks.text(message, text, base))  # noqa: E731
        check(fits, error, is_needed=False)

        dtype = jnp.zeros((), int).dtype
        powers = jnp.cumprod(jnp.where(place == 0, 1, radix).astype(dtype))  # which wrap, as sums of integers do
        after = jnp.sum(is_digit) - jnp.cumsum(is_digit)
        value = jnp.sum(jnp.where(is_digit, digit.astype(dtype) * powers[after], 0), dtype=dtype)
        return STAGING.number(jnp.where(codes[0] == ord("-"), -value, value), int)

    def float_number(self, text: Any) -> Any:
        """``float(text)``."""
        value, fits = float_of(*self.read(text).strip(_SPACE).arrays())

        def message(shown: Any) -> str:
            return f"could not convert string to float: {shown!r}"

        error = lambda: self._checks.exception(ValueError, self._checks.text(message, text))  # noqa: E731
        check(fits, error, is_needed=False)
        return STAGING.number(value, float)


def _digit_values(codes: Any) -> Any:
    """What characters count as digits; 36, which no base has, for what is none."""
    lower = codes | 32
    is_letter = (lower >= ord("a")) & (lower <= ord("z")) & (codes < 128)
    is_decimal = (codes >= ord("0")) & (codes <= ord("9"))
    return jnp.where(is_decimal, codes - ord("0"), jnp.where(is_letter, lower - ord("a") + 10, 36))


def _prefix(codes: Any, place: Any, base: Any) -> tuple[Any, Any]:
    """Where the two characters are that begin a literal of a base, such as ``0x``, and the base that they stand for; else 0."""
    is_first, is_second = (place == 0) & (codes == ord("0")), place == 1
    letter = jnp.sum(jnp.where(is_second & jnp.roll(is_first, 1).at[0].set(False), codes | 32, 0))
    of_prefix = sum(jnp.where(letter == ord(sign), radix, 0) for sign, radix in _PREFIXES.items())
    of_prefix = jnp.where((base == 0) | (base == of_prefix), of_prefix, 0)
    return (is_first | is_second) & (of_prefix > 0), of_prefix


@dataclass(frozen=True)
class _Json:
    """Makes the text of the one item of a list, in which arrays are Python's numbers."""

    options: tuple[tuple[str, Any], ...]

    def __call__(self, of: list[Any]) -> str:
        (item,) = resolved_values(of)
        return json.dumps(item, **dict(self.options))


@dataclass(frozen=True)
class _Pretty:
    """Makes the text of `pprint.pformat` of the one item of a list, in which arrays are as in the text of a list."""

    args: tuple[Any, ...]
    options: tuple[tuple[str, Any], ...]

    def __call__(self, of: list[Any]) -> str:
        (item,) = as_python(resolved_values(of))
        return pprint.pformat(item, *self.args, **dict(self.options))


_FORMATTING = frozenset(["format", "format_map"])


@dataclass(frozen=True)
class _Formatted:
    """Makes the text of a format and the values for its places, of which the last have names."""

    form: str
    method: str
    names: tuple[str, ...]

    def __call__(self, *values: Any) -> str:
        count = len(values) - len(self.names)
        named = dict(zip(self.names, values[count:], strict=True))
        found: str = getattr(self.form, self.method)(*values[:count], **named)
        return found


def _is_of_numbers(text: TracedText) -> bool:
    """Whether nothing in a text can be written to: no list is in it."""
    return all(
        _is_of_numbers(value) if type(value) is TracedText else is_array_leaf(value) or isinstance(value, CONSTANTS)
        for value in text.values
    )


def _pieces(text: Any) -> list[Piece] | None:
    """What a text consists of, where the characters of each piece are known when the program runs; else None."""
    if type(text) is str or isinstance(text, Characters):
        return [Piece(text)]
    if is_one_of(text):
        return [Piece(text)] if all(isinstance(each, CONSTANTS) for each in candidates_of(text)) else None
    if not isinstance(text, TracedText):
        return None
    make, values = text.make, text.values
    if make is character:
        return [Piece(values[0], character)]
    if make in _BASES:
        return [Piece(values[0], _BASES[make])]
    if make is repeated_text:
        return None if _pieces(values[0]) is None else [Piece(values[1], Times(values[0]))]
    if isinstance(make, types.BuiltinMethodType) and make.__name__ == "join":
        return _pieces_of_list(str(make.__self__), *values)
    return _written(make, values)


def _pieces_of_list(separator: str, items: Any) -> list[Piece] | None:
    """The pieces of the texts in a list, with a separator between them."""
    if is_traced_list(items):
        held = items.contents()
        element = held.kind.build(_described(held))
        if isinstance(element, TracedText) and element.make is character and not separator:
            return [Piece(items, character)]
        pieces = _pieces(element)
        return [Piece(items, Joined(separator))] if pieces is not None and _is_bounded(pieces) else None
    found: list[Piece] = []
    for item in items:
        pieces = _pieces(item)
        if pieces is None:
            return None
        found += [Piece(separator), *pieces] if found else pieces
    return found


def _pieces_of_items(items: Any) -> list[Piece] | None:
    """What ``str`` makes of a list or tuple whose length is traced."""
    held = items.contents()
    before, after = "[]" if items.stands_for is list else "()"
    if isinstance(held.capacity, int) and not held.capacity:
        return [Piece(before + after)]
    text = TracedText(repr, (held.kind.build(_described(held)),))
    kind, _ = flatten_element(text, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct) or is_array_leaf(leaf))
    pieces = _pieces_of_list(", ", TracedList((), items.checks).holding(held.unreserved().with_(kind=kind)))
    if pieces is None:
        return None
    if items.stands_for is tuple:
        pieces.append(Piece(OneOf(("", ","), jnp.asarray(held.length == 1, int))))
    return [Piece(before), *pieces, Piece(after)]


def _described(held: Padded) -> list[jax.ShapeDtypeStruct]:
    """What the array leaves of an element are like."""
    return [jax.ShapeDtypeStruct(buffer.shape[1:], buffer.dtype) for buffer in held.buffers]


def _is_bounded(pieces: Sequence[Piece]) -> bool:
    """Whether it is known while tracing how many characters these are at most."""
    return all(
        not isinstance(piece.form, Times) or isinstance(piece.value, int) or piece.value.dtype == np.bool_
        for piece in pieces
    )


def _characters(piece: Piece) -> Characters:
    """The characters of a piece of a text."""
    value, form = piece.value, piece.form
    if isinstance(form, Wide):
        pieces = _pieces(value) if is_text(value) else [Piece(value)]
        assert pieces is not None
        return formatted_text(joined(list(map(_characters, pieces))), form.form)
    if isinstance(value, Characters):
        return value
    if type(value) is str:
        return Characters.of(value)
    if isinstance(form, Joined):
        return joined_list(Characters.of(form.separator), value.contents())
    if is_one_of(value):
        return of_table(tuple(map(str, candidates_of(value))), code_of(value))
    if form is character:
        return Characters.of_items(value) if is_traced_list(value) else Characters(code_list((value,)))
    if isinstance(form, Times):
        pieces = _pieces(form.text)
        assert pieces is not None
        return joined(list(map(_characters, pieces))) * value
    if value.dtype == np.bool_:
        return of_table(("False", "True"), value.astype(int))
    return digits(value, *form) if isinstance(form, tuple) else formatted(value, form)


def _written(make: Callable[..., str], values: Sequence[Any]) -> list[Piece] | None:
    """What ``make`` puts into its text of these values; None if it does more than to put each value into the text."""
    parts = parts_written(make, values)
    if parts is None:
        return None
    pieces: list[Piece] = []
    for piece in parts:
        is_list = has_contents(piece.value)
        if not (is_list or isinstance(piece.value, TracedText)):
            pieces.append(piece)
            continue
        inside = _pieces_of_items(piece.value) if is_list else _pieces(piece.value)
        if inside is None or (piece.form and not _is_bounded(inside)):
            return None
        pieces += [piece] if piece.form else inside
    return pieces
