"""The site: what Sphinx does not check, and what it would only check where it is installed (`make docs`)."""

from __future__ import annotations

import re
import types

import pytest

import autograph as ag
from tests.rooms import ROOT

REFERENCE = (ROOT / "docs" / "reference.rst").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted({*ag.__all__, "print", "range"}))
def test_the_reference_has_each_public_name(name):
    assert re.search(rf"^\.\. auto\w+:: autograph\.{name}$|^\.\. py:data:: autograph\.{name}$", REFERENCE, re.MULTILINE)


@pytest.mark.parametrize("module", [m for m in map(vars(ag).get, ag.__all__) if isinstance(m, types.ModuleType)])
def test_the_reference_has_the_names_of_the_modules(module):
    if not hasattr(module, "__all__"):
        return
    name = module.__name__.rpartition(".")[2]
    assert f".. automodule:: autograph.{name}\n   :members:" in REFERENCE


def test_each_page_is_in_the_navigation():
    pages = {path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")} | {
        "reference"
    }
    listed = set()
    for index, folder in (("index", ""), ("tutorials/index", "tutorials/")):
        text = (ROOT / "docs" / f"{index}.md").read_text(encoding="utf-8")
        for tree in re.findall(r"^:::\{toctree\}\n(.*?)^:::$", text, re.DOTALL | re.MULTILINE):
            listed |= {folder + line for line in tree.splitlines() if line and not line.startswith(":")}
    assert listed | {"index"} == pages
