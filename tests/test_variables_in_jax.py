"""JAX's functions take Variables for their values: in Python, in functions, under transforms; never an old value."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

USES = {
    "sum": lambda v: jnp.sum(v),
    "sin": lambda v: jnp.sin(v),
    "dot": lambda v: jnp.dot(v, v),
    "where": lambda v: jnp.where(v > 1, v, 0.0),
    "stack": lambda v: jnp.stack([v, v]),
    "relu": lambda v: jax.nn.relu(v),
    "softmax": lambda v: jax.nn.softmax(v),
    "lax.add": lambda v: jax.lax.add(v, v),
    "norm": lambda v: jnp.linalg.norm(v),
    "cumsum": lambda v: jnp.cumsum(v, axis=0),
    "einsum": lambda v: jnp.einsum("i,i->", v, v),
    "builtin max": lambda v: max(v),
    "builtin sum": lambda v: sum(v),
    "part": lambda v: jnp.sum(v[1:]),
    "user's jit": lambda v: jax.jit(lambda a: a * 2)(v),
    "grad": lambda v: jax.grad(lambda x: jnp.dot(x, v))(jnp.ones(3)),
    "vmap": lambda v: jax.vmap(lambda x: jnp.dot(x, v))(jnp.ones((2, 3))),
    "scan": lambda v: jax.lax.scan(lambda c, x: (c + jnp.sum(v) * x, c), 0.0, jnp.arange(3.0))[1],
    "numpy": lambda v: np.sum(v),
}
WAYS = {
    "plainly": lambda f: f,
    "converted": ag.convert,
    "function": ag.function,
    "not converted": lambda f: ag.function(f, autograph=False),
    "uncompiled": lambda f: ag.function(f, jit_compile=False),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("use", USES)
def test_each_call_sees_the_present_value(use, way):
    if way == "not converted" and use in ("builtin max", "numpy"):
        pytest.skip("the builtins and NumPy take traced values in converted code only")
    if way in ("plainly", "converted") and use == "scan":
        pytest.skip("what JAX compiles by itself has no place for Variables")
    v, f = ag.Variable([1.0, 2.0, 3.0]), USES[use]
    run = WAYS[way](lambda: f(v))
    for value in ([1.0, 2.0, 3.0], [0.5, -1.0, 4.0]):
        v.assign(value)
        assert np.allclose(run(), f(jnp.array(value)), rtol=1e-6)


def test_in_branches_and_loops_with_writes():
    def run(v, n):
        for i in range(n):
            if jnp.sum(v) > 4:
                v.assign(jnp.sin(v))
            else:
                v.assign_add(jnp.cumsum(v) + i)
        return jnp.sum(v)

    plain, staged = ag.Variable([1.0, 0.5]), ag.Variable([1.0, 0.5])
    expected = run(plain, 6)
    f = ag.function(lambda n: run(staged, n))
    assert np.allclose(f(jnp.array(6)), expected) and np.allclose(staged.numpy(), plain.numpy())


def test_gradients_through_it():
    w = ag.Variable([1.0, 2.0])
    loss = lambda: jnp.sum(jnp.square(w))
    for run in (ag.value_and_grad(loss), ag.function(ag.value_and_grad(loss))):
        value, (slope,) = run()
        assert float(value) == 5 and slope.tolist() == [2, 4]
    with ag.GradientTape() as tape:
        y = jnp.sum(jnp.square(w))
    assert tape.gradient(y, w).tolist() == [2, 4]


def test_they_stay_themselves_in_containers():
    variables = {"w": ag.Variable(1.0), "b": ag.Variable(2.0)}
    assert jax.tree.leaves(variables) == [variables["b"], variables["w"]]
    jax.tree.map(lambda v, g: v.assign_sub(g), variables, {"w": jnp.array(0.5), "b": jnp.array(1.0)})
    assert float(variables["w"]) == 0.5 and float(variables["b"]) == 1.0


def test_a_bare_jit_is_refused_by_name():
    v = ag.Variable([1.0, 2.0], name="weights")
    with pytest.raises(ag.StagingError, match="'weights' is read inside a JAX trace.*\n.*autograph.function"):
        jax.jit(ag.convert(lambda: jnp.sum(v)))()
    with pytest.raises(TypeError) as caught:  # JAX's, with ours as its cause
        jax.jit(lambda: jnp.sum(v))()
    assert "weights" in str(caught.value.__cause__)
    assert float(jax.jit(jnp.sum)(v)) == 3  # an argument is read at the call
    v.assign([3.0, 4.0])
    assert float(jax.jit(jnp.sum)(v)) == 7


def test_a_write_in_vmap_is_refused_by_name():
    v = ag.Variable([1.0, 2.0], name="weights")
    with pytest.raises(ag.StagingError, match="'weights' is written inside jax.vmap"):
        ag.function(lambda: jax.vmap(lambda x: v.assign(jnp.sin(v) * x).value)(jnp.ones(2)))()
    assert v.numpy().tolist() == [1, 2]
