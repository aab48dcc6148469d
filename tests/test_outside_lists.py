"""Writes to containers that live outside the function, with `Feature.LISTS`: when the program runs, each time."""

from __future__ import annotations

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
