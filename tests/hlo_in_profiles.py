"""The HLO of compiled programs in a profile, as far as tests ask: which line of which file each operation comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message of protocol buffers: number, and int or bytes."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        number, kind = divmod(varint(), 8)
        if kind == 0:
            yield number, varint()
            continue
        size = {1: 8, 5: 4}.get(kind) or varint()
        yield number, message[at : at + size]
        at += size


def all_of(message: bytes, *path: int) -> Iterator[Any]:
    """The values that the numbers of fields lead to."""
    for number, value in fields(message):
        if number == path[0]:
            yield from all_of(value, *path[1:]) if path[1:] else (value,)


def lines_of_operations(profile: bytes, program: str) -> dict[str, tuple[str, int]]:
    """File and line of each instruction of a program of this name, by the instruction's name.

    ``profile`` is an XSpace, in which event metadata hold HloProtos.
    """
    found: dict[str, tuple[str, int]] = {}
    for module in all_of(profile, 1, 4, 2, 5, 6, 1):
        if next(all_of(module, 1), b"").decode(errors="replace") == program:
            found |= _lines(module)
    return found


def _lines(module: bytes) -> dict[str, tuple[str, int]]:
    (index,) = all_of(module, 17)
    files = list(all_of(index, 1))
    places = [dict(fields(place)) for place in all_of(index, 3)]
    frames = [dict(fields(frame)) for frame in all_of(index, 4)]
    found = {}
    for instruction in all_of(module, 3, 2):
        for metadata in all_of(instruction, 7):
            number = dict(fields(metadata)).get(15, 0)
            if number:
                place = places[frames[number - 1][1] - 1]
                (name,) = all_of(instruction, 1)
                found[name.decode()] = files[place[1] - 1].decode(), place[3]
    return found
