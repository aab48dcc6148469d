"""Encode the structure of arguments and results as JSON, with numbered slots for arrays.

A node is a list whose first item says what it is:

    ["slot", 0] an array ["none"] ["ellipsis"] ["bool", true] ["int", "3"] ["float", "0x1.8p+1"] ["complex", "0x…",
    "0x…"] ["str", "text"] ["bytes", "base64"] ["enum", "Color", "RED", node] a member, and its value ["dtype",
    "float32"] ["slice", node, node, node] ["list", [node …]] ["tuple", …] ["set", …] ["frozenset", …] ["deque", [node
    …], node] ["dict", [[node, node] …]] ["ordereddict", …] ["namedtuple", "Point", ["x", "y"], [node …]]
    ["dataclass", …] ["object", …] ["made", 0, node] ["same", 0] an object that is named, and that object again
    ["text", [part …]] a text of values: see `texts` ["opaque", "<function relu>"] a value of a signature that has no
    form outside its process ["optional", node, node] whether there is a value, and it ["oneof", node, [node …]] which
    of some constants it is, by number, and the constants ["rows", node, [node …], node, capacity] a list of traced
    length: length, columns, one element, room ["dequerows", node, [node …], node, capacity, node] a deque of traced
    length: the same, and its maxlen ["padded", node, node] an array of traced length: values, length
"""

from __future__ import annotations

import base64
import collections
import dataclasses
import enum
import json
import keyword
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.containers.element_kinds import flatten_element
from autograph.runtime.containers.keyed_lists import KeyedList
from autograph.runtime.containers.padded import Padded
from autograph.runtime.containers.padded_arrays import PaddedArray
from autograph.runtime.containers.traced_deques import TracedDeque
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.function.outputs import MadeOutput, SameObject, StaticOutput
from autograph.runtime.heap.list_outputs import CountedList
from autograph.runtime.layouts.one_of import OneOf, candidates_of, code_of
from autograph.runtime.layouts.optional import Optional, absent_in
from autograph.runtime.saving.texts import SlotText, parts_of

Node = list[Any]
DEPTH = 90  # containers in each other; `schema` admits some more
_KEYS = frozenset(["none", "bool", "int", "float", "complex", "str", "bytes", "enum", "ellipsis", "dtype"])
_HOLD_KEYS = frozenset(["tuple", "frozenset", "namedtuple"])


class NoForm(TypeError):
    """A value has no form outside of its process. The text says what it is."""


class Slot(SlotText):
    """Represents the array of this number; in a text, for its digits.

    Attributes: number.
    """


def encode(value: Any, opaque: bool = False, take: Callable[[Any], Slot | None] | None = None) -> Node:
    """The node of a value in which `Slot` objects represent arrays.

    Args:
      value: it.
      opaque: whether what has no form outside of the process becomes a mark that says so.
      take: returns a slot for what is to be in one.

    Raises:
      NoForm: it has none.
    """
    return Encoder(opaque, take or _is_slot).node(value)


def _is_slot(value: Any) -> Slot | None:
    return value if isinstance(value, Slot) else None


class Encoder:
    """Makes nodes of values.

    Attributes: opaque, take (see `encode`); around (the identities of the containers around what is encoded).
    """

    def __init__(self, opaque: bool, take: Callable[[Any], Slot | None]) -> None:
        self.opaque, self.take = opaque, take
        self.around: list[int] = []

    def node(self, value: Any) -> Node:
        if id(value) in self.around:
            raise NoForm(f"a {type(value).__name__} that holds itself")
        if len(self.around) > DEPTH:
            raise NoForm(f"a {type(value).__name__} in more than {DEPTH} others")
        self.around.append(id(value))
        try:
            found = self._node(value)
        finally:
            self.around.pop()
        if found is not None:
            return found
        if self.opaque:
            return ["opaque", self.unknown(value)]
        raise NoForm(f"a {type(value).__qualname__}")

    def unknown(self, value: Any) -> str:
        """How the mark of what has no form names it."""
        return f"{type(value).__module__}.{type(value).__qualname__}"

    def item(self, value: Any, name: Any) -> Node:
        """The node of what stands under a name or number in a container."""
        return self.node(value)

    def key(self, value: Any) -> Node:
        """The node of a key of a dict, or of an item of a set.

        Raises:
          NoForm: what is made of it could not be one.
        """
        found = self.node(value)
        if not is_key(found):
            raise NoForm(f"a dict or set with a {type(value).__qualname__} for a key")
        return found

    def _node(self, value: Any) -> Node | None:
        kind = type(value)
        if kind is OneOf:  # which says that it is of the constants' class
            return ["oneof", self.node(code_of(value)), list(map(self.node, candidates_of(value)))]
        slot = self.take(value)
        if slot is not None:
            return ["slot", slot.number]
        if isinstance(value, Opaque):
            return ["opaque", value.text]
        if isinstance(value, enum.Enum):
            return ["enum", kind.__name__, value.name, encode(value.value, opaque=True)]
        constant = _CONSTANTS.get(kind)
        if constant is not None:
            return constant(value)
        if kind is str:
            found = parts_of(value)
            return ["str", value] if found is None else ["text", found]
        if isinstance(value, np.dtype) or _is_scalar_type(value):
            return ["dtype", jnp.dtype(value).name]
        if kind is slice:
            return ["slice", self.node(value.start), self.node(value.stop), self.node(value.step)]
        return self._container(value, kind) or self._output(value)

    def _container(self, value: Any, kind: type) -> Node | None:
        if kind in (list, tuple):
            return [kind.__name__, [self.item(item, k) for k, item in enumerate(value)]]
        if kind in (set, frozenset):
            return [kind.__name__, sorted(map(self.key, value), key=canonical)]
        if kind is collections.deque:
            return ["deque", [self.item(item, k) for k, item in enumerate(value)], self.node(value.maxlen)]
        if kind is dict:
            return ["dict", sorted(([self.key(k), self.item(v, k)] for k, v in value.items()), key=_key_of)]
        if kind is collections.OrderedDict:
            return ["ordereddict", [[self.key(k), self.item(v, k)] for k, v in value.items()]]
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return self._record("namedtuple", kind, kind._fields, value)
        if dataclasses.is_dataclass(kind):
            names = [field.name for field in dataclasses.fields(kind) if hasattr(value, field.name)]
            return self._record("dataclass", kind, names, [getattr(value, name) for name in names])
        if kind is types.SimpleNamespace:
            return self._record("object", kind, list(vars(value)), list(vars(value).values()))
        return None

    def _record(self, what: str, kind: type, names: Sequence[str], values: Sequence[Any]) -> Node:
        if not all(map(is_name, names)):
            raise NoForm(f"a {kind.__qualname__} with a field that has no plain name")
        return [
            what,
            kind.__name__,
            list(names),
            [self.item(value, name) for name, value in zip(names, values, strict=True)],
        ]

    # What stands in the results of a program for what is made of them on each call.

    def _output(self, value: Any) -> Node | None:
        if isinstance(value, StaticOutput):
            return self.node(value.value.value if isinstance(value.value, SameObject) else value.value)
        if isinstance(value, Optional):
            if absent_in(value) is not None:
                raise NoForm("an object()")
            return ["optional", self.node(value.present), self.node(value.value)]
        if isinstance(value, PaddedArray):
            return ["padded", self.node(value.values), self.node(value.length)]
        if isinstance(value, CountedList):
            return self.node(value.list)
        if isinstance(value, KeyedList):
            raise NoForm(f"a {type(value.plain()).__name__} whose keys only a run knows")
        if isinstance(value, TracedList):
            held = value.contents()
            most = [self.node(value.maxlen)] if isinstance(value, TracedDeque) else []
            if isinstance(held, Padded):
                return ["dequerows" if most else "rows", *self._rows(held), *most]
            return ["deque" if most else "list", [self.node(item) for item in held], *most]
        if isinstance(value, MadeOutput):
            return self._made(value)
        return None

    def _rows(self, held: Padded) -> list[Any]:
        columns = [self.node(buffer) for buffer in held.buffers]
        element = held.kind.build([Slot(k) for k in range(len(columns))])
        return [self.node(held.length), columns, self.node(element), int(held.capacity)]

    def _made(self, value: MadeOutput) -> Node:
        if value.parts is None:
            return ["same", value.number]
        parts, kind = list(value.parts), value.kind
        inner: Node | None = None
        if kind is bytearray:
            items = [part.value if isinstance(part, StaticOutput) else part for part in parts]
            inner = ["bytearray", base64.b64encode(bytes(items)).decode()]
        elif kind is set:
            inner = ["set", sorted(map(self.key, parts), key=canonical)]
        elif kind is collections.deque:
            inner = ["deque", list(map(self.node, parts)), self.node(value.names)]
        elif kind is dict:  # whose keys have no order
            inner = [
                "dict",
                [[self.key(key), self.node(part)] for key, part in zip(value.names[0], parts, strict=True)],
            ]
        elif not issubclass(kind, list | dict | tuple | collections.deque):
            name = "dataclass" if dataclasses.is_dataclass(kind) else "object"
            inner = self._record(name, kind, value.names, parts)
        if inner is None:
            raise NoForm(f"a {kind.__qualname__}, a class of a container that only its source knows")
        return ["made", value.number, inner]


def _key_of(pair: Node) -> str:
    return canonical(pair[0])


def canonical(node: Any) -> str:
    """The one text of a JSON value."""
    return json.dumps(node, sort_keys=True, separators=(",", ":"), allow_nan=False)


def is_key(node: Node) -> bool:
    """Whether what is made of this node can be a key of a dict, or in a set."""
    kind = node[0]
    if kind == "enum":
        return is_key(node[3])
    return kind in _KEYS or (kind in _HOLD_KEYS and all(map(is_key, node[-1])))


def is_name(name: Any) -> bool:
    """Whether this may be the name of a field, or of a class."""
    return isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")


def _is_scalar_type(value: Any) -> bool:
    return (isinstance(value, type) and issubclass(value, np.generic)) or type(value) is type(jnp.float32)


_CONSTANTS: Mapping[type, Callable[[Any], Node]] = types.MappingProxyType(
    {
        type(None): lambda _: ["none"],
        type(...): lambda _: ["ellipsis"],
        bool: lambda value: ["bool", value],
        int: lambda value: ["int", str(value)],
        float: lambda value: ["float", value.hex()],
        complex: lambda value: ["complex", value.real.hex(), value.imag.hex()],
        bytes: lambda value: ["bytes", base64.b64encode(value).decode()],
        bytearray: lambda value: ["bytearray", base64.b64encode(value).decode()],
    }
)


class Opaque:
    """Represents what has no form outside of the process it was saved in: a default value that only leaving it out means,
    or an attribute that is no data, such as a plain function.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(f"{self} was not saved: only data, Variables, Functions and Modules are")

    def __repr__(self) -> str:
        return f"<{self.text}>"


class Records:
    """The classes of named tuples and dataclasses that are made for what is loaded, one for each name and fields."""

    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}

    def named_tuple(self, name: str, fields: Sequence[str]) -> Any:
        key = ("namedtuple", name, *fields)
        if key not in self._made:
            self._made[key] = collections.namedtuple(name, fields)  # noqa: PYI024  the names are data
        return self._made[key]

    def dataclass(self, name: str, fields: Sequence[str]) -> Any:
        key = ("dataclass", name, *fields)
        if key not in self._made:
            self._made[key] = made = dataclasses.make_dataclass(name, fields)
            made.__module__ = "saved"  # else that of `dataclasses`, and it would be a class of a library
        return self._made[key]


def _no_text(_: Sequence[Any]) -> Any:
    raise ValueError("only errors hold texts of values")


class Decoder:
    """Makes values of nodes.

    Args:
      slots: what stands in each slot.
      records: the classes of records.
      text: makes the text of the parts of a ``text`` node.
    """

    def __init__(self, slots: Sequence[Any], records: Records, text: Callable[[Sequence[Any]], Any] | None = None):
        self._slots, self._records, self._text = slots, records, text or _no_text
        self._known: dict[int, Any] = {}

    def value(self, node: Node) -> Any:
        """The value of a node, which `nodes.check` has admitted."""
        kind, *rest = node
        make: Callable[..., Any] = getattr(self, f"_{kind}")
        return make(*rest)

    def values(self, nodes: Sequence[Node]) -> list[Any]:
        return [self.value(node) for node in nodes]

    def _slot(self, number: int) -> Any:
        return self._slots[number]

    def _none(self) -> None:
        return None

    def _ellipsis(self) -> Any:
        return ...

    def _bool(self, value: bool) -> bool:
        return value

    def _int(self, text: str) -> int:
        return int(text)

    def _float(self, text: str) -> float:
        return float.fromhex(text)

    def _complex(self, real: str, imag: str) -> complex:
        return complex(float.fromhex(real), float.fromhex(imag))

    def _str(self, text: str) -> str:
        return text

    def _bytes(self, text: str) -> bytes:
        return base64.b64decode(text)

    def _bytearray(self, text: str) -> bytearray:
        return bytearray(base64.b64decode(text))

    def _enum(self, _: str, __: str, node: Node) -> Any:
        return self.value(node)

    def _dtype(self, name: str) -> Any:
        return jnp.dtype(name)

    def _slice(self, *parts: Node) -> slice:
        return slice(*self.values(parts))

    def _list(self, nodes: Sequence[Node]) -> list[Any]:
        return self.values(nodes)

    def _tuple(self, nodes: Sequence[Node]) -> tuple[Any, ...]:
        return tuple(self.values(nodes))

    def _set(self, nodes: Sequence[Node]) -> set[Any]:
        return set(self.values(nodes))

    def _frozenset(self, nodes: Sequence[Node]) -> frozenset[Any]:
        return frozenset(self.values(nodes))

    def _deque(self, nodes: Sequence[Node], most: Node) -> Any:
        return collections.deque(self.values(nodes), self.value(most))

    def _dict(self, pairs: Sequence[tuple[Node, Node]]) -> dict[Any, Any]:
        return {self.value(key): self.value(item) for key, item in pairs}

    def _ordereddict(self, pairs: Sequence[tuple[Node, Node]]) -> Any:
        return collections.OrderedDict((self.value(key), self.value(item)) for key, item in pairs)

    def _namedtuple(self, name: str, fields: Sequence[str], nodes: Sequence[Node]) -> Any:
        return self._records.named_tuple(name, fields)(*self.values(nodes))

    def _dataclass(self, name: str, fields: Sequence[str], nodes: Sequence[Node]) -> Any:
        return self._records.dataclass(name, fields)(*self.values(nodes))

    def _object(self, _: str, fields: Sequence[str], nodes: Sequence[Node]) -> Any:
        return types.SimpleNamespace(**dict(zip(fields, self.values(nodes), strict=True)))

    def _made(self, number: int, node: Node) -> Any:
        made = self._known[number] = self.value(node)
        return made

    def _same(self, number: int) -> Any:
        return self._known[number]

    def _opaque(self, text: str) -> Opaque:
        return Opaque(text)

    def _optional(self, present: Node, value: Node) -> Optional:
        return Optional(self.value(present), self.value(value))

    def _oneof(self, code: Node, constants: Sequence[Node]) -> OneOf:
        return OneOf(self.values(constants), self.value(code))

    def _rows(self, *parts: Any) -> TracedList:
        return self._holding(TracedList(), *parts)

    def _dequerows(self, *parts: Any) -> TracedList:
        *rows, most = parts
        return self._holding(TracedDeque((), self.value(most)), *rows)

    def _holding(
        self, made: TracedList, length: Node, columns: Sequence[Node], element: Node, capacity: int
    ) -> TracedList:
        buffers = self.values(columns)
        marks = [jax.ShapeDtypeStruct(buffer.shape[1:], buffer.dtype) for buffer in buffers]
        one = Decoder(marks, self._records).value(element)
        kind, _ = flatten_element(one, lambda leaf: any(leaf is mark for mark in marks))
        made.set_contents(Padded(self.value(length), buffers, kind, capacity))
        return made

    def _padded(self, values: Node, length: Node) -> PaddedArray:
        return PaddedArray(self.value(values), self.value(length))
