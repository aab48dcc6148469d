"""Derivatives and their checkpoints."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import autograph as ag
from tests.scale.programs.arrays import ROWS
from tests.scale.world import World, program


def settle(x, w):
    rounds = 0
    while jnp.abs(x).sum() > 2:
        x = jnp.tanh(x * w) * 0.9
        rounds += 1
    return (x * x).sum() * rounds


@program
def gradient_of_a_while(world: World):
    x, w = world.array(ROWS, "data"), world.array(np.float32([0.9, 1.1, 0.8]))
    return jax.jit(jax.value_and_grad(ag.convert(settle), (0, 1)))(x, w)


@program
def gradient_with_checkpoints(world: World):
    @ag.convert
    def f(x, w):
        i = 0
        while i < 200:
            ag.set_loop_options(checkpoints=5)
            x = jnp.sin(x * w) + 0.1
            i += 1
            if x.sum() > 1e6:
                break
        return x.sum()

    x, w = world.array(ROWS, "data"), world.array(np.float32([0.9, 1.1, 0.8]))
    return jax.jit(jax.grad(f, (0, 1)))(x, w)


@program
def gradient_of_variables(world: World):
    w = ag.Variable(
        np.float32(np.linspace(-1, 1, 12).reshape(3, 4)), sharding=world.sharding(None, "model", mesh=world.grid)
    )
    b = ag.Variable(np.zeros(4, np.float32))

    @ag.function
    def train(x, y):
        losses = []
        for _ in ag.range(5):
            loss, grads = ag.value_and_grad(lambda: ((jnp.tanh(x @ w + b) - y) ** 2).mean())()
            for v, g in zip((w, b), grads):
                v.assign_sub(0.3 * g)
            losses.append(loss)
        return losses

    x = world.array(ROWS, "data", mesh=world.grid)
    return train(x, world.array(ROWS[:, :1] / 7, "data", mesh=world.grid)), w.value, b.value


@program
def tape(world: World):
    w = ag.Variable(np.ones(3, np.float32))

    @ag.function
    def f(x):
        with ag.GradientTape() as tape:
            y = x
            while (y * w).sum() < 1000:
                y = y * w * 1.5
            loss = y.sum()
        return tape.gradient(loss, w)

    return f(world.array(ROWS, "data"))


@program
def second_derivative_and_tangent(world: World):
    x, w = world.array(ROWS[:4], None), world.array(np.float32([0.9, 1.1, 0.8]))
    hessian = jax.jit(jax.hessian(ag.convert(settle), 1))(x, w)
    tangent = jax.jit(lambda x, w: jax.jvp(ag.convert(settle), (x, w), (x, w)))(x, w)
    return hessian, tangent


@program
def gradient_of_a_list_of_traced_length(world: World):
    @ag.convert
    def f(x):
        out = []
        for row in x:
            if row.sum() > 6:
                out.append(row * row)
        return jnp.stack(out).mean()

    return jax.jit(jax.grad(f))(world.array(ROWS, "data"))
