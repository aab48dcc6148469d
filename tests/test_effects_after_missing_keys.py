"""What follows, in a ``try``, a read of a key or attribute that only some paths set: no effect of it happens after the error."""

from __future__ import annotations

import contextlib

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.test_keys_by_path import Box, outcome

STATE = ag.Variable(0.0)
SEEN: list[float] = []
PROGRAMS = []


def program(function):
    PROGRAMS.append(function)
    return function


def with_a_key(x):
    d = {}
    if x > 0:
        d["k"] = d[1] = x
    return d


def note(value):
    SEEN.append(float(value))


@program
def after_a_read(x):
    d = with_a_key(x)
    try:
        y = d["k"]
        print("read", y)
        STATE.assign_add(1.0)
        ag.py_function(note, [y], None)
    except KeyError:
        y = -1.0
        print("missing", x)
    return y


@program
def after_a_read_at_a_number(x):
    d = with_a_key(x)
    try:
        d[1]
        print("read", x)
        STATE.assign_add(1.0)
    except KeyError:
        STATE.assign_add(10.0)
    return x


@program
def in_the_statement_itself(x):
    d = with_a_key(x)
    try:
        print("read", d["k"])
        STATE.assign_add(d["k"])
    except LookupError:
        print("missing", x)
    return x


def use(d, x):
    y = d["k"]
    print("used", x)
    STATE.assign_add(1.0)
    return y


@program
def in_a_called_function(x):
    d = with_a_key(x)
    try:
        y = use(d, x)
        print("returned", x)
    except KeyError:
        y = -2.0
    return y


@program
def in_loops(x):
    d = with_a_key(x)
    n = 0.0
    while n < 3:
        n += 1
        try:
            z = n + d["k"]
            STATE.assign_add(z)
            print("read", z)
        except KeyError:
            continue
        print("after", z)
    try:
        y = d[1]
        for i in range(3):
            print("loop", i + y)
        while n < 20:
            n += 1.0
            STATE.assign_add(1.0)
    except KeyError:
        n = -1.0
    return n


@program
def with_managers_and_finally(x):
    d = with_a_key(x)
    n = 0.0
    try:
        with contextlib.suppress(ValueError):
            try:
                y = d["k"]
                STATE.assign_add(y)
            finally:
                print("finally", x)
            print("with", x)
        n = 2.0
    except LookupError:
        n = -1.0
    return n


@program
def after_pop_and_del(x):
    d, e = {}, {}
    if x > 0:
        d["k"] = e["k"] = x
    try:
        d.pop("k")
        print("popped", x)
        STATE.assign_add(1.0)
        del e["k"]
        STATE.assign_add(1.0)
    except KeyError:
        print("missing", x)
    return len(d), len(e)


@program
def after_an_attribute(x):
    box = Box()
    box.n = 0.0
    if x > 0:
        box.late = x
    try:
        box.late
        print("read", x)
        box.n += 1.0
        STATE.assign_add(1.0)
    except AttributeError:
        box.n -= 1.0
    return box.n


@program
def to_what_is_made_outside(x):
    d = with_a_key(x)
    items, other, n = [], {}, 0.0

    def count():
        nonlocal n
        n += 1.0

    try:
        items.append(1.0)
        items.append(d["k"])
        count()
        other["late"] = d["k"]
    except KeyError:
        pass
    return items, other, n


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_effects(function, capsys):
    made = ag.function(function)

    def effects(called, x):
        STATE.assign(0.0)
        SEEN.clear()
        found = outcome(called, x)
        jax.effects_barrier()
        return found, capsys.readouterr().out, float(STATE.numpy()), list(SEEN)

    for value in (2.0, -1.0, 0.5):
        x = jnp.array(value)
        assert effects(made, x) == effects(function, x)
