"""Functions that read dicts as a whole, in a file that writes no key of any: see test_keys_by_path_elsewhere.py."""

from __future__ import annotations

READERS = []


def reader(function):
    READERS.append(function)
    return function


@reader
def a_starred_list(d):
    return [*d], [1, *d.values()][1:]


@reader
def a_starred_tuple(d):
    return (*d, 1)


@reader
def a_set_comprehension(d):
    return len({k for k in d})


@reader
def a_dict_comprehension(d):
    return {k: 1 for k in d}


@reader
def a_dict_of_items(d):
    return {k: v * 2 for k, v in d.items()}


@reader
def a_list_of_values(d):
    return [v for v in d.values()]


@reader
def a_list_that_binds(d):
    return [e for k in d if (e := k)]


@reader
def a_union(d):
    return d | {"q": 1.0}, {"q": 1.0} | d


@reader
def displays(d):
    return {**d, "q": 2.0}, dict(d), dict(d, q=1.0)


@reader
def a_tuple(d):
    return tuple(d)


@reader
def sets(d):
    return len(set(d)), len(frozenset(d)), set(d) == {"a", "k"}


@reader
def unpacked(d):
    (a,) = d
    return a


@reader
def unpacked_values(d):
    a, *b = d.values()
    return a


@reader
def unpacked_in_a_loop(d):
    for a, *b in [d]:
        return len(b)


@reader
def matched(d):
    match d:
        case {"k": v}:
            return v
    return -1.0


@reader
def arguments(d):
    def count(*given):
        return len(given)

    return count(*d)


@reader
def added_to_a_list(d):
    known = ["x"]
    known += d
    return len(known)


@reader
def sums(d):
    return sum(d.values()), sum(v for v in d.values()), sum(d[k] for k in d)


@reader
def tests(d):
    return all(v > 0 for v in d.values()), any(k == "k" for k in d)


@reader
def attributes(d):
    class Box:
        pass

    box = Box()
    box.__dict__.update(d)
    return [k for k in vars(box)], len(vars(box))
