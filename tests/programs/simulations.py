"""Simulations with objects that keep a record: stocks, accounts, lights, rooms, reactions."""

from __future__ import annotations

import copy
import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np

from tests.programs import program


@dataclass
class Item:
    count: int
    price: float = 1.0

    def total(self):
        return self.count * self.price


class OutOfStock(Exception):
    pass


class Store:
    def __init__(self):
        self.items = {"apple": Item(5, 0.5), "pear": Item(2, 0.75)}
        self.log = []

    def take(self, name, n):
        item = self.items[name]
        if item.count < n:
            raise OutOfStock(f"{name}: {item.count} < {n}")
        item.count -= n
        self.log.append(n)
        return item.price * n

    @property
    def value(self):
        return sum(item.total() for item in self.items.values())


@program(
    (np.array([1, 3, 2]),), (np.array([1, 3, 9]),), (np.array([6, 6, 6]),), bare="an exception has a way to the caller"
)
def inventory(orders):
    store = Store()
    spent, missed, last = 0.0, 0, "none"
    for n in orders:
        try:
            spent += store.take("apple", n)
        except OutOfStock as error:
            missed += 1
            last = str(error)
            if missed > 2:
                raise
            spent += store.take("pear", 1)
    return spent, missed, store.value, store.log, last


def positive(method):
    @functools.wraps(method)
    def checked(self, amount):
        if amount <= 0:
            raise ValueError(f"{method.__name__}: {amount}")
        return method(self, amount)

    return checked


class Account:
    def __init__(self, balance):
        self.balance = balance
        self.history = [("open", balance)]

    @positive
    def deposit(self, amount):
        self.balance += amount
        self.history.append(("deposit", amount))

    @positive
    def withdraw(self, amount):
        if amount > self.balance:
            raise RuntimeError("insufficient")
        self.balance -= amount
        self.history.append(("withdraw", amount))


@program(
    (np.array([5, -3, 10]),),
    (np.array([5, -30, 10]),),
    (np.array([5, 0, 10]),),
    bare="an exception has a way to the caller",
)
def account(amounts):
    mine = Account(1)
    status = "ok"
    for amount in amounts:
        try:
            mine.deposit(amount) if amount > 0 else mine.withdraw(-amount)
        except RuntimeError as error:
            status = str(error)
    return mine.balance, status, mine.history


@program((np.array([1, 0, 1, 1, 0]),), (np.array([0, 0, 0, 0, 0]),))
def traffic_lights(cars):
    lights = itertools.cycle(["red", "green", "yellow"])
    light = next(lights)
    waits, log = 0, []
    for car in cars:
        if car and light == "red":
            waits += 1
        else:
            light = next(lights)
        log.append(light)
    return waits, log


@program((np.array([0, 1, 0]),), (np.array([1, 1, 0]),), (np.array([0, 0, 0]),), bare="a dict is read at a traced key")
def rooms(choices):
    doors = {
        "hall": {0: "attic", 1: "cellar"},
        "attic": {0: "hall", 1: "roof"},
        "cellar": {0: "hall"},
        "roof": {0: "attic"},
    }
    room, path = "hall", ["hall"]
    for choice in choices:
        exits = doors[room]
        if int(choice) in exits:
            room = exits[int(choice)]
            path.append(room)
        if room == "roof":
            break
    return room, path


@program((5, 3, 7), (9, 0, 1), bare="the number of events is not known")
def reactions(a, b, seed):
    t, events = 0.0, []
    state = {"A": a, "B": b}
    while t < 2.0 and state["A"] + state["B"] > 0:
        rates = [0.7 * state["A"], 0.4 * state["B"], 0.05 * state["A"] * state["B"]]
        total = sum(rates)
        seed = (seed * 1103515245 + 12345) % 2147483648
        t += -math.log((seed % 1000 + 1) / 1001) / total
        pick = total * ((seed // 1000) % 1000) / 1000
        if pick < rates[0]:
            state["A"] -= 1
            state["B"] += 1
            events.append(0)
        elif pick < rates[0] + rates[1]:
            state["B"] -= 1
            events.append(1)
        else:
            state["A"] -= 1
            events.append(2)
    return state, events


@program((3,), (10,), (-1,))
def snapshots(n):
    state = {"position": [0, 0], "history": []}
    taken = []
    for i in range(3):
        if i < n:
            state["position"][0] += n
            state["history"].append(i)
        taken.append(copy.deepcopy(state))
    return state, taken
