"""Converted programs on a GPU that is here, beside the CPU: `make test-gpu` runs these and the files that it lists.

Without a GPU they are skipped, and `tests/test_other_platforms.py` looks at what is lowered for one.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.targets import hlo
from tests.targets.programs import Average, kinds
from tests.work_lists import collatz

pytestmark = pytest.mark.skipif(
    jax.default_backend() != "gpu", reason="there is no GPU, or JAX_PLATFORMS leaves it out"
)

KINDS = [target for target in kinds() if target.chips.endswith("1x1")]
WITHOUT_STATE = [target for target in KINDS if target.name not in ("training", "a running mean in Variables")]


def values(target):
    """Arguments of the types that the target has: words and rows of small numbers."""
    generator = np.random.default_rng(7)

    def array(type):
        if jnp.issubdtype(type.dtype, jnp.integer):
            found = generator.integers(40, 60, type.shape)
        else:
            found = generator.uniform(0.1, 1.5, type.shape)  # of which there are square roots
        return np.asarray(found, type.dtype)

    return jax.tree.map(array, target.arguments)


@pytest.mark.parametrize("target", WITHOUT_STATE, ids=lambda target: target.name)
def test_each_kind_of_loop_computes_what_a_cpu_does(target):
    arguments = values(target)
    found = target.function(*arguments)
    assert {device.platform for leaf in jax.tree.leaves(found) for device in leaf.devices()} == {"gpu"}
    with jax.default_device(jax.devices("cpu")[0]):
        wanted = ag.function(target.function.__wrapped__)(*arguments)
    for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("target", KINDS, ids=lambda target: target.name)
def test_no_kind_of_loop_calls_python(target):
    text = target.function.lower(*target.arguments).compile().as_text()
    assert "allback" not in text
    assert len(hlo.loops(text)) <= hlo.staged_loops(target.function.lower(*target.arguments))


def test_variables_stay_on_the_gpu():
    average = Average()
    rows = np.arange(1024 * 128, dtype=np.float32).reshape(1024, 128) / 1e4
    for _ in range(2):
        mean = average.seen(rows)
    np.testing.assert_allclose(mean, rows.mean(0), rtol=1e-4)
    assert int(average.count) == 2048
    assert {device.platform for device in average.mean.value.devices()} == {"gpu"}


def test_prints_in_order(capfd):
    @ag.function
    def halved(x):
        while x > 1:
            print("x is", x)
            x = x / 2
        return x

    assert halved(jnp.float32(5.0)) == 0.625
    jax.effects_barrier()
    assert capfd.readouterr().out.splitlines() == ["x is 5.0", "x is 2.5", "x is 1.25"]


def test_errors_are_raised_and_undo_writes():
    total = ag.Variable(0.0, name="total")

    @ag.function
    def added(xs):
        for x in xs:
            if x < 0:
                raise ValueError(f"{x} is negative")
            total.assign_add(x)
        return total.value

    assert added(jnp.array([1.0, 2.0])) == 3
    with pytest.raises(ValueError, match=r"-1\.0 is negative"):
        added(jnp.array([4.0, -1.0]))
    assert float(total) == 3


def test_a_list_that_outgrows_its_room():
    staged = ag.function(collatz)
    for start in (1, 27, 97):
        assert [int(n) for n in staged(jnp.int32(start))] == collatz(start)


def test_the_same_random_numbers():
    @ag.function
    def walked(steps):
        x = jnp.float32(0)
        for _ in ag.range(steps):
            if ag.random.uniform(()) > 0.5:
                x += ag.random.normal(())
        return x

    found = []
    for device in (jax.devices("gpu")[0], jax.devices("cpu")[0]):
        with jax.default_device(device):
            ag.random.set_seed(3)
            found.append(float(ag.function(walked.__wrapped__)(50)))
    assert found[0] == pytest.approx(found[1], rel=1e-4)
