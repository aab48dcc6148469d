"""`try` around what Python raises for the values of numbers: domains, ranges, conversions, shifts, and divisions in helpers."""

from __future__ import annotations

import contextlib
import functools
import math
import operator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import differences

MISTAKES = (ZeroDivisionError, ValueError)
NUMBERS = (-1.0, 0.0, 0.5, 1.0, 2.0, 400.0, 1000.0, float("inf"), float("-inf"), float("nan"))


@pytest.fixture(autouse=True)
def doubles():
    with jax.enable_x64(True):
        yield


def told(function):
    """What a function of one number does inside a `try`, as a program: which error, or the value."""

    def program(x):
        kind = 0
        try:
            value = function(x) * 1.0
        except ValueError:
            kind, value = 1, -100.0
        except OverflowError:
            kind, value = 2, -200.0
        except ZeroDivisionError:
            kind, value = 3, -300.0
        return kind, value

    return program


def sine(x):
    return math.sin(x)


FUNCTIONS = {
    "sqrt": lambda x: math.sqrt(x),
    "log": lambda x: math.log(x),
    "log of a base": lambda x: math.log(x, 2.0),
    "log of this base": lambda x: math.log(8.0, x),
    "log2": lambda x: math.log2(x),
    "log10": lambda x: math.log10(x),
    "log1p": lambda x: math.log1p(x),
    "exp": lambda x: math.exp(x),
    "expm1": lambda x: math.expm1(x),
    "sin": sine,
    "tan": lambda x: math.tan(x),
    "asin": lambda x: math.asin(x),
    "acos": lambda x: math.acos(x),
    "cosh": lambda x: math.cosh(x),
    "sinh": lambda x: math.sinh(x),
    "acosh": lambda x: math.acosh(x),
    "atanh": lambda x: math.atanh(x),
    "pow": lambda x: math.pow(x, 0.5),
    "pow of this": lambda x: math.pow(10.0, x),
    "zero to this": lambda x: 0.0**x,
    "ten to this": lambda x: 10.0**x,
    "this to minus one": lambda x: x**-1,
    "power": lambda x: pow(x, -1),
    "fmod": lambda x: math.fmod(5.0, x),
    "remainder": lambda x: math.remainder(5.0, x),
    "gamma": lambda x: math.gamma(min(x, 30.0)),
    "lgamma": lambda x: math.lgamma(x),
    "int": lambda x: int(x),
    "round": lambda x: round(x),
    "floor": lambda x: math.floor(x),
    "ceil": lambda x: math.ceil(x),
    "trunc": lambda x: math.trunc(x),
    "quotient of operator": lambda x: operator.truediv(1.0, x),
    "reduced": lambda x: functools.reduce(operator.truediv, [1.0, x, 2.0]),
    "in a helper": lambda x: sine(1.0 / x),
    "mapped": lambda x: sum(map(math.sqrt, [x, x + 1.0])),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    program = told(FUNCTIONS[name])
    compiled = ag.function(program)
    for x in NUMBERS:
        assert list(differences(program(x), compiled(jnp.float64(x)), widens=True)) == [], x
    lanes = jax.vmap(ag.function(program))(jnp.array(NUMBERS))
    jitted = jax.jit(jax.vmap(ag.convert(program)))(jnp.array(NUMBERS))
    for found in (lanes, jitted):
        for k, x in enumerate(NUMBERS):
            lane = jax.tree.map(lambda leaf, k=k: leaf[k], found)
            assert list(differences(program(x), lane, widens=True)) == [], x


def of_ints(n):
    rest, whole, shifted, root, pair, power = -1, -1, -1, -1, (-8, -9), -1
    try:
        rest = operator.mod(7, n)
        whole = 7 // n
    except ZeroDivisionError:
        whole = -2
    try:
        shifted = 1 << n
    except ValueError:
        shifted = -3
    try:
        root = math.isqrt(n)
    except ValueError as error:
        root = -len(error.args)
    try:
        pair = divmod(7, n)
    except ZeroDivisionError:
        rest = -5
    try:
        power = 2 << n >> n
    except ValueError:
        power = -6
    return rest, whole, shifted, root, pair, power


def by_a_name(x):
    try:
        return 1 / x
    except MISTAKES:
        return -5.0


def retried(x):
    steps = 0
    while True:
        try:
            root = math.sqrt(x)
            break
        except ValueError:
            x += 1.0
            steps += 1
    return root, steps


class Cell:
    def __init__(self, value):
        self.value = value

    def inverse(self):
        return 1 / self.value

    @property
    def root(self):
        return math.sqrt(self.value)


def of_methods(x):
    cell = Cell(x)
    try:
        return cell.inverse() + cell.root
    except (ValueError, ArithmeticError):
        return -7.0


def of_known_zero(x):
    try:
        return x / 0
    except ZeroDivisionError:
        return -x


def not_for_this(x):
    try:
        return math.log(abs(x) + 1.0) / 2.0
    except KeyError:
        return -1.0


@pytest.mark.parametrize("program", [by_a_name, retried, of_methods, of_known_zero, not_for_this])
def test_programs(program):
    compiled, jitted = ag.function(program), jax.jit(ag.convert(program))
    for x in (-3.0, -1.0, 0.0, 0.25, 4.0):
        for run in (compiled, jitted):
            assert list(differences(program(x), run(jnp.float64(x)), widens=True)) == [], x


def test_ints():
    compiled, jitted = ag.function(of_ints), jax.jit(ag.convert(of_ints))
    for n in (-3, 0, 1, 2, 9, 24):
        for run in (compiled, jitted):
            assert list(differences(of_ints(n), run(jnp.int64(n)), widens=True)) == [], n


def test_square_roots_of_large_ints():
    compiled = ag.function(lambda n: math.isqrt(n))
    for n in (0, 1, 2**52 + 1, (2**31 - 1) ** 2 - 1, (2**31 - 1) ** 2, 2**62, 2**63 - 1):
        assert int(compiled(jnp.int64(n))) == math.isqrt(n)


def test_derivatives_where_it_raises_are_those_of_the_handler():
    def f(x):
        try:
            return math.sqrt(x) * 3.0
        except ValueError:
            return x * 5.0

    assert [float(jax.grad(ag.function(f))(x)) for x in (4.0, -4.0)] == [0.75, 5.0]


def test_a_refusal_is_no_exception_of_the_program():
    def f(n):
        try:
            return math.ulp(n)
        except Exception:
            return -1

    for run in (ag.function(f), jax.jit(ag.convert(f))):
        with pytest.raises(ag.StagingError, match="value of a traced array is needed here"):
            run(jnp.int32(3))


class Swallow:
    def __init__(self, *kinds):
        self.kinds = kinds
        self.left = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, error, tb):
        self.left += 1
        return kind is not None and issubclass(kind, self.kinds)


class Timer:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class Around:
    def __init__(self, inner):
        self.inner = inner

    def __enter__(self):
        return self.inner.__enter__()

    def __exit__(self, *error):
        return self.inner.__exit__(*error)


@contextlib.contextmanager
def guarded():
    try:
        yield 1
    except ZeroDivisionError:
        pass


def suppressed(x):
    y = 5.0
    with contextlib.suppress(ZeroDivisionError):
        y = 1 / x
        y = y + 1
    return y


def swallowed(x):
    y = 5.0
    with Swallow(ArithmeticError) as s:
        y = 1 / x
    return y, s.left


def swallowed_around(x):
    y = 5.0
    with Swallow(ArithmeticError) as s, Around(s):
        y = 1 / x
    return y


def swallowed_by_a_generator(x):
    y = 5.0
    with guarded():
        y = 1 / x
    return y


def swallowed_in_a_loop(x):
    y = 0.0
    for k in range(3):
        with Swallow(ArithmeticError):
            y += 1 / (x - k)
    return y


def returned_from_within(x):
    with Swallow(ZeroDivisionError):
        return 1 / x
    return 5.0


def appended_before(x):
    found = []
    with Swallow(ValueError):
        found.append(1.0)
        found.append(math.sqrt(x - 1))
        found.append(3.0)
    return sum(found), len(found)


def handled_around_a_timer(x):
    try:
        with Timer():
            y = 1 / x
    except ZeroDivisionError:
        y = 7.0
    return y


@pytest.mark.parametrize(
    "f",
    [
        suppressed,
        swallowed,
        swallowed_around,
        swallowed_by_a_generator,
        swallowed_in_a_loop,
        returned_from_within,
        appended_before,
        handled_around_a_timer,
    ],
)
def test_managers_that_keep_exceptions_from_going_on(f):
    for run in (ag.function(f), jax.jit(ag.convert(f))):
        for x in (0.0, 1.0, 2.0, 3.0):
            np.testing.assert_allclose(jax.tree.leaves(run(jnp.float64(x))), jax.tree.leaves(f(x)))


def timed(x):
    with Timer():
        y = 1 / x
    return y


def test_a_manager_that_lets_exceptions_go_on_changes_no_number():
    for run in (ag.function(timed), jax.jit(ag.convert(timed))):
        assert run(jnp.float64(0.0)) == np.inf


def stacked(x):
    y = 5.0
    with contextlib.ExitStack() as stack:
        stack.enter_context(Swallow(ArithmeticError))
        y = 1 / x
    return y


def yields_within(x):
    def inverse():
        with Swallow(ArithmeticError):
            yield 1 / x
        yield 3.0

    return sum(inverse())


@pytest.mark.parametrize("f", [stacked, yields_within])
def test_managers_that_python_runs_refuse(f):
    with pytest.raises(ag.StagingError, match="ZeroDivisionError"):
        ag.function(f)(jnp.float64(2.0))


def test_handlers_that_python_runs_refuse():
    def inverses(xs):
        for x in xs:
            try:
                yield 1 / x
            except ZeroDivisionError:
                yield -1.0

    def generated(x):
        return sum(inverses([x, x + 1.0]))

    with pytest.raises(ag.StagingError, match="ZeroDivisionError"):
        ag.function(generated)(jnp.float64(2.0))


def test_branches_of_a_try_in_a_try_are_named_by_their_line():
    def f(n):
        found = 0.0
        try:
            found = [7 // n]
        except ZeroDivisionError:
            found = {"n": -1.0}
        finally:
            n = n + 1
        return found

    with pytest.raises(ag.StagingError, match=r"test_handled_errors_of_numbers\.py:\d+"):
        ag.function(f)(jnp.int64(2))
