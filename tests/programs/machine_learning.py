"""Models that learn, and the algebra that they need."""

from __future__ import annotations

import math

import numpy as np

from tests.programs import program

POINTS = [((1.0, 1.0), 1), ((2.0, 0.5), 1), ((-1.0, -0.5), -1), ((-2.0, 1.0), -1)]


@program((0.0, 0.0, 1.0), (5.0, -3.0, 0.1), (-1.0, 0.0, 0.5))
def perceptron(w0, w1, rate):
    bias = 0.0
    epochs = 0
    mistakes = 1
    while mistakes > 0 and epochs < 20:
        mistakes = 0
        for (x, y), label in POINTS:
            activation = w0 * x + w1 * y + bias
            guess = 1 if activation > 0 else -1
            if guess != label:
                w0 += rate * label * x
                w1 += rate * label * y
                bias += rate * label
                mistakes += 1
        epochs += 1
    return w0, w1, bias, epochs


def relu(v):
    return v if v > 0 else 0.0


@program((np.array([0.5, -0.3, 0.8, 0.1]), 0.4), (np.array([-0.5, 0.3, 0.2, 0.9]), -1.0), grad=True)
def tiny_network(weights, x):
    """One hidden layer of two, trained by hand for a few steps."""
    a, b, c, d = weights
    target = math.sin(x)
    loss = 0.0
    for _ in range(5):
        h1, h2 = relu(a * x), relu(b * x)
        y = c * h1 + d * h2
        error = y - target
        loss = error * error
        gc, gd = 2 * error * h1, 2 * error * h2
        ga = 2 * error * c * x if h1 > 0 else 0.0
        gb = 2 * error * d * x if h2 > 0 else 0.0
        a, b, c, d = a - 0.1 * ga, b - 0.1 * gb, c - 0.1 * gc, d - 0.1 * gd
    return loss, [a, b, c, d]


TREE = {
    "feature": 0,
    "at": 0.5,
    "left": {"leaf": "stay"},
    "right": {"feature": 1, "at": 2.0, "left": {"leaf": "walk"}, "right": {"leaf": "drive"}},
}


def decide(node, sample):
    if "leaf" in node:
        return node["leaf"]
    if sample[node["feature"]] <= node["at"]:
        return decide(node["left"], sample)
    return decide(node["right"], sample)


@program((np.array([[0.1, 5.0], [0.9, 1.0], [0.7, 3.0]]),), (np.array([[0.9, 9.0], [0.9, 9.0], [0.9, 9.0]]),))
def decision_tree(samples):
    walks = drives = 0
    last = "nothing"
    for sample in samples:
        last = decide(TREE, sample)
        if last == "walk":
            walks += 1
        elif last == "drive":
            drives += 1
    if walks > drives:
        verdict = "on foot"
    elif drives > walks:
        verdict = "by car"
    else:
        verdict = "either"
    return walks, drives, last, verdict


@program(
    (np.array([[1.0, 1.0], [1.2, 0.8], [5.0, 5.0], [5.2, 4.9]]), np.array([0, 0, 1, 1]), np.array([1.1, 1.0])),
    (np.array([[1.0, 1.0], [1.2, 0.8], [5.0, 5.0], [5.2, 4.9]]), np.array([0, 1, 1, 0]), np.array([4.0, 4.0])),
)
def nearest_neighbours(points, labels, query):
    distances = []
    for k in range(len(points)):
        distances.append((np.sum((points[k] - query) ** 2), labels[k]))
    distances.sort(key=lambda pair: pair[0])
    votes = [0, 0]
    for d, label in distances[:3]:
        votes[label] += 1
    if votes[0] > votes[1]:
        return 0, distances[0][0]
    return 1, distances[0][0]


@program(
    (np.array([[0.0, 2.0, 1.0], [1.0, 1.0, 0.0], [3.0, 0.0, 1.0]]), np.array([5.0, 3.0, 6.0])),
    (np.array([[4.0, 2.0, 1.0], [1.0, 3.0, 0.0], [3.0, 0.0, 5.0]]), np.array([1.0, 2.0, 3.0])),
    (np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]]), np.array([1.0, 2.0, 3.0])),
)
def gauss(matrix, right):
    """Elimination with rows swapped; tells a matrix that has no inverse."""
    a = matrix.copy()
    b = right.copy()
    n = len(b)
    swaps = 0
    determinant = 1.0
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        if abs(a[p, k]) < 1e-12:
            return "singular", 0.0, swaps
        if p != k:
            for j in range(n):
                a[k, j], a[p, j] = a[p, j], a[k, j]
            b[k], b[p] = b[p], b[k]
            swaps += 1
            determinant = -determinant
        determinant *= a[k, k]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            for j in range(k, n):
                a[i, j] -= factor * a[k, j]
            b[i] -= factor * b[k]
    return "regular", determinant, swaps


@program(
    (np.array([[4.0, 1.0], [2.0, 3.0]]),), (np.array([[2.0, 0.0], [0.0, 2.0]]),), (np.array([[0.0, 1.0], [0.0, 0.0]]),)
)
def power_iteration(matrix):
    v = np.array([1.0, 0.5])
    eigenvalue = 0.0
    for step in range(100):
        w = matrix @ v
        norm = math.sqrt(w[0] ** 2 + w[1] ** 2)
        if norm < 1e-12:
            return 0.0, step
        w = w / norm
        new = w @ (matrix @ w)
        done = abs(new - eigenvalue) < 1e-10
        v, eigenvalue = w, new
        if done:
            return eigenvalue, step
    return eigenvalue, -1


@program((3, 0.5, 0.9), (8, 0.2, 0.5))
def q_learning(seed, rate, discount):
    """A walk of five squares with a prize at the right end."""
    table = [[0.0, 0.0] for _ in range(5)]
    found = 0
    for episode in range(4):
        at = 1
        for step in range(8):
            seed = (seed * 137 + 29) % 1009
            if seed % 4 == 0:
                action = seed // 4 % 2
            else:
                action = 0 if table[at][0] > table[at][1] else 1
            new = at + (1 if action == 1 else -1)
            if new < 0:
                new = 0
            reward = 1.0 if new == 4 else 0.0
            best = max(table[new])
            table[at][action] += rate * (reward + discount * best - table[at][action])
            at = new
            if at == 4:
                found += 1
                break
    return found, table[3][1], table[0]
