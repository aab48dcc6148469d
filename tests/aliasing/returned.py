"""Programs in which a `return` leaves loops with a list, dict or object that other iterations write to."""

from tests.aliasing import Box, program

CODES = [2, 1, 3, 0, 3, 1]


@program
def by_a_branch_of_a_branch(n):
    depth, seen = n - 1, [0, 0, 0, 0]
    for c in CODES:
        if c == 3:
            if depth <= 0:
                return -1, seen
            depth -= 1
        seen[c] += n + 1
    return 1, seen


@program
def by_several_returns(n):
    seen, other = [0, 0, 0, 0], [5, 5, 5, 5]
    depth = n
    for c in CODES:
        if c == 3:
            if depth == 1:
                return seen
            if depth > 2:
                return other
            depth -= 1
        elif depth == 2:
            other[c] -= 1
        seen[c] += n
        other[0] += c
    return other if n else seen


@program
def out_of_two_loops(n):
    seen = {"v": 0, "w": [0, 1]}
    for c in CODES:
        for d in range(n):
            if c > d:
                if c + d == 4:
                    return seen["w"], seen["v"]
                seen["v"] += 1
            seen["w"][d % 2] += c
        seen["v"] += 10
    return seen["w"], -seen["v"]


@program
def with_a_finally_that_writes(n):
    seen = [0, 0]
    for c in CODES:
        try:
            if c >= n:
                if c % 2:
                    return seen
                seen[1] += 1
            seen[0] += c
        finally:
            seen[1] += 10
    return seen


@program
def of_an_object(n):
    box = Box(0, items=[0, 0])
    k = 0
    while k < 6:
        k += 1
        if k > n:
            if k % 3 == 0:
                return box.items, box.v
            box.v += k
        box.items[0] += 1
        if k == 5:
            box.items = [k, k]
    return box.items, box.v


@program
def of_a_row(n):
    rows = [[0, 1], [2, 3]]
    for c in CODES:
        row = rows[c % 2]
        if c > n:
            if row[0] > 3:
                return row, rows[0][1]
            row[1] += 1
        row[0] += c
    return rows[1], 0


@program
def through_the_name_that_was_returned(n):
    def first_over(limit):
        seen = [0, 0, 0]
        for c in CODES:
            if c > 0:
                if seen[0] > limit:
                    return seen
                seen[1] += 1
            seen[0] += c
        return seen

    found = first_over(n)
    again = found
    again[2] = n
    return found


@program
def one_chosen_before(n):
    one, two = [0, 0], [1, 1]
    chosen = one if n > 1 else two
    for c in CODES:
        if c == 3:
            if chosen[0] > n:
                return chosen, two
            two[1] += 1
        chosen[0] += c
    return one, chosen


@program
def returned_by_a_helper_to_a_loop(n):
    seen = [0, 0]

    def pick(k):
        while True:
            k += 1
            if k > 3:
                if k % 2:
                    return seen
                seen[1] += 1

    for c in CODES:
        found = pick(n + c)
        if c == 3:
            if n > 1:
                return found, seen
            seen[1] += 1
        found[0] += c
    return seen, seen
