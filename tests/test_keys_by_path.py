"""Keys of dicts, and attributes of objects, that only some paths set or delete: Python's answers and errors."""

from __future__ import annotations

import collections
import dataclasses
import gc
import types
import weakref

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged

VALUES = (2.0, 0.5, -1.0, -3.0)


def plain(value):
    if isinstance(value, jax.Array):
        return value.item() if value.ndim == 0 else value.tolist()
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value))
    if hasattr(value, "__dict__"):
        return type(value), {name: plain(part) for name, part in vars(value).items()}
    return value


def outcome(function, *args):
    try:
        return repr(plain(function(*args)))
    except (KeyError, AttributeError, TypeError, RuntimeError) as error:
        return type(error), str(error).partition(". Did you")[0]


PROGRAMS = []


def program(function):
    PROGRAMS.append(function)
    return function


@program
def read_of_a_key(x):
    d = {"a": 1.0}
    if x > 0:
        d["k"] = x
    return d["k"]


@program
def questions(x):
    d = {"a": 1.0}
    if x > 0:
        d["k"] = x
    return len(d), "k" in d, "k" not in d, d.get("k", 7.0), d.get("a"), bool(d)


@program
def deleted_on_one_path(x):
    d = {"a": x, "b": 2.0}
    if x > 0:
        del d["a"]
    if "a" in d:
        return d["a"]
    return -1.0


@program
def deleted_after(x):
    d = {"b": 2.0 * x}
    if x > 0:
        d["a"] = x
    del d["a"]
    return d


@program
def popped(x):
    d = {"a": x, "b": 2.0 * x}
    if x > 0:
        d.pop("a")
    first = d.pop("a", 9.0)
    return first, len(d), d


@program
def loop_over_items(x):
    d = {"z": 1.0}
    if x > 0:
        d["k"] = x
    elif x > -2:
        d["j"] = 2 * x
    total = 0.0
    for key, value in d.items():
        total += value * (2 if key == "k" else 3)
        if total > 5:
            break
    return total, sum(d.values()), sorted(d), list(d), max(d.values()), [*d]


@program
def nested(x):
    d = {"z": {"q": x}}
    if x > 0:
        d["z"]["y"] = x
        d["a"] = {"i": x, "h": x}
    if x > 1:
        d["a"]["e"] = x
    return [d, (x, d["z"])]


@program
def other_keys_on_each_path(x):
    if x > 0:
        return {"b": x, "a": x}
    return {"c": x}


@program
def constants(x):
    d = {"m": x}
    if x > 0:
        d["k"] = "pos"
    else:
        d["j"] = None
    return d, d.get("k", "none")


@program
def update_and_equality(x):
    d = {"z": 1}
    if x > 0:
        d["k"] = x
    d.update(q=2.0)
    if x > 1:
        d.pop("z")
    other = {"m": x}
    other.update(d)
    return d == {"k": 2.0, "q": 2.0}, d != other, len(d), "k" in other


@program
def set_default(x):
    d = {}
    if x > 0:
        d["k"] = x
    return d.setdefault("k", 5.0) + d["k"]


@program
def merged(x):
    d = {"z": x}
    if x > 0:
        d["k"] = x
    e = {**d, "q": 1.0 * x}
    return e, dict(d, p=x), d | {"r": x}


def area(width=1.0, height=2.0):
    return width + 10 * height


@program
def keywords(x):
    d = {}
    if x > 0:
        d["width"] = x
    if x < 1:
        d["height"] = x
    return area(**d)


@program
def handled(x):
    d = {}
    if x > 0:
        d["k"] = x
    y, n = 0.0, 0
    try:
        y = d["k"]
        n += 1
    except KeyError:
        n -= 1
    return y, n


@program
def through_a_function(x):
    def put(target, value):
        target["k"] = value

    def total(target):
        return sum(target[key] for key in target) if len(target) > 1 else 0.0

    d = {"a": 1.0}
    if x > 0:
        put(d, x)
    return len(d), d.get("k", 0.0)


@program
def two_names(x):
    d = {"a": 1.0 * x}
    e = d
    if x > 0:
        d["k"] = x
    e["b"] = 2.0 * x
    return d, len(e), d is e


@program
def chosen_dict(x):
    a, b = {"u": x}, {"u": 2 * x, "v": x}
    c = a if x > 0 else b
    c["w"] = 3 * x
    return len(a), len(b), len(c), "v" in c, c["u"]


@program
def a_default_dict(x):
    d = collections.defaultdict(float)
    if x > 0:
        d["k"] += x
    d["b"] += 2 * x
    value = d["b"]
    return d, value, len(d)


@program
def an_ordered_dict(x):
    d = collections.OrderedDict(z=x)
    if x > 0:
        d["k"] = x
    return d


@program
def a_counter(x):
    d = collections.Counter()
    if x > 0:
        d["k"] += 1
    else:
        d["z"] += 2
    return d["k"] + 10 * d["z"] + 100 * d["q"]


class Box:
    pass


@program
def an_attribute(x):
    box = Box()
    if x > 0:
        box.late = x
    return box.late


@program
def questions_about_an_attribute(x):
    box = Box()
    if x > 0:
        box.late = x
    if hasattr(box, "late"):
        return box.late + 1
    return getattr(box, "late", 9.0)


@program
def deleted_attribute(x):
    box = Box()
    box.gone = x
    if x > 0:
        del box.gone
    try:
        return box.gone
    except AttributeError:
        return 11.0


@program
def a_returned_object(x):
    box = Box()
    box.z = x
    if x > 0:
        box.k = "text"
    box.d = {}
    if x > 1:
        box.d["y"] = x
    return box


@program
def a_namespace(x):
    space = types.SimpleNamespace(a=x)
    if x > 0:
        space.b = x
    return getattr(space, "b", 3.0), hasattr(space, "b")


@dataclasses.dataclass
class Point:
    x: float

    def mark(self, value):
        if value > 0:
            self.marked = value
        return self

    def seen(self):
        return self.marked if hasattr(self, "marked") else self.x


@program
def methods_of_a_dataclass(x):
    return Point(7.0).mark(x).seen()


@program
def set_again_in_another_order(x):
    d = {}
    if x > 0:
        d["a"] = x
    d["b"] = x
    d["a"] = 3 * x
    return d["a"] + d["b"], len(d), "a" in d


@program
def overwritten_by_what_may_lack_keys(x):
    e = {"k": 5.0, "q": 1.0}
    if x > 1:
        e.pop("k")
    d = {"a": x}
    if x > 0:
        d["k"] = 2 * x
    either = d | e
    shown = {**d, **e}
    d |= e
    return either["q"], len(shown), either.get("k"), shown.get("k"), d.get("k")


@program
def copies(x):
    d = {"a": x}
    if x > 0:
        d["k"] = 2 * x
    e = d.copy()
    e["z"] = 1.0 * x
    return d, e, sum(1 for k in d), sum(d[k] for k in d)


@program
def loops_with_jumps(x):
    d = {"a": x}
    if x > 0:
        d["k"] = 2 * x
    total = 0.0
    for i, (key, value) in enumerate(d.items()):
        if key == "k":
            continue
        total += value * (i + 1)
    else:
        total += 100
    return total


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_python_and_the_program_agree(function):
    made = ag.function(function)
    for value in VALUES:
        x = jnp.array(value)
        assert outcome(made, x) == outcome(function, x)


def test_jit_gives_the_dict_that_python_gives():
    made = jax.jit(ag.convert(merged))
    for value in VALUES:
        assert repr(plain(made(jnp.array(value)))) == repr(plain(merged(jnp.array(value))))
    assert isinstance(made(jnp.array(1.0))[0], ag.DictByPath)


def test_vmap_tells_of_each_row_whether_it_has_the_key():
    def found(x):
        d = {"z": x}
        if x > 0:
            d["k"] = 2 * x
        return d

    def get(x):
        return found(x).get("k", -1.0) + len(found(x))

    rows = jnp.array(VALUES)
    batch = jax.vmap(ag.convert(found))(rows)
    assert batch.presence("k").tolist() == [True, True, False, False] and batch["z"].tolist() == list(VALUES)
    assert batch.resolve() is batch and batch.presence("q") is False
    assert jax.vmap(ag.convert(get))(rows).tolist() == [float(get(x)) for x in rows]


def test_gradients():
    def loss(x):
        d = {"a": x * x}
        if x > 0:
            d["k"] = x * x * x
        total = d.get("k", 5 * x)
        for value in d.values():
            total += value
        return total

    for value in VALUES:
        assert jax.grad(ag.convert(loss))(value) == jax.grad(loss)(value)


def test_a_key_of_a_dict_that_a_variable_tells():
    state = ag.Variable(0.0)

    @ag.function
    def step(x):
        d = {}
        if x > 0:
            d["k"] = x
        if "k" in d:
            state.assign_add(d["k"])
        return len(d)

    assert [int(step(jnp.array(value))) for value in VALUES] == [1, 1, 0, 0]
    assert float(state.numpy()) == 2.5


def test_a_call_with_keywords_that_may_be_absent_keeps_nothing_alive():
    def run():
        weight = ag.Variable(2.0)

        def scaled(v, by=1.0):
            return weight.value * v * by

        def f(x):
            given = {}
            if x > 0:
                given["by"] = x
            return scaled(x, **given)

        function = ag.function(f)
        assert float(function(jnp.float32(3.0))) == 18.0
        return weakref.ref(weight), weakref.ref(function)

    gc.collect()
    gc.disable()
    try:
        assert [kept() for kept in run()] == [None, None]
    finally:
        gc.enable()


@pytest.mark.parametrize("read", [list, lambda d: [k for k in d]])
def test_an_order_that_differs_is_read(read):
    def f(x, of_b):
        d = {}
        if x > 0:
            d["a"] = x
        d["b"] = of_b
        d["a"] = 3 * x
        return read(d)

    for x in (1.0, -1.0):
        assert staged.function(f)(jnp.array(x), jnp.array(2.0)) == f(x, 2.0)
    with pytest.raises(ag.StagingError, match="'a' comes among"):  # an integer is no element of a list of floats
        ag.function(f)(jnp.array(1.0), jnp.array(2))


REFUSED = [
    lambda d: jax.tree.map(jnp.sin, d),
    lambda d: d.items() & {("k", 1.0)},
]


@pytest.mark.parametrize("read", REFUSED)
def test_what_does_not_know_of_absence_is_refused(read):
    def f(x):
        d = {"a": 1.0}
        if x > 0:
            d["k"] = x
        return read(d)

    with pytest.raises(ag.StagingError, match="only some paths|one path of a traced condition"):
        ag.function(f)(jnp.array(1.0))
