"""``with`` on objects of the user's classes, in staged blocks and out of them."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import managed_programs, staged


class Span:
    """Counts how deep it is entered and how often it was left."""

    def __init__(self, total=0):
        self.depth = 0
        self.total = total

    def __enter__(self):
        self.depth += 1
        return self

    def __exit__(self, kind, error, traceback):
        self.depth -= 1
        if self.total < 100:
            self.total += 1
        return kind is KeyError


def entered_in_a_loop(n, x):
    span, rounds = Span(), 0
    while rounds < n and x > 0:
        rounds += 1
        with span as inner, span:
            inner.total += rounds
    return span.total, span.depth


def left_by_jumps(n, x):
    span = Span()
    for i in range(n):
        with span:
            if i > x:
                break
            if i == 1:
                continue
        x += span.total
    return x, span.total


def entered_in_a_branch(n, x):
    span = Span()
    if x > 1:
        with span:
            x += span.depth
    return x, span.total


def swallows_an_exception(n, x):
    with Span(n) as span:
        span.total += 1
        raise KeyError("gone")
    return span.total


def from_a_library(n, x):
    with contextlib.nullcontext(x) as y, contextlib.suppress(KeyError):
        if n > 2:
            y = y + 1
    return y


def returns_on_every_path_inside(n, x):
    if True:
        with Span(), Span():
            if n == 0:
                return x
        match n:
            case 3:
                with Span():
                    return x + 1
            case _:
                try:
                    return x * 2
                except ValueError:
                    return x
    else:
        y = x
    return y


PROGRAMS = [
    returns_on_every_path_inside,
    entered_in_a_loop,
    left_by_jumps,
    entered_in_a_branch,
    swallows_an_exception,
    from_a_library,
]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("arguments", [(0, 1.0), (3, 2.0), (4, -1.0)])
def test_with_on_traced_state(program, arguments):
    traced = tuple(map(jnp.asarray, arguments))
    for converted in (staged.jitted(program), staged.function(program)):
        np.testing.assert_array_equal(
            jnp.stack(jnp.array(jax.tree.leaves(converted(*traced)))), jax.tree.leaves(program(*arguments))
        )


def test_with_stays_pythons_outside_a_trace():
    assert ag.convert(entered_in_a_loop)(3, 1.0) == entered_in_a_loop(3, 1.0)
    with pytest.raises(TypeError, match="context manager"):
        ag.convert(_enters_a_number)()


def _enters_a_number():
    with 3:
        pass


@pytest.mark.parametrize("program", managed_programs.PROGRAMS, ids=lambda program: program.__name__)
def test_something_raises_inside(program):
    def outcome(f, x):
        try:
            return jax.tree.map(float, f(x))
        except (ValueError, KeyError) as error:
            return type(error), str(error)

    staged = ag.function(program)
    for x in (-2.0, 0.5, 1.0, 2.5, 3.0, 7.0):
        wanted, found = outcome(program, x), outcome(staged, jnp.float32(x))
        assert jax.tree.structure(found) == jax.tree.structure(wanted)
        if isinstance(wanted, tuple) and isinstance(wanted[0], type):
            assert found == wanted
        else:
            np.testing.assert_allclose(jax.tree.leaves(found), jax.tree.leaves(wanted), rtol=1e-6)


def test_managers_under_transforms():
    def f(x):
        with managed_programs.Swallow(ValueError) as s, managed_programs.swallowing(KeyError) as v:
            y = x * x
            if y > 4:
                raise ValueError
            if x < -1:
                raise KeyError
            y = y * v
        return y + s.count

    x = jnp.array([-3.0, -1.5, 0.5, 1.0, 3.0])
    np.testing.assert_allclose(jax.vmap(ag.convert(f))(x), [f(v) for v in x.tolist()])
    np.testing.assert_allclose(jax.vmap(jax.grad(ag.convert(f)))(x), [-6, -3, 3, 6, 6])
    np.testing.assert_allclose(ag.function(jax.vmap(f))(x), [f(v) for v in x.tolist()])


def test_prints_come_in_pythons_order(capsys):
    class Telling:
        def __enter__(self):
            ag.print("in")

        def __exit__(self, kind, error, traceback):
            ag.print("out", kind is None)
            return kind is KeyError

    def f(x):
        with Telling():
            if x > 1:
                raise KeyError("k")
            if x < 0:
                raise ValueError("negative")
            ag.print("body", x)
        ag.print("after")
        return x

    def outcome(g, x):
        try:
            g(x)
        except ValueError as error:
            print(error)
        jax.effects_barrier()
        return capsys.readouterr().out

    staged = ag.function(f)
    for x in (2.0, 0.5, -1.0):
        assert outcome(staged, jnp.float32(x)) == outcome(f, x)


def test_a_generator_that_yields_in_a_loop_is_refused():
    @contextlib.contextmanager
    def tries(n):
        for _ in ag.range(n):
            yield 1.0

    @ag.function
    def f(n):
        with tries(n) as one:
            if n > 3:
                raise ValueError
        return one

    with pytest.raises(ag.StagingError, match="yields in a staged loop"):
        f(jnp.int32(2))


def bound_to_an_attribute(x):
    span = Span()
    if x > 0:
        with contextlib.nullcontext(5.0) as span.depth, contextlib.nullcontext(span.depth + x) as span.total:
            span.total += 1
    return span.depth, span.total


def bound_to_items(x):
    found = {"a": 0.0, "b": 0.0}
    for k in range(3):
        if x > k:
            with contextlib.nullcontext((2.0 * k, x)) as (found["a"], found["b"]):
                found["a"] += 1
    return found["a"], found["b"]


@pytest.mark.parametrize("f", [bound_to_an_attribute, bound_to_items])
def test_what_a_manager_returns_is_bound_to_attributes_and_items(f):
    for x in (2.0, -1.0):
        assert staged.function(f)(jnp.float32(x)) == f(x)
        assert staged.jitted(f)(x) == f(x)
    batch = jax.vmap(ag.convert(f))(jnp.array([2.0, -1.0]))
    assert np.array_equal(np.stack(batch, 1), [f(2.0), f(-1.0)])
