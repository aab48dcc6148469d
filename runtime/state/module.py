"""`Module`: a base class that finds the Variables in its attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from autograph.runtime.state.variables import Variable


class _NameByClass:
    """The name of a module that was given none: that of its class, in lower case with underscores."""

    def __get__(self, module: Module | None, kind: type) -> str:
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", kind.__name__).lower()


class Module:
    """Base class of objects that hold Variables and other modules.

    Variables and modules are found in attributes, and in lists, tuples and dicts in attributes, at any depth. The
    order is that of the attribute names and of the dict keys, if they can be sorted; each object is listed once.

    Args:
      name: an identifier for messages. By default, or if ``__init__`` is not called, the name of the class in lower
        case: ``dense_layer`` for ``DenseLayer``. A class may assign ``self.name`` itself.

    Raises:
      ValueError: ``name`` is not an identifier.

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
    """

    __autograph_has_no_state__ = True  # so that a traced condition may choose one of two
    name: Any = _NameByClass()

    def __init__(self, name: str | None = None) -> None:
        given: object = name
        if given is not None:
            if not isinstance(given, str) or not given.isidentifier():
                raise ValueError(
                    f"the name of a module must be an identifier, as those of variables in Python; got {given!r}"
                )
            self.name = given

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All Variables of this module and of its submodules, a tuple."""
        return tuple(part for part in _walk(self, set()) if isinstance(part, Variable))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable Variables among `variables`, a tuple."""
        return tuple(variable for variable in self.variables if variable.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """The modules in this one, at any depth, without itself: a tuple."""
        return tuple(part for part in _walk(self, set()) if isinstance(part, Module) and part is not self)


def named_parts(value: Any) -> list[tuple[str, Any]]:
    """Return the parts of a module, list, tuple or dict with their names, in the order in which they are searched."""
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
