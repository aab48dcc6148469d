"""Long loops of few operations: several iterations at once where that is known to pay, and the results of plain Python everywhere."""

from __future__ import annotations

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.backends.xla.jax_compat import Kind, all_equations, kind
from autograph.backends.xla.scans import unrolled_p

LONG = [1600, 1604, 1605]  # iterations that blocks of eight, and of four, divide, and that they do not


def average(signal, out):
    level = np.float32(0)
    for i in ag.range(signal.shape[0]):
        level = 0.75 * level + 0.25 * signal[i]
        out[i] = level
    return out


def gate(signal, out):
    level = np.float32(0)
    for i in ag.range(signal.shape[0]):
        level = 0.75 * level + 0.25 * abs(signal[i])
        if level > 0.5:
            out[i] = signal[i]
        else:
            out[i] = 0.0
    return out, level


def resonator(signal, out):
    y1 = np.float32(0)
    y2 = np.float32(0)
    for i in ag.range(signal.shape[0]):
        y = 0.2 * signal[i] + 1.2 * y1 - 0.5 * y2
        out[i] = y
        y2 = y1
        y1 = y
    return out, y1


def backwards(signal, out):
    level = np.float32(1)
    for i in ag.range(signal.shape[0] - 1, -1, -1):
        level = 0.5 * level + signal[i]
        out[i] = level * 0.5
    return out, level


def counted(signal, out):
    ups, best = 0, signal[0]
    for i in ag.range(signal.shape[0]):
        if signal[i] > best:
            best = signal[i]
            ups += 1
    return best, ups


UNROLLED = {each.__name__: each for each in (average, gate, resonator, backwards, counted)}


def exponentials(signal, out):
    level = np.float32(0)
    for i in ag.range(signal.shape[0]):
        level = jnp.exp(-level) * signal[i]
        out[i] = level
    return out


def many_operations(signal, out):
    level = np.float32(0)
    for i in ag.range(signal.shape[0]):
        for k in range(60):
            level = level * np.float32(0.5) + signal[i] * k
        out[i] = level
    return out


def vectors(signal, out):
    state = signal[:3]
    for i in ag.range(signal.shape[0]):
        state = 0.5 * state + signal[i]
        out[i] = state[0]
    return out


def operands(length):
    signal = np.random.default_rng(0).normal(size=length).astype(np.float32)
    return signal, np.full(length, 7, np.float32)


def unrolled(program, length):
    jaxpr = jax.make_jaxpr(ag.convert(program))(*operands(length)).jaxpr
    scans = [each for each in all_equations(jaxpr) if kind(each) is Kind.SCAN]
    assert scans
    return [each.primitive is unrolled_p for each in scans]


def plainly(program, signal, out):
    return program(signal, out.copy())


def agree(found, expected):
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", UNROLLED)
def test_small_bodies_of_long_loops_may_be_unrolled(name):
    assert all(unrolled(UNROLLED[name], 1600))
    assert not any(unrolled(UNROLLED[name], 100))


@pytest.mark.parametrize("program", [exponentials, vectors], ids=lambda f: f.__name__)
def test_other_bodies_are_not(program):
    assert not any(unrolled(program, 1600))


def test_bodies_of_many_operations_are_not():
    assert not any(unrolled(many_operations, 1600))


@pytest.mark.parametrize("length", LONG)
@pytest.mark.parametrize("name", UNROLLED)
def test_results_are_those_of_python(name, length):
    program = UNROLLED[name]
    agree(jax.jit(ag.convert(program))(*operands(length)), plainly(program, *operands(length)))


def test_xla_is_given_eight_iterations_at_once():
    def multiplications(length):
        text = jax.jit(ag.convert(average)).lower(*operands(length)).as_text()
        return text.count("call @closed_call") + text.count("stablehlo.multiply")

    assert multiplications(1600) >= multiplications(100) + 7


@pytest.mark.parametrize("name, length", [("average", 1604), ("gate", 1605), ("resonator", 1605)])
def test_transforms_leave_the_loop_as_it_is_written(name, length):
    """By a loop that is too short to be unrolled: the same derivatives and batches."""
    converted = ag.convert(UNROLLED[name])

    def total(signal, out):
        return sum(jnp.sum(jnp.sin(result)) for result in jax.tree.leaves(converted(signal, out)))

    signal, out = operands(length)
    tangent = np.cos(np.arange(length, dtype=np.float32))
    _, forward = jax.jit(lambda s, t: jax.jvp(lambda s: total(s, out), (s,), (t,)))(signal, tangent)
    gradient = jax.jit(jax.grad(total))(signal, out)
    kept = jax.jit(jax.grad(jax.checkpoint(total)))(signal, out)
    np.testing.assert_allclose(kept, gradient, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(forward, jnp.vdot(gradient, tangent), rtol=1e-3, atol=1e-2)
    lanes = jax.jit(jax.vmap(converted, in_axes=(0, None)))(np.stack([signal, signal[::-1]]), out)
    for k, each in enumerate((signal, signal[::-1])):
        agree(jax.tree.map(lambda lane: lane[k], lanes), plainly(UNROLLED[name], each, out))  # noqa: B023


def test_a_gradient_of_a_gradient():
    @jax.jit  # outside of a trace the loop is Python's own
    def total(signal):
        return jnp.sum(ag.convert(average)(signal, signal) ** 2)

    signal = operands(1600)[0]
    direction = np.ones_like(signal)
    _, along = jax.jvp(jax.grad(total), (signal,), (direction,))
    agree(along, jax.grad(total)(direction))  # the function is quadratic


def test_a_program_for_several_platforms():
    exported = jax.export.export(jax.jit(ag.convert(gate)), platforms=["cpu", "cuda", "tpu"])(*operands(1605))
    agree(exported.call(*operands(1605)), plainly(gate, *operands(1605)))
    text = jax.jit(ag.convert(gate)).trace(*operands(1600)).lower(lowering_platforms=("tpu",)).as_text()
    on_cpu = jax.jit(ag.convert(gate)).lower(*operands(1600)).as_text()
    assert text.count("stablehlo.") < on_cpu.count("stablehlo.") or text.count("call @") < on_cpu.count("call @")


def test_inside_functions_loops_and_branches():
    total = ag.Variable(0.0)

    @ag.function
    def run(signal, n):
        out = jnp.zeros_like(signal)
        for _ in range(n):
            if signal[0] > -10:
                out = ag.convert(average)(signal, out)
            total.assign_add(out[-1])
            signal = out
        return signal

    signal, out = operands(1604)
    expected, summed = signal, 0.0
    for _ in range(3):
        expected = plainly(average, expected, out)
        summed += expected[-1]
    agree(run(signal, jnp.int32(3)), expected)
    agree(total.numpy(), summed)


def test_evaluated_operation_by_operation():
    agree(ag.function(average, jit_compile=False)(*operands(1604)), plainly(average, *operands(1604)))


def biquad(x, out):
    x1, x2, y1, y2 = 0.0, 0.0, 0.0, 0.0
    for i in range(x.shape[0]):
        y = 0.2 * x[i] + 0.3 * x1 + 0.2 * x2 - 0.5 * y1 - 0.1 * y2
        x2 = x1
        x1 = x[i]
        y2 = y1
        y1 = y
        out[i] = y
    return out, x2


@pytest.mark.parametrize("length", [1, 2, 3, 1600])
def test_a_delay_line_that_starts_with_python_floats(length):
    converted = jax.jit(ag.convert(biquad))
    agree(converted(*operands(length)), plainly(biquad, *operands(length)))


def test_a_delay_line_is_one_loop():
    found = jax.make_jaxpr(ag.convert(biquad))(*operands(1600))
    assert [kind(each) for each in found.jaxpr.eqns].count(Kind.SCAN) == 1
