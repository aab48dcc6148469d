"""Methods of objects, and functions with objects in their closures, of which a traced condition, an index or a loop chooses one."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged
from tests.agreement import differences


class Counter:
    def __init__(self):
        self.n = 0
        self.listener = None

    def add(self, v):
        if v > 1:
            self.n += v
        else:
            self.n -= 1

    def doubled(self, v=2):
        return self.n * v


class Loud(Counter):
    def add(self, v):
        self.n += 100 * v


class Machine:
    def __init__(self):
        self.state = self.idle
        self.total = 0

    def idle(self, v):
        if v > 0:
            self.state = self.running
            self.total += 1

    def running(self, v):
        self.total += v * 10
        if v < 0:
            self.state = self.idle


def adding(counter):
    return lambda v: counter.add(v)


def one_of_two(xs):
    one, other = Counter(), Loud()
    add = one.add if xs[0] > 0 else other.add
    for v in xs:
        add(v)
    return one.n, other.n, add == one.add, add.__self__.n


def in_place_of_a_method(xs):
    counter = Counter()
    if xs[0] > 0:
        counter.add = lambda v: Counter.add(counter, 2 * v)
    elif xs[1] > 0:
        counter.add = counter.doubled
    counter.add(xs[0])
    counter.n += 5
    counter.add(xs[1])
    return counter.n


def states(xs):
    machine = Machine()
    for v in xs:
        machine.state(v)
    return machine.total, machine.state == machine.idle


def none_or_a_method(xs):
    counter, other = Counter(), Loud()
    for v in xs:
        if v > 2:
            counter.listener = other.add
        elif v > 0:
            counter.listener = counter.add
        elif v < -2:
            counter.listener = None
        if counter.listener is not None:
            counter.listener(v)
    return counter.n, other.n


def in_lists(xs):
    one, other, calls = Counter(), Loud(), []
    if xs[0] > 0:
        calls.append(one.add)
    if xs[1] > 0:
        calls.append(other.add)
    for call in calls:
        call(xs[2])
    for k in range(len(calls)):
        calls[k](3)
    return one.n, other.n


def closures_in_lists(xs):
    one, other, total, calls = Counter(), Loud(), 0, []

    def note(v):
        nonlocal total
        total += v

    for call, v in zip((adding(one), adding(other), note), xs, strict=False):
        if v > 0:
            calls.append(call)
    for call in calls:
        call(5)
    return one.n, other.n, total


def of_subscribers(xs):
    one, other, calls = Counter(), Loud(), {}
    for key, call in (("a", adding(one)), ("b", other.add), ("a", other.add)):
        calls.setdefault(key, []).append(call)
    for v in xs:
        for call in calls["a" if v > 0 else "b"]:
            call(v)
    return one.n, other.n


@pytest.mark.parametrize(
    "program",
    [one_of_two, in_place_of_a_method, states, none_or_a_method, in_lists, closures_in_lists, of_subscribers],
)
def test_methods_that_conditions_choose(program):
    compiled, batched = ag.function(program), jax.vmap(ag.convert(program))
    rows = [[1, 5, -1, -4, 2], [-1, -5, 3, -4, 2], [2, -1, 4, 1, 1]]
    found = batched(jnp.array(rows)) if program is not none_or_a_method else None
    for k, row in enumerate(rows):
        wanted = program(row)
        assert list(differences(wanted, compiled(jnp.array(row)))) == []
        if found is not None:
            assert list(differences(wanted, jax.tree.map(lambda leaf: leaf[k], found))) == []  # noqa: B023


def bound_to_a_new_object(x):
    counter = Counter()
    add = counter.add
    if x > 0:
        counter = Loud()
        add = counter.add
    add(3)
    return counter.n


def closing_over_a_new_list(x):
    items = [0]
    call = items.append
    if x > 0:
        items = [5]
        call = appending(items)
    call(3)
    return items


def appending(items):
    return lambda v: items.append(v)


class Own:
    def __init__(self, v):
        self.n = v
        self.call = self.add

    def add(self, v):
        self.n += v


def in_an_attribute(x):
    own = Own(1)
    if x > 0:
        own = Own(2)
    own.call(3)
    return own.n


def in_an_expression(x):
    own = Own(1) if x > 0 else Own(2)
    own.call(3)
    return own.n


@pytest.mark.parametrize("program", [bound_to_a_new_object, closing_over_a_new_list, in_an_attribute, in_an_expression])
def test_what_would_write_to_an_object_that_its_branch_has_made_is_refused(program):
    with pytest.raises(ag.StagingError, match="leaves it and a function that refers to it"):
        ag.function(program)(jnp.array(1))


def test_functions_that_refer_to_what_their_branch_has_made_run_where_nothing_else_does():
    def f(x):
        call = None
        if x > 0:
            counter = Counter()
            counter.n = x
            call = counter.doubled
        return call() if call is not None else 0

    for x in (3, -3):
        assert int(staged.function(f)(jnp.array(x))) == f(x)


def test_methods_and_functions_that_hold_traced_values_are_no_results():
    def methods(x):
        counter = Counter()
        counter.n = x
        return counter.doubled if x > 0 else counter.add

    def closures(x):
        return [(lambda: x) if x > 0 else (lambda: -x)]

    for f in (methods, closures):
        with pytest.raises(ag.StagingError, match="that holds a traced value"):
            ag.function(f)(jnp.array(1))


def test_a_method_of_an_object_from_outside_may_be_a_result_and_stays_in_its_attribute():
    machine = Machine()
    chosen = ag.function(lambda x: machine.idle if x > 0 else machine.running)
    assert chosen(jnp.array(1)) == machine.idle
    step = ag.function(lambda v: machine.state(v))
    for v in (-1, 2, 3, -1):
        step(jnp.array(v))
    assert (int(machine.total), machine.state) == (21, machine.idle)
