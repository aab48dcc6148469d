"""Image processing: histograms, labels, morphology."""

from __future__ import annotations

import numpy as np

from tests.programs import program


@program(
    (np.array([[0, 1, 2], [3, 3, 3], [7, 7, 0]]),),
    (np.zeros((3, 3), int),),
    (np.array([[1, 2]]),),
    bare="what may raise",
)
def histogram_equalised(image):
    histogram = {}
    for v in image.flatten():
        histogram[int(v)] = histogram.get(int(v), 0) + 1
    running = 0
    cdf = {}
    for level in range(8):
        if level in histogram:
            running += histogram[level]
            cdf[level] = running
    first = None
    for level in range(8):
        if level in cdf:
            first = cdf[level]
            break
    out = np.zeros(image.shape, dtype=int)
    for r in range(image.shape[0]):
        for c in range(image.shape[1]):
            span = image.size - first
            if span == 0:
                out[r, c] = image[r, c]
            else:
                out[r, c] = (cdf[image[r, c]] - first) * 7 // span
    return out


@program((np.array([[1, 1, 0, 0], [0, 1, 0, 1], [1, 0, 0, 1]]),), (np.zeros((3, 4), int),), (np.ones((2, 2), int),))
def components_two_pass(image):
    rows, cols = image.shape
    labels = np.zeros((rows, cols), dtype=int)
    parent = [0]

    def root(x):
        while parent[x] != x:
            x = parent[x]
        return x

    for r in range(rows):
        for c in range(cols):
            if not image[r, c]:
                continue
            up = labels[r - 1, c] if r > 0 else 0
            left = labels[r, c - 1] if c > 0 else 0
            if up == 0 and left == 0:
                parent.append(len(parent))
                labels[r, c] = len(parent) - 1
            elif up and left:
                a, b = root(up), root(left)
                labels[r, c] = min(a, b)
                parent[max(a, b)] = min(a, b)
            else:
                labels[r, c] = up or left
    found = set()
    for r in range(rows):
        for c in range(cols):
            if labels[r, c]:
                found.add(root(labels[r, c]))
    return len(found)
