"""Factorizations of matrices: rotations until nothing is left off the diagonal."""

from __future__ import annotations

import math

import numpy as np

from tests.programs import program


@program(
    (np.array([[2.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 1.0]]),),
    (np.diag([3.0, 2.0, 1.0]),),
    (np.array([[1.0, 2.0], [2.0, 1.0]]),),
)
def jacobi_rotations(A):
    A = A.copy()
    n = A.shape[0]
    sweeps = 0
    while sweeps < 20:
        off = 0.0
        p, q = 0, 1
        for i in range(n):
            for j in range(i + 1, n):
                if abs(A[i, j]) > off:
                    off = abs(A[i, j])
                    p, q = i, j
        if off < 1e-9:
            break
        theta = (A[q, q] - A[p, p]) / (2 * A[p, q])
        t = (1 if theta >= 0 else -1) / (abs(theta) + math.sqrt(theta * theta + 1))
        c = 1 / math.sqrt(t * t + 1)
        s = t * c
        R = np.eye(n)
        R[p, p] = c
        R[q, q] = c
        R[p, q] = s
        R[q, p] = -s
        A = R.T @ A @ R
        sweeps += 1
    return np.sort(np.diag(A)), sweeps
