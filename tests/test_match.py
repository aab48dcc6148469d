"""``match`` on traced values and on structure, compared with plain Python."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import agrees_when_compiled


@dataclasses.dataclass
class Point:
    x: float
    y: float


def values(x):
    match x:
        case 0:
            return 10
        case 1 | 2:
            return 20
        case n if n > 100:
            return n
        case _:
            return -1


def in_a_loop(xs):
    total = 0
    for x in xs:
        match x:
            case 3:
                break
            case 2:
                continue
            case y if y < 0:
                total -= y
            case y:
                total += y
    return total


def sequences(x, y):
    match (x, y):
        case (0, 0):
            r = 0.0
        case (0, b):
            r = b * 2.0
        case (a, 1 as b) if a > 2:
            r = a + b + 100.0
        case (a, b):
            r = a - b + 0.0
    return r


def no_match(x):
    y = 1
    match x:
        case 5:
            y = 2
    return y


CASES = [
    (values, [(0,), (1,), (2,), (500,), (50,)]),
    (in_a_loop, [(np.array([1, 2, -4, 3, 9]),), (np.array([2, 2]),), (np.array([3]),)]),
    (sequences, [(0, 0), (0, 4), (5, 1), (1, 1), (2, 7)]),
    (no_match, [(5,), (6,)]),
]


@pytest.mark.parametrize("function, arguments", [(f, a) for f, many in CASES for a in many])
def test_like_plain_python(function, arguments):
    expected = function(*arguments)
    assert ag.convert(function)(*arguments) == expected
    staged = jax.jit(ag.convert(function))(*map(jnp.asarray, arguments))
    np.testing.assert_allclose(staged, expected)


def test_structure_stays_pythons():
    def f(command, x):
        match command:
            case {"op": "add", "by": by}:
                return x + by
            case Point(x=0, y=y) | Point(x=y, y=0):
                return x * y
            case [first, *_]:
                return x + first
            case str():
                return x
            case None:
                return -x

    for command in ({"op": "add", "by": 2.0}, Point(0, 3.0), Point(4.0, 0), [5.0, 6], "s", None):
        assert float(jax.jit(lambda x, c=command: ag.convert(f)(c, x))(1.5)) == f(command, 1.5)


def test_class_pattern_with_a_traced_attribute():
    def f(p):
        match p:
            case Point(x=0):
                return p.y
            case Point(x=x, y=y) if x > y:
                return x
            case _:
                return 0.0

    for x, y in ((0.0, 3.0), (4.0, 2.0), (1.0, 2.0)):
        assert float(jax.jit(lambda a, b: ag.convert(f)(Point(a, b)))(x, y)) == f(Point(x, y))


def test_true_false_and_none_are_told_from_traced_values():
    def f(x):
        flag = x > 0
        match flag:
            case True:
                y = 10
            case False:
                y = 20
            case _:
                y = 30
        match None if x > 5 else x:
            case None:
                z = 1
            case value:
                z = value * 2
        w = 1 if flag is True else 2
        v = 3 if (x > 1) is not False else 4
        return y, z, w, v, x is True

    compiled = ag.function(f)
    for x in (-1.0, 0.5, 7.0):
        assert [float(part) for part in compiled(jnp.asarray(x))] == [float(part) for part in f(x)]

    def g(n):
        match n:
            case True | False:
                return 1
            case 1 | None:
                return 2
        return 3

    assert [ag.convert(g)(n) for n in (True, 1, None, 0, False)] == [g(n) for n in (True, 1, None, 0, False)]
    assert int(jax.jit(ag.convert(g))(1)) == 2


def test_captures_that_only_some_paths_bind_in_an_unrolled_loop():
    """What marks a capture as bound in one branch is not taken for what does outside of it."""

    def f(n, m):
        left = 3
        while left:
            left -= 1
            if m > n:
                match {"k": n, "l": left}:
                    case {"k": 0}:
                        pass
                    case {"k": key, "l": 1}:
                        m -= key
                    case {"k": other, **_others}:
                        n -= other
        return n, m

    compiled = ag.function(f)
    for n, m in ((1, 2), (0, 3), (-2, 5), (3, 1)):
        assert tuple(map(int, compiled(jnp.int32(n), jnp.int32(m)))) == f(n, m)


class Vector:
    __match_args__ = ("length",)

    def __init__(self, x, y):
        self.x, self.y = x, y

    @property
    def length(self):
        if self.x > 0:
            return self.x + self.y
        return self.y

    @property
    def quadrant(self):
        if self.x > 0:
            return 1
        return 2

    @property
    def ratio(self):
        if self.y == 0:
            raise AttributeError("ratio")
        return self.x / self.y


def attribute_of_a_property(x, y):
    match Vector(x, y):
        case Vector(quadrant=1, length=n) if n > 3:
            return n
        case Vector(quadrant=2):
            return -1.0
        case Vector(n):
            return 10 * n


def attribute_that_a_property_may_lack(x, y):
    vector = Vector(x, y)
    match vector:
        case Vector(ratio=r, quadrant=2):
            return r, hasattr(vector, "ratio")
        case Vector(ratio=r):
            return 100 * r, hasattr(vector, "ratio")
        case Vector(length=n):
            return n, hasattr(vector, "ratio")


@pytest.mark.parametrize("program", [attribute_of_a_property, attribute_that_a_property_may_lack])
def test_properties_with_traced_conditions_in_class_patterns(program):
    agrees_when_compiled(program, (1.0, 0.0), (2.0, 4.0), (-1.0, 2.0), (-1.0, 0.0))


def classes_of_builtins(n):
    word, k, h = "", 0, 1.0
    while k < n:
        word += chr(97 + k)
        k += 1
        h /= 2
    found = []
    for value in (k, h, word, (k, k), {"k": k}, None, [k, k], True):
        match value:
            case bool():
                found.append(0)
            case int(m) if m > 1:
                found.append(1)
            case int():
                found.append(2)
            case float() | complex():
                found.append(3)
            case str():
                found.append(4)
            case tuple():
                found.append(5)
            case dict():
                found.append(6)
            case list([_, _]):
                found.append(7)
            case None:
                found.append(8)
    asked = (
        isinstance(k, int),
        isinstance(k, float),
        isinstance(h, (int, float)),
        type(k) is int,
        type(h)(k),
        isinstance(word, str),
    )
    return found, asked


def test_what_stands_for_a_value_of_python_is_of_its_class():
    compiled = ag.function(classes_of_builtins)
    for n in (0, 1, 3):
        assert compiled(jnp.int32(n)) == classes_of_builtins(n)


class Twice:
    __match_args__ = ("a", "a")
    a = 1


class NoTexts:
    __match_args__ = (None,)


class NoTuple:
    __match_args__ = ["a"]
    a = 1


def twice_by_position(w):
    match w:
        case Twice(y, z):
            return y + z


def twice_by_name(w):
    match w:
        case Twice(y, a=z):
            return y + z


def of_no_texts(w):
    match w:
        case NoTexts(y):
            return y


def of_no_tuple(w):
    match w:
        case NoTuple(y):
            return y


@pytest.mark.parametrize(
    "program, subject",
    [(twice_by_position, Twice()), (twice_by_name, Twice()), (of_no_texts, NoTexts()), (of_no_tuple, NoTuple())],
)
def test_class_patterns_that_python_refuses(program, subject):
    with pytest.raises(TypeError) as wanted:
        program(subject)
    for convert in (ag.convert, ag.function):
        with pytest.raises(TypeError) as caught:
            convert(program)(subject)
        assert str(caught.value) == str(wanted.value)
    assert ag.function(program)(1) is program(1) is None


class Sealed:
    def open(self, other):
        match other:
            case Sealed(__key=k):  # a name in a pattern is not mangled
                return k
        return 0


def test_private_names_in_class_patterns():
    one, other = Sealed(), Sealed()
    setattr(one, "__key", 7)  # noqa: B010
    other._Sealed__key = 8
    for run in (other.open, ag.convert(other.open), ag.function(other.open)):
        assert (run(one), run(other)) == (7, 0)


def test_attributes_in_patterns_that_objects_may_lack():
    class Keys:
        first = "a"

    def found(table, x):
        if x > 100:
            del Keys.first  # so that each read of such an attribute may fail
        match table:
            case {Keys.first: y, "b": z}:
                return x + y + z
        return x

    for run in (found, ag.convert(found), ag.function(found)):
        assert (run({"a": 1, "b": 2}, 3), run({"b": 2}, 3)) == (6, 3)


def test_a_mapping_pattern_of_a_dict_with_traced_keys_is_refused():
    def f(k):
        match {k: 16, k + 1: 3}:
            case {8: v}:
                return v
            case _:
                return -1

    with pytest.raises(ag.StagingError, match="`match` reads the keys of a dict here, which are traced"):
        ag.function(f)(jnp.int32(8))

    def g(k):
        match {k: 16}, k:
            case {8: v}, _:
                return v
            case _:
                return -1

    with pytest.raises(ag.StagingError, match="`match` reads the keys of a dict here, which are traced"):
        ag.function(g)(jnp.int32(8))
