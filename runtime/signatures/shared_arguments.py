"""Lists, dicts, sets and dataclasses that stand in several places of a call's arguments, and are one object in its trace too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from autograph.runtime.signatures.changed_arguments import Path, is_written_in_place, steps_into

Shared = tuple[tuple[Path, Path], ...]
"""For each place of a container after its first that place, and the first."""


def shared_places(values: Sequence[Any]) -> Shared:
    """Where containers stand again among canonical values. What is in them is not gone through again."""
    first: dict[int, Path] = {}
    found: list[tuple[Path, Path]] = []

    def visit(value: Any, path: Path) -> None:
        if is_written_in_place(value):
            if id(value) in first:
                found.append((path, first[id(value)]))
                return
            first[id(value)] = path
        for step, part in steps_into(value):
            visit(part, (*path, step))

    for number, value in enumerate(values):
        visit(value, (number,))
    return tuple(found)


def with_shared(values: Sequence[Any], shared: Shared) -> tuple[Any, ...]:
    """These values with one container in the places of one. Lists, dicts and dataclasses in them are written to."""
    given = list(values)
    for (number, *steps), (source, *to_source) in shared:
        one = given[source]
        for step in to_source:
            one = _part(one, step)
        given[number] = _put(given[number], steps, one)
    return tuple(given)


def _part(owner: Any, step: Any) -> Any:
    if isinstance(step, jax.tree_util.DictKey):
        return dict.__getitem__(owner, step.key)
    return owner[step.idx] if isinstance(step, jax.tree_util.SequenceKey) else getattr(owner, step.name)


def _put(owner: Any, steps: Sequence[Any], part: Any) -> Any:
    """What stands in an owner's place when this part is where the steps lead: another tuple, or itself."""
    if not steps:
        return part
    step, *rest = steps
    part = _put(_part(owner, step), rest, part)
    if isinstance(owner, tuple):
        parts = [part if number == step.idx else each for number, each in enumerate(owner)]
        make = tuple if type(owner) is tuple else type(owner)._make  # type: ignore[attr-defined]
        return make(parts)
    if isinstance(step, jax.tree_util.DictKey):
        dict.__setitem__(owner, step.key, part)
    elif isinstance(step, jax.tree_util.SequenceKey):
        owner[step.idx] = part
    else:
        object.__setattr__(owner, step.name, part)
    return owner
