"""Checkpoints: the state of training as a pytree of arrays, for a checkpoint manager.

`state` returns the state of training objects as arrays, and `restore` writes such arrays back in place. A checkpoint
manager, such as orbax's, stores and loads the arrays.

>>> import autograph as ag
>>> class Counter(ag.Module):
...     def __init__(self):
...         self.steps = ag.Variable(0, name="steps")
...         self.data = iter(ag.Dataset.range(5))
>>> counter = Counter()
>>> _ = counter.steps.assign_add(3), next(counter.data), next(counter.data)
>>> kept = ag.checkpoints.state(counter)
>>> kept["steps"].tolist(), kept["data"]["position"].tolist()
(3, 2)
>>> fresh = Counter()
>>> _ = ag.checkpoints.restore(fresh, kept)
>>> int(fresh.steps), int(next(fresh.data))
(3, 2)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.selected import STAGING
from autograph.runtime.data.dataset import Dataset
from autograph.runtime.data.iterators import DatasetIterator, SequenceIterator
from autograph.runtime.data.pipeline import Key, Shuffle, asks_python, shuffles
from autograph.runtime.errors import StagingError
from autograph.runtime.function.function import Function
from autograph.runtime.state.commits import commit, shared_values_of
from autograph.runtime.state.module import Module, named_parts
from autograph.runtime.state.variables import Variable
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import is_recording
from autograph.runtime.typing import PyTree

_Path = tuple[str, ...]
_SHOWN = 5


def state(tree: PyTree) -> dict[str, PyTree]:
    """Return the state of the objects in ``tree`` as nested dicts of arrays.

    Args:
      tree: a `Module`, a `Variable`, a `random.Generator`, a `Dataset`, an iterator of one, or a pytree of these, of
        arrays and of numbers, such as an equinox model, an optax state or ``nnx.state(model)``. For a module: its
        `Module.variables`, and the datasets and iterators found in the same way, each object once. Other leaves, such
        as the functions of an equinox model, are skipped.

    Returns:
      Dicts by attribute names, keys and positions. For an iterator, its position; for a dataset, the number of its
      iterations. A single array is ``{"value": array}``.

    Raises:
      ValueError: two parts have one name, or a dataset is shuffled without a seed, so that its order cannot be
        restored.
      TypeError: ``tree`` contains a `Function`: pass its Variables by name.

    >>> import autograph as ag, jax.numpy as jnp
    >>> ag.checkpoints.state({"w": ag.Variable(2.0), "rate": jnp.float32(0.5)})
    {'rate': Array(0.5, dtype=float32), 'w': Array(2., dtype=float32)}
    """
    _refuse_recording("state")
    cells = _cells(tree)
    variables = {path: cell.variable for path, cell in cells.items() if isinstance(cell, _OfVariable)}
    values = dict(zip(variables, shared_values_of(list(variables.values())), strict=True))
    STAGING.wait(list(values.values()))  # a generator's place is known when the programs that ask it are done
    made: dict[str, Any] = {}
    for path, cell in cells.items():
        inside = made
        for key in path[:-1]:
            inside = inside.setdefault(key, {})
        inside[path[-1]] = values[path] if path in values else cell.read(".".join(path))
    return made


def restore(tree: PyTree, state: Mapping[str, PyTree]) -> PyTree:
    """Restore the objects in ``tree`` from what `state` returned, perhaps in another process.

    Args:
      tree: as in `state`. Its Variables, generators and iterators are changed in place: all of them, or none if
        something does not match.
      state: the arrays, on any device. They are moved to the devices of the values that they replace.

    Returns:
      The tree, with the saved arrays and numbers in place of its own. Objects that were changed in place are the
      same.

    Raises:
      ValueError: names, shapes, dtypes or the seeds of datasets differ. The message names them.

    >>> import autograph as ag, jax.numpy as jnp
    >>> v = ag.Variable(2.0)
    >>> ag.checkpoints.restore({"v": v, "rate": 0.5}, {"v": jnp.float32(3.0), "rate": 0.25})["rate"], float(v)
    (0.25, 3.0)
    """
    _refuse_recording("restore")
    cells, given = _cells(tree), dict(_flat(state, ()))
    _refuse_differences(set(cells), set(given))
    variables = {path: cell.variable for path, cell in cells.items() if isinstance(cell, _OfVariable)}
    STAGING.wait(shared_values_of(list(variables.values())))
    fitted = {path: cell.fitted(given[path], ".".join(path)) for path, cell in cells.items()}
    for path, cell in cells.items():
        if isinstance(cell, _OfStream):
            words = {depth: fitted[(*path[:-1], "words", str(depth))] for depth in cell.iterator.words}
            fitted[path] = cell.iterator.rest_after(fitted[path], words)
    for variable in variables.values():
        variable._lent = True  # to whoever has the state
    commit(list(variables.values()), [fitted[path] for path in variables])
    leaves, treedef = jax.tree_util.tree_flatten(tree, is_leaf=_is_ours)
    for path, cell in cells.items():
        if isinstance(cell, _OfStream):
            cell.iterator.go_on_with(fitted[path])
        elif isinstance(cell, _OfLeaf):
            leaves[cell.number] = fitted[path]
    return jax.tree_util.tree_unflatten(treedef, leaves)


# What there is to keep.


class _Cell(Protocol):
    """One array of the state."""

    def read(self, name: str) -> Any:
        """The array."""

    def fitted(self, value: Any, name: str) -> Any:
        """A saved array as it is set; `ValueError` for one that does not fit."""


class _OfVariable:
    def __init__(self, variable: Variable) -> None:
        self.variable = variable

    def read(self, name: str) -> Any:
        return self.variable.value

    def fitted(self, value: Any, name: str) -> Any:
        _refuse_other_type(value, self.variable.value, name)
        return _placed(value, self.variable.value)


class _OfLeaf:
    """An array or a number of the tree's own, at this place among its leaves."""

    def __init__(self, value: Any, number: int) -> None:
        self.value, self.number = value, number

    def read(self, name: str) -> Any:
        return _as_array(self.value)

    def fitted(self, value: Any, name: str) -> Any:
        kind = type(self.value)
        if isinstance(self.value, bool | int | float | complex) and not isinstance(self.value, np.generic):
            if np.shape(value) != ():
                raise ValueError(f"{name} is a number, and in the state an array of shape {np.shape(value)}")
            return kind(np.asarray(value).item())
        _refuse_other_type(value, _as_array(self.value), name)
        if not isinstance(self.value, jax.Array):
            found = np.array(value)
            return found[()] if isinstance(self.value, np.generic) else found
        found = _placed(value, _as_array(self.value))
        if _is_key(self.value):
            return jax.random.wrap_key_data(found, impl=jax.random.key_impl(self.value))
        return self.value.at[...].set(found) if self.value.weak_type else found


class _OfSeed:
    """Says whether a dataset is shuffled as the one that was saved."""

    def __init__(self, step: Shuffle) -> None:
        self.step = step

    def read(self, name: str) -> Any:
        if not self.step.is_seeded:
            raise ValueError(
                f"the dataset of {name} is shuffled without a seed: another process would use another order, and could not "
                "resume at this position. Pass a seed to shuffle."
            )
        return np.array([self.step.seed & 0xFFFFFFFF, self.step.seed >> 32 & 0xFFFFFFFF], np.uint32)

    def fitted(self, value: Any, name: str) -> Any:
        if not np.array_equal(np.asarray(value), self.read(name)):
            raise ValueError(f"{name}: this dataset is shuffled with another seed than that of the state")
        return value


class _OfStream:
    """How many elements an iterator has taken of what only comes in order."""

    def __init__(self, iterator: DatasetIterator) -> None:
        self.iterator = iterator

    def read(self, name: str) -> Any:
        return np.asarray(self.iterator.taken, np.int32)

    def fitted(self, value: Any, name: str) -> Any:
        _refuse_other_type(value, self.read(name), name)
        return int(value)


def _cells(tree: Any) -> dict[_Path, _Cell]:
    found: dict[_Path, _Cell] = {}
    seen: set[int] = set()
    inner: set[_Path] = set()
    for number, (path, leaf) in enumerate(jax.tree_util.tree_flatten_with_path(tree, is_leaf=_is_ours)[0]):
        names = tuple(jax.tree_util.keystr((key,), simple=True) for key in path)
        cells = _of_part(leaf, names, seen) if _is_ours(leaf) else _of_leaf(leaf, names, number)
        for place, cell in cells:
            place = place or ("value",)
            around = {place[:k] for k in range(1, len(place))}
            if place in found or place in inner or not around.isdisjoint(found):
                raise ValueError(f"two parts of the state have the name {'.'.join(place)}")
            found[place] = cell
            inner |= around
    return found


def _is_ours(value: Any) -> bool:
    return isinstance(value, Variable | Module | Dataset | DatasetIterator | Function)


def _of_leaf(leaf: Any, path: _Path, number: int) -> Iterator[tuple[_Path, _Cell]]:
    if isinstance(leaf, jax.Array | np.ndarray | np.generic | bool | int | float | complex):
        yield path, _OfLeaf(leaf, number)


def _of_part(value: Any, path: _Path, seen: set[int]) -> Iterator[tuple[_Path, _Cell]]:
    if isinstance(value, Function) and not path[:-1] and id(value) not in seen:
        raise TypeError(
            f"a state is that of Variables, Modules and datasets; got {value!r}. Name the Variables that it uses"
        )
    is_container = isinstance(value, Module | list | tuple | dict)
    if id(value) in seen or not (is_container or isinstance(value, Variable | Dataset | DatasetIterator)):
        return
    seen.add(id(value))
    if isinstance(value, Variable):
        yield path, _OfVariable(value)
    elif is_container:
        for name, part in named_parts(value):
            yield from _of_part(part, (*path, name), seen)
    else:
        yield from _of_data(value, path, seen)


def _of_data(data: Dataset | DatasetIterator, path: _Path, seen: set[int]) -> Iterator[tuple[_Path, _Cell]]:
    for key, step in shuffles(data.node):
        yield (*path, "seeds", *_names_of(key)), _OfSeed(step)
        if step.count is not None:
            yield from _of_part(step.count.variable(), (*path, "epochs", *_names_of(key)), seen)
    if isinstance(data, DatasetIterator):
        for key, word in data.held_words().items():
            yield (*path, "words", *_names_of(key)), _OfVariable(word)
        if data.is_stream:
            yield (*path, "position"), _OfStream(data)
        elif isinstance(data, SequenceIterator):
            yield from _of_sequence(data, path)
        else:
            yield (*path, "position"), _OfVariable(data.held_position())


def _of_sequence(iterator: SequenceIterator, path: _Path) -> Iterator[tuple[_Path, _Cell]]:
    if asks_python(iterator.node):
        raise ValueError(
            f"the place of {'.'.join(path) or 'this iterator'} cannot be saved: its elements come from a generator, and a step on "
            "the device, a filter say, chooses among them. Save the place of an iterator over the generator's dataset."
        )
    for number, held in enumerate(iterator.held_state()):
        yield (*path, "position", str(number)), _OfVariable(held)


def _names_of(key: Key) -> _Path:
    return (str(key),) if isinstance(key, int) else (str(key[0]), *_names_of(key[1]))


# Arrays.


def _is_key(value: Any) -> bool:
    return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def _as_array(value: Any) -> Any:
    """An array or a number as an array of numbers."""
    if _is_key(value):
        return jax.random.key_data(value)
    return value if isinstance(value, jax.Array | np.ndarray | np.generic) else np.asarray(value)


def _placed(value: Any, present: Any) -> Any:
    """A saved array where the one is that it replaces."""
    return jax.device_put(value, present.sharding) if isinstance(present, jax.Array) else jnp.asarray(value)


def _refuse_other_type(value: Any, present: Any, name: str) -> None:
    found, expected = (
        f"{jnp.dtype(part.dtype).name}{list(part.shape)}" for part in (_as_array(value), _as_array(present))
    )
    if found != expected:
        raise ValueError(f"{name} is {expected}, and in the state {found}")


def _flat(state: Any, path: _Path) -> Iterator[tuple[_Path, Any]]:
    if isinstance(state, Mapping):
        for key, part in state.items():
            yield from _flat(part, (*path, str(key)))
    else:
        yield path, state


def _refuse_differences(here: set[_Path], given: set[_Path]) -> None:
    lines = []
    for names, text in ((here - given, "is not in the state"), (given - here, "is in the state, and not here")):
        shown = sorted(".".join(name) for name in names)
        lines += [f"  {name} {text}" for name in shown[:_SHOWN]]
        lines += [f"  … and {len(shown) - _SHOWN} more" for _ in shown[_SHOWN : _SHOWN + 1]]
    if lines:
        hint = (
            "A Variable that a function creates is there after its first call: call it before." if given - here else ""
        )
        raise ValueError("\n".join(["this state is of other things than these:", *lines, *([hint] if hint else [])]))


def _refuse_recording(name: str) -> None:
    if is_recording():
        raise StagingError(
            f"{user_location()}\n  checkpoints.{name} is called in a function that is being traced. Call it outside, between calls."
        )
