"""Searches that go into a branch and come back: fills, permutations, sums of coins, positions of a game."""

from __future__ import annotations

import numpy as np

from tests.programs import program

DEPTH = "recursion with a stack, whose depth a bare jit cannot check"
NUMBERS = "the first calls have Python's numbers as arguments, and the type of others differs in a batch"
IMAGE = [[1, 1, 0], [1, 0, 0], [1, 1, 1]]


@program((IMAGE, 0, 0, 5), (IMAGE, 0, 2, 7), (IMAGE, 2, 2, 1), bare=DEPTH, batch="it changes its argument in place")
def flood_fill(image, row, column, colour):
    rows, columns = len(image), len(image[0])
    old = image[row][column]

    def fill(r, c):
        if r < 0 or r >= rows or c < 0 or c >= columns:
            return
        if image[r][c] != old:
            return
        image[r][c] = colour
        fill(r + 1, c)
        fill(r - 1, c)
        fill(r, c + 1)
        fill(r, c - 1)

    if old != colour:
        fill(row, column)
    return image


@program((np.array(IMAGE),), (np.array([[1, 0, 1], [0, 1, 0], [1, 1, 1]]),), bare=DEPTH, batch=NUMBERS)
def sizes_of_lakes(depths):
    left = depths.copy()
    rows, columns = left.shape

    def drain(r, c):
        if not (0 <= r < rows and 0 <= c < columns) or left[r, c] > 0:
            return 0
        left[r, c] = 1
        size = 1
        for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            size += drain(r + dr, c + dc)
        return size

    sizes = []
    for r in range(rows):
        for c in range(columns):
            size = drain(r, c)
            if size:
                sizes.append(size)
    return sorted(sizes, reverse=True), left.sum()


@program(([3, 1, 2], 11), ([2, 2, 3], 14), ([1, 2, 3], 99))
def permutations_above(weights, least):
    found, chosen = [], []
    used = [False] * len(weights)

    def place():
        if len(chosen) == len(weights):
            if sum(k * w for k, w in enumerate(chosen, 1)) >= least:
                found.append(chosen[:])
            return
        for k, weight in enumerate(weights):
            if used[k]:
                continue
            used[k] = True
            chosen.append(weight)
            place()
            chosen.pop()
            used[k] = False

    place()
    return found


@program(([2, 3, 5], 8), ([2, 3, 5], 7), ([2, 4, 6], 7), bare="lists whose length only the run knows")
def sums_of_coins(coins, target):
    ways = []

    def pay(i, left, path):
        if left == 0:
            ways.append(list(path))
            return
        if left < 0 or i == len(coins):
            return
        path.append(coins[i])
        pay(i, left - coins[i], path)
        path.pop()
        pay(i + 1, left, path)

    pay(0, target, [])
    return ways, min((len(way) for way in ways), default=-1)


@program(([3, 4, 5, 2], 7), ([3, 4, 5, 2], 20), ([1, 1, 1, 1], 0))
def first_subset(numbers, target):
    def search(i, left, path):
        if left == 0:
            return path
        if left < 0 or i == len(numbers):
            return None
        taken = search(i + 1, left - numbers[i], path + [numbers[i]])
        if taken is not None:
            return taken
        return search(i + 1, left, path)

    return search(0, target, [])


@program((np.array([3, 1, 4, 1, 5, 9]),), (np.array([6, 5, 4, 3, 2, 1]),), bare=DEPTH, batch=NUMBERS)
def quicksort_of_the_array_around(values):
    order = values.copy()
    exchanges = 0

    def swap(i, j):
        nonlocal exchanges
        if i != j:
            exchanges += 1
        order[i], order[j] = order[j], order[i]

    def sort(low, high):
        if low >= high:
            return
        place = low
        for k in range(low, high):
            if order[k] < order[high]:
                swap(place, k)
                place += 1
        swap(place, high)
        sort(low, place - 1)
        sort(place + 1, high)

    sort(0, len(order) - 1)
    return order, exchanges
