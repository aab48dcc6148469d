"""Programs with loops, as users write them, of two real numbers; smooth at the points they are tried at."""

import jax
import jax.numpy as jnp

import autograph as ag


def no_bound(x, w):
    while abs(x) > 0.05:
        x = x * jnp.cos(w * x) * 0.6
    return x * w


def starts_in_python(x, w):
    error = float("inf")
    while error > 1e-3:
        new = 0.5 * jnp.cos(w * x)
        error = abs(new - x)
        x = new
    return x


def break_with_bound(x, w):
    total = x * 0
    for i in range(40):
        x = jnp.sin(x) * w
        total = total + x * (i + 1)
        if total > 6:
            break
    return total


def static_bound(x, w):
    for i in ag.range(7):
        x = jnp.sin(w * x) + 0.1 * i
    return x


def traced_count(x, w):
    for i in range(jnp.int32(3 + 4 * (x > 0))):
        x = jnp.tanh(w * x) + 0.05 * i
    return x


def over_an_array(x, w):
    for v in jnp.linspace(x, w, 9):
        x = x * jnp.cos(v)
        if x < 0.1:
            break
    return x * w


def indexes_an_array(x, w):
    table = jnp.sin(jnp.arange(1.0, 11.0) * w)
    i = 0
    while i < 10 and x < 3:
        x = x + table[i] ** 2
        i += 1
    return x * w


def writes_an_array(x, w):
    rows = jnp.zeros(12)
    i = 0
    while i < 12 and x > 0.1:
        rows = rows.at[i].set(x * w)
        x = 0.8 * jnp.sin(x)
        i += 1
    return (rows**2).sum()


def nested_twice(x, w):
    while x < 4:
        y = w
        while y < x + 1:
            y = y * 1.5 + 0.1 * x
        x = x + 0.3 * y
    return x


def nested_three_deep(x, w):
    for i in range(jnp.int32(2 + (x > 0))):
        for _ in range(3):
            y = x
            while abs(y) > 0.2:
                y = 0.5 * y * jnp.cos(w)
                if y > 10:
                    break
            x = x + y * w
            if x > 8:
                break
        x = x * 0.9 + 0.01 * i
    return x


def early_return(x, w):
    for i in range(30):
        x = x * w + 0.1
        if x > 5:
            return x * x
        if x < 0.02:
            return jnp.sin(x) + i
    return x


def newton(x, w):
    y = w + 1
    while abs(y * y * y - x) > 1e-12:
        y = y - (y * y * y - x) / (3 * y * y)
    return y * w


def fixed_point(x, w):
    y, change = x * 0, x * 0 + 1
    while change > 1e-13:
        new = jnp.cos(w * y) * x * 0.2
        change = abs(new - y)
        y = new
    return y


def adaptive_ode(x, w):
    """y' = -w y from y(0) = x to t = 1, by Heun's method with steps that keep the error small."""
    t, y, h = x * 0, x, x * 0 + 0.1
    while t < 1:
        h = jnp.minimum(h, 1 - t)
        k1 = -w * y
        k2 = -w * (y + h * k1)
        error = abs(h * (k2 - k1)) / 2
        if error < 1e-3:
            t, y = t + h, y + h * (k1 + k2) / 2
        h = h * jnp.clip(0.9 * jnp.sqrt(1e-3 / (error + 1e-12)), 0.3, 2.0)
    return y


def branch_in_loop(x, w):
    count = 0
    while count < 8:
        if x > 1:
            x = jnp.log(x) * w
        else:
            x = jnp.exp(x) * 0.9
        count += 1
    return x


def loop_in_branch(x, w):
    if x > 0:
        while x < 3:
            x = x * w + 0.4
    else:
        x = jnp.sqrt(-x) * w
    return x


def helper(x, w):
    while x > 1:
        x = x * 0.7 * jnp.cos(0.1 * w)
    return x


def loop_in_callee(x, w):
    for _ in range(4):
        x = helper(x + 1.5, w) * w
        if x > 20:
            break
    return x


def writes_a_tensor_array(x, w):
    states = ag.TensorArray(x.dtype, dynamic_size=True, max_size=20, element_shape=())
    i = 0
    while x > 0.15:
        states = states.write(i, x * w)
        x = 0.7 * jnp.sin(x)
        i += 1
    total = x
    for j in ag.range(i):
        total = total + states.read(j) ** 2 / (j + 1.0)
    return total


def beam_search(x, w):
    """The score of the best of two beams kept, over a chain of four tokens; it ends when the best has ended."""
    change = jax.nn.log_softmax(jnp.cos(jnp.arange(16.0).reshape(4, 4) * w + x), axis=1)
    scores = jnp.stack([x * 0, x * 0 - 0.3])
    last = jnp.array([1, 2])
    words = jnp.zeros((2, 6), jnp.int32)
    length = 0
    while length < 6 and last[0] != 0:
        extended = scores[:, None] + change[last] * (1 + 0.1 * w)
        scores, chosen = jax.lax.top_k(extended.reshape(-1), 2)
        words = words[chosen // 4].at[:, length].set(chosen % 4)
        last = chosen % 4
        length += 1
    return scores[0] / (length + 0.5) + scores[1] * 0.1 * words[0].sum()


PROGRAMS = [
    no_bound,
    starts_in_python,
    break_with_bound,
    static_bound,
    traced_count,
    over_an_array,
    indexes_an_array,
    writes_an_array,
    nested_twice,
    nested_three_deep,
    early_return,
    newton,
    fixed_point,
    adaptive_ode,
    branch_in_loop,
    loop_in_branch,
    loop_in_callee,
    writes_a_tensor_array,
    beam_search,
]
