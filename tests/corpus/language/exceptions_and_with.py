"""`try`, `finally`, `with`, `assert` and `raise` beside staged control flow."""

import contextlib

from tests.corpus import program


@program(examples=[(3.0,), (-3.0,)])
def try_around_a_branch(x):
    try:
        if x > 0:
            y = x * 2
        else:
            y = -x
    except ValueError:  # pragma: no cover
        y = x
    return y


@program(examples=[(3.0,), (-3.0,)])
def finally_runs(x):
    order = []
    try:
        if x > 0:
            x = x + 1
    finally:
        order.append("finally")
    return x * len(order)


@program(examples=[(3.0, "a"), (3.0, "z")], static=("key",))
def python_exception_caught(x, key):
    table = {"a": 2.0}
    try:
        scale = table[key]
    except KeyError:
        scale = 0.5
    else:
        scale += 1
    return x * scale if x > 0 else x


@program(examples=[(3.0,), (-3.0,)])
def with_around_a_branch(x):
    with contextlib.nullcontext(2.0) as scale:
        if x > 0:
            x = x * scale
    return x


@program(examples=[(3.0,), (-3.0,)])
def return_from_within_with(x):
    with contextlib.suppress(ZeroDivisionError):
        if x > 0:
            return x
        x = x - 1
    return x * 2


@program(examples=[(3.0,), (0.5,)], refused=("jit", "vmap"))
def assert_that_holds(x):
    assert x > 0, "x must be positive"
    while x > 1:
        x = x / 2
        assert x > 0
    return x


@program(examples=[(3.0,), (0.5,)], refused=("jit", "vmap"))
def raise_that_is_not_reached(x):
    if x < 0:
        raise ValueError("negative")  # pragma: no cover
    return x + 1


@program(examples=[(3.0, 4), (3.0, 0)])
def finally_through_continue(x, n):
    count = 0
    for i in range(n):
        try:
            if i % 2 == 0:
                continue
            x = x + i
        finally:
            count += 1
    return x, count
