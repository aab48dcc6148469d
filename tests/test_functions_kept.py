"""Functions that a staged loop or branch keeps, and values that leave what JAX traces by itself: right, or refused in words."""

import functools

import jax
import jax.numpy as jnp
import pytest

import autograph as ag

XS = [1.0, 3.0, 2.0]


class Box:
    pass


def in_a_list(xs):
    made = []
    for v in xs:
        made.append(lambda: v)
    return made[0]() + made[-1]()


def in_a_variable(xs):
    f = lambda: 0.0  # noqa: E731
    for v in xs:
        f = lambda: v  # noqa: E731
    return f()


def in_a_dict(xs):
    made = {}
    for v in xs:
        made["f"] = lambda a: a + v
    return made["f"](1.0)


def in_a_dict_by_update(xs):
    v = 0.0
    made = {"f": None}
    for v in xs:
        made.update(f=lambda: v)
    return made["f"]()


def in_an_attribute(xs):
    box = Box()
    box.f = None
    for v in xs:
        box.f = lambda: v * 2
    return box.f()


def by_a_callee(xs):
    v, made = 0.0, []

    def register(f):
        made.append(f)

    for v in xs:
        register(lambda: v)
    return made[0]()


def by_a_definition(xs):
    f = None
    for v in xs:
        w = v * 3

        def f():  # noqa: F811
            return w

    return f()


def in_a_loop_in_python(xs):
    made = []
    for i in range(3):
        made.append(lambda: i * xs[0])
    return made[0]() + made[2]()


def handed_to_a_transform(xs):
    total = 0.0
    for v in xs:
        w = v * 2
        total = total + jax.grad(lambda q: q * w)(v)
    return total


@pytest.mark.parametrize(
    "program",
    [
        in_a_list,
        in_a_variable,
        in_a_dict,
        in_a_dict_by_update,
        in_an_attribute,
        by_a_callee,
        by_a_definition,
        in_a_loop_in_python,
        handed_to_a_transform,
    ],
    ids=lambda program: program.__name__,
)
def test_functions_find_the_last_value_of_what_they_close_over(program):
    assert float(ag.function(program)(jnp.array(XS))) == float(program(jnp.array(XS)))


def made_by_another_function(xs):
    def make(v):
        return lambda: v

    f = None
    for v in xs:
        f = make(v)
    return f()


def with_an_argument_bound(xs):
    f = None
    for v in xs:
        f = functools.partial(lambda a, b: a + b, v)
    return f(1.0)


@pytest.mark.parametrize("program", [made_by_another_function, with_an_argument_bound], ids=lambda p: p.__name__)
def test_functions_with_values_of_their_own_are_refused(program):
    with pytest.raises(ag.StagingError, match="'f'"):
        ag.function(program)(jnp.array(XS))


def nonlocal_under_vmap(xs):
    total = 0.0

    def f(v):
        nonlocal total
        total = total + v
        return v

    jax.vmap(f)(xs)
    return total


def append_in_a_scan(xs):
    out = []

    def step(carry, v):
        out.append(v * 2)
        return carry + v, v

    jax.lax.scan(step, 0.0, xs)
    return jnp.stack(out)


def attribute_in_a_scan(xs):
    box = Box()
    box.last = xs[0]

    def step(carry, v):
        box.last = box.last + v
        return carry + v, v

    jax.lax.scan(step, 0.0, xs)
    return box.last


def nonlocal_under_grad(xs):
    kept = None

    def f(v):
        nonlocal kept
        kept = v * 2
        return v**2

    return jax.grad(f)(xs[0]) + kept


@pytest.mark.parametrize(
    "program",
    [nonlocal_under_vmap, append_in_a_scan, attribute_in_a_scan, nonlocal_under_grad],
    ids=lambda program: program.__name__,
)
def test_values_that_leave_what_jax_traces_are_refused(program):
    with pytest.raises(ag.StagingError, match="A leaked tracer is used here: a function that JAX traced by itself"):
        ag.function(program)(jnp.array(XS))


def test_a_generator_with_a_traced_condition():
    def f(xs):
        def doubled():
            for v in xs:
                w = v
                if v > 2:
                    w = v * 2
                yield w

        total = 0.0
        for w in doubled():
            total = total + w
        return total

    assert float(ag.function(f)(jnp.array(XS))) == f(XS)

    def g(xs):
        def chosen():
            for v in xs:
                if v > 2:
                    yield v

        return sum(chosen())

    assert float(ag.function(g)(jnp.array(XS))) == g(XS)
