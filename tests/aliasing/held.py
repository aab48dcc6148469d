"""Programs in which a condition chooses a list that something else than a variable holds, and writes to it."""

import functools

from tests.aliasing import Box, outside, program

SHARED = [0, 0]


@program
def default_argument(n):
    def f(x=[0, 1]):
        x[0] += 1  # writes
        return x

    y = f()
    z = y if n > 1 else [3, 4]  # chooses
    f()
    return y, z


@program
def read_by_a_closure(n):
    a = [0, 1]
    b = [5, 6]

    def get():
        return a[0]

    c = a if n > 1 else b  # chooses
    c[0] = 9  # writes
    return get()


@program
def held_by_a_list(n):
    a = [0, 1]
    b = [5, 6]
    hold = [a]
    c = a if n > 1 else b  # chooses
    del a
    c[0] = 9  # writes
    return hold[0][0]


@program
def held_by_a_generator(n):
    def given(x):
        yield x[1]
        yield x[0]

    a = [0, 1]
    b = [5, 6]
    items = given(a)
    first = next(items)
    c = a if n > 1 else b  # chooses
    c[0] = 9  # writes
    return first, next(items)


@program
def held_by_a_partial(n):
    a = [0, 1]
    b = [5, 6]
    f = functools.partial(lambda x: x[0], a)
    c = a if n > 1 else b  # chooses
    c[0] = 9  # writes
    return f()


@program
def held_by_a_method(n):
    a = [0, 1]
    b = [5, 6]
    push = a.append
    c = a if n > 1 else b  # chooses
    c[0] = 9  # writes
    push(4)
    return a[0], b[0]


@outside
def global_list(n):
    b = [5, 6]
    c = SHARED if n > 1 else b  # chooses
    c[0] = 9  # writes
    return SHARED[0], b[0]


@outside
def global_list_that_is_not_read_again(n):
    c = SHARED if n > 1 else [3, 4]  # chooses
    c[0] = 9  # writes
    return c[1]


def closing_over(a):
    @outside
    def list_of_a_function_that_has_returned(n):
        c = a if n > 1 else [3, 4]  # chooses
        c[0] = 9  # writes
        return c[1]

    return list_of_a_function_that_has_returned


closing_over([0, 1])


@program
def held_by_an_iterator(n):
    a = [0, 1]
    b = [5, 6]
    it = iter([a, b])
    c = a if n > 1 else b  # chooses
    c[0] = 9  # writes
    return next(it)[0], next(it)[0]


@program
def held_by_an_attribute_and_augmented(n):
    box = Box(a=[0, 1], b=[5, 6])
    box.w = box.a if n > 1 else box.b  # chooses
    box.w += [3]  # writes
    return len(box.a), len(box.b)
