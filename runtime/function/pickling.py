"""Pickling of `Function`s: by name if a module contains the function, by value otherwise.

`pickle` sends Python functions by name; `cloudpickle`, and the copies of it that joblib, ray and dask have, send
those whole that the other process cannot import (of ``__main__``, say). Both decide it of plain functions only, by
``__module__`` and ``__qualname__``. So a `Function` that a module has is pickled as its *anchor*, a plain function
that is found under ``<name of the Function>.pickled_by_name``: whoever sends functions by name finds it there, and
with it the `Function` itself; whoever sends them whole sends what the anchor holds, the `Recipe`.
"""

from __future__ import annotations

import contextlib
import copy
import copyreg
import inspect
import linecache
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from autograph.runtime.code.code_names import is_partial, names_in
from autograph.runtime.code.library_table import is_library
from autograph.runtime.function.options import Options, Tools

ANCHOR = "pickled_by_name"
_NO_FILE = "<dynamic-code>"  # what cloudpickle writes in place of a file's name
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

    def complete(self) -> None:
        """Put in what could not be while parts were missing: nothing, but in a recipe of another process."""

    def __reduce__(self) -> tuple[Any, ...]:
        return recipe, (self.function, self.tools, self.options, self.shown, Sources.of(self.function))


def recipe(
    function: Callable[..., Any], tools: Tools, options: Options, shown: Mapping[str, Any], sources: Sources
) -> Recipe:
    """A recipe that has come from another process. The function may lack what it refers to until all has come."""
    sources.keep()
    return Arrived(function, tools, options, shown, sources)


class Arrived(Recipe):
    """A recipe of another process, whose functions may lack the names of their files until it is first used."""

    def __init__(
        self, function: Callable[..., Any], tools: Tools, options: Options, shown: Mapping[str, Any], sources: Sources
    ) -> None:
        super().__init__(function, tools, options, shown)
        self._sources = sources

    def complete(self) -> None:
        self._sources.name_files(self.function)


@dataclass(frozen=True)
class Sources:
    """The source files of a function and of the Python functions that it reaches, which another process may not have.

    Attributes:
      files: the file of each function, by the function's qualified name and first line. cloudpickle sends code without the
        name of its file since 3.1.3.
      texts: the text of each file.
    """

    files: Mapping[tuple[str, int], str]
    texts: Mapping[str, str]

    @classmethod
    def of(cls, function: Any) -> Sources:
        files, texts = {}, {}
        for each in functions_reached(function, is_sent_whole):
            code = each.__code__
            files[code.co_qualname, code.co_firstlineno] = code.co_filename
            if code.co_filename not in texts:
                texts[code.co_filename] = "".join(linecache.getlines(code.co_filename, each.__globals__))
        return cls(files, {name: text for name, text in texts.items() if text})

    def keep(self) -> None:
        """Let functions of these files be converted here, where there are no such files."""
        for name, text in self.texts.items():
            if not linecache.getlines(name):
                linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)

    def name_files(self, function: Any) -> None:
        """Name the files of a function that has come, and of those that it reaches, where they came without."""
        for each in functions_reached(function, is_without_file):
            code = each.__code__
            name = self.files.get((code.co_qualname, code.co_firstlineno))
            if name is not None:
                each.__code__ = in_file(code, name)


def is_sent_whole(function: types.FunctionType) -> bool:
    """Whether this is a function that cloudpickle may send whole: not one of an installed library."""
    return not is_library(function)


def is_without_file(function: types.FunctionType) -> bool:
    """Whether this came from another process, without the name of its file."""
    return function.__code__.co_filename == _NO_FILE


def in_file(code: types.CodeType, name: str) -> types.CodeType:
    """The code, and that within it, as if it had been compiled from a file of this name."""
    constants = tuple(in_file(each, name) if isinstance(each, types.CodeType) else each for each in code.co_consts)
    return code.replace(co_filename=name, co_consts=constants)


def functions_reached(value: Any, is_wanted: Callable[[types.FunctionType], bool]) -> Iterator[types.FunctionType]:
    """The wanted Python functions that a function is, wraps, names, or closes over, and those of the classes among these."""
    pending, seen = [value], set()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, types.FunctionType):
            if is_wanted(value):
                yield value
                pending += _values_named(value)
        elif isinstance(value, types.MethodType):
            pending += [value.__func__, type(value.__self__)]
        elif is_partial(value):
            pending.append(value.func)
        elif isinstance(value, staticmethod | classmethod):
            pending.append(value.__func__)
        elif isinstance(value, property):
            pending += [value.fget, value.fset, value.fdel]
        elif isinstance(value, type):
            pending += [each for kind in value.__mro__ if not is_library(kind) for each in vars(kind).values()]
        elif not isinstance(value, Made):  # which has sources of its own
            pending.append(type(value))


def _values_named(function: types.FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # what belongs there has not come yet
            yield cell.cell_contents
    names = names_in(function.__code__)
    yield from (function.__globals__[name] for name in names if name in function.__globals__)
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()


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
        function = _FUNCTION_OF[anchor] = kind.__new__(kind, unmade)
    made = anchor.__dict__.get("recipe")
    if made is not None and not vars(function):
        function.__setstate__(made)
    return function


def unmade(*args: Any, **kwargs: Any) -> Any:
    """What an object is created with that has yet to be made."""
    raise AssertionError("called before anything has come")


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
            return copyreg.__newobj__, (type(self), unmade), self._recipe()  # type: ignore[attr-defined]
        if protocol < 4:  # these cannot name what stands inside of an object
            return self.__qualname__
        return anchored, (type(self), self.pickled_by_name)

    def __setstate__(self, made: Recipe) -> None:
        self.__dict__.update(made.shown, _to_be_made_of=made)

    def __getattr__(self, name: str) -> Any:
        with _MAKING:
            made = self.__dict__.pop("_to_be_made_of", None)
            if made is not None:
                made.complete()
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
