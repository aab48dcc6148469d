"""Programs in which the iterations of a loop bind a list, dict or object to another name, and write to it."""

import autograph as ag
from tests.aliasing import Box, hazard, program


@hazard("'b' refers to")
def bound_in_some_iterations(n):
    a = [0, 1]
    b = [5, 6]
    for i in range(n):  # chooses
        a[0] += 1  # writes
        if i < 2:
            b = a
    return b[0], a[0]


@hazard("the function returns")
def zeros_written_after_the_loop(n):
    m = v = [0, 0]
    for i in range(n):  # chooses
        m, v = [m[0] + 1, m[1]], [v[0] + 2, v[1]]
    m[0] = 7  # writes
    return m[0], v[0]


@hazard("'e' refers to")
def dict_bound_in_one_iteration(n):
    d = {"k": 0}
    e = {"k": 3}
    for i in range(n):  # chooses
        d["k"] += 1  # writes
        if i == 1:
            e = d
    return e["k"], d["k"]


@program
def object_bound_in_one_iteration(n):
    o = Box()
    o.v = 0
    q = Box()
    q.v = 5
    for i in range(n):  # chooses
        o.v += 1  # writes
        if i == 1:
            q = o
    return o.v, q.v


@hazard("is read")
def rebound_after_a_write(n):
    a = [0, 1]
    b = a
    for i in range(n):  # chooses
        a[0] += 1  # writes
        a = [a[0], 5]
    return b[0], a  # reads


@hazard("'Box.b' refers to")
def two_attributes_parted(n):
    s = Box()
    s.a = s.b = [0, 1]
    for i in range(n):  # chooses
        s.a[0] += 1  # writes
        if i == 1:
            s.b = [9, 9]
    return s.a, s.b


@hazard("'Box.b' refers to")
def attribute_bound_in_a_loop(n):
    s = Box(a=[0, 1], b=[5, 6])
    for i in range(n):  # chooses
        s.a[0] += 1  # writes
        if i == 1:
            s.b = s.a
    return s.a, s.b


@hazard("another variable refers to")
def sets_in_a_loop(n):
    a = {1}
    b = {1}
    for i in range(n):  # chooses
        if i == 1:
            b = a
    b.add(5)  # writes
    return len(a), len(b)


@hazard("'b' refers to")
def bound_by_a_callee_in_a_loop(n):
    a = [0, 1]
    b = [5, 6]

    def step(x, y, i):
        x[0] += 1  # writes
        return x if i < 1 else y

    for i in range(n):  # chooses
        b = step(a, b, i)
    return a[0], b[0]


@program
def written_in_a_loop(n):
    a = [0, 1]
    b = [5, 6]
    c = a if n > 1 else b  # chooses
    for i in range(n):
        c[0] += 1  # writes
    return a[0], b[0], c[0]


@program
def source_written_in_a_loop(n):
    a = [0, 1]
    b = [5, 6]
    c = a if n > 1 else b  # chooses
    for i in range(n):
        a[0] += 1  # writes
    return a[0], b[0], c[0]


@hazard("is read")
def swapped_with_a_third_name(n):
    a = [0, 1]
    b = [5, 6]
    p = a
    for i in range(n):  # chooses
        a[0] += 1  # writes
        a, b = b, a
    return a[0], b[0], p[0]  # reads


@hazard("the function returns")
def rebound_in_a_while(n):
    a = [0, 1]
    b = a
    i = 0
    while i < n:  # chooses
        b = [i, i]
        i += 1
    a[0] = 9  # writes
    return b[0]


@hazard("the function returns")
def shallow_copies(n):
    a = [[0, 1], 2]
    b = a
    for i in range(n):  # chooses
        b = list(b)
    b[0][0] = 9
    b[1] = 5  # writes
    return a, b


@hazard("the function returns")
def copied_in_a_loop(n):
    a = [0, 1]
    c = a
    for i in range(n):  # chooses
        a = list(a)
    a[0] = 5  # writes
    return c[0], a[0]


@program
def chosen_in_each_iteration(n):
    a = [0, 1]
    b = [5, 6]
    for i in range(n):
        c = a if i % 2 == 0 else b  # chooses
        c[0] += 1  # writes
    return a[0], b[0]


@hazard("the function returns")
def previous_with_a_third_name(n):
    cur = [0, 1]
    prev = [3, 3]
    first = cur
    for i in range(n):  # chooses
        prev = cur
        cur = [cur[0] + 1, 0]
        prev[1] = 7  # writes
    return prev, cur, first


@program
def objects_in_a_list(n):
    os = [Box(v=0), Box(v=1)]
    o = os[0]
    for i in range(n):
        o.v += 1
        os[1].v += o.v
    if n > 2:  # chooses
        o = os[1]
    o.v = 50  # writes
    return os[0].v, os[1].v


@hazard("'b' refers to")
def rotated(n):
    a = [0, 1]
    b = [5, 6]
    c = [7, 8]
    for i in range(n):  # chooses
        a[0] += 1  # writes
        if i == 2:
            a, b, c = a, a, c
        else:
            a, b, c = b, c, a
    return a, b, c


@hazard("'items' refers to")
def replaced_in_some_iterations(n):
    items = [2, 3]
    other = [items]
    for i in range(n):  # chooses
        if i < 2:
            items = [3, 0]
            other[0][1] = i  # writes
        else:
            items = [items[0] + 1, items[1]]
    return items, other


@hazard("the function returns")
def rebound_in_one_iteration_before_a_write(n):
    a = {"v": 0}
    b = a
    for i in range(n):  # chooses
        if i == 2:
            a = {"v": i}
        a["v"] += 1  # writes
    return b["v"], a["v"]


@hazard("is read")
def rebound_list_in_one_iteration_of_a_while(n):
    a = [0, 1]
    b = a
    i = 0
    while i < n:  # chooses
        if i == 1:
            a = [i, i]
        a[0] += 1  # writes
        i += 1
    return b[0], a[0]  # reads


@hazard("the function returns")
def rebound_object_in_one_iteration(n):
    o = p = Box(v=0)
    for i in range(n):  # chooses
        if i == 1:
            o = Box(v=5)
        o.v += 1  # writes
    return p.v, o.v


@hazard("'o' refers to")
def empty_list_rebound_in_one_iteration(n):
    o, w = [], []
    for i in range(n):  # chooses
        if i == 1:
            o = []
        if i > 0:
            w.append(i)  # writes
        w = o
    return len(o), len(w)


@program
def objects_exchanged_in_each_iteration(n):
    o, w = Box(items=[], a=[1]), Box(items=[], a=[2])
    for i in ag.range(4):
        o.items.append(i + n)
        o.a[0] += i
        o, w = w, o
    return sum(o.items), len(w.items), o.a, w.a


@program
def objects_exchanged_in_some_iterations(n):
    o, w = Box(items=[0]), Box(items=[5])
    for i in range(4):
        o.items.append(i)
        if i > n:
            o, w = w, o
        elif i == n:
            w.items[0] += 7
    return sum(o.items), sum(w.items), len(o.items), len(w.items)


@hazard("the function returns")
def rebound_dict_of_lists_in_one_iteration(n):
    a = {"v": [0, 1]}
    b = a["v"]
    for i in range(n):  # chooses
        if i == 1:
            a = {"v": [i, i]}
        a["v"][0] += 1  # writes
    return b, a


@program
def rows_that_may_have_been_chosen_before_found_by_an_index(n):
    rows = [[0, 1], [2, 3], [4, 5]]
    chosen = rows[0] if n > 1 else rows[1]
    other = rows[2] if n > 1 else chosen
    total = other[0] + chosen[0]
    for i in range(n):
        rows[(i + 1) % 3][0] = i + 7
        rows = [row[:] for row in rows]
    return rows, total


@program
def chosen_again_in_each_iteration_and_written_by_its_first_name(n):
    a, b = [0], [5]
    c = a if n > 1 else b
    d = c
    for i in ag.range(1, 4):
        d = c
        a[0] += i
    return d, a, b, c


@program
def chosen_again_by_a_tuple_and_written_by_its_first_name(n):
    a, b = {"k": 0}, {"k": 5}
    c = a if n > 1 else b
    d = (c, 0)
    i = 0
    while i < n:
        d = (c, i)
        a["k"] += 1
        b["k"] += 2
        i += 1
    return d, a, b, c


@program
def chosen_and_lengthened_by_its_first_name(n):
    a, b = [0], [5]
    c = a if n > 1 else b
    for i in ag.range(3):
        a.append(i + n)
    return len(a), len(b), len(c), sum(c)


@program
def chosen_and_lengthened_by_its_last_name(n):
    a, b, e = [0], [5], [6]
    c = a if n > 1 else b
    d = c if n > 2 else e
    for i in ag.range(3):
        for _ in range(2):
            d.append(i + n)
    return [(len(each), sum(each)) for each in (a, b, c, d, e)]


@program
def chosen_again_in_each_iteration_and_lengthened(n):
    a, b = [0], [5]
    c = a if n > 1 else b
    d = c
    for i in ag.range(3):
        d = c
        a.append(i)
        b += [i]
    return [(len(each), sum(each)) for each in (a, b, c, d)]


@program
def equal_lists_exchanged_by_a_method(n):
    a, b = [1], [1]
    rows = [a, b]
    for _ in ag.range(3):
        if n > 1:
            rows.reverse()
    return rows, rows[0] == rows[1], a


@hazard("the function returns")
def equal_lists_exchanged_by_a_method_and_written(n):
    a, b = [1], [1]
    rows = [a, b]
    for _ in ag.range(3):  # chooses
        if n > 1:
            rows.reverse()
    rows[0][0] = 5  # writes
    return a, b


@hazard("the function returns")
def equal_dicts_moved_by_methods_and_written(n):
    a, b = {"k": 1}, {"k": 1}
    rows = [a, b]
    for i in ag.range(3):  # chooses
        if i < n:
            rows.insert(0, rows.pop())
    rows[0]["k"] = 5  # writes
    return a, b


@program
def objects_exchanged_by_a_method_and_written(n):
    a, b = Box(v=1), Box(v=2)
    boxes = [a, b]
    for i in ag.range(3):
        if i < n:
            boxes.reverse()
    boxes[0].v = 5
    return a.v, b.v


@hazard("another variable refers to")
def sets_exchanged_by_a_method_and_written(n):
    a, b = {1}, {1}
    sets = [a, b]
    for i in ag.range(3):  # chooses
        if i < n:
            sets.reverse()
    sets[0].add(2)  # writes
    return len(a), len(b)


@hazard("'rows' refers to")
def rows_exchanged_while_one_is_written_by_its_name(n):
    a, b = [1], [2]
    rows = [a, b]
    for _ in range(n):  # chooses
        rows[0], rows[1] = rows[1], rows[0]
        a[0] += 1  # writes
    return rows, a


@program
def objects_exchanged_while_one_is_written_by_its_name(n):
    a, b = Box(v=1), Box(v=2)
    boxes = [a, b]
    for _ in range(n):
        boxes.reverse()
        a.v += 1
    return boxes[0].v, boxes[1].v


@program
def objects_moved_by_methods_and_written_through_the_list(n):
    boxes = [Box(v=1), Box(v=2), Box(v=3)]
    for i in ag.range(5):
        boxes.append(boxes.pop(0))
        boxes[0].v += n
        if i == n:
            boxes.reverse()
    return [box.v for box in boxes]


@program
def objects_exchanged_and_written_through_the_list(n):
    boxes = [Box(v=1), Box(v=2)]
    for _ in range(n):
        boxes[0], boxes[1] = boxes[1], boxes[0]
        boxes[0].v += 3
    return boxes[0].v, boxes[1].v


@program
def rows_read_while_a_method_exchanges_them(n):
    rows = [[n], [4], [n + 1]]
    total = 2
    for i in range(40):
        total += rows[1][i % 1] + 3 * rows[2][0]
        if n > 1:
            rows.reverse()
        total %= 97
    return total, rows
