"""Rows that several names and the places of a list lead to, of which traced conditions choose: as in Python, or refused."""

from __future__ import annotations

import importlib.util
import random

import jax
import jax.numpy as jnp
import pytest

import autograph as ag

KINDS = {
    "list": ("[{}, {}]", "[0]", "[1]"),
    "dict": ("{{'u': {}, 'v': {}}}", "['u']", "['v']"),
    "object": ("Cell({}, {})", ".u", ".v"),
}
ARGUMENTS = [(1, 2, 3), (5, 0, 1), (4, 4, -2), (0, 7, 9), (3, 1, 5)]


class Writer:
    """Writes a program that binds, exchanges, compares and writes three rows by the names and the places that lead to them."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.make, *self.parts = KINDS[self.random.choice(list(KINDS))]
        self.lines = []

    def program(self):
        choice = self.random.choice
        rows = choice(["[x, y, w]", "[x, y, x]", "[x, y, w][:]", "[w, *[x, y]]"])
        body = self.lines
        for _ in range(self.random.randrange(3, 9)):
            self.statement(1, 0)
        first, second = self.parts
        held = f"[e{first} for e in rows], [e{second} for e in rows], [(e{first}, e{second}) for e in (x, y, w, p, q)]"
        head = ["    p, q = x, rows[1]", "    i, j = a % 3, b % 3"]
        tail = [f"    p{second} += 100", f"    return {held}" + choice(["", ", p is q, p is x, q is rows[0]"])]
        made = [f"    {n} = {self.make.format(v, k)}" for k, (n, v) in enumerate(zip("xyw", "abc"))]
        if choice([True, False]):
            function = ["def f(a, b, c):", *made, f"    rows = {rows}", *head, *body, *tail]
        else:
            function = ["def g(rows, x, y, w, a, b, c):", *head, *body, *tail]
            function += ["def f(a, b, c):", *made, f"    return g({rows}, x, y, w, a, b, c), x{first}, y{second}"]
        cell = ["class Cell:", "    def __init__(self, u, v):", "        self.u, self.v = u, v"]
        return "\n".join([*cell, *function, ""])

    def place(self):
        return self.random.choice(["0", "1", "2", "i", "j", "i % 2"])

    def test(self):
        first = self.parts[0]
        tests = ["a > b", "b > c", "c > 2", "p is q", "p is x", "p is not w", f"rows[{self.place()}] is p"]
        return self.random.choice([*tests, f"p{first} > 3", f"q{first} > p{first}"])

    def statement(self, indent, depth):
        choice, first = self.random.choice, self.parts[0]
        one, other, part = self.place(), self.place(), choice(self.parts)
        simple = [
            f"rows[{one}], rows[{other}] = rows[{other}], rows[{one}]",
            f"p = rows[{one}]",
            "p, q = q, p",
            f"p{part} += {self.random.randrange(1, 5)}",
            f"rows[{one}]{part} -= c",
            f"q = p if {self.test()} else {choice(['x', 'y', 'w', f'rows[{other}]'])}",
            f"{choice('pq')} = {choice('xyw')}",
            f"{choice('xyw')}{part} += 7",
            f"q{first} = q{first} * 2 + 1",
        ]
        kind = self.random.randrange(12)
        if kind < 9 or depth == 2:
            self.lines.append("    " * indent + simple[kind % 9])
            return
        heads = [f"if {self.test()}:", f"if {self.test()}:", "for _ in range(c % 3):"]
        self.block(heads[kind - 9 if depth == 0 else 0], indent, depth)
        if self.lines and kind == 9:
            self.block("else:", indent, depth)

    def block(self, head, indent, depth):
        self.lines.append("    " * indent + head)
        for _ in range(self.random.randrange(1, 4)):
            self.statement(indent + 1, depth + 1)


def written(seed, folder):
    path = folder / f"rows_{seed}.py"
    path.write_text(Writer(seed).program())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def numbers(found):
    return [int(each) for each in jax.tree.leaves(found)]


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_each_name_sees_the_writes_by_others(first, tmp_path):
    ran = 0
    for seed in range(first, first + 10):
        function = written(seed, tmp_path)
        compiled = ag.function(function)
        for arguments in ARGUMENTS:
            try:
                found = compiled(*map(jnp.array, arguments))
            except ag.StagingError:
                break
            assert numbers(found) == numbers(function(*arguments)), (seed, arguments, Writer(seed).program())
            ran += 1
    assert ran >= 20


def one_of_what_was_chosen(a, b, c):
    rows = [[a, 1], [b, 2], [c, 3]]
    p = rows[1]
    if c <= 5:
        p = rows[2]
    q = p if a > b else rows[1]
    q[0] += 10
    return p is q, rows, p


def one_of_what_an_index_chose(a, b, c):
    rows = [[a, 1], [b, 2], [c, 3]]
    p = rows[1] if a > b else rows[2]
    both = [p, rows[1]]
    q = both[a % 2]
    return p is q, q is rows[1]


def sorted_twice(a, b, c):
    rows = [[a, 1], [b, 2], [c, 3]]
    low, middle, high = sorted(rows)
    low[1] += 10
    high[1] += 20
    return rows, middle, low is high, sorted(rows, key=lambda row: -row[1])[0]


@pytest.mark.parametrize("program", [one_of_what_was_chosen, one_of_what_an_index_chose, sorted_twice])
def test_a_choice_of_choices_is_what_it_is_in_python(program):
    compiled = ag.function(program)
    for arguments in ARGUMENTS:
        assert numbers(compiled(*map(jnp.array, arguments))) == numbers(program(*arguments))


def chosen_then_appended(a, b, n):
    x, y, out = [a, 1], [b, 2], []
    p = x if a > b else y
    for _ in range(n):
        out.append(p)
    x[0] = 99
    return out[0][0], x[0]


def appended_then_written_by_a_choice(a, b, n):
    x, y, out = [a, 1], [b, 2], []
    p = x if a > b else y
    for _ in range(n):
        out.append(x)
    p[0] = 99
    return out[0][0], x[0]


def exchanged_then_written_by_another_name(a, b, n):
    x, y, w = [a, 1], [b, 2], [n, 3]
    rows = [x, y, w][:]
    i, j = a % 3, b % 3
    for _ in range(n):
        rows[i], rows[j] = rows[j], rows[i]
    y[0] = 55
    return rows, y


@pytest.mark.parametrize(
    "program", [chosen_then_appended, appended_then_written_by_a_choice, exchanged_then_written_by_another_name]
)
def test_a_write_that_a_list_of_traced_length_would_not_see_is_refused(program):
    with pytest.raises(ag.StagingError, match=r"This writes .* It may be the one|may be an element of a list"):
        ag.function(program)(jnp.array(3), jnp.array(2), jnp.array(3))
