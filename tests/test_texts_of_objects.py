"""Texts of objects whose class defines them, by `__str__`, `__repr__`, `__format__` or as a dataclass: made of run-time values."""

from __future__ import annotations

from collections import OrderedDict, deque, namedtuple
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged

Pair = namedtuple("Pair", "a b")


@dataclass
class Point:
    x: float
    y: float = 0.5


class Temperature:
    def __init__(self, degrees):
        self.degrees = degrees

    def __repr__(self):
        return f"Temperature({self.degrees})"


class Board:
    """Whose text is a program of its own, which Python runs when the values are known."""

    def __init__(self, cells):
        self.cells = cells
        self.title = Temperature(cells[0])

    def __str__(self):
        marks = "".join("X" if cell > 0 else "O" if cell < 0 else "." for cell in self.cells)
        return f"{self.title!r}: {marks.rjust(6)}" if len(marks) > 1 else marks

    def __format__(self, form):
        return format(self.cells[0], form or "d") + "!"


class Node:
    def __init__(self, value, parent=None):
        self.value = value
        self.parent = parent
        self.children = []
        if parent is not None:
            parent.children.append(self)

    def __repr__(self):
        above = "root" if self.parent is None else self.parent.value
        return f"Node({self.value}, {above}, {len(self.children)})"


def by_str(x):
    return str(Point(x)), str(Temperature(x)), str(Board([x, -x, 0]))


def by_repr(x):
    return repr(Point(x)), repr([Temperature(x), Temperature(2)]), repr({"at": Point(x)})


def in_f_strings(x):
    return f"{Point(x)}; {Temperature(x)!r:>20}; {Board([x, x])!s}; {Board([x, x]):>5}"


def by_other_formats(x):
    return "%s and %r" % (Temperature(x), Point(x)), "{:>5} {}".format(Board([x]), Temperature(x))  # noqa: UP031, UP032


def joined(x):
    return ", ".join(map(str, [Temperature(x), Point(x)]))


def that_refer_to_each_other(x):
    root = Node(x)
    child = Node(x + 1, root)
    return str(child), f"{root!r}"


def as_it_was(x):
    temperature = Temperature(x)
    before = str(temperature)
    temperature.degrees += 1
    return before, str(temperature)


def in_a_loop(x):
    text = ""
    while x > 0:
        text += str(Temperature(x)) + " "
        x -= 1
    return text


def by_path(x):
    if x > 2:
        return f"{Temperature(x)}"
    return "none"


PROGRAMS = [
    *(by_str, by_repr, in_f_strings, by_other_formats, joined, that_refer_to_each_other, as_it_was, in_a_loop, by_path)
]


@pytest.mark.parametrize("x", [3, 1])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_text_shows_the_values(program, x):
    assert staged.function(program)(jnp.array(x)) == program(x)


def printed(x):
    print(Point(x), "and", Board([x, -x]))
    print([Temperature(x)], Pair(x, Temperature(1)), deque([x]), OrderedDict(a=x))
    return x


def test_print_shows_the_values(capsys):
    printed(3)
    wanted = capsys.readouterr().out
    staged.function(printed)(jnp.array(3))
    assert capsys.readouterr().out == wanted


def raised(x):
    raise ValueError(f"bad {Temperature(x)}")


def raised_by_path(x):
    if x > 0:
        raise ValueError(Temperature(x))
    return x


@pytest.mark.parametrize("program", [raised, raised_by_path], ids=lambda program: program.__name__)
def test_an_exception_shows_the_values(program):
    with pytest.raises(ValueError) as wanted:  # noqa: PT011  the text is compared
        program(3)
    with pytest.raises(ValueError) as found:  # noqa: PT011
        staged.function(program)(jnp.array(3))
    assert str(found.value) == str(wanted.value)


def of_its_argument(x):
    try:
        if x > 2:
            raise ValueError(Temperature(x))
    except ValueError as error:
        return error.args[0].degrees + 1
    return 0


@pytest.mark.parametrize("x", [3, 1])
def test_a_handler_reads_an_object_in_an_exception(x):
    assert staged.function(of_its_argument)(jnp.array(x)) == of_its_argument(x)


class Counter:
    def __init__(self):
        self.count = ag.Variable(1)

    def __repr__(self):
        return f"Counter({self.count.value})"


def test_an_object_with_a_variable():
    counter = Counter()

    @ag.function
    def f(x):
        counter.count.assign_add(x)
        return repr(counter)

    assert [f(jnp.array(2)), f(jnp.array(3))] == ["Counter(3)", "Counter(6)"]


class Link:
    def __init__(self, value, following=None):
        self.value = value
        self.following = following

    def __repr__(self):
        return f"Link({self.value})"


def walked(link):
    text = ""
    while link is not None:
        text += str(link.value)
        link = link.following
    return text


class Chain:
    def __init__(self, head):
        self.head = head

    def __iter__(self):
        link = self.head
        while link is not None:
            yield link.value
            link = link.following

    def __str__(self):
        return walked(self.head)

    def __repr__(self):
        return " ".join(str(value) for value in self)


def chosen(x):
    head = Link(1, Link(x))
    if x > 2:
        head = head.following
    print(Chain(head), x)
    return str(Chain(head)), f"{Chain(head)!r}", repr(head), str([Chain(head)])


def removed(x):
    head = link = Link(1, Link(2))
    before = None
    while link is not None:
        if link.value == x:
            if before is None:
                head = link.following
            else:
                before.following = link.following
            break
        before, link = link, link.following
    return str(Chain(head)), repr(Chain(head))


def emptied(x):
    head = Link(x)
    if x > 2:
        head = None
    return f"[{Chain(head)}]"


@pytest.mark.parametrize("program", [chosen, removed, emptied])
def test_objects_that_a_condition_selects(program, capsys):
    compiled = ag.function(program)
    for x in (1, 2, 3):
        wanted = program(x), capsys.readouterr().out
        found = compiled(jnp.int32(x))
        jax.effects_barrier()
        assert (found, capsys.readouterr().out) == wanted


def test_what_is_assigned_while_such_are_shown_is_refused():
    class Counted(Chain):
        shown = 0

        def __str__(self):
            self.shown += 1
            return walked(self.head)

    def f(x):
        head = Link(1, Link(2))
        if x > 2:
            head = head.following
        chain = Counted(head)
        return str(chain), chain.shown

    with pytest.raises(ag.StagingError, match="Counted is made here, which assigns attributes"):
        ag.function(f)(jnp.int32(1))
