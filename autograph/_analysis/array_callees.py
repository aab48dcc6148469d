"""What a call does with arrays that it is given, as far as its text, or what the called expression represents now, tells."""

from __future__ import annotations

import types
from collections.abc import Callable, Collection
from enum import Enum
from typing import Any

import gast

from autograph.runtime.code.array_facts import BY_LAST_NAME, METHODS, Returns

Resolve = Callable[[gast.AST], object]  # what a called expression represents now; None where that cannot be told

_PURE = frozenset(["autograph", "numpy", "jax", "jaxlib", "math", "cmath", "scipy"])
_TREES = ("jax.tree", "jax.tree_util", "jax._src.tree", "jax._src.tree_util")
_OF_TEXTS = "join format split strip startswith endswith upper lower index count"
_OF_BUILTINS = "list tuple set dict frozenset sorted reversed iter zip enumerate map filter next min max getattr vars"
_OF_CONTAINERS = "get pop popleft popitem setdefault items values keys most_common __getitem__ __next__ send"
_TEXTS, _PARTS, _TAKES = (frozenset(names.split()) for names in (_OF_TEXTS, _OF_BUILTINS, _OF_CONTAINERS))


class Callee(Enum):
    """What a call does with arrays: those that it is given, and that which it returns."""

    NEW = "makes what it returns, and keeps nothing"
    VIEW = "returns, perhaps, what it is given or a view of it"
    OWN_VIEW = "returns, perhaps, a view of the array whose method it is"
    COPY = "returns a copy of the object whose method it is, with the same elements"
    PART = "returns what holds the elements of what it is given, or one of them"
    KEEPS = "keeps what it is given in an object that it makes"
    TAKES = "returns a part of the object whose method it is, which may keep what it is given"
    METHOD = "may keep what it is given in the object whose method it is, and what it returns is known by its name"
    USERS = "is known by its name"
    UNKNOWN = "may be any function of the user's"
    ANY = "may keep what it is given and return it, or parts of it"


def callee_of(
    called: gast.AST, functions: Collection[str], resolve: Resolve, is_library: Callable[[object], bool]
) -> Callee:
    """What a called expression does.

    Args:
      functions: the names of functions that are defined around the call.
    """
    represented = resolve(called)
    if represented is not None:
        return _of_object(represented, is_library)
    if isinstance(called, gast.Attribute):
        return Callee.NEW if _is_of_at(called.value) else _of_method(called.attr)
    is_defined = isinstance(called, gast.Name) and called.id in functions
    return Callee.USERS if is_defined else Callee.UNKNOWN


def name_of(called: gast.AST) -> str:
    """The name by which a user's function is called."""
    return str(getattr(called, "attr", getattr(called, "id", "")))


def _is_of_at(owner: gast.AST) -> bool:
    """Whether this is ``x.at[i]``."""
    return isinstance(owner, gast.Subscript) and isinstance(owner.value, gast.Attribute) and owner.value.attr == "at"


def _of_method(name: str) -> Callee:
    if name == "copy":
        return Callee.COPY
    if name == "put":  # of a queue, perhaps
        return Callee.METHOD
    if name in METHODS and METHODS[name].returns is not Returns.NEW:
        return Callee.OWN_VIEW
    if name in METHODS or name in _TEXTS:  # unless a class of the user's has one of this name
        return Callee.USERS
    return Callee.TAKES if name in _TAKES else Callee.METHOD


def _of_object(represented: Any, is_library: Callable[[object], bool]) -> Callee:
    module = getattr(represented, "__module__", None)
    module = module if isinstance(module, str) else type(represented).__module__
    name = getattr(represented, "__name__", "")
    if module.startswith(_TREES):
        return Callee.PART
    root = module.partition(".")[0]
    if root in _PURE:
        is_new = root != "numpy" or name not in BY_LAST_NAME or BY_LAST_NAME[name].returns is Returns.NEW
        return Callee.NEW if is_new else Callee.VIEW
    if module == "builtins" and not isinstance(represented, types.MethodType):
        is_error = isinstance(represented, type) and issubclass(represented, BaseException)
        return Callee.PART if name in _PARTS else Callee.KEEPS if is_error or name == "setattr" else Callee.NEW
    if isinstance(represented, type):
        return Callee.KEEPS
    if is_library(represented):
        return Callee.NEW if name == "deepcopy" else Callee.ANY
    return Callee.USERS if isinstance(name, str) and name else Callee.UNKNOWN
