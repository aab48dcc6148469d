"""Loops that work on constants only: Python runs them, however long they are, and no body is traced for them."""

from __future__ import annotations

import collections

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.runtime.staging.statements.loop_carry import LoopTrace
from tests import staged

SCALE = 5
N = 100


def table(x):
    rows = [[0] * N for _ in range(N)]
    for i in range(N):
        for j in range(N):
            rows[i][j] = i * j % 7
    return rows[3][4] + x


def by_while(x):
    rows = [[0] * N for _ in range(N)]
    i = 0
    while i < N:
        j = 0
        while j < N:
            rows[i][j] = i * j % 7
            j += 1
        i += 1
    return rows[3][4] + x


def comprehension(x):
    rows = [[i * j % 7 for j in range(N)] for i in range(N)]
    above = [rows[i][j] for i in range(N) for j in range(N) if i < j]
    return len(above), sum(above) + x


def generators(x):
    found = sum(i * i for i in range(N)), any(i > 90 for i in range(N)), max(-i for i in range(N))
    return *found, min(i for i in range(N) if i % 7 == 3) + x


def sieve(x):
    flags = [True] * N
    for i in range(2, N):
        if flags[i]:
            for j in range(i * i, N, i):
                flags[j] = False
    return [i for i in range(2, N) if flags[i]], x


def grouped(x):
    groups = collections.defaultdict(list)
    for i in range(N):
        groups[i % 7].append(i)
    return [len(groups[k]) for k in range(7)], x


def of_a_helper(x):
    def helper(i):
        return i * 2 + SCALE

    total = 0
    for i in range(N):
        total += helper(i)
    return total + x


def text(x):
    digits = ""
    for i in range(N):
        digits += str(i % 10)
    return digits, x


def beyond_32_bits(x):
    n = 0
    for i in range(N):
        n = n * 3 + i
    return n % 1000 + x


ON_CONSTANTS = [table, by_while, comprehension, generators, sieve, of_a_helper, text, beyond_32_bits]


@pytest.fixture
def bodies(monkeypatch):
    """The loops whose bodies are traced."""
    found = []
    trace = LoopTrace._trace_body

    def traced(self):
        found.append(self.carry.where)
        return trace(self)

    monkeypatch.setattr(LoopTrace, "_trace_body", traced)
    return found


def agree(want, got):
    assert jax.tree.structure(want) == jax.tree.structure(got)
    assert jax.tree.map(lambda a, b: np.array_equal(a, b), want, got) == jax.tree.map(lambda _: True, want)


@pytest.mark.parametrize("function", ON_CONSTANTS, ids=lambda f: f.__name__)
def test_no_body_is_traced(function, bodies):
    agree(function(3), ag.function(function)(jnp.array(3)))
    agree(function(3), jax.jit(ag.convert(function))(jnp.array(3)) if function is not text else function(3))
    assert bodies == []


@pytest.mark.parametrize("x", [3, 0, -4])
def test_what_a_library_makes_is_as_before(x):
    agree(grouped(x), ag.function(grouped)(jnp.array(x)))


def test_a_traced_value_that_an_iteration_stores(bodies):
    def f(x):
        kept = []
        for i in range(N):
            kept.append(i)
            if i % 3 == 0:
                kept.append(x)
        return len(kept), kept[5], sum(kept)

    for x in (2, -7):
        agree(f(x), staged.function(f)(jnp.array(x)))


def test_a_traced_value_that_a_helper_closes_over(bodies):
    def f(x):
        scale = x * 2

        def helper(i):
            return i * scale

        total = 0
        for i in range(N):
            total += helper(i)
        return total

    for x in (2, -7):
        agree(f(x), staged.function(f)(jnp.array(x)))
    assert bodies != []


def test_a_variable_of_the_module_that_is_assigned(bodies):
    step = ag.Variable(0)

    def f(x):
        for _ in range(N):
            step.assign_add(1)
        return x

    ag.function(f)(jnp.array(1))
    assert int(step) == N and len(bodies) == 1


def test_a_helper_that_binds_something_traced_in_one_iteration():
    def f(x):
        kept = list(range(N))

        def replace():
            nonlocal kept
            kept = [x]

        for i in range(N):
            if i == 50:
                replace()
        return len(kept), kept[0]

    agree(f(3), ag.function(f)(jnp.array(3)))


def test_exceptions_breaks_and_else():
    def f(x):
        log = []
        for i in range(N):
            try:
                if i % 10 == 0:
                    raise ValueError(i)
                log.append(i)
            except ValueError as error:
                log.append(-error.args[0])
        for i in range(N):
            for j in range(N):
                if j > i:
                    break
                log[i] += j
                while log[i] > 5:
                    log[i] -= 3
        else:
            log.append(1000)
        return [v * x for v in log]

    agree(f(3), ag.function(f)(jnp.array(3)))
