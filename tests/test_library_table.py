"""What is known of functions by their names, and `register_library`, which adds to it."""

import importlib.util
import math
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.runtime.code import library_table
from autograph.runtime.code.library_table import Entry, LibraryTable, full_name, is_library


def test_the_longest_prefix_counts():
    table = LibraryTable({"a": Entry(convert=False, pure=True), "a.b": Entry(pure=False), "a.b.c": Entry(calls=False)})
    assert table.named("a.x") == table.named("a")
    assert not table.named("a.b.c.d").pure
    assert not table.named("a.b.c.d").convert
    assert not table.named("a.b.c").calls
    assert table.named("ab").convert
    assert not table.named("ab").pure


def test_what_is_registered_goes_before_what_was_known():
    table = LibraryTable({"a": Entry(convert=False)})
    assert not table.named("a.f").pure
    table.register("a", Entry(pure=True))
    assert table.named("a.f").pure
    assert not table.named("a.f").convert


@pytest.mark.parametrize(
    ("called", "name"),
    [
        (math.sin, "math.sin"),
        ([].append, "builtins.list.append"),
        (list.append, "builtins.list.append"),
        (np.add, "numpy.add"),
        (np.zeros(1).fill, "numpy.ndarray.fill"),
        (np.random.shuffle, "numpy.random.mtrand.RandomState.shuffle"),
        (np.copyto, "numpy.copyto"),
        (types.SimpleNamespace, "types.SimpleNamespace"),
        (full_name, "autograph.runtime.code.library_table.full_name"),
    ],
)
def test_names(called, name):
    assert full_name(called) == name
    assert is_library(type(called) if not isinstance(called, types.FunctionType | type) else called)


def test_a_structure_puts_leaves_together_in_a_staged_loop():
    structure = jax.tree.structure({"a": 0, "b": 0})

    def f(x):
        for i in ag.range(3):
            tree = structure.unflatten([x, i])
            x = tree["a"] + tree["b"]
        return x

    assert full_name(structure.unflatten).startswith("jaxlib.")
    assert int(ag.function(f)(jnp.array(1))) == f(1) == 4


@pytest.fixture
def table(monkeypatch):
    """A table of this test's own: registering is for the whole process."""
    shared = library_table.TABLE
    made = LibraryTable(shared._known)
    for module in list(sys.modules.values()):
        if vars(module).get("TABLE") is shared:
            monkeypatch.setattr(module, "TABLE", made)
    return made


LIBRARY = """
import jax.numpy as jnp

CALLS = []

def clip(x):
    if x > 1:
        return jnp.ones_like(x)
    return x

def scaled(x, by):
    by["n"] = by["n"] + 1
    return x * 2
"""


@pytest.fixture
def library(tmp_path):
    """A module that is imported from a file, as an installed package is."""
    path = tmp_path / "a_library_of_test.py"
    path.write_text(LIBRARY)
    spec = importlib.util.spec_from_file_location("a_library_of_test", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["a_library_of_test"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["a_library_of_test"]


def test_a_package_that_is_not_to_be_converted(table, library):
    def f(x):
        return library.clip(x)

    assert float(ag.function(f)(jnp.float32(3.0))) == 1.0
    ag.register_library("a_library_of_test", convert=False)

    def g(x):
        return library.clip(x)

    with pytest.raises(ag.StagingError, match=r"a_library_of_test\.py:7: if x > 1:\n  clip was not converted"):
        ag.function(g)(jnp.float32(3.0))


def test_what_an_unconverted_package_writes_is_seen_unless_it_is_said_to_be_pure(table, library):
    def f(x):
        by = {"n": 0}
        for _ in ag.range(3):
            x = library.scaled(x, by)
        return x, by["n"]

    ag.register_library("a_library_of_test", convert=False)
    assert int(ag.function(f)(jnp.float32(1.0))[1]) == 3


class Link:
    def __init__(self, rest):
        self.rest = rest


def chain(length):
    first = None
    for _ in range(length):
        first = Link(first)
    return first


@ag.do_not_convert
def measured(link, x):
    return x + 1.0


def test_a_comparison_that_would_be_too_large_is_refused(table):
    long = chain(100_001)

    def f(x):
        if x > 0:
            x = measured(long, x)
        return x

    with pytest.raises(ag.StagingError) as refusal:
        ag.function(f)(jnp.float32(1.0))
    assert "test_library_table.measured is not converted" in str(refusal.value)
    assert "100,000 objects" in str(refusal.value)
    assert "autograph.register_library(" in str(refusal.value)
    ag.register_library(full_name(measured), pure=True)
    assert float(ag.function(f)(jnp.float32(1.0))) == 2.0


def test_a_comparison_goes_to_any_depth(table):
    first = chain(2_000)  # more than Python's calls go

    @ag.do_not_convert
    def write_last(link):
        while link.rest is not None:
            link = link.rest
        link.value = getattr(link, "value", 0.0) + 1.0

    def f(x):
        last = first
        for _ in range(1_999):
            last = last.rest
        last.value = 0.0
        for _ in ag.range(3):
            write_last(first)
        found = last.value
        del last.value
        return x + found

    assert float(ag.convert(f)(1.0)) == 4.0
    assert float(ag.function(f)(jnp.float32(1.0))) == 4.0


@pytest.mark.parametrize("prefix", ["", "a..b", "a b", "1a"])
def test_a_prefix_is_a_dotted_name(prefix):
    with pytest.raises(ValueError, match="dotted name"):
        ag.register_library(prefix, pure=True)


def test_arguments_are_checked():
    with pytest.raises(TypeError, match="prefix must be a dotted name"):
        ag.register_library(math, pure=True)
    with pytest.raises(TypeError, match="pure must be True or False"):
        ag.register_library("math", pure=1)
    with pytest.raises(TypeError, match="convert must be True or False"):
        ag.register_library("math", convert="no")
