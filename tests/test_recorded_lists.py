"""Lists that record what staged statements do: in attributes, of states that iterations choose, and copies of them."""

from __future__ import annotations

import collections
import copy

import jax.numpy as jnp

from tests import staged
from tests.agreement import differences


class Account:
    def __init__(self, balance):
        self.balance = balance
        self.history = [("open", balance)]

    def withdraw(self, amount):
        if amount > self.balance:
            raise ValueError(f"{amount} of {self.balance}")
        self.balance -= amount
        self.history.append(("withdraw", amount))


def test_a_list_of_items_that_an_attribute_is_bound_to_grows():
    def f(amounts):
        account, refused = Account(5.0), 0
        for amount in amounts:
            try:
                account.withdraw(amount)
            except ValueError:
                refused += 1
        return account.history, refused

    for amounts in ([3.0, 4.0, 2.0], [9.0, 8.0, 7.0]):
        found = staged.function(f)(jnp.array(amounts))
        assert list(differences(f(amounts), found, widens=True)) == []


def test_states_that_iterations_choose_are_recorded():
    def f(x):
        before, after, state = [], [], "start"
        for v in x:
            before.append((state, v))
            if state == "start":
                state = "low" if v < 0.5 else "high"
            elif state == "low" and v > 0.4:
                state = "high"
            after.append(state)
        return before, after

    for x in ([0.3, 0.9, 0.1], [0.8, 0.2, 0.95]):
        assert list(differences(f(x), staged.function(f)(jnp.array(x)), widens=True)) == []


def test_copies_of_lists_are_lists_of_their_own():
    def f(x):
        flat, rows, queue = [1.0, 2.0], [[1.0], [2.0]], collections.deque([1.0])
        if x > 0:
            flat.append(x)
            rows[0].append(x)
            queue.append(x)
        state = {"flat": flat, "queue": queue}
        deep, shallow = copy.deepcopy((state, rows)), copy.copy(flat)
        if x < 0:
            deep[0]["flat"].append(7.0)
            deep[1][1].append(8.0)
            shallow.append(9.0)
        deep[0]["flat"][0], deep[1][0][0], shallow[0] = 5.0, 6.0, 7.0
        return flat, rows, list(queue), deep[0]["flat"], deep[1], list(deep[0]["queue"]), shallow

    for x in (3.0, -3.0):
        assert list(differences(f(x), staged.function(f)(jnp.array(x)), widens=True)) == []
