"""The second process: ``python loading.py FOLDER`` loads what `models` saved, and uses it.

The source of the models cannot be imported here. It prints how long loading and calls take, and what it found.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import autograph as ag

assert not any(name.startswith("autograph.tools") for name in sys.modules)
sys.modules["autograph.tools"] = None  # type: ignore[assignment]  # where the source is: importing it raises ImportError

EPOCHS, BATCH, RATE = 15, 32, 0.3


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds until the result is there, and the result. Of clock and processor the lesser: others make the first longer,
    several threads of a compiler the second.
    """
    wall, cpu = time.perf_counter(), time.process_time()
    result = jax.block_until_ready(call())
    return min(time.perf_counter() - wall, time.process_time() - cpu), result


def retrain(model: Any, images: Any, labels: Any) -> None:
    """Reset the weights, and train them again with derivatives of the loaded program."""
    generator = np.random.default_rng(3)
    for variable in model.trainable_variables:
        variable.assign(jnp.asarray(generator.normal(0, 0.1, variable.shape), jnp.float32))

    def loss(x: Any, y: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(model.scores(x)), y[:, None], axis=1).mean()

    @ag.function
    def step(x: Any, y: Any) -> None:
        _, slopes = ag.value_and_grad(loss, model.trainable_variables)(x, y)
        for variable, slope in zip(model.trainable_variables, slopes, strict=True):
            variable.assign_sub(RATE * slope)

    for _ in range(EPOCHS):
        order = generator.permutation(len(images))
        for start in range(0, len(images) - BATCH + 1, BATCH):
            rows = order[start : start + BATCH]
            step(images[rows], labels[rows])


def main(folder: Path) -> None:
    data = np.load(folder / "data.npz")
    print(json.dumps({"digits": _digits(folder / "digits", data), "ode": _ode(folder / "ode", data)}))


def _digits(path: Path, data: Any) -> dict[str, Any]:
    images, labels = jnp.asarray(data["held_out_images"]), data["held_out_labels"]
    found: dict[str, Any] = {}
    found["load"], model = timed(lambda: ag.load(path))
    found["first call"], predicted = timed(lambda: model.predict(images))
    found["next call"], _ = timed(lambda: model.predict(images))
    found["others"] = int((np.asarray(predicted) != data["predicted"]).sum())
    found["accuracy"] = float((np.asarray(predicted) == labels).mean())
    try:
        model.predict(images + 1)
    except ValueError as error:
        found["raised"] = f"ValueError: {error}"
    retrain(model, data["training_images"], data["training_labels"])
    found["retrained"] = float((np.asarray(model.predict(images)) == labels).mean())
    return found


def _ode(path: Path, data: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    found["load"], solver = timed(lambda: ag.load(path))
    *start, end = map(jnp.asarray, data["arguments"])
    gradient = ag.function(jax.grad(lambda *start: solver(*start, end)[0], (0, 1, 2)))
    found["first call"], (reached, _) = timed(lambda: solver(*start, end))
    found["next call"], _ = timed(lambda: solver(*start, end))
    found["first gradient"], slopes = timed(lambda: gradient(*start))
    found["next gradient"], _ = timed(lambda: gradient(*start))
    found["apart"] = float(abs(reached - data["end"]))
    found["slopes apart"] = float(np.abs(np.asarray(slopes) - data["slopes"]).max())
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]))
