"""Models that tests save and load."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

import autograph as ag


def loaded(obj: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
    ag.save(obj, path / "model", *args, **kwargs)
    return ag.load(path / "model")


class Dense(ag.Module):
    def __init__(self, inputs, outputs):
        self.w = ag.Variable(jnp.arange(inputs * outputs, dtype=jnp.float32).reshape(inputs, outputs) / 10, name="w")
        self.b = ag.Variable(jnp.zeros(outputs), name="b")

    @ag.function
    def __call__(self, x):
        return x @ self.w + self.b


class Network(ag.Module):
    def __init__(self):
        self.layers = [Dense(3, 4), jnp.tanh, Dense(4, 2)]
        self.tied = self.layers[0].w
        self.steps = ag.Variable(0, trainable=False, name="steps")
        self.units = 4

    @ag.function
    def predict(self, x, *, scale=1.0):
        for layer in self.layers:
            x = layer(x)
        self.steps.assign_add(1)
        return x * scale
