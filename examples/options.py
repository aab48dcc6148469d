"""American options: a table of prices with early exercise, and their gradients.

A `for` loop traverses a binomial tree backwards. At each node the option holder takes the better of two choices; an `if` skips steps
without early exercise. The price is a plain Python function: `jax.grad` differentiates it (delta, vega), and bisection with a `while`
and a `return` inverts it (implied volatility).

`python examples/options.py` prints the table.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

import autograph as ag

STEPS = 200


@ag.convert
def price(spot, strike, volatility, rate=0.05, years=1.0, american=True):
    """The price of a put option.

    Args:
      spot, strike, volatility, rate, years: scalars.
      american: whether it may be exercised before its end.
    """
    dt = years / STEPS
    up = jnp.exp(volatility * jnp.sqrt(dt))
    chance = (jnp.exp(rate * dt) - 1 / up) / (up - 1 / up)
    discount = jnp.exp(-rate * dt)
    ends = jnp.arange(STEPS + 1)
    values = jnp.maximum(strike - spot * up ** (2.0 * ends - STEPS), 0)
    for step in range(STEPS - 1, -1, -1):
        values = discount * (chance * jnp.roll(values, -1) + (1 - chance) * values)
        if american:
            exercised = jnp.maximum(strike - spot * up ** (2.0 * ends - step), 0)
            alive = ends <= step
            if jnp.any(alive & (exercised > values)):
                values = jnp.where(alive, jnp.maximum(values, exercised), values)
    return values[0]


@ag.convert
def implied_volatility(target, spot, strike):
    """The volatility at which an option has this price, by bisection; NaN if there is none."""
    low, high = 0.01, 2.0
    if target < price(spot, strike, low) or target > price(spot, strike, high):
        return jnp.nan
    while high - low > 1e-4:
        middle = (low + high) / 2
        if price(spot, strike, middle) < target:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def main() -> list[dict[str, float]]:
    rows = []
    greeks = jax.jit(jax.value_and_grad(price, argnums=(0, 2)))
    european = jax.jit(lambda *args: price(*args, american=False))
    invert = jax.jit(implied_volatility)
    for spot in (90.0, 95.0, 100.0, 110.0, 120.0):
        value, (delta, vega) = greeks(spot, 100.0, 0.2)
        rows.append(
            {
                "spot": spot,
                "American": float(value),
                "European": float(european(spot, 100.0, 0.2)),
                "delta": float(delta),
                "vega": float(vega),
                "implied": float(invert(value, spot, 100.0)),
            }
        )
    return rows


if __name__ == "__main__":
    table = main()
    print("".join(f"{name:>10}" for name in table[0]))
    for row in table:
        print("".join(f"{value:10.3f}" for value in row.values()))
