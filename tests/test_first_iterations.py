"""What a loop's first iteration sets, under a traced test, is there for those that follow."""

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


class Box:
    pass


def first_iteration_sets_an_attribute(x):
    box = Box()
    for i in range(len(x)):
        if i == 0:
            box.best = x[0]
        elif x[i] > box.best:
            box.best = x[i]
    return box.best


def first_iteration_sets_an_attribute_ag_range(x):
    box = Box()
    for i in ag.range(len(x)):
        if i == 0:
            box.best = x[0]
        else:
            box.best = max(box.best, x[i])
    return box.best


def first_iteration_sets_an_attribute_by_a_flag(x):
    box, is_first = Box(), True
    for v in x:
        if is_first:
            box.best = v
            is_first = False
        elif v > box.best:
            box.best = v
    return box.best


def first_iteration_sets_a_key(x):
    seen, k = {}, 0
    for v in x:
        if k == 0:
            seen["best"] = v
        elif v > seen["best"]:
            seen["best"] = v
        k += 1
    return seen["best"]


def first_of_many_iterations_sets_an_attribute(x):
    box = Box()
    for i in range(100):
        if i == 0:
            box.level = x[0]
        elif box.level > 3:
            box.level = box.level - 1
        else:
            box.level = box.level + 2
    return box.level


def first_iteration_of_nested_loops_sets_an_attribute(x):
    box, k = Box(), 0
    for v in x:
        for w in x:
            if k == 0:
                box.total = w
            else:
                box.total = box.total + v * w
            k += 1
    return box.total


def attribute_that_is_asked_for(x):
    box = Box()
    for v in x:
        if hasattr(box, "total"):
            box.total = box.total + v
        else:
            box.total = v
    return box.total


def attribute_with_a_default(x):
    box = Box()
    for v in x:
        box.total = getattr(box, "total", 0.0) + v
    return box.total


def attribute_that_a_handler_sets(x):
    box = Box()
    for v in x:
        try:
            box.total = box.total + v
        except AttributeError:
            box.total = v
    return box.total


def attribute_through_functions(x):
    box, total = Box(), 0.0

    def put(v):
        box.last = v

    def get():
        return box.last

    for v in x:
        if v > 6:
            total = total + get()
        put(v)
    return total


@pytest.mark.parametrize(
    "program",
    [
        attribute_that_is_asked_for,
        attribute_with_a_default,
        attribute_that_a_handler_sets,
        attribute_through_functions,
        first_iteration_sets_an_attribute,
        first_iteration_sets_an_attribute_ag_range,
        first_iteration_sets_an_attribute_by_a_flag,
        first_iteration_sets_a_key,
        first_of_many_iterations_sets_an_attribute,
        first_iteration_of_nested_loops_sets_an_attribute,
    ],
    ids=lambda program: program.__name__,
)
def test_attribute_or_key_that_the_first_iteration_sets(program):
    compiled = ag.function(program)
    for values in ([1.0, 3.0, 2.0], [5.0, 1.0, 7.0]):
        wanted = float(program(jnp.array(values)))
        assert float(compiled(jnp.array(values))) == wanted


def test_list_that_is_long_enough_in_later_iterations():
    def f(x):
        out = []
        for v in x:
            if v > 4:
                out[2]
            out.append(v)
        return jnp.stack(out)

    assert ag.function(f)(jnp.array([1.0, 2.0, 3.0, 5.0])).tolist() == [1.0, 2.0, 3.0, 5.0]
    with pytest.raises(IndexError):
        ag.function(f)(jnp.array([1.0, 5.0, 3.0]))


def test_attribute_of_a_loop_that_may_not_run():
    def f(x, n):
        box = Box()
        for i in range(n):
            if i == 0:
                box.best = x[0]
            else:
                box.best = max(box.best, x[i])
        return box.best

    made = ag.function(f)
    assert float(made(jnp.array([1.0, 3.0]), jnp.array(2))) == 3.0
    with pytest.raises(AttributeError, match="'Box' object has no attribute 'best'"):
        made(jnp.array([1.0, 3.0]), jnp.array(0))
    with pytest.raises(ag.StagingError, match="'Box.best' may be absent here"):
        jax.jit(ag.convert(f))(jnp.array([1.0, 3.0]), 2)
