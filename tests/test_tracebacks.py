"""Tracebacks of converted functions are Python's: the user's functions, each once, at the line that it has reached."""

from __future__ import annotations

import contextlib
import sys
import traceback
import warnings

import jax.numpy as jnp
import pytest

import autograph as ag


def divide(x, values):
    for v in values:
        if v > 1:
            with contextlib.suppress(KeyError):
                try:
                    return x / (v - 2)
                finally:
                    x += 1
    return x


def in_a_handler(x):
    try:
        divide(x, (1, 2))
    except ZeroDivisionError as error:
        entries = traceback.extract_tb(error.__traceback__)
        return [(each.name, each.lineno) for each in entries], error.__traceback__.tb_lineno


def of_the_cause(x):
    try:
        try:
            raise KeyError(x)
        except KeyError as error:
            raise ValueError(x) from error
    except ValueError as error:
        return [each.lineno for each in traceback.extract_tb(error.__cause__.__traceback__)]


def of_the_current_exception(x):
    try:
        if x < 5:
            [][0]  # noqa: B018
    except IndexError:
        return sys.exc_info()[2].tb_lineno, len(traceback.format_exc().splitlines())


class Notes:
    def __enter__(self):
        self.lines = []
        return self

    def __exit__(self, kind, error, entry):
        while entry:
            self.lines.append(entry.tb_lineno)
            entry = entry.tb_next
        return True


def in_an_exit(x):
    with Notes() as notes:
        divide(x, (1, 2))
    return notes.lines


@pytest.mark.parametrize("program", [in_a_handler, of_the_cause, of_the_current_exception, in_an_exit])
def test_code_that_asks_for_a_traceback_sees_that_of_the_function_as_it_is_written(program):
    assert ag.convert(program)(1) == program(1)
    assert ag.function(program)(1) == program(1)


@pytest.mark.parametrize("convert", [ag.convert, ag.function])
def test_an_exception_shows_each_function_once_under_its_own_name(convert):
    with pytest.raises(ZeroDivisionError) as wanted:
        divide(1, (1, 2))
    with pytest.raises(ZeroDivisionError) as caught:
        convert(divide)(1, (1, 2))
    shown = [(each.name, each.lineno, each.line) for each in traceback.extract_tb(caught.value.__traceback__)]
    assert (
        shown[1:]
        == [(each.name, each.lineno, each.line) for each in traceback.extract_tb(wanted.value.__traceback__)][1:]
    )


def warn(x):
    if x > 0:
        warnings.warn("positive", stacklevel=2)
    return x


def warned(x):
    for _ in range(2):
        if x > -1:
            x = warn(x)
    return x


@pytest.mark.parametrize("run", [warned, ag.convert(warned), ag.function(warned)])
@pytest.mark.parametrize("x", [1, jnp.float32(1.0)])
def test_the_level_of_a_warning_counts_functions(run, x):
    with pytest.warns(UserWarning, match="positive") as found:
        run(x)
    assert {(each.filename, each.lineno) for each in found} == {(__file__, warned.__code__.co_firstlineno + 3)}
