"""NumPy arrays among arguments that functions write in place: results and the caller's arrays are Python's."""

from __future__ import annotations

import copy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph import StagingError
from tests import in_place_programs


def A(*values):
    return np.array(values, np.float32)


def plain(value):
    return jax.tree.map(lambda leaf: (np.asarray(leaf).astype(float).round(3) + 0.0).tolist(), value)


@pytest.mark.parametrize(
    ("program", "calls"), in_place_programs.CASES, ids=lambda case: getattr(case, "__name__", "calls")
)
def test_results_and_arguments(program, calls):
    compiled = ag.function(program)
    for given in calls:
        pythons, mine = copy.deepcopy(given), copy.deepcopy(given)
        assert plain((program(*pythons), pythons)) == plain((compiled(*mine), mine))
        for theirs, own in zip(jax.tree.leaves(pythons), jax.tree.leaves(mine), strict=True):
            assert (type(own), own.dtype) == (type(theirs), theirs.dtype)
    assert compiled.experimental_get_tracing_count() <= 2


def count_up(x):
    for i in range(len(x)):
        if x[i] > 0:
            x[i] += 1
    return x.sum()


def only_for_the_caller(x):
    for i in range(len(x)):
        x[i] *= 2


def increment(x):
    x[...] = x + 1
    x += 1


def write_and_read(a, b):
    a[0] = 1
    return b[0]


SHARED = A(1, 2)


def write_one_that_is_captured(a):
    a[0] = SHARED[1]
    return a[1]


def raises(x, c):
    x[0] = 5
    if c > 0:
        raise ValueError("positive")
    x[1] = 6


def written_if_it_is_long(x):
    if x.shape[0] > 2:
        x[0] = 1
    return x[1]


def called(f, *given):
    return plain((f(*given), given))


@pytest.mark.parametrize("first", ["numpy", "jax"])
def test_arrays_of_jax_are_values(first):
    f, theirs = ag.function(count_up), jnp.array([1.0, -1.0, 2.0])
    order = [0, 1, 0, 1] if first == "numpy" else [1, 0, 1, 0]
    for k in order:
        if k == 0:
            assert called(f, A(1, -1, 2)) == (4, ([2, -1, 3],))
        else:
            assert called(f, theirs) == (4, ([1, -1, 2],))
    assert f.experimental_get_tracing_count() == 2
    assert "a NumPy array that is written in place" in f.explain_retraces()


def test_what_only_the_caller_sees():
    f = ag.function(only_for_the_caller)
    for _ in range(2):
        assert called(f, A(1, 2)) == (None, ([2, 4],))
        with pytest.raises(StagingError, match="JAX arrays are immutable"):
            f(jnp.array([1.0, 2.0]))
    for transformed in (jax.jit(ag.convert(only_for_the_caller)), jax.jit(f), jax.vmap(f)):
        with pytest.raises(StagingError, match="JAX arrays are immutable"):
            transformed(np.ones((2, 2), np.float32))


def test_transforms_take_arrays_for_values():
    f, x = ag.function(count_up), A(1, 2)
    assert plain(jax.jit(ag.convert(count_up))(x)) == plain(jax.jit(f)(x)) == 5
    assert plain(jax.vmap(f)(np.stack([x, x]))) == [5, 5]
    assert plain(jax.grad(f)(x)) == [1, 1]
    assert plain(x) == [1, 2]


def test_views():
    mine, pythons = (np.arange(12, dtype=np.float32).reshape(3, 4) for _ in range(2))
    f = ag.function(increment)
    for write, m in ((f, mine), (increment, pythons)):
        for view in (m[1], m[:, 1], m.T, m[::2, ::-1]):
            write(view)
    assert plain(mine) == plain(pythons)
    assert called(f, np.array(3.0, np.float32)) == (None, (5,))


def test_aliases_are_refused():
    f, x = ag.function(write_and_read), A(1, 2)
    for given in [(x, x), (x, x[::-1]), (x[:1], x)]:
        with pytest.raises(
            StagingError, match=r"'a' is written in place by write_and_read, and shares memory with 'b'"
        ):
            f(*given)
    assert plain(x) == [1, 2]
    assert called(f, x[1:], x[:1]) == (1, ([1], [1]))
    assert called(ag.function(write_and_read), A(3), x) == (1, ([1], [1, 1]))
    with pytest.raises(StagingError, match="shares memory with 'SHARED'"):
        ag.function(write_one_that_is_captured)(SHARED[:])
    assert called(ag.function(write_one_that_is_captured), A(3, 4)) == (4, ([2, 4],))


def test_arrays_that_are_only_read_may_be_the_same():
    x = A(1, 2)
    assert plain(ag.function(lambda a, b: a + b)(x, x)) == [2, 4]


def test_a_read_only_array():
    x = A(1, 2)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        ag.function(increment)(x)
    assert plain(x) == [1, 2]


def test_a_call_that_raises_leaves_them_as_they_were():
    f, x = ag.function(raises), A(1, 2)
    with pytest.raises(ValueError, match="positive"):
        f(x, np.float32(1))
    assert plain(x) == [1, 2]
    f(x, np.float32(-1))
    assert plain(x) == [5, 6]


def test_what_is_not_written_keeps_64_bits():
    x = np.array([0.1, 0.2, 2.0])
    ag.function(write_and_read)(x, A(1))
    assert x.tolist() == [1.0, 0.2, 2.0]


def test_shapes_of_which_one_is_written():
    f = ag.function(written_if_it_is_long)
    for given in (A(5, 6), A(7, 6), A(5, 6, 7), A(8, 9, 9), A(8, 9)):
        pythons = given.copy()
        assert called(f, given) == (plain(written_if_it_is_long(pythons)), (plain(pythons),))


@pytest.mark.parametrize(
    "options",
    [
        {"jit_compile": False},
        {"reduce_retracing": True},
        {"input_signature": [ag.TensorSpec([None], jnp.float32)]},
        {"donate_argnums": (0,)},
        {"check_bounds": True},
    ],
    ids=lambda options: next(iter(options)),
)
def test_options(options):
    f = ag.function(count_up, **options)
    for given in (A(1, 2), A(1, 2, 3), A(-1, 2, 3), A(1, 2, 3, 4)):
        pythons = given.copy()
        assert called(f, given) == (plain(count_up(pythons)), (plain(pythons),))


def test_where_nobody_sees_the_write():
    f = ag.function(count_up)
    for stage in (f.get_concrete_function, f.lower, f.trace, f.eval_shape):
        with pytest.raises(StagingError, match="'x' is an array that count_up writes in place"):
            stage(A(1, 2))
    concrete = f.get_concrete_function(ag.TensorSpec([2]))
    assert plain(concrete(jnp.array([1.0, 2.0]))) == 5
    with pytest.raises(StagingError, match="'x' is an array that count_up writes in place"):
        concrete(A(1, 2))


inner = ag.function(count_up)
inner_only = ag.function(only_for_the_caller)


def calls_others(x):
    t = x.copy()
    total = inner(t)
    inner_only(x)
    return total + inner(x) + x[0]


def test_functions_in_functions():
    pythons = A(1, -2, 3)
    t = pythons.copy()
    total = count_up(t)
    only_for_the_caller(pythons)
    expected = total + count_up(pythons) + pythons[0]
    f = ag.function(calls_others)
    for _ in range(2):
        mine = A(1, -2, 3)
        assert called(f, mine) == (expected, (plain(pythons),))


class Grid(ag.Module):
    def __init__(self):
        self.steps = ag.Variable(0.0)

    @ag.function
    def step(self, u):
        u[1:-1] += self.steps
        self.steps += 1
        return u[1]


def test_methods_and_variables():
    grid, u = Grid(), A(1, 2, 3)
    assert [plain((grid.step(u), u)) for _ in range(3)] == [(2, [1, 2, 3]), (3, [1, 3, 3]), (5, [1, 5, 3])]
    assert plain(grid.steps.value) == 3


def test_a_view_of_an_argument_is_written():
    def reshaped(x):
        y = x.reshape(2, 2)
        y[0, 0] = 1
        return x

    mine, theirs = A(1, 2, 3, 4), A(1, 2, 3, 4)
    np.testing.assert_array_equal(ag.function(reshaped)(mine), reshaped(theirs))
    np.testing.assert_array_equal(mine, theirs)


def of_a_head(x, n):
    part = x[:n]
    part[0] = 9
    return x.sum()


def of_a_written_tail(x, n):
    x[1] = 5
    part = x[n:]
    for i in range(n - 1):
        part[i] = 9
    return x.sum()


def of_a_head_in_place(x, n):
    part = x[:n]
    part += 1
    return x.sum()


def of_the_whole(x, n):
    part = x[n:]
    x[2] = 7
    return part.sum()


def of_the_whole_in_a_loop(x, n):
    part = x[n:]
    for i in range(2):
        x[n + i] = 2 * part.sum()
    return x


def of_one_of_two(x, n):
    left, right = x[:n], x[n:]
    left[0] = right[0]
    return x


def of_a_part_of_one(x, n):
    part = x[n:][::-1]
    part[0] = 9
    return x


def by_a_method(x, n):
    x[:n].sort()
    return x


def of_a_copy(x, n):
    part = x[n:].copy()
    part[0] = 9
    return part.sum(), x.sum()


def before_and_after_use(x, n):
    part = x[n:]
    total = part.sum()
    x[0] = total
    return x


def of_slices_in_a_loop(x, n):
    for i in range(3):
        part = x[n:]
        x[i] = part.sum()
    return x


def of_what_is_used_no_more(x, n):
    part = (x * 2)[:n]
    part[0] = 7
    return part.sum()


def of_a_name_bound_anew(x, n):
    part = x[:n]
    part = part * 2
    part[0] = 7
    return part.sum(), x


SEEN = [
    *(of_a_head, of_a_written_tail, of_a_head_in_place, of_the_whole, of_the_whole_in_a_loop, of_one_of_two),
    *(of_a_part_of_one, by_a_method),
]
UNSEEN = [of_a_copy, before_and_after_use, of_slices_in_a_loop, of_what_is_used_no_more, of_a_name_bound_anew]


@pytest.mark.parametrize("of_argument", [True, False], ids=["argument", "array"])
@pytest.mark.parametrize("write", SEEN)
def test_a_slice_of_traced_length_that_writes_would_show_to_be_a_part_is_refused(write, of_argument):
    program = write if of_argument else lambda x, n: write(x * 2, n)
    with pytest.raises(StagingError, match="The length of this slice is known only"):
        ag.function(program)(A(3, 1, 2, 4), jnp.array(2))


@pytest.mark.parametrize("of_argument", [True, False], ids=["argument", "array"])
@pytest.mark.parametrize("write", UNSEEN)
def test_a_slice_of_traced_length_is_written_where_no_write_shows(write, of_argument):
    program = write if of_argument else lambda x, n: write(x * 2, n)
    found, expected = ag.function(program)(A(3, 1, 2, 4), jnp.array(2)), program(A(3, 1, 2, 4), 2)
    for own, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(own, theirs)


def test_writes_that_are_refused():
    def shaped(x):
        x.shape = (2, 2)
        return x

    def cast(x):
        x += 0.5
        return x

    with pytest.raises(StagingError, match="The attribute 'shape' of an array is assigned"):
        ag.function(shaped)(A(1, 2, 3, 4))
    with pytest.raises(TypeError, match="which NumPy does not cast to it"):
        ag.function(cast)(np.array([1, 2]))


def test_methods_of_ufuncs():
    def f(a, b):
        return np.add.outer(a, b), np.multiply.reduce(a), np.add.accumulate(a)

    given = A(1, 2, 3), A(4, 5)
    assert plain(ag.function(f)(*given)) == plain(f(*given))


def test_eagerly():
    ag.run_functions_eagerly(True)
    try:
        assert called(ag.function(count_up), A(1, -1)) == (1, ([2, -1],))
    finally:
        ag.run_functions_eagerly(False)


def of_small_numbers(x, w):
    for k in range(3):
        if x > k:
            w = w * 0 + 1
        else:
            w = w + w
    return w


@pytest.mark.parametrize("dtype", ["int4", "uint4", "float8_e4m3fn", "float8_e5m2", "bfloat16"])
def test_arrays_of_small_numbers(dtype):
    compiled = ag.function(of_small_numbers)
    for x in (0, 2):
        w = jnp.array([1, 0], dtype)
        wanted, found = of_small_numbers(x, w), compiled(jnp.array(x), w)
        assert found.dtype == wanted.dtype == w.dtype
        assert found.astype(np.float32).tolist() == wanted.astype(np.float32).tolist()
