"""``with`` statements in which something raises under a traced condition."""

import contextlib


class Swallow:
    def __init__(self, kinds, log=None):
        self.kinds = kinds
        self.count = 0

    def __enter__(self):
        self.count += 1
        return self

    def __exit__(self, kind, error, tb):
        self.count += 10
        return kind is not None and issubclass(kind, self.kinds)


class Quiet:
    def __enter__(self):
        return self

    def __exit__(self, *e):
        return True


def swallows_some(x):
    y = x
    with Swallow(ValueError) as s:
        y = y + 1
        if y > 3:
            raise ValueError("big")
        y = y * 2
    return y, s.count


def suppressed_in_a_loop(x):
    total = 0.0
    for i in range(4):
        with contextlib.suppress(ValueError, ZeroDivisionError):
            if x + i > 3:
                raise ValueError
            total += x
            if i == 2:
                continue
            total += 1
        total += 0.5
    return total


def helper(x):
    if x < 0:
        raise KeyError("neg")
    return x**0.5


def returns_out_of_one_that_swallows(x):
    with Quiet():
        return helper(x)
    return -1.0


def two_that_swallow(x):
    with Quiet(), Swallow(KeyError) as s:
        z = helper(x)
        if z > 2:
            raise ValueError("z")
        return z
    return 100.0 + s.count


def one_goes_on_to_a_handler(x):
    try:
        with Swallow(KeyError) as s:
            if x > 5:
                raise ValueError("v")
            if x < 0:
                raise KeyError("k")
            x = x + 1
        x = x + 10
    except ValueError:
        x = x * 100
    return x, s.count


def jumps_out_of_it(x):
    n = 0
    while n < 6:
        n += 1
        with Swallow(ValueError):
            if n > x:
                break
            if n == 2:
                continue
            if n == 3:
                raise ValueError
            n += 1
    return n


def inner_and_outer(x):
    with Swallow(ValueError) as a:
        with Swallow(KeyError) as b:
            if x > 1:
                raise ValueError
            if x < 0:
                raise KeyError
    return a.count, b.count


class Cond:
    def __init__(self, q):
        self.q = q

    def __enter__(self):
        return self.q

    def __exit__(self, k, e, t):
        if self.q > 2:
            return True


def swallows_by_a_traced_condition(x):
    r = 0.0
    try:
        with Cond(x):
            if x > 1:
                raise ValueError("a")
            r = 1.0
    except ValueError:
        r = r + 5
    return r


def raises_twice(x):
    with contextlib.suppress(ValueError):
        y = helper(x) if x > -1 else x
        if y > 1:
            raise ValueError
        z = y * 2
        if z > 1:
            raise ValueError
    return y


def appends_before_it_raises(x):
    vals = []
    for i in range(4):
        with Swallow(ValueError):
            if x > i:
                raise ValueError
            vals.append(x + i)
    return sum(vals)


class Lock:
    def __init__(self):
        self.held = False

    def __enter__(self):
        self.held = True

    def __exit__(self, *e):
        self.held = False


def releases_a_lock(x):
    l = Lock()
    try:
        with l:
            if x > 1:
                raise RuntimeError("r")
            x = x + 1
        x = x + 2
    except RuntimeError:
        x = -x
    return x, l.held


@contextlib.contextmanager
def swallowing(*kinds):
    try:
        yield 3.0
    except kinds:
        pass


def a_generator_that_swallows(x):
    with swallowing(ValueError, KeyError) as v:
        x = x + v
        if x > 5:
            raise ValueError
        x = x * 2
    return x


class Box:
    def __init__(self):
        self.n = 0
        self.log = []


@contextlib.contextmanager
def counted(box):
    box.n += 1
    try:
        yield box
    finally:
        box.n += 10


def a_generator_with_a_finally(x):
    b = Box()
    try:
        with counted(b) as bb:
            bb.n += 100
            if x > 1:
                raise ValueError("no")
            x = x + 1
    except ValueError:
        x = -x
    return x, b.n


@contextlib.contextmanager
def renaming():
    try:
        yield
    except ValueError as e:
        raise KeyError("renamed") from e


def a_generator_that_raises_another(x):
    try:
        with renaming():
            if x > 2:
                raise ValueError("v")
            if x < 0:
                raise TypeError("t")
        return x + 1
    except KeyError:
        return 50.0
    except TypeError:
        return 60.0


def a_generator_in_a_loop(x):
    for i in range(5):
        with swallowing(ValueError) as v:
            if i == 1:
                continue
            if x > i:
                raise ValueError
            if i == 3:
                break
            x = x + v
    return x, i


def a_generator_that_lets_it_pass(x):
    with swallowing(ZeroDivisionError):
        if x > 1:
            raise ValueError(f"out {x}")
    return x


@contextlib.contextmanager
def nested(x):
    with swallowing(KeyError) as v:
        if x > 2:
            raise KeyError
        yield v + x
    # not yielded if x>2 in python: RuntimeError


def a_generator_around_another(x):
    with nested(0.0) as v, contextlib.suppress(ValueError):
        if x > 1:
            raise ValueError
        if x < 0:
            raise KeyError
        x = x + v
    return x


def returns_out_of_a_generator(x):
    with swallowing(ValueError):
        if x > 1:
            return x * 2
        if x < 0:
            raise ValueError
        x = x + 1
    return x + 100


def a_loop_inside_a_generator(x):
    with swallowing(ValueError):
        while x < 10:
            x = x + 2
            if x > 8:
                raise ValueError
            if x == 6:
                return -x
    return x


def two_in_a_loop(x):
    r = []
    for k in range(3):
        with contextlib.suppress(ValueError), Swallow(KeyError) as s:
            if x > k:
                raise ValueError
            if x < -k:
                raise KeyError
            r.append(x)
        r.append(s.count * 1.0)
    return sum(r), len(r)


class Res:
    def __init__(self):
        self.open = True

    def close(self):
        self.open = False


def closes(x):
    r = Res()
    with contextlib.suppress(ValueError):
        with contextlib.closing(r):
            if x > 1:
                raise ValueError
    return x, r.open


def counts_in_a_loop_without_a_name(x):
    counts = Swallow(ValueError)
    for k in range(4):
        with counts:
            if x < k - 2:
                raise ValueError(k)
    return counts.count


def counts_twice(x):
    counts = Swallow(LookupError)
    with counts:
        if x < 2:
            raise KeyError("low")
    with counts:
        x = x + 1
        if x > 3:
            raise IndexError("high")
    return counts.count, x


def counts_on_an_attribute(x):
    class Job:
        pass

    job = Job()
    job.guard, job.done = Swallow(ValueError), 0
    with job.guard:
        if x > 1:
            raise ValueError
        job.done += 1
    return job.guard.count, job.done


PROGRAMS = [
    counts_in_a_loop_without_a_name,
    counts_twice,
    counts_on_an_attribute,
    swallows_some,
    suppressed_in_a_loop,
    returns_out_of_one_that_swallows,
    two_that_swallow,
    one_goes_on_to_a_handler,
    jumps_out_of_it,
    inner_and_outer,
    swallows_by_a_traced_condition,
    raises_twice,
    appends_before_it_raises,
    releases_a_lock,
    a_generator_that_swallows,
    a_generator_with_a_finally,
    a_generator_that_raises_another,
    a_generator_in_a_loop,
    a_generator_that_lets_it_pass,
    a_generator_around_another,
    returns_out_of_a_generator,
    a_loop_inside_a_generator,
    two_in_a_loop,
    closes,
]
