"""Functions that a branch leaves, and what they refer to."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

from autograph.runtime.containers.referring_kinds import chosen_in
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.holders import reached, within_reach
from autograph.runtime.layouts.statement_variables import class_name
from autograph.runtime.tracing.locations import user_location

_FUNCTIONS = (types.FunctionType, types.MethodType)


def check_functions_left(end: Any, roots: Iterable[Any]) -> None:
    """See that no function which a block leaves leads to a container or object that the block has made, and leaves by itself, too.

    What it leaves by itself goes on as another, with the contents of either path; the function would write to the one that was made.

    Args:
      end: the `BranchEnd`. roots: what leads to all that was there before the block.

    Raises:
      StagingError: one does.
    """
    layouts = (*end.layouts, *(layout for _, layout, _ in end.written.values()))
    functions = [leaf for leaf in end.traced.leaves if isinstance(leaf, _FUNCTIONS)]
    functions += [each for layout in layouts for each in chosen_in(layout) if isinstance(each, _FUNCTIONS)]
    if not functions:
        return
    found = reached({key for parts in end.parts.values() for key in parts.ids.values()}, functions)
    before = within_reach(found.keys(), roots) if found else ()
    for key, made in found.items():
        if key not in before:
            kind = class_name(made)
            raise StagingError(
                f"{user_location()}\n  A branch of this statement makes a {kind}, and leaves it and a function that refers to it: what the "
                f"function writes would be in another {kind} than the one that is there after the statement.\n  Make it before the "
                "statement, or the function after it; or give it to the function as an argument."
            )
