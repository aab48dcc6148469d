"""A variable may be one string, enum member, class or function on one path and another on another."""

from __future__ import annotations

import copy
import dataclasses
import enum

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged
from tests.constant_programs import PROGRAMS, Light

INPUTS = [
    [1.0, -2.0, 3.0, 7.0, 0.0, -1.0, 2.0, -3.0],
    [-1.0, 2.0, 10.0, 11.0, 4.0, 2.0, 10.0, 7.0],
    [3.0, 3.0, 0.5, -6.0, 0.0, 0.0, 9.0, 1.0],
]


def resolved(result):
    """A result of a bare `jax.jit` with constants and None in the places of what stands for them."""
    is_choice = lambda leaf: isinstance(leaf, ag.Optional) or type(leaf) is ag.OneOf  # noqa: E731
    leaves, treedef = jax.tree.flatten(result, is_leaf=is_choice)
    found = [ag.OneOf.resolve(leaf) if type(leaf) is ag.OneOf else leaf for leaf in leaves]
    found = [leaf.resolve() if isinstance(leaf, ag.Optional) else leaf for leaf in found]
    found = [ag.OneOf.resolve(leaf) if type(leaf) is ag.OneOf else leaf for leaf in found]
    return jax.tree.unflatten(treedef, found)


def assert_same(found, wanted):
    is_leaf = lambda leaf: leaf is None  # noqa: E731
    found, wanted = (jax.tree.flatten(value, is_leaf=is_leaf) for value in (found, wanted))
    assert found[1] == wanted[1]
    for one, other in zip(found[0], wanted[0], strict=True):
        if isinstance(other, str | enum.Enum) or other is None:
            assert one is other or (type(one) is type(other) and one == other)
        else:
            np.testing.assert_allclose(np.asarray(one, float), np.asarray(other, float), rtol=1e-5)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_compiled_function_returns_what_python_returns(program):
    staged = ag.function(program)
    for values in INPUTS:
        x = jnp.array(values)
        assert_same(staged(x), program(x))
    assert staged.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_out_of_jit_comes_what_resolves_to_it(program):
    staged = jax.jit(ag.convert(program))
    for values in INPUTS:
        x = jnp.array(values)
        assert_same(resolved(staged(x)), program(x))


def pieces(xs):
    kind, total = "flat", 0.0
    for v in xs:
        kind = "steep" if v > 1 else "flat"
        total = total + (v * v if kind == "steep" else 2 * v)
    return total


def test_in_a_batch():
    xs = jnp.array(INPUTS)
    found = jax.jit(jax.vmap(ag.convert(pieces)))(xs)
    np.testing.assert_allclose(found, [pieces(x) for x in xs], rtol=1e-6)


def sign(x):
    return "negative" if x < 0 else "positive"


def test_a_batch_of_constants():
    x = jnp.array([-1.0, 2.0, -3.0])
    found = ag.function(lambda x: jax.vmap(sign)(x))(x)
    assert found.tolist() == ["negative", "positive", "negative"]


def test_gradients():
    x = jnp.array([0.5, 2.0, 3.0])
    np.testing.assert_allclose(jax.grad(ag.convert(pieces))(x), [2.0, 4.0, 6.0])
    np.testing.assert_allclose(ag.function(lambda x: jax.grad(pieces)(x))(x), [2.0, 4.0, 6.0])
    twice = jax.jit(jax.hessian(ag.convert(pieces)))(x)
    np.testing.assert_allclose(twice, np.diag([0.0, 2.0, 2.0]))


def test_the_constant_is_that_of_the_program_itself():
    light = ag.function(lambda x: Light.RED if x > 0 else Light.GREEN)(jnp.float32(1))
    assert light is Light.RED
    function = ag.function(lambda x: jnp.sin if x > 0 else jnp.cos)(jnp.float32(-1))
    assert function is jnp.cos


@ag.function
def described(x):
    mode = "low" if x < 0 else "high"
    print("mode", mode, x)
    print(f"{mode}: {x}")
    if mode == "low":
        raise ValueError(f"{mode} value {x}", mode)
    return mode


def test_prints_and_exceptions_have_the_constant(capfd):
    assert described(jnp.float32(2)) == "high"
    jax.effects_barrier()
    assert capfd.readouterr().out.splitlines() == ["mode high 2.0", "high: 2.0"]
    with pytest.raises(ValueError) as caught:
        described(jnp.float32(-2))
    assert caught.value.args == ("low value -2.0", "low")


def test_a_key_error_is_that_of_the_constant():
    @ag.function
    def f(x):
        name = "low" if x < 0 else "high"
        return {"low": x}[name]

    assert float(f(jnp.float32(-3))) == -3
    with pytest.raises(KeyError, match="high"):
        f(jnp.float32(3))


def test_a_name_that_only_one_path_binds():
    def f(x):
        if x > 0:
            name = "a"
        elif x < -1:
            name = "b"
        return name

    staged = ag.function(f)
    assert staged(jnp.float32(1)) == "a" and staged(jnp.float32(-5)) == "b"
    with pytest.raises(UnboundLocalError, match="'name'"):
        staged(jnp.float32(-0.5))


def recursion_through_a_chosen_function(xs):
    def less(v):
        return 0.0 if v <= 0 else 1.0 + again(v - 1)

    def half(v):
        return 0.0 if v <= 1 else 10.0 + again(v / 2)

    again = less if xs[0] > 0 else half
    return again(abs(xs[1])), less(3.0)


def test_recursion_through_a_chosen_function():
    staged = ag.function(recursion_through_a_chosen_function)
    for values in INPUTS:
        x = jnp.array(values)
        assert_same(staged(x), recursion_through_a_chosen_function(x))


def test_a_function_that_python_calls_later_closes_over_a_chosen_one():
    written = []

    def note(v):
        written.append(v)

    def skip(v):
        pass

    @ag.function
    def f(x):
        seen = []

        def keep(v):
            seen.append(v)

        step = keep if x > 0 else skip
        ag.py_function(lambda v: step(v), [x], None)
        return seen

    with pytest.raises(ag.StagingError, match="'seen' is written by <lambda>"):
        f(jnp.float32(1))


def test_variables_keep_their_values_where_the_constant_raises():
    count = ag.Variable(0)

    @ag.function
    def f(x):
        count.assign_add(1)
        mode = "ok" if x > 0 else "bad"
        if mode == "bad":
            raise RuntimeError("bad")
        return mode

    assert f(jnp.float32(1)) == "ok"
    with pytest.raises(RuntimeError):
        f(jnp.float32(-1))
    assert int(count) == 1


@pytest.mark.parametrize("threshold", [1.0, 9.0])
def test_a_builtin_function_that_an_iteration_binds(threshold):
    def magnitudes(x):
        f, found = None, []
        for v in x:
            if v > threshold:
                f = abs
                found.append(f(v))
        return found, f

    x = jnp.array([5.0, 3.0, 1.0])
    expected = ([v for v in (5.0, 3.0, 1.0) if v > threshold], abs if threshold < 5 else None)
    assert ag.function(magnitudes)(x) == expected


def test_effects_of_a_chosen_function_happen_once():
    log = ag.Variable(jnp.zeros(2))

    def left(v):
        log[0].assign(log[0] + v)
        return v

    def right(v):
        log[1].assign(log[1] + v)
        return -v

    @ag.function
    def f(x):
        side = left if x > 0 else right
        return side(x) + side(2 * x)

    assert float(f(jnp.float32(2))) == 6 and float(f(jnp.float32(-1))) == 3
    np.testing.assert_allclose(log.value, [6.0, -3.0])


def test_more_constants_than_a_value_can_be_are_refused():
    kinds = [type(f"Kind{k}", (), {}) for k in range(40)]
    following = dict(zip(kinds, kinds[1:], strict=False))

    @ag.function
    def f(x):
        kind = kinds[0]
        while x > 0:
            kind = following[kind]
            x -= 1
        return kind

    with pytest.raises(ag.StagingError, match=r"(?s)'kind' changes type.*at most 32 constants"):
        f(jnp.float32(2))


def test_as_many_as_it_can_be():
    names = [f"n{k}" for k in range(30)]
    following = dict(zip(names, names[1:] + names[:1], strict=True))

    def f(n):
        name = "n0"
        for _ in ag.range(n):
            name = following[name]
        return name

    assert ag.function(f)(jnp.int32(67)) == "n7"


def test_a_set_of_constants():
    @ag.function
    def f(x):
        mode = "low" if x < 0 else "high"
        return {mode}

    assert f(jnp.float32(1)) == {"high"}
    assert f(jnp.float32(-1)) == {"low"}


def test_tree_map_hands_on_the_constant():
    def f(x):
        mode = "low" if x < 0 else "high"
        return jax.tree.map(lambda leaf: leaf * 2, {"mode": mode, "x": x})

    compiled = ag.function(f)
    for x in (1.0, -1.0):
        assert compiled(jnp.float32(x)) == f(x)


def test_arithmetic_on_the_number_of_a_constant_is_refused():
    found = jax.jit(ag.convert(lambda x: "low" if x < 0 else "high"))(jnp.float32(1))
    with pytest.raises(ag.StagingError, match="'high' or 'low'|'low' or 'high'"):
        jax.tree.map(lambda leaf: leaf * 0.5, found)


def test_branches_and_loops_that_number_constants_in_other_orders():
    def f(xs, n):
        mode, last, counts = "a", "c", [0, 0, 0]
        for k in ag.range(n):
            before = mode
            if xs[k] > 2:
                mode = "b" if last == "a" else "c"
            elif xs[k] > 0:
                if mode == "c":
                    last = mode
                    mode = "a"
            elif xs[k] > -2:
                mode, last = last, mode
            else:
                for _ in ag.range(k % 3):
                    last = {"a": "c", "b": "a", "c": "b"}[last]
            counts["abc".index(before)] += 1
        return mode, last, counts

    rng = np.random.default_rng(0)
    staged = ag.function(f)
    jitted = jax.jit(ag.convert(f))
    for _ in range(20):
        xs = rng.normal(0, 3, 17)
        for found in (staged(jnp.asarray(xs), jnp.int32(17)), resolved(jitted(jnp.asarray(xs), jnp.int32(17)))):
            mode, last, counts = f(xs, 17)
            assert found[:2] == (mode, last) and list(map(int, found[2])) == counts


def test_a_function_that_closes_over_what_its_branch_computed_is_refused():
    def f(x):
        if x > 0:
            y = x * 2
            g = (lambda a: lambda v: v + a)(y)
        else:
            g = jnp.sin
        return g(x)

    with pytest.raises(ag.StagingError, match="'g'"):
        ag.function(f)(jnp.float32(1))


def test_outside_of_a_trace_it_is_the_constant():
    found = jax.jit(ag.convert(sign))(-1.0)
    assert type(found) is ag.OneOf and found == "negative" and found != "positive" and found.upper() == "NEGATIVE"
    assert str(found) == "negative" and repr(found) == "'negative'" and f"{found:>9}" == " negative"
    assert found.resolve() == "negative" and bool(found) and len(found) == 8
    with pytest.raises(ag.StagingError):
        hash(found)


def test_a_result_may_be_an_argument_again():
    @jax.jit
    @ag.convert
    def step(mode, x):
        if mode == "idle" and x > 0:
            mode = "run"
        elif mode == "run" and x < 0:
            mode = "idle"
        return mode

    @jax.jit
    @ag.convert
    def start(x):
        return "run" if x > 0 else "idle"

    mode = start(-1.0)
    for x, wanted in ((1.0, "run"), (2.0, "run"), (-1.0, "idle")):
        mode = step(mode, x)
        assert mode.resolve() == wanted


def test_pytrees_of_it_are_equal_where_the_constants_are():
    one, other = (jax.tree.structure(jax.jit(ag.convert(sign))(x)) for x in (1.0, -1.0))
    assert one == other and hash(one) == hash(other)


def test_inside_shard_map_scan_and_checkpoint():
    def body(carry, v):
        mode = "up" if v > 0 else "down"
        return carry + (v if mode == "up" else -2 * v), v

    def f(x):
        total, _ = jax.lax.scan(body, 0.0, x)
        return total + jax.checkpoint(lambda v: (jnp.sin if v > 0 else jnp.cos)(v))(x[0])

    x = jnp.array([1.0, -2.0, 3.0])
    wanted = 8.0 + np.sin(1.0)
    np.testing.assert_allclose(ag.function(f)(x), wanted, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(ag.convert(f))(x), wanted, rtol=1e-6)


def test_copies_of_what_is_chosen_are_copies_of_each_candidate():
    @dataclasses.dataclass
    class Job:
        name: str
        cost: float

    def first_of_sorted(x):
        jobs = [Job("a", x), Job("b", 1.0), Job("c", 2.0)]
        jobs.sort(key=lambda job: job.cost)
        found = dataclasses.asdict(jobs[0])
        return found["name"], found["cost"]

    def copied(x):
        one, other = Job("a", 1.0), Job("b", 2.0)
        job = one if x > 0 else other
        deep, shallow = copy.deepcopy(job), copy.copy(job)
        deep.cost += 10.0
        shallow.cost += 100.0
        return one.cost, other.cost, job.cost, deep.cost, shallow.cost, deep.name, copy.copy("s" if x > 0 else "t")

    for program in (first_of_sorted, copied):
        for x in (0.5, 3.0, -1.0):
            assert staged.function(program)(jnp.float32(x)) == program(x)
