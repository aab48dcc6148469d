"""Which writes to items other names may show."""

from __future__ import annotations

import textwrap

import gast
import pytest

from autograph._analysis.children import walk
from autograph._analysis.shared_arrays import shared_writes


def found(text):
    node = gast.parse(textwrap.dedent(text)).body[0]
    return shared_writes(node, walk(node))


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("b = a\n    b[0] = 1", {3}),
        ("b = a\n    a[0] = 1", {3}),
        ("b = a[1:]\n    b += 1", {3}),
        ("b = a.T if c else a\n    b[0][1] = 1", {3}),
        ("b = a.reshape(-1)\n    b[0] = 1", {3}),
        ("for b in c:\n        b[0] = 1", {3}),
        ("b, d = a, 1\n    b[0] = 1", {3}),
        ("b = [a]\n    a[0] = 1", {3}),
        ("b = f(a)\n    b[0] = 1", set()),
        ("b = a + 1\n    b[0] = 1", set()),
        ("b, d = d, b\n    b[0] = 1", set()),
        ("b = a\n    c = b[0]", set()),
    ],
)
def test_writes_that_other_names_show(body, lines):
    assert found(f"def f():\n    {body}\n").by_names == lines


def test_writes_that_callers_show():
    assert found("def f(a, b):\n    a[0] = 1\n    b[0] = 1\n    return b, 1\n").by_callers == {2}
    inner = found("def f(a):\n    def g(b):\n        b[0] = 1\n    a += 1\n")
    assert (inner.by_names, inner.by_callers) == ({3}, {4})


def test_sorts_of_which_the_result_is_of_no_use():
    assert found("def f(a):\n    a.sort()\n    b = a.sort()\n    sorted(a)\n").sorts == {2}
