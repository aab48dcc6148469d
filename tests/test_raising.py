"""``raise`` and ``assert`` under traced conditions happen at run time, exactly; or the conversion refuses."""

import traceback
from collections import defaultdict

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged


class OutOfRange(ValueError):
    pass


def checked_root(x):
    if x < 0:
        raise ValueError("negative")
    return jnp.sqrt(x)


def test_raise_in_a_branch():
    f = ag.function(checked_root)
    assert float(f(4.0)) == 2.0
    assert float(f(jnp.float32(9.0))) == 3.0
    with pytest.raises(ValueError, match="^negative$") as caught:
        f(jnp.float32(-1.0))
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.line) == (__file__, 'raise ValueError("negative")')
    assert float(f(jnp.float32(16.0))) == 4.0
    assert f.experimental_get_tracing_count() <= 2


def test_message_with_a_traced_value():
    @ag.function
    def f(x, i):
        if x[i] > 3:
            raise OutOfRange(f"x[{i}] = {x[i]:.2f} is over {3}", i)
        return x

    with pytest.raises(OutOfRange) as caught:
        f(jnp.array([1.0, 5.0]), jnp.array(1))
    assert caught.value.args == ("x[1] = 5.00 is over 3", 1)
    assert f(jnp.array([1.0, 5.0]), jnp.array(0)).tolist() == [1.0, 5.0]


@pytest.mark.parametrize("kind", [TypeError, AttributeError])
def test_errors_of_python_with_a_message_of_a_traced_value(kind):
    """As against those that Python raises about a tracer."""

    @ag.function
    def f(n):
        if n > 2:
            raise kind(f"takes 2 but {n} were given")
        return n

    with pytest.raises(kind, match="^takes 2 but 3 were given$"):
        f(jnp.array(3))


def test_first_of_several_in_a_loop():
    @ag.function
    def f(xs):
        total = 0.0
        for x in xs:
            if x > 100:
                raise OverflowError("big")
            if x < 0:
                raise ValueError("negative", x)
            total += x
        return total

    assert float(f(jnp.array([1.0, 2.0]))) == 3.0
    with pytest.raises(ValueError) as caught:
        f(jnp.array([1.0, -2.0, 200.0, -3.0]))
    assert caught.value.args == ("negative", -2.0)
    with pytest.raises(OverflowError, match="big"):
        f(jnp.array([1.0, 300.0, 2.0, -3.0]))


def test_raise_ends_a_while_that_would_go_on():
    @ag.function
    def f(x):
        while x > 0:
            if x > 1000:
                raise RuntimeError("diverged")
            x = x * 2
        return x

    with pytest.raises(RuntimeError, match="diverged"):
        f(jnp.float32(1.0))
    assert float(f(jnp.float32(-1.0))) == -1.0


def test_assert():
    @ag.function
    def f(x):
        assert x.sum() < 10, f"sum is {x.sum()}"
        for v in x:
            assert v >= 0
        return x * 2

    assert f(jnp.array([1.0, 2.0])).tolist() == [2.0, 4.0]
    with pytest.raises(AssertionError, match="^sum is 11.0$"):
        f(jnp.array([1.0, 10.0]))
    with pytest.raises(AssertionError):
        f(jnp.array([1.0, -1.0]))


def test_raise_in_a_callee_and_after_a_return():
    def pick(x):
        if x > 1:
            return x
        if x > 0:
            return x * 2
        raise KeyError("none")

    @ag.function
    def f(x):
        for _ in range(2):
            x = pick(x) - 0.5
        return x

    assert float(f(jnp.float32(3.0))) == 2.0
    with pytest.raises(KeyError, match="none"):
        f(jnp.float32(-3.0))


def test_exception_class_without_arguments():
    @ag.function
    def f(x):
        if x > 0:
            raise OutOfRange
        return x

    with pytest.raises(OutOfRange):
        f(jnp.float32(3.0))


def test_handler_inside_the_block_catches():
    @ag.function
    def f(x):
        if x > 0:
            try:
                raise ValueError("inside")
            except ValueError:
                y = x * 2
        else:
            y = -x
        return y

    assert float(f(jnp.float32(3.0))) == 6.0
    assert float(f(jnp.float32(-3.0))) == 3.0


def test_handler_around_a_staged_raise():
    @ag.function
    def f(x):
        try:
            if x > 0:
                raise ValueError
            y = x
        except ValueError:
            y = -x
        return y

    assert [float(f(jnp.float32(x))) for x in (3.0, -3.0)] == [-3.0, -3.0]


def test_bare_jit_is_refused():
    with pytest.raises(ag.StagingError, match=r"autograph\.function"):
        jax.jit(ag.convert(checked_root))(4.0)


def test_outside_a_trace_nothing_changes():
    f = ag.convert(checked_root)
    assert float(f(4.0)) == 2.0
    with pytest.raises(ValueError, match="^negative$"):
        f(-4.0)
    with pytest.raises(ValueError, match="^negative"):
        jax.grad(f)(-4.0)


def fails_in_a_branch_within_a_try(n, c):
    try:
        if c:
            n += {0: 5}[1]
        n += 1
    except KeyError:
        n = -1
    return n


def fails_in_a_loop_within_a_try(n, c):
    try:
        for _ in range(n):
            n += [][0]
    except LookupError:
        n = -1
    return n


def cannot_be_staged_within_a_try(n, c):
    try:
        y = (n, [n]) if c else [n]
    except Exception:
        y = None
    return n if y is None else y


@pytest.mark.parametrize("program", [fails_in_a_branch_within_a_try, fails_in_a_loop_within_a_try])
@pytest.mark.parametrize(("n", "c"), [(0, False), (2, True)])
def test_what_python_raises_in_a_block_is_caught_where_that_runs(program, n, c):
    for f in (staged.function(program), ag.convert(program)):
        assert int(f(jnp.array(n), jnp.array(c))) == program(n, c)


def test_what_ends_the_tracing_of_a_block_is_not_caught_as_if_it_had_happened():
    program = cannot_be_staged_within_a_try
    with pytest.raises(ag.StagingError, match=r"test_raising\.py:\d+"):
        ag.function(program)(jnp.array(0), jnp.array(False))
    assert ag.convert(program)(0, False) == program(0, False)


def catches_what_surely_happens(n, c):
    try:
        n += {0: 5}[1]
    except KeyError:
        n = n - 1
    if c:
        try:
            n += {0: 5}[1]
        except KeyError:
            n = n * 2
    return n


@pytest.mark.parametrize("c", [False, True])
def test_a_try_within_a_block_catches(c):
    assert int(ag.function(catches_what_surely_happens)(jnp.array(4), jnp.array(c))) == catches_what_surely_happens(
        4, c
    )


def asserts_and_then_looks_too_far(x):
    if x <= 0:
        raise ArithmeticError("not positive")
    return [x][1]


def never_gets_a_largest(x):
    found = []
    for k in ag.range(3):
        if x >= k or x <= k:
            raise ArithmeticError(f"{k}")
        found.append(k)
    return max([k for k in found if False])


@pytest.mark.parametrize("function", [asserts_and_then_looks_too_far, never_gets_a_largest])
@pytest.mark.parametrize("x", [1.0, -1.0])
def test_what_python_raises_later_comes_after_what_the_run_raises(function, x):
    with pytest.raises(Exception) as plain:
        function(x)
    with pytest.raises(plain.type) as caught:
        staged.function(function)(jnp.float32(x))
    assert str(caught.value) == str(plain.value)


def test_what_jax_raises_is_raised_while_tracing():
    def f(x):
        assert x > 0
        return jnp.ones(3) + jnp.ones(4)

    with pytest.raises(TypeError, match="incompatible shapes"):
        ag.function(f)(jnp.float32(-1))


def reads_too_deep(n, x):
    return x[0, n] if n > 2 else x[n]


def writes_too_deep(n, x):
    x = x + 1
    if n > 2:
        x[n, 0] = 0.0
    return x


def item_of_a_number(n, x):
    return n[0] if n > 2 else n


def handles_too_many_indices(n, x):
    try:
        if n > 2:
            return x[n, n]
    except IndexError:
        return -1.0
    return x[n]


@pytest.mark.parametrize("function", [reads_too_deep, writes_too_deep, item_of_a_number])
def test_too_many_indices_in_a_branch(function):
    x = np.array([1.0, 2.0, 3.0], np.float32)
    g = ag.function(function)
    assert np.array_equal(g(jnp.int32(1), jnp.array(x)), function(np.int32(1), x))
    with pytest.raises(IndexError):
        function(np.int32(3), x)
    with pytest.raises(IndexError, match="Too many indices"):
        g(jnp.int32(3), jnp.array(x))


def test_too_many_indices_in_a_try():
    x = np.array([1.0, 2.0, 3.0], np.float32)
    g = ag.function(handles_too_many_indices)
    for n in (1, 3):
        assert g(jnp.int32(n), jnp.array(x)) == handles_too_many_indices(n, x)


def test_a_variable_without_a_value_in_a_branch():
    def f(x):
        if x < 0:
            raise ArithmeticError("negative")
        if x > 5:
            y += 1  # noqa: F821
            return y
        return x
        y = 0

    assert ag.function(f)(jnp.float32(2)) == 2
    with pytest.raises(ArithmeticError, match="negative"):
        ag.function(f)(jnp.float32(-1))
    with pytest.raises(NameError, match="'y'"):
        ag.function(f)(jnp.float32(6))


def test_a_handler_that_raises_another_error_than_that_of_a_loop():
    def f(n):
        try:
            for _ in ag.range(n):
                total = total + 1  # noqa: F821, F841
        except Exception:
            raise ArithmeticError("in the handler") from None
        return n

    g = ag.function(f)
    assert int(g(jnp.int32(-1))) == -1
    with pytest.raises(ArithmeticError, match="in the handler"):
        g(jnp.int32(2))


def test_a_list_made_and_written_before_a_raise():
    def f(n, t):
        if t > 0:
            made = [n + 1, 0]
            made[1] += n
            raise ArithmeticError(made[1])
        return n

    assert ag.function(f)(jnp.int32(2), jnp.int32(0)) == 2
    with pytest.raises(ArithmeticError, match="^2$"):
        ag.function(f)(jnp.int32(2), jnp.int32(1))


def raises_in_a_finally(x):
    try:
        if x < 5:
            raise ArithmeticError("first")
    finally:
        if x < 3:
            raise ValueError("second")
    return x


def prints_in_a_finally(x):
    try:
        if x < 5:
            raise ArithmeticError("first")
    finally:
        print(x)
    return x


class PrintsAtTheEnd:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        ag.print("the end")


def prints_when_left(x):
    with PrintsAtTheEnd():
        if x < 5:
            raise ArithmeticError("first")
    return x


@pytest.mark.parametrize("function", [raises_in_a_finally, prints_in_a_finally, prints_when_left])
@pytest.mark.parametrize("x", [7.0, 4.0, 1.0])
def test_what_happens_in_a_finally(function, x, capsys):
    def outcome(f, x):
        try:
            found = float(f(x))
        except (ArithmeticError, ValueError) as error:
            found = type(error), str(error)
        jax.effects_barrier()
        return found, capsys.readouterr().out

    assert outcome(staged.function(function), jnp.float32(x)) == outcome(function, x)


def test_a_finally_that_only_computes(capsys):
    def f(x):
        try:
            if x < 5:
                raise ArithmeticError("first")
        finally:
            x = x + 1
        try:
            x = x * 2
        finally:
            ag.print("before", x)
            if x > 100:
                raise ValueError("second")
        return x

    assert ag.function(f)(jnp.float32(7)) == 16
    for x, kind in ((1, ArithmeticError), (99, ValueError)):
        with pytest.raises(kind):
            staged.function(f)(jnp.float32(x))
    jax.effects_barrier()
    assert capsys.readouterr().out == "before 16.0\nbefore 200.0\n"


def test_a_variable_without_a_value_under_a_bare_jit():
    def f(n):
        k = 0
        while k < n:
            k = k + missing  # noqa: F821
            missing = 1  # noqa: F841
        return k

    with pytest.raises(ag.StagingError, match="'missing'.*bare jax.jit"):
        jax.jit(ag.convert(f))(3)


def test_a_list_that_an_iteration_finds_empty_under_a_bare_jit():
    def f(n):
        lists = defaultdict(list)
        total = 0
        for k in ag.range(4):
            if k in lists:
                total += lists[k].pop()
            for each in lists[k]:
                total += each
        return total + n

    assert int(ag.function(f)(jnp.int32(2))) == f(2) == 2
    with pytest.raises(ag.StagingError, match=r"IndexError: pop from empty list\. .*\n  Call the function"):
        jax.jit(ag.convert(f))(jnp.int32(2))


def test_a_list_that_an_iteration_finds_empty_inside_handlers_under_a_bare_jit():
    def f(n):
        lists = defaultdict(list)
        total = 0
        try:
            for k in ag.range(4):
                if k in lists:
                    total += lists[k].pop()
                for each in lists[k]:
                    total += each
        except KeyError:
            total = -1
        return total + n

    assert int(ag.function(f)(jnp.int32(2))) == f(2) == 2
    with pytest.raises(ag.StagingError, match=r"\n  IndexError is raised here while"):
        jax.jit(ag.convert(f))(jnp.int32(2))


def test_stop_iteration_is_raised_as_it_is():
    @ag.function
    def f(x):
        if x > 1:
            raise StopIteration(3)
        return [x, {"x": x}]

    assert float(f(jnp.float32(0))[1]["x"]) == 0
    with pytest.raises(StopIteration) as error:
        f(jnp.float32(2))
    assert error.value.value == 3
