"""Programs that change lists and their like where a naive staging would change them once, always, or never."""

import bisect
import collections
import copy
import functools
import heapq
import random

from tests.traps import ROWS, SIGNS, trap


class MyList(list):
    def put(self, v):
        self.append(v)


@trap(ROWS)
def len_after_appends():

    def f(xs):
        out = []
        for x in xs:
            out.append(x)
        return len(out)

    return f


@trap(ROWS)
def len_after_conditional_appends():

    def f(xs):
        out = []
        for x in xs:
            if x > 0:
                out.append(x)
        return len(out)

    return f


@trap(SIGNS)
def append_both():

    def f(x):
        l = []
        if x > 0:
            l.append(x)
        else:
            l.append(-x)
        return l[0] + len(l)

    return f


@trap(SIGNS)
def mutation_not_taken():

    def f(x):
        l = [1.0]
        if x > 0:
            l[0] = 5.0
        return l[0]

    return f


@trap(SIGNS)
def list_sort_in_branch():

    def f(x):
        l = [3, 1, 2]
        if x > 0:
            l.sort()
        return l[0]

    return f


@trap(SIGNS)
def list_reverse_in_branch():

    def f(x):
        l = [3, 1, 2]
        if x > 0:
            l.reverse()
        return l[0]

    return f


@trap(SIGNS)
def list_iadd_alias():

    def f(x):
        a = [1.0]
        b = a
        if x > 0:
            a += [2.0]
        return len(b)

    return f


@trap(SIGNS)
def list_iadd_alias_same_len():

    def f(x):
        a = [1.0]
        b = a
        if x > 0:
            a[0] += 2.0
        return b[0]

    return f


@trap(SIGNS, refused="'a'")
def list_imul_alias():

    def f(x):
        a = [1.0]
        b = a
        if x > 0:
            a *= 2
        return len(b)

    return f


@trap(SIGNS)
def del_item():

    def f(x):
        l = [1.0, 2.0]
        if x > 0:
            del l[0]
        return l[0]

    return f


@trap(ROWS)
def deque_rotate():

    def f(xs):
        d = collections.deque([1.0, 2.0, 3.0])
        for x in xs:
            if x > 0:
                d.rotate(1)
        return d[0]

    return f


@trap(ROWS)
def deque_maxlen():

    def f(xs):
        d = collections.deque([0.0, 0.0], maxlen=2)
        for x in xs:
            d.append(x)
        return d[0] + 10 * d[1]

    return f


@trap(SIGNS)
def heappush():

    def f(x):
        h = [5, 7]
        if x > 0:
            heapq.heappush(h, 1)
        return h[0]

    return f


@trap(SIGNS)
def heapreplace():

    def f(x):
        h = [5, 7]
        if x > 0:
            heapq.heapreplace(h, 1)
        return h[0]

    return f


@trap(SIGNS)
def insort():

    def f(x):
        h = [5, 7]
        if x > 0:
            bisect.insort(h, 1)
        return h[0]

    return f


@trap(SIGNS, refused="`shuffle` of a random number generator")
def shuffle():

    def f(x):
        h = [5, 7, 9]
        if x > 0:
            random.Random(0).shuffle(h)
        return h[0]

    return f


@trap(SIGNS)
def list_pop_branch():

    def f(x):
        l = [1.0, 2.0, 3.0]
        if x > 0:
            l.pop()
        return l[-1]

    return f


@trap(SIGNS)
def userlist():

    def f(x):
        l = collections.UserList([1.0, 2.0])
        if x > 0:
            l[0] = 9.0
        return l[0]

    return f


@trap(SIGNS, refused="'l'")
def list_subclass():

    def f(x):
        l = MyList([1.0])
        if x > 0:
            l.put(2.0)
        return len(l)

    return f


@trap(SIGNS, refused="'l'")
def list_subclass_super():

    class L(list):
        def append(self, v):
            super().append(v * 2)

    def f(x):
        l = L([1.0])
        if x > 0:
            l.append(2.0)
        return len(l)

    return f


@trap(SIGNS)
def bound_method_alias():

    def f(x):
        l = [1.0]
        put = l.append
        if x > 0:
            put(2.0)
        return len(l)

    return f


@trap(SIGNS, refused="'l'")
def unbound_method():

    def f(x):
        l = [1.0]
        if x > 0:
            list.append(l, 2.0)
        return len(l)

    return f


@trap(SIGNS)
def map_append():

    def f(x):
        l = [1.0]
        if x > 0:
            list(map(l.append, [2.0, 3.0]))
        return len(l)

    return f


@trap(SIGNS)
def list_comprehension_append():

    def f(x):
        l = [1.0]
        if x > 0:
            [l.append(v) for v in (2.0, 3.0)]
        return len(l)

    return f


@trap(SIGNS)
def partial_append():

    def f(x):
        l = [1.0]
        p = functools.partial(l.append, 3.0)
        if x > 0:
            p()
        return len(l)

    return f


@trap(SIGNS, refused="'s'")
def string_build():

    def f(x):
        s = "a"
        if x > 0:
            s += "b"
        return len(s)

    return f


@trap(SIGNS, refused="'t'")
def tuple_grow():

    def f(x):
        t = (1.0,)
        if x > 0:
            t += (2.0,)
        return len(t)

    return f


@trap(SIGNS)
def copy_write():

    def f(x):
        a = [1.0, [2.0]]
        b = copy.copy(a)
        c = copy.deepcopy(a)
        if x > 0:
            a[1][0] = 7.0
        return b[1][0] + 10 * c[1][0]

    return f


@trap(SIGNS, refused="'a'")
def list_slice_assign():

    def f(x):
        a = [1.0, 2.0, 3.0]
        if x > 0:
            a[1:] = [9.0]
        return a[-1] + len(a)

    return f


@trap(SIGNS)
def list_slice_assign_same():

    def f(x):
        a = [1.0, 2.0, 3.0]
        b = a
        if x > 0:
            a[:2] = [9.0, 8.0]
        return b[0]

    return f
