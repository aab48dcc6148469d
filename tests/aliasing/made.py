"""Programs in which a block makes a list, puts it into another and writes to it, there or in the block around."""

from tests.aliasing import program


@program
def made_and_written_in_a_branch(n):
    rows = [[0, 1], [2, 3]]
    if n > 1:
        rows[0] = [n % 3, 2]
        rows[0][-1] -= 1
    return rows


@program
def written_before_it_is_put_there(n):
    rows = [[0, 1], [2, 3]]
    if n > 1:
        row = [n % 3, 2]
        row[0] = n + 1
        rows[1] = row
        row[1] = n
    return rows


@program
def put_there_in_an_inner_branch(n):
    rows = [[0, 1], [2, 3], [4, 5]]
    if n > 0:
        if n > 1:
            rows[1] = [n, 5]
        rows[1][1] = 7
        rows[n % 3][0] += 1
    return rows


@program
def put_there_in_an_inner_loop(n):
    rows = [[0, 1], [2, 3]]
    if n > 0:
        for k in range(n):
            rows[1] = [n, k]
        rows[0][1] = 1
        rows[1][1] = n
    return rows


@program
def put_there_in_loops_in_loops(n):
    rows = [[0, 1], [2, 3]]
    for k in range(n):
        for m in range(n - k):
            rows[1] = [n, m]
        rows[0][1] += 1
        rows[1][1] = n + k
    return rows


@program
def in_a_branch_of_a_loop(n):
    rows = [[0, 1], [2, 3]]
    for k in range(n):
        if n > k + 1:
            rows[1] = [n, k]
        rows[0][1] = 1
        rows[1][1] += n + k
    return rows


@program
def looked_up_before_and_after(n):
    rows = [[0, 0] for _ in range(3)]
    rows[n % 3][0] = 1
    if n > 1:
        rows[0] = [n % 3, 2]
        for _ in range(3):
            rows[n % 3][-1] -= 1
        row = rows[-1]
        row[0] = n
    return rows, rows[1]


@program
def one_table_under_two_names_in_branches(n):
    items = [0] * 3
    d = {"k": items}
    if n > 1:
        items[n % 3] += n
        if d["k"][n % 2] < 2:
            d["k"][1] = n
    if n < 3:
        d["k"][0] = n
    items[-1] = items[n % 2] + 1
    return items, d, len(items)


@program
def one_taken_off_for_one_that_is_put(n):
    rows, row = [[0, 1], [2, 3]], [5, 5]
    if n > 1:
        rows.append(row)
        rows.pop(0)
    row[0] = 9
    rows[0][1] = 7
    return rows, row


@program
def rows_of_two_attributes_by_index(n):
    class Pair:
        pass

    pair = Pair()
    pair.one = [0, 1]
    pair.both = [pair.one, [3, 4]]
    for i in range(n):
        pair.both[i % 2][i % 2] += n
    return pair.one, pair.both
