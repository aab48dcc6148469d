"""Programs that write to what a traced condition chose in every way there is; every name sees the write."""

import collections
import copy

from tests.aliasing import Box, program


class Acc:
    def __init__(self):
        self._v = 0
        self.log = []

    @property
    def v(self):
        return self._v

    @v.setter
    def v(self, x):
        self._v = x
        self.log.append(x)

    def __iadd__(self, x):
        self._v += x
        return self


@program
def prop_chosen(n):
    x = Acc()
    y = Acc()
    c = x if n > 1 else y
    c.v = 5
    c.v += 2
    return x._v, y._v, c._v, len(x.log), len(y.log)


@program
def iadd_chosen(n):
    x = Acc()
    y = Acc()
    c = x if n > 1 else y
    c += 3
    return x._v, y._v, c._v


@program
def choice_escapes_inner(n):
    a = [0, 1]
    b = [5, 6]
    d = [7, 8]
    if n > 0:
        if n > 1:
            c = a
        else:
            c = b
    else:
        c = d
    c[1] = 4
    return c


@program
def write_in_loop_by_choice(n):
    a = [0, 1]
    b = [5, 6]
    for i in range(n):
        c = a if i % 2 == 0 else b
        c[0] += i
        b[1] += c[0]
    return a, b


@program
def append_chosen(n):
    a = [0, 1]
    b = [5, 6]
    c = a if n > 1 else b
    c.append(n)
    c.append(2)
    a.append(7)
    return len(a), len(b), len(c), sum(a), sum(b), sum(c)


@program
def pop_chosen(n):
    a = [0, 1, 4]
    b = [5, 6]
    c = a if n > 1 else b
    x = c.pop()
    return x, len(a), len(b), sum(a)


@program
def dict_setdefault(n):
    a = {"x": [1]}
    b = {"x": [2]}
    c = a if n > 1 else b
    c.setdefault("x", [0])[0] = 9
    return a["x"][0], b["x"][0]


@program
def try_except(n):
    a = [0, 1]
    b = [5, 6]
    c = a if n > 1 else b
    try:
        c[0] = 9
        if n > 2:
            raise ValueError
        c[1] = 8
    except ValueError:
        c[0] += 1
    return a, b


@program
def aliased_in_containers(n):
    a = [0, 1]
    b = [5, 6]
    d = {"p": a, "q": [b]}
    c = d["p"] if n > 1 else d["q"][0]
    c[0] = 9
    d["q"][0][1] = n
    return d, a, b, c


@program
def while_choice(n):
    a = [0, 1]
    b = [5, 6]
    c = a if n > 1 else b
    while c[0] < 8:
        c[0] += 3
        a[1] += 1
    return a, b, c


@program
def chosen_object_list(n):
    xs = [Box(v=i, w=[i]) for i in range(3)]
    o = xs[n % 3]
    o.v += 10
    o.w[0] += 5
    xs[1].v += 1
    return [x.v for x in xs], [x.w[0] for x in xs], o.v


@program
def swap_write_both(n):
    a = [0, 1]
    b = [5, 6]
    x, y = a, b
    if n > 1:
        a, b = b, a
    a[0] += 1
    b[0] += 10
    return x, y, a, b


@program
def sorts(n):
    a = [3, n]
    b = [9, 2]
    c = a if n > 1 else b
    c.sort()
    return a, b


@program
def slices(n):
    a = [3, n, 1]
    b = [9, 2, 4]
    c = a if n > 1 else b
    c[1:] = [7, 7]
    return a, b


@program
def dels(n):
    a = [3, n, 1]
    b = [9, 2, 4]
    c = a if n > 1 else b
    del c[0]
    return len(a), len(b), a[0], b[0]


@program
def deque_choice(n):
    a = collections.deque([1, 2])
    b = collections.deque([3, 4])
    c = a if n > 1 else b
    c.append(5)
    c.popleft()
    return len(a), a[0], b[0]


@program
def comprehension_write(n):
    a = [0, 1]
    b = [5, 6]

    def w(c, i):
        c[0] += i
        return c[0]

    z = [w(a if i < n else b, i) for i in range(4)]
    return z, a, b


@program
def copied(n):
    a = [0, [1]]
    b = [5, [6]]
    c = copy.deepcopy(a if n > 1 else b)
    c[1][0] = 4
    d = list(a if n > 1 else b)
    d[1][0] = 3
    return a, b, c, d


@program
def nested_choice(n):
    a = [[0], [1]]
    b = [[2], [3]]
    c = a if n > 1 else b
    c[0] = [7]
    c[0][0] += 1
    a[0][0] += 10
    return a, b, c


@program
def tuple_of_choices(n):
    a = [0]
    b = [1]
    t = (a, b) if n > 1 else (b, a)
    u = t[0] if n > 2 else t[1]
    u[0] += 5
    return a, b, t, u


@program
def walrus_loop(n):
    a = [0]
    b = [1]
    s = 0
    for i in range(3):
        (c := a if i < n else b)[0] += 1
        s += c[0] * a[0]
    return a, b, s


@program
def kept_in_outer_object(n):
    o = Box(w=None)
    a = [0, 1]
    b = [5, 6]
    o.w = a if n > 1 else b

    def bump():
        o.w[0] += 1

    bump()
    for i in range(n):
        bump()
    return a, b, o.w
