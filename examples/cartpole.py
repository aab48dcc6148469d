"""CartPole: an environment with the interface of gymnax, and a policy that the cross-entropy method finds.

An episode is a plain Python `while` loop that ends when the pole falls; `jax.vmap` runs one episode per candidate policy.
`python examples/cartpole.py` prints a table of the rewards of each round.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import autograph as ag

LIMIT = 200  # steps of an episode


class State(NamedTuple):
    x: jax.Array
    speed: jax.Array
    angle: jax.Array
    turning: jax.Array
    time: jax.Array


class CartPole:
    """The cart-pole system of Barto, Sutton and Anderson. `reset` and `step` return the observation first, as in gymnax."""

    def reset(self, key):
        x, speed, angle, turning = jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05)
        state = State(x, speed, angle, turning, jnp.array(0))
        return jnp.stack(state[:4]), state

    def step(self, key, state, action):
        force = -10.0
        if action == 1:
            force = 10.0
        sine, cosine = jnp.sin(state.angle), jnp.cos(state.angle)
        pushed = (force + 0.05 * state.turning**2 * sine) / 1.1
        turned = (9.8 * sine - cosine * pushed) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        moved = pushed - 0.05 * turned * cosine / 1.1
        state = State(
            state.x + 0.02 * state.speed,
            state.speed + 0.02 * moved,
            state.angle + 0.02 * state.turning,
            state.turning + 0.02 * turned,
            state.time + 1,
        )
        done = False
        if abs(state.x) > 2.4 or abs(state.angle) > 0.2094 or state.time >= LIMIT:
            done = True
        return jnp.stack(state[:4]), state, 1.0, done, {}


def episode(key, weights):
    """The reward of one episode under a linear policy."""
    env = CartPole()
    key, first = jax.random.split(key)
    seen, state = env.reset(first)
    total, done = 0.0, False
    while not done:
        key, drawn = jax.random.split(key)
        action = 0
        if seen @ weights > 0:
            action = 1
        seen, state, reward, done, _ = env.step(drawn, state, action)
        total += reward
    return total


@ag.function
def train(key, rounds, candidates=64, kept=8):
    """Rewards, by rounds, of the best candidates' mean; and that mean."""
    mean, spread = jnp.zeros(4), jnp.ones(4)
    rewards = ag.TensorArray(jnp.float32, size=rounds)
    for k in range(rounds):
        key, drawn, played = jax.random.split(key, 3)
        weights = mean + spread * jax.random.normal(drawn, (candidates, 4))
        found = jax.vmap(episode)(jax.random.split(played, candidates), weights)
        best = weights[jnp.argsort(-found)[:kept]]
        mean, spread = best.mean(0), best.std(0) + 0.05
        rewards = rewards.write(k, found.mean())
    return rewards.stack(), mean


def main(rounds: int = 8) -> dict[str, Any]:
    rewards, weights = train(jax.random.key(0), rounds)
    after = ag.function(jax.vmap(ag.convert(episode), (0, None)))(jax.random.split(jax.random.key(1), 16), weights)
    return {
        "rewards": rewards.tolist(),
        "first": float(rewards[0]),
        "last": float(rewards[-1]),
        "after": float(after.mean()),
    }


if __name__ == "__main__":
    found = main()
    print("round  mean reward of the best candidates")
    for number, reward in enumerate(found["rewards"], 1):
        print(f"{number:5}  {reward:5.1f}  {'#' * round(reward / 5)}")
    print(f"mean reward of 16 new episodes with the final policy: {found['after']:.1f}")
