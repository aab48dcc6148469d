"""Ten errors that beginners meet: a program, what its message advises, and the program after that, which does what Python does."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.errors.page import says

TEN = {
    "shapes that differ by branch": (
        """
@ag.function
def scaled(x):
    if x.sum() > 1:
        y = x / x.sum()
    else:
        y = 0.0
    return y
r = scaled(jnp.array([0.25, 0.25]))
""",
        ["'y'", "example.py:4", "jnp.zeros_like"],
        ("y = 0.0", "y = jnp.zeros_like(x)"),
    ),
    "an array that grows in a loop": (
        """
@ag.function
def squares(n):
    y = jnp.array([])
    for i in range(n):
        y = jnp.append(y, 1.0 * i * i)
    return y
r = squares(jnp.array(4))
""",
        ["'y'", "example.py:5", "append the parts to a list, and join them after the loop (jnp.stack"],
        ("y = jnp.array([])", "y = []"),
        ("y = jnp.append(y, 1.0 * i * i)", "y.append(1.0 * i * i)"),
        ("return y", "return jnp.stack(y)"),
    ),
    "None on one path": (
        """
@ag.function
def first_positive(xs):
    found = None
    for x in xs:
        if x > 0:
            found = x
            break
    return found * 2
r = first_positive(jnp.array([-1.0, -2.0]))
""",
        ["None was used where a value is needed", "test `is None` first"],
        ("return found * 2", "return -1.0 if found is None else found * 2"),
    ),
    "an argument that is changed under jax.grad": (
        """
@ag.function
def loss(state, x):
    state["last"] = x
    return state["last"] ** 2
r = jax.grad(lambda x: loss({"last": jnp.array(0.0)}, x))(jnp.array(3.0))
""",
        ["'state'", "example.py:3", "Change a copy, and return it: state = dict(state)."],
        ("    state[", "    state = dict(state)\n    state["),
    ),
    "the value of an array": (
        """
@ag.do_not_convert
def is_large(x):
    return x.item() > 1
@ag.function
def halved(x):
    while is_large(x):
        x = x / 2
    return x
r = halved(jnp.array(10.0))
""",
        ["`item()`", "example.py:3", "Omit the call"],
        ("x.item()", "x"),
    ),
    "a test of many elements": (
        """
@ag.function
def clipped(x):
    if x > 1:
        return jnp.ones_like(x)
    return x
r = clipped(jnp.array([0.5, 2.0]))
""",
        ["more than one element", "Use a.any() or a.all()"],
        ("if x > 1:", "if (x > 1).any():"),
    ),
    "a global that counts": (
        """
count = 0
@ag.function
def add(x):
    global count
    if x > 0:
        count = count + 1
    return x
step = jax.jit(add)
step(jnp.array(1.0)), step(jnp.array(-1.0))
r = count
""",
        ["'count'", "example.py:2", "Return the value, and assign it outside of the transform"],
        ("step = jax.jit(add)", "step = add"),
    ),
    "a Variable that is created on each call": (
        """
@ag.function
def total(x):
    v = ag.Variable(0.0)
    v.assign_add(x)
    return v.value
total(jnp.array(1.0))
r = total(jnp.array(2.0))
""",
        ["A Variable", "example.py:3", "Create it outside"],
        ("    v = ag.Variable(0.0)\n", ""),
        ("@ag.function\n", "v = ag.Variable(0.0)\n@ag.function\n"),
    ),
    "a key that one branch sets": (
        """
@ag.function
def summary(x):
    found = {"mean": x.mean()}
    if x.max() > 1:
        found["peak"] = x.max()
    return jax.tree.map(jnp.negative, found)
r = summary(jnp.array([0.5, 2.0]))
""",
        ["'peak'", "example.py:6", "Set it on every path"],
        ('found = {"mean": x.mean()}', 'found = {"mean": x.mean(), "peak": 0.0}'),
    ),
}


def result_of(program, eagerly):
    scope = {"ag": ag, "jax": jax, "jnp": jnp}
    ag.run_functions_eagerly(eagerly)
    try:
        exec(compile(program, "example.py", "exec"), scope)
    finally:
        ag.run_functions_eagerly(False)
    return scope["r"]


@pytest.mark.parametrize("name", TEN)
def test_the_message_alone_is_enough(name, monkeypatch, tmp_path):
    program, wanted, *changes = TEN[name]
    said = says(program.strip())
    assert [part for part in wanted if part not in said] == [], said
    for old, new in changes:
        assert old in program
        program = program.replace(old, new)
    (tmp_path / "example.py").write_text(program)  # where its source is read
    monkeypatch.chdir(tmp_path)
    found, expected = result_of(program, False), result_of(program, True)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b)
