"""Generate expressions of a given type over the variables that are defined."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

# Types by one letter: int, float, bool, a vector of floats, a vector of ints, a matrix of floats; and three that are
# read in one way only: an int or a float, a float or a vector, an int or None.
INT, FLOAT, BOOL, FLOATS, INTS, MATRIX = "i", "f", "b", "v", "w", "m"
NUMBER, WIDE, OPTION = "n", "u", "o"
SCALARS = (INT, FLOAT, BOOL)
LENGTH = 3  # of every vector
ROWS = 2  # of every matrix
PERCENT = ("'%d'", "'%5d.'", "'%-4i.'", "'%+d'", "'%s-'", "'%x'", "'%03d%%'")


def _whole(number: str) -> str:
    """The expression of a number as a whole one: of some, how long a text of it is."""
    form = dict(enumerate(PERCENT)).get(len(number) % (2 * len(PERCENT)))
    return f"int({number})" if form is None else f"len({form} % int({number}))"


@dataclass
class Callee:
    """A function of the program that expressions may call.

    Attributes: text (how it is named), parameters (their types), returns, names (of those parameters that may be given
    by name), optional (how many of the last of them may be left out).
    """

    text: str
    parameters: tuple[str, ...]
    returns: str
    names: tuple[str, ...] = ()
    optional: int = 0


@dataclass
class Scope:
    """What may be read and written at one place.

    Attributes:
      types: each place that surely has a value, a name or ``box.a`` or ``items[0]``, and its type.
      fixed: those of them that may not be written here.
      callees: functions that may be called.
    """

    types: dict[str, str] = field(default_factory=dict)
    fixed: frozenset[str] = frozenset()
    callees: list[Callee] = field(default_factory=list)

    def copy(self) -> Scope:
        return Scope(dict(self.types), self.fixed, list(self.callees))

    def readable(self, kind: str) -> list[str]:
        return [name for name, type in self.types.items() if type == kind]

    def writable(self, kind: str | None = None) -> list[str]:
        free = [name for name, type in self.types.items() if name not in self.fixed and type != WIDE]
        return free if kind is None else [name for name in free if self.types[name] == kind]


class Expressions:
    """Attributes: random (the program's own numbers), scope (where the next expression will stand), features (what
    else this program is to hold)."""

    def __init__(self, numbers: random.Random) -> None:
        self.random = numbers
        self.scope = Scope()
        self.features: frozenset[str] = frozenset()

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def expression(self, kind: str, depth: int = 2) -> str:
        """An expression of this type; vectors are always new ones, so that no two names hold one array."""
        if kind in (FLOATS, INTS):
            return self.vector(kind, depth)
        if depth <= 0 or self.chance(0.2):
            return self.leaf(kind)
        makers = {INT: self._ints, FLOAT: self._floats, BOOL: self._bools}[kind]()
        common: list[tuple[int, Callable[[], str]]] = [
            (2, lambda: self._conditional(kind, depth)),
            (1, lambda: self._choice_of_value(kind, depth)),
            (2, lambda: self._call(kind, depth)),
        ]
        weights, functions = zip(*makers, *common, strict=True)
        return str(self.random.choices(functions, weights)[0]())

    def leaf(self, kind: str) -> str:
        names = self.scope.readable(kind)
        vectors = self.scope.readable({INT: INTS, FLOAT: FLOATS}.get(kind, ""))
        if vectors and self.chance(0.2):
            return f"{self.random.choice(vectors)}[{self.index()}]"
        matrices = self.scope.readable(MATRIX) if kind == FLOAT else []
        if matrices and self.chance(0.3):
            return f"{self.random.choice(matrices)}[{self.index(ROWS)}{self.random.choice((', ', ']['))}{self.index()}]"
        if names and self.chance(0.8):
            return self.random.choice(names)
        if kind == BOOL and self.chance(0.9):
            number = self.random.choice((INT, FLOAT))
            order = self.random.choice(("<", "<=", ">", ">=", "=="))
            return f"({self.leaf(number)} {order} {self.constant(number)})"
        return self.constant(kind)

    def constant(self, kind: str) -> str:
        if kind == INT:
            return str(self.random.randint(0, 4))
        if kind == FLOAT:
            return self.random.choice(("0.0", "0.5", "1.0", "1.5", "2.0", "-1.0", "-0.25"))
        if kind == BOOL:
            return self.random.choice(("True", "False"))
        fill = [self.constant(INT if kind == INTS else FLOAT) for _ in range(LENGTH)]
        return f"[{', '.join(fill)}]"

    def index(self, length: int = LENGTH) -> str:
        """An index that is always within a vector."""
        ints = self.scope.readable(INT)
        if ints and self.chance(0.6):
            return f"{self.random.choice(ints)} % {length}"
        return str(self.random.randint(-length, length - 1))

    # By type.

    def _ints(self) -> list[tuple[int, Callable[[], str]]]:
        e = self._operand
        pick = self.random.choice
        makers: list[tuple[int, Callable[[], str]]] = [
            (4, lambda: f"({e(INT)} + {e(INT)})"),
            (3, lambda: f"({e(INT)} - {e(INT)})"),
            (1, lambda: f"({e(INT)} * {pick(('2', '3', '-1'))})"),
            (1, lambda: f"({e(INT)} // {pick(('2', '3', '-2'))})"),
            (2, lambda: f"({e(INT)} % {pick(('2', '3', '5'))})"),
            (1, lambda: f"(-{e(INT)})"),
            (1, lambda: f"abs({e(INT)})"),
            (1, lambda: f"{pick(('min', 'max'))}({e(INT)}, {e(INT)})"),
            (1, lambda: _whole(e(pick((FLOAT, BOOL))))),
        ]
        if self.scope.readable(INTS):
            makers.append((1, lambda: f"sum({pick(self.scope.readable(INTS))})"))
        if "comprehensions" in self.features:
            makers.append((3, self._int_of_comprehension))
        if "masks" in self.features and self.scope.readable(INTS):
            makers.append((4, lambda: self._of_traced_length(INTS)))
        if options := self.scope.readable(OPTION):
            makers.append((3, lambda: f"({options[0]} if {options[0]} is not None else {e(INT)})"))
        return makers

    def _int_of_comprehension(self) -> str:
        e, pick = self._operand, self.random.choice
        texts = [
            f"[q + {e(INT)} for q in range(3)][{pick('012')}]",
            f"sum(q * 2 for q in ({e(INT)}, {e(INT)}))",
            f"sum([p - q for p in range(2) for q in ({e(INT)}, 1)])",
            f"{{q: q + {e(INT)} for q in (1, 2)}}[{pick('12')}]",
            f"max([q + {e(INT)} for q in range(3) if q != {pick('012')}])",
            f"len([q for q in range(4) if q != {pick('12')}])",
        ]
        for name in self.scope.readable(INTS):
            texts += [
                f"sum(q + {e(INT)} for q in {name})",
                f"sum([q * {e(INT)} for q in {name}][1:])",
                f"max(q * {pick(('2', '-1'))} for q in {name})",
                f"[q + 1 for q in {name}][{pick('012')}]",
                f"sum(p * q for p, q in zip({name}, range(3)))",
            ]
        return pick(texts)

    def _part(self, kind: str) -> str:
        """What a mask, a computed slice or computed indices take of a vector."""
        e, pick = self.leaf, self.random.choice
        element, name = (INT if kind == INTS else FLOAT), pick(self.scope.readable(kind))
        mask = f"{name} {pick(('<', '<=', '>', '!='))} {e(element)}"
        return pick(
            (
                f"{name}[{mask}]",
                f"{name}[{mask}][{pick(('1:', ':-1', '::-1'))}]",
                f"{name}[:{e(INT)}]",
                f"{name}[{e(INT)}:]",
                f"{name}[{e(INT)}:{e(INT)}]",
                f"{name}[np.nonzero({mask})[0]]",
            )
        )

    def _of_traced_length(self, kind: str) -> str:
        """A number made of an array whose length is known only at run time."""
        e, pick = self.leaf, self.random.choice
        part, number, element = self._part(kind), ("int" if kind == INTS else "float"), (INT if kind == INTS else FLOAT)
        texts = [
            f"{number}(np.sum({part}))",
            f"{number}(np.sum({part} * 2 - {e(element)}))",
            f"{number}(np.sum(np.sort({part})[:1]))",
            f"{number}(np.sum(np.cumsum({part})))",
            f"{number}(np.sum(np.unique({part})))",
            f"{number}(np.sum(np.concatenate([{part}, {self._part(kind)}])))",
            f"{number}(max({part}, default={e(element)}))",
            f"sum([q + {e(element)} for q in {part}], {self.constant(element)})",
        ]
        if kind == INTS:
            texts += [f"len({part})", f"int(np.sum({part} == {e(INT)}))", f"({e(INT)} if ({part} > 0).any() else 1)"]
        return pick(texts)

    def _floats(self) -> list[tuple[int, Callable[[], str]]]:
        e = self._operand
        pick = self.random.choice
        makers: list[tuple[int, Callable[[], str]]] = [
            (4, lambda: f"({e(FLOAT)} + {e(pick((FLOAT, FLOAT, INT)))})"),
            (3, lambda: f"({e(FLOAT)} - {e(FLOAT)})"),
            (2, lambda: f"({e(FLOAT)} * {pick(('0.5', '2', '-1.0'))})"),
            (1, lambda: f"({e(pick((FLOAT, INT)))} / {pick(('2', '4', '-2.0'))})"),
            (1, lambda: f"({e(FLOAT)} % 2.0)"),
            (1, lambda: f"(-{e(FLOAT)})"),
            (1, lambda: f"abs({e(FLOAT)})"),
            (1, lambda: f"{pick(('min', 'max'))}({e(FLOAT)}, {e(FLOAT)})"),
            (1, lambda: f"float({e(INT)})"),
        ]
        if self.scope.readable(FLOATS):
            makers.append((1, lambda: f"{pick(self.scope.readable(FLOATS))}.sum()"))
        if self.scope.readable(NUMBER):
            makers.append((4, lambda: f"({pick(self.scope.readable(NUMBER))} * 1.0)"))
        if "smooth" in self.features:
            makers += [
                (3, lambda: f"({e(FLOAT)} * {e(FLOAT)})"),
                (2, lambda: f"np.{pick(('sin', 'cos', 'tanh'))}({e(FLOAT)})"),
                (1, lambda: f"np.sqrt(1.0 + {e(FLOAT)} ** 2)"),
                (1, lambda: f"({e(FLOAT)} / (1.0 + abs({e(FLOAT)})))"),
            ]
        vectors = self.scope.readable(FLOATS)
        if vectors and "masks" in self.features:
            makers.append((4, lambda: self._of_traced_length(FLOATS)))
        if vectors and "comprehensions" in self.features:
            makers.append((2, lambda: f"max(q - {e(FLOAT)} for q in {pick(vectors)})"))
            makers.append((2, lambda: f"sum([q + {e(FLOAT)} for q in {pick(vectors)}])"))
        return makers

    def _bools(self) -> list[tuple[int, Callable[[], str]]]:
        e = self._operand
        pick = self.random.choice
        order = ("<", "<=", ">", ">=", "==", "!=")

        def compare() -> str:
            kind = pick((INT, INT, FLOAT))
            return f"{e(kind)} {pick(order)} {e(kind)}"

        return [
            (6, compare),
            (1, lambda: f"{e(INT)} {pick(('<', '<='))} {e(INT)} {pick(('<', '<='))} {e(INT)}"),
            (1, lambda: f"{e(FLOAT)} {pick(order[:4])} {e(FLOAT)} {pick(order[:4])} {e(FLOAT)}"),
            (2, lambda: f"({e(BOOL)} {pick(('and', 'or'))} {e(BOOL)})"),
            (2, lambda: f"(not {e(BOOL)})"),
            (1, lambda: f"{e(INT)} {pick(('in', 'not in'))} (0, 1, {e(INT)})"),
            (1, lambda: f"bool({e(INT)})"),
            *self._other_bools(),
        ]

    def _other_bools(self) -> list[tuple[int, Callable[[], str]]]:
        e, pick = self._operand, self.random.choice
        ints, options, numbers = (self.scope.readable(kind) for kind in (INTS, OPTION, NUMBER))
        makers: list[tuple[int, Callable[[], str]]] = []
        if ints and "comprehensions" in self.features:
            makers.append((2, lambda: f"{pick(('any', 'all'))}(q > {e(INT)} for q in {pick(ints)})"))
        if options:
            makers.append((2, lambda: f"({pick(options)} is {pick(('', 'not '))}None)"))
        if numbers:
            makers.append((2, lambda: f"{pick(numbers)} {pick(('<', '<=', '>', '!='))} {e(FLOAT)}"))
        return makers

    def vector(self, kind: str, depth: int) -> str:
        element = {FLOATS: FLOAT, INTS: INT}[kind]
        names = self.scope.readable(kind)
        one = self.random.choice(names)
        choices: list[Callable[[], str]] = [
            lambda: f"{one} + {self._operand(element, depth - 1)}",
            lambda: f"{one} * {self.random.choice(('2', '-1'))}",
            lambda: f"{one} - {self.random.choice(names)}",
            lambda: f"-{one}",
            lambda: f"({one} + 1 if {self.condition(1)} else {self.random.choice(names)} * 2)",
            lambda: f"{one}[::-1] + 0",
        ]
        if kind == FLOATS:
            wide, matrices = self.scope.readable(WIDE), self.scope.readable(MATRIX)
            if wide:
                choices.append(lambda: f"{self.random.choice(wide)} + {one} * 0")
            if matrices:
                choices.append(lambda: f"{self.random.choice(matrices)}[{self.index(ROWS)}] + 0")
                choices.append(lambda: f"{self.random.choice(matrices)}.sum(axis=0)")
        return self.random.choice(choices)()

    # What every type has.

    def condition(self, depth: int = 2) -> str:
        """The test of a statement: usually a bool, sometimes a number."""
        if self.chance(0.07):
            return self._operand(INT, depth - 1)
        return self.expression(BOOL, depth)

    def _operand(self, kind: str, depth: int = 1) -> str:
        text = self.expression(kind, depth if self.chance(0.4) else 0)
        return f"({text})" if " " in text and not (text[0] in "(" and _closes_at_end(text)) else text

    def _conditional(self, kind: str, depth: int) -> str:
        return f"({self._operand(kind)} if {self.condition(depth - 1)} else {self._operand(kind)})"

    def _choice_of_value(self, kind: str, depth: int) -> str:
        return f"({self._operand(kind)} {self.random.choice(('and', 'or'))} {self._operand(kind)})"

    def _call(self, kind: str, depth: int) -> str:
        callees = [callee for callee in self.callable_here() if callee.returns == kind]
        if not callees:
            return self.leaf(kind)
        return self.call_text(self.random.choice(callees))

    def callable_here(self) -> list[Callee]:
        """The callees whose vector arguments can be made of the vectors that there are."""
        kinds = set(self.scope.types.values())
        return [c for c in self.scope.callees if all(k in kinds or k in SCALARS for k in c.parameters)]

    def call_text(self, callee: Callee) -> str:
        arguments = [self.argument(kind) for kind in callee.parameters]
        if callee.optional and self.chance(0.4):
            del arguments[len(arguments) - self.random.randint(1, callee.optional) :]
        if callee.names and self.chance(0.5):
            position = self.random.randrange(len(arguments)) if arguments else 0
            named = list(zip(callee.names, arguments, strict=False))[position:]
            self.random.shuffle(named)
            arguments[position:] = [f"{name}={text}" for name, text in named]
        return f"{callee.text}({', '.join(arguments)})"

    def argument(self, kind: str) -> str:
        if kind in (FLOATS, INTS):
            return self.vector(kind, 1)
        return self._operand(kind)


def _closes_at_end(text: str) -> bool:
    """Whether the parenthesis that opens the text is the one that ends it."""
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return position == len(text) - 1
    return False
