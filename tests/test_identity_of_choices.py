"""`is`, `==`, `in`, `index` and `count` of containers and objects that traced conditions chose, as plain Python has them."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged
from tests.jaxprs import Counts


class Node:
    def __init__(self, value):
        self.value = value
        self.next = None


def of_an_expression(x):
    a, b = Node(1.0), Node(2.0)
    p = a if x > 0 else b
    return (1 if p is a else 0) + (10 if p == a else 0) + (100 if p is not a else 0) + (1000 if p != b else 0)


def of_a_statement(x):
    a, b = [1.0], [1.0]
    if x > 0:
        p = a
    else:
        p = b
    return (1 if p is a else 0) + (10 if p is b else 0) + (100 if a is b else 0) + (1000 if p == a else 0)


def of_what_may_be_none(x):
    a, p, q = Node(1.0), None, None
    if x > 0:
        p = a
    if x < 5:
        q = a
    found = 1 if p is a else 0
    if p is q:
        found += 10
    if p is not None and q is not None and p is q:
        found += 100
    return found


def the_largest_of_nodes(x):
    nodes = [Node(1.0), Node(2.0), Node(3.0)]
    best = nodes[0]
    for node in nodes[1:]:
        if node.value * x > best.value * x:
            best = node
    found = 0
    for power, node in enumerate(nodes):
        if node is best:
            found += 10**power
    return found


def in_containers(x):
    a, b, c = Node(x), Node(2.0), Node(3.0)
    p = a if x > 0 else b
    return (1 if p in [a, c] else 0) + (10 if p in (a, b) else 0) + (100 if p not in [b] else 0)


def methods_of_lists(x):
    a, b = Node(1.0), Node(2.0)
    nodes = [b, a, b]
    p = a if x > 0 else b
    return nodes.index(p) + 10 * nodes.count(p)


def a_walk_along_links(x):
    a, b = Node(1.0), Node(2.0)
    a.next, b.next = b, a
    at = a
    for _ in range(3):
        if at is a:
            at.value = at.value * 2 + x
        at = at.next
    return a.value, b.value


def after_a_loop(x):
    a, b = Node(1.0), Node(2.0)
    p = a if x > 0 else b
    while p.value < 5:
        p.value += 1
    return 1 if p is a else 2


def a_write_if_it_is_the_same(x):
    a = {"v": 1.0}
    b = a
    if x > 0:
        b = dict(a)
    if a is b:
        b["v"] += 5
    return a["v"], b["v"]


def bound_in_iterations(x):
    first, other, count, last = Node(x), Node(x), 0, None
    for k in ag.range(4):
        count += (first is other) + 10 * (last is first) + 100 * (last is not None and last is not other)
        last = first if k == x else other
        if k > x:
            other = first
    return count


PROGRAMS = [
    *(of_an_expression, of_a_statement, of_what_may_be_none, the_largest_of_nodes, in_containers, methods_of_lists),
    *(a_walk_along_links, after_a_loop, a_write_if_it_is_the_same, bound_in_iterations),
]
VALUES = (1.0, -1.0, 7.0)


def numbers(found):
    return [float(each) for each in jax.tree.leaves(found)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_as_in_python(program):
    compiled, jitted = ag.function(program), jax.jit(ag.convert(program))
    for x in VALUES:
        assert numbers(compiled(jnp.float32(x))) == numbers(jitted(jnp.float32(x))) == numbers(program(x))
    mapped = jax.tree.leaves(jax.vmap(ag.convert(program))(jnp.array(VALUES)))
    assert [list(map(float, each)) for each in zip(*mapped)] == [numbers(program(x)) for x in VALUES]


def test_the_derivative_follows_the_object():
    def squared_if_first(x):
        a, b = Node(x), Node(2 * x)
        p = a if x > 1 else b
        return p.value**2 if p is a else p.value

    derivative = jax.grad(ag.convert(squared_if_first))
    assert [float(derivative(x)) for x in (3.0, 0.5)] == [6.0, 2.0]


def test_objects_exchanged_by_iterations_that_write_them():
    def turns(x):
        first, second = Node(0.0), Node(0.0)
        at = first
        for _ in range(3):
            at.value += x
            if x > 0:
                at = second if at is first else first
        return first.value, second.value

    for x in (1.0, -1.0):
        assert tuple(map(float, staged.function(turns)(jnp.float32(x)))) == turns(x)


@dataclasses.dataclass(frozen=True)
class Point:
    at: float
    name: str = "point"


def of_frozen_objects(x):
    a, b = Point(x), Point(x)
    p = a if x > 0 else b
    return (1 if p is a else 0) + (10 if p is b else 0)


def of_the_best_frozen_object(x):
    points = [Point(1.0), Point(2.0), Point(3.0)]
    best = points[0]
    for point in points[1:]:
        if point.at * x > best.at * x:
            best = point
    return sum(10**k for k, point in enumerate(points) if point is best)


def opened():
    return "open"


def of_strings_that_a_call_gives(x):
    state = "open" if x > 0 else "closed"
    return (1 if state is opened() else 0) + (10 if opened() is state else 0)


def chained(x):
    p = q = None
    if x > 0:
        p = x
    return 1 if p is q is None else 0


def none_on_the_left(x):
    p = None
    if x > 0:
        p = x
    return 1 if None is p else 0


def of_truths(x):
    wanted = True
    found = bool(x > 0)
    return (1 if found is wanted else 0) + (10 if (x > 5) is (x > -5) else 0)


@pytest.mark.parametrize(
    "program",
    [
        *(of_frozen_objects, of_the_best_frozen_object, of_strings_that_a_call_gives),
        *(chained, none_on_the_left, of_truths),
    ],
)
def test_identities_as_in_python(program):
    test_as_in_python(program)


def bound_in_each_iteration(x):
    first, other, count = [x], [x], 0
    for _ in ag.range(4):
        count += first is other
        other = first
    return count


def bound_around_an_inner_loop(x):
    first, other, count = {}, {}, 0
    for k in ag.range(4):
        for _ in ag.range(2):
            count += first is other
        if k > x:
            other = first
    return count


def one_list_at_first(x):
    first = other = [x]
    count = 0
    for _ in ag.range(4):
        count += first is other
        other = [x]
    return count


def of_tuples(x):
    a, b = (x, 1.0), (x, 1.0)
    p = a if x > 0 else b
    return 1 if p is a else 0


def of_tuples_of_constants(x):
    a, b = (1, 2), (3, 4)
    p = a if x > 0 else b
    return 1 if p is a else 0


def of_arrays(x):
    a, b = x * 1, x * 2
    p = a if x > 0 else b
    return 1 if p is a else 0


def of_a_number_and_a_constant(x):
    first = 2.0
    p = first if x > 0 else 3.0
    return 1 if p is first else 0


def after_a_loop_of_numbers(x):
    best = x
    for k in range(3):
        if x < k:
            best = best + 1
    return 1 if best is x else 0


def of_one_list_of_traced_length(x):
    n, items = 0, []
    while n < x:
        items.append(Point(n * 1.0))
        n += 1
    return 1 if items[0] is items[n - 2] else 0


@pytest.mark.parametrize(
    "program",
    [
        *(of_tuples, of_tuples_of_constants, of_arrays, of_a_number_and_a_constant, after_a_loop_of_numbers),
        *(of_one_list_of_traced_length, bound_in_each_iteration, bound_around_an_inner_loop, one_list_at_first),
    ],
)
def test_identities_that_nothing_tells(program):
    with pytest.raises(ag.StagingError, match=r"test_identity_of_choices\.py:\d+.*\n.*This tests whether two"):
        ag.function(program)(jnp.float32(2.0))


def of_ids(x):
    a, b = Node(x), Node(2 * x)
    chosen = a if x > 0 else b
    best = a
    for node in (a, b):
        if node.value > best.value:
            best = node
    nothing = None
    if x > 1:
        nothing = a
    apart = id(chosen) != id(b), id(a) == id(b), id(best) == id(a)
    return id(chosen) == id(a), apart, id(nothing) == id(None), len({id(a), id(b), id(a)}) if x > 0 else 0


def test_equal_ids_are_those_of_one_object():
    for x in (-1.0, 0.5, 2.0):
        for run in (staged.function(of_ids), staged.jitted(of_ids)):
            assert jax.tree.map(int, run(jnp.float32(x))) == jax.tree.map(int, of_ids(x))


def test_the_id_of_what_is_chosen_as_a_key():
    def seen(x):
        a, b = Node(x), Node(2 * x)
        chosen = a if x > 0 else b
        return id(chosen) in {id(a): 1.0}

    def of_a_number(x):
        return {id(x): 1.0}[id(x)]

    for x in (1.0, -1.0):
        assert bool(staged.function(seen)(jnp.float32(x))) is seen(x)
    with pytest.raises(ag.StagingError, match="test_identity_of_choices.py(.|\n)*the `id` of a traced value"):
        ag.function(of_a_number)(jnp.float32(1.0))


def exchanged_by_conditions(xs):
    now, then = [1.0, 2.0], [3.0, 4.0]
    first = now
    for x in xs:
        if x > 0:
            now, then = then, now
        now[0] += x
    return now, then, first


def test_a_write_after_many_choices_takes_few_operations():
    def size(n):
        return Counts(ag.convert(exchanged_by_conditions), [1.0] * n).total

    assert size(8) < 6 * size(4)
    xs = [1.0, -1.0, 2.0, -3.0, 1.0, -1.0]
    found = ag.function(exchanged_by_conditions)(list(map(jnp.float32, xs)))
    assert jax.tree.map(float, found) == exchanged_by_conditions(xs)


def test_an_object_that_an_earlier_iteration_chose_is_that_object():
    class Node:
        def __init__(self, value, following):
            self.value = value
            self.following = following

    def program(n):
        first = Node(n, Node(n + 1, Node(2, None)))
        last, count = first.following.following, 0
        for k in ag.range(4):
            if k == n:
                last = first.following
            if last is first.following:
                count += 1
        return count, last.value

    def written(n):
        first = Node(n, Node(n + 1, Node(2, None)))
        last, count = first.following.following, 0
        for k in ag.range(4):
            if k == n:
                last = first.following
            if last is first.following:
                count += 1
            first.following.value += 1
        return count, last.value

    for each in (program, written):
        for n in (0, 2, 3, 7):
            wanted = each(n)
            assert tuple(map(int, staged.function(each)(jnp.asarray(n)))) == wanted
            assert tuple(map(int, staged.jitted(each)(n))) == wanted


def test_a_list_that_an_earlier_iteration_left_is_not_taken_for_the_chosen_one():
    def left_always(x):
        a, b = [0.0], [0.0]
        c = a if x > 0 else b
        d, count = c, 0
        for _ in ag.range(4):
            if d is c:
                count += 1
            d = a
        return count

    def left_by_some(x):
        a, b = [0.0], [0.0]
        c = a if x > 0 else b
        d, count = c, 0
        for i in ag.range(4):
            if d is c:
                count += 1
            d = b if i == 1 else a
        return count

    for program in (left_always, left_by_some):
        with pytest.raises(ag.StagingError, match=r"(?s)if d is c.*which one is known only at run time"):
            ag.function(program)(jnp.float32(-1.0))


def test_a_list_that_no_iteration_replaces_is_the_chosen_one():
    def program(x):
        a, b = [0.0], [0.0]
        c = a if x > 0 else b
        d, count = c, 0
        for i in ag.range(4):
            if d is c:
                count += 1
            d = d
            a[0] += i
        return count, d[0]

    for x in (1.0, -1.0):
        assert tuple(map(float, staged.function(program)(jnp.float32(x)))) == program(x)


def test_a_dict_that_iterations_choose_of_itself_and_another_name_is_not_taken_for_a_third():
    def f(n, m):
        b = {"p": n - 1, "q": m + 7}
        c = b
        e = c
        for i in ag.range(4):
            c = b if n < i else c
            if e is c:
                e["q"] -= i
        return c["q"], e["q"], b["q"]

    with pytest.raises(ag.StagingError, match=r"identical(.|\n)*which one is known only at run time"):
        ag.function(f)(jnp.int32(0), jnp.int32(5))


class Leaf:
    def __init__(self, value):
        self.value = value


def test_one_of_several_classes_that_a_loop_hands_on_is_not_taken_for_another():
    def program(n):
        first, last = Node(1.0), Leaf(2.0)
        p, i = first, 0
        while i < n:
            p = last
            i += 1
        return p is last

    assert [bool(ag.function(program)(jnp.int32(n))) for n in (0, 3)] == [False, True]


class Cell:
    def __init__(self, value):
        self.value = value
        self.items = [value]


def cells_of_nested_loops(n, y):
    a, b = Cell(3), Cell(n)
    c = e = a
    for _ in ag.range(4):
        for k in ag.range(1, 4):
            if c.value > a.items[0]:
                a.value += 1
                c.items[0] -= 1
            c.value += k
            if e is c:
                e.items[0] -= k
            if y >= -0.25:
                c = b
    return a.value, a.items, b.value, b.items, e.items[0], c is b


@pytest.mark.parametrize("n, y", [(1, 1.0), (5, -1.0), (2, 0.0)])
def test_loops_around_one_that_chooses_objects_choose_by_which_they_are(n, y):
    found = ag.function(cells_of_nested_loops)(jnp.int32(n), jnp.float32(y))
    assert jax.tree.map(int, found) == jax.tree.map(int, cells_of_nested_loops(n, y))
