"""Generators with traced conditions and loops around their `yield`s: loops over them are staged."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged
from tests.agreement import differences
from tests.generator_programs import PROGRAMS, collatz, naturals, positive, primes


def as_arrays(given):
    return [jnp.array(value) for value in given]


@pytest.mark.parametrize("function, calls", PROGRAMS, ids=lambda each: getattr(each, "__name__", ""))
def test_like_plain_python(function, calls):
    compiled, jitted = ag.function(function), jax.jit(ag.convert(function))
    for given in calls:
        wanted = function(*given)
        for run in (compiled, jitted, ag.convert(function)):
            assert list(differences(wanted, run(*as_arrays(given)), widens=True)) == []


@pytest.mark.parametrize("name", ["first_positive", "skips_and_stops", "alternating", "in_loops", "delegating"])
def test_under_vmap(name):
    function, calls = next(each for each in PROGRAMS if each[0].__name__ == name)
    if name in ("first_positive", "skips_and_stops"):
        calls = [((1.0, -2.0, 0.5, 6.0),), ((-1.0, 4.0, 2.0, 9.0),), ((0.5, 0.25, 2.0, 3.0),)]
    batched = [jnp.stack(column) for column in zip(*map(as_arrays, calls), strict=True)]
    found = jax.jit(jax.vmap(ag.convert(function)))(*batched)
    for k, given in enumerate(calls):
        lane = jax.tree.map(lambda leaf, k=k: leaf[k], found)
        assert list(differences(function(*given), lane, widens=True)) == []


def test_lists_of_what_a_generator_yields():
    def f(n):
        numbers = list(collatz(n))
        doubled = [2 * v for v in collatz(n)]
        pairs = [i + v for i, v in enumerate(collatz(n), 1) if v > 4]
        return numbers, doubled, pairs, sorted(collatz(n)), list(filter(lambda v: v % 2, collatz(n))), len(numbers)

    compiled = ag.function(f)
    for n in (1, 6, 27):
        assert list(differences(f(n), compiled(jnp.array(n)))) == []


def test_a_list_of_the_first_few_of_an_endless_generator():
    def f(n):
        return list(itertools.islice(primes(), n + 2)), list(itertools.takewhile(lambda p: p < n, primes()))

    def g(n):
        return list(itertools.islice(primes(), 7)), list(itertools.takewhile(lambda p: p < n, primes()))

    assert list(differences(g(20), ag.function(g)(jnp.array(20)))) == []
    with pytest.raises(ag.StagingError, match="value of a traced array is needed"):
        ag.function(f)(jnp.array(3))


def test_generator_expressions_over_generators():
    def f(xs):
        scaled = (2 * x for x in positive(xs))
        return sum(x * x for x in positive(xs) if x < 5), max(x for x in positive(xs)), sum(scaled)

    xs = (1.0, -2.0, 6.0, 3.0)
    assert list(differences(f(xs), ag.function(f)(jnp.array(xs)))) == []


def test_gradients():
    def relaxed(x):
        k = 0
        while x > 0.1 and k < 30:
            if k % 2 == 0:
                yield x * x
            x = x * 0.5
            k += 1

    def loss(x):
        total = 0.0
        for v in relaxed(x):
            if v < 0.05:
                break
            total = total + v
        return total

    for x in (2.0, 0.7):
        step = 1e-3
        wanted = (loss(x + step) - loss(x - step)) / (2 * step)
        for run in (staged.function(loss), ag.convert(loss)):
            assert np.allclose(jax.grad(run)(x), wanted, atol=1e-2)


def test_variables_and_attributes_are_written_in_the_generator_and_in_the_loop():
    class Counter(ag.Module):
        def __init__(self):
            self.made = ag.Variable(0)
            self.kept = ag.Variable(0.0)

        def draws(self, n):
            k = 0
            while k < n:
                self.made.assign_add(1)
                if k % 3 != 1:
                    yield k * 1.0
                k += 1

        @ag.function
        def run(self, n):
            for v in self.draws(n):
                if v > 6:
                    break
                self.kept.assign_add(v)
            return self.made.read_value(), self.kept.read_value()

    counter = Counter()
    made, kept = counter.run(jnp.array(20))
    assert int(made) == 9 and float(kept) == 0 + 2 + 3 + 5 + 6
    made, kept = counter.run(jnp.array(2))
    assert int(made) == 11 and float(kept) == 16.0


def test_effects_are_in_pythons_order(capfd):
    def noisy(n):
        k = 0
        print("begin", n)
        try:
            while k < n:
                print("make", k)
                yield k
                k += 1
        finally:
            print("end", k)

    def f(n):
        for v in noisy(n):
            print("take", v)
            if v == 2:
                break
        print("after", n)
        return n

    for n in (1, 5):
        f(n)
        wanted = capfd.readouterr().out
        staged.function(f)(jnp.array(n)).block_until_ready()
        jax.effects_barrier()
        assert capfd.readouterr().out == wanted


def test_nothing_runs_before_the_loop_begins():
    def f(x):
        log = []

        def numbers():
            log.append("begun")
            if x > 0:
                yield x

        made = numbers()
        log.append("made")
        total = sum(made)
        return total, log == ["made", "begun"]

    total, in_order = ag.function(f)(jnp.array(2.0))
    assert float(total) == 2.0 and in_order


def test_errors_of_generators_and_of_loops_are_pythons():
    def numbers(n):
        k = 0
        while k < n:
            if k == 3:
                raise ValueError("three")
            yield k
            k += 1

    def f(n, limit):
        total = 0
        for v in numbers(n):
            if v == limit:
                raise KeyError("limit")
            total += v
        return total

    compiled = ag.function(f)
    for given in ((2, 9), (5, 9), (5, 1)):
        try:
            wanted = f(*given)
        except Exception as error:
            with pytest.raises(type(error), match=str(error)):
                compiled(*as_arrays(given))
        else:
            assert int(compiled(*as_arrays(given))) == wanted


def test_wrong_arguments_are_refused_where_the_generator_is_made():
    def f(n):
        return naturals(n, n)

    for run in (ag.convert(f), jax.jit(ag.convert(f))):
        with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
            run(3)


def test_stop_iteration_in_a_generator_is_a_runtime_error():
    def numbers(x):
        if x is None:
            yield 1
        raise StopIteration

    def f(x):
        total = x
        for v in numbers(1):
            total += v
        return total

    with pytest.raises(RuntimeError, match="generator raised StopIteration"):
        f(1)
    with pytest.raises(RuntimeError, match="generator raised StopIteration"):
        jax.jit(ag.convert(f))(1)


def test_methods_that_call_those_of_their_base():
    class Numbers:
        def up_to(self, n):
            k = 0
            while k < n:
                yield k
                k += 1

    class Tens(Numbers):
        def up_to(self, n):
            for v in super().up_to(n):
                if v != 2:
                    yield v * 10
            yield from super().up_to(2)

    def f(n):
        tens = Tens()
        return sum(tens.up_to(n)), list(tens.up_to(n)), [v for v in tens.up_to(n) if v > 5]

    assert list(differences(f(5), ag.function(f)(jnp.array(5)))) == []


def test_what_the_loop_writes_is_seen_under_other_names():
    def f(n):
        items = [n, 4]
        other = [items, 0]
        for v in naturals(n):
            items[1] = v - 4
            return items[1], other[0][1]
        return items[1], other[0][1]

    compiled = ag.function(f)
    for n in (0, 2):
        assert list(differences(f(n), compiled(jnp.array(n)))) == []


def test_counting_without_end():
    def f(x):
        for k in itertools.count(1):
            x = x * 1.5
            if x > 100:
                break
        ids = itertools.count(10, 2)
        first = next(ids), next(ids)
        total = 0.0
        for i, v in zip(itertools.count(), [x, x * 2, 1.0], strict=False):
            total += i * v
        return (
            k,
            first,
            total,
            next(k for k in itertools.count(2) if k * k > x),
            list(itertools.islice(itertools.count(5), 3)),
        )

    for x in (2.0, 90.0):
        for run in (staged.function(f), ag.convert(f)):
            assert list(differences(f(x), run(jnp.array(x)), widens=True)) == []


def test_generators_keep_their_names():
    def f(xs):
        def numbers():
            for x in xs:
                if x > 0:
                    yield x

        made = numbers()
        return made.__name__, made.__qualname__.split(".")[-1], (x for x in xs if x > 0).__name__

    assert f([1.0]) == ag.convert(f)([1.0]) == ("numbers", "numbers", "<genexpr>")


# What Python advances stays Python's.


def test_python_resumes_what_a_loop_left():
    def some(k):
        for i in range(k):
            if i != 1:
                yield i

    def f(x):
        numbers = some(6)
        first = next(numbers)
        for v in numbers:
            if v == 3:
                break
        rest = list(numbers)
        again = some(5)
        for v in again:
            if v == 2:
                break
        return x * first, rest, list(again), tuple(zip(some(3), some(4), strict=False))

    assert list(differences(f(2.0), ag.function(f)(jnp.array(2.0)))) == []


def test_what_is_sent_and_thrown():
    def averages():
        total, count = 0.0, 0
        while True:
            value = yield total / max(count, 1)
            if value is None:
                return
            total, count = total + value, count + 1

    def guarded(x):
        for k in range(3):
            try:
                yield x * k
            except KeyError:
                yield -1.0

    def f(x):
        mean = averages()
        next(mean)
        mean.send(x)
        other = guarded(x)
        next(other)
        return mean.send(3 * x), other.throw(KeyError), next(other)

    assert list(differences(f(2.0), ag.function(f)(jnp.array(2.0)))) == []


def test_an_exception_of_the_loop_is_not_the_generators():
    def numbers(x):
        for k in range(3):
            try:
                yield x * k
            except ZeroDivisionError:
                yield -1.0

    def f(x):
        total = 0.0
        try:
            for v in numbers(x):
                total += v
                1 / 0  # noqa: B018
        except ZeroDivisionError:
            return total - 100.0
        return total

    assert float(ag.function(f)(jnp.array(2.0))) == f(2.0)


def test_a_context_manager_that_branches():
    import contextlib

    @contextlib.contextmanager
    def scaled(x, by):
        if by is None:
            yield x
        else:
            yield x * by

    def f(x):
        with scaled(x, 3.0) as y, scaled(y, None) as z:
            return y + z if x > 0 else z

    assert float(ag.function(f)(jnp.array(2.0))) == f(2.0)


# What is refused.


def refused(function, *given):
    with pytest.raises(ag.StagingError) as caught:
        ag.function(function)(*as_arrays(given))
    assert __file__ in str(caught.value)
    return str(caught.value)


def test_two_generators_in_step_are_refused():
    def f(n):
        total = 0
        for a, b in zip(naturals(n), naturals(n + 1), strict=False):
            total += a * b
        return total

    with pytest.raises(ag.StagingError, match="(?s)while k < n:.*`yield`.*Loop over the generator"):
        ag.function(f)(jnp.array(3))


def test_advancing_by_hand_is_refused():
    def pieces(v):
        if v > 0:  # here
            yield v
        yield v * 2

    def f(x):
        found = pieces(x)
        return next(found) + next(found)

    assert "if v > 0:  # here" in refused(f, 1.0)


def test_a_generator_that_a_loop_has_left_is_not_resumed():
    def numbers(n):
        k = 0
        while k < n:
            yield k
            k += 1

    def f(n):
        made = numbers(n)
        total = 0
        for i, v in enumerate(made):
            if v == 2:
                break
            total += i
        return total + sum(made)

    assert "cannot be resumed" in refused(f, 5)

    def g(n):
        made = numbers(n)
        for v in made:
            if v == 2:
                break
        return sum(made)

    assert "`yield`" in refused(g, 5)


def test_a_python_iterator_that_a_loop_with_a_traced_end_leaves_is_not_resumed():
    def f(x):
        numbers = map(float, [1, 2, 3])
        for v in numbers:
            if v > x:
                break
        return sum(numbers)

    assert "how far it advances" in refused(f, 1.5)


def test_a_generator_that_was_made_before_a_staged_loop_is_not_run_in_each_iteration():
    def some(n):
        while n > 0:
            yield n
            n = n - 2

    def f(n):
        made = some(n)
        total = 0
        while n > 0:
            for v in made:
                total += v
            n = n - 1
        return total

    assert "that was created before this staged loop" in refused(f, 5)
