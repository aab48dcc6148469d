"""CPython's own tests, converted: a quick few of them, and the tool that compares all of them."""

from __future__ import annotations

import importlib.util

import pytest

from autograph.tools.conformance import __main__ as command
from autograph.tools.conformance.comparison import Comparison, compare
from autograph.tools.conformance.table import as_markdown
from tests.rooms import ROOT

needs_the_tests = pytest.mark.skipif(
    importlib.util.find_spec("test.test_scope") is None, reason="this Python ships without CPython's tests"
)


@needs_the_tests
def test_a_few_modules_pass_converted():
    for comparison in compare(["test_scope", "test_genexps"], seconds=250, jobs=2):
        assert not comparison.differences, comparison.summary()
        assert len(comparison.plain) == comparison.passes(comparison.converted) > 0
        is_doctest = comparison.module == "test_genexps"
        assert bool(comparison.examples.get("converted")) is is_doctest  # examples were rewritten, not only run


@needs_the_tests
def test_the_page_names_what_differs():
    page = str(ROOT / "docs" / "conformance.md")
    assert command.main(["test_patma", "test_unpack_ex", "test_raise", "test_asyncgen", "--known", page]) == 0


@needs_the_tests
def test_a_difference_is_found(tmp_path, monkeypatch, capsys):
    # A test that looks for the name of the operators, which only converted code has.
    package = tmp_path / "test_looks"
    package.mkdir()
    (package / "__init__.py").write_text(
        "import unittest\n"
        "class Looks(unittest.TestCase):\n"
        "    def test_frame(self):\n"
        "        def inner(): return 0 if self else 1\n"
        "        self.assertEqual(inner.__code__.co_freevars, ('self',))\n"
        "    def test_sum(self):\n"
        "        self.assertEqual(sum([1, 2]), 3)\n"
    )
    import test

    monkeypatch.setattr(test, "__path__", [*test.__path__, str(tmp_path)])
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "sitecustomize.py").write_text(f"import test\ntest.__path__.append({str(tmp_path)!r})\n")
    assert command.main(["test_looks"]) == 1
    shown = capsys.readouterr().out
    assert "| `test_looks` | 2 | 2 | 1 | 0 | 1 |" in shown
    assert "Looks.test_frame: passed as it is, failed converted" in shown
    known = tmp_path / "known.md"
    known.write_text("`test_looks.Looks.test_frame`: converted functions hold their operators.")
    assert command.main(["test_looks", "--known", str(known)]) == 0


def test_what_counts_as_a_difference():
    passed, failed, skipped = ("passed", ""), ("failed", "why"), ("skipped", "no zlib")
    plain = {
        "test.test_x.T.a": passed,
        "test.test_x.T.b": failed,
        "test.test_x.T.c": skipped,
        "test.test_x.T.d": passed,
    }
    converted = {**plain, "test.test_x.T.a": failed}
    del converted["test.test_x.T.d"]
    comparison = Comparison("test_x", plain, converted, {}, (0.0, 0.0))
    assert comparison.differences == ["test.test_x.T.a", "test.test_x.T.d"]
    assert comparison.passes(plain) == 3
    assert "| `test_x` | 4 | 3 | 1 | 0 | 2 |" in as_markdown([comparison])
