"""Programs as people write them: each does staged, in every way of running it, what it does as plain Python."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import differences
from tests.programs import Program, all_programs

PROGRAMS = all_programs()
pytestmark = pytest.mark.filterwarnings("ignore::autograph.StagingWarning")  # of the size of a program
STEP = 1e-6  # of central differences


@pytest.fixture(autouse=True)
def doubles():
    """Python's numbers have 64 bits."""
    with jax.enable_x64(True):
        yield


def over(programs):
    return pytest.mark.parametrize("program", programs, ids=lambda program: program.name)


@functools.cache
def expected(program: Program, example: int) -> tuple[str, Any]:
    """What plain Python does: what it returns, or the exception."""
    try:
        return "returned", program.function(*program.given(example))
    except Exception as error:
        return "raised", error


def arrays(value: Any) -> Any:
    return jax.tree.map(jnp.array, value)


def staged_arguments(program: Program, example: int) -> list[Any]:
    traced = program.traced(example)
    return [arrays(v) if k in traced else v for k, v in enumerate(program.given(example))]


def compared(program: Program, example: int, run) -> str:
    """What `run` does otherwise than plain Python, as text."""
    kind, wanted = expected(program, example)
    call = f"{program.name}{program.examples[example]}"
    try:
        found = run()
    except Exception as error:
        if kind == "raised" and type(error) is type(wanted) and error.args == wanted.args:
            return ""
        if isinstance(error, ag.StagingError) or kind == "returned":
            raise
        return f"{call}\n    raised {error!r}, not {wanted!r}"
    if kind == "raised":
        return f"{call}\n    returned {found}, did not raise {wanted!r}"
    return "\n".join(f"{call}\n    {text}" for text in differences(resolved(wanted), resolved(found), widens=True))


def resolved(value: Any) -> Any:
    """What `jax.jit` gives for a list of traced length, or where a value, None or a constant differ by path, as what it is."""

    def whole(part):
        settled = part.resolve() if hasattr(part, "resolve") else part
        return settled if settled is part else resolved(settled)

    return jax.tree.map(whole, value, is_leaf=lambda part: hasattr(part, "resolve"))


def refuses(run, program: Program) -> str:
    """Asserts that it is refused with a line of the program's file, and a way out."""
    with pytest.raises(ag.StagingError, match=rf"{program.function.__module__.rpartition('.')[2]}\.py:\d+") as refusal:
        run()
    return str(refusal.value)


@over(PROGRAMS)
def test_function(program: Program):
    run = ag.function(program.function)
    if program.refused:
        refuses(lambda: run(*staged_arguments(program, 0)), program)
        return
    texts = [compared(program, k, lambda k=k: run(*staged_arguments(program, k))) for k in range(len(program.examples))]
    assert not any(texts), "\n".join(texts)


def batches(program: Program) -> list[list[int]]:
    """The examples that return, by the shapes of what is traced and the values of the rest."""
    groups: dict[Any, list[int]] = {}
    for k in range(len(program.examples)):
        if expected(program, k)[0] == "returned":
            traced = program.traced(k)
            kinds = [kind(v) if p in traced else v for p, v in enumerate(program.examples[k])]
            groups.setdefault(repr(kinds), []).append(k)
    return list(groups.values())


def kind(value: Any) -> Any:
    leaves, structure = jax.tree.flatten(value)
    return structure, [(np.shape(leaf), np.asarray(leaf).dtype) for leaf in leaves]


def of_traced(program: Program, example: int, function):
    """A function of the traced arguments alone."""
    traced, given = program.traced(example), program.given(example)

    def call(*values):
        arguments = list(given)
        for position, value in zip(traced, values, strict=True):
            arguments[position] = value
        return function(*arguments)

    return call


def summed(result: Any) -> Any:
    """The sum of the numbers in a result that have derivatives."""
    leaves = [leaf for leaf in jax.tree.leaves(result) if jnp.issubdtype(jnp.result_type(leaf), jnp.floating)]
    return sum(jnp.sum(leaf) for leaf in leaves)


def positions_of_floats(values) -> tuple[int, ...]:
    return tuple(
        k
        for k, value in enumerate(values)
        if jax.tree.leaves(value)
        and all(np.issubdtype(np.asarray(leaf).dtype, np.floating) for leaf in jax.tree.leaves(value))
    )


def moved(value: Any, by: float) -> Any:
    """A value moved in one direction, another for each number in it."""
    count = iter(range(1_000_000))
    return jax.tree.map(lambda leaf: leaf + by * direction(leaf, next(count)), value)


def direction(leaf: Any, k: int) -> Any:
    return np.cos(np.arange(np.size(leaf)) + k + 1.0).reshape(np.shape(leaf))[()]


def slope(program: Program, example: int) -> float:
    """The derivative along `direction`, by central differences of the plain program."""
    floats = positions_of_floats(program.given(example))

    def at(step):
        arguments = list(program.given(example))
        for k in floats:
            arguments[k] = jax.tree.map(plain, moved(arguments[k], step))
        return float(summed(program.function(*arguments)))

    return (at(STEP) - at(-STEP)) / (2 * STEP)


def plain(leaf: Any) -> Any:
    return leaf if np.ndim(leaf) else float(leaf)


@pytest.mark.long
@over([program for program in PROGRAMS if not program.refused and not program.batch])
def test_in_a_batch(program: Program):
    """`jax.jit(jax.vmap(...))` of all examples that are alike, of `jax.value_and_grad` where there is a gradient."""
    texts = []
    for batch in batches(program):
        converted = of_traced(program, batch[0], ag.convert(program.function))
        lanes = [[arrays(program.given(k)[p]) for p in program.traced(k)] for k in batch]
        columns = [jax.tree.map(lambda *leaves: jnp.stack(leaves), *column) for column in zip(*lanes, strict=True)]
        compiled = jax.jit
        if program.bare:
            refuses(lambda: jax.jit(converted)(*lanes[0]), program)
            compiled = ag.function
        if program.grad:
            floats = positions_of_floats(lanes[0])

            def with_gradient(*values):
                def scalar(*values):
                    result = converted(*values)
                    return summed(result), result

                return jax.grad(scalar, floats, has_aux=True)(*values)

            gradients, found = compiled(jax.vmap(with_gradient))(*columns)
        else:
            found = compiled(jax.vmap(converted))(*columns)
        for lane, k in enumerate(batch):
            texts.append(compared(program, k, lambda: jax.tree.map(lambda leaf: leaf[lane], found)))
            if program.grad:
                along = 0.0
                for gradient in jax.tree.map(lambda leaf: leaf[lane], gradients):
                    leaves = jax.tree.leaves(gradient)
                    along += sum(float(np.sum(direction(leaf, i) * leaf)) for i, leaf in enumerate(leaves))
                wanted = slope(program, k)
                if not np.isclose(along, wanted, rtol=1e-4, atol=1e-5):
                    texts.append(
                        f"{program.name}{program.examples[k]}\n    derivative {along}, by differences {wanted}"
                    )
    assert not any(texts), "\n".join(texts)
