"""Converted code under JAX's transforms, and JAX's transforms in converted code."""

import dataclasses
import functools
from collections import Counter

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.flatten_util import ravel_pytree

import autograph as ag

XS = jnp.array([-2.0, -0.5, 0.0, 0.5, 2.0, 30.0])


def leaky(x):
    if x > 0:
        return x
    return 0.1 * x


def halvings(x):
    count = 0
    while x > 1:
        x = x / 2
        count += 1
    return count


def power_series(x):
    total = x * 0
    for i in range(4):
        if x > i:
            total = total + x**i
    return total


def each(function, xs=XS):
    """The oracle: plain Python, element by element."""
    return np.stack([np.asarray(function(x)) for x in xs])


def assert_equal(found, wanted):
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=2e-5, atol=1e-6)


# From outside: a transform is given a converted function.


@pytest.mark.parametrize("function", [leaky, halvings, power_series])
def test_jit_and_vmap_in_any_order(function):
    converted = ag.convert(function)
    wanted = each(function)
    assert_equal(jax.vmap(converted)(XS), wanted)
    assert_equal(jax.jit(jax.vmap(converted))(XS), wanted)
    assert_equal(jax.vmap(jax.jit(converted))(XS), wanted)
    assert_equal(each(jax.jit(converted)), wanted)
    assert_equal(lax.map(converted, XS), wanted)


@pytest.mark.parametrize("function", [leaky, power_series])
def test_reverse_mode(function):
    converted = ag.convert(function)
    wanted = each(jax.grad(function))
    assert_equal(each(jax.grad(converted)), wanted)
    assert_equal(each(jax.jit(jax.grad(converted))), wanted)
    assert_equal(jax.vmap(jax.grad(converted))(XS), wanted)
    assert_equal(jax.jit(jax.vmap(jax.value_and_grad(converted)))(XS)[1], wanted)
    assert_equal(jax.grad(lambda xs: jax.vmap(converted)(xs).sum())(XS), wanted)


def test_forward_mode_through_a_while():
    def shrink(x):
        while x > 1:
            x = x / 3
        return x

    wanted = each(lambda x: jax.jvp(shrink, (x,), (jnp.array(1.0),))[1])
    assert_equal(jax.jit(jax.vmap(jax.jacfwd(ag.convert(shrink))))(XS), wanted)


def test_second_derivatives():
    converted = ag.convert(power_series)
    assert_equal(jax.vmap(jax.hessian(converted))(XS), each(jax.hessian(power_series)))


def test_reverse_mode_through_a_loop_over_an_array():
    def product(weights, x):
        for weight in weights:
            x = jnp.tanh(x * weight)
            if x > 0.5:
                x = x - 0.25
        return x

    weights, x = jnp.array([0.5, 2.0, 3.0]), jnp.array(0.7)
    wanted = jax.grad(product)(weights, x)
    assert_equal(jax.jit(jax.grad(ag.convert(product)))(weights, x), wanted)


def test_body_of_lax_scan():
    def step(carry, x):
        if x > carry:
            carry = carry + x
        else:
            carry = carry - 1
        return carry, carry * 2

    carry, wanted = jnp.array(0.0), []
    for x in XS:
        carry, y = step(carry, x)
        wanted.append(y)
    final, found = lax.scan(ag.convert(step), jnp.array(0.0), XS)
    assert_equal(final, carry)
    assert_equal(found, jnp.stack(wanted))


def test_branches_of_lax_cond_and_body_of_while_loop():
    converted = ag.convert(leaky)
    found = lax.cond(XS[0] < 0, converted, lambda x: x, XS[0])
    assert_equal(found, leaky(XS[0]))
    assert_equal(lax.fori_loop(0, 3, lambda i, x: converted(x) + i, XS[0]), leaky(leaky(leaky(XS[0])) + 1) + 2)


def test_checkpoint_of_converted():
    converted = jax.checkpoint(ag.convert(power_series))
    assert_equal(jax.vmap(jax.grad(converted))(XS), each(jax.grad(power_series)))


def test_filter_jit_of_a_converted_method():
    class Layer(eqx.Module):
        weight: jax.Array
        name: str

        def apply(self, x):
            y = self.weight * x
            if y < 0:
                y = y / 10
            return y

    layer = Layer(jnp.array(3.0), "layer")
    found = eqx.filter_jit(ag.convert(layer.apply))(XS[0])
    assert_equal(found, layer.apply(XS[0]))
    gradient = eqx.filter_grad(lambda model, x: ag.convert(model.apply)(x))(layer, XS[0])
    assert_equal(gradient.weight, XS[0] / 10)


def steps_to_one_of_every_third(x):
    steps = 0
    while x > 0:
        value = x
        while value != 1:
            if value % 2 == 0:
                value = value // 2
            else:
                value = 3 * value + 1
            steps += 1
        x = x - 3
    return steps


def test_lanes_that_have_ended_begin_no_loop_without_an_end():
    """Where a lane has ended, `x` is 0 or less: from there the inner loop never comes to one."""
    numbers = [7, 3, 12, 0]
    wanted = [steps_to_one_of_every_third(x) for x in numbers]
    converted = ag.convert(steps_to_one_of_every_third)
    assert jax.jit(jax.vmap(converted))(jnp.array(numbers)).tolist() == wanted
    in_pairs = jax.vmap(jax.vmap(converted))(jnp.array(numbers).reshape(2, 2))
    assert in_pairs.reshape(-1).tolist() == wanted


def test_eval_shape_and_make_jaxpr():
    converted = ag.convert(halvings)
    assert jax.eval_shape(converted, XS[0]).shape == ()
    assert "while" in str(jax.make_jaxpr(converted)(XS[0]))


def test_function_inside_transforms():
    """`ag.function` is used where `jax.jit` would be."""
    function = ag.function(leaky)
    assert_equal(jax.vmap(function)(XS), each(leaky))
    assert_equal(each(jax.grad(function)), each(jax.grad(leaky)))
    assert_equal(each(jax.jit(lambda x: function(x) + 1)), each(leaky) + 1)


# From inside: converted code gives its own Python functions to a transform.


def run(function, *arguments):
    """Both ways of staging, which must agree."""
    found = jax.jit(ag.convert(function))(*arguments)
    again = ag.function(function)(*arguments)
    jax.tree.map(assert_equal, again, found)
    return found


def test_vmap_inside():
    assert_equal(run(lambda xs: jax.vmap(leaky)(xs), XS), each(leaky))
    assert_equal(run(lambda xs: jax.vmap(halvings)(xs), XS), each(halvings))


def test_grad_inside():
    def slope(x):
        return jax.grad(leaky)(x)

    assert_equal(jax.vmap(ag.convert(slope))(XS), each(jax.grad(leaky)))
    assert_equal(run(slope, XS[0]), 0.1)


def test_grad_with_aux_and_argnums_inside():
    def loss(x, w):
        y = x * w
        if y > 1:
            return y * y, {"big": True}
        return y, {"big": False}

    def f(x, w):
        (value, aux), (dx, dw) = jax.value_and_grad(loss, argnums=(0, 1), has_aux=True)(x, w)
        return value, aux["big"], dx, dw

    jax.tree.map(assert_equal, run(f, jnp.array(2.0), jnp.array(3.0)), (36.0, True, 36.0, 24.0))


def test_lambda_with_a_conditional_inside():
    assert_equal(run(lambda xs: jax.vmap(lambda x: x if x > 0 else -x)(xs), XS), jnp.abs(XS))
    assert_equal(run(lambda x: jax.grad(lambda v: v * v if v > 0 else v)(x), jnp.array(3.0)), 6.0)


def test_partial_inside():
    def above(limit, x, *, scale):
        if x > limit:
            return x * scale
        return limit

    wanted = each(lambda x: above(jnp.array(0.25), x, scale=3.0))
    assert_equal(run(lambda xs: jax.vmap(functools.partial(above, 0.25, scale=3.0))(xs), XS), wanted)


class Gate:
    def __init__(self, level):
        self.level = level

    def open(self, x):
        if x > self.level:
            return x
        return self.level

    def __call__(self, carry, x):
        if x > carry:
            carry = self.open(x)
        return carry, carry


def test_bound_method_inside():
    assert_equal(run(lambda xs: jax.vmap(Gate(0.25).open)(xs), XS), jnp.maximum(XS, 0.25))


def test_callable_object_inside():
    final, history = run(lambda xs: lax.scan(Gate(0.25), jnp.array(-9.0), xs), XS)
    wanted = np.maximum.accumulate(np.maximum(np.asarray(XS), 0.25))
    assert_equal(history, wanted)
    assert_equal(final, wanted[-1])


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    w: jax.Array
    b: jax.Array

    def __call__(self, x):
        return self.w * x if x > 0 else self.b


@pytest.mark.parametrize(
    "look, wanted",
    [
        (lambda layer: sum(jnp.sum(leaf) for leaf in jax.tree.leaves(layer)), 12.0),
        (lambda layer: jax.tree.unflatten(jax.tree.structure(layer), [1.0, layer.b]).b, 8.0),
        (lambda layer: jax.tree.flatten(layer)[0][1], 8.0),
        (lambda layer: jax.tree.reduce(lambda a, b: a + b if a > 0 else b, layer), 12.0),
        (lambda layer: jax.lax.stop_gradient(layer).b, 8.0),
        (lambda layer: jax.block_until_ready(layer).b, 8.0),
        (lambda layer: jax.device_put(layer).b, 8.0),
        (lambda layer: ravel_pytree(layer)[0], [4.0, 8.0]),
        (lambda layer: jax.vmap(layer)(jnp.array([-1.0, 0.5])), [8.0, 2.0]),
    ],
)
def test_a_pytree_that_is_callable_inside(look, wanted):
    def f(w):
        layer = Layer(w, 2 * w)
        while layer.w < 3:
            layer = jax.tree.map(lambda leaf: 2 * leaf, layer)
        return look(layer)

    assert_equal(run(f, jnp.array(1.0)), wanted)


def test_scan_inside():
    def f(xs):
        def step(carry, x):
            if x < 0:
                return carry, x
            return carry + x, carry

        return lax.scan(step, jnp.array(0.0), xs)

    total, seen = run(f, XS)
    assert_equal(total, 32.5)
    assert_equal(seen, [-2.0, -0.5, 0.0, 0.0, 0.5, 2.5])


def test_cond_switch_and_loops_inside():
    def f(x, n):
        def grow(value):
            while value < 10:
                value = value * 2
            return value

        x = lax.cond(x > 0, grow, lambda value: value if value > -1 else value * 0 - 1, x)
        x = lax.switch(n, [leaky, grow, lambda value: -value], x)
        x = lax.fori_loop(0, n, lambda i, value: value + i if value > 0 else value, x)
        return lax.while_loop(lambda value: True if value > 100 else False, lambda value: value / 2, x)

    assert_equal(run(f, jnp.array(3.0), jnp.array(0)), 12.0)
    assert_equal(run(f, jnp.array(3.0), jnp.array(1)), 12.0)
    assert_equal(run(f, jnp.array(-3.0), jnp.array(2)), 2.0)


def test_tree_map_inside():
    def f(tree):
        return jax.tree.map(leaky, tree)

    found = run(f, {"a": jnp.array(-2.0), "b": [jnp.array(3.0)]})
    jax.tree.map(assert_equal, found, {"a": -0.2, "b": [3.0]})


def test_checkpoint_jit_and_nesting_inside():
    def f(x):
        inner = jax.jit(jax.checkpoint(power_series))
        return jax.grad(lambda v: inner(v) + leaky(v))(x)

    assert_equal(jax.vmap(ag.convert(f))(XS), each(jax.grad(power_series)) + each(jax.grad(leaky)))


def test_vmap_of_grad_inside_a_traced_loop():
    def f(xs, n):
        for _ in range(n):
            xs = xs - 0.1 * jax.vmap(jax.grad(power_series))(xs)
        return xs

    wanted = XS[:5]
    for _ in range(3):
        wanted = wanted - 0.1 * each(jax.grad(power_series), wanted)
    assert_equal(run(f, XS[:5], jnp.array(3)), wanted)


def test_decorated_with_a_transform_inside():
    def f(xs):
        @jax.vmap
        def absolute(x):
            if x < 0:
                return -x
            return x

        return absolute(xs)

    assert_equal(run(f, XS), jnp.abs(XS))


@jax.jit
def jitted_with_a_branch(x):
    if x.ndim == 0:
        return x + 1
    return x


def test_a_transformed_function_is_called_as_it_is_whatever_else_is_converted_again():
    def counts(x):
        found = Counter(odd=x, even=2)
        if x > 1:
            found["odd"] += 3
        return sum((found - Counter(odd=1)).values()), (found & Counter(odd=2))["odd"]

    def powers(w):
        total = 0.0
        for part in ag.Dataset.from_tensor_slices(jnp.array([1.0, -2.0, 3.0])).filter(lambda part: part > 0):
            total += (w * part).sum() ** 2
        return total

    slope = ag.function(jax.grad(ag.convert(lambda w: powers(w))))
    counted = jax.jit(ag.convert(counts))
    assert tuple(map(int, counted(3))) == (7, 2)  # in which more operators are asked than at first
    assert float(slope(3.0)) == 60.0
    assert float(ag.function(jax.grad(ag.convert(lambda w: powers(w))))(3.0)) == 60.0


def test_function_that_is_jitted_already():
    assert_equal(run(lambda x: jitted_with_a_branch(x) if x > 0 else x, XS[-1]), 31.0)


def test_custom_derivative_called_inside():
    @jax.custom_vjp
    def clipped(x):
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -1, 1),))

    def f(x):
        return clipped(x) * 5 if x > 0 else x

    assert_equal(run(jax.grad(ag.convert(f)), jnp.array(2.0)), 1.0)


def test_callback_runs_in_plain_python():
    seen = []

    def host(x):
        seen.append(float(x))
        if x > 0:
            return x
        return np.float32(0)

    def f(x):
        return jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), x)

    assert_equal(jax.jit(ag.convert(f))(XS[0]), 0.0)
    assert seen == [-2.0]


def test_an_unconverted_function_inside_is_named():
    @ag.do_not_convert
    def raw(x):
        if x > 0:
            return x
        return -x

    def f(x):
        return raw(x)

    with pytest.raises(ag.StagingError, match="raw was not converted"):
        jax.jit(ag.convert(f))(XS[0])


def test_equinox_module_inside():
    class Layer(eqx.Module):
        weight: jax.Array

        def __call__(self, x):
            y = self.weight * x
            if y < 0:
                y = y / 10
            return y

    layer = Layer(jnp.array(3.0))
    assert_equal(run(lambda model, xs: jax.vmap(model)(xs), layer, XS), each(layer))


def test_numbers_of_loops_stay_pythons_numbers_under_vmap():
    """Counters adapt to the type that they meet, as Python's ints do: no lane has a wider one."""

    def counters(x, n):
        steps = 0
        while steps < x:
            steps += 1
        total = 0
        for _ in range(n):
            total += 2
        before = 0
        for k in range(n):
            if k > x:
                break
            before += 1
        return tuple(jnp.int8(3) * count for count in (steps, total, before))

    wanted = ag.function(counters)(jnp.int32(1), jnp.int32(3))
    assert [int(v) for v in wanted] == [3, 18, 6]
    for axes in ((0, 0), (0, None), (None, 0)):
        given = [v if axis is None else v[None] for v, axis in zip((jnp.int32(1), jnp.int32(3)), axes, strict=True)]
        found = jax.jit(jax.vmap(ag.convert(counters), axes))(*given)
        assert [v.dtype for v in found] == [v.dtype for v in wanted] == [jnp.int8] * 3
        assert [int(v[0]) for v in found] == [3, 18, 6]
