"""`python -m autograph.tools.bench.platform_choices`."""

import dataclasses
import re

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from autograph.backends.xla import platforms
from autograph.tools.bench import platform_choices


def test_a_line_for_each_program(capsys):
    assert platform_choices.main(["unrolling", "--rounds", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert jax.__version__ in lines[0]
    assert [
        re.match(r"\| unrolling \| (\w+) \| [\d,]+ µs \| no: [\d.]+ \| yes: [\d.]+ \|$", line)[1] for line in lines[1:]
    ] == [
        "iir",
        "average",
        "biquad",
        "gate",
    ]


@pytest.mark.parametrize("decision", platform_choices.DECISIONS)
def test_the_alternatives_of_a_decision_are_different_programs(decision):
    programs, alternatives = platform_choices.DECISIONS[decision]
    _, function, arguments = programs()[-1]
    made, seen = platforms.choices_on("cuda"), set()
    for changes in alternatives.values():
        jax.clear_caches()
        with platform_choices.in_force(dataclasses.replace(made, **changes)):
            seen.add(ag.function(function).lower(*jax.tree.map(jnp.asarray, arguments), platforms=["cuda"]).as_text())
    assert len(seen) == len(alternatives)
