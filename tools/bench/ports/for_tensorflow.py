"""The tasks of the three ports as a user of TensorFlow writes them: ``python for_tensorflow.py [--quick]``, in its own environment.

A step of learning, of training and of solving is a `tf.function` each; the environment and the buffer of the first are in
Python and NumPy, as those of its kind are. Sizes, optimizers and losses are those of `examples/`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf


def seconds(run: Callable[[int], Any], few: int, many: int) -> dict[str, float]:
    """As in `ours`."""

    def timed(steps: int) -> float:
        start = time.perf_counter()
        run(steps)
        return time.perf_counter() - start

    first = timed(few)
    return {"step": (timed(many) - timed(few)) / (many - few), "first": first}


def matrix(rows: int, columns: int, scale: float) -> Any:
    return tf.Variable(tf.random.normal((rows, columns)) * scale)


# The balance of a pole, by double Q-learning.


class Pole:
    """A pole on a cart, which a force of either sign moves."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.state = np.zeros(4)
        self.steps = 0

    def reset(self) -> Any:
        self.state, self.steps = self.random.uniform(-0.05, 0.05, 4), 0
        return self.state.astype(np.float32)

    def step(self, action: int) -> tuple[Any, bool]:
        place, speed, angle, turning = self.state
        push = 10.0 if action == 1 else -10.0
        sine, cosine = np.sin(angle), np.cos(angle)
        drive = (push + 0.05 * turning**2 * sine) / 1.1
        turned = (9.8 * sine - cosine * drive) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        moved = drive - 0.05 * turned * cosine / 1.1
        self.state = self.state + 0.02 * np.array([speed, moved, turning, turned])
        self.steps += 1
        fell = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.2095
        return self.state.astype(np.float32), bool(fell or self.steps >= 200)


def dqn(quick: bool) -> dict[str, float]:
    room, size = 4096, 64

    def network() -> list[Any]:
        sizes = (4, 64, 64, 2)
        layers = [
            (matrix(a, b, (2 / a) ** 0.5), tf.Variable(tf.zeros(b))) for a, b in zip(sizes, sizes[1:], strict=False)
        ]
        return [variable for layer in layers for variable in layer]

    def values(layers: list[Any], x: Any) -> Any:
        for k in range(0, 4, 2):
            x = tf.nn.relu(x @ layers[k] + layers[k + 1])
        return x @ layers[4] + layers[5]

    online, target = network(), network()
    optimizer = tf.keras.optimizers.Adam(1e-3)

    @tf.function
    def act(seen: Any) -> Any:
        return tf.argmax(values(online, seen[None])[0])

    @tf.function
    def learn(seen: Any, action: Any, after: Any, done: Any) -> Any:
        chosen = tf.argmax(values(online, after), 1)
        worth = tf.gather(values(target, after), chosen, batch_dims=1)
        wanted = 1.0 + 0.98 * tf.where(done, 0.0, worth)
        with tf.GradientTape() as tape:
            apart = tf.gather(values(online, seen), action, batch_dims=1) - tf.stop_gradient(wanted)
            size = tf.abs(apart)
            loss = tf.reduce_mean(tf.where(size < 1.0, 0.5 * apart**2, size - 0.5))
        optimizer.apply_gradients(zip(tape.gradient(loss, online), online, strict=True))
        return loss

    def run(steps: int) -> None:
        random, pole = np.random.default_rng(0), Pole(0)
        seens, afters = np.zeros((room, 4), np.float32), np.zeros((room, 4), np.float32)
        actions, dones = np.zeros(room, np.int32), np.zeros(room, bool)
        seen = pole.reset()
        for step in range(steps):
            action = int(act(seen))
            if random.uniform() < max(0.05, 1 - step / 2000):
                action = int(random.integers(2))
            after, done = pole.step(action)
            at = step % room
            seens[at], actions[at], afters[at], dones[at] = seen, action, after, done
            seen = pole.reset() if done else after
            if step >= 500:
                drawn = random.integers(0, min(step + 1, room), size)
                learn(seens[drawn], actions[drawn], afters[drawn], dones[drawn])
            if step % 200 == 0:
                for kept, new in zip(target, online, strict=True):
                    kept.assign(new)

    few, many = (510, 700) if quick else (1000, 2000)
    found = seconds(run, few, many)
    return {**found, "check": float(optimizer.iterations.numpy())}


# A transformer from digits to words.

WIDTH, HEADS, WORDS, PAD = 48, 4, 32, 0


def normalized(x: Any) -> Any:
    mean, variance = tf.nn.moments(x, -1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-5)


def positions(length: int) -> Any:
    angles = np.arange(length)[:, None] / 1000.0 ** (np.arange(0, WIDTH, 2) / WIDTH)
    return tf.constant(np.concatenate([np.sin(angles), np.cos(angles)], 1), tf.float32)


class Attention(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (matrix(WIDTH, WIDTH, WIDTH**-0.5) for _ in range(4))

    def __call__(self, x: Any, memory: Any, mask: Any) -> Any:
        def heads(y: Any, w: Any) -> Any:
            return tf.reshape(y @ w, (tf.shape(y)[0], y.shape[1], HEADS, WIDTH // HEADS))

        query, key, value = heads(x, self.query), heads(memory, self.key), heads(memory, self.value)
        scores = tf.einsum("bqhd,bkhd->bhqk", query, key) * (WIDTH // HEADS) ** -0.5
        weights = tf.nn.softmax(tf.where(mask, scores, -1e9))
        return tf.reshape(tf.einsum("bhqk,bkhd->bqhd", weights, value), tf.shape(x)) @ self.out


class Block(tf.Module):
    def __init__(self, has_memory: bool) -> None:
        super().__init__()
        self.own = Attention()
        self.other = Attention() if has_memory else None
        self.wide, self.narrow = matrix(WIDTH, 2 * WIDTH, WIDTH**-0.5), matrix(2 * WIDTH, WIDTH, (2 * WIDTH) ** -0.5)

    def __call__(self, x: Any, mask: Any, memory: Any = None, memory_mask: Any = None) -> Any:
        y = normalized(x)
        x = x + self.own(y, y, mask)
        if self.other is not None:
            x = x + self.other(normalized(x), memory, memory_mask)
        return x + tf.nn.relu(normalized(x) @ self.wide) @ self.narrow


def transformer(quick: bool) -> dict[str, float]:
    digits_table, words_table = matrix(11, WIDTH, 11**-0.5), matrix(WORDS, WIDTH, WORDS**-0.5)
    out = matrix(WIDTH, WORDS, WIDTH**-0.5)
    encoder, decoder = [Block(False) for _ in range(2)], [Block(True) for _ in range(2)]
    variables = [digits_table, words_table, out]
    variables += [variable for block in (*encoder, *decoder) for variable in block.trainable_variables]
    optimizer = tf.keras.optimizers.Adam(4e-3, beta_2=0.98, global_clipnorm=1.0)

    @tf.function
    def train(digits: Any, words: Any) -> Any:
        with tf.GradientTape() as tape:
            known = (digits != PAD)[:, None, None, :]
            memory = tf.gather(digits_table, digits) * WIDTH**0.5 + positions(digits.shape[1])
            for block in encoder:
                memory = block(memory, known)
            memory = normalized(memory)
            given, following = words[:, :-1], words[:, 1:]
            x = tf.gather(words_table, given) * WIDTH**0.5 + positions(given.shape[1])
            past = tf.constant(np.tri(given.shape[1], dtype=bool))[None, None]
            for block in decoder:
                x = block(x, past, memory, known)
            found = tf.nn.log_softmax(normalized(x) @ out)
            wanted = tf.one_hot(following, WORDS) * 0.95 + 0.05 / WORDS
            is_word = tf.cast(following != PAD, tf.float32)
            loss = -tf.reduce_sum(tf.reduce_sum(found * wanted, -1) * is_word) / tf.reduce_sum(is_word)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    random = np.random.default_rng(0)
    digits = random.integers(1, 11, (800, 3)).astype(np.int32)
    words = np.concatenate([np.ones((800, 1)), digits + 2, np.full((800, 1), 2), np.zeros((800, 1))], 1).astype(
        np.int32
    )
    data = tf.data.Dataset.from_tensor_slices((digits, words)).shuffle(800, seed=0).batch(50, drop_remainder=True)
    losses: list[float] = []

    def run(epochs: int) -> None:
        for _ in range(epochs):
            for batch in data:
                loss = train(*batch)
        losses.append(float(loss))

    few, many = (1, 2) if quick else (1, 11)
    found = seconds(run, few, many)
    return {"step": found["step"] / len(data), "first": found["first"], "check": losses[-1]}


# The heat equation, by a network that knows it.


def heat(quick: bool) -> dict[str, float]:
    sizes = (2, 16, 16, 1)
    layers = [(matrix(a, b, a**-0.5), tf.Variable(tf.zeros(b))) for a, b in zip(sizes, sizes[1:], strict=False)]
    variables = [variable for layer in layers for variable in layer]
    optimizer = tf.keras.optimizers.Adam(0.01)
    random = np.random.default_rng(0)
    inside = tf.constant(random.uniform(size=(128, 2)), tf.float32)
    start, times = (tf.constant(random.uniform(size=(32, 1)), tf.float32) for _ in range(2))

    def network(x: Any, t: Any) -> Any:
        hidden = tf.concat([x, t], 1)
        for w, b in layers[:-1]:
            hidden = tf.tanh(hidden @ w + b)
        return hidden @ layers[-1][0] + layers[-1][1]

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as tape:
            x, t = inside[:, :1], inside[:, 1:]
            with tf.GradientTape() as second:
                second.watch(x)
                with tf.GradientTape() as first:
                    first.watch((x, t))
                    u = network(x, t)
                u_x, u_t = first.gradient(u, (x, t))
            u_xx = second.gradient(u_x, x)
            at_start = network(start, tf.zeros_like(start)) - tf.sin(np.pi * start)
            at_ends = tf.stack([network(tf.fill(times.shape, end), times) for end in (0.0, 1.0)])
            loss = sum(tf.reduce_mean(part**2) for part in (u_t - 0.1 * u_xx, at_start, at_ends))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    losses: list[float] = []

    def run(steps: int) -> None:
        for _ in range(steps):
            loss = step()
        losses.append(float(loss))

    few, many = (2, 6) if quick else (50, 550)
    return {**seconds(run, few, many), "check": losses[-1]}


PORTS = {"dqn": dqn, "transformer": transformer, "heat": heat}


if __name__ == "__main__":
    tf.random.set_seed(0)
    found = {name: port("--quick" in sys.argv) for name, port in PORTS.items()}
    print(json.dumps({**found, "version": tf.__version__}))
