"""Lists that grow in loops."""

import jax.numpy as jnp

from tests.corpus import floats, program


@program(examples=[(1.0, 4)], static=("n",))
def append_in_a_python_loop(x, n):
    trace = []
    for _ in range(n):
        x = x * 0.5
        trace.append(x)
    return jnp.stack(trace)


@program(examples=[(floats(1, 2, 3),), (floats(-1, 2, -3),)])
def append_per_element(xs):
    out = []
    for x in xs:
        if x > 0:
            out.append(x * 2)
        else:
            out.append(-x)
    return jnp.stack(out)


@program(examples=[(floats(1, 2, 3),)])
def length_after_appends(xs):
    out = [xs[0]]
    for x in xs:
        out.append(x)
    return len(out), out[0], out[-1]


@program(examples=[(floats(1, 2, 3),)])
def pop_again(xs):
    out = []
    for x in xs:
        out.append(x)
    last = out.pop()
    return last, jnp.stack(out)


@program(examples=[(3.0,), (-3.0,)])
def append_in_both_branches(x):
    out = [x]
    if x > 0:
        out.append(x * 2)
    else:
        out.append(x * 3)
    return out


@program(examples=[(floats(1, 2, 3),)])
def two_lists(xs):
    doubled, squared = [], []
    for x in xs:
        doubled.append(2 * x)
        squared.append(x * x)
    total = 0.0
    for d, s in zip(doubled, squared, strict=True):
        total += d * s
    return total
