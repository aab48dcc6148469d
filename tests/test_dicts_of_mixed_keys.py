"""Dicts whose keys cannot be sorted (members of an Enum, texts beside numbers): JAX sorts the keys of dicts."""

from __future__ import annotations

import enum
import math
from collections import Counter, defaultdict

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged


class Light(enum.Enum):
    RED = 1
    GREEN = 2
    AMBER = 3


def in_a_branch(x):
    table = {"a": x, 1: x * 2, None: 1.0}
    if x > 1:
        table["a"] = 5.0
    chosen = table if x > 0 else {"a": 1.0, 1: 2.0, None: 3.0}
    return chosen["a"] + table[1], sum(chosen.values())


def in_a_loop(x):
    table = {"a": x, 1: x * 2}
    for k in range(3):
        table[1] += k
        if table[1] > 4:
            break
    return table["a"] + table[1], len(table)


def in_a_try(x):
    table = {"a": x, 1: x * 2}
    try:
        if x > 1:
            table["b"] = x
        table["c"] = 1.0 / x
    except ZeroDivisionError:
        table[2] = 5.0
    return table["a"] + table[1], len(table), table.get(2, 0.0)


def in_a_try_whose_handler_takes_what_jax_would_raise(x):
    table = {"a": x, 1: x}
    try:
        if x > 1:
            table["a"] = 3.0
        table[1] = math.sqrt(x)
    except ValueError:
        return -1.0
    return table["a"] + table[1]


@pytest.mark.parametrize(
    "program", [in_a_branch, in_a_loop, in_a_try, in_a_try_whose_handler_takes_what_jax_would_raise]
)
def test_as_in_python(program):
    for x in (2.0, 0.0, -3.0):
        wanted = jax.tree.map(float, program(x))
        for run in (staged.function(program), staged.jitted(program)):
            assert jax.tree.map(float, run(jnp.float32(x))) == pytest.approx(wanted)


def in_a_loop_of_traced_length(x):
    table, k = {Light.RED: 0.0, Light.GREEN: [x], "count": 0}, 0
    while k < x:
        table[Light.RED] += k
        table[Light.GREEN].append(table[Light.RED])
        table["count"] += 1
        k += 1
    return table[Light.RED], sum(table[Light.GREEN]), table["count"]


def counted_at_a_key_by_path(x):
    seen, light, k = Counter(), Light.RED, 0
    while k < x:
        seen[light] += 1
        light = {Light.RED: Light.GREEN, Light.GREEN: Light.AMBER, Light.AMBER: Light.RED}[light]
        k += 1
    return seen[Light.RED], seen[Light.GREEN], seen[Light.AMBER]


def in_an_attribute(x):
    class Crossing:
        def __init__(self):
            self.waiting = defaultdict(float)

        def arrive(self, light, count):
            self.waiting[light] += count

    crossing, k = Crossing(), 0
    while k < x:
        crossing.arrive(Light.RED if k % 2 == 0 else Light.GREEN, x)
        k += 1
    return crossing.waiting[Light.RED] - crossing.waiting[Light.GREEN]


def by_recursion(x):
    if x <= 0:
        return {Light.RED: 0.0, "n": 1.0}
    inner = by_recursion(x - 1)
    return {Light.RED: inner[Light.RED] + x, "n": inner["n"] * 2}


def as_elements(x):
    rows, k = [], 0
    while k < x:
        rows.append({Light.RED: k, 2: k * 2.0})
        k += 1
    return sum(row[2] for row in rows), len(rows)


def returned(x):
    if x > 1:
        return {Light.RED: x, "b": [1.0, {Light.GREEN: x, 3: (x, 2.0)}]}
    return {Light.RED: -x, "b": [2.0, {Light.GREEN: 0.0, 3: (x, x)}]}


def in_an_object(x):
    found = Found()
    found.by_light[Light.GREEN] = x
    return found


class Found:
    def __init__(self):
        self.by_light = {Light.RED: 1.0, 1: defaultdict(int, {"a": 1, Light.AMBER: 2})}


def parts(value):
    """A result with numbers in place of arrays, and the classes and orders of its dicts."""
    if isinstance(value, Found):
        return parts(vars(value))
    if isinstance(value, dict):
        return type(value), [(key, parts(held)) for key, held in value.items()]
    return list(map(parts, value)) if isinstance(value, list | tuple) else float(value)


@pytest.mark.parametrize(
    "program",
    [in_a_loop_of_traced_length, counted_at_a_key_by_path, in_an_attribute, by_recursion, as_elements, returned],
)
def test_keys_without_an_order(program):
    compiled = ag.function(program)
    for x in (3.0, 0.0, 3.0, 1.5):
        assert parts(compiled(jnp.float32(x))) == parts(program(x))


def test_results_are_dicts_of_the_same_class_and_order():
    compiled = ag.function(in_an_object)
    for x in (2.0, 3.0):
        found = compiled(jnp.float32(x))
        assert type(found) is Found
        assert parts(found) == parts(in_an_object(x))


def test_results_of_jax_transforms():
    jitted = jax.jit(ag.convert(returned))
    for x in (2.0, 0.5):
        found = jitted(jnp.float32(x))
        assert list(found) == [Light.RED, "b"]
        assert float(found["b"][1][3][0]) == x
    batch = jax.vmap(ag.convert(returned))(jnp.float32([2.0, -1.0]))
    assert batch[Light.RED].tolist() == [2.0, 1.0]
    assert jax.grad(lambda x: ag.function(returned)(x)[Light.RED])(3.0) == 1.0
    assert jax.vmap(lambda x: ag.function(returned)(x)["b"][1][Light.GREEN])(jnp.float32([2.0, 0.0])).tolist() == [2, 0]


def test_arguments_are_written_in_place():
    def f(given, x):
        if x > 0:
            given["lights"][Light.RED] += x
        given["lights"]["n"] = given["lights"][Light.GREEN] * 2
        return given["lights"][Light.RED]

    ours, theirs = ({"lights": {Light.RED: 1.0, Light.GREEN: 2.0, "n": 0.0}} for _ in range(2))
    compiled = ag.function(f)
    for x in (3.0, -1.0, 2.0):
        assert float(compiled(ours, jnp.float32(x))) == f(theirs, x)
        assert parts(ours) == parts(theirs)
    assert (
        compiled.experimental_get_tracing_count() == 2
    )  # of Python's numbers, and of the arrays that the first call left


def test_an_inner_function():
    inner = ag.function(returned)

    @ag.function
    def outer(x):
        held = inner(x)
        held[Light.RED] += 1.0
        return held, inner(-x)["b"][0]

    def plain(x):
        held = returned(x)
        held[Light.RED] += 1.0
        return held, returned(-x)["b"][0]

    for x in (3.0, -3.0):
        assert parts(outer(jnp.float32(x))) == parts(plain(x))


def test_printed(capfd):
    @ag.function
    def f(x):
        table = {Light.RED: x, 1: 2.0}
        if x > 1:
            print(table)

    f(jnp.float32(2.0))
    jax.effects_barrier()
    assert capfd.readouterr().out == "{<Light.RED: 1>: 2.0, 1: 2.0}\n"


def inside_another_in_a_try(x):
    table = {"a": x, 1: {"b": x, 2: [x]}}
    k = 0
    try:
        while k < x:
            table[1][2][0] += 1
            k += 1
    except ValueError:
        return -1.0
    return table[1][2][0]


def test_a_loop_in_a_try():
    for x in (2.0, 0.0, -1.0):
        assert float(staged.function(inside_another_in_a_try)(jnp.float32(x))) == inside_another_in_a_try(x)


def test_saved(tmp_path):
    ag.save(ag.function(returned).get_concrete_function(jnp.float32(1.0)), tmp_path / "saved")
    loaded = ag.load(tmp_path / "saved")
    # A member of an Enum is loaded as its value.
    assert parts(loaded(jnp.float32(3.0))) == (
        dict,
        [(1, 3.0), ("b", [1.0, (dict, [(2, 3.0), (3, [3.0, 2.0])])])],
    )
