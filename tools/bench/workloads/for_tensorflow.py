"""The programs that TensorFlow cannot run as they stand, as its users write them.

It has no item assignment (a TensorArray or ``tensor_scatter_nd_update`` replaces it), no product of a vector with a
matrix by ``@``, no `min` and `max` of tensors, and refuses a ``break`` out of a Python ``range``.
"""

from __future__ import annotations

from typing import Any

from autograph.tools.bench.workloads.workload import Program


def iir(tf: Any) -> Program:
    def iir(signal):
        out = tf.TensorArray(tf.float32, size=tf.shape(signal)[0])
        y1 = 0.0
        y2 = 0.0
        for k in tf.range(tf.shape(signal)[0]):
            y = 0.2 * signal[k] + 1.2 * y1 - 0.5 * y2
            out = out.write(k, y)
            y2 = y1
            y1 = y
        return out.stack()

    return iir


def gate(tf: Any) -> Program:
    def gate(signal):
        out = tf.TensorArray(tf.float32, size=tf.shape(signal)[0])
        level = 0.0
        for k in tf.range(tf.shape(signal)[0]):
            x = signal[k]
            level = 0.95 * level + 0.05 * tf.abs(x)
            out = out.write(k, tf.where(level > 0.4, x, 0.0))
        return out.stack()

    return gate


def bubble(tf: Any) -> Program:
    def bubble_sort(values, n):
        x = values
        for i in tf.range(n - 1):
            swapped = False
            for j in tf.range(n - 1 - i):
                if x[j] > x[j + 1]:
                    x = tf.tensor_scatter_nd_update(x, [[j], [j + 1]], [x[j + 1], x[j]])
                    swapped = True
            if not swapped:
                break
        return x

    return bubble_sort


def sieve(tf: Any) -> Program:
    def sieve(marks, n):
        prime = marks
        for p in tf.range(2, n):
            if p * p >= n:
                break
            if prime[p]:
                for m in tf.range(p * p, n, p):
                    prime = tf.tensor_scatter_nd_update(prime, [[m]], [False])
        return prime

    return sieve


def decode(tf: Any) -> Program:
    def decode(embedding, recurrent, output, limit):
        h = tf.zeros_like(recurrent[:1])
        token = 1
        count = 0
        total = 0
        while count < limit:
            h = tf.tanh(h @ recurrent + embedding[token])
            token = tf.argmax(h @ output, axis=1, output_type=tf.int32)[0]
            total = total + token
            count += 1
            if token == 0:
                break
        return h[0], token, count, total

    return decode


def train(tf: Any) -> Program:
    def train(images, targets, w1, w2, epochs, rate):
        error = 0.0
        best = 1e9
        waited = 0
        done = 0
        for _ in tf.range(epochs):
            error = 0.0
            for k in tf.range(tf.shape(images)[0]):
                x = images[k]
                hidden = tf.tanh(x @ w1)
                wrong = hidden @ w2 - targets[k]
                back = (wrong @ tf.transpose(w2)) * (1.0 - hidden * hidden)
                w2 = w2 - rate * (tf.transpose(hidden) @ wrong)
                w1 = w1 - rate * (tf.transpose(x) @ back)
                error = error + tf.reduce_mean(wrong * wrong)
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


def newton(tf: Any) -> Program:
    def newton(n):
        total = 0.0
        a = 0.0
        for _ in tf.range(n):
            a += 1.0
            x = a
            for _ in tf.range(60):
                new = 0.5 * (x + a / x)
                if abs(new - x) <= 1e-6 * new:
                    break
                x = new
            total += x
        return total

    return newton


def ode(tf: Any) -> Program:
    def integrate(x, v, mu, end):
        t = 0.0
        h = 0.01
        while t < end:
            ax = v
            av = mu * (1.0 - x * x) * v - x
            bx = v + h * av
            bv = mu * (1.0 - (x + h * ax) * (x + h * ax)) * (v + h * av) - (x + h * ax)
            error = 0.5 * h * (abs(bx - ax) + abs(bv - av)) + 1e-9
            if error < 1e-3:
                t = t + h
                x = x + 0.5 * h * (ax + bx)
                v = v + 0.5 * h * (av + bv)
            h = h * tf.minimum(2.0, tf.maximum(0.3, 0.9 * (1e-3 / error) ** 0.5))
            if t + h > end:
                h = end - t + 1e-6
        return x, v

    return integrate


VARIANTS = {
    "newton": newton,
    "ode": ode,
    "iir": iir,
    "gate": gate,
    "bubble": bubble,
    "sieve": sieve,
    "decode": decode,
    "train": train,
}
