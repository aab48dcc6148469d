"""Long loops that stay Python's: what keeps them from being one staged loop, and the warning that says so."""

import itertools
import random
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged
from tests.jaxprs import Counts
from tests.long_loops import agree, stays_python

X = jnp.array(1.5, jnp.float32)
N = 100


def test_the_index_as_a_python_int():
    layers = [lambda x: x + 1, lambda x: x * 0.5]

    def calls(x):
        for i in range(N):
            x = layers[i % 2](x)
        return x

    def shapes(x):
        for i in range(N):
            x = x + jnp.ones(i + 1).sum()
        return x

    def keys(x):
        seen = {}
        for i in range(N):
            seen[i] = x
            x = x * 0.9
        return x + seen[3]

    stays_python(calls, X, why="list is indexed by a traced value")
    stays_python(shapes, X, why="each size is known", wanted=X + N * (N + 1) / 2)
    stays_python(keys, X, why="writes to a set, or to a key of a dict")


def test_arrays_of_the_size_of_the_index_need_no_room_that_may_prove_too_small():
    """Not even where a program cannot be run again with more of it."""

    def f(x):
        for i in range(N):
            x = x + (jnp.arange(i) * 0.01).sum()
        return x

    wanted = 1.5 + 0.01 * sum(k for i in range(N) for k in range(i))  # without a program for each size
    ways = [
        lambda: jax.jit(ag.function(f))(X),
        lambda: ag.function(f).lower(X).compile()(X),
        lambda: jax.lax.scan(lambda x, _: (ag.function(f)(x), None), X, length=1)[0],
    ]
    for way in ways:
        with pytest.warns(ag.StagingWarning, match="its body 100 times"):
            np.testing.assert_allclose(way(), wanted, rtol=2e-5)
    with pytest.warns(ag.StagingWarning, match="its body 100 times"):
        assert jax.jit(jax.grad(ag.function(f)))(X) == 1


def test_text_of_the_index():
    parameters = {f"w{i}": jnp.float32(i) for i in range(N)}

    def names(x):
        for i in range(N):
            x = x + parameters[f"w{i}"]
        return x

    def callee(i):
        return parameters.get("w%d" % i, 0.0)

    def in_a_callee(x):
        for i in range(N):
            x = x + callee(i)
        return x

    def kinds(x):
        for i in range(N):
            x = x + (1.0 if isinstance(i, int) else 2.0)
        return x

    stays_python(names, X, why="an f-string")
    stays_python(in_a_callee, X, why="callee contains a formatted string")
    stays_python(kinds, X, why="isinstance")


def test_handlers_of_what_python_raises_of_a_tracer():
    def of_an_attribute(x):
        for i in range(N):
            try:
                width = i.bit_length()
            except AttributeError:
                width = 0
            x = x * 0.9 + width
        return x

    def of_anything(x):
        for i in range(N):
            try:
                x = x * 0.9 + "ab".index("ab"[i % 2])
            except Exception:  # noqa: BLE001
                x = x + 1
        return x

    def cut_off(i):
        while True:
            try:
                return i.bit_length()
            finally:
                break
        return 4

    def by_a_finally(x):
        for i in range(N):
            x = x * 0.9 + cut_off(i)
        return x

    stays_python(of_an_attribute, X, why="no attribute bit_length")
    stays_python(of_anything, X, why="list is indexed by a traced value")
    stays_python(by_a_finally, X, why="cut_off contains a jump in finally")


def test_effects_happen_once_for_each_iteration(capsys):
    def prints(x):
        for i in range(N):
            print("step")
            x = x * 0.9
        return x

    stays_python(prints, X, why="prints what is not traced")
    assert capsys.readouterr().out.count("step") == 2 * N

    def shows(x):
        for i in range(70):
            print(i, x)
            x = x * 0.5
        return x

    function = ag.function(shows)
    capsys.readouterr()
    shows(X)
    wanted = capsys.readouterr().out
    jax.block_until_ready(function(X))
    jax.effects_barrier()
    found = capsys.readouterr().out
    assert [line.split()[0] for line in found.splitlines()] == [line.split()[0] for line in wanted.splitlines()]

    def draws(x):
        generator = random.Random(3)
        for i in range(N):
            x = x + generator.random()
        return x

    def numpy_draws(x):
        generator = np.random.default_rng(3)
        for i in range(N):
            x = x + generator.normal()
        return x

    stays_python(draws, X, why="random of random")
    stays_python(numpy_draws, X, why="normal of numpy.random")

    def uses_up(x):
        numbers = itertools.count()
        for i in range(N):
            x = x + next(numbers)
        return x

    def uses_up_in_a_loop(x):
        pairs = iter([1.0, 2.0, 3.0])
        for i in range(N):
            for number in pairs:
                x = x + number
            x = x * 0.9
        return x

    agree(uses_up(X), ag.function(uses_up)(X))
    agree(uses_up_in_a_loop(X), ag.function(uses_up_in_a_loop)(X))


def test_shapes_that_grow():
    def f(x):
        xs = jnp.zeros(1)
        for i in range(70):
            xs = jnp.append(xs, x * i)
        return xs

    stays_python(f, X, why="'xs' changes type")


def test_the_user_s_own_error_is_raised_as_python_raises_it():
    def f(x):
        for i in range(N):
            x = x + i
            if i == 90:
                raise KeyError("ninety")
        return x

    with pytest.raises(KeyError, match="ninety"):
        ag.function(f)(X)
    with pytest.raises(KeyError, match="ninety"):
        jax.jit(ag.convert(f))(X)


def test_the_warning_tells_what_to_do():
    def f(x):
        for item in [0.5] * N:
            x = x * item
        return x

    def ends(x):
        todo = list(range(N))
        while todo:
            x = x * len(f"{todo.pop()}")
        return x

    for function in (f, ends):
        with pytest.warns(ag.StagingWarning, match=r"body 100 times(?s:.*)autograph\.range(?s:.*)unroll=False"):
            Counts(ag.convert(function), X)


def test_a_loop_whose_test_reads_a_list_is_one_loop():
    def drained(x):
        todo = list(range(N))
        while todo:
            x = x * 0.5 + todo.pop()
            if len(todo) > 50:
                todo.pop()
        return x, todo

    x, todo = ag.function(drained)(X)
    wanted, _ = drained(np.float32(X))
    assert (float(x), todo) == (pytest.approx(float(wanted)), [])
    assert Counts(ag.convert(drained), X).loops == 1


def test_a_table_of_python_numbers_beside_traced_work_stays_python():
    def f(x):
        table = []
        for i in range(N):
            x = x * 0.9
            table.append(i * i)
        return x, jnp.ones(table[3])

    stays_python(f, X, why="must stay what they are")


def test_a_loop_with_a_traced_end_that_cannot_be_one_loop():
    layers = [lambda x: x + 1, lambda x: x * 0.5]

    def ends(x):
        for i in range(N):
            x = layers[i % 2](x)
            if x > 100:
                break
        return x

    stays_python(ends, X, why="list is indexed by a traced value")

    def accepted(x):
        for i in range(N):
            ag.set_loop_options(unroll=True)
            x = layers[i % 2](x)
            if x > 100:
                break
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agree(ag.function(accepted)(X), ends(X))


def test_the_best_state_so_far_is_no_hindrance():
    def patient(x, epochs):
        params = [(x, x + 1), (x * 2,)]
        best, best_loss, stale = params, jnp.array(jnp.inf), 0
        for _ in range(epochs):
            params = [tuple(p * 0.9 for p in layer) for layer in params]
            loss = (params[0][0] - 0.3) ** 2
            if loss < best_loss:
                best, best_loss, stale = params, loss, 0
            else:
                stale += 1
                if stale == 3:
                    break
        return best, best_loss

    sizes = [Counts(ag.convert(patient), X, epochs, static=(1,)) for epochs in (10, 1000)]
    assert [(size.whiles, size.total) for size in sizes] == [(1, sizes[0].total)] * 2
    agree(patient(X, N), ag.function(patient)(X, N))


def test_lists_written_at_the_loops_index_make_one_loop():
    """By loops over ranges that Python could run, in lists made by repetition, comprehension, sum and copy."""

    def lists(xs):
        n = len(xs)
        best, squares, ring, copied = [0.0] * n, [0.0 for _ in range(n)], [0.0] + [0.0] * 7, list(xs)
        best[0] = xs[0]
        for i in range(1, n):
            best[i] = max(best[i - 1] + xs[i], xs[i])
            squares[i] = xs[i] * xs[i]
            ring[i % 8] += xs[i]
            copied[i] = copied[i - 1] + xs[i]
        return best, squares, ring, copied[-1]

    xs = jnp.asarray(np.random.default_rng(1).normal(size=N), jnp.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agree(lists(xs), ag.function(lists)(xs))
    assert Counts(ag.convert(lists), xs).scans == 1

    def numbers(x):
        counts = [0] * 3
        for i in range(N):
            counts[i % 3] += 1
            x = x * 0.9
        return x + jnp.ones(counts[0]).sum()

    stays_python(numbers, X, why="Python's or NumPy's values alone")


def test_a_list_of_python_numbers_that_a_loop_lengthens_stays_python():
    def sizes(x):
        found = [1, 2]
        for _ in range(N):
            x = jnp.sin(x)
            found.append(min(found[-1] + found[-2], 50))
        return x + jnp.ones(found[3]).sum(), len(found)

    stays_python(sizes, X, why="Python's or NumPy's values alone")


def test_a_loop_over_nothing_in_a_loop_that_grows_a_list():
    def rows(x):
        row = [x]
        for _ in range(5):
            new = [row[0]]
            for k in range(len(row) - 1):
                new.append(row[k] + row[k + 1])
            row = [*new, row[-1]]
        return row

    agree(rows(X), ag.function(rows)(X))


def composed(f, g):
    return lambda v: f(g(v))


def test_a_loop_that_makes_a_function_around_the_last_is_unrolled():
    def f(xs):
        g, total = lambda v: v, 0
        for x in xs:
            g = composed(lambda v, x=x: 2 * v + x, g)
            total += x
        return g(1), total

    for xs in ([1, 3, 2], [4, 5, 6]):
        assert tuple(map(int, staged.function(f)(jnp.array(xs)))) == f(xs)


def test_one_of_which_only_the_run_knows_the_length_is_refused():
    def f(n):
        g = increment = lambda v: v + 1
        for _ in range(n):
            g = composed(increment, g)
        return g(0)

    with pytest.raises(
        ag.StagingError, match=r"'g': an iteration of this staged loop makes a function .*\n.* at most 64 items"
    ):
        ag.function(f)(jnp.array(3))
