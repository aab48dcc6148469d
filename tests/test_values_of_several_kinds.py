"""A variable that is a number on one path, and a text, a tuple, a constant, None or an object on another: results are Python's."""

from __future__ import annotations

import copy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged
from tests.kind_programs import CASES, OF_NUMBERS, Box, best, root, told_apart


def outcome(function, value):
    try:
        return function(value)
    except (TypeError, ValueError, IndexError) as error:
        assert not isinstance(error, ag.StagingError), error
        return type(error)


def agree(found, wanted):
    if isinstance(wanted, list | tuple):
        assert type(found) is type(wanted) and len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            agree(one, other)
    elif isinstance(wanted, dict):
        assert list(found) == list(wanted)
        agree(list(found.values()), list(wanted.values()))
    elif isinstance(wanted, Box):
        agree(found.side, wanted.side)
    elif isinstance(wanted, float | np.floating):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    else:
        assert type(found) is type(wanted) or hasattr(found, "dtype")
        assert found == wanted


@pytest.fixture(scope="module")
def compiled():
    return {program: ag.function(program) for program, _ in CASES}


@pytest.mark.parametrize(("program", "value"), CASES, ids=lambda part: getattr(part, "__name__", str(part)))
def test_a_function_returns_what_python_does(program, value, compiled):
    given = jnp.asarray(value, jnp.int32 if isinstance(value, int) else jnp.float32)
    agree(outcome(compiled[program], given), outcome(program, copy.deepcopy(value)))


CAN_RAISE = ("of_the_wrong_kind", "of_the_wrong_kind_on_the_right", "caught", "root", "rebound")


@pytest.mark.parametrize("program", [each for each in OF_NUMBERS if each.__name__ not in CAN_RAISE])
def test_so_it_does_under_jit(program):
    for x in (4.0, -1.0):
        found = staged.jitted(program)(x)
        agree(resolved(found), program(x))


def resolved(found):
    def of_part(part):
        found = part.resolve() if hasattr(type(part), "resolve") else part
        return part if found is part else resolved(found)

    return jax.tree.map(of_part, found, is_leaf=lambda part: hasattr(type(part), "resolve"))


def test_derivatives_and_batches():
    def squared(x):
        v = x if x > 0 else "negative"
        if isinstance(v, str):
            return 0.0
        return v * v

    def replaced(x):
        v = x * x if x > 0 else "negative"
        if v == "negative":
            v = 0.0
        return v

    for function in (squared, replaced):
        for made in (ag.function(function), ag.convert(function), jax.jit(ag.convert(function))):
            assert jax.grad(made)(3.0) == 6 and jax.grad(made)(-3.0) == 0
            assert jax.vmap(made)(jnp.array([1.0, -2.0, 3.0])).tolist() == [1, 0, 9]
    batch = jax.vmap(ag.function(lambda x: x if x > 0 else "negative"))(jnp.array([1.0, -2.0]))
    assert float(batch[0]) == 1 and batch[1] == "negative"


def test_a_function_that_another_calls():
    inner = ag.function(told_apart)

    @ag.function
    def outer(xs):
        texts, total = [], 0.0
        for x in xs:
            found = inner(x)
            if isinstance(found, str):
                texts.append(found)
            else:
                total += found
        return total, len(texts)

    assert outer(jnp.array([1.0, -2.0, 3.0])) == (6, 1)


def test_attributes_that_calls_leave_with_another_kind():
    class Machine:
        def __init__(self):
            self.mode, self.total, self.log = "idle", 0.0, []

        def step(self, x):
            if self.mode == "idle":
                if x > 0:
                    self.mode = x
            else:
                self.total = self.total + self.mode
                if x < 0:
                    self.mode = "idle"
            self.log.append(self.mode)
            return self.total

    mine, pythons = Machine(), Machine()
    step = ag.function(mine.step)
    for x in (-1.0, 1.0, 2.0, -1.0, 3.0, 4.0):
        assert step(jnp.float32(x)) == pythons.step(x)
        assert mine.mode == pythons.mode and mine.log == pythons.log


def test_they_are_printed_and_raised(capfd):
    @ag.function
    def f(x):
        v = x if x > 0 else "none"
        print("v is", v)
        if v == "none":
            raise ValueError(f"bad {v}")
        return v

    assert f(jnp.int32(4)) == 4
    with pytest.raises(ValueError, match="bad none"):
        f(jnp.int32(-1))
    jax.effects_barrier()
    assert sorted(capfd.readouterr().out.splitlines()) == ["v is 4", "v is none"]


def test_a_variable_of_the_caller():
    total = ag.Variable(0.0)

    @ag.function
    def add(x):
        v = x if x > 0 else "negative"
        if not isinstance(v, str):
            total.assign_add(v)
        return best(jnp.stack([x, total.value]))

    assert add(jnp.float32(2.0)) == 2 and add(jnp.float32(-1.0)) == 2 and total.numpy() == 2


def test_a_set_and_something_else_is_refused():
    with pytest.raises(ag.StagingError, match="different types|cannot be selected"):
        ag.function(lambda x: {1.0} if x > 0 else "none")(jnp.float32(1.0))


def test_the_words_for_what_jax_is_given():
    with pytest.raises(TypeError, match="one of .* is no array"):
        jax.jit(lambda x: jnp.sin(ag.convert(root)(x)))(4.0)


def test_concrete_and_compiled_functions_and_saved_modules(tmp_path):
    class Model(ag.Module):
        @ag.function(input_signature=[ag.TensorSpec([], "float32")])
        def pick(self, x):
            if x > 3:
                return x, "two"
            return x if x > 0 else "negative"

    model = Model()
    ag.save(model, tmp_path / "model")
    concrete = model.pick.get_concrete_function()
    assert "'two'" in str(concrete.structured_outputs)
    for pick in (concrete, model.pick.lower(jnp.float32(1.0)).compile(), ag.load(tmp_path / "model").pick):
        assert (
            pick(jnp.float32(5.0)) == (5, "two")
            and pick(jnp.float32(1.0)) == 1
            and pick(jnp.float32(-1.0)) == "negative"
        )
