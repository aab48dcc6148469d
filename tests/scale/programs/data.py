"""Datasets: in one program over all devices, and each process with its own rows."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import autograph as ag
from tests.scale.programs.arrays import ROWS
from tests.scale.world import World, program

LABELS = np.arange(16, dtype=np.int32) % 3


@program
def dataset_of_sharded_arrays(world: World):
    data = ag.Dataset.from_tensor_slices((world.array(ROWS, "data"), world.array(LABELS, "data")))
    seen = ag.Variable(0)

    @ag.function
    def total(data):
        s = jnp.zeros(3)
        for x, y in data:
            s = s * 0.9 + jnp.where(y[:, None] == 1, x, -x).sum(0)
            seen.assign_add(1)
        return s

    return total(data.batch(4)), total(data.shuffle(seed=1).batch(5)), seen.value


@program
def batches_cut_over_the_devices(world: World):
    """Each process has read its rows of each batch."""
    batches = world.of_processes(ROWS[:16].reshape(2, 8, 3), None, "data")

    @ag.function
    def train(batches, w):
        for x in ag.Dataset.from_tensor_slices(batches).repeat(3):
            loss, g = jax.value_and_grad(lambda w: ((x @ w - 1) ** 2).mean())(w)
            if loss < 1e-3:
                break
            w = w - 0.01 * g
        return w, loss

    return train(batches, jnp.zeros(3))


@program
def python_loop_over_each_processs_rows(world: World):
    """The loop is Python's; each batch becomes one array over all devices."""
    own = ROWS.reshape(2, 8, 3)
    own = own[:, world.process * 8 // world.processes : (world.process + 1) * 8 // world.processes].reshape(-1, 3)
    local = ag.Dataset.from_tensor_slices(own).batch(8 // world.processes)
    w = ag.Variable(np.zeros(3, np.float32))

    @ag.function
    def step(x):
        loss, g = ag.value_and_grad(lambda: ((x @ w - 1) ** 2).mean(), [w])()
        w.assign_sub(0.01 * g[0])
        return loss

    losses = [step(jax.make_array_from_process_local_data(world.sharding("data"), np.asarray(x))) for x in local]
    return losses, w.value


@program
def uneven_last_batch(world: World):
    data = ag.Dataset.from_tensor_slices(world.array(ROWS, "data")).batch(6)

    @ag.function
    def means(data):
        out = []
        for x in data:
            out.append(x.mean())
        return out

    return means(data)


@program
def dataset_of_host_arrays_beside_a_sharded_one(world: World):
    data = ag.Dataset.from_tensor_slices(np.float32([1, 2, 3, 4])).shuffle(seed=5)

    @ag.function
    def f(x):
        for factor in data:
            x = x * factor - 1
        return x

    x = world.array(ROWS, "data")
    return f(x), f(x)


@program
def generator_in_a_program(world: World):
    def numbers():
        for k in range(5):
            yield np.float32(k)

    data = ag.Dataset.from_generator(numbers, np.float32)

    @ag.function
    def f(x):
        for k in data:
            x = x * 0.5 + k
        return x

    return f(world.array(ROWS, "data"))


@program
def iterator_over_calls(world: World):
    batches = iter(ag.Dataset.from_tensor_slices(world.array(ROWS, "data")).repeat().batch(4))

    @ag.function
    def f(w):
        return w + next(batches).sum(0)

    w = jnp.zeros(3)
    for _ in range(5):
        w = f(w)
    return w
