"""The loops that do what ``sum``, ``max``, ``min``, ``any`` and ``all`` do with a generator expression."""

from __future__ import annotations

from dataclasses import dataclass

import gast

from autograph._passes.nodes import Context, assign, constant, copied, load, negation
from autograph._passes.static_tests import is_static_test

REDUCTIONS = frozenset({"sum", "max", "min", "any", "all"})
_VIEWS = ("items", "keys", "values")
_DISPLAYS = (
    gast.List,
    gast.Tuple,
    gast.Set,
    gast.Dict,
    gast.Constant,
    gast.JoinedStr,
    gast.ListComp,
    gast.SetComp,
    gast.DictComp,
)


@dataclass
class Reduction:
    """One call of a builtin on a generator expression.

    Attributes:
      call: the call.
      option: what ``sum`` starts with, or ``max`` and ``min`` give of nothing, if that is said.
    """

    call: gast.AST
    option: gast.AST | None = None

    @property
    def name(self) -> str:
        return self.call.func.id

    @property
    def generator(self) -> gast.AST:
        return self.call.args[0]

    def may_stage(self) -> bool:
        """Whether the loop may be a staged one, or its conditions traced, as far as can be seen."""
        return self.is_nested_or_conditional() or _may_stage(self.generator.generators[0].iter)

    def is_nested_or_conditional(self) -> bool:
        """Whether what it runs over does not tell if the loop is needed: a condition does, or a range inside."""
        _, *inner = self.generator.generators
        if any(_is_computed_range(each.iter) for each in inner):
            return True
        tests = [test for each in self.generator.generators for test in each.ifs]
        return self.name not in ("any", "all") and not all(map(is_static_test, tests))

    def as_it_was(self, items: str, option: str) -> gast.AST:
        """The call, with names for what the generator runs over, and for the option."""
        call = copied(self.call)
        call.args[0].generators[0].iter = load(items)
        if self.option is not None and call.keywords:
            call.keywords[0].value = load(option)
        elif self.option is not None:
            call.args[1] = load(option)
        return call

    def loop(self, context: Context, option: str) -> tuple[list[gast.AST], gast.AST, gast.AST]:
        """What stands before the loop, in it, and after it."""
        element = self.generator.elt
        if self.name in ("any", "all"):
            decides = self.name == "any"
            test = element if decides else negation(element)
            return [], gast.If(test, [gast.Return(constant(decides))], []), gast.Return(constant(not decides))
        given = [] if self.option is None else [load(option)]
        if self.name == "sum":
            found, start = context.names.new("total"), context.call("total")
            step, end = context.call("added", load(found), element), context.call("total_of", load(found), *given)
        else:
            found, start = context.names.new("best"), constant(None)
            step = context.call("better", load(self.name), load(found), element)
            end = context.call("best_of", load(self.name), load(found), *given)
        return [assign(found, start)], assign(found, step), gast.Return(end)


def reduction_of(call: gast.AST) -> Reduction | None:
    """The reduction that this call of a builtin is, if a loop can do the same."""
    if len(call.args) == 1 and not call.keywords:
        return Reduction(call)
    if call.func.id == "sum" and len(call.args) == 2 and not call.keywords:
        return None if isinstance(call.args[1], gast.Starred) else Reduction(call, call.args[1])
    option = {"sum": "start", "max": "default", "min": "default"}.get(call.func.id)
    if option is not None and len(call.args) == 1 and [keyword.arg for keyword in call.keywords] == [option]:
        return Reduction(call, call.keywords[0].value)
    return None


def _is_computed_range(node: gast.AST) -> bool:
    is_range = isinstance(node, gast.Call) and isinstance(node.func, gast.Name) and node.func.id == "range"
    return is_range and not all(isinstance(arg, gast.Constant) for arg in node.args)


def _may_stage(node: gast.AST) -> bool:
    if isinstance(node, gast.Call):
        if isinstance(node.func, gast.Attribute) and node.func.attr in _VIEWS:
            return False
        return any(not isinstance(arg, gast.Constant) for arg in node.args)
    return not isinstance(node, _DISPLAYS)
