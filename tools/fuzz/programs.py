"""Generate well-typed programs with inputs; the program number is the seed."""

from __future__ import annotations

import math
import random
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograph.tools.fuzz.alias_state import PREAMBLE_OF_ARRAYS, PREAMBLE_OF_ROWS, PREAMBLE_OF_VARIABLES
from autograph.tools.fuzz.blocks import Blocks
from autograph.tools.fuzz.class_state import PREAMBLE_OF_CLASSES
from autograph.tools.fuzz.container_state import CONTAINER_FEATURES, PREAMBLE
from autograph.tools.fuzz.exception_state import PREAMBLE_OF_EXCEPTIONS
from autograph.tools.fuzz.expressions import (
    BOOL,
    FLOAT,
    FLOATS,
    INT,
    INTS,
    LENGTH,
    MATRIX,
    NUMBER,
    OPTION,
    ROWS,
    SCALARS,
    WIDE,
    Callee,
    Scope,
)
from autograph.tools.fuzz.function_state import PREAMBLE_OF_FUNCTIONS
from autograph.tools.fuzz.pattern_state import PREAMBLE_OF_PATTERNS
from autograph.tools.fuzz.traced_keys import PREAMBLE_OF_KEYS
from autograph.tools.fuzz.value_state import PREAMBLE_OF_VALUES

INPUTS = 6  # tried for each program
_PARAMETERS = {"n": INT, "m": INT, "x": FLOAT, "y": FLOAT, "c": BOOL, "v": FLOATS, "w": INTS, "a": MATRIX}
# What a program may hold beside assignments, conditionals, loops and jumps; each is in about a fifth of them.
FEATURES = (
    "try", "match", "with", "some paths", "lists", "unpacking", "promotion", "none", "del", "prints", "containers",
    "widening", "comprehensions", "operators", "global", "defaults", "property", "aliases", "keywords",
    "list state", "dict state",
)  # fmt: skip
_NAMES = ("rows by several names", "selected variables", "arrays by several names")
_OF_CONTAINERS = (
    *CONTAINER_FEATURES, "traced keys", "long loops", "values", "classes", "functions", "patterns", "exceptions", *_NAMES
)  # fmt: skip
# Further ones, and in how many. Each is drawn by a seed of its own, so that the programs without it are what they were.
_DRAWN_APART = (
    {"generators": 0.17, "recursion": 0.1, "handlers": 0.17, "masks": 0.17}
    | dict.fromkeys(CONTAINER_FEATURES, 0.08)
    | {"traced keys": 0.15, "long loops": 0.06, "values": 0.15, "classes": 0.12, "functions": 0.12, "patterns": 0.12}
    | dict.fromkeys(_NAMES, 0.08)
    | {"exceptions": 0.12}
)

_PREAMBLES = {
    "traced keys": PREAMBLE_OF_KEYS,
    "values": PREAMBLE_OF_VALUES,
    "classes": PREAMBLE_OF_CLASSES,
    "functions": PREAMBLE_OF_FUNCTIONS,
    "patterns": PREAMBLE_OF_PATTERNS,
    "exceptions": PREAMBLE_OF_EXCEPTIONS,
    "rows by several names": PREAMBLE_OF_ROWS,
    "selected variables": PREAMBLE_OF_VARIABLES,
    "arrays by several names": PREAMBLE_OF_ARRAYS,
}


@dataclass(frozen=True)
class Program:
    """A module's text, in which the function is ``f``, and the inputs to try it on."""

    seed: int
    source: str
    inputs: tuple[tuple[Any, ...], ...]


def make_program(seed: int, smooth: bool = False, features: Collection[str] | None = None) -> Program:
    """The program of this number.

    Args:
      smooth: whether its floats go through more than piecewise linear functions.
      features: what it may hold beside assignments, conditionals, loops and jumps; drawn by the number if None.
    """
    numbers = random.Random(seed)
    writer = _ProgramWriter(numbers)
    writer.smooth = smooth
    writer.given = features
    writer.apart = frozenset(
        name for k, (name, share) in enumerate(_DRAWN_APART.items(), 2) if random.Random(seed + k).random() < share
    )
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
    shape = (ROWS, LENGTH) if kind == MATRIX else (LENGTH,)
    return np.array([numbers.randint(-8, 8) / 4 for _ in range(math.prod(shape))], np.float32).reshape(shape)


_SPAN = """\
class Span:
    def __init__(self, total):
        self.depth = 0
        self.total = total

    def __enter__(self):
        self.depth += 1
        return self

    def __exit__(self, *error):
        self.depth -= 1
        self.total += 1
        return False


"""

_POINT = """\
class Point(NamedTuple):
    x: float
    k: int


"""

_PROPERTY = """
    @property
    def twice(self):
        return self.a * 2

    @twice.setter
    def twice(self, value):
        self.a = value if value < 3 else value - 1
"""

_AROUND = """

def f({0}):
    {1}
    result = body({0})
    {2}
    return result
"""


class _ProgramWriter(Blocks):
    """Writes a module: perhaps classes and helper functions, and ``f``.

    Attributes: smooth (whether it is for its gradients), apart (its features of those that are `_DRAWN_APART`), given (all of its features;
    None if they are drawn).
    """

    smooth = False
    given: Collection[str] | None = None
    apart: frozenset[str] = frozenset()

    def module(self, parameters: tuple[str, ...]) -> str:
        self.features = frozenset(name for name in FEATURES if self.chance(0.17))
        self.features |= self.apart
        if self.given is not None:
            self.features = frozenset(self.given)
        self.raises = self.chance(0.1)
        if self.smooth:
            self.features = self.features - {
                "prints",
                "global",
                "handlers",
                "long loops",
                "values",
                "classes",
                "functions",
                "patterns",
                "exceptions",
                *_NAMES,
            } | {"smooth"}
            self.raises = False
        self.budget = self.random.choice((6, 10, 14, 20))
        if self.features & set(_OF_CONTAINERS):
            self.lines += PREAMBLE.splitlines()
        for feature, preamble in _PREAMBLES.items():
            if feature in self.features:
                self.lines += preamble.splitlines()
        has_box = self.chance(0.3) or bool(self.features & {"property", "aliases"})
        if has_box:
            self._box_class()
        if "with" in self.features:
            self.lines += _SPAN.splitlines()
        if "containers" in self.features:
            self.lines += _POINT.splitlines()
        callees: list[Callee] = []
        if "global" in self.features:
            callees.append(self._global())
        for number in range(self.random.choice((0, 0, 1, 1, 2))):
            callees.append(self._helper(f"h{number}", callees))
        if "recursion" in self.features:
            callees.append(self._recursive(callees))
        self._main(parameters, callees, has_box)
        if self._has_outside_state:
            has_global, has_class = "global" in self.features, "exceptions" in self.features
            first = ["global total"] * has_global + ["Failed.made = 0"] * has_class
            last = ["total = 0"] * has_global + ["Failed.made = 0"] * has_class
            self.lines += _AROUND.format(", ".join(parameters), "\n    ".join(first), "\n    ".join(last)).splitlines()
        return "\n".join(self.lines) + "\n"

    @property
    def _has_outside_state(self) -> bool:
        """Whether it writes to a global or a class, which is to be as before when ``f`` has returned: the next call would read it."""
        return bool(self.features & {"global", "exceptions"})

    def _box_class(self) -> None:
        self.line("class Box:")
        with self.indented():
            self.line("def __init__(self, a, b):")
            with self.indented():
                self.line("self.a = a")
                self.line("self.b = b")
                self.line("self.inner = [a, 0]")
            self.line("")
            self.line("def bump(self, d):")
            scope = Scope({"self.a": INT, "self.b": FLOAT, "d": INT})
            self.body(scope, (INT,), self.random.randint(1, 3), depth=2)
        if "property" in self.features:
            self.lines += _PROPERTY.splitlines()
        self.line("")
        self.line("")

    def _helper(self, name: str, callees: list[Callee]) -> Callee:
        kinds = tuple(self.random.choice((INT, FLOAT, INT, BOOL, FLOATS)) for _ in range(self.random.randint(1, 3)))
        returns = self.random.choice(SCALARS)
        parameters = [f"p{position}" for position in range(len(kinds))]
        optional, declared = 0, list(parameters)
        if "defaults" in self.features and kinds[-1] in SCALARS:
            optional = 1
            declared[-1] += f"={self.constant(kinds[-1])}"
            if self.chance(0.3):
                declared.insert(-1, "*")
        self.line(f"def {name}({', '.join(declared)}):")
        # A vector written to here would be the caller's in NumPy.
        vectors = frozenset(p for p, kind in zip(parameters, kinds, strict=True) if kind in (FLOATS, INTS))
        scope = Scope(dict(zip(parameters, kinds, strict=True)), vectors, list(callees))
        self.body(scope, (returns,), self.random.randint(1, 4), depth=2)
        self.line("")
        self.line("")
        if "*" in declared:  # the last is given by name, which is what `call_text` does only sometimes
            self.line(f"def {name}_({', '.join(parameters)}):")
            with self.indented():
                self.line(f"return {name}({', '.join([*parameters[:-1], f'{parameters[-1]}={parameters[-1]}'])})")
            self.line("")
            self.line("")
            return Callee(f"{name}_", kinds, returns)
        return Callee(name, kinds, returns, tuple(parameters) if "keywords" in self.features else (), optional)

    def _recursive(self, callees: list[Callee]) -> Callee:
        """A helper that calls itself, at most four calls deep, perhaps through another; and perhaps keeps count."""
        kind, returns = self.random.choice((INT, FLOAT)), self.random.choice((INT, FLOAT))
        counts = self.chance(0.4)
        name, other = "again", "other_way" if self.chance(0.25) else "again"
        self.line("def recursed(p0, p1):")
        with self.indented():
            if counts:
                self.line("calls = 0")
            self._level(name, other, kind, returns, counts, callees)
            if other != name:
                self._level(other, name, kind, returns, counts, callees)
            self.line(f"ended = {name}(p0 % 5, p1)")
            self.line("return ended + calls" if counts else "return ended")
        self.line("")
        self.line("")
        return Callee("recursed", (INT, kind), returns)

    def _level(self, name: str, other: str, kind: str, returns: str, counts: bool, callees: list[Callee]) -> None:
        self.scope = scope = Scope({"left": INT, "p1": kind}, callees=list(callees))
        scope.fixed |= {"left"}
        first = ["nonlocal calls", f"calls += {self.constant(INT)}"] if counts else []
        first += ["if left <= 0:", f"    return {self.expression(returns, 1)}"]
        if self.chance(0.3):  # its result is that of the call
            first += [f"if {self.expression(BOOL, 1)}:", f"    return {other}(left - 1, {self.argument(kind)})"]
        first.append(f"found = {other}(left - 1, {self.argument(kind)})")
        scope.types["found"] = returns
        if self.chance(0.5):
            first += [
                f"if {self.expression(BOOL, 1)}:",
                f"    found = found + {other}(left - 2, {self.argument(kind)})",
            ]
        self.line("@ag.recursion_limit(50)")  # for a bare jax.jit
        self.line(f"def {name}(left, p1):")
        self.body(scope, (returns,), self.random.randint(1, 3), depth=1, first=first)
        self.line("")

    def _global(self) -> Callee:
        self.line("total = 0")
        self.line("")
        self.line("")
        self.line("def bump_total(p0):")
        self.body(Scope({"total": INT, "p0": INT}), (INT,), 2, depth=2, first=["global total"])
        self.line("")
        self.line("")
        return Callee("bump_total", (INT,), INT)

    def _main(self, parameters: tuple[str, ...], callees: list[Callee], has_box: bool) -> None:
        name = "body" if self._has_outside_state else "f"
        self.line(f"def {name}({', '.join(parameters)}):")
        scope = Scope({name: _PARAMETERS[name] for name in parameters}, callees=list(callees))
        with self.indented():
            self.scope = scope
            if "global" in self.features:
                self.line("global total")
                self.line(f"total = {self.constant(INT)}")
                scope.types["total"] = INT
            if "prints" in self.features:
                self.line("mark = n * 0")
                scope.types["mark"] = INT
                scope.fixed |= {"mark"}
            for _ in range(self.random.randint(1, 3)):
                kind = self.random.choice((INT, FLOAT, INT, BOOL))
                self.assign_new(kind, self.constant(kind) if self.chance(0.6) else None)
            for kind in (FLOATS, INTS):
                if scope.readable(kind) and self.chance(0.3):
                    self.assign_new(kind)
            self._objects(scope, has_box)
            if self.chance(0.15):
                self._lambda(scope)
            if self.chance(0.3):
                self._closure(scope)
        self.budget = max(self.budget, 5)
        returns = [self.random.choice((*SCALARS, INT)) for _ in range(self.random.randint(1, 3))]
        returns += [kind for kind in (FLOATS, INTS, MATRIX) if scope.readable(kind)]
        shown = [place for place in scope.types if "." in place or "[" in place or place == "total"]
        self.always_returned = (*scope.writable(INT)[-1:], *shown)
        if self.features & {*_OF_CONTAINERS, "list state", "dict state", "promotion", "none"}:
            self.notes = True
            self.always_returned += ("noted",)
        self.body(scope, tuple(returns), self.random.randint(2, 6), depth=4, first=["noted = 0"] if self.notes else ())

    def _objects(self, scope: Scope, has_box: bool) -> None:
        """What ``f`` has beside variables, under names that statements know."""
        aliases = "aliases" in self.features
        if has_box:
            self.line(f"box = Box({self.argument(INT)}, {self.argument(FLOAT)})")
            scope.types |= {"box.a": INT, "box.b": FLOAT, "box.inner[0]": INT, "box.inner[1]": INT}
            scope.callees.append(Callee("box.bump", (INT,), INT))
            if "property" in self.features:
                scope.types["box.twice"] = INT
            if aliases:
                self.line("twin = box")
                scope.types |= {"twin.a": INT, "twin.inner[1]": INT}
        if "containers" in self.features or aliases or self.chance(0.1):
            self.line(f"items = [{self.argument(INT)}, {self.argument(INT)}]")
            scope.types |= {"items[0]": INT, "items[1]": INT}
            if aliases:
                self.line("other = items" if self.chance(0.5) else "other = [items, 0]")
                scope.types["other[0]" if self.lines[-1].endswith("= items") else "other[0][1]"] = INT
        if "containers" in self.features or self.chance(0.1):
            self.line(f'table = {{"p": {self.argument(FLOAT)}, "q": {self.argument(INT)}}}')
            scope.types |= {'table["p"]': FLOAT, 'table["q"]': INT}
        if "containers" in self.features:
            self.line(f"pair = ({self.argument(INT)}, {self.argument(INT)})")
            self.line(f"point = Point({self.argument(FLOAT)}, {self.argument(INT)})")
            scope.types |= {"pair[0]": INT, "pair[1]": INT, "point.x": FLOAT, "point.k": INT}
            scope.fixed |= {"pair[0]", "pair[1]", "point.x", "point.k"}
        if "with" in self.features:
            self.line(f"span = Span({self.argument(INT)})")
            scope.types |= {"span.depth": INT, "span.total": INT}

    def _lambda(self, scope: Scope) -> None:
        inner = scope.copy()
        inner.types = {"q": INT} | {name: kind for name, kind in scope.types.items() if "." not in name}
        self.scope = inner
        self.line(f"g = lambda q: {self.expression(INT, 2)}")
        self.scope = scope
        scope.callees.append(Callee("g", (INT,), INT))

    def _closure(self, scope: Scope) -> None:
        names = [name for name in scope.writable() if name.isalnum() and scope.types[name] in SCALARS]
        names = [name for name in names if name != "total"]
        written = sorted(self.random.sample(names, min(len(names), self.random.randint(1, 2))))
        parameters = {"d": self.random.choice((INT, FLOAT))}
        self.line(f"def add({', '.join(parameters)}):")
        inner = Scope(scope.types | parameters, frozenset(scope.types) - set(written), list(scope.callees))
        returns = self.random.choice((INT, FLOAT))
        inner.fixed |= {"pair", "point", "items", "table"}
        inner.types = {name: kind for name, kind in inner.types.items() if kind not in (NUMBER, OPTION, WIDE)}
        self.body(inner, (returns,), self.random.randint(1, 3), depth=2, first=[f"nonlocal {', '.join(written)}"])
        self.line("")
        self.scope = scope
        scope.callees.append(Callee("add", tuple(parameters.values()), returns))
