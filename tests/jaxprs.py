"""Counts what a function became: its `cond`, `while` and `scan` equations, at any depth of its jaxpr."""

import collections
from collections.abc import Callable, Iterator
from typing import Any

import jax

LOOPS = ("while", "scan")


def equations(jaxpr: Any, inside: tuple[str, ...] = ()) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """Every equation, with the names of the equations that it is inside of."""
    for equation in jaxpr.eqns:
        yield equation, inside
        for parameter in equation.params.values():
            for nested in parameter if isinstance(parameter, tuple | list) else (parameter,):
                nested = getattr(nested, "jaxpr", nested)
                if hasattr(nested, "eqns"):
                    yield from equations(nested, (*inside, equation.primitive.name))


class Counts:
    """How many `conds`, `whiles`, `scans`, `loops` (the last two), `conds_in_loops`, equations in `total`."""

    def __init__(self, function: Callable[..., Any], *arguments: Any, static: tuple[int, ...] = ()):
        traced = jax.make_jaxpr(function, static_argnums=static)(*arguments)
        found = list(equations(traced.jaxpr))
        names = collections.Counter(equation.primitive.name for equation, _ in found)
        self.jaxpr = traced
        self.total = len(found)
        self.conds, self.whiles, self.scans = names["cond"], names["while"], names["scan"]
        self.loops = self.whiles + self.scans
        self.conds_in_loops = sum(
            equation.primitive.name == "cond" and any(name in LOOPS for name in inside) for equation, inside in found
        )
        self.deepest = max(
            (sum(name in LOOPS for name in (*inside, equation.primitive.name)) for equation, inside in found),
            default=0,
        )

    def __repr__(self) -> str:
        numbers = {name: value for name, value in vars(self).items() if name != "jaxpr"}
        return f"Counts({numbers})\n{self.jaxpr}"
