"""Lists that grow in loops whose number of iterations is known only at run time: queues, stacks, results."""

from __future__ import annotations

import itertools
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import agrees_when_compiled, differences
from tests.work_lists import PROGRAMS, Stack, breadth_first_by_an_index, collatz, prime_factors, stack_of_a_class


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0].__name__)
def test_like_plain_python(program):
    agrees_when_compiled(*program)


# Room.


def counted(n):
    kept = []
    while n > 0:
        kept.append(n)
        n = n - 1
    return kept


def test_room_grows_by_running_again():
    f = ag.function(counted)
    for n, traces in ((10, 1), (64, 1), (65, 2), (300, 3), (5, 3), (0, 3)):
        assert list(map(int, f(jnp.array(n)))) == counted(n)
        assert f.experimental_get_tracing_count() == traces


def test_room_that_was_needed_is_there_for_other_signatures():
    f = ag.function(counted)
    f(jnp.array(300))
    assert list(map(float, f(jnp.array(250.0)))) == counted(250)
    assert f.experimental_get_tracing_count() == 4


def test_room_is_told_of():
    f = ag.function(counted)
    f(jnp.array(300))
    text = f.explain_retraces()
    assert "room of `kept`" in text and "64 elements → 256" in text and "256 elements → 1024" in text
    assert "test_work_lists.py" in text and "maximum_length" in text


def test_growing_does_not_warn_of_retracing():
    f = ag.function(counted)
    assert len(f(jnp.array(4000))) == 4000  # warnings are errors


def test_variables_keep_their_values_where_room_runs_out():
    total, calls = ag.Variable(0), ag.Variable(0)

    @ag.function
    def f(n):
        calls.assign_add(1)
        kept = []
        while n > 0:
            total.assign_add(n)
            kept.append(n)
            n = n - 1
        return kept

    assert len(f(jnp.array(200))) == 200
    assert int(total.value) == sum(range(201)) and int(calls.value) == 1
    f(jnp.array(3))
    assert int(calls.value) == 2


def test_given_away_variables_are_not_lost():
    total = ag.Variable(jnp.zeros(3))

    def f(n):
        kept = []
        while n > 0:
            total.assign_add(jnp.ones(3))
            kept.append(n)
            n = n - 1
        return kept

    assert len(ag.function(f, donate_variables=True)(jnp.array(200))) == 200
    assert total.value.tolist() == [200.0] * 3


def test_random_numbers_are_drawn_once():
    def draws(n, generator):
        found = []
        while n > 0:
            found.append(generator.normal(()))
            n = n - 1
        return found

    wanted = draws(100, ag.random.Generator.from_seed(7))
    generator = ag.random.Generator.from_seed(7)
    np.testing.assert_allclose(ag.function(lambda n: draws(n, generator))(jnp.array(100)), wanted, rtol=1e-6)


def test_two_lists_of_different_needs():
    def f(n):
        few, many = [], []
        while n > 0:
            many.append(n)
            if n % 50 == 0:
                few.append(n)
            n = n - 1
        return few, many

    found = ag.function(f)(jnp.array(170))
    assert list(differences(f(170), found, widens=True)) == []


def test_lists_in_an_object_in_a_dict_and_in_a_list():
    class Store:
        def __init__(self):
            self.queues = {"high": [], "low": []}

        def put(self, v):
            if v % 2 == 0:
                self.queues["high"].append(v)
            else:
                self.queues["low"].append(v)

    def f(n):
        store, pair = Store(), [[], []]
        while n > 0:
            store.put(n)
            pair[0].append(n * 2)
            n = n - 1
        return store.queues["high"], store.queues["low"], pair[0]

    found = ag.function(f)(jnp.array(150))
    assert list(differences(f(150), found, widens=True)) == []


def test_method_of_a_compiled_object():
    class Machine:
        def __init__(self):
            self.runs = ag.Variable(0)

        @ag.function
        def leaves(self, n):
            self.runs.assign_add(1)
            stack, count = Stack(), 0
            stack.push(n)
            while len(stack) > 0:
                k = stack.pop()
                if k < 1:
                    count += 1
                else:
                    for _ in range(3):
                        stack.push(k - 1)
            return count

    machine = Machine()
    assert int(machine.leaves(jnp.array(4))) == 81 and int(machine.runs.value) == 1


def test_function_that_calls_another_whose_list_outgrows_its_room():
    inner = ag.function(counted)

    @ag.function
    def middle(n):
        return len(inner(n))

    @ag.function
    def outer(n):
        if n > 2:
            return middle(n) + 1
        return 0

    assert [int(outer(jnp.array(n))) for n in (5, 100, 300, 1)] == [6, 101, 301, 0]


def test_many_threads():
    f = ag.function(counted)
    found = {}

    def run(n):
        found[n] = len(f(jnp.array(n)))

    threads = [threading.Thread(target=run, args=(n,)) for n in (10, 100, 200, 300, 60, 500)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: n for n in found} and len(found) == 6


def test_exceptions_of_the_program_are_raised_as_ever():
    @ag.function
    def f(n):
        stack = [n]
        while stack:
            top = stack.pop()
            if top > 1000:
                raise ValueError("too far")
            stack.append(top + 1)
            if top % 2 == 0:
                stack.append(top + 2)

    with pytest.raises(ValueError, match="too far"):
        f(jnp.array(0))

    @ag.function
    def g(n):
        stack = [n]
        while n > 0:
            stack.pop()
            n = n - 1
        return stack

    with pytest.raises(IndexError, match="pop from empty list"):
        g(jnp.array(3))


def test_appending_inside_a_try_with_handlers():
    def f(n):
        kept = []
        while n > 0:
            try:
                kept.append(n)
            except ValueError:
                pass
            n = n - 1
        return kept

    assert len(ag.function(f)(jnp.array(100))) == 100


# Gradients and transforms.


def integral(low, high, tolerance):
    intervals, total = [(low, high)], 0.0
    while intervals:
        a, b = intervals.pop()
        m = (a + b) / 2
        if b - a < tolerance:
            total += (b - a) * m * m
        else:
            intervals.append((a, m))
            intervals.append((m, b))
    return total


def test_gradient_inside_the_function():
    width = ag.Variable(1.0)

    @ag.function
    def f():
        return ag.value_and_grad(lambda: integral(0.0 * width.value, width.value, 0.01), [width])()

    value, (slope,) = f()
    assert abs(float(value) - 1 / 3) < 1e-3 and abs(float(slope) - 1) < 1e-2


def test_gradient_by_jax_inside_the_function():
    def powers(x):
        kept, p = [], x
        while p < 50.0:
            kept.append(p)
            p = p * x
        return kept[-1]

    f = ag.function(lambda x: jax.value_and_grad(powers)(x))
    value, slope = f(jnp.float32(1.05))
    k = round(np.log(float(value)) / np.log(1.05))
    np.testing.assert_allclose(slope, k * 1.05 ** (k - 1), rtol=1e-4)


def test_gradient_of_a_compiled_function():
    def f(x):
        kept, k = [], 0
        while k < x * 40:
            kept.append(x * k)
            k += 1
        return kept[-1]

    assert float(jax.grad(ag.function(f))(jnp.float32(2.0))) == 79.0


def test_many_at_once_by_a_compiled_function():
    f = ag.function(lambda n: len(prime_factors(n)) + len(collatz(n)))
    numbers = [6, 97, 27, 64]
    assert jax.vmap(f)(jnp.array(numbers)).tolist() == [len(prime_factors(n)) + len(collatz(n)) for n in numbers]


def test_many_at_once_inside_a_compiled_function():
    f = ag.function(lambda ns: jax.vmap(lambda n: len(collatz(n)))(ns))
    assert f(jnp.array([6, 97, 27, 1])).tolist() == [len(collatz(n)) for n in (6, 97, 27, 1)]


# A bound by hand.


def bounded(n):
    kept = []
    while n > 0:
        ag.set_loop_options(maximum_length=70)
        kept.append(n * 1.5)
        n = n - 1
    return jnp.sum(jnp.stack(kept)), len(kept)


def test_bound_by_hand():
    for run in (ag.function(bounded), jax.jit(ag.convert(bounded))):
        total, count = run(jnp.array(70))
        assert float(total) == 1.5 * sum(range(71)) and int(count) == 70
    totals, counts = jax.vmap(ag.convert(bounded))(jnp.array([1, 3, 70]))
    assert counts.tolist() == [1, 3, 70] and totals.tolist() == [1.5, 9.0, 3727.5]


def test_bound_by_hand_that_is_too_small_raises():
    f = ag.function(bounded)
    with pytest.raises(IndexError, match="'kept' exceeds its maximum_length of 70 elements"):
        f(jnp.array(71))
    assert f.experimental_get_tracing_count() == 1


def test_bound_of_an_inner_loop_serves_the_list_that_the_outer_carries():
    def f(n):
        kept = []
        for i in range(n):
            k = i
            while k > 0:
                ag.set_loop_options(maximum_length=30)
                kept.append(k)
                k = k - 2
        return len(kept)

    assert int(jax.jit(ag.convert(f))(jnp.array(6))) == f(6)


def test_gradient_with_a_bound_by_hand():
    def f(x):
        kept, p = [], x
        while p < 50.0:
            ag.set_loop_options(maximum_length=20, maximum_iterations=20)
            kept.append(p)
            p = p * x
        return kept[-1]

    for run in (jax.grad(ag.convert(f)), jax.jit(jax.grad(ag.convert(f)))):
        assert abs(float(run(jnp.float32(2.0))) - 5 * 2.0**4) < 1e-3


@pytest.mark.parametrize("bound", ["5", 0, 2.5, True])
def test_bound_that_cannot_be_meant(bound):
    def f(n):
        kept = []
        while n > 0:
            ag.set_loop_options(maximum_length=bound)
            kept.append(n)
            n = n - 1
        return kept

    with pytest.raises(
        (TypeError, ValueError), match="maximum_length of set_loop_options must be an int of at least 1, or None"
    ):
        ag.function(f)(jnp.array(2))


# Where it cannot be run again.


def refused(call):
    with pytest.raises(ag.StagingError) as caught:
        call()
    text = str(caught.value)
    assert "test_work_lists.py" in text or "work_lists.py" in text
    assert "maximum_length" in text and "'kept'" in text
    return text


def printing(n):
    kept = []
    while n > 0:
        print("at", n)
        kept.append(n)
        n = n - 1
    return kept


def calling(n):
    kept = counted(n)
    return ag.py_function(lambda v: v, [len(kept)], jnp.int32)


def test_effects_ask_for_a_bound():
    for f in (printing, calling):
        assert "prints or calls Python" in refused(lambda f=f: ag.function(f)(jnp.array(3)))
    inner = ag.function(counted)

    @ag.function
    def outer(n):
        print("n is", n)
        return len(inner(n))

    assert "prints or calls Python" in refused(lambda: outer(jnp.array(3)))


def test_bare_transforms_ask_for_a_bound():
    n = jnp.array(3)
    for run in (
        lambda: jax.jit(ag.convert(counted))(n),
        lambda: jax.vmap(ag.convert(counted))(jnp.array([3, 4])),
        lambda: jax.jit(lambda n: ag.function(counted)(n))(n),
        lambda: jax.jit(jax.grad(ag.convert(lambda x: counted(x)[0])))(jnp.array(3.0)),
    ):
        refused(run)


def test_long_queue_of_a_wide_graph():
    side = 12
    n = side * side
    adjacency = np.zeros((n, n), np.int32)
    for k in range(n):
        for step in (1, side):
            if k + step < n:
                adjacency[k, k + step] = 1
    found = ag.function(breadth_first_by_an_index)(jnp.asarray(adjacency), jnp.array(0))
    assert list(map(int, found)) == list(map(int, breadth_first_by_an_index(adjacency, 0)))


def test_plain_python_needs_nothing():
    assert ag.convert(stack_of_a_class)(5) == stack_of_a_class(5)


def test_a_test_that_only_reads_is_no_write():
    traces = itertools.count()
    trace = ag.do_not_convert(lambda: next(traces))

    def digits(n):
        found = []
        while n > 0:
            trace()
            found.append(n % 10)
            n //= 10
        return found

    assert ag.function(digits)(jnp.array(1203)) == [3, 0, 2, 1]
    assert next(traces) == 2


@pytest.mark.parametrize("index", [0, -1, 1, -2, 2])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_pop_says_whether_the_list_is_empty(index, count):
    def run(n, k):
        xs = [7, 8]
        while len(xs) > n:
            xs.pop()
        try:
            return xs.pop(k), ""
        except IndexError as e:
            return -1, str(e)

    value, said = ag.function(run, static_argnames=["k"])(jnp.array(count), k=index)
    assert (int(value), said) == run(count, index)
    value, said = ag.function(run)(jnp.array(count), jnp.array(index))
    assert (int(value), said) == run(count, index)
    if run(count, index)[1]:
        with pytest.raises(IndexError, match=run(count, index)[1]):
            ag.function(lambda n, k: popped(n, k))(jnp.array(count), jnp.array(index))


def popped(n, k):
    xs = [7, 8]
    while len(xs) > n:
        xs.pop()
    return xs.pop(k)
