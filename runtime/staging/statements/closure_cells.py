"""Read the closure cells of functions."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from autograph.runtime.layouts.statement_variables import contents_of_cells, flatten


def cell_values(function: Callable[..., Any]) -> list[int]:
    """The identities of what a function's cells hold, to see whether running it rebinds any."""
    values = []
    for cell in function.__closure__ or ():
        try:
            values.append(id(cell.cell_contents))
        except ValueError:
            values.append(0)
    return values


def leaves_reached(functions: Sequence[Callable[..., Any]]) -> Iterator[Any]:
    """What the functions' cells hold, and those of functions in them; containers and objects unpacked."""
    pending, seen = list(functions), set(map(id, functions))
    while pending:
        for content in contents_of_cells(pending.pop().__closure__):
            try:
                leaves = flatten(content)[0] if isinstance(content, list | tuple | dict) else [content]
            except (TypeError, ValueError):  # no pytree
                continue
            for leaf in leaves:
                parts = [leaf, *vars(leaf).values()] if hasattr(leaf, "__dict__") and not callable(leaf) else [leaf]
                yield from parts
                inner = [part for part in parts if isinstance(part, types.FunctionType) and id(part) not in seen]
                pending += inner
                seen.update(map(id, inner))
