"""Dataclasses that describe a traced program to tools that display it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, order=True)
class Position:
    """A place in the user's source. ``column`` counts from 0; ``function`` is the qualified name of the code there."""

    file: str
    line: int
    column: int
    function: str


@dataclass(frozen=True)
class Cost:
    """An estimate for one run of an operation.

    Attributes:
      flops: arithmetic operations on single elements.
      bytes: what it reads and writes; results: what it writes.
    """

    flops: float = 0
    bytes: int = 0
    results: int = 0


class Role(Enum):
    """What an operation is to the structure of a program."""

    LOOP = "runs a block again and again"
    BRANCH = "runs one of its blocks"
    CALL = "runs its block once"
    SELECT = "chooses between two values, both of which are computed"
    PLAIN = "holds no program"


@dataclass(frozen=True)
class Operation:
    """One operation of a program, with the programs that it holds.

    Attributes:
      name: the primitive's name.
      text: the operation as a line: results, name, parameters, operands.
      position: the user's line that it comes from; None where that is not known.
      cost: of one run, without what its blocks cost.
      types: of its results; of a loop, of what it carries.
      trips: of a loop, how often its body runs, where that is known.
      note: what else is to be said of it.
      runs_both: of a branch, whether it is lowered to a select, so that both blocks run.
    """

    name: str
    text: str
    position: Position | None
    role: Role
    cost: Cost
    blocks: tuple[Block, ...] = ()
    types: tuple[str, ...] = ()
    trips: int | None = None
    runs_both: bool = False
    note: str = ""


@dataclass(frozen=True)
class Block:
    """A program, or one that an operation holds.

    Attributes:
      label: what it is to the operation: ``body``, ``test``, ``if true`` …
      head: what it takes, as a line; tail: its results, as a line.
    """

    label: str
    head: str
    operations: tuple[Operation, ...]
    tail: str


@dataclass(frozen=True)
class TextLine:
    """A line of a compiler's text, and the user's line that it comes from, where that is known."""

    text: str
    position: Position | None = None


@dataclass(frozen=True)
class Node:
    """One node of a program drawn as a flow of values.

    Attributes:
      name: no other node's; the scopes that it lies in, outermost first, come before its last ``/``.
      operation: the primitive's name; ``Input``, ``Constant``, ``Carry``, ``Row``, ``Operands`` or ``Result`` where it is none.
      inputs: which values it takes: the name of a node, with ``:k`` for its result ``k`` after the first.
      types: dtype and shape of each result; a size that is known only at run time is None.
      position: the user's line that it comes from; None where that is not known.
      parameters: what else is to be said of it, by name.
    """

    name: str
    operation: str
    inputs: tuple[str, ...] = ()
    types: tuple[tuple[str, tuple[int | None, ...]], ...] = ()
    position: Position | None = None
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Exported:
    """A program that may leave the process.

    Attributes:
      data: it, as bytes.
      derivatives: how many orders of derivatives are in it.
      why_not: why there are not more, where that was not asked for.
      platforms: what it runs on.
    """

    data: bytes
    derivatives: int
    why_not: str | None
    platforms: tuple[str, ...]
