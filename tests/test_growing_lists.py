"""Lists that staged statements append to by traced conditions: the elements, the length and the stack are Python's."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged


def positives(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v * 2)
    return out


def until_negative(x):
    out = []
    for i in range(len(x)):
        if x[i] < 0:
            break
        out.append(x[i] + i)
    return out


def in_one_branch(x):
    out = [x[0]]
    if x[1] > 0:
        out.append(x[1])
    return out


def in_both_branches(x):
    out = []
    if x[0] > 0:
        out.append(x[0])
    else:
        out.append(x[1])
        out.append(x[2])
    out.append(x[3])
    return out


def branch_after_branch(x):
    out = []
    if x[0] > 0:
        out.append(x[0])
    if x[1] > 0:
        out.append(x[1])
        if x[2] > 0:
            out.append(x[2])
    return out


def deduplicated(x):
    out = []
    for v in x:
        if len(out) == 0 or out[-1] != v:
            out.append(v)
    return out


def running(x):
    out = [x[0]]
    for i in range(1, 4):
        if x[i] > 0:
            out.append(out[-1] + x[i])
    return out


def stack_machine(x):
    stack = []
    for v in x:
        if v > 0:
            stack.append(v)
        elif len(stack) > 1:
            a, b = stack.pop(), stack.pop()
            stack.append(a - b)
    return stack


def looped_over(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    doubled = []
    total = 0.0
    for i, v in enumerate(out):
        total = total + v * i
        if v > 1:
            doubled.append(v + total)
    return doubled


def nested_loops(x):
    out = []
    for a in x:
        for b in x:
            if a < b:
                out.append(a * b)
    return out


def list_in_a_loop(x):
    sizes = []
    for a in x:
        inner = []
        for b in x:
            if b > a:
                inner.append(b)
        sizes.append(len(inner))
    return sizes


def pairs(x):
    out = []
    for i, v in enumerate(x):
        if v > 0:
            out.append((i, v))
    return out


def with_plus(x):
    out = []
    for v in x:
        if v > 0:
            out += [v, -v]
    return out


def concatenated(x):
    out = []
    for v in x:
        if v > 0:
            out = out + [v]
    return out


def extended(x):
    first, second = [], []
    for v in x:
        if v > 0:
            first.append(v)
        else:
            second.append(v)
    first.extend(second)
    return first


def inserted(x):
    out = []
    for v in x:
        if v > 0:
            out.insert(0, v)
    return out


def sliced(x):
    out = []
    for v in x:
        if v != 0:
            out.append(v)
    return out[1:]


def backwards(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    again = []
    for v in reversed(out):
        again.append(v)
    return again


def written_to(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    for i in range(len(out)):
        out[i] = out[i] * 10 + i
    return out


def in_a_helper(x):
    out = []

    def push(v):
        if v > 0:
            out.append(v)

    for v in x:
        push(v)
    return out


class Recorder:
    def __init__(self):
        self.items = []

    def record(self, v):
        if v > 1:
            self.items.append(v)


def in_an_object(x):
    recorder = Recorder()
    for v in x:
        recorder.record(v)
    return recorder.items


def promoted(x):
    out = [1]
    for v in x:
        if v > 0:
            out.append(v)
    return out


def aliased(x):
    out = []
    other = out
    for v in x:
        if v > 0:
            out.append(v)
    return other


def rows(x):
    out = []
    for v in x:
        if v > 0:
            out.append(jnp.stack([v, v + 1]))
    return out


def sorted_list(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    out.sort()
    return out


def reversed_in_place(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    out.reverse()
    out.append(x[0])
    return out


LISTS = [
    positives, until_negative, in_one_branch, in_both_branches, branch_after_branch, deduplicated, running,
    stack_machine, looped_over, nested_loops, list_in_a_loop, pairs, with_plus, concatenated, extended, inserted,
    sliced, backwards, written_to, in_a_helper, in_an_object, promoted, aliased, rows, sorted_list, reversed_in_place,
]  # fmt: skip
INPUTS = [[1.0, 2.0, 2.0, 3.0], [-1.0, 2.0, -3.0, 4.0], [-1.0, -2.0, -3.0, -4.0], [3.0, 1.0, -1.0, -1.0]]


def assert_same_list(found, wanted):
    assert type(found) is list
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        jax.tree.map(np.testing.assert_allclose, a, b)


@pytest.mark.parametrize("function", LISTS, ids=lambda f: f.__name__)
def test_function_returns_the_exact_list(function):
    staged = ag.function(function)
    for values in INPUTS:
        x = jnp.array(values)
        assert_same_list(staged(x), function(x))
    assert staged.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("function", LISTS, ids=lambda f: f.__name__)
def test_jit_returns_a_list_that_reads_as_pythons(function):
    staged = jax.jit(ag.convert(function))
    for values in INPUTS:
        x = jnp.array(values)
        assert_same_list(list(staged(x)), function(x))


@pytest.mark.parametrize("function", [f for f in LISTS if f is not pairs], ids=lambda f: f.__name__)
def test_stack_has_the_length_of_the_list(function):
    def stacked(x):
        out = function(x)
        return [len(out), jnp.stack(out)]

    both = jax.jit(ag.convert(stacked)), jax.jit(jax.vmap(ag.convert(stacked)))
    batch = jnp.array(INPUTS)
    lengths, padded = both[1](batch)
    for k, values in enumerate(INPUTS):
        wanted = function(jnp.array(values))
        length, whole = both[0](jnp.array(values))
        for count, buffer in ((length, whole), (lengths[k] if np.ndim(lengths) else lengths, padded[k])):
            assert count == len(wanted)
            if wanted:
                np.testing.assert_allclose(buffer[: len(wanted)], jnp.stack(wanted), rtol=1e-6)
            assert not np.any(np.asarray(buffer[len(wanted) :]))


def reductions(x):
    out = []
    for v in x:
        if v != 0:
            out.append(v)
    inside = 2.0 in out
    return sum(out), max(out), min(out), any(out), all(out), inside, out.count(2.0), bool(out), out[0], out[-1]


def test_builtins_of_a_list_of_traced_length():
    for values in ([1.0, 2.0, 2.0, 0.0], [-1.0, -5.0, 0.0, 0.0], [3.0, 0.0, 0.0, 2.0]):
        x = jnp.array(values)
        wanted = reductions(x)
        for run in (staged.function(reductions), staged.jitted(reductions)):
            assert [float(v) for v in run(x)] == [float(v) for v in wanted]


def test_truth_of_a_list_of_traced_length():
    def f(x):
        out = []
        for v in x:
            if v > 0:
                out.append(v)
        first = out[0] if out else -1.0
        out = out or [x[0]]
        count = 0
        while out:
            out.pop()
            count += 1
        return first, count

    for values in INPUTS:
        wanted = f(jnp.array(values))
        assert [float(v) for v in staged.jitted(f)(jnp.array(values))] == [float(v) for v in wanted]


def test_index_out_of_range_raises_at_run_time():
    @ag.function
    def f(x, i):
        out = []
        for v in x:
            if v > 0:
                out.append(v)
        return out[i]

    x = jnp.array([1.0, -2.0, 3.0])
    assert f(x, jnp.array(-1)) == 3.0
    with pytest.raises(IndexError, match="list index out of range"):
        f(x, jnp.array(2))


def test_pop_from_empty_raises_at_run_time():
    @ag.function
    def f(x):
        out = [x[0]]
        for v in x:
            if v < 0:
                out.pop()
        return len(out)

    assert f(jnp.array([1.0, -1.0])) == 0
    with pytest.raises(IndexError, match="pop from empty list"):
        f(jnp.array([-1.0, -1.0]))


def test_gradient_through_a_list():
    def f(x):
        out = []
        for v in x:
            if v > 0:
                out.append(v * v)
        return jnp.stack(out).sum()

    x = jnp.array([1.0, -2.0, 3.0])
    np.testing.assert_allclose(jax.grad(ag.convert(f))(x), [2.0, 0.0, 6.0])
    np.testing.assert_allclose(jax.jit(jax.grad(ag.convert(f)))(x), [2.0, 0.0, 6.0])


def refused(function, *arguments):
    with pytest.raises(ag.StagingError) as caught:
        ag.function(function)(*arguments)
    text = str(caught.value)
    assert "test_growing_lists.py" in text
    return text


def test_growth_without_a_bound_is_refused():
    def f(x):
        out = []
        while x > 1:
            if x > 3:
                out.append(x)
            x = x / 2
        return out

    assert ag.function(f)(jnp.array(10.0)) == f(10.0)  # which makes room for it
    with pytest.raises(ag.StagingError, match=r"test_growing_lists.py(.|\n)*TensorArray\(max_size=…\)"):
        jax.jit(ag.convert(f))(jnp.array(10.0))


def test_ragged_elements_are_refused():
    def f(x):
        out = []
        if x[0] > 0:
            out.append(x)
        if x[1] > 0:
            out.append(x[0])
        return out

    text = refused(f, jnp.array([1.0, 2.0]))
    assert "(2,)" in text and "()" in text and "TensorArray" in text


def test_elements_of_different_structure_are_refused():
    def f(x):
        out = []
        for v in x:
            if v > 0:
                out.append(v)
            else:
                out.append({"v": v})
        return out

    assert "different structure" in refused(f, jnp.array([1.0, 2.0]))


def test_library_code_does_not_take_it_for_an_empty_list():
    def f(x):
        out = []
        if x > 0:
            out.append(x)
        return np.array(list(map(abs, out)))

    for x in (1.5, -1.5):
        np.testing.assert_array_equal(staged.function(f)(jnp.array(x)), f(x))


def test_plain_python_makes_plain_lists():
    def f(x):
        out = []
        out.append(x)
        return out

    assert type(ag.convert(f)(1)) is list
    assert type(jax.jit(ag.convert(f))(1)) is list


def test_maximum_iterations_bounds_the_growth_of_a_while_loop():
    def f(x):
        out = []
        while x > 1:
            ag.set_loop_options(maximum_iterations=10)
            if x > 3:
                out.append(x)
            x = x / 2
        return out

    assert_same_list(ag.function(f)(jnp.array(20.0)), f(jnp.array(20.0)))


def test_numpys_stack_of_a_list():
    def f(x):
        out = []
        for v in x:
            if v > 0:
                out.append(v)
        return np.stack(out), np.array(out), jnp.asarray(out)

    for array in jax.jit(ag.convert(f))(jnp.array([1.0, -1.0, 2.0])):
        assert array.tolist() == [1.0, 2.0]
