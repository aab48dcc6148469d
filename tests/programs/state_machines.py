"""Machines, games and protocols whose state objects, enums, stacks and dicts hold."""

from __future__ import annotations

from collections import deque
from enum import Enum

import numpy as np

from tests.programs import program


class State(Enum):
    IDLE = "idle"
    HAS_MONEY = "money"
    VENDING = "vending"


class VendingMachine:
    PRICE = 150

    def __init__(self):
        self.state = State.IDLE
        self.credit = 0
        self.sold = 0
        self.log = []

    def insert(self, coin):
        if coin not in (10, 20, 50, 100):
            self.log.append("reject")
            return coin
        self.credit += coin
        self.state = State.HAS_MONEY
        if self.credit >= self.PRICE:
            self.state = State.VENDING
        return 0

    def tick(self):
        if self.state is State.VENDING:
            self.sold += 1
            self.credit -= self.PRICE
            self.state = State.IDLE if self.credit == 0 else State.HAS_MONEY
            self.log.append("vend")


@program((np.array([100, 50, 7, 100, 100]),), (np.array([5, 5, 5, 5, 5]),), (np.array([100, 100, 100, 100, 100]),))
def vending(coins):
    m = VendingMachine()
    returned = 0
    for c in coins:
        returned += m.insert(c)
        m.tick()
    return m.sold, m.credit, returned, m.state.value, m.log


@program((np.array([0, 0, 3, 0, 1]), 2), (np.array([3, 3, 3, 3, 3]), 0), (np.array([1, 1, 1, 1, 1]), 4))
def snake(moves, food):
    body = deque([(2, 2), (2, 1)])
    d = [(0, 1), (1, 0), (0, -1), (-1, 0)]
    alive = True
    score = 0
    for m in moves:
        dr, dc = d[m]
        r, c = body[0]
        head = (r + dr, c + dc)
        if not (0 <= head[0] < 5 and 0 <= head[1] < 5) or head in body:
            alive = False
            break
        body.appendleft(head)
        if head[1] == food:
            score += 1
        else:
            body.pop()
    return alive, score, len(body), list(body)


@program((np.array([1, 2, 3, 4]), 5), (np.array([0, 0, 0, 0]), 1))
def robot_state(cmds, limit):
    class Robot:
        dirs = ["N", "E", "S", "W"]

        def __init__(self):
            self.x = self.y = 0
            self.d = "N"
            self.trace = []

        def turn(self, right=True):
            i = self.dirs.index(self.d)
            self.d = self.dirs[(i + (1 if right else -1)) % 4]

        def go(self, n):
            if self.d == "N":
                self.y += n
            elif self.d == "S":
                self.y -= n
            elif self.d == "E":
                self.x += n
            else:
                self.x -= n
            self.trace.append((self.x, self.y))

    r = Robot()
    for c in cmds:
        if c % 2:
            r.turn()
        else:
            r.turn(right=False)
        r.go(min(c, limit))
    return r.x, r.y, r.d, r.trace


@program((np.array([1, 0, 1, 1, 0]), np.array([0, 1, 1, 0, 1])), (np.array([0, 0, 0, 0, 0]), np.array([1, 1, 1, 1, 1])))
def flipflop(j, k):
    q = False
    trace = []
    for a, b in zip(j, k):
        if a and not b:
            q = True
        elif b and not a:
            q = False
        elif a and b:
            q = not q
        trace.append(q)
    return trace, q, sum(trace), trace.count(True)


@program((np.array([1, 2, 1, 2, 1, 2]),), (np.array([0, 0, 0, 0, 0, 0]),), bare="a key may be missing")
def lz78(xs):
    table = {}
    out = []
    cur = 0
    nxt = 1
    for x in xs:
        key = (cur, x)
        if key in table:
            cur = table[key]
        else:
            out.append(key)
            table[key] = nxt
            nxt += 1
            cur = 0
    if cur:
        out.append((cur, -1))
    return out, nxt


@program((np.array([3, 4, 0, 2]),), (np.array([0, 0, 0, 0]),), (np.array([9, 9, 9, 9]),))
def parking(cars):
    lots = [{"cap": 5, "cars": []}, {"cap": 3, "cars": []}]
    turned = 0
    for c in cars:
        placed = False
        for lot in lots:
            if not placed and sum(lot["cars"]) + c <= lot["cap"]:
                lot["cars"].append(c)
                placed = True
        if not placed:
            turned += 1
    return [len(l["cars"]) for l in lots], turned, lots[0]["cars"], [sum(l["cars"]) for l in lots]


class Account:
    def __init__(self, name, balance):
        self.name = name
        self.balance = balance
        self.history = []

    def withdraw(self, amt):
        if amt > self.balance:
            raise ValueError("insufficient")
        self.balance -= amt
        self.history.append(-amt)

    def deposit(self, amt):
        self.balance += amt
        self.history.append(amt)


class Bank:
    def __init__(self):
        self.accounts = {}
        self.failed = 0

    def open(self, name, b):
        self.accounts[name] = Account(name, b)

    def transfer(self, a, b, amt):
        src, dst = self.accounts[a], self.accounts[b]
        try:
            src.withdraw(amt)
            dst.deposit(amt)
        except ValueError as e:
            self.failed += 1
            return str(e)
        return "ok"


@program((np.array([30, 50, 80, 10]),), (np.array([5, 5, 5, 5]),), (np.array([200, 300, 1, 99]),))
def bank_transfers(amts):
    b = Bank()
    b.open("a", 100)
    b.open("b", 20)
    msgs = []
    for i, m in enumerate(amts):
        if i % 2 == 0:
            msgs.append(b.transfer("a", "b", m))
        else:
            msgs.append(b.transfer("b", "a", m))
    return b.accounts["a"].balance, b.accounts["b"].balance, b.failed, b.accounts["a"].history, msgs


@program((1, 0.5), (99, 0.1), (5, 1.0))
def td_random_walk(seed, alpha):
    V = {name: 0.5 for name in "ABCDE"}
    order = "ABCDE"
    for episode in range(3):
        pos = 2
        while 0 <= pos <= 4:
            seed = (seed * 75 + 74) % 65537
            nxt = pos + 1 if seed % 2 else pos - 1
            if nxt > 4:
                target = 1.0
            elif nxt < 0:
                target = 0.0
            else:
                target = V[order[nxt]]
            V[order[pos]] += alpha * (target - V[order[pos]])
            pos = nxt
    return V


@program((2,), (5,), (-1,), bare="a key may be missing")
def menu(choice):
    options = {1: "start", 2: "stop", 3: "pause"}
    if choice in options:
        name = options[choice]
    else:
        name = "unknown"
    try:
        other = options[choice + 1]
    except KeyError as e:
        other = "missing " + str(e)
    return name.capitalize(), other, f"{name:>8}|{choice:<3}|{other:^10}"
