"""Methods that Python calls by itself where no operator stands: to show, hash, order, unpack and find."""

import importlib

import autograph as ag
from tests.outcomes import agrees


class Counting:
    """Counts how often each of its methods is called."""

    def __init__(self, v=1.0):
        self.n = 0
        self.v = v
        self.held = {"rate": 2.0}

    def count(self, by):
        self.n += by

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        self.count(1)
        return self.held[name]

    def __str__(self):
        self.count(10)
        return "counting"

    def __hash__(self):
        self.count(100)
        return 7

    def __eq__(self, other):
        self.count(1000)
        return self.v == other.v

    def __lt__(self, other):
        self.count(10_000)
        return self.v < other.v

    def __iter__(self):
        self.count(100_000)
        yield 1.0
        yield 2.0


def test_an_attribute_that_a_method_finds():
    def f(x):
        o, s = Counting(), 0.0
        for _ in ag.range(3):
            s += o.rate
        if x > 0:
            s += o.rate
        return s, o.n

    agrees(f)


def test_a_text():
    def f(x):
        o = Counting()
        for _ in ag.range(3):
            f"{o}"
        if x > 0:
            str(o)
        return o.n

    agrees(f)


def test_a_key():
    def f(x):
        o, other, s = Counting(), Counting(), 0.0
        table = {o: 5.0}
        if x > 0:
            s += table[other]
        return s, o.n, other.n

    agrees(f)


def test_an_order():
    def f(x):
        a, b = Counting(2.0), Counting(1.0)
        if x > 0:
            [b, a].sort()
        return a.n, b.n

    agrees(f)


def test_an_unpacking():
    def f(x):
        o, s = Counting(), 0.0
        for _ in ag.range(3):
            a, b = o
            s += a + b * x + sum(list(o))
        return s, o.n

    agrees(f)


class Meta(type):
    @property
    def rate(cls):
        cls.reads += 1
        return 2.0


class OfMeta(metaclass=Meta):
    reads = 0


def test_a_property_of_a_class():
    def f(x):
        OfMeta.reads, s = 0, 0.0
        for _ in ag.range(3):
            s += OfMeta.rate
        reads, OfMeta.reads = OfMeta.reads, 0
        return s, reads

    agrees(f)


class Tracked:
    """Every assignment goes through its own methods, and through those of `object`."""

    def __init__(self, v):
        object.__setattr__(self, "v", v)
        object.__setattr__(self, "writes", 0)

    @property
    def doubled(self):
        return self.v * 2

    @doubled.setter
    def doubled(self, new):
        if new > 3:
            super().__setattr__("v", new / 2)

    @doubled.deleter
    def doubled(self):
        self.v = 0.0

    def __setattr__(self, name, value):
        super().__setattr__("writes", self.writes + 1)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        super().__setattr__("writes", self.writes + 100)
        super().__delattr__(name)


def test_assignments_through_the_methods_of_the_class_and_its_base():
    def f(x):
        o = Tracked(1.0)
        for _ in ag.range(3):
            o.v = o.v + x
            o.doubled = 4 * x
        if x > 0:
            o.v = 9.0
        else:
            del o.doubled
        return o.v, o.writes

    agrees(f)


class CountedDict(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setitem__("writes", self.get("writes", 0) + 1)

    def __missing__(self, key):
        self[key] = 7.0
        return 7.0


def test_items_through_the_methods_of_the_class_and_its_base():
    def f(x):
        d = CountedDict(a=1.0, writes=0)
        for _ in ag.range(3):
            d["a"] = d["a"] + x
        if x > 0:
            d["a"] = 1.0
        return d["a"], d["writes"]

    agrees(f)


ELSEWHERE = """
def total(a, b):
    return a + b

def read(box):
    return box.level
"""


class Levels:
    def __init__(self):
        self.n = 0

    def __add__(self, other):
        self.n += 1
        return other * 2

    @property
    def level(self):
        self.n += 10
        return 1.0


def test_a_function_of_a_module_that_does_not_know_the_class(tmp_path, monkeypatch):
    (tmp_path / "elsewhere_of_test.py").write_text(ELSEWHERE)
    monkeypatch.syspath_prepend(tmp_path)
    elsewhere = importlib.import_module("elsewhere_of_test")

    def f(x):
        o, s = Levels(), 0.0
        for _ in ag.range(3):
            s += elsewhere.total(o, x)
        if x > 0:
            s += elsewhere.read(o)
        return s, o.n

    agrees(f)
