"""Functions that call themselves and lengthen lists, dicts, sets and deques of outside, or write and put back."""

from __future__ import annotations

import collections

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import agrees_when_compiled


def a_list_that_grows(n):
    moves = []

    def move(disks, source, target, spare):
        if disks > 0:
            move(disks - 1, source, spare, target)
            moves.append((source, target))
            move(disks - 1, spare, target, source)

    move(n, 0, 1, 2)
    moves.append((n, n))
    return moves


def a_stack_and_a_list_of_its_contents(n):
    found, chosen = [], []

    def choose(start):
        if len(chosen) == 2:
            found.append(list(chosen))
            return
        for k in range(start, n):
            chosen.append(k)
            choose(k + 1)
            chosen.pop()

    choose(0)
    return found


def a_list_of_numbers_that_become_floats(n):
    halves = [0]

    def halve(i):
        if i > 0:
            halves.append(i / 2)
            halve(i - 1)
            halves.append(-i)

    halve(n)
    return halves


def a_memo_that_is_empty_at_first(n):
    memo = {}

    def fibonacci(i):
        if i in memo:
            return memo[i]
        if i < 2:
            return i
        memo[i] = fibonacci(i - 1) + fibonacci(i - 2)
        return memo[i]

    return fibonacci(3 * n), len(memo)


def a_deque_a_counter_and_a_set(n):
    line, count, seen = collections.deque(), collections.Counter(), set()

    def visit(i):
        count[i] += 1
        if i > 0 and i not in seen:
            seen.add(i)
            line.appendleft(i)
            visit(i - 1)
            visit(i - 2)
            line.append(-i)

    visit(n)
    return list(line), dict(count), sorted(seen)


def lists_of_two_functions(n):
    log, odd_ones = [], []

    def even(i):
        log.append(i)
        return True if i == 0 else odd(i - 1)

    def odd(i):
        odd_ones.append(i)
        return False if i == 0 else even(i - 1)

    return even(n), log, odd_ones


def a_list_in_a_loop_around_it(n):
    found = []

    def down(i):
        if i > 0:
            down(i - 1)
            found.append(i)

    for k in range(n):
        down(k)
        found.append(-1)
    return found


class Queens:
    def __init__(self, size):
        self.size = size
        self.columns = []
        self.depth = self.deepest = self.solutions = 0

    def solve(self, row):
        if row == self.size:
            self.solutions += 1
            return
        self.depth += 1
        self.deepest = max(self.deepest, self.depth)
        for column in range(self.size):
            if all(column != other and abs(column - other) != row - k for k, other in enumerate(self.columns)):
                self.columns.append(column)
                self.solve(row + 1)
                self.columns.pop()
        self.depth -= 1


def what_each_call_puts_back(n):
    queens = Queens(n)
    queens.solve(0)
    return queens.solutions, queens.deepest, queens.depth, queens.columns


def what_helpers_put_back(n):
    depth, deepest = 0, 0

    def enter():
        nonlocal depth, deepest
        depth += 1
        deepest = max(deepest, depth)

    def leave():
        nonlocal depth
        depth -= 1

    def down(i):
        if i > 0:
            enter()
            down(i - 1)
            leave()

    down(n)
    return deepest, depth


def an_argument_that_is_passed_on(n):
    def move(disks, source, target, spare, moves):
        if disks > 0:
            move(disks - 1, source, spare, target, moves)
            moves.append((source, target))
            move(disks - 1, spare, target, source, moves=moves)

    moves = [(0, 0)]
    move(n, 0, 1, 2, moves)
    return moves


def a_memo_that_is_passed_on(n):
    def fibonacci(i, memo):
        if i in memo:
            return memo[i]
        if i < 2:
            return i
        memo[i] = fibonacci(i - 1, memo) + fibonacci(i - 2, memo)
        return memo[i]

    return fibonacci(2 * n, {})


def numbers_that_change_one_after_the_other(n):
    words = []

    def word(bits, opened, closed):
        if closed == n:
            words.append(bits)
            return
        if opened < n:
            word(2 * bits + 1, opened + 1, closed)
        if closed < opened:
            word(2 * bits, opened, closed + 1)

    word(0, 0, 0)
    return words


def a_read_of_a_list_that_is_empty_at_first(n):
    found, path = [], []

    def walk(k):
        if k > 2:
            found.append(path[0] * 10 + path[1])
            return
        path.append(n * k)
        walk(k + 1)
        path[-1] += 5
        walk(k + 1)
        path.pop()

    walk(1 + n * 0)
    return found


def permutations_with_marks(n):
    found, path, used = [], [], [False, False]

    def walk():
        if len(path) == 2:
            if path[0] + 10 * path[1] > 3:
                found.append(path[:])
            return
        for k in range(2):
            if not used[k]:
                used[k] = True
                path.append(n + k)
                walk()
                path.pop()
                used[k] = False

    walk()
    return found


def copies_of_a_path_that_is_empty_at_first(n):
    coins, found, path = [2, 3], [], []

    def walk(i, left):
        if left == 0:
            found.append(list(path))
            return
        if left < 0 or i == len(coins):
            return
        path.append(coins[i])
        walk(i, left - coins[i])
        path.pop()
        walk(i + 1, left)

    walk(0, n)
    return found


def a_flood_fill(n):
    grid = [[n, n, 0], [n, 0, n], [n, n, n]]
    old = grid[n % 3][n % 2]

    def fill(r, c):
        if r < 0 or r >= len(grid) or c < 0 or c >= len(grid[0]):
            return
        if grid[r][c] != old:
            return
        grid[r][c] = -1
        fill(r + 1, c)
        fill(r - 1, c)
        fill(r, c + 1)
        fill(r, c - 1)

    fill(n % 3, n % 2)
    return grid


def a_row_chosen_before(n):
    grid = [[n, 1], [n, 2], [n, 3]]
    row = grid[n % 3]

    def walk(k):
        if k > 0:
            grid[k][1] += 7
            walk(k - 1)
            row[0] += grid[2][1]

    walk(n % 3)
    return row, grid


def a_row_chosen_in_each_call(n):
    grid = [[n, 1], [n, 2], [n, 3]]

    def walk(k, table):
        if k < 0:
            return 0
        row = table[k]
        found = walk(k - 1, table)
        table[n % 3][1] *= 2
        row[0] += 1
        return found + row[1]

    return walk(n % 3, grid), grid


@pytest.mark.parametrize(
    "function",
    [
        a_flood_fill,
        a_row_chosen_before,
        a_row_chosen_in_each_call,
        a_read_of_a_list_that_is_empty_at_first,
        permutations_with_marks,
        copies_of_a_path_that_is_empty_at_first,
        a_list_that_grows,
        a_stack_and_a_list_of_its_contents,
        a_list_of_numbers_that_become_floats,
        a_memo_that_is_empty_at_first,
        a_deque_a_counter_and_a_set,
        lists_of_two_functions,
        a_list_in_a_loop_around_it,
        what_each_call_puts_back,
        what_helpers_put_back,
        an_argument_that_is_passed_on,
        a_memo_that_is_passed_on,
        numbers_that_change_one_after_the_other,
    ],
    ids=lambda function: function.__name__,
)
def test_like_plain_python(function):
    agrees_when_compiled(function, *((np.int32(n),) for n in (5, 2, 0)))


def test_a_list_that_grows_runs_again_with_more_room():
    moves = ag.function(a_list_that_grows)
    assert [len(moves(jnp.array(n))) for n in (3, 7)] == [8, 128]
    with pytest.raises(
        ag.StagingError, match="changes the length of 'moves', and only an autograph.function can be run again"
    ):
        jax.jit(ag.convert(a_list_that_grows))(jnp.array(3))

    def prints(n):
        found = a_list_that_grows(n)
        print(n)
        return found

    with pytest.raises(ag.StagingError, match="'move' calls itself .* of 'moves', and the program prints"):
        ag.function(prints)(jnp.array(3))
