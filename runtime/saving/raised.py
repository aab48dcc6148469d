"""Encode the exceptions that a saved program may raise as JSON, and decode them.

Of one of Python's or of ours the class is found again by its name. Of another there is only the name: it is raised as
a `SavedError` of that name, which is also of Python's class that it was derived from.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import jax

from autograph.runtime import errors
from autograph.runtime.effects.as_python import in_a_text
from autograph.runtime.effects.raise_sites import arguments_of, unheard
from autograph.runtime.errors import SavedError, StagingError
from autograph.runtime.layouts.objects import given_names
from autograph.runtime.saving.dtypes import dtype_of, name_of
from autograph.runtime.saving.schema import Maybe, check, dtype, identifier, line, natural, node
from autograph.runtime.saving.structures import Decoder, NoForm, Records, Slot, canonical, encode
from autograph.runtime.saving.texts import text_of

_HOMES = (builtins, errors)


def entry_of(site: Any) -> dict[str, Any]:
    """The JSON of a site.

    Raises:
      StagingError: its exception is made by code that needs the values.
    """
    try:
        site.raise_with([Slot(number) for number in range(len(site.types))])
    except BaseException as error:
        made = error
    try:
        if type(made).__name__ != site.name:
            raise NoForm(f"what {type(made).__name__} says: {made}")
        raised = _described(made)
    except (NoForm, ValueError) as error:
        raise StagingError(
            f"{site.where}\n  {site.name} is raised here with data that cannot be saved: {error}.\n  Give the exception arrays, "
            "constants, and texts made by f-strings, str() or repr() in the `raise` statement."
        ) from None
    file, number, function = site.position
    return {
        "raised": raised,
        "types": [[list(each.shape), name_of(each.dtype)] for each in site.types],
        "check": site.is_check,
        "file": file,
        "line": number,
        "function": function,
        "where": site.where,
    }


def _described(error: BaseException) -> dict[str, Any]:
    kind = type(error)
    known = next(each for each in kind.__mro__ if _class_of(each.__name__) is each)
    # Of one of Python's more than its `args` may be needed: the name of a file, say.
    arguments = known.__reduce__(error)[1] if known.__module__ == "builtins" else error.args
    return {
        "class": kind.__name__,
        "base": known.__name__,
        "arguments": encode(arguments),
        "attributes": encode({**given_names(error), **vars(error)}, opaque=True),
        "text": None if known is kind else encode(str(error)),
        "cause": None if error.__cause__ is None else _described(error.__cause__),
        "silent": error.__suppress_context__ and error.__cause__ is None,
    }


def _raised(slots: int, depth: int) -> Any:
    def admit(value: Any) -> None:
        check(value, schema)
        if _class_of(value["base"]) is None:
            raise ValueError(f"there is no exception {value['base']!r}")
        if value["arguments"][0] != "tuple" or value["attributes"][0] != "dict":
            raise ValueError("its arguments are not a tuple, or its attributes not a dict")
        if not all(key[0] == "str" and key[1] not in _OWN for key, _ in value["attributes"][1]):
            raise ValueError("its attributes have no names")

    def cause(value: Any) -> None:
        if depth > 20:
            raise ValueError("causes nest too deep")
        _raised(slots, depth + 1)(value)

    schema = {
        "class": identifier,
        "base": identifier,
        "arguments": node(slots, texts=True),
        "attributes": node(slots, texts=True, opaque=True),
        "text": Maybe(node(slots, texts=True)),
        "cause": Maybe(cause),
        "silent": bool,
    }
    return admit


_OWN = frozenset(["__class__", "__dict__", "__cause__", "__context__", "__traceback__", "__suppress_context__"])


def admit(entry: Any) -> None:
    """A schema of what `entry_of` returns."""
    check(
        entry,
        {
            "raised": dict,
            "types": [_type],
            "check": bool,
            "file": str,
            "line": line,
            "function": str,
            "where": str,
        },
    )
    check(entry["raised"], _raised(len(entry["types"]), 0), "raised")
    if not entry["line"] >= 1 or "\0" in entry["file"]:
        raise ValueError("not a position in a file")


def _type(value: Any) -> None:
    if type(value) is not list or len(value) != 2:
        raise ValueError("no type")
    check(value[0], [natural])
    check(value[1], dtype)


def _class_of(name: str) -> Any:
    for home in _HOMES:
        found = getattr(home, name, None)
        if isinstance(found, type) and issubclass(found, BaseException) and found is not SavedError:
            return found
    return None


class SavedSite:
    """A site that was saved: see `backends.base.RaiseSite`.

    Its traceback ends at a line of ``<saved FILE>``: the file is not there, or another one.
    """

    is_caught = False

    def __init__(self, entry: dict[str, Any], records: Records) -> None:
        self._entry, self._records = entry, records
        self._key = canonical(entry)
        self.types = tuple(jax.ShapeDtypeStruct(tuple(shape), dtype_of(kind)) for shape, kind in entry["types"])
        self.name: str = entry["raised"]["class"]
        self.where: str = entry["where"]
        self.is_check: bool = entry["check"]
        self.position: tuple[str, int, str] = (entry["file"], entry["line"], entry["function"])

    @property
    def refusal(self) -> str:
        return unheard(self.where, self.name)

    @property
    def room(self) -> None:
        """A saved program cannot be recorded again with more room."""
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SavedSite) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"{self.name} at line {self.position[1]}"

    def raise_with(self, values: Sequence[Any]) -> None:
        error = self._made(self._entry["raised"], values)
        file, number, function = self.position
        place = file if file.startswith("<") else f"<saved {file}>"
        code = compile("\n" * (number - 1) + "raise error", place, "exec")
        exec(code.replace(co_name=function, co_qualname=function), {"error": error})

    def _made(self, raised: dict[str, Any], values: Sequence[Any]) -> BaseException:
        decoder = Decoder(values, self._records, lambda parts: text_of(parts, list(map(in_a_text, values))))
        base, name = _class_of(raised["base"]), raised["class"]
        arguments = arguments_of(base, decoder.value(raised["arguments"]))
        error: BaseException
        if name == base.__name__:
            error = base(*arguments)
        else:
            error = _new(name, base, arguments)
            error.saved_text = decoder.value(raised["text"]) if raised["text"] is not None else None  # type: ignore[attr-defined]
        for attribute, value in decoder.value(raised["attributes"]).items():
            setattr(error, attribute, value)
        if raised["cause"] is not None:
            error.__cause__ = self._made(raised["cause"], values)
        error.__suppress_context__ = error.__cause__ is not None or raised["silent"]
        return error


def _new(name: str, base: type[BaseException], arguments: Sequence[Any]) -> BaseException:
    """A `SavedError` of this name."""
    bases = (SavedError,) if issubclass(SavedError, base) else (SavedError, base)
    kind: Any = type(name, bases, {"__module__": SavedError.__module__})
    try:
        error: BaseException = kind(*arguments)
    except TypeError:  # a class of Python's that asks for other arguments
        error = kind.__new__(kind)
        error.args = tuple(arguments)
    return error
