"""Lists, dicts and objects that a staged block writes to: those that were there before are state, those that it makes are not."""

from __future__ import annotations

import collections
import contextvars
import copy
import operator
import sys
import threading
import types
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.runtime.heap.holders import within_reach

VARIABLE = contextvars.ContextVar("VARIABLE", default=[0.0])  # noqa: B039
MODULE = types.ModuleType("module_with_state")


class Box:
    def __init__(self, **parts):
        self.__dict__.update(parts)


def made_by_a_library(x):
    d = jax.tree.map(lambda v: v * 1.0, {"a": x, "b": [x, x]})
    if x > 0:
        e = jax.tree.map(lambda v: v + 1.0, d)
        e["b"][0] = 5.0
        e["a"] = 2.0
        d = e
    else:
        f = copy.deepcopy(d)
        f["b"][1] = 7.0
        d = f
    return d["a"] + d["b"][0] + d["b"][1]


def made_by_displays(x):
    total = 0.0
    for i in range(4):
        row, table = [i, 0.0], {"v": 1.0}
        row[1] = x
        table["v"] += row[0]
        if x > i:
            pair = [x, 2.0]
            pair[0] -= i
            total += pair[0] * table["v"]
        total += row[1]
    return total


def of_ordered_and_default_dicts(x):
    ordered, default = collections.OrderedDict(a=[1.0]), collections.defaultdict(list)
    default["k"].append(1.0)
    for i in range(3):
        copied = list(default["k"])
        copied[0] = x + i
        if x > i:
            ordered["a"][0] += copied[0]
            default["k"][0] += 1
    return ordered["a"][0] + default["k"][0]


def held_by_a_context_variable(x):
    VARIABLE.get()[0] = 1.0
    if x > 0:
        VARIABLE.get()[0] = x
    return VARIABLE.get()[0]


def held_by_a_module(x):
    def state():
        import module_with_state

        return module_with_state.STATE

    state()[0] = 1.0
    if x > 0:
        state()[0] = x
    return state()[0]


def read_by_a_getter(x):
    box = Box(p=Box(q=[1.0]))
    get = operator.attrgetter("p.q")
    if x > 0:
        get(box)[0] = x
    return box.p.q[0]


def held_by_a_generator(x):
    def twice():
        held = [1.0]
        yield held
        yield held

    values = twice()
    first = next(values)
    if x > 0:
        first[0] = x
    return next(values)[0]


def held_by_a_class(x):
    class Kept:
        items = [1.0]

    if x > 0:
        Kept().items[0] = x
    return Kept.items[0]


def held_by_a_default(x):
    def add(v, total=[1.0]):  # noqa: B006
        total[0] = total[0] + v
        return total[0]

    if x > 0:
        add(x)
    return add(0.0)


@pytest.fixture(scope="module", autouse=True)
def module_with_state():
    MODULE.STATE = [0.0]
    sys.modules[MODULE.__name__] = MODULE
    yield
    del sys.modules[MODULE.__name__]


PROGRAMS = [
    *(made_by_a_library, made_by_displays, of_ordered_and_default_dicts, held_by_a_context_variable),
    *(held_by_a_module, read_by_a_getter, held_by_a_generator, held_by_a_class, held_by_a_default),
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_like_python(program):
    expected = [float(program(v)) for v in (2.5, -1.0)]
    staged = jax.jit(ag.convert(program))
    assert [float(staged(jnp.float32(v))) for v in (2.5, -1.0)] == expected


def test_whoever_watches_changes_nothing():
    kept = []

    def watch(frame, event, arg):
        if frame.f_code.co_filename == __file__:
            kept.append(dict(frame.f_locals))
        return watch

    expected = float(made_by_displays(2.5))
    before = sys.gettrace()
    sys.settrace(watch)
    try:
        found = float(jax.jit(ag.convert(lambda x: made_by_displays(x)))(jnp.float32(2.5)))
    finally:
        sys.settrace(before)
    assert kept and found == expected


class Slotted:
    __slots__ = ("held",)

    @staticmethod
    def read():
        return SHARED


SHARED = [1, 2]


def local(value):
    found = threading.local()
    found.value = value
    return found


def slotted(value):
    found = Slotted()
    found.held = value
    return found


@pytest.mark.parametrize(
    "wrap",
    [
        *(local, slotted, lambda value: {1: value}.values(), lambda value: iter([value])),
        *(lambda value: Box(inner=[value]), lambda value: jax.jit(lambda x: x + len(value)), lambda value: Slotted),
        *(lambda value: np.array([value, None], object).tolist(), lambda value: types.MappingProxyType({1: value})),
    ],
)
def test_what_code_can_reach(wrap):
    assert set(within_reach({id(SHARED)}, [wrap(SHARED)])) == {id(SHARED)}
    other = [1, 2]
    assert not within_reach({id(other)}, [wrap(SHARED)])


def test_what_code_cannot_reach():
    other = [1.0]
    roots = [jnp.add, jax.tree.map, Box(a=[1.0]), lambda: jnp.sin(np.pi)]
    assert not within_reach({id(other)}, roots)


def test_what_only_weak_references_lead_to():
    box = Box(held=SHARED)
    for each in (weakref.WeakValueDictionary({1: box}), weakref.ref(box)):
        assert set(within_reach({id(SHARED)}, [each])) == {id(SHARED)}
