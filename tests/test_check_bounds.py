"""`check_bounds`: an index that is out of range raises what plain Python on NumPy's arrays raises."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged

VECTOR, MATRIX = np.arange(1.0, 4.0, dtype=np.float32), np.arange(6.0, dtype=np.float32).reshape(2, 3)


def outcome(call):
    try:
        return jax.tree.map(lambda leaf: np.asarray(leaf).tolist(), call())
    except IndexError as error:
        return f"IndexError: {error}"


def agree(function, array, *indices):
    """The function gives, traced and checked, what it gives on NumPy's arrays."""
    expected = outcome(lambda: function(np.array(array), *indices))
    assert outcome(lambda: staged.checked(function)(jnp.asarray(array), *map(jnp.asarray, indices))) == expected
    return expected


def read(x, i):
    return x[i]


def read_two(x, i, j):
    return x[i, j]


def read_from_the_end(x, j):
    return x[..., j], x[None, :, j]


def read_in_turn(x, i, j):
    return x[i][j]


def read_constant(x):
    return x[2], x[-3], x[7]


def write(x, i):
    x[i] = 9.0
    return x


def update(x, i):
    x[i] += 9.0
    return x


def update_row(x, i):
    x[i, 1:] *= 2.0
    return x


def add_up(x, n):
    total = 0.0
    for i in range(n):
        total += x[i]
    return total


def first_above(x, limit):
    i = 0
    while x[i] < limit:
        i += 1
    return i


def guarded(x, i):
    if i < 3:
        return x[i]
    return -1.0


def from_a_list(x, i):
    table = [10.0, 20.0, 30.0]
    return table[i] + x[0]


def into_a_list(x, i):
    table = [10.0, 20.0, 30.0]
    table[i] = 5.0
    return table


def from_a_tuple(x, i):
    return ((1.0, 2.0), (3.0, 4.0))[i][0]


def through_a_helper(x, i):
    return read(x, i) + 1


def taken(x, i):
    return np.take(x, i), x.take(i)


@pytest.mark.parametrize("index", [0, 2, 3, 99, -3, -4])
@pytest.mark.parametrize("function", [read, write, update, guarded, from_a_list, into_a_list, through_a_helper, taken])
def test_one_index(function, index):
    agree(function, VECTOR, index)


@pytest.mark.parametrize("index", [-3, -2, 1, 2])
def test_lists_of_tuples(index):
    agree(from_a_tuple, VECTOR, index)


@pytest.mark.parametrize("i", [-3, -2, 0, 1, 2])
@pytest.mark.parametrize("j", [-4, 0, 2, 3])
@pytest.mark.parametrize("function", [read_two, read_in_turn])
def test_several_dimensions(function, i, j):
    agree(function, MATRIX, i, j)


@pytest.mark.parametrize("j", [-4, -3, 2, 3])
def test_ellipsis_and_new_dimensions(j):
    agree(read_from_the_end, MATRIX, j)


@pytest.mark.parametrize("i", [-3, 0, 2])
def test_slices_beside_an_index(i):
    agree(update_row, MATRIX, i)


def test_constant_indices():
    assert agree(read_constant, VECTOR) == "IndexError: index 7 is out of bounds for axis 0 with size 3"


@pytest.mark.parametrize("indices", [[0, 2], [0, 3, 5], [[1, 2], [-1, -4]], np.zeros(0, np.int32)])
@pytest.mark.parametrize("function", [read, write])
def test_arrays_of_indices_name_the_first_that_is_out_of_range(function, indices):
    agree(function, VECTOR, np.array(indices))


@pytest.mark.parametrize("count", [0, 3, 4])
def test_in_a_loop(count):
    agree(add_up, VECTOR, count)


@pytest.mark.parametrize("limit", [2.5, 7.5])
def test_in_the_test_of_a_loop(limit):
    agree(first_above, VECTOR, limit)


def test_masks_are_no_positions():
    def positive(x):
        x[x < 2] = 0.0
        return x

    agree(positive, VECTOR)


def test_unsigned_indices():
    assert "index 200 is" in outcome(lambda: ag.function(read, check_bounds=True)(jnp.ones(3), jnp.uint8(200)))


@pytest.mark.parametrize("index", [2, 3])
def test_jaxs_own_updates(index):
    x = jnp.asarray(VECTOR)
    for update in (
        lambda x, i: x.at[i].set(1.0),
        lambda x, i: x.at[i].add(1.0),
        lambda x, i: x.at[i].get(),
        lambda x, i: x.at[jnp.array([0, i])].multiply(2.0),
    ):
        found = outcome(lambda update=update: ag.function(update, check_bounds=True)(x, jnp.array(index)))
        assert found == (
            "IndexError: index 3 is out of bounds for axis 0 with size 3"
            if index == 3
            else outcome(lambda update=update: update(x, index))
        )


def test_a_mode_says_what_becomes_of_an_index_out_of_range():
    x, i = jnp.asarray(VECTOR), jnp.array(5)
    for function in (
        lambda x, i: x.at[i].set(1.0, mode="drop"),
        lambda x, i: x.at[i].get(mode="fill", fill_value=7.0),
        lambda x, i: jnp.take(x, i, mode="clip"),
        lambda x, i: jnp.take(x, i, 0, None, "wrap"),
    ):
        assert outcome(lambda f=function: ag.function(f, check_bounds=True)(x, i)) == outcome(
            lambda f=function: f(x, i)
        )


@pytest.mark.parametrize("index", [1, 2])
def test_along_an_axis(index):
    positions = jnp.array([[index, 0, 0]])
    checked = ag.function(lambda x, i: jnp.take_along_axis(x, i, 0), check_bounds=True)
    assert outcome(lambda: checked(jnp.asarray(MATRIX), positions)) == outcome(
        lambda: np.take_along_axis(MATRIX, np.array(positions), 0)
    )
    in_all = ag.function(lambda x, i: jnp.take(x, i), check_bounds=True)
    assert outcome(lambda: in_all(jnp.asarray(MATRIX), jnp.array(5))) == 5.0
    assert outcome(lambda: in_all(jnp.asarray(MATRIX), jnp.array(6))).startswith("IndexError: index 6 ")


def test_numpy_arrays_from_outside_at_a_traced_index():
    table = np.arange(3.0)
    checked = ag.function(lambda i: table[i], check_bounds=True)
    assert outcome(lambda: checked(jnp.array(1))) == 1.0
    assert outcome(lambda: checked(jnp.array(3))) == outcome(lambda: table[3])


def test_under_transforms():
    x = jnp.asarray(VECTOR)
    checked = ag.function(lambda x, i: x[i] ** 2, check_bounds=True)
    assert jax.grad(checked)(x, jnp.array(2)).tolist() == [0, 0, 6]
    assert jax.vmap(checked, (None, 0))(x, jnp.array([0, 2])).tolist() == [1, 9]
    for call in (
        lambda: jax.grad(checked)(x, jnp.array(3)),
        lambda: jax.vmap(checked, (None, 0))(x, jnp.array([0, 3])),
        lambda: ag.function(lambda x: jax.vmap(lambda i: x[i])(jnp.arange(4)), check_bounds=True)(x),
        lambda: ag.function(lambda x: jax.lax.fori_loop(0, 4, lambda i, s: s + x[i], 0.0), check_bounds=True)(x),
    ):
        assert outcome(call) == "IndexError: index 3 is out of bounds for axis 0 with size 3"
    # A bare jax.jit around it cannot deliver an exception, and clamps as without the option.
    assert jax.jit(checked)(x, jnp.array(3)) == 9


def test_a_variable_keeps_its_value_when_the_call_raises():
    total = ag.Variable(jnp.zeros(3))

    @ag.function(check_bounds=True)
    def step(i):
        total.assign_add(jnp.ones(3))
        return total[i]

    assert outcome(lambda: step(jnp.array(2))) == 1.0
    assert outcome(lambda: step(jnp.array(3))).startswith("IndexError")
    assert total.numpy().tolist() == [1, 1, 1]


def test_in_methods_with_symbolic_sizes():
    class Table:
        def __init__(self):
            self.scale = 2.0

        @ag.function(input_signature=[ag.TensorSpec([None]), ag.TensorSpec([], jnp.int32)], check_bounds=True)
        def look_up(self, x, i):
            return x[i] * self.scale

    table = Table()
    assert outcome(lambda: table.look_up(jnp.ones(5), jnp.int32(4))) == 2.0
    assert outcome(lambda: table.look_up(jnp.ones(4), jnp.int32(4))).endswith(
        "index 4 is out of bounds for axis 0 with size 4"
    )


def test_the_error_stands_on_the_users_line():
    def second_line(x, i):
        y = x * 2
        return y[i]

    with pytest.raises(IndexError) as raised:
        ag.function(second_line, check_bounds=True)(jnp.ones(3), jnp.array(4))
    assert raised.traceback[-1].lineno == second_line.__code__.co_firstlineno + 1


def test_a_saved_function_raises_where_it_is_loaded(tmp_path):
    checked = ag.function(read, check_bounds=True)
    checked(jnp.asarray(VECTOR), jnp.array(0))
    ag.save(checked, tmp_path / "saved")
    loaded = ag.load(tmp_path / "saved")
    assert outcome(lambda: loaded(jnp.asarray(VECTOR), jnp.array(5))).startswith("IndexError: index 5 is out of bounds")


def test_without_the_option_nothing_is_checked():
    assert ag.function(read)(jnp.asarray(VECTOR), jnp.array(5)) == 3
    with pytest.raises(TypeError, match="check_bounds must be True or False"):
        ag.function(read, check_bounds=1)
