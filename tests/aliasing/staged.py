"""Programs in which one list, dict or object has several names, and which stage: all give what Python gives."""

from tests.aliasing import Box, program


@program
def second_name_in_each_iteration(n):
    a = [0, 1]
    b = [5, 6]
    for i in range(n):
        a[0] += 1
        b = a
    return b[0], a[0]


@program
def zeros_under_two_names(n):
    m = v = [0, 0]
    for i in range(n):
        m, v = [m[0] + 1, m[1]], [v[0] + 2, v[1]]
    return m[0], v[0]


@program
def best_is_the_list_itself(n):
    best = None
    a = [0, 1]
    for i in range(n):
        a[0] += 1
        if best is None:
            best = a
    return best is None, a


@program
def second_name_that_is_written(n):
    a = [0, 1]
    i = 0
    while i < n:
        a[0] += 1
        b = a
        b[1] += 2
        i += 1
    return a


@program
def object_under_two_names(n):
    o = Box()
    o.v = 0
    q = o
    for i in range(n):
        o.v += 1
        if i == 1:
            q.v += 10
    return o.v, q.v


@program
def row_under_a_name(n):
    a = [[0, 1], [2, 3]]
    row = a[0]
    for i in range(n):
        row[0] += 1
    return a[0][0], row[0]


@program
def returned_by_a_callee(n):
    a = [0, 1]

    def f(x):
        x[0] += 1
        return x

    for i in range(n):
        b = f(a)
        b[1] += 1
    return a[0], a[1]


@program
def rebound_in_a_branch(n):
    items = [0, 0]
    if n > 1:
        items = [1, 1]
    items[0] = 5
    return items


@program
def state_made_anew_in_a_branch(n):
    state = {"m": 0, "v": 1}
    if n > 1:
        state = {"m": state["m"] + 1, "v": 2}
    state["m"] += 7
    return state


@program
def best_so_far(n):
    params = {"w": 1, "b": 2}
    best = params
    best_loss = 100
    for i in range(n):
        params = {"w": params["w"] + i, "b": params["b"] * 2}
        loss = abs(params["w"] - 4)
        if loss < best_loss:
            best, best_loss = params, loss
    return best, best_loss, params


@program
def adam(n):
    params = {"w": 1.0, "b": [2.0, 3.0]}
    m = v = {"w": 0.0, "b": [0.0, 0.0]}
    for i in range(n):
        g = {"w": params["w"], "b": [x * 2 for x in params["b"]]}
        m = {"w": m["w"] * 0.9 + g["w"], "b": [a * 0.9 + b for a, b in zip(m["b"], g["b"])]}
        v = {"w": v["w"] * 0.9 + g["w"] ** 2, "b": [a * 0.9 + b * b for a, b in zip(v["b"], g["b"])]}
        params = {
            "w": params["w"] - m["w"] / (v["w"] + 1),
            "b": [p - a / (b + 1) for p, a, b in zip(params["b"], m["b"], v["b"])],
        }
    return params, m, v


@program
def chosen_among_names_not_read_again(n):
    a = [0, 1]
    b = [5, 6]
    c = a if n > 1 else b
    c[0] = 9
    return c


@program
def chosen_in_a_callee_and_read(n):
    def pick(a, b):
        return a if n > 1 else b

    a = [0, 1]
    b = [5, 6]
    c = pick(a, b)
    return a, b, c


@program
def read_through_another_name(n):
    items = [0, 5]
    other = items
    total = 0
    for _ in range(n):
        items[0] += 1
        total += other[0]
    return total, other


@program
def read_through_another_list(n):
    items = [0, 5]
    other = [items, 1]
    total = 0
    for _ in range(n):
        items[0] += 1
        total += other[0][0]
    return total


@program
def read_through_an_attribute(n):
    self = Box(a=[0, 1], v=2, b=0)
    buf = self.a
    for i in range(n):
        buf[0] += self.v * i
        self.b += self.a[0]
    return buf, self.a, self.b


@program
def swapped(n):
    a = [0, 1]
    b = [5, 6]
    for i in range(n):
        a, b = b, a
    return a, b


@program
def previous_and_current(n):
    cur = [0, 1]
    prev = cur
    for i in range(n):
        prev = cur
        cur = [cur[0] + 1, cur[1] * 2]
    return prev, cur


@program
def snapshots_of_a_list(n):
    a = [0, 1]
    best = [0, 0]
    for i in range(n):
        a[0] += i
        if a[0] < 4:
            best = list(a)
    return a, best


@program
def list_on_an_attribute(n):
    o = Box(v=0, w=[1, 2])
    for i in range(n):
        o.w[0] += i
        if i == 1:
            o.v = o.w[0]
    return o.v, o.w


@program
def copy_of_the_chosen(n):
    a = [0, 1]
    b = [5, 6]
    c = list(a if n > 1 else b)
    c[0] = 9
    return a, b, c


@program
def written_before_the_choice(n):
    a = [0, 1]
    b = [5, 6]
    a[0] = 7
    c = a if n > 1 else b
    return a, b, c


@program
def written_in_the_branches(n):
    a = [0, 1]
    b = [5, 6]
    if n > 1:
        a[0] = 9
    else:
        b[0] = 9
    return a, b


@program
def nested_state(n):
    s = {"opt": {"m": [0, 0]}, "t": 0}
    for i in range(n):
        s["opt"]["m"] = [x + i for x in s["opt"]["m"]]
        s["t"] += 1
    return s


@program
def nested_list_under_a_name(n):
    s = {"opt": {"m": [0, 0]}, "t": 0}
    m = s["opt"]["m"]
    for i in range(n):
        m[0] += 1
        s["opt"]["m"][1] += m[0]
        s["t"] += 1
    return s, m


@program
def nested_list_in_a_while(n):
    q = {"a": [0, 1]}
    r = q["a"]
    i = 0
    while i < n:
        r[0] += i
        i += 1
        q["a"][1] += r[0]
    return q, r


@program
def written_by_a_closure(n):
    a = [0, 1]

    def bump():
        a[0] += 1

    for i in range(n):
        bump()
        a[1] += a[0]
    return a


@program
def written_through_both_names_in_a_branch(n):
    items = [0, 5]
    other = items
    if n > 1:
        items[0] += 1
        other[1] += items[0]
    return items, other


@program
def twice_in_one_list(n):
    row = [0, 5]
    rows = [row, row]
    if n > 1:
        rows[1][0] += 1
    for i in range(n):
        rows[0][1] += 1
    return rows


@program
def one_list_on_both_paths(n):
    a = [0, 1]
    if n > 1:
        c = a
    else:
        c = a
    c[0] = 9
    return a, c


@program
def one_new_list_on_each_path(n):
    if n > 1:
        m = v = [0, 1]
    else:
        m = v = [2, 3]
    m[0] = 9
    return m, v


@program
def written_and_then_rebound(n):
    b = a = [0, 1]
    if n > 1:
        a[0] = 5
        a = [7, 7]
    return a, b


@program
def second_name_after_the_loop(n):
    d = {"sum": 0, "max": -1}
    for i in range(n):
        d["sum"] += i
        if i > d["max"]:
            d["max"] = i
    e = d
    e["sum"] += 1
    return d, e


@program
def rows_of_a_list(n):
    rows = [[0, 0], [0, 0]]
    for i in range(n):
        for row in rows:
            row[0] += i
    return rows


@program
def momentum(n):
    v = p = [1.0, 2.0]
    for i in range(n):
        v = [0.9 * x for x in v]
        p = [a - b for a, b in zip(p, v)]
    return v, p


@program
def subtree_chosen_and_read(n):
    tree = {"l": {"v": 1}, "r": {"v": 2}}
    node = tree["l"] if n > 1 else tree["r"]
    return node["v"], tree


@program
def written_and_swapped(n):
    a = [0, 1]
    b = [5, 6]
    for i in range(n):
        a[0] += 1
        a, b = b, a
    return a, b


@program
def two_buffers(n):
    cur = [0, 1, 2]
    nxt = [0, 0, 0]
    for i in range(n):
        for k in range(3):
            nxt[k] = cur[(k + 1) % 3] + i
        cur, nxt = nxt, cur
    cur[0] = 50
    return cur


@program
def sorted_by_swapping(n):
    a = [n * 2, 1]
    b = [3, 6]
    if a[0] > b[0]:
        a, b = b, a
    a[1] = 9
    b[1] += 1
    return a, b


@program
def bubble_sort(n):
    rows = [{"k": n, "v": 0}, {"k": 2, "v": 1}, {"k": 1, "v": 2}]
    for i in range(3):
        for j in range(2):
            if rows[j]["k"] > rows[j + 1]["k"]:
                rows[j], rows[j + 1] = rows[j + 1], rows[j]
    rows[0]["v"] += 10
    return rows


@program
def objects_swapped(n):
    o = Box(v=0)
    q = Box(v=5)
    for i in range(n):
        o.v += 1
        o, q = q, o
    return o.v, q.v


@program
def written_after_pop(n):
    a = [[0, 1], [2, 3]]
    row = a[1]
    if n > 1:
        x = a.pop()
        x[0] = 9
    else:
        a.pop()
    return row[0], len(a)


@program
def previous_is_written(n):
    cur = [0, 1]
    prev = cur
    for i in range(n):
        prev = cur
        cur = [cur[0] + 1, 0]
        prev[1] = 7
    return prev, cur


@program
def row_twice(n):
    rows = [[0, 1]] * 2
    for i in range(n):
        rows[0][0] += 1
    return rows


@program
def setdefault_item(n):
    d = {"a": [0]}
    x = d.setdefault("a", [1])
    for i in range(n):
        x[0] += 1
    return d


@program
def chosen_again_and_again(n):
    p = {"w": n, "b": n}
    if n > 0:
        p = {"w": n + 1, "b": n}
    if n > 1:
        p = {"w": n + 1, "b": p["b"] + 1}
    if n > 2:
        p = {"w": n + 1, "b": p["b"] + 1}
    p["w"] += 1
    return p
