"""Programs with lists of traced length whose elements are lists, dicts and objects."""

from __future__ import annotations

import collections
import copy
import dataclasses
import heapq
from typing import NamedTuple

import jax.numpy as jnp

import autograph as ag

N, XS = jnp.int32(4), jnp.array([1.0, 5.0, 2.0, 7.0])


class Particle:
    def __init__(self, x, v):
        self.x = x
        self.v = v

    def step(self, dt):
        self.x = self.x + self.v * dt
        if self.x > 3.0:
            self.v = -self.v


@dataclasses.dataclass
class Item:
    weight: float
    number: int


@dataclasses.dataclass(frozen=True)
class Fixed:
    x: float


class Pair(NamedTuple):
    row: list
    n: int


class Tree:
    def __init__(self):
        self.nodes = []

    def add(self, value):
        self.nodes.append({"value": value, "left": -1, "right": -1})
        return len(self.nodes) - 1

    def insert(self, value):
        if len(self.nodes) == 0:
            self.add(value)
            return
        k = 0
        done = False
        while not done:
            side = self.nodes[k]["left"] if value < self.nodes[k]["value"] else self.nodes[k]["right"]
            if side != -1:
                k = side
            else:
                if value < self.nodes[k]["value"]:
                    self.nodes[k]["left"] = self.add(value)
                else:
                    self.nodes[k]["right"] = self.add(value)
                done = True


def particles(n):
    made = []
    for i in range(n):
        made.append(Particle(i * 1.0, 1.0))
    return made


def rows_of(n):
    made = []
    for i in range(n):
        made.append([i, 2 * i])
    return made


# What is appended, read, iterated over and returned.


def dicts_by_a_condition(xs):
    out = []
    i = 0
    for v in xs:
        if v > 1.5:
            out.append({"x": v, "n": i})
        i += 1
    return out, out[-1]["x"] + out[0]["n"], len(out)


def in_both_branches(xs):
    out = []
    for v in xs:
        if v > 1.5:
            out.append([v, 1.0])
        else:
            out.append([0.0, v])
    return out


def objects_by_a_condition(xs):
    out = []
    for v in xs:
        if v > 1.5:
            out.append(Particle(v, v * 2))
    total = 0.0
    for p in out:
        total += p.x * p.v
    return out, total


def dataclasses_of_both_sorts(xs):
    out, fixed = [], []
    for v in xs:
        if v > 1.5:
            out.append(Item(v, 2))
            fixed.append(Fixed(v))
    return out, fixed, fixed[-1].x


def named_tuples_with_lists(xs):
    out = []
    for v in xs:
        if v > 1.5:
            out.append(Pair([v, v + 1], 3))
    out[0].row[1] = 9.0
    return out, out[1].row[0]


def unpacked_in_a_loop(n):
    total = 0
    for u, v in rows_of(n):
        total += u * v
    return total


def by_reversed_and_enumerate(n):
    rows = rows_of(n)
    total = 0
    for k, row in enumerate(rows):
        total += k * row[1]
    for row in reversed(rows):
        total = total * 2 + row[0]
    return total


def slices(n):
    rows = rows_of(n)
    return rows[-2:], rows[::2], rows[1][1]


def read_at_two_traced_indices(n):
    rows = []
    for i in range(n):
        rows.append([i, 2 * i, 3 * i])
    total = 0
    for i in range(n):
        for j in range(3):
            total += rows[i][j]
            rows[i][j] = total
    return total, rows


def popped_and_cleared(xs):
    buffer = []
    most = 0
    for v in xs:
        if v > 1.5:
            buffer.append([v, v])
        else:
            most = max(most, len(buffer))
            buffer.clear()
    return most, buffer, buffer.pop(), len(buffer)


# Work lists.


def quicksort(xs):
    stack = []
    stack.append([0, len(xs) - 1])
    while stack:
        low, high = stack.pop()
        if low >= high:
            continue
        pivot = xs[high]
        i = low
        for j in range(low, high):
            if xs[j] < pivot:
                t = xs[i]
                xs[i] = xs[j]
                xs[j] = t
                i += 1
        t = xs[i]
        xs[i] = xs[high]
        xs[high] = t
        stack.append([low, i - 1])
        stack.append([i + 1, high])
    return xs


def deque_of_dicts(n):
    queue = collections.deque()
    queue.append({"depth": 0, "u": 1})
    total = 0
    while queue:
        s = queue.popleft()
        total += s["u"]
        if s["depth"] < n:
            queue.append({"depth": s["depth"] + 1, "u": s["u"] * 2})
    return total


def heap_of_tuples_with_lists(n):
    heap = []
    heapq.heappush(heap, (0, [1, 2]))
    total = 0
    count = 0
    while heap:
        d, pair = heap.pop()
        total += pair[0] * d
        count += 1
        if d < n:
            heap.append((d + 1, [d, d]))
    return total, count


def changed_and_put_back(n):
    stack = particles(n)
    while stack[-1].x < 6:
        p = stack.pop()
        p.x += 1
        stack.append(p)
    return stack


def search_tree(xs):
    tree = Tree()
    for v in xs:
        tree.insert(v)
    return [node["value"] for node in tree.nodes], tree.nodes[0]["left"], tree.nodes[0]["right"], len(tree.nodes)


# Writes through the list.


def written_by_constant_and_traced_index(n):
    rows = rows_of(n)
    rows[-1][0] = 30
    for i in range(n):
        rows[i][1] += rows[i][0]
    items = particles(n)
    items[n // 2].x += 10
    return rows, items


def written_in_a_loop_over_it(n):
    items = particles(n)
    for t in range(n + 3):
        for p in items:
            p.step(0.5)
    return items


def written_deep_inside(n):
    out = []
    for i in range(n):
        out.append({"p": [i, i], "q": {"z": i}})
    out[1]["q"]["z"] = 40
    out[2]["p"][1] += 5
    return out


def another_list_put_into_an_element(n):
    out = []
    for i in range(n):
        out.append({"p": [i, i]})
    out[1]["p"] = [7, 8]
    out[1]["p"][0] = 9
    return out


def written_in_branches(n):
    items = particles(n)
    p = items[1]
    if n > 2:
        p.x = 7.0
    else:
        p.v = 3.0
    if p.x > 5:
        p.x -= 1
    return items[1].x, items[1].v, p.x


def written_in_an_inner_loop(n):
    items = particles(n)
    for i in range(n):
        p = items[i]
        for _ in range(3):
            p.x += 1.0
    return items


def written_after_it_was_appended(n):
    items = []
    for i in range(n):
        p = Particle(i, 0)
        items.append(p)
        p.x += 10
    new = [5, 5]
    rows = rows_of(n)
    rows[0] = new
    new[1] = 99
    return items, rows


def seen_by_another_name_for_one_index(n):
    items = particles(n)
    a = items[0]
    items[0].x = 5.0
    return a.x, a is items[0], a == items[0]


def popped_and_written(n):
    items = particles(n)
    a = items.pop()
    b = items.pop(0)
    a.x = 8.0
    b.x = 9.0
    return a.x, b.x, items


def bound_anew_after_it_was_appended(n):
    p = Particle(1.0, 2.0)
    items = []
    for i in range(n):
        items.append(p)
        p = Particle(i * 1.0, 1.0)
    return items, p.x


def exchanged(n):
    rows = rows_of(n)
    t = rows[0]
    rows[0] = rows[1]
    rows[1] = t
    rows.reverse()
    return rows


def exchanged_through_a_variable(n):
    items = particles(n)
    held = items[0]
    items[0] = items[1]
    items[1] = held
    items[0].x = 9.0
    return items


def carried_and_read(n):
    items = particles(n)
    current = items[0]
    total = 0.0
    for i in range(n):
        total += current.x
        current = items[i]
    return total, current.x


def chosen_and_read(n):
    items = particles(n)
    if n > 2:
        p = items[0]
    else:
        p = items[1]
    return p.x


def copies_are_written(n):
    items = particles(n)
    p = copy.copy(items[0])
    p.x = 50.0
    return items, p.x


def of_known_length(xs):
    items = []
    for i in ag.range(3):
        row = [0.0, xs[i]]
        items.append(row)
        row[0] = xs[0]
    items[0][1] = 7.0
    return items


def written_and_then_appended_again(n):
    items = particles(n)
    for i in range(n):
        items[i].x += 1.0
    items[0].x = 9.0
    items.append(items[0])
    return items


OF_N = [
    written_and_then_appended_again,
    unpacked_in_a_loop,
    by_reversed_and_enumerate,
    slices,
    read_at_two_traced_indices,
    deque_of_dicts,
    heap_of_tuples_with_lists,
    changed_and_put_back,
    written_by_constant_and_traced_index,
    written_in_a_loop_over_it,
    written_deep_inside,
    another_list_put_into_an_element,
    written_in_branches,
    written_in_an_inner_loop,
    written_after_it_was_appended,
    seen_by_another_name_for_one_index,
    popped_and_written,
    bound_anew_after_it_was_appended,
    exchanged,
    exchanged_through_a_variable,
    carried_and_read,
    chosen_and_read,
    copies_are_written,
]
OF_XS = [
    dicts_by_a_condition,
    in_both_branches,
    objects_by_a_condition,
    dataclasses_of_both_sorts,
    named_tuples_with_lists,
    popped_and_cleared,
    quicksort,
    search_tree,
    of_known_length,
]
