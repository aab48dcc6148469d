"""Arguments, Variables, TensorArrays, lists of traced length, results."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

import autograph as ag
from tests.scale.world import World, program

ROWS = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


@ag.function
def newton(x):
    """Square roots, all to the same precision."""
    guess = jnp.ones_like(x)
    rounds = 0
    while jnp.abs(guess * guess - x).max() > 1e-3:
        guess = (guess + x / guess) / 2
        rounds += 1
    return guess, rounds


@program
def committed_sharded_argument(world: World):
    return newton(world.array(ROWS + 1, "data"))


@program
def in_shardings(world: World):
    f = ag.function(
        newton.python_function, in_shardings=world.sharding("data"), out_shardings=(world.sharding("data"), None)
    )
    return f(ROWS + 1), f(ROWS + 2)


@program
def two_axes(world: World):
    x = world.array(ROWS[:, :2] + 1, "data", "model", mesh=world.grid)
    return newton(x)


@program
def variable_with_a_sharding(world: World):
    v = ag.Variable(ROWS, sharding=world.sharding("data"), name="rows")
    total = ag.Variable(0.0)

    @ag.function
    def step(x):
        while v.value.sum() < 500:
            v.assign_add(x)
            total.assign_add(v[3].value.sum())
        return v.value.max()

    a = step(world.array(ROWS * 0 + 1, "data"))
    b = step(world.array(ROWS * 0 + 2, "data"))
    return a, b, v.value, total.value


@program
def variable_where_it_is_made_and_a_sharded_argument(world: World):
    """A Variable without a sharding goes along."""
    w = ag.Variable(np.ones(3, np.float32))
    n = ag.Variable(0)

    @ag.function
    def step(x):
        n.assign_add(1)
        if x.mean() > 1:
            w.assign(w * 2 + x.sum(0))
        else:
            w.assign(w - 1)
        return (x * w).sum()

    x = world.array(ROWS, "data")
    return [step(x), step(x - 4), step(x)], w.value, n.value, n.numpy(), w.numpy()


@program
def donated_variables(world: World):
    v = ag.Variable(ROWS, sharding=world.sharding("data"))
    m = ag.Variable(np.zeros(3, np.float32))

    @ag.function(donate_variables=True)
    def step(x):
        for _ in ag.range(3):
            v.assign_add(x * 0.5)
            m.assign(m + v.value.mean(0))
        return m.value.sum()

    x = world.array(ROWS, "data")
    kept = v.value
    results = [step(x) for _ in range(4)]
    return results, v.value, m.value, kept


@program
def tensor_array(world: World):
    @ag.function
    def running(x):
        ta = ag.TensorArray(jnp.float32, size=0, dynamic_size=True)
        total = jnp.zeros(3)
        for i in ag.range(len(x)):
            total = total + x[i]
            ta = ta.write(i, total)
        return ta.stack()

    return running(world.array(ROWS, "data"))


@program
def list_of_traced_length(world: World):
    @ag.function
    def kept(x):
        out = []
        for i in ag.range(len(x)):
            if x[i].sum() > 6:
                out.append(x[i] * 2)
        return out, len(out)

    return kept(world.array(ROWS, "data"))


@program
def stacked_list_of_traced_length(world: World):
    @ag.function
    def kept(x):
        out = []
        for row in x:
            if row.sum() > 6:
                out.append(row * 2)
        return jnp.stack(out), jnp.stack(out).mean(), jnp.stack(out)[-1]

    return kept(world.array(ROWS, "data"))


@program
def list_of_scalars_from_a_sharded_test(world: World):
    @ag.function
    def halvings(x):
        seen = []
        for _ in range(100):
            if x.max() < 1:
                break
            seen.append(x.max())
            x = x / 2
        return seen, x

    return halvings(world.array(ROWS, "data"))
