"""Lists of traced length that hold constant strings and strings that are made of traced values."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged


def words(text, xs):
    found = [""]
    for c in text:
        if c == " ":
            found.append("")
        else:
            found[-1] += c
    return found, len(found), found[0], sorted(found), "|".join(found)


def tokens(text, xs):
    found = []
    for c in text:
        if c in "+-":
            found.append(c)
        elif found and found[-1] not in "+-":
            found[-1] += c
        elif c == "b":
            found.append("bee")
        else:
            found.append(c)
    return found, [t for t in found if len(t) > 1], "+" in found, found.count("bee"), [t.isalpha() for t in found]


def fields(text, xs):
    rows = [[""]]
    for c in text:
        if c == "-":
            rows.append([""])
        elif c == " ":
            rows[-1].append("")
        else:
            rows[-1][-1] += c
    return rows


def escaped(text, xs):
    return "".join(["&plus;" if c == "+" else "" if c == " " else c for c in text]), [
        "<" + c if c > "a" else "no" for c in text
    ]


def named(text, xs):
    found = []
    for x in xs:
        if x % 15 == 0:
            found.append("FizzBuzz")
        elif x % 3 == 0:
            found.append("Fizz")
        elif x > 4:
            found.append(f"{x}-{x > 5}")
        else:
            found.append(str(x))
    found.append("end")
    return found, found[-1] == "end", found[::-1], found.index("end"), max(found), min(found, key=len), ",".join(found)


def records(text, xs):
    rows, pairs, some = [], [], []
    for x in xs:
        rows.append({"name": "three" if x == 3 else str(x), "x": x})
        pairs.append(("odd", str(x)) if x % 2 else ("even", "none"))
        some.append(None if x > 8 else "big" if x > 4 else chr(96 + x))
    rows[0]["name"] += "!"
    return rows, sorted(pairs), sorted(pairs, key=lambda pair: pair[1]), some, [s for s in some if s is not None]


def letters(text, xs):
    found = []
    for x in xs:
        for c in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN":
            if x > 4:
                found.append(c)
    return found


def repeated(text, xs):
    found = ["aa" for x in xs if x > 3]
    again = []
    for x in xs:
        again.append("aa")
        if x > 3:
            again.append(chr(96 + x) * 3)
            again.append("aaa")
    return "".join(found), ",".join(found), found == ["aa"] * 3, again, again[1] < again[2], len("".join(again))


def brackets(text, xs):
    stack = [""]
    for c in text:
        if c == "b":
            stack.append("")
        elif c == " " and len(stack) > 1:
            top = stack.pop()
            stack[-1] += "[" + top + "]"
        else:
            stack[-1] += c
    return stack


def counted(text, xs):
    counts = {}
    found = ["other"]
    for c in text:
        found.append(c if c.isalpha() else "sign")
    for word in found:
        counts[word] = counts.get(word, 0) + 1
    return counts, len(set(found)), sorted(set(found))


PROGRAMS = (words, tokens, fields, escaped, named, records, letters, repeated, brackets, counted)
ARGUMENTS = (("ab b a+b", (1, 3, 5, 15, 8)), ("- a+ -bb", (2, 9, 4, 7, 3)))


def of_codes(program):
    def f(codes, xs):
        return program("".join(chr(c) for c in codes), xs)

    return f


OF_CODES = {program: of_codes(program) for program in PROGRAMS}


def same(found, wanted):
    assert jax.tree.structure(found) == jax.tree.structure(wanted), (found, wanted)
    assert all(map(lambda a, b: a == b, jax.tree.leaves(found), jax.tree.leaves(wanted))), (found, wanted)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_list_holds_constant_strings_and_others(program):
    for text, xs in ARGUMENTS:
        codes = np.array([ord(c) for c in text], np.int32)
        same(staged.function(OF_CODES[program])(codes, np.array(xs, np.int32)), program(text, xs))


def test_strings_of_one_form_are_equal_where_their_characters_are():
    def f(xs):
        made = [f"{x}{y}" for x in xs for y in xs if x > 0]
        return len({f"{x}{y}" for x in xs for y in xs if x > 0}), made.count("111"), "12" in made, sorted(made)

    same(ag.function(f)(jnp.array([1, 11, 2])), f([1, 11, 2]))


def test_lists_of_strings_of_one_form_are_compared_by_their_characters():
    def made(xs):
        return [f"{x}{y}" for x, y in xs if x > 0]

    def f(xs, ys):
        return made(xs) == made(ys), made(xs) < made(ys), str(xs[0][0]) in made(ys)

    xs, ys = [[1, 11], [2, 3]], [[11, 1], [2, 3]]
    same(ag.function(f)(jnp.array(xs), jnp.array(ys)), f(xs, ys))


def test_strings_of_floats_are_not_compared():
    def f(xs):
        return f"{xs[0]:.1f}" in [f"{x:.1f}" for x in xs if x > 0]

    with pytest.raises(ag.StagingError, match="compared here with strings that are made in another way"):
        ag.function(f)(jnp.array([0.11, 0.12]))


def test_a_list_may_come_to_hold_what_can_be_written():
    def f(xs):
        found = [None]
        for x in xs:
            if x > 1:
                found.append(None)
        for x in xs:
            if x > 2:
                found.append({"x": x})
                found[-1]["x"] += 1
        return found

    same(ag.function(f)(jnp.array([1, 2, 3])), f([1, 2, 3]))


def formatted(n, x):
    lines = ["Mo"]
    for k in range(n):
        lines.append(f"{k:>4}")
        lines.append("Tu" if k == 1 else f"{x + k:.1f}")
    return lines, "\n".join(lines), [line + "!" for line in lines], [isinstance(line, str) for line in lines], lines[n]


def bars(n, x):
    rows = []
    for name in ["fig", "kiwi"]:
        if n > 1:
            rows.append(name + "*" * n)
        if x > 1:
            rows.append(f"{x:.2f}")
    return "\n".join(rows), len(rows)


def of_two_kinds(n, x):
    found = ()
    for k in range(n):
        found += (f"{x:.1f}", str(k), "z", ("a" if k == 1 else f"{x:.2f}", k))
    return found


@pytest.mark.parametrize("program", [formatted, bars, of_two_kinds], ids=lambda program: program.__name__)
def test_a_list_holds_strings_of_floats_and_others(program):
    for n, x in ((3, 1.5), (1, 0.25), (0, 2.0), (2, 0.5)):
        same(staged.function(program)(jnp.array(n), jnp.array(x)), program(n, x))


@pytest.mark.parametrize("read", [sorted, lambda found: len(found[0]), lambda found: "none" in found, set])
def test_strings_of_floats_beside_others_are_not_read(read):
    def f(xs):
        found = ["none"]
        for x in xs:
            if x > 0:
                found.append(f"{x:.1f}")
        return read(found)

    with pytest.raises(ag.StagingError, match=r"test_lists_of_texts.py:\d+"):
        ag.function(f)(jnp.array([1.5, -1.0]))
