"""Split generator expressions into parts for the builtins that consume them: ``sum``, ``max``, ``next`` and others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gast

from autograph._analysis.python_only import python_only
from autograph._passes.nodes import Context, arguments, constant, placed

REDUCTIONS = frozenset({"sum", "max", "min", "any", "all", "next"})
_SHORT = 64  # ranges of so many stay as they are, as loops over them
_VIEWS = ("items", "keys", "values")
_DISPLAYS = (gast.List, gast.Tuple, gast.Constant)
_SEQUENCES = (gast.Tuple, gast.List)
_COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp)


def taken_apart(context: Context, generator: gast.AST) -> gast.AST:
    """``ag__.generator(lambda v: element, items, lambda v: condition)``: what returns the same elements as this expression."""
    element = generator.elt
    for k, clause in reversed(list(enumerate(generator.generators))):
        is_nested = k < len(generator.generators) - 1
        element = _clause_call(context, "generator", clause, element, is_nested)
    return element


def listed(context: Context, comprehension: gast.AST) -> gast.AST:
    """``ag__.list_of(lambda v: element, items, condition=lambda v: condition)``: what returns the same list as this expression."""
    first, *inner = comprehension.generators
    element = comprehension.elt
    if inner:
        element = taken_apart(context, placed(gast.GeneratorExp(element, inner), element))
    call = _clause_call(context, "list_of", first, element, is_nested=bool(inner))
    if any(clause.ifs for clause in inner):
        call.keywords.append(gast.keyword("is_conditional", constant(True)))
    context.comprehension_bodies.add(call.args[0])
    return call


def _clause_call(context: Context, operator: str, clause: gast.AST, element: gast.AST, is_nested: bool) -> gast.AST:
    """The call of an operator with the element of a clause, what it goes over, and its conditions."""
    keywords = _keywords(clause, element)
    if is_nested:
        keywords["is_nested"] = constant(True)
    if clause.ifs:
        test = clause.ifs[0] if len(clause.ifs) == 1 else gast.BoolOp(gast.And(), clause.ifs)
        context.tests.add(test)
        keywords["condition"] = placed(_function(context, clause.target, test), clause.ifs[0])
    return placed(context.call(operator, _function(context, clause.target, element), clause.iter, **keywords), element)


def _keywords(clause: gast.AST, element: gast.AST) -> dict[str, gast.AST]:
    keywords = {}
    if not isinstance(clause.target, gast.Name):
        keywords["unpack"] = constant(_shape(clause.target))
    if (reason := python_only([element, *clause.ifs])) is not None:
        keywords["python_only"] = constant(reason)
    return keywords


def _function(context: Context, target: gast.AST, body: gast.AST) -> gast.AST:
    """Of names that a target binds more than once, as ``_``, the last is what the body reads."""
    names = [part.id for part in _bound(target)]
    parameters = [context.names.new(name) if name in names[k + 1 :] else name for k, name in enumerate(names)]
    return gast.Lambda(arguments(parameters), body)


def _bound(target: gast.AST) -> Iterator[gast.AST]:
    """What is bound in a target, from left to right."""
    if isinstance(target, gast.Starred):
        yield from _bound(target.value)
    elif isinstance(target, _SEQUENCES):
        for part in target.elts:
            yield from _bound(part)
    else:
        yield target


def _shape(target: gast.AST) -> Any:
    """How many names a target has; where there are others in it, the shape of each, None for a name and ``"*"`` for one with a star."""
    if isinstance(target, gast.Starred):
        return "*"
    if not isinstance(target, _SEQUENCES):
        return None
    is_flat = all(isinstance(part, gast.Name) for part in target.elts)
    return len(target.elts) if is_flat else tuple(map(_shape, target.elts))


def can_be_taken_apart(generator: gast.AST) -> bool:
    """Whether each item is bound to a name, or what it consists of to a name each."""
    return all(isinstance(part, gast.Name) for clause in generator.generators for part in _bound(clause.target))


def may_be_long(node: gast.AST) -> bool:
    """Whether, as far as can be seen, this may be an array, or a range that is not short."""
    if isinstance(node, gast.Call):
        if isinstance(node.func, gast.Attribute) and node.func.attr in _VIEWS:
            return False
        return is_range(node) or any(not isinstance(arg, gast.Constant) for arg in node.args)
    return not isinstance(node, (*_DISPLAYS, *_COMPREHENSIONS))


def may_be_open(node: gast.AST) -> bool:
    """Whether, as far as can be seen, only the run may know how many items there are."""
    if isinstance(node, _SEQUENCES):
        return any(isinstance(part, gast.Starred) for part in node.elts)
    return not isinstance(node, _DISPLAYS)


def may_be_generator(node: gast.AST) -> bool:
    """Whether this is a call of what may be a generator function."""
    return isinstance(node, gast.Call) and not is_view(node)


def is_view(node: gast.AST) -> bool:
    """Whether this may be a view of a dict."""
    return isinstance(node, gast.Call) and isinstance(node.func, gast.Attribute) and node.func.attr in _VIEWS


def is_range(node: gast.AST) -> bool:
    """Whether this is a call of ``range`` that may not be short."""
    if not (isinstance(node, gast.Call) and isinstance(node.func, gast.Name) and node.func.id == "range"):
        return False
    return any(
        not isinstance(arg, gast.Constant) or (isinstance(arg.value, int) and arg.value > _SHORT) for arg in node.args
    )
