"""What kinds of values functions read from outside, and how each is compared."""

from __future__ import annotations

import collections
import enum
import os
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from autograph.runtime.code.code_names import class_attribute
from autograph.runtime.code.library_table import is_library
from autograph.runtime.containers.traced_lists import is_array_list
from autograph.runtime.data.dataset import Dataset
from autograph.runtime.errors import PartOfTrace
from autograph.runtime.function.assignments import Place
from autograph.runtime.layouts.static_values import StaticLeaf, identity_leaf, static_leaf
from autograph.runtime.signatures.outside_places import SCALARS
from autograph.runtime.state.variables import Variable
from autograph.runtime.tracing.locations import user_location

_ATOMS = (jax.Array, np.generic, Dataset, Variable)
# Libraries whose objects hold the user's values.
_OF_USERS_DATA = frozenset(["collections", "types", "argparse", "weakref", "_weakrefset", "_thread", "configparser"])
# Views of what may change: by the function that copies what they show.
SHOWN_BY: Mapping[type, Callable[[Any], Any]] = types.MappingProxyType(
    {
        **dict.fromkeys((types.MappingProxyType, type(os.environ)), dict),
        **{
            type(getattr(table(), view)()): list
            for table in (dict, collections.OrderedDict)
            for view in ("keys", "values", "items")
        },
    }
)


@dataclass(eq=False)
class Root:
    """Where a walk begins.

    Attributes:
      label: what messages call it.
      source: an expression for it, of names in ``environment``.
      is_known: whether which object it is need not be compared.
      place: where it is assigned.
    """

    label: str
    source: str
    environment: dict[str, Any]
    value: Any
    place: Place = ()
    is_known: bool = False


def is_atom(value: Any) -> bool:
    """Whether which object it is says all of this value."""
    return type(value) in SCALARS or (isinstance(value, _ATOMS) and not isinstance(value, jax.core.Tracer))


def atom_leaf(value: Any) -> StaticLeaf:
    return (
        identity_leaf(value) if isinstance(value, _ATOMS) and not isinstance(value, np.generic) else static_leaf(value)
    )


def is_data(value: Any) -> bool:
    """Whether this is an object of a user's class, or of a library's class for users' values."""
    if isinstance(value, type | types.FunctionType | types.ModuleType | types.BuiltinFunctionType | enum.Enum):
        return False
    if not is_library(type(value)):
        return True
    module = str(getattr(type(value), "__module__", "")).partition(".")[0]
    return module in _OF_USERS_DATA and type(getattr(value, "__dict__", None)) is dict


def is_descriptor(part: Any) -> bool:
    """Whether reading this as an attribute of a class runs code of the user's."""
    method = class_attribute(type(part), "__get__")
    return isinstance(method, types.FunctionType) and not is_library(method)


def copied(value: Any) -> Any:
    """A container as it is now, for what it was to be known when it has changed."""
    return type(value)(value) if type(value) in (list, set, dict) else value


def refuse_of_trace(value: Any, label: str) -> None:
    """`PartOfTrace` if a value is a container that the trace around the call holds in arrays."""
    if is_array_list(value):
        raise PartOfTrace(
            f"{user_location()}\n  {label} is of traced length, and a function reads it.\n  Call the function in converted code."
        )
