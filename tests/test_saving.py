"""`save` and `load`: what was saved does the same when it is loaded."""

from __future__ import annotations

import collections
import dataclasses
import enum
import types
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.saved_models import loaded

Spec = ag.TensorSpec
X = jnp.array([1.0, 2.0, 3.0])


# Functions.


def test_a_function_without_its_source(tmp_path):
    @ag.function(input_signature=[Spec(["n"])])
    def halved(x):
        steps = 0
        while x.max() > 1:
            x = x / 2
            steps += 1
        return x, steps

    again = loaded(halved, tmp_path)
    for size in (1, 3, 5):
        x = jnp.arange(1.0, size + 1)
        ours, steps = again(x)
        theirs, count = halved(x)
        assert ours.tolist() == theirs.tolist() and int(steps) == int(count)
    assert again.signatures["default"](X)[1] == 2
    assert again.signatures["default"].pretty_printed_signature() == halved.pretty_printed_concrete_signatures()


def test_a_lambda(tmp_path):
    assert loaded(ag.function(lambda x: x * 2, [Spec([])]), tmp_path)(4.0) == 8


def test_every_signature_that_was_called(tmp_path):
    @ag.function
    def power(x, n=2, *, negate=False):
        y = x**n
        return -y if negate else y

    calls = [((X,), {}), ((X, 3), {}), ((X,), {"negate": True}), ((jnp.ones((2, 2), jnp.int32),), {})]
    expected = [power(*args, **kwargs).tolist() for args, kwargs in calls]
    again = loaded(power, tmp_path)
    texts = vars(again)["__call__"].pretty_printed_concrete_signatures()
    assert texts == power.pretty_printed_concrete_signatures()
    assert [again(*args, **kwargs).tolist() for args, kwargs in calls] == expected
    assert again(x=X, n=3).tolist() == expected[1]
    for args, text in [((X, 4), "n"), ((jnp.ones(4),), "float32[4]"), ((X, 2.0), "2.0")]:
        with pytest.raises(ag.InvalidArgumentError, match="power was saved with 4 programs") as error:
            again(*args)
        assert text in str(error.value) or "int32" in str(error.value)


def test_a_size_that_some_program_leaves_open(tmp_path):
    f = ag.function(lambda x: x.sum())
    f.get_concrete_function(Spec([None]))
    f.get_concrete_function(Spec([2, 2]))
    again = loaded(f, tmp_path)
    assert [float(again(jnp.ones(n))) for n in (1, 5)] == [1, 5] and float(again(jnp.ones((2, 2)))) == 4
    with pytest.raises(ag.InvalidArgumentError, match="empty"):
        again(jnp.ones(0))


def test_a_symbolic_size_is_a_result(tmp_path):
    again = loaded(ag.function(lambda x: (x.shape, 2 * len(x)), [Spec([None, 3])]), tmp_path)
    assert [jax.tree.map(int, again(jnp.ones((n, 3)))) for n in (1, 4)] == [((1, 3), 2), ((4, 3), 8)]


def test_a_key_as_an_argument(tmp_path):
    f = ag.function(lambda key, x: (jax.random.normal(key, (3,)) * x, jax.random.split(key)))
    key = jax.random.key(3)
    expected, keys = f(key, X)
    got, others = loaded(f, tmp_path)(key, X)
    assert got.tolist() == expected.tolist() and (others == keys).all()


def test_concrete_functions_in_a_dict(tmp_path):
    f = ag.function(lambda x, n: x * n)
    again = loaded({"twice": f.get_concrete_function(X, 2), "thrice": f.get_concrete_function(X, 3)}, tmp_path)
    assert again["twice"](X).tolist() == [2, 4, 6] and again.thrice(x=X).tolist() == [3, 6, 9]
    assert sorted(again.signatures) == ["thrice", "twice"]
    with pytest.raises(
        ag.InvalidArgumentError, match=r"input #0 \(zero-based\), `x`, expected float32\[3\], got float32\[2\]"
    ):
        again["twice"](jnp.ones(2))
    with pytest.raises(ag.InvalidArgumentError, match="traced for n=2"):
        again["twice"](X, 5)


def test_signatures_by_name(tmp_path):
    f = ag.function(lambda x: x + 1)
    again = loaded(f, tmp_path, signatures={"serve": f.get_concrete_function(Spec([None]))})
    assert again.signatures["serve"](jnp.ones(2)).tolist() == [2, 2]
    assert list(loaded(ag.function(lambda x: x), tmp_path, signatures=[Spec([3])]).signatures) == ["default"]


def test_what_a_call_with_an_input_signature_takes(tmp_path):
    f = ag.function(lambda pair, flag: pair["a"] * flag, [{"a": Spec([None])}, Spec([], jnp.int32)])
    again = loaded(f, tmp_path)
    assert again({"a": [1.0, 2.0]}, 3).tolist() == [3, 6]
    with pytest.raises(TypeError, match=r"`pair\['a'\]` does not fit the input_signature"):
        again({"a": jnp.ones((2, 2))}, 3)


def test_what_cannot_be_saved(tmp_path):
    f = ag.function(lambda x: x)
    for wrong, text in [(f, "has not been traced"), (ag.Module(), "no Function and no Variable"), ({}, "no Function")]:
        with pytest.raises(ValueError, match=text):
            ag.save(wrong, tmp_path / "m")
    for wrong, text in [(lambda x: x, "plain function"), (3, "got 3"), ({1: f}, "names")]:
        with pytest.raises(TypeError, match=text):
            ag.save(wrong, tmp_path / "m")
    f(X)
    for options, text in [
        ({"platforms": "cpu"}, "sequence"),
        ({"derivatives": -1}, "derivatives"),
        ({"signatures": {"a": 3}}, "'a'"),
    ]:
        with pytest.raises(TypeError, match=text):
            ag.save(f, tmp_path / "m", **options)
    for platforms in (["abacus"], []):
        with pytest.raises(ag.TargetError, match="platform"):
            ag.save(f, tmp_path / "m", platforms=platforms)
    assert list(tmp_path.iterdir()) == []


def test_a_function_that_was_never_called_says_so(tmp_path):
    class Half(ag.Module):
        def __init__(self):
            self.v = ag.Variable(1.0)

        @ag.function
        def f(self, x):
            return x * self.v

    again = loaded(Half(), tmp_path)
    assert float(again.v) == 1
    with pytest.raises(ag.InvalidArgumentError, match="f had not been traced for any arguments when it was saved"):
        again.f(X)


# Structures.


class Point(collections.namedtuple("Point", "x y")):
    pass


Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class Settings:
    rate: Any
    name: str = "sgd"


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


@pytest.mark.parametrize(
    "make",
    [
        lambda x: None,
        lambda x: (x, None, "text", 3, 2.5, True, 1 - 2j, b"bytes", ...),
        lambda x: {"a": [x, (x + 1,)], "b": {3: x}},
        lambda x: [],
        lambda x: collections.OrderedDict(b=x, a=1),
        lambda x: collections.deque([x, 2], maxlen=3),
        lambda x: {1, 2, 3},
        lambda x: float("inf"),
        lambda x: slice(0, 3),
        lambda x: x if x.sum() > 100 else None,
        lambda x: x if x.sum() > 1 else None,
        lambda x: "many" if x.sum() > 100 else "few",
        lambda x: {
            "mode": b"on" if x.sum() > 1 else b"off",
            "type": jnp.dtype("f4") if x.sum() > 1 else jnp.dtype("i1"),
        },
        lambda x: [("up" if v > 2 else "down" if v < 2 else "level", v) for v in x],
    ],
)
def test_results_of_python(tmp_path, make):
    f = ag.function(make)
    expected = f(X)
    got = loaded(f, tmp_path)(X)
    assert type(got) is type(expected) and repr(got) == repr(expected)


def test_lists_and_arrays_of_traced_length(tmp_path):
    @ag.function
    def positive(x):
        pairs, kept = [], []
        for value in x:
            if value > 0:
                pairs.append((value, value * 2))
                kept.append(value)
        return pairs, jnp.stack(kept)

    @ag.function
    def stacked(x):
        kept = []
        for value in x:
            if value > 0:
                kept.append(value)
        return jnp.stack(kept)

    x = jnp.array([1.0, -2.0, 3.0])
    again = loaded(ag.function(stacked.python_function), tmp_path, signatures=[Spec([3])])
    assert again(x).tolist() == stacked(x).tolist() == [1, 3]
    assert "<the first <2> of <1>>" in again.signatures["default"].pretty_printed_signature()

    @ag.function
    def last_positive(x):
        kept = collections.deque(maxlen=2)
        for value in x:
            if value > 0:
                kept.append(value)
        return kept

    last_positive(x)
    kept = loaded(last_positive, tmp_path)(x)
    assert type(kept) is collections.deque and kept.maxlen == 2 and list(map(float, kept)) == [1, 3]
    expected, array = positive(x)
    got, other = loaded(positive, tmp_path)(x)
    assert [tuple(map(float, p)) for p in got] == [tuple(map(float, p)) for p in expected] and len(got) == 2
    assert array.tolist() == other.tolist() == [1, 3]


def test_named_tuples_and_dataclasses_without_their_classes(tmp_path):
    @ag.function
    def step(pair, settings):
        return Pair(pair.right, pair.left * settings.rate), Settings(settings.rate / 2, settings.name)

    pair, settings = Pair(X, X + 1), Settings(jnp.array(2.0))
    step(pair, settings)
    again = loaded(step, tmp_path)
    other_pair = collections.namedtuple("Pair", "left right")
    other_settings = dataclasses.make_dataclass("Settings", [("rate", Any), ("name", str, "sgd")])
    got, new = again(other_pair(X, X + 1), other_settings(jnp.array(2.0)))
    assert type(got).__name__ == "Pair" and got._fields == ("left", "right") and got.right.tolist() == [2, 4, 6]
    assert type(new).__name__ == "Settings" and float(new.rate) == 1 and new.name == "sgd"
    with pytest.raises(ag.InvalidArgumentError, match="Settings"):
        again(other_pair(X, X), {"rate": jnp.array(2.0), "name": "sgd"})


def test_objects_and_members_of_enumerations(tmp_path):
    class Box:
        def __init__(self, content):
            self.content = content

    f = ag.function(lambda x, color=Color.RED: (Box(x), color))
    f(X)
    again = loaded(f, tmp_path)
    box, color = again(X)
    assert isinstance(box, types.SimpleNamespace) and box.content.tolist() == [1, 2, 3] and color == "red"
    assert again(X, Color.RED)[1] == again(X, "red")[1] == "red"
    with pytest.raises(ag.InvalidArgumentError, match="RED"):
        again(X, "blue")


def test_a_member_of_an_enumeration_that_a_path_chooses(tmp_path):
    @ag.function(input_signature=[Spec([])])
    def light(x):
        color = Color.RED
        if x > 0:
            color = Color.GREEN
        return color

    again = loaded(light, tmp_path)
    for x in (1.0, -1.0):
        assert again(x) == light(x).value

    @ag.function
    def twice(x):
        return (again(x), again(-x)) if again(x) == "green" else (again(x), again(x))

    assert twice(jnp.array(1.0)) == ("green", "red") and twice(jnp.array(-1.0)) == ("red", "red")
    assert loaded(again, tmp_path / "again")(1.0) == "green"


def test_functions_that_a_path_chooses_cannot_be_saved(tmp_path):
    f = ag.function(lambda x: jnp.sin if x > 0 else jnp.cos, [Spec([])])
    with pytest.raises(ag.StagingError, match="returns a .*, which cannot be saved"):
        ag.save(f, tmp_path / "m")


def test_a_result_of_a_class_that_only_its_source_knows_is_refused(tmp_path):
    @jax.tree_util.register_pytree_node_class
    class Odd:
        def __init__(self, x):
            self.x = x

        def tree_flatten(self):
            return (self.x,), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(*children)

    f = ag.function(lambda x: Odd(x))
    f(X)
    with pytest.raises(ag.StagingError, match="returns a .*Odd, which cannot be saved"):
        ag.save(f, tmp_path / "m")
    g = ag.function(lambda odd: odd.x)
    g(Odd(X))
    with pytest.raises(ag.StagingError, match="`odd=.*Odd"):
        ag.save(g, tmp_path / "m")


def test_functions_as_arguments(tmp_path):
    f = ag.function(lambda x, act=jnp.tanh: act(x))
    expected = f(X)
    assert loaded(f, tmp_path)(X).tolist() == expected.tolist()
    f(X, jnp.sin)
    with pytest.raises(ag.StagingError, match="traced for `act=<jnp.ufunc 'sin'>|traced for `act="):
        ag.save(f, tmp_path / "m")
