"""Validate JSON against schemas in a small schema language, in which that of the manifest is written.

A schema is a type; ``[schema]``, a list of such; a dict of schemas, with just those keys; `Maybe`, `OneOf`, `Fixed`,
`Mapping`; or a function, which raises ValueError for what it does not admit.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from autograph.runtime.saving.dtypes import dtype_of
from autograph.runtime.saving.structures import is_key, is_name


class Unfit(ValueError):
    """Something is not what its schema says. The text names the place in the JSON."""


@dataclass(frozen=True)
class Maybe:
    """This, or null."""

    schema: Any


@dataclass(frozen=True)
class OneOf:
    """One of these constants."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Fixed:
    """A list of just so many items, each with a schema of its own."""

    items: tuple[Any, ...]


@dataclass(frozen=True)
class Mapping:
    """A dict with any keys."""

    schema: Any


def check(value: Any, schema: Any, where: str = "") -> None:
    """Raise `Unfit` where ``value`` is not what ``schema`` says."""
    if isinstance(schema, type):
        if type(value) is not schema:
            raise Unfit(f"{where or 'it'} is {_kind(value)}, not {schema.__name__}")
    elif isinstance(schema, list):
        _is(value, list, where)
        for number, item in enumerate(value):
            check(item, schema[0], f"{where}[{number}]")
    elif isinstance(schema, dict):
        _is(value, dict, where)
        if value.keys() != schema.keys():
            odd = sorted(map(str, value.keys() ^ schema.keys()))[0]
            raise Unfit(f"{where or 'it'} {'lacks' if odd in schema else 'has an unknown'} entry {odd!r}")
        for name, part in schema.items():
            check(value[name], part, f"{where}.{name}" if where else name)
    elif isinstance(schema, Maybe):
        if value is not None:
            check(value, schema.schema, where)
    elif isinstance(schema, OneOf):
        if not any(type(value) is type(known) and value == known for known in schema.values):
            raise Unfit(f"{where} is {_short(value)}, none of {', '.join(map(repr, schema.values))}")
    elif isinstance(schema, Fixed):
        _is(value, list, where)
        if len(value) != len(schema.items):
            raise Unfit(f"{where} has {len(value)} items, not {len(schema.items)}")
        for number, (item, part) in enumerate(zip(value, schema.items, strict=True)):
            check(item, part, f"{where}[{number}]")
    elif isinstance(schema, Mapping):
        _is(value, dict, where)
        for name, item in value.items():
            check(item, schema.schema, f"{where}[{name!r}]")
    else:
        try:
            schema(value)
        except Unfit as error:
            raise Unfit(f"{where}: {error}") from None
        except (ValueError, TypeError, OverflowError) as error:
            raise Unfit(f"{where} is {_short(value)}: {error}") from None


def _is(value: Any, kind: type, where: str) -> None:
    if type(value) is not kind:
        raise Unfit(f"{where or 'it'} is {_kind(value)}, not a {kind.__name__}")


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def natural(value: Any, most: int = 2**40) -> None:
    """Admits ints from 0 to ``most``."""
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError("not a natural number")


def line(value: Any) -> None:
    """Admits the numbers of lines."""
    natural(value, 10_000_000)


def dtype(value: Any) -> None:
    """Admits the names of dtypes of arrays."""
    if type(value) is not str:
        raise ValueError("not a dtype")
    dtype_of(value)


def size(value: Any) -> None:
    """Admits sizes of specs: natural numbers, names, null."""
    if value is not None and not (type(value) is str and value.isidentifier()):
        natural(value)


def identifier(value: Any) -> None:
    """Admits the names of attributes."""
    if type(value) is not str or not value.isidentifier():
        raise ValueError("not a name")


def file_name(value: Any) -> None:
    """Admits the names of files in the directory itself."""
    if type(value) is not str or re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", value) is None:
        raise ValueError("not the name of a file in the directory")


def checksum(value: Any) -> None:
    """Admits SHA-256 sums."""
    if type(value) is not str or re.fullmatch(r"[0-9a-f]{64}", value) is None:
        raise ValueError("not a SHA-256 checksum")


# Nodes of `structures`.

_DEPTH = 100  # as deep as values nest
_INT, _DIGITS = re.compile(r"-?\d+"), 4300


def node(slots: int, *, texts: bool = False, opaque: bool = False) -> Callable[[Any], None]:
    """A schema that admits nodes of values with so many slots.

    Args:
      slots: how many.
      texts: whether it may hold texts of values.
      opaque: whether it may hold marks of what has no form.
    """
    return lambda value: _Nodes(slots, texts, opaque).check(value, 0)


class _Nodes:
    """Attributes: made, the numbers of the objects seen so far."""

    def __init__(self, slots: int, texts: bool, opaque: bool) -> None:
        self._slots, self._texts, self._opaque = slots, texts, opaque
        self._made: set[int] = set()

    def check(self, value: Any, depth: int) -> None:
        if type(value) is not list or not value or type(value[0]) is not str:
            raise Unfit(f"{_short(value)} does not encode a value")
        if depth > _DEPTH:
            raise Unfit("values nest too deep")
        kind, *rest = value
        schema = self._schema(kind, depth + 1)
        check(rest, Fixed(schema), kind)
        if kind in ("namedtuple", "dataclass", "object"):
            self._record(kind, rest)
        elif kind == "made":
            self._made.add(rest[0])
        elif kind == "same" and rest[0] not in self._made:
            raise Unfit(f"object {rest[0]} is not there")
        elif kind in ("set", "frozenset") and not all(map(is_key, rest[0])):
            raise Unfit("a set with unhashable items")
        elif kind in ("dict", "ordereddict") and not all(is_key(key) for key, _ in rest[0]):
            raise Unfit("a dict with unhashable keys")
        elif kind == "oneof" and (not rest[1] or rest[0][0] != "slot"):
            raise Unfit("one of some constants, and not which")
        elif kind in ("deque", "dequerows") and rest[-1][0] not in ("none", "int"):
            raise Unfit("a deque whose length is not a number")

    def _schema(self, kind: str, depth: int) -> tuple[Any, ...]:
        def inner(value: Any) -> None:
            self.check(value, depth)

        if kind == "text" and not self._texts or kind == "opaque" and not self._opaque:
            raise Unfit(f"{kind} where there can be none")
        schemas: dict[str, tuple[Any, ...]] = {
            "slot": (self._slot,),
            "none": (),
            "ellipsis": (),
            "bool": (bool,),
            "int": (_integer,),
            "float": (_floating,),
            "complex": (_floating, _floating),
            "str": (str,),
            "bytes": (_base64,),
            "bytearray": (_base64,),
            "enum": (str, str, inner),
            "dtype": (dtype,),
            "slice": (inner, inner, inner),
            **dict.fromkeys(("list", "tuple", "set", "frozenset"), ([inner],)),
            "deque": ([inner], inner),
            **dict.fromkeys(("dict", "ordereddict"), ([Fixed((inner, inner))],)),
            **dict.fromkeys(("namedtuple", "dataclass", "object"), (identifier, [_field], [inner])),
            "made": (natural, inner),
            "same": (natural,),
            "text": ([self._part],),
            "opaque": (str,),
            "optional": (inner, inner),
            "oneof": (inner, [inner]),
            "rows": (inner, [inner], self._element, natural),
            "dequerows": (inner, [inner], self._element, natural, inner),
            "padded": (inner, inner),
        }
        if kind not in schemas:
            raise Unfit(f"{_short(kind)} is not a kind of value")
        return schemas[kind]

    def _slot(self, number: Any) -> None:
        natural(number, self._slots - 1)

    def _part(self, part: Any) -> None:
        if type(part) is not str:
            check(part, Fixed((self._slot, OneOf(("s", "r")), _format)), "part")

    def _element(self, value: Any) -> None:
        _Nodes(10_000, False, False).check(value, 1)  # slots are columns; `Decoder` finds too large ones

    def _record(self, kind: str, rest: Sequence[Any]) -> None:
        name, fields, nodes = rest
        if len(fields) != len(nodes) or len(set(fields)) != len(fields):
            raise Unfit(f"a {kind} with {len(fields)} fields and {len(nodes)} values")
        if not is_name(name) or (kind == "namedtuple" and any(field.startswith("_") for field in fields)):
            raise Unfit(f"a {kind} with invalid names")


def _field(value: Any) -> None:
    if not is_name(value):
        raise ValueError("not a field name")


def _format(value: Any) -> None:
    # A width or a precision is as many characters.
    if type(value) is not str or len(value) > 30 or any(int(digits) > 1000 for digits in re.findall(r"\d+", value)):
        raise ValueError("not a format")


def _integer(value: Any) -> None:
    if type(value) is not str or len(value) > _DIGITS or _INT.fullmatch(value) is None:
        raise ValueError("not an int")


def _floating(value: Any) -> None:
    if type(value) is not str:
        raise ValueError("not a float")
    float.fromhex(value)


def _base64(value: Any) -> None:
    if type(value) is not str:
        raise ValueError("not bytes")
    base64.b64decode(value, validate=True)
