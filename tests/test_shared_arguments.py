"""One list, dict or dataclass in several places of a call's arguments is one object in the program too."""

import collections
import copy
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class Counter:
    n: jax.Array


def plain(value):
    if value is None:
        return None
    if isinstance(value, Counter):
        return "Counter", plain(value.n)
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return list(map(plain, value))
    return np.asarray(value, float).round(4).tolist()


def agree(f, *calls):
    """The results, and what is left in the arguments, are Python's: of each call, twice, by one function."""
    compiled = ag.function(f)
    for _ in range(2):
        for call in calls:
            mine, theirs = copy.deepcopy(call), copy.deepcopy(call)
            expected = plain(f(*mine))
            assert plain(compiled(*theirs)) == expected
            assert plain(theirs) == plain(mine)
    return compiled


def number(value):
    return jnp.array(float(value))


def is_same(a, b):
    return 1 if a is b else 0


def same_rows(rows, x):
    count = 0
    for row in rows:
        for other in rows:
            if x > 0 and row is other:
                count += 1
    return count


def write_rows(grid, x):
    grid[0][1] = x
    grid[1][0] += 2 * x
    return grid[0][0]


def append_if(a, b, x):
    if x > 0:
        a.append(x)
    return len(b), b


def attract(bodies, pairs, dt):
    for (p, v), (q, w) in pairs:
        pull = (p[0] - q[0]) * dt
        v[0] -= pull
        w[0] += pull
    for p, v in bodies:
        p[0] += v[0] * dt


def write_dicts(d, x):
    d["a"]["n"] = x
    d["b"]["n"] += 1
    return d["a"]["n"]


def count(p, q, x):
    p.n = x
    q.n = q.n + 1
    return p.n, p is q


def add_in_loop(a, b, x):
    for k in range(3):
        if x > k:
            a[k] = b[k] + a[k]
    return a


def write_pair(pair, x):
    pair.left[0] += x
    pair.right[0] += x
    return pair.left is pair.right


def write_at(rows, k, x):
    rows[k][0] += x
    return rows[0][0] + rows[1][0], rows[k] is rows[0]


def add_both(first, *rest, **named):
    first.append(rest[0][0] + named["last"][0])
    return len(rest[0]), len(named["last"])


ROW, OTHER, ENTRY, BOX = [number(1), number(2)], [number(3), number(4)], {"n": number(1)}, Counter(number(2))
BODIES = [([number(k * k)], [number(0)]) for k in range(3)]


@pytest.mark.parametrize(
    ("f", "calls"),
    [
        (is_same, [(ROW, ROW), (ROW, list(ROW)), (ENTRY, ENTRY), (BOX, BOX), (BOX, copy.copy(BOX))]),
        (same_rows, [([ROW, OTHER, ROW], number(1)), ([ROW, OTHER, list(ROW)], number(1))]),
        (write_rows, [([ROW] * 2, number(5)), ([ROW, OTHER], number(5))]),
        (append_if, [(ROW, ROW, number(1)), (ROW, list(ROW), number(1)), (ROW, ROW, number(-1))]),
        (attract, [(BODIES, [(BODIES[i], BODIES[j]) for i in range(3) for j in range(i)], number(0.5))]),
        (write_dicts, [({"a": ENTRY, "b": ENTRY}, number(5)), ({"b": ENTRY, "a": dict(ENTRY)}, number(5))]),
        (count, [(BOX, BOX, number(7)), (BOX, Counter(number(1)), number(7))]),
        (add_in_loop, [([number(1)] * 3, [number(2)] * 3, number(2)), ([number(1)] * 3,) * 2 + (number(2),)]),
        (write_pair, [(Pair(ROW, ROW), number(1)), (Pair(ROW, OTHER), number(1))]),
        (write_at, [([ROW, ROW], jnp.array(1), number(1)), ([ROW, OTHER], jnp.array(1), number(1))]),
    ],
)
def test_a_container_in_two_places_is_one(f, calls):
    agree(f, *calls)


def test_it_is_one_among_positions_and_keywords():
    row = [number(1)]
    f = ag.function(add_both)
    assert plain(f(row, row, last=row)) == [2, 2]
    assert plain(row) == [1, 2]
    assert plain(f(row, list(row), last=row)) == [2, 3]


def test_a_result_is_the_caller_s_own():
    @ag.function
    def write(a, b, x):
        b[0] = x
        return {"a": a, "b": b}

    row = [number(1)]
    made = write(row, row, number(3))
    assert made["a"] is made["b"] is row


def test_programs_that_neither_write_nor_compare_are_not_traced_again():
    f = ag.function(lambda layers, x: x * layers[0]["w"] + layers[1]["w"])
    one, other = {"w": number(2)}, {"w": number(3)}
    for _ in range(2):
        assert float(f([one, other], number(2))) == 7
        assert float(f([one, one], number(2))) == 6
        assert float(f([other, one], number(2))) == 8
    assert f.experimental_get_tracing_count() == 1


def test_the_reason_for_a_new_trace_is_explained():
    compiled = agree(is_same, (ROW, list(ROW)), (ROW, ROW))
    assert compiled.experimental_get_tracing_count() == 2
    assert "none are one object → some are one object" in compiled.explain_retraces()


def test_a_container_is_compared_after_a_call_with_arrays_of_another_type():
    @ag.function
    def f(a, b):
        if a[0].ndim == 0:
            return 0
        return 1 if a is b else 2

    scalar, row = [number(1)], [jnp.ones(2)]
    assert int(f(scalar, list(scalar))) == 0
    assert int(f(row, list(row))) == 2
    assert int(f(row, row)) == 1
    assert int(f(scalar, scalar)) == 0


def test_gradients_of_what_is_shared_are_as_in_jax():
    def loss(layers):
        total = 0.0
        for layer in layers:
            if layer["w"] > 0:
                total += layer["w"] ** 2
        return total

    layer = {"w": number(3)}
    gradient = ag.function(lambda layers: jax.grad(ag.convert(loss))(layers))
    assert plain(gradient([layer, layer])) == [{"w": 6.0}, {"w": 6.0}]


NO_OPTIONS: dict = {}


def with_default(x, options=NO_OPTIONS):
    return x if options is NO_OPTIONS else x + 1


def under_a_condition(x, options=NO_OPTIONS):
    if x > 0 and options is not NO_OPTIONS:
        x += 1
    return x


@pytest.mark.parametrize("f", [with_default, under_a_condition])
@pytest.mark.parametrize("more", [(), ({},)])
def test_an_argument_is_not_compared_with_what_is_outside(f, more):
    with pytest.raises(ag.StagingError, match="A dict from outside is compared by identity with an argument"):
        ag.function(f)(number(1), *more)


def test_an_argument_is_compared_with_what_the_function_makes():
    def f(rows, x):
        copy = list(rows) if len(rows) > 3 else rows
        made = [x]
        return rows is copy, rows is made, rows is None

    assert list(map(bool, ag.function(f)(ROW, number(1)))) == [True, False, False]
