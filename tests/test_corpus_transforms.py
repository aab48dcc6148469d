"""Every program of the corpus gives, jitted, in batches and differentiated, what plain Python gives.

Which Python runs has no part in it beyond what `test_corpus.py` sees.
"""

import functools

import jax
import pytest

import autograph as ag
from tests.agreement import call_text, derivatives, differences, report, report_vmap
from tests.corpus import Program
from tests.test_corpus import PROGRAMS, over, refuses


@over(PROGRAMS)
def test_jit_of_converted(program: Program):
    jitted = jax.jit(ag.convert(program.function), static_argnums=program.static_positions)
    if "jit" in program.refused:
        refuses(jitted, program)
        return
    assert (problems := report(program, jitted, "jax")) == "", problems


@over([program for program in PROGRAMS if program.vmap and "vmap" not in program.refused])
def test_vmap_of_converted(program: Program):
    assert (problems := report_vmap(program, ag.convert(program.function))) == "", problems


@functools.cache
def expected_derivatives(program: Program):
    """For each example. JAX differentiates plain Python too, since it may ask a tracer of `grad` alone for its value."""
    return tuple(derivatives(program, program.function, example) for example in program.examples)


@pytest.mark.parametrize("compiled", [False, True], ids=["grad", "jit-grad"])
@over([program for program in PROGRAMS if program.grad])
def test_derivative_of_converted(program: Program, compiled: bool):
    converted = ag.convert(program.function)
    if compiled:
        converted = jax.jit(converted, static_argnums=program.static_positions)
    problems = []
    for example, wanted in zip(program.examples, expected_derivatives(program), strict=True):
        found = derivatives(program, converted, example)
        for difference in differences(wanted, found, where="derivative"):
            problems.append(f"{call_text(program, example)}\n    {difference}")
    assert not problems, "\n".join(problems)
