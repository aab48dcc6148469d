"""What a handler reads of an exception's `args`, where they are one of several constants, or values of several kinds."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

import autograph as ag


def sign(x):
    return "positive" if x > 0 else "negative"


def kind(x):
    return x if x > 0 else "negative"


def of_a_condition(x):
    try:
        if x < 0:
            raise ValueError(sign(x))
        return "none"
    except ValueError as error:
        return error.args[0]


def raised_on_each_path(x):
    try:
        raise ValueError(sign(x))
    except ValueError as error:
        return error.args[0], str(error), f"{error}", repr(error)


def two_arguments(x):
    try:
        if x < 0:
            raise ValueError(sign(x), x)
        if x > 2:
            raise KeyError("far")
        return "none"
    except (ValueError, KeyError) as error:
        return error.args[0], len(error.args)


def unpacked(x):
    try:
        raise ValueError(kind(x), 2)
    except ValueError as error:
        first, second = error.args
        return first, second


def in_a_list(x):
    try:
        if x < 0:
            raise ValueError([sign(x), 2])
        return "none"
    except ValueError as error:
        return error.args[0][0]


def in_a_text(x):
    try:
        if x < 0:
            raise ValueError(f"is {sign(x)}")
        return "none"
    except ValueError as error:
        return error.args[0]


def of_several_kinds(x):
    v = kind(x)
    try:
        if isinstance(v, str):
            raise ValueError(v)
        return v
    except ValueError as error:
        return error.args[0], str(error)


def of_a_class(x):
    class Refused(Exception):
        def __init__(self, why):
            super().__init__("refused")
            self.why = why

    try:
        if x < 0:
            raise Refused(sign(x))
        return "none"
    except Refused as error:
        return error.why, error.args[0]


PROGRAMS = [
    *(of_a_condition, raised_on_each_path, two_arguments, unpacked, in_a_list, in_a_text, of_several_kinds, of_a_class),
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_they_are_those_of_the_path(program):
    compiled = ag.function(program)
    for x in (-3.0, 3.0, 1.0):
        assert compiled(jnp.float32(x)) == program(x), x


def test_they_reach_the_caller():
    @ag.function
    def f(x):
        raise KeyError(kind(x), sign(x))

    for x in (-3.0, 3.0):
        with pytest.raises(KeyError) as caught:
            f(jnp.float32(x))
        assert caught.value.args == (kind(x), sign(x))
