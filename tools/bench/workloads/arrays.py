"""Item assignment in loops: filters, noise gates, an average, bubble sort, the sieve of Eratosthenes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograph.tools.bench.workloads.workload import Program, Workload

# A second-order IIR filter: one output sample for each input sample.


def _iir(xp: Any) -> Program:
    def iir(signal):
        out = xp.zeros_like(signal)
        y1 = 0.0
        y2 = 0.0
        for k, x in enumerate(signal):
            y = 0.2 * x + 1.2 * y1 - 0.5 * y2
            out[k] = y
            y2 = y1
            y1 = y
        return out

    return iir


def _iir_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    def with_set(signal):
        def body(k, carry):
            out, y1, y2 = carry
            y = 0.2 * signal[k] + 1.2 * y1 - 0.5 * y2
            return out.at[k].set(y), y, y1

        return lax.fori_loop(0, len(signal), body, (jnp.zeros_like(signal), 0.0, 0.0))[0]

    def with_scan(signal):
        def body(carry, x):
            y1, y2 = carry
            y = 0.2 * x + 1.2 * y1 - 0.5 * y2
            return (y, y1), y

        return lax.scan(body, (0.0, 0.0), signal)[1]

    return {"straightforward": with_set, "best": with_scan}


# A noise gate: a sample is written only where the level is high enough.


def _gate(xp: Any) -> Program:
    def gate(signal):
        out = xp.zeros_like(signal)
        level = 0.0
        for k, x in enumerate(signal):
            level = 0.95 * level + 0.05 * abs(x)
            if level > 0.4:
                out[k] = x
        return out

    return gate


def _gate_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    def with_cond(signal):
        def body(k, carry):
            out, level = carry
            x = signal[k]
            level = 0.95 * level + 0.05 * jnp.abs(x)
            return lax.cond(level > 0.4, lambda: out.at[k].set(x), lambda: out), level

        return lax.fori_loop(0, len(signal), body, (jnp.zeros_like(signal), 0.0))[0]

    def with_scan(signal):
        def body(level, x):
            level = 0.95 * level + 0.05 * jnp.abs(x)
            return level, jnp.where(level > 0.4, x, 0.0)

        return lax.scan(body, 0.0, signal)[1]

    return {"straightforward": with_cond, "best": with_scan}


# A noise gate without a memory, an exponential average, a biquad in direct form.


def _threshold(xp: Any) -> Program:
    def threshold(signal):
        out = xp.zeros_like(signal)
        for k, x in enumerate(signal):
            if abs(x) > 0.4:
                out[k] = x
            else:
                out[k] = 0.0
        return out

    return threshold


def _threshold_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    def with_select(signal):
        def body(k, out):
            x = signal[k]
            return out.at[k].set(jnp.where(jnp.abs(x) > 0.4, x, 0.0))

        return lax.fori_loop(0, len(signal), body, jnp.zeros_like(signal))

    def at_once(signal):
        return jnp.where(jnp.abs(signal) > 0.4, signal, 0.0)

    return {"straightforward": with_select, "best": at_once}


def _average(xp: Any) -> Program:
    def average(signal):
        out = xp.zeros_like(signal)
        level = 0.0
        for k, x in enumerate(signal):
            level = 0.9 * level + 0.1 * x
            out[k] = level
        return out

    return average


def _average_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    def with_set(signal):
        def body(k, carry):
            out, level = carry
            level = 0.9 * level + 0.1 * signal[k]
            return out.at[k].set(level), level

        return lax.fori_loop(0, len(signal), body, (jnp.zeros_like(signal), 0.0))[0]

    def unrolled(signal):
        def body(level, x):
            level = 0.9 * level + 0.1 * x
            return level, level

        return lax.scan(body, 0.0, signal, unroll=8)[1]

    return {"straightforward": with_set, "best": unrolled}


def _biquad(xp: Any) -> Program:
    def biquad(signal):
        out = xp.zeros_like(signal)
        x1 = x2 = y1 = y2 = signal[0] * 0
        for k, x in enumerate(signal):
            y = 0.2 * x + 0.3 * x1 + 0.2 * x2 + 0.5 * y1 - 0.1 * y2
            out[k] = y
            x2 = x1
            x1 = x
            y2 = y1
            y1 = y
        return out

    return biquad


def _biquad_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    def filtered(x, x1, x2, y1, y2):
        return 0.2 * x + 0.3 * x1 + 0.2 * x2 + 0.5 * y1 - 0.1 * y2

    def with_set(signal):
        def body(k, carry):
            out, x1, x2, y1, y2 = carry
            y = filtered(signal[k], x1, x2, y1, y2)
            return out.at[k].set(y), signal[k], x1, y, y1

        return lax.fori_loop(0, len(signal), body, (jnp.zeros_like(signal), 0.0, 0.0, 0.0, 0.0))[0]

    def unrolled(signal):
        def body(carry, x):
            x1, x2, y1, y2 = carry
            y = filtered(x, x1, x2, y1, y2)
            return (x, x1, y, y1), y

        return lax.scan(body, (0.0, 0.0, 0.0, 0.0), signal, unroll=8)[1]

    return {"straightforward": with_set, "best": unrolled}


# Bubble sort.


def _bubble(xp: Any) -> Program:
    def bubble_sort(values, n):
        x = xp.copy(values)
        for i in range(n - 1):
            swapped = False
            for j in range(n - 1 - i):
                if x[j] > x[j + 1]:
                    x[j], x[j + 1] = x[j + 1], x[j]
                    swapped = True
            if not swapped:
                break
        return x

    return bubble_sort


def _bubble_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    def over(compare):
        def bubble_sort(values, n):
            def outer(carry):
                i, x, _ = carry
                x, swapped = lax.fori_loop(0, n - 1 - i, compare, (x, False))
                return i + 1, x, swapped

            return lax.while_loop(lambda c: (c[0] < n - 1) & c[2], outer, (0, values, True))[1]

        return bubble_sort

    def with_cond(j, carry):
        x, swapped = carry
        return lax.cond(
            x[j] > x[j + 1],
            lambda: (x.at[j].set(x[j + 1]).at[j + 1].set(x[j]), True),
            lambda: (x, swapped),
        )

    def reading_first(j, carry):
        x, swapped = carry
        a, b = x[j], x[j + 1]  # all that is read, before anything is written
        return lax.cond(
            a > b,
            lambda: (lax.dynamic_update_slice(x, jnp.stack([b, a]), (j,)), True),
            lambda: (x, swapped),
        )

    return {"straightforward": over(with_cond), "best": over(reading_first)}


# The sieve of Eratosthenes.


def _sieve(xp: Any) -> Program:
    def sieve(marks, n):
        prime = xp.copy(marks)
        for p in range(2, n):
            if p * p >= n:
                break
            if prime[p]:
                for m in range(p * p, n, p):
                    prime[m] = False
        return prime

    return sieve


def _sieve_by_hand() -> Mapping[str, Program]:
    from jax import lax

    def sieve(marks, n):
        def strike(p, prime):
            return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + p, c[1].at[c[0]].set(False)), (p * p, prime))[1]

        def step(carry):
            p, prime = carry
            return p + 1, lax.cond(prime[p], lambda: strike(p, prime), lambda: prime)

        return lax.while_loop(lambda c: c[0] * c[0] < n, step, (2, marks))[1]

    def without_cond(marks, n):
        def step(carry):
            p, prime = carry
            first = p * p + n * (1 - prime[p])  # nothing to strike out for a number that is not prime

            def strike(c):
                return c[0] + p, c[1].at[c[0]].set(False)

            return p + 1, lax.while_loop(lambda c: c[0] < n, strike, (first, prime))[1]

        return lax.while_loop(lambda c: c[0] * c[0] < n, step, (2, marks))[1]

    return {"straightforward": sieve, "best": without_cond}


def _signal(quick: bool) -> tuple[Any, ...]:
    return (np.random.default_rng(0).normal(size=64 if quick else 100_000).astype(np.float32),)


def _numbers(quick: bool) -> tuple[Any, ...]:
    n = 12 if quick else 200
    return np.random.default_rng(1).normal(size=n).astype(np.float32), np.int32(n)


def _marks(quick: bool) -> tuple[Any, ...]:
    n = 60 if quick else 20_000
    return np.ones(n, np.bool_), np.int32(n)


ARRAYS = [
    Workload("iir", "a second-order IIR filter that writes 100,000 samples", _iir, _signal, _iir_by_hand),
    Workload("gate", "a noise gate that writes some of 100,000 samples", _gate, _signal, _gate_by_hand),
    Workload("threshold", "a gate without a memory over 100,000 samples", _threshold, _signal, _threshold_by_hand),
    Workload("average", "an exponential average of 100,000 samples", _average, _signal, _average_by_hand),
    Workload("biquad", "a biquad in direct form over 100,000 samples", _biquad, _signal, _biquad_by_hand),
    Workload("bubble", "bubble sort of 200 floats, left early when sorted", _bubble, _numbers, _bubble_by_hand),
    Workload("sieve", "the sieve of Eratosthenes up to 20,000", _sieve, _marks, _sieve_by_hand),
]
