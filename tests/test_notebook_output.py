"""Notebooks: the cell magic, progress bars and the examples, in IPython's own kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
from tests.notebook_cells import START, arrows, executed, notebook, run, shown  # noqa: E402

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.ipynb"))


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
        assert arrows(shown(broken))[1:] == [(7, "ag.function(f)(jnp.array(1.0))"), (4, "x = x @ x")]
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
