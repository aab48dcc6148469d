"""`tools/scale.py`: what it compiles for machines that are not here computes, at small sizes, what Python computes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType

import autograph as ag
from autograph.tools import scale

SMALL = scale.Sizes(layers=3, width=16, shared_heads=2, groups=2, head=4, hidden=24, vocabulary=11, batch=4, length=32)


def one_device():
    return jax.make_mesh((1, 1, 1), scale.MESH, axis_types=(AxisType.Auto,) * 3)


def values(mesh):
    """Arrays in the place of the types that `generate` takes."""
    random = np.random.default_rng(3)

    def value(spec):
        if spec.dtype == jnp.bfloat16:
            return jnp.asarray(random.normal(size=spec.shape), jnp.float32)
        return jnp.asarray(random.integers(0, 5, spec.shape), spec.dtype)

    *first, _, _ = jax.tree.map(value, scale.arguments(SMALL, mesh))
    return first


@pytest.mark.parametrize("end, limit", [(0, 9), (3, 20), (99, 6)], ids=["all rows end", "some end", "none ends"])
@pytest.mark.parametrize("written", ["converted", "by hand"])
def test_generates_what_python_generates(written, end, limit):
    mesh = one_device()
    function = {"converted": ag.convert(scale.generate), "by hand": scale.by_hand}[written]
    taken = values(mesh)
    with jax.set_mesh(mesh):
        text, steps, keys, _ = jax.jit(function)(*taken, jnp.int32(end), jnp.int32(limit))
        wanted, wanted_steps, wanted_keys, _ = scale.generate(*taken, end, limit)
    assert int(steps) == wanted_steps
    np.testing.assert_array_equal(text, wanted)
    np.testing.assert_allclose(keys, wanted_keys, rtol=1e-3, atol=1e-4)


def test_collectives_are_counted_by_the_loop_they_are_in():
    text = """HloModule jit_generate

%fused (p: f32[4]) -> f32[4] {
  ROOT %all-gather.7 = f32[4]{0} all-gather(%p), channel_id=9, dimensions={0}
}

%layer (p: f32[4]) -> f32[4] {
  %all-reduce.1 = f32[4]{0} all-reduce(%p), channel_id=3, to_apply=%add
  %all-gather.1 = (f32[1]{0}, f32[4]{0}) all-gather-start(%p), channel_id=4, dimensions={0}
  %piece = f32[4]{0} fusion(%p), kind=kCustom, calls=%fused
  %other = f32[4]{0} fusion(%p), kind=kCustom, calls=%fused
}

%add (a: f32[], b: f32[]) -> f32[] {
  ROOT %sum = f32[] add(%a, %b)
}

%any (p: f32[4]) -> pred[] {
  %all-reduce.5 = u32[] all-reduce(%p), channel_id=5, to_apply=%add
}

%step (p: f32[4]) -> f32[4] {
  ROOT %inner = f32[4]{0} while(%p), condition=%add, body=%layer
}

ENTRY %main (p: f32[4]) -> f32[4] {
  %moved = f32[4]{0} collective-permute(%p), channel_id=1, source_target_pairs={{0,1}}
  ROOT %outer = f32[4]{0} while(%p), condition=%any, body=%step
}
"""
    assert scale.collectives(text) == {
        "once": {"collective-permute": 1},
        "per step": {"all-reduce": 1},
        "per layer": {"all-reduce": 1, "all-gather": 2},
    }


@pytest.mark.tpu
def test_compiles_for_chips_that_are_not_here(capsys):
    pytest.importorskip("libtpu")
    assert scale.main(["--topology", "v5e:4x4", "--mesh", "1", "8", "2", "--layers", "2", "--batch", "16"]) == 0
    said = capsys.readouterr().out
    converted, by_hand = said.partition("converted: ")[2].split("by hand: ")
    # Beneath the first line, with how long it took: memory and collectives. Temporaries may differ by a buffer.
    figures = [[line for line in text.splitlines()[1:] if "temp" not in line] for text in (converted, by_hand)]
    assert len(figures[0]) == 6 and figures[0] == figures[1]
    assert "per layer" in converted and "once      none" in converted


@pytest.mark.tpu
def test_a_topology_that_there_is_not(capsys):
    assert scale.main(["--topology", "v5e:nothing"]) == 2
    assert capsys.readouterr().err.startswith("scale: no topology 'v5e:nothing' here: ")
