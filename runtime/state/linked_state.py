"""Variables of flax.nnx and Keras as state of a program.

A `Linked` represents one such variable. While a program is recorded that uses the objects around it, the variable is
of a class made for the purpose, through which it is read and written by what represents it in the program; its value
stays where its library keeps it.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import LeafType
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.one_of import candidates_of, is_one_of, listed
from autograph.runtime.layouts.pytrees import tree_flatten
from autograph.runtime.layouts.static_values import WholeArgument
from autograph.runtime.state.held import Held
from autograph.runtime.state.variables import current_frame
from autograph.runtime.tracing.locations import user_location

_VALUES = (jax.Array, np.ndarray, np.generic, bool, int, float, complex)


class Linked(Held):
    """The Variable that represents a variable of another library. Not among a function's variables."""

    __slots__ = ("_link", "_owner", "_recordings")

    _is_plain = False

    def __init__(self, owner: Any, link: _Link, name: str) -> None:
        self._owner: Any = None  # while made, it represents nothing yet
        self._recordings = 0  # how many use it
        super().__init__(link.array(owner), name)
        self._owner, self._link = owner, link

    @property
    def _value(self) -> Any:
        if self._owner is None:
            return None
        value = self._link.array(self._owner)
        if (tuple(value.shape), value.dtype) != (self._type.shape, self._type.dtype):
            raise StagingError(
                f"{user_location()}\n  {self.name} was {self._type} when it was first used in a function, and is now "
                f"{LeafType(tuple(value.shape), value.dtype)}.\n  Make a new model for another shape."
            )
        return value

    @_value.setter
    def _value(self, value: Any) -> None:
        if self._owner is not None:
            self._link.store(self._owner, value)

    @property
    def value(self) -> Any:
        """The present value."""
        return super().value if current_frame() is not None else self._value

    def _shared(self) -> Any:
        return self._value

    def _given_away(self, value: Any) -> Any:
        return jnp.array(value, copy=True)  # who else has it, only its library knows

    def _write(self, value: Any) -> None:
        if current_frame() is not None:
            super()._write(value)
        else:
            self._value = value

    def check_writable(self, value: Any) -> None:
        """Outside of programs its own library says where it may be written."""


class _Link:
    """How the variables of one class are linked.

    Attributes:
      kind: the class of those that are linked now.
      load, store: read and write the value where the library keeps it.
    """

    def __init__(self, kind: type, attribute: str) -> None:
        slot = inspect.getattr_static(kind, attribute, None)
        self.load: Callable[[Any], Any]
        self.store: Callable[[Any, Any], None]
        if slot is not None:
            self.load, self.store = slot.__get__, slot.__set__
        else:
            self.load = lambda owner: owner.__dict__[attribute]
            self.store = lambda owner, value: owner.__dict__.__setitem__(attribute, value)
        made = {
            "__slots__": (),
            "__module__": kind.__module__,
            "__qualname__": kind.__qualname__,
            attribute: property(self._read, self._written),
            "__autograph_is_state__": lambda owner: id(owner) in _LINKED,
        }
        if hasattr(kind, "_check_can_update"):
            base: Any = kind
            may, check = base._can_update, base._check_can_update
            made |= {
                "_can_update": property(lambda owner: _stands_in(owner) is not None or may.__get__(owner)),
                "_check_can_update": lambda owner: check(owner) if _stands_in(owner) is None else None,
            }
        self.plain, self.kind = kind, type(kind)(kind.__name__, (kind,), made)

    def array(self, owner: Any) -> jax.Array:
        """The value where the library keeps it, as an array."""
        value = self.load(owner)
        return value if isinstance(value, jax.Array) else jnp.asarray(value)

    def _read(self, owner: Any) -> Any:
        linked = _stands_in(owner)
        return self.load(owner) if linked is None else linked.value

    def _written(self, owner: Any, value: Any) -> None:
        linked = _stands_in(owner)
        if linked is None:
            self.store(owner, value)
        else:
            linked.assign(value)


class _AnyTrace:
    """Instead of the trace that an object of flax.nnx was made in: it may be used in all that a program stages."""

    def is_valid(self) -> bool:
        return True


_LINKED: weakref.WeakValueDictionary[int, Linked] = weakref.WeakValueDictionary()
_SWAPPING = threading.RLock()


def _stands_in(owner: Any) -> Linked | None:
    """What represents a variable in what is recorded now."""
    return _LINKED.get(id(owner)) if current_frame() is not None else None


def _is_in_use(owner: Any) -> bool:
    """Whether a recording that runs has something represent a variable."""
    known = _LINKED.get(id(owner))
    return known is not None and known._recordings > 0


@functools.cache
def _link(kind: Any, attribute: str) -> _Link:
    return _Link(kind, attribute)


def in_place_of(value: Any) -> Any:
    """The Variable that represents a variable of flax.nnx or Keras; anything else, and one that no program links, itself.

    Raises:
      StagingError: it is one of several Variables, and what is done with them depends on which.
    """
    if is_one_of(value):
        raise StagingError(
            f"{user_location()}\n  This is one of {listed(candidates_of(value))}, selected at run time, and a gradient or an update of "
            "Variables needs to know which while tracing.\n  Pass all of them, and select among the results."
        )
    if not is_variable(value) or (current_frame() is not None and not _is_in_use(value)):
        return value
    return _linked(value, getattr(value, "path", type(value).__name__))


def is_variable(value: Any) -> bool:
    """Whether this is a variable of flax.nnx or Keras."""
    return _attribute_of(value) is not None


def is_nnx_object(value: Any) -> bool:
    """Whether this is an object of flax.nnx that holds variables."""
    nnx = sys.modules.get("flax.nnx")
    return nnx is not None and isinstance(value, nnx.Pytree)


NOT_STATE = frozenset(["_pytree__state"])
"""The attributes of an object of flax.nnx that nothing computes with: of which trace it is, which each `nnx.jit` notes anew."""


def may_hold_variables(value: Any) -> bool:
    """Whether this is an object of these libraries in which there may be variables, or is one."""
    if isinstance(value, type):
        return False
    keras = sys.modules.get("keras")
    return is_nnx_object(value) or is_variable(value) or (keras is not None and isinstance(value, _keras_kinds(keras)))


def is_node(value: Any) -> bool:
    """Whether this is an argument by itself, outside of other transforms: a variable, or an object of flax.nnx, which has leaves."""
    if not is_nnx_object(value) and not is_variable(value):
        return False
    parts = [value] if is_variable(value) else [node for _, node in sys.modules["flax.nnx"].iter_graph(value)]
    # Of a variable that is linked now, what its library keeps, and not what represents that.
    return not any(isinstance(_value_of(part) if is_variable(part) else part, jax.core.Tracer) for part in parts)


def _attribute_of(value: Any) -> str | None:
    nnx, keras = sys.modules.get("flax.nnx"), sys.modules.get("keras")
    if nnx is not None and isinstance(value, nnx.Variable):
        return None if value.hijax or value.ref else "_raw_value"
    if keras is not None and isinstance(value, getattr(keras, "Variable", ())):
        return "_value"
    return None


def variables_in(value: Any) -> Iterator[tuple[str, Any]]:
    """The variables, by name, of an object of one of these libraries."""
    if is_variable(value):
        yield type(value).__name__, value
    elif is_nnx_object(value):
        for path, node in sys.modules["flax.nnx"].iter_graph(value):
            if is_variable(node):
                yield ".".join(map(str, path)), node
    else:
        for variable in value.variables:
            yield variable.path, variable


def _keras_kinds(keras: Any) -> tuple[type, ...]:
    names = (("layers", "Layer"), ("optimizers", "Optimizer"), ("metrics", "Metric"))
    homes = ((getattr(keras, home, None), name) for home, name in names)  # while Keras is imported, some are not there
    return tuple(getattr(home, name) for home, name in homes if hasattr(home, name))


@contextmanager
def linked(objects: Iterable[Any]) -> Iterator[None]:
    """While a program is recorded: read and write the variables in these objects by what represents them."""
    found: list[Linked] = []
    states: dict[int, Any] = {}
    objects = list(objects)
    with _SWAPPING:
        for value in filter(is_nnx_object, objects):
            for _, node in sys.modules["flax.nnx"].iter_graph(value):
                if is_nnx_object(node) and not isinstance(node._pytree__state._trace_state, _AnyTrace):
                    states[id(node)] = node, node._pytree__state._trace_state
                    node._pytree__state._trace_state = _AnyTrace()
        for value in objects:
            for name, variable in variables_in(value):
                if isinstance(kept := _value_of(variable), _VALUES) and not isinstance(kept, jax.core.Tracer):
                    found.append(_linked(variable, name))
        for each in found:
            each._recordings += 1
            object.__setattr__(each._owner, "__class__", each._link.kind)
    try:
        yield
        _refuse_made_inside(objects)
    finally:
        with _SWAPPING:
            for node, before in states.values():
                node._pytree__state._trace_state = before  # of the node, whose state the library may have replaced
            for each in found:
                each._recordings -= 1
                if not each._recordings:
                    object.__setattr__(each._owner, "__class__", each._link.plain)


def _refuse_made_inside(objects: Iterable[Any]) -> None:
    for value in objects:
        for name, variable in variables_in(value):
            if id(variable) not in _LINKED and isinstance(_value_of(variable), jax.core.Tracer):
                raise StagingError(
                    f"{user_location()}\n  {name} was created while tracing, and its value is known only at run "
                    "time.\n  "
                    "Build the model or the optimizer before its first call in a function: call it once outside, or its `build`: "
                    "optimizer.build(model.trainable_variables). A metric that makes "
                    "its variables when it is first updated: update it once outside, then metric.reset_state()."
                )


def _linked(variable: Any, name: str) -> Linked:
    known = _LINKED.get(id(variable))
    if known is None:
        attribute = _attribute_of(variable)
        assert attribute is not None
        known = _LINKED[id(variable)] = Linked(variable, _link(cast(Any, type(variable)), attribute), name)
    return known


def _value_of(variable: Any) -> Any:
    attribute = _attribute_of(variable)
    known = _LINKED.get(id(variable))
    assert attribute is not None
    return getattr(variable, attribute) if known is None else known._link.load(variable)


class NodeArgument(WholeArgument):
    """Holds an argument that is one object with its variables."""

    __slots__ = ()


def held(tree: Any) -> Any:
    """``tree`` with each object of flax.nnx and variable of Keras in a `NodeArgument`; an ``nnx.State``, which is data, as it is."""
    nnx: Any = sys.modules.get("flax.nnx")
    if nnx is None and "keras" not in sys.modules:
        return tree

    nodes: set[int] = set()

    def is_whole(part: Any) -> bool:
        if nnx is not None and isinstance(part, nnx.State):
            return True
        if is_node(part):
            nodes.add(id(part))
            return True
        return False

    leaves, treedef = tree_flatten(tree, is_leaf=is_whole)
    if not nodes:
        return tree
    return jax.tree_util.tree_unflatten(treedef, [NodeArgument(leaf) if id(leaf) in nodes else leaf for leaf in leaves])


def released(tree: Any) -> Any:
    """``tree`` with the objects themselves instead of each `NodeArgument`."""
    if "flax.nnx" not in sys.modules and "keras" not in sys.modules:
        return tree
    leaves, treedef = tree_flatten(tree)
    if not any(type(leaf) is NodeArgument for leaf in leaves):
        return tree
    return jax.tree_util.tree_unflatten(
        treedef, [leaf.value if type(leaf) is NodeArgument else leaf for leaf in leaves]
    )
