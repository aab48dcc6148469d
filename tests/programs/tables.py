"""Lists of lists that differ in length: tables, groups, piles, buckets, neighbours; and lists of texts and of None."""

from __future__ import annotations

from collections import deque

import numpy as np

from tests.programs import program

GROWS = "a list that grows without a bound"


@program((5,), (1,), (8,), bare=GROWS)
def pascals_triangle(rows):
    triangle = []
    for i in range(rows):
        row = [1] * 1
        for k in range(1, i):
            row.append(triangle[i - 1][k - 1] + triangle[i - 1][k])
        if i > 0:
            row.append(1)
        triangle.append(row)
    middle = triangle[-1][len(triangle[-1]) // 2]
    return triangle, middle, sum([sum(row) for row in triangle])


@program((4, 0.0, 2.0), (2, 1.0, 3.0), bare=GROWS)
def romberg(levels, a, b):
    table = []
    for i in range(levels):
        panels = 2**i
        h = (b - a) / panels
        area = 0.5 * (1 / (1 + a * a) + 1 / (1 + b * b))
        for k in range(1, panels):
            x = a + k * h
            area += 1 / (1 + x * x)
        row = [area * h]
        for j in range(1, i + 1):
            row.append(row[j - 1] + (row[j - 1] - table[i - 1][j - 1]) / (4**j - 1))
        table.append(row)
    return table[-1][-1], len(table[-1])


@program((np.array([1.0, 2.0, 4.0, 7.0]), np.array([2.0, 3.0, 1.0, 5.0]), 3.0), grad=True)
def divided_differences(xs, ys, at):
    columns = [[y for y in ys]]
    for order in range(1, len(xs)):
        before = columns[-1]
        column = []
        for i in range(len(xs) - order):
            column.append((before[i + 1] - before[i]) / (xs[i + order] - xs[i]))
        columns.append(column)
    value, product = 0.0, 1.0
    for k in range(len(xs)):
        value += columns[k][0] * product
        product *= at - xs[k]
    return value


@program((np.array([3.0, 4.0, 9.0, 10.0, 11.0, 20.0]), 2.0), (np.array([1.0, 9.0, 17.0, 18.0, 30.0, 31.0]), 1.5))
def sessions(times, gap):
    """Clicks that follow each other within a gap belong together."""
    found = []
    session = []
    last = -1000.0
    for t in times:
        if t - last > gap:
            if len(session) > 0:
                found.append(session)
            session = []
        session.append(t)
        last = t
    found.append(session)
    longest = max(found, key=len)
    return found, longest, [s[-1] - s[0] for s in found]


@program(
    (np.array([7, 1, 5, 2, 6, 3, 4]),),
    (np.array([1, 2, 3, 4, 5, 6, 7]),),
    (np.array([4, 4, 3, 3, 9, 1, 1]),),
    bare=GROWS,
)
def patience(cards):
    """Piles of falling cards: there are as many as the longest rising subsequence is long."""
    piles = []
    for card in cards:
        placed = False
        for k in range(len(piles)):
            if not placed and piles[k][-1] >= card:
                piles[k].append(card)
                placed = True
        if not placed:
            piles.append([card])
    return len(piles), piles, [pile[-1] for pile in piles]


@program((6,), (10,), (1,), bare=GROWS)
def neighbours(cells):
    """Numbers that share a divisor, and how far each is from the first."""
    near = [[] for _ in range(cells)]
    for u in range(cells):
        for v in range(u):
            if (u + 2) % (v + 2) == 0:
                near[u].append(v)
                near[v].append(u)
    far = [-1 for _ in range(cells)]
    far[0] = 0
    queue = deque([0])
    while queue:
        u = queue.popleft()
        for v in near[u]:
            if far[v] < 0:
                far[v] = far[u] + 1
                queue.append(v)
    return near, far


@program((np.array([12, 7, 30, 21, 5, 18]), 4), (np.array([1, 2, 3, 4, 5, 6]), 3), bare=GROWS)
def hash_table(keys, size):
    buckets = []
    for _ in range(size):
        buckets.append([])
    for key in keys:
        bucket = buckets[key % size]
        if key not in bucket:
            bucket.append(key)
    lengths = [len(bucket) for bucket in buckets]
    return buckets, max(lengths), lengths.index(max(lengths))


@program((np.array([170, 45, 75, 90, 802, 24, 2, 66]),), (np.array([3, 1, 2, 999, 10, 5, 70, 0]),))
def radix_sort(numbers):
    order = [v for v in numbers]
    place = 1
    while place < 1000:
        digits = [[] for _ in range(10)]
        for v in order:
            digits[v // place % 10].append(v)
        order = []
        for digit in digits:
            order.extend(digit)
        place *= 10
    return order


@program((4,), (1,), (6,), bare=GROWS)
def power_set(n):
    subsets = [[]]
    for item in range(n):
        larger = []
        for subset in subsets:
            larger.append(subset + [item])
        subsets.extend(larger)
    return len(subsets), sorted(subsets)[:3], subsets[-1]


@program((6,), (1,), (9,), bare=GROWS)
def partitions(n):
    """Each way to write n as a sum of falling numbers."""
    found = []
    stack = [[n]]
    if n == 0:
        stack = []
    while stack:
        parts = stack.pop()
        rest = 0
        for part in parts:
            rest += part
        rest = n - rest
        if rest == 0:
            found.append(parts)
            first = parts[-1]
            if len(parts) == 1 and first > 1:
                stack.append([first - 1])
        else:
            top = rest
            if parts[-1] < top:
                top = parts[-1]
            for part in range(1, top + 1):
                stack.append(parts + [part])
    return len(found), found[-1]


@program((12,), (30,), (1,), bare=GROWS)
def factors(n):
    """The prime factors of each number to n."""
    rows = []
    for number in range(1, n + 1):
        row = []
        rest = number
        divisor = 2
        while rest > 1:
            if rest % divisor == 0:
                row.append(divisor)
                rest //= divisor
            else:
                divisor += 1
        rows.append(row)
    return rows, [len(row) for row in rows], rows[-1]


@program((9, 12), (20, 10), bare=GROWS)
def wrapped_lines(words, width):
    """Words of lengths 1 to 5 in lines."""
    lines = [[]]
    used = 0
    for k in range(words):
        word = k * 7 % 5 + 1
        if used + word > width:
            lines.append([])
            used = 0
        lines[-1].append(word)
        used += word + 1
    ends = ["full" if sum(line) + len(line) - 1 == width else "ragged" for line in lines]
    return lines, ends, ends.count("full")


@program((5,), (3,), (7,), bare=GROWS)
def growing_automaton(steps):
    """Rule 30 from one cell: each row has two cells more."""
    history = []
    row = [1]
    for _ in range(steps):
        history.append(row)
        wide = [0, 0] + row + [0, 0]
        row = [wide[k] ^ (wide[k + 1] | wide[k + 2]) for k in range(len(wide) - 2)]
    return history, [sum(r) for r in history]


@program((np.array([5, 3, 8, 1, 4, 7, 9]),), (np.array([1, 2, 3, 4, 5, 6, 7]),), bare=GROWS)
def levels_of_a_search_tree(values):
    keys, left, right = [], [], []
    for value in values:
        keys.append(value)
        left.append(None)
        right.append(None)
        new = len(keys) - 1
        at = 0
        while at != new:
            if value < keys[at]:
                if left[at] is None:
                    left[at] = new
                    at = new
                else:
                    at = left[at]
            else:
                if right[at] is None:
                    right[at] = new
                    at = new
                else:
                    at = right[at]
    levels = []
    level = [0]
    while level:
        levels.append([keys[k] for k in level])
        below = []
        for k in level:
            if left[k] is not None:
                below.append(left[k])
            if right[k] is not None:
                below.append(right[k])
        level = below
    return levels, len(levels)


@program((np.array([2.0, -1.0, 0.0, 3.5, -2.0]),), (np.array([0.0, 0.0, 1.0, -1.0, 5.0]),))
def signs(values):
    names, roots = [], []
    for v in values:
        names.append("rising" if v > 0 else "falling" if v < 0 else "flat")
        roots.append(v**0.5 if v >= 0 else None)
    known = [r for r in roots if r is not None]
    return names, names.count("rising"), "flat" in names, roots, sum(known)


@program((np.array([62, 64, 65, 0, 67, 67, 0, 0, 69]),), (np.array([0, 60, 61, 62, 0, 0, 63, 64, 65]),), bare=GROWS)
def phrases(notes):
    """Notes between rests; the highest phrase by its first note."""
    melody = []
    phrase = []
    for note in notes:
        if note == 0:
            if phrase:
                melody.append(phrase)
                phrase = []
        else:
            phrase.append(note)
    if phrase:
        melody.append(phrase)
    steps = []
    for p in melody:
        step = []
        for k in range(1, len(p)):
            step.append(p[k] - p[k - 1])
        steps.append(step)
    return melody, steps, max(melody), [60, 61, 62] in melody


@program((5,), (3,), bare=GROWS)
def queues_at_desks(customers):
    desks = [deque() for _ in range(3)]
    waits = []
    for c in range(customers * 2):
        shortest = 0
        for k in range(3):
            if len(desks[k]) < len(desks[shortest]):
                shortest = k
        desks[shortest].append(c)
        if c % 3 == 2 and len(desks[1]) > 0:
            waits.append(desks[1].popleft())
    return waits, [len(d) for d in desks]


class Ward:
    def __init__(self, beds):
        self.beds = beds
        self.patients = []

    def admit(self, patient):
        if len(self.patients) < self.beds:
            self.patients.append(patient)
            return True
        return False


@program((7, 2), (3, 4), (12, 3), bare=GROWS)
def hospital(arrivals, beds):
    wards = []
    for _ in range(3):
        wards.append(Ward(beds))
    turned_away = []
    for patient in range(arrivals):
        ward = wards[patient * patient % 3]
        if not ward.admit(patient):
            turned_away.append(patient)
    return [w.patients for w in wards], turned_away


@program((4,), (2,), (6,), bare=GROWS)
def farey_rows(order):
    """Each row has the mediants of the row before that are small enough."""
    rows = [[(0, 1), (1, 1)]]
    for n in range(2, order + 1):
        before = rows[-1]
        row = [before[0]]
        for k in range(1, len(before)):
            (a, b), (c, d) = before[k - 1], before[k]
            if b + d <= n:
                row.append((a + c, b + d))
            row.append((c, d))
        rows.append(row)
    return [len(row) for row in rows], rows[-1]


@program((np.array([3, 3, 3, 1, 2, 2, 7]),), (np.array([1, 1, 1, 1, 1, 1, 1]),), bare=GROWS)
def run_lengths(symbols):
    runs = []
    for s in symbols:
        if len(runs) > 0 and runs[-1][0] == s:
            runs[-1][1] += 1
        else:
            runs.append([s, 1])
    back = []
    for symbol, count in runs:
        for _ in range(count):
            back.append(symbol)
    return runs, back == [s for s in symbols], max(runs, key=lambda run: run[1])[0]


@program((3, 5), (4, 2), bare=GROWS)
def moves_of_a_robot(width, height):
    """There and back along rows, as commands."""
    commands, visited = [], []
    for y in range(height):
        for x in range(width):
            column = x if y % 2 == 0 else width - 1 - x
            visited.append((column, y))
            if x < width - 1:
                commands.append("east" if y % 2 == 0 else "west")
        if y < height - 1:
            commands.append("north")
    turns = 0
    for k in range(1, len(commands)):
        if commands[k] != commands[k - 1]:
            turns += 1
    return commands, turns, visited[-1], (1, 1) in visited


@program(
    (np.array([1, 2, 3, 4, 6, 9]),), (np.array([1, 1, 5, 7, 9, 3]),), (np.array([8, 8, 6, 3, 12, 5]),),
    bare="a key that only some paths have set",
    batch="a dict whose keys have another order in each lane",
)  # fmt: skip
def numbers_by_kind(numbers):
    groups, totals = {}, {"small": {"odd": 0, "even": 0}, "large": {"odd": 0, "even": 0}}
    for n in numbers:
        parity = "even" if n % 2 == 0 else "odd"
        size = "small" if n < 5 else "large"
        kind = "three" if n % 3 == 0 else parity
        if kind in groups:
            groups[kind].append(n)
        else:
            groups[kind] = [n]
        totals[size][parity] += n
    return groups, totals


@program(
    ({"fig": 3, "apple": 5, "pear": 3},), ({"fig": 1, "apple": 1, "pear": 1},), ({"fig": 0, "apple": 2, "pear": 9},)
)
def ranking(votes):
    places = {}
    order = sorted(votes.items(), key=lambda item: (-item[1], item[0]))
    for place, (name, count) in enumerate(order, 1):
        if count > 0:
            places[place] = (name, count)
        else:
            places[place] = ("nobody", 0)
    return places, min(votes.items(), key=lambda item: (item[1], item[0]))
