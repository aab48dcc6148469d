"""Two Keras models in a custom training step: a tape trains the student, and the teacher follows if that improves it.

`KERAS_BACKEND=jax`; `pip install keras scikit-learn`, then `python examples/digits_in_keras.py` prints tables of losses and accuracies.
"""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "jax")

import jax.numpy as jnp
import keras
from sklearn.datasets import load_digits

import autograph as ag


def digits():
    """Images of handwritten digits, those to learn from first."""
    found = load_digits()
    return jnp.asarray(found.data / 16.0, jnp.float32), jnp.asarray(found.target)


def make():
    return keras.Sequential([keras.Input((64,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(10)])


def main(epochs: int = 6) -> dict[str, Any]:
    keras.utils.set_random_seed(0)
    student, teacher = make(), make()
    optimizer = keras.optimizers.Adam(0.01)
    optimizer.build(student.trainable_variables)
    seen = keras.metrics.Mean()
    images, labels = digits()
    batches = (
        ag.Dataset.from_tensor_slices((images[:1500], labels[:1500])).shuffle(seed=0).batch(50, drop_remainder=True)
    )

    def loss_of(model, x, y):
        return keras.losses.sparse_categorical_crossentropy(y, model(x), from_logits=True).mean()

    @ag.function
    def epoch():
        seen.reset_state()
        for x, y in batches:
            with ag.GradientTape() as tape:
                loss = loss_of(student, x, y)
            slopes = tape.gradient(loss, student.trainable_variables)
            optimizer.apply_gradients(zip(slopes, student.trainable_variables, strict=True))
            seen.update_state(loss)
            if loss < loss_of(teacher, x, y):
                for kept, new in zip(teacher.trainable_variables, student.trainable_variables, strict=True):
                    kept.assign(0.9 * kept + 0.1 * new)
        return seen.result()

    losses = [float(epoch()) for _ in range(epochs)]
    held = {
        name: float((model(images[1500:]).argmax(1) == labels[1500:]).mean())
        for name, model in (("student", student), ("teacher", teacher))
    }
    return {"losses": losses, "first loss": losses[0], "last loss": losses[-1], **held}


if __name__ == "__main__":
    found = main()
    print("epoch   loss")
    for number, loss in enumerate(found["losses"], 1):
        print(f"{number:5}  {loss:5.3f}")
    print("model    accuracy on held-out digits")
    for name in ("student", "teacher"):
        print(f"{name}  {found[name]:8.3f}")
