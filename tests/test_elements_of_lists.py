"""Lists of traced length whose elements are lists, dicts and objects: what is read, written and returned is Python's, or refused."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import row_programs
from tests.element_programs import (
    OF_N,
    OF_XS,
    XS,
    Fixed,
    Item,
    N,
    Particle,
    dataclasses_of_both_sorts,
    in_both_branches,
    objects_by_a_condition,
    of_known_length,
    particles,
    rows_of,
)

PROGRAMS = [(f, N) for f in OF_N] + [(f, XS) for f in OF_XS]
PROGRAMS += [(f, row_programs.N) for f in row_programs.OF_N] + [(f, row_programs.XS) for f in row_programs.OF_XS]


def shape_of(value):
    """A value with its objects as pairs of class and attributes, its numbers as Python's."""
    if isinstance(value, list | tuple):
        return type(value).__name__, [shape_of(part) for part in value]
    if isinstance(value, dict):
        return {key: shape_of(part) for key, part in value.items()}
    if isinstance(value, Particle | Item | Fixed):
        return type(value), shape_of(vars(value))
    if value is None or isinstance(value, str):
        return value
    return float(value) if np.ndim(value) == 0 else np.asarray(value).tolist()


def plain(value):
    array = np.array(value)
    return array if array.ndim else array.item()


@pytest.mark.parametrize(("program", "argument"), PROGRAMS, ids=lambda each: getattr(each, "__name__", ""))
def test_programs_agree_with_python(program, argument):
    assert shape_of(ag.function(program)(argument)) == shape_of(program(plain(argument)))


@pytest.mark.parametrize(
    "program", [in_both_branches, objects_by_a_condition, dataclasses_of_both_sorts, of_known_length]
)
def test_the_same_under_jit(program):
    def last(xs):
        return program(xs)[-1]

    assert shape_of(jax.jit(ag.convert(last))(XS)) == shape_of(last(plain(XS)))


def total_of_objects(xs):
    items = []
    for v in xs:
        if v > 1.0:
            items.append(Particle(v, v * 2))
    total = 0.0
    for p in items:
        p.x *= 2
        total += p.x * p.v
    return total


def test_vmap_and_grad():
    batch = jnp.stack([XS, XS + 1])
    wanted = [total_of_objects(row.tolist()) for row in batch]
    assert jax.jit(jax.vmap(ag.convert(total_of_objects)))(batch).tolist() == wanted
    assert jax.vmap(ag.function(total_of_objects))(batch).tolist() == wanted
    assert jax.grad(ag.function(total_of_objects))(XS).tolist() == [0.0, 40.0, 16.0, 56.0]
    assert jax.jit(jax.grad(ag.convert(total_of_objects)))(XS).tolist() == [0.0, 40.0, 16.0, 56.0]


def test_a_bound_under_jit():
    def f(x):
        rows = []
        k = 0
        while x + k < 5:
            ag.set_loop_options(maximum_length=10)
            rows.append({"a": x + k, "b": [x, k]})
            k += 1
        rows[1]["b"][0] = 40.0
        return rows[1]["b"][0] + rows[0]["b"][0], len(rows)

    assert shape_of(jax.jit(ag.convert(f))(jnp.float32(1.0))) == shape_of(f(1.0))
    assert jax.jit(jax.vmap(ag.convert(f)))(jnp.array([1.0, 2.0]))[1].tolist() == [4, 3]
    assert jax.jit(jax.grad(lambda x: ag.convert(f)(x)[0]))(1.0) == 1.0


def table_with_a_bound(n):
    table = []
    for i in range(n):
        ag.set_loop_options(maximum_length=8)
        row = []
        for j in range(i):
            ag.set_loop_options(maximum_length=8)
            row.append(i * j)
        table.append(row)
    return table, table[-1][-1], len(table[1])


def weighted_groups(xs):
    groups, buffer = [], []
    for x in xs:
        buffer.append(x * x)
        if x > 2:
            groups.append(buffer)
            buffer = []
    total, weight = 0.0, 1.0
    for group in groups:
        for v in group:
            total += weight * v
        weight += 1
    return total


def test_rows_under_jit_and_vmap():
    table, *rest = jax.jit(ag.convert(table_with_a_bound))(N)
    assert [[int(v) for v in row] for row in table] == table_with_a_bound(4)[0]
    assert shape_of(rest) == shape_of(list(table_with_a_bound(4)[1:]))
    last, lengths = jax.jit(jax.vmap(ag.convert(table_with_a_bound)))(jnp.array([3, 5]))[1:]
    assert (last.tolist(), lengths.tolist()) == ([2, 12], [1, 1])


def sizes_of_runs(xs):
    runs = []
    for v in xs:
        if runs and runs[-1][-1] <= v:
            runs[-1].append(v)
        else:
            runs.append([v])
    return [len(run) for run in runs]


def sizes_of_chunks(xs):
    chunks = []
    for v in xs:
        if len(chunks) == 0 or len(chunks[-1]) == 2:
            chunks.append([])
        chunks[-1].append(v)
    return [len(chunk) for chunk in chunks]


@pytest.mark.parametrize("program", [sizes_of_runs, sizes_of_chunks])
def test_rows_of_a_list_that_begins_empty_are_as_long_as_the_loop_at_most(program):
    def total(xs):
        return sum(size * size for size in program(xs))

    batch = jnp.stack([XS, XS[::-1]])
    assert jax.jit(jax.vmap(ag.convert(total)))(batch).tolist() == [total(plain(row)) for row in batch]


@pytest.mark.parametrize("convert", [ag.convert, ag.function])
def test_rows_have_derivatives(convert):
    xs = jnp.array([1.0, 3.0, 2.0, 5.0])
    assert jax.jit(jax.grad(convert(weighted_groups)))(xs).tolist() == [2.0, 6.0, 8.0, 20.0]
    found = jax.jit(jax.vmap(jax.grad(convert(weighted_groups))))(jnp.stack([xs, xs[::-1]]))
    assert found.tolist() == [[2.0, 6.0, 8.0, 20.0], [10.0, 8.0, 12.0, 0.0]]


def test_rows_get_more_room():
    def f(n):
        table = [[], []]
        for i in range(n):
            if i % 2 == 0:
                table.append([])
            table[0].append(i)
        return table[0], len(table)

    run = ag.function(f)
    for n in (5, 300):
        assert shape_of(run(jnp.int32(n))) == shape_of(f(n))


def test_rows_without_a_bound_and_beyond_it():
    def unbounded(n):
        table = [[]]
        for i in range(n):
            table[-1].append(i)
            if i % 2 == 0:
                table.append([])
        return table

    with pytest.raises(ag.StagingError, match="maximum_length"):
        jax.jit(ag.convert(unbounded))(N)

    def bounded(n):
        table = [[]]
        for i in range(n):
            ag.set_loop_options(maximum_length=3)
            table[0].append(i)
            if i > 8:
                table.append([i])
        return table

    assert shape_of(ag.function(bounded)(jnp.int32(3))) == shape_of(bounded(3))
    with pytest.raises(IndexError, match="exceeds its maximum_length of 3 elements"):
        ag.function(bounded)(N)


def test_rows_are_saved(tmp_path):
    def f(n):
        out = []
        for i in range(n):
            row = [k for k in range(i)]
            out.append((row, "even" if i % 2 == 0 else "odd", {"n": None if i < 2 else i}))
        return out

    run = ag.function(f)
    run(N)
    assert (
        "([array, …], 'even' or 'odd', {'n': array or None})" in run.get_concrete_function(N).pretty_printed_signature()
    )
    ag.save(run, tmp_path / "rows")
    assert shape_of(ag.load(tmp_path / "rows")(N)) == shape_of(f(4))


# What only the run would know.


def appended_twice(n):
    items = particles(n)
    items.append(items[0])
    items[0].x = 9.0
    return items[-1].x


def written_and_then_appended_again_in_a_loop(n):
    items = particles(n)
    for i in range(n):
        items[0].x = i * 1.0
        items.append(items[0])
    return items


def one_object_in_each_iteration(n):
    p = Particle(1.0, 2.0)
    items = []
    for _ in range(n):
        p.x += 1
        items.append(p)
    return items


def test_one_object_in_each_iteration():
    assert shape_of(ag.function(one_object_in_each_iteration)(N)) == shape_of(one_object_in_each_iteration(plain(N)))


def one_list_in_each_iteration(n):
    rows = []
    row = [0, 0]
    for _ in range(n):
        rows.append(row)
    row[0] = 5
    return rows


def one_list_in_iterations_of_known_number(n):
    rows = []
    row = [0, 0]
    for _ in ag.range(3):
        rows.append(row)
    row[0] = n
    return rows


def element_from_before_the_loop(n):
    p = Particle(1.0, 2.0)
    items = [p]
    for i in range(n):
        items.append(Particle(i, 0.0))
    p.x = 50.0
    return items[0].x


def element_from_before_the_loop_read(n):
    p = Particle(1.0, 2.0)
    items = [p]
    for i in range(n):
        items.append(Particle(i * 1.0, 0.0))
    items[0].x = 50.0
    return p.x


def popped_with_another_name(n):
    items = particles(n)
    a = items[-1]
    p = items.pop()
    p.x = 8.0
    return a.x


def read_where_iterations_write(n):
    items = particles(n)
    a = items[0]
    total = 0.0
    for _ in range(n):
        total += a.x
        items[0].x += 1
    return total


def carried_where_iterations_write(n):
    items = particles(n)
    current = items[0]
    total = 0.0
    for i in range(n):
        total += current.x
        items[i].x += 10
        current = items[i]
    return total


def carried_and_written(n):
    items = particles(n)
    current = items[0]
    for i in range(n):
        current.x += 10
        current = items[i]
    return items


def chosen_and_written(n):
    items = particles(n)
    if n > 2:
        p = items[0]
    else:
        p = items[1]
    p.x = 44.0
    return items


def chosen_and_written_by_index(n):
    items = particles(n)
    if n > 2:
        p = items[0]
    else:
        p = items[1]
    items[0].x = 44.0
    return p.x


def written_in_a_slice(n):
    items = particles(n)
    tail = items[-2:]
    tail[0].x = 77.0
    return items


def written_and_read_in_a_copy(n):
    items = particles(n)
    tail = list(items)
    items[0].x = 77.0
    return tail[0].x


def written_after_reversal(n):
    rows = rows_of(n)
    row = rows[0]
    rows.reverse()
    row[0] = 99
    return rows


def written_after_replacement(n):
    rows = rows_of(n)
    row = rows[0]
    rows[0] = [5, 5]
    row[1] = 99
    return rows


def written_after_exchange(n):
    rows = rows_of(n)
    t = rows[0]
    rows[0] = rows[1]
    rows[1] = t
    t[0] = 50
    return rows


def parts_exchanged_between_elements(n):
    out = []
    for i in range(n):
        out.append({"p": [i, i]})
    out[0]["p"] = out[1]["p"]
    out[0]["p"][0] = 9
    return out


def rebound_on_one_path(n):
    p = Particle(1.0, 2.0)
    items = []
    for i in range(n):
        items.append(p)
        if i > 1:
            p = Particle(i * 1.0, 1.0)
    p.x = 100.0
    return items


def appended_in_a_branch_and_written(n):
    items = []
    for i in range(n):
        p = Particle(i * 1.0, 1.0)
        if i % 2 == 0:
            items.append(p)
        p.x += 100.0
    return items


def asked_whether_they_are_one(n):
    items = particles(n)
    p = items[n - 4]
    return p is items[0]


def name_from_before_the_loop_written(n):
    p = Particle(1.0, 0.0)
    q = p
    items = []
    for i in range(n):
        items.append(p)
        p = Particle(i * 1.0, 0.0)
    q.x = 50.0
    return items[0].x


def name_from_before_the_loop_read(n):
    p = Particle(1.0, 0.0)
    q = p
    items = []
    for i in range(n):
        items.append(p)
        p = Particle(i * 1.0, 0.0)
    items[0].x = 50.0
    return q.x


REFUSED = [
    name_from_before_the_loop_written,
    name_from_before_the_loop_read,
    appended_twice,
    written_and_then_appended_again_in_a_loop,
    one_list_in_each_iteration,
    one_list_in_iterations_of_known_number,
    element_from_before_the_loop,
    element_from_before_the_loop_read,
    popped_with_another_name,
    read_where_iterations_write,
    carried_where_iterations_write,
    carried_and_written,
    chosen_and_written,
    chosen_and_written_by_index,
    written_in_a_slice,
    written_and_read_in_a_copy,
    written_after_reversal,
    written_after_replacement,
    written_after_exchange,
    parts_exchanged_between_elements,
    rebound_on_one_path,
    appended_in_a_branch_and_written,
    asked_whether_they_are_one,
]


@pytest.mark.parametrize("program", row_programs.REFUSED, ids=lambda each: each.__name__)
def test_writes_to_rows_that_only_the_run_would_know_are_refused(program):
    with pytest.raises(ag.StagingError) as caught:
        ag.function(program)(row_programs.N)
    text = " ".join(str(caught.value).split())
    assert "may be an element of a list whose length is traced" in text or "is known only at run time" in text
    assert "row_programs.py" in text


@pytest.mark.parametrize("program", REFUSED, ids=lambda each: each.__name__)
def test_what_only_the_run_would_know_is_refused(program):
    with pytest.raises(ag.StagingError) as caught:
        ag.function(program)(N)
    text = str(caught.value)
    assert "may be an element of a list whose length is traced" in " ".join(text.split())
    assert "test_elements_of_lists.py" in text
