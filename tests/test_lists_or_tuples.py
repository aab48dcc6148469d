"""Loops over a value that is a list on one path and a tuple on another: results are Python's, and lists are not written meanwhile."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


def pair(x):
    found = (x, 2 * x)
    if x > 1:
        found = [v / 2 for v in found]
    return found


def a_loop(x):
    total = 0.0
    for v in pair(x):
        if v > 0.6:
            total = 3 * total + v
    return total


def a_loop_that_ends(x):
    total = 0.0
    for v in pair(x):
        total += v
        if total > 1:
            break
    else:
        total = -total
    return total


def builtins_of_iterators(x):
    found, total = pair(x), 0.0
    for k, v in enumerate(found):
        total += k * v
    for v, w in zip(found, (1.0, 2.0)):
        total += v * w
    for v in reversed(found):
        total = 2 * total + v
    return total + sum(map(lambda v: v * v, found))


def comprehensions(x):
    found = pair(x)
    return [v + 1 for v in found], dict(zip("ab", found)), any(v > 1 for v in found), sum(v * v for v in found)


def one_step(x):
    items = iter(pair(x))
    return next(items) - next(items)


def arrays_of_several_shapes(x):
    found = (x, jnp.ones(2))
    if x > 1:
        found = [v * 2 for v in found]
    return [jnp.sum(v) for v in found]


def items_written(x):
    one, other, total = [x, 1.0], [x, 2.0], 0.0
    for row in [one, other] if x > 1 else (x, x):
        if isinstance(row, list):
            row[0] += 1.0
            one[1] += row[0]
        else:
            total += row
    return total, one, other


def written_after(x):
    items = [x, 2 * x]
    found, total = items if x > 1 else (x, x), 0.0
    for v in found:
        total += v
    items[0] = total
    return items, [v for v in found]


def agree(found, wanted):
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    np.testing.assert_allclose(jax.tree.leaves(found), jax.tree.leaves(wanted), rtol=1e-6)


PROGRAMS = [
    *(
        a_loop,
        a_loop_that_ends,
        builtins_of_iterators,
        comprehensions,
        one_step,
        arrays_of_several_shapes,
        items_written,
    ),
    written_after,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_results_are_pythons(program):
    function, jitted = ag.function(program), jax.jit(ag.convert(program))
    for x in (0.25, 0.75, 2.0, 4.0):
        agree(function(jnp.array(x)), program(x))
        agree(jitted(x), program(x))


@pytest.mark.parametrize("program", [a_loop, builtins_of_iterators, one_step])
def test_so_they_are_under_vmap_and_grad(program):
    xs = jnp.array([0.25, 0.75, 2.0, 4.0])
    wanted = [jax.value_and_grad(program)(x) for x in xs]
    np.testing.assert_allclose(jax.vmap(ag.convert(program))(xs), [value for value, _ in wanted], rtol=1e-6)
    slopes = jax.vmap(jax.grad(ag.convert(program)))(xs)
    np.testing.assert_allclose(slopes, [slope for _, slope in wanted], rtol=1e-6)


def test_clipped_gradients_of_a_modules_variables():
    class Line(ag.Module):
        def __init__(self):
            self.w, self.b = ag.Variable([1.0, 2.0]), ag.Variable(3.0)

        def step(self, x):
            with ag.GradientTape() as tape:
                loss = jnp.sum(self.w * x) + self.b**2
            gradients = tape.gradient(loss, self.trainable_variables)
            norm = jnp.sqrt(sum(jnp.sum(g**2) for g in gradients))
            if norm > 7:
                gradients = [g * (7 / norm) for g in gradients]
            for variable, gradient in zip(self.trainable_variables, gradients, strict=True):
                variable.assign_sub(0.1 * gradient)
            return loss

    plain, compiled = Line(), Line()
    step = ag.function(compiled.step)
    for x in (1.0, 5.0, -20.0, 0.1):
        np.testing.assert_allclose(step(jnp.array(x)), plain.step(jnp.array(x)), rtol=1e-5)
        for one, other in zip(compiled.variables, plain.variables, strict=True):
            np.testing.assert_allclose(one.value, other.value, rtol=1e-5)


def ahead_written(x):
    items, total = [x, 2 * x, 3 * x], 0.0
    for k, v in enumerate(items if x > 1 else (x, x, x)):
        if k < 2:
            items[k + 1] += v
        total += v
    return total


def one_written_between(x):
    items = [x, 2 * x]
    found = iter(items if x > 1 else (x, x))
    items[1] = 5.0
    return next(found) + next(found)


def shorter_by_path(x):
    total = 0.0
    for v in [x, x] if x > 1 else (x, x, x):
        total += v
    return total


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (ahead_written, "writes to a list that it may be"),
        (one_written_between, "writes to a list that it may be"),
        (shorter_by_path, r"make one: list\(value\)"),
    ],
)
def test_what_is_not_known_is_refused(program, words):
    with pytest.raises(ag.StagingError, match=words):
        ag.function(program)(jnp.array(2.0))


def test_the_remedy():
    def program(x):
        total = 0.0
        for v in list([x, x] if x > 1 else (x, x, x)):
            total += v
        return total

    assert [float(ag.function(program)(jnp.array(x))) for x in (1.0, 2.0)] == [3.0, 4.0]
