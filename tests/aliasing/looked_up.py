"""Programs that write to a list or dict that a traced index chose among others."""

from tests.aliasing import program


@program
def row_of_a_traced_index_written(n):
    a = [[0, 1], [2, 3]]
    row = a[n % 2]
    row[0] = 7
    return a[0][0], a[1][0]


@program
def row_of_a_loop_at_a_traced_index(n):
    a = [[0, 1], [2, 3]]
    for i in range(n):
        row = a[i % 2]
        row[0] += 1
    return a[0][0], a[1][0]


@program
def row_written_by_a_callee(n):
    a = [[0, 1], [2, 3]]

    def write(row, v):
        row[0] = v
        row[1] += v

    write(a[n % 2], n)
    write(a[1], 3)
    return a


@program
def row_that_goes_on_being_read(n):
    a = [[0, 1], [2, 3]]
    row = a[n % 2]
    row[0] = 7
    row[n // 2 % 2] += row[0]
    return row[0], row[1], a


@program
def row_with_two_places(n):
    row = [0, 1]
    a = [row, [2, 3], row]
    a[n % 3][0] += 5
    return row, a


@program
def part_of_a_row(n):
    a = [[{"v": 1}, [2]], [{"v": 3}, [4]]]
    a[n % 2][0]["v"] += 7
    a[n % 2][1][0] -= 1
    inner = a[1][0]
    inner["v"] *= 2
    return a


@program
def row_of_a_tuple(n):
    pair = ([0, 1], [2, 3])
    for i in range(n):
        pair[i % 2][i // 2 % 2] += n
    return pair
