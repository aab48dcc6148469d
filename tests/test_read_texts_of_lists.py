"""Texts of lists, tuples and dicts of traced integers that are read, ``json.dumps``, and how often texts are read."""

from __future__ import annotations

import dataclasses
import json

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from autograph.runtime.staging.builtins import text_formats, texts
from tests.agreement import differences


def kept(xs):
    return [int(x) for x in xs if x > 0]


def ragged(xs):
    return [[k - 1 for k in range(int(x))] for x in xs if x > 0]


def longest(xs):
    best = ""
    for k in range(len(kept(xs))):
        text = str(kept(xs)[k:])
        if len(text) > len(best):
            best = text
    return best


def as_keys(xs):
    found = {}
    for x in xs:
        found[str([x > 1, 7])] = 1
    return len(found)


def json_in_a_loop(xs):
    text = ""
    for k in range(len(kept(xs))):
        text = json.dumps(kept(xs)[k:], indent=1)
    return text


PROGRAMS = {
    "equal": lambda xs: (str(kept(xs)) == "[3, 4, 5]", repr(kept(xs)) in ("[2]", "[]")),
    "sliced": lambda xs: (repr(kept(xs))[1:-1], str(kept(xs)).split(", "), f"{kept(xs)}!".replace(" ", "")),
    "compared": lambda xs: (str(kept(xs)) < "[3", "4" in str(kept(xs)), str(kept(xs)) == str(ragged(xs))),
    "tuples": lambda xs: (str(tuple(kept(xs))) == "(2,)", len(str(tuple(kept(xs)))), str(tuple(kept(xs)))[-2:]),
    "rows": lambda xs: (len(str(ragged(xs))), str(ragged(xs)).count("["), str(ragged(xs)).replace(" ", "")),
    "pairs": lambda xs: str([(v, -v) for v in kept(xs)]).upper(),
    "truths": lambda xs: str([v > 1 for v in kept(xs)]).split(", "),
    "dicts": lambda xs: (len(str({"a": kept(xs), "b": int(xs[0])})), str([{"v": v} for v in kept(xs)])[:9]),
    "known length": lambda xs: (str([int(xs[0]), int(xs[1])])[1:], len(str((int(xs[0]), 2)))),
    "formats": lambda xs: ("%s|%r" % (kept(xs), kept(xs)) == "[2]|[2]", f"{kept(xs)!r}".strip("[]")),
    "in a loop": longest,
    "as keys": as_keys,
    "json": lambda xs: json.dumps(
        {"a": [1.5 * v for v in kept(xs)], "b": None, "c": ragged(xs)}, indent=1, sort_keys=True
    ),
    "json of numbers": lambda xs: (json.dumps(int(xs[0])), json.dumps([int(xs[0]) > 0, "a"]), json.dumps("é")),
    "json of choices": lambda xs: json.dumps("up" if xs[0] > 0 else None),
    "json in a loop": json_in_a_loop,
    "json on a path": lambda xs: json.dumps(kept(xs)) if xs[0] > 0 else "none",
    "json of objects": lambda xs: [json.dumps({"v": v}) for v in kept(xs)],
}
EXAMPLES = ([3, -1, 4, -1, 5], [1, 12, 1, 1, 1], [-1, -1, -1, -1, -2], [-1, -1, 2, -1, -2])


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_python(name):
    program = PROGRAMS[name]
    compiled = ag.function(program)
    for xs in EXAMPLES:
        found = jax.tree.map(lambda leaf: leaf if isinstance(leaf, str) else leaf.item(), compiled(jnp.array(xs)))
        assert found == program(xs)


@dataclasses.dataclass
class Pair:
    a: object
    b: object


class Encoder(json.JSONEncoder):
    def default(self, o):
        return vars(o)


REFUSED = {
    "a list": (lambda xs: json.dumps(kept(xs), default=str), "`json.dumps` with `cls` or `default`"),
    "an object": (lambda xs: json.dumps(Pair(xs[0], 2), default=vars), "`json.dumps` with `cls` or `default`"),
    "a class": (lambda xs: json.dumps([Pair(xs[0], 2)], cls=Encoder), "`json.dumps` with `cls` or `default`"),
    "an option": (lambda xs: json.dumps(kept(xs), indent=xs[0]), "An option of `json.dumps` is traced"),
    "a choice": (
        lambda xs: json.dumps(kept(xs), indent=2 if xs[0] > 0 else None),
        "An option of `json.dumps` is traced",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_functions_of_the_users_write_as_json_is_refused(name):
    program, words = REFUSED[name]
    with pytest.raises(ag.StagingError, match=rf"test_read_texts_of_lists.py:\d+(.|\n)*{words}"):
        ag.function(program)(jnp.array(EXAMPLES[0]))


def test_json_of_known_values_is_made_while_tracing():
    program = lambda xs: (
        json.dumps({1}, default=list),
        json.dumps([Pair(1, 2)], cls=Encoder),
        json.dumps({"b": 1}, indent=1),
    )  # noqa: E731
    assert ag.function(program)(jnp.array(EXAMPLES[0])) == program(EXAMPLES[0])
    with pytest.raises(TypeError, match="not JSON serializable"):
        ag.function(lambda xs: json.dumps([object(), xs[0]]))(jnp.array(EXAMPLES[0]))


@pytest.mark.parametrize("show", [str, json.dumps])
def test_a_text_of_floats_is_not_read(show):
    with pytest.raises(ag.StagingError, match="is read at trace time"):
        ag.function(lambda xs: len(show([v * 0.5 for v in kept(xs)])))(jnp.array(EXAMPLES[0]))


def read_often(n):
    text, at, total = f"{n}+{n}", 0, 0
    while at < len(text) and (text[at].isdigit() or text[at] == "+"):
        if text[at] != "+":
            total = 10 * total + int(text[at])
        at += 1
    return total, at, text


def test_the_characters_are_computed_once_in_each_block_that_reads_them(monkeypatch):
    computed = []

    def counted(value, *base):
        computed.append(value)
        return digits(value, *base)

    digits = texts.digits
    for module in (texts, text_formats):
        monkeypatch.setattr(module, "digits", counted)
    run = ag.function(read_often)
    for n in (0, 12, 345):
        assert list(differences(read_often(n), run(jnp.array(n)))) == []
    assert 0 < len(computed) <= 8  # of two numbers, before the loop and in each trace of its body
