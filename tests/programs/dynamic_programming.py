"""Tables that are filled from smaller problems."""

from __future__ import annotations

import numpy as np

from tests.programs import program


@program((np.array([1, 5, 8, 9, 10, 17, 17, 20]),), (np.array([3, 5, 8, 9, 10, 17, 17, 24]),), bare="pieces")
def cut_rod(prices):
    n = len(prices)
    best = [0] * (n + 1)
    first = [0] * (n + 1)
    for length in range(1, n + 1):
        top = -1
        for cut in range(1, length + 1):
            value = prices[cut - 1] + best[length - cut]
            if value > top:
                top = value
                first[length] = cut
        best[length] = top
    pieces = []
    rest = n
    while rest > 0:
        pieces.append(first[rest])
        rest -= first[rest]
        if len(pieces) == n:
            break
    return best[n], len(pieces)


@program((np.array([1, 5, 10, 25]), 30), (np.array([2, 5, 10, 25]), 1), (np.array([4, 6, 9, 11]), 23))
def coins(values, amount):
    """The fewest coins for an amount; -1 where there is no way. Room for amounts to 40."""
    IMPOSSIBLE = 10**6
    needed = [IMPOSSIBLE] * 41
    needed[0] = 0
    for total in range(1, 41):
        if total > amount:
            break
        for coin in values:
            if coin <= total and needed[total - coin] + 1 < needed[total]:
                needed[total] = needed[total - coin] + 1
    answer = needed[amount]
    return answer if answer < IMPOSSIBLE else -1


@program(
    (np.array([107, 105, 116, 116, 101, 110]), np.array([115, 105, 116, 116, 105, 110, 103])),
    (np.array([97, 98, 99, 100, 101, 102]), np.array([97, 98, 99, 100, 101, 102, 103])),
)
def levenshtein(a, b):
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        current = [i]
        for j, y in enumerate(b, start=1):
            insert = current[j - 1] + 1
            delete = previous[j] + 1
            replace = previous[j - 1]
            if x != y:
                replace += 1
            current.append(min(insert, delete, replace))
        previous = current
    distance = previous[-1]
    longest = max(len(a), len(b))
    similarity = 1 - distance / longest
    if distance == 0:
        verdict = "equal"
    elif similarity > 0.5:
        verdict = "similar"
    else:
        verdict = "different"
    return distance, verdict


@program(([60.0, 100.0, 120.0, 30.0], [1, 2, 3, 1], 5), ([10.0, 12.0, 13.0, 1.0], [5, 4, 6, 3], 10), grad=True)
def knapsack(worth, weights, capacity):
    size = 11
    table = [0.0] * size
    taken = []
    for k in range(len(worth)):
        row = table[:]
        keep = [False] * size
        for room in range(size):
            w = weights[k]
            if w <= room:
                with_it = table[room - w] + worth[k]
                if with_it > row[room]:
                    row[room] = with_it
                    keep[room] = True
        taken.append(keep)
        table = row
    room = capacity
    count = 0
    for k in reversed(range(len(worth))):
        if taken[k][room]:
            count += 1
            room -= weights[k]
    return table[capacity], count


@program(
    (np.array([10, 9, 2, 5, 3, 7, 101, 18]),),
    (np.array([7, 7, 7, 7, 7, 7, 7, 7]),),
    (np.array([1, 2, 3, 4, 5, 6, 7, 8]),),
    bare="path",
)
def longest_increasing(sequence):
    import bisect

    tails = []
    for value in sequence:
        place = bisect.bisect_left(tails, value)
        if place == len(tails):
            tails.append(value)
        else:
            tails[place] = value
    lengths = [1] * len(sequence)
    came_from = [-1] * len(sequence)
    for i in range(len(sequence)):
        for j in range(i):
            if sequence[j] < sequence[i] and lengths[j] + 1 > lengths[i]:
                lengths[i] = lengths[j] + 1
                came_from[i] = j
    end = lengths.index(max(lengths))
    path = []
    while end != -1:
        path.append(sequence[end])
        end = came_from[end]
    path.reverse()
    return len(tails), path


@program(
    (np.array([[1.0, 3.0, 1.0], [1.0, 5.0, 1.0], [4.0, 2.0, 1.0]]),),
    (np.array([[1.0, 2.0, 5.0], [3.0, 2.0, 1.0], [4.0, 3.0, 1.5]]),),
    grad=True,
)
def cheapest_path(cost):
    rows, columns = cost.shape
    memo = {}

    def walk(i, j):
        if (i, j) in memo:
            return memo[(i, j)]
        if i == 0 and j == 0:
            answer = cost[0, 0]
        elif i == 0:
            answer = walk(0, j - 1) + cost[i, j]
        elif j == 0:
            answer = walk(i - 1, 0) + cost[i, j]
        else:
            up = walk(i - 1, j)
            left = walk(i, j - 1)
            if up < left:
                answer = up + cost[i, j]
            else:
                answer = left + cost[i, j]
        memo[(i, j)] = answer
        return answer

    return walk(rows - 1, columns - 1)


@program((np.array([30, 35, 15, 5, 10, 20]),), (np.array([5, 4, 3, 2, 1, 7]),))
def matrix_chain(sizes):
    n = len(sizes) - 1
    table = np.zeros((n, n), dtype=int)
    split = np.zeros((n, n), dtype=int)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            table[i, j] = 2**31 - 1
            for k in range(i, j):
                cost = table[i, k] + table[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if cost < table[i, j]:
                    table[i, j] = cost
                    split[i, j] = k
    depth = 0
    i, j = 0, n - 1
    while i < j:
        j = split[i, j]
        depth += 1
    return table[0, n - 1], depth


STATES = ("healthy", "fever")
START = {"healthy": 0.6, "fever": 0.4}
MOVES = {"healthy": {"healthy": 0.7, "fever": 0.3}, "fever": {"healthy": 0.4, "fever": 0.6}}
SHOWS = {"healthy": [0.5, 0.4, 0.1], "fever": [0.1, 0.3, 0.6]}


@program((np.array([0, 1, 2]),), (np.array([2, 2, 0]),), (np.array([1, 0, 0]),), bare="`origin` may be None")
def viterbi(symptoms):
    chance = {}
    for state in STATES:
        chance[state] = START[state] * SHOWS[state][symptoms[0]]
    back = []
    for symptom in symptoms[1:]:
        following, pointers = {}, {}
        for state in STATES:
            best, origin = -1.0, None
            for other in STATES:
                p = chance[other] * MOVES[other][state]
                if p > best:
                    best = p
                    origin = other
            following[state] = best * SHOWS[state][symptom]
            pointers[state] = origin
        chance = following
        back.append(pointers)
    last = max(STATES, key=lambda state: chance[state])
    path = [last]
    for pointers in reversed(back):
        path.insert(0, pointers[path[0]])
    return path, chance[last]


@program(
    (np.array([-2, 1, -3, 4, -1, 2, 1, -5, 4]),), (np.array([-2, -1, -3, -4, -1, -2, -1, -5, -4]),), bare="an assertion"
)
def maximum_segment(numbers):
    """Kadane, with where the segment is."""
    best = current = numbers[0]
    start = end = candidate = 0
    for position in range(1, len(numbers)):
        x = numbers[position]
        if current < 0:
            current = x
            candidate = position
        else:
            current += x
        if current > best:
            best = current
            start, end = candidate, position
    segment_sum = 0
    k = start
    while k <= end:
        segment_sum += numbers[k]
        k += 1
    assert segment_sum == best
    return best, (start, end)


@program((np.array([1, 0, 1, 1, 0, 1]),), (np.array([0, 0, 1, 1, 1, 1]),), (np.array([0, 0, 0, 0, 0, 0]),))
def largest_square_and_row(bits):
    """The largest square of ones in a table that the bits make by turns, and its longest run of ones."""
    n = 4
    table = [[int(bits[(i * j + i + j) % 6]) for j in range(n)] for i in range(n)]
    side = [[0] * n for _ in range(n)]
    largest = 0
    for i in range(n):
        for j in range(n):
            if table[i][j]:
                if i == 0 or j == 0:
                    side[i][j] = 1
                else:
                    side[i][j] = 1 + min(side[i - 1][j], side[i][j - 1], side[i - 1][j - 1])
                if side[i][j] > largest:
                    largest = side[i][j]
    longest = run = 0
    for row in table:
        for cell in row:
            run = run + 1 if cell else 0
            longest = max(longest, run)
        run = 0
    return largest, longest
