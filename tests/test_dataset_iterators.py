"""Iterators of datasets in compiled functions: each element is taken once, by whoever takes it, as in Python."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

Data = ag.Dataset


def counted(n):
    return Data.from_generator(lambda: iter(range(n)), np.int32, length=n)


KINDS = {
    "numbers": lambda: Data.range(6),
    "slices": lambda: Data.from_tensor_slices(jnp.arange(6)),
    "mapped": lambda: Data.range(6).map(lambda k: k * 2),
    "shuffled": lambda: Data.range(6).shuffle(seed=3, reshuffle_each_iteration=False),
    "batches": lambda: Data.range(6).batch(2),
    "repeated": lambda: Data.range(4).repeat(),
    "rows": lambda: Data(np.arange(6)),
    "generator": lambda: counted(6),
    "batches of a generator": lambda: counted(6).batch(2, drop_remainder=True),
}
UNEVEN = {
    "uneven batches": lambda: Data.range(7).batch(3),
    "uneven batches of a generator": lambda: counted(7).batch(3),
}


def taken(f, times=8):
    found = []
    for _ in range(times):
        try:
            found.append(np.asarray(f()).tolist())
        except StopIteration:
            found.append("end")
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_next_takes_the_next_on_each_execution(kind):
    plain = iter(KINDS[kind]())
    expected = taken(lambda: next(plain))
    closed, given, attribute = (iter(KINDS[kind]()) for _ in range(3))

    class Holder:
        it = attribute

        @ag.function
        def draw(self):
            return next(self.it)

    assert taken(ag.function(lambda: next(closed))) == expected
    draw = ag.function(lambda it: next(it))
    assert taken(lambda: draw(given)) == expected
    assert draw.experimental_get_tracing_count() == 1
    holder = Holder()
    assert taken(holder.draw) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_by_turns_in_python_and_in_programs(kind):
    plain, it = iter(KINDS[kind]()), iter(KINDS[kind]())
    expected = taken(lambda: next(plain))
    one, two = ag.function(lambda: next(it)), ag.function(lambda: next(it))
    ways = [one, lambda: next(it), two, two, lambda: next(it), one, one, lambda: next(it)]
    assert [taken(way, 1)[0] for way in ways] == expected


def test_several_in_a_row_and_a_default():
    it, plain = iter(Data.range(5)), iter(range(5))

    def two(it):
        a, b = next(it), next(it)
        return a * 10 + b

    def with_default(it):
        return next(it, -1)

    def with_none(it):
        x = next(it, None)
        return -5 if x is None else x

    f, g, h = ag.function(two), ag.function(with_default), ag.function(with_none)
    assert int(f(it)) == two(plain) and int(f(it)) == two(plain)
    assert [int(g(it)) for _ in range(3)] == [with_default(plain) for _ in range(3)]
    assert int(h(it)) == with_none(plain)


def test_under_conditions_and_in_loops():
    it, plain = iter(Data.range(100)), iter(range(100))

    def f(it, n):
        total = 0
        for k in range(n):
            if k % 2 == 0:
                total = total * 2 + next(it)
        if n > 3:
            total += next(it)
        return total

    compiled = ag.function(f)
    for n in (3, 5, 0, 4):
        assert int(compiled(it, jnp.asarray(n))) == f(plain, n)


@pytest.mark.parametrize("kind", [*KINDS, *UNEVEN])
@pytest.mark.parametrize("limit", [0, 2, 50])
def test_a_loop_goes_on_from_there_and_leaves_the_rest(kind, limit):
    made = (KINDS | UNEVEN)[kind]

    def f(it, limit):
        total, count = 0, 0
        for x in it:
            total = total * 3 + x.sum()
            count += 1
            if count > limit:
                break
        return total, count

    if kind == "repeated" and limit == 50:
        limit = 20
    plain, it = iter(made()), iter(made())
    next(plain), next(it)
    compiled = ag.function(f)
    for _ in range(2):
        assert [int(v) for v in compiled(it, jnp.asarray(limit))] == [int(v) for v in f(plain, limit)]
    assert taken(lambda: next(it), 2) == taken(lambda: next(plain), 2)


def test_two_iterators_looped_over_one_after_the_other():
    def f(one, other):
        total = 0
        for x in one:
            total += x
        for y in other:
            total = total * 2 + y
        return total

    for make in (lambda: Data.range(4), lambda: Data.from_tensor_slices(jnp.arange(4)), lambda: counted(4)):
        assert int(ag.function(f)(iter(make()), iter(make()))) == f(iter(range(4)), iter(range(4)))


def test_next_within_a_loop_over_the_same_iterator():
    def f(it):
        total = 0
        for x in it:
            total = total * 3 + x - next(it)
        return total

    for make in (lambda: Data.range(6), lambda: counted(6)):
        assert int(ag.function(f)(iter(make()))) == f(iter(range(6)))


def test_a_failed_call_takes_nothing():
    it = iter(Data.range(5))

    @ag.function
    def f(limit):
        x = next(it)
        if x > limit:
            raise ValueError("too large")
        return x

    assert int(f(jnp.asarray(3))) == 0
    with pytest.raises(ValueError, match="too large"):
        f(jnp.asarray(0))
    assert int(f(jnp.asarray(3))) == 1


def test_made_in_the_function_it_begins_anew():
    data = Data.range(5)

    @ag.function
    def f():
        it = iter(data)
        return next(it) * 10 + next(it)

    assert [int(f()), int(f())] == [1, 1]


def test_gradients_go_through_what_is_taken():
    it = iter(Data.from_tensor_slices(jnp.array([2.0, 3.0])))
    w = ag.Variable(1.0)

    @ag.function
    def step():
        x = next(it)
        _, (slope,) = ag.value_and_grad(lambda: w * x)()
        return slope

    assert [float(step()), float(step())] == [2.0, 3.0]


def test_what_is_refused():
    uneven = iter(Data.range(5).batch(2))
    with pytest.raises(ag.StagingError, match=r"(?s)test_dataset_iterators.*drop_remainder=True"):
        ag.function(lambda: next(uneven))()
    it = iter(Data.range(5))
    with pytest.raises(ag.StagingError, match=r"(?s)test_dataset_iterators.*autograph.function"):
        jax.jit(ag.convert(lambda x: x + next(it)))(1)
    with pytest.raises(ag.StagingError, match=r"(?s)test_dataset_iterators.*next\(iterator\)"):
        ag.function(lambda: list(it))()
    assert int(next(it)) == 0


@pytest.mark.filterwarnings("ignore:Python iterable type")  # JAX's, of iterators as arguments
def test_pythons_own_iterators_advance_while_tracing_with_a_warning():
    numbers, rest = iter([1, 2, 3]), iter([4, 5])

    @ag.function
    def closed(x):
        return x + next(numbers)

    @ag.function
    def given(it, x):
        return x + next(it)

    with pytest.warns(ag.StagingWarning, match=r"(?s)`numbers` once, while tracing"):
        assert [int(closed(jnp.asarray(0))) for _ in range(2)] == [1, 1]
    with pytest.warns(ag.StagingWarning, match=r"(?s)`it` once, while tracing"):
        assert [int(given(rest, jnp.asarray(0))) for _ in range(2)] == [4, 4]

    @ag.function
    def own(x):
        it = iter([1, 2])
        return x + next(it) * 10 + next(it)

    assert int(own(jnp.asarray(0))) == 12


# Iterators that a function makes: their place is the function's own, and begins anew on each execution.


def digits(n, data):
    it = iter(data)
    first, total = next(it), 0
    for _ in range(n):
        total = total * 10 + next(it)
    return first, total


@pytest.mark.parametrize(
    "make",
    [
        lambda: Data.range(10),
        lambda: Data.from_tensor_slices(jnp.arange(10)),
        lambda: Data.range(20).filter(lambda k: k % 2 == 0),
        lambda: Data.range(4).repeat(),
        lambda: Data.range(9).shuffle(seed=3, reshuffle_each_iteration=False),
    ],
)
def test_one_made_in_a_function_is_advanced_by_staged_loops(make):
    compiled = ag.function(digits)
    for n in (3, 5, 0, 3):
        assert [int(v) for v in compiled(jnp.asarray(n), make())] == [int(v) for v in digits(n, make())]


def test_one_made_in_each_iteration_and_two_at_a_time():
    def run(n, make):
        total = 0
        for _ in range(n):
            a, b = iter(make(5)), iter(make(9))
            next(b)
            for _ in range(2):
                total = total * 3 + next(a) * next(b)
        return total

    assert int(ag.function(lambda n: run(n, Data.range))(jnp.asarray(3))) == run(3, range)


def test_one_made_in_a_function_counts_an_iteration_of_a_shuffled_dataset():
    def order(data):
        it, found = iter(data), 0
        for _ in range(4):
            found = found * 10 + next(it)
        return found

    for make in (
        lambda: Data.range(4).shuffle(seed=5),
        lambda: Data.range(4).filter(lambda k: k >= 0).shuffle(4, seed=5),
    ):
        plain, staged = make(), make()
        compiled = ag.function(lambda staged=staged: order(staged))
        expected = [int(order(plain)) for _ in range(4)]
        assert [int(compiled()) for _ in range(4)] == expected and len(set(expected)) > 1


def test_the_end_of_one_made_in_a_function():
    v = ag.Variable(0)

    @ag.function
    def run(n):
        it = iter(Data.range(3))
        for _ in ag.range(n):
            v.assign_add(next(it) + 1)
        return next(it, -1)

    assert [int(run(2)), int(v), int(run(3)), int(v)] == [2, 3, -1, 9]
    with pytest.raises(StopIteration):
        run(4)
    assert int(v) == 9


def test_get_next_as_optional():
    def total(it):
        s = 0
        for _ in range(4):
            found = it.get_next_as_optional()
            if found.has_value():
                s = s * 10 + found.get_value() + 1
        return s

    for make in (lambda: Data.range(3), lambda: Data.range(6).filter(lambda k: k % 2 == 1), lambda: counted(5)):
        assert int(ag.function(total)(iter(make()))) == int(total(iter(make())))
