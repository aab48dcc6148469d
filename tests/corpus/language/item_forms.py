"""Item assignment in NumPy's other index forms, and in nested targets."""

import numpy as np

from tests.corpus import bools, floats, ints, program


@program(examples=[(floats(1, -2, 3),)], arrays="numpy")
def boolean_mask(xs):
    xs[xs < 0] = 0.0
    return xs


@program(examples=[(floats(1, 2, 3), ints(0, 2))], arrays="numpy")
def index_array(xs, where):
    xs[where] *= 10.0
    return xs


@program(examples=[(floats([1, 2], [3, 4]),)], arrays="numpy")
def ellipsis_and_none(matrix):
    matrix[..., 0] = -1.0
    matrix[None, 0, 1] = 7.0
    return matrix


@program(examples=[(floats([1, 2], [3, 4]), 1, 0)], arrays="numpy")
def chained_index(matrix, i, j):
    matrix[i][j] = 9.0
    return matrix


@program(examples=[(ints(12, 10, 9), 2)], arrays="numpy")
def every_augmented_operator(xs, k):
    xs[0] -= k
    xs[0] //= 2
    xs[1] **= k
    xs[1] %= 7
    xs[2] &= 12
    xs[2] |= 3
    xs[0] ^= 1
    xs[1] <<= k
    xs[2] >>= 1
    return xs


@program(examples=[(floats(1, 2, 3, 4),)], arrays="numpy")
def strided_slice(xs):
    xs[::2] = xs[1::2]
    xs[::-1] += 1.0
    return xs


@program(examples=[(2.0, 3), (2.0, 0)])
def numpy_buffer(x, n):
    """A NumPy array made inside receives traced values."""
    out = np.zeros(5, np.float32)
    for i in range(n):
        out[i] = x * i
    return out


@program(examples=[(floats(1, 2, 3, 4),), (floats(4, 3, 2, 1),)])
def starred_unpacking(xs):
    first, *middle, last = xs
    if first > last:
        first = last
    return first, middle, last


@program(examples=[(bools(True, False), 1.0)], arrays="numpy")
def chained_targets(flags, x):
    flags[0] = same = flags[1]
    pair = [x, x]
    pair[0] = other = x * 2
    return flags, same, pair, other


@program(examples=[(floats(1, 2), 2), (floats(1, 2), 0)], arrays="numpy")
def item_of_a_dict_item(xs, n):
    state = {"xs": xs, "log": [0.0, 0.0]}
    for i in range(n):
        state["xs"][i] += 1.0
        state["log"][1] += state["xs"][i]
    return state
