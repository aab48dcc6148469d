"""Named tuples as keys and elements, which Python compares, hashes and orders as tuples, and which keep their class."""

from collections import Counter, OrderedDict, defaultdict, namedtuple

import pytest

from tests.agreement import agrees_when_compiled

Place = namedtuple("Place", "row column")


def keys(seed):
    seen = {}
    for k in range(3):
        here = Place(seed % 3, k % 2)
        seen[here] = seen.get(here, 0) + 1
        seed = seed // 2
    return seen, [place.row for place in seen], Place(seed, 0) in seen


def keys_that_are_tuples(seed):
    seen = {}
    seen[Place(seed % 3, 0)] = 1
    return seen[(seed % 3, 0)], (seed % 3, 1) in seen


def elements(count):
    places = [Place(3, 0)]
    for k in range(count):
        places.append(Place(k % 3, k))
    return (1, 1) in places, places.index((0, 0)), places.count(Place(1, 1)), places == [(3, 0)], places[1:] == places


def elements_in_order(count):
    places = [Place(3, 0)]
    for k in range(count):
        places.append(Place(k % 3, k))
    return sorted(places), min(places), max(places), places < [(4, 0)]


def elements_of_a_set(seed):
    places = {Place(seed % 3, 0)}
    return (seed % 3, 0) in places, Place(1, 0) in places, len(places | {Place(1, seed % 2)})


class Table:
    def __init__(self):
        self.rows = [[1.0, 2.0], [3.0, 4.0]]

    def __getitem__(self, place):
        return self.rows[place.row][place.column]

    def __setitem__(self, place, value):
        self.rows[place.row][place.column] = value

    def __delitem__(self, place):
        self.rows[place.row][place.column] = 0.0


def key_of_a_class(row):
    table = Table()
    table[Place(row, 1)] = 5.0
    del table[Place(0, row)]
    return table[Place(row, 0)], table.rows


@pytest.mark.parametrize(
    "function",
    [keys, keys_that_are_tuples, elements, elements_in_order, elements_of_a_set],
    ids=lambda function: function.__name__,
)
def test_are_compared_as_tuples(function):
    agrees_when_compiled(function, (7,), (3,))


def test_are_given_to_the_methods_of_a_class():
    agrees_when_compiled(key_of_a_class, (1,))


def counted(seed):
    counts, values, latest = Counter(), defaultdict(float), OrderedDict()
    for k in range(3):
        counts[seed % 3, k % 2] += 1
        values[seed % 3, 0] += 0.5 + values[k, 0]
        latest[seed % 3, 1] = k
        seed = seed // 2
    return counts, values, latest[seed % 3, 1] if (seed % 3, 1) in latest else -1


def test_tuples_are_looked_up_in_dicts_of_other_classes():
    agrees_when_compiled(counted, (7,), (21,))


Money = namedtuple("Money", "amount kind")


def greatest(n):
    money, other = Money(n, 1), Money(3, 0)
    return max([money, other]).amount, min(money, other).kind, sorted([money, other])[0].amount


def test_the_greatest_of_named_tuples_has_their_names():
    agrees_when_compiled(greatest, (1,), (3,), (7,))
