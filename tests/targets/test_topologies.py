"""Programs for chips that are not here: where their operands are, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

import autograph as ag
from tests.rooms import ROOT
from tests.targets import hlo

Spec = jax.ShapeDtypeStruct
ONE, FOUR = "tpu:v5e:1x1", "tpu:v5e:2x2"
MESH = AbstractMesh((4,), ("rows",), axis_types=(AxisType.Auto,))
ROWS = NamedSharding(MESH, PartitionSpec("rows"))
X, N = Spec((1024, 128), jnp.float32), Spec((), jnp.int32)
SHARDED = Spec(X.shape, X.dtype, sharding=ROWS)


@ag.function
def centred(x, n):
    i = 0
    while i < n:
        x = x - x.mean()
        i += 1
    return x


def argument_bytes(compiled):
    return compiled.memory_analysis().argument_size_in_bytes


def test_one_chip_holds_all_and_four_a_quarter_each():
    whole, quarter = centred.lower(X, N).compile(ONE), centred.lower(SHARDED, N).compile(FOUR)
    assert hlo.collectives(whole.as_text()) == {} and hlo.collectives(quarter.as_text()) == {"all-reduce": 1}
    assert argument_bytes(whole) >= X.size * 4 > 2 * argument_bytes(quarter) >= X.size * 2
    (x, n), _ = quarter.input_shardings
    assert (
        x.spec == PartitionSpec("rows") and n.spec == PartitionSpec() and {d.platform for d in x.device_set} == {"tpu"}
    )
    assert quarter.output_shardings.is_equivalent_to(x, 2)
    assert quarter.cost_analysis()["flops"] < whole.cost_analysis()["flops"] / 2


def test_without_shardings_a_program_is_for_the_first_chip():
    compiled = centred.lower(X, N).compile(FOUR)
    assert len(compiled.output_shardings.device_set) == 1 and argument_bytes(compiled) >= X.size * 4


def test_a_mesh_of_another_size_than_the_target_is_refused():
    lowered = centred.lower(SHARDED, N)
    for target, count in (("tpu:v5e:1x1", 1), ("tpu:v5e:2x4", 8)):
        with pytest.raises(
            ag.TargetError, match=rf"mesh of 4 devices, and '{target}' has {count}: name a topology of 4"
        ):
            lowered.compile(target)


def test_meshes_of_two_axes():
    mesh = AbstractMesh((2, 2), ("rows", "columns"), axis_types=(AxisType.Auto,) * 2)
    both = NamedSharding(mesh, PartitionSpec("rows", "columns"))
    product = ag.function(lambda a, b: a @ b)
    operand = Spec((256, 256), jnp.float32, sharding=both)
    compiled = product.lower(operand, operand).compile(FOUR)
    assert argument_bytes(compiled) == 2 * 256 * 256 * 4 // 4 and hlo.collectives(compiled.as_text())


def test_meshes_within_the_program():
    def summed(x):
        return jax.lax.psum(x, "rows")

    whole = ag.function(
        lambda x: jax.shard_map(summed, mesh=MESH, in_specs=PartitionSpec("rows"), out_specs=PartitionSpec())(x)
    )
    text = whole.lower(SHARDED).compile(FOUR).as_text()
    assert hlo.collectives(text) == {"all-reduce": 1}
    constrained = ag.function(
        lambda x: jax.lax.with_sharding_constraint(x.T, NamedSharding(MESH, PartitionSpec("rows")))
    )
    assert hlo.collectives(constrained.lower(SHARDED).compile(FOUR).as_text())


@pytest.mark.parametrize("name", ["tpu:v99:2x2", "tpu:v5e:3x3"])
def test_topologies_that_there_are_not(name):
    with pytest.raises(ag.TargetError, match=f"libtpu does not support the target '{name}'"):
        centred.lower(X, N).compile(name)


@pytest.mark.parametrize("name", ["v4:2x2x1", "v5p:2x2x2", "v6e:2x4", "v5e:1x2"])
def test_other_generations(name):
    assert hlo.loops(centred.lower(X, N).compile(f"tpu:{name}").as_text())


def test_the_environment_is_left_as_it_was():
    before = {name: value for name, value in os.environ.items() if name.startswith("TPU_")}
    centred.lower(X, N).compile(ONE)
    assert {name: value for name, value in os.environ.items() if name.startswith("TPU_")} == before


def test_what_is_kept_on_disk_is_no_warning(tmp_path):
    script = tmp_path / "twice.py"
    script.write_text(
        "import jax, jax.numpy as jnp, autograph as ag\n"
        "lowered = ag.function(lambda x: x * 2).lower(jnp.ones(3))\n"
        "print(len({lowered.compile('tpu:v5e:1x1').as_text() for _ in range(2)}))\n"
    )
    flags = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "JAX_PLATFORMS": "cpu",
    }
    command = [sys.executable, "-W", "error", str(script)]
    for _ in range(2):
        done = subprocess.run(command, env={**os.environ, **flags}, capture_output=True, text=True)
        assert done.stdout == "1\n", done.stderr


def test_programs_of_nothing():
    @ag.function
    def constant():
        total = 0.0
        for i in ag.range(10):
            total = total + jnp.sin(i * 1.0)
        return total

    (place,) = constant.lower().compile(FOUR).output_shardings.device_set
    assert place.platform == "tpu"


def test_random_numbers_and_results_of_traced_length():
    generator = ag.random.Generator.from_seed(0)

    @ag.function
    def kept(x):
        out = []
        for value in x:
            if value > generator.normal(()):
                out.append(value)
        return jnp.stack(out)

    text = kept.lower(Spec((64,), jnp.float32)).compile(ONE).as_text()
    assert len(hlo.loops(text)) == 1 and not hlo.leaves_the_chip(text)


def test_what_does_not_fit_is_said_by_the_compiler():
    square = ag.function(lambda x: x @ x.T @ x)
    with pytest.raises(jax.errors.JaxRuntimeError, match="Ran out of memory"):
        square.lower(Spec((200_000, 200_000), jnp.float32)).compile(ONE)


CALLS_OF_PYTHON = {
    "print": "print(x)",
    "py_function": "return ag.py_function(abs, [x], jnp.float32)",
    "debug": "jax.debug.print('{}', x)",
    "progress": "for i in ag.progress(ag.range(n)):\n        x = x + i",
}


@pytest.mark.parametrize("name", CALLS_OF_PYTHON)
def test_calls_of_python_are_refused_with_their_line(user_folder, monkeypatch, name):
    statement = CALLS_OF_PYTHON[name]
    (user_folder / "calling.py").write_text(
        f"import autograph as ag, jax, jax.numpy as jnp\n\n@ag.function\ndef called(x, n):\n    {statement}\n    return x\n"
    )
    monkeypatch.syspath_prepend(str(user_folder))
    import calling

    lowered = calling.called.lower(Spec((), jnp.float32), N)
    with pytest.raises(ag.StagingError, match=r"calling.py:5\b(?s:.*)Python is called at run time here"):
        lowered.compile(ONE)


def test_64_bits_are_refused_where_they_are_used():
    with jax.enable_x64(True):
        for function in (lambda x: x * 2, lambda x: x.astype(jnp.float32), lambda x: x.astype(jnp.float32) + 1.5):
            lowered = ag.function(function).lower(Spec((3,), jnp.float64))
            with pytest.raises(ag.StagingError, match=r"test_topologies.py:\d+(?s:.*)64-bit"):
                lowered.compile(ONE)
        whole = ag.function(lambda x: x * 2).lower(Spec((3,), jnp.int64))
        assert whole.compile(ONE).cost_analysis()["flops"] > 0


FROM_A_MESH_THAT_IS_HERE = """
    import jax, jax.numpy as jnp
    from jax.sharding import AxisType, NamedSharding, PartitionSpec
    import autograph as ag
    from tests.targets import hlo

    for axis_type in AxisType.Auto, AxisType.Explicit:
        mesh = jax.make_mesh((4,), ("rows",), axis_types=(axis_type,))
        rows = NamedSharding(mesh, PartitionSpec("rows"))
        w = ag.Variable(jnp.ones((512, 512)), sharding=rows)

        @ag.function(donate_variables=True, in_shardings=rows, out_shardings=NamedSharding(mesh, PartitionSpec()))
        def step(x):
            w.assign_sub(0.1 * jnp.ones((512, 512)) * x.mean())
            return (x @ w).sum()

        lowered = step.lower(jax.ShapeDtypeStruct((64, 512), jnp.float32))
        compiled = [lowered.compile("tpu:v5e:2x2")]
        with jax.set_mesh(mesh):
            compiled += [lowered.compile("tpu:v5e:2x2")]
        for each in compiled:
            memory = each.memory_analysis()
            # A quarter of the Variable, which takes the memory of its old value, and of x.
            assert memory.argument_size_in_bytes == (512 * 512 + 64 * 512) * 4 // 4, memory
            assert memory.alias_size_in_bytes == 512 * 512 * 4 // 4, memory
            assert hlo.collectives(each.as_text()), axis_type
        assert round(float(step(jnp.ones((64, 512)))) / (64 * 512 * 512), 3) == 0.9
        assert {d.platform for d in w.value.sharding.device_set} == {"cpu"}
    print("fine")
"""


def test_variables_and_meshes_of_devices_that_are_here(tmp_path):
    (script := tmp_path / "here.py").write_text(textwrap.dedent(FROM_A_MESH_THAT_IS_HERE))
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script)]
    done = subprocess.run(command, env={**os.environ, **flags}, capture_output=True, text=True)
    assert done.stdout == "fine\n", done.stderr
