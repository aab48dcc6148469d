"""What a staged loop's trace is described in: a variable that is carried, and what one iteration leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autograph.backends.base import LeafType, Traced
from autograph.runtime.errors import StagingError
from autograph.runtime.operators.growing_lists import GrowingList
from autograph.runtime.operators.journal import Place
from autograph.runtime.operators.state import Structure, Variable


class CarryChanges(StagingError):
    """The state has another shape or structure after an iteration than before it."""


@dataclass
class Carried:
    """One variable of the loop's state.

    Attributes:
      start: its leaves before the loop (`MISSING` where unbound), the last one whether it is bound.
      types: their types; None for a leaf that is no array and must stay what it is.
      entry: the value before the loop.
      is_input: whether iterations see it; a variable that each iteration binds anew need only come out.
    """

    variable: Variable
    structure: Structure
    start: list[Any]
    types: list[LeafType | None]
    entry: Any
    is_input: bool = True
    results: list[Any] = field(default_factory=list)
    keeps_container: bool = False


@dataclass
class VariableEnd:
    """A variable after one iteration: its structure, its leaves' places, which leaves are still the installed ones."""

    structure: Structure
    span: slice
    same: list[bool]
    is_installed: bool


class BodyEnd:
    """A traced body: its program and each variable's end, None where unbound."""

    def __init__(self) -> None:
        self.traced = Traced(None, ())
        self.ends: list[VariableEnd | None] = []
        self.operand_types: list[LeafType] = []
        self.state_count = 0
        self.written: list[Any] = []
        self.discovered: list[Place] = []
        self.growing: dict[Any, GrowingList | None] = {}
