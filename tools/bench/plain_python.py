"""What converted functions cost that are called with plain Python values, outside of any trace: ``python -m
autograph.tools.bench.plain_python``.

Each program is run as it is written and converted, in turns; the figures are medians of processor time.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import heapq
import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import autograph as ag

WORDS = ["apple", "pear", "plum"] * 100
GRAPH = {k: [(7 * k + j) % 200 for j in range(3)] for k in range(200)}


@dataclasses.dataclass
class Point:
    x: float
    y: float


class Stack:
    def __init__(self) -> None:
        self.items: list[int] = []

    def push(self, item: int | None) -> None:
        if item is not None:
            self.items.append(item)

    def pop(self) -> int | None:
        return self.items.pop() if self.items else None


class Account:
    def __init__(self) -> None:
        self.balance = 0

    def deposit(self, amount: int) -> None:
        if amount > 0:
            self.balance += amount


ACCOUNT = Account()


def collatz(n: int) -> int:
    longest = 0
    for start in range(1, n):
        value = start
        steps = 0
        while value != 1:
            if value % 2 == 0:
                value = value // 2
            else:
                value = 3 * value + 1
            steps += 1
        if steps > longest:
            longest = steps
    return longest


def bubble_sort(n: int) -> list[int]:
    values = [(7919 * k) % n for k in range(n)]
    for i in range(n - 1):
        swapped = False
        for j in range(n - 1 - i):
            if values[j] > values[j + 1]:
                values[j], values[j + 1] = values[j + 1], values[j]
                swapped = True
        if not swapped:
            break
    return values


def _add(a: int, b: int) -> int:
    return a + b


def calls(n: int) -> int:
    total = 0
    for k in range(n):
        total = _add(total, k)
    return total


def count_words(n: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for word in WORDS[:n]:
        if word in found:
            found[word] += 1
        else:
            found[word] = 1
    return found


def lengths(points: list[Point]) -> float:
    total = 0.0
    for point in points:
        if point.x > 0:
            total += math.sqrt(point.x**2 + point.y**2)
        else:
            total -= point.y
    return total


def stack(n: int) -> int:
    items, total = Stack(), 0
    for k in range(n):
        items.push(k)
    while (item := items.pop()) is not None:
        total += item
    return total


def deposits(n: int) -> bool:
    for k in range(n):
        ACCOUNT.deposit(k)
    return ACCOUNT.balance > 0


def heap_sort(n: int) -> list[int]:
    heap: list[int] = []
    for k in range(n):
        heapq.heappush(heap, 37 * k % 101)
    return [heapq.heappop(heap) for _ in range(n)]


def breadth_first(start: int) -> list[int]:
    seen, queue, order = {start}, collections.deque([start]), []
    while queue:
        node = queue.popleft()
        order.append(node)
        for other in GRAPH[node]:
            if other not in seen:
                seen.add(other)
                queue.append(other)
    return order


def sort_by_key(n: int) -> list[int]:
    return sorted(range(n), key=lambda k: -k if k > 5 else k)


POINTS = [Point(k - 50.0, float(k)) for k in range(300)]
PROGRAMS: tuple[tuple[Callable[..., Any], Any], ...] = (
    (collatz, 300), (bubble_sort, 60), (calls, 5000), (count_words, 300), (lengths, POINTS), (stack, 300), (deposits, 300),
    (heap_sort, 100), (breadth_first, 0), (sort_by_key, 300),
)  # fmt: skip


def table(repeats: int) -> list[str]:
    """Lines of a table."""
    lines = ["| plain Python | original | converted | ratio |", "| --- | ---: | ---: | ---: |"]
    for function, argument in PROGRAMS:
        converted = ag.convert(function)
        assert converted(argument) == function(argument)
        times: dict[Any, list[float]] = {function: [], converted: []}
        for _ in range(10 * repeats):
            for each, measured in times.items():
                start = time.process_time()
                each(argument)
                measured.append(time.process_time() - start)
        original, ours = (statistics.median(measured) for measured in times.values())
        name = function.__name__.replace("_", " ")
        lines.append(f"| {name} | {original * 1e6:.0f} µs | {ours * 1e6:.0f} µs | **{ours / original:.1f}** |")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=5, help="how often each is measured, in tens (%(default)s)")
    print("\n".join(table(parser.parse_args(arguments).repeats)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
