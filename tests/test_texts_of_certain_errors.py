"""Exceptions that are raised whatever the values are, with texts of traced values: caught while tracing, or by the caller."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

from tests import staged


def formatted(x):
    try:
        raise ValueError(f"bad {x:.1f}")
    except ValueError as error:
        return str(error)


def shown(x):
    try:
        raise ValueError(f"bad {x}")
    except ValueError as error:
        return f"got {error}", error.args


def of_several_values(x):
    try:
        raise KeyError("bad", x)
    except KeyError as error:
        return error.args[1] + 1, str(error), repr(error)


def checked(v):
    if len(v) != 3:
        raise ValueError(f"{len(v)} values, the first {v[0]:.2f}")
    return v[2]


def of_a_function(x):
    try:
        return checked([x, x])
    except ValueError as error:
        return f"sorry: {error}"


class LimitError(Exception):
    def __init__(self, value):
        self.value = value
        super().__init__(f"limit {value:.1f}")


def of_a_class(x):
    try:
        raise LimitError(x)
    except LimitError as error:
        error.note = "seen"
        return error.value * 2, str(error), error.note


class RangeError(Exception):
    """Whose `__init__` and `__str__` need the values."""

    def __init__(self, text, value):
        self.text = "of range: " + text
        self.excess = value * 2 if value > 0 else 0

    def __str__(self):
        return f"{self.text}, {self.excess:.1f}"


def of_a_class_with_its_own_text(x):
    try:
        raise RangeError(f"{x} is out", x)
    except RangeError as error:
        return error.excess, error.text, str(error)


def of_a_class_by_path(x):
    excess, text = 0.0, "none"
    try:
        if x > 1:
            raise RangeError(f"{x:.2f} is out", x)
    except RangeError as error:
        excess, text = error.excess, error.text
    return excess, text


def by_a_finally(x):
    log = []
    try:
        try:
            raise ValueError(f"bad {x:.1f}")
        finally:
            log.append(x)
    except ValueError as error:
        return str(error), log


def by_a_manager(x):
    class Log:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, traceback):
            self.text = str(error)
            return True

    with Log() as log:
        raise ValueError(f"bad {x:.1f}")
    return log.text


PROGRAMS = [formatted, shown, of_several_values, of_a_function, of_a_class, of_a_class_with_its_own_text]
PROGRAMS += [of_a_class_by_path, by_a_finally, by_a_manager]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_handler_reads_the_values(program):
    assert staged.function(program)(jnp.float32(2.5)) == program(2.5)


def test_a_handler_that_does_not_run():
    assert staged.function(of_a_class_by_path)(jnp.float32(0.5)) == of_a_class_by_path(0.5)


def raised_at_last(x):
    raise RuntimeError(f"wrapped {x:.2f}")


def raised_again(x):
    try:
        checked([x, x])
    except ValueError as error:
        raise RuntimeError(f"wrapped: {error}") from error


def of_a_container(x):
    raise RuntimeError({"reason": "too small", "values": [x, x]})


def of_a_container_by_path(x):
    if x > 0:
        raise RuntimeError(["too large", x])
    return x


PROGRAMS_THAT_RAISE = [raised_at_last, raised_again, of_a_container, of_a_container_by_path]


@pytest.mark.parametrize("program", PROGRAMS_THAT_RAISE, ids=lambda program: program.__name__)
def test_the_caller_reads_the_values(program):
    with pytest.raises(RuntimeError) as wanted:
        program(2.5)
    with pytest.raises(RuntimeError) as found:
        staged.function(program)(jnp.float32(2.5))
    assert found.value.args == wanted.value.args
    assert str(found.value) == str(wanted.value)
    assert repr(found.value.__cause__) == repr(wanted.value.__cause__)
