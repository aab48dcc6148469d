"""Programs that change dicts, sets and NumPy arrays where a naive staging would do so once, always, or never."""

import collections
import operator

import numpy as np

from tests.traps import ROWS, SIGNS, trap


@trap(SIGNS, refused="'s'")
def set_add():

    def f(x):
        s = set()
        if x > 0:
            s.add(1)
        return len(s)

    return f


@trap(SIGNS, refused="'a'")
def dict_setdefault():

    def f(x):
        d = {}
        if x > 0:
            d.setdefault("a", 1.0)
        d.setdefault("a", 7.0)
        return d["a"]

    return f


@trap(SIGNS)
def numpy_in_place():

    def f(x):
        a = np.zeros(3)
        if x > 0:
            a[0] = 5.0
        return a[0] + 1

    return f


@trap(SIGNS)
def numpy_in_place_traced():

    def f(x):
        a = np.zeros(3)
        a[1] = x
        return a.sum()

    return f


@trap(SIGNS, refused="A NumPy array")
def numpy_fill():

    def f(x):
        a = np.zeros(3)
        if x > 0:
            a.fill(2.0)
        return a[0] + 1

    return f


@trap(SIGNS, refused="A NumPy array")
def numpy_iadd():

    def f(x):
        a = np.zeros(3)
        b = a
        if x > 0:
            a += 1
        return b[0] + a[0]

    return f


@trap(SIGNS, refused="A NumPy array")
def numpy_out():

    def f(x):
        a = np.zeros(3)
        if x > 0:
            np.add(a, 1, out=a)
        return a[0]

    return f


@trap(SIGNS, refused="'d'")
def del_key():

    def f(x):
        d = {"a": 1.0, "b": 2.0}
        if x > 0:
            del d["a"]
        return len(d)

    return f


@trap(ROWS, refused="'pos'")
def defaultdict():

    def f(xs):
        d = collections.defaultdict(float)
        for x in xs:
            if x > 0:
                d["pos"] += x
            else:
                d["neg"] += x
        return d["pos"] - d["neg"]

    return f


@trap(ROWS, refused="'c'")
def counter_obj():

    def f(xs):
        c = collections.Counter()
        for x in xs:
            if x > 0:
                c["pos"] += 1
        return c["pos"]

    return f


@trap(ROWS)
def counter_update():

    def f(xs):
        c = collections.Counter(pos=0)
        for x in xs:
            if x > 0:
                c.update(["pos"])
        return c["pos"]

    return f


@trap(SIGNS)
def operator_setitem():

    def f(x):
        h = [5, 7, 9]
        if x > 0:
            operator.setitem(h, 0, 1)
        return h[0]

    return f


@trap(SIGNS)
def dict_iteration():

    def f(x):
        d = {"a": x, "b": 2 * x}
        t = 0.0
        for k in d:
            if d[k] > 0:
                t += d[k]
        for v in d.values():
            if v < 0:
                t -= v
        return t

    return f


@trap(SIGNS)
def alias_in_dict():

    def f(x):
        a = {"v": 1.0}
        holder = {"inner": a}
        if x > 0:
            holder["inner"]["v"] = 5.0
        return a["v"]

    return f


@trap(SIGNS, refused="'d'")
def dict_pop_default():

    def f(x):
        d = {"a": 1.0}
        if x > 0:
            v = d.pop("a", 0.0)
        else:
            v = -1.0
        return v + len(d)

    return f


@trap(SIGNS)
def dict_update_branch():

    def f(x):
        d = {"a": 1.0}
        if x > 0:
            d.update(a=2.0)
        return d["a"]

    return f


@trap(SIGNS)
def dict_ior():

    def f(x):
        d = {"a": 1.0}
        e = d
        if x > 0:
            d |= {"a": 3.0}
        return e["a"]

    return f


@trap(SIGNS, refused="'s'")
def set_discard():

    def f(x):
        s = {1, 2}
        if x > 0:
            s.discard(1)
        return len(s)

    return f


@trap(SIGNS, refused="A bytearray")
def bytearray_write():

    def f(x):
        b = bytearray(b"abc")
        if x > 0:
            b[0] = 100
        return b[0]

    return f


@trap(SIGNS)
def userdict():

    def f(x):
        l = collections.UserDict(a=1.0)
        if x > 0:
            l["a"] = 9.0
        return l["a"]

    return f


@trap(SIGNS, refused="'a'")
def ordereddict_move():

    def f(x):
        d = collections.OrderedDict(a=1.0, b=2.0)
        if x > 0:
            d.move_to_end("a")
        return next(iter(d.values()))

    return f


@trap(ROWS, refused="'v'")
def memo_dict():

    def f(xs):
        memo = {}

        def g(v):
            if "v" not in memo:
                memo["v"] = v
            return memo["v"]

        t = 0.0
        for x in xs:
            t = t + g(x)
        return t

    return f


@trap(SIGNS, refused="'d'")
def in_after():

    def f(x):
        d = {}
        if x > 0:
            d["k"] = 1
        return 1 if "k" in d else 0

    return f


@trap(SIGNS, refused="A bytearray")
def memoryview_write():

    def f(x):
        b = bytearray(b"abc")
        m = memoryview(b)
        if x > 0:
            m[0] = 100
        return b[0]

    return f
