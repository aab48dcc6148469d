"""`Function.trace` and ``eval_shape``, and what takes a `Function` for one of `jax.jit`'s: `jax.export`, `jax.eval_shape`."""

from __future__ import annotations

import dataclasses

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

Spec = jax.ShapeDtypeStruct
X = Spec((4,), jnp.float32)


def clipped(x, limit=3.0):
    """Plain Python, which each test compares with."""
    total = x.sum()
    while total > limit:
        x = x / 2
        total = x.sum()
    return x, total


def there_and_back(exported):
    return jax.export.deserialize(exported.serialize())


def test_an_exported_function_computes_what_python_does():
    exported = there_and_back(jax.export.export(ag.function(clipped))(X))
    assert exported.fun_name == "clipped"
    for x in (jnp.ones(4), 8 * jnp.ones(4)):
        assert jax.tree.all(jax.tree.map(np.array_equal, exported.call(x), clipped(x)))


def test_python_values_are_part_of_the_program():
    exported = jax.export.export(ag.function(clipped))(X, limit=10.0)
    x = 4 * jnp.ones(4)
    assert jax.tree.all(jax.tree.map(np.array_equal, exported.call(x), clipped(x, 10.0)))

    @ag.function(static_argnums=1)
    def power(x, n, offset):
        for _ in range(n):
            x = x * x
        return x + offset

    assert jax.export.export(power)(X, np.int32(2), X).call(2 * jnp.ones(4), jnp.ones(4)).tolist() == [17] * 4


def test_arguments_keep_their_structure():
    @dataclasses.dataclass
    class Point:
        x: jax.Array
        y: jax.Array

    @ag.function
    def f(parts, *, scale, mode="up"):
        a, (b, n) = parts["a"], parts["rest"]
        if a.sum() > 0 and mode == "up":
            return {"point": a * scale.x + n, "other": [b * scale.y]}
        return {"point": a, "other": [b]}

    one = jnp.float32(1)
    arguments = {"a": X, "rest": (X, 5)}
    exported = jax.export.export(f)(arguments, scale=Point(one, one), mode="up")
    found = exported.call({"a": jnp.ones(4), "rest": (2 * jnp.ones(4), None)}, scale=(one, one))
    assert jax.tree.map(lambda a: a.tolist(), found) == {"point": [6] * 4, "other": [[2] * 4]}


def test_symbolic_sizes():
    for spec in (ag.TensorSpec([None]), Spec(jax.export.symbolic_shape("n"), jnp.float32)):
        exported = there_and_back(jax.export.export(ag.function(clipped))(spec))
        for size in (2, 5):
            x = 4 * jnp.ones(size)
            assert jax.tree.all(jax.tree.map(np.array_equal, exported.call(x), clipped(x)))


def test_under_an_input_signature_nothing_need_be_said():
    f = ag.function(clipped, [ag.TensorSpec([None], name="x")])
    for exported in (jax.export.export(f)(), jax.export.export(f)(ag.TensorSpec(["m"])), jax.export.export(f)(x=X)):
        assert exported.call(4 * jnp.ones(4))[0].tolist() == [0.5] * 4
    assert [type.shape for type in f.eval_shape([1.0, 2.0])] == [(2,), ()]
    with pytest.raises(TypeError, match="argument `x` does not fit"):
        f.trace(Spec((4,), jnp.int32))


def test_variables_are_constants_of_their_present_values():
    rate = ag.Variable(0.5, name="rate")

    @ag.function
    def f(x):
        if x > 0:
            return x * rate
        return x

    exported = jax.export.export(f)(Spec((), jnp.float32))
    rate.assign(7.0)
    assert float(exported.call(jnp.float32(2))) == 1 and float(f(jnp.float32(2))) == 14


def test_a_function_that_writes_variables_is_not_exported():
    total = ag.Variable(0.0, name="total")

    @ag.function
    def add(x):
        total.assign_add(x)
        return total.value

    with pytest.raises(ag.StagingError, match=r"add writes 'total'.*\n.*autograph\.save"):
        jax.export.export(add)(Spec((), jnp.float32))
    assert add.eval_shape(Spec((), jnp.float32)) == Spec((), jnp.float32)
    assert float(total.value) == 0


def test_methods():
    class Scale(ag.Module):
        def __init__(self, k):
            self.k = ag.Variable(k)

        @ag.function
        def by(self, x):
            return x * self.k if x > 0 else x

    scale = Scale(3.0)
    assert float(jax.export.export(scale.by)(Spec((), jnp.float32)).call(jnp.float32(2))) == 6
    assert scale.by.eval_shape(Spec((), jnp.float32)).dtype == jnp.float32


def test_what_stages_of_jit_tell():
    f = ag.function(clipped)
    traced = f.trace(X)
    assert [type.shape for type in traced.out_info] == [(4,), ()]
    assert "while" in str(traced.jaxpr)
    compiled = traced.lower().compile()
    assert compiled(8 * jnp.ones(4))[0].tolist() == f(8 * jnp.ones(4))[0].tolist()
    assert f.experimental_get_tracing_count() == 1


def test_derivatives_of_what_is_exported():
    @ag.function
    def f(x):
        for _ in range(3):
            if x > 1:
                x = x * x
        return x

    exported = jax.export.deserialize(jax.export.export(f)(Spec((), jnp.float32)).serialize(vjp_order=1))
    assert float(jax.grad(exported.call)(jnp.float32(2))) == float(jax.grad(f)(jnp.float32(2))) == 8 * 2.0**7


def test_eval_shape_of_jax():
    f = ag.function(clipped)
    assert jax.eval_shape(f, X) == f.eval_shape(X) == jax.eval_shape(jax.jit(lambda x: (x, x.sum())), X)
    assert jax.eval_shape(ag.convert(clipped), X) == f.eval_shape(X)


def test_uncompiled_functions():
    f = ag.function(clipped, jit_compile=False)
    assert jax.export.export(f)(X).call(4 * jnp.ones(4))[0].tolist() == [0.5] * 4


def test_shardings_of_arguments():
    mesh = jax.make_mesh((1,), ("x",))
    place = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    f = ag.function(clipped, in_shardings=(place, None))
    assert f.eval_shape(X)[0].shape == (4,)
    assert jax.export.export(f)(X).call(4 * jnp.ones(4))[0].tolist() == [0.5] * 4


def test_what_is_compiled_is_called_as_it_was_lowered():
    @ag.function
    def f(weights, x, n, *, scale):
        for _ in range(n):
            if x.sum() > 0:
                x = x * weights["w"] + scale
        return {"y": x, "kind": "done"}

    weights, x, scale = {"w": jnp.full(2, 2.0)}, jnp.ones(2), jnp.float32(1)
    compiled = f.lower(weights, x, 3, scale=scale).compile()
    wanted = f(weights, 3 * x, 3, scale=scale)
    found = compiled(weights, 3 * x, scale=scale)
    assert found["y"].tolist() == wanted["y"].tolist() and found["kind"] == "done"
    assert compiled.cost_analysis()["flops"] > 0
    for args, kwargs in [((weights, x), {}), ((weights, x, scale), {}), ((weights, x, 3), {"scale": scale})]:
        with pytest.raises(TypeError, match=r"f was lowered for 2 arguments by position and `scale` by name"):
            compiled(*args, **kwargs)
    with pytest.raises(TypeError):
        compiled(weights, jnp.ones(3), scale=scale)


def test_what_is_compiled_under_an_input_signature():
    f = ag.function(lambda pair, x: pair[0] * x + pair[1], [(ag.TensorSpec([]), ag.TensorSpec([])), ag.TensorSpec([2])])
    compiled = f.lower().compile()
    one = jnp.float32(1)
    assert compiled((one, one), jnp.ones(2)).tolist() == [2, 2]


def test_what_is_compiled_of_a_method_with_variables():
    class Scale(ag.Module):
        def __init__(self):
            self.k = ag.Variable(3.0)

        @ag.function
        def by(self, batch, *, step):
            self.k.assign_add(step)
            return batch["x"] * self.k

    scale, batch = Scale(), {"x": jnp.ones(2)}
    compiled = scale.by.lower(batch, step=jnp.float32(1)).compile()
    result, (k,) = compiled(scale.k.value, batch, step=jnp.float32(2))
    assert result.tolist() == [5, 5] and float(k) == 5 and float(scale.k.value) == 3
