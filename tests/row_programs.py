"""Programs with lists of traced length whose elements differ: lists in length, texts, and None."""

from __future__ import annotations

import collections

import jax.numpy as jnp

N, XS = jnp.int32(5), jnp.array([1.0, 5.0, 2.0, 7.0])


def pascal(n):
    table = []
    for i in range(n):
        row = [1]
        for j in range(1, i):
            row.append(table[-1][j - 1] + table[-1][j])
        if i > 0:
            row.append(1)
        table.append(row)
    return table


def written_under_the_name_that_was_appended(n):
    table = []
    for i in range(n):
        row = []
        table.append(row)
        row.append(i)
        row.append(i * 2)
    return table


def read_from_the_end(n):
    table = [[1]]
    for i in range(1, n):
        prev = table[-1]
        row = [1]
        for j in range(len(prev) - 1):
            row.append(prev[j] + prev[j + 1])
        row.append(1)
        table.append(row)
    return table[-1][-1], table[n - 1][n // 2], len(table[n - 2]), table[-1]


def read_by_loops_and_comprehensions(n):
    table = []
    for i in range(n):
        row = [i * j for j in range(i)]
        table.append(row)
    sums = [sum(r) for r in table]
    lens = [len(r) for r in table]
    total = 0
    for r in table:
        for v in r:
            total += v
    return sums, lens, total


def comprehension_of_comprehensions(n):
    table = [[i * j for j in range(i)] for i in range(n)]
    return table


def rows_made_of_the_row_before(n):
    row = [1]
    out = []
    for i in range(n):
        out.append(row)
        row = [1] + [row[k] + row[k + 1] for k in range(len(row) - 1)] + [1]
    return out


def adjacency_lists(n):
    adj = [[] for _ in range(n)]
    for u in range(n):
        for v in range(u):
            if (u + v) % 2 == 0:
                adj[u].append(v)
                adj[v].append(u)
    return adj


def breadth_first_search(n):
    adj = []
    for i in range(n):
        adj.append([])
    for u in range(n - 1):
        adj[u].append(u + 1)
        adj[u + 1].append(u)
    queue = [0]
    dist = [-1] * 6
    dist[0] = 0
    while queue:
        u = queue.pop(0)
        for v in adj[u]:
            if dist[v] < 0:
                dist[v] = dist[u] + 1
                queue.append(v)
    return dist


def buckets(xs):
    b = [[] for _ in range(4)]
    for x in xs:
        b[int(x) % 4].append(x)
    out = []
    for g in b:
        for x in g:
            out.append(x)
    return out, b


def list_of_deques(n):
    qs = []
    for i in range(n):
        q = collections.deque()
        q.append(i)
        qs.append(q)
    for i in range(n):
        qs[i].append(i * 10)
        qs[0].appendleft(i)
    return qs[1].popleft(), qs[0][0], len(qs[0])


def texts_by_a_condition(xs):
    names = []
    for v in xs:
        if v > 1.5:
            if v > 4:
                names.append("big")
            else:
                names.append("small")
    c = 0
    for nme in names:
        if nme == "big":
            c += 1
    return names, c, names[0] == "big"


def none_or_a_number(xs):
    out = []
    for x in xs:
        if x < 1.5:
            out.append(None)
        else:
            out.append(x)
    k = 0
    for o in out:
        if o is None:
            k += 1
    return out, k


def none_before_the_loop(n):
    out = [None]
    i = 0
    while i < n:
        out.append(None if i % 2 == 0 else i)
        i += 1
    return out


def tuples_with_texts_and_none(n):
    out = []
    for i in range(n):
        out.append((i, "odd" if i % 2 else "even", None if i < 2 else i))
    return out


def none_in_an_expression(xs):
    out = []
    for x in xs:
        out.append(None if x < 2 else x)
    return out


def texts_in_an_expression(xs):
    out = []
    for v in xs:
        out.append("up" if v > 2 else "down")
    return out


def texts_by_a_condition_and_an_expression(xs):
    out = []
    for v in xs:
        if v > 1.5:
            out.append("up" if v > 2 else "down")
    return out, out[0] == "down"


def none_by_a_condition(xs):
    out = []
    for x in xs:
        if x > 1.5:
            out.append(None if x < 3 else x)
    return out


def pairs_with_texts(xs):
    out = []
    for x in xs:
        if x > 1.5:
            out.append((x, "big" if x > 3 else "small"))
    return out


def texts_in_both_branches(xs):
    out = []
    for x in xs:
        if x > 1.5:
            out.append("a")
        else:
            out.append("b")
    return out


def rows_of_one_length_compared(n):
    a = []
    b = []
    for i in range(n):
        a.append([i] * 2)
        b.append([i, i])
    return a == b, [1, 1] in a, [1, 2] in a


def rows_compared(n):
    a, b = [], []
    for i in range(n):
        r, s = [], []
        for j in range(i):
            r.append(j)
            s.append(j)
        a.append(r)
        b.append(s)
    same = a == b
    b[2].append(7)
    return same, a == b, [0, 1] in a, [0, 2] in a, a != b


def rows_sorted_reversed_and_sliced(n):
    a = []
    for i in range(n):
        r = []
        for j in range(i):
            r.append((j * 7 + i * 3) % 5)
        a.append(r)
    return sorted(a), sorted(a, key=len, reverse=True), list(reversed(a)), a[1:3], a[::2]


class Point:
    def __init__(self, x):
        self.x = x


def rows_to(n):
    rows = []
    for i in range(n):
        rows.append([i])
    return rows


def points_to(n):
    points = []
    for i in range(n):
        points.append(Point(i))
    return points


def written_in_a_loop_under_the_name_that_was_appended(n):
    table = []
    for i in range(n):
        row = []
        table.append(row)
        for j in range(i):
            row.append(j)
    return table


def groups_of_a_buffer(n):
    buf = []
    groups = []
    for i in range(n):
        buf.append(i)
        if i % 3 == 2:
            groups.append(buf)
            buf = []
    buf.append(100)
    return groups, buf


def groups_by_a_condition(n):
    groups = [[]]
    for i in range(n):
        if i % 3 == 2:
            groups.append([])
        groups[-1].append(i)
    return groups


def groups_of_three(n):
    groups = [[]]
    for i in range(n):
        if len(groups[-1]) > 2:
            groups.append([])
        groups[-1].append(i)
    return groups


def groups_closed_when_they_are_full(n):
    groups = [[]]
    for i in range(n * 2):
        groups[-1].append(i)
        if len(groups[-1]) > 2:
            groups.append([])
    return groups


def groups_begun_with_an_item(n):
    groups, lengths = [[]], []
    for i in range(n):
        if len(groups[-1]) == 2:
            groups.append([i])
        else:
            groups[-1].append(i)
        lengths.append(len(groups[-1]))
    return groups, lengths


def groups_of_an_array(xs):
    groups, total = [[]], 0.0
    for x in xs:
        last = groups[-1]
        if len(last) > 0 and last[-1] > x:
            groups.append([])
            total += x
        groups[-1].append(x)
    return groups, total


def runs(n):
    runs = []
    cur = [0]
    for i in range(1, n):
        if i % 3 != 0:
            cur.append(i)
        else:
            runs.append(cur)
            cur = [i]
    runs.append(cur)
    return runs


def rows_extended(n):
    grid = [[] for _ in range(n)]
    for i in range(n):
        grid[i].extend([i, i + 1])
    return grid


def rows_inserted_into(n):
    grid = [[] for _ in range(n)]
    for i in range(n):
        grid[i].insert(0, 3)
        grid[i].insert(0, i)
    return grid


def rows_changed_by_every_method(n):
    grid = [[0, 1] for _ in range(n)]
    for i in range(n):
        grid[i].pop()
        grid[0].append(3)
        grid[i].sort()
        grid[i][0] = 9
        grid[i].reverse()
    return grid


def row_taken_and_written_in_a_loop(n):
    grid = [[] for _ in range(n)]
    for i in range(n):
        row = grid[i]
        for j in range(i):
            row.append(j)
    return grid


def rows_of_a_loop_written_in_a_loop(n):
    grid = [[] for _ in range(n)]
    for row in grid:
        for j in range(n):
            if j % 2 == 0:
                row.append(j)
    return grid


def rows_cleared(n):
    grid = [[] for _ in range(n)]
    for i in range(n):
        grid[i].clear()
        grid[n - 1 - i].append(i)
        del grid[n - 1 - i][0]
    return grid


def lines_of_words(n):
    lines = [[]]
    width = 0
    for i in range(n):
        w = i + 1
        if width + w > 4:
            lines.append([])
            width = 0
        lines[-1].append(i)
        width += w
    return lines, [len(l) for l in lines]


def parents_or_none(n):
    parents = []
    for i in range(n):
        parents.append(None if i == 0 else (i - 1) // 2)
    path = []
    k = n - 1
    while k is not None:
        path.append(k)
        k = parents[k]
    return path, parents


def subsets(n):
    subsets = [[]]
    for i in range(n):
        subsets = subsets + [s + [i] for s in subsets]
    return subsets, len(subsets)


def paths_on_a_stack(n):
    stack = [[0]]
    done = []
    while stack:
        p = stack.pop()
        if len(p) == 3:
            done.append(p)
            continue
        for k in range(2):
            stack.append(p + [p[-1] + k])
    return done, n


def one_row_under_two_names(n):
    rows = []
    for i in range(n):
        rows.append([i])
    r = rows[1]
    r.append(5)
    rows[1].append(6)
    return r, rows


def row_popped_and_put_back(n):
    rows = []
    for i in range(n):
        rows.append([i])
    r = rows.pop()
    r.append(5)
    rows.append(r)
    r.append(7)
    return rows


def rows_copied(n):
    rows = []
    for i in range(n):
        rows.append([i])
    c = [list(r) for r in rows]
    rows[0].append(9)
    c[1].append(8)
    return c, rows


def rows_joined_in_place(n):
    grid = [[] for _ in range(n)]
    for i in range(n):
        grid[i].extend([i, i + 1])
        grid[i] += [7]
        grid[i].insert(0, 3)
    return grid


def rows_of_rows(n):
    t = []
    for i in range(n):
        t.append([])
        for j in range(i):
            t[i].append([])
            for k in range(j):
                t[i][j].append(i + j + k)
    return t


def rows_seen_before(n):
    seen = []
    for i in range(n):
        key = [i % 2, i % 3]
        if key not in seen:
            seen.append(key)
    return seen, seen.index([1, 1])


def dicts_with_rows(n):
    rows = []
    for i in range(n):
        rows.append({"id": i, "tags": []})
    for i in range(n):
        if i % 2:
            rows[i]["tags"].append(i)
            rows[i]["tags"].append(i * i)
    return rows


def greatest_and_least_rows(n):
    m = []
    for i in range(n):
        m.append([j for j in range(i + 1)])
    return max(m), min(m), max(m, key=len), sum([sum(r) for r in m]), m == sorted(m), m.index([0, 1]), m.count([0])


def texts_counted_and_sorted(n):
    words = []
    for i in range(n):
        words.append("fizz" if i % 3 == 0 else "buzz" if i % 5 == 0 else "none")
    return words, words.count("fizz"), "buzz" in words, words.index("none"), sorted(words)


def row_and_list_written_in_a_loop(n):
    rows = rows_to(n)
    r = rows[1]
    for i in range(n):
        r.append(i)
        rows.append([i])
    return rows, r


def object_written_until_it_is_great(n):
    ps = points_to(n)
    p = ps[2]
    i = 0
    while p.x < 20:
        p.x += i
        i += 1
        if i > 3:
            ps.append(Point(9))
    return [q.x for q in ps], p.x


def object_written_in_loops_in_loops(n):
    ps = points_to(n)
    p = ps[2]
    for i in range(n):
        for j in range(i):
            p.x += j
        ps.append(Point(1))
    p.x += 100
    return [q.x for q in ps], p.x


def rows_in_a_dict(n):
    rows = rows_to(n)
    r = rows[0]
    d = {"rows": rows, "k": 0}
    for i in range(n):
        r.append(i)
        d["k"] = len(d["rows"][0])
        d["rows"].append([1])
    return d


def rows_written_by_a_function(n):
    rows = rows_to(n)
    r = rows[1]

    def g(v):
        nonlocal rows
        r.append(v)
        rows.append([v])
        return len(rows)

    t = 0
    for i in range(n):
        t += g(i)
    return rows, t


def push(rows, value):
    rows.append(value)


def last_row_by_digits(n):
    rows = [[]]
    number = n * 22061
    while number > 0:
        digit = number % 10
        if digit == 0:
            rows.append([])
        rows[-1].append(digit)
        number //= 10
    return rows


def last_row_in_a_loop_that_python_runs(xs):
    rows = [[]]
    for i in range(len(xs)):
        if xs[i] > 2:
            rows.append([])
        rows[-1].append(i)
    return rows


def last_row_before_and_after_another(xs):
    rows = [[0.0]]
    if xs[0] > 0.0:
        rows.append([1.0])
    last = rows[-1]
    if xs[1] > 2.0:
        rows.append([2.0])
    last.append(5.0)
    rows[-1].append(6.0)
    return rows


def row_at_a_traced_index_from_the_end(xs):
    rows = [[0.0]]
    if xs[0] > 0.0:
        rows.append([1.0])
    k = -1 if xs[2] > 0.0 else -2
    before = len(rows[k])
    if xs[1] > 2.0:
        rows.append([2.0])
    rows[k].append(6.0)
    rows[k].append(7.0)
    return rows, before


OF_N = [
    last_row_by_digits,
    written_in_a_loop_under_the_name_that_was_appended,
    groups_of_a_buffer,
    groups_by_a_condition,
    groups_of_three,
    groups_closed_when_they_are_full,
    groups_begun_with_an_item,
    runs,
    rows_extended,
    rows_inserted_into,
    rows_changed_by_every_method,
    row_taken_and_written_in_a_loop,
    rows_of_a_loop_written_in_a_loop,
    rows_cleared,
    lines_of_words,
    parents_or_none,
    subsets,
    paths_on_a_stack,
    one_row_under_two_names,
    row_popped_and_put_back,
    rows_copied,
    rows_joined_in_place,
    rows_of_rows,
    rows_seen_before,
    dicts_with_rows,
    greatest_and_least_rows,
    texts_counted_and_sorted,
    row_and_list_written_in_a_loop,
    object_written_until_it_is_great,
    object_written_in_loops_in_loops,
    rows_in_a_dict,
    rows_written_by_a_function,
    rows_of_one_length_compared,
    rows_compared,
    rows_sorted_reversed_and_sliced,
    pascal,
    written_under_the_name_that_was_appended,
    read_from_the_end,
    read_by_loops_and_comprehensions,
    comprehension_of_comprehensions,
    rows_made_of_the_row_before,
    adjacency_lists,
    breadth_first_search,
    list_of_deques,
    none_before_the_loop,
    tuples_with_texts_and_none,
]
OF_XS = [
    groups_of_an_array,
    last_row_in_a_loop_that_python_runs,
    last_row_before_and_after_another,
    row_at_a_traced_index_from_the_end,
    buckets,
    texts_by_a_condition,
    none_or_a_number,
    none_in_an_expression,
    texts_in_an_expression,
    texts_by_a_condition_and_an_expression,
    none_by_a_condition,
    pairs_with_texts,
    texts_in_both_branches,
]


# What only the run would know.


def buffer_written_by_its_first_name(n):
    buf = []
    first = buf
    groups = []
    for i in range(n):
        buf.append(i)
        if i % 3 == 2:
            groups.append(buf)
            buf = []
    first.append(100)
    return groups, buf


def buffer_kept_after_it_was_appended(n):
    buf = []
    groups = []
    for i in range(n):
        buf.append(i)
        if i % 3 == 2:
            groups.append(buf)
    return groups, buf


def buffer_rebound_by_a_second_condition(n):
    buf = []
    groups = []
    for i in range(n):
        buf.append(i)
        if i % 3 == 2:
            groups.append(buf)
        if i % 3 == 2:
            buf = []
    return groups, buf


def first_group_returned(n):
    first = []
    groups = [first]
    for i in range(n):
        if i % 3 == 2:
            groups.append([])
        groups[-1].append(i)
    return first


def row_read_after_iterations_wrote(n):
    rows = []
    for i in range(n):
        rows.append([i])
    r = rows[1]
    for i in range(n):
        rows[i].append(i)
    return r, rows


def row_written_in_a_copy(n):
    rows = []
    for i in range(n):
        rows.append([i])
    c = rows[:]
    c.append([4])
    rows[0].append(9)
    return c


def row_written_while_iterations_reverse(n):
    rows = rows_to(n)
    r = rows[1]
    for i in range(n):
        r.append(i)
        rows.reverse()
    return rows


def row_at_a_traced_index_read(n):
    ps = points_to(n)
    p = ps[2]
    q = ps[n - 3]
    for i in range(n):
        p.x += i
    return q.x


def row_replaced_by_iterations(n):
    rows = rows_to(n)
    r = rows[0]
    for i in range(n):
        r.append(i)
        if i == 2:
            rows[0] = [7]
    return rows, r


def list_rebound_by_iterations(n):
    rows = rows_to(n)
    r = rows[0]
    for i in range(n):
        r.append(i)
        if i == 2:
            rows = rows_to(n)
    return rows, r


def lists_exchanged_by_iterations(n):
    rows = rows_to(n)
    rows2 = rows_to(n)
    r = rows[1]
    for i in range(n):
        r.append(i)
        rows, rows2 = rows2, rows
    return rows, rows2


def list_copied_by_iterations(n):
    rows = rows_to(n)
    r = rows[1]
    for i in range(n):
        r.append(i)
        rows = rows[:]
    return rows


def replaced_where_the_other_path_appends(n):
    rows, row = [[0, 1], [2, 3]], [5, 5]
    if n > 1:
        rows[0] = row
    else:
        rows.append([1, 1])
    row[0] = 9
    return rows


REFUSED = [
    replaced_where_the_other_path_appends,
    buffer_written_by_its_first_name,
    buffer_kept_after_it_was_appended,
    buffer_rebound_by_a_second_condition,
    first_group_returned,
    row_read_after_iterations_wrote,
    row_written_in_a_copy,
    row_written_while_iterations_reverse,
    row_at_a_traced_index_read,
    row_replaced_by_iterations,
    list_rebound_by_iterations,
    lists_exchanged_by_iterations,
    list_copied_by_iterations,
]
