"""Recursion as textbooks show it: moves, tables of earlier results, and searches that take steps back."""

from __future__ import annotations

import numpy as np

from tests.programs import program

BARE = "recursion with a stack, and with lists that grow"


@program((3,), (1,), bare=BARE)
def towers_of_hanoi(disks):
    moves = []

    def move(count, source, target, spare):
        if count == 0:
            return
        move(count - 1, source, spare, target)
        moves.append((source, target))
        move(count - 1, spare, target, source)

    move(disks, 0, 2, 1)
    return moves


@program((12,), (1,), (30,), bare=BARE)
def fibonacci_with_memo(n):
    memo = {}

    def fibonacci(k):
        if k in memo:
            return memo[k]
        if k < 2:
            result = k
        else:
            result = fibonacci(k - 1) + fibonacci(k - 2)
        memo[k] = result
        return result

    return fibonacci(n), len(memo)


class Traversal:
    def __init__(self, left, right):
        self.left, self.right = left, right
        self.before, self.between, self.after = [], [], []
        self.depth = self.height = 0

    def visit(self, node):
        if node < 0:
            return
        self.depth += 1
        self.height = max(self.height, self.depth)
        self.before.append(node)
        self.visit(self.left[node])
        self.between.append(node)
        self.visit(self.right[node])
        self.after.append(node)
        self.depth -= 1


@program(
    (np.array([1, 3, -1, -1, -1]), np.array([2, 4, -1, -1, -1]), 0),
    (np.array([1, 3, -1, -1, -1]), np.array([2, 4, -1, -1, -1]), 2),
    bare=BARE,
)
def tree_traversals(left, right, root):
    walk = Traversal(left, right)
    walk.visit(root)
    return walk.before, walk.between, walk.after, walk.height


@program((4, 2), (3, 3), (2, 3), bare=BARE)
def combinations(n, size):
    found, chosen = [], []

    def choose(start):
        if len(chosen) == size:
            found.append(list(chosen))
            return
        for k in range(start, n):
            chosen.append(k)
            choose(k + 1)
            chosen.pop()

    choose(0)
    return found


class Queens:
    def __init__(self, size):
        self.size = size
        self.columns = []
        self.solutions = 0

    def place(self, row):
        if row == self.size:
            self.solutions += 1
            return
        for column in range(self.size):
            if all(column != c and abs(column - c) != row - r for r, c in enumerate(self.columns)):
                self.columns.append(column)
                self.place(row + 1)
                self.columns.pop()


@program((4,), (3,), bare=BARE)
def queens_on_a_board(size):
    board = Queens(size)
    board.place(0)
    return board.solutions


@program(([1, 3, 4], [15, 20, 30], 4), ([2, 2, 5], [1, 2, 3], 1), bare=BARE)
def knapsack(weights, values, capacity):
    memo = {}

    def best(k, left):
        if k == len(weights):
            return 0
        if (k, left) in memo:
            return memo[k, left]
        result = best(k + 1, left)
        if weights[k] <= left:
            result = max(result, values[k] + best(k + 1, left - weights[k]))
        memo[k, left] = result
        return result

    return best(0, capacity)


@program((3,), (2,), bare=BARE)
def balanced_brackets(pairs):
    """Each word as a number in binary: 1 opens and 0 closes."""
    words = []

    def write(word, opened, closed):
        if closed == pairs:
            words.append(word)
            return
        if opened < pairs:
            write(2 * word + 1, opened + 1, closed)
        if closed < opened:
            write(2 * word, opened, closed + 1)

    write(0, 0, 0)
    return words


RETURNS = "lists that are longer than those that the inner calls return"


@program(([5, 3, 9, 1, 3, 8],), ([1, 2, 4, 3, 5, 6],), bare=RETURNS)
def quicksort_of_lists(xs):
    def quicksort(xs):
        if len(xs) <= 1:
            return xs
        pivot = xs[0]
        less = [x for x in xs[1:] if x < pivot]
        more = [x for x in xs[1:] if x >= pivot]
        return quicksort(less) + [pivot] + quicksort(more)

    return quicksort([x for x in xs if x != 9])


@program((6, 27), (1, 3), bare=RETURNS)
def paths_to_one(n, m):
    def path(n):
        if n == 1:
            return [1]
        return [n] + path(n // 2 if n % 2 == 0 else 3 * n + 1)

    return path(n), len(path(m)), max(path(m))
