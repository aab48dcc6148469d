"""Statements and comprehensions that stay Python's: a traced test is refused, naming the line and the way out."""

from __future__ import annotations

import asyncio

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


def yields_in_if(x):
    def pieces(value):
        if value > 0:  # here
            yield value
        yield value * 2

    steps = pieces(x)
    return next(steps, None), next(steps, None)


def yields_in_while(x):
    def pieces(value):
        while value > 0:  # here
            value -= 1
            yield value

    steps = pieces(x)
    return next(steps, None), next(steps, None)


def yields_in_match(x):
    def pieces(value):
        match value:
            case 1:  # here
                yield value
            case _:
                yield 0

    steps = pieces(x)
    return next(steps, None), next(steps, None)


def yields_before_break(x):
    def pieces(values):
        for v in values:
            if v > 3:  # here
                break
            yield v

    steps = pieces([x, x])
    return next(steps, None), next(steps, None)


def awaits_in_if(x):
    async def work(value):
        if value > 0:  # here
            await asyncio.sleep(0)
        return value

    coroutine = work(x)
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    finally:
        coroutine.close()


def returns_in_finally(x):
    try:
        x = x + 1
    finally:
        if x > 0:  # here
            return x
    return 0.0


def comprehension_in_a_lambda(x):
    return (lambda values: [y for v in values if (y := v) > 0])([x])  # here


REMEDIES = {
    yields_in_if: "`yield a if test else b`",
    yields_in_while: "append the values to a list",
    yields_in_match: "`yield a if test else b`",
    yields_before_break: "append the values to a list",
    awaits_in_if: "Await before the statement",
    returns_in_finally: "move the jump after the `try`",
    comprehension_in_a_lambda: "Use a list comprehension in a statement",
}


@pytest.mark.parametrize("program", REMEDIES, ids=lambda f: f.__name__)
def test_a_traced_test_is_refused(program):
    with pytest.raises(ag.StagingError) as caught:
        jax.jit(ag.convert(program))(2.0)
    assert "# here" in str(caught.value)
    assert __file__ in str(caught.value) and REMEDIES[program] in str(caught.value)


@pytest.mark.parametrize("program", REMEDIES, ids=lambda f: f.__name__)
def test_a_known_test_is_asked_by_python(program):
    for x in (2.0, 4.0):
        assert ag.convert(program)(x) == program(x)
        assert jax.tree.map(float, ag.convert(program)(jnp.float32(x))) == program(x)


def test_generators_stage_what_does_not_yield():
    def f(x):
        def pieces(value):
            for k in range(3):
                yield value if value > k else -value

        return sum(pieces(x))

    for x in (2.0, -1.0):
        assert jax.jit(ag.convert(f))(x) == f(x)
