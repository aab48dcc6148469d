"""Sampled signals."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from tests.programs import program


@program(([0.0, 1.0, 0.2, 5.0, 0.1, 1.0, 0.0, 0.3],), ([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0],), grad=True)
def median_of_three(signal):
    out = [signal[0]]
    replaced = 0
    for a, b, c in zip(signal, signal[1:], signal[2:]):
        if a > b:
            a, b = b, a
        if b > c:
            b, c = c, b
        if a > b:
            a, b = b, a
        out.append(b)
    out.append(signal[-1])
    for old, new in zip(signal, out):
        if old != new:
            replaced += 1
    return out, replaced


@program(
    ([0.1, 0.6, 0.8, 0.4, 0.2, 0.7, 0.9, 0.1],),
    ([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],),
)
def schmitt_trigger(signal):
    state = "low"
    edges = []
    for k, v in enumerate(signal):
        if state == "low" and v > 0.65:
            state = "high"
            edges.append((k, "up"))
        elif state == "high" and v < 0.35:
            state = "low"
            edges.append((k, "down"))
    ups = sum(1 for _, kind in edges if kind == "up")
    return len(edges), ups, state


@program((np.array([1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0]),), (np.array([1.0, 2.0, 3.0, 4.0, 4.0, 3.0, 2.0, 1.0]),))
def fourier(samples):
    """The strongest frequency by the sums as the textbook has them."""
    n = len(samples)
    strongest, power = 0, -1.0
    spectrum = []
    for k in range(n // 2 + 1):
        re = im = 0.0
        for t in range(n):
            angle = 2 * math.pi * k * t / n
            re += samples[t] * math.cos(angle)
            im -= samples[t] * math.sin(angle)
        p = re * re + im * im
        spectrum.append(p)
        if p > power + 1e-9:
            power = p
            strongest = k
    return strongest, spectrum


def fft(x):
    n = len(x)
    if n == 1:
        return x
    even, odd = fft(x[0::2]), fft(x[1::2])
    out = [0j] * n
    for k in range(n // 2):
        w = complex(math.cos(2 * math.pi * k / n), -math.sin(2 * math.pi * k / n))
        out[k] = even[k] + w * odd[k]
        out[k + n // 2] = even[k] - w * odd[k]
    return out


@program(([1.0, 2.0, 3.0, 4.0], 4.0), ([1.0, -1.0, 1.0, -1.0], 1.0))
def fft_and_threshold(samples, threshold):
    spectrum = fft(samples)
    kept = []
    dropped = 0
    for value in spectrum:
        if abs(value) >= threshold:
            kept.append(value)
        else:
            kept.append(0j)
            dropped += 1
    energy = sum(abs(v) ** 2 for v in kept) / len(kept)
    return dropped, energy


class Biquad:
    def __init__(self, b0, b1, b2, a1, a2):
        self.b = (b0, b1, b2)
        self.a = (a1, a2)
        self.x1 = self.x2 = self.y1 = self.y2 = 0.0
        self.clipped = 0

    def __call__(self, x):
        y = self.b[0] * x + self.b[1] * self.x1 + self.b[2] * self.x2
        y -= self.a[0] * self.y1 + self.a[1] * self.y2
        if y > 1.0:
            y = 1.0
            self.clipped += 1
        elif y < -1.0:
            y = -1.0
            self.clipped += 1
        self.x2, self.x1 = self.x1, x
        self.y2, self.y1 = self.y1, y
        return y


@program(
    (np.array([1.0, 0.5, -3.0, 2.0, 0.0, 0.0, 4.0]), 0.3),
    (np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]), 0.9),
    grad=True,
)
def filtered(samples, gain):
    biquad = Biquad(gain, 2 * gain, gain, -0.4, 0.2)
    total = 0.0
    last = 0.0
    for x in samples:
        last = biquad(x)
        total += abs(last)
    return total, last, biquad.clipped


@program(([1.0, 5.0, 2.0, 8.0, 3.0, 9.0, 1.0, 0.0], 2.0), ([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 0.5))
def peaks(signal, prominence):
    found = []
    k = 1
    while k < len(signal) - 1:
        if signal[k] > signal[k - 1] and signal[k] > signal[k + 1]:
            left = min(signal[max(0, k - 3) : k])
            right = min(signal[k + 1 : k + 4])
            if signal[k] - max(left, right) >= prominence:
                found.append(k)
        k += 1
    if not found:
        return None
    gaps = [b - a for a, b in zip(found, found[1:])]
    return len(found), sum(gaps)


@program((np.array([3, 3, 3, 4, 9, 9, 9, 9]),), (np.array([1, 2, 3, 4, 5, 6, 7, 8]),))
def delta_code(samples):
    """Differences with a step that adapts, and what comes back from them."""
    step = 1
    predicted = 0
    codes = []
    rebuilt = []
    for s in samples:
        diff = s - predicted
        code = 0
        if diff < 0:
            code = 4
            diff = -diff
        if diff >= 2 * step:
            code += 2
        if diff % (2 * step) >= step:
            code += 1
        change = (code & 3) * step
        predicted += -change if code & 4 else change
        if (code & 3) == 3:
            step = min(8, step * 2)
        elif (code & 3) == 0:
            step = max(1, step // 2)
        codes.append(code)
        rebuilt.append(predicted)
    error = max(abs(a - b) for a, b in zip(samples, rebuilt))
    return codes, error


@program((np.array([0.0, 1.0, 2.0, 10.0, 3.0, 2.0, 1.0]),), (np.array([5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0]),))
def moving_window(samples):
    window = deque(maxlen=3)
    means, alarm = [], None
    for k, x in enumerate(samples):
        window.append(x)
        mean = sum(window) / len(window)
        means.append(mean)
        if alarm is None and x > 2 * mean and len(window) == 3:
            alarm = k
    return means, -1 if alarm is None else alarm


@program((np.array([0, 1, 1, 0, 1, 0, 0]),), (np.array([1, 1, 1, 1, 1, 1, 1]),))
def hamming(bits):
    """Four bits of data in seven; corrects one that is wrong."""
    word = list(bits)
    syndrome = 0
    for p in (1, 2, 4):
        parity = 0
        for position in range(1, 8):
            if position & p:
                parity ^= word[position - 1]
        if parity:
            syndrome += p
    if syndrome != 0:
        word[syndrome - 1] = 1 - word[syndrome - 1]
        status = "corrected"
    else:
        status = "clean"
    data = word[2] * 8 + word[4] * 4 + word[5] * 2 + word[6]
    return data, status, syndrome


@program((0.2, 0.9, 40), (0.5, 0.1, 40), static=("n",), grad=True)
def envelope(attack, release, n):
    level = 0.0
    loudest = 0.0
    for k in range(n):
        x = abs(math.sin(0.3 * k)) if k < n // 2 else 0.0
        if x > level:
            level += attack * (x - level)
        else:
            level += release * (x - level)
        if level > loudest:
            loudest = level
    return level, loudest
