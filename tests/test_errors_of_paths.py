"""What Python raises on one path of a staged statement is raised when that path is taken, and only then."""

import datetime
import math
import sys
import traceback
from decimal import Decimal

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


class Box:
    pass


class Refusal(Exception):
    """Cannot be made again from its `args`."""

    def __init__(self, code, *, reason):
        super().__init__(f"{code}: {reason}")
        self.code = code


@ag.do_not_convert
def refuse():
    raise Refusal(3, reason="three")


def divide(n):
    return 1 / n


def division(x):
    n = 0
    if x > 5:
        return 1 / n
    return x


def division_in_a_callee(x):
    return divide(0) if x > 5 else x


def division_after_and(x):
    n = 0
    if x > 5 and 1 / n > 0:
        return x
    return -x


def index(x):
    values = [1.0, 2.0]
    if x > 5:
        x = x + values[3]
    return x


def pop_of_nothing(x):
    values = []
    if x > 5:
        values.pop()
    return x


def key(x):
    table = {"a": 1.0}
    if x > 5:
        x = x + table["b"]
    return x


def name(x):
    if x > 5:
        x = x + no_such_name  # noqa: F821
    return x


def attribute(x):
    box = Box()
    if x > 5:
        x = x + box.value
    return x


def attribute_of_none(x):
    box = None
    if x > 5:
        x = x + box.value
    return x


def length_of_a_number(x):
    if x > 5:
        x = len(3) + x
    return x


def parsing(x):
    if x > 5:
        x = x + int("five")
    return x


def unpacking(x):
    if x > 5:
        a, _ = (1, 2, 3)
        x = x + a
    return x


def decoding(x):
    if x > 5:
        b"\xff".decode("utf8")
    return x


def opening(x):
    if x > 5:
        open("/no/such/file")  # noqa: SIM115
    return x


def importing(x):
    if x > 5:
        import no_such_module  # noqa: F401
    return x


def of_a_users_class(x):
    if x > 5:
        refuse()
    return x


def on_both_paths(x):
    if x > 5:
        return 1 / 0
    return {}["key"]


def on_three_of_four_paths(x):
    if x > 10:
        result = 1 / 0
    elif x > 5:
        result = int("five")
    elif x > 3:
        result = [].pop()
    else:
        result = x
    return result


def caught_on_its_path(x):
    n = 0
    if x > 5:
        try:
            x = x + 1 / n
        except ZeroDivisionError:
            x = x + 3.0
    return x


def in_a_body_that_may_not_run(x):
    table = {}
    while x > 1:
        x = x / 2 + table["rate"]
    return x


def in_a_branch_of_a_loop(x):
    n = 0
    while x > 1:
        x = x - 1
        if x < 0.5:
            x = 1 / n
    return x


def missing_key_in_a_branch_of_a_loop(x):
    table = {"a": 1.0}
    for v in jnp.arange(4.0) + x:
        if v > 6:
            x = x + table["b"]
    return x


def sum_of_a_number_in_a_loop(x):
    for _ in range(jnp.int32(x) // 5):
        x = x + sum(x)
    return x


def length_of_a_traced_number(x):
    if x > 5:
        x = x + len(x)
    return x


def missing_attribute_in_a_loop_over_a_range(x):
    box = Box()
    for i in range(100):
        if x > 106:
            x = x + box.value
        x = x + i * 0.01
    return x


def outcome(function, x):
    try:
        return float(function(jnp.float32(x)))
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return type(error), str(error), error.args, last.filename.endswith(__file__.rpartition("/")[2]) and last.lineno


PROGRAMS = [
    division,
    division_in_a_callee,
    division_after_and,
    index,
    pop_of_nothing,
    key,
    name,
    attribute,
    attribute_of_none,
    length_of_a_number,
    parsing,
    unpacking,
    decoding,
    opening,
    of_a_users_class,
    on_both_paths,
    on_three_of_four_paths,
    caught_on_its_path,
    in_a_body_that_may_not_run,
    in_a_branch_of_a_loop,
    missing_key_in_a_branch_of_a_loop,
    missing_attribute_in_a_loop_over_a_range,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_type_text_and_line_are_pythons(program):
    staged = ag.function(program)
    for x in (1.0, 4.0, 7.0, 12.0):
        assert outcome(staged, x) == outcome(program, x)
    assert staged.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("program", [sum_of_a_number_in_a_loop, length_of_a_traced_number])
def test_a_number_is_no_sequence_where_the_path_that_takes_it_for_one_runs(program):
    staged = ag.function(program)
    for x in (1.0, 4.0):
        assert float(staged(jnp.float32(x))) == x
    with pytest.raises(TypeError, match="0-d|unsized"):
        staged(jnp.float32(12.0))
    with pytest.raises(ag.StagingError, match="TypeError depends on a traced condition"):
        jax.jit(ag.convert(program))(jnp.float32(12.0))


def test_failed_import():
    staged = ag.function(importing)
    assert float(staged(jnp.float32(1.0))) == 1.0
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        staged(jnp.float32(7.0))


def test_text_does_not_name_tracers():
    @ag.function
    def f(x):
        if x > 5:
            x = x + "text"
        return x

    assert float(f(jnp.float32(1.0))) == 1.0
    with pytest.raises(TypeError, match="unsupported operand") as caught:
        f(jnp.float32(7.0))
    assert "Tracer" not in str(caught.value)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + [1],
        lambda x: (1,) + x,
        lambda x: x + "a",
        lambda x: "a" + x,
        lambda x: x - {1},
        lambda x: x * None,
        lambda x: x < "a",
        lambda x: None > x,
        lambda x: x // [1],
    ],
)
def test_what_an_operator_refuses_beside_any_number_is_a_type_error(f):
    for number in (3, jnp.array(3)):
        with pytest.raises(TypeError):
            f(number)
    with pytest.raises(TypeError, match="unsupported operand|not supported between|can only concatenate") as caught:
        ag.function(f)(jnp.array(3))
    assert not isinstance(caught.value, ag.StagingError)


@pytest.mark.parametrize("f", [lambda x: datetime.timedelta(1) * x, lambda x: Decimal(1) + x])
def test_what_an_operator_takes_of_a_python_number_is_said_to_need_its_value(f):
    f(3)
    with pytest.raises(
        ag.StagingError, match=r"test_errors_of_paths\.py:\d+: .*\n  The value of a traced array is needed"
    ):
        ag.function(f)(jnp.array(3))


def test_under_vmap_and_grad():
    mapped = jax.vmap(ag.convert(on_three_of_four_paths))
    assert mapped(jnp.array([1.0, 2.0])).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="invalid literal"):
        mapped(jnp.array([1.0, 7.0]))
    slope = jax.grad(ag.function(on_three_of_four_paths))
    assert float(slope(jnp.float32(1.0))) == 1.0
    with pytest.raises(ZeroDivisionError):
        slope(jnp.float32(12.0))


def test_bare_jit_is_refused_with_the_line_and_the_error():
    text = r"return 1 / n\n  ZeroDivisionError depends.*\n    division by zero\n.*autograph.function"
    with pytest.raises(ag.StagingError, match=text):
        jax.jit(ag.convert(division))(jnp.float32(1.0))


def test_try_around_the_statement():
    @ag.function
    def f(x):
        n = 0
        try:
            if x > 5:
                x = 1 / n
        except ZeroDivisionError:
            x = -1.0
        return x

    assert [float(f(jnp.float32(x))) for x in (1.0, 6.0)] == [1.0, -1.0]


def test_variables_keep_their_values():
    v = ag.Variable(1.0)

    @ag.function
    def f(x):
        v.assign_add(1.0)
        if x > 5:
            v.assign_add(10.0)
            {}["key"]
        return x

    f(jnp.float32(1.0))
    assert v.numpy() == 2.0
    with pytest.raises(KeyError):
        f(jnp.float32(7.0))
    assert v.numpy() == 2.0


def test_errors_of_staging_are_raised_while_tracing():
    @ag.function
    def f(x):
        if x > 5:
            return jnp.ones(3) + jnp.ones(4)
        return x

    with pytest.raises(TypeError, match="incompatible shapes"):
        f(jnp.float32(1.0))

    @ag.function
    def g(x):
        if x > 5:
            return float(len(x.tobytes()))
        return x

    with pytest.raises(ag.StagingError, match="value of a traced array is needed here"):
        g(jnp.float32(1.0))


def test_variable_that_no_path_binds_before_it_is_read():
    def f(x):
        total = 0.0
        for v in x:
            if v > 50:
                total = total + last  # noqa: F821
            elif v > 2:
                last = v  # noqa: F841
        return total

    staged = ag.function(f)
    for values in ([1.0, 3.0, 60.0], [3.0, 1.0, 60.0], [1.0, 2.0, 1.0]):
        assert float(staged(jnp.array(values))) == float(f(jnp.array(values)))
    for values in ([1.0, 60.0, 3.0], [60.0, 3.0, 1.0]):
        with pytest.raises(UnboundLocalError, match="'last'"):
            staged(jnp.array(values))


def test_overflow_of_pythons_own():
    @ag.function
    def f(x):
        if x > 5:
            return math.exp(1000)
        return x

    assert float(f(jnp.float32(1.0))) == 1.0
    with pytest.raises(OverflowError, match="math range error"):
        f(jnp.float32(7.0))


def test_system_exit_on_one_path_ends_the_program_there_only():
    def by_raise(x):
        if x == 5:
            raise SystemExit(3)
        return x

    def by_call(x):
        for v in (1.0, x):
            if v > 4:
                sys.exit("stopped")
        return x

    def caught(x):
        try:
            if x == 5:
                sys.exit(3)
        except SystemExit as error:
            return x + error.code
        return x

    for f in (by_raise, by_call, caught):
        compiled = ag.function(f)
        assert compiled(jnp.float32(3.0)) == f(3.0)
    for f in (by_raise, by_call):
        with pytest.raises(SystemExit) as wanted:
            f(5.0)
        with pytest.raises(SystemExit) as found:
            ag.function(f)(jnp.float32(5.0))
        assert found.value.args == wanted.value.args
        with pytest.raises(ag.StagingError, match=r"SystemExit depends on a traced condition"):
            jax.jit(ag.convert(f))(5.0)
    assert ag.function(caught)(jnp.float32(5.0)) == jax.jit(ag.convert(caught))(5.0) == caught(5.0)


def test_an_interrupt_while_tracing_is_none_of_the_programs():
    def f(x):
        if x > 5:
            interrupted()
        return x

    with pytest.raises(KeyboardInterrupt):
        ag.function(f)(jnp.float32(3.0))


@ag.do_not_convert
def interrupted():
    raise KeyboardInterrupt


def stack_machine(codes, values):
    stack = []
    for code, value in zip(codes, values):
        match code:
            case 1:
                stack.append(value)
            case 2:
                top = stack.pop()
                stack[-1] += top
            case 3:
                stack.append(stack[-1])
            case _:
                raise ValueError("no such operation")
    return stack


@pytest.mark.parametrize("codes", [[1, 1, 2, 3, 2], [1, 3], [2, 1], [1, 2], [1, 7], [1, 2, 7]])
def test_a_list_that_the_first_iteration_leaves_with_one_element(codes):
    """All other paths of that iteration raise, and later ones pop that element."""
    values = [float(k + 2) for k in range(len(codes))]
    try:
        wanted = stack_machine(codes, values)
    except (IndexError, ValueError) as error:
        with pytest.raises(type(error), match=str(error)):
            ag.function(stack_machine)(jnp.array(codes), jnp.array(values))
    else:
        assert [float(v) for v in ag.function(stack_machine)(jnp.array(codes), jnp.array(values))] == wanted
