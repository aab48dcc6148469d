"""The table of constructs in docs/language.md: each row's example does what its row says."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import autograph as ag
from tests.language.table import DOCUMENT, Row, as_python, deviations, document, rows, shown


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.construct)
def test_row(row: Row):
    outcome = row.run(ag.function)
    if row.what == "refused":
        assert type(outcome) is row.error(), outcome
        assert f"{row.filename}:" in str(outcome) or "<string>:1" in str(outcome), "the message does not name the line"
        return
    plain = row.run(lambda f: f, np.asarray)
    if isinstance(plain, Exception):
        assert (type(outcome), str(outcome)) == (type(plain), str(plain))
        return
    if isinstance(outcome, Exception):
        raise outcome
    agree(plain, outcome)


@pytest.mark.parametrize("row", [r for r in rows() if r.what == "Python"], ids=lambda row: row.construct)
def test_what_is_python_stages_nothing(row: Row):
    assert not count(row)


def test_what_is_staged_is_staged():
    """All but those that are, or become, plain array operations: `and` for a chain, one array for a loop of independent rows."""
    plain = {row.construct for row in rows() if row.what == "staged" and not count(row)}
    # With a class around that compares by methods of its own, each comparison is an operator call, and a chain of them a select.
    assert plain | {"chained comparisons"} == PLAIN_OPERATIONS


PLAIN_OPERATIONS = {
    "swaps, chained and starred targets",
    "`in`, `not in`",
    "`isinstance`",
    "unpacking rows of an array",
    "truth values as numbers",
    "chained comparisons",
    "lists that grow, `pop`, `len`, indexing, `jnp.stack`",
    "strings of traced values: f-strings, `str`, `format`, `%`, stored, joined and returned",
}


def count(row: Row) -> int:
    text = ag.function(row.function()).get_concrete_function(*row.arguments()).graph.as_text("jaxpr")
    return sum(text.count(name) for name in ("cond[", "while[", "scan[", "select_n"))


@pytest.mark.parametrize("row", deviations(), ids=lambda row: row.construct)
def test_deviation(row: Row):
    plain, outcome = row.run(lambda f: f, as_python), row.run(ag.function)
    assert shown(plain) != shown(outcome)


def agree(plain, outcome):
    left, right = jax.tree.leaves(plain), jax.tree.leaves(outcome)
    assert jax.tree.structure(plain) == jax.tree.structure(outcome), outcome
    for a, b in zip(left, right, strict=True):
        if isinstance(a, str):
            assert a == b
        else:
            np.testing.assert_allclose(np.asarray(b, float), np.asarray(a, float), rtol=1e-6)


def test_the_document_is_made_of_the_rows():
    assert DOCUMENT.read_text(encoding="utf-8") == document(), "update it: python -m tests.language.table"
