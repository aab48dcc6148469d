"""Exceptions that a program comes upon, after it was saved and loaded."""

from __future__ import annotations

import traceback

import jax.numpy as jnp
import pytest

import autograph as ag
from tests.saved_models import loaded


class TooLarge(ValueError):
    pass


class OutOfBounds(Exception):
    def __init__(self, value, *, limit):
        super().__init__(f"{value} is beyond {limit}")
        self.limit = limit


def raised(function, *arguments):
    try:
        function(*arguments)
    except Exception as error:
        return error
    raise AssertionError("it did not raise")


def value_error(x):
    if x > 1:
        raise ValueError("too large")
    return x


def text_of_values(x):
    if x > 1:
        raise ValueError(f"{x} and {x:.3f} and {x * 2!r}, " + str(x) + " {}".format(x) + " {0:>8.1f}".format(x))
    return x


def arguments_that_are_values(x):
    if x > 1:
        raise KeyError(x, "a", 3)
    return x


def assertion(x):
    assert x <= 1, f"{x} > 1"
    return x


def assertion_of_ours(x):
    ag.Assert(x <= 1, ["x is", x])
    return x


def in_a_loop(x):
    for i in range(5):
        if x * i > 5:
            raise IndexError(f"iteration {i}")
    return x


def one_of_two(x):
    if x > 1:
        raise ValueError("above")
    if x < -1:
        raise TypeError("below")
    return x


def division(x):
    n = 0
    if x > 1:
        return 1 / n
    return x


def unbound(x):
    if x < 1:
        y = 1
    return y


def with_a_cause(x):
    if x > 1:
        raise RuntimeError("outer") from KeyError("inner")
    return x


def system_errors(x):
    if x > 1:
        raise FileNotFoundError(2, "No such file", "name.txt")
    return x


@pytest.mark.parametrize(
    "f",
    [
        *(value_error, text_of_values, arguments_that_are_values, assertion, assertion_of_ours, in_a_loop, one_of_two),
        *(division, unbound, with_a_cause, system_errors),
    ],
)
def test_it_is_the_same(f, tmp_path):
    original = ag.function(f, input_signature=[ag.TensorSpec([], name="x")])
    again = loaded(original, tmp_path)
    again = loaded(again, tmp_path / "again")
    for x in (3.0, -3.0, 0.5):
        try:
            expected = original(x)
        except Exception as error:
            got = raised(again, x)
            assert type(got) is type(error) and str(got) == str(error) and repr(got.args) == repr(error.args)
            assert repr(got.__cause__) == repr(error.__cause__)
            assert vars(got) == vars(error)
        else:
            assert again(x) == expected


def test_variables_keep_their_values(tmp_path):
    total = ag.Variable(0.0)

    @ag.function(input_signature=[ag.TensorSpec([])])
    def add(x):
        total.assign_add(x)
        if x > 5:
            raise ValueError("no")
        return total.value

    again = loaded(add, tmp_path)
    assert float(again(1.0)) == 1
    raised(again, 9.0)
    assert float(again(1.0)) == 2


def test_a_class_that_is_not_there(tmp_path):
    @ag.function(input_signature=[ag.TensorSpec([])])
    def f(x):
        if x > 5:
            raise OutOfBounds(x, limit=5)
        if x > 1:
            raise TooLarge(f"{x:.1f}", x)
        return x

    for again in (loaded(f, tmp_path), loaded(loaded(f, tmp_path), tmp_path)):
        error = raised(again, 3.0)
        assert type(error).__name__ == "TooLarge" and isinstance(error, ValueError) and isinstance(error, ag.SavedError)
        assert error.args[0] == "3.0" and float(error.args[1]) == 3
        error = raised(again, 9.0)
        assert type(error).__name__ == "OutOfBounds" and isinstance(error, ag.SavedError)
        assert not isinstance(error, ValueError) and str(error) == "9.0 is beyond 5" and error.limit == 5


def test_the_line_is_in_the_traceback(tmp_path):
    again = loaded(ag.function(value_error, [ag.TensorSpec([])]), tmp_path)
    text = "".join(traceback.format_exception(raised(again, 3.0)))
    line = value_error.__code__.co_firstlineno + 2
    assert f'File "<saved {__file__}>", line {line}' in text


def test_in_functions_around_it(tmp_path):
    again = loaded(ag.function(text_of_values, [ag.TensorSpec([])]), tmp_path)

    @ag.function
    def f(x):
        i = 0
        while i < 3:
            x = again(x + 0.5)
            i += 1
        return x

    assert float(f(jnp.array(-1.0))) == 0.5
    assert str(raised(f, jnp.array(0.0))).startswith("1.5 and 1.500 and ")
    with pytest.raises(ValueError, match="^3.0 and 3.000"):
        ag.value_and_grad(lambda x: again(x), argnums=0)(jnp.array(3.0))


def test_a_text_that_takes_the_digits_is_refused(tmp_path):
    @ag.function(input_signature=[ag.TensorSpec([])])
    def f(x):
        if x > 1:
            raise ValueError("%d items" % x)
        return x

    with pytest.raises(
        ag.StagingError, match=r"ValueError is raised here with data that cannot be saved(.|\n)*f-strings"
    ):
        ag.save(f, tmp_path / "f")


def test_what_calls_python_is_refused_by_its_line(tmp_path):
    def printing(x):
        while x < 3:
            ag.print("x is", x)
            x = x + 1
        return x

    def calling(x):
        return ag.py_function(lambda v: v + 1, [x], jnp.float32)

    for f, offset in ((printing, 2), (calling, 1)):
        with pytest.raises(ag.StagingError, match="calls Python at run time here") as error:
            ag.save(ag.function(f, [ag.TensorSpec([])]), tmp_path / "f")
        assert f"{__file__}:{f.__code__.co_firstlineno + offset}" in str(error.value) and f.__name__ in str(error.value)
    assert list(tmp_path.iterdir()) == []


class MissingFile(FileNotFoundError):
    pass


class Copied(FileExistsError):
    def __init__(self, name):
        super().__init__(17, "exists", name, None, name + ".bak")


class Missing(ImportError):
    pass


OF_PYTHON = [
    lambda: MissingFile(2, "no such file", "a.txt"),
    lambda: Copied("a.txt"),
    lambda: BlockingIOError(11, "again", 7),
    lambda: Missing("no module", name="m", path="m.py"),
    lambda: ImportError("no module", name="m"),
    lambda: NameError("no name", name="n"),
    lambda: SyntaxError("bad", ("f.py", 1, 2, "text")),
    lambda: UnicodeDecodeError("utf8", b"abc", 0, 1, "why"),
]


@pytest.mark.parametrize("number", range(len(OF_PYTHON)), ids=lambda number: type(OF_PYTHON[number]()).__name__)
def test_what_the_classes_of_python_hold_is_there(number, tmp_path):
    def f(x):
        if x > 1:
            raise OF_PYTHON[number]()
        return x

    wanted = OF_PYTHON[number]()
    found = raised(loaded(ag.function(f, input_signature=[ag.TensorSpec([])]), tmp_path), 3.0)
    assert type(found).__name__ == type(wanted).__name__ and (str(found), found.args) == (str(wanted), wanted.args)
    names = "errno strerror filename filename2 characters_written name path lineno text encoding start end reason"
    for name in names.split():
        assert getattr(found, name, None) == getattr(wanted, name, None), name
