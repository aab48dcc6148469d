"""A network learns to read handwritten digits; the whole training run is one converted function.

Epochs, minibatches, the best parameters so far and early stopping are plain Python statements in `train`.
`ag.function` turns the call into one XLA program: no Python runs between the first step and the last.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import autograph as ag

Params = list[tuple[jax.Array, jax.Array]]

REQUIRED_ACCURACY = 0.95
EAGER_EPOCHS = 8  # as many as it takes to compare single epochs


class Split(NamedTuple):
    """Some of the digits: 64 grey levels in [0, 1] each, and what they show."""

    images: jax.Array
    labels: jax.Array


def load(seed: int = 0) -> tuple[Split, Split, Split]:
    """The 1,797 digits of scikit-learn, shuffled: 1,197 to train on, 300 to stop by, 300 held out."""
    from sklearn.datasets import load_digits  # takes a second or two, which the network alone does not need

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(images))
    images = jnp.asarray(images[order] / 16.0, jnp.float32)
    labels = jnp.asarray(labels[order], jnp.int32)

    def part(start: int, stop: int) -> Split:
        return Split(images[start:stop], labels[start:stop])

    return part(0, 1197), part(1197, 1497), part(1497, 1797)


def initial_params(key: jax.Array, sizes: tuple[int, ...] = (64, 64, 10)) -> Params:
    """Weights and biases of a fully connected network, one pair for each layer."""
    layers = []
    for inputs, outputs in zip(sizes[:-1], sizes[1:], strict=True):
        key, here = jax.random.split(key)
        layers.append((jax.random.normal(here, (inputs, outputs)) * (2 / inputs) ** 0.5, jnp.zeros(outputs)))
    return layers


def logits_of(params: Params, images: jax.Array) -> jax.Array:
    """One score per class for each image."""
    *hidden, (weights, bias) = params
    for w, b in hidden:
        images = jax.nn.relu(images @ w + b)
    return images @ weights + bias


def loss_of(params: Params, images: jax.Array, labels: jax.Array) -> jax.Array:
    """Mean cross entropy."""
    log_probabilities = jax.nn.log_softmax(logits_of(params, images))
    return -jnp.take_along_axis(log_probabilities, labels[:, None], axis=1).mean()


def accuracy_of(params: Params, images: jax.Array, labels: jax.Array) -> float:
    """The fraction of the images that the network reads correctly."""
    return float((logits_of(params, images).argmax(axis=1) == labels).mean())


def adam(params: Params, mean: Params, square: Params, grads: Params, step: Any, rate: float):
    """One step of Adam: new parameters and new running moments of the gradient."""
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grads)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, grads)
    # Both averages start at zero; this undoes their bias in the first steps.
    scale = rate * jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    params = jax.tree.map(lambda p, m, s: p - scale * m / (jnp.sqrt(s) + 1e-8), params, mean, square)
    return params, mean, square


@ag.function
def train(params, key, training, validation, epochs=100, batch=32, patience=5, rate=2e-3):
    """Train until the validation loss has not fallen for `patience` epochs.

    Returns the best parameters, the number of epochs run and the validation loss after each.
    """
    mean, square = jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params)
    best, best_loss, stale, step = params, jnp.array(jnp.inf), 0, 0
    history = jnp.full(epochs, jnp.nan)
    batches = len(training.images) // batch

    for epoch in range(epochs):
        order = jax.random.permutation(jax.random.fold_in(key, epoch), len(training.images))
        for rows in order[: batches * batch].reshape(batches, batch):
            step += 1
            grads = jax.grad(loss_of)(params, training.images[rows], training.labels[rows])
            params, mean, square = adam(params, mean, square, grads, step, rate)

        loss = loss_of(params, *validation)
        history = history.at[epoch].set(loss)
        if loss < best_loss:
            best, best_loss, stale = params, loss, 0
        else:
            stale += 1
            if stale == patience:
                break

    return best, epoch + 1, history


def timed(function, *args) -> tuple[float, Any]:
    """Seconds that one call takes, until its results are ready, and the results."""
    start = time.perf_counter()
    result = jax.block_until_ready(function(*args))
    return time.perf_counter() - start, result


def main(output: Path) -> bool:
    """Train and print what came out; is the accuracy as required?"""
    del output
    training, validation, held_out = load()
    args = (initial_params(jax.random.key(0)), jax.random.key(1), training, validation)

    first, _ = timed(train, *args)  # trace, compile and run
    second, (params, epochs, history) = timed(train, *args)
    # The same Python, not converted: JAX runs each operation alone, and compiles it when first met.
    eager_first, _ = timed(train.python_function, *args, 1)
    eager, (_, eager_epochs, _) = timed(train.python_function, *args, EAGER_EPOCHS)

    for epoch in range(0, int(epochs), 10):
        print(f"  epoch {epoch + 1:3}   validation loss {history[epoch]:.3f}")
    print(f"  stopped after epoch {epochs}; best validation loss {jnp.nanmin(history):.3f}")
    accuracy = accuracy_of(params, *held_out)
    print(f"  accuracy on {len(held_out.labels)} held-out digits: {accuracy:.3f}")
    print(f"  one XLA program: {second:6.2f} s for {epochs} epochs, after {first - second:.2f} s to compile")
    ratio = (eager / int(eager_epochs)) / (second / int(epochs))
    print(f"  op by op:        {eager:6.2f} s for {eager_epochs} epochs, after a first in {eager_first:.2f} s")
    print(f"  an epoch takes {ratio:.0f} times as long op by op")
    return accuracy >= REQUIRED_ACCURACY
