"""Item writes by boolean masks, alone and among other indices: what NumPy does, though a traced mask has no known size."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.tools.fuzz.oracle import load

MATRIX = np.arange(12.0, dtype=np.float32).reshape(3, 4)
ROWS = np.array([True, False, True])
COLUMNS = np.array([False, True, True, False])
KEYS = {
    "all": "a > 4",
    "rows": "r",
    "columns": ":, c",
    "row and columns": "1, c",
    "rows and column": "r, 2",
    "rows and columns' slice": "r, 1:3",
    "rows' slice and columns": "::2, c",
    "ellipsis": "..., c",
    "new axis": "None, r",
    "negative": "-1, c",
    "integer, slice, mask": "0, None, c",
    "computed": "r & ~r",
}


def function_of(statement):
    return load(f"def f(a, r, c, i):\n    {statement}\n    return a\n", f"<{statement}>").f


def agrees(f, *arguments):
    wanted = f(*(np.copy(argument) for argument in arguments))
    arrays = [jnp.asarray(argument) for argument in arguments]
    for way in (ag.function(f), jax.jit(ag.convert(f))):
        np.testing.assert_array_equal(way(*arrays), wanted)
    mapped = jax.jit(jax.vmap(ag.convert(f)))(*(jnp.stack([array, array]) for array in arrays))
    np.testing.assert_array_equal(mapped[1], wanted)
    return wanted


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
@pytest.mark.parametrize("write", ["= 5", "+= 2", "*= i", "-= a.sum()", "= -i"])
def test_writes_where_the_mask_is_true(key, write):
    agrees(function_of(f"a[{key}] {write}"), MATRIX, ROWS, COLUMNS, np.int32(1))


@pytest.mark.parametrize(
    "key, shape", [(":, c", (3, 1)), ("r", (4,)), ("r", (1, 4)), ("r, 1:3", (2,)), ("a > 4", (1,))]
)
@pytest.mark.parametrize("symbol", ["=", "+="])
def test_values_spread_over_the_other_dimensions(key, shape, symbol):
    value = f"np.arange({np.prod(shape)}).reshape({shape})"
    agrees(function_of(f"a[{key}] {symbol} {value}"), MATRIX, ROWS, COLUMNS, np.int32(1))


@pytest.mark.parametrize(
    "key, shape", [("r", (2, 4)), (":, c", (3, 2)), ("1, c", (2,)), ("a > 4", (7,)), ("0, None, c", (2, 1))]
)
@pytest.mark.parametrize("symbol", ["=", "-="])
def test_one_value_for_each_element_that_the_mask_takes(key, shape, symbol):
    f = function_of(f"a[{key}] {symbol} np.arange({np.prod(shape)}).reshape({shape})")
    wanted = f(MATRIX.copy(), ROWS, COLUMNS, 0)
    np.testing.assert_array_equal(ag.function(f)(*map(jnp.asarray, (MATRIX, ROWS, COLUMNS, 0))), wanted)


def test_another_number_of_values_raises_when_the_program_runs():
    @ag.function
    def f(v, m):
        v[m] = jnp.arange(2.0)
        return v

    v = jnp.zeros(3)
    np.testing.assert_array_equal(f(v, jnp.array([True, False, True])), [0, 0, 1])
    with pytest.raises(ValueError, match="2 values are assigned through a mask that selects another number"):
        f(v, jnp.array([True, True, True]))
    with pytest.raises(ag.StagingError, match=r"test_mask_writes.py:\d+: v\[m\] = jnp.arange"):
        jax.jit(ag.convert(f.python_function))(v, jnp.array([True, False, True]))


def test_the_old_items_are_read_before_the_right_hand_side_runs():
    def f(v, x):
        def halve():
            nonlocal v
            v[:] = v / 2
            return v.sum()

        v[v > x] += halve()
        return v

    wanted = agrees(f, np.array([1.0, 4.0, 8.0], np.float32), np.float32(2))
    np.testing.assert_array_equal(wanted, [0.5, 4 + 6.5, 8 + 6.5])


def test_with_windows_at_traced_places():
    def f(a, c, i):
        a[i : i + 2, c] += 1
        a[i : i + 2, c] *= a.sum()
        return a

    agrees(f, MATRIX, COLUMNS, np.int32(1))


def test_the_old_items_of_a_window():
    def f(a, c, i):
        def halve():
            nonlocal a
            a[:] = a / 2
            return a.sum()

        a[i : i + 2, c] += halve()
        return a

    agrees(f, MATRIX, COLUMNS, np.int32(1))


def test_under_conditions_and_in_loops():
    def f(v, n):
        for _ in range(n):
            if v.sum() < 100:
                v[v > 2] *= 2
                v[(v < 0) | (v > 50)] = 0
        return v

    agrees(f, np.array([3.0, -1.0, 1.0, 5.0], np.float32), np.int32(5))


def test_numpy_arrays_and_attributes():
    class Holder:
        def __init__(self, w):
            self.w = w
            self.table = {"t": np.zeros(3, np.float32)}

    def f(v, x):
        h = Holder(v + 0)
        h.w[h.w > x] -= 1
        h.table["t"][v > x] = 7
        return h.w + h.table["t"]

    agrees(f, np.array([3.0, -1.0, 1.0], np.float32), np.float32(0.5))


def test_gradient():
    def f(v):
        v = v + 0
        v[v > 0] = v.sum()
        v[v < 0] *= 3
        return (v * v).sum()

    v = jnp.array([1.0, -2.0, 4.0])
    np.testing.assert_allclose(jax.grad(ag.function(f))(v), jax.grad(ag.convert(f))(v))
    np.testing.assert_allclose(jax.grad(ag.function(f))(v), [12.0, 12.0 - 36.0, 12.0])


def test_a_second_mask_and_an_array_of_positions_are_refused():
    def two(a, r, c):
        a[r, c] = 1
        return a

    def positions(a, r, c):
        a[r, jnp.array([0, 1])] = 1
        return a

    for f, fact in ((two, "two masks"), (positions, "a mask and an array of positions")):
        with pytest.raises(ag.StagingError, match=fact) as caught:
            ag.function(f)(*map(jnp.asarray, (MATRIX, ROWS, COLUMNS)))
        assert "test_mask_writes.py" in str(caught.value) and "float32[3,4]" in str(caught.value)


def test_reading_by_a_traced_mask_gives_what_it_takes():
    def f(v):
        return v[v > 0].sum(), v[v > 0]

    total, taken = ag.function(f)(jnp.array([1.0, -2.0, 3.0]))
    assert total == 4 and taken.tolist() == [1.0, 3.0]


def test_the_value_runs_before_the_target():
    count = 0

    def bump(by):
        nonlocal count
        count += by
        return by

    def f(w, n):
        w[count % 3] = bump(1)
        w[n] = bump(n)
        return w

    wanted = f(np.zeros(3, np.int32), 2)
    count = 0
    np.testing.assert_array_equal(ag.convert(f)(np.zeros(3, np.int32), 2), wanted)


def test_a_dead_list_may_be_written_by_item_and_method_in_a_branch():
    def f(x, m):
        items = [3, 3]
        if x > 0:
            items[0] += m
            items.reverse()
        return x

    assert float(ag.function(f)(jnp.float32(2), jnp.int32(1))) == 2.0


def test_items_of_nonlocal_and_global_arrays():
    def f(v, n):
        def clear(k):
            nonlocal v
            v[k] = 0

        for k in range(n):
            clear(k)
        return v

    agrees(f, np.array([1.0, 4.0, 8.0], np.float32), np.int32(2))
