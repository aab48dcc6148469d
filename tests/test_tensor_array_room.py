"""`ag.TensorArray` of dynamic size: room for all that loops write, at whatever indices."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

X = np.float32(2.5)
V = np.array([0.5, -1.0, 2.0, 3.0, -2.0], np.float32)


def empty(**options):
    return ag.TensorArray(jnp.float32, size=0, dynamic_size=True, **options)


def two_indices(x):
    ta = empty()
    for i in ag.range(4):
        ta = ta.write(2 * i, x)
        ta = ta.write(2 * i + 1, x * i)
    return ta.stack()


def two_at_the_end(x):
    ta = empty()
    for i in ag.range(4):
        ta = ta.write(ta.size(), x)
        ta = ta.write(ta.size(), x * i)
    return ta.stack()


def some_at_the_end(x):
    ta = empty()
    for i in ag.range(5):
        if x > i:
            ta = ta.write(ta.size(), x)
        ta = ta.write(ta.size(), x + 1)
    return ta.stack()


def some_indices(x):
    ta = empty(element_shape=())
    for i in ag.range(5):
        if x > i:
            ta = ta.write(2 * i, x)
    return ta.stack()


def from_the_end(x):
    ta = empty()
    for i in ag.range(4):
        ta = ta.write(3 - i, x * i)
    return ta.stack()


def every_other(x):
    ta = empty()
    for i in range(9, -1, -2):
        ag.set_loop_options(unroll=False)
        ta = ta.write(i, x * i)
    return ta.stack()


def a_count_of_its_own(x):
    ta, k = empty(element_shape=()), 0
    for i in ag.range(5):
        if x > i:
            ta = ta.write(k, x)
            k += 1
            if x > 2 * i:
                ta = ta.write(k, x * i)
                k += 1
    return ta.stack()


def at_most_so_often(x):
    ta, n = empty(element_shape=()), 0
    while x > 1:
        ag.set_loop_options(maximum_iterations=8)
        ta = ta.write(n, x)
        ta = ta.write(n + 1, -x)
        n += 2
        x = x / 2
    return ta.stack()


def after_a_loop(x):
    ta = empty()
    for i in ag.range(4):
        if x < i + 1:
            break
        ta = ta.write(ta.size(), x * i)
    ta = ta.write(ta.size(), 9.0)
    ta = ta.write(ta.size(), 10.0)
    return ta.stack()


def appended(ta, v):
    if v > 0:
        ta = ta.write(ta.size(), v)
    return ta.write(ta.size(), v + 1)


def in_a_function(x):
    ta = empty()
    for i in ag.range(4):
        ta = appended(ta, x - i)
    return ta.stack()


class Log:
    def __init__(self):
        self.values = empty()
        self.count = 0

    def add(self, v):
        self.values = self.values.write(self.count, v)
        self.count += 1


def in_a_method(x):
    log = Log()
    for i in ag.range(3):
        log.add(x + i)
        log.add(x - i)
    return log.values.stack()


def in_containers(x):
    held = {"a": empty(), "b": [empty(), 0.0]}
    for i in ag.range(3):
        held["a"] = held["a"].write(i, x + i)
        for k in (0, 1):
            held["b"][0] = held["b"][0].write(2 * i + k, x - i)
    return held["a"].stack(), held["b"][0].stack()


def scattered(x):
    ta = empty()
    for i in ag.range(3):
        ta = ta.scatter(jnp.stack([2 * i, 2 * i + 1]), jnp.stack([x, x * i]))
        ta = ta.scatter([0, 8], jnp.stack([x, x * i]))
    return ta.stack()


def unstacked(x):
    ta = empty()
    for i in ag.range(3):
        ta = ta.unstack(jnp.stack([x, x + i, x, x, x]))
        ta = ta.write(ta.size(), x)
    return ta.stack()


def read_again(x):
    ta = empty().write(0, 1.0).write(1, 1.0)
    for i in ag.range(2, 6):
        ta = ta.write(2 * i, ta.read(i - 1) + ta.read(i - 2) + x)
    return ta.stack(), ta.gather([0, 10]), ta.size()


def rows(x):
    ta = empty()
    for i in ag.range(3):
        ta = ta.write(2 * i, jnp.stack([x, x * i]))
        ta = ta.write(2 * i + 1, jnp.stack([x, x + i]))
    return ta.stack(), ta.concat()


def computed_indices(x):
    ta, a, b, k = empty(), 0, 5, 9
    for i in ag.range(5):
        ta = ta.write((i * 7) % 4, x + i)
        ta = ta.write(i // 2 + 4, x - i)
        ta = ta.write(abs(i - 3) + 1, x)
        a, b = b, min(a + 2, 7)
        ta = ta.write(a, x * i)
        if x > i:
            k = k - 1
        ta = ta.write(jnp.clip(k, 2, 8), x + k)
        k = max(k, 3)
    return ta.stack()


def unequal_branches(x):
    ta = empty().write(0, x)
    if x > 1:
        ta = ta.write(1, x + 1)
    return ta.stack()


def beyond_what_one_path_writes(x):
    ta = empty(element_shape=())
    if x > 2:
        ta = ta.write(ta.size(), x)
    return ta.write(3, x + 1).stack()


def beyond_what_either_path_writes(x):
    ta = empty()
    if x > 2:
        ta = ta.write(0, x).write(1, 2 * x)
    else:
        ta = ta.write(0, 3 * x)
    return ta.scatter([4, 3], jnp.stack([x, x + 1])).stack()


def beyond_in_a_loop(x):
    ta = empty()
    if x > 2:
        ta = ta.write(1, x).write(2, 2 * x)
    else:
        ta = ta.write(0, 3 * x)
    for i in ag.range(3):
        ta = ta.write(2 * i + 2, x + i)
    return ta.stack()


def in_nested_loops(x):
    ta = empty()
    for i in ag.range(4):
        for j in ag.range(3):
            ta = ta.write(ta.size(), x * i + j)
    return ta.stack()


def at_indices_of_nested_loops(x):
    ta = empty()
    for i in ag.range(4):
        for j in ag.range(3):
            ta = ta.write(i * 3 + j, x * i + j)
    return ta.stack()


def in_three_loops(x):
    ta = empty()
    for i in ag.range(2):
        for j in ag.range(3):
            for k in ag.range(2):
                ta = ta.write(ta.size(), x + i * 6 + j * 2 + k)
    return ta.stack()


def some_in_nested_loops(x):
    ta = empty(element_shape=())
    for i in ag.range(3):
        if x > i:
            for j in ag.range(3):
                if x > j:
                    ta = ta.write(ta.size(), x * j + i)
        else:
            ta = ta.write(ta.size(), 0.0)
    return ta.stack()


def in_python_under_conditions(x):
    ta = empty(element_shape=())
    for i in range(5):
        if x > i:
            ta = ta.write(2 * i, x)
        if x > 2 * i:
            ta = ta.write(ta.size(), x + i)
    return ta.stack()


BOUNDED = [
    *(beyond_what_one_path_writes, beyond_what_either_path_writes, beyond_in_a_loop),
    *(in_nested_loops, at_indices_of_nested_loops, in_three_loops, some_in_nested_loops, in_python_under_conditions),
    *(two_indices, two_at_the_end, some_at_the_end, some_indices, from_the_end, every_other, a_count_of_its_own),
    *(
        at_most_so_often,
        after_a_loop,
        in_a_function,
        in_a_method,
        in_containers,
        scattered,
        unstacked,
        read_again,
        rows,
    ),
    *(computed_indices, unequal_branches),
]


def exact(found):
    """Results with what `jax.jit` returns of traced length cut to that length."""
    if isinstance(found, tuple):
        return [exact(each) for each in found]
    return np.asarray(found.values)[: int(found.length)] if hasattr(found, "length") else np.asarray(found)


def agree(found, expected):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), exact(found), exact(expected))


@pytest.mark.parametrize("x", [2.5, -1.0, 9.0])
@pytest.mark.parametrize("program", BOUNDED, ids=lambda f: f.__name__)
def test_a_loop_writes_more_than_one_element_in_an_iteration(program, x):
    x = jnp.float32(x)
    compiled = ag.function(program)
    agree(compiled(x), program(x))
    assert compiled.experimental_get_tracing_count() == 1
    agree(jax.jit(ag.convert(program))(x), program(x))


@pytest.mark.parametrize(
    "program", [two_indices, some_at_the_end, in_a_function, scattered, rows], ids=lambda f: f.__name__
)
def test_derivatives_and_batches(program):
    def total(x):
        return sum((each**2).sum() for each in jax.tree.leaves(program(x)))

    def summed(x):
        found = converted(x)
        found = found if isinstance(found, tuple) else (found,)
        return sum((each**2).sum() for each in found)

    converted = ag.convert(program)
    numeric = (total(jnp.float32(2.51)) - total(jnp.float32(2.49))) / 0.02
    np.testing.assert_allclose(jax.grad(summed)(X), numeric, rtol=1e-2)
    np.testing.assert_allclose(ag.grad(ag.function(summed), argnums=0)(X), numeric, rtol=1e-2)
    batch = jnp.array([2.5, 1.5, -3.0])
    np.testing.assert_allclose(jax.jit(jax.vmap(summed))(batch), [total(x) for x in batch], rtol=1e-5)


def at_given_indices(x, places):
    ta = empty(element_shape=())
    for i in ag.range(3):
        ta = ta.write(places[i], x * i)
    return ta.stack()


def in_a_loop_of_traced_length(x, n):
    ta = empty(element_shape=())
    for i in ag.range(3):
        for j in ag.range(n):
            ta = ta.write(ta.size(), x * i + j)
    return ta.stack()


def at_a_place_after_a_loop(x, n):
    ta = empty()
    for i in ag.range(3):
        ta = ta.write(i, x)
    return ta.write(n, 7.0).stack()


UNBOUNDED = [
    (at_given_indices, jnp.array([0, 40, 2])),
    (in_a_loop_of_traced_length, jnp.array(7)),
    (at_a_place_after_a_loop, jnp.array(50)),
]


@pytest.mark.parametrize("program, given", UNBOUNDED, ids=lambda f: getattr(f, "__name__", ""))
def test_a_function_is_compiled_again_with_more_room(program, given):
    compiled = ag.function(program)
    small = jnp.zeros_like(given)
    agree(compiled(X, small), program(X, small))
    agree(compiled(X, given), program(X, given))
    assert "room of `" in compiled.explain_retraces()
    count = compiled.experimental_get_tracing_count()
    agree(compiled(X, given), program(X, given))
    assert compiled.experimental_get_tracing_count() == count


@pytest.mark.parametrize("program, given", UNBOUNDED, ids=lambda f: getattr(f, "__name__", ""))
def test_what_cannot_be_compiled_again_is_refused_and_drops_nothing(program, given):
    with pytest.raises(ag.StagingError, match="not known while tracing(.|\n)*max_size"):
        jax.jit(ag.convert(program))(X, given)


def test_more_room_in_derivatives_batches_and_functions_around():
    def total(x, places):
        return (at_given_indices(x, places) ** 2).sum()

    far = jnp.array([0, 40, 2])
    np.testing.assert_allclose(jax.grad(ag.function(total))(X, far), 2 * X * (1 + 4), rtol=1e-5)
    compiled = ag.function(total)
    around = ag.function(lambda x, places: compiled(x, places) + 1)
    np.testing.assert_allclose(around(X, far), total(X, far) + 1, rtol=1e-5)
    lanes = jax.vmap(ag.function(total), (0, None))(jnp.array([1.0, 2.0]), far)
    np.testing.assert_allclose(lanes, [total(1.0, far), total(2.0, far)], rtol=1e-5)


@ag.function
def printing(x, places):
    ag.print("begun")
    return at_given_indices(x, places)


def test_a_function_that_prints_says_what_it_lacks():
    agree(printing(X, jnp.array([0, 1, 2])), at_given_indices(X, jnp.array([0, 1, 2])))
    with pytest.raises(ag.StagingError, match="capacity of 3 elements(.|\n)*max_size"):
        printing(X, jnp.array([0, 40, 2]))


@pytest.mark.parametrize("size", [1, 4, 9])
def test_a_symbolic_number_of_iterations(size):
    def program(x):
        ta = ag.TensorArray(jnp.float32, size=0, dynamic_size=True)
        for i in ag.range(len(x)):
            ta = ta.write(2 * i, x[i])
            ta = ta.write(2 * i + 1, -x[i])
        return ta.stack()

    x = jnp.arange(1.0, size + 1)
    compiled = ag.function(program, input_signature=[ag.TensorSpec([None], jnp.float32)])
    agree(compiled(x), program(x))


def test_a_loop_that_reads_variables_and_keys():
    table = ag.Variable(jnp.array([1, 2, 0]))
    key = jax.random.key(3)

    def decoded(token):
        tokens = ag.TensorArray(jnp.int32, size=0, dynamic_size=True)
        i = 0
        while token != 0:
            ag.set_loop_options(maximum_iterations=10)
            tokens = tokens.write(2 * i, token).write(
                2 * i + 1, jax.random.randint(jax.random.fold_in(key, i), (), 0, 9)
            )
            token = table[token]
            i += 1
        return tokens.stack()

    found = ag.function(decoded)(jnp.int32(1))
    assert found.tolist()[::2] == [1, 2] and len(found) == 4
