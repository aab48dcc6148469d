"""How numbers and texts are written in a format, as `Characters`."""

from __future__ import annotations

import re
import types
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from autograph.runtime.effects.characters import Characters, code_list, codes_of_length, joined

# The bases of the formats of integers, by which f-strings and `format` write them.
_FORMATS: Mapping[str, int] = types.MappingProxyType({"": 10, "d": 10, "b": 2, "o": 8, "x": 16, "X": 16})
# A character that stands for a value is none of ASCII.
_INTEGER = re.compile(r"(?:([ -~])?([<>^=]))?([-+ ])?(#)?(0)?([1-9][0-9]{0,2})?([,_])?([dboxX]?)")
_TEXT = re.compile(r"(?:([ -~])?([<>^]))?([1-9][0-9]{0,2})?(?:\.([0-9]{1,3}))?s?")
_DIGITS = tuple(map(ord, "0123456789abcdef"))


def formatted(number: Any, form: str) -> Characters:
    """The characters of an integer in a format."""
    parts = _INTEGER.fullmatch(form)
    assert parts is not None
    fill, side, sign, is_prefixed, zeros, width, grouped, kind = parts.groups()
    radix = _FORMATS[kind]
    whole = digits(number, radix, "")
    if not (fill or side or sign or is_prefixed or zeros or width or grouped or kind == "X"):
        return whole
    shown = whole[(number < 0).astype(int) :]
    if kind == "X":
        shown = Characters(shown.codes_as(lambda code: jnp.where(code >= ord("a"), code - 32, code)))
    if grouped:
        shown = _grouped(shown, grouped, 3 if radix == 10 else 4)
    prefix = f"0{kind}" if is_prefixed and radix != 10 else ""
    before = {"+": "+", " ": " "}.get(sign or "", "") + prefix
    lead = of_table((before, f"-{prefix}"), (number < 0).astype(int))
    size = lead.size() + shown.size()
    side = side or ("=" if zeros else ">")
    if side == "=":
        return joined([lead, _filling(fill or ("0" if zeros else " "), width, size), shown])
    return _aligned(joined([lead, shown]), fill or ("0" if zeros else " "), side, width)


def is_integer_form(form: str) -> bool:
    """Whether the characters of an integer in this format are known when the program runs."""
    parts = _INTEGER.fullmatch(form)
    if parts is None:
        return False
    _, side, _, _, zeros, width, grouped, kind = parts.groups()
    if grouped == "," and _FORMATS[kind] != 10:
        return False  # which Python refuses
    return not (grouped and width and (zeros or side == "="))  # where the zeros are grouped, too


def _grouped(digits: Characters, separator: str, count: int) -> Characters:
    """Digits with a separator after so many each, from the last."""
    codes, length = digits.arrays()
    size = length + (length - 1) // count
    room = codes.shape[0] + (codes.shape[0] - 1) // count
    last = size - 1 - jnp.arange(room)  # the place, from the last
    source = jnp.clip(length - 1 - (last - last // (count + 1)), 0, codes.shape[0] - 1)
    made = jnp.where(last % (count + 1) == count, ord(separator), codes[source])
    return Characters(codes_of_length(made, size))


def is_text_form(form: str) -> bool:
    """The same of a text."""
    return _TEXT.fullmatch(form) is not None


def formatted_text(text: Characters, form: str) -> Characters:
    """The characters of a text in a format."""
    parts = _TEXT.fullmatch(form)
    assert parts is not None
    fill, side, width, most = parts.groups()
    return _aligned(text if most is None else text[: int(most)], fill or " ", side or "<", width)


def _aligned(text: Characters, fill: str, side: str, width: str | None) -> Characters:
    """A text in a room of this width: on its left, on its right, or in its middle."""
    more = _filling(fill, width, text.size())
    before = 0 if side == "<" else more.size() if side == ">" else more.size() // 2
    return joined([more[:before], text, more[before:]])


def _filling(fill: str, width: str | None, size: Any) -> Characters:
    """As many of a character as a text of this size has less than the width."""
    most = int(width or 0)
    return Characters(codes_of_length(jnp.full(max(most, 1), ord(fill)), jnp.maximum(most - size, 0)))


def of_table(texts: Sequence[str], number: Any) -> Characters:
    """The characters of one of these texts."""
    longest = max(map(len, texts))
    table = np.zeros((len(texts), max(longest, 1)), int)
    for row, text in zip(table, texts, strict=True):
        row[: len(text)] = [*map(ord, text)]
    codes, lengths = jnp.asarray(table)[number], {len(text) for text in texts}
    if len(lengths) == 1:
        return Characters(code_list(tuple(codes[k] for k in range(longest))))
    return Characters(codes_of_length(codes, jnp.asarray([len(text) for text in texts])[number]))


def digits(number: Any, base: int, prefix: str) -> Characters:
    """The characters of an integer."""
    unsigned = jnp.uint64 if number.dtype.itemsize == 8 else jnp.uint32
    is_negative = number < 0
    magnitude = number.astype(unsigned)
    magnitude = jnp.where(is_negative, (~magnitude) + 1, magnitude)
    greatest = int(np.iinfo(unsigned).max)
    powers = [base**k for k in range(65) if base**k <= greatest]
    table = jnp.asarray(np.array(powers, unsigned))
    count = jnp.maximum(jnp.sum(magnitude >= table), 1)
    first = is_negative.astype(int)
    lead = [ord("-"), *map(ord, prefix)]
    start = first + len(prefix)
    place = jnp.arange(1 + len(prefix) + len(powers))
    digit = (magnitude // table[jnp.clip(count - 1 - (place - start), 0, len(powers) - 1)]) % np.array(base, unsigned)
    leading = jnp.asarray(lead)[jnp.clip(place + 1 - first, 0, len(lead) - 1)]
    codes = jnp.where(place < start, leading, jnp.asarray(_DIGITS)[digit.astype(int)])
    return Characters(codes_of_length(codes, start + count))
