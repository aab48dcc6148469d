"""On a mesh with axes of the type Explicit, how an array lies is a part of its type."""

from __future__ import annotations

import jax
import jax.numpy as jnp

import autograph as ag
from tests.scale.programs.arrays import ROWS
from tests.scale.world import World, program


@program
def explicit_axes(world: World):
    mesh = jax.make_mesh((len(world.mesh.devices),), ("data",), axis_types=(jax.sharding.AxisType.Explicit,))
    x = world.array(ROWS, "data", mesh=mesh)
    v = ag.Variable(ROWS, sharding=world.sharding("data", mesh=mesh))

    @ag.function
    def f(x):
        rounds = 0
        while x.max() > 1:
            x = x / 2
            rounds += 1
        if x.sum() > 3:
            x = x * 2
        v.assign_add(x)
        return x, rounds

    with jax.set_mesh(mesh):
        return f(x), v.value


@program
def branches_and_loops_on_explicit_axes(world: World):
    """How an array lies is part of its type there: of what is carried, of what branches return, of what is put together."""
    mesh, x = on_explicit_axes(world)

    @ag.function
    def f(x, limit):
        found, rounds = None, 0
        while x.sum() < limit:
            if rounds > 2:
                x = x + 1
            elif x.max() > 3:
                x = jnp.sqrt(x)
            x = x * 1.2
            rounds += 1
        for k in range(4):
            if x.max() > 100:
                break
            x = x * 1.1 + k
        if x.sum() > 3:
            found = x * 2
        if found is None:
            return x, rounds
        return found, rounds

    with jax.set_mesh(mesh):
        return f(x, 300.0)


@program
def lists_of_traced_length_on_explicit_axes(world: World):
    """A list's elements lie as its first one does, and so does what is read of it."""
    mesh, x = on_explicit_axes(world)

    @ag.function
    def grown(x, count):
        out = [x]
        while count > 0:
            if x.max() * count > 5:
                out.append((out[-1] + x) * count)
            count = count - 1
        out.pop()
        out.insert(0, x + 1)
        return out

    @ag.function
    def stacked(x, count):
        out = []
        for k in range(6):
            if k < count:
                out.append(x + k)
        return jnp.stack(out).sum(0), len(out)

    @ag.function
    def slope(x, count):
        def loss(x):
            out, rounds = [], count
            while rounds > 0:
                out.append(x * rounds)
                rounds = rounds - 1
            total = 0.0
            for each in out:
                total = total + (each**2).sum()
            return total

        return jax.grad(loss)(x)

    with jax.set_mesh(mesh):
        count = jnp.asarray(4)
        return list(grown(x, count)), stacked(x, count), slope(x, count)


@program
def loops_over_rows_and_written_rows_on_explicit_axes(world: World):
    """A loop over an axis that is cut takes it whole; what begins whole in a loop is cut as what comes to it is."""
    mesh, x = on_explicit_axes(world)
    columns = world.array(ROWS.T + 0.1, None, "data", mesh=mesh)

    @ag.function
    def rows(x, limit):
        total, place = 0.0, -1
        for row in x:
            if row.max() < limit:
                total += row.sum()
        for k, (row, mirrored) in enumerate(zip(x, reversed(x))):
            if row[0] > mirrored[0]:
                place = k
                break
        return total, place

    @ag.function
    def columns_of(m):
        total = jnp.zeros(m.shape[1])
        given = ag.TensorArray(jnp.float32, m.shape[0], element_shape=(m.shape[1],))
        grown = ag.TensorArray(jnp.float32, 0, dynamic_size=True)
        for k, row in enumerate(m):
            total = total + row
            given = given.write(k, row * 2)
            if row.sum() > 3:
                grown = grown.write(grown.size(), total)
        at_once = ag.TensorArray(jnp.float32, 6, element_shape=(m.shape[1],)).scatter([5, 1, 0], m)
        return total, given.stack(), grown.stack(), at_once.stack()

    def loss(m):
        total = jnp.zeros(m.shape[1])
        for row in m:
            if row.max() > 1:
                total = total + row**2
        return total.sum()

    with jax.set_mesh(mesh):
        if ag.functions_run_eagerly():  # JAX itself goes over no axis that is cut
            x = jax.reshard(x, jax.sharding.PartitionSpec())
        slope = jax.jit(jax.grad(ag.convert(loss)))(columns)
        return rows(x, 4.0), columns_of(columns), slope


@program
def derivatives_on_explicit_axes(world: World):
    mesh, x = on_explicit_axes(world)

    @ag.convert
    def f(x, w):
        rounds = 0
        while x.sum() < 300:
            if rounds > 2:
                x = x * rounds
            elif w > 1:
                x = jnp.sqrt(x) * jnp.exp(jnp.sin(x) * w) + jnp.tanh(x) * 9
            x = x * 1.2
            rounds += 1
        return (x if w > 1 else jnp.sqrt(x)).sum()

    def slope(x, w):
        return jax.grad(f, (0, 1))(x, w)

    with jax.set_mesh(mesh):
        w = jnp.float32(1.5)
        second = jax.jit(jax.grad(lambda x: (slope(x, w)[0] ** 2).sum()))(x)
        _, tangent = jax.jit(lambda x: jax.jvp(lambda x: f(x, w), (x,), (x,)))(x)
        return jax.jit(slope)(x, w), second, tangent


def on_explicit_axes(world: World):
    mesh = jax.make_mesh((len(world.mesh.devices),), ("data",), axis_types=(jax.sharding.AxisType.Explicit,))
    return mesh, world.array(ROWS / 7 + 0.5, "data", mesh=mesh)
