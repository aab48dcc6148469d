"""Writes to items of arrays that a function is given: where only its caller would see them they are refused."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import agrees_when_compiled

VALUES = np.array([3.0, -1.0, 2.5, 0.0, 7.0, -2.0], np.float32)


def put(a, k, v):
    a[k] = v


def shifted(a, k, v):
    for i in range(len(a)):
        if a[i] > v:
            a[i] -= v
            return None
    a[k] += 1.0


def put_and_counted(a, k, v):
    a[0] += 1.0
    a[k] = v
    return len(a)


def partition(a, k, v):
    last = 0
    for j in range(k):
        if a[j] <= v:
            a[last], a[j] = a[j], a[last]
            last += 1
    a[last], a[k] = a[k], a[last]
    return last


def put_and_read(a, k, v):
    a[k] = v
    return a.sum() + a[k]


def put_and_returned(a, k, v):
    a[k] = v
    return a


@pytest.mark.parametrize("write", [put, shifted, put_and_counted, partition])
@pytest.mark.parametrize("make", [lambda x: x * 2, lambda x: np.zeros(6)])
def test_the_calling_function_sees_a_write(write, make):
    def f(x, i):
        made = make(x)
        write(made, i, x[0])
        return made

    def in_a_loop(x, i):
        made = make(x)
        while i > 0:
            write(made, i, x[0])
            i -= 1
        return made

    for function in (f, in_a_loop):
        agrees_when_compiled(function, (VALUES.copy(), 3))
        np.testing.assert_allclose(jax.jit(ag.convert(function))(VALUES, 3), function(VALUES.copy(), 3))


@pytest.mark.parametrize("write", [put, shifted, put_and_counted, partition])
def test_a_write_that_only_the_caller_would_see_is_refused(write):
    def called(x, i):
        write(x, i, 2.0)

    for function in (write, called):
        for run in (ag.function, lambda g: jax.jit(ag.convert(g))):
            given = (jnp.array(VALUES), 1, 2.0)[: function.__code__.co_argcount]
            with pytest.raises(ag.StagingError, match="a = f\\(a, ...\\)"):
                run(function)(*given)


def test_what_does_not_lose_the_write_runs():
    def returned(x, i):
        return put_and_returned(x, i, 5.0)

    def of_a_list(x, i):
        items = [x[0], x[1], x[2]]
        put(items, i, x[3])
        shifted(items, i, x[4])
        return items

    def constants(x, i):
        table = np.zeros(3)
        put(table, 1, 2.0)
        return x[i] + table[1]

    def of_a_list_that_is_partitioned(x, i):
        items = [x[k] for k in range(6)]
        return partition(items, 5, x[i]), items, put_and_counted(items, i, x[0]), items

    def read(x, i):
        return put_and_read(x * 2, i, 5.0)

    for function in (returned, of_a_list, constants, of_a_list_that_is_partitioned, read):
        agrees_when_compiled(function, (VALUES.copy(), 2))

    def kept(x):
        held = []

        def show(a):
            a[0] = 9.0
            held.append(a)

        show(x)
        return held[0]

    assert ag.function(kept)(jnp.array(VALUES))[0] == 9.0


def added(a, c):
    if c > 0:
        a += c


def centred(a, c):
    mean = a.mean()
    a -= mean
    for _ in range(3):
        a /= 2 + c * a.std()


@pytest.mark.parametrize("write", [added, centred])
def test_an_operation_in_place_that_only_the_caller_would_see_is_refused(write):
    def of_an_array(x, c):
        made = x * 2
        write(made, c)
        return made

    np.testing.assert_allclose(ag.function(of_an_array)(VALUES.copy(), 3), of_an_array(VALUES.copy(), 3), rtol=1e-5)
    for function in (write,):
        for run in (ag.function, lambda g: jax.jit(ag.convert(g))):
            with pytest.raises(ag.StagingError, match="'a' is an array that this function is given, and does not ret"):
                run(function)(jnp.array(VALUES), jnp.array(3))
    given = VALUES.copy()
    ag.convert(write)(given, 2.0)
    assert not np.array_equal(given, VALUES)


def test_operations_in_place_whose_result_is_of_use_run():
    total, kept = ag.Variable(jnp.zeros(6)), []

    class Box:
        pass

    def assigned(x):
        x += 3
        total.assign(x)

    def assigned_before(x):
        for _ in range(3):
            total.assign(x)
            x += 1

    def in_an_attribute(x, box):
        x *= 2
        box.value = x

    def in_a_closure(x):
        x -= 1

        def show():
            ag.print(x[0])

        show()

    def of_a_number(n):
        n -= 1

    def of_a_list(items):
        items += [4]

    def of_a_variable(v):
        v += 1

    def program(x):
        box, items = Box(), [x[0]]
        in_an_attribute(x, box)
        of_a_number(x[0])
        of_a_list(items)
        kept.append(1)
        in_a_closure(x)
        of_a_variable(total)
        table = np.zeros(3)
        of_constants(table)
        return box.value, items, table

    def of_constants(table):
        table += 2

    ag.function(assigned)(VALUES.copy())
    np.testing.assert_array_equal(total.numpy(), VALUES + 3)
    ag.function(assigned_before)(VALUES.copy())
    np.testing.assert_array_equal(total.numpy(), VALUES + 2)
    doubled, items, table = ag.function(program)(VALUES.copy())
    np.testing.assert_array_equal(doubled, VALUES * 2 - 1)
    assert [int(each) for each in (*items, *table)] == [3, 4, 2, 2, 2]
    np.testing.assert_array_equal(total.numpy(), VALUES + 3)
