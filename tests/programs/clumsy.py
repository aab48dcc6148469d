"""Programs as beginners write them: shadowed names, flags, sentinels, copies of code, exceptions as control flow."""

from __future__ import annotations

import numpy as np

from tests.programs import program


@program(([3, 1, 2],), ([5],), ([2, 2],))
def shadowed(list):
    max = 0
    sum = 0
    for len in range(3):
        if len < 2 and list and list[0] > len:
            max = list[0]
            sum = sum + len
    for i in list:
        if i > max:
            max = i
        sum += i
    return max, sum, len


@program((3,), (-1,), (0,))
def mutable_default(x):
    def add(v, to=[]):
        to.append(v)
        return to

    a = add(x)
    if x > 0:
        b = add(x * 2)
    else:
        b = add(-1)
    return len(a), a is b, sum(b)


@program((5,), (0,), (-3,))
def none_sentinels(n):
    smallest = None
    largest = None
    for i in range(1, 6):
        v = (i * n) % 7
        if smallest == None or v < smallest:
            smallest = v
        if largest is None or not v <= largest:
            largest = v
    if smallest is None:
        return "empty"
    return largest - smallest


@program((7,), (1,), (30,), bare="what grows without a bound that is known beforehand")
def string_flags(n):
    status = "running"
    msg = ""
    while status == "running":
        if n > 20:
            status = "overflow"
        elif n % 5 == 0:
            status = "done"
        else:
            n = n * 2 + 1
            msg = msg + "."
    if status == "done":
        r = "ok"
    else:
        r = "bad"
    return r, msg, len(msg)


@program((2.0, 3.0), (0.0, 1.0), (-1.0, 2.0), (float("nan"), 1.0))
def not_equal_chain(a, b):
    r = []
    if not a == b:
        r = r + ["ne"]
    if not a < b:
        r = r + ["ge"]
    if 0 < a < b < 5:
        r = r + ["between"]
    if a != a:
        r = r + ["nan"]
    if not (a > b or a < b or a == b):
        r = r + ["unordered"]
    return r, len(r)


@program(([1, 2, 3],), ([0, 0, 0],), ([5, -5, 0],))
def outer_list_changed(xs):
    result = []
    total = [0]

    def visit(i):
        if i >= len(xs):
            return
        if xs[i] > 0:
            result.append(xs[i])
        total[0] += xs[i]
        visit(i + 1)

    visit(0)
    return result, total[0]


@program(([4, 0, 2],), ([0],), ([5, 5, 0, 1],))
def try_as_control(xs):
    good = 0
    bad = 0
    for x in xs:
        try:
            y = 10 // x
            if y > 3:
                raise ValueError("too big")
            good += y
        except ZeroDivisionError:
            bad += 1
        except ValueError:
            bad += 10
        else:
            good += 100
        finally:
            good += 1000
    return good, bad


@program((10,), (3,), (0,))
def several_breaks(n):
    i = 0
    reason = None
    while True:
        i += 1
        if i > 20:
            reason = "limit"
            break
        if i * i > n and i % 2 == 0:
            reason = "square"
            break
        n -= 1
        if n < 0:
            reason = "neg"
            break
    return i, reason


@program(([1, 2, 3],), ([9],))
def x_plus_list(xs):
    x = []
    y = []
    for i in range(len(xs)):
        x = x + [xs[i]]
        y = [xs[i]] + y
        if len(x) > 2:
            x = x[1:]
    return x, y, x == y


@program((1, 2, 3), (3, 2, 1), (2, 2, 2), (1, 1, 0))
def copy_paste_sort3(a, b, c):
    if a > b:
        t = a
        a = b
        b = t
    if b > c:
        t = b
        b = c
        c = t
    if a > b:
        t = a
        a = b
        b = t
    try:
        return a, b, c, t
    except UnboundLocalError:
        return a, b, c, None


@program((0.5,), (2.0,), (-1.0,), (float("nan"),))
def min_max_sentinels(x):
    lo = 1e9
    hi = -1e9
    for k in range(4):
        v = x**k - k
        if v < lo:
            lo = v
        if v > hi:
            hi = v
    lo2 = min(x, 1.0, -x)
    hi2 = max(-x, x, 0)
    return lo, hi, lo2, hi2


@program((5,), (0,), (3,), bare="what grows without a bound that is known beforehand")
def loop_var_assign(n):
    out = []
    for i in range(n):
        i += 10
        out.append(i)
        if i > 12:
            break
    else:
        i = -1
    xs = [1, 2, 3]
    for x in xs:
        x += n
    y = xs.sort()
    return out, i, xs, x, y


@program((3, 1), (0, 5), (-2, 2))
def side_effect_order(a, b):
    log = []

    def t(v, tag):
        log.append(tag)
        return v

    r = t(a, 1) < t(b, 2) < t(10, 3)
    s = t(a, 4) > 0 and t(b, 5) > 1 or t(7, 6)
    u = t(a, 7) if t(b, 8) > 2 else t(0, 9)
    return r, s, u, log


@program((1,), (-1,), (0,))
def finally_flow(x):
    log = []

    def f(v):
        for k in range(3):
            try:
                if v > 0:
                    log.append("break")
                    break
                if v < 0:
                    log.append("return")
                    return k
                log.append("go")
            finally:
                log.append("f")
        else:
            log.append("else")
        return 99

    return f(x), log


@program((3,), (0,), (-3,))
def nested_try(x):
    r = []
    try:
        try:
            if x == 0:
                raise KeyError("k")
            if x < 0:
                raise ValueError("v")
            r.append("ok")
        except KeyError as e:
            r.append("key")
            raise RuntimeError("wrapped") from e
        else:
            r.append("else")
        finally:
            r.append("inner")
    except RuntimeError as e:
        r.append(str(e))
        r.append(type(e.__cause__).__name__)
    except (ValueError, TypeError) as e:
        r.append("outer " + e.args[0])
    return r


@program((3, 5), (5, 3), (4, 4), bare="a name may be unbound")
def unbound_in_branch(a, b):
    if a < b:
        msg = "less"
        diff = b - a
    elif a > b:
        msg = "more"
    try:
        r = diff
    except NameError:
        r = -1
    if a != b:
        return msg, r
    return "same", r


@program((1, 2), (0, 0), (2, 1))
def aliased_rows(i, j):
    grid = [[0] * 3] * 3
    grid[i][j] = 5
    other = [[0] * 3 for _ in range(3)]
    other[i][j] = 7
    row = other[i]
    row[0] += 1
    return grid, other, sum(map(sum, grid)), row is other[1]


@program(
    (np.array([1, 2, 3, 4]),),
    (np.array([-1, 2, -3, 4]),),
    (np.array([0, 0, 0, 0]),),
    bare="what grows without a bound that is known beforehand",
)
def exceptions_partial(xs):
    log = []
    total = 0
    for x in xs:
        try:
            total += 1
            log.append(x)
            if x < 0:
                raise ValueError(x)
            total += 10
            if x == 0:
                raise KeyError("zero")
            total += 100
        except ValueError:
            log.pop()
            total -= 1
        except (KeyError, IndexError):
            continue
        finally:
            log.append(7)
        total += 1000
    return total, log


class Base:
    count = 0
    items = []

    def __init__(self, v):
        self.v = v

    def bump(self):
        self.count += 1
        return self

    def value(self):
        return self.v * 2


class Child(Base):
    def value(self):
        return super().value() + self.count


@program((3,), (-2,), (0,))
def class_attrs(n):
    a, b = Child(n), Base(n + 1)
    for i in range(4):
        if i < n:
            a.bump().bump()
        else:
            b.bump()
    return a.count, b.count, Base.count, a.value(), b.value()
