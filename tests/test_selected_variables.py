"""A Variable that a traced condition, index, key or loop selects is that Variable: reads and assignments are as in Python."""

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.variable_programs import PROGRAMS


def variables():
    return [ag.Variable(start, name=name) for name, start in (("a", 1.0), ("b", 2.0), ("c", 3.0))]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("x", [1.0, -1.0])
def test_a_selected_variable_is_what_it_is_in_python(program, x):
    mine, theirs = variables(), variables()
    wanted = program(*mine, jnp.float32(x))
    found = ag.function(lambda x: program(*theirs, x))(jnp.float32(x))
    numbers = [
        jax.tree.map(float, (value, [v.value for v in held])) for value, held in ((wanted, mine), (found, theirs))
    ]
    assert jax.tree.leaves(numbers[1]) == pytest.approx(jax.tree.leaves(numbers[0]))


def test_slices_of_a_selected_variable_are_assigned():
    def program(p, q, x):
        v = p if x > 0 else q
        i = jnp.where(x > 0, 1, 2)
        v[i].assign(10.0)
        v[i] += 1.0
        v[0:2].assign_add([1.0, 1.0])
        v[2] = v[0] + 1
        first, second, _ = v
        return len(v), v.shape[0], v[i] + 0, first + second, v.at[0].set(3.0).sum(), sum(v), max(v), v.mean()

    for x in (1.0, -1.0):
        results = []
        for run in (lambda f: f, ag.function):
            p, q = ag.Variable([1.0, 2.0, 3.0]), ag.Variable([4.0, 5.0, 6.0])
            results.append(jax.tree.map(float, (run(lambda x: program(p, q, x))(jnp.float32(x)), list(p), list(q))))  # noqa: B023
        assert results[0] == results[1]


def test_variables_of_different_shapes_and_dtypes_are_assigned_and_refused_where_read():
    p, q, n = ag.Variable([1.0, 2.0]), ag.Variable([1.0, 2.0, 3.0]), ag.Variable(2)

    @ag.function
    def assign(x):
        v = p if x > 0 else q
        v.assign_add(1.0)

    @ag.function
    def read(x):
        v = p if x > 0 else q
        return v * 2

    @ag.function
    def of_dtypes(x, a):
        v = n if x > 0 else a
        v.assign_add(1)
        return v * 2.5

    assign(jnp.float32(1))
    assert p.numpy().tolist() == [2, 3] and q.numpy().tolist() == [1, 2, 3]
    with pytest.raises(ag.StagingError, match=r"float32\[2\] or float32\[3\]: it is that of one of several Variables"):
        read(jnp.float32(1))
    a = ag.Variable(1.5)
    assert of_dtypes(jnp.float32(1), a) == 7.5 and of_dtypes(jnp.float32(-1), a) == 6.25
    assert (n.numpy(), a.numpy()) == (3, 2.5)


def test_an_assignment_that_does_not_fit_raises_as_in_python():
    a, b = ag.Variable(1.0), ag.Variable(2.0)

    @ag.function
    def of_a_wrong_shape(x):
        (a if x > 0 else b).assign([1.0, 2.0])

    @ag.function
    def of_a_value(x):
        (a if x > 0 else x).assign(3.0)

    with pytest.raises(ValueError, match="A variable keeps its shape and dtype"):
        of_a_wrong_shape(jnp.float32(1))
    of_a_value(jnp.float32(1))
    assert a.numpy() == 3
    with pytest.raises(AttributeError, match="'jax.Array' object has no attribute 'assign'"):
        of_a_value(jnp.float32(-1))


def test_each_of_many_variables_is_selected():
    many = [ag.Variable(float(k)) for k in range(35)]

    @ag.function
    def bump(k):
        v = many[k]
        many[0].assign(100.0)
        v.assign_add(0.5)
        best = many[0]
        for each in many:
            best = each if each > best else best
        best.assign_add(1000.0)
        return v + 0

    assert bump(jnp.array(0)) == 1100.5 and bump(jnp.array(30)) == 30.5
    assert [v.numpy() for v in many[:2]] == [1100.0, 1.0]


def test_a_selected_variable_is_returned_as_its_value():
    a, b = ag.Variable(1.0), ag.Variable(2.0)

    class Holder:
        def __init__(self, w):
            self.w = w

    def program(x):
        v = a if x > 0 else b
        b.assign(7.0)
        return v, [v], {"k": v}, Holder(v)

    value, listed, keyed, holder = ag.function(program)(jnp.float32(-1))
    assert type(value) is type(listed[0]) is type(keyed["k"]) is type(jnp.ones(()))
    assert value == listed[0] == keyed["k"] == 7 and holder.w is b
    assert jax.vmap(ag.function(lambda x: a if x > 0 else b))(jnp.array([1.0, -1.0])).tolist() == [1, 7]


def test_a_selected_variable_is_not_assigned_in_a_vmap():
    a, b = ag.Variable(1.0), ag.Variable(2.0)

    def program(x):
        v = a if x > 0 else b
        v.assign(x)
        return v + 0

    with pytest.raises(ag.StagingError, match=r"written inside jax\.vmap"):
        jax.vmap(ag.function(program))(jnp.array([1.0, -1.0]))


def test_what_needs_to_know_the_variable_refuses_one_of_several():
    a, b = ag.Variable(1.0), ag.Variable(2.0)

    @ag.function
    def gradient(x):
        v = a if x > 0 else b
        return ag.grad(lambda: v * v, variables=[v])()

    with pytest.raises(
        ag.StagingError, match="selected at run time, and a gradient or an update of Variables needs to know"
    ):
        gradient(jnp.float32(1))


def test_a_variable_that_a_gradient_outside_of_functions_has_assigned_a_constant_can_be_read():
    v = ag.Variable(2.0)

    def loss(y):
        v.assign(7.0)
        return v * y

    ag.value_and_grad(loss, argnums=0)(jnp.float32(1))
    assert jax.vmap(ag.function(lambda x: v * x))(jnp.array([1.0, 2.0])).tolist() == [7, 14]
