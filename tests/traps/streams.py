"""Programs that advance iterators, files and random numbers where a naive staging would do so once."""

import functools
import itertools
import random

import numpy as np

from tests.traps import ROWS, SIGNS, trap


@trap(SIGNS, refused="StopIteration depends on a traced condition")
def next_it():

    def f(x):
        it = iter([1, 2, 3])
        if x > 0:
            next(it)
        return next(it)

    return f


@trap(ROWS, refused="`next` inside a staged statement")
def itertools_count():

    def f(xs):
        c = itertools.count()
        t = 0
        for x in xs:
            t = t + next(c)
        return t

    return f


@trap(ROWS, refused="uses an iterator (cycle)")
def itertools_cycle_branch():

    def f(xs):
        c = itertools.cycle([1, 10])
        t = 0
        for x in xs:
            if x > 0:
                t = t + next(c)
        return t

    return f


@trap(ROWS, refused="`next` inside a staged statement")
def generator_advanced():

    def f(xs):

        def g():
            k = 0
            while True:
                yield k
                k += 1

        it = g()
        t = 0
        for x in xs:
            t = t + next(it)
        return t

    return f


@trap(ROWS, refused="`send` of an iterator")
def generator_send():

    def f(xs):

        def g():
            k = 0
            while True:
                k += 1
                yield k

        it = g()
        t = 0
        for x in xs:
            t = t + it.send(None)
        return t

    return f


@trap(ROWS, refused="uses an iterator (iter)")
def dunder_next():

    def f(xs):
        it = iter([1.0, 2.0, 3.0, 4.0, 5.0])
        t = 0
        for x in xs:
            t = t + it.__next__()
        return t

    return f


@trap(ROWS)
def zip_with_iterator():

    def f(xs):
        it = iter(range(10))
        t = 0.0
        for x, k in zip(xs, it):
            t = t + x * k
        return t + next(it)

    return f


@trap(ROWS)
def lru_cached():
    calls = []

    @functools.lru_cache
    def g(k):
        calls.append(k)
        return k * 2

    def f(xs):
        t = 0.0
        for x in xs:
            t = t + g(2)
        return t

    return f


@trap(ROWS, refused="`random` of a random number generator")
def random_in_loop():

    def f(xs):
        r = random.Random(0)
        t = 0.0
        for x in xs:
            t = t + r.random()
        return t

    return f


@trap(ROWS, refused="`standard_normal` of a random number generator")
def np_random_in_loop():

    def f(xs):
        r = np.random.default_rng(0)
        t = 0.0
        for x in xs:
            t = t + r.standard_normal()
        return t

    return f


@trap(ROWS)
def reduce_():

    def f(xs):
        return functools.reduce(lambda a, b: a + b if b > 0 else a, xs)

    return f


@trap(ROWS)
def accumulate_():

    def f(xs):
        return list(itertools.accumulate(xs))[-1]

    return f


@trap(ROWS, refused="StopIteration depends on a traced condition")
def enumerate_object():

    def f(xs):
        e = enumerate([5.0, 6.0, 7.0, 8.0])
        t = 0.0
        for x in xs:
            k, v = next(e)
            t = t + k * v
        return t

    return f


@trap(ROWS)
def iterator_shared():

    def f(xs):
        it = iter(xs)
        a = next(it)
        t = 0.0
        for x in it:
            t = t + x
        return t * 10 + a

    return f


@trap(ROWS, refused="`write` of a file")
def file_like():
    import io

    def f(xs):
        s = io.StringIO()
        for x in xs:
            s.write("a")
        return len(s.getvalue())

    return f
