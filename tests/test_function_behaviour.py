"""What must hold, word for word: one test for each numbered line of the contract, under its number.

1 conditionals · 2, 3 Variables · 6 concrete functions · 7 methods · 8 Variables made on the first call · 9 prints
· 10 iterators · 11 random numbers · 12 polymorphism and its printed form · 13 two Functions · 14 eager runs.
"""

from __future__ import annotations

import gc
import re
import weakref

import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

needs_variables = pytest.mark.skipif(not hasattr(ag, "Variable"), reason="there are no Variables yet")
needs_print = pytest.mark.skipif(not hasattr(ag, "print"), reason="there is no print yet")
needs_callbacks = pytest.mark.skipif(not hasattr(ag, "py_function"), reason="there is no py_function yet")
needs_random = pytest.mark.skipif(not hasattr(ag, "random"), reason="there are no random numbers yet")


def test_01_conditionals():
    def f(x):
        if jnp.sum(x) > 0:
            return x * x
        else:
            return -x // 2

    assert int(ag.function(f)(jnp.array(-2))) == 1
    assert int(ag.function(f)(-2)) == 1

    def g(x):
        if jnp.sum(x) <= 1:
            return x * x
        else:
            return x - 1

    assert str(np.asarray(ag.function(g)(jnp.array([5.0, 5.0])))) == "[4. 4.]"
    assert float(ag.function(g)(jnp.array(1.0))) == 1.0


@needs_variables
def test_02_a_captured_variable():
    y = ag.Variable([3, -2])
    f = ag.function(lambda x: x**2 + y)
    x = jnp.array([-2, -3])
    assert str(np.asarray(f(x))) == "[7 7]"
    y.assign([0, 0])
    assert str(np.asarray(f(x))) == "[4 9]"
    assert f.experimental_get_tracing_count() == 1


@needs_variables
def test_03_variables_in_program_order():
    v = ag.Variable(1)

    @ag.function
    def add(x):
        for i in ag.range(x):
            v.assign_add(i)

    add(jnp.array(3))
    assert int(v.value) == 4
    c = ag.Variable(0)

    @ag.function
    def f(x):
        c.assign_add(1)
        return x + c

    assert [float(f(1.0)), float(f(1.0))] == [2.0, 3.0] and int(c.value) == 2


def test_06_concrete_functions():
    f = ag.function(lambda x: x)
    assert isinstance(f.get_concrete_function(1).graph, ag.Graph)
    assert (f.get_concrete_function(1) is f.get_concrete_function(2)) is False
    assert (f.get_concrete_function(jnp.array(1)) is f.get_concrete_function(jnp.array(2))) is True
    vector, matrix = jnp.ones(2), jnp.ones((2, 2))
    assert (f.get_concrete_function(vector) is f.get_concrete_function(matrix)) is False
    g = ag.function(lambda x: x, input_signature=[ag.TensorSpec(None)])
    assert (g.get_concrete_function(vector) is g.get_concrete_function(matrix)) is True


@needs_variables
def test_07_methods():
    class Counter:
        def __init__(self, start):
            self.v = ag.Variable(start)

        @ag.function
        def add(self, x):
            return self.v.assign_add(x) + 0

    a, b = Counter(1), Counter(10)
    assert [int(a.add(jnp.array(1))), int(b.add(jnp.array(1))), int(a.add(jnp.array(1)))] == [2, 11, 3]
    assert int(a.v.value) == 3 and int(b.v.value) == 11
    watches = [weakref.ref(a), weakref.ref(a.v), weakref.ref(a.add)]
    del a
    gc.collect()
    assert [watch() for watch in watches] == [None] * 3
    assert int(b.add(jnp.array(1))) == 12


@needs_variables
def test_08_a_variable_made_on_the_first_call():
    class Lazy:
        def __init__(self):
            self.v = None

        @ag.function
        def __call__(self, x):
            if self.v is None:
                self.v = ag.Variable(jnp.ones_like(x))
            return self.v.assign_add(x) + 0

    lazy = Lazy()
    x = jnp.array([1.0, 2.0])
    assert [lazy(x).tolist() for _ in range(3)] == [[2, 3], [3, 5], [4, 7]]
    assert lazy.v.value.tolist() == [4, 7]


@needs_print
def test_09_prints(capfd):
    @ag.function
    def f(x):
        print("Traced with", x)
        ag.print("Executed with", x)

    f(1)
    f(1)
    out = capfd.readouterr().out
    assert out.split("\n")[:3] == ["Traced with 1", "Executed with 1", "Executed with 1"]


def test_10_next_of_an_iterator_at_trace_time():
    iterator = iter(range(10))
    f = ag.function(lambda x: x + next(iterator))
    with pytest.warns(ag.StagingWarning, match="advances the iterator `iterator` once"):
        assert [float(f(jnp.array(0.0))) for _ in range(3)] == [0, 0, 0] and next(iterator) == 1


@needs_callbacks
def test_10_next_of_an_iterator_at_run_time():
    iterator = iter(range(10))
    f = ag.function(lambda x: x + ag.py_function(lambda: np.float32(next(iterator)), [], jnp.float32))
    assert [float(f(jnp.array(0.0))) for _ in range(3)] == [0, 1, 2]


def test_11_numpys_random_numbers_are_the_same():
    f = ag.function(lambda: jnp.asarray(np.random.randn(3)))
    assert f().tolist() == f().tolist()


@needs_random
def test_11_ours_are_new():
    f = ag.function(lambda: ag.random.normal([3]))
    assert f().tolist() != f().tolist()


def test_12_polymorphism():
    @ag.function
    def poly(a):
        print("Tracing with", a)
        return a

    poly(jnp.array(3))
    poly(jnp.array(4.0))
    poly(jnp.array(5.0))
    assert poly.experimental_get_tracing_count() == 2
    assert poly.pretty_printed_concrete_signatures() == (
        "poly(a)\n"
        "  Args:\n"
        "    a: int32 Tensor, shape=()\n"
        "  Returns:\n"
        "    int32 Tensor, shape=()\n"
        "\n"
        "poly(a)\n"
        "  Args:\n"
        "    a: float32 Tensor, shape=()\n"
        "  Returns:\n"
        "    float32 Tensor, shape=()"
    )
    cf = poly.get_concrete_function(jnp.array(3))
    assert int(cf(jnp.array(5))) == 5
    assert int(cf(a=jnp.array(6))) == 6
    with pytest.raises(
        ag.InvalidArgumentError, match=re.escape("input #0 (zero-based), `a`, expected int32, got float32")
    ):
        cf(jnp.array(7.4))


def test_13_two_functions_trace_separately():
    def f(x):
        return x

    first, second = ag.function(f), ag.function(f)
    first(jnp.array(1))
    assert first is not second
    assert [g.experimental_get_tracing_count() for g in (first, second)] == [1, 0]


def test_14_a_breakpoint_is_hit_with_concrete_values(monkeypatch):
    seen = []
    monkeypatch.setattr("sys.breakpointhook", lambda *args: seen.append(float(held[-1])))
    held = []

    @ag.function
    def f(x):
        if x > 0:
            held.append(x)
            breakpoint()
            x = x * 2
        return x

    assert not ag.functions_run_eagerly()
    ag.run_functions_eagerly(True)
    try:
        assert ag.functions_run_eagerly()
        assert [float(f(jnp.array(v))) for v in (1.0, -1.0, 3.0)] == [2, -1, 6]
    finally:
        ag.run_functions_eagerly(False)
    assert seen == [1.0, 3.0]
