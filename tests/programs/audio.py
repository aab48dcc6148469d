"""Audio: effects with buffers, and pitch."""

from __future__ import annotations

from tests.programs import program


class RingBuffer:
    def __init__(self, size):
        self.data = [0.0] * size
        self.head = 0

    def __len__(self):
        return len(self.data)

    def __getitem__(self, delay):
        return self.data[(self.head - delay) % len(self)]

    def push(self, v):
        self.data[self.head] = v
        self.head = (self.head + 1) % len(self)


@program(([1.0, 0.0, 0.0, 0.5, 0.0, 0.0], 2, 0.5), ([0.0] * 6, 3, 0.9), ([2.0, 2.0, 2.0], 1, 0.1))
def ring_buffer_echo(xs, delay, gain):
    buffer = RingBuffer(4)
    out = []
    clipped = False
    for x in xs:
        y = x + gain * buffer[delay]
        if y > 1.0:
            y = 1.0
            clipped = True
        buffer.push(y)
        out.append(y)
    return out, clipped, buffer.head


@program(([0.0, 1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 1.0],), ([0.0] * 10,), ([1.0, -1.0, 1.0, -1.0],))
def pitch_by_autocorrelation(xs):
    n = len(xs)
    r0 = sum(x * x for x in xs)
    if r0 == 0:
        return None
    best_lag = -1
    best = 0.0
    for lag in range(1, n // 2 + 1):
        r = 0.0
        for i in range(n - lag):
            r += xs[i] * xs[i + lag]
        r /= r0
        if r > best + 1e-9:
            best, best_lag = r, lag
    return best_lag, best
