"""Programs in which a variable is a number on one path, and a text, a tuple, a constant, None or an object on another."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections import deque
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np


class Mode(enum.Enum):
    OPEN = 1
    SHUT = 2


class Pair(NamedTuple):
    first: float
    second: float


@dataclasses.dataclass
class Box:
    side: float

    def area(self):
        return self.side * self.side

    def grow(self, by):
        self.side += by


class Circle:
    def __init__(self, radius):
        self.radius = radius

    def area(self):
        return 3 * self.radius


# Of a number.


def root(x):
    if x < 0:
        return "no real root"
    return math.sqrt(x)


def told_apart(x):
    v = x if x > 0 else "negative"
    if isinstance(v, str):
        return v + "!"
    return v + 1


def compared(x):
    v = x if x > 0 else "negative"
    w = x if x > 1 else "negative"
    return v == "negative", v != "negative", v is None, not v, v == w, v in ("negative", 4.0)


def unpacked(x):
    v = (x, 1) if x > 0 else x
    if isinstance(v, tuple):
        a, b = v
        return a + b
    return -v


def of_the_wrong_kind(x):
    v = x if x > 0 else "negative"
    return v + 1


def of_the_wrong_kind_on_the_right(x):
    v = x if x > 0 else "negative"
    return x * 2 + v


def caught(x):
    try:
        v = x if x > 0 else "abc"
        return v / 2
    except TypeError:
        return -99.0


def shown(x):
    v = x > 2 or "no"
    w = Mode.OPEN if x > 0 else 7
    return f"{w}: {v}", str(w)


def constants(x):
    v = Mode.OPEN if x > 0 else "none"
    w = Mode.SHUT if x > 3 else 0
    g = max if x > 0 else "none"
    return v, w, v is Mode.OPEN, w is Mode.SHUT, g(x, 2.0) if callable(g) else g


def named_tuple_or_more(x):
    v = Pair(x, 1.0) if x > 0 else (x, 1.0, 2.0)
    return len(v), v[0], v[-1], sum(v)


def objects(x):
    box, circle = Box(1.0), Circle(2.0)
    v = box if x > 3 else circle if x > 0 else x
    if isinstance(v, Box | Circle):
        return v.area()
    return v


def written_object(x):
    box = Box(1.0)
    v = box if x > 0 else "none"
    if isinstance(v, Box):
        v.grow(x)
    return box.side, v.side if isinstance(v, Box) else len(v)


def two_names(x):
    if x > 0:
        v = Box(x)
        w = v
    else:
        v = "none"
        w = v
    if isinstance(v, Box):
        v.side = 9.0
    return w.side if isinstance(w, Box) else 0.0


def matched(x):
    v = (x, 1) if x > 0 else "12" if x < -1 else None
    match v:
        case (a, b):
            return a + b
        case None:
            return -1.0
        case str(s):
            return float(s)


def nested(x):
    v = x if x > 0 else "negative"
    w = v if x > 3 else ("t", v)
    return {"v": [v, (v, 1)], "w": w}


def five_results(x):
    if x > 4:
        return "large"
    if x > 3:
        return x, "one"
    if x > 2:
        return None
    if x > 1:
        return Mode.SHUT
    return x


def of_five_results(x):
    found = five_results(x)
    if found is None:
        return "none"
    if isinstance(found, tuple):
        return found[1]
    if found in ("large", Mode.SHUT):
        return 0
    return found + 1


def divided(x):
    def over(a, b):
        return "division by zero" if b == 0 else a / b

    return [over(x, 2.0), over(x, x - 4)]


def array_or_text(x):
    v = jnp.arange(3.0) * x if x > 0 else "none"
    if isinstance(v, str):
        return 0.0
    total = 0.0
    for each in v:
        total += each
    return total + v[1] + v.sum() + len(v)


def rebound(x):
    v = 3.0
    if x > 0:
        v = "a"
    if x > 2:
        v += "b"
    return v


def of_a_closure(x):
    held = {"v": x if x > 0 else "negative"}

    def read():
        return held["v"]

    return read(), [read()] * 2


OF_NUMBERS = [
    *(root, told_apart, compared, unpacked, of_the_wrong_kind, of_the_wrong_kind_on_the_right, caught, constants),
    *(named_tuple_or_more, objects, written_object, two_names, matched, nested, five_results, of_five_results, divided),
    *(array_or_text, rebound, of_a_closure),
]


# Of an integer.


def fizz_buzz(n):
    out = []
    for i in range(n):
        if i % 3 == 0 and i % 5 == 0:
            out.append("FizzBuzz")
        elif i % 3 == 0:
            out.append("Fizz")
        elif i % 5 == 0:
            out.append("Buzz")
        else:
            out.append(i)
    return out


def mixed(n):
    out = []
    for i in range(n):
        out.append("a" if i % 2 else i)
    return out


def uses_of_a_list(n):
    out = mixed(n)
    total = 0
    for v in out:
        if isinstance(v, str):
            total += len(v) * 100
        else:
            total += v
    found = "a" in out, 2 in out, "b" in out, out.count("a"), out.count(2)
    return total, len(out), found, out[::-1], out[1:] + ["z"], out == [0, "a", 2], [str(v) for v in out]


def changed_list(n):
    out = mixed(n)
    out.append((n, 2))
    out[0] = "first"
    for i, v in enumerate(out):
        if v == "a":
            out[i] = i * 10
    return out, [v for v in out if isinstance(v, str)], {"x": tuple(out)}


def polish(n):
    stack = []
    for token in ["3", "4", "+", "2", "*"]:
        if token.isdigit():
            stack.append(int(token) + n)
        else:
            b, a = stack.pop(), stack.pop()
            stack.append(a + b if token == "+" else a * b)
    return stack[0]


def tokens(n):
    text, out, i = f"{n}+12*2", [], 0
    while i < len(text):
        if text[i].isdigit():
            j = i
            while j < len(text) and text[j].isdigit():
                j += 1
            out.append(int(text[i:j]))
            i = j
        else:
            out.append(text[i])
            i += 1
    return out


def in_turn(n):
    v = 0
    for i in range(n):
        if i == 2:
            v = "two"
        elif i == 4:
            v = (i, i)
        elif i == 6:
            v = None
    return v


def until_done(n):
    while n != "done":
        n = n - 1 if n > 0 else "done"
    return n


def factorial(n):
    if n < 0:
        return "undefined"
    if n == 0:
        return 1
    return n * factorial(n - 1)


def keys(n):
    counts, seen = {}, set()
    for i in range(n):
        key = "odd" if i % 2 else i
        counts[key] = counts.get(key, 0) + 1
        seen.add(key)
    return counts, len(seen), "odd" in seen, 2 in seen


def queue(n):
    waiting, steps = deque([n, "start"]), 0
    while waiting:
        v = waiting.popleft()
        steps += 1
        if isinstance(v, str):
            continue
        if v > 0:
            waiting.append(v - 1)
            waiting.append("step")
    return steps


def looked_up(n):
    table = ["a", 1, 2.5, None, (1, 2)]
    return table[n % 5], {0: "zero", 1: 1}.get(n, "none")


def rows(n):
    found = []
    for i in range(n):
        found.append((i, "odd" if i % 2 else i * 10))
    return found, [row[1] for row in found]


def beside_numbers(n):
    name = "a" if n > 1 else "b"
    one, other = "none", 3
    for i in range(4):
        one, other = other, one
        if n < i:
            one = "bc" if i == 1 else "none"
    return one == other, n == name, name != n, n in ("q", name), [n] == [name], (n, 1) == (name, 1)


OF_INTEGERS = [
    *(fizz_buzz, uses_of_a_list, changed_list, polish, tokens, in_turn, until_done, factorial, keys, queue, looked_up),
    *(rows, beside_numbers),
]


# Of an array.


def best(xs):
    found = "none"
    for x in xs:
        if found == "none" or x > found:
            found = x
    return found


def machine(xs):
    state, log = ("idle",), []
    for x in xs:
        if state[0] == "idle":
            if x > 1:
                state = ("run", x)
        elif state[0] == "run":
            state = ("idle",) if x < 0 else ("run", state[1] + x)
        log.append(state[0])
    return state, log


def comprehended(xs):
    marked = [("negative" if x < 0 else x) for x in xs]
    return marked, sum(v for v in marked if not isinstance(v, str)), {i: v for i, v in enumerate(marked)}  # noqa: C416


OF_ARRAYS = [best, machine, comprehended]

CASES = [
    *((program, x) for program in OF_NUMBERS for x in (4.0, 1.5, -1.0, 2.5, 5.0)),
    *((program, n) for program in OF_INTEGERS for n in (0, 1, 3, 7)),
    *((program, np.array(xs, np.float32)) for program in OF_ARRAYS for xs in ([1.0, 3.0, 2.0], [2.0, -3.0, -1.0])),
]
