"""Notebooks: tracebacks, errors, redefinition, the cell magic and the examples, in IPython's own kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
from tests.notebook_cells import arrows, executed, notebook, run, shown  # noqa: E402

START = "import autograph as ag, jax, jax.numpy as jnp"
EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.ipynb"))

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


@pytest.fixture(scope="module")
def failed():
    """What cells show that end with an error."""
    return run(START, DECORATED, IN_A_BLOCK, AT_RUN_TIME, CALLED)


def test_arrows_stand_on_the_lines_of_blocks(failed):
    _, decorated, in_a_block, at_run_time, called = failed
    assert arrows(decorated)[1:] == [(3, "for i in ag.range(3):"), (4, "if x > 0:")]
    assert [line for _, line in arrows(in_a_block)] == [
        "ag.function(g)(jnp.array(5.0))",
        "while x > 0:",
        "if x > 2:",
        "total = total + jnp.dot(",
    ]
    assert arrows(at_run_time)[-1] == (6, 'raise ValueError(f"small {x}")')
    assert arrows(called)[-1] == (10, "x = x @ x") and (9, "if x > 0:") in arrows(called)
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
        "def step(x):\n    if x > 0:\n        x = x + [1]\n    return x\nrun(jnp.array(3.0))",
        "@ag.function\ndef run(x):\n    while x < 100:\n        x = step(x)\n    return x\nrun(jnp.array(3.0))",
        "def step(x):\n    return x * 7\nprint(float(run(jnp.array(3.0))), run.experimental_get_tracing_count())",
        "def step(x):\n    if x > 0:\n        x = x * 2\n    return x",  # the text of the second cell
        "print(float(run(jnp.array(3.0))))",
        "del step\nrun(jnp.array(3.0))",
    )
    assert texts[2].strip() == "7.0" and texts[3].strip() == "31.0"
    assert "SyntaxError" in texts[4] and texts[5].strip() == "31.0"
    assert arrows(texts[6])[-1] == (3, "x = x + [1]") and "Cell In[7], line 3" in texts[6]
    assert arrows(texts[7])[-1] == (3, "x = x + [1]") and "Cell In[8], line 4" in texts[7]
    assert texts[8].strip() == "147.0 1" and texts[10].strip() == "192.0"
    assert "NameError" in texts[11] and arrows(texts[11])[-1] == (4, "x = step(x)")


def test_a_cell_that_imports_what_its_functions_use():
    # IPython compiles each statement by itself, and Python calls functions of what it saw imported by other instructions.
    (text,) = run(
        "import autograph as ag, jax.numpy as jnp\n@ag.function\ndef f(x):\n    return jnp.abs(x)\nprint(f(-1.0))"
    )
    assert text.strip() == "1.0"


def test_progress_bars_render():
    _, staged, plain = run(
        START,
        "@ag.function\ndef total(xs):\n    t = 0.0\n    for x in ag.progress(xs, desc='summing'):\n        t += x\n    return t\n"
        "total(jnp.ones(50))",
        "for _ in ag.progress(range(4), desc='plain'): pass",
    )
    assert "summing: 100%" in staged and "50/50" in staged and "Array(50." in staged
    assert "plain: 100%" in plain and "4/4" in plain


class TestMagic:
    """``%%autograph``."""

    LOAD = START + "\n%load_ext autograph"

    def executed(self, *cells):
        return executed(notebook(self.LOAD, *cells))[1:]

    def test_it_shows_the_converted_text_beside_the_cell(self):
        (cell,) = self.executed(
            "%%autograph\nlimit = 3\n\n@ag.function\ndef f(x):\n    while x < limit:\n        x = x + 1\n    return x\n\n"
            "class C:\n    def m(self, x):\n        return x if x > 0 else '<b>'\n\nf(jnp.array(0))"
        )
        assert "Array(3" in shown(cell) and "ag__.while_stmt" in shown(cell) and "ag__.if_exp" in shown(cell)
        page = shown(cell, "text/html")
        assert page.count("<section>") == 4 and "f · Cell In[2]" in page and "C.m · Cell In[2]" in page
        assert "&lt;b&gt;" in page and "<b>" not in page and "<script" not in page
        assert "<span class=l data-line=6><span class=n>6</span>    while x &lt; limit:" in page
        assert "<span class=n>6</span>    ag__.while_stmt" in page, (
            "a converted line has the number of the line it comes from"
        )

    def test_errors_show_the_lines_of_the_cell(self):
        broken, again = self.executed(
            "%%autograph\ndef f(x):\n    if x > 0:\n        x = x @ x\n    return x\n\nag.function(f)(jnp.array(1.0))",
            "%%autograph\ndef f(x):\n    if x > 0:\n        y = 1\n    else:\n        y = 'a'\n    return jnp.sin(y)\n\n"
            "ag.function(f)(jnp.array(1.0))",
        )
        assert arrows(shown(broken))[1:] == [
            (7, "ag.function(f)(jnp.array(1.0))"),
            (3, "if x > 0:"),
            (4, "x = x @ x"),
        ]
        assert "ag__.if_stmt" in shown(broken), "what was defined before the error is shown"
        assert "notebooks.py" not in shown(broken) + shown(again)
        assert "Cell In[3], line" in shown(again)

    def test_some_functions_only_and_what_is_not_converted(self):
        some, refused, syntax, other = self.executed(
            "%%autograph g nosuch\ndef f(x):\n    return x\n\ndef g(x):\n    return not x",
            "%%autograph\ndef ag__(x):\n    ag__ = 1\n    return ag__",
            "%%autograph\n1 +",
            "%%autograph\n%time y = 3\ny",
        )
        assert "# g" in shown(some) and "# f" not in shown(some)
        assert "nosuch: the cell defines no function" in shown(some)
        assert "Cell In[3], line" in shown(refused) and "reserved for converted code" in shown(refused)
        assert "SyntaxError" in shown(syntax) and "Cell In[4], line 2" in shown(syntax)
        assert "3" in shown(other) and "<section>" not in shown(other, "text/html")


def test_there_are_examples():
    assert len(EXAMPLES) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_examples_run(path):
    example = nbformat.read(path, as_version=4)
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in example.cells)
    codes = [cell for cell in executed(example) if cell.cell_type == "code"]
    for cell in codes:
        is_meant = "raises-exception" in cell.metadata.get("tags", [])
        assert any(output.output_type == "error" for output in cell.outputs) == is_meant, cell.source
        assert "ipykernel_" not in shown(cell), cell.source
