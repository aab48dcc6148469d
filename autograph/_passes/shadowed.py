"""`RenameShadowing`: comprehensions whose targets shadow variables of a function around in; targets of other names out."""

from __future__ import annotations

from collections.abc import Mapping

import gast

from autograph._analysis.children import walk
from autograph._analysis.scopes import FUNCTIONS, bound_names, parameter_names, read_names
from autograph._passes.nodes import Context, Rewriter

_INLINED = (gast.ListComp, gast.SetComp, gast.DictComp)


class RenameShadowing(Rewriter):
    """Gives the target of a comprehension that has the name of a variable a name of its own.

    Python 3.12 runs comprehensions in the frame of the function around, and there takes such a target for the variable
    of a function further out, where only a function inside of it reads that variable. The blocks of statements, and
    the operands of ``and`` and ``or``, become such functions.

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(RenameShadowing, '''
    ... def f(q, rows):
    ...     return [q for q in rows(q)] + [p for p in rows(q)]
    ... '''))
    def f(q, rows):
        return [q_1 for q_1 in rows(q)] + [p for p in rows(q)]
    """

    applies_to: frozenset[type] | None = frozenset(_INLINED)
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context
        self.variables: set[str] = set()

    def __call__(self, node: gast.AST) -> gast.AST:
        for part in walk(node):
            if isinstance(part, FUNCTIONS):
                body = part.body if isinstance(part.body, list) else [part.body]
                self.variables |= bound_names(body) | read_names(body) | set(parameter_names(part.args))
        return self.visit(node)

    def _comprehension(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)  # those inside first: what is left of these names in them is of this one
        targets = bound_names(each.target for each in node.generators) & self.variables
        _Renamed({name: self.context.names.new(name) for name in sorted(targets)}).rename_inside(node)
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = _comprehension


class _Renamed(Rewriter):
    """Attributes: names (the new names of the variables of the scope that is visited)."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: gast.AST) -> gast.AST:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_Lambda(self, node: gast.AST) -> gast.AST:
        """Its parameters are its own."""
        arguments = node.args
        arguments.defaults = [self.visit(each) for each in arguments.defaults]
        arguments.kw_defaults = [each and self.visit(each) for each in arguments.kw_defaults]
        own = set(parameter_names(arguments))
        node.body = _Renamed({name: new for name, new in self.names.items() if name not in own}).visit(node.body)
        return node

    def visit_GeneratorExp(self, node: gast.AST) -> gast.AST:
        """Its targets are its own, and what it runs over first is evaluated outside of it."""
        first = node.generators[0]
        first.iter = self.visit(first.iter)
        own = bound_names(each.target for each in node.generators)
        _Renamed({name: new for name, new in self.names.items() if name not in own}).rename_inside(node)
        return node

    def rename_inside(self, node: gast.AST) -> None:
        """Rename in what a comprehension evaluates in its own scope."""
        first, *others = node.generators
        first.target, first.ifs = self.visit(first.target), [self.visit(test) for test in first.ifs]
        node.generators[1:] = [self.visit(each) for each in others]
        for part in ("key", "value") if isinstance(node, gast.DictComp) else ("elt",):
            setattr(node, part, self.visit(getattr(node, part)))
