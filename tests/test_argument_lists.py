"""``f(*xs)`` of a list of traced length: as many arguments as the list has items when the program runs."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged
from tests.sized_programs import Point, average, difference


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


def with_defaults(a, b=2, c=None):
    return a + 10 * b if c is None else a + 10 * b + 100 * c


def one_to_three(n):
    return with_defaults(*numbers(n))


def after_another(n):
    return with_defaults(7, *numbers(n))


def with_a_default_and_more(a=1, *rest):
    return a + 10 * len(rest) + sum(rest)


def any_number(n):
    return with_a_default_and_more(*numbers(n))


class Scaled:
    def __init__(self, value, by=3.0):
        self.value = value * by


def a_default_of_a_class(n):
    return Scaled(*numbers(n)).value


def folded(n):
    return math.hypot(*numbers(n), 2.0), math.gcd(*numbers(n)), math.gcd(12, *numbers(n)), math.lcm(*numbers(n)[1:])


def of_sets(n):
    rows = [[i, i * i, 1] for i in range(n)]
    found = {100}
    found.update(*rows)
    return (
        sorted(found),
        sorted({5, 6}.union(*rows)),
        sorted({0, 1, 2}.intersection(*rows)),
        sorted({4}.difference(*rows)),
    )


def of_its_first(n):
    return sorted(set.intersection(*[{k for k in range(8) if k > i} for i in range(n)]))


def chained(n):
    return list(itertools.chain(*[[i, n] for i in range(n)])), sum(itertools.chain(*[[i] for i in range(n)], [n]))


def largest(n):
    return max(*numbers(n))


def smallest_of_comprehension(n):
    return min(*[i * 0.5 for i in range(n)])


@pytest.mark.parametrize(
    "program",
    [
        *(exactly_two, three_of_a_class, one_or_more, one_by_name, largest, smallest_of_comprehension, one_to_three),
        *(after_another, any_number, a_default_of_a_class, folded, of_sets, of_its_first, chained),
    ],
)
def test_another_number_raises_as_in_python(program):
    staged = ag.function(program)
    for n in range(5):
        try:
            wanted = program(n)
        except TypeError as error:
            assert raised(staged, jnp.array(n)) == str(error)
        else:
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4), staged(jnp.array(n)), wanted)


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
        staged.function(shown)(jnp.array(n))
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


class Multiple:
    """Is called with any number of arguments."""

    def __init__(self, by):
        self.by, self.calls = by, 0

    def __call__(self, *xs, offset=0):
        self.calls += len(xs)
        return sum(xs) * self.by + offset


class Line(Multiple):
    def __call__(self, x, slope=2):
        return self.by + slope * x


class Around(Multiple):
    def __call__(self, *xs, **options):
        return super().__call__(*xs, **options) + len(xs)


class Layer(ag.Module):
    def __call__(self, *xs):
        return sum(xs) * 2


def of_objects(n):
    multiple = Multiple(3)
    chosen = multiple if n > 2 else Multiple(5)
    return (
        multiple(*numbers(n)),
        multiple(7, *numbers(n), offset=n),
        Around(2)(*range(n), offset=1),
        Layer()(*range(n)),
        chosen(*numbers(n)),
        multiple.calls,
    )


def test_objects_that_are_called():
    for n in (0, 1, 2, 4):
        assert [int(each) for each in staged.function(of_objects)(jnp.array(n))] == [*of_objects(n)]
    found = ag.function(jax.vmap(ag.convert(of_objects)))(jnp.array([1, 4]))
    assert [int(each[1]) for each in found] == [*of_objects(4)]


def test_an_object_that_takes_another_number_raises_as_in_python():
    def program(n):
        return Line(4)(*numbers(n))

    for n in (1, 2):
        assert int(staged.function(program)(jnp.array(n))) == program(n)
    for n in (0, 3):
        with pytest.raises(TypeError) as found:
            staged.function(program)(jnp.array(n))
        assert str(found.value) == raised(program, n)


@ag.do_not_convert
def unconverted(*args):
    return len(args)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (unconverted, "`unconverted` .* is not converted"),
        (lambda *args: len(args), "is not converted, or a lambda"),
        (jnp.linspace, "`linspace` .* 'axis' has a default, and it is not converted"),
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
