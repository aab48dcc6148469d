"""`jax.shard_map`: inside converted code, and with converted code inside."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P

import autograph as ag
from tests.scale.programs.arrays import ROWS
from tests.scale.world import World, program, refused


@program
def converted_code_in_shard_map(world: World):
    def local(x):
        rounds = 0
        while jnp.abs(x).max() > 0.1:
            x = x / 2
            rounds += 1
        return x, jnp.full((1,), rounds)

    # The pieces are of one row, so that results do not depend on how many devices there are.
    def by_rows(x):
        return jax.vmap(lambda row: local(row[None]))(x)

    f = jax.jit(jax.shard_map(ag.convert(by_rows), mesh=world.mesh, in_specs=P("data"), out_specs=P("data")))
    return f(world.array(ROWS, "data"))


@program
def shard_map_in_converted_code(world: World):
    @ag.function
    def f(x):
        def summed(part):
            return jax.lax.psum(part.sum(), "data")

        rounds = 0
        while jax.shard_map(summed, mesh=world.mesh, in_specs=P("data"), out_specs=P(), check_vma=False)(x) > 10:
            x = x / 2
            rounds += 1
        return x, rounds

    return f(world.array(ROWS, "data"))


@program
def psum_in_a_staged_loop_in_shard_map(world: World):
    def local(x, w):
        loss = jnp.inf
        steps = 0
        while loss > 0.5 and steps < 50:
            g = jax.lax.pmean((x * ((x @ w) - 1)[:, None]).mean(0), "data")
            w = w - 0.05 * g
            loss = jax.lax.pmean(((x @ w - 1) ** 2).mean(), "data")
            steps += 1
        return w, loss, steps

    f = ag.function(
        jax.shard_map(ag.convert(local), mesh=world.mesh, in_specs=(P("data"), P()), out_specs=P(), check_vma=False)
    )
    return f(world.array(ROWS, "data"), jnp.zeros(3))


@program
def carries_that_are_the_same_on_each_device(world: World):
    def local(x, w):
        loss = jnp.inf
        for step in ag.range(50):
            g = jax.lax.pmean((x * ((x @ w) - 1)[:, None]).mean(0), "data")
            w = w - 0.05 * g
            loss = jax.lax.pmean(((x @ w - 1) ** 2).mean(), "data")
            if loss < 0.5:
                break
        return w, loss, step

    f = ag.function(jax.shard_map(ag.convert(local), mesh=world.mesh, in_specs=(P("data"), P()), out_specs=P()))
    return f(world.array(ROWS, "data"), jnp.zeros(3))


@program
def branches_in_shard_map_in_converted_code(world: World):
    @ag.function
    def f(x):
        def local(part):
            out = []
            for row in part:
                if row.sum() > 6:
                    row = row * 2
                out.append(row)
            return jnp.stack(out)

        if ag.functions_run_eagerly():
            return local(x)
        return jax.shard_map(local, mesh=world.mesh, in_specs=P("data"), out_specs=P("data"))(x)

    return f(world.array(ROWS, "data"))


@program
def gradient_in_shard_map(world: World):
    """The cotangents of weights that are the same on each device are summed over the devices, the loop's included."""

    def loss(w, x):
        total = jnp.zeros(())
        for row in x:
            y = jnp.tanh(row @ w)
            while jnp.abs(y).sum() > 0.5:
                y = jnp.sin(y) * 0.8
            if y.sum() > 0:
                total = total + (y**2).sum()
        whole = jnp.ones(())
        for _ in ag.range(3):
            whole = whole * 0.5 + jax.lax.psum(total, "data")
        return whole

    def step(w, x):
        for _ in ag.range(4):
            value, slope = jax.value_and_grad(loss)(w, x)
            norm = jnp.linalg.norm(slope)
            if norm > 0.1:
                slope = slope / norm * 0.1
            w = w - slope
        return w, value

    mapped = jax.shard_map(ag.convert(step), mesh=world.mesh, in_specs=(P(), P("data")), out_specs=P())
    weights = jnp.linspace(-0.5, 0.7, 9).reshape(3, 3)
    return jax.jit(mapped)(weights, world.array(ROWS, "data"))


@program
def gradient_of_shard_map(world: World):
    def local(w, x):
        norm = jnp.zeros(())
        for row in x:
            y = row @ w
            while y.sum() > 0.1:
                y = y * 0.5
            norm = norm + (y**2).sum()
        if jax.lax.axis_index("data") >= 0:
            norm = norm * 2
        return jax.lax.psum(norm, "data")

    mapped = jax.shard_map(ag.convert(local), mesh=world.mesh, in_specs=(P(), P("data")), out_specs=P())
    weights = jnp.linspace(-0.5, 0.7, 9).reshape(3, 3)
    return jax.jit(jax.value_and_grad(mapped, (0, 1)))(weights, world.array(ROWS, "data"))


@program
def compiled_function_in_shard_map(world: World):
    @ag.function
    def local(x):
        if x.sum() > 3:
            x = x * 2
        return x

    if ag.functions_run_eagerly():
        return jnp.stack([local(row) for row in jnp.asarray(ROWS)])
    mapped = jax.shard_map(jax.vmap(local), mesh=world.mesh, in_specs=P("data"), out_specs=P("data"), check_vma=False)
    return mapped(world.array(ROWS, "data"))


@refused("inside a JAX 'shard_map', which cannot carry exceptions")
def raise_on_one_shard(world: World):
    @ag.function
    def f(x):
        def local(part):
            if part.max() > 6:
                raise ValueError("a shard is too large")
            return part * 2

        return jax.shard_map(local, mesh=world.mesh, in_specs=P("data"), out_specs=P("data"), check_vma=False)(x)

    return f(world.array(ROWS, "data"))


@program
def variable_read_in_shard_map(world: World):
    w = ag.Variable(np.float32([1, 2, 3]))

    @ag.function
    def f(x):
        weights = w.value
        return jax.shard_map(lambda part: part @ weights, mesh=world.mesh, in_specs=P("data"), out_specs=P("data"))(x)

    x = world.array(ROWS, "data")
    first = f(x)
    w.assign(w.value * 2)
    return first, f(x)


@refused("is read inside jax.shard_map")
def variable_written_in_shard_map(world: World):
    w = ag.Variable(np.float32([1, 2, 3]))

    @ag.function
    def f(x):
        def local(part):
            w.assign_add(jax.lax.psum(part.sum(0), "data"))
            return part * 2

        return jax.shard_map(local, mesh=world.mesh, in_specs=P("data"), out_specs=P("data"), check_vma=False)(x)

    return f(world.array(ROWS, "data"))


@program
def print_in_shard_map(world: World):
    @ag.function
    def f(x):
        def local(part):
            if part.shape[0] > 0:
                ag.print("part", jax.lax.psum((part > 3).sum(), "data"))
            return part * 2

        return jax.shard_map(local, mesh=world.mesh, in_specs=P("data"), out_specs=P("data"), check_vma=False)(x)

    return f(world.array(ROWS, "data"))


@program
def random_numbers_in_shard_map(world: World):
    g = ag.random.Generator.from_seed(3)

    @ag.function
    def f(x):
        key = g.key()
        return jax.shard_map(
            lambda part, key: part + jax.random.uniform(key, (3,)),
            mesh=world.mesh,
            in_specs=(P("data"), P()),
            out_specs=P("data"),
        )(x, key)

    return f(world.array(ROWS, "data")), f(world.array(ROWS, "data"))


@program
def list_in_shard_map(world: World):
    def local(x):
        out = []
        for row in x:
            if row.sum() > 6:
                out.append(row.sum())
        total = 0.0
        for v in out:
            total += v
        return jax.lax.psum(total, "data")

    f = jax.jit(jax.shard_map(ag.convert(local), mesh=world.mesh, in_specs=P("data"), out_specs=P()))
    return f(world.array(ROWS, "data"))
