"""What people try first."""

from __future__ import annotations

import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils

import autograph as ag
from tests.scale.programs.arrays import ROWS
from tests.scale.world import World, program


@program
def closure_over_a_sharded_array(world: World):
    x = world.array(ROWS, "data")

    @ag.function
    def f(scale):
        total = (x * scale).sum()
        while total > 10:
            total = total / 2
        return total, x * scale

    return f(jnp.float32(2)), f(jnp.float32(3))


@program
def tensor_parallel_matmul_in_a_while(world: World):
    w = world.array(np.float32(np.eye(8) * 1.3 + 0.01), None, "model", mesh=world.grid)

    @ag.function
    def power(w, v):
        norm = 1.0
        previous = 0.0
        while abs(norm - previous) > 1e-5:
            previous = norm
            v = jax.lax.with_sharding_constraint(w @ v, world.sharding("model", mesh=world.grid))
            norm = jnp.sqrt((v * v).sum())
            v = v / norm
        return norm, v

    return power(w, world.array(np.float32(np.arange(8)), mesh=world.grid))


@program
def newton_under_vmap(world: World):
    def root(x):
        g = 1.0
        for _ in range(50):
            g = (g + x / g) / 2
            if abs(g * g - x) < 1e-4:
                break
        return g

    return jax.jit(jax.vmap(ag.convert(root)))(world.array(ROWS[:, 0] + 1, "data"))


@program
def jit_inside(world: World):
    @jax.jit
    def body(x):
        return x * 0.5 + 0.1

    @ag.function
    def f(x):
        while x.max() > 0.5:
            x = body(x)
        return x

    return f(world.array(ROWS, "data"))


@program
def sharding_changed_between_calls(world: World):
    """Which is another program for XLA, and no other trace."""
    traces = []

    @ag.function
    def f(x):
        traces.append(1)
        while x.sum() > 1:
            x = x / 2
        return x

    results = f(world.array(ROWS, "data")), f(world.array(ROWS)), f(world.array(ROWS, "data"))
    return results, len(traces) if not ag.functions_run_eagerly() else 1


@program
def variable_resharded(world: World):
    v = ag.Variable(ROWS, sharding=world.sharding("data"))

    @ag.function
    def f():
        v.assign(v * 2)
        return v.value.sum()

    first = f()
    v.assign(jax.device_put(v.value, world.sharding()))
    return first, f(), v.value


@program
def function_called_by_a_function(world: World):
    n = ag.Variable(0)

    @ag.function
    def inner(x):
        n.assign_add(1)
        if x.mean() > 1:
            return x / 2
        return x + 1

    @ag.function
    def outer(x):
        for _ in ag.range(5):
            x = inner(x)
        return x

    return outer(world.array(ROWS, "data")), n.value


@program
def symbolic_sizes(world: World):
    f = ag.function(lambda x: (x * 2).sum(), input_signature=[ag.TensorSpec([None, 3])])

    @ag.function(reduce_retracing=True)
    def g(x):
        while x.max() > 1:
            x = x / 2
        return x

    return f(world.array(ROWS, "data")), [g(world.array(ROWS[:n], "data")) for n in (8, 16, 8)]


@program
def scan_of_users(world: World):
    @ag.function
    def f(xs):
        def step(c, x):
            if x.sum() > 5:
                c = c + x
            else:
                c = c - x
            return c, c.sum()

        if ag.functions_run_eagerly():
            carry, sums = jnp.zeros(3), []
            for x in xs:
                carry, total = step(carry, x)
                sums.append(total)
            return carry, jnp.stack(sums)
        return jax.lax.scan(step, jnp.zeros(3), xs)

    return f(world.array(ROWS, "data"))


@program
def early_return_on_a_sharded_test(world: World):
    @ag.function
    def first_large(x):
        for i in range(len(x)):
            if x[i].sum() > 9:
                return i, x[i]
        return -1, x[0]

    return first_large(world.array(ROWS, "data")), first_large(world.array(ROWS / 100, "data"))


@program
def nothing_found(world: World):
    @ag.function
    def find(x):
        for row in x:
            if row.sum() > 900:
                return row

    return find(world.array(ROWS, "data")) is None


@program
def item_writes(world: World):
    @ag.function
    def smooth(x):
        for i in range(1, len(x)):
            x = x.at[i].set(0.5 * (x[i] + x[i - 1]))
        return x

    return smooth(world.array(ROWS, "data"))


@program
def object_state(world: World):
    class Meter:
        def __init__(self):
            self.total, self.count = 0.0, 0

        def add(self, v):
            self.total = self.total + v
            self.count += 1

    @ag.function
    def f(x):
        meter = Meter()
        while x.max() > 1:
            meter.add(x.sum())
            x = x / 2
        return meter.total / meter.count, meter.count

    return f(world.array(ROWS, "data"))


@program
def variables_made_inside_on_the_first_call(world: World):
    class Layer(ag.Module):
        def __init__(self):
            self.w = None

        @ag.function
        def __call__(self, x):
            if self.w is None:
                self.w = ag.Variable(jnp.ones((3, 2)) * x.mean())
            return jnp.tanh(x @ self.w).sum()

    layer = Layer()
    x = world.array(ROWS, "data")
    return layer(x), layer(x), layer.w.value


@program
def optimizer_state_in_a_dictionary(world: World):
    state = {"step": ag.Variable(0), "m": ag.Variable(np.zeros((16, 3), np.float32), sharding=world.sharding("data"))}

    @ag.function
    def update(g):
        state["step"].assign_add(1)
        state["m"].assign(0.9 * state["m"].value + 0.1 * g)
        if state["step"].value % 2 == 0:
            return state["m"].value.sum()
        return jnp.float32(0)

    g = world.array(ROWS, "data")
    return [update(g) for _ in range(4)], state["m"].value


@program
def parallel_chains(world: World):
    """Metropolis in each row, of its own length."""

    def chain(key, x):
        steps = 0
        while x > 0.5 and steps < 40:
            key, a, b = jax.random.split(key, 3)
            y = x + 0.3 * jax.random.normal(a)
            if jax.random.uniform(b) < jnp.exp(x * x - y * y):
                x = y
            steps += 1
        return x, steps

    keys = jax.random.split(jax.random.key(0), 16)
    return jax.jit(jax.vmap(ag.convert(chain)))(keys, world.array(ROWS[:, 0], "data"))


@program
def sizes_that_do_not_divide(world: World):
    """Replicated, as they cannot be cut: a prime number of rows."""

    @ag.function
    def f(x):
        while x.sum() > 4:
            x = x - x.mean() / 2
        return x

    return f(world.array(ROWS[:13]))


@program
def without_compiling(world: World):
    f = ag.function(lambda x: x * 2 if x.sum() > 2 else x, jit_compile=False)
    return f(world.array(ROWS, "data"))


@program
def python_loop_on_a_sharded_test(world: World):
    x = world.array(ROWS, "data")
    step = ag.function(lambda x: (x / 2, x.sum()))
    rounds = 0
    while True:
        x, total = step(x)
        rounds += 1
        if total < 5:
            break
    return x, rounds


@program
def concrete_function(world: World):
    @ag.function
    def f(x):
        while x.max() > 1:
            x = x / 2
        return x

    return f.get_concrete_function(ag.TensorSpec([16, 3]))(world.array(ROWS, "data"))


@program
def mesh_in_context(world: World):
    @ag.function
    def f(x):
        while x.max() > 1:
            x = jax.lax.with_sharding_constraint(x / 2, jax.sharding.PartitionSpec("data"))
        return x

    with jax.set_mesh(world.mesh):
        return f(world.array(ROWS, "data"))


@program
def variable_spread_over_processes_read_and_saved(world: World):
    """No process has all of it, and asking the others would hang where they do not ask too: an error that says what to do."""
    v = ag.Variable(ROWS, name="w", sharding=world.sharding("data"))
    double = ag.function(lambda x: x * v)
    double.get_concrete_function(2.0)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for read in (v.numpy, lambda: np.asarray(v), lambda: ag.save(double, f"{folder}/saved")):
            try:
                value = read()
            except RuntimeError as error:
                assert world.processes > 1 and "w' is" in str(error).replace("', which is to be saved, is", "' is")
                assert "sharded over 2 processes" in str(error) and "process_allgather" in str(error)
                value = multihost_utils.process_allgather(v.value, tiled=True)
            else:
                assert world.processes == 1
            found.append(ROWS if value is None else value)
    return found


@program
def saved_on_one_mesh_and_loaded_on_another(world: World):
    class Model(ag.Module):
        def __init__(self):
            self.w = ag.Variable(ROWS, sharding=world.sharding("data"))

        @ag.function
        def __call__(self, x):
            while x.sum() > 5:
                x = x / 2
            return (x * self.w).sum()

    model, x = Model(), world.array(ROWS, "data")
    result = model(x)
    if ag.functions_run_eagerly() or world.processes > 1:  # where no process has all of it, there is no `ag.save`
        return [result] * 3
    with tempfile.TemporaryDirectory() as folder:
        ag.save(model, f"{folder}/model")
        loaded = ag.load(f"{folder}/model")
    first = loaded(x)
    loaded.w.assign(jax.device_put(loaded.w.value, world.sharding()))
    return [result, first, loaded(jax.device_put(x, world.sharding()))]
