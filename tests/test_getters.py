"""`operator.attrgetter`, `itemgetter`, `methodcaller` and `call` of objects whose methods and properties have traced conditions."""

from __future__ import annotations

import operator

import pytest

from tests.agreement import agrees_when_compiled


class Item:
    def __init__(self, price):
        self.price = price
        self.parts = [price, price + 1]

    @property
    def size(self):
        if self.price > 1:
            return self.price
        return 0.0

    def __getitem__(self, k):
        if self.price > 0:
            return self.parts[k]
        return -1.0

    def cost(self, times=1):
        if self.price > 0:
            return self.price * times
        return 0.0

    def raised(self, by):
        self.price += by


class Free(Item):
    def cost(self, times=1):
        return -1.0 * times


class Box:
    def __init__(self, item):
        self.item = item


def attributes(x):
    return operator.attrgetter("size", "price")(Item(x)), operator.attrgetter("item.size")(Box(Item(x)))


def an_attribute_of_some_paths(x):
    item = Item(x)
    if x > 1:
        item.extra = 3.0
    try:
        found = operator.attrgetter("extra")(item)
    except AttributeError:
        found = -1.0
    return found, operator.attrgetter("price")(item)


def items(x):
    return operator.itemgetter(1)(Item(x)), operator.itemgetter(0, 1)(Item(x))


def a_key_of_some_paths(x):
    counts = {"a": x}
    if x > 1:
        counts["b"] = 2 * x
    try:
        return operator.itemgetter("b")(counts)
    except KeyError:
        return operator.itemgetter("a")(counts)


def as_keys(x):
    found = [Item(x), Item(2.0), Free(0.5)]
    largest = max(found, key=operator.attrgetter("size"))
    return largest.price, sorted(map(operator.methodcaller("cost", times=2), found))


def of_one_of_two_classes(x):
    item = Item(x) if x > 0 else Free(x)
    return operator.methodcaller("cost", 4)(item), operator.call(item.cost), operator.call(item.cost, times=2)


def writing(x):
    found = [Item(x), Free(1.0)]
    more, total = operator.methodcaller("raised", by=x), 0.0
    for k in range(5):
        if x > k:
            more(found[k % 2])
        total += operator.methodcaller("cost")(found[k % 2])
    return total, [item.price for item in found]


def appending(x):
    kept, append = [1.0], operator.methodcaller("append", x)
    for k in range(3):
        if x > k:
            append(kept)
    return kept


@pytest.mark.parametrize(
    "program",
    [
        *(attributes, an_attribute_of_some_paths, items, a_key_of_some_paths),
        *(as_keys, of_one_of_two_classes, writing, appending),
    ],
)
def test_as_in_python(program):
    agrees_when_compiled(program, (-0.5,), (0.5,), (1.5,), (4.0,))
