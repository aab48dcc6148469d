"""The references between objects: attributes, items, closures and bound arguments."""

from __future__ import annotations

import collections
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax

from autograph.runtime.code.code_names import OPERATORS, is_partial
from autograph.runtime.code.library_table import is_library
from autograph.runtime.containers.referring_kinds import constants_of
from autograph.runtime.layouts.objects import error_attributes
from autograph.runtime.layouts.one_of import candidates_of, code_of, is_one_of
from autograph.runtime.layouts.statement_variables import has_contents
from autograph.runtime.state.variables import Variable
from autograph.runtime.tracing.locations import is_internal

_NOTHING_WITHIN = frozenset({bool, int, float, complex, str, bytes, type(None), type(...), range, slice})
_SEQUENCES = (list, tuple, set, frozenset, collections.deque)
VIEWS: tuple[Any, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_CLOSED = (jax.Array, Variable, types.ModuleType, types.CodeType)


def parts(value: Any) -> Iterator[tuple[str, Any]]:
    """What an object leads to in one step, each with what is written after the object's name for it."""
    if isinstance(value, _CLOSED) or (isinstance(value, type) and is_library(value)):
        return
    if is_one_of(value):  # which says that it is of the class of its candidates
        yield from (("", part) for part in (code_of(value), *candidates_of(value)))
        return
    if isinstance(value, dict):
        for key, item in tuple(value.items()):  # which the representation of a key may change
            yield f"[{key!r}]", item
            yield "", key
    elif has_contents(value):
        padded = value.padded
        held = tuple(list.__iter__(value)) if padded is None else (*padded.buffers, *constants_of(padded.kind))
        yield from ((f"[{k}]", item) for k, item in enumerate(held))
    elif isinstance(value, _SEQUENCES):
        for number, item in enumerate(value):
            yield f"[{number}]", item
    elif isinstance(value, types.CellType):
        if value != _EMPTY:
            yield "", value.cell_contents
    elif isinstance(value, types.BuiltinFunctionType):
        yield "", value.__self__
        return
    elif isinstance(value, types.MethodType):
        yield "", value.__self__
        yield "", value.__func__
    elif is_partial(value):
        yield from ((".func", value.func), (".args", value.args), (".keywords", value.keywords))
    elif isinstance(value, types.FunctionType) and is_internal(value.__code__.co_filename):
        if "__wrapped__" in value.__dict__:  # it is what `convert` has put around that
            yield "", value.__dict__["__wrapped__"]
            return
        yield from (("", cell) for cell in value.__closure__ or ())
    elif isinstance(value, types.FunctionType):
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        yield from (("", cell) for name, cell in cells if name != OPERATORS)
        yield from (("", default) for default in (value.__defaults__, value.__kwdefaults__) if default)
    elif isinstance(value, BaseException):
        yield ".args", value.args
    elif hasattr(type(value), "python_function"):  # a `Function`, whose programs hold what it has traced
        yield "", value.__wrapped__
        return
    elif str(type(value).__module__).startswith(
        _STAGING
    ):  # `ag__`, and its parts: they lead to all that has been converted
        return
    elif isinstance(value, VIEWS):
        yield from (("", part) for part in tuple(value))
    elif is_one_shot(value) and type(value).__module__ in ("builtins", "itertools"):
        yield from (("", part) for part in within_iterator(value))
    elif is_library(type(value)) and not is_one_shot(value):
        yield from (("", part) for part in in_pytree(value))
    if not str(type(value).__module__).startswith(("jax.", "jaxlib.", "numpy.")):
        yield from ((f".{name}", part) for name, part in attributes(value).items())
        if type(namespace := getattr(value, "__dict__", None)) is dict:
            yield ".__dict__", namespace
        if not isinstance(value, type) and not is_library(type(value)):
            yield ".__class__", type(value)


def within_iterator(value: Any) -> Iterator[Any]:
    """What a generator, or an iterator of Python's own, goes through. It stays where it is."""
    frame = getattr(value, "gi_frame", None) or getattr(value, "cr_frame", None) or getattr(value, "ag_frame", None)
    if frame is not None:
        yield from tuple(frame.f_locals.values())
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of what itertools has
        try:
            _, *held = value.__reduce__()
        except (
            RuntimeError,
            TypeError,
        ):  # its dict has changed, which it goes over no more; or it is a generator that has ended
            return
    yield from held


_STAGING = "autograph.runtime.staging."
_EMPTY = types.CellType()


def attributes(value: Any) -> dict[str, Any]:
    """The attributes that an object, or a class, holds itself."""
    found: dict[str, Any] = {}
    if not isinstance(value, type):
        for kind in type(value).__mro__:
            for name, descriptor in vars(kind).items():
                if isinstance(descriptor, types.MemberDescriptorType) and not is_library(kind):
                    try:
                        found[name] = descriptor.__get__(value, kind)
                    except AttributeError:
                        continue
    found |= error_attributes(value)
    namespace = getattr(value, "__dict__", None)
    if isinstance(namespace, dict | types.MappingProxyType):
        found |= {name: part for name, part in namespace.items() if name not in ("__dict__", "__weakref__")}
    return found


def in_pytree(value: Any) -> list[Any]:
    """What JAX would take an object apart into; the object itself where it is none of a pytree's."""
    return jax.tree_util.tree_leaves(value, is_leaf=lambda part: part is not value)


def is_one_shot(value: Any) -> bool:
    """Whether this is consumed by being asked: an iterator, a generator, a coroutine. JAX warns of those in pytrees."""
    kind = type(value)
    return hasattr(kind, "__next__") or hasattr(kind, "__anext__") or hasattr(kind, "__await__")


class Reached:
    """All that some named objects lead to."""

    def __init__(self, roots: Iterable[tuple[str, Any]]) -> None:
        self._from: dict[int, tuple[Any, int, str]] = {}
        pending: collections.deque[Any] = collections.deque()
        for name, value in roots:
            self._take(value, 0, name, pending)
        while pending:
            value = pending.popleft()
            for step, part in parts(value):
                self._take(part, id(value), step, pending)

    def _take(self, value: Any, origin: int, step: str, pending: collections.deque[Any]) -> None:
        if type(value) not in _NOTHING_WITHIN and id(value) not in self._from:
            self._from[id(value)] = value, origin, step
            pending.append(value)

    def __contains__(self, value: Any) -> bool:
        return id(value) in self._from

    def keys(self) -> frozenset[int]:
        """The identities of all of them."""
        return frozenset(self._from)

    def values(self) -> Iterator[Any]:
        """All of them."""
        return (value for value, _, _ in self._from.values())

    def holding(self, is_sought: Callable[[Any], bool]) -> dict[Any, str]:
        """The places that hold a part which is sought, each with how it is reached; of an attribute that is one of ``__dict__``, too."""
        found: dict[Any, str] = {}
        for key, (value, _, _) in self._from.items():
            namespace = getattr(value, "__dict__", None)
            for step, part in parts(value):
                if part is not value and is_sought(part):
                    is_attribute = step.startswith(".") and isinstance(namespace, dict) and step[1:] in namespace
                    place = (id(namespace), f"[{step[1:]!r}]") if is_attribute else (key, step)
                    found.setdefault(place, self.name_of(key) + step)
        return found

    def name(self, value: Any) -> str:
        """How an object is reached: ``model.layers[0]``."""
        return self.name_of(id(value))

    def name_of(self, key: int) -> str:
        """`name`, of the object of this identity; empty if it is not reached."""
        steps: list[str] = []
        while key in self._from:
            _, key, step = self._from[key]
            steps.append(step)
        return "".join(reversed(steps))


def traced_part(value: Any, name: str) -> str | None:
    """What holds the first traced value that a value called ``name`` leads to; None if there is none."""
    return _holder_of(jax.core.Tracer, value, name)


def array_part(value: Any, name: str) -> str | None:
    """What holds the first array of JAX's, traced or not, that a value called ``name`` leads to; None if there is none."""
    return _holder_of(jax.Array, value, name)


def _holder_of(kind: type, value: Any, name: str) -> str | None:
    if isinstance(value, kind):
        return name
    seen = {id(value): value}  # itself, so that no other gets its identity
    pending: collections.deque[tuple[Any, str]] = collections.deque([(value, name)])
    while pending:
        owner, name = pending.popleft()
        for step, part in parts(owner):
            inner = f"{type(owner).__name__}{step}" if step.startswith(".") else name
            if isinstance(part, kind):
                return inner
            if type(part) not in _NOTHING_WITHIN and id(part) not in seen:
                seen[id(part)] = part
                pending.append((part, inner))
    return None
