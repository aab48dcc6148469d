"""Writes to containers that live outside the function, with `Feature.LISTS`: when the program runs, each time."""

from __future__ import annotations

import copy
import unittest.mock
import warnings

import jax
import jax.numpy as jnp
import pytest

import autograph as ag

LISTS = ag.Feature.LISTS


def plain(values):
    return jax.tree.map(float, values)


def test_appends_of_a_loop_happen_on_each_call():
    found = []

    @ag.function(experimental_autograph_options=LISTS)
    def f(x):
        for i in x:
            found.append(i + 1)
        return x.sum()

    f(jnp.array([1, 2, 3]))
    assert plain(found) == [2, 3, 4] and not any(isinstance(v, jax.core.Tracer) for v in found)
    assert f(jnp.array([4, 5, 6])) == 15 and f.experimental_get_tracing_count() == 1
    assert plain(found) == [2, 3, 4, 5, 6, 7]


def test_the_order_and_the_branches_are_the_programs():
    def program(found, table, names):
        def f(x):
            found.append("start")
            while x < 10:
                if x > 4:
                    found.append((x, 1))
                else:
                    names.add("small")
                x = x * 2
            found.extend([x, 7])
            table.update(last=x)
            return x

        return f

    wanted, seen = ([], {}, set()), ([], {}, set())
    program(*wanted)(1.0)
    ag.function(program(*seen), experimental_autograph_options=[LISTS])(jnp.float32(1.0))
    assert [v if isinstance(v, str) else plain(v) for v in seen[0]] == wanted[0]
    assert plain(seen[1]) == wanted[1] and seen[2] == wanted[2]


def test_a_long_range_is_one_loop(recwarn):
    found = []

    @ag.function(experimental_autograph_options=ag.Feature.ALL)
    def f(x):
        for i in range(100):
            found.append(x + i)
        return x

    f(jnp.float32(1.0))
    assert plain(found) == [1.0 + k for k in range(100)] and not recwarn.list


def test_under_jit_and_outside_of_traces():
    found = []

    def f(x):
        found.append(x * 2)
        return x

    converted = ag.convert(f, optional_features=LISTS)
    jitted = jax.jit(converted)
    jitted(1.0), jitted(2.0)
    jax.effects_barrier()
    converted(5.0)
    assert plain(found) == [2.0, 4.0, 10.0] and type(found[-1]) is float
    for transform in (jax.grad(converted), jax.vmap(converted)):
        with pytest.raises(ag.StagingError, match="Run it in an autograph.function"):
            transform(jnp.ones(()) if transform is not None and "grad" in str(transform) else jnp.ones(2))
    assert len(found) == 3


@pytest.mark.parametrize(
    "read",
    [
        lambda found: len(found),
        lambda found: sum(found),
        lambda found: max(found),
        lambda found: 1.0 in found,
        lambda found: jnp.stack(found),
        lambda found: sorted(found),
        lambda found: 1 if found else 0,
        lambda found: not found,
        lambda found: found and 1,
        lambda found: found == [1.0],
        lambda found: [*found],
        lambda found: max(*found, 0.0),
        lambda found: found.copy(),
        lambda found: found.count(2.0),
        lambda found: found + [1.0],
        lambda found: [1.0] + found,
        lambda found: str(found),
        lambda found: [v for v in found],
        lambda found: list(map(float, found)),
        lambda found: copy.deepcopy(found),
        lambda found: found,
        lambda found: found < [2.0],
    ],
)
def test_a_read_while_tracing_is_refused(read):
    found = [1.0]

    def f(x):
        found.append(x)
        return read(found)

    with pytest.raises(ag.StagingError, match="Read it after the call") as caught:
        ag.function(f, experimental_autograph_options=LISTS)(jnp.float32(1.0))
    assert __file__ in str(caught.value)
    assert read(found) is not None  # after the call it may be read


@pytest.mark.parametrize("kind", ["if", "while", "unpacked", "sliced", "in a branch"])
def test_statements_that_read_it_while_tracing_are_refused(kind):
    found = [1.0]

    def tests(x):
        found.append(x)
        n = 0
        if found:
            n = 1
        return n

    def loops(x):
        found.append(x)
        while found and x < 3:
            x += 1
        return x

    def unpacks(x):
        found.append(x)
        (only,) = found
        return only

    def slices(x):
        found.append(x)
        items = [0.0]
        items[:] = found
        return len(items)

    def branches(x):
        if x > 0:
            found.append(x)
        return 1 if not found else 2

    f = {"if": tests, "while": loops, "unpacked": unpacks, "sliced": slices, "in a branch": branches}[kind]
    with pytest.raises(ag.StagingError, match="Read it after the call"):
        ag.function(f, experimental_autograph_options=LISTS)(jnp.float32(1.0))


def test_items_of_it_and_a_loop_over_it_while_tracing_are_refused():
    found = [1.0]

    def loops(x):
        found.append(x)
        for v in found:
            x += v
        return x

    def first(x):
        found.append(x)
        return found[0]

    for f in (loops, first):
        with pytest.raises(ag.StagingError, match="Read it after the call"):
            ag.function(f, experimental_autograph_options=LISTS)(jnp.float32(1.0))


def test_a_list_of_python_values_makes_no_new_traces():
    found, others = [], [1.0]

    @ag.function(experimental_autograph_options=LISTS)
    def f(x):
        found.append("call")
        return x + others[0]

    for _ in range(4):
        assert f(jnp.float32(1.0)) == 2.0
    assert found == ["call"] * 4 and f.experimental_get_tracing_count() == 1
    others[0] = 2.0
    assert f(jnp.float32(1.0)) == 3.0 and f.experimental_get_tracing_count() == 2


def test_what_takes_something_out_is_refused():
    found = [1.0, 2.0]

    def f(x):
        return x + found.pop()

    with pytest.raises(ag.StagingError, match="pass it as an argument"):
        ag.function(f, experimental_autograph_options=LISTS)(jnp.float32(1.0))
    assert found == [1.0, 2.0] and ag.convert(f, optional_features=LISTS)(1.0) == 3.0


def test_without_the_feature_it_happens_while_tracing():
    found = []

    def f(x):
        for v in x:
            found.append(v)
        return x

    with pytest.warns(UserWarning, match="Feature.LISTS"):
        ag.function(f)(jnp.ones(3))
    assert len(found) == 1


def test_a_staged_loop_takes_nothing_out_of_it_under_a_transform():
    """The loop took one item while tracing, and all its iterations added that one: the second of these loops did not end."""
    found, others = [3, 1, 2, 5], {"a": 1}

    def pops(x):
        total = 0
        for _ in ag.range(x):
            total += found.pop()
        return total

    def drains(x):
        total = 0
        while found and found[-1] > x:
            total += found.pop()
        return total

    def sets(x):
        total = 0
        for _ in ag.range(x):
            total += others.setdefault("b", 2)
        return total

    for f, name in ((pops, "pop"), (drains, "pop"), (sets, "setdefault")):
        with pytest.raises(ag.StagingError, match=f"`{name}` takes something out of a .* in a staged loop"):
            jax.jit(ag.convert(f))(jnp.int32(3))
    assert found == [3, 1, 2, 5] and others == {"a": 1}
    assert int(ag.function(pops)(jnp.int32(3))) == 8 and found == [3]
    assert int(ag.function(drains)(jnp.int32(2))) == 3 and found == []


def test_what_a_staged_loop_writes_and_reads_is_what_python_leaves():
    found = [1, 2]

    def after(x):
        for k in ag.range(x):
            found.append(k)
        return len(found)

    def before(x):
        total = 0
        for _ in ag.range(x):
            total += len(found)
            found.append(7)
        return total

    def until(x):
        while len(found) < x:
            found.append(7)
        return x

    def around(x):
        total = 0
        for _ in ag.range(x):
            total += found[-1]
            for k in ag.range(x):
                found.append(1)
        return total

    def nowhere(x):
        n = len(found)
        for _ in ag.range(x):
            found.append(7)
        return n

    for f in (after, before, until, around):
        del found[2:]
        with (
            warnings.catch_warnings(action="ignore"),
            pytest.raises(ag.StagingError, match="A staged loop writes to a list that lives outside the function"),
        ):
            jax.jit(ag.convert(f))(jnp.int32(3))
        del found[2:]
        with warnings.catch_warnings(action="error"):  # it is no write that happens once
            made = int(ag.function(f)(jnp.int32(4)))
            mine = list(map(int, found))
        del found[2:]
        with unittest.mock.patch.object(ag, "range", range):
            assert (made, mine) == (f(4), found)
    del found[2:]
    with pytest.warns(UserWarning, match="happens once"):
        assert ag.function(nowhere)(jnp.int32(3)) == 2
    assert found == [1, 2, 7]


def test_a_write_under_a_traced_condition_is_the_programs_without_the_feature():
    found, table = [], {}

    @ag.function
    def f(x):
        if x > 0:
            found.append(1)
            table.update(last=x)
        else:
            found.append(x)
        for v in jnp.array([1.0, 2.0]):
            if v > x:
                found.append(v)
        return x

    for value in (1.5, -2.0, 3.0):
        f(jnp.float32(value))
    jax.effects_barrier()
    assert plain(found) == [1, 2.0, -2.0, 1.0, 2.0, 1] and plain(table) == {"last": 3.0}
    assert f.experimental_get_tracing_count() == 1


def test_a_bare_jit_refuses_a_write_under_a_traced_condition():
    found = []

    @ag.convert
    def f(x):
        if x > 0:
            found.append(x)
        return x

    with pytest.raises(ag.StagingError, match="lives outside the function, under a traced condition") as caught:
        jax.jit(f)(1.0)
    assert "autograph.function" in str(caught.value) and found == []


class Bank:
    def __init__(self):
        self.items, self.book, self.rows = [1.0, 2.0, 3.0], {}, [[1.0], [2.0]]

    @ag.function(experimental_autograph_options=LISTS)
    def record(self, x):
        self.items.append(7)
        if x > 2:
            self.items.append(x * 10)
        for k in ag.range(3):
            self.items.append(x + k)
        self.items += [x, 1]
        self.book["last"] = x
        self.book.update(first=2 * x)
        self.rows[1][0] = x
        return x

    @ag.function(experimental_autograph_options=LISTS)
    def arrange(self, x):
        self.items[x] = x
        del self.items[0]
        self.items.insert(0, x)
        self.items.sort()
        return x

    @ag.function(experimental_autograph_options=LISTS)
    def of_the_trace(self, x):
        bank = Bank()
        bank.items.append(x)
        bank.items[0] += 1
        bank.book["a"] = x
        return bank.items[0] + bank.items[-1] + bank.book["a"] + len(bank.items)

    def held(self):
        return plain([self.items, self.book, self.rows])


def test_lists_and_dicts_that_attributes_lead_to_are_written_at_run_time():
    expected, found = Bank(), Bank()
    for name, x in (("record", 1), ("record", 4), ("arrange", 2), ("arrange", 1), ("of_the_trace", 3), ("record", 3)):
        wanted = getattr(Bank, name).python_function(expected, x)
        assert getattr(found, name)(jnp.int32(x)) == wanted
        jax.effects_barrier()
        assert found.held() == expected.held(), (name, x)
    assert found.record.experimental_get_tracing_count() == 1


def test_a_list_of_an_attribute_is_not_read_after_such_a_write():
    bank = Bank()

    @ag.function(experimental_autograph_options=LISTS)
    def f(x):
        bank.items[0] = x
        return bank.items[1]

    with pytest.raises(ag.StagingError, match="Read it after the call"):
        f(jnp.float32(5.0))
    assert bank.items == [1.0, 2.0, 3.0]


class History:
    def __init__(self):
        self.seen, self.steps, self.stack, self.parts = [], [], [1], {"low": []}

    def record(self, x):
        if x > 2:
            self.seen.append(x)
        elif x > 1:
            self.parts["low"].extend([x, 1])
        return x * 2

    def trace(self, n):
        for k in ag.range(n):
            self.steps.append(k * n)
            if k > 1:
                self.seen.append((k, "late"))
        return n

    def balanced(self, x):
        self.stack.append(x)
        total = self.stack.pop() + len(self.stack)
        if x > 2:
            self.stack.append(x)
            total += self.stack.pop()
        return total

    def held(self):
        held = self.seen, self.steps, self.stack, self.parts
        return jax.tree.map(lambda v: v if isinstance(v, str) else float(v), held)


@pytest.mark.parametrize("method", ["record", "trace", "balanced"])
def test_lists_of_attributes_that_paths_lengthen_are_written_at_run_time(method):
    expected, found = History(), History()
    compiled = ag.function(getattr(found, method))
    for x in (3, 1, 2, 4, 3):
        assert compiled(jnp.int32(x)) == getattr(expected, method)(x)
        jax.effects_barrier()
        assert found.held() == expected.held()
    assert compiled.experimental_get_tracing_count() == 1


def test_a_bare_jit_lengthens_no_list_of_an_attribute_by_path():
    history = History()
    for method in (history.record, history.trace):
        with pytest.raises(ag.StagingError, match="different types|was not made in converted code"):
            jax.jit(ag.convert(method))(jnp.int32(3))
    assert history.held() == History().held()


@pytest.mark.parametrize("features", [LISTS, ()])
@pytest.mark.filterwarnings("ignore:(?s).*was traced 6 times")
def test_what_is_read_before_a_write_at_run_time_is_what_the_call_finds(features):
    """Each of these reads what the calls before have written."""

    def length(found, x, again):
        before = len(found)
        if x > 0:
            found.append(x)
        return before

    def last(found, x, again):
        before = found[-1] if found else 0
        if x > 2:
            found.append(x)
        return before

    def by_argument(found, x, again):
        if again:
            return len(found)
        if x > 2:
            found.append(x)
        return x

    for f in (length, last, by_argument):
        expected, found = [1.0], [1.0]
        compiled = ag.function(lambda x, again: f(found, x, again), experimental_autograph_options=features)  # noqa: B023
        for k, x in enumerate((3, 1, 4, 2, 5)):
            assert compiled(jnp.float32(x), k % 2 == 1) == f(expected, x, k % 2 == 1), f
            jax.effects_barrier()
            assert plain(found) == expected


def test_a_staged_loop_does_not_read_what_it_writes_at_run_time():
    found = [1.0]

    def f(xs):
        total = 0
        for x in xs:
            total += len(found)
            found.append(x)
        return total

    with pytest.raises(ag.StagingError, match="collect the values in a list made in the function"):
        ag.function(f, experimental_autograph_options=LISTS)(jnp.ones(3))
    assert found == [1.0]
