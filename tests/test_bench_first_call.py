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


def test_it_prints_its_tables(capsys):
    assert first_call.main(["--sizes", "10", "--repeats", "1"]) == 0
    printed = capsys.readouterr().out
    for part in ("| 10 |", "Peak memory", "import autograph", "| collatz |", "| bubble sort |"):
        assert part in printed
