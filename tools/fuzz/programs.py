"""Random well-typed programs and inputs for them; program number k is a function of k."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograph.tools.fuzz.expressions import (
    BOOL,
    FLOAT,
    FLOATS,
    INT,
    INTS,
    LENGTH,
    SCALARS,
    Callee,
    Scope,
)
from autograph.tools.fuzz.statements import Statements

INPUTS = 6  # tried for each program
_PARAMETERS = {"n": INT, "m": INT, "x": FLOAT, "y": FLOAT, "c": BOOL, "v": FLOATS, "w": INTS}


@dataclass(frozen=True)
class Program:
    """A module's text, in which the function is ``f``, and the inputs to try it on."""

    seed: int
    source: str
    inputs: tuple[tuple[Any, ...], ...]


def make_program(seed: int) -> Program:
    """The program of this number."""
    numbers = random.Random(seed)
    writer = _ProgramWriter(numbers)
    names = [name for name in _PARAMETERS if name in ("n", "x") or numbers.random() < 0.4]
    source = writer.module(tuple(names))
    values = random.Random(seed + 1)
    inputs = tuple(tuple(_value(_PARAMETERS[name], values) for name in names) for _ in range(INPUTS))
    return Program(seed, source, inputs)


def _value(kind: str, numbers: random.Random) -> Any:
    if kind == INT:
        return np.int32(numbers.randint(-3, 6))
    if kind == FLOAT:
        return np.float32(numbers.randint(-12, 12) / 4)
    if kind == BOOL:
        return np.bool_(numbers.random() < 0.5)
    if kind == INTS:
        return np.array([numbers.randint(-3, 4) for _ in range(LENGTH)], np.int32)
    return np.array([numbers.randint(-8, 8) / 4 for _ in range(LENGTH)], np.float32)


class _ProgramWriter(Statements):
    """Writes a module: perhaps a class and helper functions, and ``f``."""

    def module(self, parameters: tuple[str, ...]) -> str:
        self.raises = self.chance(0.1)
        self.budget = self.random.choice((6, 10, 14, 20))
        has_box = self.chance(0.3)
        if has_box:
            self._box_class()
        callees: list[Callee] = []
        for number in range(self.random.choice((0, 0, 1, 1, 2))):
            callees.append(self._helper(f"h{number}", callees))
        self._main(parameters, callees, has_box)
        return "\n".join(self.lines) + "\n"

    def _box_class(self) -> None:
        self.line("class Box:")
        with self.indented():
            self.line("def __init__(self, a, b):")
            with self.indented():
                self.line("self.a = a")
                self.line("self.b = b")
            self.line("")
            self.line("def bump(self, d):")
            scope = Scope({"self.a": INT, "self.b": FLOAT, "d": INT})
            self.body(scope, (INT,), self.random.randint(1, 3), depth=2)
        self.line("")
        self.line("")

    def _helper(self, name: str, callees: list[Callee]) -> Callee:
        kinds = tuple(self.random.choice((INT, FLOAT, INT, BOOL, FLOATS)) for _ in range(self.random.randint(1, 3)))
        returns = self.random.choice(SCALARS)
        parameters = [f"p{position}" for position in range(len(kinds))]
        self.line(f"def {name}({', '.join(parameters)}):")
        # A vector written to here would be the caller's in NumPy.
        vectors = frozenset(p for p, kind in zip(parameters, kinds, strict=True) if kind in (FLOATS, INTS))
        scope = Scope(dict(zip(parameters, kinds, strict=True)), vectors, list(callees))
        self.body(scope, (returns,), self.random.randint(1, 4), depth=2)
        self.line("")
        self.line("")
        return Callee(name, kinds, returns)

    def _main(self, parameters: tuple[str, ...], callees: list[Callee], has_box: bool) -> None:
        self.line(f"def f({', '.join(parameters)}):")
        scope = Scope({name: _PARAMETERS[name] for name in parameters}, callees=list(callees))
        with self.indented():
            self.scope = scope
            for _ in range(self.random.randint(1, 3)):
                kind = self.random.choice((INT, FLOAT, INT, BOOL))
                self.assign_new(kind, self.constant(kind) if self.chance(0.6) else None)
            for kind in (FLOATS, INTS):
                if scope.readable(kind) and self.chance(0.3):
                    self.assign_new(kind)
            if has_box:
                self.line(f"box = Box({self.argument(INT)}, {self.argument(FLOAT)})")
                scope.types |= {"box.a": INT, "box.b": FLOAT}
                scope.callees.append(Callee("box.bump", (INT,), INT))
            if self.chance(0.2):
                self.line(f"items = [{self.argument(INT)}, {self.argument(INT)}]")
                scope.types |= {"items[0]": INT, "items[1]": INT}
            if self.chance(0.1):
                self.line(f'table = {{"p": {self.argument(FLOAT)}, "q": {self.argument(INT)}}}')
                scope.types |= {'table["p"]': FLOAT, 'table["q"]': INT}
            if self.chance(0.15):
                self._lambda(scope)
            if self.chance(0.3):
                self._closure(scope)
        self.budget = max(self.budget, 5)
        returns = [self.random.choice((*SCALARS, INT)) for _ in range(self.random.randint(1, 3))]
        returns += [kind for kind in (FLOATS, INTS) if scope.readable(kind)]
        shown = [place for place in scope.types if "." in place or "[" in place]
        self.always_returned = (*scope.writable(INT)[-1:], *shown)
        self.body(scope, tuple(returns), self.random.randint(2, 6), depth=4)

    def _lambda(self, scope: Scope) -> None:
        inner = scope.copy()
        inner.types = {"q": INT} | {name: kind for name, kind in scope.types.items() if "." not in name}
        self.scope = inner
        self.line(f"g = lambda q: {self.expression(INT, 2)}")
        self.scope = scope
        scope.callees.append(Callee("g", (INT,), INT))

    def _closure(self, scope: Scope) -> None:
        names = [name for name in scope.writable() if name.isalnum() and scope.types[name] in SCALARS]
        written = sorted(self.random.sample(names, min(len(names), self.random.randint(1, 2))))
        parameters = {"d": self.random.choice((INT, FLOAT))}
        self.line(f"def add({', '.join(parameters)}):")
        inner = Scope(scope.types | parameters, frozenset(scope.types) - set(written), list(scope.callees))
        returns = self.random.choice((INT, FLOAT))
        self.body(inner, (returns,), self.random.randint(1, 3), depth=2, first=[f"nonlocal {', '.join(written)}"])
        self.line("")
        self.scope = scope
        scope.callees.append(Callee("add", tuple(parameters.values()), returns))
