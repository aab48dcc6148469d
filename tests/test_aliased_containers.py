"""One list, dict, set or object under several names: what Python gives, or a refusal that names the line."""

import inspect
import linecache
import random
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
import tests.aliasing.chosen
import tests.aliasing.held
import tests.aliasing.looked_up
import tests.aliasing.looped
import tests.aliasing.made
import tests.aliasing.rebound
import tests.aliasing.returned
import tests.aliasing.staged
import tests.aliasing.written
from tests import staged
from tests.aliasing import HAZARDS, OUTSIDE, PROGRAMS

NUMBERS = [0, 1, 2, 3]
NAMES = [program.__name__ for program, _ in HAZARDS]


def by_function(program):
    made = ag.function(program)
    return [made(jnp.asarray(n)) for n in NUMBERS]


def by_jit(program):
    made = jax.jit(ag.convert(program))
    return [made(n) for n in NUMBERS]


def by_vmap(program):
    found = jax.jit(jax.vmap(ag.convert(program)))(jnp.array(NUMBERS))
    return [jax.tree.map(lambda x, k=k: x[k], found) for k in range(len(NUMBERS))]


WAYS = [by_function, by_jit, by_vmap]


def named(programs):
    return [pytest.param(program, id=program.__name__) for program in programs]


def test_there_are_programs_of_each_kind():
    assert {program.__module__ for program, _ in HAZARDS} == {
        tests.aliasing.chosen.__name__,
        tests.aliasing.looped.__name__,
    }
    assert {program.__module__ for program in PROGRAMS} == {
        tests.aliasing.chosen.__name__,
        tests.aliasing.held.__name__,
        tests.aliasing.looked_up.__name__,
        tests.aliasing.looped.__name__,
        tests.aliasing.made.__name__,
        tests.aliasing.rebound.__name__,
        tests.aliasing.returned.__name__,
        tests.aliasing.staged.__name__,
        tests.aliasing.written.__name__,
    }
    assert len(PROGRAMS) > 100 and len(HAZARDS) > 20 and len(OUTSIDE) > 2


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", named(PROGRAMS))
def test_a_program_gives_what_python_gives(program, way):
    for n, found in zip(NUMBERS, way(program), strict=True):
        wanted, leaves = jax.tree.leaves(program(n)), jax.tree.leaves(found)
        assert len(leaves) == len(wanted)
        np.testing.assert_allclose(np.array(leaves, float), np.array(wanted, float), rtol=1e-5)


def line_with(program, word):
    """Where a comment with this word is in the program's source."""
    lines, first = inspect.getsourcelines(program)
    (found,) = [first + k for k, line in enumerate(lines) if re.search(rf"#.*\b{word}\b", line)]
    return found


def reader(program, other):
    """What must see the write, in an error's words."""
    if other != "is read":
        return other
    file, line = inspect.getsourcefile(program), line_with(program, "reads")
    return f"is read at {file}:{line}: {linecache.getline(file, line).strip()}"


@pytest.mark.parametrize("program, other", HAZARDS, ids=NAMES)
def test_a_write_that_another_name_may_have_to_see_is_refused(program, other):
    with pytest.raises(ag.StagingError) as caught:
        by_function(program)
    message = str(caught.value)
    file = inspect.getsourcefile(program)
    assert message.startswith(f"{file}:{line_with(program, 'writes')}: ")
    assert f"in the statement at {file}:{line_with(program, 'chooses')}: " in message
    assert f"may be the one that {reader(program, other)}, so" in message
    assert "Write to a copy (list(…), dict(…), copy.copy)" in message
    program(2)


@pytest.mark.parametrize("way", [by_jit, by_vmap])
@pytest.mark.parametrize("program, other", HAZARDS[::3], ids=NAMES[::3])
def test_it_is_refused_in_every_trace(program, other, way):
    with pytest.raises(ag.StagingError, match=re.escape(f"may be the one that {reader(program, other)}, so")):
        way(program)


@pytest.mark.parametrize("way", [by_jit, by_vmap])
@pytest.mark.parametrize("program", named(OUTSIDE))
def test_a_write_that_may_be_to_a_list_from_outside_is_refused(program, way):
    with pytest.raises(ag.StagingError) as caught:
        way(program)
    assert str(caught.value).startswith(f"{inspect.getsourcefile(program)}:{line_with(program, 'writes')}: ")
    assert jax.tree.leaves(program(2)) is not None  # with what the list held before


@pytest.mark.parametrize("program", named([tests.aliasing.chosen.perhaps_none, tests.aliasing.chosen.perhaps_unbound]))
def test_what_may_be_absent_sees_the_write_where_it_is_there(program):
    made = ag.function(program)
    for n in NUMBERS:
        wanted, found = program(n), made(jnp.asarray(n))
        assert jax.tree.map(int, found) == wanted


def augmented_list(n):
    a, b = [0, 1], [5, 6]
    c = a if n > 1 else b  # chooses
    c += [3]
    return len(a), len(b)


def augmented_dict(n):
    a, b = {"x": 1}, {"x": 2}
    c = a if n > 1 else b  # chooses
    c |= {"x": 5}
    return a["x"], b["x"]


@pytest.mark.parametrize("program", [augmented_list, augmented_dict])
@pytest.mark.parametrize("n", NUMBERS)
def test_an_augmented_assignment_is_a_write(program, n):
    assert tuple(map(int, staged.function(program)(jnp.asarray(n)))) == program(n)


def shuffled_list(n):
    a, b = [0, 1], [5, 6]
    c = a if n > 1 else b  # chooses
    random.Random(1).shuffle(c)
    return a[0], b[0]


def test_a_write_that_nobody_reports_is_refused_too():
    with pytest.raises(ag.StagingError, match=r"(?s)operator like \+=.*Choose a copy") as caught:
        ag.function(shuffled_list)(jnp.asarray(2))
    assert str(caught.value).startswith(f"{__file__}:{line_with(shuffled_list, 'chooses')}: ")


def chosen_sum(x):
    a, b = [x, 1.0], [2.0, x * x]
    c = list(a if x > 1 else b)
    m = v = [x, x]
    for _ in range(3):
        m, v = [m[0] * x, m[1]], [v[0] + x, v[1]]
    c[0] = m[0] + v[0]
    return c[0] * c[1] + a[0] + b[0]


@pytest.mark.parametrize("x", [0.5, 2.0])
def test_gradients_flow_through_the_names(x):
    step = 1e-3
    wanted = (chosen_sum(x + step) - chosen_sum(x - step)) / (2 * step)
    np.testing.assert_allclose(jax.grad(ag.convert(chosen_sum))(x), wanted, rtol=1e-2)


def written_through_one_name(n):
    items = [0, 5]
    other, rest = items, {"items": items}
    for _ in range(n):
        items[0] += 1
    if n > 1:
        other[1] += 1
    return items, other, rest


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_second_name_outside_the_statement_sees_the_writes(n):
    found = jax.jit(ag.convert(written_through_one_name))(jnp.array(n))
    assert jax.tree.map(int, found) == written_through_one_name(n)


def nested_in_a_branch(n):
    items, extra = [0, -3], {"k": 1}
    other = [items, 0, (extra, 2)]
    if n > 0:
        other[0][1] -= 2
        other[2][0]["k"] += n
        other[1] = 5
    return items[1], other[0][1], extra["k"], other[1]


def nested_in_a_loop(n):
    items = [0, -3]
    other = {"a": items, "b": 0}
    for _ in range(n):
        other["a"][1] -= 2
        other["b"] += 1
        if n > 2:
            other["a"][0] += 1
    items[0] += 100
    return items[0], items[1], other["a"][0], other["b"]


@pytest.mark.parametrize("program", [nested_in_a_branch, nested_in_a_loop])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_container_inside_another_stays_the_same_object(program, n):
    wanted = program(n)
    for found in (staged.function(program)(jnp.asarray(n)), staged.jitted(program)(n)):
        assert [int(part) for part in found] == list(wanted)


class Model:
    def __init__(self):
        self.held = [0, 1]

    @ag.function
    def step(self, n):
        c = self.held if n > 1 else [3, 4]
        c[0] = n
        return c[1]


def test_a_list_of_an_object_from_outside_is_held():
    model = Model()
    for n, wanted in ((2, [2, 1]), (0, [2, 1]), (3, [3, 1])):
        assert int(model.step(jnp.asarray(n))) == (1 if n > 1 else 4)
        assert [int(v) for v in model.held] == wanted


def test_what_a_trace_knew_is_forgotten_when_it_ends():
    kept = [1, 2]

    @ag.function
    def choose(n):
        c = kept if n > 1 else [3, 4]
        return c[0]

    @ag.function
    def write(n):
        local = kept
        local[1] = 7
        return n + kept[1]

    assert int(choose(jnp.asarray(2))) == 1
    assert int(write(jnp.asarray(2))) == 9
