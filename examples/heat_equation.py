"""A physics-informed network: a flax.nnx model learns to solve the heat equation, with Adam and then with L-BFGS.

``u_t = a u_xx`` on the unit interval, with ``u(x, 0) = sin(pi x)`` and zero boundary values, has the solution
``exp(-a pi² t) sin(pi x)``, which is not part of the training data. Both optimizers run in staged loops; the second
stops on convergence. `pip install flax optax`, then `python examples/heat_equation.py` prints a
table of losses and errors.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax
from flax import nnx

import autograph as ag

A = 0.1


class Network(nnx.Module):
    """From a place and a time to the temperature."""

    def __init__(self, rngs: nnx.Rngs):
        self.first = nnx.Linear(2, 16, rngs=rngs)
        self.second = nnx.Linear(16, 16, rngs=rngs)
        self.out = nnx.Linear(16, 1, rngs=rngs)

    def __call__(self, x, t):
        hidden = jnp.tanh(self.first(jnp.stack([x, t])))
        return self.out(jnp.tanh(self.second(hidden)))[0]


def solution(x, t):
    return jnp.exp(-A * jnp.pi**2 * t) * jnp.sin(jnp.pi * x)


class Solver:
    def __init__(self, points: int):
        keys = jax.random.split(jax.random.key(0), 3)
        self.model = Network(nnx.Rngs(0))
        self.params = [
            p for layer in (self.model.first, self.model.second, self.model.out) for p in (layer.kernel, layer.bias)
        ]
        self.inside = jax.random.uniform(keys[0], (2, points))
        self.start = jax.random.uniform(keys[1], (points // 4,))
        self.times = jax.random.uniform(keys[2], (points // 4,))
        self.adam = ag.optim.from_optax(optax.adam(0.01), name="adam")
        self.lbfgs = ag.optim.from_optax(optax.lbfgs(memory_size=10), name="lbfgs")

    def residual(self, x, t):
        """The residual of the equation at a point."""
        u_t = jax.grad(self.model, 1)(x, t)
        u_xx = jax.grad(jax.grad(self.model))(x, t)
        return u_t - A * u_xx

    def loss(self):
        equation = jnp.mean(jax.vmap(self.residual)(*self.inside) ** 2)
        at_start = jax.vmap(self.model, (0, None))(self.start, 0.0) - jnp.sin(jnp.pi * self.start)
        at_ends = jnp.stack([jax.vmap(self.model, (None, 0))(end, self.times) for end in (0.0, 1.0)])
        return equation + jnp.mean(at_start**2) + jnp.mean(at_ends**2)

    @ag.function
    def solve(self, steps, more, tolerance):
        """The losses after each optimizer, and how many steps the second took."""
        first = 0.0
        for _ in ag.range(steps):
            first = self.adam.minimize(self.loss, self.params)
        loss, taken = first, 0
        while taken < more:
            before, loss = loss, self.lbfgs.minimize(self.loss, self.params)
            taken += 1
            if taken > 10 and abs(before - loss) < tolerance * loss:
                break
        return first, loss, taken

    def error(self):
        """How far the network is from the solution, at most, on a grid."""
        grid = jnp.meshgrid(jnp.linspace(0, 1, 11), jnp.linspace(0, 1, 11))
        found = jax.vmap(jax.vmap(self.model))(*grid)
        return jnp.abs(found - solution(*grid)).max()


def main(steps: int = 200, more: int = 150) -> dict[str, float]:
    solver = Solver(points=128)
    before = solver.error()
    first, loss, taken = solver.solve(jnp.array(steps), jnp.array(more), 1e-4)
    return {
        "error before": float(before),
        "loss after Adam": float(first),
        "loss after L-BFGS": float(loss),
        "steps of L-BFGS": int(taken),
        "error": float(solver.error()),
    }


if __name__ == "__main__":
    found = main()
    print("after     steps      loss  error of the solution")
    print(f"start                      {found['error before']:21.3g}")
    print(f"Adam      {200:5}  {found['loss after Adam']:8.3g}")
    print(f"L-BFGS    {found['steps of L-BFGS']:5.0f}  {found['loss after L-BFGS']:8.3g}  {found['error']:21.3g}")
