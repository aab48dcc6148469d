"""Lists, tuples and NumPy arrays that are read at a traced index."""

from __future__ import annotations

import collections

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged

TABLE = [2.0, 3.0, 5.0, 7.0]
NEXT_STATE = np.array([[1, 2], [2, 0], [0, 1]])
PAIRS = [(1, 0.5), (2, 1.5), (3, 2.5)]
NAMES = ["a", "b"]
STEPS = range(3, 20, 4)


def closure_table(n):
    return TABLE[n] + TABLE[n - 1] + TABLE[-1]


def machine(bits):
    state = 0
    for bit in bits:
        state = NEXT_STATE[state, bit]
    return state


def horner(n):
    coefficients = (1.0, -2.0, 0.5)
    total = 0.0
    for i in ag.range(3):
        total = total * n + coefficients[i]
    return total


def rows(n):
    table = np.arange(6.0, dtype=np.float32).reshape(3, 2)
    return table[n].sum() + table[n, 1] - table[1:, n // 2].sum() + table[..., None, n // 2][n, 0]


def pairs(n):
    count, weight = PAIRS[n]
    return count * weight


def offsets(n):
    return STEPS[n]


class Model:
    def __init__(self):
        self.gains = [1, 10, 100]

    def gain(self, n):
        if n > 0:
            return self.gains[n]
        return 0


def method(n):
    return Model().gain(n)


@pytest.mark.parametrize("program", [closure_table, horner, rows, pairs, offsets, method])
@pytest.mark.parametrize("n", [0, 1, 2])
def test_a_traced_index_reads_what_python_reads(program, n):
    wanted = program(n)
    for found in (
        staged.function(program)(jnp.asarray(n)),
        staged.jitted(program)(n),
        staged.mapped(program)(jnp.array([0, n]))[1],
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
        assert np.asarray(found).dtype.kind == np.asarray(wanted).dtype.kind


def argument(rows, n):
    return rows[n]


def argument_in_loop(rows, n):
    total = 0.0
    i = 0
    while i < n:
        total += rows[i][0] * rows[n - i][1]
        i += 1
    return total


def argument_taken_apart(rows, n):
    total = 0.0
    for row, weight in zip(rows, (1.0, 10.0, 100.0)):
        total += row[n % 2] * weight
    first, *others = rows
    return total + others[n - 1][n % 2] + first[n // 2]


def argument_in_containers(rows, n):
    model = {"rows": rows, "pair": (rows, n)}
    held, index = model["pair"]
    return model["rows"][n], held[index - 1], [row[n % 2] for row in rows], (lambda table: table[n])(rows)


def made_by_call(rows, n):
    columns = list(map(list, zip(*rows)))
    return columns[n % 2][n], sorted([5, 3, 4])[n], dict(columns=columns)["columns"][n - 1]


def chosen_branch(rows, n):
    if n > 1:
        found = rows[n - 1]
    else:
        found = rows[-n]
    return found[0] if found[n % 2] > 2 else found[1]


@pytest.mark.parametrize(
    "program",
    [argument, argument_in_loop, argument_taken_apart, argument_in_containers, made_by_call, chosen_branch],
)
@pytest.mark.parametrize("n", [1, 2])
def test_lists_that_are_arguments_or_come_out_of_calls(program, n):
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    wanted = program(rows, n)
    for found in (
        staged.function(program)(rows, jnp.asarray(n)),
        staged.jitted(program)(rows, n),
        jax.tree.map(lambda lanes: lanes[1], jax.vmap(ag.convert(program), (None, 0))(rows, jnp.array([0, n]))),
    ):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), found, wanted)


def test_layers_in_a_list_of_parameters_are_read_in_a_staged_loop_and_differentiated():
    def network(layers, x, depth):
        i = 0
        while i < depth:
            x = jnp.tanh(layers[i]["w"] @ x + layers[i]["b"])
            i += 1
        return x.sum()

    def by_hand(layers, x, depth):
        for layer in layers[:depth]:
            x = jnp.tanh(layer["w"] @ x + layer["b"])
        return x.sum()

    keys = jax.random.split(jax.random.key(0), 3)
    layers = [{"w": jax.random.normal(key, (4, 4)), "b": jnp.arange(4.0) / 4} for key in keys]
    x = jnp.linspace(-1, 1, 4)
    found = jax.jit(jax.value_and_grad(ag.convert(network)))(layers, x, 2)
    wanted = jax.value_and_grad(by_hand)(layers, x, 2)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), found, wanted)


def test_a_state_machine_in_a_table():
    bits = np.array([0, 1, 1, 0, 1])
    assert int(ag.function(machine)(jnp.asarray(bits))) == machine(bits)


def test_numbers_of_a_list_stay_weak():
    @ag.function
    def scale(x, n):
        return x * TABLE[n]

    assert scale(jnp.ones(2, jnp.bfloat16), jnp.asarray(1)).dtype == jnp.bfloat16


def test_python_indices_read_the_very_objects():
    @ag.convert
    def read(names, key):
        return NAMES[key], names[key], {"k": names}[str("k")]

    names = [object(), object()]
    assert read(names, 1) == ("b", names[1], names)


def test_items_that_are_constants_or_none_are_chosen():
    def read(n):
        choose = [jnp.sin, jnp.cos]
        boxes = [{"name": "a", "size": 1.0}, {"name": "b", "size": 2.0}]
        return NAMES[n], "abc"[n], choose[n](0.0), [None, 2.0][n], boxes[n]["name"]

    compiled = ag.function(read)
    for n in (0, 1):
        assert repr(jax.tree.map(str, compiled(n))) == repr(jax.tree.map(str, read(n)))
        found = compiled(jnp.array(n))
        assert (found[:2], found[3:]) == (read(n)[:2], read(n)[3:]) and float(found[2]) == n


def test_an_object_that_a_traced_index_chose_is_written_where_it_is():
    class Player:
        def __init__(self, money):
            self.money = money

    def play(turns):
        players = [Player(1.0), Player(2.0)]
        for turn in turns:
            player = players[turn]
            player.money += 5.0 if player.money < 10 else 0.0
        return [player.money for player in players]

    turns = np.array([1, 1, 0, 1])
    assert list(map(float, ag.function(play)(turns))) == play(turns) == [6.0, 12.0]


@pytest.mark.parametrize("x", [1.0, -1.0])
def test_an_object_that_a_text_chose_is_written_where_it_is(x):
    def read(x):
        boxes = {"a": [1.0], "b": [2.0]}
        boxes["a" if x > 0 else "b"][0] += 10.0
        return boxes["a"][0]

    assert float(ag.function(read)(jnp.float32(x))) == read(x)


def test_an_index_that_may_be_none():
    def best(x):
        found = None
        for k in range(len(x)):
            if x[k] > 1 and (found is None or x[k] > x[found]):
                found = k
        return x[found]

    assert float(ag.function(best)(jnp.array([2.0, 5.0, 3.0]))) == 5.0
    with pytest.raises(TypeError):
        ag.function(best)(jnp.zeros(3))


def test_items_that_cannot_be_one_array_are_refused_in_words():
    table = [1.0, jnp.ones(2)]

    def read(n):
        return table[n]

    with pytest.raises(ag.StagingError, match=r"test_lookups.py:(?s:.*)list is indexed by a traced value"):
        ag.function(read)(jnp.asarray(0))


def first_places(n):
    places = [0] + [None] * 34
    for k in range(31, 34):
        if places[k - n] is None:
            places[k] = k
    return places[n + 28], places[n]


def pairs_with_none(n):
    pairs = [(k, None if k % 2 else 1.5 * k) for k in range(40)]
    known = {k: None if k % 3 else k for k in range(40)}
    number, value = pairs[n + 30]
    return number, value, known[n]


@pytest.mark.parametrize("program", [first_places, pairs_with_none])
def test_many_items_of_which_some_are_none(program):
    compiled = ag.function(program)
    for n in (3, 4):
        expected = program(n)
        assert [None if v is None else float(v) for v in compiled(jnp.array(n))] == list(expected)


def test_what_needs_the_value_itself_says_where_and_what_to_do():
    def build(n):
        return b"x".rjust(n)

    with pytest.raises(ag.StagingError) as error:
        ag.function(build)(jnp.asarray(2))
    assert "test_lookups.py:" in str(error.value) and "py_function" in str(error.value)


def sliced(values, n):
    smallest = sorted(values)[:n]
    return sum(smallest), len(values[n:]), [v for v in values[-n:] if v > 2], max(values[n - 1 : n + 1])


def searched(values, n):
    row = (values[n], values[0])
    return values.index(values[n]), values.count(values[n] * 1), row.index(values[n] + 0), row.count(values[0])


@pytest.mark.parametrize("program", [sliced, searched])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_lists_that_are_arguments_are_sliced_and_searched(program, n):
    values = [5, 3, 5, 1]
    wanted = program(values, n)
    for found in (staged.function(program)(values, jnp.asarray(n)), ag.convert(program)(values, n)):
        assert jax.tree.map(int, found) == wanted
    found = staged.jitted(program)(values, n)
    assert int(found[0]) == wanted[0] and int(found[1]) == wanted[1]


def test_what_is_not_in_a_list_is_an_error_of_the_run():
    def place(values, wanted):
        return values.index(wanted)

    assert int(ag.function(place)([4, 5], 5)) == 1
    with pytest.raises(ValueError, match="not in list"):
        ag.function(place)([4, 5], jnp.asarray(6))


PRICES = {1: 1.5, 2: 2.5, 7: 7.5}


def price(n):
    return PRICES[n] * 2


def price_or_default(n):
    return PRICES.get(n, -1.0)


def price_or_none(n):
    return PRICES.get(n)


def price_or_handled(n):
    try:
        return PRICES[n]
    except KeyError:
        return -5.0


def price_if_known(n):
    return PRICES[n] if n in PRICES else 0.0


def keys_that_are_tuples(n):
    return {(1, 1): 5.0, (2, 1): 6.0, "x": 7.0}.get((n, 1), 8.0)


def keys_of_several_kinds(n):
    return {"a": 1.0, 1: 2.0, 2: 3.0}.get(n, 4.0)


def names_of_numbers(n):
    return {1: "one", 2: "two"}.get(n, "many")


def functions_by_number(n):
    operations = {1: lambda v: v + 1, 2: lambda v: v * 2, 7: lambda v: -v}
    return operations[n](3.0)


def summed_in_a_loop(n):
    total = 0.0
    for k in range(4):
        total += PRICES.get(n + k, 0.5)
    return total


@pytest.mark.parametrize(
    "program",
    [
        price,
        price_or_default,
        price_or_none,
        price_or_handled,
        price_if_known,
        keys_that_are_tuples,
        keys_of_several_kinds,
        names_of_numbers,
        functions_by_number,
        summed_in_a_loop,
    ],
)
@pytest.mark.parametrize("n", [1, 2, 7, 3])
def test_dicts_at_a_traced_key(program, n):
    compiled = staged.function(program)
    try:
        wanted = program(n)
    except KeyError as error:
        with pytest.raises(KeyError, match=f"^{error}$"):
            compiled(jnp.int32(n))
        return
    assert compiled(jnp.int32(n)) == wanted


def test_get_of_every_kind_of_dict():
    def f(x):
        kept, counts = collections.defaultdict(int), collections.Counter([1, 1, 2])
        kept[1] = 7
        ordered = collections.OrderedDict([(1, 5), (2, 6)])
        return kept.get(x, 4), counts.get(x, 9), ordered.get(x, 8), counts[x], len(kept)

    for x in (1, 2, 3):
        for run in (staged.function(f), staged.jitted(f)):
            assert list(map(int, run(jnp.int32(x)))) == list(f(x))


def test_a_dict_that_makes_what_is_missing():
    def f(x):
        kept = collections.defaultdict(int)
        kept[1] = 7
        return kept[x], len(kept)

    for x in (1, 2):
        for run in (staged.function(f), staged.jitted(f)):
            assert list(map(int, run(jnp.int32(x)))) == list(f(x))


def by_truth_values(xs):
    counts, names, parts, grid = [0, 0], ("no", "yes"), [[], []], [[0, 0], [0, 0]]
    for x in xs:
        counts[x > 0] += 1
        parts[x > 0].append(x)
        grid[x > 0][x > 1] += 2
    kept = [x for x in xs if x < 2]
    at_ends = "ab"[xs[0] > 0], range(5)[xs[0] > 0], collections.deque([1, 2])[xs[0] > 0], kept[xs[0] > 0]
    rest = [1, 2, 3]
    del rest[xs[0] > 0]
    return counts, names[xs[0] > 0], parts, grid, at_ends, rest, (10.0, 20.0)[xs[1] > 0], ((1, 2), (3, 4))[xs[0] > 0]


@pytest.mark.parametrize("xs", [[-1.0, 0.5, 3.0], [1.0, 1.5, -3.0]])
def test_a_truth_value_is_an_index_of_a_sequence(xs):
    found = ag.function(by_truth_values)(jnp.array(xs))
    assert jax.tree.map(lambda v: v if isinstance(v, str) else float(v), found) == by_truth_values(xs)
