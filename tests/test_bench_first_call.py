"""The benchmark of first calls: its two programs are one, and it runs."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import autograph as ag
from autograph.tools.bench import first_call


def test_the_program_and_the_one_by_hand_agree(tmp_path: Path):
    made = first_call.module(50, tmp_path)
    for x, y in [(1.0, 2.0), (-1.0, 0.5), (30.0, 1.0)]:
        values = jnp.full(3, x), jnp.full(3, y)
        found, wanted = ag.function(made.plain)(*values), jax.jit(made.by_hand)(*values)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_programs_of_functions_and_of_loops_agree_with_those_by_hand(tmp_path: Path):
    chain = first_call.loaded(first_call.chain(12), tmp_path)
    x = jnp.array([0.5, 1.0, -2.0])
    np.testing.assert_allclose(jax.jit(ag.convert(chain.plain))(x), jax.jit(chain.by_hand)(x), rtol=1e-5)
    nest = first_call.loaded(first_call.nest(3), tmp_path)
    x, y = jnp.float32(0.0), jnp.float32(2.0)
    assert float(ag.function(nest.plain)(x, y)) == float(nest.by_hand(x, y)) == 27.0


def test_it_prints_its_tables(capsys, monkeypatch):
    monkeypatch.setattr(first_call, "CHAINS", (3,))
    monkeypatch.setattr(first_call, "NESTS", (2,))
    assert first_call.main(["--sizes", "10", "--repeats", "1"]) == 0
    printed = capsys.readouterr().out
    for part in (
        "| 10 |",
        "Peak memory",
        "import autograph",
        "| collatz |",
        "| bubble sort |",
        "| 3 functions that call each other |",
        "| loops, 2 in each other |",
    ):
        assert part in printed
