"""Loops that Python could run are one loop where they would make the program large: iterations times operations, nests
multiplied."""

import types
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.backends.xla import rolled
from autograph.tools.bench import unrolled
from tests.jaxprs import Counts
from tests.long_loops import agree

X = jnp.linspace(0.1, 1.0, 8)


def once(x):
    return x * 0.4 + jnp.abs(x) * 0.5 - jnp.minimum(x, 0.7) * 0.1  # seven operations, soon compiled


def work(x):
    """Some thirty operations."""
    return once(once(once(once(once(x)))))


def quiet_counts(function, *arguments):
    """What it became, with no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return Counts(ag.convert(function), *arguments)


@pytest.mark.parametrize("program", unrolled.PROGRAMS, ids=lambda program: program.name)
def test_the_programs_of_the_benchmark_are_loops(program):
    function, arguments = program.make(12)
    counts = quiet_counts(function, *arguments)
    assert counts.loops >= 1 and counts.total < 250
    assert counts.total == quiet_counts(program.make(48)[0], *program.make(12)[1]).total
    assert Counts(ag.convert(program.make(12, unroll=True)[0]), *arguments).total > 500
    agree(ag.convert(function)(*arguments), ag.function(function)(*arguments))  # outside a trace it is Python


def test_size_is_iterations_times_operations():
    def small(x):
        for i in range(20):
            x = jnp.sin(x) + i
        return x

    def large(x):
        for i in range(20):
            x = work(x) + i
        return x

    def few(x):
        for i in range(6):
            x = work(x) + i
        return x

    assert [quiet_counts(function, X).loops for function in (small, large, few)] == [0, 1, 0]
    for function in (small, large, few):
        agree(function(X), ag.function(function)(X))


def test_loops_in_loops_are_multiplied():
    def nest(x):
        for i in range(10):
            for j in range(10):
                for k in range(10):
                    x = x * 0.9 + (i * 100 + j * 10 + k) * 1e-3
        return x

    def through_a_call(x):
        def inner(x, i):
            for j in range(20):
                x = x * 0.9 + i * j
            return x

        for i in range(20):
            x = inner(x, i)
        return x

    def small(x):
        for i in range(3):
            for j in range(4):
                x = x * 0.9 + i * j
        return x

    assert quiet_counts(nest, X).total < 40 and quiet_counts(nest, X).deepest == 3
    assert quiet_counts(through_a_call, X).total < 40
    assert quiet_counts(small, X).loops == 0
    for function in (nest, through_a_call, small):
        agree(function(X), ag.function(function)(X))


def test_an_inner_loop_is_one_where_the_outer_one_needs_python():
    layers = [jnp.sin, jnp.cos, jnp.tanh]

    def f(x):
        for i in range(12):
            for j in range(30):
                x = x * 0.9 + jnp.sin(x) * j
            x = layers[i % 3](x)
        return x

    counts = quiet_counts(f, X)
    assert counts.scans == 12 and counts.total < 200
    agree(f(X), ag.function(f)(X))


# `while` on Python numbers.


def cooling(x):
    temperature, steps, best = 1.0, 0, x
    while temperature > 0.01:
        x = x - temperature * jnp.sin(3 * x) * 0.1 + jnp.cos(x * steps) * temperature
        if jnp.sum(x) < jnp.sum(best):
            best = x
        temperature *= 0.9
        steps += 1
    return best, temperature, steps


def halving(x):
    n = 2**30
    while n > 1:
        n //= 2
        x = work(x) + 1.0 / n
    return x, n


def fibonacci(x):
    a, b = 0, 1
    while b < 10**8:
        a, b = b, a + b
        x = work(x) + 1.0 / b
    return x, a, b


def euclid(x):
    a, b = 832040 * 7, 514229 * 7
    while b:
        a, b = b, a % b
        x = work(x) + a / 1e7
    return x, a


def flag(x):
    n = 1
    while True:
        x = work(x) / n
        n *= 2
        if n > 2**28:
            break
    return x, n


def skipping(x):
    n = 0
    while n < 100:
        n += 1
        if n == 77:
            continue
        x = x * 0.9 + n
    else:
        x = x + 1000
    return x, n


def first_is_none(x):
    best, temperature = None, 1.0
    while temperature > 0.001:
        x = jnp.sin(x * 3) + temperature
        if best is None or jnp.sum(x) < best:
            best = jnp.sum(x)
        temperature *= 0.9
    return best, temperature


def recorded(x):
    t, kept = 0.0, [x]
    while t < 3.0:
        x = work(x) + 0.1 * (jnp.sin(t) - x)
        kept.append(x)
        t += 0.1
    return kept[-1], kept[3], len(kept), jnp.stack(kept)


def attributes(x):
    class State:
        steps, temperature = 0, 2.0

    state = State()
    while state.temperature > 0.01:
        state.steps += 1
        state.temperature = state.temperature * 0.9
        x = work(x) * state.temperature
    return x, state.steps, state.temperature


def nested(x):
    i = 0
    while i < 20:
        j = 0
        while j < 10:
            x = x + jnp.sin(x * i) * 0.1 / (j + 1)
            j += 1
        i += 1
    return x, i, j


def bounded_by_range(x):
    for i in range(60):
        x = work(x)
        if i == 37:
            break
    return x, i


@pytest.mark.parametrize(
    "function",
    [
        *(cooling, halving, fibonacci, euclid, flag, skipping, first_is_none, recorded, attributes, nested),
        bounded_by_range,
    ],
)
def test_a_while_on_python_numbers_is_one_loop(function):
    counts = quiet_counts(function, X)
    assert counts.loops >= 1 and counts.whiles == 0 and counts.total < 250
    agree(function(X), ag.function(function)(X))


def test_what_python_counts_stays_python_s():
    seen = {}

    def f(x):
        t, n = 0.0, 0
        while t < 7.0:
            x = x * 0.9 + t
            t += 0.1
            n += 1
        seen.update(t=t, n=n)
        return x, jnp.zeros(n // 10)

    wanted = f(X)
    expected = dict(seen)
    assert quiet_counts(f, X).scans == 1
    agree(wanted, ag.function(f)(X))
    assert seen == expected and type(seen["t"]) is float and type(seen["n"]) is int


def test_transforms_of_a_while_on_python_numbers():
    def f(x):
        t = 0.0
        while t < 7.0:
            x = x * 0.9 + jnp.sin(x) * t * 0.01
            t += 0.1
        return jnp.sum(x)

    xs = jnp.stack([X, X * 2])
    for transform in (jax.grad, lambda f: jax.vmap(jax.grad(f)), lambda f: jax.vmap(jax.jacfwd(f))):
        value = X if transform is jax.grad else xs
        agree(transform(f)(value), jax.jit(transform(ag.convert(f)))(value))


def test_short_and_idle_whiles_stay_python_s():
    def short(x):
        n = 5
        while n:
            n -= 1
            x = x * n
        return x

    def idle(x):
        n = 0
        while n * n < 10**6:
            n += 1
        return x * n

    def never(x):
        n = 5
        while n > 10:
            x, n = work(x), n + 1
        return x, n

    assert [quiet_counts(function, X).loops for function in (short, idle, never)] == [0, 0, 0]
    for function in (short, idle, never):
        agree(function(X), ag.function(function)(X))


# What cannot be one loop.


def names(x):
    weights = {f"w{k}": 0.01 * k for k in range(30)}
    k = 0
    while k < 30:
        x = work(x) * weights[f"w{k}"]
        k += 1
    return x


def keys(x):
    found = {}
    for k in range(30):
        x = work(x)
        found[k] = x
    return found[7], len(found)


def shapes(x):
    total = 0.0
    for n in range(1, 30):
        total = total + work(x) * jnp.sum(jnp.arange(n))
    return total


def kinds(x):
    n = 0
    while n < 30:
        x = work(x) if isinstance(n, int) and n.bit_length() > 2 else x + 1
        n += 1
    return x


def draws(x):
    generator, k = np.random.default_rng(0), 0
    while k < 30:
        x = work(x) + generator.normal()
        k += 1
    return x


@pytest.mark.parametrize(
    "function, why",
    [
        (names, "an f-string"),
        (keys, ""),
        (shapes, "each size is known"),
        (kinds, "isinstance"),
        (draws, "random number generator"),
    ],
)
def test_it_stays_python_s_with_a_warning_that_tells_its_share(function, why):
    shares = r"(?s)body (29|30) times, [\d,]+ of the [\d,]+ operations recorded so far\. It was not staged: "
    with pytest.warns(ag.StagingWarning, match=shares + f".*{why}"):
        found = ag.function(function)(X)
    agree(function(X), found)


def test_what_a_trial_writes_outside_is_taken_back():
    seen = []

    def f(x):
        n = 0
        while n < 20:
            seen.append(n)
            x = work(x)
            n += 1
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ag.function(f)(X)
    assert seen == list(range(20))
    agree(f(X), found)


def test_a_loop_that_raises_in_its_first_iteration_is_not_tried(monkeypatch):
    """No iteration leaves anything, so its test stays what it is."""

    def raising(x):
        count = 0
        while (count := count + 1) < 3:
            x = x * 2
            if x > 100:
                raise ValueError
            else:
                raise KeyError
        return x

    def few():
        yield from range(10)
        pytest.fail("the loop is tried on and on")

    monkeypatch.setattr(rolled, "itertools", types.SimpleNamespace(count=few))
    with pytest.raises(KeyError):
        ag.function(raising)(jnp.float32(3))


def test_a_long_list_is_written_anywhere_in_one_loop_and_at_the_index_in_python():
    def anywhere(n):
        found = [None] * 70
        for i in range(66):
            found[(n + i) % 70] = i
        return [-1 if each is None else each for each in found]

    def at_the_index(n):
        found = [None] * 70
        for i in range(66):
            found[i] = i + n
        return [-1 if each is None else each for each in found]

    n = jnp.asarray(9)
    with pytest.warns(ag.StagingWarning, match="a select for each"):
        made = ag.function(anywhere).get_concrete_function(n)
    assert sum(each.primitive.name == "scan" for each in made.graph.jaxpr.jaxpr.eqns) == 1
    assert list(map(int, made(n))) == anywhere(9)
    with pytest.warns(ag.StagingWarning, match="written at the loop's index"):
        made = ag.function(at_the_index).get_concrete_function(n)
    assert not any(each.primitive.name in ("scan", "while") for each in made.graph.jaxpr.jaxpr.eqns)
    assert list(map(int, made(n))) == at_the_index(9)


def test_a_long_list_is_written_anywhere_in_a_loop_inside_a_loop():
    def anywhere(n):
        found = [None] * 70
        for i in range(66):
            for j in range(2):
                found[(n + i) % 70] = i + j
        return [-1 if each is None else each for each in found]

    n = jnp.asarray(9)
    with pytest.warns(ag.StagingWarning, match="a select for each"):
        # Two for the iterations of the outer loop after the first, and one for the inner loop in the first.
        assert Counts(ag.convert(anywhere), n).loops <= 3
        assert list(map(int, ag.function(anywhere)(n))) == anywhere(9)


def test_a_size_that_the_run_knows_is_asked_for_in_one_loop():
    def sizes(n):
        found = 0
        for i in range(66):
            for _ in ag.range(2):
                found += jnp.arange(n + i).sum() % 5
        return found

    made = ag.function(sizes).get_concrete_function(jnp.asarray(3))
    assert len(made.graph.jaxpr.jaxpr.eqns) < 66
    wanted = 2 * sum(sum(range(3 + i)) % 5 for i in range(66))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the room that proves too small
        assert int(ag.function(sizes)(jnp.asarray(3))) == wanted
