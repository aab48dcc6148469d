"""Reads of keys that are no texts, of attributes, and of the dicts of objects, where only some paths set what is read."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

import autograph as ag
from tests.test_keys_by_path import VALUES, outcome

PROGRAMS = []


class Box:
    pass


def program(function):
    PROGRAMS.append(function)
    return function


@program
def keys_that_are_no_texts(x):
    d = {}
    if x > 0:
        d[1] = d[None] = d[0, 1] = d[-2.5] = d[b"q"] = x
    found = []
    try:
        found.append(d[1])
    except KeyError:
        found.append(-1.0)
    try:
        y = d[None]
    except LookupError:
        y = -2.0
    try:
        z = d[0, 1] + d[-2.5]
    except KeyError:
        z = -3.0
    try:
        w = d[b"q"]
    except Exception:
        w = -4.0
    return found, y, z, w


@program
def an_unused_read(x):
    d = {}
    if x > 0:
        d[1] = x
    d[1]
    return 3.0


@program
def a_read_that_is_used_on_no_path(x):
    d = {}
    if x > 0:
        d[True] = x
    y = d[1]
    if x > 100:
        return y
    return 3.0


class Sized:
    def __init__(self):
        self.size = 1.0


@program
def an_attribute_that_another_class_surely_has(x):
    box, sized = Box(), Sized()
    if x > 0:
        box.size = x
    try:
        y = box.size
    except AttributeError:
        y = -1.0
    return y, sized.size


@program
def an_unused_attribute(x):
    box = Box()
    if x > 0:
        box.size = x
    box.size
    return 1.0


@program
def dicts_of_objects(x):
    box = Box()
    box.z = x
    if x > 0:
        box.late = x
    vars(box)["y"] = 1.0 * x
    known = vars(box)
    return len(vars(box)), "late" in box.__dict__, list(known), known.get("late", 3.0), sum(vars(box).values())


@program
def dicts_of_objects_written(x):
    box = Box()
    if x > 0:
        box.__dict__["late"] = x
        box.__dict__.update(more=x)
    found = getattr(box, "late", 5.0), hasattr(box, "more")
    try:
        del vars(box)["late"]
    except KeyError:
        return found, 8.0
    return found, 9.0


@program
def a_missing_name_in_the_dict_of_an_object(x):
    box = Box()
    if x > 0:
        vars(box).setdefault("late", x)
    return vars(box)["late"]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_python_and_the_program_agree(function):
    made = ag.function(function)
    for value in VALUES:
        x = jnp.array(value)
        assert outcome(made, x) == outcome(function, x)


KNOWING = [
    lambda d: (
        d.keys() == {"a", "k"},
        d.keys() != {"a"},
        {"a"} == d.keys(),
        d.keys() <= {"a", "k", "z"},
        {"z"} < d.keys(),
    ),
    lambda d: (
        sorted(d.keys() & {"k"}),
        sorted({"z"} | d.keys()),
        sorted(d.keys() - {"a"}),
        len(d.keys() ^ ["k", "z"]),
    ),
    lambda d: (str(d), f"{d!r}", repr([d]), "-".join(d), "%s" % d),
    lambda d: (bool(d.keys()), not d.items(), dict.fromkeys(sorted(d), 0)),
]


@pytest.mark.parametrize("read", KNOWING)
def test_what_knows_of_absence(read):
    def f(x):
        d = {"a": 1.5}
        if x > 0:
            d["k"] = x
        return read(d)

    compiled = ag.function(f)
    assert [compiled(jnp.array(x)) for x in (1.0, -1.0)] == [f(1.0), f(-1.0)]
