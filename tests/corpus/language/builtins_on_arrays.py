"""Python's builtins given arrays: `enumerate`, `zip`, `sum`, `round`, `in`, `or` by value …"""

from tests.corpus import floats, ints, program


@program(examples=[(floats(1, 2, 3),)])
def enumerate_an_array(xs):
    total = 0.0
    for i, x in enumerate(xs, start=1):
        total += i * x
    return total


@program(examples=[(floats(1, 2, 3), floats(3, 2, 1))])
def zip_two_arrays(xs, ys):
    total = 0.0
    for x, y in zip(xs, ys, strict=True):
        if x > y:
            continue
        total += x * y
    return total


@program(examples=[(floats(1, 2, 3),)])
def reversed_array(xs):
    value = 0.0
    for x in reversed(xs):
        value = value / 2 + x
    return value


@program(examples=[(ints(3, 1, 2),)])
def reductions(xs):
    return sum(xs), max(xs), min(xs), len(xs), any(xs > 2), all(xs > 2)


@program(examples=[(2.7,), (-2.7,)])
def conversions(x):
    return int(x), float(x), bool(x), abs(x), round(x)


@program(examples=[(3.0, 2.0), (2.0, 3.0)])
def max_and_min_of_scalars(a, b):
    return max(a, b), min(a, b, 2.5), max([a, b]), pow(a, 2), divmod(a, b)


@program(examples=[(floats(1, 2, 3),)])
def map_a_lambda(xs):
    total = 0.0
    for y in map(lambda x: x * x if x > 1 else -x, xs):
        total += y
    return total


@program(examples=[(5,), (0,)])
def enumerate_a_traced_range(n):
    total = 0
    for position, i in enumerate(range(2, n)):
        total += position * i
    return total


@program(examples=[(3, (1, 2, 3)), (9, (1, 2, 3))], static=("choices",))
def membership(x, choices):
    if x in choices:
        return 1
    return 0 if x not in (9,) else -1


@program(examples=[(0.0, 2.0), (3.0, 2.0)])
def or_with_value_semantics(x, default):
    return x or default


@program(examples=[(0.0, 2.0), (3.0, 2.0)])
def and_with_value_semantics(x, y):
    return x and y * 2
