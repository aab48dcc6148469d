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

    f = jax.jit(
        jax.shard_map(ag.convert(by_rows), mesh=world.mesh, in_specs=P("data"), out_specs=P("data"), check_vma=False)
    )
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


@refused("Give shard_map check_vma=False")
def psum_checked(world: World):
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
        return jax.shard_map(local, mesh=world.mesh, in_specs=P("data"), out_specs=P("data"), check_vma=False)(x)

    return f(world.array(ROWS, "data"))


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

    f = jax.jit(jax.shard_map(ag.convert(local), mesh=world.mesh, in_specs=P("data"), out_specs=P(), check_vma=False))
    return f(world.array(ROWS, "data"))
