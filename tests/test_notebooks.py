"""Notebooks: tracebacks, errors and redefinition, in IPython's own kernel."""

from __future__ import annotations

import pytest

pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
from tests.notebook_cells import START, arrows, run  # noqa: E402

DECORATED = """\
@ag.function
def f(x):
    for i in ag.range(3):
        if x > 0:
            y = jnp.ones(2)
        else:
            y = jnp.ones(3)
        x = x + y
    return x

f(jnp.array(1.0))"""

IN_A_BLOCK = """\
# Comments, and a function before it.
def double(x):
    return 2 * x

def g(x):
    total = 0
    while x > 0:
        x = x - 1
        if x > 2:
            total = total + jnp.dot(
                double(x), jnp.ones((2, 3)), 1, 2, 3)
            total = total + 1
    return total

ag.function(g)(jnp.array(5.0))"""

AT_RUN_TIME = """\
@ag.function
def h(x):
    while x > 0:
        x = x - 1
        if x < 2:
            raise ValueError(f"small {x}")
    return x

h(jnp.array(5.0))"""

CALLED = """\
class Model:
    @ag.function
    def step(self, x):
        for _ in ag.range(2):
            x = self.inner(x)
        return x

    def inner(self, x):
        if x > 0:
            x = x @ x
        return x

Model().step(jnp.array(1.0))"""

# IPython compiles each statement by itself, and Python calls functions of what it saw imported by other instructions.
IMPORTS = """\
import jax.numpy as jnp
@ag.function
def f(x):
    return jnp.abs(x)
print(f(-1.0))"""


@pytest.fixture(scope="module", name="texts")
def of_cells():
    """What cells show."""
    return run(START, DECORATED, IN_A_BLOCK, AT_RUN_TIME, CALLED, IMPORTS)


@pytest.fixture
def failed(texts):
    """What those show that end with an error, from the second on."""
    return texts[:5]


def test_a_cell_that_imports_what_its_functions_use(texts):
    assert texts[5].strip() == "1.0"


def test_arrows_stand_on_the_lines_of_blocks(failed):
    _, decorated, in_a_block, at_run_time, called = failed
    assert arrows(decorated)[1:] == [(4, "if x > 0:")]
    assert [line for _, line in arrows(in_a_block)] == ["ag.function(g)(jnp.array(5.0))", "total = total + jnp.dot("]
    assert arrows(at_run_time)[-1] == (6, 'raise ValueError(f"small {x}")')
    assert arrows(called)[-1] == (10, "x = x @ x")
    for cell, text in zip((DECORATED, IN_A_BLOCK, AT_RUN_TIME, CALLED), failed[1:]):
        lines = cell.splitlines()
        assert all(lines[number - 1].strip() == line for number, line in arrows(text))


def test_errors_name_the_cell(failed):
    assert "StagingError: Cell In[2], line 4: if x > 0:" in failed[1]
    assert "(Cell In[2], line 5)" in failed[1] and "(Cell In[2], line 7)" in failed[1]
    assert not any("ipykernel_" in text for text in failed)


GONE = """\
def gone(x):
    return x

import linecache
linecache.cache[gone.__code__.co_filename] = (1, None, ["def other(): pass"], "")
ag.to_code(gone)"""

GROWS = """\
@ag.function
def t(x, n):
    y = x
    for i in ag.range(n):
        y = jnp.concatenate([y, x])
    return y

t(jnp.ones(2), jnp.array(3))"""


def test_no_message_of_ours_names_a_temporary_file():
    texts = run(
        START + "\nimport warnings; out = []",
        "@ag.function\ndef w(xs):\n    for x in xs:\n        out.append(x)\n    return xs\nw(jnp.ones(3))",
        "w.get_concrete_function(jnp.ones(3)).graph.operations[0].location",
        "exec('def e(x):\\n    return x if x > 0 else 1')\nag.convert(e)",
        GONE,
        GROWS,
        "@ag.function\ndef u(x):\n    if x > 0:\n        z = x\n    return z + 1\nu(jnp.array(-1.0))",
        "@ag.function\ndef v(x):\n    v = ag.Variable(1.0)\n    return v\nv(1.0); v(2.0)",
        "ag.Variable(jnp.ones(2)).assign(jnp.ones(3))",
        "print(w.get_concrete_function(jnp.ones(3)).graph.to_html().count('Cell In[2]') > 0)",
    )
    assert "Cell In[2], line 4" in texts[1] and "Cell In[2]:3:" in texts[2]
    assert "Cell In[5], line 1" in texts[4] and "has changed" in texts[4]
    assert "Cell In[6], line 4" in texts[5] and "'y'" in texts[5]
    assert "Cell In[7], line" in texts[6] or "UnboundLocalError" in texts[6]
    assert "True" in texts[9]
    assert not [text for text in texts if "ipykernel_" in text]


def test_cells_define_redefine_and_break_functions():
    texts = run(
        START,
        "def step(x):\n    if x > 0:\n        x = x * 2\n    return x",
        "@ag.function\ndef run(x):\n    return step(x) + 1\nprint(float(run(jnp.array(3.0))))",
        "def step(x):\n    if x > 0:\n        x = x * 10\n    return x\nprint(float(run(jnp.array(3.0))))",
        "def step(x)\n    return x",
        "print(float(run(jnp.array(3.0))))",
        "def step(x):\n    if x > 0:\n        x = x @ x\n    return x\nrun(jnp.array(3.0))",
        "@ag.function\ndef run(x):\n    while x < 100:\n        x = step(x)\n    return x\nrun(jnp.array(3.0))",
        "def step(x):\n    return x * 7\nprint(float(run(jnp.array(3.0))), run.experimental_get_tracing_count())",
        "def step(x):\n    if x > 0:\n        x = x * 2\n    return x",  # the text of the second cell
        "print(float(run(jnp.array(3.0))))",
        "del step\nrun(jnp.array(3.0))",
    )
    assert texts[2].strip() == "7.0" and texts[3].strip() == "31.0"
    assert "SyntaxError" in texts[4] and texts[5].strip() == "31.0"
    assert arrows(texts[6])[-1] == (3, "x = x @ x") and "Cell In[7], line 3" in texts[6]
    assert arrows(texts[7])[-1] == (3, "x = x @ x") and "Cell In[8], line 4" in texts[7]
    assert texts[8].strip() == "147.0 1" and texts[10].strip() == "192.0"
    assert "NameError" in texts[11] and arrows(texts[11])[-1] == (4, "x = step(x)")
