"""Long loops over a Python `range`: one staged loop where that gives what Python gives."""

import builtins
import functools
import math
import operator
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged
from tests.jaxprs import Counts
from tests.long_loops import agree, is_one_loop

X = jnp.array(1.5, jnp.float32)
XS = jnp.linspace(0.0, 1.0, 100, dtype=jnp.float32)
N = 100


def recurrence(x):
    for i in range(N):
        x = x * 0.9 + i
    return x


def test_a_long_range_is_one_loop():
    assert is_one_loop(recurrence, X)
    agree(recurrence(X), ag.function(recurrence)(X))


def test_up_to_64_iterations_stay_apart():
    def f(x):
        for i in range(64):
            x = x * 0.9 + i
        return x

    assert Counts(ag.convert(f), X).loops == 0


def test_outside_a_trace_nothing_is_staged():
    indices = []

    def f(x):
        for i in range(N):
            indices.append(i)
            x = x + i
        return x

    ag.convert(f)(X)
    assert indices == list(range(N)) and all(type(i) is int for i in indices)


def test_a_break_under_a_test_that_a_helper_makes_of_what_it_closes_over():
    def first_above(xs, limit):
        def is_above(i):
            return xs[i] > limit

        for i in range(N):
            if is_above(i):
                break
        return i

    assert Counts(ag.convert(first_above), XS, 0.5).loops == 1
    for limit in (-1.0, 0.5, 2.0):
        assert int(staged.function(first_above)(XS, limit)) == first_above(XS, limit)


@pytest.mark.parametrize("start, stop, step", [(5, 205, 2), (200, 0, -1), (-50, 50, 1), (0, 100_000, 1000)])
def test_any_range(start, stop, step):
    def f(x):
        for i in range(start, stop, step):
            x = x * 0.9 + i
        return x, i

    assert is_one_loop(lambda x: f(x)[0], X)
    agree(f(X), ag.function(f)(X))


def test_transforms():
    xs = jnp.linspace(-1.0, 1.0, 5, dtype=jnp.float32)
    for transform in (jax.vmap, lambda f: jax.vmap(jax.grad(f)), lambda f: jax.vmap(jax.jacfwd(f))):
        agree(transform(recurrence)(xs), jax.jit(transform(ag.convert(recurrence)))(xs))
    gradient = Counts(jax.grad(ag.convert(recurrence)), X)
    assert jax.jit(jax.grad(ag.convert(recurrence)))(X) == jax.grad(recurrence)(X) and gradient.total > 0
    assert Counts(jax.grad(jax.jit(ag.convert(recurrence))), X).total < 100


# Numbers stay Python's.


def test_python_numbers_come_out_as_python_numbers():
    seen = {}

    def f(x):
        count, total, t, last = 0, 0, 0.0, False
        for i in range(1000):
            x = x * 0.99 + i / 1000
            count += 2
            total += i * i
            t += 0.1
            last = i > 998
        seen.update(count=count, total=total, t=t, last=last, i=i)
        return x, jnp.ones(count // 400)

    agree(f(X), ag.function(f)(X))
    wanted = dict(count=2000, total=332833500, last=True, i=999)
    assert {key: seen[key] for key in wanted} == wanted
    assert all(type(seen[key]) is type(wanted[key]) for key in wanted)
    assert type(seen["t"]) is float and seen["t"] == functools.reduce(operator.add, [0.1] * 1000)


def test_python_ints_are_exact_inside():
    """Intermediate ints beyond 32 bits, as Python has them."""

    def f(x):
        for i in range(3000):
            x = x + (i**4 // 10**9 // 10**3) + (i**3 % 7) * 0.25 + 2.0**-i
        return x

    assert is_one_loop(f, X)
    agree(f(X), ag.function(f)(X))


def test_python_floats_are_exact_inside():
    def f(x):
        for i in range(N):
            x = x + ((1.0 + i * 1e-9) - 1.0) * 1e9 + int(0.29 * 100) * 0.01 + int(i * 0.29)
        return x

    assert is_one_loop(f, X)
    agree(f(X), ag.function(f)(X))


def test_an_int_that_no_array_holds_is_left_to_python():
    def f(x):
        for i in range(N):
            x = x + float(i**20) * 1e-40
        return x

    assert is_one_loop(f, X)  # the power itself stays Python's
    agree(f(X), ag.function(f)(X))

    def overflows(x):
        for i in range(N):
            x = x + i**20
        return x

    with pytest.raises(OverflowError):
        ag.function(overflows)(X)


def test_what_python_raises_is_raised():
    def f(x):
        for i in range(N):
            x = x + 1 / (50 - i)
        return x

    with pytest.raises(ZeroDivisionError):
        ag.function(f)(X)


def test_a_loop_without_traced_work_stays_python():
    seen = {}

    def f(x):
        table, total = [], 0
        for i in range(1000):
            table.append(i * i)
            total += i**3
        sines = []
        for i in range(N):
            sines.append(math.sin(i))
        squares = np.zeros(N)
        for i in range(N):
            squares[i] = i * 0.5
        seen.update(table=table, total=total, sines=sines, squares=squares.copy())
        return x * table[-1]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agree(f(X), ag.function(f)(X))
    assert seen["table"] == [i * i for i in range(1000)] and type(seen["total"]) is int
    assert all(type(value) is float for value in seen["sines"])
    assert isinstance(seen["squares"], np.ndarray) and seen["squares"][3] == 1.5


def test_numpy_tables_are_read_in_the_loop():
    weights = np.linspace(0.0, 1.0, N).astype(np.float32)

    def f(x):
        for i in range(N):
            x = x * 0.9 + weights[i]
        return x

    assert is_one_loop(f, X)
    agree(f(X), ag.function(f)(X))


def test_arrays_are_read_and_written_at_the_index():
    def f(xs):
        ys = jnp.zeros(N)
        for i in range(1, N):
            ys[i] = ys[i - 1] * 0.5 + xs[i] + xs[-i]
        return ys

    def by_hand(xs):
        ys = np.zeros(N)
        for i in range(1, N):
            ys[i] = ys[i - 1] * 0.5 + xs[i] + xs[-i]
        return jnp.asarray(ys)

    assert Counts(ag.convert(f), XS).scans == 1
    agree(by_hand(XS), ag.function(f)(XS))


def test_branches_on_the_index():
    def f(x):
        for i in range(N):
            if i % 3 == 0:
                x = x + i
            elif i == 50:
                x = x * 2
            if x > 100:
                x = x - 60
        return x

    assert Counts(ag.convert(f), X).loops == 1
    agree(f(X), ag.function(f)(X))


# State.


def test_objects_that_the_body_writes_to():
    class Meter:
        def __init__(self):
            self.steps = 0
            self.value = jnp.array(0.0)

        def take(self, x):
            self.steps += 1
            self.value = self.value + x

    seen = []

    def f(x):
        meter = Meter()
        for i in range(N):
            meter.take(x)
            x = x * 0.9
        seen.append(meter.steps)
        return meter.value, meter.steps

    assert Counts(ag.convert(f), X).scans == 1
    agree(f(X), ag.function(f)(X))
    assert all(type(steps) is int and steps == N for steps in seen)


def test_variables():
    total = ag.Variable(0.0)
    calls = ag.Variable(0)

    def f(x):
        for i in range(N):
            total.assign_add(x * i)
            calls.assign_add(1)
            x = x * 0.9
        return x

    wanted = recur_total = 0.0
    value = 1.5
    for i in range(N):
        recur_total += value * i
        value *= 0.9
    wanted = recur_total
    function = ag.function(f)
    agree(jnp.float32(value), function(X))
    np.testing.assert_allclose(total.numpy(), wanted, rtol=1e-5)
    assert int(calls) == N
    assert len([e for e in function.get_concrete_function(X).graph.jaxpr.eqns]) < 60


def test_tensor_arrays_and_lists():
    def array(x):
        taken = ag.TensorArray(jnp.float32, size=0, dynamic_size=True)
        for i in range(N):
            taken = taken.write(i, x)
            x = x * 0.9
        return taken.stack()

    def listed(x):
        taken = []
        for i in range(N):
            taken.append(x)
            x = x * 0.9
        return jnp.stack(taken), len(taken)

    wanted = jnp.asarray([1.5 * 0.9**k for k in range(N)], jnp.float32)
    agree(wanted, ag.function(array)(X))
    agree((wanted, N), ag.function(listed)(X))


def test_the_first_iteration_may_be_another_kind():
    def f(x):
        best = None
        for i in range(N):
            x = x * 0.9 + 1
            if best is None:
                best = x
            elif x > best:
                best = x
        return best

    agree(f(X), ag.function(f)(X))
    assert Counts(ag.convert(f), X).loops == 1


def test_rolled_in_rolled_and_in_a_staged_while():
    def nested(x):
        for i in range(N):
            for j in range(80):
                x = x * 0.99 + (i * 80 + j) * 1e-4
        return x

    counts = Counts(ag.convert(nested), X)
    assert (counts.scans, counts.deepest) == (2, 2)
    agree(nested(X), ag.function(nested)(X))

    def inside(x):
        while x < 1e6:
            for i in range(N):
                x = x + i
        return x

    counts = Counts(ag.convert(inside), X)
    assert (counts.whiles, counts.scans) == (1, 1)
    agree(inside(X), ag.function(inside)(X))


def test_continue_else_and_return():
    def f(x):
        for i in range(N):
            if i % 2:
                continue
            x = x + i
        else:
            x = x * 2
        return x

    def stops(x):
        for i in range(1000):
            x = x + i
            if x > 500:
                return x, i
        return x, -1

    for function in (f, stops):
        assert Counts(ag.convert(function), X).loops == 1
        agree(function(X), ag.function(function)(X))


# The directive.


def test_unroll_false_rolls_short_loops_and_says_what_is_in_the_way():
    def f(x):
        for i in range(5):
            ag.set_loop_options(unroll=False)
            x = x * 0.9 + i
        return x

    def named(x):
        for i in range(5):
            ag.set_loop_options(unroll=False)
            x = x + len(f"{i}")
        return x

    def listed(x):
        for i in [1, 2]:
            ag.set_loop_options(unroll=False)
            x = x + i
        return x

    assert is_one_loop(f, X)
    agree(f(X), ag.function(f)(X))
    with pytest.raises(
        ag.StagingError, match=r"(?s)test_large_loops.py.*one staged loop.*an f-string.*Omit the option"
    ):
        ag.function(named)(X)
    with pytest.raises(ag.StagingError, match="runs over a list"):
        ag.function(listed)(X)
    assert ag.convert(listed)(1.0) == 4.0


def test_unroll_true_unrolls_without_a_warning():
    def f(x):
        for i in range(N):
            ag.set_loop_options(unroll=True)
            x = x * 0.9 + i
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Counts(ag.convert(f), X).loops == 0


def test_unroll_by_a_number_and_a_bound():
    def f(x):
        for i in range(1000):
            ag.set_loop_options(unroll=4, maximum_iterations=10)
            x = x * 0.9 + i
        return x, i

    (scan,) = [e for e in Counts(lambda x: ag.convert(f)(x)[0], X).jaxpr.jaxpr.eqns if e.primitive.name == "scan"]
    assert scan.params["unroll"] == 4 and scan.params["length"] == 10
    assert int(ag.function(f)(X)[1]) == 9 == ag.convert(f)(X)[1]


def test_checkpoints():
    def f(x):
        for i in range(N):
            ag.set_loop_options(checkpoints=8)
            x = jnp.sin(x) + i * 0.001
        return x

    def plain(x):
        for i in range(N):
            x = jnp.sin(x) + i * 0.001
        return x

    np.testing.assert_allclose(jax.jit(jax.grad(ag.convert(f)))(X), jax.grad(plain)(X), rtol=1e-4)


def test_a_million_iterations_are_traced_at_once():
    """The size of the program, not the time: no equation for each iteration."""

    def f(x):
        for i in range(1_000_000):
            x = x * 0.5 + i
        return x

    assert is_one_loop(f, X)
    assert builtins.abs(float(ag.function(f)(X)) - 1999996.0) < 1


def test_a_counter_that_is_a_result_as_well():
    def f(n, w):
        total, zero = 3, 0
        while True:
            if sum(n for q in w):
                break
            for n in range(0, n, 2):
                total -= zero + n
        return total, n

    found = ag.function(f)(jnp.int32(1), jnp.arange(3))
    assert tuple(map(int, found)) == (3, 1)
