"""Exceptions under traced conditions pass through JAX's transforms and control flow, and out of every kind of call."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


def checked_root(x):
    if x < 0:
        raise ValueError(f"negative: {x}")
    return jnp.sqrt(x)


MESSAGE = r"^negative: -4\.0(\n|$)"  # JAX adds a note to what passes through its transforms
GOOD = jnp.array([1.0, 4.0])
BAD = jnp.array([1.0, -4.0, -2.0])

BY_ELEMENT = {
    "vmap": lambda check, x: jax.vmap(check)(x),
    "lax.map": lambda check, x: jax.lax.map(check, x),
    "lax.scan": lambda check, x: jax.lax.scan(lambda c, v: (c + check(v), c), 0.0, x),
    "lax.fori_loop": lambda check, x: jax.lax.fori_loop(0, len(x), lambda i, c: c + check(x[i]), 0.0),
    "lax.while_loop": lambda check, x: jax.lax.while_loop(
        lambda s: s[0] < len(x), lambda s: (s[0] + 1, s[1] + check(x[s[0]])), (0, 0.0)
    ),
    "lax.cond": lambda check, x: jax.lax.cond(x[1] < 5, lambda v: check(v), lambda v: v, x[1]),
    "jit": lambda check, x: jax.jit(check)(x[1]),
    "grad": lambda check, x: jax.grad(check)(x[1]),
    "grad of checkpoint": lambda check, x: jax.grad(jax.checkpoint(check))(x[1]),
    "grad of vmap": lambda check, x: jax.grad(lambda y: jax.vmap(check)(y).sum())(x),
    "grad of scan": lambda check, x: jax.grad(lambda y: jax.lax.scan(lambda c, v: (c + check(v), c), 0.0, y)[0])(x),
    "grad of scan of checkpoint": lambda check, x: jax.grad(
        lambda y: jax.lax.scan(jax.checkpoint(lambda c, v: (c + check(v), None)), 0.0, y)[0]
    )(x),
    "jvp": lambda check, x: jax.jvp(check, (x[1],), (1.0,)),
    "hessian": lambda check, x: jax.hessian(check)(x[1]),
    "vmap of grad": lambda check, x: jax.vmap(jax.grad(check))(x),
    "tree.map": lambda check, x: jax.tree.map(check, [x[0], x[1]]),
}


@pytest.mark.parametrize("name", BY_ELEMENT)
def test_inside_a_function(name):
    program = BY_ELEMENT[name]
    f = ag.function(lambda x: program(checked_root, x))
    for found, expected in zip(jax.tree.leaves(f(GOOD)), jax.tree.leaves(program(jnp.sqrt, GOOD)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    with pytest.raises(ValueError, match=MESSAGE):
        f(BAD)


@pytest.mark.parametrize("made", [ag.function, ag.convert], ids=["function", "convert"])
@pytest.mark.parametrize(
    "transform",
    [
        lambda f: jax.vmap(f),
        lambda f: jax.grad(lambda x: jax.vmap(f)(x).sum()),
        lambda f: jax.vmap(jax.grad(f)),
        lambda f: lambda x: jax.grad(f)(x[1]),
        lambda f: lambda x: jax.vmap(jax.vmap(f))(x.reshape(1, -1)),
    ],
    ids=["vmap", "grad of vmap", "vmap of grad", "grad", "vmap of vmap"],
)
def test_around_a_call_outside_a_trace(made, transform):
    f = transform(made(checked_root))
    np.testing.assert_allclose(f(GOOD).ravel()[-1], transform(jnp.sqrt)(GOOD).ravel()[-1])
    with pytest.raises(ValueError, match=MESSAGE):
        f(BAD)


def test_a_function_called_by_a_function():
    inner = ag.function(checked_root)

    @ag.function
    def outer(x):
        for _ in range(2):
            x = inner(x) - 2
        return x

    assert float(outer(jnp.float32(36.0))) == 0.0
    with pytest.raises(ValueError, match=r"^negative: -1\.0$"):
        outer(jnp.float32(1.0))


def test_gradients_of_a_loop_that_may_raise():
    def power(x):
        while x < 100:
            if x < 0:
                raise ValueError(f"negative: {x}")
            x = x * x
        return x

    f = ag.function(power)
    assert float(jax.grad(f)(2.0)) == 8 * 2.0**7
    assert float(ag.function(lambda x: jax.vmap(jax.grad(power))(x))(jnp.array([2.0, 2.0]))[1]) == 8 * 2.0**7
    with pytest.raises(ValueError, match=r"negative: -2\.0"):
        jax.grad(f)(-2.0)


@pytest.mark.parametrize("call", ["eager", "in a function", "tape"])
def test_gradients_over_variables_leave_them_as_they_were(call):
    w = ag.Variable(2.0)

    def loss(x):
        w.assign_add(1.0)
        if w * x < 0:
            raise ValueError(f"negative: {w * x}")
        return w * w * x

    def taped(x):
        with ag.GradientTape() as tape:
            value = loss(x)
        return value, tape.gradient(value, [w])

    f = {
        "eager": ag.value_and_grad(loss),
        "in a function": ag.function(lambda x: ag.value_and_grad(loss)(x)),
        "tape": ag.function(taped),
    }[call]
    with pytest.raises(ValueError, match=r"^negative: -3\.0(\n|$)"):
        f(jnp.float32(-1.0))
    assert float(w) == 2.0
    value, (slope,) = f(jnp.float32(1.0))
    assert (float(value), float(slope), float(w)) == (9.0, 6.0, 3.0)


def test_transforms_of_a_function_with_variables_leave_them_as_they_were():
    w = ag.Variable(2.0)

    @ag.function
    def f(x):
        w.assign_add(1.0)
        if x < 0:
            raise ValueError("negative")
        return w * x

    with pytest.raises(ValueError, match="negative"):
        jax.grad(f)(-1.0)
    assert float(w) == 2.0


def test_a_loop_after_the_error_does_not_run_for_ever():
    def halvings(x):
        if x <= 0:
            raise ValueError("no power of two")
        n = 0
        while x != 1:
            x = x / 2
            n += 1
        return n

    f = ag.function(halvings)
    assert int(f(jnp.float32(8.0))) == 3
    with pytest.raises(ValueError, match="no power of two"):
        f(jnp.float32(-1.0))
    with pytest.raises(ValueError, match="no power of two"):
        ag.function(lambda x: jax.vmap(halvings)(x))(jnp.array([4.0, -1.0]))


def test_nothing_is_printed_or_called_after_the_error(capfd):
    calls = []

    @ag.function
    def f(xs):
        for x in xs:
            ag.print("before", x)
            if x < 0:
                raise ValueError("negative")
            ag.print("after", x)
            ag.py_function(lambda v: calls.append(float(v)), [x], None)
        ag.print("end")
        return xs

    with pytest.raises(ValueError, match="negative"):
        f(jnp.array([1.0, -2.0, 3.0]))
    assert capfd.readouterr().out.split("\n") == ["before 1.0", "after 1.0", "before -2.0", ""]
    assert calls == [1.0]


def test_symbolic_sizes():
    @ag.function(input_signature=[ag.TensorSpec([None], jnp.float32)])
    def f(x):
        for v in x:
            if v < 0:
                raise ValueError(f"{v} among {len(x)}")
        return x.sum()

    assert float(f(jnp.array([1.0, 2.0]))) == 3.0
    with pytest.raises(ValueError, match=r"^-2\.0 among 3$"):
        f(jnp.array([1.0, -2.0, 3.0]))


def test_concrete_function_and_no_compilation():
    concrete = ag.function(checked_root).get_concrete_function(jnp.float32(1.0))
    assert float(concrete(jnp.float32(4.0))) == 2.0
    with pytest.raises(ValueError, match=r"negative: -4\.0"):
        concrete(jnp.float32(-4.0))
    with pytest.raises(ValueError, match=r"negative: -4\.0"):
        ag.function(checked_root, jit_compile=False)(jnp.float32(-4.0))


@pytest.mark.parametrize("made", [ag.function, ag.convert], ids=["function", "convert"])
def test_a_bare_jit_is_refused(made):
    for transform in (jax.jit, lambda f: jax.jit(jax.vmap(f)), lambda f: jax.jit(jax.grad(lambda x: f(x[0])))):
        with pytest.raises(ag.StagingError, match=r"raise ValueError[^$]*autograph\.function"):
            transform(made(checked_root))(GOOD if transform is not jax.jit else 4.0)


def test_export_is_refused_rather_than_losing_the_check():
    f = ag.function(checked_root)
    with pytest.raises(ag.StagingError, match=r"autograph\.function"):
        jax.export.export(jax.jit(f))(jax.ShapeDtypeStruct((), jnp.float32))


def test_lanes_raise_only_in_the_branches_of_lax_that_they_take():
    def f(x):
        x = jax.lax.cond(x > 0, lambda v: v * v, checked_root, x)
        x = jax.lax.while_loop(lambda v: v < 50, lambda v: 2 * checked_root(v * v), x)
        return jax.lax.switch(jnp.int32(x > 100), [checked_root, lambda v: -v], x)

    many = jnp.array([3.0, 20.0])
    one_by_one = [float(ag.function(f)(x)) for x in many]
    for mapped in (ag.function(lambda x: jax.vmap(f)(x)), jax.vmap(ag.convert(f)), jax.vmap(ag.function(f))):
        np.testing.assert_allclose(mapped(many), one_by_one)
        with pytest.raises(ValueError, match=r"negative: -3\.0"):
            mapped(-many)


def test_custom_derivatives_are_refused():
    def f(x):
        h = jax.custom_jvp(ag.convert(checked_root))
        h.defjvp(lambda primals, tangents: (h(*primals), tangents[0]))
        return h(x)

    with pytest.raises(ag.StagingError, match="cannot carry exceptions"):
        ag.function(f)(jnp.float32(4.0))


def test_a_generator_that_a_failed_loop_read_is_closed():
    closed = []

    def numbers():
        try:
            yield from (1.0, -1.0, 2.0)
        finally:
            closed.append(True)

    data = ag.Dataset.from_generator(numbers, ag.TensorSpec((), jnp.float32))

    @ag.function
    def total():
        s = 0.0
        for x in data:
            if x < 0:
                raise ValueError(f"negative: {x}")
            s += x
        return s

    with pytest.raises(ValueError, match=r"negative: -1\.0"):
        total()
    assert closed == [True]
