"""How often user code runs while it is traced: each branch once, each loop body once, at any depth."""

import collections

import jax
import jax.numpy as jnp
import pytest

import autograph as ag

X = jnp.array(2.0)
N = jnp.array(5)


@pytest.fixture(name="counts")
def counts_fixture():
    return collections.Counter()


@pytest.fixture(name="mark")
def mark_fixture(counts):
    """`mark(name)` counts a passage at trace time; unconverted, so that it is no write in a staged region."""

    @ag.do_not_convert
    def mark(name):
        counts[name] += 1

    return mark


def trace(function, *arguments):
    jax.make_jaxpr(ag.convert(function))(*arguments)


def test_each_branch_once(counts, mark):
    def f(x):
        if x > 0:
            mark("then")
            x = x + 1
        elif x < -1:
            mark("elif")
            x = x - 1
        else:
            mark("else")
        return x

    trace(f, X)
    assert counts == {"then": 1, "elif": 1, "else": 1}


def test_branch_not_taken_is_not_run_on_a_python_value(counts, mark):
    def f(x, flag):
        if flag:
            mark("then")
            return x
        mark("rest")
        return -x

    jax.make_jaxpr(ag.convert(f), static_argnums=1)(X, True)
    assert counts == {"then": 1}


def test_branches_that_join_different_types_once(counts, mark):
    def f(x):
        if x > 0:
            mark("then")
            y = 1
        else:
            mark("else")
            y = x * 0.5
        return y

    trace(f, X)
    assert counts == {"then": 1, "else": 1}


def test_early_returns_once(counts, mark):
    def f(x):
        mark("top")
        if x > 3:
            mark("first")
            return x
        mark("between")
        if x > 2:
            mark("second")
            return x * 2
        mark("end")
        return x * 3

    trace(f, X)
    assert counts == {"top": 1, "first": 1, "between": 1, "second": 1, "end": 1}


def test_conditional_expression_operands_once(counts, mark):
    def left(x):
        mark("left")
        return x + 1

    def right(x):
        mark("right")
        return x - 1

    def f(x):
        return left(x) if x > 0 else right(x)

    trace(f, X)
    assert counts == {"left": 1, "right": 1}


def test_while_body_once_and_test_once(counts, mark):
    def small(x):
        mark("test")
        return x < 100

    def f(x):
        while small(x):
            mark("body")
            x = x * 2
        return x

    trace(f, X)
    assert counts == {"test": 1, "body": 1}


@pytest.mark.parametrize("iterated", [N, jnp.arange(3.0)], ids=["range", "array"])
def test_for_body_once(counts, mark, iterated):
    def f(xs):
        total = 0.0
        for x in range(xs) if xs.ndim == 0 else xs:
            mark("body")
            total = total + 0.5 * x
        return total

    trace(f, iterated)
    assert counts == {"body": 1}


def test_bounded_loop_with_traced_break_once(counts, mark):
    def f(x):
        for i in range(100):
            mark("body")
            x = x * 0.5 + i * 0.0
            if x < 0.1:
                mark("break")
                break
            mark("rest")
        return x

    trace(f, X)
    assert counts == {"body": 1, "break": 1, "rest": 1}


def test_while_true_once(counts, mark):
    def f(x):
        while True:
            mark("body")
            x = x * 0.5
            if x < 0.1:
                break
        return x

    trace(f, X)
    assert counts == {"body": 1}


def test_test_that_starts_as_a_python_value(counts, mark):
    def f(x):
        error = float("inf")
        while error > 1e-3:
            mark("body")
            new = 0.5 * (x + 1)
            error = abs(new - x)
            x = new
        return x

    trace(f, X)
    assert counts == {"body": 1}


def test_return_in_a_loop_once(counts, mark):
    def f(xs):
        for x in xs:
            mark("body")
            if x > 1:
                mark("return")
                return x
            mark("rest")
        mark("after")
        return xs[0]

    trace(f, jnp.arange(4.0))
    assert counts == {"body": 1, "return": 1, "rest": 1, "after": 1}


def test_three_nested_loops_once(counts, mark):
    def f(n):
        total = 0
        for i in range(n):
            mark("outer")
            for j in range(i):
                mark("middle")
                k = 0
                while k < j:
                    mark("inner")
                    total += 1
                    k += 1
        return total

    trace(f, N)
    assert counts == {"outer": 1, "middle": 1, "inner": 1}


def test_three_nested_loops_with_breaks_once(counts, mark):
    def f(x):
        for _ in range(10):
            mark("outer")
            for _ in range(10):
                mark("middle")
                while True:
                    mark("inner")
                    x = x * 0.5
                    if x < 1:
                        break
                x = x + 2
                if x > 2.5:
                    break
            if x > 2.75:
                break
        return x

    trace(f, X)
    assert counts == {"outer": 1, "middle": 1, "inner": 1}


def test_branches_in_a_loop_in_a_branch_once(counts, mark):
    def f(x, n):
        if x > 0:
            for i in range(n):
                if i > 2:
                    mark("deep then")
                    x = x + i
                else:
                    mark("deep else")
                    x = x - i
        else:
            mark("else")
        return x

    trace(f, X, N)
    assert counts == {"deep then": 1, "deep else": 1, "else": 1}


def test_settled_carries_need_no_second_trace(counts, mark):
    """Python numbers as first values, of the type that the body gives back."""

    def f(n):
        count, total = 0, 0.0
        for _ in range(n):
            mark("body")
            count = count + 1
            total = total + 0.5
        return count, total

    trace(f, N)
    assert counts == {"body": 1}


def test_widened_carry_is_traced_twice(counts, mark):
    def f(n):
        total = 0
        for _ in range(n):
            mark("body")
            total = total + 0.5
        return total

    trace(f, N)
    assert counts == {"body": 2}


def test_widened_carry_in_nested_loops_does_not_double_per_level(counts, mark):
    """Each level that learns of the wider type is traced once more: depth + 1 times, not 2**depth."""

    def f(n):
        total = 0
        for _ in range(n):
            mark("outer")
            for _ in range(n):
                mark("middle")
                for _ in range(n):
                    mark("inner")
                    total = total + 0.5
        return total

    trace(f, N)
    assert counts["outer"] <= 2 and counts["middle"] <= 3 and counts["inner"] <= 4, counts


def test_helper_once_per_call(counts, mark):
    def helper(x):
        mark("helper")
        if x > 0:
            return x
        return -x

    def f(x, n):
        x = helper(x)
        for _ in range(n):
            x = helper(x) + 1
        return x

    trace(f, X, N)
    assert counts == {"helper": 2}


def test_unrolled_loop_runs_its_body_each_time(counts, mark):
    def f(x):
        for i in range(4):
            mark("body")
            x = x + i
        return x

    trace(f, X)
    assert counts == {"body": 4}


def test_function_traces_once_per_signature(counts, mark):
    @ag.function
    def f(x):
        mark("trace")
        if x.sum() > 0:
            mark("then")
            x = x * 2
        return x

    for value in (1.0, -1.0, 5.0):
        f(jnp.array(value))
    assert counts == {"trace": 1, "then": 1}
    f(jnp.ones(3))
    f(jnp.zeros(3))
    assert counts == {"trace": 2, "then": 2}
    assert f.experimental_get_tracing_count() == 2


def test_vmap_traces_once(counts, mark):
    def f(x):
        while x > 1:
            mark("body")
            x = x / 2
        return x

    jax.vmap(ag.convert(f))(jnp.arange(4.0))
    assert counts == {"body": 1}


def test_gradient_traces_once(counts, mark):
    def f(x):
        mark("top")
        if x > 1:
            mark("then")
            return x * x
        return x

    jax.jit(jax.grad(ag.convert(f)))(X)
    assert counts == {"top": 1, "then": 1}


class Box:
    pass


NONE_STATE = {
    "variable": ("best = None", "if best is None or v > best:", "best = v", "best"),
    "under a condition": ("best = None", "if v > 2 and (best is None or v > best):", "best = v", "best"),
    "attribute": ("o = Box(); o.best = None", "if o.best is None or v > o.best:", "o.best = v", "o.best"),
    "item": ("o = {'best': None}", "if o['best'] is None or v > o['best']:", "o['best'] = v", "o['best']"),
    "tuple": ("best = (None, None)", "if best[0] is None or v > best[0]:", "best = (v, i0)", "best[0]"),
    "unbound": ("count = 0.0", "if count == 0.0 or v > last:", "last = v; count = count + 1", "count"),
}


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", NONE_STATE)
def test_none_or_unbound_in_nested_loops_is_traced_twice(counts, mark, tmp_path, kind, depth):
    start, test, change, result = NONE_STATE[kind]
    lines = ["def f(n):", f"    {start}"]
    lines += [f"{'    ' * (k + 1)}for i{k} in range(n):" for k in range(depth)]
    value = " + ".join(f"i{k} * {k + 1}.5" for k in range(depth))
    lines += ["    " * (depth + 1) + line for line in ("mark('inner')", f"v = {value}", test, f"    {change}")]
    path = tmp_path / "nest.py"
    path.write_text("\n".join([*lines, f"    return {result}", ""]))
    namespace = {"mark": mark, "Box": Box}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    wanted = namespace["f"](3)
    counts.clear()
    assert float(ag.function(namespace["f"])(jnp.array(3))) == wanted
    assert counts["inner"] <= 2


def test_none_that_an_outer_iteration_sets_anew_is_not_found_again_per_level(counts, mark):
    def f(n):
        total = 0.0
        for _ in range(n):
            for i in range(n):
                best = None
                for k in range(n):
                    mark("inner")
                    if best is None or i * k > best:
                        best = i * k + 0.5
                if best is not None:
                    total = total + best
        return total

    wanted = f(3)
    counts.clear()
    assert float(ag.function(f)(jnp.array(3))) == wanted
    assert counts["inner"] <= 2


def test_recursion_that_mixes_numbers_and_arrays_few_times(counts, mark):
    def search(xs, item, low=0, high=None):
        mark("search")
        if high is None:
            high = len(xs) - 1
        if xs[low] == xs[high]:
            return low if xs[low] == item else None
        middle = low + (item - xs[low]) * (high - low) // (xs[high] - xs[low])
        if middle < 0 or middle >= len(xs):
            return None
        if xs[middle] == item:
            return middle
        if middle < low:
            return search(xs, item, middle, low)
        if middle > high:
            return search(xs, item, high, low)
        if xs[middle] > item:
            return search(xs, item, low, middle - 1)
        return search(xs, item, middle + 1, high)

    values, compiled = [2, 3, 5, 7, 11], ag.function(search)
    for item in (2, 7, 11, 4):
        found = compiled(list(map(jnp.int32, values)), jnp.int32(item))
        assert found == (values.index(item) if item in values else None)
    assert counts["search"] < 40
