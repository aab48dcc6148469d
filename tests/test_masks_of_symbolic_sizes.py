"""``x[x > 1]`` and other arrays of traced length made of an array of a symbolic size: one trace serves all sizes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

OF_ANY_SIZE = [ag.TensorSpec([None])]
ARGUMENTS = ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 2.0, 5.0], [2.0, 7.0, 1.0, 1.0, 3.0, 4.0, 2.0])


def zeroed(x):
    y = x + 0
    y[y > 2] = 0
    return y


def in_turn(x):
    total = 0.0
    for v in x[x > 2]:
        total = total * 0.5 + v
    return total


def by_pivot(x):
    p = x[0]
    return np.concatenate([x[x < p], x[x == p], x[x > p]])


def counted(x):
    k = 0
    while len(x[x > 1]) > k:
        k += 1
    return k


PROGRAMS = {
    "returned": lambda x: x[x > 1],
    "reduced": lambda x: (x[x > 1].sum(), x[x > 1].mean(), x[x > 1].std(), np.median(x[x > 1]), len(x[x > 1])),
    "sorted": lambda x: (np.sort(x[x > 1]), x[x > 1].argmax(), np.unique(x)),
    "sliced": lambda x: (x[x > 1][1:], x[x > 1][::-1], x[x > 1][:1], x[x > 1][-1], np.diff(x[x > 1])),
    "up to a traced bound": lambda x: (x[: np.argmax(x)], x[np.argmax(x) :]),
    "of rows": lambda x: (np.stack([x, x * 2], 1)[x > 1], np.stack([x, x * 2], 1)[x > 1].T),
    "joined": lambda x: (np.concatenate([x[x > 2], x[x <= 2]]), np.append(x[x > 1], 9.0)),
    "in slopes": lambda x: np.gradient(x[x > 0]),
    "by a comprehension": lambda x: [v * 2 for v in x[x > 1]],
    "beside the places": lambda x: np.arange(len(x))[x > 1],
    zeroed.__name__: zeroed,
    in_turn.__name__: in_turn,
    by_pivot.__name__: by_pivot,
    counted.__name__: counted,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_trace_for_all_sizes(name):
    program = PROGRAMS[name]
    compiled = ag.function(program, input_signature=OF_ANY_SIZE)
    assert "x" in repr(compiled.get_concrete_function())
    for x in ARGUMENTS:
        wanted, found = program(np.array(x)), compiled(jnp.array(x))
        for theirs, own in zip(jax.tree.leaves(wanted), jax.tree.leaves(found), strict=True):
            assert np.shape(theirs) == np.shape(own)
            np.testing.assert_allclose(own, theirs, rtol=1e-5)
    assert compiled.experimental_get_tracing_count() == 1


def test_a_saved_function_selects_by_a_mask(tmp_path):
    f = ag.function(lambda x: x[x > 1] * 2, input_signature=OF_ANY_SIZE)
    ag.save(f, tmp_path / "model")
    loaded = ag.load(tmp_path / "model")
    for x in ARGUMENTS:
        assert loaded(jnp.array(x)).tolist() == [2 * v for v in x if v > 1]


def test_what_needs_a_number_says_where():
    f = ag.function(lambda x: np.searchsorted(np.sort(x[x > 1]), 2.5), input_signature=OF_ANY_SIZE)
    with pytest.raises(ag.StagingError, match=r"test_masks_of_symbolic_sizes.py:\d+: .*\n  This depends on the size"):
        f.get_concrete_function()
    with pytest.warns(ag.StagingWarning, match="traced again for each: .*test_masks_of_symbolic_sizes.py"):
        assert f(jnp.array([1.0, 2.0, 3.0])) == 1
