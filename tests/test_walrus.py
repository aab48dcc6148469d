"""Assignment expressions in tests that are traced, compared with plain Python."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged
from tests.long_loops import agree, is_one_loop


def in_a_while_test(x):
    while (y := x * 2) < 100:
        x = y + 1
    return x, y


def after_and(x):
    y = 0.0
    if x > 0 and (y := x * 2) > 4:
        x = x + y
    return x, y


def after_or(x):
    y = -1.0
    if x > 3 or (y := x + 1) > 2:
        x = x - y
    return x, y


def loop_with_break(x):
    i = 0
    while (i := i + 1) < 10:
        x = x * 1.5
        if x > 20:
            break
    return x, i


def loop_with_a_traced_rest(x):
    i = 0
    while (i := i + 1) < 6 and x < 50:
        x = x * 2
    return x, i


def in_a_conditional_expression(x):
    y = 0.0
    z = (y := x + 1) if x > 0 else (y := x - 1)
    return y, z


def kept_and_last(x):
    kept = [y for v in x if (y := v * 2) > 4]
    return kept, y


def running_sums(x):
    total = 0.0
    sums = [total := total + v for v in x]
    return sums, total


def differences(x):
    previous = x[0]
    return [-previous + (previous := v) for v in x]


def first_that_is_large(x):
    found = None
    return found if any((found := v) > 3.5 for v in x[::-1]) else -1.0


def last_of_all(x):
    return w if all((w := v) > 0 for v in x) else w - 100


def consumed_by_builtins(x):
    return (
        sum(y for v in x if (y := v - 2) > 0),
        max(z for v in x if (z := v * v) < 20),
        next(w for v in x if (w := v) < 4),
        w,
    )


def sets_and_dicts(x):
    large = {y for v in x if (y := v + 1) > 3}
    by_index = {k: z for k, v in enumerate(x) if (z := v * 2) > 4}
    return sorted(large), sum(by_index.values()), y, z


def nested(x):
    pairs = [[(w := u * v) for u in x if u > v] for v in x if (last := v) < 5]
    return [len(row) for row in pairs], w, last


def in_loops_and_branches(x):
    out, w = [], 0.0
    for i in range(2):
        for v in x:
            if any((w := v - q) > i for q in x):
                out.append(w)
    return out, w


def in_a_while_test_and_a_parameter(x, n=0.0, last=0.0):
    while (count := sum(1 for v in x if (last := v) > n)) > 1:
        n = n + 1
    return n, count, last


def of_a_function_around(x):
    k = 0.0

    def largest(x):
        nonlocal k
        return [k for v in x if (k := v) > 2]

    return largest(x), k


def in_a_method(x):
    class Above:
        def __init__(self, threshold):
            self.threshold = threshold

        def __call__(self, x):
            return [y for v in x if (y := v - self.threshold) > 0], y

    return Above(x[2])(x)


def in_a_generator(x):
    def pieces():
        kept = [y for v in x if (y := v) > 2]
        yield y
        yield kept[0]

    return list(pieces())


COMPREHENSIONS = (
    *(kept_and_last, running_sums, differences, first_that_is_large, last_of_all, consumed_by_builtins, sets_and_dicts),
    *(
        nested,
        in_loops_and_branches,
        in_a_while_test_and_a_parameter,
        of_a_function_around,
        in_a_method,
        in_a_generator,
    ),
)


@pytest.mark.parametrize("function", COMPREHENSIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("x", [(5.0, 3.0, 1.0, 4.0), (3.0, 0.5, -1.0, 3.0)])
def test_comprehensions_bind_names_of_the_function_around(function, x):
    compiled = staged.function(function)
    jax.tree.map(np.testing.assert_allclose, compiled(jnp.array(x)), function(x))
    assert ag.convert(function)(x) == function(x)


def counted(x):
    n = 0
    for _ in range(2):
        total = sum((n := n + 1) for v in x if v > 2)
    return total, n


def test_comprehensions_that_bind_names_in_a_batch():
    rows = ((5.0, 3.0, 1.0), (0.0, 1.0, 9.0))
    found = jax.vmap(ag.convert(counted))(jnp.array(rows))
    assert [tuple(map(int, pair)) for pair in zip(*found, strict=True)] == [counted(row) for row in rows]


def test_gradient_through_a_comprehension_that_binds_a_name():
    gradient = jax.grad(ag.convert(lambda x: first_that_is_large(x) * x[0]))(jnp.array([2.0, 4.0, 5.0]))
    assert gradient.tolist() == [5.0, 0.0, 2.0]


@pytest.mark.parametrize("x", [1.5, 3.0, 0.75, 40.0])
@pytest.mark.parametrize(
    "function",
    [in_a_while_test, after_and, after_or, loop_with_break, loop_with_a_traced_rest, in_a_conditional_expression],
)
def test_like_plain_python(function, x):
    expected = function(x)
    assert ag.convert(function)(x) == expected
    for run in (staged.jitted(function), lambda x: staged.function(function)(jnp.float32(x))):
        jax.tree.map(np.testing.assert_allclose, run(x), expected)


def test_a_long_loop_whose_test_binds_a_name():
    """It is one loop, which evaluates the test in each iteration."""

    def counted(x):
        i = 0
        while (i := i + 1) < 70:
            x = x * 0.5 + i
        return x, i

    def drained(x):
        items = list(range(100))
        while (k := items.pop()) > 20:
            x = x * 0.5 + k
        return x, k, len(items)

    def kept(x):
        i, out = 0, []
        while (i := i + 1) < 70:
            out.append(x * i)
        return out, i

    def by_a_method(x):
        class Countdown:
            left = 70

            def goes_on(self):
                self.left -= 1
                return self.left > 0

        countdown = Countdown()
        while countdown.goes_on():
            x = x * 0.5 + countdown.left
        return x, countdown.left

    x = jnp.float32(1.5)
    for function in (counted, drained, kept, by_a_method):
        agree(function(x), ag.function(function)(x))
    for function in (counted, by_a_method):
        assert is_one_loop(function, x)
