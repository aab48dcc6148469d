"""Datasets whose elements depend on those before them: filters, scans, windows, datasets made of elements.

What is expected is said in plain Python, with lists and itertools; elements are asked for by Python's loops, by loops of
programs, and by `next` in both.
"""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.dataset_pipelines import Data, generated, numbers, on_the_device, pairs, plainly, same


def is_kept(k):  # one function, of which all datasets of it share the compiled program
    return k % 3 != 1


def some(n=10):
    """Numbers that only their order leads to."""
    return Data.range(n).filter(is_kept)


KEPT = [0, 2, 3, 5, 6, 8, 9]


def batched(rows, width):
    return [rows[k : k + width] for k in range(0, len(rows), width)]


PIPELINES = {
    "filter": (some, KEPT),
    "filter of nothing": (lambda: numbers().filter(lambda k: k > 20), []),
    "filter of tuples": (lambda: pairs().filter(lambda x, y: y["label"] % 2 == 1).map(lambda x, y: y["label"]), [1, 3, 5]),
    "filter of batches": (lambda: numbers().batch(4).filter(lambda x: x[0] != 4), [[0, 1, 2, 3], [8, 9]]),
    "filter of a generator": (lambda: generated().filter(lambda k: k % 2 == 0), [0, 2, 4, 6, 8]),
    "filter of batches of a generator": (lambda: generated().batch(4).filter(lambda x: x[0] != 4), [[0, 1, 2, 3], [8, 9]]),
    "filter, batch": (lambda: some().batch(3), batched(KEPT, 3)),
    "filter, batch, map": (lambda: some().batch(3).map(lambda x: x * 2 - x.sum()), [[-5, -1, 1], [-9, -7, -3], [9]]),
    "filter, batch, map, skip": (lambda: some().batch(3).map(lambda x: x * 2).skip(1), [[10, 12, 16], [18]]),
    "filter, batch, drop": (lambda: some().batch(3, drop_remainder=True), batched(KEPT, 3)[:2]),
    "filter, repeat": (lambda: some().repeat(2), KEPT * 2),
    "filter, repeat without end, take": (lambda: some().repeat().take(17), (KEPT * 3)[:17]),
    "filter of nothing, repeat": (lambda: numbers().filter(lambda k: k < 0).repeat(3), []),
    "filter, take, skip, shard": (lambda: some().take(6).skip(1).shard(2, 1), [3, 6]),
    "filter, enumerate": (lambda: some(6).enumerate(5).map(lambda k, x: k * 100 + x), [500, 602, 703, 805]),
    "two filters, map between": (lambda: some().map(lambda k: k * k).filter(lambda k: k % 2 == 0), [0, 4, 36, 64]),
    "take while": (lambda: numbers().take_while(lambda k: k * k < 20), [0, 1, 2, 3, 4]),
    "take while, of endless": (lambda: some().repeat().take_while(lambda k: k < 9), KEPT[:-1]),
    "take while, repeat": (lambda: numbers().take_while(lambda k: k < 2).repeat(3), [0, 1] * 3),
    "scan": (lambda: numbers(6).scan(0, lambda s, k: (s + k, s + k)), list(itertools.accumulate(range(6)))),
    "scan whose state gets wider": (lambda: numbers(4).scan(0, lambda s, k: (s + k / 2, s)), [0, 0, 0.5, 1.5]),
    "scan of tuples": (
        lambda: pairs(4).scan((1, 0), lambda s, e: ((s[1], s[0] + s[1] + e[1]["label"]), s[0])),
        [1, 0, 1, 2],
    ),
    "padded": (
        lambda: some(6).map(lambda k: jnp.full(2, k)).padded_batch(3, [3], -1),
        [[[0, 0, -1], [2, 2, -1], [3, 3, -1]], [[5, 5, -1]]],
    ),
    "rebatch": (lambda: numbers(5).batch(2).rebatch(3), [[0, 1, 2], [3, 4]]),
    "counter": (lambda: Data.zip(Data.counter(5, -2), numbers(3)).map(lambda a, b: a * 10 + b), [50, 31, 12]),
    "choose": (lambda: Data.choose_from_datasets([numbers(3), numbers(9).skip(5)], Data.range(2).repeat()), [0, 5, 1, 6, 2, 7]),
    "choose of what is left": (
        lambda: Data.choose_from_datasets([numbers(2), some(7)], Data.range(2).repeat(), stop_on_empty_dataset=False),
        [0, 0, 1, 2, 3, 5, 6],
    ),
    "choose of generators and filters": (
        lambda: Data.choose_from_datasets([generated(4), some(), generated(9)], Data.from_tensor_slices([2, 1, 1, 0, 2, 1])).repeat(2),
        [0, 0, 2, 0, 1, 3] * 2,
    ),
    "choose of batches": (
        lambda: Data.choose_from_datasets([numbers(5).batch(2), numbers(3).batch(2)], Data.range(2).repeat(3), False),
        [[0, 1], [0, 1], [2, 3], [2], [4]],
    ),
    "choose of nothing": (lambda: Data.choose_from_datasets([numbers(0), numbers(2)], numbers(0)), []),
    "choose, batch": (lambda: Data.choose_from_datasets([some(), numbers()], some(2).repeat(3)).batch(2), [[0, 2], [3]]),
    "concatenate": (lambda: numbers(3).concatenate(numbers(5).skip(3)), [0, 1, 2, 3, 4]),
    "concatenate, shuffled alike": (
        lambda: numbers(3).concatenate(numbers(5).skip(3)).shuffle(seed=3, reshuffle_each_iteration=False).repeat(2).batch(5)
        .map(jnp.sort),
        [[0, 1, 2, 3, 4]] * 2,
    ),
    "concatenate of mapped": (lambda: numbers(3).map(lambda k: k * 2).concatenate(some(4)), [0, 2, 4, 0, 2, 3]),
    "concatenate of a generator": (lambda: generated(2).concatenate(generated(3)).repeat(2), [0, 1, 0, 1, 2] * 2),
    "concatenate of batches": (lambda: numbers(5).batch(2).concatenate(numbers(3).batch(2)), [[0, 1], [2, 3], [4], [0, 1], [2]]),
    "concatenate with nothing": (lambda: numbers(0).concatenate(numbers(2)).concatenate(numbers(0)), [0, 1]),
    "zip": (lambda: Data.zip(numbers(3), numbers(9).batch(2)).map(lambda k, x: k + x), [[0, 1], [3, 4], [6, 7]]),
    "zip of last batches": (lambda: Data.zip(numbers(5).batch(2), numbers(5).batch(2)).map(lambda x, y: x + y), [[0, 2], [4, 6], [8]]),
    "zip, batch": (lambda: Data.zip((numbers(4), numbers(9).skip(2))).batch(3).map(lambda x, y: x * y), [[0, 3, 8], [15]]),
    "zip of filters": (
        lambda: Data.zip({"a": some(), "b": numbers().filter(lambda k: k > 5)}).map(lambda both: both["a"] * 10 + both["b"]),
        [6, 27, 38, 59],
    ),
    "zip with endless": (lambda: Data.zip(numbers(4), numbers(3).repeat()).map(lambda a, b: a * 10 + b), [0, 11, 22, 30]),
    "zip of generators": (lambda: Data.zip(generated(4), generated(3), numbers(9)).map(lambda a, b, c: a + b + c), [0, 3, 6]),
    "unbatch of batches": (lambda: numbers(7).batch(3).unbatch(), list(range(7))),
    "unbatch of mapped batches": (lambda: numbers(7).batch(3).map(lambda x: x * 2).unbatch(), list(range(0, 14, 2))),
    "unbatch of slices": (lambda: pairs(3).map(lambda x, y: x + y["label"]).unbatch(), [0, 1, 2, 4, 5, 6, 8, 9, 10]),
    "flat map": (
        lambda: numbers(4).flat_map(lambda k: Data.range(k).map(lambda j: k * 10 + j)),
        [k * 10 + j for k in range(4) for j in range(k)],
    ),
    "flat map of tuples": (
        lambda: pairs(3).flat_map(lambda x, y: Data.from_tensor_slices(x).map(lambda v: v + y["label"])),
        [0.0, 1, 2, 4, 5, 6, 8, 9, 10],
    ),
    "flat map twice": (
        lambda: numbers(3).flat_map(lambda k: Data.range(k + 1).flat_map(lambda j: Data.from_tensors(k * 10 + j).repeat(2))),
        [k * 10 + j for k in range(3) for j in range(k + 1) for _ in range(2)],
    ),
    "flat map of filters, batch": (
        lambda: some(6).flat_map(lambda k: Data.range(6).filter(lambda j: j < k)).batch(4),
        batched([j for k in (0, 2, 3, 5) for j in range(k)], 4),
    ),
    "flat map of batches": (
        lambda: numbers(5).flat_map(lambda k: Data.range(k).batch(2)),
        [row for k in range(5) for row in batched(list(range(k)), 2)],
    ),
    "windows in batches": (lambda: numbers(7).window(3).flat_map(lambda w: w.batch(3)), [[0, 1, 2], [3, 4, 5], [6]]),
    "windows in batches, dropped": (lambda: numbers(7).window(3).flat_map(lambda w: w.batch(3, True)), [[0, 1, 2], [3, 4, 5]]),
    "windows of tuples": (
        lambda: Data.zip(numbers(5), numbers(9).skip(4)).window(2, 1, drop_remainder=True)
        .flat_map(lambda a, b: Data.zip(a.batch(2), b.batch(2))).map(lambda a, b: a * b),
        [[0, 5], [5, 12], [12, 21], [21, 32]],
    ),
    "windows, reduced": (
        lambda: some().window(3, shift=2, drop_remainder=True).map(lambda w: w.reduce(0, lambda s, k: s * 10 + k)),
        [23, 356, 689],
    ),
}  # fmt: skip


def expected_of(rows):
    return [np.asarray(row) for row in rows]


def agree(found, rows):
    assert [np.asarray(row).tolist() for row in found] == [np.asarray(row).tolist() for row in rows]


@pytest.mark.parametrize("name", PIPELINES)
def test_in_python_and_on_the_device(name):
    make, rows = PIPELINES[name]
    found = plainly(make())
    agree(found, rows)
    same(on_the_device(make()), found)


@pytest.mark.parametrize(
    "name",
    [
        "filter",
        "scan",
        "filter, repeat",
        "flat map",
        "zip of generators",
        "windows in batches, dropped",
        "zip of filters",
    ],
)
def test_next_by_turns_in_python_and_in_programs(name):
    make, rows = PIPELINES[name]
    it = iter(make())
    one, two = ag.function(lambda: next(it)), ag.function(lambda it: next(it))
    ways = itertools.cycle([one, lambda: next(it), lambda: two(it), lambda: it.get_next()])
    agree([next(ways)() for _ in rows], rows)
    for way in (one, lambda: next(it), lambda: two(it)):
        with pytest.raises(StopIteration):
            way()


# TensorFlow's order, recorded with tensorflow 2.21: range(1, 6).interleave(lambda x: range(x).map(lambda y: x * 10 + y), …).
INTERLEAVED = {
    (1, 1): [10, 20, 21, 30, 31, 32, 40, 41, 42, 43, 50, 51, 52, 53, 54],
    (2, 1): [10, 20, 21, 30, 31, 40, 32, 41, 42, 50, 43, 51, 52, 53, 54],
    (2, 3): [10, 20, 21, 30, 31, 32, 40, 41, 42, 43, 50, 51, 52, 53, 54],
    (3, 2): [10, 20, 21, 30, 31, 40, 41, 32, 42, 43, 50, 51, 52, 53, 54],
    (5, 1): [10, 20, 30, 40, 50, 21, 31, 41, 51, 32, 42, 52, 43, 53, 54],
}


@pytest.mark.parametrize(("cycle", "block"), INTERLEAVED)
def test_interleave_has_tensorflows_order(cycle, block):
    def make():
        return Data.range(1, 6).interleave(lambda x: Data.range(x).map(lambda y: x * 10 + y), cycle, block)

    agree(plainly(make()), INTERLEAVED[cycle, block])
    agree(on_the_device(make()), INTERLEAVED[cycle, block])


# As TensorFlow 2.21 recorded: of range(7).window(…).
WINDOWS = [
    ({"size": 3}, [[0, 1, 2], [3, 4, 5], [6]]),
    ({"size": 3, "shift": 1}, [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6], [5, 6], [6]]),
    ({"size": 3, "shift": 2, "stride": 2}, [[0, 2, 4], [2, 4, 6], [4, 6], [6]]),
    ({"size": 2, "shift": 4}, [[0, 1], [4, 5]]),
    ({"size": 3, "shift": 1, "stride": 3}, [[0, 3, 6], [1, 4], [2, 5], [3, 6], [4], [5], [6]]),
    ({"size": 3, "shift": 1, "drop_remainder": True}, [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6]]),
    ({"size": 3, "shift": 2, "stride": 2, "drop_remainder": True}, [[0, 2, 4], [2, 4, 6]]),
]


@pytest.mark.parametrize(("options", "windows"), WINDOWS)
def test_windows_are_tensorflows(options, windows):
    data = numbers(7).window(**options)
    assert [[int(k) for k in window] for window in data] == windows
    assert [len(window) for window in data] == [len(window) for window in windows]
    assert data.cardinality() == len(windows)
    again = Data.range(7).filter(lambda k: k >= 0).window(**options)
    assert [[int(k) for k in window] for window in again] == windows

    @ag.function
    def digits(data):
        found = []
        for window in data:
            value = 1
            for k in window:
                value = value * 10 + k
            found.append(value)
        return found

    expected = [int("1" + "".join(map(str, window))) for window in windows]
    assert [int(k) for k in digits(data)] == [int(k) for k in digits(again)] == expected


def test_shuffling_what_a_filter_leaves():
    def orders(data):
        return [[int(k) for k in data] for _ in range(3)]

    make = lambda: some().shuffle(4, seed=3)
    found = orders(make())
    assert all(sorted(order) == KEPT for order in found) and len({tuple(order) for order in found}) > 1
    assert all(order[0] in KEPT[:4] for order in found)
    staged = make()
    assert [[int(k) for k in on_the_device(staged)] for _ in range(3)] == found
    first, second, _ = orders(make().cache())
    assert first == second
    many = [some().shuffle(4, seed=seed) for seed in range(2)]
    assert {int(next(iter(data))) for data in many for _ in range(20)} == set(KEPT[:4])


# The loop's body, and what is around it.


def late(data, limit):
    total, best, seen = 0, None, 0
    for x in data:
        if x.sum() % 5 == 0:
            continue
        seen += 1
        if best is None or x.sum() > best:
            best = x.sum()
        total = total * 0.5 + x.sum()
        if total > limit:
            break
    else:
        seen = -seen
    return total, best, seen


@pytest.mark.parametrize(
    "name", ["filter", "filter, batch", "scan", "windows in batches", "flat map of batches", "zip of generators"]
)
def test_state_and_jumps_of_the_body(name):
    data = PIPELINES[name][0]()
    rows, run = plainly(data), ag.function(late)
    for limit in (1, 6, 1000):
        assert [float(v) for v in run(data, jnp.float32(limit))] == [float(v) for v in late(rows, limit)]
    assert run.experimental_get_tracing_count() == 1


def test_what_the_functions_close_over():
    scale = ag.Variable(2)
    seen = []

    def above(k, limit):
        ag.py_function(lambda k: seen.append(int(k)), [k], None)
        scale.assign_add(1)
        return k * scale > limit

    @ag.function
    def run(limit):
        total = 0
        for k in Data.range(6).filter(lambda k: above(k, limit)):
            total = total * 10 + k
        return total

    assert int(run(jnp.asarray(10))) == 345 and seen == list(range(6)) and int(scale) == 8
    scale.assign(2)
    assert [int(k) for k in Data.range(6).filter(lambda k: above(k, 10))] == [3, 4, 5] and int(scale) == 8


def test_an_exception_in_a_filter():
    v = ag.Variable(0)

    def check(k):
        if k > 3:
            raise LookupError("too large")
        return k % 2 == 1

    @ag.function
    def run(data):
        for k in data:
            v.assign_add(k)

    with pytest.raises(LookupError, match="too large"):
        run(numbers().filter(check))
    assert int(v) == 0
    with pytest.raises(LookupError, match="too large"):
        list(numbers().filter(check))


def test_gradients_go_through_filters_windows_and_scans():
    x = jnp.array([1.0, -2.0, 3.0, -4.0, 5.0])

    def loss(w, make):
        total = 0.0
        for part in make(Data.from_tensor_slices(x)):
            total += (w * part).sum() ** 2
        return total

    makes = {
        "filter": (lambda data: data.filter(lambda v: v > 0), [[1.0], [3.0], [5.0]]),
        "window": (
            lambda data: data.window(2, 1, drop_remainder=True).flat_map(lambda w: w.batch(2)),
            [[1.0, -2], [-2, 3], [3, -4], [-4, 5]],
        ),
        "scan": (lambda data: data.scan(0.0, lambda s, v: (s + v, s + v)), [[1.0], [-1], [2], [-2], [3]]),
    }  # fmt: skip
    for name, (make, parts) in makes.items():
        expected = sum(2 * 3.0 * sum(part) ** 2 for part in parts)
        for transform in (jax.jit, ag.function)[: 2 if name == "filter" else 1]:
            slope = transform(jax.grad(ag.convert(lambda w, make=make: loss(w, make))))(3.0)
            assert np.allclose(slope, expected), name


def test_one_trace_serves_datasets_alike():
    keep = lambda k: k > 1

    @ag.function
    def total(data):
        s = 0
        for k in data:
            s += k
        return s

    a, b = (Data.from_tensor_slices(jnp.arange(5) * k).filter(keep) for k in (1, 2))
    assert [int(total(a)), int(total(b))] == [9, 20]
    assert total.experimental_get_tracing_count() == 1


def test_a_loop_over_ranges_of_traced_bounds():
    def run(n):
        total = 0
        for k in Data.range(1, n, 2):
            for j in Data.range(k):
                total = total * 3 + j
        return total

    def plain(n):
        total = 0
        for k in range(1, n, 2):
            for j in range(k):
                total = total * 3 + j
        return total

    compiled = ag.function(run)
    for n in (0, 1, 2, 5, 6):
        assert int(compiled(jnp.asarray(n))) == run(n) == plain(n)


def test_checkpoints_hold_the_place():
    def make():
        return iter(some().shuffle(3, seed=1).repeat())

    it = make()
    first = [int(next(it)) for _ in range(9)]
    state = ag.checkpoints.state({"it": it})
    rest = [int(ag.function(lambda: next(it))()) for _ in range(9)]
    other = make()
    next(other)
    ag.checkpoints.restore({"it": other}, state)
    assert [int(next(other)) for _ in range(9)] == rest and sorted(first[:7]) == KEPT
    with pytest.raises(ValueError, match="cannot be saved"):
        ag.checkpoints.state({"it": iter(generated().filter(lambda k: k > 1))})


# Sizes, types, refusals.


def test_sizes_and_types():
    assert some().cardinality() == Data.UNKNOWN_CARDINALITY
    assert some().repeat().cardinality() == Data.INFINITE_CARDINALITY
    assert numbers().scan(0, lambda s, k: (s, k)).cardinality() == 10
    assert Data.zip(numbers(4), numbers(7).batch(2)).cardinality() == 4
    assert numbers(4).map(lambda k: k).concatenate(numbers(3)).cardinality() == 7
    assert numbers(9).repeat().take_while(lambda k: k < 4).cardinality() == Data.UNKNOWN_CARDINALITY
    spec = ag.TensorSpec
    assert some().element_spec == spec((), np.int32)
    assert some().batch(3).element_spec == spec((None,), np.int32)
    assert some().batch(3, drop_remainder=True).map(lambda x: (x, x.sum())).element_spec == (
        spec((3,), np.int32),
        spec((), np.int32),
    )
    assert Data.zip({"a": numbers(), "b": pairs()}).element_spec["b"][0] == spec((3,), np.float32)
    assert numbers().window(3).element_spec.element_spec == spec((), np.int32)
    counter = ag.Variable(0)
    assert (
        numbers().map(lambda k: counter.assign_add(k) * 1.5).element_spec == spec((), np.float32) and int(counter) == 0
    )


def test_a_last_batch_of_any_size():
    make = lambda: Data.range(50).filter(lambda k: k >= 10).batch(32)
    assert [len(x) for x in make()] == [32, 8]
    assert [len(x) for x in make().map(lambda x: x * 2)] == [32, 8]

    @ag.function
    def total(data):
        s = 0
        for x in data:
            s += x.sum()
        return s

    with pytest.raises(ValueError, match="last batch has 8 rows of 32.*drop_remainder=True"):
        total(make())
    assert int(total(Data.range(42).filter(lambda k: k >= 10).batch(32))) == sum(range(10, 42))


def called_with_effects(k):
    ag.print(k)
    return Data.range(3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: numbers().filter(3), "filter takes a function"),
        (lambda: numbers().window(0), "size must be 1 or more"),
        (lambda: numbers().batch(3).window(2), "call window before batch"),
        (lambda: Data.zip(), "zip takes datasets"),
        (lambda: Data.zip(numbers(), 3), "zip takes datasets"),
        (lambda: Data.zip(numbers(5).batch(2), some().batch(2)), "zip before batch"),
        (lambda: numbers().concatenate(pairs()), "elements of the same type"),
        (lambda: numbers().concatenate(3), "takes a Dataset; got int"),
        (lambda: some().shuffle(), "needs a buffer_size"),
        (lambda: len(some()), "depends on its elements"),
        (lambda: numbers().interleave(Data.from_tensors, cycle_length=0), "cycle_length must be 1 or more"),
        (lambda: list(numbers().flat_map(lambda k: k)), "returns a Dataset; got"),
        (lambda: list(numbers().flat_map(called_with_effects)), "may not print"),
        (lambda: list(numbers().flat_map(lambda k: generated())), "returns a dataset of a generator"),
        (lambda: list(numbers().scan(0, lambda s, k: k)), "returns a new state and an element"),
        (lambda: list(numbers().scan(0, lambda s, k: ((s, s), k))), "container and shapes must not change"),
        (lambda: list(numbers().unbatch()), "first axes of one length"),
        (lambda: list(some().batch(3).scan(0, lambda s, k: (s, k))), "drop_remainder=True"),
        (lambda: list(some().batch(40).filter(lambda x: x.sum() > 0)), "drop_remainder=True"),
        (lambda: some().repeat().reduce(0, lambda s, k: s + k), "infinite"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(make, message):
    with pytest.raises((TypeError, ValueError, ag.StagingError), match=message):
        make()
