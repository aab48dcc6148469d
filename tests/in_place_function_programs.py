"""Programs in which functions, and methods of arrays, write to NumPy arrays in place, or return what others write to."""

from __future__ import annotations

import numpy as np


def conjugates_of_real_numbers(x):
    p = np.zeros(3)
    q = p.conj()
    r = p.conjugate()
    if x[0] > 0:
        p[0] = x[1]
    r[2] = 7
    return p, q, r


CASES = [
    conjugates_of_real_numbers,
]
