"""A user's program, for type checkers: what they see of decorated functions.

`make types` has mypy check each `assert_type`, `make package` pyright, and tests/test_packaging.py runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, assert_type

import jax
import jax.numpy as jnp

import autograph as ag


@ag.function
def scaled(x: jax.Array, by: float = 2.0) -> jax.Array:
    return x * by


@ag.function(reduce_retracing=True, check_bounds=True)
def item(x: jax.Array, i: int) -> jax.Array:
    return x[i]


@ag.convert
def sign(x: jax.Array) -> jax.Array:
    return jnp.ones_like(x) if x > 0 else -jnp.ones_like(x)


@ag.convert(recursive=False)
def halved(x: jax.Array) -> jax.Array:
    return x / 2


@ag.do_not_convert
def shown(x: jax.Array) -> str:
    return str(x)


class Counter(ag.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count = ag.Variable(0)

    @ag.function
    def add(self, amount: int) -> jax.Array:
        self.count.assign_add(amount)
        return self.count.value


x = jnp.array(3.0)
assert_type(scaled(x, by=3.0), jax.Array)
assert_type(scaled.python_function(x), jax.Array)
assert_type(scaled.get_concrete_function(x), ag.ConcreteFunction)
assert_type(item(jnp.arange(3), 1), jax.Array)
assert_type(sign(x), jax.Array)
assert_type(halved(x), jax.Array)
assert_type(shown(x), str)
assert_type(Counter().add(2), jax.Array)
assert_type(ag.recompute_grad(sign)(x), jax.Array)
assert_type(ag.value_and_grad(sign, argnums=0)(x), tuple[Any, Any])
assert_type(ag.to_code(sign), str)
v = ag.Variable([1.0, 2.0], dtype=jnp.float32)
assert_type(v.value, jax.Array)
assert_type(v.assign_add(v), ag.Variable)
assert_type(ag.TensorArray("int32", size=2).write(0, 5).stack(), jax.Array)
assert_type(ag.random.normal((2,)), jax.Array)
assert_type(ag.stop_gradient(x), jax.Array)
assert_type(scaled.get_concrete_function(x).variables, list[ag.Variable])
assert_type(ag.Dataset.from_tensor_slices([1, 2]).map(lambda a: a + 1).batch(2), ag.Dataset)
function: Callable[[jax.Array, float], jax.Array] = scaled

if TYPE_CHECKING:
    # Where mypy sees nothing wrong, it reports that there is nothing to ignore.
    scaled("text")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    scaled(x, with_name=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Counter().add()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
