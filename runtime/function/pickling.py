"""Pickling of `Function`s: by name if a module contains the function, by value otherwise.

`pickle` sends Python functions by name; `cloudpickle`, and the copies of it that joblib, ray and dask have, send
those whole that the other process cannot import (of ``__main__``, say). Both decide it of plain functions only, by
``__module__`` and ``__qualname__``. So a `Function` that a module has is pickled as its *anchor*, a plain function
that is found under ``<name of the Function>.pickled_by_name``: whoever sends functions by name finds it there, and
with it the `Function` itself; whoever sends them whole sends what the anchor holds, the `Recipe`.
"""

from __future__ import annotations

import copy
import copyreg
import functools
import inspect
import linecache
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from autograph.runtime.function.options import Options, Tools

ANCHOR = "pickled_by_name"
_FUNCTION_OF: weakref.WeakKeyDictionary[types.FunctionType, Any] = weakref.WeakKeyDictionary()


class Recipe:
    """What a `Function` is made of again elsewhere: the Python function, with its source, and the options.

    Attributes:
      shown: attributes of the Python function that a class has, too, so that a `Function` must have them before it is made.
    """

    def __init__(
        self, function: Callable[..., Any], tools: Tools, options: Options, shown: Mapping[str, Any] | None = None
    ) -> None:
        self.function, self.tools, self.options = function, tools, options
        known = {name: getattr(function, name, None) for name in ("__doc__", "__module__")}
        self.shown = known if shown is None else shown

    def __reduce__(self) -> tuple[Any, ...]:
        return recipe, (self.function, self.tools, self.options, self.shown, source_of(self.function))


def recipe(
    function: Callable[..., Any], tools: Tools, options: Options, shown: Mapping[str, Any], source: Source | None
) -> Recipe:
    """A recipe that has come from another process. The function may lack what it refers to until all has come."""
    if source is not None:
        source.keep()
    return Recipe(function, tools, options, shown)


@dataclass(frozen=True)
class Source:
    """The text of the file that a function is written in, which the other process may not have."""

    filename: str
    text: str

    def keep(self) -> None:
        """Let functions of this file be converted here, if there is no such file."""
        if not linecache.getlines(self.filename):
            lines = self.text.splitlines(keepends=True)
            linecache.cache[self.filename] = (len(self.text), None, lines, self.filename)


def source_of(function: Any) -> Source | None:
    """The source that goes with a function that is sent whole; None with one that is sent by name, and where there is none."""
    while not isinstance(function, types.FunctionType):
        if isinstance(function, types.MethodType):
            function = function.__func__
        elif isinstance(function, functools.partial):
            function = function.func
        else:
            function = getattr(type(function), "__call__", None)
        if function is None or isinstance(function, types.BuiltinFunctionType | types.WrapperDescriptorType):
            return None
    if function.__module__ != "__main__" and found(function.__module__, function.__qualname__) is function:
        return None
    filename = function.__code__.co_filename
    text = "".join(linecache.getlines(filename, function.__globals__))
    return Source(filename, text) if text else None


def found(module: str | None, name: str) -> Any:
    """What a module that is loaded has under a dotted name; None if it has nothing there."""
    value: Any = sys.modules.get(module or "")
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def anchor_of(function: Any, made: Recipe) -> types.FunctionType:
    """A new anchor of a `Function` that is made so."""
    anchor = types.FunctionType(_anchor.__code__, {}, ANCHOR)
    anchor.__module__, anchor.__qualname__ = function.__module__, f"{function.__qualname__}.{ANCHOR}"
    anchor.__dict__["recipe"] = made
    _FUNCTION_OF[anchor] = function
    return anchor


def _anchor() -> None: ...


def anchored(kind: Any, anchor: types.FunctionType) -> Any:
    """The `Function` of an anchor: the one that this process has under that name, or one made of what the anchor holds.

    A function that refers to itself meets its anchor before that holds anything, and is completed when it does.
    """
    function = _FUNCTION_OF.get(anchor)
    if function is None:
        function = _FUNCTION_OF[anchor] = kind.__new__(kind)
    made = anchor.__dict__.get("recipe")
    if made is not None and not vars(function):
        function.__setstate__(made)
    return function


class Made:
    """What is made of a Python function, tools and options, and so made again where it is copied or unpickled.

    An unpickled object is made when it is first used, when all that its function refers to has come.
    """

    def __init__(self, function: Callable[..., Any], tools: Tools, options: Options) -> None:
        self._function, self._tools, self._options = function, tools, options
        self._anchor: weakref.ref[types.FunctionType] | None = None

    def __copy__(self) -> Any:
        return self._made_of(self._function, self._tools, self._options)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        function = copy.deepcopy(self._function, memo)
        known = memo.get(id(self))  # what the function is bound to may hold this
        return self._made_of(function, self._tools, self._options) if known is None else known

    def __reduce_ex__(self, protocol: Any) -> str | tuple[Any, ...]:
        function = self._function
        if hasattr(function, "saved_calls"):
            raise TypeError(
                f"cannot pickle {function.__name__}, which autograph.load returned: its programs are files. Pickle the path, "
                "and load it there."
            )
        if found(self.__module__, self.__qualname__) is not self:
            return copyreg.__newobj__, (type(self),), self._recipe()  # type: ignore[attr-defined]
        if protocol < 4:  # these cannot name what stands inside of an object
            return self.__qualname__
        return anchored, (type(self), self.pickled_by_name)

    def __setstate__(self, made: Recipe) -> None:
        self.__dict__.update(made.shown, _to_be_made_of=made)

    def __getattr__(self, name: str) -> Any:
        with _MAKING:
            made = self.__dict__.pop("_to_be_made_of", None)
            if made is not None:
                self.__init__(made.function, made.tools, made.options)  # type: ignore[misc]
        return object.__getattribute__(self, name)

    @property
    def pickled_by_name(self) -> types.FunctionType:
        """The anchor of this object."""
        with _MAKING:
            anchor = None if self._anchor is None else self._anchor()
            if anchor is None:
                anchor = anchor_of(self, self._recipe())
                self._anchor = weakref.ref(anchor)
            return anchor

    def is_like(self, other: Any) -> bool:
        """Whether another object is made of the same function with the same options."""
        return isinstance(other, Made) and self._function is other._function and self._options is other._options

    @classmethod
    def _made_of(cls, function: Callable[..., Any], tools: Tools, options: Options) -> Any:
        return cls(function, tools, options)

    def _recipe(self) -> Recipe:
        return Recipe(self._function, self._tools, self._options)


_MAKING = threading.RLock()


def reduced_method(unbound: Made, instance: Any) -> tuple[Any, ...]:
    """What ``__reduce_ex__`` returns of what was looked up on an instance, in whose class it is ``unbound``, or like it."""
    for name, value in _attributes(type(instance)):
        if isinstance(value, Made) and value.is_like(unbound):
            if inspect.getattr_static(instance, name, None) is value:
                return getattr, (instance, name)
            return bound_again, (value, instance)  # as `super()` finds it
    return bound_again, (unbound, instance)


def _attributes(cls: type) -> Iterator[tuple[str, Any]]:
    for kind in cls.__mro__:
        yield from vars(kind).items()


def bound_again(unbound: Any, instance: Any) -> Any:
    """A `Function` as that of an instance."""
    return unbound.__get__(instance)
