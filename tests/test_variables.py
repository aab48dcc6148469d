"""Variables: arrays that functions read and write in program order."""

from __future__ import annotations

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


def same(found, expected):
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


# Outside functions.


def test_it_is_an_array_outside_functions():
    v = ag.Variable([1.0, 2.0], name="v")
    assert v.shape == (2,) and v.dtype == jnp.float32 and v.ndim == 1 and v.size == 2
    assert v.name == "v" and v.trainable
    same(v.numpy(), [1.0, 2.0])
    same(v.read_value(), v.value)
    same(jnp.asarray(v), [1.0, 2.0])
    same(np.asarray(v), [1.0, 2.0])
    same(v.sum(), 3.0)
    assert len(v) == 2 and [float(x) for x in v] == [1.0, 2.0]
    assert float(ag.Variable(2.5)) == 2.5 and int(ag.Variable(3)) == 3 and bool(ag.Variable(True))
    assert "'v'" in repr(v) and "[1.0, 2.0]" in repr(v)


def test_assignments_return_the_variable():
    v = ag.Variable(1)
    assert v.assign(5) is v and v.assign_add(2) is v and v.assign_sub(1) is v
    assert int(v) == 6


def test_operators():
    v, w = ag.Variable([4.0, 9.0]), ag.Variable([2.0, 3.0])
    same(v + 1, [5, 10])
    same(1 - v, [-3, -8])
    same(v * w, [8, 27])
    same(v / w, [2, 3])
    same(v // w, [2, 3])
    same(v % w, [0, 0])
    same(v**2, [16, 81])
    same(2**w, [4, 8])
    same(v @ w, 35)
    same(-v, [-4, -9])
    same(abs(-v), v)
    same(v > w, [True, True])
    same(v == w, [False, False])
    same(np.array([1.0, 1.0]) + v, [5, 10])
    same(jnp.array([1.0, 1.0]) - v, [-3, -8])
    same(~ag.Variable([True, False]), [False, True])


def test_in_place_operators_assign():
    v = before = ag.Variable([1.0, 2.0])
    v += 1
    v *= 2
    assert v is before
    same(v, [4.0, 6.0])


def test_parts():
    v = ag.Variable(jnp.zeros((2, 3)))
    assert v[0].assign([1.0, 2.0, 3.0]) is v
    v[1, 1:].assign_add(5.0)
    v[1, 0] = 7
    v[:, 2].assign_sub(1)
    same(v, [[1, 2, 2], [7, 5, 4]])
    same(v[0] + 1, [2, 3, 3])
    same(jnp.sin(v[0, 0]), jnp.sin(1.0))
    same(v[0][1], 2)
    with pytest.raises(ValueError, match="holds float32"):
        ag.Variable([1, 2], dtype=jnp.float32)[0].assign(1j)


@pytest.mark.parametrize(
    ("start", "value"),
    [
        ([1, 2], [1, 2, 3]),
        ([1, 2], 3),
        ([1, 2], [1.5, 2.5]),
        ([1, 2], np.array([1.0, 2.0], np.float32)),
        ([1.0, 2.0], np.array([1, 2])),
        ([1.0, 2.0], jnp.array([1, 2])),
        (True, 1),
    ],
)
def test_another_type_is_refused_by_name(start, value):
    v = ag.Variable(start, name="weights")
    before = v.numpy()
    with pytest.raises(ValueError, match="'weights'"):
        v.assign(value)
    same(v, before)


@pytest.mark.parametrize("value", ["text", None, [[1.0], [2.0, 3.0]], {"a": 1}, [1.0, "text"]])
def test_what_is_no_array_is_refused_by_name(value):
    v = ag.Variable([1.0, 2.0], name="weights")
    for assign in (lambda: v.assign(value), ag.function(lambda: v.assign(value)), lambda: v[:1].assign(value)):
        with pytest.raises(
            (TypeError, ValueError), match=r"^.*\n  Variable 'weights' holds float32\[2\](.|\n)*Assign an array"
        ) as found:
            assign()
        assert found.type in (TypeError, ValueError)
    assert v.numpy().tolist() == [1.0, 2.0]


def test_python_values_take_the_dtype():
    v = ag.Variable([1.0, 2.0], dtype=jnp.bfloat16)
    assert v.assign([3, 4]).dtype == jnp.bfloat16
    same(v.assign_add(1), [4, 5])
    with pytest.raises(ValueError, match="The Variable of .*test_variables.py"):
        ag.Variable(1).assign_add(0.5)


def test_its_array_is_its_own():
    source = np.array([1.0, 2.0], np.float32)
    v = ag.Variable(source)
    source[0] = 100
    same(v, [1.0, 2.0])
    v.numpy()[0] = 100
    same(v, [1.0, 2.0])


def test_copies():
    v = ag.Variable([1, 2], trainable=False, name="v")
    for other in (copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert other is not v and other.name == "v" and not other.trainable
        same(other.assign_add(1), [2, 3])
        same(v, [1, 2])


def test_start_values():
    same(ag.Variable(lambda: jnp.ones(2)), [1, 1])
    same(ag.Variable(ag.Variable(3)), 3)
    assert ag.Variable(1, dtype=jnp.float32).dtype == jnp.float32
    assert ag.Variable(1).value.weak_type is False
    sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    assert ag.Variable(1.0, sharding=sharding).value.sharding == sharding


def test_plain_jax_uses_its_value():
    v = ag.Variable([1.0, 2.0])
    same(jax.grad(lambda x: (v * x).sum())(2.0), 3.0)
    same(jax.vmap(lambda x: x * v)(jnp.ones(2)), [[1, 2], [1, 2]])
    same(jax.jit(lambda w: w * 2)(v.value), [2, 4])


# Inside functions.


def test_line_2_read_from_the_closure():
    y = ag.Variable([3, -2])

    @ag.function
    def f(x):
        return x**2 + y

    same(f(jnp.array([-2, -3])), [7, 7])
    y.assign([0, 0])
    same(f(jnp.array([-2, -3])), [4, 9])
    assert f.experimental_get_tracing_count() == 1


def test_line_3_written_in_a_loop():
    v = ag.Variable(1)

    @ag.function
    def f(x):
        for i in ag.range(x):
            v.assign_add(i)

    f(jnp.array(3))
    assert int(v) == 4


def test_line_3_written_then_read():
    c = ag.Variable(0)

    @ag.function
    def f(x):
        c.assign_add(1)
        return x + c

    assert float(f(1.0)) == 2.0 and float(f(1.0)) == 3.0
    assert int(c) == 2 and f.experimental_get_tracing_count() == 1


def test_line_7_each_instance_has_its_own():
    class Counter:
        def __init__(self, start):
            self.v = ag.Variable(start)

        @ag.function
        def add(self, x):
            if x > 0:
                self.v.assign_add(x)
            return self.v

    a, b = Counter(1), Counter(10)
    assert [int(a.add(jnp.array(2))), int(b.add(jnp.array(3))), int(a.add(jnp.array(-1)))] == [3, 13, 3]
    assert int(a.v) == 3 and int(b.v) == 13


def test_line_8_created_on_the_first_call():
    class Scale:
        v = None

        @ag.function
        def __call__(self, x):
            if self.v is None:
                self.v = ag.Variable(jnp.ones_like(x) * x[0])
            self.v.assign_add(x)
            return self.v * x

    scale = Scale()
    x = jnp.array([2.0, 3.0])
    same(scale(x), [8.0, 15.0])
    same(scale(x), [12.0, 24.0])
    same(scale.v, [6.0, 8.0])


def test_branches():
    v = ag.Variable(0.0)

    @ag.function
    def f(x):
        if x > 0:
            v.assign(x)
        elif x < -10:
            v.assign_sub(1)
        return v * 2

    assert [float(f(jnp.float32(x))) for x in (3, -1, -20)] == [6, 6, 4]


def test_the_value_before_a_write_stays():
    v = ag.Variable(1)

    @ag.function
    def f(x):
        before = v.value
        v.assign_add(x)
        middle = v + 0
        if x > 0:
            v.assign_add(x)
        return before, middle, v

    assert [int(part) for part in f(jnp.array(2))] == [1, 3, 5]


def test_a_while_test_reads_what_the_body_wrote():
    v = ag.Variable(0)

    @ag.function
    def count(limit):
        steps = 0
        while v < limit:
            v.assign_add(3)
            steps += 1
        return steps

    assert int(count(jnp.array(7))) == 3 and int(v) == 9
    assert int(count(jnp.array(7))) == 0 and int(v) == 9


def test_a_while_test_that_writes():
    v = ag.Variable(0)

    def advance():
        v.assign_add(1)
        return v.value

    @ag.function
    def count(limit):
        steps = 0
        while advance() < limit:
            steps += 1
        return steps

    assert int(count(jnp.array(5))) == 4 and int(v) == 5


def test_a_variable_as_a_condition():
    going, count = ag.Variable(True), ag.Variable(0)

    @ag.function
    def f(x):
        while going:
            count.assign_add(x)
            if count > 4:
                going.assign(False)
        return (1 if going else 2), not going, going or count

    results = f(jnp.array(2))
    assert int(count) == 6 and int(results[0]) == 2 and bool(results[1]) and int(results[2]) == 6


def test_break_and_nested_loops():
    v, rounds = ag.Variable(0), ag.Variable(0)

    @ag.function
    def f(x):
        for row in x:
            for value in row:
                if value < 0:
                    break
                v.assign_add(value)
            rounds.assign_add(1)
            if v > 10:
                return v.value
        return -v

    assert int(f(jnp.array([[1, 2, -1], [3, -1, 100], [5, 5, 5]]))) == 21
    assert int(rounds) == 3


def test_parts_in_a_loop():
    v = ag.Variable(jnp.zeros(4, jnp.int32))

    @ag.function
    def f(x):
        for i in range(len(x)):
            v[x[i]].assign_add(1)
            v[0] += i
        return v

    same(f(jnp.array([1, 2, 2, 3])), [6, 1, 2, 1])


def test_in_user_written_lax():
    v = ag.Variable(1.0)

    @ag.function
    def f(x):
        def body(carry, item):
            v.assign_add(item)
            return carry * v.value, v.value

        last, seen = jax.lax.scan(body, 1.0, x)
        jax.lax.cond(last > 0, lambda: v.assign_add(100).value, lambda: v.value)
        jax.lax.while_loop(lambda i: v.value < 120, lambda i: v.assign_add(10).value, v.value)
        jax.lax.fori_loop(0, 3, lambda i, c: v.assign_add(i).value, 0.0)
        return last, seen, jax.jit(lambda y: y + v.value)(1.0)

    last, seen, final = f(jnp.array([1.0, 2.0]))
    assert float(last) == 8.0 and float(v) == 127.0 and float(final) == 128.0
    same(seen, [2.0, 4.0])


def test_a_scan_body_that_jax_has_traced_before():
    v = ag.Variable(1.0)

    def body(carry, item):
        return carry + v.value * item, None

    @ag.function
    def f(x):
        return jax.lax.scan(body, 0.0, x)[0]

    @ag.function
    def g(x):
        v.assign_add(1.0)
        return jax.lax.scan(body, 0.0, x)[0]

    x = jnp.ones(3)
    assert [float(f(x)), float(g(x)), float(f(x)), float(g(x))] == [3, 6, 6, 9]


def test_derivatives_of_a_function_that_reads():
    v = ag.Variable(3.0)

    @ag.function
    def f(x):
        for _ in ag.range(3):
            x = x * v
        return x

    assert float(jax.grad(f)(2.0)) == 27.0
    same(jax.vmap(f)(jnp.array([1.0, 2.0])), [27, 54])
    same(jax.jvp(f, (1.0,), (1.0,))[1], 27)
    assert float(ag.function(lambda x: jax.grad(f)(x))(2.0)) == 27.0


def test_given_as_an_argument():
    a, b = ag.Variable(1), ag.Variable(10)

    @ag.function
    def f(v, x):
        v.assign_add(x)
        return v

    assert int(f(a, jnp.array(1))) == 2 and int(f(b, jnp.array(1))) == 11 and int(f(a, jnp.array(5))) == 7
    assert f.experimental_get_tracing_count() == 2


def test_in_containers_and_globals():
    params = {"w": ag.Variable([1.0, 2.0]), "rest": [ag.Variable(3.0)]}

    @ag.function
    def f(x):
        for v in [params["w"], *params["rest"]]:
            v.assign_sub(0.5)
        return (params["w"] * x).sum() + params["rest"][0]

    assert float(f(jnp.ones(2))) == 0.5 + 1.5 + 2.5


def test_shared_between_functions():
    v = ag.Variable(0)
    add = ag.function(lambda x: v.assign_add(x))
    double = ag.function(lambda: v.assign(v * 2))
    add(jnp.array(3)), double(), add(jnp.array(1))
    assert int(v) == 7


def test_another_set_of_variables_for_another_type():
    v, w = ag.Variable(0), ag.Variable(0)

    @ag.function
    def f(x):
        if x.ndim == 0:
            v.assign_add(1)
        else:
            w.assign_add(v + 1)
        return v + w

    assert [int(f(jnp.array(1))), int(f(jnp.ones(2))), int(f(jnp.array(1))), int(f(jnp.ones(2)))] == [
        1,
        3,
        4,
        7,
    ]
    assert f.experimental_get_tracing_count() == 2


def test_run_eagerly_and_uncompiled():
    v = ag.Variable(0)

    def f(x):
        if x > 1:
            v.assign_add(x)
        return v

    assert int(ag.function(f, jit_compile=False)(jnp.array(2))) == 2
    assert int(ag.function(f, jit_compile=False)(jnp.array(1))) == 2
    ag.run_functions_eagerly(True)
    try:
        ag.function(f)(jnp.array(3))
    finally:
        ag.run_functions_eagerly(False)
    assert int(v) == 5


def test_random_keys_are_values_like_others():
    v = ag.Variable(jax.random.key(0))

    @ag.function
    def f():
        key, mine = jax.random.split(v.value)
        v.assign(key)
        return jax.random.normal(mine)

    assert float(f()) != float(f())


@pytest.mark.parametrize("where", ["a closure's list", "an object's list", "an object in a list"])
def test_a_variable_that_the_function_drops_is_an_input_of_its_program(where):
    class Holder:
        pass

    holder, inner, variables = Holder(), Holder(), [ag.Variable(2.0)]
    holder.variables, inner.v, holders = [ag.Variable(2.0)], ag.Variable(2.0), []
    holders.append(inner)
    del inner

    @ag.function
    def f(x):
        if where == "a closure's list":
            v = variables.pop()
        elif where == "an object's list":
            v = holder.variables.pop()
        else:
            v = holders.pop().v
        y = v * 3.0
        v.assign_add(1.0)
        del v
        return y * x + 0

    assert float(f(jnp.float32(1))) == 6.0
    assert float(f(jnp.float32(1))) == 9.0
