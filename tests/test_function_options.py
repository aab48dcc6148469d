"""The options of `ag.function`: what each does, and which are refused."""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import pytest

import autograph as ag

Spec = ag.TensorSpec


def total(x):
    return x.sum()


@pytest.mark.parametrize(
    "options,error,text",
    [
        ({"autograph": 1}, TypeError, "autograph"),
        ({"jit_compile": "yes"}, TypeError, "jit_compile"),
        ({"reduce_retracing": None}, TypeError, "reduce_retracing"),
        ({"experimental_compile": 2}, TypeError, "experimental_compile"),
        ({"experimental_relax_shapes": "a"}, TypeError, "experimental_relax_shapes"),
        ({"experimental_autograph_options": "ALL"}, TypeError, "Feature"),
        ({"cache_limit": 0}, ValueError, "cache_limit"),
        ({"cache_limit": 1.5}, TypeError, "cache_limit"),
        ({"compiler_options": [1]}, TypeError, "compiler_options"),
        ({"donate_variables": "x"}, TypeError, "donate_variables"),
    ],
)
def test_options_that_cannot_be_meant(options, error, text):
    with pytest.raises(error, match=text):
        ag.function(total, **options)
    with pytest.raises(error, match=text):
        ag.function(**options)


def test_no_callable():
    with pytest.raises(TypeError, match="callable"):
        ag.function(3)


def test_a_decorator_passes_every_option_on():
    given = dict(
        input_signature=[Spec([2])], autograph=False, jit_compile=False, reduce_retracing=True, cache_limit=3,
        compiler_options={"xla_embed_ir_in_executable": True}, donate_variables=True,
    )  # fmt: skip
    direct, decorated = ag.function(total, **given)._options, ag.function(**given)(total)._options
    for name in (
        "input_signature",
        "jit_compile",
        "reduce_retracing",
        "cache_limit",
        "compile",
        "donate_variables",
    ):
        assert getattr(direct, name) == getattr(decorated, name)
    assert decorated.convert(total) is total
    assert ag.function(experimental_compile=False)(total)._options.jit_compile is False
    assert ag.function(experimental_relax_shapes=True)(total)._options.reduce_retracing is True
    assert ag.function(jit_compile=None)(total)._options.jit_compile is True
    assert (
        ag.function(total, experimental_implements="x", experimental_autograph_options=ag.Feature.ALL)(jnp.ones(2)) == 2
    )


def test_autograph_off_meets_jaxs_own_error():
    f = ag.function(lambda x: x if x > 0 else -x, autograph=False)
    with pytest.raises(jax.errors.TracerBoolConversionError):
        f(jnp.array(1.0))
    assert f(2.0) == 2.0


def test_device_shardings_and_compiler_options():
    device = jax.devices()[0]
    sharding = jax.sharding.SingleDeviceSharding(device)
    x = jnp.ones(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ag.function(total, device=device)(x) == 2
    assert ag.function(total, compiler_options={"xla_cpu_enable_fast_math": False})(x) == 2
    f = ag.function(
        lambda t, n: t["a"] * n + t["b"],
        in_shardings=({"a": sharding, "b": None}, None),
        out_shardings=sharding,
    )
    assert f({"a": x, "b": 1.0}, 2).tolist() == [3, 3] and f({"a": x, "b": x}, 2).sharding == sharding
    assert ag.function(total, in_shardings=sharding)(x) == 2
