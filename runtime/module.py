"""`Module`: an object whose Variables are found by walking it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from autograph.runtime.variables import Variable


class _NameByClass:
    """The name of a module that was given none: that of its class, in lower case with underscores."""

    def __get__(self, module: Module | None, kind: type) -> str:
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", kind.__name__).lower()


class Module:
    """Base class of objects that hold Variables and other modules.

    They are found in attributes, and in lists, tuples and dicts there, nested as may be: attributes in the order of
    their names, dicts in the order of their keys where those can be sorted, each object once.

    >>> import autograph as ag, jax.numpy as jnp
    >>> class Dense(ag.Module):
    ...     def __init__(self, inputs, outputs):
    ...         self.w = ag.Variable(jnp.ones((inputs, outputs)), name="w")
    ...         self.b = ag.Variable(jnp.zeros(outputs), name="b")
    ...     @ag.function
    ...     def __call__(self, x):
    ...         return x @ self.w + self.b
    >>> class Network(ag.Module):
    ...     def __init__(self):
    ...         self.layers = [Dense(2, 3), Dense(3, 1)]
    ...         self.steps = ag.Variable(0, trainable=False, name="steps")
    >>> network = Network()
    >>> [v.name for v in network.variables]
    ['b', 'w', 'b', 'w', 'steps']
    >>> len(network.trainable_variables), len(network.submodules)
    (4, 2)
    >>> ag.Module(name="encoder").name, network.name
    ('encoder', 'network')

    Args:
      name: an identifier, for messages and the user's own names; without it, or where ``__init__`` is not called, the class' name, as
        ``dense_layer`` of ``DenseLayer``. A class may set ``self.name`` itself.
    """

    name: Any = _NameByClass()

    def __init__(self, name: Any = None) -> None:
        if name is not None:
            if not isinstance(name, str) or not name.isidentifier():
                raise ValueError(
                    f"the name of a module is an identifier, as those of variables in Python; got {name!r}"
                )
            self.name = name

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All Variables of this module and of those in it."""
        return tuple(part for part in _walk(self, set()) if isinstance(part, Variable))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """Those of `variables` that are trainable."""
        return tuple(variable for variable in self.variables if variable.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """The modules in this one, at any depth, without itself."""
        return tuple(part for part in _walk(self, set()) if isinstance(part, Module) and part is not self)


def named_parts(value: Any) -> list[tuple[str, Any]]:
    """What a module, a list, a tuple or a dict holds, with names, in the order in which it is looked through."""
    if isinstance(value, list | tuple):
        return [(str(k), part) for k, part in enumerate(value)]
    if isinstance(value, dict):
        try:
            keys = sorted(value)
        except TypeError:
            keys = list(value)
        return [(str(key), value[key]) for key in keys]
    names = {name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())}
    names |= set(getattr(value, "__dict__", ()))
    return [(name, getattr(value, name, None)) for name in sorted(names - {"__dict__", "__weakref__"})]


def _walk(value: Any, seen: set[int]) -> Iterator[Any]:
    """The Variables and modules that are reached from ``value``, itself first."""
    is_module = isinstance(value, Module)
    if not isinstance(value, Variable | list | tuple | dict) and not is_module or id(value) in seen:
        return
    seen.add(id(value))
    if is_module or isinstance(value, Variable):
        yield value
    if isinstance(value, Variable):
        return
    for _, part in named_parts(value):
        yield from _walk(part, seen)
