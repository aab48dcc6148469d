"""Networks: greedy decoding that ends early, a classifier called over and over, a training loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograph.tools.bench.workloads.workload import Program, Workload

# Decoding, token by token, until the end token.


def _decode(xp: Any) -> Program:
    def decode(embedding, recurrent, output, limit):
        h = xp.zeros_like(recurrent[0])
        token = 1
        count = 0
        total = 0
        while count < limit:
            h = xp.tanh(h @ recurrent + embedding[token])
            token = xp.argmax(h @ output)
            total = total + token
            count += 1
            if token == 0:
                break
        return h, token, count, total

    return decode


def _decode_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    def decode(embedding, recurrent, output, limit):
        def goes_on(carry):
            _, token, count, _ = carry
            return (count < limit) & ((token != 0) | (count == 0))

        def step(carry):
            h, token, count, total = carry
            h = jnp.tanh(h @ recurrent + embedding[token])
            token = jnp.argmax(h @ output).astype(jnp.int32)
            return h, token, count + 1, total + token

        return lax.while_loop(goes_on, step, (jnp.zeros_like(recurrent[0]), jnp.int32(1), 0, jnp.int32(0)))

    return {"straightforward": decode}


# A classifier of three layers.


def _classify(xp: Any) -> Program:
    def classify(layers, x):
        for weights, bias in layers[:-1]:
            x = xp.maximum(x @ weights + bias, 0.0)
        weights, bias = layers[-1]
        return x @ weights + bias

    return classify


def _classify_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp

    def classify(layers, x):
        (w1, b1), (w2, b2), (w3, b3) = layers
        x = jnp.maximum(x @ w1 + b1, 0.0)
        x = jnp.maximum(x @ w2 + b2, 0.0)
        return x @ w3 + b3

    return {"straightforward": classify}


# Training on the shapes of the handwritten digits, derivatives written out.


def _train(xp: Any) -> Program:
    def train(images, targets, w1, w2, epochs, rate):
        error = 0.0
        best = 1e9
        waited = 0
        done = 0
        for _ in range(epochs):
            error = 0.0
            for x, target in zip(images, targets):
                hidden = xp.tanh(x @ w1)
                wrong = hidden @ w2 - target
                back = (wrong @ w2.T) * (1.0 - hidden * hidden)
                w2 = w2 - rate * (hidden.T @ wrong)
                w1 = w1 - rate * (x.T @ back)
                error = error + xp.mean(wrong * wrong)
            done += 1
            if error < best:
                best = error
                waited = 0
            else:
                waited += 1
            if waited >= 3:
                break
        return w1, w2, error, done

    return train


def _train_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    def train(images, targets, w1, w2, epochs, rate):
        def batch(carry, data):
            w1, w2, error = carry
            x, target = data
            hidden = jnp.tanh(x @ w1)
            wrong = hidden @ w2 - target
            back = (wrong @ w2.T) * (1.0 - hidden * hidden)
            return (w1 - rate * (x.T @ back), w2 - rate * (hidden.T @ wrong), error + jnp.mean(wrong * wrong)), None

        def epoch(carry):
            done, w1, w2, _, best, waited = carry
            (w1, w2, error), _ = lax.scan(batch, (w1, w2, 0.0), (images, targets))
            better = error < best
            return done + 1, w1, w2, error, jnp.where(better, error, best), jnp.where(better, 0, waited + 1)

        done, w1, w2, error, _, _ = lax.while_loop(
            lambda c: (c[0] < epochs) & (c[5] < 3), epoch, (0, w1, w2, 0.0, 1e9, 0)
        )
        return w1, w2, error, done

    return {"straightforward": train}


def _random(*shape: int, seed: int, scale: float = 1.0) -> Any:
    return (np.random.default_rng(seed).normal(size=shape) * scale).astype(np.float32)


def _decoder(quick: bool) -> tuple[Any, ...]:
    size, words = (8, 12) if quick else (64, 256)
    recurrent = _random(size, size, seed=1, scale=1.2 / size**0.5)
    return _random(words, size, seed=0), recurrent, _random(size, words, seed=2), np.int32(20 if quick else 500)


def _layers(quick: bool) -> tuple[Any, ...]:
    sizes = (6, 5, 4, 3) if quick else (64, 128, 128, 10)
    layers = [
        (_random(m, n, seed=m, scale=1 / m**0.5), _random(n, seed=n))
        for m, n in zip(sizes[:-1], sizes[1:], strict=True)
    ]
    return layers, _random(4 if quick else 32, sizes[0], seed=9)


def _digits(quick: bool) -> tuple[Any, ...]:
    """Images of digits and what they show, as the sets of handwritten digits have them: 8 x 8 grey levels."""
    batches, size, epochs = (3, 4, 2) if quick else (37, 32, 10)
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 10, (batches, size))
    prototypes = rng.uniform(size=(10, 64))
    images = (prototypes[labels] + 0.2 * rng.normal(size=(batches, size, 64))).astype(np.float32)
    targets = np.eye(10, dtype=np.float32)[labels]
    w1, w2 = _random(64, 32, seed=5, scale=0.05), _random(32, 10, seed=6, scale=0.1)
    return images, targets, w1, w2, np.int32(epochs), np.float32(0.003)


NETWORKS = [
    Workload(
        "decode",
        "greedy decoding with a recurrent network of 64, at most 500 tokens, left at the end token",
        _decode,
        _decoder,
        _decode_by_hand,
    ),
    Workload(
        "classify",
        "a classifier of three layers, 32 samples a call; a run is 10,000 calls",
        _classify,
        _layers,
        _classify_by_hand,
        calls=10_000,
    ),
    Workload(
        "train",
        "ten epochs of training a small network on 1,184 digits, with early stopping",
        _train,
        _digits,
        _train_by_hand,
    ),
]
