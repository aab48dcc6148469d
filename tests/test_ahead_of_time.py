"""`Function.lower` and ``compile``: programs for platforms and machines that need not be here."""

from __future__ import annotations

import importlib.util

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

Spec = jax.ShapeDtypeStruct
X, N = Spec((4,), jnp.float32), Spec((), jnp.int32)
needs_libtpu = pytest.mark.skipif(importlib.util.find_spec("libtpu") is None, reason="libtpu compiles for TPUs")


def decaying():
    total = ag.Variable(jnp.ones(4))

    @ag.function
    def decay(x, n):
        i = 0
        while i < n:
            total.assign(total * 0.5 + x)
            i += 1
        return total.value.sum()

    return decay, total


def test_one_lowering_for_several_platforms():
    decay, total = decaying()
    text = decay.lower(X, N, platforms=["cpu", "cuda", "tpu"]).as_text()
    assert "stablehlo.while" in text
    assert total.numpy().tolist() == [1, 1, 1, 1] and decay.experimental_get_tracing_count() == 1


def test_the_machine_that_is_here():
    decay, _ = decaying()
    lowered = decay.lower(X, N)
    compiled = lowered.compile()
    assert compiled.cost_analysis()["flops"] > 0 and compiled.memory_analysis().argument_size_in_bytes > 0
    assert lowered.out_info is not None
    result, *_ = jax.tree.leaves(compiled(jnp.ones(4), jnp.ones(4), jnp.int32(1)))
    assert float(result) == 6


def test_wrong_platforms_and_targets():
    decay, _ = decaying()
    with pytest.raises(TypeError, match=r"platforms=\['tpu'\]"):
        decay.lower(X, N, platforms="tpu")
    with pytest.raises(ValueError, match="'gpu:h100' is no target"):
        decay.lower(X, N).compile("gpu:h100")
    with pytest.raises(ValueError, match="'tpu' is no target"):
        decay.lower(X, N).compile("tpu")


@ag.function
def prints(x):
    if x > 0:
        print("x is", x)
    return x


def test_what_a_tpu_cannot_do_is_refused_with_the_line():
    with pytest.raises(ag.StagingError, match=r"test_ahead_of_time.py:\d+(?s:.*)Python is called here"):
        prints.lower(Spec((), jnp.float32), platforms=["cpu", "tpu"])
    assert prints.lower(Spec((), jnp.float32), platforms=["cpu"]).as_text()
    with jax.enable_x64(True), pytest.raises(ag.StagingError, match=r"test_ahead_of_time.py:\d+(?s:.*)64 bits"):
        ag.function(lambda x: x * 2).lower(Spec((), jnp.float64), platforms=["tpu"])


@needs_libtpu
def test_a_topology_that_is_not_here():
    decay, total = decaying()
    compiled = decay.lower(X, N).compile("tpu:v5e:2x2")
    assert compiled.cost_analysis()["flops"] > 0 and compiled.memory_analysis().output_size_in_bytes > 0
    assert compiled.as_text().count(" while(") == 1
    assert total.numpy().tolist() == [1, 1, 1, 1] and decay.experimental_get_tracing_count() == 1
    assert np.isfinite(float(decay(jnp.ones(4), 2)))


@needs_libtpu
def test_a_program_that_may_raise_needs_no_callback():
    @ag.function
    def doubled_to(x, limit):
        while x < limit:
            if x == 0:
                raise ValueError("it would not end")
            x = x * 2
        return x

    text = doubled_to.lower(Spec((), jnp.float32), 100.0).compile("tpu:v5e:1x1").as_text()
    assert "while(" in text and "custom-call" not in text


@needs_libtpu
def test_targets_that_cannot_be_had():
    decay, _ = decaying()
    with pytest.raises(ValueError, match="'tpu:v99:2x2'.*v99.*libtpu"):
        decay.lower(X, N).compile("tpu:v99:2x2")
    with pytest.raises(ag.StagingError, match="Python is called here"):
        prints.lower(Spec((), jnp.float32)).compile("tpu:v5e:2x2")


@pytest.mark.skipif(importlib.util.find_spec("libtpu") is not None, reason="libtpu is installed")
def test_a_compiler_that_is_not_installed_is_one_line():
    decay, _ = decaying()
    with pytest.raises(ValueError, match=r"'tpu:v5e:2x2'.*pip install 'jax\[tpu\]'"):
        decay.lower(X, N).compile("tpu:v5e:2x2")
