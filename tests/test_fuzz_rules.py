"""What the fuzzer evaluates in NumPy is what XLA computes."""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.backends.xla.while_ad.primitive import record_p
from autograph.backends.xla.while_ad.reverse_sweep import sweep_p
from autograph.tools.fuzz.interpreter import _NESTED, _SIMPLE, Evaluated

V = np.array([3.0, -1.0, 2.0, 2.0], np.float32)
W = np.array([2, -7, 1, 40], np.int32)
A = np.arange(12, dtype=np.float32).reshape(3, 4)
I, J = np.array([1, 0, 7, -5], np.int32), np.array([0, 2, 1, 1], np.int32)

CASES = {
    "item": (lambda v, i: v[i], V, np.int32(2)),
    "items": (lambda v, i: v[i], V, I),
    "row": (lambda a, i: a[i], A, np.int32(-1)),
    "column": (lambda a, i: a[:, i], A, np.int32(1)),
    "pairs": (lambda a, i, j: a[i, j], A, J, I),
    "window": (lambda a, i: jax.lax.dynamic_slice(a, (i, i), (2, 2)), A, np.int32(2)),
    "taken": (lambda a, i: jnp.take(a, i, axis=1), A, I),
    "taken, clipped": (lambda a, i: jnp.take(a, i, axis=0, mode="clip"), A, I),
    "taken, filled": (lambda w, i: w.at[i].get(mode="fill", fill_value=9), W, I),
    "lanes": (jax.vmap(lambda v, i: v[i], (None, 0)), V, I),
    "lanes of rows": (jax.vmap(lambda a, i: a[i]), A, J[:3]),
    "along an axis": (lambda a, i: jnp.take_along_axis(a, i[None], 0), A, J),
    "written": (lambda v, i: v.at[i].set(8.0), V, np.int32(1)),
    "written outside": (lambda v, i: v.at[i].set(8.0), V, np.int32(9)),
    "written at many": (lambda v, i: v.at[i].set(jnp.arange(4.0)), V, np.array([2, 0, 9, 3], np.int32)),
    "written row": (lambda a, i: a.at[i].set(V), A, np.int32(2)),
    "written column": (lambda a, i: a.at[:, i].set(8.0), A, np.int32(2)),
    "written pairs": (lambda a, i, j: a.at[i, j].set(8.0), A, J, I),
    "written in lanes": (jax.vmap(lambda a, i: a.at[i].set(8.0)), A, J[:3]),
    "written, clipped": (lambda v, i: v.at[i].set(8.0, mode="clip"), V, np.int32(9)),
    "added": (lambda v, i: v.at[i].add(V), V, J),
    "multiplied": (lambda v, i: v.at[i].multiply(V), V, J),
    "least": (lambda w, i: w.at[i].min(W), W, J),
    "greatest": (lambda w, i: w.at[i].max(W), W, J),
    "written scalar": (lambda x: x.at[()].set(8.0), np.float32(1)),
    "written windows": (lambda a, i: jax.lax.dynamic_update_slice(a, a[:2, :2] * 9, (i, i)), A, np.int32(2)),
    "written with two to one place": (lambda w, i: w.at[i].set(W), W, np.array([1, 3, 1, 9], np.int32)),
    "added in lanes": (jax.vmap(lambda a, i: a.at[i].add(8.0)), A, J[:3]),
    "sorted": (jnp.sort, V),
    "sorted rows": (lambda a: jnp.sort(-a, axis=1), A),
    "order": (jnp.argsort, V),
    "order of two": (lambda v, w: jnp.lexsort((w, v)), V, W),
    "sums": (jnp.cumsum, V),
    "sums from the end": (lambda v: jax.lax.cumsum(v, reverse=True), V),
    "products": (lambda a: jnp.cumprod(a, axis=0), A),
    "maxima": (jax.lax.cummax, V),
    "minima": (jax.lax.cummin, V),
    "place of the greatest": (jnp.argmax, V),
    "place of the least": (lambda a: jnp.argmin(a, axis=1), A),
    "stacked": (lambda v, w: jnp.stack([v, w + 0.0], axis=1), V, W),
    "unstacked": (lambda a: jnp.unstack(a, axis=1), A),
    "to the left": (lambda w, n: jax.lax.shift_left(w, n), W, np.array([1, 2, 31, 40], np.int32)),
    "to the right": (lambda w, n: jax.lax.shift_right_arithmetic(w, n), W, np.array([1, 2, 31, -1], np.int32)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rule(name, monkeypatch):
    function, *arguments = CASES[name]
    wanted = jax.jit(function)(*arguments)

    def jax_is_asked(self, equation, operands):
        raise AssertionError(f"{equation.primitive.name} has no rule")

    if name != "sorted rows":
        monkeypatch.setattr("autograph.tools.fuzz.interpreter.Evaluator._other", jax_is_asked)
    found = Evaluated(function)(*arguments)
    for left, right in zip(jax.tree.leaves(wanted), jax.tree.leaves(found), strict=True):
        np.testing.assert_array_equal(np.asarray(left), np.asarray(right), strict=True)


def test_reads_and_writes_of_many_windows_take_no_step_of_python_for_each():
    many = np.arange(200_000, dtype=np.int32)[::-1]
    lines = []

    def count(frame, event, _):
        lines.append(event)
        return count

    program = Evaluated(lambda w, i: w.at[i].add(w[i]))
    program(many, many)
    sys.settrace(count)
    try:
        found = program(many, many)
    finally:
        sys.settrace(None)
    assert len(lines) < 10_000
    np.testing.assert_array_equal(found, 2 * many)


def halved(x, n):
    while n > 0:
        x = x * x / 2
        n -= 1
    return x


@pytest.mark.parametrize("transform", [jax.grad, lambda f: jax.vmap(jax.grad(f), (0, None))])
def test_derivatives_of_loops_are_evaluated_without_xla(transform, monkeypatch):
    gradient = transform(ag.convert(halved))
    x = np.float32(1.5) if transform is jax.grad else V
    wanted = jax.jit(gradient)(x, np.int32(3))
    for primitive in (record_p, sweep_p):
        monkeypatch.setattr(primitive, "impl", None)  # which compiles
    np.testing.assert_allclose(Evaluated(gradient)(x, np.int32(3)), wanted, rtol=1e-6)


def test_every_rule_is_of_an_operation():
    assert not set(_SIMPLE) & set(_NESTED)
