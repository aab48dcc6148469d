"""Printing and calls of Python at run time: at every execution, in program order."""

from __future__ import annotations

import contextlib
import io
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback

import autograph as ag


def test_line_9(capsys):
    @ag.function
    def f(x):
        print("Traced with", x)
        ag.print("Executed with", x)

    f(1)
    f(1)
    assert capsys.readouterr().out == "Traced with 1\nExecuted with 1\nExecuted with 1\n"


def test_outside_functions_it_prints_at_once(capsys):
    v = ag.Variable([1, 2], name="v")
    ag.print("a", jnp.array([1, 2]), v, {"k": jnp.array(1.5)}, sep="|", end="!")
    assert capsys.readouterr().out == "a|[1 2]|[1 2]|{'k': array(1.5, dtype=float32)}!"


def test_program_order_across_statements_and_functions(capsys):
    v = ag.Variable(0)

    @ag.function
    def inner(x):
        ag.print("inner", x)
        v.assign_add(x)

    @ag.function
    def outer(n):
        ag.print("start", v)
        i = 0
        while i < n:
            print("loop", i)
            if i == 1:
                ag.print("one", v)
            inner(i)
            ag.py_function(lambda i: sys.stdout.write(f"python {i}\n"), [i], jnp.int32)
            i += 1
        for j in ag.range(2):
            ag.print("for", j)
        ag.print("end", v)

    outer(jnp.array(3))
    expected = ["start 0"]
    for i in range(3):
        expected += [f"loop {i}", *(["one 0"] if i == 1 else []), f"inner {i}", f"python {i}"]
    assert capsys.readouterr().out.splitlines() == [*expected, "for 0", "for 1", "end 3"]


def test_a_print_in_a_loops_test(capsys):
    def less(i, n):
        ag.print("test", i)
        return i < n

    @ag.function
    def f(n):
        i = 0
        while less(i, n):
            i += 1
        return i

    f(jnp.array(2))
    assert capsys.readouterr().out.split() == ["test", "0", "test", "1", "test", "2"]


def test_a_branch_with_nothing_but_a_print(capsys):
    @ag.function
    def f(x):
        if x > 0:
            ag.print("positive")
        else:
            ag.print("other")

    f(jnp.array(1)), f(jnp.array(-1))
    assert capsys.readouterr().out.split() == ["positive", "other"]


def test_printing_under_grad_and_vmap(capsys):
    def f(x):
        ag.print("x", x)
        return x * x

    assert float(ag.function(lambda x: jax.grad(f)(x))(jnp.array(3.0))) == 6.0
    assert float(jax.grad(ag.function(f))(3.0)) == 6.0
    assert capsys.readouterr().out == "x 3.0\nx 3.0\n"
    ag.function(lambda x: jax.vmap(f)(x))(jnp.array([1.0, 2.0]))
    assert sorted(capsys.readouterr().out.splitlines()) == ["x 1.0", "x 2.0"]


def test_a_loop_that_no_lane_runs(capfd):
    def f(n, c):
        none = n * 0
        done = False
        while not done and c and none > 2:  # XLA sees that it is false
            print("never", none + none)
            done = True
        return done

    numbers, truths = jnp.arange(2), jnp.array([True, True])
    for transformed in (jax.jit(jax.vmap(ag.convert(f))), ag.function(lambda n, c: jax.vmap(f)(n, c))):
        np.testing.assert_array_equal(transformed(numbers, truths), [False, False])
    assert "never" not in capfd.readouterr().out


def test_streams_and_summaries(capsys, tmp_path):
    file = tmp_path / "log"

    @ag.function
    def f(x):
        ag.print(x, output_stream=f"file://{file}", summarize=1)
        ag.print("err", output_stream=sys.stderr)

    f(jnp.arange(10))
    f(jnp.arange(10))
    assert file.read_text() == "[0 ... 9]\n[0 ... 9]\n"
    assert capsys.readouterr().err == "err\nerr\n"


def test_prints_to_another_stream_or_flushed(capsys, tmp_path):
    log = open(tmp_path / "log", "w")

    def f(x):
        print("flushed", x, flush=True)
        print("error", x, file=sys.stderr)
        for i in range(2):
            if x > i:
                print("log", i, x, sep=",", file=log, flush=True)

    compiled = ag.function(f)
    shown = []
    for run in (f, compiled, compiled, jax.jit(ag.convert(f))):
        run(jnp.array(1))
        jax.effects_barrier()
        out, err = capsys.readouterr()
        shown.append((out, err, (tmp_path / "log").read_text()))
        log.seek(0), log.truncate()
    log.close()
    assert shown == [("flushed 1\n", "error 1\n", "log,0,1\n")] * 4


def test_standard_streams_are_those_of_the_run():
    @ag.function
    def f(x):
        print("out", x, file=sys.stdout)
        print("err", x, file=sys.stderr)
        ag.print("ag", x, output_stream=sys.stderr)

    for _ in range(2):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            f(jnp.array(2))
        assert (out.getvalue(), err.getvalue()) == ("out 2\n", "err 2\nag 2\n")


def test_a_print_to_an_object_that_the_function_may_read_is_refused():
    def f(x):
        text = io.StringIO()
        print(x, file=text)
        return text.getvalue()

    with pytest.raises(ag.StagingError, match="to a StringIO, which holds them when the program runs") as refused:
        ag.function(f)(jnp.array(2))
    assert "print(x, file=text)" in str(refused.value)
    assert ag.function(f)(2) == f(2) == "2\n"


# Calls of Python.


def test_line_10_an_iterator_advances():
    numbers = iter(range(100))

    @ag.function
    def baked(x):
        return x + next(numbers)

    with pytest.warns(ag.StagingWarning, match=r"(?s)advances the iterator `numbers` once"):
        assert [int(baked(jnp.array(10))) for _ in range(3)] == [10, 10, 10]

    @ag.function
    def f(x):
        return x + ag.py_function(lambda: next(numbers), [], jnp.int32)

    assert [int(f(jnp.array(10))) for _ in range(3)] == [11, 12, 13]


def test_arguments_and_results():
    seen = []

    def func(x, rest, text):
        seen.append((type(x), type(rest["k"]), text))
        return {"a": x + 1, "b": [rest["k"] * 2]}

    @ag.function
    def f(x, k):
        out = ag.numpy_function(func, [x, {"k": k}, "text"], {"a": ag.TensorSpec((2,), jnp.float32), "b": [jnp.int32]})
        return out["a"], out["b"][0]

    a, b = f(jnp.array([1.0, 2.0]), jnp.array(4))
    np.testing.assert_array_equal(a, [2, 3])
    assert int(b) == 8 and seen == [(np.ndarray, np.ndarray, "text")]
    np.testing.assert_array_equal(
        ag.py_function(lambda x: x * 2, [jnp.ones(2)], jax.ShapeDtypeStruct((2,), jnp.float32)), [2, 2]
    )
    assert ag.py_function(lambda: None, [], None) is None


@pytest.mark.parametrize("make", [ag.py_function, ag.numpy_function])
def test_a_decorator_makes_a_function_of_calls_at_run_time(make):
    """As `tf.py_function(Tout=…)` does."""
    seen = []

    @make(Tout=jnp.float32)
    def measured(x, scale):
        seen.append(type(x))
        return float(x) * float(scale) if float(x) > 1 else 0.0

    @ag.function
    def f(x):
        total = 0.0
        for k in ag.range(3):
            if k != 1:
                total += measured(x + k, 2.0)
        return total

    assert [float(f(1.0)), float(f(2.0)), float(measured(4.0, 2.0))] == [6.0, 12.0, 8.0] and len(seen) == 5
    assert measured.__name__ == "measured"
    assert all(issubclass(kind, jax.Array if make is ag.py_function else np.ndarray) for kind in seen)
    for wrong in (lambda: make(measured), lambda: make(inp=[1]), lambda: make(Tout=jnp.float32)(3)):
        with pytest.raises(TypeError, match="takes a function"):
            wrong()


def test_results_that_do_not_fit():
    f = ag.function(lambda x: ag.numpy_function(lambda x: np.ones(3), [x], jnp.float32))
    with pytest.raises(ValueError, match=r"declared a result of shape \(\); its function returned \(3,\)"):
        f(1.0)
    g = ag.function(lambda x: ag.numpy_function(lambda x: 1.5, [x], jnp.int32))
    with pytest.raises(TypeError, match="dtype int32"):
        g(1.0)
    with pytest.raises(TypeError, match="list of arguments"):
        ag.py_function(len, jnp.ones(2), jnp.int32)


class Custom(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)
        self.a = a


@pytest.mark.parametrize("error", [KeyError("k"), Custom(1, 2), KeyboardInterrupt(), StopIteration("done")])
def test_an_exception_reaches_the_caller_as_itself(error, caplog):
    v, w = ag.Variable(0), ag.Variable(0)

    def fail(x):
        if x > 2:
            raise error
        return x

    @ag.function
    def f(x):
        v.assign_add(1)
        for i in ag.range(x):
            w.assign_add(ag.py_function(fail, [i], jnp.int32))
        return v

    assert int(f(jnp.array(3))) == 1
    for _ in range(2):
        with pytest.raises(type(error)) as caught:
            f(jnp.array(5))
        assert caught.value is error
    assert not caplog.records
    assert int(v) == 1 and int(w) == 3
    assert int(f(jnp.array(2))) == 2


def test_an_exception_without_state():
    @ag.function
    def f(x):
        return ag.py_function(lambda x: 1 // int(x), [x], jnp.int32)

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            f(jnp.array(0))
    assert int(f(jnp.array(1))) == 1


def test_python_may_read_variables_and_not_write_those_in_use():
    v, other = ag.Variable(1, name="mine"), ag.Variable(0)

    @ag.function
    def f(how):
        v.assign_add(1)
        return ag.py_function(how, [], jnp.int32) + v

    def read():
        other.assign_add(1)
        return int(v)

    assert int(f(read)) == 1 + 2 and int(other) == 1
    with pytest.raises(RuntimeError, match="'mine' is used by the program that is calling this function"):
        f(lambda: int(v.assign(5)))
    assert int(v) == 2


TYPE = jax.ShapeDtypeStruct((), jnp.float32)


class Tally:
    def __init__(self):
        self.total, self.seen = 0, []

    def count(self, v):
        self.total += 1
        return v

    def keep(self, v):
        self.seen.append(v)
        return v

    def read(self, v):
        out = [self.total]
        out.append(v)
        return v


def _appends(x):
    seen = []

    def host(v):
        if v > 0:
            seen.append(v)
        return v

    return jax.pure_callback(host, TYPE, x), len(seen)


def _appends_itself(x):
    seen = []
    jax.debug.callback(seen.append, x)
    return x, len(seen)


def _sets_item(x):
    table = {}

    def note(v):
        table["k"] = v

    @ag.py_function(Tout=TYPE)
    def host(v):
        note(v)
        return v

    return host(x), len(table)


def _adds(x):
    seen = set()
    return io_callback(lambda v: seen.add(1) or v, TYPE, x), len(seen)


@pytest.mark.parametrize(
    "function, subject",
    [
        (_appends, "'seen' is written by host, which pure_callback calls"),
        (_appends_itself, "A list is written by append, which debug_callback calls"),
        (_sets_item, "'table' is written by host, which py_function calls"),
        (_adds, "'seen' is written by <lambda>, which io_callback calls"),
    ],
)
def test_python_that_writes_to_state_of_the_traced_function_is_refused(function, subject):
    with pytest.raises(ag.StagingError, match=re.escape(subject)) as caught:
        ag.function(function)(jnp.float32(2.0))
    assert "Return the value from the function that is called" in str(caught.value)


def test_python_may_write_to_objects_from_outside_and_to_its_own():
    log, tally, calls = [], Tally(), 0

    @ag.function
    def f(x):
        own, table, mine = [1.0, 2.0], {1: 2.0}, Tally()
        alias = log

        def host(v):
            nonlocal calls
            calls += 1
            alias.append(float(v))
            tally.count(v)
            n, out = 0, []

            def step():
                nonlocal n
                n += 1

            step()
            out.append(mine.read(v))
            return np.float32(v + own[n] + table.get(1) + len(out))

        return ag.py_function(host, [x], TYPE)

    assert float(f(jnp.float32(2.0))) == float(f(jnp.float32(2.0))) == 7.0
    assert (log, tally.total, calls) == ([2.0, 2.0], 2, 2)
