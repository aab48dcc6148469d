"""`Workload`: one program, its arguments, and its versions written by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Program = Callable[..., Any]


@dataclass(frozen=True)
class Workload:
    """What is measured.

    Attributes:
      name: as tables and the command line have it.
      about: one line on what it does.
      program: from the array functions, the program in plain Python.
      arguments: for full size or quick, NumPy arrays and Python values.
      by_hand: versions with `jax.lax`, by name; ``straightforward`` is what people write first, ``best`` (where it
        differs) what the fastest form known is.
      variants: for a peer that cannot run the program as it stands, the program as that peer wants it; or, as text,
        why there is none.
      calls: how many calls count as one run.
    """

    name: str
    about: str
    program: Callable[[Any], Program]
    arguments: Callable[[bool], tuple[Any, ...]]
    by_hand: Callable[[], Mapping[str, Program]]
    variants: Mapping[str, Callable[[Any], Program] | str] = field(default_factory=dict)
    calls: int = 1
