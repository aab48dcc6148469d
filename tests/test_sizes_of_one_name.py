"""Sizes of an input_signature that are to be equal have one name: the error and the warning where they have none say so."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

import autograph as ag

NAME_THEM = 'Sizes that are equal have one name: autograph.TensorSpec(["n", 3]), autograph.TensorSpec(["n"]).'


def mean_error(x, y):
    return jnp.mean((x @ jnp.ones(3) - y) ** 2)


def with_sizes(rows):
    return ag.function(mean_error, input_signature=[ag.TensorSpec([rows, 3]), ag.TensorSpec([rows])])


def test_a_call_warns_and_gives_the_value():
    with pytest.warns(ag.StagingWarning, match="could not be traced once") as caught:
        assert float(with_sizes(None)(jnp.ones((2, 3)), jnp.ones(2))) == 4
    assert NAME_THEM in str(caught[0].message)


@pytest.mark.parametrize("use", [lambda f, path: f.get_concrete_function(), ag.save], ids=["concrete", "save"])
def test_one_trace_for_all_sizes_raises(use, tmp_path):
    with pytest.raises(TypeError, match="incompatible shapes") as caught:
        use(with_sizes(None), tmp_path / "f")
    assert any(NAME_THEM in note for note in caught.value.__notes__)
    use(with_sizes("n"), tmp_path / "f")


def test_another_error_says_nothing_of_names():
    def known(x):
        return x @ jnp.ones(4)

    with pytest.raises(TypeError) as caught:
        ag.function(known, input_signature=[ag.TensorSpec([None, 3])]).get_concrete_function()
    assert not any(NAME_THEM in note for note in getattr(caught.value, "__notes__", ()))
