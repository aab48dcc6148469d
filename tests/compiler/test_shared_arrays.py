"""Which writes to items other names may show."""

from __future__ import annotations

import builtins
import heapq
import textwrap

import gast
import numpy as np
import pytest

from autograph._analysis.array_paths import Event
from autograph._analysis.children import walk
from autograph._analysis.shared_arrays import shared_writes


def found(text):
    node = gast.parse(textwrap.dedent(text)).body[0]
    modules = {"np": np, "heapq": heapq}

    def represented(called):
        owner = getattr(getattr(called, "value", None), "id", None)
        if owner in modules:
            return getattr(modules[owner], called.attr)
        return getattr(builtins, getattr(called, "id", ""), None)

    return shared_writes(node, walk(node), represented, lambda function: function is heapq.heappush)


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("b = a\n    b[0] = 1", {3: 0}),
        ("b = a\n    a[0] = 1", {3: 0}),
        ("b = a[1:]\n    b += 1", {3: 0}),
        ("b = a.T if c else a\n    b[0][1] = 1", {3: 0}),
        ("b = a.reshape(-1)\n    b[0] = 1", {3: 0}),
        ("for b in c:\n        b[0] = 1", {3: 0}),
        ("b, d = a, 1\n    b[0] = 1", {3: 0}),
        ("b = [a]\n    a[0] = 1", {3: 0}),
        ("b = f(a)\n    b[0] = 1", {}),
        ("b = a + 1\n    b[0] = 1", {}),
        ("b = a[i]\n    a[0] = 1", {3: 1}),
        ("b = a[i, j] + a[i]\n    a[0] = 1", {}),
        ("b = a[i][j]\n    a[k][0] = 1", {3: 1}),
        ("b = a[i]\n    a[k][0] = 1", {3: 0}),
        ("b, c = a\n    a[0][1] = 1", {3: 0}),
        ("b = a.T\n    a[0] = 1", {3: 0}),
        ("b = a\n    def g():\n        a[0] = 1", {4: 0}),
        ("b, c = a[i]\n    a[0] = 1", {3: 2}),
        ("for b, c in enumerate(a):\n        a[0] = 1", {3: 1}),
        ("for b, c in a:\n        a[0] = 1", {3: 2}),
        ("b = a[i, j]\n    a[0] = 1", {3: 2}),
        ("b = a[i, :2]\n    a[0] = 1", {3: 0}),
        ("b = a[i]\n    b = a\n    a[0] = 1", {4: 0}),
        ("b = a['k'][i]\n    a['k'][0] = 1", {3: 1}),
        ("for b in zip(a, c):\n        a[0] = 1", {3: 1}),
        ("for b in (a, c):\n        a[0] = 1", {3: 0}),
        ("b, c = sorted([a, d])\n    a[0] = 1", {3: 0}),
        ("b = min(a, c)\n    a[0] = 1", {3: 0}),
        ("b = min(a)\n    a[0] = 1", {3: 1}),
        ("b = a\n    a.fill(1)", {3: 0}),
        ("b = a\n    np.copyto(a, c)", {3: 0}),
        ("b = a\n    np.add(c, 1, out=a)", {3: 0}),
        ("b = a\n    np.add(c, 1, a)", {3: 0}),
        ("b = a\n    np.add(a, 1, c)", {}),
        ("b = a[1:]\n    a.flat = 1", {3: 0}),
        ("b.append(a)\n    a[0] = 1", {3: 0}),
        ("np.append(a, a)\n    a[0] = 1", {}),
        ("f(a)\n    a[0] = 1", {}),
        ("b.c = a\n    b.c[0] = 1", {3: 0}),
        ("b += [a]\n    a += 1", {3: 0}),
        ("b, d = d, b\n    b[0] = 1", {}),
        ("b = a\n    c = b[0]", {}),
        ("b = list(a)\n    a[0] = 1", {3: 1}),
        ("b = [c for c in a]\n    b[0][0] = 1", {3: 0}),
        ("b = dict(k=a)\n    a[0] = 1", {3: 0}),
        ("b = np.asarray(a)\n    b[0] = 1", {3: 0}),
        ("b = np.sin(a)\n    b[0] = 1", {}),
        ("b = a.copy()\n    b[0] = 1", {}),
        ("b = a.copy()\n    b[0][0] = 1", {3: 0}),
        ("b = a + c\n    c[0][0] = 1", {3: 0}),
        ("b = [c] * 3\n    b[0][0] = 1", {3: 0}),
        ("b.append(a)\n    b[0][0] = 1", {3: 0}),
        ("b += c\n    b[0][0] = 1", {3: 0}),
        ("b = a.get(k)\n    b[0] = 1", {3: 0}),
        ("heapq.heappush(h, (1, a))\n    a[0] = 1", {3: 0}),
        ("len(a)\n    a[0] = 1", {}),
        ("a = a[1:]\n    a[0] = 1", {}),
        ("b, c = d\n    b[0] = 1", {3: 0}),
        ("match a:\n        case (b, 1):\n            b[0] = 1", {4: 0}),
        ("if (b := a):\n        b[0] = 1", {3: 0}),
    ],
)
def test_writes_that_other_names_show(body, lines):
    assert found(f"def f():\n    {body}\n").by_names == lines


KEEPS, RETURNS, LEADS = (lambda name, does=does: Event(does, name) for does in ("keeps", "returns", "leads"))


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("f(a)\n    a[0] = 1", {3: {KEEPS("f")}}),
        ("b = f()\n    b[0] = 1", {3: {LEADS("f")}}),
        ("b = f(a)\n    a[0] = 1", {3: {KEEPS("f"), RETURNS("f")}}),
        ("a = f(a)\n    a[0] = 1", {3: {KEEPS("f"), LEADS("f")}}),
        ("b = a.f()\n    b[0] = 1", {3: {LEADS("f")}}),
        ("b = a.sum()\n    b[0] = 1", {3: {LEADS("sum")}}),
        ("b = c.fill(a)\n    a[0] = 1", {3: {KEEPS("fill"), RETURNS("fill")}}),
        ("b = p()\n    b[0] = 1", {3: {LEADS("*"), RETURNS("*")}}),
        ("g(a)\n    a[0] = 1", {3: {KEEPS("*")}}),
    ],
)
def test_writes_that_other_names_show_if_functions_keep_or_return_arrays(body, lines):
    assert found(f"def h():\n    {body}\n    def f(x): pass\n").by_events == lines


@pytest.mark.parametrize(
    ("body", "events"),
    [
        ("b.append(a)", {KEEPS("f"): {(None, 0)}}),
        ("b[0] = a[1]", {KEEPS("f"): {(None, 0), (None, 1)}}),
        ("self.x = a", {KEEPS("f"): {(None, 0)}}),
        ("b = a\n    c.append(b)", {KEEPS("f"): {(None, 0)}}),
        ("return a + 1", {}),
        ("return a", {RETURNS("f"): {(None, 0)}}),
        ("return c", {LEADS("f"): {(None, 0)}}),
        ("return self.x", {RETURNS("f"): {(None, 0)}, LEADS("f"): {(None, 0)}}),
        ("b = 1\n    return b", {}),
        (
            "return g(a)",
            {
                KEEPS("f"): {(KEEPS("*"), 0)},
                RETURNS("f"): {(RETURNS("*"), 0)},
                LEADS("f"): {(LEADS("*"), 0), (RETURNS("*"), 0)},
            },
        ),
    ],
)
def test_what_a_function_does_with_arrays(body, events):
    assert found(f"def f(a, self):\n    {body}\n").events == events


def test_writes_that_callers_show():
    assert found("def f(a, b):\n    a[0] = 1\n    b[0] = 1\n    return b, 1\n").by_callers == {2}
    inner = found("def f(a):\n    def g(b):\n        b[0] = 1\n    a += 1\n")
    assert (inner.by_names, inner.by_callers) == ({3: 0}, {4})
    returned = found("def f(a):\n    a[0] = 1\n    return a\n")
    assert (returned.by_callers, returned.by_results) == (set(), {2: True})
    inner = found("def f(a):\n    def g(b):\n        b[0] = 1\n        return b\n    return g(a)\n")
    assert (inner.by_names, inner.by_callers, inner.by_results) == ({}, set(), {3: False})


def test_writes_to_attributes():
    lines = found("def f(p):\n    q = p.x\n    r = p.y[0]\n    p.x[0] = 1\n    p.z += 1\n")
    assert lines.attributes == {"x": 0, "y": 1}
    assert lines.by_attributes == {4: {"x"}, 5: {"z"}}


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("b = g(a)\n    return a", {2}),
        ("g(a)\n    return a", {2}),
        ("a = g(a)\n    return a", set()),
        ("b = g(a)\n    return b", set()),
        ("b = g(a + 1)\n    return a", set()),
        ("return g(a)", set()),
        ("return g(a) + a", {2}),
        ("b = g(a)\n    return [a[i] for i in b]", {2}),
        ("b = g(a)\n    return lambda: a[0] + b", {2}),
        ("b = (a, g(a))\n    return b", {2}),
        ("b = g(a) + a[0]\n    return b", {2}),
        ("while c:\n        b = g(a)", {3}),
        ("b = g(h(a)) + a[0]\n    return a[1]", {2}),
    ],
)
def test_calls_after_which_arguments_are_read(body, lines):
    assert found(f"def f(a):\n    {body}\n").calls == lines


def test_sorts_of_which_the_result_is_of_no_use():
    assert found("def f(a):\n    a.sort()\n    b = a.sort()\n    sorted(a)\n").sorts == {2}
