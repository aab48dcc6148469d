"""docs/errors.md: every message in it is what its program says, and every mended program runs."""

from __future__ import annotations

import re

import pytest

from tests.errors.page import DOCUMENT, examples, says, shown


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.title)
def test_message(example):
    text = DOCUMENT.read_text(encoding="utf-8")
    part = shown(example)
    assert "```text\n\n```" not in part, "it raises nothing and warns of nothing"
    assert part in text, "write it anew: python -m tests.errors.page"
    assert not says(example.mended)


def test_the_document_has_these_and_no_others():
    assert re.findall(r"^### (.*)$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE) == [
        e.title for e in examples()
    ]
