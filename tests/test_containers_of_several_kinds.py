"""A list or a dict on one path, and a number, string, tuple or object on another: one list by all its names, as in Python."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


class Box:
    def __init__(self, side):
        self.side = side


class Stack:
    def __init__(self):
        self.items = []
        self.top = "none"

    def last(self, count):
        if len(self.items) < count:
            return "too few"
        return self.items[-count:]


def roots(a, c):
    d = a * a - 4 * c
    if d < 0:
        return "none"
    if d == 0:
        return [-a / 2]
    return [(-a - d**0.5) / 2, (-a + d**0.5) / 2]


def change(given, price):
    left = given - price
    if left < 0:
        return f"short {-left}"
    coins = []
    for coin in (25, 10, 5):
        while left >= coin:
            coins.append(coin)
            left -= coin
    return coins


def told_apart(x, y):
    found = {"value": [x]} if x > y else "bad"
    if found == "bad":
        return 0.0
    found["value"].append(y)
    return sum(found["value"])


def matched(x, y):
    match [x, y] if x > y else "none":
        case [a, b]:
            return a + b
        case str():
            return -1.0


def asked(x, y):
    found = [x] if x > y else "ab"
    kinds = type(found) is list, isinstance(found, str), found == "ab", found == [x], found != [y]
    return kinds, len(found), bool(found), str(found), "a" in found


def handled(x, y):
    found = [x] if x > y else "ab"
    try:
        found.append(y)
    except AttributeError:
        return "no list", found, 0
    return "a list", found, len(found)


def by_another_name(x, y):
    given = [1.0]
    found = given if x > y else "none"
    given.append(x)
    return found, given


def written_through(x, y):
    given = {"a": 1.0}
    found = given if x > y else 3.0
    if isinstance(found, dict):
        found["a"] = found["b"] = y
    return found, given


def lengthened_through(x, y):
    given = [1.0]
    found = given if x > y else "none"
    other = found if y > 0 else 3.0
    given.append(9.0)
    if isinstance(other, list):
        other.append(7.0)
    return given, found, other


def new_by_two_names(x, y):
    if x > y:
        found = other = [x]
    else:
        found, other = "none", [y]
    other.append(7.0)
    return found, other


def exchanged(x, y):
    a, b = [1.0], "t"
    if x > y:
        a, b = b, a
    if isinstance(a, list):
        a.append(5.0)
    if isinstance(b, list):
        b.append(6.0)
    return a, b


def shrunk(x, y):
    given = [1.0, 2.0]
    found = given if x > y else "ab"
    del given[0]
    return len(found), found


def rebound(x, y):
    given = [1.0]
    found = given if x > y else 0.0
    given = [*given, 2.0]
    found = [found] if isinstance(found, float) else found
    return found, given


def inside(x, y):
    rows = [[1.0], [2.0]]
    found = rows[0] if x > y else "none"
    rows[0].append(3.0)
    rows[1].append(4.0)
    if isinstance(found, list):
        found[0] = 8.0
    return found, rows


def in_an_attribute(x, y):
    stack = Stack()
    if x > y:
        stack.top = stack.items
    stack.items.append(x)
    if stack.top is stack.items:
        return "same", stack.top, stack.last(1), stack.last(2)
    return "another", stack.top, stack.last(1), stack.last(2)


def in_a_tuple(x, y):
    box = Box(1.0)
    found = (box, [y]) if x > y else "none"
    box.side = x
    if isinstance(found, tuple):
        found[0].side += 2.0
        found[1].append(3.0)
    return (found[0].side, found[1], box.side) if isinstance(found, tuple) else (found, [], box.side)


def beside_an_object(x, y):
    found = Box([x]) if x > y else [x, y]
    if isinstance(found, list):
        found.append(1.0)
        return found
    found.side.append(2.0)
    return found.side


def at_a_traced_index(x, y):
    given, items = [x], ["a", "b"]
    items[jnp.int32(x > y)] = given
    given.append(y)
    if isinstance(items[0], list):
        items[0].append(7.0)
    return items, given


def copied(x, y):
    given = [1.0]
    made = list(given if x > y else "ab")
    given.append(y)
    return made


def lengthened_in_a_loop(x, y):
    given = [0.0] if x > y else "none"
    k = 0
    while k < x:
        if isinstance(given, list):
            given.append(y)
        k += 1
    return len(given), given


def in_a_handler(x, y):
    given, found = [1.0], 0.0
    try:
        if x > -2:
            found = given if x > y else "small"
            given.append(x)
            if x > 2:
                raise ValueError("large")
            given.append(y)
    except ValueError:
        return found, given, "caught"
    return found, given, "fine"


def in_a_handler_around_a_loop(x, y):
    found, k = "none", 0.0
    try:
        while k < 4:
            k += 1
            if k > x:
                found = k * 2
            elif k > y:
                found = ("middle", k)
            if k + x > 5:
                raise ValueError("far")
    except ValueError:
        return found, "caught"
    return found, "fine"


def types_where_it_may_be_none(x, y):
    found = None
    if x > y:
        found = [x]
    elif y > 0:
        found = "text"
    other = x if y > 0 else None
    return type(found) is list, type(found) is str, found is None, type(other) is type(None)


PROGRAMS = [
    *[in_a_handler, in_a_handler_around_a_loop, types_where_it_may_be_none],
    *[told_apart, matched, asked, handled, by_another_name, written_through, lengthened_through, new_by_two_names],
    *[exchanged, shrunk, rebound, inside, in_an_attribute, in_a_tuple, beside_an_object, at_a_traced_index, copied],
    lengthened_in_a_loop,
]
EXAMPLES = [(3.0, 1.0), (-1.0, 2.0), (1.0, -2.0), (-3.0, -1.0)]


def plain(value):
    """A result with Python's numbers in place of arrays."""
    if isinstance(value, dict):
        return {key: plain(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value))
    return value.item() if isinstance(value, jax.Array | np.ndarray) else value


@pytest.mark.parametrize("program", PROGRAMS)
def test_as_in_python(program):
    compiled = ag.function(program)
    for example in EXAMPLES:
        assert plain(compiled(*map(jnp.float32, example))) == program(*example)


@pytest.mark.parametrize(
    ("program", "examples"),
    [(roots, [(3.0, 2.0), (2.0, 1.0), (1.0, 3.0)]), (change, [(100, 35), (30, 55), (40, 40)])],
)
def test_results(program, examples):
    compiled = ag.function(program)
    for example in examples:
        assert plain(compiled(*map(jnp.asarray, example))) == program(*example)


def compared_with_no_list(x):
    items, k = [], 0
    while k < x:
        items.append(k)
        k += 1
    return items == "none", items != "none", items == 3, items == (0,), items != {}, items == None  # noqa: E711


def of_several_lists(x):
    one, other, found = [1.0], [2.0], "none"
    if x > 2:
        found = one
    elif x > 0:
        found = other
    one.append(7.0)
    return one, other, found


def attribute_of_one_kind(x):
    box = Box(1.0)
    found = box if x > 0 else 3.0
    box.side = 5.0
    return found.side if x > 0 else found


@pytest.mark.parametrize("program", [compared_with_no_list, of_several_lists, attribute_of_one_kind])
def test_of_one_number(program):
    compiled = ag.function(program)
    for x in (3.0, 1.0, -1.0):
        assert plain(compiled(jnp.float32(x))) == program(x)


def test_what_one_kind_lacks_raises_where_it_is_that():
    def f(x):
        return ([x] if x > 0 else 3.0).pop()

    compiled = ag.function(f)
    assert compiled(jnp.float32(2.0)) == 2.0
    with pytest.raises(AttributeError, match="'float' object has no attribute 'pop'"):
        compiled(jnp.float32(-2.0))


def test_transforms():
    def f(x):
        found = [x, x * x] if x > 0 else 3.0 * x
        return found[0] * found[1] if isinstance(found, list) else found

    for value, wanted in ((2.0, 12.0), (-2.0, 3.0)):
        assert jax.grad(ag.convert(f))(value) == wanted
    assert jax.vmap(jax.grad(ag.convert(f)))(jnp.array([2.0, -2.0])).tolist() == [12.0, 3.0]
    jitted = jax.jit(ag.convert(roots))
    assert plain(jitted(3.0, 2.0).resolve()) == [-2.0, -1.0] and jitted(1.0, 3.0).resolve() == "none"


def test_an_inner_function_and_a_saved_one(tmp_path):
    inner = ag.function(roots)
    outer = ag.function(lambda a, c: 0.0 if (found := inner(a, c)) == "none" else sum(found))
    assert outer(jnp.float32(3.0), jnp.float32(2.0)) == -3.0 and outer(jnp.float32(1.0), jnp.float32(3.0)) == 0.0
    kind = jax.ShapeDtypeStruct((), jnp.float32)
    ag.save(inner.get_concrete_function(kind, kind), tmp_path / "saved")
    loaded = ag.load(tmp_path / "saved")
    assert plain(loaded(jnp.float32(3.0), jnp.float32(2.0))) == [-2.0, -1.0]
    assert loaded(jnp.float32(1.0), jnp.float32(3.0)) == "none"


def written_as_one_of_two(x):
    one, other, found = [1.0], [2.0], "none"
    if x > 2:
        found = one
    elif x > 0:
        found = other
    if found != "none":
        found.append(9.0)
    return one, other, found


def emptied(values, log):
    while values:
        try:
            values.pop()
        finally:
            log.append(0.0)


def popped_as_one_of_two(x):
    one, log = [x], [x]
    for v in jnp.arange(3.0):
        if x < v:
            one = [p - q for p, *_, q in zip(one, log, one[1:])]
        emptied([*one], log)
        while len(one) > 2 and one[-1] != one.pop():
            pass
    return len(one)


def from_one_iteration_to_the_next(x):
    found, k = "none", 0
    while k < x:
        if k == 0:
            found = []
        if isinstance(found, list):
            found.append(k)
        k += 1
    return found


def as_elements(x):
    found, k = [], 0
    while k < x:
        found.append([k] if k % 2 else "even")
        k += 1
    return found


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (written_as_one_of_two, "writes a list that a traced condition selected"),
        (popped_as_one_of_two, "writes a list that a traced condition selected"),
        (from_one_iteration_to_the_next, "'found' changes type in this staged loop"),
        (as_elements, "a list whose length is traced, holds elements of different structure"),
        (lambda x: [x] if x > 0 else {"x": x}, "return values of different types"),
        (lambda x: [x] if x > 0 else ([x], x), "return values of different types"),
    ],
)
def test_refused_in_words(program, words):
    with pytest.raises(ag.StagingError, match=words):
        ag.function(program)(jnp.float32(3.0))
