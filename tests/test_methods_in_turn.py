"""Methods of random classes, called in turn: results, and what the object holds after each call, are those of plain Python.

A statement that is refused ends the program there. `python -m tests.test_methods_in_turn 0 500` runs more of them, and with `nested`
at its end those whose methods call each other.
"""

from __future__ import annotations

import collections
import inspect
import sys
import tempfile
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.methods_in_turn import load, source_of

SEEDS = (*range(16), 23, 35, 58, 108, 167, 279, 312, 447, 623)


def plain(value):
    """A value and all that it holds, as Python's, to be compared: a truth value is none of the numbers."""
    if isinstance(value, jax.Array | np.generic | bool | int | float):
        return bool(value) if np.result_type(value) == np.bool_ else round(float(value), 3)
    if isinstance(value, set):
        return sorted(map(plain, value))
    if isinstance(value, dict):
        return [(plain(key), plain(part)) for key, part in value.items()]
    if isinstance(value, list | tuple | collections.deque):
        return [plain(part) for part in value]
    if value is None or isinstance(value, str):
        return value
    return {name: plain(part) for name, part in sorted(vars(value).items())}


def state_of(thing, module):
    """What an object of a module holds, and the module's variables."""
    return [plain(thing), plain(module.SEEN), plain(module.TOTAL), plain(module.COUNT)]


def outcome(call, *args):
    """What a call returns, or the class of what it raises."""
    try:
        return plain(call(*args))
    except ag.StagingError:
        raise
    except Exception as error:
        return type(error).__name__


def difference(seed, folder, nested=False):
    """How the methods of a class, as `ag.function`, differ from Python's; None if they do not, "refused" if one is.

    Args:
      nested: whether they call each other, each an `ag.function` of its class.
    """
    source, steps = source_of(seed, nested)
    modules = load(source, f"mine{seed}", folder), load(source, f"others{seed}", folder)
    if nested:
        for name, method in list(vars(modules[0].Thing).items()):
            if inspect.isfunction(method) and name != "__init__":
                setattr(modules[0].Thing, name, ag.function(method))
    mine, others = (module.Thing() for module in modules)
    compiled = {name: getattr(mine, name) if nested else ag.function(getattr(mine, name)) for name, _ in steps if name}
    for number, (name, given) in enumerate(steps):
        if not name:
            for each in (mine, others):
                exec(given, {"o": each})
            continue
        wanted = outcome(getattr(others, name), given)
        before = state_of(mine, modules[0])
        try:
            found = outcome(compiled[name], jnp.float32(given))
        except ag.StagingError:
            return (
                "refused"
                if repr(state_of(mine, modules[0])) == repr(before)
                else f"step {number}: refused, and changed"
            )
        if isinstance(wanted, str):
            state_of(mine, modules[0])  # in which no tracer is left
            return None if found == wanted else f"step {number}: {found}, Python {wanted}"
        states = [state_of(each, module) for each, module in zip((mine, others), modules, strict=True)]
        if repr(found) != repr(wanted) or repr(states[0]) != repr(states[1]):
            return f"step {number}, {name}({given}): {found} and {states[0]}, Python {wanted} and {states[1]}"
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", SEEDS)
def test_methods_called_in_turn_leave_what_python_does(seed, tmp_path):
    assert difference(seed, tmp_path) is None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(6))
def test_methods_that_call_methods_leave_what_python_does(seed, tmp_path):
    assert difference(seed, tmp_path, nested=True) is None


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    counts: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(*map(int, sys.argv[1:3])):
            found = difference(seed, Path(folder), nested=sys.argv[3:] == ["nested"])
            counts[found if found in (None, "refused") else "different"] += 1  # type: ignore[index]
            if found not in (None, "refused"):
                print(seed, found)
    print(dict(counts))
