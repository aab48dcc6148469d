"""Functions that `test_pickling` sends by name, and a model that it sends with its Variables."""

from __future__ import annotations

import autograph as ag


@ag.function(static_argnames="times")
def shrunk(x, times=2):
    """Halve what is large."""
    for _ in range(times):
        if x > 1:
            x = x / 2
    return x


@ag.convert
def magnitude(x):
    if x < 0:
        return -x
    return x


def steps(n):
    count = 0
    while n > 1:
        n = n // 2
        count += 1
    return count


compiled_steps = ag.function(steps)
converted_steps = ag.convert(steps)


class Account(ag.Module):
    def __init__(self, start):
        self.total = ag.Variable(start, name="total")
        self.stored = ag.function(self._doubled)

    def _doubled(self, x):
        if x > 0:
            x = x + x
        return x * self.total

    @ag.function
    def add(self, x):
        if x > 0:
            self.total.assign_add(x)
        return self.total.value

    doubled = ag.function(_doubled)


class Child(Account):
    @ag.function
    def add(self, x):
        return -super().add(x)
