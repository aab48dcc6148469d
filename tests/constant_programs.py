"""Programs in which a string, a member of an enum, a class or a function is another one on each path."""

from __future__ import annotations

import enum

import jax
import jax.numpy as jnp

import autograph as ag


class Light(enum.Enum):
    RED = "red"
    GREEN = "green"
    YELLOW = "yellow"

    @property
    def seconds(self):
        return {"red": 30.0, "green": 20.0}.get(self.value, 5.0)


class Priority(enum.IntEnum):
    LOW = 1
    HIGH = 10


NEXT = {Light.RED: Light.GREEN, Light.GREEN: Light.YELLOW, Light.YELLOW: Light.RED}


def traffic_light(xs):
    light, reds, waited = Light.RED, 0, 0.0
    for v in xs:
        if v < -3:
            break
        if light is Light.RED:
            reds += 1
        waited += light.seconds * abs(v)
        light = NEXT[light]
    return light, reds, waited


def door(xs):
    mode, opened = "closed", 0
    for v in xs:
        if mode == "closed":
            if v > 0:
                mode = "open"
                opened += 1
        elif mode == "open":
            if v < 0:
                mode = "closed"
            elif v > 5:
                mode = "locked"
        elif v == 0:
            mode = "closed"
    return mode, opened


def number_reader(xs):
    state, total, numbers = "start", 0.0, 0
    for v in xs:
        match state:
            case "start":
                state = "number" if v > 0 else "start"
            case "number":
                total += v
                if v < 0:
                    state, numbers = "gap", numbers + 1
            case "gap" | "end":
                state = "end" if v == 0 else "number"
    return state, total, numbers


def operations_by_name(xs):
    operations = {"add": lambda a: a + 1, "triple": lambda a: a * 3, "negate": lambda a: -a}
    y = 1.0
    for v in xs:
        name = "add" if v > 3 else ("triple" if v > 1 else "negate")
        y = operations[name](y)
    return y, name


def function_by_condition(xs):
    wave = jnp.sin if xs[0] > 0 else jnp.cos
    bend = jax.nn.relu if xs[1] > 1 else jnp.tanh
    return wave(xs) + bend(xs)


def lambda_that_closes_over_values(xs):
    scale = xs[0]
    f = (lambda v: v * scale) if xs[1] > 0 else (lambda v: v + scale)
    return f(xs[2])


def methods_of_strings(xs):
    mode = "low" if xs[0] < 0 else "high"
    return mode.upper(), mode + "!", len(mode), mode[0], mode.startswith("h"), f"<{mode:>6}>", str(mode)


def membership(xs):
    mode = "low" if xs[0] < 0 else "high"
    return mode in ("low", "middle"), mode in "highest", "w" in mode, mode not in {"low": 1}, mode in {"high"}


def counts_by_name(xs):
    counts = {"negative": 0, "zero": 0, "positive": 0}
    for v in xs:
        name = "negative" if v < 0 else "positive" if v > 0 else "zero"
        counts[name] += 1
    return counts


def defaults_by_name(xs):
    mode = "low" if xs[0] < 0 else "high"
    return {"low": 1}.get(mode, -1), {"low": 1}.get(mode), {"low": 2, "high": 3}[mode]


def classes_of_constants(xs):
    mode = "low" if xs[0] < 0 else "high"
    light = Light.RED if xs[1] > 0 else Light.GREEN
    return isinstance(mode, str), type(mode) is str, isinstance(light, Light), isinstance(light, str)


def numbers_with_names(xs):
    p = Priority.LOW if xs[0] < 0 else Priority.HIGH
    return p, p + 1, p * xs[0], p > Priority.LOW, p is Priority.HIGH, p == 10


def nested_loops(xs):
    mode, seen = "a", 0
    for v in xs:
        for k in range(3):
            if v > k:
                mode = "b" if mode == "a" else "c" if mode == "b" else "a"
            if mode == "c":
                seen += 1
    return mode, seen


def phases_of_a_while_loop(xs):
    x, phase, steps = xs[0], "grow", 0
    while steps < 50:
        steps += 1
        if phase == "grow":
            x = x * 2
            if x > 100:
                phase = "shrink"
        elif phase == "shrink":
            x = x - 7
            if x < 3:
                phase = "stop"
        else:
            break
    return x, steps, phase


def none_until_seen(xs):
    last = None
    for v in xs:
        if v > 0:
            last = "positive"
        elif v < 0:
            last = "negative"
    return last, last is None, last == "positive"


def early_returns(xs):
    for v in xs:
        if v > 5:
            return "high"
        if v < -5:
            return "low"
    return "normal"


class Machine:
    def __init__(self):
        self.state = "idle"
        self.stops = 0

    def step(self, v):
        if self.state == "idle" and v > 0:
            self.state = "running"
        elif self.state == "running" and v < 0:
            self.state = "idle"
            self.stops += 1


def state_of_an_object(xs):
    machine = Machine()
    for v in xs:
        machine.step(v)
    return machine.state, machine.stops


def closure(xs):
    mode = "up"

    def turn(v):
        nonlocal mode
        if v < 0:
            mode = "down" if mode == "up" else "up"

    total = 0.0
    for v in xs:
        turn(v)
        total += v if mode == "up" else -v
    return total, mode


def names_in_a_list(xs):
    names = []
    for v in xs:
        names.append("p" if v > 0 else "n")
    return names


def name_in_a_dict(xs):
    state = {"mode": "idle", "n": 0}
    for v in xs:
        if v > 0 and state["mode"] != "on":
            state["mode"] = "on"
            state["n"] += 1
        elif v < 0:
            state["mode"] = "off"
    return state


def dtypes(xs):
    kind = jnp.float32 if xs[0] > 0 else jnp.int32
    return xs.astype(kind) + 0.5


def compared_with_each_other(xs):
    a = "low" if xs[0] < 0 else "high"
    b = "low" if xs[1] < 0 else "high"
    return a == b, a < b, a != b, a is b


def text_built_by_branches(xs):
    text = "abc"
    if xs[0] > 0:
        text = text.replace("a", "z")
    if xs[1] > 1:
        text = text + "q"
    return text, text == "zbcq", len(text)


def constants_in_a_tuple(xs):
    name, k = ("u", 1) if xs[0] > 0 else ("v", 2)
    return name, k


def rule_chosen_once(xs):
    rule = max if xs[0] > 0 else min
    best = xs[0]
    for v in xs:
        best = rule(best, v)
    return best


def tokens(xs):
    """A scanner over codes: digits are 0 to 9, 10 is a space, 11 a minus."""
    kind, value, sign, total = "space", 0.0, 1.0, 0.0
    for code in xs:
        if code == 10:
            if kind == "number":
                total += sign * value
            kind, value, sign = "space", 0.0, 1.0
        elif code == 11:
            kind, sign = "sign", -1.0
        else:
            value = value * 10 + code if kind == "number" else code
            kind = "number"
    if kind == "number":
        total += sign * value
    return total, kind


def elevator(xs):
    floor, direction, stops = 0, "up", 0
    for _ in ag.range(20):
        if direction == "up":
            floor += 1
            if floor >= 4:
                direction = "down"
        else:
            floor -= 1
            if floor <= 0:
                direction = "up"
        if xs[floor] > 0:
            stops += 1
    return floor, direction, stops


def a_function_around_a_chosen_one(xs):
    def less(v):
        return v - 1

    def half(v):
        return v / 2

    step = less if xs[0] > 0 else half

    def stepped(v):
        if v > 1:
            return step(v)
        return step(v + 1)

    return stepped(xs[0]), stepped(xs[1])


def a_loop_through_a_chosen_function(xs):
    def less(v):
        return v - 1

    def half(v):
        return v / 2

    step = less if xs[0] > 0 else half

    def stepped(v):
        return step(v) if v > 0 else v

    total = 0.0
    for k in ag.range(70):
        if total > 9:
            break
        total += stepped(k) + 1
    return total


def names_of_chosen_functions(xs):
    def less(v):
        "Subtract."
        return v - 1

    def half(v):
        "Divide."
        return v / 2

    step = less if xs[0] > 0 else half
    kind = Light if xs[1] > 0 else Priority
    last = step if xs[2] > 0 else None
    texts = f"{step.__name__}: {step.__doc__}", step.__qualname__.rpartition(".")[2], getattr(step, "__name__", "")
    is_here = step.__module__ == __name__
    return texts, is_here, kind.__name__, "none" if last is None else last.__name__


_OWN = [value for value in list(globals().values()) if getattr(value, "__module__", "") == __name__]
PROGRAMS = [value for value in _OWN if callable(value) and not isinstance(value, type)]
