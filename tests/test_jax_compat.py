"""What `jax_compat.py` assumes of JAX, each assumption by itself: what fails here says what a release of JAX has changed."""

from __future__ import annotations

import ast
import functools
import gc
import inspect
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import DropVar

from autograph.backends.xla import cost_model, jax_compat, rolled
from autograph.backends.xla.jax_compat import Kind
from autograph.backends.xla.optimize import selects
from autograph.backends.xla.while_ad import chunks, residuals
from tests.rooms import ROOT


def equations(function, *operands):
    return jax.make_jaxpr(function)(*operands).jaxpr.eqns


def only_equation(function, *operands):
    (equation,) = equations(function, *operands)
    return equation


def outside_value():
    return jnp.arange(3.0) + 1


# Programs.


def test_literals_have_values_and_variables_have_not():
    equation = only_equation(lambda x: x + 2.0, 1.0)
    variable, literal = equation.invars
    assert jax_compat.is_literal(literal) and float(literal.val) == 2.0
    assert not jax_compat.is_literal(variable) and not hasattr(variable, "val")
    made = jax_compat.literal(np.float32(3), literal.aval)
    assert jax_compat.is_literal(made) and made.val == 3


def test_literals_of_a_program_and_of_those_in_it_are_replaced():
    program = jax.make_jaxpr(lambda x: jax.jit(lambda y: y * 2.0)(x) + 5.0)(1.0)
    jax_compat.replace_literals(program, lambda value: value * 10)
    assert [float(value) for value in jax_compat.replay(program, 3.0)] == [110.0]


def test_literals_that_rules_get_have_types():
    found = []
    identity = jax.custom_vjp(lambda x, least: x)
    identity.defvjp(lambda x, least: (x, least), lambda least, g: found.append(least) or (g, None))
    jax.jit(jax.grad(lambda x: identity(x, -1.0)))(2.0)
    (least,) = found
    assert jax_compat.is_typed_number(least) or isinstance(least, jax.Array)
    assert not any(
        map(jax_compat.is_typed_number, (1, 2.0, True, 1j, np.float32(3), np.float64(3), jnp.ones(()), "text"))
    )


def test_results_that_nobody_reads_are_dropped_variables():
    (variable,) = only_equation(jax.lax.sin, 1.0).outvars
    assert jax_compat.is_dropped(DropVar(variable.aval)) and not jax_compat.is_dropped(variable)


def test_constants_are_closed_over_by_variables():
    outer = outside_value()
    program = jax.make_jaxpr(lambda x: x + outer)(outer)
    ((variable, value),) = jax_compat.constants_of(program).items()
    assert value is outer and len(program.jaxpr.invars) == 1 and variable not in program.jaxpr.invars
    replaced = jax_compat.with_constants(program, [outer * 2])
    assert jax_compat.replay(replaced, outer)[0].tolist() == [3, 6, 9]
    assert jax_compat.replay(program, outer)[0].tolist() == [2, 4, 6]


def test_a_program_of_some_equations_takes_what_is_outer_as_constants():
    outer = outside_value()
    program = jax.make_jaxpr(lambda x: jnp.cos(jnp.sin(x) * outer))(outer)
    sine, product, _ = program.jaxpr.eqns
    constants = jax_compat.constants_of(program)
    part = jax_compat.program_of([product], sine.outvars, product.outvars, constants)
    assert [v.aval.shape for v in part.jaxpr.invars] == [(3,)]
    assert jax_compat.replay(part, jnp.ones(3))[0].tolist() == outer.tolist()
    # That also goes for variables that are results of equations.
    last = jax_compat.program_of([product], (), product.outvars, {**constants, sine.outvars[0]: jnp.ones(3)})
    assert jax_compat.replay(last)[0].tolist() == outer.tolist()


def test_equations_may_be_replaced():
    program = jax.make_jaxpr(jnp.sin)(1.0)
    (sine,) = program.jaxpr.eqns
    cosine = jax_compat.equation_like(sine, jax.lax.cos_p, sine.params, sine.invars, sine.outvars)
    assert float(jax_compat.replay(jax_compat.with_equations(program, [cosine]), 0.0)[0]) == 1
    assert jax_compat.source_line(cosine) == jax_compat.source_line(sine)


def test_what_is_closed_over_may_become_operands():
    outer = outside_value()
    program = jax.make_jaxpr(lambda x: x - outer)(outer)
    closed = jax_compat.closed_over_nothing(program, list(jax_compat.constants_of(program)))
    assert not closed.consts and len(closed.in_avals) == 2
    assert jax_compat.replay(closed, outer, outer + 1)[0].tolist() == [1, 1, 1]


# Equations.


def test_an_equation_knows_the_line_it_comes_from():
    def program(x):
        return jnp.sin(x)

    assert f"test_jax_compat.py:{program.__code__.co_firstlineno + 1}" in jax_compat.source_line(
        only_equation(program, 1.0)
    )


def test_lines_of_some_folders_are_nobodys():
    assert list(inspect.signature(jax_compat.leave_out_of_source_lines).parameters) == ["folder"]
    exec(compile("def program(x):\n  return x * 2", "/nobody/else.py", "exec"), names := {})
    caller = lambda x: names["program"](x)  # noqa: E731
    assert "else.py" in jax_compat.source_line(only_equation(lambda x: caller(x), 1.0))
    jax_compat.leave_out_of_source_lines("/nobody/")
    assert "test_jax_compat.py" in jax_compat.source_line(equations(lambda x: caller(x) + 0, 2)[0])


def ruled_jvp():
    @jax.custom_jvp
    def f(x):
        return x * 2

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * 2))
    return f


def ruled_vjp():
    @jax.custom_vjp
    def f(x):
        return x * 2

    f.defvjp(lambda x: (x * 2, None), lambda _, g: (g * 2,))
    return f


def calling_a_traced_program(x):
    return jax.jit(lambda x: x * 2).trace(x)(x)


RUNS_A_PROGRAM = {
    "jit": (jax.jit(lambda x: x * 2), Kind.CALL),
    "a derivative by jvp": (ruled_jvp(), Kind.RULED),
    "a derivative by vjp": (ruled_vjp(), Kind.RULED),
    "checkpoint": (jax.checkpoint(lambda x: x * 2), Kind.CHECKPOINT),
}


@pytest.mark.parametrize("name", RUNS_A_PROGRAM)
def test_what_runs_a_program_on_its_operands(name):
    function, kind = RUNS_A_PROGRAM[name]
    equation = only_equation(function, 3.0)
    assert jax_compat.kind(equation) is kind
    program = jax_compat.called(equation.params)
    assert len(program.jaxpr.invars) == 1 and float(jax_compat.replay(program, 3.0)[0]) == 6
    assert len(list(jax_compat.inner_programs(equation))) == 1


def test_all_equations_come_with_those_inside():
    jaxpr = jax.make_jaxpr(lambda x: jax.checkpoint(lambda y: jax.lax.cos(jax.lax.sin(y)))(x) + 1)(3.0).jaxpr
    names = [jax_compat.name_of(equation) for equation in jax_compat.all_equations(jaxpr)]
    assert names == [jax_compat.name_of(jaxpr.eqns[0]), "sin", "cos", "add"]


def test_a_traced_program_is_called_or_inlined():
    equation = only_equation(calling_a_traced_program, 3.0)
    assert jax_compat.kind(equation) is Kind.CALL or jax_compat.name_of(equation) == "mul"


def test_which_transforms_keep_traces():
    checkpointed = jax.checkpoint(jnp.sin)
    held = [cell.cell_contents for cell in checkpointed.__closure__]
    assert jax_compat.keeps_traces(jax.jit(jnp.sin)) and any(map(jax_compat.keeps_traces, [checkpointed, *held]))
    assert not any(map(jax_compat.keeps_traces, [jax.grad(jnp.sin), jax.vmap(jnp.sin), jnp.where, ruled_jvp()]))
    traces = []
    for function in (jax.jit, jax.checkpoint):
        made = function(lambda x: (traces.append(1), x)[1])
        made(1.0), made(2.0)
    assert len(traces) == 2


def test_options_of_a_checkpoint():
    policy = jax.checkpoint_policies.everything_saveable
    equation = only_equation(jax.checkpoint(jnp.sin, prevent_cse=False, policy=policy), 1.0)
    assert jax_compat.checkpoint_options(equation) == {"prevent_cse": False, "policy": policy}


def test_a_call_has_the_name_of_its_function():
    def doubled(x):
        return x * 2

    assert jax_compat.function_name(only_equation(jax.jit(doubled), 1.0)) == "doubled"
    assert jax_compat.function_name(only_equation(jnp.floor_divide, 7, 2)) == "floor_divide"
    assert jax_compat.function_name(only_equation(jnp.remainder, 7, 2)) == "remainder"


def test_branches_are_in_the_order_of_their_numbers():
    equation = equations(lambda p, x: jax.lax.cond(p, jnp.sin, jnp.cos, x), True, 1.0)[-1]
    assert jax_compat.kind(equation) is Kind.COND and len(equation.invars) == 2
    assert [jax_compat.name_of(branch.jaxpr.eqns[0]) for branch in jax_compat.branches(equation)] == ["cos", "sin"]


def test_operands_of_a_while_are_consts_of_the_test_and_of_the_body_and_the_carry():
    def program(limit, a, b, x):
        return jax.lax.while_loop(lambda x: x < limit, lambda x: x * a + b, x)

    equation = only_equation(program, 9.0, 2.0, 1.0, 1.0)
    loop = jax_compat.while_of(equation)
    assert jax_compat.kind(equation) is Kind.WHILE and (loop.test_consts, loop.body_consts) == (1, 2)
    assert (
        bool(jax_compat.replay(loop.test, 9.0, 1.0)[0]) and float(jax_compat.replay(loop.body, 2.0, 1.0, 3.0)[0]) == 7
    )


def test_a_program_is_run_as_if_it_were_recorded_here():
    program = jax.make_jaxpr(lambda: [jnp.sin(jnp.float32(0.5)) * 2, jnp.float32(1)])()
    np.testing.assert_allclose(jax_compat.replay_here(program), [2 * np.sin(0.5), 1.0], rtol=1e-6)

    def again(x):
        inner = jax_compat.recorded(lambda: [x * 2], [])
        return jax_compat.replay_here(inner)  # the line that counts

    (equation,) = jax.make_jaxpr(again)(1.0).jaxpr.eqns
    line = again.__code__.co_firstlineno + 2
    assert jax_compat.source_line(equation).startswith(f"{__file__}:{line}:")


def test_a_program_is_recorded_again_as_evaluating_it_records_it():
    outer = outside_value()

    def block(x, n):
        with jax.named_scope("inner"):
            y = jnp.where(x > 0, x * 2.0, outer) + jax.lax.cond(n > 0, jnp.sin, jnp.cos, x)
        y = jax.lax.fori_loop(0, n, lambda k, y: y * k, y)
        return [y, jax.nn.relu(y), n.astype(jnp.float32) + 1, 7]

    def in_place(x, n):
        ref = jax.new_ref(x)
        ref[0] = n * 1.0
        return [ref[...]]

    def high(x, n):
        return [jnp.searchsorted(x, x * n)]

    def told(run):
        def around(x, n):
            with jax.named_scope("around"):
                return run(x, n)

        made = jax.make_jaxpr(around)(outer, 3)
        places = [(jax_compat.source_position(e), jax_compat.name_scopes(e), e.ctx) for e in made.jaxpr.eqns]
        return str(made), made.jaxpr.is_high, places

    for given in (block, in_place, high):
        made = jax.make_jaxpr(given)(outer, 3)
        program = jax_compat.program_of(
            made.jaxpr.eqns, made.jaxpr.invars, made.jaxpr.outvars, jax_compat.constants_of(made)
        )
        evaluated = functools.partial(jax.core.eval_jaxpr, program.jaxpr, program.consts)
        for run in (
            lambda call: lambda x, n: call(x, n),
            lambda call: lambda x, n: call(x, 3),  # which JAX computes with
            lambda call: lambda x, n: call(outer, n.astype(jnp.int32)),
            lambda call: lambda x, n: call(x, jnp.int32(3)),
        ):
            found = told(run(lambda *operands, program=program: jax_compat.replay(program, *operands)))
            assert found == told(run(evaluated)) and found[2]


def test_a_while_of_programs():
    types = [jax.ShapeDtypeStruct((), jnp.float32)] * 2
    test = jax_compat.recorded(lambda limit, x: [x < limit], types)
    body = jax_compat.recorded(lambda limit, x: [x + limit / 4], types)
    assert jax_compat.run_while(test, body, [jnp.float32(8)], [jnp.float32(1)]) == [9.0]


def test_a_while_is_lowered_as_it_stands():
    """By the rule of JAX's own loop, to what tracing that comes to."""
    types = [jax.ShapeDtypeStruct((), jnp.float32)] * 2
    test = jax_compat.recorded(lambda limit, x: [x < limit], types)
    body = jax_compat.recorded(lambda limit, x: [x + limit / 4], types)
    traced = []

    def run(limit, x):
        traced.append(x)
        return jax_compat.run_while(test, body, [limit], [x.astype(jnp.float32)])

    form = jax_compat.WhileForm(test, body, 1, run)
    loop = jax_compat.new_primitive("loop")
    jax_compat.define(loop, types=lambda *_: body.out_avals, run_on=lambda _: form, jvp=None, batch=None)
    lowered = jax.jit(loop.bind).lower(*types).as_text()
    assert jax.jit(loop.bind)(8.0, 1.0) == [9.0]  # of weak types
    assert traced == []
    assert jax.jit(loop.bind)(jnp.float32(8), 1) == [9.0]  # which is converted
    assert len(traced) == 1
    assert lowered == jax.jit(run).lower(*types).as_text().replace("jit_run", "jit_bind")


def test_a_function_is_recorded_as_by_make_jaxpr():
    types = [jax.ShapeDtypeStruct((3,), jnp.float32), jax.ShapeDtypeStruct((), jnp.int32, weak_type=True)]
    recorded = []

    def outer(y):
        def f(x, k):
            return [x * y + k, k]

        recorded.append(jax_compat.recorded(f, types))
        made = jax.make_jaxpr(f)(*types)
        assert str(recorded[0]) == str(made) and recorded[0].in_avals == made.in_avals
        assert recorded[0].out_avals == made.out_avals and recorded[0].consts[0] is y
        return y

    jax.make_jaxpr(outer)(jnp.ones(3))
    (equation,) = (each for each in recorded[0].jaxpr.eqns if jax_compat.name_of(each) == "mul")
    assert __file__ in jax_compat.source_line(equation)


def test_operands_of_a_scan_are_consts_carry_and_rows():
    def program(a, b, x, rows):
        return jax.lax.scan(lambda c, row: ((c[0] * a + row.sum(), c[1] + b), (c[0], row)), x, rows)

    operands = 2.0, jnp.ones((4,)), (1.0, jnp.ones((4,))), jnp.ones((3, 4))
    equation = equations(program, *operands)[-1]
    scan = jax_compat.scan_of(equation)
    assert jax_compat.kind(equation) is Kind.SCAN and (scan.consts, scan.carried) == (2, 2)
    assert scan.options == {"length": 3, "reverse": False, "unroll": 1}
    assert [aval.shape for aval in scan.body.in_avals] == [(), (4,), (), (4,), (4,)]


def test_a_primitive_is_a_scan_for_all_transforms_and_is_lowered_by_a_rule_of_its_own():
    def program(x, rows):
        return jax.lax.scan(lambda c, row: (c * 0.5 + row, c), x, rows)

    operands = jnp.float32(2), jnp.arange(4.0)
    equation = equations(program, *operands)[-1]
    scanned = jax_compat.scanned(equation.params)
    assert (scanned.length, scanned.is_reverse, len(scanned.body.out_avals)) == (4, False, 2)
    types = jax_compat.scan_types(operands, equation.params)
    assert [aval.shape for aval in types] == [(), (4,)]
    scan = jax_compat.scan_with(equation.params, list(map(jax.typeof, operands)), types)
    assert (scan.consts, scan.carried) == (0, 1)

    doubled = jax.make_jaxpr(lambda c, row: (2 * c, row))(*operands[:1], operands[0])
    last, _ = jax_compat.bind_scan(operands, jax_compat.with_scanned_body(equation.params, doubled), 1)
    assert float(last) == 2 * 2**4

    primitive = jax_compat.new_primitive("scan")

    def run_on(platform, **params):
        return lambda *operands: jax_compat.bind_scan(operands, params, 2 if platform == "cpu" else 1)

    jax_compat.define_like_scan(primitive, run_on=run_on)

    def ours(x, rows):
        return primitive.bind(x, rows, **equation.params)

    def total(f):
        return lambda x, rows: f(x, rows)[0] + (f(x, rows)[1] ** 2).sum()

    for transform in (
        lambda f: f,
        jax.jit,
        lambda f: jax.grad(total(f), (0, 1)),
        lambda f: jax.grad(jax.checkpoint(total(f)), (0, 1)),
        lambda f: lambda *o: jax.vmap(f)(*(jnp.stack([each, 2 * each]) for each in o)),
    ):
        found, expected = (jax.tree.leaves(transform(f)(*operands)) for f in (ours, program))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other)
    traced = jax.jit(ours).trace(*operands)
    on_cpu, on_tpu = (traced.lower(lowering_platforms=(each,)).as_text() for each in ("cpu", "tpu"))
    assert on_cpu.count("stablehlo.multiply") + on_cpu.count("call @closed_call") > on_tpu.count("stablehlo.multiply")


def test_a_ref_is_read_and_written_by_operations_of_one_and_two_operands():
    with jax_compat.outside_traces():
        ref = jax.new_ref(jnp.zeros(3))
    (read,) = equations(lambda: ref[...])
    (write,) = equations(lambda x: ref.__setitem__(..., x), jnp.ones(3))
    assert (jax_compat.kind(read), len(read.invars)) == (Kind.READ, 1)
    assert (jax_compat.kind(write), len(write.invars), len(write.outvars)) == (Kind.WRITE, 2, 1)
    assert jax_compat.is_ref(read.invars[0].aval) and not jax_compat.is_ref(read.outvars[0].aval)
    assert len(equations(lambda: ref[1])[-1].invars) > 1


def test_a_ref_among_a_programs_constants_is_the_one_it_was_recorded_with():
    with jax_compat.outside_traces():
        ref = jax.new_ref(jnp.zeros(3))
    assert jax.make_jaxpr(lambda: ref[...])().consts[0] is ref


@pytest.mark.parametrize("value", [np.zeros(3), np.float32(1), jax.random.key(0)], ids=str)
def test_a_ref_without_its_buffer_is_told_from_others(value):
    with jax_compat.outside_traces():
        ref, other = jax.new_ref(jnp.asarray(value)), jax.new_ref(jnp.asarray(value))
    jax_compat.drop_buffer(ref)
    assert jax_compat.is_ref_without_buffer(ref) and not jax_compat.is_ref_without_buffer(other)
    assert not jax_compat.is_ref_without_buffer(value)


def test_a_dropped_buffer_is_not_read():
    with jax_compat.outside_traces():
        ref = jax.new_ref(jnp.zeros(3))
    jax_compat.drop_buffer(ref)
    with pytest.raises(Exception, match="deleted|donated"):
        np.asarray(jax.freeze(ref))


def test_a_ref_that_was_made_without_a_buffer_is_like_one_that_lost_it():
    with jax_compat.outside_traces():
        ref, other = jax_compat.ref_without_buffer(jnp.zeros(3)), jax.new_ref(jnp.zeros(3))
    assert jax_compat.is_ref_without_buffer(ref) and jax.typeof(ref) == jax.typeof(other)

    def double(ref):
        return lambda x: jax.ref.swap(ref, ..., ref[...] * x)

    assert str(jax.make_jaxpr(double(ref))(2.0)) == str(jax.make_jaxpr(double(other))(2.0))
    with pytest.raises(Exception, match="deleted|donated"):
        np.asarray(jax.freeze(ref))
    with pytest.raises(Exception, match="deleted|donated"):
        jax.jit(double(ref))(2.0)


class Owner:
    """What a Ref may stand for."""


def test_programs_give_back_a_ref_that_knows_its_owner():
    owner = Owner()
    with jax_compat.outside_traces():
        ref = jax_compat.ref_without_buffer(jnp.zeros(3))
    jax_compat.set_owner_of_ref(ref, owner)
    inner = jax.jit(lambda x: ref[...] + x)
    program = jax.make_jaxpr(lambda x: inner(x) * 2)(1.0)
    (found,) = filter(jax_compat.is_ref_without_buffer, jax_compat.constants_of(program).values())
    assert jax_compat.owner_of_ref(found) is owner
    del owner
    gc.collect()
    assert jax_compat.owner_of_ref(ref) is None


def test_calls_of_exported_programs_import_scipy_where_they_solve(tmp_path):
    """In a process of its own, since SciPy is imported once."""
    calls = {"lean": lambda x: x @ x, "solve": lambda x: jnp.linalg.cholesky(x @ x.T)}
    for name, function in calls.items():
        exported = jax.export.export(jax.jit(function), platforms=["cpu"])(jnp.eye(2))
        assert (jax_compat.without_lapack(exported) is exported) == (name == "solve")
        (tmp_path / name).write_bytes(exported.serialize())
    several = jax.export.export(jax.jit(calls["lean"]), platforms=["cpu", "tpu"])(jnp.eye(2))
    assert jax_compat.without_lapack(several) is several
    program = (
        "import sys, jax, pathlib\n"
        "from autograph.backends.xla import jax_compat\n"
        "for name in ('lean', 'solve'):\n"
        "    found = jax.export.deserialize(bytearray((pathlib.Path(sys.argv[1]) / name).read_bytes()))\n"
        "    value = jax_compat.without_lapack(found).call(2 * jax.numpy.eye(2))\n"
        "    print(value.tolist(), 'scipy.linalg' in sys.modules)\n"
    )
    run = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["[[4.0, 0.0], [0.0, 4.0]] False", "[[2.0, 0.0], [0.0, 2.0]] True"]


def test_operations_that_are_looked_for():
    assert jax_compat.is_stop_gradient(only_equation(jax.lax.stop_gradient, 1.0))
    assert jax_compat.cast_to(only_equation(lambda x: x.astype(jnp.int32), jnp.float32(1))) == jnp.int32
    assert jax_compat.cast_to(only_equation(jnp.sin, 1.0)) is None
    assert jax_compat.exponent(only_equation(lambda x: jax.lax.integer_pow(x, 3), 2.0)) == 3
    to_even, away = jax.lax.RoundingMethod.TO_NEAREST_EVEN, jax.lax.RoundingMethod.AWAY_FROM_ZERO
    assert jax_compat.rounds_to_even(only_equation(lambda x: jax.lax.round(x, to_even), 0.5))
    assert not jax_compat.rounds_to_even(only_equation(lambda x: jax.lax.round(x, away), 0.5))


def test_a_symbolic_size_as_a_value():
    (size,) = jax.export.symbolic_shape("n")
    assert isinstance(size, jax_compat.symbolic_size_class())
    found = equations(lambda x: x.shape[0] + jnp.sum(x), jax.ShapeDtypeStruct((size,), np.float32))
    assert sum(map(jax_compat.is_symbolic_size, found)) == 1
    assert jax_compat.size_at(2 * size + 1, {"n": 3}) == 7 and type(jax_compat.size_at(size, {"n": 3})) is int
    assert jax_compat.size_at(size, {"n": size + 1}) == size + 1


def test_a_program_with_other_types_and_parameters():
    (size,) = jax.export.symbolic_shape("n")

    def f(x):
        return jax.nn.relu(jnp.zeros(x.shape)) * x.shape[0] + x

    program = jax.make_jaxpr(f)(jax.ShapeDtypeStruct((size,), np.float32))
    rules: list = []

    def aval(found):
        assert jax_compat.is_array_type(found)
        return jax_compat.with_shape(found, (3,) if found.shape else ())

    def retyped(jaxpr):
        return jax_compat.retyped(jaxpr, aval, lambda _: 3, part, rules)

    def part(name, value):
        if isinstance(value, jax_compat.ClosedJaxpr):
            return jax_compat.ClosedJaxpr(retyped(value.jaxpr), value.consts)
        if jax_compat.is_jaxpr(value):
            return retyped(value)
        return (3,) if name == "shape" and value else value

    made = jax_compat.ClosedJaxpr(retyped(program.jaxpr), program.consts)
    assert [found.shape for found in made.out_avals] == [(3,)]
    assert jax_compat.replay(made, np.ones(3, np.float32))[0].tolist() == [1, 1, 1]
    (rule,) = rules
    jaxpr, _, zeros = rule()
    assert len(jaxpr.invars) == 2 and not any(zeros)
    assert type(only_equation(jax.jit(jnp.sin), 1.0).params["in_shardings"][0]) in jax_compat.sizeless_classes()
    assert isinstance(jax.random.key(0).dtype, jax_compat.sizeless_classes())


def test_item_assignment_is_a_scatter_of_array_indices_and_values():
    equation = equations(lambda x, k: x.at[k].set(7.0), jnp.zeros(4), 2)[-1]
    other = equations(lambda x, k: x.at[k].set(8.0), jnp.zeros(4), 2)[-1]
    summed = equations(lambda x, k: x.at[k].add(7.0), jnp.zeros(4), 2)[-1]
    found = [[each for each in jaxpr if jax_compat.is_scatter(each)] for jaxpr in ([equation], [other], [summed])]
    assert all(len(each) == 1 for each in found)
    assert [atom.aval.shape for atom in equation.invars] == [(4,), (1,), ()]
    assert jax_compat.drops_out_of_range(equation)
    assert jax_compat.are_one_scatter(equation, other) and not jax_compat.are_one_scatter(equation, summed)


def test_a_scatter_of_one_block_says_where_and_how_large():
    def window(write, *operands):
        return jax_compat.scatter_window(equations(write, *operands)[-1])

    square = jnp.zeros((4, 3))
    assert window(lambda x, i: x.at[i].set(7.0), jnp.zeros(4), 2) == ((0,), (1,))
    assert window(lambda x, i: x.at[i].add(x[0]), square, 2) == ((0,), (1, 3))
    assert window(lambda x, i: x.at[:, i].set(1.0), square, 2) == ((1,), (4, 1))
    assert window(lambda x, i: x.at[i, i].set(1.0), square, 2) == ((0, 1), (1, 1))
    assert window(lambda x, i: x.at[i].set(1.0), jnp.zeros(4), jnp.arange(2)) is None
    assert jax_compat.scatter_window(only_equation(jnp.sin, 1.0)) is None


def test_a_slice_and_a_write_within_a_block_are_one_of_the_array():
    square = jnp.arange(12.0).reshape(4, 3)
    sliced, squeeze = equations(lambda x, i: x[i], square, 2)[-2:]
    assert jax_compat.squeezed_axes(squeeze) == (0,)
    (array, row, _), result = sliced.invars, jax_compat.variable(jax.typeof(jnp.ones((1, 1))))
    smaller = jax_compat.slice_like(sliced, array, [row, row], result)
    program = jax_compat.program_of([smaller], [array, row], [result], {})
    assert jax_compat.replay(program, square, 2)[0].tolist() == [[8.0]]

    def write(x, i, row, j):
        return x.at[i].set(row), row.at[j].set(-1.0)

    found = [each for each in equations(write, square, 2, square[2], 1) if jax_compat.is_scatter(each)]
    written = jax_compat.scatter_within(*found)
    operands = [found[0].invars[0], found[0].invars[1], *found[1].invars[1:2]]
    program = jax_compat.program_of(written, operands, written[-1].outvars, {})
    indices = jnp.array([2]), jnp.array([1])
    assert jax_compat.replay(program, square, *indices)[0].tolist() == square.at[2, 1].set(-1.0).tolist()


def test_a_write_in_range_is_an_update_of_a_slice():
    square = jnp.arange(12.0).reshape(4, 3)
    (scatter,) = [
        each for each in equations(lambda x, i: x.at[i, 1].set(-1.0), square, 2) if jax_compat.is_scatter(each)
    ]
    array, row = scatter.invars[0], jax_compat.variable(jax.typeof(jnp.int32(0)))
    zero = jax_compat.literal(np.int32(1), jax.typeof(np.int32(1)))
    written = jax_compat.update_in_range(scatter, [row, zero])
    program = jax_compat.program_of(written, [array, row], scatter.outvars, {})
    assert jax_compat.replay(program, square, 2)[0].tolist() == square.at[2, 1].set(-1.0).tolist()


def test_a_scatter_of_blocks_of_one_element_in_lanes_is_one_of_elements():
    def write(x, block, i, j):
        return jax.lax.dynamic_update_slice(x, block, (i, j))

    lanes = jnp.arange(24.0).reshape(2, 4, 3), jnp.array([[[-1.0]], [[-2.0]]]), jnp.array([3, 9]), jnp.array([0, 1])
    found = jax.make_jaxpr(jax.vmap(write))(*lanes)
    (at,) = [k for k, each in enumerate(found.eqns) if jax_compat.is_scatter(each)]
    written = jax_compat.without_unit_axes(found.eqns[at])
    assert written[-1].invars[2].aval.shape == (2,)
    program = jax_compat.with_equations(found, [*found.eqns[:at], *written, *found.eqns[at + 1 :]])
    assert jax_compat.replay(program, *lanes)[0].tolist() == jax.vmap(write)(*lanes).tolist()

    rows = jax.make_jaxpr(jax.vmap(write))(lanes[0], jnp.ones((2, 1, 2)), *lanes[2:])
    (scatter,) = [each for each in rows.eqns if jax_compat.is_scatter(each)]
    assert jax_compat.without_unit_axes(scatter)[-1].invars[2].aval.shape == (
        2,
        2,
    )  # the axis that it writes two of is left
    (scatter,) = [each for each in equations(lambda x: x.at[:1].set(1.0), jnp.ones(3)) if jax_compat.is_scatter(each)]
    assert jax_compat.without_unit_axes(scatter) == [scatter]  # not in lanes


def test_numbers_of_a_slice():
    (sliced,) = equations(lambda x: jax.lax.slice(x, [1], [6], [2]), jnp.arange(8))
    assert list(jax_compat.sliced_numbers(sliced)) == [1, 3, 5]
    (sliced,) = equations(lambda x: jax.lax.slice(x, [1], [3]), jnp.arange(8))
    assert list(jax_compat.sliced_numbers(sliced)) == [1, 2]


def test_rows_of_a_slice():
    def rows(shape, *arguments):
        return jax_compat.sliced_rows(only_equation(lambda x: jax.lax.slice(x, *arguments), jnp.zeros(shape)))

    assert rows((8,), [1], [6]) == range(1, 6)
    assert rows((8, 3), [1, 0], [6, 3]) == range(1, 6)
    assert rows((8,), [1], [6], [2]) is None and rows((8, 3), [1, 0], [6, 2]) is None
    assert jax_compat.sliced_rows(only_equation(jnp.sin, 1.0)) is None
    (size,) = jax.export.symbolic_shape("n")
    program = jax.make_jaxpr(lambda x: jax.lax.slice(x, [1], [size]))(jax.ShapeDtypeStruct((size,), jnp.float32))
    assert jax_compat.sliced_rows(program.jaxpr.eqns[-1]) is None


def test_what_is_a_view():
    views = [
        lambda x: x[1],
        lambda x: x[1:, 0],
        lambda x: x.T,
        lambda x: x.reshape(-1),
        lambda x: x[::-1],
        lambda x: x[None],
    ]
    copies = [lambda x: x.copy(), lambda x: x + 0, lambda x: jnp.array(x), lambda x: x[jnp.array([0, 1])]]
    copies += [lambda x: x[0, 0], lambda x: jnp.full((3, 3), x[0, 0]), lambda x: jnp.sort(x), lambda x: x]

    def root(x, view):
        found = view(x)
        while (outer := jax_compat.viewed(found)) is not None:
            found = outer
        return found is x

    def f(x):
        assert all(root(x, view) for view in views)
        assert not any(jax_compat.viewed(copy(x)) is x for copy in copies)
        return x

    jax.make_jaxpr(f)(jnp.ones((2, 3)))


def test_what_reads_and_writes_elements():
    table, row = jnp.zeros((4, 3)), jnp.ones((1, 3))
    read = only_equation(lambda x, i: jax.lax.dynamic_slice_p.bind(x, i, i, slice_sizes=(1, 3)), table, 2)
    part = only_equation(lambda x, i: jax.lax.dynamic_slice_p.bind(x, i, i, slice_sizes=(1, 2)), table, 2)
    gathered = equations(lambda x, i: x[i], table, jnp.array([1, 2]))[-1]
    update = only_equation(lambda x, y, i: jax.lax.dynamic_update_slice_p.bind(x, y, i, i), table, row, 2)
    corner = only_equation(lambda x, y, i: jax.lax.dynamic_update_slice_p.bind(x, y, i, i), table, row[:, :1], 2)
    scatter = equations(lambda x, i: x.at[i].set(7.0), table, 2)[-1]
    joined = only_equation(lambda x, y: jnp.concatenate([x, y]), table, row)
    cast = only_equation(lambda x: jax.lax.convert_element_type(x, jnp.int32), table)
    every = [read, part, gathered, update, corner, scatter, joined, cast]

    def those(is_one):
        return [each for each in every if is_one(each)]

    assert those(jax_compat.is_read_of_elements) == [read, part, gathered]
    assert those(jax_compat.is_read_of_row) == [read]
    assert those(jax_compat.is_update) == [update, corner, scatter]
    assert those(jax_compat.is_update_of_row) == [update]
    assert those(jax_compat.is_concatenation) == [joined] and those(jax_compat.is_cast) == [cast]
    weaker = only_equation(lambda x: jax_compat.weak(x), table)
    assert [each for each in (cast, weaker) if jax_compat.is_cast_of_weakness(each)] == [weaker]


def test_a_barrier_between_a_result_and_what_uses_it():
    program = jax.make_jaxpr(lambda x: jnp.sin(x) + 1)(2.0)
    sine, added = program.jaxpr.eqns
    computed, barrier = jax_compat.held_apart(sine, [0])
    held = jax_compat.with_equations(program, [computed, barrier, added])
    assert [jax_compat.name_of(each) for each in held.jaxpr.eqns] == ["sin", "optimization_barrier", "add"]
    assert jax_compat.replay(held, 2.0) == jax_compat.replay(program, 2.0)


def test_an_equation_with_other_operands():
    assert jax_compat.bind_again(only_equation(jnp.sin, 1.0), [jnp.float32(0.0)]) == [0.0]
    several = only_equation(lambda x: jax.lax.sort_p.bind(x, x, dimension=0, is_stable=True, num_keys=1), jnp.ones(2))
    assert [each.tolist() for each in jax_compat.bind_again(several, [jnp.array([2.0, 1.0])] * 2)] == [[1.0, 2.0]] * 2


def test_equations_rewritten_as_they_are_recorded():
    def cosines(equation):
        cosine = only_equation(jnp.cos, 1.0)
        return jax_compat.equation_like(equation, cosine.primitive, cosine.params, equation.invars, equation.outvars)

    program = jax.make_jaxpr(lambda x: jax_compat.record_here(lambda: [jnp.sin(x)], cosines))(0.0)
    assert [jax_compat.name_of(each) for each in program.jaxpr.eqns] == ["cos"]


def test_a_value_cast_as_a_result_of_another():
    (equation,) = equations(lambda x: x * x, jnp.int32(3))
    operand = jax_compat.variable(jax.typeof(jnp.float32(0)))
    program = jax_compat.program_of([jax_compat.cast_like(equation, operand)], [operand], equation.outvars, {})
    assert program.out_avals == [equation.outvars[0].aval]
    assert jax_compat.replay(program, jnp.float32(2.5)) == [2]


def test_a_program_of_fewer_operands_and_other_results():
    program = jax.make_jaxpr(lambda x, y, z: (x + 1, z * 2))(1.0, 2.0, 3.0)
    x, _, z = program.jaxpr.invars
    assert jax_compat.replay(jax_compat.with_operands(program, [x, z]), 1.0, 3.0) == [2.0, 6.0]
    last = program.jaxpr.outvars[1:]
    assert jax_compat.replay(jax_compat.with_results(program, last), 1.0, 2.0, 3.0) == [6.0]


def test_tables_of_operations_name_operations():
    """Those that some version of JAX does not have are listed: a name that is none any more is a hole in a table."""
    made = {name for name in dir(jax.lax) if name.endswith("_p")}
    known = {getattr(jax.lax, name).name for name in made} | {"stop_gradient", "add_any", "random_bits"}
    not_everywhere = {"one_minus_square", "log2", "add_jaxvals"}
    tables = [
        selects._ANY_DTYPE,
        selects._INTEGERS_ONLY,
        set(cost_model.OPERATIONS),
        chunks._ELEMENTWISE,
        residuals._PLAIN,
        set(rolled._OPERATIONS),
    ]
    tables.append(jax_compat._SCATTERS)
    assert set().union(*tables) - known - not_everywhere == set()


# Types.


def test_types():
    weak = jax.typeof(jnp.asarray(1.0))
    assert weak.weak_type and not jax_compat.strong(weak).weak_type and jax_compat.strong(weak).dtype == weak.dtype
    assert jax_compat.stacked(5, jax_compat.strong(weak)).shape == (5,)


# Traces.


def test_what_traces_do():
    seen = {}

    def look(name):
        def run(x):
            seen[name] = jax_compat.current_trace()
            return x * 2.0

        return run

    look("run")(1.0)
    jax.make_jaxpr(look("record"))(1.0)
    jax.vmap(look("map"))(jnp.ones(2))
    jax.jvp(look("differentiate"), (1.0,), (1.0,))
    jax.grad(look("linearize"))(1.0)
    assert jax_compat.does(seen["run"], "running")
    assert jax_compat.does(seen["record"], "recording")
    assert jax_compat.does(seen["map"], "mapping")
    assert jax_compat.does(seen["differentiate"], "differentiating")
    assert jax_compat.does(seen["linearize"], "differentiating")
    assert jax_compat.trace_around(seen["map"]) is seen["run"]
    assert not any(jax_compat.does(seen["run"], what) for what in ("recording", "mapping", "differentiating"))


def test_a_shard_map_maps():
    mesh, seen = jax.make_mesh((1,), ("parts",), axis_types=(jax.sharding.AxisType.Auto,)), []

    def block(x):
        seen.append(jax_compat.current_trace())
        return x * 2

    spec = jax.sharding.PartitionSpec("parts")
    jax.jit(jax.shard_map(block, mesh=mesh, in_specs=spec, out_specs=spec))(jnp.ones(2))
    trace = seen[0]
    while trace is not None and not jax_compat.does(trace, "mapping"):
        trace = jax_compat.trace_around(trace)
    # Under `jit` JAX records the block with its mesh in its types instead; then nothing around it maps.
    assert trace is not None or jax_compat.does(seen[0], "recording")


def test_a_value_knows_the_equation_that_it_was_recorded_by():
    found = []

    def f(x, y):
        z = jnp.sin(x) * y
        equation = jax_compat.recorded_by(z)
        found.append([jax_compat.name_of(equation), jax_compat.name_of(jax_compat.recorded_by(equation.invars[0]))])
        assert jax_compat.recorded_by(x) is None
        return z

    x = jnp.ones(2)
    jax.make_jaxpr(f)(x, x)
    jax.make_jaxpr(jax.vmap(f))(x, x)
    jax.make_jaxpr(lambda x: jax.jvp(f, (x, x), (x, x)))(x)
    assert [each[0] for each in found] == ["mul"] * 3
    assert found[0] == ["mul", "sin"] and jax_compat.recorded_by(x) is None and jax_compat.recorded_by(1.0) is None


def test_numbers_at_hand():
    found = []

    def f(x):
        found.extend([jax_compat.number_at_hand(jnp.asarray(3)), jax_compat.number_at_hand(x)])
        return x

    jax.make_jaxpr(f)(1.0)
    assert found == [3, None] and jax_compat.number_at_hand(jnp.asarray(2.0)) == 2.0


def test_equations_are_counted_while_they_are_recorded():
    counts = []

    def look(x):
        counts.append(jax_compat.equations_recorded())
        return x * 2

    def program(x):
        x = look(jnp.sin(x))
        return jax.vmap(look)(jnp.stack([x, x])) + jax.grad(look)(x)

    before = jax_compat.equations_recorded()
    recorded = len(jax.make_jaxpr(program)(1.0).eqns)
    assert before == 0 and counts[0] == 1 and 1 < counts[1] < counts[2] <= recorded


def test_tracers_belong_to_their_trace():
    def look(x):
        assert jax_compat.is_tracer(x) and jax_compat.trace_of(x) is jax_compat.current_trace()
        assert jax_compat.known_value(x) is None
        with pytest.raises(jax.errors.ConcretizationTypeError):
            jax_compat.concrete(x)
        return x

    jax.make_jaxpr(look)(1.0)
    assert jax_compat.trace_of(1.0) is None and not jax_compat.is_tracer(jnp.ones(2))


def test_a_tracer_is_live_while_its_trace_goes_on():
    kept = []

    def look(x):
        kept.append(x)
        assert jax_compat.is_live(x)
        jax.make_jaxpr(lambda y: kept.append(y) or jax_compat.is_live(x) and y)(x)
        assert not jax_compat.is_live(kept[1]) and jax_compat.is_live(x)
        return x

    jax.make_jaxpr(look)(1.0)
    assert not jax_compat.is_live(kept[0])


def test_eager_differentiation_has_values_at_hand():
    def look(x):
        assert float(jax_compat.known_value(x)) == 3 and float(jax_compat.concrete(x)) == 3
        return x * x

    assert float(jax.grad(look)(3.0)) == 6


def test_operations_run_at_once_outside_of_traces():
    def look(x):
        with jax_compat.outside_traces():
            assert not jax_compat.is_tracer(jnp.ones(2) * 3) and jax_compat.does(jax_compat.current_trace(), "running")
        assert jax_compat.is_tracer(jnp.ones(2) * 3)
        return x

    jax.make_jaxpr(look)(1.0)


class Names(jax_compat.RecordingTrace):
    def __init__(self, parent):
        super().__init__(parent)
        self.seen = []

    def on_stage(self, value, staged):
        self.seen.append("stage")

    def on_operation(self, primitive, operands, params):
        self.seen.append(primitive.name)
        with jax_compat.in_trace(self.parent_trace):
            return primitive.bind(*operands, **params)

    def on_ruled_call(self, call, operands):
        self.seen.append("ruled")
        with jax_compat.in_trace(self.parent_trace):
            return call(*operands)


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit, lambda f: jax.jit(jax.grad(f))])
def test_a_recording_trace_sees_operations_and_leaves_them_be(transform):
    traces = []

    def run(x):
        traces.append(Names(jax_compat.current_trace()))
        with jax_compat.in_trace(traces[-1]):
            return ruled_vjp()(ruled_jvp()(jax.lax.mul(jax.lax.sin(x), x)))

    plain = lambda x: 4 * jnp.sin(x) * x  # noqa: E731
    np.testing.assert_allclose(transform(run)(0.5), transform(plain)(0.5), rtol=1e-6)
    seen = [name for name in traces[0].seen if name not in ("stage", "convert_element_type")]
    assert seen == ["sin", "mul", "ruled", "ruled"]


# Effects and calls of Python.


def test_an_effect_of_our_own_passes_through_all_statements():
    effect, primitive = jax_compat.passing_effect("tell"), jax_compat.new_primitive("tell")
    told = []
    jax_compat.define_effect(
        primitive,
        effect,
        run=lambda x: told.append(float(x)) or [],
        jvp=lambda primals, tangents: (primitive.bind(*primals), []),
        batch=lambda operands, dims: (primitive.bind(operands[0][0]), []),
        lower=lambda ctx, x: [],
    )

    def program(x):
        def body(c, _):
            jax.lax.cond(c > 0, lambda: primitive.bind(c), lambda: [])
            return c * 2, None

        return jax.lax.scan(jax.checkpoint(body), x, None, 2)[0]

    assert str(effect) == "tell" and effect in jax.make_jaxpr(program)(1.0).effects
    assert effect in jax.make_jaxpr(jax.vmap(jax.grad(program)))(jnp.ones(2)).effects
    assert float(jax.jit(jax.grad(program))(1.0)) == 4
    primitive.bind(jnp.float32(3))
    jax.vmap(primitive.bind)(jnp.arange(2.0))
    assert told == [3, 0]


def test_an_operation_that_is_recorded_only():
    effect, primitive = jax_compat.passing_effect("keep"), jax_compat.new_primitive("keep")

    def refuse(*_, size, **__):
        raise ValueError(f"of {size}")

    jax_compat.define_recorded_only(primitive, effect, types=lambda *avals, size: list(avals[:size]), refuse=refuse)

    def program(x):
        return jax.lax.cond(x > 0, lambda: primitive.bind(x, x * 2, size=1), lambda: [x])[0]

    recorded = jax.make_jaxpr(program)(1.0)
    assert effect in recorded.effects and [aval.shape for aval in recorded.out_avals] == [()]
    for run in (jax.jit(program), jax.grad(program), lambda x: jax.vmap(program)(jnp.full(2, x))):
        with pytest.raises(ValueError, match="of 1"):
            run(1.0)


def test_calls_of_python():
    def call(x):
        return jax.experimental.io_callback(np.sin, jax.ShapeDtypeStruct((), np.float32), x, ordered=True)

    program = jax.make_jaxpr(call)(1.0)
    (equation,) = program.jaxpr.eqns
    assert jax_compat.calls_python(program) and jax_compat.is_call_of_python(equation.primitive)
    assert jax_compat.python_function(equation) is np.sin
    shown = jax.make_jaxpr(lambda x: jax.debug.print("{}", x))(1.0)
    assert not jax_compat.calls_python(shown) and jax_compat.is_call_of_python(shown.jaxpr.eqns[-1].primitive)
    plain = only_equation(jnp.sin, 1.0)
    assert not jax_compat.calls_python(jax.make_jaxpr(jnp.sin)(1.0)) and jax_compat.python_function(plain) is None
    assert jax_compat.has_inner_effects({"jaxpr": program}) and not jax_compat.has_inner_effects(plain.params)


# Primitives of our own.


def halved():
    """``x / 2``, as a primitive."""
    primitive = jax_compat.new_primitive("halved")
    seen = []

    def types(aval):
        seen.append(type(aval).__name__)
        return [aval]

    def jvp(primals, tangents):
        (tangent,) = tangents
        outputs = primitive.bind(*primals)
        if jax_compat.is_zero(tangent):
            return outputs, [jax_compat.no_tangent(outputs[0])]
        return outputs, primitive.bind(tangent)

    jax_compat.define(
        primitive,
        types=types,
        run=lambda x: [x / 2],
        jvp=jvp,
        batch=lambda axis, operands, dims: (primitive.bind(*operands), [dims[0]]),
        transpose=lambda cotangents, x: primitive.bind(jax_compat.as_array(cotangents[0])),
    )
    return primitive


def test_a_primitive_of_our_own():
    primitive = halved()
    f = lambda x: primitive.bind(x)[0]  # noqa: E731
    assert float(f(jnp.float32(3))) == 1.5 and float(jax.jit(f)(3.0)) == 1.5
    assert float(jax.grad(lambda x: f(x) * x)(3.0)) == 3
    assert jax.vmap(f)(jnp.arange(2.0)).tolist() == [0, 0.5]
    assert float(jax.jvp(lambda x: f(jax.lax.stop_gradient(x)) + x, (3.0,), (1.0,))[1]) == 1


def test_a_batch_says_its_size_and_its_name():
    primitive, axes = jax_compat.new_primitive("looks_at_its_batch"), []

    def batch(axis, operands, dims):
        axes.append((axis.size, axis.name, axis.spmd_name))
        return primitive.bind(*operands), [dims[0]]

    jax_compat.define(primitive, types=lambda aval: [aval], run=lambda x: [x], jvp=None, batch=batch)
    jax.vmap(lambda x: primitive.bind(x)[0], axis_name="lanes")(jnp.ones(3))
    assert axes == [(3, "lanes", None)]


def test_what_is_known_is_computed_when_a_function_is_linearized():
    """Of a primitive (x, dx) -> (x * x, 2 * x * dx), as a derivative is, the first result is known."""
    primitive, linear, seen = jax_compat.new_primitive("pair"), halved(), []

    def run(x, dx):
        return [x * x, 2 * x * dx]

    def rule(trace, x, dx):
        seen.append((jax_compat.are_known([x]), jax_compat.are_known([dx]), jax_compat.are_known([x, dx])))
        (value,) = jax_compat.known_values([x])
        (tangent,) = jax_compat.left_for_later(trace, linear, [dx], {})
        return [value * value, jax_compat.sum_left_for_later(trace, value, tangent)]

    jax_compat.define(
        primitive,
        types=lambda x, dx: [x, dx],
        run=run,
        jvp=lambda primals, tangents: (primitive.bind(*primals), primitive.bind(primals[0], tangents[0])),
        batch=None,
    )
    jax_compat.define_partial_evaluation(primitive, rule, lambda *_: None)
    square = jax_compat.new_primitive("square_by_pairs")
    jax_compat.define(
        square,
        types=lambda x: [x],
        run=lambda x: [x * x],
        jvp=lambda primals, tangents: (lambda both: ([both[0]], [both[1]]))(primitive.bind(primals[0], tangents[0])),
        batch=None,
    )
    with jax.disable_jit(False):
        value, pull = jax.vjp(lambda x: square.bind(x)[0], jnp.float32(3))
    assert float(value) == 9 and float(pull(jnp.float32(1))[0]) == 0.5  # of the linear part that the rule has left
    assert seen == [(True, False, False)]


def test_symbolic_zeros():
    zero = jax_compat.no_tangent(jnp.float32(3))
    assert jax_compat.is_zero(zero) and not jax_compat.is_zero(jnp.zeros(()))
    assert float(jax_compat.as_array(zero)) == 0 and jax_compat.as_array(jnp.float32(2)) == 2


# What JAX's functions take for arrays.


def test_objects_of_a_class_stand_for_arrays():
    class Box:
        def __init__(self, value):
            self.value = value

    jax_compat.accept(Box, lambda box: box.value, lambda box: jax.ShapeDtypeStruct(box.value.shape, box.value.dtype))
    box = Box(jnp.arange(3.0))
    assert float(jnp.sum(box)) == 3 and jax.lax.mul(box, box).tolist() == [0, 1, 4]
    assert jax.jit(lambda x: x + jnp.sin(box))(1.0).shape == (3,)


def test_an_array_is_made_weak():
    made = jax_compat.weak(jnp.float32(3))
    assert made.weak_type and float(made) == 3 and made.dtype == jnp.float32
    assert (made + jnp.float16(1)).dtype == jnp.float16
    assert jax.make_jaxpr(jax_compat.weak)(jnp.ones(2)).out_avals[0].weak_type


def test_shard_map_says_whether_it_checks_what_varies():
    mesh = jax.make_mesh((1,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    parts = jax.sharding.PartitionSpec("data")
    seen = []

    def f(x):
        seen.append(jax_compat.checks_varying())
        return x

    for check in (True, False):
        jax.jit(jax.shard_map(f, mesh=mesh, in_specs=parts, out_specs=parts, check_vma=check))(jnp.ones(2))
    assert seen == [True, False]
    assert not jax_compat.checks_varying()


def in_checked_shard_map(block):
    """Run a function of a part of an array where JAX checks what varies along the axis "data"."""
    mesh = jax.make_mesh((1,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    parts = jax.sharding.PartitionSpec("data")
    return jax.jit(jax.shard_map(block, mesh=mesh, in_specs=parts, out_specs=parts))(jnp.ones(2))


def test_types_say_along_which_axes_values_vary():
    seen = []

    def block(x):
        whole = jnp.ones(2)
        seen.append([jax_compat.varying_axes([value]) for value in (x, whole, jax.lax.psum(x, "data"))])
        seen.append([jax_compat.varying_axes([value]) for value in jax_compat.vary_alike([x, whole])])
        seen.append(jax_compat.varying_axes([jax_compat.everywhere(jax.typeof(x))]))
        return x

    in_checked_shard_map(block)
    assert seen == [[{"data"}, set(), set()], [{"data"}, {"data"}], set()]


def test_types_can_be_made_that_say_so():
    seen = []

    def block(x):
        made = jax_compat.struct_varying_along(jax.ShapeDtypeStruct((3,), jnp.float32), frozenset({"data"}))
        program = jax.make_jaxpr(lambda y: jnp.sin(y))(made)
        seen.append(jax_compat.varying_axes(program.out_avals))
        varying = jax_compat.varying_along(jnp.ones(2), frozenset({"data"}))
        seen.append(jax_compat.varying_axes([varying]))
        seen.append(jax_compat.varying_axes([jax_compat.same_along(varying, frozenset({"data"}))]))
        seen.append(jax_compat.varying_axes(jax_compat.varying_everywhere(lambda: [jnp.ones(2)])()))
        return x

    in_checked_shard_map(block)
    assert seen == [{"data"}, {"data"}, set(), {"data"}]


def test_what_knows_of_axes_can_be_taken_out_of_a_program():
    seen = []

    def block(x):
        def f(y):
            whole = jax.jit(lambda z: jnp.where(z > 0, z * jnp.ones(2), 1.0))(y)
            return jax_compat.same_along(jax.lax.psum(whole + x, "data"), frozenset({"data"})) * jnp.ones(2)

        program = jax_compat.unaware(jax.make_jaxpr(f)(x))
        names = {equation.primitive.name for equation in jax_compat.all_equations(program.jaxpr)}
        assert "psum" in names and names.isdisjoint({"pvary", "psum_invariant", "same_along"})
        atoms = [v for e in jax_compat.all_equations(program.jaxpr) for v in (*e.invars, *e.outvars)]
        seen.append(jax_compat.varying_axes(atom.aval for atom in atoms))
        with jax_compat.unchecked():
            assert not jax_compat.checks_varying()
            jax.make_jaxpr(lambda y: jax_compat.replay(program, y))(jnp.ones(2))
        assert program.consts[0] is x
        assert not jax_compat.has_side_effects(program)
        return x

    in_checked_shard_map(block)
    assert seen == [set()] and not jax_compat.checks_varying()


def test_rules_of_our_primitives_run_without_the_check():
    twice = jax_compat.new_primitive("twice")
    jax_compat.define(
        twice,
        types=lambda x, y: [x, y],
        run=lambda x, y: [x, y],
        jvp=lambda primals, tangents: (twice.bind(*primals), list(map(jax_compat.as_array, tangents))),
        batch=lambda axis, operands, dims: (twice.bind(*operands), dims),
    )
    seen = []

    def block(x):
        def f(x):
            found = twice.bind(*jax_compat.vary_alike([x, jnp.ones(2)]))
            seen.append(jax_compat.varying_axes(found))
            return (found[0] * x).sum()

        return jax.grad(f)(x)

    np.testing.assert_array_equal(in_checked_shard_map(block), 2 * np.ones(2))
    assert seen == [{"data"}]


def test_settings_show_in_programs():
    before = jax_compat.recording_settings()
    with jax.default_matmul_precision("highest"):
        assert jax_compat.recording_settings() != before
    assert jax_compat.recording_settings() == before


def test_an_equation_has_a_place_in_the_source():
    def run(x):
        return jnp.sin(x)

    file, line, column, function = jax_compat.source_position(only_equation(run, 1.0))
    assert (file, line, column) == (__file__, run.__code__.co_firstlineno + 1, 15)
    assert function.endswith("run")


def test_an_equation_has_the_scopes_that_the_user_named():
    def run(x):
        with jax.named_scope("outer"), jax.named_scope("inner"):
            return jnp.sin(x)

    assert jax_compat.name_scopes(only_equation(run, 1.0)) == "outer/inner"
    (*_, product) = jax.make_jaxpr(jax.grad(run))(1.0).eqns
    assert jax_compat.name_scopes(product) == "transpose(jvp(outer))/inner"


def test_what_is_recorded_at_the_place_of_an_equation_comes_from_there():
    sine = only_equation(lambda x: jnp.sin(x), 1.0)

    def run(x):
        with jax_compat.at_source_of(sine):
            return jnp.cos(x)

    assert jax_compat.source_position(only_equation(run, 1.0)) == jax_compat.source_position(sine)
    with pytest.raises(ValueError) as caught, jax_compat.at_source_of(sine):
        raise ValueError
    assert caught.value.__cause__ is None


def test_selects_are_told_from_other_equations():
    assert jax_compat.is_select(only_equation(lambda x: jax.lax.select(x, 1.0, 2.0), True))
    assert not jax_compat.is_select(only_equation(jnp.sin, 1.0))


def test_products_are_counted():
    matrices = only_equation(lambda a, b: a @ b, jnp.ones((2, 3)), jnp.ones((3, 5)))
    assert jax_compat.multiply_adds(matrices) == 2 * 3 * 5
    images, kernels = jnp.ones((1, 4, 8, 8)), jnp.ones((6, 4, 3, 3))
    convolution = only_equation(lambda x, k: jax.lax.conv(x, k, (1, 1), "SAME"), images, kernels)
    assert jax_compat.multiply_adds(convolution) == 6 * 8 * 8 * 4 * 3 * 3
    assert jax_compat.multiply_adds(only_equation(jnp.sin, 1.0)) is None


def test_variables_are_made_for_a_type():
    aval = jax.typeof(jnp.ones(3))
    one, other = jax_compat.variable(aval), jax_compat.variable(aval)
    assert one.aval == aval and one is not other and one != other


def test_refs_are_read_and_written_by_the_program_where_constants_are_evaluated():
    ref = jax.new_ref(jnp.float32(2))

    @jax.jit
    def f(x):
        with jax.ensure_compile_time_eval():
            held = jax_compat.of_ref(ref)
            assert jax_compat.is_tracer(held) and not jax_compat.is_tracer(jnp.ones(2) + 1)
            jax_compat.write_ref(ref, held + x)

    f(1.0)
    f(1.0)
    assert float(ref[...]) == 4


def test_each_assumption_has_a_test():
    compat = ast.parse((ROOT / "backends/xla/jax_compat.py").read_text(encoding="utf-8"))
    names = {node.name for node in compat.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    here = ast.parse((ROOT / "tests/test_jax_compat.py").read_text(encoding="utf-8"))
    used = {node.attr for node in ast.walk(here) if isinstance(node, ast.Attribute)}
    covered_by_others = {"While", "Scan", "Scanned", "Kind", "kind_of"}
    assert {name for name in names if not name.startswith("_")} - used - covered_by_others == set()


def test_at_of_an_array_holds_the_array():
    x = outside_value()
    assert jax_compat.indexed_by_at(x.at) is x and jax_compat.indexed_by_at(x) is None
    held = []
    jax.make_jaxpr(lambda y: held.append(jax_compat.indexed_by_at(y.at) is y))(x)
    assert held == [True]


def test_a_lowering_asks_for_the_form_of_each_platform():
    asked = []

    def once(x):
        return [x * 2]

    def twice(x):
        return [x + x]

    def run_on(platform, **params):
        asked.append((platform, params))
        return twice if platform == "tpu" else once

    primitive = jax_compat.new_primitive("doubled_somewhere")
    jax_compat.define(primitive, types=lambda x, of: [x], run_on=run_on, jvp=None, batch=None)
    traced = jax.jit(lambda x: primitive.bind(x, of=7)[0]).trace(3.0)
    for platforms, sums, products in (
        (("tpu",), 1, 0),
        (("cpu", "cuda"), 0, 1),
        (("cpu", "cuda", "rocm", "tpu"), 1, 1),
    ):
        asked.clear()
        text = traced.lower(lowering_platforms=platforms).as_text()
        assert asked == [(platform, {"of": 7}) for platform in platforms]
        assert (text.count("stablehlo.add"), text.count("stablehlo.multiply")) == (sums, products)
    assert float(primitive.bind(3.0, of=7)[0]) == 6 and asked[-1][0] == jax.export.default_export_platform()


def test_what_jit_was_called_with_can_be_read():
    def f(x, y, n=1):
        return x + y * n

    mesh = jax.make_mesh((1,), ("x",))
    place = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    options = jax_compat.jit_options(
        jax.jit(
            f,
            static_argnums=2,
            donate_argnums=0,
            inline=True,
            keep_unused=True,
            in_shardings=(place, None),
            out_shardings=place,
        )
    )
    assert options["static_argnums"] == (2,) and options["donate_argnums"] == (0,)
    assert options["inline"] and options["keep_unused"] and options["out_shardings"] is place
    assert options["in_shardings"][0] is place
    again = jax.jit(f, **options)
    assert jax_compat.jit_options(again) == options and float(again(jnp.ones(()), 1.0, 3)) == 4
    plain = jax_compat.jit_options(jax.jit(f))
    assert "in_shardings" not in plain and "out_shardings" not in plain and plain["static_argnums"] == ()
    wrapping = functools.wraps(f)(lambda *args: f(*args))
    for made in (jax.jit(wrapping), jax.custom_vjp(wrapping), jax.custom_jvp(wrapping)):
        assert jax_compat.function_of(made) is wrapping
    assert jax_compat.jit_options(f) is jax_compat.jit_options(jax.vmap(f)) is None


def test_rules_of_custom_derivatives_can_be_read_and_replaced():
    begun = []

    @jax.custom_vjp
    def f(x):
        return x

    assert jax_compat.custom_rules(f) is None and jax_compat.rules_so_far(f) == {"fwd": None, "bwd": None}
    forward, backward = (lambda x: (x, None)), (lambda _, g: (g,))
    f.defvjp(forward, backward)
    assert jax_compat.custom_rules(f) == {"fwd": forward, "bwd": backward}
    made = jax_compat.with_custom_rules(
        f, lambda x: 2 * x, lambda rule: rule if rule is forward else lambda _, g: (5 * g,), begun.append
    )
    assert made is begun[0] and made(3.0) == 6 and float(jax.grad(made)(3.0)) == 5 and float(jax.grad(f)(3.0)) == 1

    @jax.custom_jvp
    def g(x, n):
        return x * n

    g = jax.custom_jvp(g.__wrapped__, nondiff_argnums=(1,))
    g.defjvp(lambda n, primals, tangents: (g(*primals, n), tangents[0]), symbolic_zeros=True)
    assert list(jax_compat.custom_rules(g)) == ["jvp"]
    made = jax_compat.with_custom_rules(g, g.__wrapped__, lambda rule: rule, begun.append)
    assert made.nondiff_argnums == (1,) and made.symbolic_zeros is True and made(2.0, 3) == 6
    g.of_no_known_kind = 1
    assert jax_compat.with_custom_rules(g, g.__wrapped__, lambda rule: rule, begun.append) is None
    assert jax_compat.custom_rules(jax.jit(f)) is None and jax_compat.rules_so_far(jax.jit(f)) == {}


def test_operations_run_at_once_in_one_place():
    current, running = jax_compat.find_top_trace, jax_compat.running_trace()
    assert current(None) is running

    def f(x):
        assert current(None) is not running
        with jax_compat.outside_traces():
            assert current(None) is running
        return x

    jax.jit(f)(jnp.ones(2)), jax.vmap(f)(jnp.ones(2)), jax.grad(f)(1.0)
    assert current(None) is running


def test_effects_that_failed_are_forgotten():
    """The next program with effects waits for none of them."""
    jax.jit(lambda x: jax.debug.print("{}", x, ordered=True))(1.0)
    assert jax_compat.runtime_tokens.current_tokens
    jax_compat.forget_order_of_effects()
    assert not jax_compat.runtime_tokens.current_tokens and not jax_compat.runtime_tokens.output_runtime_tokens
    jax.effects_barrier()


def test_constants_of_numpy_are_copied_when_they_are_recorded():
    def program(x, copies):
        if copies:
            jax_compat.copy_constants()
        weights = np.ones(2, np.float32)
        y = weights * x
        weights += 1
        return y + weights

    for transform in (jax.jit, lambda f, **_: jax.vmap(f, in_axes=(None, None), axis_size=1), lambda f, **_: f):
        f = transform(program, static_argnums=1)
        assert np.ravel(f(jnp.ones(2), True)).tolist() == [3, 3]
        assert jnp.ravel(jax.jacobian(f)(jnp.ones(2), True)).tolist() == [1, 0, 0, 1]
    held = jax.make_jaxpr(lambda x: program(x, False))(jnp.ones(2)).consts
    assert any(np.array_equal(each, [2, 2]) for each in held[:1])  # JAX holds the array itself


@pytest.mark.parametrize("dtype", [np.float32, np.float64])  # JAX keeps a copy of the second, in a type of its own
@pytest.mark.parametrize("writeable", [True, False])
def test_an_array_of_numpy_that_nothing_writes_to_is_one_constant(dtype, writeable):
    weights = np.ones(3, dtype)
    weights.flags.writeable = writeable

    def program(x):
        jax_compat.copy_constants()
        for _ in range(5):
            x = x * weights
        return x

    (held,) = jax.make_jaxpr(program)(jnp.ones(3)).consts
    assert held is not weights


def test_an_array_of_numpy_is_a_constant_for_each_of_its_contents():
    def program(x, dtype):
        jax_compat.copy_constants()
        weights = np.zeros(2, dtype)
        assert not jax_compat.has_copied_constants()
        found = []
        for number in (0.0, -0.0, np.nan, np.nan, 0.0):
            weights[0] = number
            found.append(x * weights)
        assert jax_compat.has_copied_constants()
        return found

    for dtype in (np.float32, np.float64):
        made = jax.make_jaxpr(program, static_argnums=1)(jnp.ones(2), dtype)
        assert [str(each[0]) for each in made.consts] == ["0.0", "-0.0", "nan"]
        results = jax.jit(program, static_argnums=1)(jnp.ones(2), dtype)
        assert [str(each[0]) for each in results] == ["0.0", "-0.0", "nan", "nan", "0.0"]


def test_constants_that_nothing_uses_are_forgotten():
    def program(x):
        jax_compat.copy_constants()
        weights = np.zeros(2)
        for number in range(3):
            weights[0] = number
            y = x * weights
        return y

    assert [float(each[0]) for each in jax.make_jaxpr(program)(jnp.ones(2)).consts][-1] == 2
