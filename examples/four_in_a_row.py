"""A program that plays four in a row: alpha-beta search as a recursive function, with `return` in its loops.

The function is recursive under traced conditions, so it becomes one loop with a stack. `python examples/four_in_a_row.py` plays against
random moves, and prints each position.
"""

from __future__ import annotations

import argparse
import random

import jax
import jax.numpy as jnp
import numpy as np

import autograph as ag

ROWS, COLUMNS = 4, 5
LINES = np.array(
    [
        [(r + k * dr) * COLUMNS + c + k * dc for k in range(4)]
        for r in range(ROWS)
        for c in range(COLUMNS)
        for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1))
        if 0 <= r + 3 * dr < ROWS and 0 <= c + 3 * dc < COLUMNS
    ]
)


def wins(board, player):
    """Whether a player has four in a row. ``board``: an int32 array of the cells, row by row from the bottom."""
    return jnp.any(jnp.all(board[LINES] == player, axis=1))


def drop(board, column, player):
    """The board after a move in a column that is not full."""
    height = jnp.sum(board.reshape(ROWS, COLUMNS)[:, column] != 0)
    return board.at[height * COLUMNS + column].set(player)


def best(board, player, depth, low, high):
    """The value of a position for who is to move: 1 won, -1 lost, 0 open at this depth."""
    if wins(board, -player):
        return -1
    if depth == 0 or jnp.all(board != 0):
        return 0
    value = -1
    for column in range(COLUMNS):
        if board[(ROWS - 1) * COLUMNS + column] == 0:
            value = max(value, -best(drop(board, column, player), -player, depth - 1, -high, -low))
            low = max(low, value)
            if low >= high:
                break
    return value


@ag.function
def move(board, player, depth):
    """The column that the search prefers, the middle ones first."""
    chosen, value = -1, -2
    for column in jnp.array([2, 1, 3, 0, 4]):
        if board[(ROWS - 1) * COLUMNS + column] == 0:
            found = -best(drop(board, column, player), -player, depth - 1, -1, 1)
            if found > value:
                chosen, value = column, found
    return chosen, value


def shown(board) -> str:
    rows = np.asarray(board).reshape(ROWS, COLUMNS)[::-1]
    return "\n".join(" ".join(".XO"[cell] for cell in row) for row in rows)


def main(depth: int = 4, seed: int = 0, quiet: bool = True) -> tuple[int, list[int]]:
    """Play one game; returns the winner (1 the search, -1 the other, 0 neither) and the columns played."""
    other = random.Random(seed)
    board, played, player = jnp.zeros(ROWS * COLUMNS, jnp.int32), [], 1
    while len(played) < ROWS * COLUMNS:
        if player == 1:
            column = int(move(board, player, jnp.array(depth))[0])
        else:
            free = [c for c in range(COLUMNS) if board[(ROWS - 1) * COLUMNS + c] == 0]
            column = other.choice(free)
        board = jax.jit(drop)(board, column, player)
        played.append(column)
        if not quiet:
            print(f"\n{'X' if player == 1 else 'O'} plays {column}\n{shown(board)}")
        if wins(board, player):
            return player, played
        player = -player
    return 0, played


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    winner, _ = main(options.depth, options.seed, quiet=False)
    print({1: "\nThe search wins.", -1: "\nThe random player wins.", 0: "\nNobody wins."}[winner])
