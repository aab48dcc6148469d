"""`LoadedModule`: the object that `load` returns."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

from autograph.runtime.function.concrete import ConcreteFunction
from autograph.runtime.state.module import Module
from autograph.runtime.state.variables import Variable

# What an instance has of its own. Names of this form are not saved of a module, so that no attribute meets them.
_OWN = frozenset(["__kind__", "__signatures__", "__captured__"])
NAMES = _OWN | {"signatures"}


class LoadedModule(Module):
    """What `load` returns: the saved functions, Variables, modules and data, as attributes with the names they had.

    A saved `Function` can be called as the loaded object itself. A saved dict has its items as ``loaded["name"]``
    too. Methods that are not Functions are missing. An attribute that could not be saved is a placeholder whose text
    says what it was.

    Attributes:
      signatures: the `ConcreteFunction`s that `save` was given, by name.

    >>> import autograph as ag, jax.numpy as jnp, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "double")
    >>> ag.save(ag.function(lambda x: 2 * x, [ag.TensorSpec([None], name="x")]), path)
    >>> double = ag.load(path)
    >>> double(jnp.array([1.0, 2.0])).tolist(), list(double.signatures)
    ([2.0, 4.0], ['default'])
    """

    def __init__(self, kind: str) -> None:
        self.__kind__ = kind
        self.__signatures__: Mapping[str, ConcreteFunction] = {}
        self.__captured__: tuple[Variable, ...] = ()

    @property
    def signatures(self) -> Mapping[str, ConcreteFunction]:
        return types.MappingProxyType(dict(self.__signatures__))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = vars(self).get("__call__")
        if function is None:
            raise TypeError(
                f"a saved {self.__kind__} that is no function; it has {', '.join(self._names()) or 'no parts'}"
            )
        return function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in _OWN:  # a copy that is not filled yet
            raise AttributeError(name)
        raise AttributeError(
            f"the saved {self.__kind__} has no `{name}`; it has {', '.join(self._names()) or 'no parts'}"
        )

    def __getitem__(self, name: str) -> Any:
        return vars(self)[name]

    def _names(self) -> list[str]:
        return [name for name in vars(self) if name not in _OWN]

    def __repr__(self) -> str:
        return f"<loaded {self.__kind__}: {', '.join(self._names())}>"
