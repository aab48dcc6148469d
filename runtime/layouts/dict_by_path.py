"""`DictByPath`: a dict whose keys differ by path, as it leaves a program."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Sequence
from typing import Any

import jax
import numpy as np

from autograph.runtime.layouts.dict_kinds import dict_kind, is_sorted_by_jax
from autograph.runtime.layouts.optional import is_known
from autograph.runtime.layouts.perhaps import GONE, Perhaps, has_perhaps
from autograph.runtime.layouts.pytrees import UnsortedDict, tree_flatten
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.typing import PyTree


class _Settling(dict[Any, Any]):
    """A dict that drops what is known not to be there when it is asked."""

    def _settle(self) -> None:
        """Drop the keys that are known not to be there. Not when JAX makes it: the arrays of a call are not to be read then."""
        for key, value in list(dict.items(self)):
            if (held := settled(value)) is GONE:
                dict.__delitem__(self, key)
            elif held is not value:
                dict.__setitem__(self, key, held)


def _settling(name: str) -> Callable[..., Any]:
    method = getattr(dict, name)

    def call(self: _Settling, *args: Any, **kwargs: Any) -> Any:
        self._settle()
        return method(self, *args, **kwargs)

    return call


for _name in (
    *(
        "__getitem__",
        "__contains__",
        "__len__",
        "__iter__",
        "__reversed__",
        "__eq__",
        "__ne__",
        "__or__",
        "__ror__",
        "__ior__",
    ),
    *(
        "__repr__",
        "__delitem__",
        "__setitem__",
        "get",
        "keys",
        "values",
        "items",
        "copy",
        "pop",
        "popitem",
        "setdefault",
        "update",
    ),
):
    setattr(_Settling, _name, _settling(_name))


@jax.tree_util.register_pytree_node_class
class DictByPath(_Settling):
    """A dict of which only some paths of a traced condition have set some keys, as the result of a program.

    `autograph.function` returns the dict that Python would. ``jax.jit(autograph.convert(f))`` returns a `DictByPath`,
    since the structure of what leaves XLA is fixed: it is a pytree that keeps the order of the keys, and outside of
    all traces a dict with exactly the keys that are there. Inside a trace, and under ``jax.vmap``, where each row has
    keys of its own, it has all the keys that may be there; `presence` says of each whether it is.

    >>> import autograph as ag, jax, jax.numpy as jnp
    >>> def found(x):
    ...     d = {"x": x}
    ...     if x > 0:
    ...         d["root"] = jnp.sqrt(x)
    ...     return d
    >>> list(ag.function(found)(jnp.array(4.0))), list(ag.function(found)(jnp.array(-4.0)))
    (['x', 'root'], ['x'])
    >>> "root" in jax.jit(ag.convert(found))(jnp.array(-4.0))
    False
    >>> jax.vmap(ag.convert(found))(jnp.array([4.0, -4.0])).presence("root").tolist()
    [True, False]
    """

    _kind: Callable[[PyTree], PyTree] = dict

    def presence(self, key: Hashable) -> bool | jax.Array:
        """Return whether the dict has a key.

        Args:
          key: any key.

        Returns:
          A bool; a bool array where each row of a batch has keys of its own, or inside a trace.

        >>> import autograph as ag, jax, jax.numpy as jnp
        >>> def found(x):
        ...     return {"x": x, "root": jnp.sqrt(x)} if x > 0 else {"x": x}
        >>> bool(jax.jit(ag.convert(found))(jnp.array(4.0)).presence("root"))
        True
        """
        self._settle()
        value = dict.get(self, key)
        return value.present if type(value) is Perhaps else dict.__contains__(self, key)

    def resolve(self) -> PyTree:
        """Return the dict that Python would have.

        Returns:
          A dict of the class that the program makes; ``self`` where it is not known which keys are there.

        >>> import autograph as ag, jax, jax.numpy as jnp
        >>> def found(x):
        ...     return {"x": x, "root": jnp.sqrt(x)} if x > 0 else {"x": x}
        >>> list(jax.jit(ag.convert(found))(jnp.array(-4.0)).resolve())
        ['x']
        """
        self._settle()
        return self if has_perhaps(dict.values(self)) else self._kind(dict(dict.items(self)))

    def tree_flatten(self) -> tuple[tuple[PyTree, ...], tuple[tuple[Hashable, ...], Callable[[PyTree], PyTree]]]:
        return tuple(dict.values(self)), (tuple(dict.keys(self)), self._kind)

    @classmethod
    def tree_unflatten(
        cls, facts: tuple[tuple[Hashable, ...], Callable[[PyTree], PyTree]], children: Sequence[PyTree]
    ) -> DictByPath:
        keys, kind = facts
        return dict_by_path(dict(zip(keys, children, strict=True)), kind)


def dict_by_path(items: dict[Any, Any], kind: Any) -> DictByPath:
    """A dict with these items, of which ``kind`` makes one as the program has it."""
    made = DictByPath(items)
    made._kind = kind
    return made


def _kind_of(value: dict[Any, Any]) -> Any:
    if isinstance(value, UnsortedDict):
        return value.kind
    return value._kind if isinstance(value, DictByPath) else dict_kind(value) or type(value)


def settled(value: Any) -> Any:
    """What a key holds, `GONE` for nothing; a `Perhaps` where that is not known."""
    if type(value) is not Perhaps:
        return value
    present = value.present
    if not isinstance(present, bool | np.bool_ | np.ndarray | jax.Array) or isinstance(present, jax.core.Tracer):
        return value
    if np.ndim(present):
        return value
    return value.held if bool(present) else GONE


def with_dicts_by_path(value: Any, kept: Container[int] = (), shows_order: bool = False) -> Any:
    """A result with a `DictByPath` for each dict that may lack keys. What else may be absent is read.

    Args:
      kept: the identities of parts that stay as they are.
      shows_order: the order of the keys of all dicts is seen.

    Raises:
      StagingError: paths differ in an order that is seen.
    """

    def is_leaf(part: Any) -> bool:
        return id(part) in kept or type(part) is Perhaps or (isinstance(part, dict) and has_perhaps(part.values()))

    def replaced(leaf: Any) -> Any:
        if id(leaf) in kept:
            return leaf
        if type(leaf) is Perhaps:
            return inside(leaf.read())
        if not is_leaf(leaf):
            return leaf
        is_seen = shows_order or not is_sorted_by_jax(leaf)
        if not is_seen and all(part.present is True for part in leaf.values() if type(part) is Perhaps):
            held = {key: inside(part.held if type(part) is Perhaps else part) for key, part in leaf.items()}
            return _kind_of(leaf)(held)
        made = {}
        for key, part in _in_order(leaf, is_seen):
            is_perhaps = type(part) is Perhaps
            made[key] = Perhaps(part.present, inside(part.held), part.absence) if is_perhaps else inside(part)
        return dict_by_path(made, _kind_of(leaf))

    def inside(part: Any) -> Any:
        return with_dicts_by_path(part, kept, shows_order)

    leaves, treedef = tree_flatten(value, is_leaf=is_leaf)
    if not any(map(is_leaf, leaves)):
        return value
    return jax.tree_util.tree_unflatten(treedef, list(map(replaced, leaves)))


def sorted_as_by_jax(value: Any) -> Any:
    """What a function that flattens its arguments by JAX is given for this: dicts of which only the order of their keys is not
    known have the one that JAX gives them.
    """

    def is_leaf(part: Any) -> bool:
        if not isinstance(part, dict) or not is_sorted_by_jax(part) or not has_perhaps(part.values()):
            return False
        return all(is_known(each.present) for each in part.values() if type(each) is Perhaps)

    def replaced(leaf: Any) -> Any:
        if not is_leaf(leaf):
            return leaf
        try:
            keys = sorted(leaf)
        except TypeError:  # JAX cannot sort them either
            return leaf
        held = {key: leaf[key].held if type(leaf[key]) is Perhaps else leaf[key] for key in keys}
        return _kind_of(leaf)({key: sorted_as_by_jax(each) for key, each in held.items()})

    leaves, treedef = tree_flatten(value, is_leaf=is_leaf)
    if not any(map(is_leaf, leaves)):
        return value
    return jax.tree_util.tree_unflatten(treedef, list(map(replaced, leaves)))


def _in_order(value: dict[Any, Any], is_seen: bool) -> list[tuple[Any, Any]]:
    """The items of a result. Where only run time knows the order, and nobody sees it, JAX's goes.

    Raises:
      StagingError: it is seen, or the keys cannot be sorted.
    """
    is_moved = any(type(part) is Perhaps and part.absence.is_moved for part in value.values())
    if is_moved and not is_seen:
        try:
            return sorted(value.items(), key=lambda item: item[0])
        except TypeError:
            pass
    LANGUAGE.operators.absences.check_order(value)
    return list(value.items())
