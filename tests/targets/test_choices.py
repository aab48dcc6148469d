"""What a TPU makes of its own form of a conditional (`backends/xla/platforms.py`), beside that of a CPU."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

import autograph as ag
from autograph.backends.xla import platforms
from tests.targets import hlo
from tests.targets.programs import ONE, Spec


def lifted(x, n):
    """A branch over an array in a loop."""
    for _ in ag.range(n):
        if x.sum() > 4:
            x = jnp.sqrt(abs(x) + 1) / 2
        else:
            x = x + 1
    return x


def bubbled(x, n):
    """Writes under a condition, and reads them again."""
    for _ in ag.range(n):
        for j in ag.range(len(x) - 1):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    return x


def compiled(program, size):
    return ag.function(program).lower(Spec((size,), jnp.float32), Spec((), jnp.int32), platforms=["tpu"]).compile(ONE)


def cycles(program):
    """XLA's estimate for all kernels, those of both branches of a conditional among them."""
    return sum(hlo.estimated_cycles(program.as_text()))


@pytest.mark.parametrize("program, size", [(lifted, 100), (lifted, 8192), (bubbled, 200)])
def test_both_branches_are_in_the_kernels_of_the_loop(monkeypatch, program, size):
    chosen = compiled(program, size)
    monkeypatch.setattr(platforms, "PLATFORMS", {"tpu": platforms.PLATFORMS["cpu"]})
    left = compiled(program, size)
    texts = chosen.as_text(), left.as_text()
    assert [" conditional(" in text for text in texts] == [False, True]
    assert hlo.copies_in_loops(texts[0]) == []
    assert cycles(chosen) < cycles(left)
    assert chosen.memory_analysis().temp_size_in_bytes <= left.memory_analysis().temp_size_in_bytes
