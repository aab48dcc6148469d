"""The signature of a call: the structure of its arguments, the array leaves, and the Python values.

Arrays are distinguished by `jax.jit`'s own cache (shape, dtype, weak type, sharding). The rest, a call's
*static* part, is a key made here: Python values by type and value, other objects by identity, held weakly;
containers by structure.
"""

from __future__ import annotations

import dataclasses
import inspect
import keyword
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from autograph.runtime.code.generated import Fields, refusal_of_call
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.describe import is_leaf as holds_nothing
from autograph.runtime.layouts.dict_kinds import dict_kind
from autograph.runtime.layouts.pytrees import UnsortedDict, for_jax, is_unsorted
from autograph.runtime.layouts.static_values import StaticLeaf, WholeArgument, static_leaf
from autograph.runtime.signatures.chosen_arguments import (
    ArgumentOptions,
    ChosenArguments,
    as_static,
    given,
    refuse_both,
)
from autograph.runtime.signatures.tensor_spec import TensorSpec
from autograph.runtime.state.linked_state import held, released
from autograph.runtime.tracing.locations import user_location

_ARRAYS = (jax.Array, np.ndarray, jax.ShapeDtypeStruct, TensorSpec)


def is_array_leaf(value: Any) -> bool:
    """Whether a leaf is an input of the program: an array, a NumPy scalar, or a stand-in for one."""
    if isinstance(value, np.generic):
        return value.dtype.kind not in "USO"
    return isinstance(value, _ARRAYS)


def is_array_like(value: Any) -> bool:
    """Whether this is an array of another library (a data frame's column, a tensor), to be taken as an array here.

    By identity its content, which may change, would be part of the program.
    """
    kind = type(value)
    if not hasattr(kind, "__array__") or isinstance(value, (type, np.generic, jax.core.Tracer, *_ARRAYS)):
        return False
    if kind.__module__.startswith("autograph."):
        return False
    try:
        return np.asarray(value).dtype.kind in "biufc"
    except Exception:  # whatever another library raises of what is no array of numbers
        return False


@dataclass(frozen=True)
class CallSignature:
    """The static part of a call: how the arguments nest, and each leaf's value (None at an array).

    Attributes:
      treedef: how the values of the parameters nest, in the order of `Arguments.canonical`.
      statics: for each leaf its value, None at an array.
      captured: what the function read from outside.
      keys: the types of dictionary keys that are no strings.
      held: what it read of the objects among the arguments.
      shared: where containers stand again among the arguments (`shared_places`); None if nobody has looked.
      written: the numbers of the arrays that are NumPy arrays of the caller's, and are written in place.
      numpys: those of all that are, where the program depends on it.
      taken: what the places outside hold that the program takes and leaves, without the arrays, which come before those of the
        arguments.
      names: what each of these arrays is called.
      parameters: whose they are.
    """

    treedef: Any
    statics: tuple[StaticLeaf | None, ...]
    captured: Any = None
    keys: tuple[type, ...] = ()
    held: Any = ()
    shared: Any = None
    written: frozenset[int] = frozenset()
    numpys: frozenset[int] = frozenset()
    taken: Any = ()
    names: tuple[str, ...] = field(default=(), compare=False)
    parameters: Any = field(default=None, compare=False, repr=False)

    def reading(self, captured: Any) -> CallSignature:
        """The signature of the same call when the function reads this from outside."""
        return dataclasses.replace(self, captured=captured)

    def holding(self, held: Any) -> CallSignature:
        """The signature of the same call when the function reads this of its arguments."""
        return dataclasses.replace(self, held=held)

    def writing(self, numbers: frozenset[int], numpys: frozenset[int]) -> CallSignature:
        """The signature of the same call when the program writes into these of its arrays, and is told which are NumPy's."""
        return dataclasses.replace(self, written=numbers, numpys=numpys)

    def taking(self, structure: Any, names: Sequence[str]) -> CallSignature:
        """The signature of the same call of a program that takes what places outside hold."""
        statics = (*[None] * len(names), *self.statics)
        return dataclasses.replace(self, statics=statics, taken=structure, names=tuple(names))

    def taken_arrays(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """Those of the arrays that places outside hold."""
        return arrays[: len(self.names)]

    def values(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The value of each parameter, with these arrays in their places."""
        count = len(self.names)
        pending = iter(arrays[count:])
        leaves = [next(pending) if static is None else static.in_tree() for static in self.statics[count:]]
        values: tuple[Any, ...] = jax.tree_util.tree_unflatten(self.treedef, leaves)
        return values

    def arguments(self, arrays: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The positional and keyword arguments with these arrays in their places."""
        arguments: tuple[tuple[Any, ...], dict[str, Any]] = self.parameters.spell(self.values(arrays))
        return arguments

    def array_labels(self) -> list[str]:
        """For each array what a user calls it: ``x``, ``weights['w'][0]``."""
        return [label for label, static in zip(self.labels(), self.statics, strict=True) if static is None]

    def donated(self) -> tuple[int, ...]:
        """The numbers of the arrays that a call may consume."""
        chosen: ChosenArguments | None = self.parameters.donated
        if chosen is None:
            return ()
        values = self.values([_ArrayMark()] * self.statics.count(None))
        places = set(chosen.places(self.parameters.names(len(values)), len(self.parameters.positional)))
        found: list[int] = []
        start = len(self.names)
        for place, value in enumerate(values):
            end = start + sum(isinstance(leaf, _ArrayMark) for leaf in jax.tree_util.tree_leaves(as_tree(value)))
            found += range(start, end) if place in places else ()
            start = end
        return tuple(found)

    def labels(self) -> list[str]:
        """For each leaf what a user calls it."""
        labels: list[str] = self.parameters.labels(self.values([_ArrayMark()] * self.statics.count(None)))
        return [*self.names, *labels]

    def of_arrays(self) -> inspect.Signature:
        """The signature of a function of the arrays alone, with parameters named as `array_labels` has them, nearly."""
        names: dict[str, None] = {}
        for label in self.array_labels():
            name = re.sub(r"\W+", "_", label).strip("_")
            while not name.isidentifier() or keyword.iskeyword(name) or name in names:
                name = f"_{name}"
            names[name] = None
        return inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names])


class _ArrayMark:
    """Stands where an array would."""


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function; that of one which takes anything, where it has none."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return inspect.signature(lambda *args, **kwargs: None)


class Arguments:
    """Brings calls of one function into canonical form: a value for each parameter, in order, defaults filled
    in.

    The values of ``*args`` stand each for itself; ``**kwargs`` is one dict at the end.

    Attributes:
      positional, keyword_only, var_positional, var_keyword: the names of the parameters.
      positional_only: how many of the first can only be given by position.
      defaults: by name.
      static: those whose values are part of the program, whatever they are; None if there are none.
      donated: those whose arrays a call may consume, likewise.
      is_bound: whether calls come with an instance first, which none of these is.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        skip_first: bool = False,
        name: str = "",
        options: ArgumentOptions | None = None,
    ) -> None:
        self.name, self.is_bound = name, skip_first
        signature = signature_of(function)
        options = options or ArgumentOptions()
        static, names = options.static_argnums, options.static_argnames
        chosen = ChosenArguments.of("static_argnums", signature, static, names, skip_first)
        donated = ChosenArguments.of("donate_argnums", signature, options.donate_argnums, (), skip_first)
        refuse_both(chosen, donated)
        self.static, self.donated = chosen or None, donated or None
        parameters = list(signature.parameters.values())
        if skip_first and parameters and parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL:
            del parameters[0]
        self.signature = signature.replace(parameters=parameters)
        self.positional = tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
        self.positional_only = sum(p.kind is p.POSITIONAL_ONLY for p in parameters)
        self.keyword_only = tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
        self.var_positional = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
        self.var_keyword = next((p.name for p in parameters if p.kind is p.VAR_KEYWORD), None)
        self.defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        self._fixed = self.var_positional is None and self.var_keyword is None

    def canonical(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """The value of each parameter. ``TypeError`` if the function cannot be called so.

        Static arguments are held by a `StaticArgument`; ``ValueError`` if one has no hash.
        """
        values = self._bound(args, kwargs)
        if self.static is None:
            return values
        marked, names = list(values), self.names(len(values))
        for place in self.static.places(names, len(self.positional)):
            marked[place] = as_static(marked[place], self.name, names[place])
        if self.var_keyword is not None:
            chosen = self.static.names
            marked[-1] = {n: as_static(v, self.name, n) if n in chosen else v for n, v in marked[-1].items()}
        return tuple(marked)

    def _bound(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        if self._fixed and len(args) <= len(self.positional):
            values, used = list(args), 0
            for name in self.positional[len(args) :] + self.keyword_only:
                if name in kwargs:
                    used += 1
                    values.append(kwargs[name])
                elif name in self.defaults:
                    values.append(self.defaults[name])
                else:
                    break
            else:
                if used == len(kwargs) and not self.positional_only:
                    return tuple(values)
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise (refusal_of_call(self, args, kwargs) if self.name else None) or error from None
        bound.apply_defaults()
        keywords = dict(bound.kwargs)
        canonical = (*bound.args, *(keywords.pop(name) for name in self.keyword_only))
        return canonical if self.var_keyword is None else (*canonical, dict(sorted(keywords.items())))

    def spell(self, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments from canonical values."""
        values = released(values if self.static is None else self.given(values))
        extra = dict(values[-1]) if self.var_keyword is not None else {}
        end = len(values) - (self.var_keyword is not None)
        start = end - len(self.keyword_only)
        return values[:start], {**dict(zip(self.keyword_only, values[start:end], strict=True)), **extra}

    def given(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Canonical values as a caller passes them: static arguments without what holds them."""
        plain = tuple(map(given, values))
        if self.var_keyword is None:
            return plain
        return (*plain[:-1], {name: given(value) for name, value in plain[-1].items()})

    def names(self, count: int) -> list[str]:
        """What each of so many canonical values is called."""
        tail = [*self.keyword_only, *([self.var_keyword] if self.var_keyword is not None else [])]
        head = list(self.positional)
        head += [f"{self.var_positional}[{k}]" for k in range(count - len(head) - len(tail))]
        return head + tail

    def labels(self, values: tuple[Any, ...]) -> list[str]:
        """What each leaf of the canonical values is called."""
        names = self.names(len(values))
        paths, _ = jax.tree_util.tree_flatten_with_path(as_tree(values))
        return [names[path[0].idx] + jax.tree_util.keystr(path[1:]) for path, _ in paths]

    def split(
        self,
        values: tuple[Any, ...],
        captured: Any = None,
        is_leaf: Callable[[Any], bool] | None = None,
        find_shared: Callable[[tuple[Any, ...]], Any] | None = None,
    ) -> tuple[CallSignature, list[Any]]:
        """The signature of a call with these canonical values, and its arrays."""
        leaves, treedef = jax.tree_util.tree_flatten(as_tree(values), is_leaf)
        leaves = [np.asarray(leaf) if is_array_like(leaf) else leaf for leaf in leaves]
        marks = [is_array_leaf(leaf) for leaf in leaves]
        arrays = [leaf for leaf, mark in zip(leaves, marks, strict=True) if mark]
        if not all(map(_has_numbers, arrays)):
            raise self._refused(values, leaves)
        statics = tuple(None if mark else _static(leaf) for leaf, mark in zip(leaves, marks, strict=True))
        shared = None if find_shared is None or all(map(holds_nothing, values)) else find_shared(values) or None
        keys = dictionary_key_types(values)
        return CallSignature(treedef, statics, captured, keys, shared=shared, parameters=self), arrays

    def _refused(self, values: tuple[Any, ...], leaves: list[Any]) -> StagingError:
        label, array = next(
            (label, leaf)
            for label, leaf in zip(self.labels(values), leaves, strict=True)
            if is_array_leaf(leaf) and not _has_numbers(leaf)
        )
        return StagingError(
            f"{user_location()}\n  {label!r} is a NumPy array of dtype {array.dtype}. Programs have arrays of numbers and truth values "
            "only.\n  Pass numbers in place of its elements, or a list of them: array.tolist()."
        )


def _has_numbers(array: Any) -> bool:
    """Whether JAX can hold what is in an array: no texts, dates, objects or records."""
    return not isinstance(array, np.ndarray) or (array.dtype.kind not in "OSUMmT" and array.dtype.names is None)


def _static(leaf: Any) -> StaticLeaf:
    return leaf.leaf() if isinstance(leaf, WholeArgument) else static_leaf(leaf)


class Record:
    """The fields of a dataclass that is no pytree of its own; unflattens to an instance of it."""

    __slots__ = ("kind", "names", "values")

    def __init__(self, kind: type, names: tuple[str, ...], values: tuple[Any, ...]) -> None:
        self.kind, self.names, self.values = kind, names, values


def _rebuild(aux: tuple[type, tuple[str, ...]], values: Iterable[Any]) -> Any:
    kind, names = aux
    instance: Any = object.__new__(kind)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(instance, name, value)
    return instance


jax.tree_util.register_pytree_with_keys(
    Record,
    lambda record: (
        tuple((jax.tree_util.GetAttrKey(name), value) for name, value in zip(record.names, record.values, strict=True)),
        (record.kind, record.names),
    ),
    _rebuild,
    lambda record: (record.values, (record.kind, record.names)),
)


def is_record(value: Any) -> bool:
    """Whether this is an instance of a plain dataclass: all it holds is its fields."""
    kind = type(value)
    if not dataclasses.is_dataclass(kind) or kind.__new__ is not object.__new__:
        return False
    names = {f.name for f in dataclasses.fields(kind)}
    return names.issuperset(getattr(value, "__dict__", ())) and all(hasattr(value, name) for name in names)


def record_fields(part: Any) -> Fields | None:
    """What a part of an `as_tree` holds for a dataclass, if it is a `Record` of one whose attributes are just that."""
    if type(part) is not Record:
        return None
    kind: Any = part.kind
    values = dict(zip(part.names, part.values, strict=True))
    if kind.__getattribute__ is not object.__getattribute__:
        return None
    has_dict = bool(kind.__dictoffset__)
    if any(hasattr(inspect.getattr_static(kind, name, None), "__set__") is has_dict for name in values):
        return None  # properties beside a `__dict__`, or slots
    return Fields(kind, values, has_dict)


def as_tree(tree: Any) -> Any:
    """``tree`` with each plain dataclass in it as a `Record`, each object of flax.nnx as one leaf, and dicts that JAX can flatten."""
    tree = held(tree)
    try:
        leaves, treedef = jax.tree_util.tree_flatten(tree)
    except (TypeError, ValueError):  # of the keys of a dict
        leaves, treedef = jax.tree_util.tree_flatten(tree, is_leaf=is_unsorted)
    else:
        if not any(map(is_record, leaves)):
            return tree
    return jax.tree_util.tree_unflatten(treedef, list(map(_as_node, leaves)))


def _as_node(leaf: Any) -> Any:
    if isinstance(leaf, dict) and is_unsorted(leaf):
        return UnsortedDict(dict_kind(leaf), {key: as_tree(part) for key, part in dict.items(leaf)})
    if not is_record(leaf):
        return leaf
    names = tuple(f.name for f in dataclasses.fields(leaf))
    return Record(type(leaf), names, tuple(as_tree(getattr(leaf, name)) for name in names))


def dictionary_key_types(tree: Any) -> tuple[type, ...]:
    """The types of dictionary keys other than strings: ``{1: x}`` and ``{True: x}`` are equal, and two
    structures.
    """
    found: list[type] = []

    def visit(node: Any) -> bool:
        if isinstance(node, dict):
            found.extend(type(key) for key in node if type(key) is not str)
        return False

    try:
        jax.tree_util.tree_leaves(tree, is_leaf=visit)
    except (TypeError, ValueError):  # of the keys
        found.clear()
        jax.tree_util.tree_leaves(for_jax(tree), is_leaf=visit)
    return tuple(found)


def refuse_specs(name: str, call: CallSignature, arrays: Sequence[Any]) -> None:
    """Raise `TypeError` if a call is given what only represents an array."""
    if not any(isinstance(array, TensorSpec | jax.ShapeDtypeStruct) for array in arrays):
        return
    for label, array in zip(call.array_labels(), arrays, strict=True):
        if isinstance(array, TensorSpec | jax.ShapeDtypeStruct):
            raise TypeError(
                f"{name}(): the argument `{label}` is a {type(array).__name__}, which describes an array; pass the array, or call "
                "get_concrete_function, which takes descriptions"
            )
