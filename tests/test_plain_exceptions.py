"""Converted code that meets no traced value raises what the original raises, where it raises it."""

import collections
import traceback

import jax.numpy as jnp
import pytest

import autograph as ag
from tests.outcomes import asserting, same


class Refusal(Exception):
    """Cannot be rebuilt from its `args`, which a system that re-raises copies of exceptions trips over."""

    def __init__(self, code, *, reason):
        super().__init__(f"{code}: {reason}")
        self.code = code


def test_exception_in_a_branch():
    def f(log, x):
        if x > 0:
            log.append("then")
            return 1 / (x - 1)
        log.append("rest")
        return {}[x]

    same(f, (3,), (1,), (0,))


def test_exception_in_a_loop_keeps_what_came_before():
    def f(log, items):
        for item in items:
            log.append(item)
            if item == 3:
                raise Refusal(item, reason="three")
        return log

    same(f, ([1, 2, 3, 4],), ([],), lambda: (iter([3]),))


def test_exception_is_the_same_object_with_its_fields():
    def f(log):
        while True:
            raise Refusal(7, reason="why")

    with pytest.raises(Refusal) as caught:
        ag.convert(f)([])
    assert caught.value.code == 7


def test_unbound_variable():
    def f(log, x):
        if x > 0:
            y = x
        log.append("before the read")
        return y

    same(f, (1,), (-1,))


def test_unbound_loop_variable():
    def f(log, items):
        for item in items:
            pass
        return item

    same(f, ([1, 2],), ([],))


def test_name_that_does_not_exist():
    def f(log, x):
        if x:
            return no_such_name  # noqa: F821
        return x

    same(f, (1,), (0,))


def test_what_cannot_be_iterated():
    def f(log, thing):
        for item in thing:
            log.append(item)

    same(f, (3,), (None,))


def test_assert_statement():
    same(asserting, (1,), (0,), ([],))


def test_raise_from():
    def f(log, x):
        if x:
            raise ValueError("outer") from KeyError("inner")
        raise TypeError

    same(f, (1,), (0,))


def test_traceback_shows_the_users_lines_only():
    def inner(x):
        if x > 0:
            return 1 // 0
        return x

    def outer(x):
        for _ in range(2):
            while x:
                x = inner(x)
        return x

    def lines(function):
        with pytest.raises(ZeroDivisionError) as caught:
            function(1)
        frames = traceback.extract_tb(caught.value.__traceback__)[1:]
        return [(frame.filename, frame.lineno) for frame in frames], frames

    plain, _ = lines(outer)
    converted, frames = lines(ag.convert(outer))
    assert {filename for filename, _ in converted} == {__file__}, converted
    # A statement's body is a function of its own, so the lines of the headers around it show as well.
    assert [line for line in converted if line in plain] == plain
    assert converted[-1] == plain[-1]
    assert frames[-1].line == "return 1 // 0"


@pytest.mark.parametrize(
    "program",
    [
        lambda x: [][0] + x,
        lambda x: [][x] + x,
        lambda x: [].pop() + x,
        lambda x: [].remove(x),
        lambda x: [].index(x),
        lambda x: collections.deque().pop() + x,
        lambda x: min([]) + x,
    ],
)
def test_what_is_raised_while_tracing_is_of_pythons_class(program):
    x = jnp.int32(3)
    with pytest.raises(Exception) as expected:
        program(3)
    with pytest.raises(expected.type) as found:
        ag.function(program)(x)
    assert found.type is expected.type and str(found.value) == str(expected.value)
    assert "test_plain_exceptions.py" in "".join(traceback.format_exception(found.value))
    assert "EmptyListError" not in "".join(traceback.format_exception(found.value))


def test_a_handler_around_the_call_of_a_function_takes_what_its_trace_raises():
    inner = ag.function(lambda x: [].pop() + x)

    def program(x):
        try:
            return inner(x)
        except IndexError as error:
            assert type(error) is IndexError
            return x - 1

    assert program(jnp.int32(3)) == ag.function(program)(jnp.int32(3)) == 2
