"""`x[i] = v` and `x[i] += v` on arrays, lists and dicts. The oracle runs on NumPy arrays, which allow it."""

from tests.corpus import bools, floats, ints, program


@program(examples=[(floats(1, 2, 3), 0), (floats(1, 2, 3), 2)], arrays="numpy")
def set_one(xs, i):
    xs[i] = 10.0
    return xs


@program(examples=[(floats(1, 2, 3),), (floats(-1, 2, -3),)], arrays="numpy")
def set_in_a_branch(xs):
    if xs[0] > 0:
        xs[0] = -1.0
    else:
        xs[1] += 5.0
        xs[2] *= 2.0
    return xs


@program(examples=[(ints(1, 2, 3, 4),), (ints(0, 0, 0, 0),)], arrays="numpy")
def running_sum(xs):
    for i in range(1, len(xs)):
        xs[i] += xs[i - 1]
    return xs


@program(examples=[(ints(0, 0, 0, 0, 0), 5), (ints(0, 0, 0, 0, 0), 0), (ints(0, 0, 0, 0, 0), 2)], arrays="numpy")
def fill_up_to_a_traced_bound(xs, n):
    for i in range(n):
        xs[i] = i * i
    return xs


@program(examples=[(ints(3, 1, 2),), (ints(1, 2, 3),), (ints(3, 2, 1),)], arrays="numpy")
def swap_elements(xs):
    if xs[0] > xs[1]:
        xs[0], xs[1] = xs[1], xs[0]
    if xs[1] > xs[2]:
        first = xs[1]
        xs[1] = xs[2]
        xs[2] = first
    return xs


@program(examples=[(floats([1, 2], [3, 4]), 0, 1), (floats([1, 2], [3, 4]), 0, 0)], arrays="numpy")
def two_indices(matrix, i, j):
    matrix[i, j] = 0.0
    if matrix[0, 0] == 0:
        matrix[1, 1] -= 1.0
    matrix[0] *= 2.0
    return matrix


@program(examples=[(floats(1, 2, 3, 4), 2.5), (floats(1, 2, 3, 4), 9.0)], arrays="numpy")
def set_a_slice(xs, limit):
    if xs[-1] > limit:
        xs[1:3] = 0.0
    else:
        xs[:2] += limit
    return xs


@program(examples=[(ints(1, 2, 2, 0),), (ints(0, 0, 0, 0),), (ints(3, 2, 1, 0),)], arrays="numpy")
def histogram(values):
    counts = values * 0
    for value in values:
        counts[value] += 1
    return counts


@program(examples=[(floats(5, 3, 9), 4.0), (floats(5, 3, 9), 100.0), (floats(50, 3, 9), 4.0)], arrays="numpy")
def write_then_break(xs, limit):
    for i in range(3):
        if xs[i] > limit:
            xs[i] = -xs[i]
            break
        xs[i] = 0.0
    return xs


@program(examples=[(3.0,), (-3.0,)])
def list_items_in_a_branch(x):
    pair = [x, x * 2]
    if x > 0:
        pair[0] = pair[1] + 1
    else:
        pair[1] = pair[0] - 1
    return pair


@program(examples=[(3.0, 4), (3.0, 0), (-9.0, 2)])
def dict_items_in_a_loop(x, n):
    state = {"position": x, "count": 0}
    for _ in range(n):
        state["position"] = state["position"] * 0.5
        if state["position"] > 0:
            state["count"] += 1
    return state


@program(examples=[(floats(1, 2, 3),), (floats(-1, -2, -3),)], arrays="numpy")
def alias_by_copy(xs):
    """A copy is not changed by writing to the original."""
    kept = xs.copy()
    if xs[0] > 0:
        xs[0] = 100.0
    return kept, xs


@program(examples=[(bools(False, False, False), 1), (bools(True, False, True), 2)], arrays="numpy")
def boolean_array(flags, i):
    flags[i] = not flags[i]
    count = 0
    for flag in flags:
        if flag:
            count += 1
    return flags, count


@program(examples=[(ints(0, 1, 1, 0, 0), 3), (ints(0, 1, 1, 0, 0), 0)], arrays="numpy")
def cellular_automaton(cells, steps):
    """A whole new array each step, written element by element."""
    width = len(cells)
    for _ in range(steps):
        fresh = cells * 0
        for i in range(width):
            left, right = cells[(i - 1) % width], cells[(i + 1) % width]
            if left != right:
                fresh[i] = 1
        cells = fresh
    return cells
