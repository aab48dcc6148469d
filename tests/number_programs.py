"""Programs that ask of which class numbers are that lists, deques, dicts, sets and texts of traced length have given back."""

import bisect
import collections
import functools
import heapq
import itertools
import math
import numbers
import statistics

import jax.numpy as jnp


def class_of(value):
    """1 for an int of Python's, 2 for a float, 0 for anything else."""
    return 1 if isinstance(value, int) else 2 if isinstance(value, float) else 0


def counted(n):
    numbers = []
    for k in range(n):
        numbers.append(k)
    return numbers


def items_of_a_list(n):
    xs = counted(int(n))
    first, *rest = xs
    return [
        class_of(each) for each in (xs[0], xs[n // 2], xs[-1], xs[1:][0], xs[::-1][0], xs.copy()[0], first, rest[0])
    ]


def items_of_made_lists(n):
    n = int(n)
    xs = counted(n)
    made = [
        [2 * v for v in xs],
        list(map(abs, xs)),
        list(filter(lambda v: v > 1, xs)),
        xs + [1],
        [1] * n,
        list(range(n)),
    ]
    pairs = list(zip(xs, [v / 2 for v in xs], strict=True))
    return [class_of(each[0]) for each in made] + [class_of(part) for part in pairs[1]]


def items_that_loops_go_over(n):
    found = [0, 0, 0, 0]
    for k, v in enumerate(counted(int(n))):
        found = [class_of(k), class_of(v), class_of(v / 2), found[3]]
    for v in reversed(counted(int(n))):
        found[3] = class_of(v)
    return found


def items_after_writes(n):
    xs = counted(int(n))
    xs.insert(0, 7)
    xs.extend(counted(int(n)))
    xs[1:3] = [8]
    xs.remove(7)
    del xs[1]
    xs.reverse()
    if n > 3:
        xs.append(5)
    return [class_of(xs[0]), class_of(xs.pop()), class_of(xs.pop(0))]


def items_of_lists_of_known_length(n):
    xs, ys = [0] * 5, [0.0] * 5
    table = [[0] * 3 for _ in range(3)]
    for k in range(int(n)):
        xs[k % 5] += k
        ys[k % 5] += 1
        table[k % 3][k % 2] += k
    return [class_of(each) for each in (xs[n % 5], ys[n % 5], table[n % 3][0], sum(table[0]), sum(map(sum, table)))]


def items_of_rows(n):
    rows = []
    for k in range(int(n)):
        rows.append([k] * (k + 1))
    return [class_of(each) for each in (rows[1][0], len(rows[1]), sum(rows[2]), max(rows[2]), len(rows))]


def items_of_tuples_and_objects(n):
    class Point:
        def __init__(self, x, y):
            self.x, self.y = x, y

    pairs, points, joined = [], [], ()
    for k in range(int(n)):
        pairs.append((k, k / 2))
        points.append(Point(k, k / 2))
        joined += (k,)
    (a, b), point = pairs[n - 1], points[n - 1]
    return [class_of(each) for each in (a, b, point.x, point.y, joined[0], sum(joined))]


def what_is_computed_of_lists(n):
    xs = counted(int(n))
    halves = [v / 2 for v in xs]
    found = [len(xs), sum(xs), max(xs), min(xs), sorted(xs)[0], xs.index(2), xs.count(2), math.prod(xs)]
    found += [sum(halves), max(halves), min(halves), max(*xs), min(*xs, 3), sum(v > 2 for v in xs)]
    found += [bisect.bisect_left(xs, 2), functools.reduce(lambda a, b: a + b, xs, 0), sum([v > 2 for v in xs])]
    found += [list(itertools.accumulate(xs))[-1], next((v for v in xs if v > 1), -1), statistics.fmean(xs)]
    return [class_of(each) for each in found]


def items_of_deques_and_heaps(n):
    queue, heap, events = collections.deque(), [], []
    for k in range(int(n)):
        queue.append(k)
        heapq.heappush(heap, -k)
        heapq.heappush(events, (k / 2, k))
    return [
        class_of(each) for each in (queue[0], queue.popleft(), len(queue), heapq.heappop(heap), *heapq.heappop(events))
    ]


def items_of_dicts_and_sets(n):
    counts, sums, seen = {}, {}, set()
    for k in range(int(n)):
        counts[k % 3] = counts.get(k % 3, 0) + 1
        sums[k % 3] = sums.get(k % 3, 0.0) + k
        seen.add(k % 3)
    found = [counts[0], sums[0], min(sums, key=sums.get), max(counts.values()), sorted(counts)[0], len(counts)]
    found += [*sorted(sums.items())[0], counts.pop(0), len(seen), max(seen), sum(seen)]
    return [class_of(each) for each in found]


def numbers_of_texts(n):
    text = str(int(n))
    found = [int(text), len(text), ord(text[0]), text.find("1"), text.count("1"), int(text[::-1]), int(str(n % 2), 2)]
    return [class_of(each) for each in (*found, sum(int(digit) for digit in text), ord(chr(n + 60)))]


def numbers_of_functions(n):
    n = int(n)
    found = [pow(n, 3, 7), pow(3, n, 7), *divmod(n, 3), round(n / 3), round(n / 3, 1), n**2, abs(-n)]
    found += [math.gcd(n, 12), math.isqrt(n), math.factorial(n), math.floor(n / 2), math.ceil(n / 2), math.sqrt(n)]
    found += [math.hypot(n, 2), math.log(n), math.atan2(n, 2), math.gamma(n), *math.frexp(n), *math.modf(n / 2)]
    return [class_of(each) for each in found]


def numbers_of_ranges(n):
    found = [len(range(n)), sum(range(n)), max(range(n)), range(n)[2], range(2, n).index(3), list(range(n))[0]]
    return [class_of(each) for each in found]


def other_tests_of_classes(n):
    v = counted(int(n))[0]
    match v:
        case float():
            matched = 2
        case int():
            matched = 1
        case _:
            matched = 0
    return [type(v) is int, isinstance(v, numbers.Number), isinstance(v, (float, int)), isinstance(v, float), matched]


def of_arrays(xs):
    """Elements of arrays are none of Python's numbers, in a list neither."""
    kept, mixed, both = [], [1], []
    for x in xs:
        if x > 1:
            kept.append(x)
            mixed.append(x)
        both.append((x, 1))
    found = [kept[0], mixed[0], sum(kept), max(kept), sorted(kept)[0], both[0][0]]
    return [class_of(each) for each in found] + [class_of(both[0][1])]


OF_N = (
    items_of_a_list,
    items_of_made_lists,
    items_that_loops_go_over,
    items_after_writes,
    items_of_lists_of_known_length,
    items_of_rows,
    items_of_tuples_and_objects,
    what_is_computed_of_lists,
    items_of_deques_and_heaps,
    items_of_dicts_and_sets,
    numbers_of_texts,
    numbers_of_functions,
    numbers_of_ranges,
    other_tests_of_classes,
)


def times_an_array(n, array):
    whole, halves = counted(int(n)), [v / 2 for v in counted(int(n))]
    return [whole[1] * array, sum(whole) * array, len(whole) * array, int(str(n)) * array, pow(n, 3, 7) * array], [
        halves[1] * array,
        max(halves) * array,
        math.sqrt(n) * array,
    ]


def as_arrays(n):
    xs = [k / 2 for k in counted(int(n))]
    return jnp.array(xs) * jnp.ones((), jnp.float16), jnp.stack([jnp.asarray(x) for x in xs[:2]]).dtype == jnp.float32
