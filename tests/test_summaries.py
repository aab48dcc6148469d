"""`autograph.summary`: what a program writes for TensorBoard, compared with what plain Python writes."""

from __future__ import annotations

import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.summary_files import summaries

pytest.importorskip("tensorboardX")


@pytest.fixture
def writer(tmp_path):
    made = ag.summary.create_file_writer(tmp_path)
    yield made
    made.close()
    ag.summary.set_step(None)


def written(folder: Any, run: Any) -> list[tuple[str, int, Any]]:
    made = ag.summary.create_file_writer(folder)
    with made.as_default():
        run()
    made.close()
    return summaries(folder)


def in_a_loop(x):
    for step in ag.range(6):
        x = x * 0.5
        if step % 2 == 0:
            ag.summary.scalar("even", x, step=step)
    return x


def until_a_break(x):
    step = 0
    while x > 0.01:
        step += 1
        if x < 0.1:
            ag.summary.text("end", "reached", step=step)
            break
        for k in range(3):
            ag.summary.scalar("nested", x + k, step=step * 10 + k)
        x = x / 4
    else:
        ag.summary.text("end", "not reached", step=step)
    return x


def of_kinds(x):
    weights = jnp.arange(8.0) * x
    ag.summary.histogram("weights", weights, step=1, buckets=4)
    ag.summary.histogram("numbers", [x, 2 * x, 3.0], step=1)
    ag.summary.histogram("equal", jnp.ones(3), step=1, buckets=2)
    ag.summary.histogram("none", jnp.zeros(0), step=1, buckets=2)
    ag.summary.histogram("truth", weights > 2, step=1, buckets=2)
    ag.summary.scalar("count", jnp.sum(weights > 2), step=1)
    ag.summary.text("table", [["a", "b"], ["c", "d"]], step=1)
    ag.summary.scalar("python", 3, step=2**40)
    return x


def with_a_default_step(x):
    for step in ag.range(3):
        ag.summary.set_step(step * 5)
        if x > 0:
            ag.summary.scalar("x", x)
        x = x - 1
    ag.summary.scalar("last", x)
    ag.summary.set_step(None)
    return x


class Model:
    def __init__(self):
        self.steps = 0

    def step(self, x):
        self.steps += 1
        ag.summary.scalar("loss", x, step=self.steps)
        return x * 0.5


def of_a_method(x):
    model = Model()
    while x > 1:
        x = model.step(x)
    ag.summary.scalar("steps", model.steps, step=0)
    return x


@pytest.mark.parametrize("program", [in_a_loop, until_a_break, of_kinds, with_a_default_step, of_a_method])
@pytest.mark.parametrize("x", [8.0, 0.05])
def test_a_program_writes_what_python_writes(tmp_path, program, x):
    expected = written(tmp_path / "python", lambda: program(jnp.array(x)))
    compiled = ag.function(program)
    assert written(tmp_path / "function", lambda: compiled(jnp.array(x))) == expected
    again = written(tmp_path / "again", lambda: (compiled(jnp.array(x)), compiled(jnp.array(x))))
    assert again == expected * 2
    assert compiled.experimental_get_tracing_count() == 1


def test_the_writer_is_that_of_the_call(tmp_path):
    compiled = ag.function(in_a_loop)
    first = written(tmp_path / "train", lambda: compiled(jnp.array(8.0)))
    compiled(jnp.array(100.0))  # there is no writer: nothing is written
    second = written(tmp_path / "test", lambda: compiled(jnp.array(4.0)))
    assert [entry[2] for entry in first] == [4.0, 1.0, 0.25]
    assert [entry[2] for entry in second] == [2.0, 0.5, 0.125]
    assert summaries(tmp_path / "train") == first


def test_writers_entered_by_a_program(tmp_path):
    a, b = (ag.summary.create_file_writer(tmp_path / name) for name in "ab")

    @ag.function
    def inner(x):
        ag.summary.scalar("inner", x)

    @ag.function
    def program(x):
        for k in ag.range(4):
            if k % 2 == 0:
                with a.as_default(step=k):
                    inner(x + k)
            else:
                with b.as_default(step=k):
                    inner(x + k)
                    with a.as_default():
                        inner(x - k)
        return x

    for run in (program, program.python_function):
        run(jnp.array(10.0))
    a.flush()
    b.flush()
    assert summaries(tmp_path / "a") == [("inner", k, v) for k, v in [(0, 10), (1, 9), (2, 12), (3, 7)]] * 2
    assert summaries(tmp_path / "b") == [("inner", 1, 11.0), ("inner", 3, 13.0)] * 2


def test_a_variable_is_the_default_step(writer):
    step = ag.Variable(10)

    @ag.function
    def train(x):
        for _ in ag.range(2):
            step.assign_add(1)
            ag.summary.scalar("loss", x)
        return x

    with writer.as_default(step=step):
        train(jnp.array(1.0))
        train(jnp.array(1.0))
        ag.summary.scalar("outside", 2.0)
    writer.flush()
    assert [(tag, k) for tag, k, _ in summaries(writer.logdir)] == [
        ("loss", 11), ("loss", 12), ("loss", 13), ("loss", 14), ("outside", 14),
    ]  # fmt: skip


def test_another_variable_than_when_traced_is_refused(writer):
    first, second = ag.Variable(1), ag.Variable(2)
    compiled = ag.function(lambda x: ag.summary.scalar("x", x))
    with writer.as_default(step=first):
        compiled(1.0)
    with writer.as_default(step=5):
        compiled(1.0)
    with writer.as_default(step=second), pytest.raises(RuntimeError, match="Pass `step=` instead"):
        compiled(1.0)
    with writer.as_default(step=first):
        compiled(1.0)
    writer.flush()
    assert [k for _, k, _ in summaries(writer.logdir)] == [1, 5, 1]


def test_defaults_are_those_of_the_thread(tmp_path):
    compiled = ag.function(in_a_loop)
    compiled(jnp.array(1.0))

    def train(name, x):
        written(tmp_path / name, lambda: [compiled(jnp.array(x)) for _ in range(5)])

    threads = [threading.Thread(target=train, args=(str(k), float(k))) for k in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(1, 4):
        assert [value for _, _, value in summaries(tmp_path / str(k))] == [k / 2, k / 8, k / 32] * 5


def test_order_beside_other_effects(writer, capsys):
    log = []

    @ag.function
    def program(x):
        for k in ag.range(3):
            ag.print("before", k)
            ag.py_function(lambda k: log.append(len(summaries(writer.logdir))), [k], None)
            ag.summary.scalar("x", x, step=k)
            writer.flush()
        return x

    with writer.as_default():
        program(1.0)
    assert log == [0, 1, 2]
    assert capsys.readouterr().out == "before 0\nbefore 1\nbefore 2\n"


def test_under_transforms(writer):
    def loss(x):
        ag.summary.scalar("x", x, step=1)
        return x**3

    def entries():
        writer.flush()
        return sorted(value for _, _, value in summaries(writer.logdir))

    with writer.as_default():
        assert float(ag.function(jax.grad(ag.convert(loss)))(2.0)) == 12.0
        assert entries() == [2.0]
        assert float(jax.grad(ag.function(loss))(3.0)) == 27.0
        assert entries() == [2.0, 3.0]
        mapped = ag.function(lambda xs: jax.vmap(loss)(xs))
        assert mapped(jnp.arange(4.0, 7.0)).tolist() == [64.0, 125.0, 216.0]
        assert entries() == [2.0, 3.0, 4.0, 5.0, 6.0]
        jax.vmap(ag.function(loss))(jnp.arange(7.0, 9.0))
        assert entries() == [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]

        @ag.function
        def scanned(xs):
            return jax.lax.scan(lambda carry, x: (carry + loss(x), None), 0.0, xs)[0]

        scanned(jnp.arange(9.0, 11.0))
        assert entries()[-2:] == [9.0, 10.0]

        tape_loss = ag.Variable(11.0)

        @ag.function
        def step():
            with ag.GradientTape() as tape:
                value = loss(tape_loss * 1.0)
            return tape.gradient(value, tape_loss)

        assert float(step()) == 363.0
        assert entries()[-2:] == [10.0, 11.0]


def test_under_a_bare_jit(tmp_path, writer):
    def inside(x):
        with writer.as_default():
            if x > 1:
                ag.summary.scalar("x", x, step=1)
        return x

    jitted = jax.jit(ag.convert(inside))
    jitted(2.0), jitted(0.0), jitted(3.0)
    writer.flush()
    assert [value for _, _, value in summaries(writer.logdir)] == [2.0, 3.0]

    bare = jax.jit(ag.convert(lambda x: ag.summary.scalar("x", x, step=1)))
    with writer.as_default(), pytest.raises(ag.StagingError, match="Wrap the function in autograph.function"):
        bare(1.0)


def test_in_a_function_that_a_program_calls(writer):
    def host(x):
        with writer.as_default(step=1):
            ag.summary.scalar("host", x)

    ag.function(lambda x: ag.py_function(host, [x], None))(4.0)
    with writer.as_default(step=1), pytest.raises(ag.StagingError, match="in that function"):
        ag.function(lambda x: ag.py_function(lambda x: ag.summary.scalar("host", x), [x], None))(5.0)
    writer.flush()
    assert summaries(writer.logdir) == [("host", 1, 4.0)]


def test_what_raises_keeps_the_defaults(writer):
    @ag.function
    def program(x):
        with writer.as_default(step=7):
            ag.summary.scalar("x", x)
            if x > 1:
                raise ValueError("too large")
        return x

    program(jnp.array(1.0))
    with pytest.raises(ValueError, match="too large"):
        program(jnp.array(2.0))
    assert ag.summary.get_step() is None
    ag.summary.scalar("nowhere", 1.0)  # neither a writer nor a step
    writer.flush()
    assert [value for _, _, value in summaries(writer.logdir)] == [1.0, 2.0]


def test_arrays_are_those_of_the_call(writer):
    seen = np.array([1.0, 2.0])

    @ag.function
    def program(x):
        for k in ag.range(2):
            ag.summary.histogram("seen", seen, step=k, buckets=1)
        return x

    with writer.as_default():
        program(1.0)
        seen[:] = 5.0
        program(1.0)
    writer.flush()
    assert [table[0][:2] for _, _, table in summaries(writer.logdir)] == [[1.0, 2.0]] * 2 + [[4.5, 5.5]] * 2


def test_lists_of_traced_length(tmp_path):
    def program(xs):
        kept = []
        for x in xs:
            if x > 2:
                kept.append(x)
        ag.summary.histogram("kept", kept, step=1, buckets=2)
        ag.summary.scalar("count", len(kept), step=1)
        return xs

    xs = jnp.arange(6.0)
    expected = written(tmp_path / "python", lambda: program(xs))
    try:
        found = written(tmp_path / "function", lambda: ag.function(program)(xs))
    except ag.StagingError:
        return
    assert found == expected


def test_names_that_differ_by_path(tmp_path):
    def program(x):
        name = "large" if x > 3 else "small"
        ag.summary.scalar(name, x, step=1)
        ag.summary.text("which", name, step=1)
        return x

    for x in (1.0, 4.0):
        expected = written(tmp_path / f"python{x}", lambda: program(jnp.array(x)))
        assert written(tmp_path / f"function{x}", lambda: ag.function(program)(jnp.array(x))) == expected


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("write", "kind", "text"),
    [
        (lambda x: ag.summary.scalar("x", x), ValueError, "No step is set"),
        (lambda x: ag.summary.scalar("x", jnp.stack([x, x]), step=1), TypeError, "one number"),
        (lambda x: ag.summary.scalar("x", "high", step=1), TypeError, "real numbers"),
        (lambda x: ag.summary.scalar("x", x * 1j, step=1), TypeError, "real numbers"),
        (lambda x: ag.summary.scalar("x", x, step=x), TypeError, "a step must be an integer"),
        (lambda x: ag.summary.scalar("x", x, step=True), TypeError, "a step must be an integer"),
        (lambda x: ag.summary.histogram("x", x / 0, step=1), ValueError, "not finite"),
        (lambda x: ag.summary.histogram("x", x, step=1, buckets=0), ValueError, "buckets"),
        (lambda x: ag.summary.text("x", x, step=1), TypeError, "a str or a list"),
        (lambda x: ag.summary.set_step(2**31), ValueError, "32 bits"),
        (lambda x: ag.summary.set_step("one"), TypeError, "a step must be an integer"),
    ],
)
def test_what_is_wrong_raises(writer, compiled, write, kind, text):
    with writer.as_default(), pytest.raises(kind, match=text):
        (ag.function(write) if compiled else write)(jnp.array(1.0))


def test_what_has_no_place_is_refused(writer):
    def mapped(x):
        with writer.as_default():
            ag.summary.scalar("x", x, step=1)
        return x

    with pytest.raises(ag.StagingError, match="Call it around the mapped function"):
        ag.function(lambda xs: jax.vmap(mapped)(xs))(jnp.arange(3.0))
    with pytest.raises(ag.StagingError, match="Pass the step"):
        ag.function(lambda x: ag.summary.get_step())(1.0)


def test_a_closed_writer(writer):
    compiled = ag.function(in_a_loop)
    with writer.as_default():
        compiled(jnp.array(1.0))
        writer.close()
        with pytest.raises(RuntimeError, match="the summary .* is written by a closed writer"):
            compiled(jnp.array(1.0))
    with pytest.raises(RuntimeError, match="is closed"):
        writer.as_default()
    writer.close()
    assert len(summaries(writer.logdir)) == 3


def test_a_process_that_ends_writes_all(tmp_path):
    import subprocess
    import sys

    program = (
        "import sys, autograph as ag, jax.numpy as jnp\n"
        "writer = ag.summary.create_file_writer(sys.argv[1])\n"
        "with writer.as_default(): ag.summary.scalar('x', jnp.array(1.0), step=1)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    assert summaries(tmp_path) == [("x", 1, 1.0)]
