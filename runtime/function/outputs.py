"""The outputs of a program, and what a call makes of them: the results that its caller sees, and what it leaves elsewhere."""

from __future__ import annotations

import collections
import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import jax

from autograph.runtime.containers.padded_arrays import PaddedArray
from autograph.runtime.containers.referring_kinds import with_others
from autograph.runtime.containers.traced_dicts import TracedDict
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.containers.transposed import Transposed
from autograph.runtime.effects.raising import Guarded
from autograph.runtime.effects.traced_texts import TracedText
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.leaked_tracers import EXTENDED
from autograph.runtime.heap.list_outputs import CountedList, references_of_elements
from autograph.runtime.heap.places import ContentsPlace, Place
from autograph.runtime.layouts.dict_by_path import DictByPath, dict_by_path, settled
from autograph.runtime.layouts.dict_kinds import is_sorted_by_jax, own_class
from autograph.runtime.layouts.objects import attributes_of, bare_instance, is_plain_object
from autograph.runtime.layouts.one_of import OneOf, candidates_of, code_of, takes_branches
from autograph.runtime.layouts.optional import Optional
from autograph.runtime.layouts.perhaps import GONE, Perhaps, has_perhaps
from autograph.runtime.layouts.pytrees import tree_flatten, tree_leaves, tree_map
from autograph.runtime.layouts.statement_variables import UNBOUND
from autograph.runtime.signatures.callers_arrays import note_left, put_into
from autograph.runtime.signatures.changed_arguments import Path
from autograph.runtime.signatures.outside_places import Taken


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


class SameObject:
    """An object in a structure, equal to itself only."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameObject) and self.value is other.value

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
        if self.parts is None or self.number in known:
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
            made = known[self.number] = bare_instance(self.kind)
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
    leaves, treedef = tree_flatten(made)
    found = jax.tree_util.tree_unflatten(treedef, leaves)
    held = found.padded
    found.set_contents(held.with_(kind=with_others(held.kind, other)))
    return found


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
      outside: for each place outside that is changed, by its number, what it holds; see `signatures.outside_places`.
      names: for each of these that is of a dict, its keys; of a list that got more items, `EXTENDED`; of a container whose
        elements are one value, `...`; None of any other.
    """

    def __init__(
        self,
        result: Any,
        contents: Sequence[Sequence[Any]],
        places: Sequence[tuple[Path, type, tuple[Any, ...]]],
        arrays: Mapping[int, Any],
        outside: Mapping[int, Any] = MappingProxyType({}),
        names: tuple[Any, ...] = (),
    ) -> None:
        self.result, self.contents, self.places, self.arrays = result, contents, tuple(places), dict(arrays)
        self.outside, self.names = dict(outside), names

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        return (self.result, self.contents, self.arrays, self.outside), (self.places, self.names)

    @classmethod
    def tree_unflatten(cls, facts: Any, children: Any) -> Changed:
        (places, names), (result, contents, arrays, outside) = facts, children
        return cls(result, contents, places, arrays, outside, names)

    def put_into(self, values: Mapping[Path, Any], arrays: Sequence[Any], name: str, taken: Taken | None = None) -> Any:
        """Write what a call has left in its arguments into the caller's, and return the result.

        Args:
          values: the parts of the caller's arguments by their paths, as they were before.
          arrays: the caller's arrays.
          name: of the function.
          taken: what the call has taken of places outside.
        """
        known = _Known((self.outside, self.contents, self.result), values, {} if taken is None else taken.parts())
        outside = {number: finished(list(parts), known) for number, parts in self.outside.items()}
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
        if outside:
            note_left(list(outside.values()), arrays)
        for (number, parts), names in zip(outside.items(), self.names, strict=True):
            assert taken is not None
            _put(taken.places[number], names, parts)
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
        pairs = held[0].items() if names == (...,) else zip(names, held, strict=True)
        items = {key: part for key, part in pairs if part is not GONE}
        has_order = names == (...,) and not is_sorted_by_jax(target)
        for key in [key for key in target if has_order or key not in items]:
            del target[key]
        own_class(target).update(target, items)  # keys that are in both keep their places
    else:
        for name, part in zip(names, held, strict=True):
            object.__setattr__(target, name, part)


def _put(place: Place, names: Any, held: Sequence[Any]) -> None:
    """Let a place outside hold this."""
    if names is EXTENDED:
        place.owner.extend(held)  # type: ignore[union-attr]
    elif names is ...:
        (value,) = held
        place.set(value)
    elif not isinstance(place, ContentsPlace):
        (value,) = held
        place.set(UNBOUND if value is GONE else value)
    elif isinstance(place.owner, dict):
        _overwrite(place.owner, names, held)
    else:
        place.set(held)


def _set_attributes(made: Any, parts: Iterable[tuple[str, Any]], known: dict[int, Any]) -> None:
    """Set the attributes of an object, those that no path to the end has set left out."""
    for name, part in parts:
        if (held := finished(part, known)) is not GONE:
            object.__setattr__(made, name, held)


_RESOLVED = (TracedText, OneOf, Optional, Guarded, TracedList, CountedList, PaddedArray, Transposed)
_BY_PATH = (Perhaps, DictByPath)


def is_stand_in(leaf: Any) -> bool:
    """Whether this, in a program's results, represents something else, which `finished` returns."""
    return issubclass(
        type(leaf), (StaticOutput, MadeOutput, ReferencesOutput, GivenOutput, Changed, *_RESOLVED, *_BY_PATH)
    )


class _Known(dict[Any, Any]):
    """What has been made of outputs, by number, and the parts of the caller's arguments, by path.

    What is referred to before its own place is finished, or whose place is where no value is, is made then.
    """

    def __init__(self, outputs: Any, *found: Mapping[Any, Any]) -> None:
        super().__init__(pair for each in found for pair in each.items())
        self._outputs = outputs
        self._defined: dict[int, MadeOutput] = {}

    def __missing__(self, number: Any) -> Any:
        if not self._defined:
            self._define(self._outputs)
        return self._defined[number].made(self)

    def _define(self, outputs: Any) -> None:
        for each in tree_leaves(outputs, is_leaf=lambda part: type(part) is MadeOutput):
            if type(each) is MadeOutput and each.parts is not None:
                self._defined[each.number] = each
                self._define(each.parts)


def finished(result: Any, known: dict[Any, Any] | None = None) -> Any:
    """What the caller sees of a program's results; a `Changed` is left to whoever has the call's arguments.

    ``known``: what has been made, by number, and the parts of the caller's arguments, by path.
    """
    known = _Known(result) if known is None else known
    leaves, treedef = tree_flatten(result, is_leaf=lambda part: is_stand_in(part) or _may_lack_keys(part))
    # A list: a StopIteration that a program raises would be another error out of a generator, as `tree_map` has one.
    return jax.tree_util.tree_unflatten(treedef, [_finished_leaf(leaf, known) for leaf in leaves])


def _finished_leaf(leaf: Any, known: dict[Any, Any]) -> Any:
    if type(leaf) is OneOf and takes_branches(leaf):  # each is made: others may refer to it
        leaf = OneOf([finished(each, known) for each in candidates_of(leaf)], code_of(leaf))
        return leaf.resolve()
    if type(leaf) is Perhaps:
        held = settled(leaf)
        return leaf if held is leaf else finished(held, known)
    if type(leaf) is DictByPath:
        return dict_by_path({key: finished(part, known) for key, part in dict.items(leaf)}, leaf._kind).resolve()
    if _may_lack_keys(leaf):  # an element of a list of traced length
        held = {key: finished(part, known) for key, part in dict.items(leaf)}
        made = copy.copy(leaf)
        _overwrite(made, tuple(held), list(held.values()))
        return made
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
        return leaf.value.value if type(leaf.value) is SameObject else leaf.value
    if is_plain_object(leaf):  # an element of a list of traced length, made with it
        for name, value in attributes_of(leaf).items():
            if any(map(is_stand_in, tree_leaves(value, is_leaf=is_stand_in))):
                object.__setattr__(leaf, name, finished(value, known))
    return leaf


def _may_lack_keys(part: Any) -> bool:
    """Whether this is a dict of Python's that holds what only some paths have set."""
    return isinstance(part, dict) and not is_stand_in(part) and has_perhaps(dict.values(part))


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

    typed = tree_map(leaf_of, result, is_leaf=lambda leaf: isinstance(leaf, StaticOutput | CountedList))
    known: dict[int, Any] = {}
    return tree_map(
        lambda leaf: _finished_leaf(leaf, known),
        typed,
        is_leaf=lambda leaf: isinstance(leaf, StaticOutput | MadeOutput | ReferencesOutput),
    )
