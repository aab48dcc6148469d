"""Lists, tuples and dicts with traced values in them, printed, in texts and in errors: as Python shows them."""

from __future__ import annotations

import dataclasses
from collections import Counter, OrderedDict, defaultdict, deque

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


def displays(x):
    print({"a": x}, [x, 2], (x, "b"))
    print("values:", [[x, 1.5], {"k": (x,)}])
    return str([x]), f"{(x, 'b')}"


def of_traced_length(x):
    kept, rows = [], []
    for k in range(3):
        if x > k:
            kept.append(k)
            rows.append([k * x, k])
    print(kept, [kept], {"rows": rows})
    print(f"{kept} and {len(kept)}: {rows!r}")
    return f"{kept}", str(rows) + "!"


def of_constants(x):
    words = []
    for k in range(3):
        if x > k:
            words.append("ab")
    print(words)
    return len(words)


def of_keys_out_of_order(x):
    d = {"z": x, "a": {"y": [x], "b": (1, {"d": x, "c": 0})}}
    print(d, [d])
    o, m = OrderedDict(b=x, a=1), defaultdict(int, {"z": x, "a": 1})
    print(o, m, x)
    print({3: x, 1: 2}, {1: d})
    return str(d), f"{o} {m!r}", "%s" % {"b": x, "a": 1}


def of_keys_by_path(x):
    d = {"z": 1}
    if x > 1:
        d["b"] = x
    if x > 2:
        d["a"] = 2 * x
    print(d)
    print("with", [d], dict(d), list(d))
    return str(d), f"{d} {len(d)}", ", ".join(d), repr((d, x))


def of_traced_keys(x):
    counts = {}
    for k in (3, 1, 3):
        counts[x * k] = counts.get(x * k, 0) + 1
    print(counts)
    return f"{counts}"


def of_counters(x):
    counts = Counter("banana")
    print(counts)
    if x > 1:
        counts["b"] += 4
        counts["z"] += 1
    print(counts, x)
    return str(counts), repr([counts])


@dataclasses.dataclass
class Record:
    table: dict
    x: float


class Named:
    def __init__(self, table):
        self.table = table

    def __str__(self):
        return f"Named{self.table}"


def of_dicts_in_objects(x):
    record = Record({"z": x, "a": [{"c": x, "b": 1}]}, x)
    if x > 1:
        record.table["q"] = 2
    print(record, Named(record.table))
    return f"{record} {Named(record.table)}"


def of_what_changes_later(x):
    seen, row, queue = {1}, np.zeros(2), deque([1])
    print(x, seen, row, queue, [seen, row])
    text = f"{x} {seen} {row} {queue}"
    seen.add(2)
    row[0] = 7
    queue.append(3)
    return text


PROGRAMS = [
    displays, of_traced_length, of_constants, of_keys_out_of_order, of_keys_by_path, of_traced_keys, of_counters,
    of_dicts_in_objects, of_what_changes_later,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("x", [2.5, 1.0, -3.5])
def test_as_python_shows_them(program, x, capsys):
    wanted = program(x), capsys.readouterr().out
    found = ag.function(program)(jnp.float32(x))
    jax.effects_barrier()
    assert (found, capsys.readouterr().out) == wanted


def test_the_order_of_keys_that_differs_by_path_is_refused():
    def f(x):
        d = {"first": [1]}
        if x > 0:
            d["a"] = 1
        d["b"] = x
        if x < 2:
            d["a"] = 2
        return str(d)

    with pytest.raises(ag.StagingError, match="order of a dict's keys"):
        ag.function(f)(jnp.float32(1))


def test_an_object_that_may_lack_an_attribute_is_refused():
    class Point:
        def __str__(self):
            return f"Point({self.x})"

    def f(x):
        point = Point()
        if x > 0:
            point.x = x
        return f"{point}"

    with pytest.raises(ag.StagingError, match="'x' may be absent"):
        ag.function(f)(jnp.float32(1))


def test_arguments_of_errors_keep_the_order_of_keys():
    def f(x):
        if x > 0:
            raise ValueError({"b": x, "a": [1]})
        return x

    with pytest.raises(ValueError, match="{'b': 2.0, 'a': \\[1\\]}") as caught:
        ag.function(f)(jnp.float32(2))
    assert list(caught.value.args[0]) == ["b", "a"]


def test_in_a_branch_and_in_an_error(capsys):
    def f(x):
        kept = [v for v in [x, 1.0] if v > 1]
        if x > 1:
            print([x, kept])
        if x > 3:
            raise ValueError(f"too many: {kept}")
        return x

    compiled = ag.function(f)
    compiled(jnp.float32(0.5))
    compiled(jnp.float32(2.0))
    with pytest.raises(ValueError, match=r"too many: \[4\.0\]"):
        compiled(jnp.float32(4.0))
    assert capsys.readouterr().out.splitlines()[0] == "[2.0, [2.0]]"


def that_hold_themselves():
    loop, table = [], {}
    loop.append(loop)
    table["t"] = table
    return f"{loop} {table}", str(loop), ascii(loop), "%s" % (loop,)  # noqa: UP031


def of_keys_without_an_order():
    mixed = {1: 2, "a": 3}
    return f"{mixed}", "{d[a]}".format(d=mixed), "%(a)s" % mixed  # noqa: UP031, UP032


@pytest.mark.parametrize("program", [that_hold_themselves, of_keys_without_an_order])
def test_containers_that_jax_cannot_flatten(program):
    assert ag.convert(program)() == ag.function(program)() == program()
    assert jax.jit(ag.convert(lambda x: x + len(program()[0])))(1) == 1 + len(program()[0])
