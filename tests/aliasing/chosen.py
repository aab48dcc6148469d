"""Programs in which a condition chooses a list, dict or object, and a write to it, or to one of those, must be seen by another name."""

import collections

from tests.aliasing import Box, hazard, program


@program
def conditional_expression(n):
    a = [0, 1]
    b = [5, 6]
    c = a if n > 1 else b  # chooses
    c[0] = 9  # writes
    return a[0], b[0], c[0]


@program
def bound_in_a_branch(n):
    a = [0, 1]
    b = [5, 6]
    if n > 1:  # chooses
        b = a
    a[0] = 9  # writes
    return a[0], b[0]


@program
def bound_in_both_branches(n):
    a = [0, 1]
    b = [5, 6]
    if n > 1:  # chooses
        c = a
    else:
        c = b
    if n > 2:
        c[0] = 9  # writes
    return a[0], b[0], c[0]


@program
def object_of_a_conditional_expression(n):
    o = Box()
    o.v = 0
    q = Box()
    q.v = 5
    r = o if n > 1 else q  # chooses
    r.v = 9  # writes
    return o.v, q.v, r.v


@program
def other_name_written(n):
    a = [0, 0]
    b = a
    if n > 1:  # chooses
        a = [1, 1]
    b[0] = 5  # writes
    return a[0], b[0]


@program
def rebound_name_written(n):
    a = [0, 0]
    b = a
    if n > 1:  # chooses
        a = [1, 1]
    a[0] = 5  # writes
    return a[0], b[0]


@program
def attribute_bound_in_a_branch(n):
    s = Box(a=[0, 1], b=[5, 6])
    if n > 1:  # chooses
        s.a = s.b
    s.b[0] = 7  # writes
    return s.a, s.b


@program
def in_a_tuple(n):
    a = [0, 1]
    b = [5, 6]
    t = (a, b) if n > 1 else (b, a)  # chooses
    t[0][0] = 9  # writes
    return a, b, t


@program
def in_a_tuple_that_is_held(n):
    a = [0, 1]
    b = [5, 6]
    t = (a, b) if n > 1 else (b, a)  # chooses
    a[0] = 9  # writes
    return t[0][0], t[1][0]


@program
def as_an_item(n):
    a = [0, 1]
    b = [5, 6]
    d = {"x": a, "y": b}
    if n > 1:  # chooses
        d["x"] = b
    b[0] = 9  # writes
    return d["x"][0], d["y"][0]


@program
def written_by_a_bound_method(n):
    a = [0, 1]
    b = [5, 6]
    c = a if n > 1 else b  # chooses
    push = c.append
    push(3)  # writes
    return len(a), len(b)


@hazard("another variable refers to")
def sets(n):
    a = set()
    b = set()
    c = a if n > 1 else b  # chooses
    c.add(1)  # writes
    return len(a), len(b), len(c)


@program
def deques(n):
    a = collections.deque([0, 1])
    b = collections.deque([0, 1])
    c = a if n > 1 else b  # chooses
    c[0] = 9  # writes
    return a[0], b[0]


@program
def written_by_a_callee(n):
    def write(x):
        x[0] = 9  # writes

    def pick(p, q):
        return p if n > 1 else q  # chooses

    a = [0, 1]
    b = [5, 6]
    write(pick(a, b))
    return a[0], b[0]


@program
def updated_dict(n):
    a = {"x": 1}
    b = {"x": 2}
    c = a if n > 1 else b  # chooses
    c.update(x=5)  # writes
    return a["x"], b["x"]


@program
def deleted_item(n):
    a = {"x": 1, "y": 2}
    b = {"x": 2, "y": 3}
    c = a if n > 1 else b
    del c["y"]
    return len(a), len(b)


@program
def reversed_list(n):
    a = [2, 1]
    b = [4, 3]
    c = a if n > 1 else b  # chooses
    c.reverse()  # writes
    return a[0], b[0]


@program
def chosen_twice(n):
    a = [0, 1]
    b = [5, 6]
    d = [7, 8]
    c = a if n > 1 else b
    c = c if n > 2 else d  # chooses
    c[0] = 9  # writes
    return a[0], b[0], d[0]


@program
def chosen_by_two_conditions(n):
    a = [0, 1]
    b = [5, 6]
    c = a if n > 1 else b  # chooses
    e = a if n > 2 else b
    c[0] = 9  # writes
    return e[0]


@program
def written_in_a_branch(n):
    a = [0, 1]
    b = [5, 6]
    c = a if n > 1 else b  # chooses
    if n > 2:
        c[0] = 9  # writes
    return a[0], b[0]


@program
def nested_in_the_chosen(n):
    a = {"k": [0, 1]}
    b = {"k": [5, 6]}
    c = a if n > 1 else b  # chooses
    c["k"][0] = 9  # writes
    return a["k"][0], b["k"][0]


@program
def item_bound_in_a_branch(n):
    a = [[0, 1], [2, 3]]
    row = a[0]
    if n > 1:  # chooses
        a[0] = [7, 7]
    row[0] = 9  # writes
    return a[0][0], row


@program
def traced_index(n):
    a = [[0, 1], [2, 3]]
    row = a[n % 2]  # chooses
    a[0][0] = 7  # writes
    return row[0]


@program
def subtree_written(n):
    tree = {"l": {"v": 1}, "r": {"v": 2}}
    node = tree["l"] if n > 1 else tree["r"]  # chooses
    node["v"] = 9  # writes
    return tree["l"]["v"], tree["r"]["v"]


@program
def list_of_a_chosen_object(n):
    o = Box(items=[0, 1])
    q = Box(items=[5, 6])
    r = o if n > 1 else q  # chooses
    r.items[0] = 9  # writes
    return o.items[0], q.items[0]


@program
def list_of_a_source_object(n):
    o = Box(items=[0, 1])
    q = Box(items=[5, 6])
    r = o if n > 1 else q  # chooses
    o.items[0] = 9  # writes
    return r.items[0]


@program
def method_of_a_chosen_object(n):
    class C:
        def __init__(self, v):
            self.v = v

        def bump(self):
            self.v += 1  # writes

    o = C(0)
    q = C(5)
    r = o if n > 1 else q  # chooses
    r.bump()
    return o.v, q.v


@program
def returned_early(n):
    a = [0, 1]
    b = [5, 6]

    def pick():
        if n > 1:  # chooses
            return a
        return b

    c = pick()
    a[0] = 9  # writes
    return c[0]


@program
def bound_by_a_walrus(n):
    a = [0, 1]
    b = [5, 6]
    if (c := (a if n > 1 else b))[0] > 2:  # chooses
        c[1] = 7  # writes
    return a[1], b[1]


@program
def bound_by_a_match(n):
    a = [0, 1]
    b = [5, 6]
    match n:
        case 1:  # chooses
            c = a
        case _:
            c = b
    c[0] = 9  # writes
    return a[0], b[0]


@program
def expression_that_is_called(n):
    a = [0, 1]
    b = [5, 6]
    (a if n > 1 else b).append(7)  # chooses, writes
    return len(a), len(b)


@program
def expression_that_is_indexed(n):
    a = [0, 1]
    b = [5, 6]
    (a if n > 1 else b)[0] = 7  # chooses, writes
    return a[0], b[0]


@program
def in_a_comprehension(n):
    a = [0, 1]
    b = [5, 6]
    cs = [a if n > k else b for k in range(3)]  # chooses
    cs[1][0] = 9  # writes
    return a[0], b[0], cs[0][0], cs[2][0]


def perhaps_none(n):
    a = [0, 1]
    best = None
    if n > 1:  # chooses
        best = a
    a[0] = 9  # writes
    return best


@program
def row_twice_and_rebound(n):
    rows = [[0, 1]] * 2
    if n > 1:  # chooses
        rows[0] = [5, 5]
    rows[1][0] = 9  # writes
    return rows


@program
def rows_of_a_python_loop(n):
    tot = 0
    for row in ([0, 1], [5, 6]):
        pass
    for row in ([0, 1], [5, 6]):
        c = row if n > 1 else [3, 3]  # chooses
        c[0] += 10  # writes
        tot += row[0]
    return tot


def perhaps_unbound(n):
    a = [0, 1]
    if n > -1:  # chooses
        c = a
    a[0] = 7  # writes
    return c[0]


@program
def swapped_in_a_branch_with_a_third_name(n):
    a = [n * 2, 1]
    b = [3, 6]
    h = a
    if a[0] > b[0]:  # chooses
        a, b = b, a
    a[1] = 9  # writes
    return a, b, h


@program
def chosen_twice_with_another_name(n):
    items = [4, n]
    other = items
    if n > 2:
        items = [0, 0]
    if n > 3:  # chooses
        items = [1, 1]
    items[0] = 2  # writes
    return other


@hazard("the function returns")
def chosen_and_then_replaced_in_a_loop(n):
    items = [4, n]
    other = items
    if n > 2:
        items = [0, 0]
    for i in range(n):  # chooses
        if i > 3:
            items = [i, 0]
    items[0] = 2  # writes
    return other
