"""What values lead to."""

import functools

import pytest

from autograph.runtime.heap.holders import reached


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
