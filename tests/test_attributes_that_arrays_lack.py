"""An attribute that an array or a module lacks is an AttributeError where the path that reads it runs, and only there."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


def missing_attribute_of_an_array(x):
    values = jnp.stack([x, x])
    if x > 5:
        values = values.no_such_attribute
    return values[0]


def missing_method_of_a_number(x):
    return x.no_such_method(3) if x > 5 else x


def missing_function_of_a_module(x):
    if x > 5:
        x = np.no_such_function(x)
    return x


def missing_attribute_in_a_loop(x):
    values = jnp.stack([x, x])
    for _ in range(jnp.int32(x)):
        if values[0] > 5:
            values = values.no_such_attribute
        values = values + 0.0
    return values[1]


@pytest.mark.parametrize(
    "program",
    [
        missing_attribute_of_an_array,
        missing_method_of_a_number,
        missing_function_of_a_module,
        missing_attribute_in_a_loop,
    ],
    ids=lambda program: program.__name__,
)
def test_an_attribute_that_an_array_or_a_module_lacks_is_missed_where_its_path_runs(program):
    staged = ag.function(program)
    forms = [program, staged, ag.convert(program), jax.grad(staged), jax.grad(ag.convert(program))]
    for form in forms:
        assert float(form(jnp.float32(1.0))) == 1.0
        with pytest.raises(AttributeError, match="no_such") as caught:
            form(jnp.float32(7.0))
        assert "Tracer" not in str(caught.value)
    with pytest.raises(
        ag.StagingError, match=r"test_attributes_that.*\n  AttributeError depends on a.*\n    .* object has|module"
    ):
        jax.jit(ag.convert(program))(jnp.float32(1.0))
