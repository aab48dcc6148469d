"""`logging` and `warnings` in staged code: at run time, in the program's order, with the program's values."""

import io
import logging
import warnings

import jax
import jax.numpy as jnp
import pytest

import autograph as ag

LOG = logging.getLogger("tests.run_time_logs")
LOG.setLevel(logging.DEBUG)
LOG.propagate = False


class Kept(logging.Handler):
    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        self.records.append(record)

    def texts(self):
        jax.effects_barrier()
        return [record.getMessage() for record in self.records]


@pytest.fixture
def kept(monkeypatch):
    # `logging` holds pytest's handlers, too, which lead to all that the run has imported: much to search for what writes reach.
    monkeypatch.setattr(logging, "_handlerList", [])
    handler = Kept()
    LOG.addHandler(handler)
    yield handler
    LOG.removeHandler(handler)


def branches(x):
    if x > 0:
        LOG.info("above %s", x)
    else:
        LOG.error("below")
    return x


def loops(x):
    for i in ag.range(3):
        LOG.warning("round %d", i)
        if i > 1:
            LOG.log(logging.ERROR, f"late {i} of {x:.2f}")
    return x


def adapts(x):
    adapter = logging.LoggerAdapter(LOG, {})
    while x > 1:
        adapter.debug("x is %s", x)
        x = x / 2
    return x


def calls(x):
    def tell(text, value):
        LOG.info(text, value)
        LOG.critical("told")

    if x > 0:
        tell("value %s", x)
    return x


@pytest.mark.parametrize("program", [branches, loops, adapts, calls])
def test_records_are_those_of_plain_python(program, kept):
    staged = ag.function(program)
    for value in (4.0, -4.0, 4.0):
        kept.records.clear()
        program(jnp.float32(value))
        expected = kept.texts()
        kept.records.clear()
        staged(jnp.float32(value))
        assert kept.texts() == expected


def test_a_record_tells_the_users_line(kept):
    ag.function(branches)(jnp.float32(1.0))
    kept.texts()
    (record,) = kept.records
    assert record.pathname == __file__
    assert record.lineno == branches.__code__.co_firstlineno + 2
    assert record.levelname == "INFO"


def test_the_level_is_asked_for_when_the_program_runs(kept):
    staged = ag.function(branches)
    staged(jnp.float32(1.0))
    LOG.setLevel(logging.ERROR)
    try:
        staged(jnp.float32(1.0))
    finally:
        LOG.setLevel(logging.DEBUG)
    assert kept.texts() == ["above 1.0"]


def test_outside_of_staged_statements_a_text_without_traced_values_is_logged_while_tracing(kept):
    @ag.function
    def f(x):
        LOG.info("tracing")
        LOG.info("running %s", x)
        return x

    f(jnp.float32(1.0))
    f(jnp.float32(2.0))
    assert kept.texts() == ["tracing", "running 1.0", "running 2.0"]


def test_each_lane_of_a_batch_logs(kept):
    def f(x):
        LOG.info("lane %s", x)
        return x

    jax.vmap(ag.convert(f))(jnp.arange(2.0))
    assert sorted(kept.texts()) == ["lane 0.0", "lane 1.0"]


def warns(x):
    for i in ag.range(3):
        if x > i:
            warnings.warn(f"{x} is above {i}", RuntimeWarning, 1)
    return x


def test_warnings_are_those_of_plain_python():
    def told(function, value):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            function(jnp.float32(value))
            jax.effects_barrier()
        return [(str(each.message), each.category, each.filename, each.lineno) for each in found]

    staged = ag.function(warns)
    for value in (1.5, -1.0, 3.0):
        assert told(staged, value) == told(warns, value)


def test_a_warning_that_is_an_error_reaches_the_caller():
    def f(x):
        if x > 0:
            warnings.warn("careful", stacklevel=2)
        return x

    staged = ag.function(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        staged(jnp.float32(-1.0))
        with pytest.raises(UserWarning, match="careful"):
            staged(jnp.float32(1.0))


def test_plain_python_tells_its_own_line(kept):
    ag.convert(branches)(1.0)
    assert kept.records[0].lineno == branches.__code__.co_firstlineno + 2
    with pytest.warns(UserWarning) as found:
        ag.convert(_warns_plainly)()
    assert found[0].lineno == _warns_plainly.__code__.co_firstlineno + 1


def _warns_for_its_caller():
    warnings.warn("of the caller", stacklevel=2)


def tells_while_tracing(x, count):
    LOG.warning("plain")
    warnings.warn("plain")
    if count > 0:
        warnings.warn("in a block")
        _warns_for_its_caller()
    return x


def test_while_tracing_the_line_is_the_users(kept):
    def told(function):
        kept.records.clear()
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            function(jnp.float32(1), 1)
        return [(str(each.message), each.filename, each.lineno) for each in found], kept.records[0].lineno

    assert told(ag.function(tells_while_tracing)) == told(tells_while_tracing)


def _warns_plainly():
    warnings.warn("plain", stacklevel=1)


# What JAX, and others' loggers, offer for the same.


def test_debug_print_and_callback_in_branches_and_loops(capsys):
    seen = []

    def f(xs):
        for x in xs:
            if x > 1:
                jax.debug.print("x {x} {y:.2f}", x=x, y=x * 2, ordered=True)
        while xs.sum() < 10:
            xs = xs * 2
            jax.debug.callback(lambda total: seen.append(float(total)), xs.sum(), ordered=True)
        return xs

    for run in (ag.function(f), jax.jit(ag.convert(f))):
        run(jnp.arange(3.0))
        jax.effects_barrier()
        assert capsys.readouterr().out == "x 2.0 4.00\n" and seen == [6.0, 12.0]
        seen.clear()


def test_a_breakpoint_shows_the_users_variables():
    out = io.StringIO()

    @ag.function
    def f(x):
        while x < 3:
            if x > 1:
                doubled = x * 2  # noqa: F841  the debugger asks for it
                jax.debug.breakpoint(backend="cli", stdin=io.StringIO("p x\np doubled\nc\n"), stdout=out)
            x = x + 1
        return x

    assert float(f(jnp.array(0.0))) == 3.0
    jax.effects_barrier()
    assert "Array(2.," in out.getvalue() and "Array(4.," in out.getvalue() and "NameError" not in out.getvalue()


@pytest.mark.parametrize("nothing", [None, [], ()])
def test_a_run_that_logs_dicts_by_py_function(nothing):
    class Run:
        def __init__(self):
            self.rows = []

        def log(self, values, step):
            self.rows.append((int(step), {name: float(value) for name, value in values.items()}))

    run = Run()

    @ag.function
    def f(x, n):
        for step in ag.range(n):
            x = x * 0.5
            if step % 2 == 0:
                ag.py_function(run.log, [{"loss": x, "rate": 0.1}, step], nothing)
        return x

    for _ in range(2):
        assert float(f(jnp.array(8.0), jnp.array(4))) == 0.5
    jax.effects_barrier()
    once = [(0, {"loss": 4.0, "rate": pytest.approx(0.1)}), (2, {"loss": 1.0, "rate": pytest.approx(0.1)})]
    assert run.rows == 2 * once


def test_results_in_the_containers_of_converted_code():
    @ag.function
    def f(x):
        parts = [jnp.int32, {"half": jnp.float32}]
        return ag.py_function(lambda x: [int(x), {"half": x / 2}], [x], parts)

    whole, rest = f(jnp.array(3.0))
    assert int(whole) == 3 and float(rest["half"]) == 1.5
