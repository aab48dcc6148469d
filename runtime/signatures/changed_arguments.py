"""Lists, dicts, sets and dataclasses among a call's arguments that the function changes in place.

A trace is given containers of its own in the places of the caller's. What it leaves in them is an output of the program,
which a call writes into the caller's containers when the program has ended.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax

from autograph.runtime.containers.traced_deques import TracedDeque
from autograph.runtime.containers.traced_dicts import TracedDict
from autograph.runtime.containers.traced_lists import TracedList, is_array_list
from autograph.runtime.containers.traced_sets import TracedSet
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.object_graph import Reached
from autograph.runtime.signatures.signature import CallSignature, as_tree, is_record
from autograph.runtime.state.given_arrays import is_given
from autograph.runtime.state.linked_state import is_node

Path = tuple[Any, ...]
"""The number of a parameter's value, and the steps of JAX from there."""

_WRITTEN = (list, dict, set, collections.OrderedDict, collections.defaultdict)

_OF_A_TRACE = (TracedList, TracedDeque, TracedDict, TracedSet)
"""What converted code makes. A call that changes one is a part of its caller's trace."""


def steps_into(value: Any) -> list[tuple[Any, Any]]:
    """What a list, one of the trace say, a tuple, dict or dataclass among the arguments holds, each with the step that leads to it."""
    if is_record(value):
        return [(jax.tree_util.GetAttrKey(f.name), getattr(value, f.name)) for f in dataclasses.fields(value)]
    if type(value) in _WRITTEN and isinstance(value, dict):
        return [(jax.tree_util.DictKey(key), part) for key, part in dict.items(value)]
    if type(value) is TracedList:
        held = value.contents()
        return [(jax.tree_util.SequenceKey(k), part) for k, part in enumerate(held)] if type(held) is tuple else []
    if type(value) is list or isinstance(value, tuple):
        return [(jax.tree_util.SequenceKey(k), part) for k, part in enumerate(value)]
    return []


_KEYED = (TracedDict, TracedSet)


def _held_by(value: Any) -> list[tuple[Any, Any]]:
    """What is compared to know whether a call has changed this: the elements of a set, which have no steps, without order."""
    if type(value) in _KEYED:
        held = value.contents()
        return list(enumerate(held)) if type(held) is tuple else []
    return [(frozenset(value), None)] if type(value) is set else steps_into(value)


def is_written_in_place(value: Any) -> bool:
    """Whether what a call leaves in this container can be written into the caller's."""
    return type(value) in _WRITTEN or type(value) in (TracedList, *_KEYED) or is_record(value)


@dataclass(frozen=True)
class Changes:
    """What a trace has changed in its arguments.

    Attributes:
      labels: what a user calls each container, by its path.
      refusal: the text of the error where the caller would not see the change.
      arrays: what a user calls each array, by its number.
      outside: what a user calls each place outside that is assigned, by its number.
    """

    labels: Mapping[Path, str]
    refusal: str
    arrays: Mapping[int, str] = field(default_factory=dict)
    outside: Mapping[int, str] = field(default_factory=dict)

    def cover(self, other: Changes) -> bool:
        pairs = zip(self._all(), other._all(), strict=True)
        return all(mine.keys() >= others.keys() for mine, others in pairs)

    def joined(self, other: Changes) -> Changes:
        labels, arrays, outside = ({**mine, **others} for mine, others in zip(self._all(), other._all(), strict=True))
        return Changes(labels, self.refusal, arrays, outside)

    def _all(self) -> tuple[Mapping[Any, str], ...]:
        return self.labels, self.arrays, self.outside

    @classmethod
    def of_places(cls, labels: Mapping[int, str], name: str, where: str, others: Changes | None) -> Changes | None:
        """The changes of places outside, and those of ``others``; None if there are none.

        Args:
          labels: what a user calls each place, by its number.
          name: of the function.
          where: its first line.
        """
        if not labels:
            return others
        if others is not None:
            return dataclasses.replace(others, outside=labels)
        label = next(iter(labels.values()))
        refusal = (
            f"{where}\n  {label!r} is assigned by {name}, and exists beyond this call: a transform such as jax.jit traces the "
            "call once, and the value would have no meaning after tracing.\n  Return the value, and assign it outside of the "
            "transform; or make it an autograph.Variable."
        )
        return cls({}, refusal, outside=labels)

    @classmethod
    def of_arrays(
        cls, labels: Mapping[int, str], name: str, where: str, others: Changes | None = None
    ) -> Changes | None:
        """The changes of arrays, and of the containers of ``others``; None if there are none.

        Args:
          labels: what a user calls each array, by its number.
          name: of the function.
          where: its first line.
        """
        if not labels:
            return others
        label = next(iter(labels.values()))
        refusal = (
            f"{where}\n  {label!r} is an array that {name} writes in place: the change would not be visible to the caller.\n"
            f"  Write to a copy, and return it: {label} = {label}.copy()."
        )
        return cls({}, refusal, labels) if others is None else cls(others.labels, others.refusal, labels)


class ArgumentParts:
    """The parts of the arguments of one call, or of one trace, as they are now.

    Attributes:
      values: each by its path.
      containers: for the identity of each list, dict, set and dataclass its paths.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self._count = len(values)
        self.values: dict[Path, Any] = {}
        self.containers: dict[int, list[Path]] = {}
        self._held: dict[Path, list[tuple[Any, Any]]] = {}
        self._unpacked: dict[Path, tuple[list[Any], Any]] = {}  # objects of other classes that JAX takes apart
        for number, value in enumerate(values):
            self._take((number,), value)

    def _take(self, path: Path, value: Any) -> None:
        self.values[path] = value
        parts = steps_into(value)
        if parts or is_written_in_place(value):
            self._held[path] = _held_by(value)
        elif not isinstance(value, jax.Array) and not is_node(value) and not jax.tree_util.all_leaves([value]):
            self._unpacked[path] = jax.tree_util.tree_flatten(as_tree(value))
        if is_written_in_place(value):
            self.containers.setdefault(id(value), []).append(path)
        for step, part in parts:
            self._take((*path, step), part)

    def changed(self, names: Sequence[str], name: str, where: str, lines: Mapping[int, str]) -> Changes | None:
        """What is no longer as it was; None if all is.

        Args:
          names: of the parameters' values.
          name: of the function.
          where: its first line.
          lines: by the identities of what has been written, the line that did so.

        Raises:
          StagingError: it is an object that JAX unpacks in a way of its own.
        """
        found: dict[Path, str] = {}
        refusal: StagingError | None = None
        first = set(self.places().values())
        for path in filter(self._is_changed, self.values):
            if id(self.values[path]) in self.containers and path not in first:
                continue
            value, label = self.values[path], _label(names, path)
            refusal = refusal or StagingError(
                f"{lines.get(id(value), where)}\n  {label!r} is changed in place here, and is an argument of {name}: the change "
                f"would not be visible to the caller.\n  {_copy_of(label, value)}"
            )
            if not is_written_in_place(value) and type(value) not in _OF_A_TRACE:
                raise refusal
            found[path] = label
        for path in list(found):
            if type(self.values[path]) is TracedList and is_array_list(self.values[path]):
                found |= {each: _label(names, each) for each in self._containers_within(path)}
        return None if refusal is None else Changes(found, str(refusal))

    def _is_changed(self, path: Path) -> bool:
        value = self.values[path]
        if path in self._unpacked:
            leaves, structure = self._unpacked[path]
            now, new_structure = jax.tree_util.tree_flatten(as_tree(value))
            return bool(structure != new_structure) or any(new is not old for new, old in zip(now, leaves, strict=True))
        if path not in self._held:
            return False
        before, after = self._held[path], _held_by(value)
        if type(value) in (TracedList, *_KEYED) and is_array_list(value):  # as none that is given is
            return True
        return len(before) != len(after) or any(
            a != b or x is not y for (a, x), (b, y) in zip(before, after, strict=True)
        )

    def _containers_within(self, path: Path) -> list[Path]:
        every = (each for paths in self.containers.values() for each in paths)
        return [each for each in every if each[: len(path)] == path and each != path]

    def places(self) -> dict[int, Path]:
        """The lists, dicts, sets and dataclasses by identity, each with the first of its paths."""
        return {key: paths[0] for key, paths in self.containers.items()}

    def arrays(self) -> dict[int, Path]:
        """The inputs of a trace by identity, each with its path."""
        return {id(v): path for path, v in self.values.items() if isinstance(v, jax.core.Tracer) or is_given(v)}

    def contents(self, changes: Changes) -> list[tuple[Path, type, tuple[Any, ...], list[Any]]]:
        """What is changed: the path of each container, its class, and the names and values of what it holds now. Of a set that is
        one value, and of a list in arrays, whose name is `...`."""
        found: list[tuple[Path, type, tuple[Any, ...], list[Any]]] = []
        for path in changes.labels:
            value = self._now(path)
            if type(value) is TracedList:
                held = value.contents()
                if type(held) is tuple:
                    found.append((path, list, (), list(held)))
                elif self._is_in_place(path, value):
                    found.append((path, list, (), [part for _, part in self._held[path]]))
                else:
                    found.append((path, list, (...,), [value.holding(held)]))
                continue
            if type(value) in _KEYED:
                kind = value.kind if type(value) is TracedDict else set
                found.append((path, kind, (...,), [value.holding(value.contents())]))
                continue
            if type(value) in _OF_A_TRACE:
                continue
            if type(value) in (list, set):
                found.append((path, type(value), (), list(value) if type(value) is list else [set(value)]))
                continue
            parts = steps_into(value)
            names = tuple(step.key if isinstance(value, dict) else step.name for step, _ in parts)
            found.append((path, type(value), names, [part for _, part in parts]))
        return found

    def _now(self, path: Path) -> Any:
        """What holds now what the container at a path does: an element of the list that it is in, if that is in arrays."""
        outer = self._now(path[:-1]) if len(path) > 1 else None
        if type(outer) is TracedList and self._is_in_place(path[:-1], outer):
            return outer.contents().element(path[-1].idx)
        return self.values[path]

    def _is_in_place(self, path: Path, value: TracedList) -> bool:
        """Whether a list is in arrays, and its elements are still the containers that it was given, where they were."""
        held, before = value.contents(), [part for _, part in self._held[path]]
        if type(held) is tuple or not held.kind.is_watched or not all(map(is_written_in_place, before)):
            return False
        return isinstance(held.length, int) and held.length == len(before) and not value.moves

    def refuse_shared(
        self,
        name: str,
        signature: CallSignature,
        changes: Changes,
        outside: Callable[[CallSignature], Iterable[tuple[str, Any]]],
    ) -> None:
        """`StagingError` if a container that is changed is reached in two ways, which a trace takes for two containers.

        Args:
          name: of the function.
          signature: of the program, which may have one container where it is given one twice.
          changes: what it changes.
          outside: returns what the function reads from outside.
        """
        names = signature.parameters.names(self._count)
        others = Reached([*outside(signature), *((_label(names, path), self.values[path]) for path in self._unpacked)])
        for path, label in changes.labels.items():
            value = self.values.get(path)
            if type(value) in _OF_A_TRACE:
                raise StagingError(changes.refusal)
            if not is_written_in_place(value):
                continue
            places = self.containers[id(value)] if signature.shared is None else []
            again = [_label(names, each) for each in places if each != path]
            if value in others:
                again.append(others.name(value))
            if again:
                raise StagingError(
                    f"{changes.refusal.partition(chr(10))[0]}\n  {label!r} is changed in place here, and is the same object as "
                    f"{again[0]!r}, which {name} is given too: to the compiled program they are two.\n  Pass a copy of one of "
                    f"them: copy.deepcopy({label})."
                )


def _label(names: Sequence[str], path: Path) -> str:
    return names[path[0]] + jax.tree_util.keystr(path[1:])


def _copy_of(label: str, value: Any) -> str:
    """The remedy for a write to an argument, or to a part of it."""
    if label.isidentifier() and type(value) in (list, dict, set):
        return f"Change a copy, and return it: {label} = {type(value).__name__}({label})."
    if label.isidentifier() and dataclasses.is_dataclass(value):
        return f"Make a changed copy, and return it: {label} = dataclasses.replace({label}, ...)."
    return f"Change a copy, and return it: {label} = copy.deepcopy({label})."
