"""Functions that call themselves, as textbooks write them.

`PROGRAMS`: each with the arguments that it is called with.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np


def factorial(n):
    if n == 0:
        return 1
    return n * factorial(n - 1)


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def greatest_common_divisor(a, b):
    if b == 0:
        return a
    return greatest_common_divisor(b, a % b)


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def power(x, n):
    if n == 0:
        return 1.0
    half = power(x, n // 2)
    if n % 2 == 0:
        return half * half
    return half * half * x


def is_even(n):
    if n == 0:
        return True
    return is_odd(n - 1)


def is_odd(n):
    if n == 0:
        return False
    return is_even(n - 1)


def hofstadter(n):
    return n - male(hofstadter(n - 1)) if n > 0 else 1


def male(n):
    return n - hofstadter(male(n - 1)) if n > 0 else 0


def mccarthy(n):
    if n > 100:
        return n - 10
    return mccarthy(mccarthy(n + 11))


def collatz(n, steps=0):
    if n == 1:
        return steps
    if n % 2 == 0:
        return collatz(n // 2, steps + 1)
    return collatz(3 * n + 1, steps + 1)


def hanoi(n):
    if n == 0:
        return 0
    return 2 * hanoi(n - 1) + 1


def binary_search(values, low, high, wanted):
    if low >= high:
        return low
    middle = (low + high) // 2
    if values[middle] < wanted:
        return binary_search(values, middle + 1, high, wanted)
    return binary_search(values, low, middle, wanted)


def search_everything(values, wanted):
    return binary_search(values, 0, len(values), wanted)


def sum_of_tree(left, right, values, node):
    if node < 0:
        return 0.0
    return values[node] + sum_of_tree(left, right, values, left[node]) + sum_of_tree(left, right, values, right[node])


def depth_and_count(left, right, node):
    if node < 0:
        return 0, 0
    a, m = depth_and_count(left, right, left[node])
    b, n = depth_and_count(left, right, right[node])
    return (a if a > b else b) + 1, m + n + 1


def binomial(n, k):
    if k == 0 or k == n:
        return 1
    return binomial(n - 1, k - 1) + binomial(n - 1, k)


def catalan(n):
    if n <= 1:
        return 1
    total = 0
    for k in range(n):
        total += catalan(k) * catalan(n - 1 - k)
    return total


def partitions(n, largest):
    if n == 0:
        return 1
    if n < 0 or largest == 0:
        return 0
    return partitions(n - largest, largest) + partitions(n, largest - 1)


def compositions(n):
    count = 1
    i = 1
    while i < n:
        count += compositions(n - i)
        i += 1
    return count


def digit_sum(n):
    if n < 10:
        return n
    return n % 10 + digit_sum(n // 10)


def reversed_digits(n, made=0):
    return made if n == 0 else reversed_digits(n // 10, made * 10 + n % 10)


def tak(x, y, z):
    if y >= x:
        return z
    return tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y))


def integral(f, a, b, tolerance):
    middle = (a + b) / 2
    whole = (b - a) / 6 * (f(a) + 4 * f(middle) + f(b))
    first = (middle - a) / 6 * (f(a) + 4 * f((a + middle) / 2) + f(middle))
    second = (b - middle) / 6 * (f(middle) + 4 * f((middle + b) / 2) + f(b))
    difference = first + second - whole
    if abs(difference) <= 15 * tolerance:
        return first + second + difference / 15
    return integral(f, a, middle, tolerance / 2) + integral(f, middle, b, tolerance / 2)


def mean_decay(rate):
    return integral(lambda x: jnp.exp(-rate * x), 0.0, 1.0, 1e-4)


def quicksort(values, low, high):
    if low >= high:
        return values
    pivot = values[high]
    place = low
    for k in range(low, high):
        if values[k] < pivot:
            values = swapped(values, place, k)
            place += 1
    values = swapped(values, place, high)
    values = quicksort(values, low, place - 1)
    return quicksort(values, place + 1, high)


def swapped(values, i, k):
    one, other = values[i], values[k]
    return values.at[i].set(other).at[k].set(one)


def merge_sort(values, low, high):
    if high - low < 2:
        return values
    middle = (low + high) // 2
    values = merge_sort(values, low, middle)
    values = merge_sort(values, middle, high)
    made = values
    i, k = low, middle
    for place in range(low, high):
        if k >= high or (i < middle and values[i] <= values[k]):
            made = made.at[place].set(values[i])
            i += 1
        else:
            made = made.at[place].set(values[k])
            k += 1
    return made


def permutations_below(limits, k, product):
    """A function without a result worth the name on some paths."""
    if k == len(limits):
        return product
    if limits[k] > 2:
        return permutations_below(limits, k + 1, product * limits[k])
    return permutations_below(limits, k + 1, product)


def bisection(f, low, high):
    middle = 0.5 * (low + high)
    if high - low < 1e-4:
        return middle
    if f(middle) * f(low) <= 0:
        return bisection(f, low, middle)
    return bisection(f, middle, high)


def cube_root(x):
    return bisection(lambda y: y * y * y - x, 0.0, 4.0)


def with_a_nested_function(n, step):
    def count(i):
        if i >= n:
            return 0.0
        return step + count(i + 1)

    return count(0) + count(n - 1)


def with_nested_functions(n):
    def ping(i):
        return 1 if i <= 0 else pong(i - 1) * 2

    def pong(i):
        return 1 if i <= 0 else ping(i - 2) + 1

    return ping(n) + pong(n)


class Polynomial:
    def __init__(self, coefficients):
        self.coefficients = coefficients

    def __call__(self, x, k=0):
        if k == len(self.coefficients) - 1:
            return self.coefficients[k]
        if x == 0:
            return self.coefficients[k]
        return self.coefficients[k] + x * self(x, k + 1)

    def root(self, low, high):
        middle = (low + high) / 2
        if high - low < 1e-3:
            return middle
        return self.root(low, middle) if self(middle) > 0 else self.root(middle, high)


def root_of_polynomial(a, b):
    return Polynomial([a, b, 1.0]).root(0.0, 4.0)


def in_a_loop(n):
    total = 0
    for i in range(n):
        total += fibonacci(i)
    return total


def in_a_branch(n):
    return fibonacci(n) if n % 2 == 0 else factorial(n)


def grammar(tokens, place):
    """A parser of sums and products, from a stream of tokens: numbers, and -1 for +, -2 for *, -3 and -4 for brackets."""
    value, place = term(tokens, place)
    while tokens[place] == -1:
        other, place = term(tokens, place + 1)
        value = value + other
    return value, place


def term(tokens, place):
    value, place = atom(tokens, place)
    while tokens[place] == -2:
        other, place = atom(tokens, place + 1)
        value = value * other
    return value, place


def atom(tokens, place):
    if tokens[place] == -3:
        value, place = grammar(tokens, place + 1)
        return value, place + 1
    return tokens[place], place + 1


def parsed(tokens):
    return grammar(tokens, 0)[0]


def in_a_dict(state):
    if state["left"] <= 0:
        return state
    return in_a_dict({"left": state["left"] - 1, "sum": state["sum"] + state["left"]})


def numbers_for_arrays(m, n):
    return n + 1 if m == 0 else numbers_for_arrays(m - 1, 1) + numbers_for_arrays(0, n)


def with_a_lambda(n):
    product = lambda i: 1 if i <= 0 else i * product(i - 1)  # noqa: E731
    return product(n)


def pair_of_results(n):
    if n <= 0:
        return 0, 1.0
    count, product = pair_of_results(n - 1)
    return count + n, product * 0.5


def collatz_from_zero(n, steps=0):
    if n == 1:
        return steps
    return collatz_from_zero(n // 2 if n % 2 == 0 else 3 * n + 1, steps + 1)


class _Doubled:
    def forward(self, n):
        return n * 2 if n > 1 else n


class _Net:
    def __init__(self):
        self.layer = _Doubled()

    def forward(self, n):
        def halvings(k):
            return 0 if k < 1 else 1 + halvings(k // 2)

        return self.layer.forward(n) + halvings(n)


def another_object_s_method_of_the_name(n):
    return _Net().forward(n)


def int32s(*numbers):
    return np.array(numbers, np.int32)


def _n(*numbers):
    return tuple(np.int32(number) for number in numbers)


_LEFT, _RIGHT = int32s(1, 3, 5, -1, -1, -1), int32s(2, 4, -1, -1, -1, -1)
_UNSORTED = jnp.array([5.0, 2.0, 9.0, 1.0, 7.0, 3.0, 3.0])

PROGRAMS = [
    (collatz_from_zero, _n(7), _n(1), _n(12)),
    (another_object_s_method_of_the_name, _n(0), _n(1), _n(9)),
    (factorial, _n(5), _n(0), _n(10)),
    (fibonacci, _n(9), _n(1)),
    (greatest_common_divisor, _n(48, 18), _n(7, 0)),
    (ackermann, _n(2, 3), _n(1, 4)),
    (power, (np.float32(1.5), *_n(9)), (np.float32(2.0), *_n(0))),
    (is_even, _n(7), _n(4)),
    (hofstadter, _n(8), _n(0)),
    (mccarthy, _n(60), _n(101)),
    (collatz, _n(27), _n(1)),
    (hanoi, _n(6), _n(0)),
    (search_everything, (np.arange(100, dtype=np.int32) * 2, *_n(57)), (np.arange(100, dtype=np.int32) * 2, *_n(0))),
    (sum_of_tree, (_LEFT, _RIGHT, np.arange(6, dtype=np.float32), *_n(0)), (_LEFT, _RIGHT, np.arange(6, dtype=np.float32), *_n(2))),
    (depth_and_count, (_LEFT, _RIGHT, *_n(0)), (_LEFT, _RIGHT, *_n(-1))),
    (binomial, _n(6, 3), _n(4, 0)),
    (catalan, _n(5), _n(1)),
    (partitions, _n(7, 7), _n(3, 1)),
    (compositions, _n(6), _n(0)),
    (digit_sum, _n(90217), _n(3)),
    (reversed_digits, _n(1234), _n(7)),
    (tak, _n(6, 3, 1), _n(1, 2, 3)),
    (mean_decay, (np.float32(3.0),), (np.float32(0.5),)),
    (quicksort, (_UNSORTED, *_n(0, 6)), (_UNSORTED, *_n(2, 4))),
    (merge_sort, (_UNSORTED, *_n(0, 7)), (_UNSORTED, *_n(1, 5))),
    (permutations_below, (int32s(1, 3, 2, 5), *_n(0, 1)),),
    (cube_root, (np.float32(5.0),), (np.float32(27.0),)),
    (with_a_nested_function, (*_n(4), np.float32(0.25))),
    (with_nested_functions, _n(9), _n(0)),
    (root_of_polynomial, (np.float32(-2.0), np.float32(0.0)), (np.float32(-6.0), np.float32(1.0))),
    (in_a_loop, _n(8), _n(0)),
    (in_a_branch, _n(6), _n(5)),
    (parsed, (int32s(2, -1, 3, -2, -3, 4, -1, 1, -4, -9),), (int32s(7, -9, 0),)),
    (in_a_dict, ({"left": np.int32(4), "sum": np.int32(0)},)),
    (pair_of_results, _n(4), _n(0)),
    (numbers_for_arrays, _n(3, 2), _n(0, 5)),
    (with_a_lambda, _n(4), _n(0)),
]  # fmt: skip
