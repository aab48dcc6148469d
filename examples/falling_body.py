"""Estimate the drag on a falling body from the time of its impact, with the gradient through a diffrax event.

The vector field branches on the direction of motion, and the event ends the integration at the ground.
`pip install diffrax optax`, then `python examples/falling_body.py` prints a table.
"""

from __future__ import annotations

import diffrax
import jax.numpy as jnp
import optax
import optimistix

import autograph as ag

THROWN = 10.0  # m/s, upwards
OBSERVED = 1.833409  # s, from the throw to the impact


@ag.convert
def field(t, y, args):
    (_, speed), drag = y, args
    if speed > 0:
        return speed, -9.81 - drag * speed**2
    return speed, -9.81 + drag * speed**2


@ag.convert
def above_ground(t, y, args, **_):
    if t < 0.1:  # it starts from there
        return 1.0
    return y[0]


def landing_time(drag):
    """Seconds until a body that is thrown upwards is back."""
    found = diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Tsit5(),
        0.0,
        5.0,
        0.1,
        (jnp.array(0.0), jnp.array(THROWN)),
        args=drag,
        stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-5),
        event=diffrax.Event(above_ground, optimistix.Newton(1e-5, 1e-5)),
        max_steps=64,
    )
    return found.ts[0]


def main(steps: int = 60) -> dict[str, float]:
    drag = ag.Variable(0.0, name="drag")
    optimizer = ag.optim.from_optax(optax.adam(0.01))

    @ag.function
    def fit(observed, steps):
        first = landing_time(drag.value)
        for _ in ag.range(steps):
            error = optimizer.minimize(lambda: (landing_time(drag.value) - observed) ** 2, [drag])
        return first, error

    without_drag, error = fit(jnp.array(OBSERVED), jnp.array(steps))
    return {
        "without drag": float(without_drag),
        "drag": float(drag),
        "time": float(landing_time(drag.value)),
        "error": float(error),
    }


if __name__ == "__main__":
    found = main()
    print("model           drag  landing time (s)")
    print(f"without drag  {0:6.3f}  {found['without drag']:16.3f}")
    print(f"fitted        {found['drag']:6.3f}  {found['time']:16.3f}")
    print(f"observed              {OBSERVED:16.3f}")
