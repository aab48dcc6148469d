"""Comprehensions over texts whose characters only the run knows."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from tests import staged


@pytest.mark.parametrize(
    "program",
    [
        lambda x: [int(c) * 2 for c in f"{x}"],
        lambda x: sum(int(c) for c in f"{x}"),
        lambda x: {c: k for k, c in enumerate(f"{x}a")},
        lambda x: [c for c in f"{x}ab" if c != "1"],
        lambda x: ([c + d for c in f"{x}" for d in "ab"], max(c for c in f"{x}")),
        lambda x: any(c == "3" for c in f"{x}") and all(c < "9" for c in f"{x}"),
    ],
    ids=["list", "sum", "dict", "with a condition", "nested", "any"],
)
def test_comprehensions_over_an_f_string(program):
    for x in (123, 99, 7):
        found = staged.function(program)(jnp.array(x))
        assert jax.tree.map(lambda leaf: leaf if isinstance(leaf, str) else int(leaf), found) == program(x)
