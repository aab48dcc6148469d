"""Which slices by computed bounds writes would show to be parts of their arrays."""

from __future__ import annotations

import textwrap

import gast
import pytest

from autograph._analysis.array_callees import Callee
from autograph._analysis.array_paths import Leads
from autograph._analysis.children import walk
from autograph._analysis.open_slices import open_slices


def _what(called):
    return Callee.OWN_VIEW if getattr(called, "attr", "") == "reshape" else Callee.NEW


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
        ("y = a[n:]\n    y = y * 2\n    y[0] = 1\n    return a", {}),
        ("y = a[n:]\n    y = np.sort(y)\n    a[0] = 1\n    return y", {}),
        ("y = a[n:]\n    y[0] = 1\n    y = y * 2\n    return a", {2: True}),
        ("y = a[n:]\n    y = y.reshape(-1, 1)\n    y[0] = 1\n    return a", {2: True}),
        ("y = a[n:]\n    if c:\n        y = y * 2\n    y[0] = 1\n    return a", {2: True}),
        ("if c:\n        y = a[n:]\n    else:\n        y = a * 2\n    y[0] = 1\n    return a", {3: True}),
        ("if c:\n        y = a[n:]\n        y = y * 2\n    y[0] = 1\n    return a", {}),
        ("if c:\n        y = a[n:]\n    y = a * 2\n    y[0] = 1\n    return a", {}),
        ("while c:\n        y = a[n:]\n        y = y * 2\n        y[0] = 1\n    return a", {}),
        ("while c:\n        y[0] = 1\n        y = a[n:]\n        y = y * 2\n    return a", {}),
        ("while c:\n        y[0] = 1\n        y = a[n:]\n    y = y * 2\n    return a", {4: True}),
        (
            "while c:\n        y = a[n:]\n        if d:\n            break\n        y = y * 2\n    y[0] = 1\n    return a",
            {3: True},
        ),
        (
            "try:\n        y = a[n:]\n        y = y * 2\n    except ValueError:\n        pass\n    y[0] = 1\n    return a",
            {3: True},
        ),
    ],
)
def test_lines(body, lines):
    function = gast.parse(textwrap.dedent(f"def f():\n    {body}\n")).body[0]
    assert open_slices(walk(function), Leads(_what)) == lines
