"""`Function.lower` and ``compile``: programs for platforms and machines that need not be here."""

from __future__ import annotations

import importlib.util

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

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
    with pytest.raises(ValueError, match="'gpu:h100' is not a target"):
        decay.lower(X, N).compile("gpu:h100")
    for target in (
        "tpu",
        "",
        "v5e:2x2",
        "TPU:v5e:2x2",
        "tpu:v5e",
        "tpu:v5e:4",
        "tpu:v5e:2X2",
        "tpu:v5e:2x0",
        "tpu:v5e:1x1x1x1",
        4,
    ):
        with pytest.raises(ag.TargetError, match=f"{target!r} is not a target"):
            decay.lower(X, N).compile(target)
    for platforms in (["gpu"], ["cpu", "TPU"]):
        with pytest.raises(
            ag.TargetError, match=f"'{platforms[-1]}' is not a platform to lower for; use one of cpu, cuda"
        ):
            decay.lower(X, N, platforms=platforms)
    with pytest.raises(ag.TargetError, match="platforms is empty"):
        decay.lower(X, N, platforms=[])


def test_a_program_is_compiled_for_what_it_was_lowered_for():
    decay, _ = decaying()
    for target in (None, "tpu:v5e:2x2"):
        with pytest.raises(
            ag.TargetError, match=r"lowered for cuda, and is to be compiled for (cpu|tpu)|not installed"
        ):
            decay.lower(X, N, platforms=["cuda"]).compile(target)
    assert decay.lower(X, N, platforms=["cuda", "cpu"]).compile().cost_analysis()["flops"] > 0


def totalled(**options):
    @ag.function(**options)
    def total(x):
        s = 0.0
        for row in x:
            s = s + row.sum()
        return s

    return total


def test_symbolic_sizes_are_given_where_a_program_is_lowered():
    total = totalled(input_signature=[ag.TensorSpec([None, 3])])
    for given in ((), (ag.TensorSpec([None, 3]),)):
        with pytest.raises(ValueError, match=r"total: .* argument `x` are open: float32\[None,3\].*ShapeDtypeStruct"):
            total.lower(*given)
    with pytest.raises(TypeError, match=r"`x` does not fit the input_signature: expected float32\[None,3\]"):
        total.lower(Spec((7, 4), jnp.float32))
    for given in (Spec((7, 3), jnp.float32), np.ones((7, 3), np.float32)):
        assert "tensor<7x3xf32>" in total.lower(given, platforms=["tpu"]).as_text()
    assert float(total(jnp.ones((2, 3)))) == 6


@pytest.mark.parametrize("options", [{"reduce_retracing": True}, {"jit_compile": False}])
def test_every_kind_of_function_is_lowered(options):
    total = totalled(**options)
    for rows in (2, 3, 4):
        assert float(total(jnp.ones((rows, 3)))) == 3 * rows
    assert "tensor<9x3xf32>" in total.lower(jnp.ones((9, 3))).as_text()
    assert total.lower(jnp.ones((9, 3))).compile().cost_analysis()["flops"] > 0


class Model(ag.Module):
    def __init__(self):
        self.w = ag.Variable(jnp.ones(3))

    @ag.function
    def grown(self, x):
        while x.sum() < 10:
            x = x + self.w
        return x


def test_a_method_is_lowered_with_its_instances_variables():
    model = Model()
    lowered = model.grown.lower(Spec((3,), jnp.float32), platforms=["tpu"])
    assert "stablehlo.while" in lowered.as_text() and len(jax.tree.leaves(lowered.in_avals)) == 2
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        model.grown.lower()


def test_shardings_are_those_of_the_types_and_of_the_function():
    mesh = jax.make_mesh((1,), ("rows",), axis_types=(AxisType.Auto,))
    rows = NamedSharding(mesh, PartitionSpec("rows"))
    x = Spec((8, 3), jnp.float32)
    for lowered in (
        totalled().lower(Spec(x.shape, x.dtype, sharding=rows)),
        totalled().lower(jax.device_put(jnp.ones((8, 3)), rows)),
        totalled(in_shardings=rows).lower(x),
    ):
        ((found,), _) = lowered.compile().input_shardings
        assert found.is_equivalent_to(rows, 2) and isinstance(found, NamedSharding)


def test_a_mesh_without_devices_takes_those_of_a_target():
    rows = NamedSharding(AbstractMesh((4,), ("rows",), axis_types=(AxisType.Auto,)), PartitionSpec("rows"))
    lowered = totalled().lower(Spec((8, 3), jnp.float32, sharding=rows))
    assert "num_partitions = 4" in lowered.as_text()
    with pytest.raises(ag.TargetError, match="AbstractMesh, which has no devices"):
        lowered.compile()


@ag.function
def prints(x):
    if x > 0:
        print("x is", x)
    return x


def test_what_a_tpu_cannot_do_is_refused_with_the_line():
    with pytest.raises(ag.StagingError, match=r"test_ahead_of_time.py:\d+(?s:.*)Python is called at run time here"):
        prints.lower(Spec((), jnp.float32), platforms=["cpu", "tpu"])
    assert prints.lower(Spec((), jnp.float32), platforms=["cpu"]).as_text()
    with jax.enable_x64(True), pytest.raises(ag.StagingError, match=r"test_ahead_of_time.py:\d+(?s:.*)64-bit"):
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
    with pytest.raises(ValueError, match="libtpu does not support the target 'tpu:v99:2x2': .*v99"):
        decay.lower(X, N).compile("tpu:v99:2x2")
    with pytest.raises(ag.StagingError, match="Python is called at run time here"):
        prints.lower(Spec((), jnp.float32)).compile("tpu:v5e:2x2")


@pytest.mark.skipif(importlib.util.find_spec("libtpu") is not None, reason="libtpu is installed")
def test_a_compiler_that_is_not_installed_is_one_line():
    decay, _ = decaying()
    with pytest.raises(ValueError, match=r"'tpu:v5e:2x2'.*pip install 'jax\[tpu\]'"):
        decay.lower(X, N).compile("tpu:v5e:2x2")
