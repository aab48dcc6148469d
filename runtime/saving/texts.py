"""Encode text that is formatted from run-time values, without the code that formats it.

The text of an exception, ``f"{x:.2f} is too large"``, is made by code, which does not leave the process. That code is
run once, on slots instead of the values: a slot formats itself as a mark, and what comes out is text with marks
in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

# Characters of the private use area, which no text of a program holds.
_OPEN, _CLOSE = "\ue0f0", "\ue0f1"
_MARK = re.compile(f"{_OPEN}(\\d+)([sra])([^{_OPEN}{_CLOSE}]*){_CLOSE}")


class SlotText:
    """What represents a value while a text is made. Anything but its text is refused, as it is not known.

    Attributes: number.
    """

    def __init__(self, number: int) -> None:
        self.number = number

    def _mark(self, conversion: str, spec: str = "") -> str:
        return f"{_OPEN}{self.number}{conversion}{spec}{_CLOSE}"

    def __format__(self, spec: str) -> str:
        return self._mark("s", spec)

    def __str__(self) -> str:
        return self._mark("s")

    def __repr__(self) -> str:
        return self._mark("r")


def parts_of(text: str) -> list[Any] | None:
    """The parts of a text that holds marks: a str, or ``[slot, conversion, format]``. None if it holds none.

    >>> parts_of(f"{SlotText(0):.2f} is no {SlotText(1)!r}")
    [[0, 's', '.2f'], ' is no ', [1, 'r', '']]
    >>> parts_of("plain") is None
    True
    """
    if _OPEN not in text:
        return None
    parts: list[Any] = []
    end = 0
    for match in _MARK.finditer(text):
        if match.start() > end:
            parts.append(text[end : match.start()])
        parts.append([int(match[1]), match[2], match[3]])
        end = match.end()
    if end < len(text):
        parts.append(text[end:])
    if any(isinstance(part, str) and (_OPEN in part or _CLOSE in part) for part in parts):
        raise TypeError("a text in which the text of a value is cut, padded or counted")
    return parts


def text_of(parts: Sequence[Any], values: Sequence[Any]) -> str:
    """The text of these parts.

    >>> text_of([[0, "s", ".2f"], " is no ", [1, "r", ""]], [1.5, "a"])
    "1.50 is no 'a'"
    """
    return "".join(part if isinstance(part, str) else _shown(values[part[0]], part[1], part[2]) for part in parts)


def _shown(value: Any, conversion: str, spec: str) -> str:
    if conversion == "r":
        return repr(value)
    return format(value, spec) if spec else str(value)
