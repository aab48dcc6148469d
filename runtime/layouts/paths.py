"""Where in a value a part of it is."""

from __future__ import annotations

from typing import Any

import jax

from autograph.runtime.layouts.dict_kinds import is_dict_kind
from autograph.runtime.layouts.kinds import CONTENTS, FILLED, Object, Seq, Tree

Path = tuple[Any, ...] | str  # a variable's name, or a path, the node there, and the number of a part of it


def is_filled(path: Path) -> bool:
    """Whether this leads to a part of an array that is filled element by element."""
    return isinstance(path, tuple) and isinstance(path[1], Seq) and path[1].role == FILLED


def is_item(path: Path) -> bool:
    """Whether this leads into a list."""
    while isinstance(path, tuple):
        path, node, _ = path
        if isinstance(node, Tree) and node.is_list:
            return True
    return False


def worded(path: Path) -> str:
    """A path as Python writes it: ``params['w'][0]``."""
    if isinstance(path, str):
        return path
    around, node, k = path
    if is_filled(path):
        return worded(around)
    if isinstance(node, Object):
        return f"{worded(around)}.{node.names[k]}"
    if node.kind in (list, tuple, CONTENTS) or is_dict_kind(node.kind):
        return f"{worded(around)}[{node.keys[k]!r}]"
    value = jax.tree_util.tree_unflatten(node.kind, range(len(node.keys)))
    found = jax.tree_util.tree_flatten_with_path(value)[0]
    keys = {part: key for key, part in found}
    return worded(around) + jax.tree_util.keystr(keys[k])
