"""A training run that keeps checkpoints, for a test that kills it: ``python -m tests.killed_training FOLDER STEPS``.

Its state is of every kind: Variables of a Module, a generator and the global one, iterators over datasets (one of a Python
generator), a dataset that is looped over, an equinox model with its optax state, a flax.nnx model. It prints a sum of all of it after each
step.
"""

from __future__ import annotations

import hashlib
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax import nnx

import autograph as ag

ROWS = np.random.default_rng(0).normal(size=(24, 4)).astype(np.float32)


def counted():
    yield from range(1000)


class Model(ag.Module):
    def __init__(self):
        self.layers = [ag.Variable(jnp.ones((4, 8)) * 0.1, name="w"), ag.Variable(jnp.ones(8) * 0.1, name="w")]
        self.speed = {"w": ag.Variable(jnp.zeros((4, 8)), trainable=False)}
        self.noise = ag.random.Generator.from_seed(1)
        self.rows = iter(ag.Dataset.from_tensor_slices(ROWS).shuffle(seed=5).repeat().batch(3))
        self.numbers = iter(ag.Dataset.from_generator(counted, np.int32).shuffle(4, seed=2))
        self.few = ag.Dataset.range(3).shuffle(seed=7)
        self.order = ag.Variable(0, name="order")

    def loss(self, x):
        kept = self.noise.bernoulli(0.8, (8,))
        return jnp.mean((jnp.tanh(x @ self.layers[0]) * kept @ self.layers[1] - x.sum(1)) ** 2)

    @ag.function(donate_variables=True)
    def step(self):
        x = next(self.rows) + 0.01 * ag.random.normal((3, 4))
        loss, (first, second) = ag.value_and_grad(lambda: self.loss(x), self.layers)()
        if loss > 0.5:
            first = first / loss
        self.speed["w"].assign(0.9 * self.speed["w"] + first)
        self.layers[0].assign_sub(0.05 * self.speed["w"])
        self.layers[1].assign_sub(0.05 * second)
        for k in self.few:
            self.order.assign((self.order * 3 + k + next(self.numbers)) % 10007)
        return loss


def main(folder: str, count: int) -> None:
    ag.random.set_seed(3)
    model, optimizer = Model(), optax.adam(1e-2)
    linear = eqx.nn.MLP(4, 1, 8, 1, key=jax.random.key(0))
    slots = optimizer.init(eqx.filter(linear, eqx.is_array))
    network = nnx.Linear(4, 2, rngs=nnx.Rngs(0))

    @eqx.filter_jit
    def fit(linear, slots, x):
        gradient = eqx.filter_grad(lambda m: jnp.mean((jax.vmap(m)(x)[:, 0] - x.sum(1)) ** 2))(linear)
        updates, slots = optimizer.update(gradient, slots)
        return eqx.apply_updates(linear, updates), slots

    @nnx.jit
    def follow(network, x):
        gradient = nnx.grad(lambda m: jnp.mean((m(x) - x[:, :2]) ** 2))(network)
        nnx.update(network, jax.tree.map(lambda p, g: p - 0.1 * g, nnx.state(network, nnx.Param), gradient))

    def everything():
        return {
            "model": model,
            "global": ag.random.get_global_generator(),
            "linear": linear,
            "slots": slots,
            "network": nnx.state(network),
            "epoch": epoch,
        }

    epoch = 0
    with ocp.CheckpointManager(folder, options=ocp.CheckpointManagerOptions(max_to_keep=2)) as manager:
        done = manager.latest_step() or 0
        if done:
            saved = manager.restore(done, args=ocp.args.StandardRestore(ag.checkpoints.state(everything())))
            found = ag.checkpoints.restore(everything(), saved)
            linear, slots, epoch = found["linear"], found["slots"], found["epoch"]
            nnx.update(network, found["network"])
        for k in range(done + 1, count + 1):
            x = jnp.asarray(ROWS[k % 24][None])
            model.step()
            linear, slots = fit(linear, slots, x)
            follow(network, x)
            epoch = k // 3
            state = ag.checkpoints.state(everything())
            sums = hashlib.sha256()
            for path, leaf in sorted(jax.tree_util.tree_leaves_with_path(state), key=lambda pair: str(pair[0])):
                sums.update(
                    f"{jax.tree_util.keystr(path)} {leaf.dtype} {leaf.shape}".encode() + np.asarray(leaf).tobytes()
                )
            print(k, sums.hexdigest(), flush=True)
            manager.save(k, args=ocp.args.StandardSave(state))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
