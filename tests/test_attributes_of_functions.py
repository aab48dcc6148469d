"""Lists, dicts and numbers that functions have as attributes are state like that of other objects."""

from __future__ import annotations

import functools

import jax.numpy as jnp
import pytest

import autograph as ag


def counted(function):
    @functools.wraps(function)
    def call(*args):
        call.calls += 1
        return function(*args)

    call.calls = 0
    return call


def append_in_a_branch():
    def average(x):
        if x > 0:
            average.seen.append(x)
        return average.seen[-1] if average.seen else -1.0

    average.seen = []
    return average, lambda: list(average.seen)


def append():
    def average(x):
        average.seen.append(x)
        return sum(average.seen) / len(average.seen)

    average.seen = []
    return average, lambda: list(average.seen)


def dict_in_a_branch():
    def total(x):
        if x > 0:
            total.known["n"] += x
        return total.known["n"]

    total.known = {"n": 0.0}
    return total, lambda: dict(total.known)


def list_of_a_closure_too():
    history = []

    def account(x):
        if x > 0:
            history.append(x)
        return history[-1] if history else -1.0

    account.history = history
    return account, lambda: [list(history), list(account.history)]


def attribute_of_another():
    @counted
    def halved(x):
        return x // 2

    def steps(x):
        before = halved.calls
        while x > 1:
            x = halved(x)
        return halved.calls - before

    return steps, lambda: [halved.calls]


MAKERS = (append_in_a_branch, append, dict_in_a_branch, list_of_a_closure_too, attribute_of_another)


def run(make, wrap):
    f, state = make()
    call = wrap(lambda x: f(x))
    found = []
    for x in (-1.0, 2.0, 3.0, -4.0, 5.0):
        found.append((float(call(jnp.float32(x))), state()))
    return found


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_calls_leave_what_python_leaves(make):
    assert run(make, ag.function) == run(make, lambda f: f)
