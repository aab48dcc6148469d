"""Every program of the corpus gives, in every way of running it, what plain Python gives.

Under a bare `jax.jit` and JAX's other transforms, too: `test_corpus_transforms.py`."""

import ast
import os

import jax.numpy as jnp
import pytest

import autograph as ag
from tests.agreement import report
from tests.corpus import Program, all_programs

# `core`, `language` or `all`.
GROUP = os.environ.get("AUTOGRAPH_CORPUS", "all")
PROGRAMS = [program for program in all_programs() if GROUP in ("all", program.group)]


def over(programs):
    return pytest.mark.parametrize("program", programs, ids=lambda program: program.name)


def refuses(run, program):
    arguments = [
        argument if k in program.static_positions else jnp.asarray(argument)
        for k, argument in enumerate(program.examples[0])
    ]
    with pytest.raises(ag.StagingError):
        run(*arguments)


@over(PROGRAMS)
def test_converted_outside_a_trace(program: Program):
    converted = ag.convert(program.function)
    assert (problems := report(program, converted)) == "", problems


@over(PROGRAMS)
def test_function(program: Program):
    function = ag.function(program.function)
    if "function" in program.refused:
        refuses(function, program)
        return
    assert (problems := report(program, function, "jax")) == "", problems


@over(PROGRAMS)
def test_code_of_converted_parses(program: Program):
    tree = ast.parse(ag.to_code(program.function))
    assert program.function.__name__ in {getattr(node, "name", None) for node in tree.body}
