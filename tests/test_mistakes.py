"""Small wrong programs, as a beginner writes them: what each says, and in no message is there a word of JAX's or ours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.errors.page import says

INTERNAL = re.compile(
    r"Tracer\b|Concretization|operands\[|ShapedArray|/runtime/|/backends/|autograph\.runtime|\bjax\._src|AssertionError: \w+$|KeyError: \d"
)


def mistakes():
    """Title, program and what the message has, part by part."""
    text = Path(__file__).parent.joinpath("errors", "mistakes.txt").read_text(encoding="utf-8")
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, program, wanted = re.fullmatch(r"(.*?)\n(.*)^=> (.*)\n*", part, re.DOTALL | re.MULTILINE).groups()
        yield pytest.param(program.strip(), wanted.strip().split(" … "), id=title)


@pytest.mark.parametrize("program, wanted", list(mistakes()))
@pytest.mark.filterwarnings("ignore")
def test_what_a_mistake_says(program, wanted):
    said = says(program)
    assert [part for part in wanted if part not in said] == [], said
    assert not INTERNAL.search(said), said
