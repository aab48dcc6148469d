"""Every program of the corpus gives, in batches and differentiated, what plain Python gives."""

import jax
import pytest

import autograph as ag
from tests.agreement import call_text, derivatives, differences, report_vmap
from tests.corpus import Program
from tests.test_corpus import PROGRAMS, over


@over([program for program in PROGRAMS if program.vmap and "vmap" not in program.refused])
def test_vmap_of_converted(program: Program):
    assert (problems := report_vmap(program, ag.convert(program.function))) == "", problems


@pytest.mark.parametrize("compiled", [False, True], ids=["grad", "jit-grad"])
@over([program for program in PROGRAMS if program.grad])
def test_derivative_of_converted(program: Program, compiled: bool):
    """JAX differentiates plain Python too, since it may ask a tracer of `grad` alone for its value."""
    converted = ag.convert(program.function)
    if compiled:
        converted = jax.jit(converted, static_argnums=program.static_positions)
    problems = []
    for example in program.examples:
        wanted = derivatives(program, program.function, example)
        found = derivatives(program, converted, example)
        for difference in differences(wanted, found, where="derivative"):
            problems.append(f"{call_text(program, example)}\n    {difference}")
    assert not problems, "\n".join(problems)
