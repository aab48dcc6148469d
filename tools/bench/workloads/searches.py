"""Programs of lists, strings and recursion: what hand-written `lax` needs fixed room, numbers and a stack for."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any

import numpy as np

from autograph.tools.bench.workloads.workload import Program, Workload

# Breadth-first search with a queue.


def _breadth_first(xp: Any) -> Program:
    def breadth_first(neighbours, start):
        distance = xp.full(len(neighbours), -1)
        distance[start] = 0
        queue = collections.deque([start])
        while queue:
            node = queue.popleft()
            for k in range(4):
                other = neighbours[node, k]
                if distance[other] < 0:
                    distance[other] = distance[node] + 1
                    queue.append(other)
        return distance

    return breadth_first


def _breadth_first_for_numba(xp: Any) -> Program:
    def breadth_first(neighbours, start):
        distance = xp.full(len(neighbours), -1)
        distance[start] = 0
        queue = [start]
        first = 0
        while first < len(queue):
            node = queue[first]
            first += 1
            for k in range(4):
                other = neighbours[node, k]
                if distance[other] < 0:
                    distance[other] = distance[node] + 1
                    queue.append(other)
        return distance

    return breadth_first


def _breadth_first_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    def begun(neighbours, start):
        count = len(neighbours)
        return jnp.full(count, -1).at[start].set(0), jnp.zeros(count, jnp.int32).at[0].set(start), 0, 1

    def visits(neighbours, distance, queue, first, last):
        node = queue[first]
        for k in range(4):
            other = neighbours[node, k]
            is_new = distance[other] < 0
            distance = distance.at[other].set(jnp.where(is_new, distance[node] + 1, distance[other]))
            queue = queue.at[last].set(jnp.where(is_new, other, queue[last]))
            last = last + is_new
        return distance, queue, first + 1, last

    def with_selects(neighbours, start):
        return lax.while_loop(
            lambda carry: carry[2] < carry[3], lambda carry: visits(neighbours, *carry), begun(neighbours, start)
        )[0]

    def with_barriers(neighbours, start):
        """What is read of an array that is written is kept apart from its uses: XLA copies none, from jax 0.11 on."""
        held = lax.optimization_barrier

        def step(carry):
            distance, queue, first, last = carry
            node = held(queue[first])
            further = held(distance[node] + 1)
            for k in range(4):
                other = held(neighbours[node, k])
                before = held(distance[other])
                reached = jnp.where(before < 0, further, before)
                distance = lax.dynamic_update_index_in_dim(distance, reached, other, 0)
                queue = lax.dynamic_update_index_in_dim(queue, other, last, 0)
                last = last + (before < 0)
            return distance, queue, first + 1, last

        distance, queue, first, last = begun(neighbours, start)
        queue = jnp.append(queue, 0)  # what is written after the last node has been found
        return lax.while_loop(lambda carry: carry[2] < carry[3], step, (distance, queue, first, last))[0]

    return {"straightforward": with_selects, "best": with_barriers}


def _breadth_first_arguments(quick: bool) -> tuple[Any, ...]:
    count = 200 if quick else 10_000
    rng = np.random.default_rng(0)
    neighbours = rng.integers(0, count, (count, 4))
    neighbours[:, 0] = (np.arange(count) + 1) % count
    return neighbours.astype(np.int32), 0


# A scanner of comments, strings and numbers: a state machine whose states have names.


def _scanner(xp: Any) -> Program:
    def scanner(text):
        state = "code"
        words = 0
        strings = 0
        comments = 0
        for c in text:
            if state == "code":
                if c == 34:
                    state = "string"
                elif c == 35:
                    state = "comment"
                elif c >= 97:
                    state = "word"
                    words += 1
            elif state == "word":
                if c < 97:
                    state = "code"
            elif state == "string":
                if c == 92:
                    state = "escape"
                elif c == 34:
                    state = "code"
                    strings += 1
            elif state == "escape":
                state = "string"
            elif c == 10:
                state = "code"
                comments += 1
        return words, strings, comments

    return scanner


def _scanner_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    code, word, string, escape, comment = range(5)

    def switched(text):
        def step(carry, c):
            state, words, strings, comments = carry

            def in_code():
                new = jnp.where(c == 34, string, jnp.where(c == 35, comment, jnp.where(c >= 97, word, code)))
                return new, words + (new == word), strings, comments

            def in_word():
                return jnp.where(c < 97, code, word), words, strings, comments

            def in_string():
                new = jnp.where(c == 92, escape, jnp.where(c == 34, code, string))
                return new, words, strings + (new == code), comments

            def in_escape():
                return jnp.int32(string), words, strings, comments

            def in_comment():
                new = jnp.where(c == 10, code, comment)
                return new, words, strings, comments + (new == code)

            return lax.switch(state, [in_code, in_word, in_string, in_escape, in_comment]), None

        return lax.scan(step, (jnp.int32(code), 0, 0, 0), text)[0][1:]

    def selected(text):
        def step(carry, c):
            state, words, strings, comments = carry
            from_code = jnp.where(c == 34, string, jnp.where(c == 35, comment, jnp.where(c >= 97, word, code)))
            from_word = jnp.where(c < 97, code, word)
            from_string = jnp.where(c == 92, escape, jnp.where(c == 34, code, string))
            from_comment = jnp.where(c == 10, code, comment)
            new = jnp.where(state == escape, string, from_comment)
            for each, found in ((string, from_string), (word, from_word), (code, from_code)):
                new = jnp.where(state == each, found, new)
            words = words + ((state == code) & (new == word))
            strings = strings + ((state == string) & (new == code))
            comments = comments + ((state == comment) & (new == code))
            return (new, words, strings, comments), None

        return lax.scan(step, (jnp.int32(code), 0, 0, 0), text)[0][1:]

    return {"straightforward": switched, "best": selected}


def _scanner_arguments(quick: bool) -> tuple[Any, ...]:
    symbols = np.array([10, 32, 34, 35, 48, 92, 97, 98, 99, 120], np.int32)
    return (np.random.default_rng(0).choice(symbols, 300 if quick else 100_000),)


# Fibonacci's numbers by the recursion that defines them.


def _fibonacci(xp: Any) -> Program:
    def fibonacci(n):
        if n < 2:
            return n
        return fibonacci(n - 1) + fibonacci(n - 2)

    return fibonacci


def _fibonacci_for_numba(xp: Any) -> Program:
    import numba

    @numba.njit
    def fibonacci(n):
        if n < 2:
            return n
        return fibonacci(n - 1) + fibonacci(n - 2)

    return fibonacci


def _fibonacci_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    room = 64

    def with_frames(n):
        """A frame holds its argument, how far it is, and the first of the two results."""

        def step(carry):
            arguments, places, firsts, top, result = carry
            n, place = arguments[top], places[top]

            def begin():
                return lax.cond(n < 2, lambda: leave(n), lambda: call(1, firsts, n - 1))

            def leave(value):
                return arguments, places, firsts, top - 1, value

            def call(place, firsts, argument):
                below = places.at[top].set(place).at[top + 1].set(0)
                return arguments.at[top + 1].set(argument), below, firsts, top + 1, result

            return lax.switch(
                place,
                [begin, lambda: call(2, firsts.at[top].set(result), n - 2), lambda: leave(firsts[top] + result)],
            )

        empty = jnp.zeros(room, jnp.int32)
        start = (empty.at[0].set(n), empty, empty, jnp.int32(0), jnp.int32(0))
        return lax.while_loop(lambda carry: carry[3] >= 0, step, start)[4]

    def with_registers(n):
        """The place and the value in hand are carried as numbers, and each array is written once in a step, after the choice."""

        def step(carry):
            place, value, top, places, saved = carry
            frame = saved[top]
            begin = (lambda: (value, frame, -1, 0), lambda: (value - 1, value, 1, 1))
            choices = (
                lambda: lax.cond(value < 2, *begin),
                lambda: (frame - 2, value, 1, 2),
                lambda: (frame + value, frame, -1, 0),
            )
            new, kept, move, after = lax.switch(place, choices)
            saved = lax.dynamic_update_index_in_dim(saved, kept, top, 0)
            places = lax.dynamic_update_index_in_dim(places, after, top, 0)
            below = places[jnp.maximum(top - 1, 0)]
            return jnp.where(move < 0, below, 0), new, top + move, places, saved

        empty = jnp.zeros(room, jnp.int32)
        start = (jnp.int32(0), n, jnp.int32(1), empty.at[0].set(3), empty)
        return lax.while_loop(lambda carry: carry[0] != 3, step, start)[1]

    return {"straightforward": with_frames, "best": with_registers}


# Sudoku by backtracking.


def _sudoku(xp: Any, compiled: Any = lambda function: function) -> Program:
    @compiled
    def fits(board, row, column, digit):
        top = row // 3 * 3
        left = column // 3 * 3
        if (board[row] == digit).any() or (board[:, column] == digit).any():
            return False
        return not (board[top : top + 3, left : left + 3] == digit).any()

    def sudoku(board):
        board = xp.copy(board)
        given = board > 0
        cell = 0
        step = 1
        while 0 <= cell < 81:
            row = cell // 9
            column = cell % 9
            if not given[row, column]:
                digit = board[row, column] + 1
                while digit <= 9 and not fits(board, row, column, digit):
                    digit += 1
                if digit <= 9:
                    board[row, column] = digit
                    step = 1
                else:
                    board[row, column] = 0
                    step = -1
            cell += step
        return board

    return sudoku


def _sudoku_for_numba(xp: Any) -> Program:
    import numba

    return _sudoku(xp, numba.njit)


def _sudoku_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    def begun(board):
        is_empty = board.ravel() == 0
        cells = jnp.nonzero(is_empty, size=81)[0].astype(jnp.int32)
        return cells, jnp.sum(is_empty)

    def straightforward(board):
        cells, count = begun(board)

        def fits(board, row, column, digit):
            box = lax.dynamic_slice(board, (row // 3 * 3, column // 3 * 3), (3, 3))
            return ~(jnp.any(board[row] == digit) | jnp.any(board[:, column] == digit) | jnp.any(box == digit))

        def step(carry):
            place, board = carry
            row, column = cells[place] // 9, cells[place] % 9
            digit = lax.while_loop(
                lambda digit: (digit <= 9) & ~fits(board, row, column, digit),
                lambda digit: digit + 1,
                board[row, column] + 1,
            )
            is_found = digit <= 9
            board = board.at[row, column].set(jnp.where(is_found, digit, 0))
            return place + jnp.where(is_found, 1, -1), board

        return lax.while_loop(lambda carry: (carry[0] >= 0) & (carry[0] < count), step, (jnp.int32(0), board))[1]

    return {"straightforward": straightforward}


def _sudoku_arguments(quick: bool) -> tuple[Any, ...]:
    puzzle = "530070000600195000098000060800060003400803001700020006060000280000419005000080079"
    hard = "000000907000420180000705026100904000050000040000507009920108000034059000507000000"
    return (np.array(list(map(int, puzzle if quick else hard)), np.int32).reshape(9, 9),)


SEARCHES = (
    Workload(
        "queue",
        "breadth-first search of a graph of 10,000 nodes, with a queue",
        _breadth_first,
        _breadth_first_arguments,
        _breadth_first_by_hand,
        {"numba": _breadth_first_for_numba},
    ),
    Workload(
        "scanner",
        "a state machine with string states, over 100,000 symbols",
        _scanner,
        _scanner_arguments,
        _scanner_by_hand,
    ),
    Workload(
        "fibonacci",
        "Fibonacci's number 20 by recursion",
        _fibonacci,
        lambda quick: (np.int32(8 if quick else 20),),
        _fibonacci_by_hand,
        {"numba": _fibonacci_for_numba},
    ),
    Workload(
        "sudoku",
        "Sudoku by backtracking",
        _sudoku,
        _sudoku_arguments,
        _sudoku_by_hand,
        {"numba": _sudoku_for_numba},
    ),
)
