"""A variable that a staged statement binds on one path only raises as in Python wherever it is read, however that is spelled."""

import contextlib

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


@contextlib.contextmanager
def manager():
    yield 1


def augmented(x):
    if x > 5:
        y = x
    y += 1.0
    return y


def annotated(x):
    y: float
    if x > 5:
        y = x
    return y


def augmented_item(x):
    if x > 5:
        y = [x]
    y[0] += 1.0
    return y[0]


def item(x):
    if x > 5:
        y = [x]
    y[0] = 1.0
    return y[0]


def deleted(x):
    if x > 5:
        y = x
    del y
    return x


def by_a_lambda(x):
    if x > 5:
        y = x
    return (lambda: y)()


def by_a_function_made_before(x):
    def read():
        return y

    if x > 5:
        y = x
    return read()


def by_a_default(x):
    if x > 5:
        y = x

    def read(value=y):
        return value

    return read()


def by_a_function_that_updates(x):
    def update():
        nonlocal y
        y += 1.0

    if x > 5:
        y = x
    update()
    return y


def by_a_comprehension(x):
    if x > 5:
        y = x
    return [y for _ in range(2)][0]


def by_a_generator_expression(x):
    if x > 5:
        y = x
    return next(y for _ in range(2))


def by_a_class(x):
    if x > 5:
        y = x

    class Box:
        value = y

    return Box.value


def in_a_loop(x):
    for v in [1.0]:
        if x > v + 4:
            y = x
        y = y + v
    return y


def in_a_text(x):
    if x > 5:
        y = x
    f"{y}"
    return x


def in_a_with(x):
    if x > 5:
        y = x
    with manager():
        y = y + 1
    return y


def in_a_test(x):
    if x > 5:
        y = x
    while y > 0:
        y = y - 1
    return y


def before_a_walrus(x):
    if x > 5:
        y = x
    return y + (y := 3.0)


def in_a_guard(x):
    if x > 5:
        y = x
    match [1]:
        case [1] if y > 0:
            return x
    return -x


def after_and(x):
    if (y := x * 2) > 12 and (z := y + 1) > 0:
        return z
    return z


def after_a_conditional_expression(x):
    y = (z := x) if x > 5 else 0.0
    return y + z


def after_a_chain(x):
    if 5 < x < (z := 9.0):
        return z
    return z


def in_a_try(x):
    if x > 5:
        y = x
    try:
        z = y
    finally:
        pass
    return z


def deleted_and_read_by_a_lambda(x):
    y = x
    if x < 5:
        del y
    return (lambda: y)()


def named_as_an_exception(x):
    y = x
    try:
        if x < 5:
            raise ValueError
    except ValueError as y:  # noqa: F841
        x = x + 1.0
    return x + y


def named_as_an_exception_and_read_by_a_lambda(x):
    y = x
    try:
        if x < 5:
            raise ValueError
    except ValueError as y:  # noqa: F841
        x = x + 1.0
    return (lambda: y)()


def named_as_an_exception_at_a_break(x):
    y = x
    for k in ag.range(4):
        try:
            if x < 5 - k:
                raise ValueError
        except ValueError as y:  # noqa: F841
            x = x + 1.0
            if k < 2:
                break
    return y


READS = [
    augmented,
    annotated,
    augmented_item,
    item,
    deleted,
    by_a_lambda,
    by_a_function_made_before,
    by_a_default,
    by_a_function_that_updates,
    by_a_comprehension,
    by_a_generator_expression,
    by_a_class,
    in_a_loop,
    in_a_text,
    in_a_with,
    in_a_test,
    before_a_walrus,
    in_a_guard,
    after_and,
    after_a_conditional_expression,
    after_a_chain,
    in_a_try,
    deleted_and_read_by_a_lambda,
    named_as_an_exception,
    named_as_an_exception_and_read_by_a_lambda,
    named_as_an_exception_at_a_break,
]


@pytest.mark.parametrize("program", READS, ids=lambda program: program.__name__)
def test_read_of_a_variable_that_one_path_binds(program):
    staged = ag.function(program)
    assert float(staged(jnp.float32(7.0))) == float(program(jnp.float32(7.0)))
    with pytest.raises(NameError) as wanted:
        program(jnp.float32(1.0))
    with pytest.raises(NameError) as found:
        staged(jnp.float32(1.0))
    assert (type(found.value), str(found.value)) == (type(wanted.value), str(wanted.value))


def test_variable_that_an_iteration_deletes():
    def f(xs):
        t = 1.0
        for v in xs:
            if v > 2:
                del t
            elif v < 0:
                return t
        return 5.0

    staged = ag.function(f)
    for values in ([1.0, -1.0, 3.0], [1.0, 3.0, 1.0]):
        assert float(staged(jnp.array(values))) == f(values)
    with pytest.raises(UnboundLocalError, match="'t'"):
        staged(jnp.array([1.0, 3.0, -1.0]))


def test_nothing_is_evaluated_before_the_target_is_read():
    def f(log, x):
        if x > 0:
            y = x
        y += log.append("right")
        return y

    log = []
    with pytest.raises(UnboundLocalError):
        ag.convert(f)(log, -1)
    assert log == []


def test_variables_bound_before_are_read_as_they_are():
    def f(x):
        def read():
            return y

        y = x
        if x > 5:
            y += 1
        return read() + sum(y for _ in range(2))

    assert "bound" not in ag.to_code(f)
    assert float(ag.function(f)(jnp.float32(7.0))) == f(7.0)


class Holder:
    pass


def item_written_elsewhere(n, m):
    if n > 0:
        y = [n]
    if m > 0:
        y[0] = 5
    return y[0]


def key_written_elsewhere(n, m):
    if n > 0:
        y = {"a": n}
    if m > 0:
        y["a"] = 5
    return y["a"]


def list_lengthened_elsewhere(n, m):
    if n > 0:
        y = [n]
    if m > 0:
        y.append(5)
    return len(y)


def list_of_a_constant_lengthened_elsewhere(n, m):
    if n > 0:
        y = [0]
    if m > 0:
        y.append(5)
    return sum(y)


def list_lengthened_in_a_loop(n, m):
    if n > 0:
        y = [n]
    for _ in ag.range(m):
        y.append(5)
    return len(y)


def list_lengthened_by_the_same_condition(n, m):
    if n > 0:
        y = [0]
    for k in range(2):
        if n > 0:
            y.append(k + m)
    return sum(y) if n > 0 else 7


@pytest.mark.parametrize(
    "program",
    [
        item_written_elsewhere,
        key_written_elsewhere,
        list_lengthened_elsewhere,
        list_of_a_constant_lengthened_elsewhere,
        list_lengthened_in_a_loop,
        list_lengthened_by_the_same_condition,
    ],
)
def test_contents_of_a_container_that_one_path_binds(program):
    """A block that writes to it under another condition binds it on no path."""
    staged = ag.function(program)
    for n in (0, 1):
        for m in (0, 1):
            try:
                wanted = program(n, m)
            except UnboundLocalError as error:
                with pytest.raises(UnboundLocalError) as found:
                    staged(jnp.int32(n), jnp.int32(m))
                assert str(found.value) == str(error)
            else:
                assert int(staged(jnp.int32(n), jnp.int32(m))) == wanted


def test_a_block_that_leaves_a_variable_as_it_is():
    def f(n, m, flag):
        if n > 0:
            y = n
        if m > 0:
            if flag:
                y = 2
            m = m + 1
        return y + m

    staged = ag.function(f)
    assert int(staged(jnp.int32(1), jnp.int32(5), False)) == f(1, 5, False)
    assert int(staged(jnp.int32(1), jnp.int32(-5), True)) == f(1, -5, True)
    with pytest.raises(UnboundLocalError):
        staged(jnp.int32(0), jnp.int32(5), False)
    with pytest.raises(ag.StagingError, match=r"'y' may be undefined here: only one branch binds it at .*: if n > 0"):
        jax.jit(ag.convert(f), static_argnums=2)(jnp.int32(1), jnp.int32(5), False)


def test_an_attribute_of_an_object_that_one_path_binds():
    def f(n, m):
        if n > 0:
            y = Holder()
            y.a = n
        if m > 0:
            y.a = 5
        return y.a

    staged = ag.function(f)
    assert int(staged(jnp.int32(1), jnp.int32(0))) == 1
    for m in (0, 1):
        with pytest.raises((UnboundLocalError, AttributeError)):
            staged(jnp.int32(0), jnp.int32(m))


def test_the_name_of_an_exception_may_be_deleted_before_its_handler_ends():
    def handled(n, m):
        try:
            if n < 3:
                raise ValueError
        except ValueError as error:  # noqa: F841
            try:
                if m > n:
                    raise OverflowError
            except OverflowError as error:  # noqa: F841
                m = n
            n = n + 10 * m
        try:
            if n < 20:
                raise ValueError
        except ValueError as error:  # noqa: F841
            del error
            n = n + 1
        return n

    made = ag.function(handled)
    for n, m in ((1, 1), (1, 2), (2, 2), (5, 0), (50, 0)):
        assert int(made(jnp.asarray(n), jnp.asarray(m))) == handled(n, m)
