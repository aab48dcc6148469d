"""Functions written for one purpose as source, since they run at every call: a chain of comparisons costs a
third of a loop over them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

_LARGEST = 1000  # leaves; the source grows with them


def unpacker(values: tuple[Any, ...]) -> Callable[[Sequence[Any]], Sequence[Any] | None] | None:
    """A function from arguments of the structure of ``values`` to their leaves, and from any others to None.

    In the order of `jax.tree_util.tree_leaves`, in a third of its time. None for containers other than lists,
    tuples and dicts by strings.

    >>> leaves_of = unpacker(({"b": 1, "a": [2, 3]}, 4))
    >>> leaves_of(({"a": [5, 6], "b": 7}, 8)), leaves_of(({"a": [5], "b": 7}, 8))
    ((5, 6, 7, 8), None)
    """
    lines: list[str] = []
    leaves: list[str] = []
    names = (f"part{k}" for k in range(_LARGEST))

    def visit(value: Any, source: str) -> bool:
        if value is None:
            lines.append(f"if {source} is not None: return None")
            return True
        kind = type(value)
        if kind not in (dict, list, tuple):
            leaves.append(source)
            return jax.tree_util.all_leaves([value]) and len(leaves) <= _LARGEST
        name = next(names, None)
        if name is None:
            return False
        lines.append(f"{name} = {source}")
        lines.append(f"if type({name}) is not {kind.__name__} or len({name}) != {len(value)}: return None")
        if kind is dict:
            keys = list(value)
            return all(type(key) is str for key in keys) and all(
                [visit(value[key], f"{name}[{key!r}]") for key in sorted(keys)]
            )
        if value and jax.tree_util.all_leaves(value):
            leaves.append(f"*{name}")
            return len(value) <= _LARGEST
        return all([visit(item, f"{name}[{k}]") for k, item in enumerate(value)])

    if not all([visit(value, f"values[{k}]") for k, value in enumerate(values)]):
        return None
    body = "\n        ".join([*lines, f"return ({''.join(leaf + ', ' for leaf in leaves)})"])
    return _defined(
        f"def unpack(values):\n    try:\n        {body}\n    except KeyError:\n        return None",
        "unpack",
        {},
    )


def identity_check(reads: Sequence[tuple[str, Any]], environment: dict[str, Any]) -> Callable[[], bool]:
    """A function that says whether any of these expressions gives another object than it is paired with, or
    fails.

    >>> names = {"n": 1}
    >>> changed = identity_check([("names['n']", 1)], {"names": names})
    >>> changed(), names.update(n=2), changed()
    (False, None, True)
    """
    known = {f"known{k}": value for k, (_, value) in enumerate(reads)}
    tests = " or ".join(f"{source} is not known{k}" for k, (source, _) in enumerate(reads))
    return _defined(
        f"def changed():\n    try:\n        return {tests or False}\n"
        "    except (KeyError, ValueError):\n        return True",
        "changed",
        {**environment, **known},
    )


def _defined(source: str, name: str, environment: dict[str, Any]) -> Any:
    exec(compile(source, "<autograph dispatch>", "exec"), environment)
    return environment[name]
