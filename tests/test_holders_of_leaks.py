"""What may hold a traced value that would outlive its trace, in each transform: the write is refused, and taken back."""

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import itertools
import operator
import types

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from autograph.runtime.heap.object_graph import traced_part


class Slotted:
    __slots__ = ("last",)


class Registered(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        box["made"] = made
        return made


class Item(metaclass=Registered):
    def __init__(self, value):
        self.value = value


class Remembering:
    def __init__(self):
        self.seen = {}

    def __call__(self, x):
        if x > 0:
            self.seen["x"] = x
        return x


box = {}
ordered = collections.OrderedDict()
counted = collections.Counter()
layered = collections.ChainMap({})
heap = []
module = types.ModuleType("module")
namespace = types.SimpleNamespace()
nested = {"a": ([{}], 1)}
slotted = Slotted()
remembering = Remembering()


def key_by_path(x):
    if x > 0:
        box["last"] = x
    return x


def keys_by_path(x):
    if x > 0:
        ordered["a"] = x
    else:
        ordered["b"] = 2 * x
    return x


def key_in_loop(x):
    for i in range(3):
        if x > i:
            box[i] = x
    return x


def key_removed(x):
    box["a"] = 1.0
    if x > 0:
        del box["a"]
    return x


def text_by_path(x):
    if x > 0:
        box["a"] = "positive"
    return x


def count_by_path(x):
    if x > 0:
        counted["a"] += x
    return x


def layer_by_path(x):
    if x > 0:
        layered["k"] = x
    return x


def nested_key(x):
    if x > 0:
        nested["a"][0][0]["k"] = x
    return x


def attribute_by_path(x):
    if x > 0:
        namespace.new = x
    return x


def slot_by_path(x):
    if x > 0:
        slotted.last = x
    return x


def attribute_of_function(x):
    if x > 0:
        attribute_of_function.last = x
    return x


def attribute_of_module(x):
    if x > 0:
        module.last = x
    return x


def closure_by_path(x):
    if x > 0:
        box["f"] = lambda y: x + y
    return x


def default_by_path(x, seen={}):  # noqa: B006
    if x > 0:
        seen["x"] = x
    return x


def in_namespace_of_object(x):
    vars(namespace)["q"] = x
    return x


def in_globals(x):
    globals()["made_in_globals"] = x
    return x


def view(x):
    box["v"] = {"a": x}.values()
    return x


def chain(x):
    box["c"] = itertools.chain([x], [x])
    return x


def mapped(x):
    box["m"] = map(lambda v: v * 2, [x, x])
    return x


def generator(x):
    box["g"] = (x * i for i in range(3))
    return x


def padded(x):
    y = jnp.arange(10.0)
    box["p"] = y[y < x]
    return x


def in_place(x):
    known = box
    known |= {"q": x}
    return x


def by_operator(x):
    operator.setitem(box, "k", x)
    return x


def by_update(x):
    counted.update({"a": x})
    return x


def on_heap(x):
    heapq.heappush(heap, x)
    return x


def in_order(x):
    bisect.insort(heap, x)
    return x


def by_metaclass(x):
    return Item(x).value


def by_manager(x):
    with jax.named_scope("scope") as box["scope"], Entered(x) as box["entered"]:
        return x


class Entered:
    def __init__(self, value):
        self.value = value

    def __enter__(self):
        return self.value

    def __exit__(self, *error):
        return False


PROGRAMS = [
    *(key_by_path, keys_by_path, key_in_loop, key_removed, text_by_path, count_by_path, layer_by_path, nested_key),
    *(attribute_by_path, slot_by_path, attribute_of_function, attribute_of_module, closure_by_path, remembering),
    *(in_namespace_of_object, in_globals, view, chain, mapped, generator, padded, in_place, by_operator, by_update),
    *(on_heap, in_order, by_manager),
]
# What `jax.grad` of a number, whose comparisons are known, leaves as plain values, or in no list.
PLAIN_IN_GRAD = {key_removed, text_by_path, padded}
TRANSFORMS = {
    "function": lambda f: ag.function(f).lower(jnp.float32(2.0)),
    "jit": lambda f: jax.jit(ag.convert(f))(2.0),
    "vmap": lambda f: jax.vmap(ag.convert(f))(jnp.array([2.0, -1.0])),
    "grad": lambda f: jax.grad(ag.convert(f))(2.0),
    "jit of a lambda": lambda f: jit_of_lambda(ag.convert(f)),
    "vmap in a function": lambda f: ag.function(functools.partial(mapped_over, f)).lower(jnp.array([2.0, -1.0])),
}
HELD = (box, ordered, counted, layered, heap, vars(module), vars(namespace), nested["a"][0][0], remembering.seen)


def jit_of_lambda(converted):
    return jax.jit(lambda x: converted(x) * 2)(2.0)


def mapped_over(f, x):
    return jax.vmap(f)(x)


@pytest.fixture(autouse=True)
def emptied():
    before = [container.copy() for container in HELD]
    yield
    for container, old in zip(HELD, before, strict=True):
        container.clear()
        container.extend(old) if isinstance(container, list) else container.update(old)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: getattr(f, "__name__", type(f).__name__))
def test_a_traced_value_is_left_nowhere(f, transform):
    if transform == "grad" and f in PLAIN_IN_GRAD:
        return
    before = [dict(container) if isinstance(container, dict) else list(container) for container in HELD[:-1]]
    with pytest.raises(ag.StagingError, match="would leak a tracer|runs under a transform"):
        TRANSFORMS[transform](f)
    assert [dict(each) if isinstance(each, dict) else list(each) for each in HELD[:-1]] == before
    assert not remembering.seen and not hasattr(slotted, "last")
    assert not hasattr(attribute_of_function, "last") and "made_in_globals" not in globals()


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: getattr(f, "__name__", type(f).__name__))
@pytest.mark.filterwarnings("ignore:Python iterable type")
def test_a_call_leaves_no_tracer(f):
    before = [container.copy() for container in HELD]
    try:
        ag.function(f)(jnp.float32(2.0))
    except ag.StagingError:
        assert [container.copy() for container in HELD] == before
    # Modules lead to all that pytest knows, which is more the more tests there are.
    own = {
        name: value for name, value in globals().items() if not isinstance(value, types.ModuleType) or value is module
    }
    held = [*HELD, slotted, attribute_of_function, own]
    assert [name for each in held if (name := traced_part(each, "held")) is not None] == []


@pytest.mark.parametrize("transform", ["function", "jit", "vmap"])
def test_defaults_of_parameters_are_from_outside(transform):
    def calls(x):
        return default_by_path(x)

    with pytest.raises(ag.StagingError, match="would leak a tracer|runs under a transform"):
        TRANSFORMS[transform](calls)
    assert default_by_path.__defaults__ == ({},)


def put_key(owner, x):
    owner["a"] = x
    return x


def put_key_by_path(owner, x):
    if x > 0:
        owner["a"] = x
    return x


def append(owner, x):
    owner.append(x)
    return x


def put_attribute(owner, x):
    owner.a = x
    return x


@pytest.mark.parametrize("transform", [jax.jit, jax.grad, lambda f: lambda x: jax.vmap(f)(jnp.stack([x, x]))])
@pytest.mark.parametrize(
    ("write", "make"),
    [(put_key, dict), (put_key_by_path, dict), (append, list), (put_attribute, types.SimpleNamespace)],
)
def test_what_a_function_that_is_not_converted_passes_on_is_from_outside(write, make, transform):
    owner, converted = make(), ag.convert(write)
    with pytest.raises(ag.StagingError, match=f"is written in {write.__name__}, which runs under a transform"):
        transform(lambda x: converted(owner, x))(jnp.float32(2.0))
    assert owner == make()
    # What that function makes itself is of the trace.
    assert transform(lambda x: converted(make(), x))(jnp.float32(2.0)) is not None


class Kept:
    made = []

    def __init__(self, value):
        self.value = value
        self.made.append(self)


def test_an_object_with_traced_attributes_is_not_written_at_run_time():
    def f(x):
        if x > 0:
            return Kept(x).value
        return x

    with pytest.raises(ag.StagingError, match="writes a Kept that holds traced values"):
        ag.function(f, experimental_autograph_options=ag.Feature.LISTS)(jnp.float32(2.0))
    assert Kept.made == []
    assert float(ag.function(f)(jnp.float32(2.0))) == 2.0
    assert [float(each.value) for each in Kept.made] == [2.0]
    Kept.made.clear()
