"""Programs that bind names to other lists; plain Python's results come out."""

from tests.aliasing import program


@program
def replaced_in_each_iteration(n):
    items = [2, 3]
    other = [items]
    for i in range(n):
        items = [3, 0]
        other[0][1] = i
    return items, other


@program
def chosen_twice_with_one_name(n):
    items = [4, n]
    if n > 2:
        items = [0, 0]
    if n > 3:
        items = [1, 1]
    items[0] = 2
    return items


@program
def read_by_a_test_under_another_name(n):
    items = [0, 1]
    other = [items]
    i = 3
    while i > 0 and other[0][1] < n:
        i -= 1
        items[1] += 1
    return other, i


@program
def rebound_in_one_iteration_with_one_name(n):
    a = {"v": 0, "w": [0, 1]}
    for i in range(n):
        if i == 1:
            a = {"v": i, "w": [i, i]}
        a["v"] += 1
        a["w"][0] += 2
    return a["v"], a["w"]


@program
def written_before_it_is_rebound(n):
    a = [0, 1]
    b = [5, 6]
    for i in range(n):
        if i == 1:
            a = [7, 7]
        c = list(a)
        c[0] += i
        b[1] += c[0]
    return a, b
