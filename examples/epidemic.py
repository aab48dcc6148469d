"""An epidemic with lockdowns that depend on the occupancy of hospitals: a table and a plot.

Infections are drawn at random each day. The policy is an `if` with hysteresis (`closed` keeps its value between the two limits), and
the simulation ends with a `break` when nobody is infected. `jax.vmap` runs it for many random seeds.

`python examples/epidemic.py` prints a table of policies and writes epidemic.svg.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import autograph as ag

PEOPLE = 10_000
DAYS = 400


@ag.convert
def outbreak(key, close_at, open_at):
    """Simulate one outbreak; returns the days it lasts, all who fell ill, the most at once, and the curve.

    Args:
      key: a JAX key.
      close_at, open_at: numbers of infected people at which contacts close and open.
    """
    susceptible, infected = PEOPLE - 10.0, 10.0
    closed = False
    days_closed, peak = 0, 0.0
    curve = jnp.zeros(DAYS)
    for day in range(DAYS):
        curve[day] = infected
        peak = max(peak, infected)
        if infected > close_at:
            closed = True
        elif infected < open_at:
            closed = False
        contacts = 0.3
        if closed:
            contacts = 0.06
            days_closed += 1
        key, first, second = jax.random.split(key, 3)
        ill = susceptible * (1 - jnp.exp(-contacts * infected / PEOPLE))
        ill = jnp.clip(jnp.round(ill + jnp.sqrt(ill) * jax.random.normal(first)), 0, susceptible)
        well = infected * 0.1
        well = jnp.clip(jnp.round(well + jnp.sqrt(well) * jax.random.normal(second)), 0, infected)
        susceptible, infected = susceptible - ill, infected + ill - well
        if infected == 0:
            break
    return {"lasts": day + 1, "ill": PEOPLE - susceptible, "peak": peak, "closed": days_closed, "curve": curve}


def picture(curves: dict[str, np.ndarray]) -> str:
    """The curves as an SVG drawing."""
    width, height, top = 640, 260, max(curve.max() for curve in curves.values())
    colours = ["#4062bb", "#c8553d", "#3b8b5a"]
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">']
    parts.append(f'<rect width="{width}" height="{height}" fill="white"/>')
    for k, (name, curve) in enumerate(curves.items()):
        points = " ".join(
            f"{20 + 600 * day / len(curve):.1f},{240 - 220 * value / top:.1f}" for day, value in enumerate(curve)
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colours[k]}" stroke-width="2"/>')
        parts.append(f'<text x="430" y="{40 + 20 * k}" fill="{colours[k]}">{name}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main(runs: int = 200) -> dict[str, dict[str, float]]:
    policies = {"never closed": (jnp.inf, 0.0), "closed above 500": (500.0, 100.0), "closed above 200": (200.0, 50.0)}
    keys = jax.random.split(jax.random.key(0), runs)
    simulate = jax.jit(jax.vmap(outbreak, in_axes=(0, None, None)))
    found = {name: simulate(keys, *limits) for name, limits in policies.items()}
    return {name: {key: np.asarray(value) for key, value in each.items()} for name, each in found.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("epidemic.svg"))
    parser.add_argument("--runs", type=int, default=200)
    options = parser.parse_args()
    results = main(options.runs)
    print(f"{'policy':18}{'fell ill':>10}{'most at once':>14}{'days':>6}{'closed':>8}   (means of {options.runs} runs)")
    for policy, each in results.items():
        means = {key: value.mean() for key, value in each.items()}
        row = f"{means['ill']:10.0f}{means['peak']:14.0f}{means['lasts']:6.0f}{means['closed']:8.0f}"
        print(f"{policy:18}{row}")
    options.output.write_text(picture({name: each["curve"].mean(axis=0) for name, each in results.items()}))
    print(f"wrote {options.output}")
