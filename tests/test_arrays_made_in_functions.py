"""Arrays that functions make, and that others, or other names, write in place: results are Python's."""

from __future__ import annotations

import copy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph import StagingError
from tests import (
    augmented_array_programs,
    in_place_function_programs,
    kept_array_programs,
    known_array_programs,
    local_array_programs,
    shared_array_programs,
)
from tests.local_array_programs import averaged, fill, first_then_sum


def agree(one, other):
    one, other = ([np.asarray(leaf, float) for leaf in jax.tree.leaves(value)] for value in (one, other))
    assert [leaf.shape for leaf in one] == [leaf.shape for leaf in other]
    for theirs, own in zip(one, other, strict=True):
        np.testing.assert_allclose(own, theirs, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("program", "calls"), local_array_programs.CASES, ids=lambda case: getattr(case, "__name__", "calls")
)
def test_results_and_arguments(program, calls):
    functions = [ag.function(program)]
    if program is not local_array_programs.rec_local:  # which needs a limit under a bare `jax.jit`
        functions.append(jax.jit(ag.convert(program)))
    for k, compiled in enumerate(functions):
        if k and program.__name__ in ("matview", "zero_d"):  # of arrays of JAX's, ``x += v`` and ``x[i] = v`` differ
            continue
        for given in calls:
            pythons, mine = copy.deepcopy(given), copy.deepcopy(given)
            if k and program.__name__ in ("gram_inplace", "augment_helper2"):  # which jax.jit gives arrays of JAX's
                pythons = jax.tree.map(jnp.asarray, pythons)
            agree(program(*pythons), compiled(*mine))
            agree(pythons if k == 0 else given, mine)  # of `jax.jit` no caller sees what is written to arguments


A = local_array_programs.A
GIVEN = [A(3, 1, 2), A(-1, 2, 0.5)]


@pytest.mark.parametrize(
    "program",
    [
        *shared_array_programs.CASES,
        *kept_array_programs.CASES,
        *known_array_programs.CASES,
        *in_place_function_programs.CASES,
    ],
)
def test_what_one_name_writes_all_names_show(program):
    compiled, of_jaxs, jitted = ag.function(program), ag.function(program), jax.jit(ag.convert(program))
    for x in GIVEN:
        mine = x.copy()
        agree(program(x.copy()), compiled(mine))
        agree(program(x.copy()), of_jaxs(jnp.asarray(x)))
        agree(program(x.copy()), jitted(x))


@pytest.mark.parametrize("program", [*augmented_array_programs.AUGMENTED, *augmented_array_programs.NUMPYS_OR_JAXS])
def test_an_operation_in_place_writes_to_arrays_of_numpys_and_to_none_of_jaxs(program):
    """One `ag.function` tells them apart, in either order; under `jax.jit` all are JAX's."""
    for kinds in ((np.array, jnp.array), (jnp.array, np.array)):
        compiled = ag.function(program)
        for kind in kinds:
            for x in GIVEN:
                pythons, mine = kind(x), kind(x)
                agree(program(pythons), compiled(mine))
                agree(pythons, mine)
    for x in GIVEN:
        agree(program(jnp.array(x)), jax.jit(ag.convert(program))(x))
        agree(
            program(jnp.array(x)),
            ag.function(program).get_concrete_function(ag.TensorSpec((3,), np.float32))(jnp.array(x)),
        )


inner, inner_fill = ag.function(first_then_sum), ag.function(fill)


def calls_functions(x):
    t, u = x.copy(), np.zeros(3)
    s = inner(t)
    inner_fill(u, x[0])
    return s, t, u


def loss(x):
    t = x * 2
    s = first_then_sum(t)
    return (t * t).sum() + s


def filled(x):
    t = x.copy()
    fill(t[1:], x[0])
    return t


def test_functions_in_functions():
    agree(calls_functions(A(1, 2, 3)), ag.function(calls_functions)(A(1, 2, 3)))
    agree(calls_functions(A(1, 2, 3)), jax.jit(ag.convert(calls_functions))(A(1, 2, 3)))


@pytest.mark.parametrize("run", [ag.function, ag.convert])
def test_transforms(run):
    x = A(1, 2, 3)
    agree(jax.grad(run(loss))(x), A(0, 18, 26))  # t is [5, 2 * x[1], 2 * x[2]]
    agree(jax.vmap(run(filled))(np.stack([x, x + 1])), np.stack([filled(x), filled(x + 1)]))
    agree(jax.jit(run(filled))(x), filled(x))
    agree(
        jax.lax.scan(lambda c, row: (c, run(filled)(row)), 0.0, jnp.stack([x, x + 1]))[1],
        np.stack([filled(x), filled(x + 1)]),
    )


class Scaled(ag.Module):
    def __init__(self):
        self.w = ag.Variable(jnp.ones(3))

    def put(self, buffer, x):
        buffer[...] = self.w * x
        self.w.assign_add(x)

    @ag.function
    def __call__(self, x):
        buffer = np.zeros(3)
        self.put(buffer, x)
        return buffer.sum()


def test_methods_and_variables():
    scaled = Scaled()
    agree([scaled(jnp.float32(2)), scaled(jnp.float32(1)), scaled.w.value], [6, 9, A(4, 4, 4)])


@pytest.mark.parametrize(
    "options",
    [{"jit_compile": False}, {"check_bounds": True}, {"input_signature": [ag.TensorSpec([4], jnp.float32)]}],
    ids=lambda options: next(iter(options)),
)
def test_options(options):
    agree(ag.function(filled, **options)(A(1, 2, 3, 4)), filled(A(1, 2, 3, 4)))


def test_a_function_that_returns_what_it_writes():
    def program(x):
        u = x.copy()
        for _ in range(3):
            averaged(u, u)
        return u

    def returned(u):
        u[1:-1] = u[:-2]
        return u

    def repeated(x, n):
        u = x.copy()
        for _ in range(n):
            u = returned(u)
        return u

    agree(program(A(1, 5, 2, 8)), ag.function(program)(A(1, 5, 2, 8)))
    agree(repeated(A(1, 5, 2, 8), 2), ag.function(repeated)(A(1, 5, 2, 8), np.int32(2)))


def test_jax_sort_returns_a_copy():
    def program(x):
        y = x.sort()
        return x, y

    for run in (ag.function, lambda f: jax.jit(ag.convert(f))):
        agree(run(program)(jnp.array([2.0, 1.0])), (A(2, 1), A(1, 2)))


def test_constants_stay_known():
    def program(x):
        table = np.zeros(3)
        fill(table, 1.0)
        size = int(table[2])
        other = np.zeros(size)
        fill(other, x)
        return other, table

    agree(program(2.0), ag.function(program)(jnp.float32(2)))


def test_what_is_refused():
    def shuffled(x):
        np.random.shuffle(x)
        return x

    def shuffled_by_its_own(x):
        p, q = np.arange(2.0), np.ones(2)
        np.random.default_rng(0).shuffle(p if x[0] > 0 else q)
        return p, q

    def shuffled_in_a_branch(x):
        p = np.arange(2.0)
        if x[0] > 0:
            np.random.shuffle(p)
        return p

    def cast(x):
        p = np.zeros(2, int)
        np.add(x, 0.5, out=p)
        return p

    def printed(x):
        print(x[0])
        t = x.copy()
        return first_then_sum(t), t

    for run in (ag.function, lambda f: jax.jit(ag.convert(f))):
        with pytest.raises(StagingError, match="random numbers are drawn once, while tracing"):
            run(shuffled)(A(1, 2))
        with pytest.raises(StagingError, match="random numbers are drawn once, while tracing"):
            run(shuffled_by_its_own)(A(1, 2))
        with pytest.raises(StagingError, match="inside a staged statement draws once, while tracing"):
            run(shuffled_in_a_branch)(A(1, 2))
        with pytest.raises(TypeError, match=r"add with `out` writes float32 to an array of int"):
            run(cast)(A(1, 2))
    with pytest.raises(StagingError, match="This writes to an array that other names may lead to"):
        jax.jit(ag.convert(printed))(A(1, 2))
    agree(ag.function(printed)(A(1, 2)), (7, A(5, 2)))


def test_numbers_of_numpys_own_source_are_drawn_while_tracing_in_a_branch_too():
    def program(x):
        np.random.seed(0)
        y = x
        if x > 0:
            y = x + np.random.permutation(5)[0] + np.random.rand()
        return y

    agree(program(2.0), ag.function(program)(jnp.float32(2)))


@pytest.mark.parametrize("kinds", [(np.array, jnp.array), (jnp.array, np.array)])
def test_a_program_for_each_kind_of_arrays_is_explained(kinds):
    compiled = ag.function(augmented_array_programs.named_again)
    for kind in (*kinds, *kinds):
        compiled(kind(GIVEN[0]))
    titles = {np.array: "a NumPy array", jnp.array: "a JAX array"}
    one, other = (titles[kind] for kind in kinds)
    assert f"argument `x`: {one} → {other}; pass arrays of one kind" in str(compiled.explain_retraces())
    assert "2 times" in str(compiled.explain_retraces())


def written_with_numbers_of_jaxs(x, k):
    a = np.zeros(4)
    b = a
    a[k] = x[1]
    a[1:] += x[0]
    a[a > 1] = 0
    if x[0] > 0:
        a[0] = x[0]
    return b


@pytest.mark.parametrize("run", [ag.convert, ag.function])
def test_numbers_of_jaxs_are_written_into_arrays_of_numpys_outside_of_traces_too(run):
    given = jnp.array([1.0, 2.0]), jnp.array(2)
    agree(written_with_numbers_of_jaxs(*given), run(written_with_numbers_of_jaxs)(*given))


def perhaps_the_one_that_is_written(x):
    p = np.zeros(3)
    q = p
    while x[0] > 0:
        p = p + x
        x = x - 2
    q[0] = x[1]
    return p


def test_a_write_to_an_array_that_the_result_of_a_loop_may_be_is_refused():
    with pytest.raises(StagingError, match="It may be the one that the function returns"):
        ag.function(perhaps_the_one_that_is_written)(GIVEN[0])


USES_OF_SNAPSHOTS = [
    np.array,
    np.stack,
    np.vstack,
    np.concatenate,
    np.column_stack,
    np.sum,
    np.argmax,
    list,
    sum,
    len,
    lambda rows: np.mean(rows, axis=0),
    lambda rows: np.array(rows)[:, 0],
    lambda rows: np.array(rows[::-1]) @ np.ones(3),
    lambda rows: rows[-1] - rows[0],
    lambda rows: max(row.sum() for row in rows),
    lambda rows: [one @ other for one, other in zip(rows, rows[1:], strict=False)],
    lambda rows: (rows[1].fill(9), np.array(rows))[1],
    lambda rows: (rows.pop(), rows.insert(0, np.zeros(3)), np.array(rows))[2],
    lambda rows: np.array(sorted(rows, key=lambda row: -row.sum())),
]


@pytest.mark.parametrize("use", range(len(USES_OF_SNAPSHOTS)))
def test_a_list_of_copies_of_an_array_that_a_staged_loop_writes(use):
    use = USES_OF_SNAPSHOTS[use]

    def snapshots(x, n):
        rows, state = [], np.zeros(3)
        for k in range(n):
            state[k % 3] += x[0]
            rows.append(state.copy())
        return use(rows)

    compiled = ag.function(snapshots)
    for n in (4, 2):
        agree(snapshots(A(1.5), n), compiled(A(1.5), np.int32(n)))
