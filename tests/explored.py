"""Programs that pages are made of."""

from __future__ import annotations

import jax.numpy as jnp

import autograph as ag

seen = ag.Variable(0, name="seen")


def smallest(values):
    """The last of the smallest values, and how often the smallest changed."""
    best = None
    changes = 0
    for value in values:
        if value < 0:
            raise ValueError("only counts")
        if best is None or value <= best:
            best = value
            changes += 1
        seen.assign_add(1)
    return best, changes


def newton(x, limit=50):
    """The square roots of all elements."""
    guess, count = x, 0
    while jnp.max(jnp.abs(guess * guess - x)) > 1e-3 and count < limit:
        if jnp.any(guess <= 0):
            guess = jnp.linalg.inv(jnp.outer(guess, guess) + jnp.eye(4)) @ guess
        else:
            if count > 2:
                step = 0.9
            else:
                step = 1.0
            guess = guess + step * (x / guess - guess) / 2
        count += 1
    return guess, count


def nasty(x, text="</script><img src=x onerror='document.title=1'><b id=bad>"):
    name = "</script><img src=x onerror=\"document.title='bad'\"><i id='bad'>&amp;"
    while x < 10:
        x = x * 2 if len(name) > 3 else x  # </textarea><svg onload=document.title='bad'>
    return x


def differs(x):
    if x > 0:
        y = {1, 2}
    else:
        y = "</script><img src=x onerror=\"document.title='bad'\">"
    return y


def collatz(n):
    """How many steps it takes to 1."""
    if n == 1:
        return 0
    if n % 2 == 0:
        return 1 + collatz(n // 2)
    return 1 + collatz(3 * n + 1)


def root(x):
    if x < 0:
        raise ValueError("negative")
    return jnp.sqrt(x)


def root_or_zero(x):
    try:
        found = root(x)
    except ValueError:
        found = jnp.zeros_like(x)
    return found
