"""Deep Q-learning with a replay buffer and a target network: the whole run is one compiled program.

The buffer, both networks, the optimizer state and the random state are Variables. The end of an episode, a learning
step and the update of the target network are plain `if` statements in a loop. `cartpole.py` defines the environment.
`pip install optax`, then `python examples/dqn.py` prints a table of rewards.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax
from cartpole import CartPole

import autograph as ag

ROOM = 4096  # transitions that are kept
BATCH = 64


class Network(ag.Module):
    """Two hidden layers: from an observation to a value for each action."""

    def __init__(self, key, sizes=(4, 64, 64, 2)):
        keys = jax.random.split(key, len(sizes))
        self.weights = [
            ag.Variable(jax.random.normal(k, (a, b)) * (2 / a) ** 0.5, name=f"w{n}")
            for n, (k, a, b) in enumerate(zip(keys, sizes[:-1], sizes[1:], strict=False))
        ]
        self.biases = [ag.Variable(jnp.zeros(b), name=f"b{n}") for n, b in enumerate(sizes[1:])]

    def __call__(self, x):
        for w, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = jax.nn.relu(x @ w + b)
        return x @ self.weights[-1] + self.biases[-1]


class Replay(ag.Module):
    """The latest transitions, from which a batch is drawn."""

    def __init__(self):
        self.seen, self.after = (ag.Variable(jnp.zeros((ROOM, 4)), trainable=False) for _ in range(2))
        self.action = ag.Variable(jnp.zeros(ROOM, jnp.int32), trainable=False)
        self.done = ag.Variable(jnp.zeros(ROOM, bool), trainable=False)
        self.count = ag.Variable(0, trainable=False)

    def add(self, seen, action, after, done):
        at = self.count % ROOM
        for kept, value in ((self.seen, seen), (self.action, action), (self.after, after), (self.done, done)):
            kept[at].assign(value)
        self.count.assign_add(1)

    def draw(self, random):
        at = random.uniform((BATCH,), jnp.int32, 0, jnp.minimum(self.count.value, ROOM))
        return self.seen[at], self.action[at], self.after[at], self.done[at]


class Agent(ag.Module):
    def __init__(self, seed):
        self.online, self.target = Network(jax.random.key(seed)), Network(jax.random.key(seed))
        self.replay = Replay()
        self.random = ag.random.Generator.from_seed(seed)
        self.optimizer = ag.optim.from_optax(optax.adam(1e-3))
        self.optimizer.build(self.online.trainable_variables)

    def loss(self, seen, action, after, done):
        """Double Q-learning: the online network chooses, the target network says what that is worth."""
        chosen = self.online(after).argmax(1)
        worth = jnp.take_along_axis(self.target(after), chosen[:, None], 1)[:, 0]
        wanted = 1.0 + 0.98 * jnp.where(done, 0.0, worth)
        found = jnp.take_along_axis(self.online(seen), action[:, None], 1)[:, 0]
        return optax.losses.huber_loss(found, jax.lax.stop_gradient(wanted)).mean()

    @ag.function
    def learn(self, steps):
        """So many steps in the environment: the rewards of the episodes, in order, and how many there were."""
        env = CartPole()
        seen, state = env.reset(self.random.key())
        reward, episodes = 0.0, 0
        rewards = jnp.zeros(512)
        for step in ag.range(steps):
            action = self.online(seen).argmax()
            if self.random.uniform() < jnp.maximum(0.05, 1 - step / 2000):
                action = self.random.uniform((), jnp.int32, 0, 2)
            after, state, gained, done, _ = env.step(self.random.key(), state, action)
            self.replay.add(seen, action, after, done)
            seen = after
            reward += gained
            if done:
                rewards[episodes % 512] = reward
                reward, episodes = 0.0, episodes + 1
                seen, state = env.reset(self.random.key())
            if step >= 500:
                batch = self.replay.draw(self.random)
                self.optimizer.minimize(lambda: self.loss(*batch), self.online.trainable_variables)  # noqa: B023
            if step % 200 == 0:
                for kept, new in zip(self.target.variables, self.online.variables, strict=True):
                    kept.assign(new.value)
        return rewards, episodes

    @ag.function
    def play(self, key):
        """The reward of one episode without exploring."""
        env = CartPole()
        seen, state = env.reset(key)
        total, done = 0.0, False
        while not done:
            seen, state, reward, done, _ = env.step(key, state, self.online(seen).argmax())
            total += reward
        return total


def main(steps: int = 8000) -> dict[str, float]:
    agent = Agent(seed=0)
    untrained = sum(float(agent.play(key)) for key in jax.random.split(jax.random.key(1), 5)) / 5
    rewards, episodes = agent.learn(jnp.array(steps))
    trained = sum(float(agent.play(key)) for key in jax.random.split(jax.random.key(1), 5)) / 5
    return {
        "untrained": untrained,
        "episodes": int(episodes),
        "first ten": float(rewards[:10].mean()),
        "trained": trained,
        "updates": int(agent.optimizer.iterations),
    }


if __name__ == "__main__":
    found = main()
    print("policy                 mean reward")
    for name in ("untrained", "first ten", "trained"):
        label = "first ten episodes" if name == "first ten" else name
        print(f"{label:18}  {found[name]:14.1f}")
    print(f"{found['episodes']:.0f} episodes, {found['updates']:.0f} updates of the network")
