"""What a text is made of: each value that is put into it, and what stands between, by marks in the place of the values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.containers.lengths import is_count, is_integer
from autograph.runtime.containers.traced_lists import TracedList, is_traced_list
from autograph.runtime.containers.traced_tuples import TracedTuple
from autograph.runtime.effects.traced_texts import TracedText, character
from autograph.runtime.layouts.one_of import candidates_of, is_one_of
from autograph.runtime.layouts.statement_variables import has_contents
from autograph.runtime.staging.builtins.text_formats import is_integer_form, is_text_form

CONSTANTS = (str, int, bool, type(None))


@dataclass(frozen=True)
class Times:
    """That a text is repeated as often as a value says."""

    text: Any


@dataclass(frozen=True)
class Wide:
    """That a text is written in a format."""

    form: str


@dataclass(frozen=True)
class Joined:
    """That the texts of a list are put together."""

    separator: str


@dataclass(frozen=True)
class Piece:
    """A part of a text.

    Attributes:
      value: a text, one of several constants, or a number.
      form: how it is written: a format; the base and the prefix of an integer; `character`, for a code point or a list of
        characters; a `Times`, a `Joined` or a `Wide`.
    """

    value: Any
    form: Any = ""


def parts_written(make: Callable[..., str], values: Sequence[Any]) -> list[Piece] | None:
    """What ``make`` puts into its text of these values.

    None if it does more than to put each value into the text. It is called with objects that leave a mark where they are written.
    """
    found = []
    for sign in _SIGNS:
        marks: list[Piece] = []
        try:
            text: Any = make(*[_marked(value, marks, sign) for value in values])
        except Exception:  # it asks for more than a text, or holds what has none yet
            return None
        if not isinstance(text, str) or len(marks) >= _MOST:
            return None
        found.append(list(_split(text, marks, sign)))
    one, other = found
    if len(one) != len(other) or any(
        a.value is not b.value and (type(a.value) is not str or a.value != b.value)
        for a, b in zip(one, other, strict=True)
    ):
        return None
    return one


_MOST = 0x400


@dataclass(frozen=True)
class _Sign:
    """How marks look: the first one's character, which Unicode leaves to everyone, and how often each stands in its mark."""

    first: int
    width: int

    def mark(self, number: int) -> str:
        return chr(self.first + number) * self.width


# A literal that looks like a mark is none the second time, and what pads a mark, or cuts it, does not leave the same.
_SIGNS = _Sign(0xE000, 1), _Sign(0xE000 + _MOST, 1000)


class _NotWritten(Exception):
    """A text does something else with a value than to put it in."""


class _Mark:
    """Writes a character instead of a value."""

    def __init__(self, value: Any, marks: list[Piece], sign: _Sign) -> None:
        self.value, self._marks, self._sign = value, marks, sign

    def marked(self, form: Any) -> str:
        self._marks.append(Piece(self.value, form))
        return self._sign.mark(len(self._marks) - 1)

    def __format__(self, form: str) -> str:
        if not form or (hasattr(self.value, "dtype") and is_integer(self.value) and is_integer_form(form)):
            return self.marked(form)
        if not (_is_text(self.value) and is_text_form(form)):
            raise _NotWritten
        return self.marked(Wide(form))

    def __str__(self) -> str:
        return _MarkedText(self)

    def __repr__(self) -> str:
        if not (hasattr(self.value, "dtype") or has_contents(self.value)):
            raise _NotWritten
        return _MarkedText(self)

    def __mul__(self, text: Any) -> str:
        if type(text) is not str or not (hasattr(self.value, "dtype") and is_count(self.value)):
            raise _NotWritten
        return self.marked(Times(text))

    __rmul__ = __mul__


class _MarkedText(str):
    """The text of a mark, which may have a format."""

    def __new__(cls, of: _Mark) -> _MarkedText:
        return super().__new__(cls, of.marked(""))

    def __init__(self, of: _Mark) -> None:
        self._of = of

    def __format__(self, form: str) -> str:
        if not form:
            return str.__str__(self)
        if not is_text_form(form) or has_contents(self._of.value):
            raise _NotWritten
        return self._of.marked(Wide(form))


class PercentForm(str):
    """The left operand of ``"…" % values``, which can also write marks."""

    def __mod__(self, values: Any) -> str:
        items = values.values() if type(values) is dict else values if isinstance(values, tuple) else (values,)
        if not any(isinstance(item, _Mark) for item in items):
            return super().__mod__(values)
        pending, texts, end = iter(items), [], 0
        for place in _PLACE.finditer(self):
            texts.append(self[end : place.start()])
            end = place.end()
            name, form, kind = place.groups()
            if kind == "%":
                texts.append("%")
                continue
            item = values[name] if name is not None else next(pending)
            texts.append(_written(item, form, kind) if isinstance(item, _Mark) else f"%{form}{kind}" % (item,))
        if "%" in (rest := self[end:]) or (type(values) is not dict and next(pending, self) is not self):
            raise _NotWritten
        return "".join([*texts, rest])


# The name, the flags, width and precision, and the kind.
_PLACE = re.compile(r"%(?:\((\w+)\))?([-+ #0]*[0-9]*(?:\.[0-9]+)?)([a-zA-Z%])")
_PERCENT = re.compile(r"([-+ #0]*)([0-9]*)(?:\.([0-9]+))?")


def _written(mark: _Mark, form: str, kind: str) -> str:
    """A mark in a place of a ``%`` format, as `format` writes it."""
    parts = _PERCENT.fullmatch(form)
    assert parts is not None
    flags, width, most = parts.groups()
    side = "<" if "-" in flags else ""
    if kind in "sra":
        shown = str(mark) if kind == "s" else repr(mark)
        text = f"{side or '>'}{width}" if width else ""
        return format(shown, text if most is None else f"{text}.{most}")
    if kind == "c" and not form and not isinstance(mark.value, TracedText) and is_integer(mark.value):
        return mark.marked(character)
    if kind not in "diuoxX" or most is not None:
        raise _NotWritten
    sign = "+" if "+" in flags else " " if " " in flags else ""
    prefix = "#" if "#" in flags and kind in "oxX" else ""
    zeros = "0" if "0" in flags and not side and width else ""
    return format(mark, f"{side}{sign}{prefix}{zeros}{width}{'d' if kind in 'iu' else kind}")


def _is_text(value: Any) -> bool:
    return isinstance(value, TracedText) or (
        is_one_of(value) and all(type(each) is str for each in candidates_of(value))
    )


def _marked(value: Any, marks: list[Piece], sign: _Sign) -> Any:
    """What is written instead of a value of which only the run knows the text; else the value."""
    if isinstance(value, TracedText) or is_one_of(value):
        return _Mark(value, marks, sign)
    if isinstance(value, jax.core.Tracer | jax.ShapeDtypeStruct):
        if value.ndim or not (value.dtype == np.bool_ or jnp.issubdtype(value.dtype, jnp.integer)):
            raise _NotWritten
        return _Mark(value, marks, sign)
    if type(value) in (TracedList, TracedTuple):
        return _Mark(value, marks, sign) if is_traced_list(value) else _marked(value.resolve(), marks, sign)
    if type(value) in (list, tuple):
        return type(value)(_marked(item, marks, sign) for item in value)
    if type(value) is dict and all(isinstance(key, CONSTANTS) for key in value):
        return {key: _marked(item, marks, sign) for key, item in value.items()}
    if not isinstance(value, CONSTANTS):
        raise _NotWritten
    return value


def _split(text: str, marks: Sequence[Piece], sign: _Sign) -> Iterator[Piece]:
    """The parts of a text between marks, and what the marks stand for."""
    signs = f"([{chr(sign.first)}-{chr(sign.first + _MOST - 1)}])"
    for k, part in enumerate(re.split(signs + rf"\1{{{sign.width - 1}}}", text)):
        number = ord(part) - sign.first if k % 2 else None
        if number is not None and number < len(marks):
            yield marks[number]
        elif part:
            yield Piece(part)
