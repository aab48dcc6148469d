"""Functions that call themselves and write to what was there before: variables around them, attributes, lists, dicts."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.runtime.staging.statements.loop_settling import Settling
from tests.agreement import agrees_when_compiled


class Walk:
    def __init__(self):
        self.total = 0.0
        self.calls = 0
        self.visits = [0, 0, 0, 0, 0, 0]

    def go(self, n):
        self.calls += 1
        if n > 0:
            self.total += n * 0.5
            self.visits[n] += 1
            self.go(n - 1)
            self.go(n - 2)


def attributes_and_their_contents(n):
    walk = Walk()
    walk.go(n)
    return walk.total, walk.calls, walk.visits


def a_variable_around_it(n):
    calls = 0

    def count(i):
        nonlocal calls
        calls += 1
        if i > 0:
            count(i - 1)
            count(i - 1)

    count(n)
    return calls


def a_variable_that_a_helper_writes(n):
    calls = 0

    def tick():
        nonlocal calls
        calls = calls + 1

    def count(i):
        tick()
        if i > 0:
            count(i - 1)
            count(i - 2)

    count(n)
    return calls


def a_table_of_results(n):
    table = np.zeros(20, np.int32)
    known = jnp.array(table)

    def fibonacci(i):
        nonlocal known
        if i < 2:
            return i
        if known[i] > 0:
            return known[i]
        found = fibonacci(i - 1) + fibonacci(i - 2)
        known = known.at[i].set(found)
        return found

    return fibonacci(n), known


def a_dict(n):
    seen = {"calls": 0, "most": 0}

    def halve(i):
        seen["calls"] += 1
        if i > seen["most"]:
            seen["most"] = i
        if i > 0:
            halve(i // 2)
            halve(i // 3)

    halve(n)
    return seen


def a_search_of_a_graph(edges, start):
    count = len(edges)
    seen = jnp.zeros(count, bool)

    def visit(u):
        nonlocal seen
        seen = seen.at[u].set(True)
        found = 1
        for v in range(count):
            if edges[u, v] and not seen[v]:
                found += visit(v)
        return found

    return visit(start), seen


class Dice:
    def __init__(self, seed):
        self.state = seed

    def throw(self):
        self.state = (self.state * 75 + 74) % 65537
        return self.state % 6 + 1


def an_object_that_is_an_argument(seed, games):
    def game(dice, left):
        if left <= 0:
            return 0
        if dice.throw() > 3:
            return 1 + game(dice, left - 1)
        return game(dice, left - 1)

    dice = Dice(seed)
    return game(dice, games), game(dice, games), dice.state


def itself(n):
    class Sum:
        def __init__(self):
            self.total = 0

        def of(self, n):
            if n == 0:
                return self
            self.total = self.total + n
            return self.of(n - 1)

    return Sum().of(n).total


def in_a_branch_and_a_loop(n):
    total = 0

    def add(i):
        nonlocal total
        if i > 1:
            total += i
        if i > 0:
            add(i - 1)

    if n > 2:
        add(n)
    for k in range(n):
        add(k)
    return total


_EDGES = np.array([[0, 1, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0]], np.int32)
_N = [(np.int32(n),) for n in (5, 2, 0)]


@pytest.mark.parametrize(
    "function",
    [
        attributes_and_their_contents,
        a_variable_around_it,
        a_variable_that_a_helper_writes,
        a_table_of_results,
        a_dict,
        itself,
        in_a_branch_and_a_loop,
    ],
    ids=lambda function: function.__name__,
)
def test_like_plain_python(function):
    agrees_when_compiled(function, *_N)


def test_graphs_and_arguments_like_plain_python():
    agrees_when_compiled(a_search_of_a_graph, (_EDGES, np.int32(0)), (_EDGES, np.int32(3)))
    agrees_when_compiled(an_object_that_is_an_argument, (np.int32(7), np.int32(6)), (np.int32(1), np.int32(0)))


def test_transforms():
    assert jax.vmap(ag.function(a_variable_around_it))(jnp.arange(4)).tolist() == [1, 3, 7, 15]

    def weighted(x, n):
        total = 0.0

        def add(i):
            nonlocal total
            total = total + x * i
            if i > 0:
                add(i - 1)

        add(n)
        return total

    assert float(jax.grad(ag.function(weighted))(2.0, jnp.array(4))) == 10


def test_a_list_that_is_an_argument_is_changed_in_place():
    def put(values, value, depth):
        if depth == 0:
            values.append(value)
            return
        put(values, value, depth - 1)

    def f(x):
        values = []
        if x > 0:
            put(values, x, 2)
        else:
            put(values, -x, 1)
        put(values, x, 2)
        return values

    agrees_when_compiled(f, (np.float32(3.0),), (np.float32(-2.0),))


def test_a_list_that_comes_back_may_be_the_one_that_was_given():
    def turned(n, pair):
        if n == 0:
            return pair
        return turned(n - 1, [pair[1], pair[0] + 1])

    def reads(n):
        pair = [1, 2]
        return turned(n, pair), pair

    def writes(n):
        pair = [1, 2]
        found = turned(n, pair)
        pair[0] = 99
        return found

    agrees_when_compiled(reads, *_N)
    with pytest.raises(ag.StagingError, match="writes a list that a traced condition selected"):
        ag.function(writes)(jnp.array(2))


def test_what_is_followed_writes_once():
    def counted(x, helps):
        calls, kept = 0, []

        def tick():
            nonlocal calls
            calls += 1

        def down(left, x):
            nonlocal calls
            kept.append(left)
            if helps:
                tick()
            else:
                calls += 1
            if left <= 0:
                return 0
            if x >= x + left:
                return down(left - 1, x)
            found = down(left - 1, x) + down(left - 1, x)
            return found + down(left - 2, x)

        return down(4, x), calls, len(kept)

    agrees_when_compiled(lambda x: counted(x, True), (np.float32(3.0),))
    agrees_when_compiled(lambda x: counted(x, False), (np.float32(3.0),))

    def fails(x, log):
        def down(left, x):
            log.append(left)
            if left == 0:
                raise KeyError(left)
            return down(left - 1, x)

        return down(2, x)

    for run in (lambda log: fails(1.0, log), lambda log: ag.function(lambda x: fails(x, log))(jnp.array(1.0))):
        log = []
        with pytest.raises(KeyError):
            run(log)
        assert log == [2, 1, 0]


def test_a_list_that_is_passed_on_is_written_by_all_calls():
    def to_an_argument(n):
        def put(i, values):
            if i > 0:
                values[0] = values[0] + i
                put(i - 1, values)

        values = [0, 1]
        put(n, values)
        return values

    def to_what_an_argument_holds(n):
        values = [0, 0]

        def put(i, same):
            values[0] = values[0] + 1
            if i > 0:
                put(i - 1, same)
            return same[0]

        return put(n, values), values

    for function in (to_an_argument, to_what_an_argument_holds):
        agrees_when_compiled(function, *_N)


def test_a_list_that_the_first_call_makes_and_passes_on_is_written():
    def put(i, values=None):
        if values is None:
            values = [0]
        values[0] = values[0] + i
        if i > 0:
            put(i - 1, values)
        return values

    agrees_when_compiled(put, *_N)


def test_a_list_that_each_call_makes_and_passes_on_is_not_written():
    def put(i, values):
        values[0] = values[0] + i
        if i > 0:
            put(i - 1, [values[0]])
        return values

    with pytest.raises(ag.StagingError, match="writes to a list or dict that it is given as an argument"):
        ag.function(lambda n: put(n, [0]))(jnp.array(3))


def test_functions_that_call_each_other_and_share_variables():
    def shared(n):
        calls = 0

        def ping(i):
            nonlocal calls
            calls += 1
            return 1 if i <= 0 else pong(i - 1) * 2

        def pong(i):
            nonlocal calls
            calls += 10
            return 1 if i <= 0 else ping(i - 2) + 1

        return ping(n) + pong(n), calls

    agrees_when_compiled(shared, *_N)

    def each_has_its_own(n):
        def inner(i):
            return n if i <= 0 else each_has_its_own(i - 1) + inner(i - 2)

        return 1 if n <= 0 else n + inner(n - 1)

    with pytest.raises(ag.StagingError, match="reads variables of the second, and each call has variables of its own"):
        ag.function(each_has_its_own)(jnp.array(4))


def visited_depth_first(links):
    n = len(links)
    seen, order, count = [False] * n, [0] * n, 0

    @ag.recursion_limit(8)
    def visit(v):
        nonlocal count
        seen[v] = True
        for w in range(n):
            if links[v, w] > 0 and not seen[w]:
                visit(w)
        order[count] = v
        count += 1

    for v in range(n):
        if not seen[v]:
            visit(v)
    return order


def taken_off_by_loops_after_the_calls(links):
    n = len(links)
    found, rest, count = [-1] * n, [0] * n, 0

    @ag.recursion_limit(8)
    def visit(v):
        nonlocal count
        rest[count] = v
        count += 1
        w = 0
        while w < n:
            if links[v, w] > 0 and found[w] < 0:
                found[w] = v
                visit(w)
            w += 1
        while count > 0 and rest[count - 1] != v:
            count -= 1
            rest[count] = 0

    for v in range(n):
        if found[v] < 0:
            found[v] = v
            visit(v)
    return found, rest, count


@pytest.mark.parametrize("program, most", [(visited_depth_first, 48), (taken_off_by_loops_after_the_calls, 96)])
def test_loops_in_a_function_begin_with_what_they_wrote_in_its_last_trace(program, most, monkeypatch):
    rounds = []
    begun = Settling.begin_round
    monkeypatch.setattr(Settling, "begin_round", lambda self: [rounds.append(self), begun(self)][1])
    one, other = np.array([[0, 1, 0], [0, 0, 1], [0, 1, 0]]), np.array([[0, 0, 1], [1, 0, 1], [0, 0, 0]])
    compiled = ag.function(program)
    for links in (one, other):
        assert jax.tree.map(int, compiled(jnp.array(links))) == program(links)
    assert len(rounds) <= most
