"""Views and settings that a function reads from outside, and what they show changes between calls."""

from __future__ import annotations

import collections
import configparser
import contextvars
import os
import threading
import types
import weakref
from os import environ, getenv

import jax.numpy as jnp
import pytest

import autograph as ag

SETTINGS = {"rate": 2.0, "size": 3.0}
PROXY = types.MappingProxyType(SETTINGS)
KEYS, VALUES, ITEMS = SETTINGS.keys(), SETTINGS.values(), SETTINGS.items()
ORDERED = collections.OrderedDict(SETTINGS)
LAST = ORDERED.values()
DEPTH = contextvars.ContextVar("depth", default=1.0)
PLAIN = contextvars.ContextVar("plain")
LOCAL = threading.local()
BYTES = bytearray(b"ab")
MEMORY = memoryview(BYTES)
PARSER = configparser.ConfigParser()


class Item:
    pass


ITEM = [Item()]
ALIVE = weakref.WeakSet(ITEM)


class Scaled:
    """Has a view as an attribute."""

    def __init__(self, settings):
        self.settings = types.MappingProxyType(settings)

    def __call__(self, x):
        return x * self.settings["rate"]


def depth_in_a_handler(x):
    try:
        return x * PLAIN.get()
    except LookupError:
        return -x


READS = {
    "item of a proxy": (lambda x: x * PROXY["rate"], lambda: SETTINGS.update(rate=5.0)),
    "items of a proxy in a loop": (lambda x: sum(x * v for v in PROXY.values()), lambda: SETTINGS.update(more=5.0)),
    "a proxy that is an attribute": (Scaled(SETTINGS), lambda: SETTINGS.update(rate=7.0)),
    "keys": (lambda x: x * ("extra" in KEYS), lambda: SETTINGS.update(extra=5.0)),
    "values": (lambda x: x * max(VALUES), lambda: SETTINGS.update(rate=50.0)),
    "items": (lambda x: x * len([k for k, v in ITEMS if v > 3]), lambda: SETTINGS.update(size=4.0)),
    "values of an ordered dict": (lambda x: x * list(LAST)[-1], lambda: ORDERED.move_to_end("rate")),
    "context variable": (lambda x: x * DEPTH.get(), lambda: DEPTH.set(4.0)),
    "unset context variable": (depth_in_a_handler, lambda: PLAIN.set(4.0)),
    "attribute of a thread": (lambda x: x * LOCAL.rate, lambda: setattr(LOCAL, "rate", 4.0)),
    "os.environ": (lambda x: x * float(os.environ["AG_RATE"]), lambda: os.environ.update(AG_RATE="3")),
    "environ": (lambda x: x * float(environ.get("AG_RATE", "1")), lambda: os.environ.update(AG_RATE="5")),
    "os.getenv": (lambda x: x * float(os.getenv("AG_RATE")), lambda: os.environ.update(AG_RATE="7")),
    "getenv": (lambda x: x * float(getenv("AG_RATE")), lambda: os.environ.update(AG_RATE="9")),
    "memoryview": (lambda x: x * MEMORY[0], lambda: BYTES.__setitem__(0, 3)),
    "set of weak references": (lambda x: x * len(ALIVE), lambda: (ITEM.append(Item()), ALIVE.add(ITEM[-1]))),
    "parser of settings": (lambda x: x * PARSER.getfloat("model", "rate"), lambda: PARSER.set("model", "rate", "5")),
}


@pytest.fixture(autouse=True)
def settings(monkeypatch):
    monkeypatch.setenv("AG_RATE", "2")
    SETTINGS.update(rate=2.0, size=3.0)
    LOCAL.rate = 2.0
    PARSER.read_dict({"model": {"rate": "2"}})


@pytest.mark.parametrize("name", READS)
def test_a_change_is_seen_in_the_next_call(name):
    function, change = READS[name]
    compiled, x = ag.function(function), jnp.ones(2)
    for _ in range(3):
        assert compiled(x).tolist() == function(x).tolist()
    assert compiled.experimental_get_tracing_count() == 1
    before = function(x).tolist()
    change()
    assert compiled(x).tolist() == function(x).tolist() != before
    assert compiled.experimental_get_tracing_count() == 2
