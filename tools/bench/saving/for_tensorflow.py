"""The two models with TensorFlow's SavedModel: ``python for_tensorflow.py save|load FOLDER``, in its own environment.

``save`` takes the weights that `models` has left in the folder; ``load`` is another process, which does what `loading` does.
"""

from __future__ import annotations

import functools
import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

EPOCHS, BATCH, RATE = 15, 32, 0.3


class Classifier(tf.Module):
    def __init__(self, data: Any) -> None:
        super().__init__()
        self.layers = [(tf.Variable(data[f"w{k}"]), tf.Variable(data[f"b{k}"])) for k in range(2)]

    @tf.function(input_signature=[tf.TensorSpec([None, 64])])
    def scores(self, images: Any) -> Any:
        (w, b), (weights, bias) = self.layers
        return tf.nn.relu(images @ w + b) @ weights + bias

    @tf.function(input_signature=[tf.TensorSpec([None, 64])])
    def predict(self, images: Any) -> Any:
        tf.debugging.assert_less_equal(tf.reduce_max(images), 1.0, "a grey level is more than 1")
        return tf.argmax(self.scores(images), axis=1)


def save(folder: Path) -> dict[str, float]:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    importlib.import_module("worker").without_the_package()
    from autograph.tools.bench.workloads import WORKLOADS

    of_tensorflow: Any = WORKLOADS["ode"].variants["tensorflow"]
    solver: Any = tf.Module()
    solver.solve = tf.function(of_tensorflow(tf), input_signature=[tf.TensorSpec([])] * 4)
    models = {"digits": Classifier(np.load(folder / "data.npz")), "ode": solver}
    seconds = {}
    for name, model in models.items():
        save_it = functools.partial(tf.saved_model.save, model, str(folder / f"{name}-tensorflow"))
        seconds[name], _ = timed(save_it)
    return seconds


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds until the result is there, and the result; of clock and processor the lesser, as in `loading`."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = tf.nest.map_structure(lambda part: part.numpy() if hasattr(part, "numpy") else part, call())
    return min(time.perf_counter() - wall, time.process_time() - cpu), result


def retrain(model: Any, images: Any, labels: Any) -> None:
    generator = np.random.default_rng(3)
    variables = [variable for layer in model.layers for variable in layer]
    for variable in variables:
        variable.assign(generator.normal(0, 0.1, variable.shape))

    @tf.function
    def step(x: Any, y: Any) -> None:
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, model.scores(x))
            loss = tf.reduce_mean(losses)
        for variable, slope in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(RATE * slope)

    for _ in range(EPOCHS):
        order = generator.permutation(len(images))
        for start in range(0, len(images) - BATCH + 1, BATCH):
            rows = order[start : start + BATCH]
            step(tf.constant(images[rows]), tf.constant(labels[rows]))


def load(folder: Path) -> dict[str, Any]:
    data = np.load(folder / "data.npz")
    return {"digits": _digits(folder / "digits-tensorflow", data), "ode": _ode(folder / "ode-tensorflow", data)}


def _digits(path: Path, data: Any) -> dict[str, Any]:
    images, labels = tf.constant(data["held_out_images"]), data["held_out_labels"]
    found: dict[str, Any] = {}
    found["load"], model = timed(lambda: tf.saved_model.load(str(path)))
    found["first call"], predicted = timed(lambda: model.predict(images))
    found["next call"], _ = timed(lambda: model.predict(images))
    found["others"] = int((predicted != data["predicted"]).sum())
    found["accuracy"] = float((predicted == labels).mean())
    try:
        model.predict(images + 1)
    except tf.errors.InvalidArgumentError as error:
        line = next(line for line in str(error).splitlines() if "assertion" in line)
        found["raised"] = f"InvalidArgumentError: {line.strip()}"
    retrain(model, data["training_images"], data["training_labels"])
    found["retrained"] = float((model.predict(images).numpy() == labels).mean())
    return found


def _ode(path: Path, data: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    found["load"], solver = timed(lambda: tf.saved_model.load(str(path)))
    *start, end = map(tf.constant, data["arguments"])

    @tf.function
    def gradient(*start: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(start)
            reached, _ = solver.solve(*start, end)
        return tape.gradient(reached, start)

    found["first call"], (reached, _) = timed(lambda: solver.solve(*start, end))
    found["next call"], _ = timed(lambda: solver.solve(*start, end))
    found["first gradient"], slopes = timed(lambda: gradient(*start))
    found["next gradient"], _ = timed(lambda: gradient(*start))
    found["apart"] = float(abs(reached - data["end"]))
    found["slopes apart"] = float(np.abs(np.asarray(slopes) - data["slopes"]).max())
    return found


if __name__ == "__main__":
    print(json.dumps({"save": save, "load": load}[sys.argv[1]](Path(sys.argv[2]))))
