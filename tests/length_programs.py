"""Programs that make lists whose length depends on the path, in ways other than by appending."""

from __future__ import annotations


def longer_display(values):
    xs = [values[0]] if values[0] > 1 else [values[1], values[2]]
    return xs


def longer_on_one_path(values):
    if values[0] > 1:
        xs = [values[0]]
    else:
        xs = [values[1], values[2], values[0] * 2]
    xs.append(values[3])
    return xs


def emptied(values):
    xs = [values[0], values[1]]
    if values[0] > 1:
        xs = []
    if values[1] > 1:
        xs.append(values[1])
    return xs


def all_items_replaced(values):
    xs = [values[0]]
    if values[1] > 1:
        xs[:] = [values[1], values[2] * 2, values[3]]
    return xs


def items_put_between(values):
    xs = [values[0], values[1]]
    for v in values:
        if v > 2:
            xs[1:2] = [v, v * 2, xs[0]]
    return xs


def items_cut_out(values):
    xs = [v * 2 for v in values]
    count = 0
    for v in values:
        if v > 1:
            count += 1
    del xs[:count]
    return xs


def slice_with_traced_bounds_replaced(values):
    xs = [v * 2 for v in values]
    count = 0
    for v in values:
        if v > 1:
            count += 1
    xs[count : count + 1] = [values[0], values[1]]
    xs[len(xs) :] = [values[2]]
    return xs


def made_anew_in_a_loop(values):
    xs = [values[0], values[1]]
    for v in values:
        if v > 2:
            xs = [v]
        elif v < 0:
            xs = [v, v * 2, xs[0]]
    return xs


def the_first_left_out(values):
    xs = [values[5], values[4], values[3], values[2], values[1], values[0]]
    for v in values:
        if v > 2:
            xs = xs[1:]
    return xs


def one_more(values):
    best = [values[0]]
    for v in values:
        if v > best[-1]:
            best = best + [v]
    return best


def candidates_left(values):
    left = [values[0], values[1], values[2], values[3]]
    for v in values:
        left = [each for each in left if each != v * 2]
    return left


def queue_of_slices(values):
    queue, seen = [values[0], values[1]], []
    while queue:
        first = queue[0]
        queue = queue[1:]
        seen.append(first)
        if first > 1:
            queue = queue + [first - 1]
    return seen


def two_at_once(values):
    a, b = ([values[0], values[1]], [values[2]]) if values[0] > 1 else ([values[3]], [values[4], values[5]])
    a.append(values[1])
    b += a
    return b


def alias_of_what_is_replaced(values):
    a = [values[0], values[1]]
    b = a
    if values[0] > 1:
        a[:] = [values[2]]
    return b


def rebound_list_leaves_the_first(values):
    xs = [values[0], values[1]]
    ys = xs
    if values[0] > 1:
        ys = [values[2]]
    ys.append(values[3])
    return xs


def appended_to_a_comprehension(values):
    xs = [v * 2 for v in values]
    if values[0] > 1:
        xs.append(values[1])
    return xs


FLAT = [
    appended_to_a_comprehension,
    longer_display, longer_on_one_path, emptied, all_items_replaced, items_put_between, items_cut_out,
    slice_with_traced_bounds_replaced, made_anew_in_a_loop, the_first_left_out, one_more, candidates_left,
    two_at_once, alias_of_what_is_replaced, rebound_list_leaves_the_first,
]  # fmt: skip
UNBOUNDED = [queue_of_slices]


def returned_from_a_call(values):
    def pieces(v):
        if v > 2:
            return [v]
        return [v, v + 1]

    return [pieces(values[0]), pieces(values[3])], pieces(values[1])


def returned_early(values):
    if values[0] > 2:
        return [values[0], values[1]], "b"
    if values[1] > 1:
        return [values[1]], "a"
    return [], "c"


def in_a_dict_and_a_tuple(values):
    d = {"a": [values[0], values[1]]} if values[0] > 1 else {"a": [values[2]]}
    pair = ([values[0], values[1]], 1) if values[0] > 1 else ([], 1)
    d["a"].append(values[3])
    pair[0].append(values[4])
    return d, pair


def pairs(values):
    xs = [(1, values[0]), (2, values[1])] if values[0] > 1 else [(3, values[2])]
    return [p + q for p, q in xs], max(xs)


def texts(values):
    names = ["a", "b"] if values[0] > 1 else ["c"]
    return names, len(names)


def read_in_every_way(values):
    xs = [values[0], values[1], values[2]] if values[0] > 1 else [values[3]]
    total = 0.0
    for i, v in enumerate(xs):
        total += i * v
    for v, w in zip(xs, xs, strict=True):
        total += v * w
    return total, sorted(xs), xs[-1], xs[:1], len(xs), values[3] in xs, xs == [values[3]], xs + [1.0], sum(xs)


def rows_that_change_places_and_grow(values):
    rows = [[1.0], [2.0, 2.0]]
    for v in values:
        if v > 2:
            rows = rows[::-1]
        rows[0] = rows[0] + [v]
    return rows


NESTED = [
    rows_that_change_places_and_grow,
    returned_from_a_call,
    returned_early,
    in_a_dict_and_a_tuple,
    pairs,
    texts,
    read_in_every_way,
]
