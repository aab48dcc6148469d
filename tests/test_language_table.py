"""The table of constructs in docs/language.md: each row's example does what its row says."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import autograph as ag
from tests.language.table import DOCUMENT, Row, as_python, deviations, document, line, rows, shown

TEXT = DOCUMENT.read_text(encoding="utf-8")
WRITE_ANEW = "update it: python -m tests.language.table"

# Staged, and nothing but array operations: `and` for a chain, one array for a loop of independent rows.
PLAIN_OPERATIONS = {
    "swaps, chained and starred targets",
    "`in`, `not in`",
    "`isinstance`",
    "unpacking rows of an array",
    "truth values as numbers",
    "lists that grow, `pop`, `len`, indexing, `jnp.stack`",
    "strings of traced values: f-strings, `str`, `format`, `%`, `join`, stored and returned",
}
# With a class around that compares by methods of its own, each comparison is an operator call, and a chain of them a select.
EITHER = "chained comparisons"


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.construct)
def test_row(row: Row):
    made = []

    def way(function):
        made.append(ag.function(function))
        return made[0]

    outcome = row.run(way)
    assert f"\n{line(row, shown(outcome))}\n" in TEXT, WRITE_ANEW
    if row.what in ("staged", "Python") and row.construct != EITHER:
        assert (count(made[0], row) > 0) == (row.what == "staged" and row.construct not in PLAIN_OPERATIONS)
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


def count(function, row: Row) -> int:
    """The loops, branches and selects in the program of a row."""
    text = function.get_concrete_function(*row.arguments()).graph.as_text("jaxpr")
    return sum(text.count(name) for name in ("cond[", "while[", "scan[", "select_n"))


@pytest.mark.parametrize("row", deviations(), ids=lambda row: row.construct)
def test_deviation(row: Row):
    plain, outcome = shown(row.run(lambda f: f, as_python)), shown(row.run(ag.function))
    assert plain != outcome
    assert f"\n{line(row, f'{plain} | {outcome}')}\n" in TEXT, WRITE_ANEW


def agree(plain, outcome):
    left, right = jax.tree.leaves(plain), jax.tree.leaves(outcome)
    assert jax.tree.structure(plain) == jax.tree.structure(outcome), outcome
    for a, b in zip(left, right, strict=True):
        if isinstance(a, str):
            assert a == b
        else:
            np.testing.assert_allclose(np.asarray(b, float), np.asarray(a, float), rtol=1e-6)


def test_the_document_is_made_of_the_rows():
    """Each where it belongs, and of nothing else. The results in their lines are compared where the rows are run."""

    def found(row: Row) -> str:
        begin = line(row, "").removesuffix(" |")
        assert TEXT.count(begin) == 1, WRITE_ANEW
        return TEXT.partition(begin)[2].partition(" |\n")[0]

    assert document(found) == TEXT, WRITE_ANEW
