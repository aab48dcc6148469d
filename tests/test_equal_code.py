"""Functions whose code is equal, or has one place: of two files with one text, run from one code object, or on one line."""

from __future__ import annotations

import linecache
import types

import jax
import jax.numpy as jnp
import pytest

import autograph as ag

FILE = "<a file of the tests>"
TEXT = """
def summed(n):
    return 0 if n <= 0 else amount + other.summed(n - 1)

def shifted(x):
    return x + amount

def written(x):
    variable.assign_add(x)
    return variable.value

def stepped(x):
    if x > 0:
        x = step(x)
    return x
"""


def loaded(text, code=None, **names):
    module = types.ModuleType("program")
    module.__dict__.update(names, __file__=FILE)
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    exec(code or compile(text, FILE, "exec", dont_inherit=True), module.__dict__)
    return module


@pytest.fixture(params=["compiled twice", "compiled once"])
def two_modules(request):
    """Modules of one text with other globals; the code of their functions is equal, or the same."""
    code = compile(TEXT, FILE, "exec", dont_inherit=True) if request.param == "compiled once" else None
    one, two = loaded(TEXT, code, amount=1), loaded(TEXT, code, amount=10)
    one.other, two.other = two, one
    yield one, two
    del linecache.cache[FILE]


def test_recursion_from_one_to_the_other(two_modules):
    one, two = two_modules

    def f(n):
        return one.summed(n), two.summed(n)

    assert tuple(map(int, ag.function(f)(jnp.int32(3)))) == f(3) == (12, 21)


@pytest.mark.parametrize("x", [2, -2])
def test_a_condition_that_chooses_one_of_them(two_modules, x):
    one, two = two_modules

    def f(x):
        chosen = one.shifted if x > 0 else two.shifted
        return chosen(x)

    assert ag.function(f)(jnp.int32(x)) == f(x)


def test_what_each_reads_and_writes_is_found(two_modules):
    one, two = two_modules
    one.variable, two.variable = ag.Variable(1.0), ag.Variable(100.0)
    staged = ag.function(lambda x: (one.written(x), two.written(x), one.shifted(x), two.shifted(x)))
    assert tuple(map(float, staged(jnp.float32(2.0)))) == (3.0, 102.0, 3.0, 12.0)
    two.amount = 20
    assert tuple(map(float, staged(jnp.float32(2.0)))) == (5.0, 104.0, 3.0, 22.0)


def test_what_a_name_means_in_each(two_modules):
    one, two = two_modules
    one.step, two.step = jnp.sqrt, lambda v: v if v > 9 else v * 10
    staged = ag.function(lambda x: (one.stepped(x), two.stepped(x)))
    assert tuple(map(float, staged(jnp.float32(4.0)))) == (2.0, 40.0)


_PLAIN = """
def step(v):
    return v + 1

def f(x):
    if x > 0:
        x = step(x)
    return x
"""
_RECURSIVE = _PLAIN.replace("return v + 1", "return step(v - 1) if v > 1 else v")


def test_programs_that_are_run_under_one_file_name():
    """As in a notebook whose cell is changed, or a module that is loaded again: what is converted keeps its meaning."""
    one = ag.convert(loaded(_PLAIN).f)
    assert float(jax.jit(one)(3.5)) == 4.5
    two = ag.convert(loaded(_RECURSIVE).f)
    staged = ag.function(lambda x: (one(x), two(x)))
    assert tuple(map(float, staged(jnp.float32(3.5)))) == (4.5, 0.5)
    del linecache.cache[FILE]


def test_recursion_of_one_of_two_lambdas_on_a_line():
    more, down = (lambda v: v + 1), (lambda v: down(v - 1) if v > 0 else v)

    def f(x):
        return more(x) + down(x)

    assert float(ag.function(f)(jnp.float32(2.5))) == f(2.5)
    assert float(ag.function(lambda x: counted(x) + counting(x))(jnp.float32(2.5))) == f(2.5)


counted, counting = (lambda v: v + 1), (lambda v: counting(v - 1) if v > 0 else v)


_WITH_CLASS = """
class Wide:
    def __init__(self, v):
        self.v = v

    def __add__(self, other):
        self.v += 1
        return Wide(self.v + other) if self.v > 0 else self

def f(x):
    return x + 1
"""


def test_classes_of_a_program_that_was_run_before_under_this_name_are_of_no_account():
    before = loaded(_WITH_CLASS)
    assert "ag__.operate" in ag.to_code(before.f)
    now = loaded(_PLAIN)
    assert "ag__.operate" not in ag.to_code(now.step)
    assert before.Wide  # it is still there
    del linecache.cache[FILE]


def test_an_object_of_such_a_class_is_seen_to_write():
    """Its class is not of the program that is converted, which has one of the same name."""
    before, now = loaded(_WITH_CLASS), loaded(_WITH_CLASS)

    def f(x):
        wide = before.Wide(x)
        if x > 0:
            now.f(wide)
        return wide.v

    try:
        found = float(ag.function(f)(jnp.float32(1.0)))
    except ag.StagingError:
        return
    finally:
        del linecache.cache[FILE]
    assert found == f(1.0)
