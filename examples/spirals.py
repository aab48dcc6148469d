"""An equinox model classifies two spirals: gradient accumulation, gradient clipping, and orbax checkpoints to resume training.

The learning rate schedule branches on the number of updates. `pip install equinox optax orbax-checkpoint`, then
`python examples/spirals.py` prints a table of losses.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp

import autograph as ag


def spirals(count: int = 256):
    """Points of two spirals, and which of them each is of."""
    random = np.random.default_rng(0)
    labels = np.arange(count) % 2
    angle = np.sqrt(random.uniform(0.05, 1, count)) * 1.5 * np.pi
    turned = angle + labels * np.pi
    points = np.stack([np.cos(turned), np.sin(turned)], 1) * angle[:, None] / 5
    return jnp.asarray(points + 0.01 * random.normal(size=points.shape), jnp.float32), jnp.asarray(labels)


def rate(count):
    if count < 20:
        return 0.02 * (count + 1) / 20
    return 0.02


class Classifier(eqx.Module):
    layers: list[eqx.nn.Linear]

    def __init__(self, key):
        keys = jax.random.split(key, 3)
        sizes = (2, 32, 32, 2)
        self.layers = [eqx.nn.Linear(a, b, key=k) for a, b, k in zip(sizes[:-1], sizes[1:], keys, strict=True)]

    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = jnp.tanh(layer(x))
        return self.layers[-1](x)


class Trainer(ag.Module):
    """A model whose arrays are Variables, and its optimizer."""

    def __init__(self):
        arrays, self.rest = eqx.partition(Classifier(jax.random.key(0)), eqx.is_array)
        leaves, self.structure = jax.tree.flatten(arrays)
        self.arrays = [ag.Variable(leaf, name=f"array {k}") for k, leaf in enumerate(leaves)]
        clipped = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate))
        self.optimizer = ag.optim.from_optax(optax.MultiSteps(clipped, every_k_schedule=2))
        self.optimizer.build(self.arrays)

    def loss(self, x, y):
        model = eqx.combine(self.structure.unflatten([v.value for v in self.arrays]), self.rest)
        logits = jax.vmap(model)(x)
        return optax.losses.softmax_cross_entropy_with_integer_labels(logits, y).mean(), logits

    @ag.function
    def fit(self, x, y, epochs):
        """So many epochs, or fewer where the loss is small."""
        loss = jnp.inf
        for _ in ag.range(epochs):
            if loss < 0.02:
                break
            for batch, labels in zip(x.reshape(4, -1, 2), y.reshape(4, -1), strict=True):
                loss = self.optimizer.minimize(lambda: self.loss(batch, labels)[0], self.arrays)  # noqa: B023  called at once
        loss, logits = self.loss(x, y)
        return loss, (logits.argmax(1) == y).mean()


def main(epochs: int = 300) -> dict[str, float]:
    x, y = spirals()
    trainer = Trainer()
    first, _ = trainer.fit(x, y, jnp.array(epochs // 10))
    with tempfile.TemporaryDirectory() as folder, ocp.StandardCheckpointer() as keeper:
        keeper.save(Path(folder) / "spirals", ag.checkpoints.state(trainer))
        keeper.wait_until_finished()
        resumed = Trainer()
        ag.checkpoints.restore(resumed, keeper.restore(Path(folder) / "spirals"))
    loss, accuracy = resumed.fit(x, y, jnp.array(epochs))
    same, _ = trainer.fit(x, y, jnp.array(epochs))
    return {
        "loss when stopped": float(first),
        "loss": float(loss),
        "loss without stopping": float(same),
        "accuracy": float(accuracy),
        "updates": int(resumed.optimizer.state["gradient_step"]),
    }


if __name__ == "__main__":
    found = main()
    print("run                     loss")
    for label, name in (
        ("until the checkpoint", "loss when stopped"),
        ("resumed", "loss"),
        ("not interrupted", "loss without stopping"),
    ):
        print(f"{label:20}  {found[name]:.5f}")
    print(f"accuracy: {found['accuracy']:.0%}, after {found['updates']:.0f} updates")
