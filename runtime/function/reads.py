"""Snapshots of what functions read from objects, to detect changes between calls.

From globals, closure variables and arguments the attributes that the code names lead to other objects, and containers
to their items. What is found there is compared at every call, by source written for the purpose: numbers, texts,
arrays and functions by identity, containers by their items, NumPy arrays by their content.
"""

from __future__ import annotations

import array
import collections
import contextvars
import enum
import functools
import hashlib
import itertools
import operator
import os
import types
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax
import numpy as np

from autograph.runtime.code.code_names import Readers, class_attribute, is_partial
from autograph.runtime.code.generated import Check
from autograph.runtime.code.library_table import is_library, is_library_name
from autograph.runtime.data.dataset import Dataset
from autograph.runtime.data.pipeline import Node, functions_of
from autograph.runtime.errors import StagingError
from autograph.runtime.function.assignments import Held, Lefts, Place, Places
from autograph.runtime.function.read_kinds import (
    SHOWN_BY,
    Root,
    atom_leaf,
    copied,
    is_atom,
    is_data,
    is_descriptor,
    refuse_of_trace,
)
from autograph.runtime.layouts.static_values import (
    StaticLeaf,
    array_content,
    differs_from,
    identity_leaf,
    static_leaf,
    weak_reference,
)
from autograph.runtime.lazy import lazy
from autograph.runtime.signatures.outside_places import SCALARS, objects_within
from autograph.runtime.state.linked_state import NOT_STATE, is_nnx_object, is_variable, may_hold_variables
from autograph.runtime.tracing.locations import is_installed

_CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque)
_NOT_RUN = frozenset(["__init__", "__new__", "__post_init__", "__init_subclass__", "__class_getitem__"])
_DEEP = 50  # objects on the way to one, before those beyond it wait
_MOST = 100_000
_LONGEST = 100_000  # characters of source; of more than that, all is looked at again at each call
_UNROLLED = 16  # items that are compared by an expression of their own each
_MISSING = object()
_PLAIN_LOOKUP: Any = object.__getattribute__


class Reads:
    """What functions read through some roots.

    Attributes:
      key: what it is distinguished by; equal for what needs no new trace.
      leaves: by label, each value as part of a signature.
      linked: the objects of other libraries that hold variables.
      check: what tells whether something is not as it was, which may stand in a function. Asked at every call.
    """

    def __init__(
        self,
        readers: Readers,
        roots: Callable[[Readers], Iterable[Root]],
        lefts: Lefts,
        written: frozenset[int],
        taken: frozenset[Any] = frozenset(),
    ) -> None:
        """``taken``: the names, and identities of containers, of what the signature of a call has (see `signatures.outside_places`)."""
        walk = _walk_all(readers, roots, lefts, written, taken)
        self.key = self_key = walk.settled_key()
        self.leaves = walk.leaves
        self.linked = walk.linked
        self.is_empty = not walk.key and not walk.linked
        lines, environment = walk.lines(), walk.environment
        self._make_check: Callable[[], Check]
        if sum(map(len, lines)) <= _LONGEST:
            self._make_check = functools.partial(Check, lines, environment)
        else:
            again = weakref.WeakMethod(roots) if isinstance(roots, types.MethodType) else lambda: roots
            self._make_check = lambda: Check.calling(
                lambda: _walk_all(readers, again(), lefts, written, taken).settled_key() != self_key
            )

    @lazy
    def check(self) -> Check:
        return self._make_check()

    def changed(self) -> bool:
        """Whether something is not as it was."""
        return self.check.changed()


def places_of(readers: Readers, roots: Callable[[Readers], Iterable[Root]], lefts: Lefts) -> Places:
    """What each attribute and variable holds that is read through the roots."""
    return _walk_all(readers, roots, lefts, frozenset(), frozenset()).places


def _walk_all(readers: Readers, roots: Any, lefts: Lefts, written: frozenset[int], taken: frozenset[Any]) -> _Walk:
    """A walk that found no more readers than were known when it began."""
    while True:
        count = len(readers)
        walk = _Walk(readers, lefts, written, taken)
        for root in roots(readers):
            walk.begin(root)
        if len(readers) == count:
            return walk


class _Walk:
    """One way through all that is read.

    Attributes: key, leaves (see `Reads`), places (what each attribute and variable held), environment (of the `lines`).
    """

    def __init__(self, readers: Readers, lefts: Lefts, written: frozenset[int], taken: frozenset[Any]) -> None:
        self._readers, self._lefts, self._written, self._taken = readers, lefts, written, taken
        self._names, self._reads_all = readers.attributes, readers.reads_all
        self.environment: dict[str, Any] = {"differ": differs_from, "is_not": operator.is_not, "scalars": SCALARS}
        self.key: list[Any] = []
        self.leaves: dict[str, StaticLeaf] = {}
        self.linked: list[Any] = []
        self.places: dict[Any, Held] = {}
        self._as_left: list[tuple[int, int, int]] = []
        self._lines: list[str] = []
        self._tests: list[str] = []
        self._seen: dict[int, str] = {}
        self._opened: dict[int, Any] = {}
        self._kinds: dict[type, list[tuple[str, Any]]] = {}
        self._functions: set[int] = set()
        self._kept: list[Any] = []  # so that no identity is given twice
        self._numbers = itertools.count()
        self._left = _MOST
        self._depth = 0
        self._later: list[tuple[Any, str, str]] = []

    def begin(self, root: Root) -> None:
        """Walk on from a root."""
        if root.place and self._readers.only_counts(root.label, root.value):
            return
        self.environment |= root.environment
        if root.place:
            self._held(root.place, root.place, None, root.value, root.source, root.label, True)
        elif not root.is_known:
            self._visit(root.value, root.source, root.label, True)
        elif not isinstance(root.value, jax.core.Tracer):
            if may_hold_variables(root.value):
                self.linked.append(root.value)
            self._parts(root.value, root.source, root.label)
        while self._later:
            self._visit(*self._later.pop())

    def settled_key(self) -> tuple[Any, ...]:
        """The key, in which what traces have left is the same whichever of them left it."""
        settled: list[Any] = []
        at = 0
        for start, stop, count in sorted(self._as_left, key=lambda span: (span[0], -span[1])):
            if start >= at:  # not within one that is
                settled += [*self.key[at:start], ("left", count)]
                at = stop
        return tuple(settled + self.key[at:])

    def lines(self) -> list[str]:
        """Statements that return True where something has changed."""
        self._flush()
        return self._lines

    # Values.

    def _visit(self, value: Any, source: str, label: str, is_root: bool = False) -> None:
        """Take in one value: compare it, and what it leads to; that of deep ones, a long chain's, in its turn."""
        if self._depth == _DEEP:
            self._later.append((value, source, label))
            return
        self._depth += 1
        self._take(value, source, label, is_root)
        self._depth -= 1

    def _take(self, value: Any, source: str, label: str, is_root: bool) -> None:
        kind = type(value)
        if may_hold_variables(value):
            self.linked.append(value)
        if isinstance(value, jax.core.Tracer):  # of a trace around this; it is that trace's constant
            self._identity(value, source, label)
        elif is_variable(value) or is_atom(value):
            self._leaf(value, f"{source} is not {self._known(value)}", label)
            if isinstance(value, Dataset):
                self._functions_of(functions_of(value._node), label)
        elif isinstance(value, Node):
            self._identity(value, source, label)
            self._functions_of(functions_of(value), label)
        elif isinstance(value, types.ModuleType):
            self._parts(value, source, label)
        elif isinstance(value, np.ndarray):
            self._array(value, source, label)
        elif isinstance(value, bytearray | array.array | memoryview):
            self._buffer(value, source, label)
        elif is_root and kind is types.FunctionType:  # what a namespace holds may be held here
            self._leaf(value, f"{source} is not {self._known(value)}", label)
            self._parts(value, source, label)
        elif id(value) in self._seen:
            self._tests.append(f"{source} is not {self._seen[id(value)]}")
            self.key.append(("again", self._seen[id(value)]))
        elif isinstance(value, _CONTAINERS):
            self._container(value, self._bound(value, source, label), label)
        elif (shown := SHOWN_BY.get(kind)) is not None:
            self.key.append(kind)
            copy = shown(value)
            self._container(copy, self._bound(copy, f"{self._known(shown)}({source})", label), label)
        elif kind is contextvars.ContextVar:
            self._visit(value.get(_MISSING), f"{source}.get({self._known(_MISSING)})", label)
        elif kind is types.MethodType or isinstance(value, weakref.ref) or is_partial(value):
            self._tests.append(f"type({source}) is not {self._known(kind)}")
            self._parts(value, source, label)
        elif is_data(value) or is_nnx_object(value):
            self._tests.append(f"type({source}) is not {self._known(kind)}")
            self.key.append(kind)
            self._parts(value, source, label)
        else:
            self._identity(value, source, label)
            if callable(value):
                self._parts(value, source, label)

    def _functions_of(self, functions: Iterable[Any], label: str) -> None:
        """Take in what the functions of a dataset's steps read, which are always the same."""
        for function in functions:
            self._parts(function, self._known(function), label)

    def _parts(self, value: Any, source: str, label: str) -> None:
        """Take in what an object leads to, whichever object it is."""
        if is_partial(value):
            for name in ("func", "args", "keywords"):
                self._visit(getattr(value, name), f"{source}.{name}", f"{label}.{name}")
        elif isinstance(value, weakref.ref):
            self._visit(value(), f"{source}()", label)
        elif isinstance(value, types.MethodType):
            self._visit(value.__func__, f"{source}.__func__", label)
            self._visit(value.__self__, f"{source}.__self__", label)
        elif isinstance(value, types.ModuleType):
            if not (is_library_name(value.__name__) or is_installed(value.__name__)):
                self._namespace(value, self._bound(value, source, label), label)
            elif value is os and not self._names.isdisjoint(["environ", "getenv"]):
                self._visit(os.environ, f"{source}.environ", f"{label}.environ")
        elif isinstance(value, types.FunctionType):
            if not is_library(value):
                self._function(value, source, label)
            elif value is os.getenv:
                self._visit(os.environ, f"{self._known(os)}.environ", f"{label}.environ")
            elif "__wrapped__" in value.__dict__ and id(value) not in self._functions:  # a library's, around the user's
                self._functions.add(id(value))
                self._parts(value.__dict__["__wrapped__"], f"{source}.__wrapped__", label)
        elif isinstance(value, type):
            if not is_library(value) and not issubclass(value, enum.Enum):
                self._class(value, self._bound(value, source, label), label)
        elif isinstance(value, _CONTAINERS):
            self._container(value, self._bound(value, source, label), label)
        elif is_data(value) or is_nnx_object(value):
            self._object(value, self._bound(value, source, label), label)
        else:
            self._readers.add(value)

    def _function(self, value: types.FunctionType, source: str, label: str) -> None:
        if id(value) in self._functions:
            return
        self._functions.add(id(value))
        self._readers.add(value)
        defaults = [(f"__defaults__[{k}]", part) for k, part in enumerate(value.__defaults__ or ())]
        defaults += [(f"__kwdefaults__[{name!r}]", part) for name, part in (value.__kwdefaults__ or {}).items()]
        for part_source, part in defaults:
            if type(part) not in SCALARS:
                self._visit(part, f"{source}.{part_source}", label)
        for name in sorted(self._read_of(value.__dict__) - {"__wrapped__"}):
            self._attribute(value, name, value.__dict__[name], f"{source}.{name}", label)

    def _namespace(self, value: Any, source: str, label: str) -> None:
        names = self._read_of(vars(value))
        if self._readers.computes_any:
            names |= {name for name, part in vars(value).items() if is_atom(part) or isinstance(part, _CONTAINERS)}
        for name in sorted(names):
            if not name.startswith("__"):
                self._attribute(value, name, vars(value)[name], f"{source}.{name}", label)

    def _read_of(self, namespace: Mapping[str, Any]) -> set[str]:
        """The names in a namespace that the code reads."""
        return (self._names & namespace.keys()) | self._readers.computed(namespace)

    def _class(self, value: type, source: str, label: str) -> None:
        for name in ("__init__", "__new__", "__post_init__"):
            self._readers.add(getattr(value, name, None))
        self._of_class(type(value))  # whose properties are the class's
        for name, part in self._of_class(value):
            if not hasattr(type(part), "__get__"):
                self._attribute(value, name, part, f"{source}.{name}", label)

    def _of_class(self, kind: type) -> list[tuple[str, Any]]:
        """What the code reads of a user's class, its methods and properties being taken for readers."""
        found: dict[str, Any] = {}
        for each in kind.__mro__:
            if is_library(each) or is_installed(each.__module__):
                continue
            computed = self._readers.computed(vars(each))
            for name, part in vars(each).items():
                is_special = name.startswith("__") and name.endswith("__")
                if is_special and name not in _NOT_RUN and isinstance(part, types.FunctionType):
                    self._readers.add(part)
                elif (name in self._names or name in computed) and not is_special:
                    if name not in found and is_descriptor(part):
                        self._visit(part, f"{self._known(each)}.__dict__[{name!r}]", f"{each.__name__}.{name}")
                    found.setdefault(name, part)
        for part in found.values():
            self._readers.add(part)
            if is_descriptor(part):
                self._readers.add(class_attribute(type(part), "__get__"))
                self._readers.add(class_attribute(type(part), "__set__"))
        return sorted(found.items())

    def _of_kind(self, kind: type) -> list[tuple[str, Any]]:
        """`_of_class`, once for all objects of a class; its methods are compared once, too."""
        known = self._kinds.get(kind)
        if known is None:
            known = self._kinds[kind] = self._of_class(kind)
            for name, part in known:
                if isinstance(part, types.FunctionType):
                    self._tests.append(f"{self._known(kind)}.{name} is not {self._known(part)}")
                    self.key.append(identity_leaf(part).key)
        return known

    def _object(self, value: Any, source: str, label: str) -> None:
        attributes = getattr(value, "__dict__", None)
        kind = type(value)
        has_plain_lookup = getattr(kind, "__getattribute__", None) is _PLAIN_LOOKUP
        if type(attributes) is not dict:
            attributes = {}
        elif has_plain_lookup:
            self._tests.append(f"len({source}.__dict__) != {len(attributes)}")
        for name, part in self._of_kind(kind):
            if name in attributes and not isinstance(part, property):
                continue
            if isinstance(part, types.MemberDescriptorType):
                part = part.__get__(value, kind) if hasattr(value, name) else _MISSING
                if part is not _MISSING:
                    self._attribute(value, name, part, f"{source}.{name}", label)
            elif not hasattr(type(part), "__get__"):
                self._attribute(value, name, part, f"{source}.{name}", label)
        is_of_nnx = is_nnx_object(value)
        everything = self._reads_all or is_library(kind) or is_installed(kind.__module__) or is_of_nnx
        names = attributes.keys() if everything else self._read_of(attributes)
        if is_of_nnx:
            names = names - NOT_STATE
        for name in sorted(self._readers.stored_attributes & attributes.keys() - names):
            self._assigned(value, name, attributes[name], f"{source}.__dict__[{self._constant(name)}]", label)
        for name in sorted(names):
            is_direct = has_plain_lookup and isinstance(name, str) and name.isidentifier()
            place = f"{source}.{name}" if is_direct else f"{source}.__dict__[{self._constant(name)}]"
            self._attribute(value, name, attributes[name], place, label)

    def _assigned(self, owner: Any, name: str, value: Any, source: str, label: str) -> None:
        """Take in an attribute that is assigned and never read: a program that leaves Python's constants there does so once, which
        will not do where programs leave arrays.
        """
        if type(value) in SCALARS:
            self._tests.append(f"type({source}) not in scalars")
            self.key.append(("scalar", name))
        else:
            self._attribute(owner, name, value, source, label)

    def _attribute(self, owner: Any, name: str, value: Any, source: str, label: str) -> None:
        if not self._readers.only_counts(name, value):
            place = (owner if isinstance(owner, type) else type(owner), name)
            self._held((id(owner), name), place, owner, value, source, f"{label}.{name}")

    def _held(
        self, name: Any, place: Place, owner: Any, value: Any, source: str, label: str, is_root: bool = False
    ) -> None:
        """Take in what a variable or an attribute holds; it is one with all that traces have left there."""
        start = len(self.key)
        if name in self._taken:
            self._taken_value(value, label)
        else:
            self._visit(value, source, label, is_root)
        key = tuple(self.key[start:])
        self.places[name] = Held(value, place, key, None if owner is None else weak_reference(owner))
        left = self._lefts.get(name)
        if left is not None and left.key == key and left.is_of(owner):
            self._as_left.append((start, len(self.key), left.count))

    def _taken_value(self, value: Any, label: str) -> None:
        """Take in what the objects lead to that the signature of a call has by their identities."""
        refuse_of_trace(value, label)
        for part in objects_within(value, self._opened):
            reference = weak_reference(part)
            known = self._known(part if reference is None else reference)
            self._visit(part, known if reference is None else f"{known}()", label)

    # Containers.

    def _container(self, value: Any, source: str, label: str) -> None:
        refuse_of_trace(value, label)
        is_written = id(value) in self._written
        if is_written or id(value) in self._taken:
            self._tests.append(f"{source} is not {self._known(value)}")
            self.key.append(("written" if is_written else "taken", id(value)))
            if not is_written:
                self._taken_value(value, label)
            return
        kind = type(value)
        if kind in (tuple, frozenset) and all(type(item) in SCALARS for item in value):
            self._tests.append(f"{source} is not {self._known(value)}")
            self._uniform_key(value, list(value), label)
            return
        self._tests.append(f"type({source}) is not {self._known(kind)} or len({source}) != {len(value)}")
        items = list(value.values()) if isinstance(value, dict) else list(value)
        self.key.append((kind, len(items)))
        if isinstance(value, dict):
            self._keys(value, source)
        values = f"{source}.values()" if isinstance(value, dict) else source
        if isinstance(value, set | frozenset) or all(map(is_atom, items)):
            self._uniform(value, items, values, label)
        else:
            keys = [self._constant(key) for key in value] if isinstance(value, dict) else map(str, itertools.count())
            for item, key in zip(items, keys, strict=False):
                self._visit(item, f"{source}[{key}]", f"{label}[{key}]")
        if not is_library(kind):
            self._object(value, source, label)

    def _keys(self, value: dict[Any, Any], source: str) -> None:
        keys = list(value)
        test = f"list({source}) != {self._known(keys)}"
        if any(type(key) is not str for key in keys):
            test += f" or list(map(type, {source})) != {self._known(list(map(type, keys)))}"
        self._tests.append(test)
        self.key.append(tuple(static_leaf(key).key for key in keys))

    def _uniform(self, value: Any, items: list[Any], source: str, label: str) -> None:
        """Items that are compared by identity, all at once."""
        if isinstance(value, list | tuple) and len(items) <= _UNROLLED:
            self._tests += [f"{source}[{k}] is not {self._known(item)}" for k, item in enumerate(items)]
        elif items:
            self._tests.append(f"any(map(is_not, {source}, {self._known(items)}))")
        self._uniform_key(value, items, label)

    def _uniform_key(self, value: Any, items: list[Any], label: str) -> None:
        keys = [atom_leaf(item).key for item in items]
        part: Any = frozenset(keys) if isinstance(value, set | frozenset) else tuple(keys)
        self.key.append(part)
        self._count(len(items), label)
        if all(type(item) in SCALARS for item in items):
            self.leaves[label] = StaticLeaf((type(value), part), copied(value))
        elif not isinstance(value, set | frozenset):
            names = list(value) if isinstance(value, dict) else range(len(items))
            for name, item in itertools.islice(zip(names, items, strict=True), 64):
                self.leaves[f"{label}[{name!r}]"] = atom_leaf(item)

    def _array(self, value: np.ndarray[Any, Any], source: str, label: str) -> None:
        """An array of NumPy's, which may be written in place."""
        content = array_content(value)
        test = f"{source} is not {self._known(value)}"
        if value.flags.writeable or value.base is not None:
            test += f" or differ({self._known(value)}, {self._known(content)})"
        self._tests.append(test)
        digest = hashlib.blake2b(content[2], digest_size=16).digest()
        self.key.append((type(value), content[0], content[1], digest))
        self.leaves[label] = StaticLeaf(self.key[-1], f"{value.dtype}{list(value.shape)} of NumPy's")

    def _buffer(self, value: Any, source: str, label: str) -> None:
        content = bytes(value)
        self._tests.append(f"{source} is not {self._known(value)} or bytes({source}) != {self._known(content)}")
        self.key.append((type(value), getattr(value, "typecode", None), content))
        self.leaves[label] = StaticLeaf(
            self.key[-1], list(value) if isinstance(value, array.array) else bytearray(content)
        )

    # The source.

    def _leaf(self, value: Any, test: str, label: str) -> None:
        self._count(1, label)
        self._tests.append(test)
        leaf = atom_leaf(value)
        self.key.append(leaf.key)
        self.leaves[label] = leaf

    def _identity(self, value: Any, source: str, label: str) -> None:
        """An object that is not looked into; held weakly, for it may lead to what is to go."""
        self._count(1, label)
        if weak_reference(value) is None:
            self._leaf(value, f"{source} is not {self._known(value)}", label)
            return
        leaf = self.leaves[label] = identity_leaf(value)
        self._tests.append(f"{source} is not {self._known(leaf.value)}()")
        self.key.append(leaf.key)

    def _bound(self, value: Any, source: str, label: str) -> str:
        """A local variable that holds this object from here on."""
        self._count(1, label)
        self._flush()
        name = f"part{next(self._numbers)}"
        self._lines.append(f"{name} = {source}")
        self._seen[id(value)] = name
        self._kept.append(value)
        return name

    def _flush(self) -> None:
        if self._tests:
            self._lines.append(f"if {' or '.join(self._tests)}: return True")
            self._tests.clear()

    def _known(self, value: Any) -> str:
        name = f"known{next(self._numbers)}"
        self.environment[name] = value
        return name

    def _constant(self, value: Any) -> str:
        return repr(value) if type(value) in (str, int) else self._known(value)

    def _count(self, number: int, label: str) -> None:
        self._left -= number
        if self._left < 0:
            raise StagingError(
                f"This function reads more than {_MOST:,} values through `{label}`, and every call would have to "
                "compare each of them with the value at trace time.\n  Pass the values that it needs as an argument, or store the "
                "numbers in one array."
            )
