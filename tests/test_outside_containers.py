"""Lists, dicts, sets and deques from outside that an `ag.function` changes as traced values decide, and reads, are what Python leaves."""

from __future__ import annotations

import collections

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.held_programs import ARGUMENTS, CLASSES, Cache, Rebound, Registry, Stack, Window
from tests.stateful_programs import XS, plain

# Each length of a short list is a program of its own.
pytestmark = pytest.mark.filterwarnings("ignore::autograph.StagingWarning")


def held(value):
    """`plain`, of sets too."""
    if isinstance(value, set | frozenset):
        return sorted(map(plain, value))
    if isinstance(value, dict):
        return [(plain(key), held(part)) for key, part in value.items()]
    is_users = type(value).__module__.startswith("tests.")
    return {name: held(part) for name, part in vars(value).items()} if is_users else plain(value)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_an_object_is_what_python_leaves_it(kind):
    mine, others = kind(), kind()
    step = ag.function(mine.step)
    for x in XS:
        assert held(step(jnp.float32(x))) == held(others.step(x))
        assert held(mine) == held(others)


@pytest.mark.parametrize("function, make", ARGUMENTS)
def test_an_argument_is_what_python_leaves_it(function, make):
    mine, others = make(), make()
    compiled = ag.function(function)
    for x in XS:
        assert held(compiled(mine, jnp.float32(x))) == held(function(others, x))
        assert held(mine) == held(others)


def test_a_list_of_the_class_is_changed():
    Registry.items.clear()
    compiled = ag.function(Registry().step)
    assert [int(compiled(jnp.float32(x))) for x in XS] == [1, 1, 2, 3, 3, 4]
    assert [float(x) for x in Registry.items] == [2.0, 3.0, 0.5, 6.0]
    Registry.items.clear()


memo: dict = {}


def fib_of_default(n, known={}):  # noqa: B006
    if n in known:
        return known[n]
    if n < 2:
        return n
    known[n] = fib_of_default(n - 1, known) + fib_of_default(n - 2, known)
    return known[n]


def test_recursion_remembers_in_a_global_dict_and_in_a_default():
    @ag.function
    def fib(n):
        if n in memo:
            return memo[n]
        if n < 2:
            return n
        memo[n] = fib(n - 1) + fib(n - 2)
        return memo[n]

    def square(n, known={}):  # noqa: B006
        if n not in known:
            known[n] = n * n
        return known[n]

    def squares(n):
        return square(n) + square(n + 1)

    memo.clear()
    assert int(fib(jnp.int32(10))) == 55 and {int(k): int(v) for k, v in memo.items()}[9] == 34
    memo[12] = 7
    assert int(fib(jnp.int32(12))) == 7
    assert int(ag.function(fib_of_default)(jnp.int32(10))) == 55
    assert int(fib_of_default.__defaults__[0][10]) == 55
    (before,) = square.__defaults__
    assert int(ag.function(squares)(jnp.int32(3))) == 25
    assert square.__defaults__[0] is before and {k: int(v) for k, v in before.items()} == {3: 9, 4: 16}


def test_a_list_with_several_names_is_one():
    class Holder:
        pass

    one, other = Holder(), Holder()
    one.items = other.items = shared = []
    table = {"items": shared}

    @ag.function
    def step(x):
        if x > 0:
            one.items.append(x)
        return len(other.items) + len(table["items"])

    assert [int(step(jnp.float32(x))) for x in XS] == [2, 2, 4, 6, 6, 8]
    assert one.items is other.items is table["items"] is shared and len(shared) == 4


class Rows(list):
    pass


@pytest.mark.parametrize(
    "hold", [lambda xs: [xs, 1.0], lambda xs: Rows([xs]), lambda xs: collections.deque([xs]), lambda xs: {0: xs}]
)
def test_another_container_leads_to_it(hold):
    items = []
    outer = hold(items)

    @ag.function
    def step(x):
        if x > 0:
            outer[0].append(x)
        return len(outer[0])

    assert [int(step(jnp.float32(x))) for x in XS] == [1, 1, 2, 3, 3, 4]
    assert outer[0] is items and len(items) == 4


def test_methods_share_what_they_change():
    stack = Stack()
    push, pop = ag.function(stack.step), ag.function(stack.pop)
    for x in (2.0, 3.0, 4.0):
        push(jnp.float32(x))
    assert float(pop()) == 4.0
    stack.items.append(9.0)  # plain Python in between
    assert float(pop()) == 9.0 and [float(x) for x in stack.items] == [2.0, 3.0]
    stack.items = [5.0]
    assert float(pop()) == 5.0 and stack.items == []


def test_the_list_that_is_returned_is_that_of_the_object():
    window = Window()

    @ag.function
    def step(x):
        window.step(x)
        return window.held

    assert step(jnp.float32(1)) is window.held and step(jnp.float32(2)) is window.held


def test_one_program_serves_all_lengths_of_a_long_list():
    stack = Stack()
    step = ag.function(stack.step)
    for k in range(60):
        step(jnp.float32(2 + k))
    assert len(stack.items) == 60 and step.experimental_get_tracing_count() <= 12
    before = step.experimental_get_tracing_count()
    for _ in range(20):
        step(jnp.float32(0))
    assert len(stack.items) == 40 and step.experimental_get_tracing_count() <= before + 1
    cache = Cache()
    step = ag.function(cache.step)
    for k in range(40):
        assert int(step(jnp.float32(k % 30))) == 2 * (k % 30) ** 2
    assert list(cache.known) == list(range(30)) and step.experimental_get_tracing_count() <= 12


def test_another_list_in_its_place_needs_no_other_program():
    rebound, window = Rebound(), Window()
    step, others = ag.function(rebound.step), ag.function(window.step)
    for _ in range(6):
        for x in (1.0, 2.0, -1.0, 3.0):
            step(jnp.float32(x))
        window.held = []
        for x in (1.0, 2.0):
            assert float(others(jnp.float32(x))) == (1.0 if x == 1.0 else 3.0)
    assert step.experimental_get_tracing_count() <= 6 and others.experimental_get_tracing_count() <= 4


def test_long_lists_may_hold_what_no_array_does():
    class Mixed:
        def __init__(self):
            self.items = [jnp.arange(2.0), 1.0, (2.0, 3.0), "a", None, 4.0, 5.0]

        def step(self, x):
            if x > 0:
                self.items[1] = x
            if len(self.items) > 6:
                self.items.pop()
            return self.items[1] + len(self.items)

    class Becomes:
        def __init__(self):
            self.items = [float(k) for k in range(8)]

        def step(self, x):
            if x > 2:
                self.items.append(x)
            else:
                self.items.append(-x)
            count = len(self.items)
            self.items.append(jnp.stack([jnp.float32(x)] * 2))
            return count

    for kind in (Mixed, Becomes):
        mine, others = kind(), kind()
        step = ag.function(mine.step)
        for x in XS:
            assert held(step(jnp.float32(x))) == held(others.step(x))
            assert held(mine) == held(others)


def test_a_call_that_fails_changes_nothing():
    stack = Stack()

    @ag.function
    def step(x):
        if x > 1:
            stack.push(x)
        elif len(stack.items) == 1:
            stack.pop()
            raise ValueError("the last")
        return len(stack.items)

    step(jnp.float32(2))
    kept = stack.items
    for _ in range(2):
        with pytest.raises(ValueError, match="the last"):
            step(jnp.float32(0))
        assert stack.items is kept and [float(x) for x in kept] == [2.0]
    with pytest.raises(TypeError):
        ag.function(lambda x: (stack.step(x), x + "a"))(jnp.float32(0))
    assert stack.items is kept and [float(x) for x in kept] == [2.0]


def test_what_a_tuple_leads_to_is_refused():
    pair = ([], 1.0)

    @ag.function
    def step(x):
        if x > 0:
            pair[0].append(x)
        return len(pair[0])

    with pytest.raises(ag.StagingError, match=r"'pair\[0\]' is changed as traced values decide, and a tuple"):
        step(jnp.float32(1))
    assert pair == ([], 1.0)


def test_transforms_of_jax_refuse_it():
    for kind in (Window, Cache):
        made = kind()
        for run in (jax.jit(ag.convert(made.step)), jax.jit(ag.function(made.step)), ag.function(made.step).lower):
            with pytest.raises(ag.StagingError):
                run(jnp.float32(1))
    assert held(made) == held(Cache())

    def given(counts, x):
        counts[int(x)] = x
        return x

    with pytest.raises(ag.StagingError, match="The keys of a dict argument depend on a traced value here"):
        jax.jit(ag.convert(given))({1: 1.0}, jnp.float32(2))

    def copied(counts, elements, x):
        more, wider = dict(counts), set(elements)
        more[int(x)] = x
        wider.add(int(x))
        return sum(more.values()) + len(wider)

    assert float(jax.jit(ag.convert(lambda x: copied({1: 1.0}, {1, 2}, x)))(jnp.float32(2))) == 5.0
    assert float(jax.jit(ag.convert(copied), static_argnums=1)({1: 1.0}, frozenset([1, 2]), jnp.float32(2))) == 5.0
