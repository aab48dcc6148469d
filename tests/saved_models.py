"""Models that tests save and load, and saves that are changed."""

from __future__ import annotations

import json
from typing import Any

import jax.numpy as jnp
import pytest

import autograph as ag
from autograph.runtime.saving import manifest


def loaded(obj: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
    ag.save(obj, path / "model", *args, **kwargs)
    return ag.load(path / "model")


def refused(path, *texts):
    with pytest.raises(ag.LoadError) as error:
        ag.load(path)
    message = str(error.value)
    assert message.startswith(str(path)) and all(text in message for text in texts), message
    return message


def edit(path, change):
    """Change the manifest, and give it the checksum that it then has."""
    file = path / "manifest.json"
    body = json.loads(file.read_text())
    body.pop("checksum"), body.pop("format"), body.pop("version")
    change(body)
    file.write_bytes(manifest.text(body))


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
