"""Texts and tuples that grow, or differ by path, in dicts, attributes, tuples, and values that may be None."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import agrees_when_compiled, differences


class Writer:
    def __init__(self):
        self.out = ""

    def put(self, text):
        self.out += text


def in_a_dict(xs):
    state = {"text": "", "n": 0}
    for x in xs:
        if x > 0:
            state["text"] += "+"
        else:
            state["text"] += "-"
        state["n"] += 1
    return state


def beside_a_mode(xs):
    state = {"mode": "off", "out": ""}
    for x in xs:
        if x > 0:
            state["mode"] = "on" if state["mode"] == "off" else "off"
            state["out"] += state["mode"] + ","
        elif x < -1.5:
            state["out"] = ""
    return state["out"], state["mode"]


def in_an_attribute(xs):
    writer = Writer()
    for x in xs:
        if x > 0:
            writer.put(f"{int(x)},")
    return writer.out


def in_a_tuple(xs):
    state = ("", 0)
    for x in xs:
        text, n = state
        if x > 0:
            state = (text + "+", n + 1)
    return state


def of_another_form(xs):
    best = (0.0, "none")
    for x in xs:
        if x > best[0]:
            best = (x, f"at {int(x)}")
    return best


def in_a_dict_of_dicts(xs):
    state = {"inner": {"text": ""}}
    inner = state["inner"]
    for x in xs:
        if x > 0:
            state["inner"]["text"] += "x"
    return inner["text"], state["inner"]["text"]


def in_a_dict_of_the_function_around(xs):
    state = {"text": ""}

    def put(text):
        state["text"] += text

    for x in xs:
        if x > 0:
            put("x")
    return state["text"]


def tuple_in_a_dict(xs):
    state = {"path": ()}
    for x in xs:
        if x > 0:
            state["path"] += (x,)
    return state["path"], len(state["path"])


def longest_run(xs):
    best, run = (0, ()), (0, ())
    for x in xs:
        run = (run[0] + 1, run[1] + (x,)) if x > 0 else (0, ())
        if run[0] > best[0]:
            best = run
    return best


PROGRAMS = [
    in_a_dict,
    beside_a_mode,
    in_an_attribute,
    in_a_tuple,
    of_another_form,
    in_a_dict_of_dicts,
    in_a_dict_of_the_function_around,
    tuple_in_a_dict,
    longest_run,
]
EXAMPLES = [np.array(xs, np.float32) for xs in ([1.0, -2.0, 3.0, 5.0, -1.0], [-1.0, 2.0, -3.0, -2.5, -5.0])]


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_grows_in_another_value_is_as_in_python(program):
    run = ag.function(program)
    for xs in EXAMPLES:
        assert list(differences(program(xs), run(jnp.asarray(xs)))) == []


@pytest.mark.parametrize("program", [tuple_in_a_dict, longest_run])
def test_what_grows_in_another_value_has_derivatives(program):
    def number(xs):
        return sum(jnp.sum(jnp.asarray(leaf, float)) for leaf in jax.tree.leaves(ag.convert(program)(xs)))

    for xs in EXAMPLES:
        positive = (xs > 0).astype(np.float32)
        found = jax.jit(jax.grad(number))(jnp.asarray(xs))
        assert set(np.asarray(found).tolist()) <= {0.0, 1.0} and bool(jnp.all(found <= positive))


def runs_of_letters(xs):
    out, last, n = "", None, 0
    for x in xs:
        letter = "abc"[x]
        if letter == last:
            n += 1
        else:
            if last is not None:
                out += f"{last}{n}" if n > 1 else last
            last, n = letter, 1
    return out + (f"{last}{n}" if n > 1 else last)


def made_or_constant(xs):
    name = None
    for x in xs:
        if x > 1:
            name = f"<{x}>"
        elif x > 0:
            name = "one"
    return name, name is None, name or "zero"


def longer_than_none(xs):
    text = None
    for x in xs:
        if x > 1:
            if text is None:
                text = "x"
            text += "y"
    return text


def pairs_or_singles(xs):
    found = None
    for x in xs:
        if x > 1:
            found = (x, x)
        elif x > 0:
            found = (x,)
    return found, 0 if found is None else len(found)


def set_in_a_dict(xs):
    state = {"name": None, "n": 0}
    for x in xs:
        if x > 1:
            state["name"] = f"<{x}>"
        elif x > 0:
            state["name"], state["n"] = "one", 1
    return state["name"], state["n"]


def under_a_key_that_may_be_absent(xs):
    state = {}
    if xs[0] > 1:
        state["name"] = "a"
    if xs[1] > 1:
        state["name"] = f"{xs[0]}"
    return state.get("name", "no"), "name" in state, state


def in_an_attribute_that_may_be_absent(xs):
    writer = Writer()
    for x in xs:
        if x > 1:
            writer.name = f"<{x}>"
        elif x > 0:
            writer.name = "one"
    return getattr(writer, "name", "zero")


def in_a_pair(xs):
    state = (None, 0)
    for x in xs:
        if x > 1:
            state = (f"{x}", x)
        elif x > 0:
            state = ("one", 1)
    return state


@pytest.mark.parametrize(
    "program",
    [
        runs_of_letters,
        made_or_constant,
        longer_than_none,
        pairs_or_singles,
        set_in_a_dict,
        under_a_key_that_may_be_absent,
        in_an_attribute_that_may_be_absent,
        in_a_pair,
    ],
)
def test_what_may_be_none_or_absent_may_differ_in_form(program):
    agrees_when_compiled(program, *[(np.array(xs),) for xs in ([0, 1, 2], [1, 0, 0], [2, 1, 0], [2, 2, 0], [0, 0, 0])])
