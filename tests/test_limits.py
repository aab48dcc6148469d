"""docs/limits.md: each item of the page is executed, here or in the test that is named."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import functools
import http
import importlib.util
import io
import json
import math
import re
import types
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.language.table import rows
from tests.rooms import ROOT
from tests.test_keys_by_path import plain
from tests.test_keys_by_path_elsewhere import given_to

PAGE = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
SECTIONS = {part.split("\n", 1)[0]: part for part in PAGE.split("\n## ")[1:]}
ITEMS = [" ".join(item.split()) for item in re.findall(r"^- (.*(?:\n  .*)*)", PAGE, re.MULTILINE)]
X, ONES = jnp.array(3.0), jnp.array([1.0, -1.0, 2.0])

# Items by their first words, and what executes them: a test of another file, or, in CLAIMS, a function of this one.
ELSEWHERE = {
    "`np.vectorize` with `signature`": "test_functions_of_numpy_that_call.py::test_other_forms_of_vectorize_are_refused",
    "A slice of a known size": "test_slices_over_the_end.py::test_a_block_of_a_table_over_two_ends_is_refused",
    "A function that the program calls": "test_effects.py::test_python_that_writes_to_state_of_the_traced_function_is_refused",
    "A value that is a list on one path": "test_lists_or_tuples.py::test_what_is_not_known_is_refused",
    "Functions that go over pytrees": "test_trees_by_path.py::test_what_only_run_time_counts_is_refused",
    "A set of traced elements": "test_traced_sets.py::test_the_order_is_refused",
    "To sort traced values, or find the greatest": "test_sorted_by_calls.py::test_how_often_comparisons_are_made_differs",
    "The first time that a program adds": "test_traced_sets.py::test_what_has_printed_is_not_traced_again",
    "A function under a bare `jax.jit`": "test_leaked_writes.py::test_nothing_traced_is_left_outside",
    "`range` with a traced step": "test_range_steps.py::test_a_program_that_cannot_raise_takes_ranges_with_traced_steps",
    "Truth values are numbers": "test_truths_as_numbers.py::test_arrays_of_truth_values_stay_arrays_of_truth_values",
    "A function whose file was edited": "test_refusals.py::test_file_changed_since_import",
    "JAX, NumPy, the standard library": "test_library_table.py::test_names",
    "In a staged block, a call of code": "test_library_table.py::test_names",
    "A `raise` under a traced condition inside `jax.shard_map`": "scale/test_scale.py::test_refused_with_the_users_line",
    "In a job of several processes": "scale/test_scale.py::test_refused_with_the_users_line",
    "A program that calls Python at run time": "test_saved_errors.py::test_what_calls_python_is_refused_by_its_line",
    "So are a `Dataset` that calls Python": "test_saving.py::test_a_result_of_a_class_that_only_its_source_knows_is_refused",
    "A Keras layer without weights": "test_library_state.py::test_layers_without_weights_yet_are_refused",
    "`nnx.jit(ag.convert(f))`": (
        "test_integrations.py::test_a_staged_write_under_flaxs_own_jit_is_refused_with_the_way_out"
    ),
}
CLAIMS: dict[str, Callable[[], None]] = {}


def claim(words):
    def add(function):
        CLAIMS[words] = function
        return function

    return add


def refused(function, *args, words=None, error=ag.StagingError):
    with pytest.raises(error, match=words):
        ag.function(function)(*args)


def refused_by_jit(function, *args, words="autograph.function"):
    with pytest.raises(ag.StagingError, match=words):
        jax.jit(ag.convert(function))(*args)


def agrees(function, *args):
    assert plain(ag.function(function)(*args)) == plain(function(*args))


def test_the_refusals_are_ten_lines_that_each_have_rows():
    lines = re.findall(r"^(\d+)\. (.*)$", SECTIONS["What is refused, in ten lines"], re.MULTILINE)
    assert [int(number) for number, _ in lines] == list(range(1, 11))
    assert max(len(f"{number}. {line}") for number, line in lines) <= 120
    assert {row.limit for row in rows() if row.what == "refused"} == set(range(1, 11))


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item[:50])
def test_each_item_is_executed(item, tmp_path, monkeypatch):
    known = [words for words in (*CLAIMS, *ELSEWHERE) if item.startswith(words)]
    assert len(known) == 1, item
    if known[0] in CLAIMS:
        monkeypatch.chdir(tmp_path)
        CLAIMS[known[0]]()
        return
    path, _, name = ELSEWHERE[known[0]].partition("::")
    assert f"def {name}(" in (ROOT / "tests" / path).read_text(encoding="utf-8")


def test_each_claim_is_of_an_item():
    assert [words for words in (*CLAIMS, *ELSEWHERE) if not any(item.startswith(words) for item in ITEMS)] == []


@claim("Conversion needs the source.")
def without_source():
    scope = {}
    exec("def f(x):\n    return x if x > 0 else -x", scope)
    refused(scope["f"], X, words="source of 'f' is not available", error=ag.ConversionError)


@claim("All branches of a staged `if`")
def branches():
    def shapes(x):
        y = jnp.zeros(2) if x > 0 else jnp.zeros(3)
        return y

    def kinds(x):
        numbers = "a" if x > 0 else 1, (x, "b") if x > 3 else x, math.sin if x > 3 else "c"
        return numbers, [x, 2 * x] if x > 0 else "none", {"k": x} if x > 0 else 2.0

    def in_iterations(x):
        found = "none"
        for k in ag.range(9):
            if x > k:
                found = [k]
        return found

    refused(shapes, X)
    for value in (X, -X):
        agrees(kinds, value)
    for written in ({1}, collections.deque([1]), http.HTTPStatus.OK):
        refused(lambda x: written if x > 0 else 1, X)  # noqa: B023 (called at once)
    refused(lambda x: [x] if x > 0 else {"k": x}, X)
    refused(lambda x: [x] if x > 0 else ([x], x), X)
    refused(in_iterations, X)
    assert ag.function(lambda x: 1 if x > 0 else 2.5)(X).dtype == jnp.float32


@claim("A loop-carried variable keeps")
def carries():
    def grows(x):
        while x.sum() < 100:
            x = jnp.concatenate([x, x])
        return x

    def becomes(x):
        total = 0.0
        for row in x:
            total = total + row
        return total

    refused(grows, ONES, words="'x' changes")
    agrees(becomes, jnp.ones((2, 3)))


class Node:
    def __init__(self, value, rest):
        self.value, self.rest = value, rest


@claim("Objects that refer to each other")
def linked_objects():
    def total(limit):
        node, found = Node(1.0, Node(2.0, Node(3.0, None))), 0.0
        while node is not None and found < limit:
            found += node.value
            node = node.rest
        return found

    def lengthens(x):
        head = None
        while x > 1:
            head = Node(x, head)
            x = x / 2
        return head.value

    def inserts(x):
        head = node = Node(1.0, Node(4.0, None))
        while node.rest is not None and node.rest.value < x:
            node = node.rest
        node.rest = Node(x, node.rest)
        values = []
        while head is not None:
            values.append(head.value)
            head = head.rest
        return values

    def by_indices(x):
        values, rest, node = [1.0, 4.0], [1, -1], 0
        while rest[node] >= 0 and values[rest[node]] < x:
            node = rest[node]
        values.append(x)
        rest.append(rest[node])
        rest[node] = 2
        return values, rest

    agrees(total, X)

    def of_items(count):
        def reversed_sum(x):
            head = None
            for v in jnp.arange(count) * x:
                head = Node(v, head)
            return head.value

        return reversed_sum

    def last_of_tree(x):
        root = node = Node(2.0, None)
        while True:
            if node.rest is None:
                node.rest = Node(x, None)
                break
            node = node.rest
        return root.rest.value

    agrees(by_indices, X)
    agrees(inserts, X)
    agrees(last_of_tree, X)
    agrees(of_items(9.0), X)
    refused(of_items(65.0), X, words="makes a Node")
    refused(lengthens, X, words="makes a Node")

    def one_of(count):
        def rewired(x):
            nodes = [Node(float(k), None) for k in range(count)]
            for one, other in zip(nodes, nodes[1:], strict=False):
                one.rest = other
            node = nodes[int(x)]
            node.rest = None
            return node.value, node is nodes[3], nodes[3].rest is None

        return rewired

    agrees(one_of(32), X)
    refused(one_of(33), X)


@claim("Only the first dimension of an array")
def dimensions():
    refused(lambda x: x[:, x[0] > 0], jnp.ones((2, 2)))
    refused(lambda x: jnp.fft.fft(x[x > 0]), ONES, words="fft")
    agrees(lambda x: (jnp.sort(x[x > 0]), jnp.sin(x[x > 0]).sum(), jnp.searchsorted(x[x > 0], 1.5)), ONES)
    assert jnp.asarray(jax.jit(ag.convert(lambda x: x[x > 0]))(ONES)).tolist() == [1, 2]


@claim("If an operation combines two such arrays")
def two_lengths():
    def different(x):
        return x[x > 0] + x[x < 0]

    with pytest.raises(ValueError, match="broadcast"):
        ag.function(different)(jnp.arange(5.0) - 1.5)
    refused_by_jit(different, ONES)

    def same(x):
        mask = x > 0
        return (x[mask] * x[mask]).sum()

    assert jax.jit(ag.convert(same))(ONES) == 5


@claim("`jnp.arange(n)`, `jnp.zeros(n)`")
def traced_sizes():
    n = jnp.array(3)
    agrees(lambda n: jnp.arange(n), n)
    refused_by_jit(lambda n: jnp.arange(n), n, words=r"jnp.arange\(100\)\[:n\]")
    assert jnp.asarray(jax.jit(ag.convert(lambda n: jnp.arange(100)[:n]))(n)).tolist() == [0, 1, 2]


@claim("A tuple that grows in a staged loop")
def tuples():
    def grows(xs, first=()):
        found = first
        for x in xs:
            if x > 0:
                found = (*found, x)
        return found

    def within(xs):
        state = {"found": ()}
        for x in xs:
            state["found"] += (x,)
        return state["found"]

    def within_a_list(xs):
        state = [()]
        for x in xs:
            state[0] += (x,)
        return state

    agrees(grows, ONES)
    agrees(within, ONES)
    agrees(lambda x: (x,) if x > 0 else (x, x), X)
    refused(lambda xs: grows(xs, (jnp.zeros(2),)), ONES)
    refused(within_a_list, ONES)


@claim("`None`, a possibly undefined variable")
def constants():
    def one_of(count):
        kinds = [type(f"Kind{k}", (), {}) for k in range(count)]

        def choose(i):
            kind = kinds[0]
            for k in range(1, count):
                if i == k:
                    kind = kinds[k]
            return kind.__name__

        return choose

    assert ag.function(one_of(32))(jnp.array(31)) == "Kind31"
    refused(one_of(33), jnp.array(31), words="at most 32")
    agrees(lambda x: None if x > 0 else x, X)


@claim("`is` compares the identity")
def identity():
    refused(lambda x, y: x is y, X, X, words="identical")

    def tuples(x):
        pair = (x, x)
        other = pair if x > 0 else (x, -x)
        return pair is other

    refused(tuples, X, words="identical")
    missing = {}
    agrees(lambda a, b: a is b, missing, missing)
    refused(
        lambda x, options: x if options is missing else -x, X, missing, words="compared by identity with an argument"
    )


@claim("A string of traced values")
def strings():
    assert ag.function(lambda x: f"{x:.2f}")(X) == "3.00"
    for read in (
        lambda x: f"{x}" == "3",
        lambda x: len(f"{x}"),
        lambda x: f"{x}".upper(),
        lambda x: f"{x:.2f}"[0],
        lambda x: json.dumps(int(x))[0],
    ):
        refused(read, X, words="string of traced floats")
    refused(lambda x: json.dumps(x, default=str), X, words="`cls` or `default`")
    refused(lambda x: json.dumps(x, indent=int(x)), X, words="An option")


@claim("`upper`, `lower`, `title`")
def cases():
    upper = lambda n: chr(n).upper()  # noqa: E731
    assert ag.function(upper)(jnp.array(ord("é"))) == "É"
    with pytest.raises(UnicodeError):
        ag.function(upper)(jnp.array(ord("ß")))
    with pytest.raises(ag.StagingError, match="becomes several"):
        jax.jit(ag.convert(upper))(97)


@claim("Integers have 32 bits")
def integers():
    assert ag.function(lambda n: n * 65536)(jnp.array(65536)) == 0

    def least(n):
        best = 10**18
        if n > 0:
            best = min(best, n)
        return best

    assert ag.function(least)(jnp.array(3)) == 3
    assert ag.function(least)(jnp.array(-3)) == 10**18
    refused(lambda n: least(n) % 7, jnp.array(-3), words="may be the Python int")
    refused_by_jit(lambda n: least(n) % 7, jnp.array(3), words="may be the Python int")


@claim("The arrays in the elements of a list")
def elements():
    def tuples(n):
        found = []
        for i in range(n):
            found.append((i,) if i > 1 else [i])
        return found

    def shapes(n):
        return [jnp.zeros(2) if i > 1 else jnp.zeros(3) for i in range(n)]

    def kinds(n):
        return ["a" if i > 1 else (i, "b") if i > 0 else i for i in range(n)]

    def twice(n):
        rows = []
        for i in range(n):
            rows.append([i, i])
        rows.append(rows[0])
        rows[0][0] = 5
        return rows

    def lists(n):
        few = [(i,) if i > 1 else (i, i) for i in range(n)]
        return [[i] if i > 1 else [i, i] for i in range(n)], few, ["a" if i > 1 else None for i in range(n)]

    for wrong in (tuples, shapes, twice):
        refused(wrong, jnp.array(3))
    assert plain(ag.function(kinds)(jnp.array(3))) == [0, (1, "b"), "a"]
    assert plain(ag.function(lists)(jnp.array(3))) == (
        [[0, 0], [1, 1], [2]],
        [(0, 0), (1, 1), (2,)],
        [None, None, "a"],
    )

    class Stack(list):
        pass

    def pushed(x):
        stack = Stack([x])
        if x > 1:
            stack.append(x)
        return len(stack)

    refused(pushed, X, words="The length of a Stack, a subclass of list")


@claim("A list that grows in a loop")
def growing():
    def halves(x):
        found = []
        while x > 1:
            found.append(x)
            x = x / 2
        return found

    def printed(x):
        found = []
        while x > 1:
            print(x)
            found.append(x)
            x = x / 2
        return found

    agrees(halves, X)
    refused(printed, X, words="maximum_length")
    refused_by_jit(halves, X, words="maximum_length")


@claim("A list of traced length may be")
def number_of_items():
    def items(n):
        return [i for i in range(n)]

    def starred(n):
        first, *rest = items(n)
        return first, rest, items(n)[1], items(n)[1:], items(n) + [n]

    assert plain(ag.function(starred)(jnp.array(2))) == (0, [1], 1, [1], [0, 1, 2])

    def unpacked(n):
        a, b = items(n)
        return a + b, tuple(items(n))

    def first_two(x):
        a, b = [v for v in x if v > 0]
        return a + b

    assert plain(ag.function(unpacked)(jnp.array(2))) == (1, (0, 1))
    with pytest.raises(ValueError, match="too many values"):
        ag.function(unpacked)(jnp.array(3))

    def difference(a, b, *more):
        return a - b + sum(more)

    def arguments(n):
        found = max(*items(n)), math.gcd(*items(n)), difference(*items(n)), with_default(*items(n))
        return *found, list(zip(*[(i, i) for i in range(n)]))

    def with_default(a, b=1, c=None):
        return a + b if c is None else c

    assert plain(ag.function(arguments)(jnp.array(2))) == (1, 1, -1, 1, [(0, 1), (0, 1)])

    def columns(n):
        return list(zip(*[(i, jnp.zeros(2)) for i in range(n)]))

    for needs in (
        lambda n: slice(*items(n)),
        lambda n: (lambda *args: args)(*items(n)),
        lambda n: {tuple(items(n)): 1},
        columns,
    ):
        refused(needs, jnp.array(2))
    with pytest.raises(ag.StagingError, match="cannot raise ValueError"):
        jax.jit(ag.convert(first_two))(jnp.array([1.0, 2.0, -3.0]))


@claim("A dict with traced keys")
def traced_keys():
    def written(i):
        d = {0: 0.0, 1: 0.0}
        d[i] = 1.0
        return d

    assert plain(ag.function(written)(jnp.array(1))) == {0: 0.0, 1: 1.0}
    outside = {"a": 0.0}
    refused_by_jit(lambda i: outside.update({i: 1.0}), jnp.array(1), words="given a traced key")
    assert ag.function(lambda i: collections.Counter({i: 1}) <= collections.Counter({i: 1}))(jnp.array(1))
    refused(lambda i: collections.OrderedDict({i: 1}) == collections.OrderedDict({i: 1}), jnp.array(1))

    def read_late(i):
        d = {i: 1.0}
        keys = iter(d)
        d[i + 1] = 2.0
        return next(keys)

    refused(read_late, jnp.array(1), words="has been written since")


def imported(name, text):
    """A module of this text, in the folder of the test."""
    path = Path(f"{name}.py").resolve()
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@claim("A read of a key or attribute")
def unused_reads():
    text = "def number(d):\n    d[0]\ndef name(d):\n    d['k']\ndef used(d):\n    return d[0]\ndef attribute(o):\n    o.size\n"
    reads = imported("reads", text)

    def of_a_dict(key, read):
        def f(x):
            d = {}
            if x > 0:
                d[key] = x
            read(d)
            return x

        return f

    def of_an_object(x):
        log = Log()
        if x > 0:
            log.size = x
        reads.attribute(log)
        return x

    def here(d):
        return d[0]

    for key, read in (("k", reads.name), (0, here)):
        with pytest.raises(KeyError):
            ag.function(of_a_dict(key, read))(-X)

    def returned(x):
        d = {}
        if x > 0:
            d[0] = x
        return reads.used(d)

    with pytest.raises(KeyError):
        ag.function(returned)(-X)
    assert ag.function(of_a_dict(0, reads.number))(-X) == -3
    assert ag.function(of_an_object)(-X) == -3


@claim("If only some paths set a key of a dict")
def keys_by_path():
    def unpacked(d):
        a, b = d
        return a

    def matched(d):
        match d:
            case {"k": v}:
                return v
        return 0.0

    def looped(d):
        total = 0.0
        for key in d:
            total += d[key]
        return total

    def number_of(*keys):
        return len(keys)

    for read in (matched, lambda d: d.items() & {("k", 1.0)}):
        refused(given_to(lambda d, read=read: read(d)), X)
    for read in (
        list,
        tuple,
        set,
        looped,
        lambda d: {k: 1 for k in d},
        lambda d: [*d],
        lambda d: number_of(*d),
        lambda d: {**d},
        lambda d: d | {"e": 1.0},
        lambda d: d.keys() == {"k"},
    ):
        for x in (X, -X):
            assert plain(ag.function(given_to(read))(x)) == plain(given_to(read)(x))
    assert ag.function(given_to(unpacked))(X) == "a"
    assert ag.function(given_to(lambda d: f"{len(d)}: {d}"))(-X).startswith("1: {'a': ")
    assert ag.function(given_to(str))(X) == "{'a': 1.0, 'k': 3.0}"

    def ordered(x):
        d = {}
        for key in ("a", "b") if x is not None else ():
            d[key] = x
        d["c"] = "text"
        if x > 0:
            d["a"] = d.pop("a")
        return list(d)

    refused(ordered, X, words="order of a dict's keys")


@claim("A write to a list, dict or object is visible")
def aliases():
    def both(x):
        a, b = [1.0], [2.0]
        c = a if x > 0 else b
        c[0] = x
        return a, b

    def rebound(xs):
        first = current = [0.0]
        for x in xs:
            current[0] += x
            if x > 1:
                current = [x]
        return first[0]

    def keys(xs):
        a, b = {"k": 1.0}, {"k": 2.0}
        c = a
        for x in xs:
            c["new"] = x
            c = b if x > 0 else a
        return a, b

    def of_a_set(x):
        a, b = {1, 2}, {2, 1}
        c = a if x > 0 else b
        c.add(3)
        return a, b

    agrees(both, X)
    refused(rebound, ONES)
    refused(keys, ONES)
    refused(of_a_set, X)


@claim("A write to a list, dict or set from outside")
def lists_from_outside():
    outer = []

    def looped(xs):
        for x in xs:
            outer.append(1)
        return xs

    with pytest.warns(ag.StagingWarning, match="happens once"):
        ag.function(looped)(jnp.ones(100))
    assert len(outer) == 1

    def branch(x):
        if x > 0:
            outer.append(x)
        return x

    ag.function(branch)(X)
    ag.function(branch)(-X)
    assert len(outer) == 2
    refused_by_jit(branch, X)

    holder = types.SimpleNamespace(items=[])

    def held(xs):
        for x in xs:
            holder.items.append(x)
        return xs

    ag.function(held)(jnp.ones(100))
    assert len(holder.items) == 100
    refused_by_jit(held, ONES, words="was not made in converted code")

    def taking(xs):
        for _ in xs:
            outer.pop()
        return xs

    def reading(x):
        if x > 0:
            outer.append(x)
        return len(outer)

    def repeating(x):
        if x > 0:
            outer.append(1)
        return sum(outer * 2), f"{outer}" == ""

    outer[:] = [1.0] * 5
    for taken in (taking, reading):
        refused_by_jit(taken, ONES if taken is taking else X, words=None)
        with pytest.raises(ag.StagingError):
            at_run_time = ag.function(taken, experimental_autograph_options=ag.Feature.LISTS)
            at_run_time(ONES if taken is taking else X)
    assert outer == [1.0] * 5
    ag.function(taking)(ONES)
    assert int(ag.function(reading)(X)) == len(outer) == 6 - len(ONES)

    pair = ([], 0)

    def in_tuple(x):
        if x > 0:
            pair[0].append(x)
        return len(pair[0])

    refused(in_tuple, X, words="a tuple, a default by keyword or an iterator leads to it")
    assert pair == ([], 0)
    outer[:] = [1]
    assert ag.function(repeating)(X) == (2, False)


@claim("A NumPy array that a call of an `ag.function` writes in place")
def arrays_of_the_caller():
    def written(x, y):
        x[0] = 5.0
        return y

    both = np.zeros(4)
    for given in ((both, both), (both[:2], both)):
        with pytest.raises(ag.StagingError, match="'x' is written in place by written, and shares memory with 'y'"):
            ag.function(written)(*given)

    def sliced(x, n):
        tail = x[n:]
        tail[0] = 1.0
        return x

    def sliced_of_its_own(x, n):
        y = x * 2
        tail = y[n:]
        tail[0] = 1.0
        return y

    def shaped(x):
        x.shape = (2, 2)
        return x

    def one_of_several(x, c):
        y = x if c > 0 else jnp.zeros(4)
        y += 1.0
        return y

    def viewed(x):
        x.T[0] = x[0:1][0] + 1
        return x

    for program in (sliced, sliced_of_its_own):
        refused(
            program, np.zeros(4), jnp.array(2), words="The length of this slice is known only when the program runs"
        )
    refused(shaped, np.zeros(4), words="The attribute 'shape' of an array is assigned")
    refused(one_of_several, np.zeros(4), X, words="is updated in place that is one of several")
    ag.function(viewed)(both)
    assert both.tolist() == [1, 0, 0, 0]
    with pytest.raises(ag.StagingError, match="'x' is an array that"):
        ag.function(written).get_concrete_function(np.zeros(2), X)


@claim("A list, dict, set or dataclass argument")
def arguments():
    both = [X]

    def written(xs):
        xs[0] = 5.0
        return both[0]

    refused(written, both, words="'xs' is changed in place here, and is the same object as 'both'")

    def of_two(xs, ys):
        xs[0] = 5.0
        return ys[0]

    specs = [[ag.TensorSpec(())]] * 2
    with pytest.raises(ag.StagingError, match="'xs' is changed in place here, and is the same object as 'ys'"):
        ag.function(of_two, input_signature=specs)(both, both)
    with pytest.raises(ag.StagingError, match="'xs' is changed in place"):
        ag.function(of_two).get_concrete_function([X], [X])

    def growing(xs, x):
        if x > 0:
            xs.append(x)
        return xs

    assert len(ag.function(growing)([X], X)) == 2
    refused_by_jit(growing, [X], X)

    def exchanged(rows, k):
        rows[0], rows[k] = rows[k], rows[0]

    first, second = [X], [X + 1]
    ag.function(exchanged)(given := [first, second], jnp.array(1))
    assert given == [[X + 1], [X]] and given[1] is not first


class Log:
    last = None


LOG = Log()


@claim("What an `ag.function` assigns outside")
def leaks():
    kept = {}

    def attribute(x):
        LOG.last = x
        return x

    def key(x):
        kept["x"] = x
        return x

    def of_a_class(x):
        Log.last = x
        return x

    for leak in (attribute, key, of_a_class):
        f = ag.function(leak)
        for run in (f.lower, f.trace, f.eval_shape, f.get_concrete_function):
            with pytest.raises(ag.StagingError, match="would leak a tracer"):
                run(X)
        for transform in (jax.jit, jax.grad):
            with pytest.raises(ag.StagingError, match="is assigned by"):
                transform(f)(X)
    assert LOG.last is None and not kept
    for leak in (attribute, key, of_a_class):
        ag.function(leak)(X)
    assert LOG.last == Log.last == kept["x"] == X
    LOG.last = Log.last = None

    both = {"v": 0.0}

    @ag.function
    def given(d, x):
        both["v"] = x
        return d["v"]

    with pytest.raises(ag.StagingError, match="'both' is changed by given, and is given to it, too"):
        given(both, X)


@claim("A function under `functools.cache`")
def cached_functions():
    def f(xs):
        computed = 0

        @functools.cache
        def twice(v):
            nonlocal computed
            computed += 1
            return 2 * v

        return twice(int(xs[0])) + twice(int(xs[0])), computed

    assert f([3]) == (12, 1) and jax.tree.map(int, ag.function(f)(jnp.array([3]))) == (12, 2)


@claim("A write to an object from outside is refused in a function under `jax.jit`")
def under_jit():
    def traced(x):
        LOG.last = x
        return x

    def counted(x):
        LOG.last = 1
        return x

    under = {traced: jax.jit(traced), counted: jax.jit(counted)}

    def loop(xs):
        for x in xs:
            x = under[counted](x)
        return xs

    refused(lambda x: under[traced](x), X, words="runs under a transform")
    refused(loop, ONES, words="runs under a transform")


def raising(x):
    if x > 0:
        raise ValueError("positive")
    return x


@claim("`raise` under a traced condition, without a handler")
def raised():
    refused_by_jit(raising, X)

    def handled(x):
        try:
            return raising(x)
        except ValueError:
            return -1.0

    assert jax.jit(ag.convert(handled))(X) == -1


@claim("`contextlib.ExitStack` around a `raise`")
def exit_stack():
    def f(x):
        try:
            with contextlib.ExitStack():
                return raising(x)
        except ValueError:
            return -1.0

    refused(f, X, words="ExitStack")


@claim("A write of what is not traced")
def write_in_no_staged_block():
    state = {"count": 0}
    variable = ag.Variable(0)

    @ag.function
    def f(x):
        state["count"] += 1
        variable.assign_add(1)
        return x + state["count"]

    assert [float(f(X)) for _ in range(3)] == [4.0, 4.0, 4.0]
    assert state["count"] == 1 and int(variable.value) == 3


@claim("`print` of what is not traced")
def prints_of_constants():
    def told(x):
        if x > 0:
            print("positive")
        else:
            print("negative")
        if x > 0:
            ag.print("above")
        return x

    run = ag.function(told)
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        jax.block_until_ready([run(X), run(X)])
        jax.effects_barrier()
    assert shown.getvalue().split() == ["positive", "negative", "above", "above"]

    def lines(x):
        for k in ag.range(2):
            print(k, end=" ")
            print()
        print("end")
        print()
        return x

    with contextlib.redirect_stdout(io.StringIO()) as shown:
        jax.block_until_ready(ag.function(lines)(X))
        jax.effects_barrier()
    assert shown.getvalue() == "end\n\n0 \n1 \n"


@claim("A jump out of `finally`")
def jump():
    def f(x):
        try:
            x = x + 1
        finally:
            if x > 0:
                return x
        return 0.0

    refused(f, X, words="finally")


@claim("An exception that is kept in a variable")
def kept_exceptions():
    def kept(x, kind):
        error = None
        try:
            if x < 1:
                raise kind(1, "low")
            if x < 5:
                raise kind(2, "no")
        except kind as e:
            error = e
        return 0 if error is None else error.args[0], error is None or error.__context__ is None

    def caused(x):
        error = None
        try:
            try:
                if x < 5:
                    raise KeyError(x)
            except KeyError as e:
                raise ValueError("no") from e
        except ValueError as e:
            error = e
        return error is None

    def made_before(x, kind):
        error = kind(x, "no")
        try:
            if x < 5:
                raise error
        except kind as e:
            return e is error
        return True

    def made_before_its_cause(x):
        error, cause = ValueError("no"), None
        try:
            if x < 5:
                raise KeyError("low")
        except KeyError as e:
            cause = e
        try:
            raise error from cause
        except ValueError as e:
            return e.__cause__ is None

    agrees(lambda x: kept(x, ValueError), X)
    refused(lambda x: kept(x, OSError), X)
    refused(made_before_its_cause, X)
    refused(caused, X)
    agrees(lambda x: made_before(x, ValueError), X)
    assert made_before(X, OSError) and not ag.function(lambda x: made_before(x, OSError))(X)


@claim("An out-of-bounds index does not raise")
def bounds():
    def read(xs, i):
        return xs[i]

    def handled(xs, i):
        try:
            return xs[i]
        except IndexError:
            return -1.0

    at = jnp.array(7)
    assert ag.function(read)(ONES, at) == 2
    assert ag.function(handled)(ONES, at) == -1
    with pytest.raises(IndexError):
        ag.function(read, check_bounds=True)(ONES, at)


@claim("Division by a traced zero")
def division():
    def handled(x):
        try:
            return 1 / x
        except ZeroDivisionError:
            return -1.0

    def suppressed(x):
        with contextlib.suppress(ZeroDivisionError):
            return 1 / x
        return -2.0

    zero = jnp.array(0.0)
    assert ag.function(lambda x: 1 / x)(zero) == math.inf
    assert ag.function(handled)(zero) == -1
    assert ag.function(suppressed)(zero) == -2
    assert math.isnan(ag.function(lambda x: math.sqrt(x))(-X))


@claim("A generator is staged if")
def generators():
    def pieces(x):
        if x > 0:
            yield x
        yield 2 * x

    agrees(lambda x: (sum(pieces(x)), max(pieces(x)), list(pieces(x))), X)

    def stepped(x):
        made = pieces(x)
        return next(made) + next(made)

    refused(stepped, X)
    refused(lambda x: list(zip(pieces(x), pieces(x))), X)


@claim("A generator that calls itself under a traced condition")
def recursive_generators():
    def down(x):
        if x > 0:
            yield x
            yield from down(x - 1)

    agrees(lambda x: (sum(down(x)), list(down(x))), X)

    def returned(x):
        for v in down(x):
            if v < 1:
                return v
        return x

    agrees(returned, X)
    refused(lambda x: sum(v + w for v in down(x) for w in down(v)), X)
    with pytest.raises(ag.StagingError):
        jax.jit(ag.convert(lambda x: sum(down(x))))(X)


class _Halves:
    def __init__(self, number):
        self.number = number

    def __iter__(self):
        return self

    def __next__(self):
        number = steps_of.get(0, self.number)
        if number <= 1:
            raise StopIteration
        self.number = self.number / 2
        return self.number


steps_of: dict[int, jax.Array] = {}


class _MakesHalves:
    def __init__(self, number):
        self.number = number

    def __iter__(self):
        return _Halves(self.number)


@claim("An iterator of your class that ends")
def iterators_of_classes():
    def looped_over(x):
        total = 0.0
        for v in _MakesHalves(x):
            total += v
        return total, [v for v in _Halves(x)]

    def of_an_array_from_elsewhere(x):
        steps_of[0] = x
        return sum(_Halves(3.0))

    agrees(looped_over, X)
    agrees(lambda x: 1.5 in _Halves(x), X)
    agrees(lambda x: list(_MakesHalves(x)), X)
    try:
        refused(of_an_array_from_elsewhere, X)
    finally:
        steps_of.clear()


@claim("`next` in a staged block advances")
def iterators():
    def made_here(x, kind=iter):
        numbers = kind([1.0, 2.0, 3.0])
        if x > 0:
            x = x + next(numbers)
        return x, numbers

    def rest(x):
        x, numbers = made_here(x)
        return x + sum(numbers)

    def looped_over(x):
        x, numbers = made_here(x)
        for v in numbers:
            x = x + v
        return x

    def counted(x):
        x, numbers = made_here(x, lambda values: map(float, values))
        return x + next(numbers)

    assert plain(ag.function(rest)(X)) == plain(ag.function(looped_over)(X)) == 9.0
    refused(lambda x: list(zip(made_here(x)[1], [1.0])), X, words="uses an iterator")
    refused(counted, X, words="uses an iterator")
    with pytest.raises(ag.StagingError, match="cannot raise"):
        jax.jit(ag.convert(lambda x: next(made_here(x)[1])))(X)
    numbers = iter([1.0, 2.0])

    def staged(x):
        if x > 0:
            x = x + next(numbers)
        return x

    refused(staged, X, words="next")
    advanced = ag.function(lambda x: x + next(numbers))
    with pytest.warns(ag.StagingWarning, match="advances the iterator"):
        assert [float(advanced(X)), float(advanced(X))] == [4, 4]


@claim("Statements that contain `await`")
def awaits():
    async def same(x):
        return x

    async def f(x):
        if x > 0:
            return await same(x)
        return x

    refused(lambda x: asyncio.run(f(x)), X, words="await")


@claim("In a lambda, a comprehension with a traced condition")
def comprehensions():
    refused(lambda x: [y for k in (1.0, 4.0) if (y := x * k) > k], X)
    refused(lambda x: [lambda: k for k in (1.0, 4.0) if x * k > k], X)
    agrees(lambda x: [x * k for k in (1.0, 4.0) if x * k > k], X)

    def kept(x):
        return {k: x for k in (1.0, 4.0) if x > k}

    assert plain(ag.function(kept)(X)) == plain(kept(X))
    agrees(lambda x: sum(k for k in (1.0, 4.0) if x > k), X)


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


@claim("Recursion under a traced condition")
def recursion():
    def grown(x):
        return x if x.sum() > 9 else grown(jnp.concatenate([x, x]))

    def to_an_argument(x, out=None):
        if out is None:
            out = [0.0]
        if x > 1:
            out[0] += x
            to_an_argument(x / 2, out)
        return out[0]

    def to_one_of_its_own(x, out):
        out[0] += x
        if x > 1:
            to_one_of_its_own(x / 2, [out[0]])
        return out[0]

    def to_a_list(x, out):
        return out if x < 1 else to_a_list(x / 2, out + [x])

    refused(grown, jnp.ones(2))
    agrees(lambda x: to_a_list(x, []), X)
    agrees(lambda x: to_an_argument(x, [0.0]), X)
    agrees(to_an_argument, X)
    refused(lambda x: to_one_of_its_own(x, [0.0]), X, words="'to_one_of_its_own' calls itself")


def halvings(x):
    out = []

    def walk(v):
        if v > 1:
            out.append(v)
            walk(v / 2)

    walk(x)
    return out


@claim("A function that calls itself inside a `try`")
def recursion_in_a_try():
    class Failed(Exception):
        def __init__(self, place):
            self.place = place

    def walk(x, error):
        if x < 1:
            raise error(x)
        try:
            return walk(x - 1, error)
        except error:
            return x

    agrees(lambda x: walk(x, ValueError), X)
    refused(lambda x: walk(x, Failed), X, words="other attributes than `args`")


@claim("In a bare `jax.jit`, and in programs that print or call Python, recursion")
def recursion_that_lengthens_a_list():
    def prints(x):
        print(x)
        return halvings(x)

    agrees(halvings, X)
    refused(prints, X, words="'walk' calls itself")
    refused_by_jit(halvings, X, words="'walk' calls itself")


@claim("In a bare `jax.jit`, recursion with a stack")
def recursion_by_jit():
    @ag.recursion_limit(10)
    def limited(n):
        return 1 if n < 2 else n * limited(n - 1)

    refused_by_jit(factorial, jnp.array(3), words="recursion_limit")
    assert jax.jit(ag.convert(limited))(jnp.array(3)) == 6


@claim("Staged statements and calls nest")
def depth():
    def chain(count):
        parts = [f"def f{i}(x):\n    if x > {i}:\n        return f{i + 1}(x)\n    return -x\n" for i in range(count)]
        return imported(f"chain_{count}", "".join(parts) + f"def f{count}(x):\n    return x\n").f0

    ag.function(chain(50)).get_concrete_function(X)
    refused(chain(90), X, words="sys.setrecursionlimit")


@claim("Generators, iterators, and library functions")
def results():
    refused(lambda x: (v for v in [x]), X, words="generator")
    refused(lambda x: iter([x]), X)
    refused(lambda x: map(abs, [x]), X, words=r"returns an iterator \(map\)")


@claim("Sets, deques and instances")
def new_results():
    def f(x):
        return collections.deque([x]), {1}

    made = ag.function(f)
    assert made(X)[0] is not made(X)[0] and made(X)[1] is not made(X)[1]

    def twice(x):
        xs, d, s = [x], {"a": x}, {1}
        if x > 0:
            s.add(2)
        return (xs, xs), (d, d), (s, s)

    assert [one is other for one, other in ag.function(twice)(X)] == [False, False, False]


@claim("If only some paths bind an attribute")
def bound_by_path():
    holder = types.SimpleNamespace(items=[1.0])
    other = holder.items

    @ag.function
    def f(x):
        if x < 0:
            holder.items = [x]
        return x

    f(X)
    assert plain(holder.items) == [1.0] and holder.items is not other


@claim("Dicts are returned with sorted keys")
def sorted_keys():
    assert list(ag.function(lambda x: {"b": x, "a": x})(X)) == ["a", "b"]


@claim("A bare `jax.jit` returns")
def of_jit():
    def one(f):
        return type(jax.jit(ag.convert(f))(X))

    assert one(lambda x: None if x > 0 else x) is ag.Optional
    assert one(lambda x: "a" if x > 0 else "b") is ag.OneOf
    assert one(given_to(lambda d: d)) is ag.DictByPath


@claim("A staged loop with effects")
def modes():
    def f(x):
        while x > 1:
            ag.print(x)
            x = x / 2
        return x

    assert jax.jvp(ag.function(f), (X,), (X,))[1] == 0.75
    with pytest.raises(ValueError, match="Reverse-mode"):
        jax.grad(ag.function(f))(X)


@claim("A Variable that is assigned inside `jax.vmap`")
def variables():
    v = ag.Variable(0.0)

    def f(x):
        v.assign(x)
        return v.value * x

    for transformed in (jax.vmap(ag.function(f)), jax.grad(jax.grad(lambda x: ag.function(f)(x[0])))):
        with pytest.raises((ag.StagingError, TypeError)):
            transformed(ONES)


@claim("A read of one of several Variables")
def selected_variables():
    a, b, c = ag.Variable(1.0), ag.Variable([2.0, 3.0]), ag.Variable(4.0)

    def read(x):
        v = a if x > 0 else b
        return v + 0

    def derived(x):
        v = a if x > 0 else c
        return ag.grad(lambda: v * v, variables=[v])()

    def of_slices(x):
        v = b[0] if x > 0 else b[1]
        b.assign([5.0, 6.0])
        return v + 0

    assert ag.function(of_slices)(X) == 2
    with pytest.raises(ag.StagingError, match="it is that of one of several Variables"):
        ag.function(read)(X)
    with pytest.raises(ag.StagingError, match="a gradient or an update of Variables needs to know which"):
        ag.function(derived)(X)


@claim("`jnp.where` evaluates both sides")
def both_sides():
    f = ag.function(lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0))
    assert math.isnan(jax.grad(f)(jnp.array(0.0)))


@claim("The derivative of a value that is computed before a staged `if` or loop")
def before_branches():
    def before(x):
        r = jnp.sqrt(x)
        return r if x > 0 else x

    def inside(x):
        return jnp.sqrt(x) if x > 0 else x

    def in_no_iteration(x):
        r, y, count = jnp.sqrt(x), x, jnp.round(x)
        while count > 0:
            y, count = y + r, count - 1
        return y

    zero = jnp.array(0.0)
    for function, found in ((before, math.nan), (inside, 1.0), (in_no_iteration, math.nan)):
        assert jax.grad(function)(zero) == 1.0
        np.testing.assert_equal(float(jax.jit(jax.grad(ag.convert(function)))(zero)), found)


@claim("A loaded function accepts")
def loaded():
    @ag.function
    def double(x):
        return 2 * x

    double(ONES)
    ag.save(double, "saved")
    again = ag.load("saved")
    assert again(ONES).tolist() == [2, -2, 4]
    with pytest.raises(TypeError):
        again(jnp.ones(7))


@claim("Variables of flax.nnx")
def nnx_variables():
    from flax import nnx

    class Model(nnx.Module):
        def __init__(self):
            self.pair = nnx.Variable((jnp.ones(()), jnp.ones(())))

    model = Model()
    assert ag.function(lambda x: x + model.pair.get_value()[0])(X) == 4
