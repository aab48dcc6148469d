"""An adaptive integrator of the van der Pol oscillator, and its gradient; a string of fifty small branches."""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from typing import Any

import numpy as np

from autograph.tools.bench.workloads.workload import Program, Workload

# Heun's method with an error estimate: a step is accepted or made smaller.

_MOST_STEPS = 2048


def _oscillator(xp: Any) -> Program:
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
            h = h * min(2.0, max(0.3, 0.9 * (1e-3 / error) ** 0.5))
            if t + h > end:
                h = end - t + 1e-6
        return x, v

    return integrate


def _step_by_hand() -> Any:
    import jax.numpy as jnp
    from jax import lax

    def step(carry, mu, end):
        t, h, x, v = carry
        ax = v
        av = mu * (1.0 - x * x) * v - x
        bx = v + h * av
        bv = mu * (1.0 - (x + h * ax) * (x + h * ax)) * (v + h * av) - (x + h * ax)
        error = 0.5 * h * (jnp.abs(bx - ax) + jnp.abs(bv - av)) + 1e-9
        t, x, v = lax.cond(
            error < 1e-3,
            lambda: (t + h, x + 0.5 * h * (ax + bx), v + 0.5 * h * (av + bv)),
            lambda: (t, x, v),
        )
        h = h * jnp.minimum(2.0, jnp.maximum(0.3, 0.9 * (1e-3 / error) ** 0.5))
        return t, jnp.where(t + h > end, end - t + 1e-6, h), x, v

    return step


def _oscillator_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    step = _step_by_hand()

    def integrate(x, v, mu, end):
        start = (jnp.float32(0.0), jnp.float32(0.01), x, v)
        return lax.while_loop(lambda c: c[0] < end, lambda c: step(c, mu, end), start)[2:]

    return {"straightforward": integrate}


def _gradient(xp: Any) -> Program:
    import jax

    integrate = _oscillator(xp)

    def gradient(x, v, mu, end):
        return jax.grad(lambda x, v, mu: integrate(x, v, mu, end)[0], (0, 1, 2))(x, v, mu)

    return gradient


def _gradient_by_hand() -> Mapping[str, Program]:
    import jax
    import jax.numpy as jnp
    from jax import lax

    step = _step_by_hand()

    def to_a_bound(x, v, mu, end):
        """What people write, as `lax.while_loop` has no reverse mode: a scan to a bound on the number of steps."""

        def body(carry, _):
            goes_on = carry[0] < end
            return jax.tree.map(lambda a, b: jnp.where(goes_on, a, b), step(carry, mu, end), carry), None

        start = (jnp.float32(0.0), jnp.float32(0.01), x, v)
        return lax.scan(body, start, None, length=_MOST_STEPS)[0][2]

    @jax.custom_vjp
    def kept(x, v, mu, end):
        return forward(x, v, mu, end)[0]

    def forward(x, v, mu, end):
        """All states are kept on the way."""
        rows = jnp.zeros((_MOST_STEPS, 4))

        def body(carry):
            k, state, rows = carry
            rows = lax.dynamic_update_slice(rows, jnp.stack(state)[None], (k, 0))
            return k + 1, step(state, mu, end), rows

        start = (jnp.float32(0.0), jnp.float32(0.01), x, v)
        count, last, rows = lax.while_loop(lambda c: c[1][0] < end, body, (0, start, rows))
        return last[2], (count, rows, mu, end)

    def backward(given, cotangent):
        count, rows, mu, end = given

        def body(carry):
            k, back, sums = carry
            state = lax.dynamic_slice(rows, (k, 0), (1, 4))[0]
            _, pull = jax.vjp(lambda state, mu: step(state, mu, end), tuple(state), mu)
            back, more = pull(back)
            return k - 1, back, sums + more

        zero = jnp.float32(0.0)
        _, back, sums = lax.while_loop(lambda c: c[0] >= 0, body, (count - 1, (zero, zero, cotangent, zero), zero))
        return back[2], back[3], sums, None

    kept.defvjp(forward, backward)
    return {
        "straightforward": jax.grad(to_a_bound, (0, 1, 2)),
        "best": jax.grad(kept, (0, 1, 2)),
    }


# Fifty small branches in a row.


def branches_source(count: int) -> str:
    """A program of so many branches, four statements each."""
    lines = ["def branches(x, n):", "    y = 0.5", "    for k in range(n):"]
    for k in range(count):
        lines += [
            f"        if x > {k / count:.3f}:",
            f"            y = y * 0.5 + {k % 7}.0",
            "            x = x - 0.013",
            "        else:",
            f"            x = x + {0.01 + k / 1000:.3f}",
        ]
    return "\n".join([*lines, "    return x, y", ""])


def program_of(source: str, name: str, xp: Any) -> Program:
    """The function of this source, which `inspect` can find again."""
    filename = f"<{name} of {len(source)} characters>"
    linecache.cache[filename] = len(source), None, source.splitlines(keepends=True), filename
    namespace: dict[str, Any] = {"xp": xp, "__name__": __name__}
    exec(compile(source, filename, "exec"), namespace)
    function: Program = namespace[name]
    return function


def _branches(xp: Any) -> Program:
    return program_of(branches_source(50), "branches", xp)


def _branches_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    def with_cond(x, n):
        def body(_, carry):
            for k in range(50):

                def taken(x, y, k=k):
                    return x - 0.013, y * 0.5 + k % 7

                def other(x, y, k=k):
                    return x + round(0.01 + k / 1000, 3), y

                carry = lax.cond(carry[0] > round(k / 50, 3), taken, other, *carry)
            return carry

        return lax.fori_loop(0, n, body, (x, jnp.float32(0.5)))

    def with_select(x, n):
        def body(_, carry):
            x, y = carry
            for k in range(50):
                above = x > round(k / 50, 3)
                x, y = (
                    jnp.where(above, x - 0.013, x + round(0.01 + k / 1000, 3)),
                    jnp.where(above, y * 0.5 + k % 7, y),
                )
            return x, y

        return lax.fori_loop(0, n, body, (x, jnp.float32(0.5)))

    return {"straightforward": with_cond, "best": with_select}


def _oscillation(end: float) -> Any:
    return lambda quick: tuple(map(np.float32, (2.0, 0.0, 1.5, 0.5 if quick else end)))


_JAX_ONLY = {name: "the gradient is taken with jax.grad" for name in ("numba", "tensorflow", "catalyst")}

ODE = [
    Workload(
        "ode",
        "an adaptive integrator, about 1,000 steps, each accepted or not",
        _oscillator,
        _oscillation(25.0),
        _oscillator_by_hand,
    ),
    Workload("ode-gradient", "its gradient, in reverse", _gradient, _oscillation(25.0), _gradient_by_hand, _JAX_ONLY),
    Workload(
        "branches",
        "a string of 50 small branches, 10,000 times",
        _branches,
        lambda quick: (np.float32(0.4), np.int32(3 if quick else 10_000)),
        _branches_by_hand,
    ),
]
