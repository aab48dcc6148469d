"""Handlers of exceptions that Python raises while a block is traced: what they raise again, and what they find in lists."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

import autograph as ag
from autograph.runtime.heap.moments import Moment


def raises_what_is_known(x):
    try:
        assert not isinstance(x, str), "no number"
        assert 0, "never holds"
    except LookupError:
        return -1.0
    except AssertionError:
        if x > 2:
            raise
    return x


def asserts_in_a_manager(x):
    with Swallowing(x > 2):
        assert 0, "never holds"
    return x


class Swallowing:
    def __init__(self, when):
        self.when = when

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return self.when


@pytest.mark.parametrize("program", [raises_what_is_known, asserts_in_a_manager])
def test_an_assertion_that_never_holds_goes_on_under_a_traced_condition(program):
    for x in (1.0, 4.0):
        try:
            expected = program(x)
        except AssertionError:
            with pytest.raises(AssertionError, match="never holds"):
                ag.function(program)(jnp.float32(x))
        else:
            assert float(ag.function(program)(jnp.float32(x))) == expected


def test_a_list_that_a_loop_carries_is_as_before_where_code_after_the_loop_raises():
    def program(n):
        items = [2, 1]
        try:
            for i in range(n):
                try:
                    if i > 5:
                        raise IndexError
                except ValueError:
                    items[0] += 1
            raise LookupError
        except LookupError:
            items.append(3)
        return items

    for n in (3, 9):
        assert list(map(int, ag.function(program)(jnp.asarray(n)))) == program(n)


def test_what_a_handler_sees_is_looked_for_where_it_can_be(monkeypatch):
    """Where an exception is raised, none of the lists that the iterations before it have made is looked at."""
    looked_at = []
    is_of_ended_trace = Moment._is_of_ended_trace

    def noted(self, place):
        looked_at.append(place)
        return is_of_ended_trace(self, place)

    monkeypatch.setattr(Moment, "_is_of_ended_trace", noted)

    def program(count):
        def f(n):
            found = []
            try:
                for k in range(count):
                    ag.set_loop_options(unroll=True)
                    if n > 2:
                        inner = []
                        inner.append(n + k)
                        found.append(inner[0])
                    if n > k + 100:
                        raise ValueError(k)
            except ValueError:
                return found[-1] - 1000
            return found[-1]

        return f

    def count_for(count):
        looked_at.clear()
        f = program(count)
        made = ag.function(f)
        for n in (3, 103):
            assert int(made(jnp.asarray(n))) == f(n)
        return len(looked_at)

    assert count_for(16) < 2.5 * count_for(8)


def test_a_handler_in_a_loop_on_trial_sees_the_exceptions_of_the_program_only():
    def tallied(n, w):
        total = 0
        if n > 0:
            k = 0
            while (k := k + 1) < 3:
                counts = {0: w[1], 1: 4, 3: k}
                missed = 2
                for i, _ in enumerate(w):
                    try:
                        counts[i] += 1
                    except KeyError:
                        missed += 1
                total += missed
        return total

    for n in (2, 0):
        assert int(ag.function(tallied)(jnp.asarray(n), jnp.array([1, -3, -3]))) == tallied(n, [1, -3, -3])
