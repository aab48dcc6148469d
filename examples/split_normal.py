"""Samples of a piecewise density with blackjax and numpyro, which use the same converted log density.

A split normal distribution has a different standard deviation on each side of its mode. `pip install blackjax numpyro`, then
`python examples/split_normal.py` prints a table.
"""

from __future__ import annotations

import blackjax
import jax
import jax.numpy as jnp
from numpyro.infer import HMC, MCMC

import autograph as ag

LEFT, RIGHT = 2.0, 1.0
MEAN = (2 / jnp.pi) ** 0.5 * (RIGHT - LEFT)
POSITIVE = RIGHT / (LEFT + RIGHT)


@ag.convert
def log_density(x):
    if x < 0:
        return -0.5 * (x / LEFT) ** 2
    return -0.5 * (x / RIGHT) ** 2


def by_blackjax(count):
    """The mean of the samples, and how many are positive: in one compiled loop, which keeps no sample."""
    kernel = blackjax.hmc(log_density, step_size=0.8, inverse_mass_matrix=jnp.ones(1), num_integration_steps=4)

    @ag.function
    def sample(key, count):
        state = kernel.init(jnp.array(0.5))
        total, positive, accepted = 0.0, 0, 0
        for _ in ag.range(count):
            key, drawn = jax.random.split(key)
            state, info = kernel.step(drawn, state)
            total += state.position
            if state.position > 0:
                positive += 1
            accepted += info.is_accepted
        return total / count, positive / count, accepted / count

    return sample(jax.random.key(0), jnp.array(count))


def by_numpyro(count):
    """The same of numpyro's samples."""
    fixed = {"adapt_step_size": False, "adapt_mass_matrix": False}  # as blackjax has them
    kernel = HMC(potential_fn=lambda x: -log_density(x), step_size=0.8, num_steps=4, **fixed)
    run = MCMC(kernel, num_warmup=50, num_samples=count, progress_bar=False)
    run.run(jax.random.key(0), init_params=jnp.array(0.5))
    samples = run.get_samples()
    return samples.mean(), (samples > 0).mean()


def main(count: int = 4000) -> dict[str, float]:
    mean, positive, accepted = by_blackjax(count)
    other_mean, other_positive = by_numpyro(count)
    return {
        "mean": float(MEAN),
        "mean by blackjax": float(mean),
        "mean by numpyro": float(other_mean),
        "positive": POSITIVE,
        "positive by blackjax": float(positive),
        "positive by numpyro": float(other_positive),
        "accepted": float(accepted),
    }


if __name__ == "__main__":
    found = main()
    print("sampler    mean  positive")
    for label, suffix in (("exact", ""), ("blackjax", " by blackjax"), ("numpyro", " by numpyro")):
        print(f"{label:8} {found['mean' + suffix]:6.3f}  {found['positive' + suffix]:8.3f}")
    print(f"accepted by blackjax: {found['accepted']:.0%}")
