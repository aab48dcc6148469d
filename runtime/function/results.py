"""Split a function's results into arrays, which are outputs of the program, and the rest, which is rebuilt on each
call.
"""

from __future__ import annotations

import collections
import enum
import inspect
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.code.library_table import is_library
from autograph.runtime.containers.iterables import is_symbolic_size
from autograph.runtime.containers.iterators import Iterated
from autograph.runtime.containers.padded_arrays import PaddedArray
from autograph.runtime.containers.referring_kinds import with_others
from autograph.runtime.containers.traced_dicts import TracedDict
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.effects.raising import Guarded
from autograph.runtime.effects.traced_texts import TracedText
from autograph.runtime.errors import StagingError, describe_location
from autograph.runtime.heap.list_outputs import CountedList, references_of_elements, with_plain_lists
from autograph.runtime.heap.object_graph import Reached, attributes, is_one_shot, traced_part
from autograph.runtime.layouts.dict_by_path import DictByPath, dict_by_path, settled, with_dicts_by_path
from autograph.runtime.layouts.dict_kinds import own_class
from autograph.runtime.layouts.large_ints import fits_integers
from autograph.runtime.layouts.objects import attributes_of, is_plain_object
from autograph.runtime.layouts.one_of import OneOf, candidates_of, chooses_values, code_of, holds_objects
from autograph.runtime.layouts.optional import Optional
from autograph.runtime.layouts.perhaps import GONE, Perhaps
from autograph.runtime.layouts.statement_variables import value_of
from autograph.runtime.signatures.callers_arrays import put_into
from autograph.runtime.signatures.changed_arguments import ArgumentParts, Changes, Path
from autograph.runtime.state.given_arrays import ArrayView, GivenArray, LocalArray
from autograph.runtime.state.variables import Variable
from autograph.runtime.tracing.recording import LOCAL

_VALUES = (jax.Array, np.ndarray, np.generic, bool, int, float, complex)


def is_number(result: Any) -> bool:
    """Whether a result is an array or a number.

    By its class, as what represents a value answers `isinstance` for that. A tracer's is no subclass of `jax.Array`.
    """
    return issubclass(type(result), (*_VALUES, jax.core.Tracer))


@jax.tree_util.register_pytree_node_class
class StaticOutput:
    """A result that is no array (a string, say): it travels in the structure of the results."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def tree_flatten(self) -> tuple[tuple[()], Any]:
        return (), self.value

    @classmethod
    def tree_unflatten(cls, value: Any, _: Any) -> Any:
        return cls(value)


class _Object:
    """An object in a structure, equal to itself only."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Object) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


@jax.tree_util.register_pytree_node_class
class MadeOutput:
    """A result that each call makes: a set, a deque, an object of a user's class.

    Attributes:
      number: what other results refer to it by.
      kind: its class.
      names: of an object, its attributes; of a deque, its length at most; of an object that is a list, tuple or dict, how
        many items it has, or their keys, and its attributes; ... where its only part is what it is made as.
      parts: what it holds, as outputs; None for one that stands elsewhere among the results.
    """

    def __init__(self, number: int, kind: type, names: Any, parts: Sequence[Any] | None) -> None:
        self.number, self.kind, self.names, self.parts = number, kind, names, parts

    def made(self, known: dict[Any, Any]) -> Any:
        """The result; ``known`` has those made before by their numbers."""
        made: Any
        if self.parts is None:
            return known[self.number]
        if self.names is ...:
            made = known[self.number] = finished(self.parts[0], known)
        elif self.kind in (set, bytearray):
            made = known[self.number] = self.kind(finished(list(self.parts), known))
        elif issubclass(self.kind, collections.deque):
            made = known[self.number] = self.kind((), self.names)
            made.extend(finished(list(self.parts), known))
        elif issubclass(self.kind, list | dict | tuple):
            made = self._made_container(known)
        else:
            new = types.SimpleNamespace.__new__ if self.kind is types.SimpleNamespace else object.__new__
            made = known[self.number] = new(self.kind)
            _set_attributes(made, zip(self.names, self.parts, strict=True), known)
        return made

    def _made_container(self, known: dict[Any, Any]) -> Any:
        keys, names = self.names
        parts: Sequence[Any] = self.parts or ()
        count = len(parts) - len(names)
        made: Any
        if issubclass(self.kind, tuple):  # whose items are known before it is made
            made = known[self.number] = tuple.__new__(self.kind, finished(list(parts[:count]), known))
        else:
            made = known[self.number] = self.kind.__new__(self.kind)
            items = finished(list(parts[:count]), known)
            if isinstance(made, dict):
                own_class(made).update(
                    made, {key: item for key, item in zip(keys, items, strict=True) if item is not GONE}
                )
            else:
                list.extend(made, items)
        _set_attributes(made, zip(names, parts[count:], strict=True), known)
        return made

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        return tuple(self.parts or ()), (self.number, self.kind, self.names, self.parts is None)

    @classmethod
    def tree_unflatten(cls, facts: Any, parts: Any) -> MadeOutput:
        number, kind, names, is_elsewhere = facts
        return cls(number, kind, names, None if is_elsewhere else parts)


class _Reference:
    """In place of an object that a list's elements lead to. Attributes: number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reference) and self.number == other.number

    def __hash__(self) -> int:
        return self.number


@jax.tree_util.register_pytree_node_class
class ReferencesOutput:
    """A list that is held in arrays, the elements of which lead to objects by which they are (see `layouts.references`).

    Attributes: held (the list, with a `_Reference` in place of each object), objects (these, as outputs).
    """

    def __init__(self, held: Any, objects: Sequence[Any]) -> None:
        self.held, self.objects = held, objects

    @classmethod
    def of(cls, made: TracedList, output: Callable[[Any], Any]) -> ReferencesOutput:
        objects = {id(each): each for each in references_of_elements(made)}
        numbers = {key: _Reference(number) for number, key in enumerate(objects)}
        return cls(_with_objects(made, lambda each: numbers.get(id(each), each)), list(map(output, objects.values())))

    def made(self, known: dict[Any, Any]) -> Any:
        """The list; ``known`` has what has been made before by its numbers."""
        objects = [finished(each, known) for each in self.objects]
        made = _with_objects(self.held, lambda each: objects[each.number] if isinstance(each, _Reference) else each)
        return finished(made, known)

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        return (self.held, *self.objects), None

    @classmethod
    def tree_unflatten(cls, _: None, parts: Sequence[Any]) -> ReferencesOutput:
        held, *objects = parts
        return cls(held, objects)


def _with_objects(made: Any, other: Callable[[Any], Any]) -> Any:
    """A list that is held in arrays, with others in place of what its elements may be."""
    leaves, treedef = jax.tree_util.tree_flatten(made)
    found = jax.tree_util.tree_unflatten(treedef, leaves)
    held = found.padded
    found.set_contents(held.with_(kind=with_others(held.kind, other)))
    return found


def _leads_to_objects(part: Any) -> bool:
    return isinstance(part, TracedList) and bool(references_of_elements(part))


@jax.tree_util.register_pytree_node_class
class GivenOutput:
    """A part of the caller's own arguments. Attributes: path."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def tree_flatten(self) -> tuple[tuple[()], Path]:
        return (), self.path

    @classmethod
    def tree_unflatten(cls, path: Path, _: Any) -> GivenOutput:
        return cls(path)


@jax.tree_util.register_pytree_node_class
class Changed:
    """The result of a program that changes its arguments in place, and what it leaves in them.

    Attributes:
      result: the result.
      contents: for each list, dict, set and dataclass that is changed its items or fields.
      places: for each its path, its class, and the names of what it holds.
      arrays: for each array that is changed, by its number, what it holds.
    """

    def __init__(
        self,
        result: Any,
        contents: Sequence[Sequence[Any]],
        places: Sequence[tuple[Path, type, tuple[Any, ...]]],
        arrays: Mapping[int, Any],
    ) -> None:
        self.result, self.contents, self.places, self.arrays = result, contents, tuple(places), dict(arrays)

    def tree_flatten(self) -> tuple[tuple[Any, Any, Any], Any]:
        return (self.result, self.contents, self.arrays), self.places

    @classmethod
    def tree_unflatten(cls, places: Any, children: Any) -> Changed:
        result, contents, arrays = children
        return cls(result, contents, places, arrays)

    def put_into(self, values: Mapping[Path, Any], arrays: Sequence[Any], name: str) -> Any:
        """Write what a call has left in its arguments into the caller's, and return the result.

        Args:
          values: the parts of the caller's arguments by their paths, as they were before.
          arrays: the caller's arrays.
          name: of the function.
        """
        known: dict[Any, Any] = dict(values)
        contents = [finished(list(parts), known) for parts in self.contents]
        result = finished(self.result, known)
        for path, kind, _ in self.places:
            if type(values[path]) is not kind:
                raise StagingError(
                    f"{name} changes a {kind.__name__} among its arguments, and is given a "
                    f"{type(values[path]).__name__} in its place. Pass a {kind.__name__}."
                )
        for (path, _, names), held in zip(self.places, contents, strict=True):  # which raises nothing: all, or none
            _overwrite(values[path], names, held)
        put_into(arrays, self.arrays)
        return result


def _overwrite(target: Any, names: Sequence[Any], held: Sequence[Any]) -> None:
    """Let a list, dict, set or dataclass hold this and nothing else."""
    if isinstance(target, list):
        target[:] = held[0] if names else held
    elif isinstance(target, set):
        (elements,) = held
        target.clear()
        target.update(elements)
    elif isinstance(target, dict):
        items = {key: part for key, part in zip(names, held, strict=True) if part is not GONE}
        for key in [key for key in target if key not in items]:
            del target[key]
        target.update(items)  # keys that are in both keep their places
    else:
        for name, part in zip(names, held, strict=True):
            object.__setattr__(target, name, part)


def _set_attributes(made: Any, parts: Iterable[tuple[str, Any]], known: dict[int, Any]) -> None:
    """Set the attributes of an object, those that no path to the end has set left out."""
    for name, part in parts:
        if (held := finished(part, known)) is not GONE:
            object.__setattr__(made, name, held)


class Outputs:
    """Takes down the results of one trace of a function.

    ``given``: the containers among the arguments that are to be the caller's own in the results, by identity; ``moved``: the
    arrays, in what an argument is left with.
    """

    def __init__(
        self,
        name: str,
        function: Any,
        given: Mapping[int, Path] | None = None,
        moved: Mapping[int, Path] | None = None,
    ) -> None:
        self._name, self._function = name, function
        self._given, self._moved = given or {}, moved or {}
        self._numbers: dict[int, int] = {}
        self._made: list[Any] = []
        self._reached: Reached | None = None

    @property
    def _where(self) -> str:
        return first_line(self._function)

    def of(self, result: Any) -> Any:
        """What the program returns for this result."""
        is_leaf = lambda part: self._is_leaf(part) or (type(part) is OneOf and chooses_values(part))  # noqa: E731
        return jax.tree_util.tree_map(self._leaf, result, is_leaf=is_leaf)

    def contents(self, parts: Iterable[Any]) -> list[Any]:
        """What the program returns for what it leaves in an argument."""
        return list(map(self._content, parts))

    def _content(self, part: Any) -> Any:
        if id(part) in self._moved:
            return GivenOutput(self._moved[id(part)])
        if id(part) in self._given:
            return self._part(part)
        if isinstance(part, TracedList):
            return self._made_anew(part, ..., [self._part(part)])
        if type(part) not in (list, dict):
            return self._part(part)
        if self._is_outside(part):
            return StaticOutput(_Object(part))
        items = part.values() if isinstance(part, dict) else part
        return self._made_anew(
            part, (tuple(part) if isinstance(part, dict) else len(part), ()), map(self._content, items)
        )

    def _is_leaf(self, part: Any) -> bool:
        if id(part) in self._given or id(part) in self._numbers:
            return True
        return not is_number(part) and (is_one_shot(part) or _leads_to_objects(part))

    def _leaf(self, leaf: Any) -> Any:
        if id(leaf) in self._given:
            return GivenOutput(self._given[id(leaf)])
        if id(leaf) in self._numbers:
            return self._made_anew(leaf, None, ())
        if type(leaf) is OneOf or isinstance(leaf, Variable | ArrayView | LocalArray):
            return value_of(leaf)
        if _leads_to_objects(leaf):
            return ReferencesOutput.of(leaf, self._leaf)
        if type(leaf) is int and not fits_integers(leaf):
            return StaticOutput(leaf)
        if isinstance(leaf, _VALUES):
            return leaf
        if is_symbolic_size(leaf):  # `x.shape[0]` where the signature leaves it open
            return jnp.asarray(leaf)
        if isinstance(leaf, set | bytearray):  # whose items cannot be arrays
            return self._made_anew(leaf, None, [StaticOutput(item) for item in leaf])
        if isinstance(leaf, collections.deque):
            return self._made_anew(leaf, leaf.maxlen, map(self._part, leaf))
        if is_one_shot(leaf) and not self._is_outside(leaf):
            raise self._one_shot(leaf)
        if _is_container_of_users(leaf) and not self._is_outside(leaf):
            held = attributes(leaf)
            items = list(leaf.values()) if isinstance(leaf, dict) else list(leaf)
            keys = tuple(leaf) if isinstance(leaf, dict) else len(items)
            return self._made_anew(leaf, (keys, tuple(held)), map(self._part, [*items, *held.values()]))
        if _is_record(leaf) and not self._is_outside(leaf):
            held = attributes(leaf)
            return self._made_anew(leaf, tuple(held), map(self._part, held.values()))
        holder = None if isinstance(leaf, str | enum.Enum | type) else traced_part(leaf, type(leaf).__name__)
        if holder is not None:
            raise self._holds_traced(leaf)
        return StaticOutput(leaf)

    def _made_anew(self, leaf: Any, names: Any, parts: Iterable[Any]) -> MadeOutput:
        known = self._numbers.get(id(leaf))
        if known is not None:
            return MadeOutput(known, type(leaf), names, None)
        number = self._numbers[id(leaf)] = len(self._made)
        self._made.append(leaf)
        return MadeOutput(number, type(leaf), names, list(parts))

    def _part(self, part: Any) -> Any:
        """What an object holds: a Variable is itself there, and not its value."""

        def keep(leaf: Any) -> Any:
            is_kept = isinstance(leaf, Variable) and not isinstance(leaf, GivenArray)
            return StaticOutput(_Object(leaf)) if is_kept else self._leaf(leaf)

        held = part.held if type(part) is Perhaps else part
        held = with_plain_lists(with_dicts_by_path(held, self._given), CountedList.of, self._given)
        made = jax.tree_util.tree_map(keep, held, is_leaf=self._is_leaf)
        return Perhaps(part.present, made, part.absence) if type(part) is Perhaps else made

    def _is_outside(self, value: Any) -> bool:
        if self._reached is None:
            self._reached = Reached(LOCAL.roots())
        return value in self._reached

    def _one_shot(self, leaf: Any) -> StagingError:
        kind = f"iterator ({leaf.kind})" if isinstance(leaf, Iterated) else type(leaf).__name__
        article = "an" if kind[0] in "aeiou" else "a"
        if isinstance(leaf, types.CoroutineType):
            leaf.close()  # else Python complains that nobody awaits it
        return StagingError(
            f"{self._where}\n  {self._name} returns {article} {kind}, which would be created once, while tracing: all "
            "calls would share it, with its traced values, and the first would exhaust it.\n  Return a list, "
            "list(...), or an array; or make the "
            f"{kind} outside of the compiled function, which calls it for each item."
        )

    def _holds_traced(self, leaf: Any) -> StagingError:
        kind = type(leaf).__name__
        return StagingError(
            f"{self._where}\n  {self._name} returns a {kind} that holds a traced value, which has no meaning "
            "after tracing.\n  Return arrays, in tuples, lists, dicts or objects of classes of yours, and make the "
            f"{kind} of them outside."
        )


def changes_of(parts: ArgumentParts | None, names: Sequence[str], name: str, function: Any) -> Changes | None:
    """What a trace that ends here has changed in its arguments; None if nothing. The rest is as `ArgumentParts.changed` takes it."""
    if parts is None:
        return None
    where = first_line(function)
    written = {array.number: array.name for array in LOCAL.frame.given if array.is_written}
    return Changes.of_arrays(written, name, where, parts.changed(names, name, where, LOCAL.frame.lines))


def outputs_of(
    result: Any, name: str, function: Any, parts: ArgumentParts | None, changes: Changes | None, donated: bool
) -> Any:
    """What a program returns for a result, and for what it has changed in the parts of its arguments."""
    if parts is None or changes is None:
        return Outputs(name, function).of(result)
    LOCAL.frame.changes = changes
    outputs = Outputs(name, function, parts.places(), {} if donated else parts.arrays())
    places, contents = [], []
    for path, kind, names, held in parts.contents(changes):
        places.append((path, kind, names))
        contents.append(outputs.contents(held))
    arrays = {array.number: array.value for array in LOCAL.frame.given if array.is_written}
    return Changed(outputs.of(result), contents, places, arrays)


def first_line(function: Any) -> str:
    """Where the user's function begins."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return "<unknown>" if code is None else describe_location(code.co_filename, code.co_firstlineno)


def _is_container_of_users(leaf: Any) -> bool:
    """Whether this is a list, tuple or dict of a class of the user's, which JAX does not unpack."""
    return isinstance(leaf, list | tuple | dict) and not is_library(type(leaf))


def _is_record(leaf: Any) -> bool:
    """Whether an object is no more than its attributes."""
    if isinstance(leaf, types.SimpleNamespace):
        return True
    has_items = isinstance(leaf, list | tuple | dict | str | bytes | int | float)
    return not has_items and is_plain_object(leaf) and not isinstance(leaf, types.FunctionType | types.MethodType)


_RESOLVED = (TracedText, OneOf, Optional, Guarded, TracedList, CountedList, PaddedArray)
_BY_PATH = (Perhaps, DictByPath)


def is_stand_in(leaf: Any) -> bool:
    """Whether this, in a program's results, represents something else, which `finished` returns."""
    return issubclass(
        type(leaf), (StaticOutput, MadeOutput, ReferencesOutput, GivenOutput, Changed, *_RESOLVED, *_BY_PATH)
    )


def finished(result: Any, known: dict[Any, Any] | None = None) -> Any:
    """What the caller sees of a program's results; a `Changed` is left to whoever has the call's arguments.

    ``known``: what has been made, by number, and the parts of the caller's arguments, by path.
    """
    known = {} if known is None else known
    leaves, treedef = jax.tree_util.tree_flatten(result, is_leaf=is_stand_in)
    # A list: a StopIteration that a program raises would be another error out of a generator, as `tree_map` has one.
    return jax.tree_util.tree_unflatten(treedef, [_finished_leaf(leaf, known) for leaf in leaves])


def _finished_leaf(leaf: Any, known: dict[Any, Any]) -> Any:
    if type(leaf) is OneOf and holds_objects(leaf):  # each is made: others may refer to it
        leaf = OneOf([_finished_leaf(each, known) for each in candidates_of(leaf)], code_of(leaf))
        return leaf.resolve()
    if type(leaf) is Perhaps:
        held = settled(leaf)
        return leaf if held is leaf else finished(held, known)
    if type(leaf) is DictByPath:
        return dict_by_path({key: finished(part, known) for key, part in dict.items(leaf)}, leaf._kind).resolve()
    if isinstance(leaf, TracedDict):  # JAX would sort its keys
        resolved = leaf.resolve()
        for key in () if resolved is leaf else resolved:
            resolved[key] = finished(resolved[key], known)
        return resolved
    if issubclass(type(leaf), _RESOLVED):
        is_text = issubclass(type(leaf), TracedText)
        held = _finished_text(leaf, known) if is_text else leaf
        resolved = held.resolve()
        return held if resolved is held else finished(resolved, known)
    if isinstance(leaf, MadeOutput | ReferencesOutput):
        return leaf.made(known)
    if isinstance(leaf, GivenOutput):
        return known[leaf.path]
    if isinstance(leaf, StaticOutput):
        return leaf.value.value if type(leaf.value) is _Object else leaf.value
    if is_plain_object(leaf):  # an element of a list of traced length, made with it
        for name, value in attributes_of(leaf).items():
            if any(map(is_stand_in, jax.tree_util.tree_leaves(value, is_leaf=is_stand_in))):
                object.__setattr__(leaf, name, finished(value, known))
    return leaf


def _finished_text(text: TracedText, known: dict[int, Any]) -> Any:
    """A text with the values that the caller would see."""
    values, made_by = text.tree_flatten()
    return type(text).tree_unflatten(made_by, [finished(value, known) for value in values])


def types_of(result: Any, describe: Callable[[Any], Any]) -> Any:
    """What the caller sees, with what ``describe`` returns for each array's type in its place."""

    def leaf_of(leaf: Any) -> Any:
        if isinstance(leaf, CountedList):
            return leaf.with_rows(describe)
        return leaf if isinstance(leaf, StaticOutput) else describe(leaf)

    typed = jax.tree_util.tree_map(leaf_of, result, is_leaf=lambda leaf: isinstance(leaf, StaticOutput | CountedList))
    known: dict[int, Any] = {}
    return jax.tree_util.tree_map(
        lambda leaf: _finished_leaf(leaf, known),
        typed,
        is_leaf=lambda leaf: isinstance(leaf, StaticOutput | MadeOutput | ReferencesOutput),
    )
