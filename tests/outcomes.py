"""What a call does, compared before and after conversion."""

import jax
import jax.numpy as jnp
import numpy as np

import autograph as ag
from tests import staged


def outcome(function, *arguments):
    """What a call does: its result or its exception, and what it wrote to its first argument, a log."""
    log = []
    try:
        result = ("returned", function(log, *arguments))
    except Exception as error:
        result = ("raised", type(error), error.args, type(error.__cause__))
    return result, log


def same(function, *argument_lists):
    """Asserts that conversion changes nothing, for each list of arguments; makes them anew for each run."""
    converted = ag.convert(function)
    for arguments in argument_lists or [()]:
        make = arguments if callable(arguments) else lambda arguments=arguments: arguments
        found, wanted = outcome(converted, *make()), outcome(function, *make())
        assert found == wanted, f"converted: {found}, plain: {wanted}"


def agrees(function, *values):
    """Asserts that the function, staged under every set of options, returns what plain Python returns."""
    for features in (None, ag.Feature.LISTS):
        compiled = ag.function(function, experimental_autograph_options=features)
        for value in values or (1.5, -1.5):
            expected, found = function(jnp.float32(value)), compiled(jnp.float32(value))
            assert jax.tree.structure(found) == jax.tree.structure(expected)
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), found, expected)


def agrees_when_transformed(program, x, *, beside):
    """Asserts that a program gives for ``x`` what Python gives: staged, in `jax.jit`, and in a batch with ``beside``."""
    wanted = np.array(jax.tree.leaves(program(x)), float)
    for found in (
        staged.function(program)(jnp.asarray(x)),
        staged.jitted(program)(x),
        jax.tree.map(lambda v: v[1], staged.mapped(program)(jnp.array([beside, x]))),
    ):
        np.testing.assert_allclose(np.array(jax.tree.leaves(found), float), wanted, rtol=1e-6)


def asserting(log, x):
    """Stands here, since pytest rewrites the `assert` statements of a test module, but not its source."""
    log.append("before")
    assert x, ("message", x)
    return x


def agree(one, other):
    """Asserts that two results have the same leaves, of the same shapes, up to rounding."""
    one, other = (list(map(np.asarray, jax.tree.leaves(value))) for value in (one, other))
    assert [leaf.shape for leaf in one] == [leaf.shape for leaf in other]
    for theirs, own in zip(one, other, strict=True):
        np.testing.assert_allclose(own, theirs, rtol=1e-5)
