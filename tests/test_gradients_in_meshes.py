"""Derivatives of converted functions that `jax.shard_map` runs on the parts of arrays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, PartitionSpec

import autograph as ag

COUNT = jax.device_count()
XS = np.linspace(0.5, 4.0, 4 * COUNT)


def unbounded(x, w):
    while (x * x).sum() > 0.1:
        x = x * jnp.cos(w) * 0.8
    return x * w


def with_break(x, w):
    for i in ag.range(50):
        x = x * w + 0.01 * i
        if x.sum() > 20:
            break
    return x


def branch(x, w):
    if x.sum() > 6:
        y = x * w
    else:
        y = jnp.sin(x) - w
    return y


@pytest.mark.parametrize("program", [unbounded, with_break, branch], ids=lambda program: program.__name__)
@pytest.mark.parametrize("check_vma", [True, False], ids=["checked", "unchecked"])
@pytest.mark.parametrize("mode", ["value", "gradient", "tangent", "hessian"])
def test_as_on_the_parts_one_by_one(program, mode, check_vma):
    mesh = jax.make_mesh((COUNT,), ("parts",), axis_types=(AxisType.Auto,))
    parts = PartitionSpec("parts")
    meshed = jax.shard_map(
        ag.convert(program), mesh=mesh, in_specs=(parts, PartitionSpec()), out_specs=parts, check_vma=check_vma
    )

    def plain(x, w):
        return jnp.concatenate([program(part, w) for part in jnp.split(x, COUNT)])

    transform = {
        "value": lambda f: f,
        "gradient": lambda f: jax.grad(lambda x, w: (f(x, w) ** 2).sum(), (0, 1)),
        "tangent": lambda f: lambda x, w: jax.jvp(f, (x, w), (x, w)),
        "hessian": lambda f: jax.jacfwd(jax.grad(lambda x, w: (f(x, w) ** 2).sum(), 1), 1),
    }[mode]
    with jax.enable_x64(True):
        arguments = jnp.asarray(XS), jnp.float64(1.1)
        found = jax.jit(transform(meshed))(*arguments)
        if mode == "hessian":
            gradient = jax.grad(lambda x, w: (plain(x, w) ** 2).sum(), 1)
            x, w = arguments
            wanted = (gradient(x, w + 1e-5) - gradient(x, w - 1e-5)) / 2e-5
        else:
            wanted = transform(plain)(*arguments)
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
