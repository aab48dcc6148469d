"""Rules of games, and players of them."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

import numpy as np

from tests.programs import program

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
EMPTY, CROSS, NOUGHT = 0, 1, 2


def winner(board):
    for a, b, c in LINES:
        if board[a] != EMPTY and board[a] == board[b] == board[c]:
            return board[a]
    return EMPTY


@program(
    ([0, 4, 1, 3, 2, 5, 6, 7, 8],),
    ([0, 1, 2, 4, 3, 5, 7, 6, 8],),
    ([4, 4, 1, 3, 2, 5, 6, 7, 8],),
    bare="an illegal move",
)
def tic_tac_toe(moves):
    board = [EMPTY] * 9
    player = CROSS
    for turn, move in enumerate(moves):
        if board[move] != EMPTY:
            raise ValueError("illegal move")
        board[move] = player
        won = winner(board)
        if won != EMPTY:
            return ("X" if won == CROSS else "O"), turn + 1
        player = NOUGHT if player == CROSS else CROSS
    return "draw", len(moves)


@program(
    (np.array([[0, 1, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]), 3),
    (np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]), 2),
)
def life(board, generations):
    rows, cols = board.shape
    history = 0
    for _ in range(generations):
        new = np.zeros((rows, cols), dtype=int)
        for r in range(rows):
            for c in range(cols):
                alive = 0
                for dr in (-1, 0, 1):
                    for dc in (-1, 0, 1):
                        if dr == 0 and dc == 0:
                            continue
                        alive += board[(r + dr) % rows, (c + dc) % cols]
                if board[r, c] == 1 and alive in (2, 3):
                    new[r, c] = 1
                elif board[r, c] == 0 and alive == 3:
                    new[r, c] = 1
        if (new == board).all():
            break
        board = new
        history += 1
    return board, history


@dataclass
class Player:
    name: str
    money: int
    position: int = 0
    owned: list = field(default_factory=list)

    def move(self, dice, size):
        self.position += dice
        if self.position >= size:
            self.position -= size
            self.money += 20

    def pay(self, amount, other):
        paid = min(amount, self.money)
        self.money -= paid
        other.money += paid


@program(
    (np.array([3, 5, 2, 6, 1, 4, 6, 6]),),
    (np.array([1, 1, 2, 2, 3, 3, 4, 4]),),
)
def monopoly(dice):
    """Two players around ten streets."""
    players = [Player("Ann", 100), Player("Bob", 100)]
    owner = [-1] * 10
    price = [0, 10, 15, 20, 0, 25, 30, 0, 35, 40]
    for turn, roll in enumerate(dice):
        me, other = players[turn % 2], players[1 - turn % 2]
        me.move(roll, 10)
        here = me.position
        if price[here] == 0:
            continue
        if owner[here] == -1:
            if me.money >= price[here]:
                me.money -= price[here]
                owner[here] = turn % 2
                me.owned.append(here)
        elif owner[here] != turn % 2:
            me.pay(price[here] // 2, other)
    ann, bob = players
    leader = ann.name if ann.money > bob.money else bob.name
    return leader, ann.money, bob.money, len(ann.owned) + len(bob.owned)


@program(([10, 6, 10, 3],), ([7, 1, 11, 5],), ([2, 3, 10, 10],), bare="the hand")
def blackjack(cards):
    def value(hand):
        total = sum(hand)
        aces = sum(1 for card in hand if card == 11)
        while total > 21 and aces > 0:
            total -= 10
            aces -= 1
        return total

    me = [cards[0], cards[1]]
    dealer = [cards[2], cards[3]]
    deck = [4, 8, 11, 2, 9, 5]
    place = 0
    while value(me) < 17 and place < len(deck):
        me.append(deck[place])
        place += 1
    if value(me) > 21:
        return "bust", value(me), len(me)
    while value(dealer) < 17 and place < len(deck):
        dealer.append(deck[place])
        place += 1
    mine, theirs = value(me), value(dealer)
    if theirs > 21 or mine > theirs:
        result = "win"
    elif mine == theirs:
        result = "push"
    else:
        result = "lose"
    return result, mine, len(me)


@program(([5, 5, 2, 2, 5],), ([1, 2, 3, 4, 5],), ([6, 6, 6, 6, 6],), ([2, 3, 2, 3, 6],))
def yahtzee(dice):
    counts = [0] * 7
    for d in dice:
        counts[d] += 1
    best = max(counts)
    pairs = 0
    run = longest = 0
    for face in range(1, 7):
        if counts[face] >= 2:
            pairs += 1
        if counts[face]:
            run += 1
            longest = max(longest, run)
        else:
            run = 0
    if best == 5:
        name, score = "yahtzee", 50
    elif best == 4:
        name, score = "four of a kind", sum(dice)
    elif best == 3 and pairs == 2:
        name, score = "full house", 25
    elif longest >= 4:
        name, score = "straight", 30 if longest == 4 else 40
    elif best == 3:
        name, score = "three of a kind", sum(dice)
    else:
        name, score = "chance", sum(dice)
    return name, score


class Direction(enum.Enum):
    NORTH = (0, 1)
    EAST = (1, 0)
    SOUTH = (0, -1)
    WEST = (-1, 0)

    def right(self):
        order = list(Direction)
        return order[(order.index(self) + 1) % 4]


@program(([1, 2, 0, 1, 2, 2],), ([0, 0, 0, 0, 2, 1],))
def robot(commands):
    """0 goes ahead, 1 turns right, 2 turns right twice."""
    facing = Direction.NORTH
    x = y = 0
    farthest = 0
    for command in commands:
        if command == 0:
            dx, dy = facing.value
            x += dx
            y += dy
        elif command == 1:
            facing = facing.right()
        else:
            facing = facing.right().right()
        farthest = max(farthest, abs(x) + abs(y))
    if facing is Direction.NORTH or facing is Direction.SOUTH:
        axis = "vertical"
    else:
        axis = "horizontal"
    return x, y, farthest, axis


@program((0,), (2,), (5,))
def first_queens(start):
    """The first solution of six queens whose first stands at ``start`` or after it, by backtracking without recursion."""
    n = 6
    columns = [-1] * n
    columns[0] = start - 1
    row = 0
    tried = 0
    while 0 <= row < n:
        columns[row] += 1
        while columns[row] < n:
            tried += 1
            safe = True
            for r in range(row):
                same = columns[r] == columns[row]
                diagonal = abs(columns[r] - columns[row]) == row - r
                if same or diagonal:
                    safe = False
                    break
            if safe:
                break
            columns[row] += 1
        if columns[row] < n:
            row += 1
            if row < n:
                columns[row] = -1
        else:
            row -= 1
    return columns, tried


@program(([3, 5, 7],), ([1, 4, 5],), ([2, 2, 4],))
def nim(heaps):
    """The winning move, if there is one."""
    total = 0
    for heap in heaps:
        total ^= heap
    if total == 0:
        return None
    for i, heap in enumerate(heaps):
        target = heap ^ total
        if target < heap:
            return {"heap": i, "take": heap - target}


@program(
    (np.array([1, 2, 3, 4]), np.array([4, 3, 1, 1])),
    (np.array([1, 1, 2, 2]), np.array([1, 2, 1, 2])),
    (np.array([5, 5, 5, 5]), np.array([5, 5, 5, 5])),
)
def mastermind(secret, guess):
    blacks = 0
    left_secret, left_guess = [0] * 7, [0] * 7
    for s, g in zip(secret, guess):
        if s == g:
            blacks += 1
        else:
            left_secret[s] += 1
            left_guess[g] += 1
    whites = 0
    for colour in range(1, 7):
        whites += min(left_secret[colour], left_guess[colour])
    if blacks == 4:
        message = "solved"
    elif blacks + whites == 0:
        message = "nothing"
    else:
        message = "go on"
    return blacks, whites, message


@program((3, 2), (0, 5), (7, 7), (1, 0))
def knight_moves(row, column):
    """How many squares a knight reaches from a square, and how many in two moves."""
    jumps = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)]
    reached = np.zeros((8, 8), dtype=bool)
    once = 0
    for dr, dc in jumps:
        r, c = row + dr, column + dc
        if not (0 <= r < 8 and 0 <= c < 8):
            continue
        once += 1
        for er, ec in jumps:
            rr, cc = r + er, c + ec
            if 0 <= rr <= 7 and 0 <= cc <= 7:
                reached[rr][cc] = True
    twice = 0
    for line in reached:
        for square in line:
            if square:
                twice += 1
    return once, twice
