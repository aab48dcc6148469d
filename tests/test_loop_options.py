"""`ag.set_loop_options`: what each option does to the loop it stands in, and to no other."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph import set_loop_options as options_of_this_loop
from tests.jaxprs import Counts

X = jnp.array(1000.0)


def halve(x):
    n = 0
    while x > 1:
        ag.set_loop_options(maximum_iterations=4)
        x = x / 2
        n += 1
    return x, n


def ways(function):
    """Converted, outside a trace and in each kind of trace."""
    return [ag.convert(function), ag.function(function), jax.jit(ag.convert(function))]


@pytest.mark.parametrize("run", ways(halve), ids=["python", "function", "jit"])
def test_a_while_stops_after_so_many_iterations(run):
    assert tuple(map(float, run(X))) == (62.5, 4.0)
    assert tuple(map(float, run(jnp.array(3.0)))) == (0.75, 2.0)


def test_plain_python_ignores_the_directive():
    assert halve(X)[1] == 10


def test_under_vmap_each_lane_has_the_bound():
    _, counts = jax.vmap(ag.convert(halve))(jnp.array([1000.0, 3.0, 0.5]))
    assert counts.tolist() == [4, 2, 0]


def test_the_code_reads_as_it_is_meant():
    assert "options=ag__.loop_options(maximum_iterations=4)" in ag.to_code(halve)
    assert "set_loop_options" not in ag.to_code(halve)


def test_while_true_with_break():
    def f(x):
        while True:
            ag.set_loop_options(maximum_iterations=3)
            x = x / 2
            if x < 1:
                break
        return x

    for run in ways(f):
        assert float(run(X)) == 125.0
        assert float(run(jnp.array(1.0))) == 0.5


def test_every_way_to_name_it():
    def local_import(x):
        from autograph import set_loop_options as o

        while x > 1:
            o(maximum_iterations=1)
            x = x / 2
        return x

    def local_module(x):
        import autograph as zz

        while x > 1:
            zz.set_loop_options(maximum_iterations=1)
            x = x / 2
        return x

    def alias(x):
        while x > 1:
            options_of_this_loop(maximum_iterations=1)
            x = x / 2
        return x

    captured = ag

    def closure(x):
        while x > 1:
            captured.set_loop_options(maximum_iterations=1)
            x = x / 2
        return x

    for f in (local_import, local_module, alias, closure):
        assert [float(run(X)) for run in ways(f)] == [500.0] * 3, f.__name__


def test_nested_loops_have_each_its_own():
    def f(x):
        for _ in ag.range(10):
            ag.set_loop_options(maximum_iterations=3)
            for _ in range(10):
                ag.set_loop_options(maximum_iterations=2)
                x = x + 1
            for _ in range(4):
                x = x + 100
        return x

    for run in ways(f):
        assert float(run(jnp.array(0.0))) == 3 * (2 + 400)


def test_in_methods_and_callees():
    class Solver:
        limit = 3

        def solve(self, x):
            while x > 1:
                ag.set_loop_options(maximum_iterations=self.limit)
                x = x / 2
            return x

    solver = Solver()

    def f(x):
        return solver.solve(x) + 1

    for run in [*ways(f), *ways(lambda x: Solver().solve(x) + 1)]:
        assert float(run(X)) == 126.0


def test_values_are_evaluated_once_before_the_loop():
    calls = []

    def limit():
        calls.append(1)
        return 3

    def f(x):
        limited = 1
        for _ in range(10):
            ag.set_loop_options(maximum_iterations=limit() + limited)
            limited = 5
            x = x + 1
        return x + limited

    assert float(ag.convert(f)(jnp.array(0.0))) == 9.0
    assert len(calls) == 1


@pytest.mark.parametrize("items", [[1.0, 2.0, 3.0], range(3), np.arange(3.0), jnp.arange(3.0)])
def test_for_over_anything(items):
    def f(x, limit):
        for item in items:
            ag.set_loop_options(maximum_iterations=limit)
            x = x * 2 + item
        else:
            x = x + 0.5
        return x

    def by_hand(x, limit):
        for item in list(items)[:limit]:
            x = x * 2 + item
        return x + 0.5

    compiled = ag.function(f)
    for limit in (0, 1, 2, 3, 7):
        wanted = float(by_hand(1.0, limit))
        assert float(ag.convert(f)(1.0, limit)) == wanted
        assert float(compiled(jnp.array(1.0), limit)) == wanted


def test_zip_and_enumerate_of_arrays():
    def f(xs, ys):
        total = 0.0
        for i, (x, y) in enumerate(zip(xs, ys)):
            ag.set_loop_options(maximum_iterations=2)
            total += i * x + y
        return total

    assert float(ag.function(f)(jnp.arange(4.0), jnp.ones(4))) == 3.0


def test_a_traced_bound():
    def ranges(x, limit):
        for i in range(10):
            ag.set_loop_options(maximum_iterations=limit)
            x = x + i
        return x

    def arrays(x, limit):
        for item in jnp.arange(10.0):
            ag.set_loop_options(maximum_iterations=limit)
            x = x + item
        return x

    def endless(x, limit):
        while x < 1000:
            ag.set_loop_options(maximum_iterations=limit)
            x = x + 2
        return x

    for f, wanted in ((ranges, 6.0), (arrays, 6.0), (endless, 8.0)):
        assert float(ag.function(f)(jnp.array(0.0), jnp.array(4))) == wanted
        assert float(ag.function(f)(jnp.array(0.0), jnp.array(0))) == 0.0

    def over_a_list(x, limit):
        for item in [1.0, 2.0]:
            ag.set_loop_options(maximum_iterations=limit)
            x = x + item
        return x

    with pytest.raises(ag.StagingError, match="maximum_iterations is traced, and a loop over a list"):
        ag.function(over_a_list)(jnp.array(0.0), jnp.array(1))


def test_the_bound_makes_room():
    @ag.function
    def orbit(x):
        visited = ag.TensorArray(jnp.float32, size=0, dynamic_size=True)
        n = 0
        while x > 1:
            ag.set_loop_options(maximum_iterations=6)
            visited = visited.write(n, x)
            x = x / 2
            n += 1
        return visited.stack(), n

    values, count = orbit(jnp.array(5.0))
    assert values.tolist() == [5.0, 2.5, 1.25] and int(count) == 3


def test_the_bound_holds_for_range_of_a_traced_length():
    @ag.function
    def collect(n):
        visited = ag.TensorArray(jnp.int32, size=0, dynamic_size=True)
        for i in range(n):
            ag.set_loop_options(maximum_iterations=5)
            visited = visited.write(i, i * i)
        return visited.stack()

    assert collect(jnp.array(3)).tolist() == [0, 1, 4]
    assert collect(jnp.array(9)).tolist() == [0, 1, 4, 9, 16]


@pytest.mark.parametrize("slots", [1, 3, 64])
def test_gradients_with_checkpoints(slots):
    def f(x, n):
        for _ in range(n):
            ag.set_loop_options(checkpoints=slots, maximum_iterations=50)
            x = jnp.sin(x) * 1.5
        return x

    def plain(x):
        for _ in range(20):
            x = jnp.sin(x) * 1.5
        return x

    found = jax.jit(jax.grad(ag.convert(f)))(0.3, jnp.array(20))
    np.testing.assert_allclose(found, jax.grad(plain)(0.3), rtol=1e-5)


def test_checkpoints_reach_the_backend():
    """With few states the reverse pass holds less: its largest buffer is that of the states kept."""

    def f(x, n, slots):
        for _ in range(n):
            ag.set_loop_options(checkpoints=slots)
            x = jnp.sin(x)
        return x.sum()

    def largest(slots):
        gradient = jax.grad(ag.convert(f))
        program = jax.make_jaxpr(lambda x, n: gradient(x, n, slots))(jnp.ones(7), jnp.array(9))
        return max(int(rows) for rows in re.findall(r"f32\[(\d+),7\]", str(program)))

    assert largest(8) < largest(100) <= 101


def scans(function, *arguments):
    found = Counts(function, *arguments)
    return [eqn for eqn in found.jaxpr.jaxpr.eqns if eqn.primitive.name == "scan"]


def test_unroll_by_a_number_takes_so_many_iterations_at_once():
    def f(xs):
        total = 0.0
        for x in xs:
            ag.set_loop_options(unroll=4)
            total = total * 0.5 + x
        return total

    (scan,) = scans(ag.convert(f), jnp.arange(8.0))
    assert scan.params["unroll"] == 4
    np.testing.assert_allclose(ag.function(f)(jnp.arange(8.0)), f(np.arange(8.0)), rtol=1e-6)


def test_unroll_true_leaves_no_loop():
    def arrays(xs):
        total = 0.0
        for x in xs:
            ag.set_loop_options(unroll=True)
            total = total * 0.5 + x
        return total

    def ranges(xs):
        names = ["a", "b", "c"]
        total = 0.0
        for i in ag.range(3):
            ag.set_loop_options(unroll=True)
            total = total + xs[i] * len(names[i])
        return total

    def with_break(xs):
        total = 0.0
        for i in range(3):
            ag.set_loop_options(unroll=True)
            total = total + xs[i]
            if total > 2:
                break
        return total

    for f in (arrays, ranges, with_break):
        counts = Counts(ag.convert(f), jnp.arange(3.0))
        assert counts.loops == 0, counts
        np.testing.assert_allclose(ag.function(f)(jnp.arange(3.0)), f(jnp.arange(3.0)))


def test_unroll_true_is_refused_where_the_length_is_traced():
    def ranges(n):
        total = 0
        for i in range(n):
            ag.set_loop_options(unroll=True)
            total += i
        return total

    def tests(n):
        while n > 1:
            ag.set_loop_options(unroll=True)
            n = n // 2
        return n

    with pytest.raises(
        ag.StagingError, match=r"(?s)test_loop_options.py.*unroll=True.*the number of iterations is traced"
    ):
        ag.function(ranges)(jnp.array(3))
    with pytest.raises(ag.StagingError, match=r"(?s)test_loop_options.py.*unroll=True.*the test is traced"):
        ag.function(tests)(jnp.array(3))


def test_unroll_false_rolls_a_while_that_python_could_run():
    def f(x):
        i = 0
        while i < 50:
            ag.set_loop_options(unroll=False)
            x = x * 0.5 + i
            i += 1
        return x

    assert Counts(ag.convert(f), jnp.array(1.0)).whiles == 1
    np.testing.assert_allclose(ag.function(f)(jnp.array(1.0)), f(1.0), rtol=1e-6)


def test_variables_and_objects_are_state_as_ever():
    counter = ag.Variable(0)

    @ag.function
    def f(x):
        while x > 1:
            ag.set_loop_options(maximum_iterations=2)
            counter.assign_add(1)
            x = x / 2
        return x

    assert float(f(X)) == 250.0 and int(counter) == 2


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"maximum_iterations": -1}, ValueError, "maximum_iterations of set_loop_options must be an int of at least 0"),
        ({"maximum_iterations": 2.0}, TypeError, "maximum_iterations .* got 2.0"),
        ({"maximum_iterations": True}, TypeError, "maximum_iterations .* got True"),
        ({"checkpoints": 0}, ValueError, "checkpoints .* at least 1, or None; got 0"),
        ({"checkpoints": "all"}, TypeError, "checkpoints .* got 'all'"),
        ({"unroll": 0}, ValueError, "unroll .* True, False, an int of at least 1, or None; got 0"),
        ({"unroll": 1.5}, TypeError, "unroll .* got 1.5"),
        ({"shape_invariants": 3}, TypeError, "shape_invariants .* a list of pairs"),
        ({"shape_invariants": [(np.ones(3), "x")]}, TypeError, "shape_invariants .* got the shape 'x'"),
        ({"shape_invariants": [(np.ones(3), (4,))]}, ValueError, r"shape \(3,\) before the loop, .* \(4,\)"),
        ({"unrol": True}, TypeError, r"set_loop_options\(\) got an unexpected keyword argument 'unrol'"),
    ],
)
def test_what_cannot_be_meant_is_refused(options, error, text):
    def f(x):
        for _ in range(3):
            ag.set_loop_options(**options)
            x = x + 1
        return x

    for run in ways(f):
        with pytest.raises(error, match=text):
            run(jnp.array(1.0))


def test_a_traced_bound_must_be_an_integer():
    def f(x):
        while x > 1:
            ag.set_loop_options(maximum_iterations=x)
            x = x / 2
        return x

    with pytest.raises(TypeError, match=r"maximum_iterations .* got ~?float32\[\]"):
        ag.function(f)(X)


def test_shape_invariants_are_compared_and_do_not_make_shapes_change():
    def same(x):
        while x.sum() > 1:
            ag.set_loop_options(shape_invariants=[(x, (None,)), (x, ag.TensorSpec([None]))])
            x = x / 2
        return x

    assert ag.function(same)(jnp.array([4.0])).tolist() == [1.0]

    def grows(x):
        while x.sum() < 10:
            ag.set_loop_options(shape_invariants=[(x, (None,))])
            x = jnp.concatenate([x, x])
        return x

    with pytest.raises(ag.StagingError, match=r"(?s)'x' changes type.*float32\[2\].*float32\[4\].*shape_invariants"):
        ag.function(grows)(jnp.ones(2))


def test_elsewhere_it_is_refused_in_a_trace_and_nothing_in_python():
    def before(x):
        ag.set_loop_options(unroll=True)
        return x

    def second(x):
        for _ in range(2):
            x = x + 1
            ag.set_loop_options(unroll=True)
        return x

    by_another_name = [ag.set_loop_options]

    def hidden(x):
        for _ in range(2):
            by_another_name[0](unroll=True)
            x = x + 1
        return x

    for f in (before, second, hidden):
        assert float(f(1.0)) == float(ag.convert(f)(1.0))
        with pytest.raises(ag.StagingError, match=r"(?s)test_loop_options.py.*first statement of a loop"):
            ag.function(f)(jnp.array(1.0))


def test_in_a_generator_a_loop_that_yields_has_options_where_a_loop_takes_the_place_of_the_yield():
    def numbers(x):
        for i in range(2):
            ag.set_loop_options(unroll=True)
            yield x + i

    def g(x):
        return sum(numbers(x))

    assert float(ag.function(g)(jnp.array(1.0))) == g(1.0)

    def f(x):
        steps = numbers(x)
        return next(steps) + next(steps)

    assert float(ag.convert(f)(1.0)) == 3.0
    with pytest.raises(ag.StagingError, match="yield"):
        ag.function(f)(jnp.array(1.0))
