"""Large arrays of a closure: inputs of the compiled program, and not to be told from constants."""

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.backends.xla.staging import XlaStaging

LARGE = jnp.arange(300_000.0) / 1e5
LARGE_NUMPY = np.arange(300_000, dtype=np.float32) / 1e5


@ag.function
def scaled(x):
    if x > 0:
        y = jnp.sum(x * LARGE)
    else:
        y = jnp.max(LARGE_NUMPY) * x
    return y / 1e5


def test_the_program_does_not_hold_them():
    def small(x):
        return x + jnp.arange(10.0)

    for function, limit in ((scaled, 50_000), (ag.function(small), 50_000)):
        concrete = function.get_concrete_function(jnp.float32(1))
        assert len(concrete.graph.as_text("stablehlo")) < limit
    baked = jax.jit(ag.convert(scaled.python_function)).lower(jnp.float32(1)).as_text()
    assert len(baked) > 1_000_000  # that text would show them


def test_values_and_signatures():
    want = scaled.python_function(jnp.float32(2))
    np.testing.assert_allclose(scaled(jnp.float32(2)), want, rtol=1e-6)
    np.testing.assert_allclose(scaled(jnp.float32(-2)), scaled.python_function(jnp.float32(-2)), rtol=1e-6)
    concrete = scaled.get_concrete_function(jnp.float32(1))
    assert not concrete.variables
    assert [spec.name for spec in concrete.inputs] == ["x"]
    assert concrete.structured_outputs == ag.TensorSpec((), jnp.float32)
    np.testing.assert_allclose(concrete(jnp.float32(2)), want, rtol=1e-6)


def test_under_transforms_and_in_other_functions():
    x, xs = jnp.float32(2), jnp.array([2.0, -1.0, 0.5])
    plain = ag.convert(scaled.python_function)
    twice = ag.function(lambda x: scaled(x) + scaled(2 * x))
    scanned = ag.function(lambda x: jax.lax.scan(lambda c, _: (scaled(c), None), x, None, length=2)[0])
    for found, want in (
        (jax.grad(scaled)(x), jax.grad(plain)(x)),
        (jax.vmap(scaled)(xs), jax.vmap(plain)(xs)),
        (jax.jit(scaled)(x), plain(x)),
        (jax.jit(jax.grad(twice))(x), 3 * jax.grad(plain)(x)),
        (jax.vmap(jax.grad(scaled))(xs), jax.vmap(jax.grad(plain))(xs)),
        (twice(x), plain(x) + plain(2 * x)),
        (scanned(x), plain(plain(x))),
        (jax.grad(scanned)(x), jax.grad(lambda x: plain(plain(x)))(x)),
    ):
        np.testing.assert_allclose(found, want, rtol=1e-5)


def test_beside_variables():
    count, factor = ag.Variable(0), ag.Variable(2.0)

    @ag.function
    def f(x):
        count.assign_add(1)
        return factor * jnp.sum(LARGE) * x

    with ag.GradientTape() as tape:
        y = f(jnp.float32(1))
    np.testing.assert_allclose(tape.gradient(y, factor), jnp.sum(LARGE), rtol=1e-6)
    f(jnp.float32(3))
    assert (int(count), f.experimental_get_tracing_count()) == (2, 1)
    assert [id(v) for v in f.get_concrete_function(jnp.float32(1)).variables] == [id(count), id(factor)]


def test_variables_made_from_them_on_the_first_call():
    class Model:
        w = None

        @ag.function
        def __call__(self, x):
            if self.w is None:
                self.w = ag.Variable(jnp.sum(LARGE) * 2)
            return self.w * x

    np.testing.assert_allclose(Model()(jnp.float32(2)), 4 * jnp.sum(LARGE), rtol=1e-6)


def test_a_numpy_array_that_is_changed_afterwards_is_read_again():
    table = np.ones(300_000, np.float32)

    @ag.function
    def f(x):
        return jnp.sum(x * table)

    before = float(f(jnp.float32(1)))
    table[:] = 2
    assert float(f(jnp.float32(1))) == 2 * before
    table[:] = 1
    assert float(f(jnp.float32(1))) == before and f.experimental_get_tracing_count() == 2


def test_they_go_when_the_function_goes():
    def made():
        large = jnp.ones(400_000)

        @ag.function
        def f(x):
            return jnp.sum(x) + jnp.sum(large)

        for size in range(1, 4):
            np.testing.assert_allclose(f(jnp.ones(size)), 400_000 + size)
        return weakref.ref(large)

    alive = made()
    gc.collect()
    jax.clear_caches()
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("number", [0.5, 3, True, 2 + 1j], ids=repr)
def test_a_table_of_numbers_is_no_question_for_each(number, monkeypatch):
    """Of so many numbers of one class of Python's, each has the type that one has."""
    asked = []
    type_of = XlaStaging.type_of

    def noted(self, leaf):
        asked.append(leaf)
        return type_of(self, leaf)

    monkeypatch.setattr(XlaStaging, "type_of", noted)

    def f(i, j):
        table = []
        for row in range(50):
            table.append([number] * 80)
            table[row][row] = type(number)(0)
        return table[i][j], table[i][i]

    found = ag.function(f)(jnp.asarray(7), jnp.asarray(9))
    wanted = f(7, 9)
    for one, other in zip(found, wanted, strict=True):
        assert one == other
        assert np.asarray(one).dtype.kind == np.asarray(other).dtype.kind
    assert len(asked) < 50 * 80 / 2


@pytest.mark.parametrize("numbers", [[1, 2**31 - 1, -(2**31)], [1.5, 2, 3], [True, 2, 3], [1, 2.5, 3j]], ids=repr)
def test_tables_of_numbers_have_the_type_that_all_promote_to(numbers):
    def f(i):
        return numbers[i]

    for i in range(3):
        found = ag.function(f)(jnp.asarray(i))
        assert found == numbers[i]
        assert found.dtype.kind == np.asarray(numbers).dtype.kind


def test_a_table_may_hold_a_traced_number_after_one_of_pythons():
    def f(n, i):
        numbers = [3, 0]
        if n > 0:
            numbers[1] = 4  # a number of the run, of the type of Python's
        return numbers[i]

    for n in (1, -1):
        for i in range(2):
            assert ag.function(f)(jnp.asarray(n), jnp.asarray(i)) == f(n, i)
