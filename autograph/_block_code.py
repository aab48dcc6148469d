"""Give the code of each generated block function the name and the first line of the user's function around it, for tracebacks
and profilers.

A body is a function of its own, whose code says that it begins at the statement. What shows source asks `inspect` for
the definition that begins there, and there is none: IPython's tracebacks then point at other lines. No instruction
changes its place, and the qualified name stays, by which a block is told from a function of the user's.
"""

from __future__ import annotations

import types
from collections.abc import Iterator

from autograph._source import nested_codes

# Kinds of entries in a table of locations (CPython, Objects/locations.md).
_SHORT, _ONE_LINE, _NO_COLUMNS, _LONG, _NONE = range(10), range(10, 13), 13, 14, 15
_IS_ENTRY, _MORE, _SIX_BITS = 0x80, 0x40, 0x3F


def with_blocks_as_users(code: types.CodeType, original: types.CodeType) -> types.CodeType:
    """``code``, in which all that the user did not write has the name and the first line of the user's function around it.

    >>> original = compile("def f(x):\\n  if x:\\n    return g(x)", "", "exec").co_consts[0]
    >>> made = compile("def f(x):\\n  def body():\\n    return g(x)", "", "exec").co_consts[0]
    >>> body = next(each for each in with_blocks_as_users(made, original).co_consts if hasattr(each, "co_code"))
    >>> body.co_name, body.co_qualname, body.co_firstlineno, max(line or 0 for _, _, line in body.co_lines())
    ('f', 'f.<locals>.body', 1, 3)
    """
    written = {(each.co_firstlineno, each.co_name) for each in (original, *nested_codes(original))}
    return _moved(code, written, code.co_firstlineno, code.co_name)


def _moved(code: types.CodeType, written: set[tuple[int, str]], first: int, name: str) -> types.CodeType:
    constants = []
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if (constant.co_firstlineno, constant.co_name) in written:
                constant = _moved(constant, written, constant.co_firstlineno, constant.co_name)
            else:
                constant = _beginning_at(first, _moved(constant, written, first, name)).replace(co_name=name)
        constants.append(constant)
    return code.replace(co_consts=tuple(constants))


def _beginning_at(first: int, code: types.CodeType) -> types.CodeType:
    """``code`` that says it begins at this line; its table of locations counts from there."""
    shift = code.co_firstlineno - first
    if not shift:
        return code
    table = code.co_linetable
    place = 0
    while place < len(table):
        end = next((k for k in range(place + 1, len(table)) if table[k] & _IS_ENTRY), len(table))
        if (table[place] >> 3) & 15 != _NONE:
            moved = bytes(_entry(table[place:end], shift))
            return code.replace(co_firstlineno=first, co_linetable=table[:place] + moved + table[end:])
        place = end
    return code.replace(co_firstlineno=first)


def _entry(entry: bytes, shift: int) -> Iterator[int]:
    """The first entry that has a line, so many lines further on."""
    kind, units = (entry[0] >> 3) & 15, entry[0] & 7
    if kind in (_NO_COLUMNS, _LONG):
        delta, size = _signed(entry[1:])
        yield entry[0]
        yield from _varint(_as_unsigned(delta + shift))
        yield from entry[1 + size :]
        return
    if kind in _SHORT:
        delta, column = 0, kind << 3 | (entry[1] >> 4) & 7
        end_column = column + (entry[1] & 15)
    else:
        delta, column, end_column = kind - _ONE_LINE.start, entry[1], entry[2]
    yield _IS_ENTRY | _LONG << 3 | units
    yield from _varint(_as_unsigned(delta + shift))
    yield from _varint(0)  # it ends on the same line
    yield from _varint(column + 1)
    yield from _varint(end_column + 1)


def _signed(data: bytes) -> tuple[int, int]:
    """The number that data begins with, and how many bytes it takes."""
    number = size = 0
    while True:
        number |= (data[size] & _SIX_BITS) << 6 * size
        size += 1
        if not data[size - 1] & _MORE:
            return (-(number >> 1) if number & 1 else number >> 1), size


def _as_unsigned(number: int) -> int:
    return -number << 1 | 1 if number < 0 else number << 1


def _varint(number: int) -> Iterator[int]:
    while number > _SIX_BITS:
        yield number & _SIX_BITS | _MORE
        number >>= 6
    yield number
