"""``min``, ``max``, ``sorted``, ``sum``, ``any`` and ``all`` of lists in which each element is a number or None."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


def table(x):
    """What was found for each place, and the places to look at: both depend on the values."""
    return [None if x[k] < 0 else x[k] * 2 for k in range(5)], [k for k in range(5) if x[k] > -2]


def filtered(x):
    best, places = table(x)
    return [best[k] for k in places if best[k] is not None]


def unfiltered(x):
    best, places = table(x)
    return [best[k] for k in places]


def sorted_in_place(x):
    found = filtered(x)
    found.sort(reverse=True)
    return found


def from_a_dict(x):
    places = [k for k in range(5) if x[k] > -2]
    best = {k: (None if x[k] < 0 else x[k]) for k in range(5)}
    return min((best[k] for k in places if best[k] is not None), default=-1), sorted(
        best[k] for k in places if best[k] is not None
    )


def in_a_loop(x):
    best, places = table(x)
    total = 0
    for k in range(3):
        total += max([best[c] for c in places if best[c] is not None], default=k)
    return total


PROGRAMS = {
    "min": lambda x: min(filtered(x)),
    "max": lambda x: max(filtered(x)),
    "min or a default": lambda x: min(filtered(x), default=-7),
    "max by a key": lambda x: max(filtered(x), key=lambda v: -v, default=0),
    "sum": lambda x: sum(filtered(x)),
    "sum from a start": lambda x: sum(filtered(x), 10),
    "sorted": lambda x: sorted(filtered(x)),
    "sorted backwards": lambda x: sorted(filtered(x), reverse=True)[:1],
    "sorted in place": sorted_in_place,
    "any": lambda x: (any(unfiltered(x)), all(unfiltered(x)), any(filtered(x)), all(filtered(x))),
    "from a dict": from_a_dict,
    "in a loop": in_a_loop,
    "of all": lambda x: max(unfiltered(x)),
    "sum of all": lambda x: sum(unfiltered(x)),
    "sorted all": lambda x: sorted(unfiltered(x)),
    "of one": lambda x: max(unfiltered(x)[:1], default=None),
    "of known length": lambda x: (max(table(x)[0]), min(table(x)[0]), sorted(table(x)[0])),
}
EXAMPLES = ([3, -1, 4, -1, 5], [1, 1, 1, 1, 1], [-1, -1, -1, -1, -2], [-3, -3, 2, -3, -3], [-3] * 5)


def outcome(call, x):
    try:
        found = call(x)
        return jax.tree.map(lambda leaf: np.asarray(leaf).tolist(), found)
    except (TypeError, ValueError) as error:
        return type(error)


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_python(name):
    program = PROGRAMS[name]
    compiled = ag.function(program)
    for x in EXAMPLES:
        assert outcome(compiled, jnp.array(x)) == outcome(program, x)


def test_derivatives_and_batches():
    def greatest(x):
        return max(filtered(x), default=0.0)

    x = jnp.array([3.0, -1.0, 4.0, -1.0, 5.0])
    assert jax.grad(ag.function(greatest))(x).tolist() == [0.0, 0.0, 0.0, 0.0, 2.0]
    found = jax.vmap(ag.function(lambda x: sum(filtered(x))))(jnp.stack([x, -x]))
    assert found.tolist() == [24.0, 4.0]


def test_what_cannot_raise_refuses_a_value_that_may_be_none():
    with pytest.raises(ag.StagingError, match="may be None"):
        jax.jit(ag.convert(PROGRAMS["max"]))(jnp.array(EXAMPLES[0]))
