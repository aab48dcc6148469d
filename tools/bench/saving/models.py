"""The first process: ``python -m autograph.tools.bench.saving.models FOLDER`` saves two models, and prints how long it took.

The digits classifier of the demonstrations, trained, and an adaptive solver of the van der Pol oscillator with its derivatives. Beside
them ``data.npz``: digits to read and to train on, what the classifier makes of some, and the solver's result and gradient.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import autograph as ag
from autograph.tools.bench.workloads import WORKLOADS
from autograph.tools.demo import digits


class Classifier(ag.Module):
    """Reads digits: 64 grey levels in [0, 1] each."""

    def __init__(self, params: digits.Params) -> None:
        self.layers = [(ag.Variable(w, name="w"), ag.Variable(b, name="b")) for w, b in params]

    @ag.function(input_signature=[ag.TensorSpec(["n", 64])])
    def scores(self, images: jax.Array) -> jax.Array:
        """One score per class for each image."""
        return digits.logits_of([(w.value, b.value) for w, b in self.layers], images)

    @ag.function(input_signature=[ag.TensorSpec(["n", 64])])
    def predict(self, images: jax.Array) -> jax.Array:
        """What each image shows."""
        if images.max() > 1:
            raise ValueError(f"a grey level of {images.max():.1f} is more than 1")
        return self.scores(images).argmax(axis=1)


def main(folder: Path) -> None:
    training, validation, held_out = digits.load()
    params, _, _ = digits.train(digits.initial_params(jax.random.key(0)), jax.random.key(1), training, validation)
    classifier = Classifier(params)
    solver = ag.function(WORKLOADS["ode"].program(jnp), input_signature=[ag.TensorSpec([])] * 4)
    arguments = WORKLOADS["ode"].arguments(False)
    seconds = {name: _saved(model, folder / name) for name, model in (("digits", classifier), ("ode", solver))}

    def end(*start: Any) -> Any:
        return solver(*start, arguments[3])[0]

    data: dict[str, Any] = {f"training_{name}": part for name, part in training._asdict().items()}
    data |= {f"held_out_{name}": part for name, part in held_out._asdict().items()}
    data |= {"predicted": classifier.predict(held_out.images), "arguments": arguments, "end": end(*arguments[:3])}
    data |= {"slopes": jax.grad(end, (0, 1, 2))(*arguments[:3])}
    for k, (w, b) in enumerate(classifier.layers):
        data |= {f"w{k}": w, f"b{k}": b}
    np.savez(folder / "data.npz", **{name: np.asarray(part) for name, part in data.items()})  # type: ignore[arg-type]
    print(json.dumps(seconds))


def _saved(model: Any, path: Path) -> float:
    """Seconds to trace and save; of clock and processor the lesser, as in `loading`."""
    wall, cpu = time.perf_counter(), time.process_time()
    ag.save(model, path)
    return min(time.perf_counter() - wall, time.process_time() - cpu)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
