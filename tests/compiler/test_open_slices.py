"""Which slices by computed bounds writes would show to be parts of their arrays."""

from __future__ import annotations

import textwrap

import gast
import pytest

from autograph._analysis.children import walk
from autograph._analysis.open_slices import open_slices


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("y = a[n:]\n    y[0] = 1\n    return a", {2: True}),
        ("y = a[n:]\n    y += 1\n    return a", {2: False}),
        ("y = a[n:]\n    y += 1\n    y[0] = 2\n    return a", {2: True}),
        ("y = a[n:]\n    y[0] = 1\n    return y", {}),
        ("y = a[2:-1]\n    y[0] = 1\n    return a", {}),
        ("y = a[n:].copy()\n    y[0] = 1\n    return a", {}),
        ("y = a[n:][::-1]\n    y[0] = 1\n    return a", {2: True}),
        ("y = a.b[n:]\n    y[0] = 1\n    return a", {2: True}),
        ("y = a[n:]\n    a[0] = 1\n    return y", {2: True}),
        ("y = a[n:]\n    a[0] = y.sum()\n    return a", {}),
        ("y, z = a[n:], a[:n]\n    z[0] = y[0]\n    return a", {2: True}),
        ("a[n:].sort()", {2: True}),
        ("y = a[n:].sum()\n    a[0] = 1", {}),
        ("y = a[n:]\n    while c:\n        a[0] = y[0]", {2: True}),
        ("while c:\n        y = a[n:]\n        a[0] = y[0]", {}),
        ("while c:\n        y = a[n:]\n        y[0] = 1", {3: True}),
        ("a[0] = 1\n    y = a[n:]\n    return y", {}),
    ],
)
def test_lines(body, lines):
    function = gast.parse(textwrap.dedent(f"def f():\n    {body}\n")).body[0]
    assert open_slices(walk(function)) == lines
