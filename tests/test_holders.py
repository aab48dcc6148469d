"""Which variables may still be read, and what they lead to."""

import functools
import sys

import pytest

from autograph.runtime.heap.holders import holder, reached
from autograph.runtime.heap.liveness import read_anywhere, read_from


def here():
    frame = sys._getframe(1)
    return read_from(frame.f_code, frame.f_lasti)


def test_what_is_read_later_is_live():
    a, b, c = [1], [2], [3]
    live = here()
    b = [4]
    assert a and b
    assert "a" in live and "b" not in live and "c" not in live
    del c


def test_a_loop_reads_again_what_stands_before():
    a, b, live = [1], [2], None
    for _ in range(2):
        if live is None:
            a.append(b)
        live = here()
    assert {"a", "b"} <= live


def test_a_handler_may_read():
    a, live = [1], set()
    try:
        live = here()
        raise ValueError
    except ValueError:
        a.append(live)
    assert "a" in live


def test_what_lies_on_the_stack_is_read():
    a = [1]
    values = [a, here()]
    assert "a" in values[1]


def test_a_function_made_later_reads():
    a = [1]
    live = here()

    def later():
        return a

    assert "a" in live and later() is a


def test_names_read_anywhere():
    def writes():
        nonlocal one
        one = two

    one, two = [], []
    assert "two" in read_anywhere(writes.__code__) and "one" not in read_anywhere(writes.__code__)


class Holder:
    __slots__ = ("held", "__weakref__")

    def __init__(self, held):
        self.held = held


def given(value):
    yield 1
    yield value


def started(value):
    made = given(value)
    next(made)
    return made


def closed_over(value):
    def read():
        return value

    return read


@pytest.mark.parametrize(
    "wrap",
    [
        lambda value: [(value,)],
        lambda value: {"k": {value and 1: value}},
        Holder,
        started,
        closed_over,
        lambda value: functools.partial(print, value),
        lambda value: value.append,
        lambda value: iter([value]),
        lambda value: lambda default=value: default,
        lambda value: zip([value], [1], strict=True),
    ],
)
def test_what_a_value_leads_to(wrap):
    value = [1, 2]
    wrapped = wrap(value)
    assert reached({id(value)}, [wrapped]) == {id(value): value}
    assert reached({id(value)}, [wrap([1, 2])]) == {}
    wanted = {id(value)}
    del value
    assert holder(wanted) == (next(iter(wanted)), "wrapped")
    assert wrapped is not None


def test_nobody_holds_what_is_not_read_again():
    kept = [[1]]
    wanted = {id(kept[0])}
    before = holder(wanted)
    kept.clear()
    after = holder(wanted)
    assert before == (next(iter(wanted)), "kept") and after is None


def test_a_variable_that_is_not_read_again_holds_nothing():
    value = [1]
    wanted = {id(value)}
    found = holder(wanted)
    assert found is None
