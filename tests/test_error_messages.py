"""docs/errors.md: every message in it is what its program says, and every mended program runs."""

from __future__ import annotations

import re

import pytest

from tests.errors import messages
from tests.errors.page import DOCUMENT, examples, says, shown
from tests.test_docstrings import AVOIDED


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


def test_every_text_of_the_sources_is_listed():
    listed = messages.DOCUMENT.read_text(encoding="utf-8")
    texts = {kind: [_plain(text) for text in found] for kind, found in messages.messages().items()}
    for kind, found in texts.items():
        section = listed.partition(f"## {kind}\n")[2].partition("\n## ")[0]
        lines = [
            _plain(re.sub(r" \(\[section\]\(errors.md#.*", "", line[2:]))
            for line in section.splitlines()
            if line[:2] == "- "
        ]
        assert lines == found, "write it anew: python -m tests.errors.page"
    assert sum(map(len, texts.values())) > 300


def test_every_text_has_a_section():
    texts = {text for found in messages.messages().values() for text in found}
    others = [text for example in examples() for text in example.others]
    assert sorted(texts - messages.sections(examples()).keys()) == [], (
        "show it in tests/errors/examples.txt, or list it there"
    )
    assert sorted(set(others) - texts) == [], "no source has it any more"
    assert len(others) == len(set(others)), "it is listed twice"


def _plain(text):
    return text.replace("\\", "")


@pytest.mark.parametrize("kind", messages.CLASSES)
def test_texts_use_the_words_of_the_glossary(kind):
    avoided = re.compile("|".join(AVOIDED).replace("gives?", "gives"))  # "give both a shape" is a remedy
    assert [text for text in messages.messages()[kind] if avoided.search(text)] == []
