"""``f(*xs)`` of a list of traced length: as many arguments as the list has items when the program runs."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.sized_programs import Point, average, difference
from tests.test_lengths_by_path import plain


def numbers(n):
    return [i * i for i in range(n)]


def raised(program, n):
    with pytest.raises(TypeError) as caught:
        program(n)
    return str(caught.value)


def exactly_two(n):
    return difference(*numbers(n))


def three_of_a_class(n):
    return Point(*numbers(n)).z


def one_or_more(n):
    return average(*numbers(n))


def one_by_name(n):
    return difference(*numbers(n), b=2)


def largest(n):
    return max(*numbers(n))


def smallest_of_comprehension(n):
    return min(*[i * 0.5 for i in range(n)])


@pytest.mark.parametrize(
    "program", [exactly_two, three_of_a_class, one_or_more, one_by_name, largest, smallest_of_comprehension]
)
def test_another_number_raises_as_in_python(program):
    staged = ag.function(program)
    for n in range(5):
        try:
            wanted = program(n)
        except TypeError as error:
            assert raised(staged, jnp.array(n)) == str(error)
        else:
            assert plain(staged(jnp.array(n))) == pytest.approx(wanted, rel=1e-4)


def test_the_error_is_caught():
    def tried(n):
        try:
            return difference(*numbers(n))
        except TypeError:
            return -100

    staged = ag.function(tried)
    assert [int(staged(jnp.array(n))) for n in range(4)] == [tried(n) for n in range(4)]


def test_prints_of_as_many(capsys):
    def shown(n):
        xs = []
        for i in range(4):
            if i < n:
                xs.append(i * 0.5)
        print(*xs)
        print(*xs, sep=", ", end="!\n")
        print("a", *xs, sep=",")
        print(*xs, "b", *xs, n)
        print(*xs, *xs, sep="-")

    for n in (0, 1, 3):
        shown(n)
        wanted = capsys.readouterr().out
        ag.function(shown)(jnp.array(n))
        assert capsys.readouterr().out == wanted


def test_recursion_over_the_rest():
    def total(*parts):
        if len(parts) == 0:
            return 0
        first, *rest = parts
        return first + total(*rest)

    def program(n):
        return total(*numbers(n))

    assert [int(ag.function(program)(jnp.array(n))) for n in (0, 1, 4)] == [program(n) for n in (0, 1, 4)]


@ag.do_not_convert
def unconverted(*args):
    return len(args)


def with_default(a, b=2):
    return a + b


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (unconverted, "`unconverted` .* is not converted"),
        (lambda *args: len(args), "is not converted, or a lambda"),
        (with_default, "'b' has a default"),
        (divmod, "`divmod` .* no function or class of Python's"),
        (lambda a, b, c, d: a, None),
    ],
)
def test_what_cannot_take_as_many_is_refused(call, reason):
    def program(n):
        return call(*numbers(n))

    if reason is None:
        assert int(ag.function(program)(jnp.array(4))) == 0
        return
    with pytest.raises(ag.StagingError, match=reason):
        ag.function(program)(jnp.array(2))


def test_a_program_that_cannot_raise_is_refused():
    def program(x):
        return difference(*[each for each in x if each > 0])

    with pytest.raises(ag.StagingError, match="cannot raise TypeError"):
        jax.jit(ag.convert(program))(jnp.array([1.0, -2.0, 3.0]))


def test_a_list_of_lists_as_arguments_of_max_is_refused():
    def program(n):
        return max(*[[i, n] for i in range(n)])

    with pytest.raises(ag.StagingError, match="may be iterables"):
        ag.function(program)(jnp.array(2))
