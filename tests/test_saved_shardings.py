"""Variables that lie on a mesh when they are saved lie so when they are loaded, where there are as many devices."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.saved_models import edit, refused

SAVE = """
import sys
import jax, jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
import autograph as ag

class Model(ag.Module):
    def __init__(self):
        self.w = ag.Variable(jnp.arange(64.0).reshape(8, 8), sharding=on("rows", ("columns",)), name="w")
        self.both = ag.Variable(jnp.ones((2**18, 4)), sharding=on(("rows", "columns")), name="both")
        self.alike = ag.Variable(jnp.zeros(3), sharding=on(), name="alike")
        self.keys = ag.Variable(jax.random.split(jax.random.key(0), 4), sharding=on("rows", kind=AxisType.Auto), name="keys")
        self.here = ag.Variable(2.0, name="here")
    @ag.function(input_signature=[ag.TensorSpec(["n", 8])])
    def step(self, x):
        if x.sum() > 1000:
            raise ValueError("too large")
        self.w.assign_add(x.T @ x)
        self.here.assign_add(1.0)
        return x @ self.w + self.both[0].sum() + jax.random.normal(self.keys.value[3]) + self.here

def on(*axes, kind=AxisType.Explicit):
    return NamedSharding(jax.make_mesh((4, 2), ("rows", "columns"), axis_types=(kind, kind)), P(*axes))

model = Model()
ag.save(model, sys.argv[1])
"""

LOAD = """
import json, sys
import jax, jax.numpy as jnp
import autograph as ag

model = ag.load(sys.argv[1])
def places():
    return {v.name: [len(v.value.sharding.device_set), v.value.addressable_shards[0].data.shape] for v in model.variables}
before = places()
loss, slopes = ag.value_and_grad(lambda x: model.step(x).sum(), [model.w, model.here])(jnp.ones((2, 8)))
raised = None
try:
    model.step(jnp.full((2, 8), 1e5))
except ValueError as error:
    raised = str(error)
model.w.assign_sub(slopes[0])
print(json.dumps([before, places(), float(loss), slopes[0].tolist(), model.step(jnp.ones((3, 8))).tolist(), raised]))
"""


def run(program, devices, path):
    settings = os.environ | {
        "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}",
        "JAX_PLATFORMS": "cpu",
    }
    file = path.parent / "program.py"
    file.write_text(program)
    command = [sys.executable, str(file), str(path)]
    ended = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_on_as_many_devices_and_on_fewer(tmp_path):
    run(SAVE, 8, tmp_path / "model")
    before, after, *found = json.loads(run(LOAD, 9, tmp_path / "model"))
    assert before == {"w": [8, [2, 4]], "both": [8, [2**15, 4]], "alike": [8, [3]], "keys": [8, [1]], "here": [1, []]}
    assert after["w"] == before["w"] and after["both"] == before["both"] and after["keys"] == before["keys"]
    alone, _, *expected = json.loads(run(LOAD, 7, tmp_path / "model"))
    assert alone == {"w": [1, [8, 8]], "both": [1, [2**18, 4]], "alike": [1, [3]], "keys": [1, [4]], "here": [1, []]}
    assert found[0] == pytest.approx(expected[0], rel=1e-6)  # a sum, which devices add up in another order
    assert found[1:] == expected[1:] and found[-1] == "too large"


@pytest.mark.parametrize(
    "sharding",
    [
        {"axes": [["a", 1]], "spec": [["b"]]},
        {"axes": [["a", 1]], "spec": [["a"], ["a"]]},
        {"axes": [["a", 1]], "spec": [["a"], None, None]},
        {"axes": [["a", 0]], "spec": []},
        {"axes": [["a", 1], ["a", 1]], "spec": []},
        {"axes": [[f"a{k}", 1] for k in range(99)], "spec": []},
        {"axes": [["a", 1]], "spec": "a"},
        {"axes": [["a", -1]], "spec": []},
        {"axes": [["a"]], "spec": []},
    ],
)
def test_a_sharding_that_is_none(tmp_path, sharding):
    module = ag.Module()
    module.v = ag.Variable(jnp.ones((2, 2)))
    ag.save(module, tmp_path / "m")
    edit(tmp_path / "m", lambda body: body["variables"][0].update(sharding={"axes": [["a", 1]], "spec": [["a"]]}))
    assert isinstance(ag.load(tmp_path / "m").v.value.sharding, jax.sharding.NamedSharding)
    edit(tmp_path / "m", lambda body: body["variables"][0].update(sharding=sharding))
    assert "sharding" in refused(tmp_path / "m", "manifest.json")
