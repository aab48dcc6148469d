"""Writes that no statement of the program shows: by properties, special methods, managers and library code."""

import collections
import contextlib
import dataclasses
import functools

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.outcomes import agrees


class Box:
    def __init__(self):
        self.v = 0.0


class Reads:
    """Counts how often it is read."""

    def __init__(self):
        self.n = 0

    @property
    def now(self):
        self.n += 1
        return 1.0


def test_a_property_writes_before_the_block_does():
    def f(x):
        o, y = Reads(), 0.0
        if x > 0:
            y = o.now
            o.n += 5
        return o.n + y

    agrees(f)


@ag.convert
def add_one(box):
    box.v = box.v + 1


@ag.convert(recursive=False)
def add_two(box):
    box.v = box.v + 2


@pytest.mark.parametrize("helper", [add_one, add_two])
def test_a_helper_that_is_converted_by_itself(helper):
    def f(x):
        o = Box()
        if x > 0:
            helper(o)
        for _ in ag.range(3):
            helper(o)
        return o.v

    agrees(f)


class Span:
    def __init__(self):
        self.entered = self.left = 0

    def __enter__(self):
        if self.entered < 100:
            self.entered += 1
        return self

    def __exit__(self, *error):
        if self.left < 100:
            self.left += 2
        return False


def test_a_manager_that_an_expression_chooses():
    def f(x):
        o, p, k = Span(), Span(), 1
        for _ in ag.range(3):
            with o if k > 0 else p:
                x = x + 1
        return x, o.entered, o.left, p.entered

    agrees(f)


def test_a_manager_entered_by_the_name_that_its_with_gives_it():
    def f(x):
        o = Span()
        for _ in ag.range(3):
            with o as w, w:
                x = x + 1
        return x, o.entered, o.left

    agrees(f)


class Slotted:
    __slots__ = ("n", "v")

    def __init__(self, v):
        self.n = 0
        self.v = v

    def __add__(self, other):
        self.n += 1
        return self.v + other

    def __getitem__(self, key):
        self.n += key
        return self.v

    def __neg__(self):
        return count(self)

    def __lt__(self, other):
        self.n += 1
        return self.v < other


def count(slotted):
    slotted.n += 10
    return slotted.v


@dataclasses.dataclass(slots=True)
class Reading:
    v: float
    n: int = 0

    @property
    def value(self):
        self.n += 1
        return self.v


class OfClass:
    total = 0

    def __init__(self, v):
        self.v = v

    def __mul__(self, other):
        type(self).total += 1
        return self.v * other


TOTAL = 0


class OfModule:
    def __init__(self, v):
        self.v = v

    def __sub__(self, other):
        global TOTAL
        TOTAL += 1
        return self.v - other


class Descriptor:
    def __get__(self, owner, kind=None):
        owner.reads += 1
        return owner.stored

    def __set__(self, owner, value):
        owner.stored = value * 2


class Described:
    value = Descriptor()

    def __init__(self):
        self.reads, self.stored = 0, 1.0


def test_special_methods_that_write_to_slots():
    def f(x):
        c, s = Slotted(1.0), 0.0
        for _ in ag.range(3):
            s += c + x
            s += c[2]
            s += -c
            if c < 2.0:
                s += 1.0
        return c.n, s

    agrees(f)


def test_a_property_of_a_dataclass_with_slots():
    def f(x):
        c, s = Reading(2.0), 0.0
        for _ in ag.range(3):
            s += c.value * x
        if x > 0:
            s += c.value
        return c.n, s

    agrees(f)


def test_special_methods_that_write_to_their_class_and_module():
    def f(x):
        global TOTAL
        OfClass.total, TOTAL = 0, 0
        c, d, s = OfClass(2.0), OfModule(3.0), 0.0
        for _ in ag.range(3):
            s += c * x
            if x > 0:
                s += d - x
        found = OfClass.total, TOTAL, s
        OfClass.total, TOTAL = 0, 0
        return found

    agrees(f)


def test_a_descriptor_that_writes():
    def f(x):
        o, s = Described(), 0.0
        for _ in ag.range(3):
            s += o.value
            if x > 0:
                o.value = s
        return o.reads, o.stored, s

    agrees(f)


class Cached:
    def __init__(self, v):
        self.v = v
        self.n = 0
        self.k = 0

    @functools.cached_property
    def counted(self):
        self.n += 1
        return self.v * 2

    @functools.cached_property
    def doubled(self):
        return self.v * 2


def test_a_cached_property_without_effect_is_read_in_blocks():
    def f(x):
        o, s = Cached(x), 0.0
        for i in ag.range(3):
            s += o.doubled
            o.k += i
        if x > 0:
            s += o.doubled
        return s, o.k, o.doubled

    agrees(f)


def test_a_cached_property_that_has_been_read_before():
    def f(x):
        o = Cached(x)
        s = o.counted
        for _ in ag.range(3):
            s += o.counted
            o.v += 1.0
        return s, o.n, o.v

    agrees(f)


def test_a_cached_property_with_an_effect_is_refused_where_its_first_read_may_be():
    def in_a_loop(x):
        o, s = Cached(x), 0.0
        for _ in ag.range(3):
            s += o.counted
        return s, o.n

    def in_a_branch(x):
        o, s = Cached(x), 0.0
        if x > 0:
            s = o.counted
        return s + o.counted, o.n

    for f in (in_a_loop, in_a_branch):
        with pytest.raises(ag.StagingError, match="Cached.counted is a cached property"):
            ag.function(f)(jnp.float32(1.0))


def test_a_cached_property_of_what_is_written_is_refused_where_its_first_read_may_be():
    def written_in_the_loop(x):
        o, s = Cached(x), 0.0
        for _ in ag.range(3):
            s += o.doubled
            o.v += 1.0
        return s

    def written_before_the_read(x):
        o, s = Cached(x), 0.0
        for _ in ag.range(3):
            o.v += 1.0
            s += o.doubled
        return s

    def written_after_the_branch(x):
        o, s = Cached(x), 0.0
        if x > 0:
            s = o.doubled
        o.v = 5.0
        return s + o.doubled

    for f in (written_in_the_loop, written_before_the_read, written_after_the_branch):
        with pytest.raises(ag.StagingError, match="computed from 'Cached.v'"):
            ag.function(f)(jnp.float32(1.0))


class Triangle:
    def __init__(self, a, b):
        if a <= 0:
            raise ValueError("no side")
        self.a, self.b = a, b

    @functools.cached_property
    def longest(self):
        return (self.a**2 + self.b**2) ** 0.5

    @functools.cached_property
    def ratio(self):
        if self.a > 10:
            raise ZeroDivisionError("far")
        return self.longest / self.a


def read_after_a_constructor_that_may_raise(x):
    try:
        return Triangle(x, 2.0).longest
    except ValueError:
        return -1.0


def raised_by_the_property(x):
    try:
        t = Triangle(x, 2.0)
        return t.longest + t.ratio + t.longest
    except ValueError:
        return -1.0
    except ZeroDivisionError:
        return -2.0


def raised_again_where_it_is_read_again(x):
    t = Triangle(3.0, 2.0)
    t.a = x + 5.0
    try:
        r = t.ratio
    except ZeroDivisionError:
        r = 100.0
    if x > 11:
        try:
            r += t.ratio
        except ZeroDivisionError:
            r += t.b
    return r + t.longest


def in_each_iteration(x):
    s = 0.0
    for i in range(3):
        try:
            t = Triangle(x - i, 2.0)
            s += t.ratio
        except (ValueError, ZeroDivisionError):
            s += 1
        else:
            s += t.ratio + t.longest
        finally:
            s += 2
    return s


def written_on_one_path_and_read_on_the_other(x):
    o = Cached(x)
    if x > 2:
        o.v = 5.0
    else:
        x = o.doubled
    return x + o.doubled


@pytest.mark.parametrize(
    "program",
    [
        read_after_a_constructor_that_may_raise,
        raised_by_the_property,
        raised_again_where_it_is_read_again,
        in_each_iteration,
        written_on_one_path_and_read_on_the_other,
    ],
)
def test_a_cached_property_where_exceptions_may_be_raised(program):
    cases = 3.0, -2.0, 20.0, 1.5
    staged = ag.function(program)
    wanted = [pytest.approx(program(x), rel=1e-5) for x in cases]
    assert [float(staged(jnp.float32(x))) for x in cases] == wanted
    assert ag.function(jax.vmap(ag.convert(program)))(jnp.array(cases)).tolist() == wanted


def test_a_cached_property_that_writes_and_may_raise_is_refused_where_its_first_read_may_be():
    class Counted:
        def __init__(self, v):
            self.v, self.n = v, 0

        @functools.cached_property
        def doubled(self):
            self.n += 1
            if self.v > 10:
                raise ValueError
            return self.v * 2

    def f(x):
        o = Counted(x)
        try:
            s = o.doubled
        except ValueError:
            s = 0.0
        return s + o.n

    with pytest.raises(ag.StagingError, match="Counted.doubled is a cached property"):
        ag.function(f)(jnp.float32(1.0))


class Model:
    def __init__(self):
        self.depth = 0
        self.log = 0.0

    @contextlib.contextmanager
    def scope(self, x):
        self.depth += 1
        if x > 2:
            self.log += x
        try:
            yield self.depth
        finally:
            self.depth -= 1


@contextlib.contextmanager
def raised_by(box, x):
    old = box.v
    box.v = old + (x if x > 0 else 1.0)
    yield box
    if x > 0:
        box.v = box.v * 2


def test_a_manager_that_a_generator_makes():
    def f(x):
        m, box, s = Model(), Box(), 0.0
        for i in ag.range(4):
            with m.scope(i * x) as d, raised_by(box, x) as b:
                s += d + b.v
        if x > 0:
            with m.scope(x):
                s += m.depth
        return m.depth, m.log, s, box.v

    agrees(f)


def test_sets_and_deques_that_branches_augment():
    def f(x):
        s, q = {1, 2}, collections.deque([1.0])
        t, r = s, q
        if x > 0:
            s |= {3}
            q += [x]
        else:
            s |= {3}
            q += [0.0]
        s &= {1, 3}
        return sorted(t), list(r)

    agrees(f)
