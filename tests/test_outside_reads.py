"""What a function reads from objects outside of it: when that has changed, the next call sees it, as Python does."""

from __future__ import annotations

import array
import collections
import dataclasses
import gc
import types
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

pytestmark = pytest.mark.filterwarnings("ignore:(?s).*was traced 6 times")


class Plain:
    rate = 2.0

    def __init__(self, **values):
        self.__dict__.update(values)

    def scaled(self, x):
        return x * self.w

    @property
    def doubled(self):
        return self.w * 2

    def __call__(self, x):
        return x * self.w


class Slotted:
    __slots__ = ("__weakref__", "w")

    def __init__(self, w):
        self.w = w


@dataclasses.dataclass
class Settings:
    lr: float = 0.5
    inner: object = None


@dataclasses.dataclass(frozen=True)
class Frozen:
    table: list


Pair = collections.namedtuple("Pair", "a b")


class Proxy:
    def __init__(self, values):
        self.__dict__["values"] = values

    def __getattr__(self, name):
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(name) from None


class Child(Plain):
    pass


def one():
    return jnp.float32(1.0)


def mutate(name, value):
    return lambda root: setattr(root, name, value)


def scale(name="w", factor=10.0):
    return lambda root: setattr(root, name, getattr(root, name) * factor)


def through_helper(m, x):
    return m.w * x


def set_item(*path, value):
    def change(root):
        *front, last = path
        for step in front:
            root = root[step]
        root[last] = value

    return change


# name: how the object is made, what the function computes of it, and what happens to it between the calls.
CASES = {
    "attribute, array": (lambda: Plain(w=jnp.float32(2)), lambda m, x: m.w * x, [scale(), scale()]),
    "attribute, number": (lambda: Plain(w=2.0), lambda m, x: m.w * x, [scale(), scale()]),
    "attribute, numpy scalar": (lambda: Plain(w=np.float32(2)), lambda m, x: m.w * x, [scale(), scale()]),
    "attribute of an attribute": (
        lambda: Plain(inner=Plain(w=2.0)), lambda m, x: m.inner.w * x,
        [lambda m: scale()(m.inner), mutate("inner", Plain(w=7.0))],
    ),
    "attribute in a method": (lambda: Plain(w=2.0), lambda m, x: m.scaled(x), [scale()]),
    "attribute in a property": (lambda: Plain(w=2.0), lambda m, x: m.doubled * x, [scale()]),
    "attribute in a call": (lambda: Plain(w=2.0), lambda m, x: m(x), [scale()]),
    "attribute in a helper": (lambda: Plain(w=2.0), through_helper, [scale()]),
    "attribute of the class": (lambda: Child(), lambda m, x: m.rate * x, [mutate("rate", 5.0), mutate("rate", 6.0)]),
    "attribute set on the class": (
        type("Fresh", (), {"rate": 2.0}), lambda m, x: m.rate * x, [lambda m: setattr(type(m), "rate", 9.0)],
    ),
    "attribute in slots": (lambda: Slotted(2.0), lambda m, x: m.w * x, [scale()]),
    "attribute by getattr": (lambda: Plain(w=2.0), lambda m, x: getattr(m, "w") * x, [scale()]),
    "attribute that appears": (
        lambda: Plain(w=2.0), lambda m, x: x * getattr(m, "extra", 1.0), [mutate("extra", 4.0)],
    ),
    "attribute asked for": (
        lambda: Plain(w=2.0), lambda m, x: x * m.extra if hasattr(m, "extra") else x, [mutate("extra", 4.0)],
    ),
    "attributes by vars": (lambda: Plain(w=2.0), lambda m, x: x * vars(m)["w"], [scale()]),
    "attribute of a namespace": (lambda: types.SimpleNamespace(w=2.0), lambda m, x: m.w * x, [scale()]),
    "dataclass": (lambda: Settings(), lambda s, x: s.lr * x, [mutate("lr", 2.0)]),
    "dataclass in a dataclass": (
        lambda: Settings(inner=Settings()), lambda s, x: s.inner.lr * x, [lambda s: setattr(s.inner, "lr", 2.0)],
    ),
    "list in a frozen dataclass": (lambda: Frozen([1.0, 2.0]), lambda s, x: sum(s.table) * x, [lambda s: s.table.append(3.0)]),
    "object in a dataclass": (
        lambda: Settings(inner=Plain(w=1.0)), lambda s, x: s.inner.w * x, [lambda s: scale()(s.inner)],
    ),
    "list of an object": (lambda: Plain(w=[1.0, 2.0]), lambda m, x: m.w[0] * x, [lambda m: m.w.__setitem__(0, 5.0)]),
    "list of objects": (
        lambda: Plain(parts=[Plain(w=1.0), Plain(w=2.0)]), lambda m, x: sum(p.w for p in m.parts) * x,
        [lambda m: scale()(m.parts[1]), lambda m: m.parts.pop(), lambda m: m.parts.append(Plain(w=3.0))],
    ),
    "array content": (
        lambda: Plain(w=np.ones(3, np.float32)), lambda m, x: m.w.sum() * x,
        [lambda m: m.w.__setitem__(0, 7.0), lambda m: m.w.fill(-0.0), lambda m: m.w.fill(np.nan)],
    ),
    "list of arrays": (
        lambda: Plain(w=[np.ones(2), jnp.ones(2)]), lambda m, x: (m.w[0] + m.w[1]).sum() * x,
        [lambda m: m.w[0].fill(3), lambda m: m.w.__setitem__(1, jnp.zeros(2))],
    ),
    "set": (lambda: Plain(w={1, 2}), lambda m, x: sum(m.w) * x, [lambda m: m.w.add(5)]),
    "deque": (lambda: Plain(w=collections.deque([1.0])), lambda m, x: sum(m.w) * x, [lambda m: m.w.append(2.0)]),
    "function of an object": (
        lambda: Plain(f=lambda x: x + 1), lambda m, x: m.f(x), [mutate("f", lambda x: x + 2), mutate("f", jnp.sin)],
    ),
    "named tuple that holds a list": (lambda: Plain(p=Pair([1.0], 2)), lambda m, x: m.p.a[0] * x, [lambda m: m.p.a.__setitem__(0, 4.0)]),
    "two names for one": (
        lambda: (lambda inner: Plain(a=inner, b=inner))(Plain(w=1.0)), lambda m, x: (m.a.w + 10 * m.b.w) * x,
        [mutate("b", Plain(w=3.0)), lambda m: scale()(m.a)],
    ),
    "a cycle": (
        lambda: (lambda m: (setattr(m, "me", m), m)[1])(Plain(w=1.0)), lambda m, x: m.me.me.w * x, [scale()],
    ),
    "another class": (
        lambda: Plain(w=1.0, inner=Plain(w=2.0)), lambda m, x: m.inner(x),
        [mutate("inner", type("Twice", (Plain,), {"__call__": lambda self, x: 2 * self.w * x})(w=2.0))],
    ),
    "true and one": (lambda: Plain(w=1), lambda m, x: x + (1.0 if m.w is True else 0.0), [mutate("w", True)]),
    "a method that is another": (
        lambda: type("Patched", (Plain,), {})(w=2.0), lambda m, x: m.scaled(x),
        [lambda m: setattr(type(m), "scaled", lambda self, x: x * 7), lambda m: setattr(m, "scaled", lambda x: x * 9)],
    ),
    "a proxy": (
        lambda: Proxy({"w": 2.0}), lambda m, x: m.w * x, [lambda m: m.values.__setitem__("w", 5.0)],
    ),
    "a weak reference": (
        lambda: (lambda inner: Plain(inner=inner, ref=weakref.ref(inner)))(Plain(w=2.0)), lambda m, x: m.ref().w * x,
        [lambda m: scale()(m.inner)],
    ),
    "bytes that are written": (lambda: Plain(w=bytearray(b"ab")), lambda m, x: m.w[0] * x, [lambda m: m.w.__setitem__(0, 7)]),
    "an array of Python's": (
        lambda: Plain(w=array.array("d", [1.0])), lambda m, x: m.w[0] * x, [lambda m: m.w.__setitem__(0, 7.0)],
    ),
    "an attribute that goes": (
        lambda: Plain(rate=7.0), lambda m, x: m.rate * x, [lambda m: delattr(m, "rate")],
    ),
}  # fmt: skip

CONTAINERS = {
    "nested dict": (lambda: {"a": {"b": 2.0}}, lambda d, x: d["a"]["b"] * x, [set_item("a", "b", value=3.0)]),
    "dict of arrays": (
        lambda: {"w": jnp.ones(2), "b": np.ones(2)}, lambda d, x: (d["w"] * d["b"]).sum() * x,
        [set_item("w", value=jnp.zeros(2)), lambda d: d["b"].fill(4), set_item("w", value=jnp.ones(2))],
    ),
    "list of lists": (lambda: [[1.0], [2.0]], lambda d, x: d[1][0] * x, [set_item(1, 0, value=5.0)]),
    "long list": (lambda: [1.0] * 1000, lambda d, x: sum(d) * x, [set_item(999, value=5.0)]),
    "long list of arrays": (lambda: [jnp.ones(())] * 100, lambda d, x: sum(d) * x, [set_item(99, value=jnp.zeros(()))]),
    "dict of objects": (lambda: {"p": Plain(w=1.0)}, lambda d, x: d["p"].w * x, [lambda d: scale()(d["p"])]),
    "dict with tuple keys": (
        lambda: {(1, 2): [1.0]}, lambda d, x: d[1, 2][0] * x,
        [lambda d: d[1, 2].append(2.0), set_item((1, 2), 0, value=4.0)],
    ),
    "functions by name": (lambda: {"act": jnp.sin}, lambda d, x: d["act"](x), [set_item("act", value=jnp.cos)]),
    "key true for one": (
        lambda: {1: 2.0}, lambda d, x: x + any(key is True for key in d), [lambda d: (d.clear(), d.update({True: 2.0}))],
    ),
    "ordered": (
        lambda: collections.OrderedDict(a=1.0, b=2.0), lambda d, x: next(v for v in d.values()) * x,
        [lambda d: d.move_to_end("a")],
    ),
    "array": (lambda: np.arange(4.0), lambda a, x: a[1] * x, [set_item(1, value=9.0)]),
    "array without axes": (lambda: np.array(2.0), lambda a, x: a * x, [set_item((), value=9.0), set_item((), value=2.0)]),
    "view of an array": (lambda: np.arange(8.0)[::2], lambda a, x: a[1] * x, [set_item(1, value=9.0)]),
}  # fmt: skip


def agree(made, f, changes):
    """Call both forms before and after each change of the one object that ``made`` gives."""
    root = made()
    compiled = f(root)
    for change in [lambda root: None, *changes, lambda root: None]:
        change(root)
        plain, ours = compiled.python_function(one()), compiled(one())
        np.testing.assert_allclose(np.asarray(ours), np.asarray(plain, np.float32), rtol=1e-6)


@pytest.mark.parametrize("name", CASES | CONTAINERS)
def test_closed_over(name):
    made, compute, changes = (CASES | CONTAINERS)[name]
    agree(made, lambda root: ag.function(lambda x: compute(root, x)), changes)


@pytest.mark.parametrize("name", CASES)
def test_an_argument(name):
    """The same object on each call: it is one signature, and what it holds belongs to it."""
    made, compute, changes = CASES[name]
    root = made()
    f = ag.function(compute)
    for change in [lambda root: None, *changes, lambda root: None]:
        change(root)
        expected = compute(root, one())
        for ours in (f(root, one()), f(root, x=one()), f(root, one())):
            np.testing.assert_allclose(np.asarray(ours), np.asarray(expected, np.float32), rtol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_in_a_list_that_is_an_argument(name):
    made, compute, changes = CASES[name]
    root = made()
    f = ag.function(lambda roots, x: compute(roots[0], x))
    for change in [lambda root: None, *changes]:
        change(root)
        expected = compute(root, one())
        np.testing.assert_allclose(np.asarray(f([root], one())), np.asarray(expected, np.float32), rtol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_an_attribute_of_the_instance(name):
    made, compute, changes = CASES[name]

    class Holder:
        def __init__(self):
            self.root = made()

        @ag.function
        def run(self, x):
            return compute(self.root, x)

        def plain(self, x):
            return compute(self.root, x)

    holder, other = Holder(), Holder()
    before = np.asarray(other.run(one()))
    for change in [lambda root: None, *changes]:
        change(holder.root)
        np.testing.assert_allclose(
            np.asarray(holder.run(one())), np.asarray(holder.plain(one()), np.float32), rtol=1e-6
        )
        if name != "attribute set on the class":
            assert np.array_equal(other.run(one()), before)


def test_very_many_objects():
    objects = {str(k): Plain(w=float(k)) for k in range(2000)}
    f = ag.function(lambda x: x * objects["7"].w)
    assert float(f(one())) == 7 and float(f(one())) == 7 and f.experimental_get_tracing_count() == 1
    objects["7"].w = 8.0
    assert float(f(one())) == 8
    objects["1999"].w = 0.0
    assert float(f(one())) == 8


def test_what_is_back_finds_its_program():
    m = Plain(w=2.0)
    f = ag.function(lambda m, x: m.w * x)
    g = ag.function(lambda x: m.w * x)
    for value in (2.0, 3.0, 2.0, 3.0, 2.0):
        m.w = value
        assert float(f(m, one())) == value and float(g(one())) == value
    assert f.experimental_get_tracing_count() == 2 and g.experimental_get_tracing_count() == 2


def test_what_is_not_read_does_not_matter():
    m = Plain(w=2.0, steps=0, log=[])
    f = ag.function(lambda m, x: m.w * x)
    g = ag.function(lambda x: m.w * x)
    for _ in range(3):
        f(m, one()), g(one())
        m.steps += 1
        m.log.append(m.steps)
    assert f.experimental_get_tracing_count() == 1 and g.experimental_get_tracing_count() == 1


def test_what_the_trace_counts_is_no_reason_for_another():
    class Model:
        def __init__(self):
            self.traces, self.cache = 0, {}

        @ag.function
        def run(self, x):
            self.traces += 1
            return x * 2

    model = Model()
    for size in (1, 2, 1, 2, 1):
        model.run(jnp.ones(size))
    assert model.traces == 2

    @ag.function
    def counted(m, x):
        m.traces += 1
        return x

    m = Plain(traces=0)
    for size in (1, 2, 1, 2, 1):
        counted(m, jnp.ones(size))
    assert m.traces == 2


def test_the_reason_is_named_by_its_path():
    m = Plain(inner=Plain(w=2.0))
    f = ag.function(lambda x: m.inner.w * x)
    f(one())
    m.inner.w = 3.0
    f(one())
    assert "captured `m.inner.w`: Python float 2.0 → 3.0" in f.explain_retraces()
    g = ag.function(lambda model, x: model.inner.w * x)
    g(m, one())
    m.inner.w = 4.0
    g(m, one())
    assert "`model.inner.w`: Python float 3.0 → 4.0" in g.explain_retraces()


def test_a_function_that_is_an_argument_and_what_it_closes_over():
    k = 2.0

    def times(x):
        return x * k

    f = ag.function(lambda g, x: g(x))
    assert float(f(times, one())) == 2
    k = 3.0
    assert float(f(times, one())) == 3


def test_a_module_of_the_users():
    settings = types.ModuleType("settings_of_a_user")
    settings.RATE = 2.0
    settings.scaled = lambda x: x * settings.RATE
    f = ag.function(lambda x: settings.scaled(x) * settings.RATE)
    assert float(f(one())) == 4
    settings.RATE = 3.0
    assert float(f(one())) == 9


def test_a_class_that_is_defined_anew():
    def make(factor):
        class Scaler:
            def __call__(self, x):
                return x * factor

        return Scaler

    kind = make(2.0)
    f = ag.function(lambda x: kind()(x))
    assert float(f(one())) == 2
    kind = make(3.0)
    assert float(f(one())) == 3


def test_an_object_of_a_library_that_is_another():
    choose = np.random.default_rng(0)
    f = ag.function(lambda x: x + choose.random())
    first = float(f(one()))
    assert float(f(one())) == first
    choose = np.random.default_rng(1)
    assert float(f(one())) != first


def test_a_variable_that_is_another():
    m = Plain(v=ag.Variable(2.0))
    f = ag.function(lambda x: m.v * x)
    assert float(f(one())) == 2
    m.v = ag.Variable(5.0)
    assert float(f(one())) == 5
    m.v.assign(6.0)
    assert float(f(one())) == 6 and f.experimental_get_tracing_count() == 2


def test_an_instance_goes_with_its_children():
    class Parent:
        def __init__(self):
            self.child = Plain(w=2.0, parent=self)
            self.children = [self.child]
            self.by_name = {"child": self.child}

        @ag.function
        def run(self, x):
            return x * self.child.w * self.children[0].parent.by_name["child"].w

    parent = Parent()
    assert float(parent.run(one())) == 4
    gone = weakref.ref(parent)
    del parent
    gc.collect()
    assert gone() is None


def test_an_argument_goes():
    f = ag.function(lambda m, x: m.w * m.inner.w * x)
    m = Plain(w=2.0, inner=Plain(w=1.0))
    m.inner.owner = m
    f(m, one())
    gone = weakref.ref(m)
    del m
    gc.collect()
    assert gone() is None


def test_under_other_transforms():
    m = Plain(w=jnp.float32(2))
    f = ag.function(lambda m, x: m.w * x * x)
    for value in (2.0, 3.0):
        m.w = jnp.float32(value)
        assert float(jax.grad(lambda x: f(m, x))(one())) == 2 * value
        assert jax.vmap(lambda x: f(m, x))(jnp.ones(2)).tolist() == [value] * 2


def test_a_tracer_on_an_object_is_of_its_trace():
    m = Plain(w=jnp.float32(2))
    f = ag.function(lambda x: m.w * x)

    def through(w):
        before, m.w = m.w, w
        try:
            return f(one())
        finally:
            m.w = before

    assert float(f(one())) == 2
    for value in (3.0, 4.0):
        assert float(jax.grad(lambda w: through(w) * 5)(jnp.float32(value))) == 5
        assert float(f(one())) == 2


def test_under_a_traced_condition_and_in_a_loop():
    m = Plain(w=2.0, n=3)

    @ag.function
    def f(x):
        total = x
        for _ in ag.range(m.n):
            if total > 0:
                total = total * m.w
        return total

    for m.w, m.n in ((2.0, 3), (3.0, 3), (3.0, 2)):
        assert float(f(one())) == m.w**m.n
