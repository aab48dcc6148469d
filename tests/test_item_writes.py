"""Item assignment under conditions and in loops: what plain Python computes, and no array through a branch."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged
from tests.agreement import agrees_when_compiled
from tests.jaxprs import equations

LANES = np.array([[3.0, -1.0, 2.2, 0.2, 7.0, -2.0], [-3.0, 1.0, 2.2, 4.0, -7.0, 2.0]])
VALUES = np.array([3.0, -1.0, 2.5, 0.0, 7.0, -2.0], np.float32)


def swap_if(x, i, j):
    if x[i] > x[j]:
        x[i], x[j] = x[j], x[i]
    return x


def either_side(x, i, j):
    if x[i] > 1:
        x[i] = x[j] * 2
    else:
        x[i] = -x[i]
    return x


def different_items(x, i, j):
    if x[i] > 1:
        x[i] = 10.0
    else:
        x[j] = 20.0
        x[i] = x[j] + 1
    return x


def read_after_write(x, i, j):
    if x[i] > x[j]:
        x[i] = 5.0
        x[j] = x[i] + x[j]
        x[j] += 1
    return x


def nested(x, i, j):
    if x[i] > 0:
        if x[j] > 0:
            x[i] = x[j] + 1
        else:
            x[j] = x[i] - 1
    return x


def with_another_result(x, i, j):
    found = 0
    if x[i] > x[j]:
        x[i] = 0.0
        found = i
    return x, found


def writes_another_array(x, i, j):
    y = x + 1
    if x[i] > 0:
        y[j] = x[i]
        x[i] = y[i]
    return x, y


def two_names_for_one_array(x, i, j):
    y = x.copy()
    if y[i] > 0:
        x[j] = y[j] + 1
        y[j] = x[i]
    return x, y


def a_whole_slice(x, i, j):
    if x[i] > 0:
        x[2:4] = x[0:2]
    return x


def square_root(x, i, j):
    if x[i] > 0:
        x[j] = jnp.sqrt(x[i])
    else:
        x[j] = 1.0
    return x


PROGRAMS = [
    swap_if,
    either_side,
    different_items,
    read_after_write,
    nested,
    with_another_result,
    writes_another_array,
    two_names_for_one_array,
    a_whole_slice,
]
PLACES = [(0, 1), (1, 0), (2, 3), (5, 5), (-1, 0), (3, -6)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_as_plain_python(program):
    staged = jax.jit(ag.convert(program))
    for i, j in PLACES:
        found = staged(VALUES, i, j)
        wanted = program(VALUES.copy(), i, j)
        jax.tree.map(np.testing.assert_array_equal, found, wanted)


@pytest.mark.parametrize("program", PROGRAMS)
def test_in_lanes_of_vmap(program):
    i, j = (np.array(part, np.int32) for part in zip(*PLACES, strict=True))
    rows = np.stack([np.roll(VALUES, k) for k in range(len(PLACES))])
    found = jax.jit(jax.vmap(ag.convert(program)))(rows, i, j)
    lanes = [program(row.copy(), *map(int, place)) for row, *place in zip(rows, i, j, strict=True)]
    jax.tree.map(np.testing.assert_array_equal, found, jax.tree.map(lambda *parts: np.stack(parts), *lanes))


@pytest.mark.parametrize("program", [*PROGRAMS, square_root])
def test_gradients_are_those_of_the_path_taken(program):
    def loss(x, i, j, run):
        return sum(jnp.sum(jnp.asarray(part, float) ** 2) for part in jax.tree.leaves(run(x, i, j)))

    def on_numbers(x, i, j):
        """Central differences of plain Python."""
        slopes = []
        for k in range(len(x)):
            sides = []
            for step in (1e-2, -1e-2):
                moved = np.array(x, np.float64)
                moved[k] += step
                sides.append(float(loss(moved, i, j, program)))
            slopes.append((sides[0] - sides[1]) / 2e-2)
        return slopes

    for i, j in [(0, 1), (1, 0), (2, 4), (1, 5)]:
        found = jax.jit(jax.grad(loss), static_argnums=3)(VALUES, jnp.int32(i), jnp.int32(j), ag.convert(program))
        np.testing.assert_allclose(found, on_numbers(VALUES, i, j), rtol=1e-2, atol=1e-2)


def test_a_write_out_of_range_is_dropped():
    def f(x, i):
        if x[0] > 0:
            x[i] = 1.0
        return x

    staged = jax.jit(ag.convert(f))
    for i in (6, 100, -7, np.iinfo(np.int32).max):
        np.testing.assert_array_equal(staged(VALUES, jnp.int32(i)), VALUES)


def test_nan_and_infinity_of_a_branch_not_taken_are_not_seen():
    def f(x, i):
        if x[i] > 0:
            x[i] = jnp.log(x[i]) / x[i]
        return x

    x = jnp.array([0.0, -1.0, 2.0])
    staged = jax.jit(ag.convert(f))
    np.testing.assert_array_equal(staged(x, 0), x)
    np.testing.assert_array_equal(jax.jit(jax.grad(lambda x: staged(x, 0).sum()))(x), np.ones(3))
    found = jax.jit(jax.grad(lambda x: jax.vmap(staged, (None, 0))(x, jnp.arange(2)).sum()))(x)
    np.testing.assert_array_equal(found, [2, 2, 2])


def test_integer_division_by_zero_in_a_branch_not_taken():
    def f(x, i, n):
        if n != 0:
            x[i // n] = 100 // n
        return x

    x = np.arange(4, dtype=np.int32)
    staged = jax.jit(ag.convert(f))
    for n in (0, 1, 2):
        np.testing.assert_array_equal(staged(x, 3, n), f(x.copy(), 3, n))


def bubble_sort(x, n):
    for i in range(n - 1):
        swapped = False
        for j in range(n - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                swapped = True
        if not swapped:
            break
    return x


def test_loops_sort():
    rng = np.random.default_rng(0)
    staged = jax.jit(ag.convert(bubble_sort))
    for n in (2, 3, 10, 33):
        x = rng.normal(size=n).astype(np.float32)
        np.testing.assert_array_equal(staged(x, n), np.sort(x))
    rows = rng.normal(size=(4, 9)).astype(np.float32)
    np.testing.assert_array_equal(jax.jit(jax.vmap(ag.convert(bubble_sort), (0, None)))(rows, 9), np.sort(rows))


def firsts(x, n):
    """Where each of some numbers first occurs, in an array of a weak type."""
    found = jnp.full(8, -1)
    for k in range(n):
        if found[x[k]] < 0:
            found[x[k]] = k
    return found


def test_an_array_of_a_weak_type_stays_one():
    x = jnp.array([5, 2, 5, 1, 2, 7])
    for count in (0, 4, 6):
        found = jax.jit(ag.convert(firsts))(x, count)
        want = np.full(8, -1)
        for k in reversed(range(count)):
            want[x[k]] = k
        np.testing.assert_array_equal(found, want)
        assert found.weak_type


@pytest.mark.parametrize("program, x", [(bubble_sort, VALUES), (firsts, jnp.array([5, 2, 5, 1, 2, 7]))])
def test_no_branch_gives_an_array_that_it_writes_one_item_of(program, x):
    traced = jax.make_jaxpr(ag.convert(program))(x, jnp.int32(6))
    branches = [e for e, _ in equations(traced.jaxpr) if e.primitive.name == "cond"]
    assert branches
    assert all(var.aval.size <= 1 for e in branches for var in e.outvars)


def test_sorting_copies_no_array_in_an_iteration():
    """The compiled program copies its argument, once."""
    compiled = jax.jit(ag.convert(bubble_sort)).lower(jnp.ones(200), jnp.int32(200)).compile()
    copies = [line for line in compiled.as_text().splitlines() if " copy(" in line and "f32[200]" in line]
    assert len(copies) <= 1, copies


# Ranges with traced bounds.


@pytest.mark.parametrize("start, stop, step", [(2, 20, 3), (20, 2, -3), (5, 5, 1), (7, 2, 1), (0, 1, 5), (-4, 9, 4)])
def test_items_of_a_range(start, stop, step):
    def f(x, start, stop, step):
        last = -100
        for m in range(start, stop, step):
            x[m] += m
            last = m
        return x, last

    x = np.zeros(24, np.int32)
    found = jax.jit(ag.convert(f))(x, start, stop, step)
    jax.tree.map(np.testing.assert_array_equal, found, f(x.copy(), start, stop, step))


def test_items_of_a_range_up_to_the_largest_integer():
    def f(start, stop, step):
        n = 0
        total = 0.0
        for m in range(start, stop, step):
            n += 1
            total += m * 1e-9
        return n, total

    top = np.iinfo(np.int32).max
    for bounds in [(top - 7, top, 3), (-top, top, 2**29), (top, -top, -(2**29))]:
        if abs(bounds[1] - bounds[0]) <= top:
            n, total = staged.jitted(f)(*map(jnp.int32, bounds))
            assert int(n) == len(range(*bounds))
            np.testing.assert_allclose(total, f(*bounds)[1], rtol=1e-5)


def test_a_range_whose_item_is_left_by_break_and_whose_step_changes():
    def f(n, step):
        total = 0
        for m in range(1, n, step):
            step = step + 1  # the range keeps the step that it began with
            total += m * step
            if total > 50:
                break
        return total, step

    staged = jax.jit(ag.convert(f))
    for n, step in [(30, 2), (5, 1), (1, 1), (100, 7)]:
        assert tuple(map(int, staged(n, step))) == f(n, step)


@pytest.mark.parametrize("factor", [0, 1, -1, 3, 2**30, 2**31 - 1])
def test_sums_that_look_like_the_item_of_a_range(factor):
    def f(n, factor):
        total = 0
        for i in range(n):
            total += 1 + factor * i
        return total

    def of_a_literal(n):
        total = 0
        for i in range(n):
            total += 1 + factor * i
        return total

    for n in (0, 1, 5, 9):
        wanted = np.int64(f(n, factor)).astype(np.int32)  # wraps
        assert staged.jitted(f)(jnp.int32(n), jnp.int32(factor)) == wanted
        assert staged.jitted(of_a_literal)(jnp.int32(n)) == wanted


# Division by powers of two.


@pytest.mark.parametrize("dtype", [np.int32, np.int8, np.uint8, np.int16])
def test_division_by_powers_of_two_rounds_down(dtype):
    def f(n):
        results = (n, n, n, n, n, n)
        k = 0
        while k < abs(n) and k < 1:
            results = n // 2, n % 2, n // 8, n % 8, n // 1, n % 1
            k += 1
        return results

    info = np.iinfo(dtype)
    staged = jax.jit(ag.convert(f))
    for n in {info.min + 1, max(info.min, -5), 0, 1, 7, 8, info.max - 1, info.max}:
        assert tuple(map(int, staged(dtype(n)))) == f(int(n)), n


def test_a_function_of_the_same_name_is_left_alone():
    @jax.jit
    def floor_divide(a, b):
        return a - b

    def f(n):
        k = 0
        while k < 1:
            n = floor_divide(n, 2)
            k = k + n * 0 + 1
        return n

    assert int(jax.jit(ag.convert(f))(jnp.int32(7))) == 5


@pytest.mark.parametrize("c", [True, False])
def test_what_the_other_block_prints_is_printed(c, capsys):
    @ag.function
    def f(c, v, w):
        if c:
            r = 1.0
            print("first", w[1])
        else:
            v[0] -= 1
            r = 2.0
        return r, v

    r, v = f(jnp.asarray(c), jnp.zeros(3), jnp.arange(3))
    jax.effects_barrier()
    assert capsys.readouterr().out == ("first 1\n" if c else "")
    assert float(r) == (1.0 if c else 2.0) and float(v[0]) == (0.0 if c else -1.0)


def writes_of_a_nested_function(x, i):
    y = x.copy()

    def put(k, v):
        y[k] = v
        y[0] += 1
        return y[k]

    for k in range(3):
        if x[k] > 0:
            put(k, x[k] * 2)
    y[1] = put(i, 7.0) + y[0]
    while y[2] < 5:
        put(2, y[2] + 1)
    return y


def writes_that_operands_make(x, i):
    y = x.copy()

    def put():
        y[0] = 10.0
        return 2.0

    y[1] = put()
    y[i] += put() * y[0]
    before = y[0] + put()
    y[0] = 3.0
    after = y[0] + put() + y[0]
    try:
        y[2] = put()
        if x[0] < 0:
            raise ValueError
        y[1] = 50.0
    except ValueError:
        y[2] = -1.0
    return y, before, after


def recursion_that_sorts(x, i):
    y = x.copy()

    def swap(j, k):
        y[j], y[k] = y[k], y[j]

    def sort(low, high):
        if low >= high:
            return
        place = low
        for k in range(low, high):
            if y[k] < y[high]:
                swap(place, k)
                place += 1
        swap(place, high)
        sort(low, place - 1)
        sort(place + 1, high)

    sort(i, 5)
    return y


def an_array_of_traced_length(x, i):
    y = x[x > 0]

    def put():
        y[0] = 10.0

    if x[0] > i:
        put()
    return y


@pytest.mark.parametrize(
    "function",
    [writes_of_a_nested_function, writes_that_operands_make, recursion_that_sorts, an_array_of_traced_length],
)
def test_an_array_of_a_function_around_is_written(function):
    for values in (VALUES, -VALUES):
        agrees_when_compiled(function, *((values.copy(), np.int32(i)) for i in (0, 1)))


@pytest.mark.parametrize("function", [writes_of_a_nested_function, writes_that_operands_make])
def test_derivatives_of_writes_to_an_array_of_a_function_around(function):
    def total(x):
        return sum(map(jnp.sum, jax.tree.leaves(converted(x, 1))))

    converted, step = ag.convert(function), 1e-2
    for lane, slopes in zip(LANES, jax.vmap(jax.grad(total))(jnp.asarray(LANES)), strict=True):
        moved = [
            [
                np.sum(np.concatenate([np.ravel(v) for v in jax.tree.leaves(function(lane + s * e, 1))]))
                for s in (step, -step)
            ]
            for e in np.eye(6)
        ]
        np.testing.assert_allclose(slopes, [(up - down) / (2 * step) for up, down in moved], rtol=1e-2, atol=1e-2)


def test_an_array_of_a_function_around_what_is_traced():
    table = jnp.zeros(3)

    def put(i):
        table[i] = 1.0
        return table

    before, f = table, ag.function(put)
    with pytest.raises(ag.StagingError, match="'table' would leak a tracer"):
        f.lower(jnp.array(1))
    assert table is before
    assert f(jnp.array(1)).tolist() == table.tolist() == [0.0, 1.0, 0.0] and before.sum() == 0


@pytest.mark.parametrize("kind", [jnp.zeros, np.zeros], ids=["jax", "numpy"])
def test_an_array_of_a_function_around_has_what_is_written_beside_arrays_of_several_names(kind):
    def made():
        table = kind(3)

        def put(i):
            a = np.ones(3) * i
            b = a
            b[0] = 7.0
            table[i] = 1.0
            c = table
            c[0] = 4.0
            return a

        return put, lambda: table

    put, table = made()
    assert ag.function(put)(jnp.array(1)).tolist() == [7.0, 1.0, 1.0]
    assert table().tolist() == [4.0, 1.0, 0.0]
