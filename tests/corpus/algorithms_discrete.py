"""Textbook algorithms on integers and arrays, as they are written in plain Python."""

from tests.corpus import floats, ints, program


@program(examples=[(48, 18), (7, 0), (0, 7), (17, 5)])
def gcd(a, b):
    while b != 0:
        a, b = b, a % b
    return a


@program(examples=[(27,), (1,), (6,)])
def collatz(n):
    steps = 0
    highest = n
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        if n > highest:
            highest = n
        steps += 1
    return steps, highest


@program(examples=[(ints(5, 2, 4, 1, 3),), (ints(1, 2, 3, 4, 5),), (ints(5, 4, 3, 2, 1),)], arrays="numpy")
def bubble_sort(xs):
    for i in range(len(xs)):
        for j in range(len(xs) - 1 - i):
            if xs[j] > xs[j + 1]:
                xs[j], xs[j + 1] = xs[j + 1], xs[j]
    return xs


@program(examples=[(ints(5, 2, 4, 1, 3),), (ints(1, 2, 3, 4, 5),), (ints(5, 4, 3, 2, 1),)], arrays="numpy")
def bubble_sort_until_still(xs):
    swapped = True
    rounds = 0
    while swapped:
        swapped = False
        rounds += 1
        for j in range(len(xs) - 1):
            if xs[j] > xs[j + 1]:
                first = xs[j]
                xs[j] = xs[j + 1]
                xs[j + 1] = first
                swapped = True
    return xs, rounds


@program(examples=[(ints(5, 2, 4, 1),), (ints(1, 2, 3, 4),)], arrays="numpy")
def insertion_sort(xs):
    for i in range(1, len(xs)):
        key = xs[i]
        j = i - 1
        while j >= 0 and xs[j] > key:
            xs[j + 1] = xs[j]
            j -= 1
        xs[j + 1] = key
    return xs


@program(examples=[(ints(*[1] * 30),)], arrays="numpy", vmap=False)
def sieve(marks):
    marks[0] = 0
    marks[1] = 0
    i = 2
    while i * i < len(marks):
        if marks[i] == 1:
            for j in range(i * i, len(marks), i):
                marks[j] = 0
        i += 1
    return marks, marks.sum()


@program(examples=[(ints(1, 3, 5, 7, 9), 1), (ints(1, 3, 5, 7, 9), 9), (ints(1, 3, 5, 7, 9), 4), (ints(), 4)])
def binary_search(xs, wanted):
    low, high = 0, len(xs) - 1
    while low <= high:
        middle = (low + high) // 2
        if xs[middle] == wanted:
            return middle
        elif xs[middle] < wanted:
            low = middle + 1
        else:
            high = middle - 1
    return -1


@program(examples=[(10,), (0,), (1,), (2,)])
def fibonacci(n):
    if n < 2:
        return n
    a, b = 0, 1
    for _ in range(n - 1):
        a, b = b, a + b
    return b


@program(examples=[(2,), (9,), (29,), (1,), (25,)])
def is_prime(n):
    if n < 2:
        return False
    d = 2
    while d * d <= n:
        if n % d == 0:
            return False
        d += 1
    return True


@program(examples=[(3, 10, 7), (2, 0, 5), (5, 1, 3)])
def power_modulo(base, exponent, modulus):
    result = 1
    base = base % modulus
    while exponent > 0:
        if exponent % 2 == 1:
            result = result * base % modulus
        base = base * base % modulus
        exponent = exponent // 2
    return result


@program(
    examples=[
        (ints(1, 2, 3, 4), ints(1, 3, 3, 5), ints(0, 0, 0, 0, 0)),
        (ints(1, 2, 3, 4), ints(1, 2, 3, 4), ints(0, 0, 0, 0, 0)),
        (ints(1, 2, 3, 4), ints(5, 6, 7, 8), ints(0, 0, 0, 0, 0)),
    ],
    arrays="numpy",
)
def levenshtein(a, b, row):
    for j in range(len(b) + 1):
        row[j] = j
    for i in range(len(a)):
        diagonal = row[0]
        row[0] = i + 1
        for j in range(len(b)):
            above = row[j + 1]
            cost = diagonal if a[i] == b[j] else diagonal + 1
            if above + 1 < cost:
                cost = above + 1
            if row[j] + 1 < cost:
                cost = row[j] + 1
            row[j + 1] = cost
            diagonal = above
    return row[len(b)]


@program(examples=[(floats(1, -3, 4, -1, 2),), (floats(-1, -2, -3, -4, -5),), (floats(1, 1, 1, 1, 1),)])
def largest_subarray_sum(xs):
    best = current = xs[0]
    for x in xs[1:]:
        current = current + x if current > 0 else x
        if current > best:
            best = current
    return best


@program(examples=[(12345,), (0,), (7,)])
def digit_sum(n):
    total = 0
    while n:
        total += n % 10
        n //= 10
    return total


@program(examples=[(ints(2, 7, 2, 2),), (ints(1, 2, 3, 4),), (ints(5, 5, 1, 1),)])
def majority_vote(xs):
    candidate = xs[0]
    count = 0
    for x in xs:
        if count == 0:
            candidate = x
            count = 1
        elif x == candidate:
            count += 1
        else:
            count -= 1
    return candidate, count


@program(
    examples=[
        (ints(60, 100, 120), ints(1, 2, 3), ints(0, 0, 0, 0, 0, 0)),
    ],
    arrays="numpy",
)
def knapsack(values, weights, best):
    for i in range(len(values)):
        for capacity in range(len(best) - 1, -1, -1):
            if weights[i] <= capacity:
                candidate = best[capacity - weights[i]] + values[i]
                if candidate > best[capacity]:
                    best[capacity] = candidate
    return best


@program(examples=[(ints(1, 2, 2, 1),), (ints(1, 2, 3, 1),), (ints(1, 2, 2, 3),)])
def is_palindrome(xs):
    left, right = 0, len(xs) - 1
    while left < right:
        if xs[left] != xs[right]:
            return False
        left += 1
        right -= 1
    return True


@program(examples=[(13,), (0,), (255,)])
def count_bits(n):
    count = 0
    while n != 0:
        n = n & (n - 1)
        count += 1
    return count


@program(examples=[(4,), (1,), (0,)])
def pythagorean_triples(n):
    found = 0
    for a in range(1, n + 2):
        for b in range(a, n + 2):
            for c in range(b, 2 * n):
                if a * a + b * b == c * c:
                    found += 1
    return found


@program(examples=[(ints(1, 2, 3), ints(2, 3, 4), 3), (ints(4, 5, 6), ints(1, 2, 5), 0)])
def merge_count(xs, ys, start):
    """How many elements two sorted arrays share."""
    i = j = 0
    common = start
    while i < len(xs) and j < len(ys):
        if xs[i] == ys[j]:
            common += 1
            i += 1
            j += 1
        elif xs[i] < ys[j]:
            i += 1
        else:
            j += 1
    return common
