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
