"""Lists that are written, searched or shortened at an index or by a value that only run time knows."""

from __future__ import annotations

import copy
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

TABLE = [1.0, 2.0, 3.0]


def histogram(values):
    counts = [0] * 4
    for v in values:
        counts[v] += 1
    return counts


def histogram_until(values):
    counts = [0, 0, 0, 0]
    k = 0
    while k < len(values):
        counts[values[k]] += 1
        if counts[2] > 1:
            break
        k += 1
    return counts, k


def in_a_long_loop(values):
    counts = [0] * 4
    for k in range(100):
        counts[values[k % 4]] += k
    return counts


def sorted_by_counting(values):
    counts: list = [0] * 5
    for v in values:
        counts[v] += 1
    for k in range(1, 5):
        counts[k] += counts[k - 1]
    out = [0] * len(values)
    for v in reversed(values):
        counts[v] -= 1
        out[counts[v]] = v
    return out


def adjacency(values):
    matrix = [[0] * 4 for _ in range(4)]
    degree = {"in": [0] * 4, "out": [0] * 4}
    for k in range(3):
        a, b = values[k], values[k + 1]
        if a != b:
            matrix[a][b] = matrix[b][a] = 1
            degree["out"][a] += 1
            degree["in"][b] += 1
    return matrix, degree


def deeper(values):
    cube = [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    i = values[0] % 2
    cube[i][1 - i][i] = 9
    cube[i][0][i] += 9
    cube[1][i][0] -= 1
    return cube


def one_row_under_several_indices(values):
    rows = [[0, 1]] * 2
    rows[values[0] % 2][1] = 5
    return rows


def through_a_row_with_a_name(values):
    rows = [[0.0, 1.0], [2.0, 3.0]]
    row = rows[values[0] % 2]
    row[0] = 9.0
    row[values[1] % 2] += 8.0
    return rows


def dicts_in_a_list(values):
    items = [{"n": 1.0}, {"n": 2.0}]
    items[values[0] % 2]["n"] += 3
    return items


def arrays_and_tuples(values):
    i = values[0] % 2
    rows = [np.zeros(3), np.ones(3)]
    rows[i][1] += 1
    rows[i] = rows[1 - i] * 2
    pairs = [(0, 0.0)] * 3
    pairs[i] = (1, 2.0)
    pairs[i - 1] = (pairs[0][0] + 1, 7.0)
    return rows, pairs


def none_until_found(values):
    first = [None] * 4
    for k, v in enumerate(values):
        if first[v] is None:
            first[v] = k
    return first[0], first[values[-1]]


def a_list_put_into_a_list(values):
    rows = [[0.0, 1.0], [2.0, 3.0]]
    rows[values[0] % 2] = [7.0, 8.0]
    return rows, rows[1][0]


def swaps(values):
    items = [1.0, 2.0, 3.0, 4.0]
    i, j = values[0], values[1]
    items[i], items[j] = items[j], items[i]
    items[-1], items[i - 4] = items[i], 0.0
    return items


class Counter:
    def __init__(self):
        self.counts = [0] * 4

    def add(self, v):
        self.counts[v] += 1


def attribute(values):
    counter = Counter()
    for v in values:
        counter.add(v)
    return counter.counts


def two_names(values):
    items = [1, 2, 3, 4]
    other = items
    items[values[0]] = 9
    if values[1] > 0:
        other[values[1]] = 8
    return items, other


def written_by_a_callee(values):
    items = [0] * 4

    def put(k, v):
        items[k] = v

    for k, v in enumerate(values):
        put(v, k)
    return items, sum(items), max(items), [v + 1 for v in items], items[1:3]


def dynamic_programming(values):
    table = [0] + [99] * 11
    amount = 1
    while amount <= 11:
        for v in values:
            if 0 < v <= amount and table[amount - v] + 1 < table[amount]:
                table[amount] = table[amount - v] + 1
        amount += 1
    return table[11] if table[11] < 99 else -1


def removed(values):
    items = [0, 1, 2, 3]
    del items[values[0]]
    items.remove(values[3])
    return items, items.count(values[1])


def searched(values):
    items = [3, values[0], 0, values[1]]
    return items.index(values[1]), items.count(0)


def in_other_containers(values):
    items = [0] * 3
    state = {"items": items, "sum": 0}
    pair = ([0] * 3, 1)
    for k in range(values[0] + 1):
        state["items"][values[1] % 3] += k
        state["sum"] += sum(items)
        held, count = pair
        held[values[2] % 3] += count
        pair = (held, count + held[k % 3])
    if values[0] > 1:
        items[values[0]] = 7
        return state, pair
    return {"items": items, "sum": 1}, pair


def in_arrays_before_a_branch(values):
    items = [0] * 3
    state = {"items": items, "sum": 0}
    items[values[0]] = 4
    if values[1] > 0:
        items[values[2] % 3] += 3
    elif values[1] < 5:
        state["items"][0] += 1
        state["sum"] = items[1]
    return state


PROGRAMS = [
    *(histogram, histogram_until, in_a_long_loop, sorted_by_counting, adjacency, deeper, one_row_under_several_indices),
    *(through_a_row_with_a_name, dicts_in_a_list, arrays_and_tuples, none_until_found, a_list_put_into_a_list, swaps),
    *(attribute, two_names, written_by_a_callee, dynamic_programming, removed, searched),
    *(in_other_containers, in_arrays_before_a_branch),
]
INPUTS = [np.array([1, 2, 1, 2]), np.array([2, 0, 3, 0]), np.array([0, 0, 3, 2])]


def check_same(found, expected):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b)


# The others give what only an `ag.function` takes apart: None, or a number of items, that the program decides on.
IN_BARE_PROGRAMS = [program for program in PROGRAMS if program not in (none_until_found, removed)]


@pytest.mark.parametrize("wrap", [ag.convert, ag.function])
@pytest.mark.parametrize("program", PROGRAMS)
def test_like_python(program, wrap):
    staged = wrap(program)
    for values in INPUTS:
        expected = program(copy.deepcopy(values))
        found = staged(jnp.asarray(values))
        assert jax.tree.structure(found) == jax.tree.structure(expected)
        check_same(found, expected)


@pytest.mark.parametrize("program", IN_BARE_PROGRAMS)
def test_under_jit(program):
    staged = jax.jit(ag.convert(program))
    for values in INPUTS:
        found, expected = staged(jnp.asarray(values)), program(copy.deepcopy(values))
        assert jax.tree.structure(found) == jax.tree.structure(expected)
        check_same(found, expected)


@pytest.mark.parametrize("program", [each for each in IN_BARE_PROGRAMS if each is not dynamic_programming])
def test_in_a_batch(program):
    found = jax.jit(jax.vmap(ag.convert(program)))(jnp.asarray(np.stack(INPUTS)))
    for k, values in enumerate(INPUTS):
        check_same(jax.tree.map(lambda leaf: leaf[k], found), program(values.copy()))


@pytest.mark.parametrize("index", [0, 1, -1])
def test_gradients(index):
    def squared(x, i):
        items = [x, 2.0 * x, 3.0 * x]
        items[i] = items[i] * x
        rows = [[x, x], [x, x]]
        rows[i][0] *= x
        return items[0] + 10 * items[1] + 100 * items[2] + rows[0][0] + 10 * rows[1][0]

    x, step = 3.0, 1e-3
    expected = (squared(x + step, index) - squared(x - step, index)) / (2 * step)
    np.testing.assert_allclose(jax.grad(ag.convert(squared))(x, jnp.array(index)), expected, rtol=1e-4)


def test_gradients_by_a_tape():
    @ag.function
    def write(x, i):
        items = [x] * 3
        items[i] = x * x
        return items

    x = jnp.array(3.0)
    with ag.GradientTape() as tape:
        tape.watch(x)
        items = write(x, jnp.array(1))
        y = items[0] + items[1]
    np.testing.assert_allclose(tape.gradient(y, x), 7.0)


def test_what_a_concrete_function_returns():
    @ag.function
    def write(i):
        items = [(0, 0.0)] * 2
        items[i] = (1, 2.0)
        return {"items": items}

    number, value = ag.TensorSpec((), jnp.int32), ag.TensorSpec((), jnp.float32)
    concrete = write.get_concrete_function(jnp.array(1))
    assert concrete.structured_outputs == {"items": [(number, value)] * 2}
    check_same(concrete(jnp.array(1)), {"items": [(0, 0.0), (1, 2.0)]})


def test_results_of_functions_in_functions():
    @ag.function
    def write(i):
        items = [0] * 3
        items[i] = 1
        return items

    @ag.function
    def outer(i):
        a, b, c = write(i)
        return a + 2 * b + 3 * c, jax.vmap(write)(jnp.stack([i, i + 1]))

    check_same(outer(jnp.array(1)), (2, list(np.array([[0, 0], [1, 0], [0, 1]]))))
    check_same(jax.jit(write)(jnp.array(2)), [0, 0, 1])


@pytest.mark.parametrize("index", [3, -4, 7])
@pytest.mark.parametrize(
    "make",
    [lambda i: [0.0] * 3, lambda i: [0.0, 1.0, 2.0], lambda i: [[0.0], [1.0], [2.0]]],
    ids=["repeated", "display", "nested"],
)
def test_beyond_the_end(make, index):
    @ag.function
    def write(i):
        items = make(i)
        if isinstance(items[0], list):
            items[i][0] = 1.0
        else:
            items[i] = 1.0
        return items

    with pytest.raises(IndexError, match="list (assignment )?index out of range"):
        write(jnp.array(index))


def test_beyond_the_end_of_an_array_of_known_length():
    @ag.function
    def read(i):
        items = [0.0] * 3
        items[i] = 1.0
        return items[5]

    with pytest.raises(IndexError, match="^list index out of range$"):
        read(jnp.array(1))


def test_an_empty_list_has_no_items():
    @ag.function
    def read(i):
        tables = {"k": []}
        return tables["k"][i]

    with pytest.raises(IndexError, match="list index out of range"):
        read(jnp.array(0))


def test_a_class_of_the_users_writes_its_own_items():
    class Doubling(list):
        def __setitem__(self, key, value):
            super().append((key, value * 2))

    @ag.function
    def write(i):
        items = Doubling([1.0])
        items[i] = 3.0
        return len(items), items[1][1]

    check_same(write(jnp.array(0)), (2, 6.0))


def test_a_list_of_the_module():
    @ag.function
    def read(i):
        copied = list(TABLE)
        copied[i] = 0.0
        return copied, TABLE[i]

    check_same(read(jnp.array(1)), ([1.0, 0.0, 3.0], 2.0))
    assert TABLE == [1.0, 2.0, 3.0]


def test_a_table_is_one_array_in_a_loop():
    def count(values):
        counts = [0] * 200
        for v in values:
            counts[v] += 1
        return sum(counts)

    jaxpr = jax.make_jaxpr(ag.convert(count))(jnp.arange(10))
    (loop,) = [equation for equation in jaxpr.eqns if equation.primitive.name in ("scan", "while")]
    assert len(loop.outvars) < 10


def test_warns_of_many_items():
    @ag.function
    def write(i):
        rows = [{"v": 0.0} for _ in range(100)]
        rows[i]["v"] = 1.0
        return rows[3]

    with pytest.warns(ag.StagingWarning, match="Each of the 100 items of this list") as seen:
        check_same(write(jnp.array(3)), {"v": 1.0})
    assert 'rows[i]["v"] = 1.0' in str(seen[0].message)


def test_long_lists_are_written_by_unrolled_loops_at_indices_they_know():
    @ag.function
    def squares(x):
        items = [v for v in range(80)]
        for i in range(80):
            items[i] = i * i
        return jnp.zeros(items[3]) + x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert squares(jnp.array(1.0)).shape == (9,)


REFUSED = {
    "text": (lambda i: _write(["a", "b"], i, {5.0}), ["items[key] = value", "traced index", "5.0", "'a'"]),
}


def _write(items, key, value):
    items[key] = value
    return items


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what):
    program, texts = REFUSED[what]
    with pytest.raises(ag.StagingError) as error:
        ag.function(program)(jnp.array(0))
    for text in [__file__, *texts]:
        assert text in str(error.value)


@pytest.mark.parametrize("i", [0, 1, -1])
def test_what_an_index_chose_sees_a_write_to_one_of_the_items(i):
    def write(i):
        rows = [[0.0, 1.0], [2.0, 3.0]]
        row = rows[i]
        rows[0][1] += 1
        return rows, row

    check_same(ag.function(write)(jnp.array(i)), write(i))


def test_an_index_that_is_known_is_pythons():
    @ag.convert
    def write(items, i):
        items[i] = 5.0
        return items

    items = [0.0, 1.0]
    assert write(items, jnp.array(1)) is items
    assert items == [0.0, 5.0]


def test_libraries_of_pytrees_get_pythons_lists():
    @ag.function
    def step(x):
        grads = []
        for k in range(2):
            grads.append(x * k)
        params = {"w": [x, x], "b": [x] * 2}
        params["b"][0] = x + 1
        return jax.tree.map(lambda p, g: p - g, params["w"], grads), jax.tree.map(jnp.add, params["b"], [1.0, 2.0])

    check_same(step(jnp.array(2.0)), ([2.0, 0.0], [4.0, 4.0]))


def reads_of_an_empty_list(items, k):
    """In a branch that is not taken, and in a handler."""
    known, made = list(items), [x for x in (1, 2) if x > 9]
    first = known[k] if k < len(known) else -1
    second = made[k] if k < len(made) else "none"[k:]
    if k < len(known):
        known[k] = 7
        known[k] += 1
    try:
        made[k] = 5
    except IndexError as error:
        second = str(error)
    try:
        third = ()[k]
    except IndexError:
        third = -3
    return first, second, third, known


def test_an_empty_list_has_no_item_at_a_traced_index():
    compiled = ag.function(reads_of_an_empty_list)
    for items, k in (([], 2), ([], 0), ([4, 5], 1), ([4, 5], 2)):
        assert compiled(items, jnp.int32(k)) == reads_of_an_empty_list(items, k)
    with pytest.raises(IndexError, match="list index out of range"):
        ag.function(lambda k: [][k] if k > 0 else 0)(jnp.int32(1))
