"""What a staged loop does with variables that iterations leave in another structure: None or a value, a fuller
`TensorArray`.
"""

from __future__ import annotations

from typing import Any

from autograph.backends.base import MISSING, Backend
from autograph.runtime.operators.loop_state import Carried, VariableEnd
from autograph.runtime.operators.state import adopted, flatten
from autograph.runtime.optional import Optional


def kind_of(template: Any) -> str:
    """Whether this is None, an `Optional`, or another value."""
    return "none" if template is None else "optional" if isinstance(template, Optional) else "value"


class CarriesNones:
    """The part of a `LoopTrace` that widens structures.

    Attributes: may_peel (whether the loop's first iteration may be run by itself, if that makes None a value).
    """

    backend: Backend
    may_peel: bool

    def _fill_up(self, carried: Carried, last: VariableEnd, leaves: list[Any]) -> bool:
        """Carry a TensorArray whose first element the body writes."""
        filled = adopted(carried.structure, last.structure, carried.start[:-1], MISSING)
        if filled is None:
            return False
        carried.structure = last.structure
        carried.start = [*filled, carried.start[-1]]
        given = [self.backend.type_of(leaf) for leaf in leaves[:-1]]
        held = [self.backend.type_of(leaf) if leaf is not MISSING else None for leaf in filled]
        carried.types = [*(a or b for a, b in zip(held, given, strict=True)), carried.types[-1]]
        return True

    def _make_optional(self, carried: Carried, last: VariableEnd, leaves: list[Any]) -> bool:
        """Carry a variable as an `Optional` that is None before the loop, or after an iteration, and else a value."""
        before, after = kind_of(carried.structure.template), kind_of(last.structure.template)
        if before == "optional" or not {before, after} & {"none", "optional"}:
            return False
        if (before, after) == ("none", "value") and self.may_peel:
            return False
        if after == "optional":
            structure = last.structure
            inner = leaves[1:-1]
        else:
            template = (last if after == "value" else carried).structure.template
            structure = flatten(Optional(0, template))[1]
            inner = leaves[:-1] if after == "value" else carried.start[:-1]
        if before == "none":
            types = [self.backend.type_of(leaf) for leaf in inner]
            start = [leaf if type is None else MISSING for leaf, type in zip(inner, types, strict=True)]
            carried.start = [False, *start, carried.start[-1]]
            carried.types = [self.backend.type_of(False), *types, carried.types[-1]]
        elif len(inner) != len(carried.start) - 1:
            return False
        else:
            carried.start = [True, *carried.start]
            carried.types = [self.backend.type_of(True), *carried.types]
        carried.structure = structure
        return True

    def _as_carried_optional(
        self, carried: Carried, last: VariableEnd, leaves: list[Any]
    ) -> tuple[VariableEnd, list[Any]]:
        """What an iteration leaves, None or a value, as the `Optional` that is carried; else as it is."""
        kind = kind_of(last.structure.template)
        if kind == "optional" or not isinstance(carried.structure.template, Optional):
            return last, leaves
        if kind == "none":
            count = len(carried.start) - 2
            same = [False, *[True] * count, last.same[-1]]
            leaves = [False, *[MISSING] * count, leaves[-1]]
        else:
            structure = flatten(Optional(0, last.structure.template))[1]
            if structure.treedef != carried.structure.treedef:
                return last, leaves
            same = [False] * (len(leaves) + 1)
            leaves = [True, *leaves]
        return VariableEnd(carried.structure, last.span, same), leaves
