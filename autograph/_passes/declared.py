"""`Declared`: lets a function that a pass makes of a part of another one bind the variables of that one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import gast

from autograph._analysis.scopes import declared_names, walk_scope
from autograph._passes.nodes import load, placed, store

_DECLARATIONS = frozenset({gast.Global, gast.Nonlocal})


@dataclass(frozen=True)
class Declared:
    """The names that a function declares nonlocal, and global."""

    nonlocal_names: frozenset[str] = frozenset()
    global_names: frozenset[str] = frozenset()

    @classmethod
    def in_body(cls, body: Iterable[gast.AST]) -> Declared:
        """What the statements of a function's body declare."""
        parts = [part for part in walk_scope(body) if type(part) in _DECLARATIONS]
        return cls(declared_names(parts, gast.Nonlocal), declared_names(parts, gast.Global))

    def sharing(self, names: Iterable[str]) -> list[gast.AST]:
        """The first statements of a nested function that binds these names of this one."""
        shared = [name for name in names if name not in self.global_names]
        declared = [name for name in names if name in self.global_names]
        return [kind(each) for kind, each in ((gast.Nonlocal, shared), (gast.Global, declared)) if each]

    def owning(self, names: Iterable[str], like: gast.AST) -> list[gast.AST]:
        """Statements, to stand before the nested function, that make these names variables of this one, and bind nothing."""
        own = [name for name in names if name not in self.nonlocal_names | self.global_names]
        return [placed(gast.AnnAssign(store(name), load("object"), None, 1), like) for name in own]

    def inside(self, names: Iterable[str]) -> Declared:
        """What is declared in the nested function."""
        return Declared(frozenset(names) - self.global_names, self.global_names & frozenset(names))
