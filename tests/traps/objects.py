"""Programs that change objects, variables and functions where a naive staging would do so once, always, or never."""

import weakref

from tests.traps import ROWS, SIGNS, trap

G = 0


class Counter:
    total = 0

    def __init__(self):
        self.n = 0
        self.log = []

    def bump(self):
        self.n += 1

    def __enter__(self):
        self.n += 1
        return self

    def __exit__(self, *a):
        self.n += 10

    @property
    def prop(self):
        return self.n

    @prop.setter
    def prop(self, v):
        self.n = v


class Desc:
    def __get__(self, o, t=None):
        return o._v

    def __set__(self, o, v):
        o._v = v * 2


class HasDesc:
    d = Desc()

    def __init__(self):
        self._v = 1.0


class Slotted:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0


@trap(ROWS)
def counter_bumped_by_method():

    def f(xs):
        c = Counter()
        for x in xs:
            if x > 0:
                c.bump()
        return c.n

    return f


@trap(ROWS, refused="Counter.n")
def counter_outside():
    c = Counter()

    def f(xs):
        for x in xs:
            if x > 0:
                c.bump()
        return c.n * 1

    return f


@trap(ROWS)
def nonlocal_in_callee():

    def f(xs):
        n = 0

        def bump():
            nonlocal n
            n += 1

        for x in xs:
            if x > 0:
                bump()
        return n

    return f


@trap(ROWS)
def global_in_callee():

    def bump():
        global G
        G = G + 1

    def f(xs):
        global G
        G = 0
        for x in xs:
            if x > 0:
                bump()
        r = G
        G = 0
        return r

    return f


@trap(SIGNS, refused="ValueError")
def try_except():

    def f(x):
        try:
            if x < 0:
                raise ValueError
            y = 1
        except ValueError:
            y = 2
        return y

    return f


@trap(ROWS, refused="append values of different structures to a list")
def lambda_closure():

    def f(xs):
        fs = []
        for x in xs:
            fs.append(lambda: x)
        return fs[0]() + fs[-1]()

    return f


@trap(ROWS)
def class_attribute():

    class K:
        n = 0

    def f(xs):
        K.n = 0
        for x in xs:
            if x > 0:
                K.n += 1
        r = K.n
        K.n = 0
        return r

    return f


@trap(ROWS)
def classmethod_counter():

    class K:
        n = 0

        @classmethod
        def bump(cls):
            cls.n += 1

    def f(xs):
        K.n = 0
        for x in xs:
            K.bump()
        r = K.n
        K.n = 0
        return r

    return f


@trap(ROWS)
def default_argument():

    def f(xs):

        def put(v, acc=[0.0]):
            acc[0] = acc[0] + v
            return acc[0]

        t = 0.0
        for x in xs:
            t = put(x)
        return t

    return f


@trap(ROWS)
def default_argument_append():

    def f(xs):

        def put(v, acc=[]):
            acc.append(v)
            return len(acc)

        t = 0
        for x in xs:
            t = put(x)
        return t

    return f


@trap(SIGNS)
def setattr_branch():

    def f(x):
        c = Counter()
        if x > 0:
            setattr(c, "n", 5)
        return c.n

    return f


@trap(SIGNS)
def dunder_dict():

    def f(x):
        c = Counter()
        if x > 0:
            c.__dict__["n"] = 5
        return c.n

    return f


@trap(SIGNS)
def vars_update():

    def f(x):
        c = Counter()
        if x > 0:
            vars(c).update(n=5)
        return c.n

    return f


@trap(SIGNS)
def object_setattr():

    def f(x):
        c = Counter()
        if x > 0:
            object.__setattr__(c, "n", 5)
        return c.n

    return f


@trap(SIGNS)
def descriptor():

    def f(x):
        h = HasDesc()
        if x > 0:
            h.d = 4.0
        return h.d

    return f


@trap(SIGNS)
def slots():

    def f(x):
        s = Slotted()
        if x > 0:
            s.n = 4
        return s.n

    return f


@trap(SIGNS)
def weakref_write():

    def f(x):
        c = Counter()
        r = weakref.ref(c)
        if x > 0:
            r().n = 4
        return c.n

    return f


@trap(SIGNS)
def weakdict():

    def f(x):
        c = Counter()
        d = weakref.WeakKeyDictionary()
        d[c] = 1.0
        if x > 0:
            d[c] = 4.0
        return d[c]

    return f


@trap(SIGNS)
def swap_objects():

    def f(x):
        a = Counter()
        b = Counter()
        a.n = 1
        b.n = 2
        if x > 0:
            a, b = (b, a)
        return a.n

    return f


@trap(SIGNS, refused="Counter.n")
def swap_objects_then_write():

    def f(x):
        a = Counter()
        b = Counter()
        a.n = 1
        b.n = 2
        c = a
        if x > 0:
            a, b = (b, a)
        a.n = 10
        return c.n

    return f


@trap(SIGNS)
def alias_in_list_of_objects():

    def f(x):
        c = Counter()
        l = [c, c]
        if x > 0:
            l[0].n += 5
        return l[1].n

    return f


@trap(SIGNS)
def with_statement():

    def f(x):
        c = Counter()
        if x > 0:
            with c:
                pass
        return c.n

    return f


@trap(SIGNS)
def property_setter():

    def f(x):
        c = Counter()
        if x > 0:
            c.prop = 9
        return c.prop

    return f


@trap(SIGNS)
def walrus():

    def f(x):
        y = 0.0
        if x > 0 and (y := (x * 2)) > 1:
            pass
        return y

    return f


@trap(SIGNS)
def exception_attribute():

    def f(x):

        class E(Exception):
            pass

        e = E()
        e.n = 0
        if x > 0:
            e.n = 3
        return e.n

    return f


@trap(SIGNS)
def function_attribute():

    def f(x):

        def g():
            pass

        g.n = 0
        if x > 0:
            g.n = 3
        return g.n

    return f


@trap(SIGNS)
def nested_func_default():

    def f(x):
        y = 1.0

        def g(v=y):
            return v

        if x > 0:
            y = 5.0
        return g() + y

    return f


@trap(SIGNS, refused="'Counter.n'")
def del_attr():

    def f(x):
        c = Counter()
        if x > 0:
            del c.n
        return 1 if hasattr(c, "n") else 0

    return f


@trap(SIGNS, refused="'Counter.new'")
def hasattr_after():

    def f(x):
        c = Counter()
        if x > 0:
            c.new = 1
        return 1 if hasattr(c, "new") else 0

    return f


@trap(SIGNS, refused="The class of an object")
def type_change():

    def f(x):
        c = Counter()

        class Other(Counter):
            pass

        if x > 0:
            c.__class__ = Other
        return 1 if type(c).__name__ == "Other" else 0

    return f
