"""Programs in which objects, containers and functions keep arrays, or return what they keep, and views by NumPy's functions: `CASES`."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import heapq

import numpy as np

Pair = collections.namedtuple("Pair", "u v")


@dataclasses.dataclass
class Box:
    u: object
    v: object = None


@dataclasses.dataclass(frozen=True)
class Frozen:
    u: object


class Body:
    def __init__(self, pos, vel):
        self.pos, self.vel = pos, vel

    @property
    def where(self):
        return self.pos


class Stack:
    def __init__(self):
        self.items = []

    def push(self, v):
        self.items.append(v)

    def peek(self):
        return self.items[-1]


def store(d, k, a):
    d[k] = a


def put(p, a):
    p.pos = a


def keep_in(items, a):
    items.append(a)


def keep_through(items, a):
    keep_in(items, a)


def visit(a, f):
    f(a)


def identity(a):
    return a


def first(t):
    return t[0]


def in_an_object(x):
    a = x * 2
    p = Body(a, 1)
    a[0] = 9.0
    return p.pos.sum()


def in_a_dataclass(x):
    a = x * 2
    p = Box(a)
    a[0] = 9.0
    return p.u.sum()


def in_a_named_tuple(x):
    a = x * 2
    p = Pair(a, 1.0)
    a[0] = 9.0
    return p.u.sum()


def stored_by_a_function(x):
    a = x * 2
    d, p = {}, Body(None, 1)
    store(d, "a", a)
    put(p, a)
    a[0] = 9.0
    return d["a"].sum() + p.pos.sum()


def added_by_a_bound_method(x):
    a = x * 2
    d = []
    add = d.append
    add(a)
    a[0] = 9.0
    return d[0].sum()


def in_constructed_containers(x):
    a = x * 2
    d, t = dict(a=a), list([a, a])
    a[0] = 9.0
    return d["a"].sum() + t[1].sum()


def in_several_objects(x):
    a = x * 2
    ps = [Body(a, k) for k in range(3)]
    ps[0].pos[1] = 7.0
    return ps[2].pos.sum()


def returned_by_a_closure(x):
    a = x * 2

    def get():
        return a

    b = get()
    b[0] = 9.0
    return a.sum()


def unpacked_from_a_tuple(x):
    a = x * 2
    s = (a, 3)
    b, _ = s
    b[0] = 5.0
    return a.sum()


def asarray_and_array(x):
    a = x * 2
    b, c, d = np.asarray(a), np.array(a), a.copy()
    b[0] = 3.0
    return a.sum(), c.sum(), d.sum()


def made_by_an_operation_of_a_number(x):
    s = x.sum()
    a, b = -x[0] * np.ones(3), s + x
    c, d = a, b
    c[1], d[2] = 5.0, 8.0
    return a.sum() + b.sum()


def quotient(s, x):
    return s / x


def made_by_a_function(x):
    a = quotient(x[0], x)
    b = a
    b[0] = 4.0
    return a.sum()


def on_a_stack(x):
    s = Stack()
    a = x * 2
    s.push(a)
    a[0] = 9.0
    top = s.peek()
    top[1] = 5.0
    return s.items[0].sum()


def returned_as_it_is(x):
    a = x * 2
    b, c = identity(a), first((a, 1))
    b[0], c[1] = 9.0, 4.0
    return a.sum()


def kept_by_a_function_that_is_called_by_one(x):
    a = x * 2
    found, visited = [], []
    keep_through(found, a)
    visit(a, visited.append)
    a[0] = 9.0
    return found[0].sum() + visited[0].sum()


def in_a_heap_and_a_deque(x):
    a = x * 2
    h, q = [], collections.deque()
    heapq.heappush(h, (1, a))
    q.append(a)
    b = q.popleft()
    b[0] = 9.0
    return h[0][1].sum()


def the_first_when_sorted(x):
    rows = [x * i for i in range(3)]
    other = sorted(rows, key=lambda r: -abs(r[1]))
    other[0][0] = 30.0
    return rows[2].sum()


def copies_of_containers(x):
    d, b = {"a": x * 1, "b": x * 2}, Body(x * 1, x * 2)
    e, c, deep = dict(d), copy.copy(b), copy.deepcopy(b)
    e["a"][0], c.pos[0], deep.pos[1] = 30.0, 9.0, 70.0
    return d["a"].sum(), b.pos.sum()


def yielded(x):
    def numbers():
        a = x * 2
        yield a
        yield a.sum()

    g = numbers()
    v = next(g)
    v[0] = 9.0
    return next(g)


def matched(x):
    a = x * 2
    match (a, 3):
        case (b, k):
            b[0] = k
    return a.sum()


def a_default(x):
    a = x * 2

    def f(v=a):
        v[0] = 77.0

    f()
    return a.sum()


def a_partial(x):
    f = functools.partial(identity, x * 2)
    b = f()
    b[0] = 4.0
    return f().sum()


def replaced_in_part(x):
    p, q = Pair(x * 1, x * 2), Box(x * 1, x * 2)
    r, s = p._replace(v=x * 3), dataclasses.replace(q, v=x * 3)
    r.u[0], s.u[1] = 10.0, 20.0
    return p.u.sum() + q.u.sum()


def items_of_what_does_not_change(x):
    t, b, f = (x * 1, x * 2), Body(x * 1, x * 2), Frozen(x * 1)
    t[0][1], b.where[0], f.u[0] = 5.0, 6.0, 7.0
    for i in range(3):
        t[i % 2][i] += i
    return t[0].sum() + b.pos.sum() + f.u.sum()


def splits_and_more_dimensions(x):
    m = np.outer(x, x)
    _, b, _ = np.split(m.reshape(-1), 3)
    b[0] = 100.0
    np.squeeze(m[None])[0, 0] = 9.0
    e = np.expand_dims(m, 0)
    e[0, 2, 2] = 0.0
    return m


def other_shapes_and_orders(x):
    m = np.outer(x, x)
    f, t, u, v = np.ravel(m), np.transpose(m), np.swapaxes(m, 0, 1), np.reshape(m, (9,))
    f[4], t[0, 1], u[2, 0], v[8] = 3.0, 33.0, 44.0, 1.0
    return m


def flipped_and_diagonal(x):
    m = np.outer(x, x)
    v, r, d = np.flip(m), m[::-1], np.diagonal(m)
    v[0, 0], r[0, 0] = 50.0, 20.0
    m[1, 1] = 50.0
    return m, d.sum()


def a_copy_of_a_transposed_matrix(x):
    m = np.outer(x, x + 1)
    f, g = m.T.reshape(-1), np.ravel(m[:, :2])
    f[0], g[0] = 50.0, 60.0
    return m, f, g


def parts_of_complex_numbers(x):
    z = x * (1 + 1j)
    z.real[0] = 7.0
    re = z.real
    re[1] = 9.0
    z.imag = 0.5
    return z.real, z.imag


def elements_of_copied_lists(x):
    rows, more = [x * 1, x * 2], [x * 3]
    other, both, grid = rows.copy(), rows + more, [x * 1] * 3
    other[1][0], both[2][0], both[0][1], grid[0][1] = 30.0, 40.0, 50.0, 60.0
    return rows[0].sum() + rows[1].sum(), more[0].sum(), grid[2].sum()


def elements_of_extended_lists(x):
    rows = [x * 1, x * 2]
    rows += rows
    other = []
    other.extend(rows)
    rows[0][0], other[1][2] = 5.0, 50.0
    return rows[2].sum(), rows[3].sum()


def written_through_the_container(x):
    a, b = x * 1, x * 2
    hist, table, queue = [], {}, collections.deque([b])
    hist.append(a)
    for i in range(2):
        table[i] = b
    hist[0][1], table[0][2], queue[0][0] = 5.0, 6.0, 7.0
    return a.sum(), b.sum()


def best_of_candidates(x):
    best = x.copy()
    for k in range(3):
        candidate = best.copy()
        if x[k] > 1:
            candidate = candidate * 2.0
        candidate[k] += 1
        if candidate.sum() < best.sum():
            break
        best = candidate
    return best


def until_it_is_large(x):
    r = np.full(3, 1 / 3)
    k = 0
    while k < 3:
        new = np.full(3, 0.15)
        if x[k] < 1:
            new = new * 2
        new[0] += x[k]
        if new[0] > 2.5:
            break
        r = new
        k += 1
    r[1] = 7
    return r


def of_neighbours(x):
    r = np.full(3, 1 / 3)
    for _ in range(3):
        new = np.full(3, 0.15)
        for i in range(2):
            if x[i] < 0:
                new = new + x[i]
            else:
                new[0] += 0.85
        if new[0] < 1e-4:
            break
        r = new
    return r


def chosen_in_a_branch(x):
    best = x.copy()
    if x[1] > 0:
        if x[0] > 1:
            candidate = x * 2.0
        else:
            candidate = x * 3.0
        candidate[1] = 0.0
        best = candidate
    return best


class Scaled:
    def __init__(self, s, n):
        self.pos = s * np.ones(n)

    def get(self):
        return self.pos


def products_in_objects(x):
    p, q = Scaled(x[0], 3), Scaled(x[1], 3)
    a, b = p.pos, q.get()
    a[0], b[1] = 9.0, 8.0
    return p.pos, q.pos


def products_in_containers(x):
    found, named = [], {"a": x[0] * np.ones(3)}
    found.append(x[1] - np.ones(3))
    named["b"] = x[2] / (np.ones(3) + 1)
    rows = [x[k] * np.ones(3) for k in range(2)]
    for each in (found[0], named["a"], named["b"], rows[1]):
        each[1] = 7.0
    return found, named, rows


def product_and_number(s):
    return s * np.ones(3), s


def products_that_functions_return(x):
    v, _ = product_and_number(x[0])
    w = product_and_number(x[1])[0]
    a, b = v, w
    a[0], b[1] = 9.0, 8.0
    return v, w


def doubled(v):
    v *= 2


def products_in_loops(x):
    s = x.sum()
    for i in range(2):
        v = (s + 1) * np.ones(3)
        w = v
        w[i] = 5.0
    u = s - np.arange(3.0)
    doubled(u)
    return v, u


CASES = [
    products_in_objects,
    products_in_containers,
    products_that_functions_return,
    products_in_loops,
    best_of_candidates,
    until_it_is_large,
    of_neighbours,
    chosen_in_a_branch,
    elements_of_copied_lists,
    elements_of_extended_lists,
    written_through_the_container,
    in_an_object,
    in_a_dataclass,
    in_a_named_tuple,
    stored_by_a_function,
    added_by_a_bound_method,
    in_constructed_containers,
    in_several_objects,
    returned_by_a_closure,
    unpacked_from_a_tuple,
    asarray_and_array,
    made_by_an_operation_of_a_number,
    made_by_a_function,
    on_a_stack,
    returned_as_it_is,
    kept_by_a_function_that_is_called_by_one,
    in_a_heap_and_a_deque,
    the_first_when_sorted,
    copies_of_containers,
    yielded,
    matched,
    a_default,
    a_partial,
    replaced_in_part,
    items_of_what_does_not_change,
    splits_and_more_dimensions,
    other_shapes_and_orders,
    flipped_and_diagonal,
    a_copy_of_a_transposed_matrix,
    parts_of_complex_numbers,
]
